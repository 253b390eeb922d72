#!/usr/bin/env python3
"""compare-machine-code.py ARCH FOLDER FILE.ptx...

Assembles the files for an architecture and compares what `machine-code decode` says about each instruction with
nvdisasm: name, guard, flow of control, and where branches and calls lead. All code goes to nvdisasm at once, as one
piece without relocations, because it takes half a second to start. Works in FOLDER. The environment names the programs:
PTXAS, NVDISASM, MACHINE_CODE. Prints how many instructions agree, and the first differences. Exit status 1 if any.
"""
import os
import re
import struct
import subprocess
import sys

SECTION = struct.Struct("<IIQQQQIIQQ")
LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:@(!?)(U?P\w+)\s+)?(\S+)\s*(.*?)\s*;")
FLOWS = {"BRA": "branch", "BRX": "indirect", "BRXU": "indirect", "EXIT": "exit", "RET": "return", "CALL": "call"}
# The names of one opcode that the table does not tell apart.
FAMILIES = {"UTCHMMA": ("UTCQMMA", "UTCIMMA", "UTCOMMA")}


def code_sections(cubin):
    """Names and contents of the code sections of an ELF file."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3c)
    headers = [SECTION.unpack_from(cubin, offset + SECTION.size * i) for i in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        name = cubin[start:cubin.index(b"\0", start)].decode()
        if name.startswith(".text."):
            yield name, cubin[header[4]:header[4] + header[5]]


def assemble(arch, folder, path):
    """The cubin; None if this ptxas does not take the file for the architecture."""
    out = os.path.join(folder, "out.cubin")
    done = subprocess.run([os.environ["PTXAS"], "-arch=" + arch, path, "-o", out], capture_output=True, check=False)
    return out if done.returncode == 0 else None


def decode(cubin):
    """The reader's instructions: by section, by address."""
    text = subprocess.run([os.environ["MACHINE_CODE"], "decode", cubin], capture_output=True, text=True,
                          check=True).stdout
    decoded = {}
    for line in text.splitlines():
        section, address, guard, name, _, flow, target = line.split()
        decoded.setdefault(section, {})[int(address, 16)] = (guard, name, flow, target)
    return decoded


def disassemble(arch, folder, code):
    path = os.path.join(folder, "code.bin")
    with open(path, "wb") as file:
        file.write(code)
    done = subprocess.run([os.environ["NVDISASM"], "-b", "SM" + arch[3:], path], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit("nvdisasm: " + done.stderr.strip())
    return done.stdout


def difference(match, base, instruction):
    """The error of the reader; None if it agrees."""
    inverted, guard, mnemonic, operands = match.group(2) or "", match.group(3), match.group(4), match.group(5)
    said_guard, name, flow, target = instruction
    expected = inverted + (guard[-1].replace("T", "7") if guard else "7")
    first = mnemonic.split(".")[0]
    if name.split(".")[0] != first and first not in FAMILIES.get(name, ()):
        return f"name {name}"
    if "." in name and not (mnemonic + ".").startswith(name + "."):
        return f"name {name}"
    if said_guard != expected:
        return f"guard {said_guard}"
    if flow.rstrip("?") != FLOWS.get(first, "next"):
        return f"flow {flow}"
    if first == "BRA" and ("?" in flow) != bool(guard or ".DIV" in mnemonic or ".CONV" in mnemonic or
                                                re.search(r"U?P\d,", operands)):
        return f"flow {flow}"
    direct = first == "BRA" or (mnemonic.startswith("CALL.REL") and operands.startswith("0x"))
    leads = int(operands.split()[-1], 16) if direct else None
    if direct and (target == "-" or int(target, 16) + base != leads):
        return f"target {target}"
    return None


def main():
    arch, folder, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    code, expected = b"", {}
    for path in paths:
        cubin = assemble(arch, folder, path)
        if not cubin:
            continue
        decoded = decode(cubin)
        with open(cubin, "rb") as file:
            for name, content in code_sections(file.read()):
                for address, instruction in decoded.get(name, {}).items():
                    expected[len(code) + address] = (path, name, len(code), instruction)
                code += content
    agree, differ, seen = 0, [], set()
    for line in disassemble(arch, folder, code).splitlines():
        match = LINE.match(line)
        place = int(match.group(1), 16) if match else -1
        if place not in expected or place in seen:
            continue
        seen.add(place)
        path, name, base, instruction = expected[place]
        wrong = difference(match, base, instruction)
        if wrong:
            differ.append(f"{path} {name} {place - base:x}: {wrong}, but nvdisasm has {line.strip()}")
        else:
            agree += 1
    differ += [f"{path} {name}: nvdisasm has no instruction {place - base:x}"
               for place, (path, name, base, _) in expected.items() if place not in seen]
    print(f"{agree} of {len(expected)} instructions")
    print("\n".join(differ[:10]))
    return 1 if differ or not expected else 0


sys.exit(main())
