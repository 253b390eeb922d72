"""Making the forms of bench/measured/speedups.tsv again."""
import json


def form_words(row, ptx, launch, arch, form):
    """The words by which ptxopt makes the row's form of 'ptx' for that launch, as the file 'form'. The simulator's forms
    know their blocks; the GPU's are for blocks of any size, unless their options say more."""
    with open(launch, encoding="utf-8") as file:
        shape = json.load(file)
    block = ["-block", ",".join(map(str, shape["block"]))] if row["device"] == "simulator" else []
    return ["-q", "-assembler", "none", "-arch", arch, "-entry", shape["kernel"], *block, *row["options"].split(),
            "-o", form, ptx]
