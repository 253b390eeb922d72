#!/usr/bin/env python3
"""tests/tools/terminal.py [-i TEXT]... SHOWN PROGRAM ARGUMENT...

Runs the program on a terminal of its own and writes what it shows to the file SHOWN. After each TEXT, in order, has
appeared, Ctrl-C is typed. The exit status is the program's, or 128 and the number of the signal that ended it."""
import os
import pty
import sys
import time


def main():
    texts, words = [], sys.argv[1:]
    while words[0] == "-i":
        texts.append(words[1].encode())
        words = words[2:]
    path, arguments = words[0], words[1:]
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(arguments[0], arguments)
    shown, seen = b"", 0
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            piece = b""
        if not piece:
            break
        shown += piece
        while texts and texts[0] in shown[seen:]:
            seen = shown.index(texts.pop(0), seen) + 1
            os.write(terminal, b"\x03")
            time.sleep(0.1)
    with open(path, "wb") as file:
        file.write(shown)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return 128 - status if status < 0 else status


sys.exit(main())
