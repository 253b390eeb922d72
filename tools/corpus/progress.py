"""A progress bar on standard error, where that is a terminal; nothing elsewhere."""
import shutil
import sys
import time


class Progress:
    def __init__(self, label, total):
        self.label, self.total, self.done = label, total, 0
        self.begin = self.drawn = time.monotonic()
        self.active = sys.stderr.isatty() and total > 0

    def step(self, what):
        self.done += 1
        now = time.monotonic()
        if not self.active or (now - self.drawn < 0.1 and self.done < self.total):
            return
        self.drawn = now
        left = (now - self.begin) / self.done * (self.total - self.done)
        filled = 24 * self.done // self.total
        line = f"{self.label} [{'#' * filled}{'.' * (24 - filled)}] {self.done}/{self.total}, {left:.0f} s left  {what}"
        print("\r\x1b[K" + line[:shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True)

    def end(self):
        if self.active:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
