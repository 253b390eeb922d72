#!/usr/bin/env python3
"""compile-forms.py PROGRAM FILE.ptx KERNEL FOLDER OPTIONS...: compares the forms that -tune makes with
those that -tune-from makes of their words.

Runs PROGRAM with -tune and the OPTIONS on the kernel, and writes a store for each form in which one launch has learned
this form, and another one the original. Runs PROGRAM with -tune-from and those of the OPTIONS that are about the whole
run. Prints the words of each form, and whether its code and its contract are the same. FOLDER is for files. Exit status
1 if a form differs, 2 if there is none.
"""
import json
import os
import re
import shutil
import subprocess
import sys

program, source, kernel, folder, *options = sys.argv[1:]
CHOICES = re.compile("-tune|-memory|-uj|-refine|-launch|auto|.*\\.json")
DEVICE = "Emulated GPU"
store = os.path.join(folder, "ptxopt", DEVICE.replace(" ", "-") + ".sqlite")


def run(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, XDG_CACHE_HOME=folder))
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stderr


def forms_of(path):
    """The kernel's hash, and the words and the text of each form, under one name."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    table = re.search(rf"__ptxopt_tune_{kernel}\[\d+\] = \{{([\d,]*)\}}", text)
    if not table:
        return "", []
    data = bytes(map(int, table[1].split(",")))
    word = [int.from_bytes(data[i:i + 4], "little") for i in range(0, 32, 4)]
    forms = []
    for number, words in enumerate(data[32:].split(b"\0")[:word[2]], 1):
        name = f"{kernel}__ptxopt_form{number}"
        entry = re.search(rf"\.visible \.entry {name}\(.*?\n\}}\n", text, re.DOTALL)[0]
        contract = re.search(rf".*__ptxopt_launch_{name}\[.*", text)
        forms.append((words.decode(), (entry + (contract[0] if contract else "")).replace(name, "form")))
    return f"{word[5]:08x}{word[4]:08x}", forms


def learn(identity, words):
    shutil.rmtree(os.path.dirname(store), ignore_errors=True)
    for launch, chosen in ((1, words), (2, "")):
        forms = ["", words]
        cache = {str(i): {"time": (1, 0.5)[i], "launches": 9, "chosen": form == chosen, "variance": 0.0}
                 for i, form in enumerate(forms)}
        path = os.path.join(folder, f"{launch}.json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"device_name": DEVICE, "kernel_name": kernel, "cache": cache, "ptxopt": {
                "hash": identity, "grid": [launch, 1, 1], "block": [32, 1, 1], "driver": 13000, "dynamic_shared": 0,
                "forms": forms}}, stream)
        run("tune", "-import", path)


os.makedirs(folder, exist_ok=True)
tuned, compiled = os.path.join(folder, "tuned.ptx"), os.path.join(folder, "compiled.ptx")
run("-q", *options, "-o", tuned, source)
hash_of_kernel, wanted = forms_of(tuned)
status = 0 if wanted else 2
for form_words, form_text in wanted:
    learn(hash_of_kernel, form_words)
    kept = [word for word in options if not CHOICES.match(word)]
    said = run("-q", *kept, "-tune-from", store, "-o", compiled, source)
    same = forms_of(compiled)[1] == [(form_words, form_text)]
    print(f"{'same' if same else 'DIFFERENT'}: {form_words} {said.strip()}")
    status |= not same
sys.exit(status)
