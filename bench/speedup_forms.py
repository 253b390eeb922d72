"""Making forms that were measured again, and telling whether their code is still the one that was measured."""
import csv
import hashlib
import json
import os
import re

CODES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured", "codes.tsv")
CODES_HEAD = ["launch", "options", "code"]


def code_of(path):
    """The PTX without what assembles to the same code."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    return " ".join(re.sub(r"(?m)^\s*\.(?:maxntid|reqntid|loc|file)\b.*$", "", text).split())


def code_name(path):
    """A short name of that."""
    return hashlib.sha256(code_of(path).encode()).hexdigest()[:16]


def measured_codes():
    """{(launch, options): the name of the code that was measured}"""
    with open(CODES, encoding="utf-8") as file:
        return {(row["launch"], row["options"]): row["code"] for row in csv.DictReader(file, delimiter="\t")}


def form_words(row, ptx, launch, arch, form):
    """The words by which ptxopt makes the row's form of 'ptx' for that launch, as the file 'form'. The simulator's forms
    know their blocks; the GPU's are for blocks of any size, unless their options say more."""
    with open(launch, encoding="utf-8") as file:
        shape = json.load(file)
    block = ["-block", ",".join(map(str, shape["block"]))] if row["device"] == "simulator" else []
    return ["-q", "-assembler", "none", "-arch", arch, "-entry", shape["kernel"], *block, *row["options"].split(),
            "-o", form, ptx]
