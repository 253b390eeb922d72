#!/usr/bin/env python3
"""Reduces a random program (random-ptx.py) that 'ptxopt check' finds different at -O3 and equal at -O0.

usage: tests/tools/reduce-random.py FILE.ptx ARCH [check's options...] >SMALL.ptx

Statements are removed, and later uses of what they define replaced by a source of theirs or by an input, as long as the
verdicts stay. All candidates of a round are kernels of one module. PTXOPT names the program, PTXOPT_PTXAS the
assembler. Look at the result: the difference may have become another one on the way.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("PTXOPT", "./ptxopt")
REGISTER = re.compile(r"%[rdhq]\d+|%n\b")
VERDICT = re.compile(r"^\S+: (c\d+) \(\w+, -O(\d)\): (equal|different|not decided)")
INPUTS = {"r": ["%r2", "%r3", "%r4", "%r5", "%r6"], "d": ["%d0", "%d1", "%d2"], "h": ["%h0", "%h1"],
          "q": ["%q0", "%q1"]}


def split_store(statement):
    """A store of two values as two stores."""
    match = re.match(r"(st\.global)\.v2\.(\w)(\d+) \[%p\+(\d+)\], \{(%\w+), (%\w+)\};", statement)
    if not match:
        return [statement]
    store, kind, bits, offset, first, second = match.groups()
    return [f"{store}.{kind}{bits} [%p+{offset}], {first};",
            f"{store}.{kind}{bits} [%p+{int(offset) + int(bits) // 8}], {second};"]


def split_line(line):
    """The statements of a line; one with a branch stays as it is."""
    return [line] if "bra" in line else [part.strip() + ";" for part in line.split(";") if part.strip()]


def defined_by(statement):
    """The registers that a statement, or a line of them, defines."""
    found = []
    for part in statement.split(";"):
        part = re.sub(r"^\s*(\w+:\s*)?(@!?%\w+\s+)?", "", part)
        if not re.match(r"st|bra|bar\.warp|$", part):
            found += REGISTER.findall(part.split(",")[0]) if "{" not in part else REGISTER.findall(part.split("}")[0])
    return list(dict.fromkeys(found))


def read(path):
    """The module's head, the kernel's head from its name on, and its statements."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    entry = next(i for i, line in enumerate(lines) if ".entry" in line)
    start = max(i for i, line in enumerate(lines) if ".reg" in line) + 1
    end = max(i for i, line in enumerate(lines) if line.strip() == "}")
    statements = [part for line in lines[start:end] for part in split_line(line.strip())]
    return lines[:entry], lines[entry + 1:start], [part for line in statements for part in split_store(line)]


class Program:
    """The statements that are left, and the verdict that they must keep."""

    def __init__(self, path, arch, options):
        self.head, self.registers, self.body = read(path)
        self.command = [PROGRAM, "check", "-arch", arch, *options]
        self.kind = None
        self.kind = next(iter(self.kinds([self.body])))
        if not self.kind:
            sys.exit("reduce-random.py: it does not differ at -O3 while it is equal at -O0")

    def kernel(self, name, body):
        return [f".visible .entry {name}(.param .u64 .ptr p)", *self.registers,
                *("    " + statement for statement in body), "}"]

    def verdicts(self, text, level):
        """By kernel: its verdict, and whether the machine code moves what it must not."""
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([*self.command, "-opt-level", level, file.name], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        found, name = {}, None
        for line in done.stdout.splitlines():
            match = VERDICT.match(line)
            if match:
                name = match.group(1)
                found[name] = match.group(3)
            elif name and "the machine code moves" in line:
                found[name] = "moves"
        return found

    def kinds(self, bodies):
        """For each body: how it differs at -O3 if it is equal at -O0, else None."""
        def module(numbers):
            return "\n".join(self.head + [line for i in numbers for line in self.kernel(f"c{i}", bodies[i])] + [""])
        numbers = list(range(len(bodies)))
        third = self.verdicts(module(numbers), "3") if numbers else {}
        numbers = [i for i in numbers if third.get(f"c{i}") in ("different", "moves")]
        first = self.verdicts(module(numbers), "0") if numbers else {}
        return [third[f"c{i}"] if first.get(f"c{i}") == "equal" else None for i in range(len(bodies))]

    def keep(self, bodies):
        """Whether each body still differs as the program does."""
        return [kind == self.kind for kind in self.kinds(bodies)]

    def text(self):
        return "\n".join(self.head + self.kernel("k", self.body) + [""])


def replaced(statement, register, other):
    return re.sub(re.escape(register) + r"(?!\d)", other, statement)


def removed(body, at, others):
    """The body without a statement, whose results are 'others' afterwards."""
    rest = body[at + 1:]
    for defined, other in others.items():
        rest = [replaced(later, defined, other) for later in rest]
    return body[:at] + rest


def removals(body):
    """Pairs of a statement's number and what its results may be instead: sources of its own, or inputs."""
    for at in reversed(range(len(body))):
        rest = " ".join(body[at + 1:])
        defined = [name for name in defined_by(body[at]) if re.search(re.escape(name) + r"(?!\d)", rest)]
        choices = [[other for other in dict.fromkeys(REGISTER.findall(body[at]) + INPUTS["r" if name == "%n" else name[1]])
                    if other[1] == name[1] and other not in defined] for name in defined]
        for chosen in range(max(map(len, choices), default=1)):
            yield at, {name: others[min(chosen, len(others) - 1)] for name, others in zip(defined, choices) if others}


def remove(program):
    """Removes what can be removed alone, as far as it can be removed together."""
    tries = list(removals(program.body))
    chosen = {}
    for (at, others), good in zip(tries, program.keep([removed(program.body, *one) for one in tries])):
        if good:
            chosen.setdefault(at, others)
    bodies = [program.body]
    for at, others in chosen.items():
        bodies.append(removed(bodies[-1], at, others))
    good = program.keep(bodies)
    for count in reversed(range(1, len(bodies))):
        if good[count]:
            program.body = bodies[count]
            return True
    return False


def simplify(program):
    """Lets one statement read an input instead of a computed value."""
    tries = []
    for at, statement in enumerate(program.body):
        left, comma, right = statement.partition(",")
        for used in dict.fromkeys(REGISTER.findall(right)):
            if used != "%n" and used not in INPUTS[used[1]]:
                tries += [program.body[:at] + [left + comma + replaced(right, used, other)] + program.body[at + 1:]
                          for other in INPUTS[used[1]]]
    for body, good in zip(tries, program.keep(tries)):
        if good:
            program.body = body
            return True
    return False


def main():
    program = Program(sys.argv[1], sys.argv[2], sys.argv[3:])
    while remove(program) or simplify(program):
        pass
    print(program.text(), end="")


main()
