"""Rows of the table in a folder that several machines may share, named by what they depend on.

A row is stored under the hash of the program, the assembler, the PTX, the launch files and the options: it is computed
once, and anything that changes one of these computes it again. Files are written whole, under a name that is theirs
alone, and renamed; so a worker may be killed at any time, and two that compute the same row do no harm.
"""
import hashlib
import json
import os
import socket

from measure import safe_name

VERSION = 1


def file_hash(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Results:
    """Takes the place of a Measurer."""

    def __init__(self, measurer, folder):
        self.measurer = measurer
        self.folder = os.path.abspath(folder)
        self.computed = 0
        self.found = 0
        self.program = file_hash(measurer.program)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, kernel, form, options):
        measurer = self.measurer
        files = [kernel.ptx[form], *kernel.launches, os.path.join("corpus", "two-sms.json")]
        key = {"version": VERSION, "program": self.program, "assembler": [measurer.assembler.kind,
               measurer.assembler.title], "kernel": kernel.name, "block": kernel.block, "papers": kernel.papers,
               "form": form, "options": [options.name, *options.words], "extra": measurer.extra,
               "verify": measurer.verify, "arch": measurer.arch,
               "files": [[name, file_hash(os.path.join(measurer.root, name))] for name in files]}
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return os.path.join(self.folder, digest[:2], digest[2:] + ".json")

    def has(self, *job):
        return os.path.exists(self.path(*job))

    def outputs(self, kernel, form, options):
        name = os.path.join(self.measurer.folder, safe_name(kernel, form, options))
        return {ending: name + ending for ending in (".ptx", ".json")}

    def read(self, path, job):
        try:
            with open(path, encoding="utf-8") as file:
                stored = json.load(file)
        except (OSError, ValueError):
            return None
        kernel, form, _ = job
        outputs = self.outputs(*job)
        for ending, text in stored["files"].items():
            with open(outputs[ending], "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
        return {**stored["row"], "output": outputs[".ptx"],
                "source": os.path.join(self.measurer.root, kernel.ptx[form])}

    def write(self, path, row, job):
        files = {}
        for ending, name in self.outputs(*job).items():
            if os.path.exists(name):
                with open(name, encoding="utf-8", errors="surrogateescape") as file:
                    files[ending] = file.read()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        own = f"{path}.{socket.gethostname()}.{os.getpid()}.{id(row)}"
        with open(own, "w", encoding="utf-8") as file:
            json.dump({"row": {name: value for name, value in row.items() if name not in ("output", "source")},
                       "files": files}, file)
        os.rename(own, path)

    def row(self, *job):
        path = self.path(*job)
        found = self.read(path, job)
        if found:
            self.found += 1
            return found
        row = self.measurer.row(*job)
        self.computed += 1
        # A failure may have been the machine's.
        if row["outcome"] != "failed":
            self.write(path, row, job)
        return row
