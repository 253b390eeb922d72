#!/usr/bin/env python3
"""Asks ptxas about rows of ir/table/ops.def.

    certify-rows.py --ptxas PTXAS [--version 9.5] [--most 3000] ID...    IDs may be globs: 'cvt.ue5m3x2*'
    certify-rows.py --entry ID...                                        prints entries for tests/isa/examples

For each row: every combination of its modifiers (at most --most, then a random sample with every alternative), assembled
for the first target of the row; one spelling for every target that this ptxas knows, compared with the targets of the row;
and one spelling at the version before the row's. Prints a line for each row: "ok COUNT", or what differs, with the line
and the first message of ptxas, or that it cannot write the row's operands. docs/new-ptx-version.md says where it belongs.
"""
import argparse
import concurrent.futures
import fnmatch
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../../ir/table/ops.def")
VERSIONS = [f"{v // 10}.{v % 10}" for v in (10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41, 42, 43, 50, 51, 60,
                                            61, 62, 63, 64, 65, *range(70, 79), *range(80, 89), *range(90, 96))]
REGISTERS = """    .reg .pred %p<8>;
    .reg .b8 %b<8>;
    .reg .b16 %h<136>;
    .reg .b32 %r<136>;
    .reg .f32 %f<136>;
    .reg .b64 %rd<40>;
    .reg .f64 %fd<8>;
    .reg .b128 %q<8>;
"""
GLOBALS = ".shared .align 128 .b8 smem[1024];\n.global .align 128 .b8 gmem[1024];\n"


class Row:
    """A row: its name, its opcode, its modifiers as written, its operands, version and targets."""

    def __init__(self, name, opcode, modifiers, operands, since, category):
        self.name, self.opcode, self.operands, self.category = name, opcode, operands, category
        self.elements = parse_modifiers(modifiers)
        self.version, _, targets = since.partition("/")
        self.targets = targets.split(",")


def resolve(text, sets):
    while (found := re.search(r"@(\w+)", text)):
        text = text[: found.start()] + sets[found[1]] + text[found.end():]
    return text


def read_table(path):
    """The rows of the table."""
    lines, sets, rows, group = [], {}, [], None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith(" ") and lines and lines[-1].startswith("set "):
            lines[-1] += line.strip()
        elif line and not line.startswith(("#", "rules ")):
            lines.append(line)
    for line in lines:
        if line.startswith("set "):
            _, name, text = line.split(None, 2)
            sets[name] = text
    for line in lines:
        words = line.split()
        if words[0] == "set":
            continue
        if words[0] == "group":
            group = {"category": words[1], "opcode": "", "name": "", "since": ""}
            group.update(w.split("=", 1) for w in words[2:] if "=" in w)
            continue
        words = [w for w in words if not w.startswith(("until=", "guard=", "order="))]
        name, modifiers, operands = words[:3]
        since = next((w for w in words[3:] if re.match(r"\d+\.\d+/", w)), group["since"])
        whole = group["opcode"]
        base = group["name"] or re.match(r"\w*", whole)[0]
        full = base if name == "-" else base + name if name.startswith(".") else name
        opcode = re.match(r"\w+", whole)[0] if whole else full.split(".")[0]
        prefix = whole[len(opcode):] if whole else ""
        text = resolve(prefix + ("" if modifiers == "-" else modifiers), sets)
        rows.append(Row(full, opcode, text, "" if operands == "-" else resolve(operands, sets), resolve(since, sets),
                        group["category"]))
    return rows


def split_alternatives(text):
    """The alternatives of a group, with what each needs left out: [(modifiers, needed target or "")]."""
    result = []
    for part in re.split(r"\|(?![^\[]*\])", text):
        need = re.search(r"\[([^\]]*)\]", part)
        result.append((re.sub(r"\[[^\]]*\]", "", part).replace("+", ""), need[1] if need else ""))
    return result


def parse_modifiers(text):
    """[(slot name, [(alternative, need)])]; the order is that of the table."""
    elements, at = [], 0
    while at < len(text):
        char = text[at]
        if char in "/+":
            at += 1
        elif char in "({<":
            end = text.index({"(": ")", "{": "}", "<": ">"}[char], at)
            body, slot = text[at + 1: end], ""
            at = end + 1
            if char == "<":
                slot, colon, body = body.partition(":")
                if not colon:
                    elements.append((slot, None))
                    continue
            choices = split_alternatives(body)
            if at < len(text) and text[at] == "[":
                end = text.index("]", at)
                choices = [(c, n or text[at + 1: end]) for c, n in choices]
                at = end + 1
            elements.append((slot, ([("", "")] if char == "{" else []) + choices))
        else:
            found = re.match(r"\.[\w:]+(?:\[[^\]]*\])?", text[at:])
            elements.append(("", split_alternatives(found[0])))
            at += len(found[0])
    return elements


WIDE = {"b8": "%b", "u8": "%b", "s8": "%b", "b16": "%h", "u16": "%h", "s16": "%h", "f16": "%h", "bf16": "%h", "f32": "%f",
        "f64": "%fd", "b64": "%rd", "u64": "%rd", "s64": "%rd", "f32x2": "%rd", "b128": "%q", "pred": "%p"}


class Spelling:
    """One choice of a row's modifiers, with operands of its own registers."""

    def __init__(self, row, choice):
        self.row, self.slots, self.used, parts = row, {}, {}, []
        for (slot, choices), chosen in zip(row.elements, choice):
            text = self.slots[slot] if choices is None else chosen[0]
            if slot:
                self.slots[slot] = text
            parts.append(text)
        self.modifiers = "".join(parts)

    def register(self, type_name):
        prefix = WIDE.get(type_name, "%r")
        self.used[prefix] = self.used.get(prefix, 0) + 1
        return f"{prefix}{self.used[prefix]}"

    def list_of(self, type_name, count):
        return "{" + ", ".join(self.register(type_name) for _ in range(count)) + "}"

    def type_of(self, text):
        """<T>, <T/2> or .f32."""
        found = re.match(r"<(\w+)(?:/(\d))?>", text)
        if not found:
            return text.strip(".")
        words = self.slots[found[1]].strip(".").split(".")
        return words[int(found[2]) - 1 if found[2] else 0]

    def count_of(self, text):
        if found := re.match(r"off3<(\w+)>$", text):
            return int(self.slots[found[1]][1]) - 2
        found = re.match(r"(\w?)<(\w+)(?:/(\d))?>([*/]\d+)?$|(\d+)$", text)
        if not found:
            raise ValueError(text)
        if found[5]:
            return int(found[5])
        words = self.slots[found[2]].strip(".").split(".")
        word = words[int(found[3]) - 1 if found[3] else 0]
        count = int(re.sub(r"\D", "", word))
        if found[4]:
            count = count * int(found[4][1:]) if found[4][0] == "*" else -(-count // int(found[4][1:]))
        return count

    def operand(self, kind):
        if kind in ("P", "P_", "p", "!p"):
            return self.register("pred")
        if found := re.match(r"V_?\((.*),(.*)\)$|vx?_?\((.*),(.*)\)$", kind):
            count, type_name = (found[1], found[2]) if found[1] else (found[3], found[4])
            return "{" + ", ".join(self.register(self.type_of(type_name)) for _ in range(self.count_of(count))) + "}"
        if kind in ("m.tm",):
            return "[" + self.register("b32") + "]"
        if found := re.match(r"tm(a|s|e|es|)\((.*)\)$", kind):
            count = self.count_of(found[2])
            parts = [self.register("b64")] + ([self.register("b32")] if "e" in found[1] else []) + \
                ([self.register("b64")] if found[1] else []) + ([self.list_of("b8", count)] if "s" in found[1] else [])
            if "s" in found[1] and count > 1:
                parts += [self.list_of("b32", count - 1), self.register("b16")]
            return "[" + ", ".join(parts + [self.list_of("b32", count)]) + "]"
        if found := re.match(r"e\((\d)\)$", kind):
            return "[" + ", ".join([self.register("b32")] + [self.register("b64") for _ in range(int(found[1]) - 1)]) + "]"
        if re.match(r"mu?(\.|$)", kind):
            return "[" + self.register("b64") + "]"
        if kind == "i(ones)":
            return "0xffffffff"
        if found := re.match(r"i(?:\((.*)\))?$", kind):
            return re.match(r"-?\d+", found[1] or "0")[0] if found[1] != "pow2" else "1"
        if kind == "_":
            return "_"
        if kind == "sreg":
            return "%tid.x"
        if found := re.match(r"-?[RrxX]_?(2?)(<.*>|\.\w+)", kind):
            return self.register(self.type_of(found[2]))
        raise ValueError(f"{self.row.name}: operands of kind {kind} are not known here")

    def text(self):
        kinds = [o.split(":", 1) for o in re.split(r",(?![^()]*\))", self.row.operands) if o]
        operands = [self.operand(kind.split("[|")[0]) for name, kind in kinds if not name.startswith("?")]
        return f"{self.row.opcode}{self.modifiers} {', '.join(operands)}".rstrip() + ";"


def choices_of(row, most):
    """All combinations of the row's alternatives, or a sample with every alternative."""
    lists = [c if c is not None else [("", "")] for _, c in row.elements]
    total = 1
    for entries in lists:
        total *= len(entries)
    if total <= most:
        return list(itertools.product(*lists))
    rng = random.Random(1)
    sample = [tuple(rng.choice(entries) for entries in lists) for _ in range(most)]
    for place, entries in enumerate(lists):
        for entry in entries:
            pick = [rng.choice(e) for e in lists]
            pick[place] = entry
            sample.append(tuple(pick))
    return sample


def assemble(ptxas, version, target, lines):
    """None if ptxas accepts the lines, else its first message."""
    body = "".join(f"    {line}\n" for line in lines)
    source = (f".version {version}\n.target {target}\n.address_size 64\n{GLOBALS}.visible .entry k()\n{{\n{REGISTERS}{body}"
              "    ret;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        real = "sm_75" if re.fullmatch(r"sm_[1-7]\d", target) and target < "sm_75" else target
        run = subprocess.run([ptxas, "-O0", "-arch", real.replace("sm_101", "sm_110"), path, "-o", os.devnull],
                             capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    errors = [m for m in re.findall(r"(?:error|fatal) *: *(.*)", run.stderr + run.stdout)]
    return errors[0] if errors else f"status {run.returncode}"


def known_targets(ptxas):
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"sm_\d+[af]?(?=')", text)), key=lambda t: (int(re.sub(r"\D", "", t)), t))


def has_target(needs, target):
    """True if the column's targets include this one."""
    number, suffix = int(re.sub(r"\D", "", target)), target.rstrip("0123456789sm_") or target[-1:]
    for need in needs:
        if ".." in need:
            low, high = (int(re.sub(r"\D", "", n)) for n in need.split(".."))
            if low <= number <= high:
                return True
        elif need[-1:] in "af":
            if need == target:
                return True
        elif need and number >= int(re.sub(r"\D", "", need)):
            return True
    return False


def split_need(need):
    """The version and the targets of "[8.6/sm_100a]", "[8.6]" or "[sm_100a]"."""
    version, _, targets = need.partition("/") if need[:1].isdigit() else ("", "", need)
    return version, targets.split(",") if targets else []


def later(one, other):
    return VERSIONS[max(VERSIONS.index(one), VERSIONS.index(other))]


def is_plain(row, choice):
    """True if the row's version and targets are enough for the choice."""
    for _, need in choice:
        version, targets = split_need(need)
        if (version and later(version, row.version) != row.version) or \
                (targets and not all(has_target(targets, t) for t in row.targets)):
            return False
    return True


def certify_needs(row, ptxas, choices, targets):
    """Problems of choices with needs of their own: each is accepted with them, and not by the version before."""
    problems = []
    for choice in choices:
        version, mine = row.version, [t for t in targets if has_target(row.targets, t)]
        for _, need in choice:
            least, only = split_need(need)
            version = later(version, least) if least else version
            mine = [t for t in mine if has_target(only, t)] if only else mine
        line = Spelling(row, choice).text()
        used = next(((v, t) for v in VERSIONS[VERSIONS.index(version):] for t in mine if not assemble(ptxas, v, t, [])), None)
        if used is None:
            continue
        if why := assemble(ptxas, *used, [line]):
            problems.append(f"{line} {used}: {why}")
        before = VERSIONS[VERSIONS.index(version) - 1]
        if used[0] == version != row.version and not assemble(ptxas, before, used[1], []) and \
                not assemble(ptxas, before, used[1], [line]):
            problems.append(f"{line} [{before}]: accepted")
    return problems


def certify(row, ptxas, version, most, targets):
    plain = [c for c in choices_of(row, most) if is_plain(row, c)]
    needing = [c for c in choices_of(row, most) if not is_plain(row, c)]
    mine = [t for t in targets if has_target(row.targets, t)]
    pairs = ((v, t) for v in VERSIONS[VERSIONS.index(row.version):] for t in mine if not assemble(ptxas, v, t, []))
    used, first = next(pairs, (None, None))
    if first is None:
        return f"this ptxas has no target of {','.join(row.targets)}"
    seen = {}
    for choice in needing:
        seen.setdefault(tuple(sorted({need for _, need in choice if need})), []).append(choice)
    problems = certify_needs(row, ptxas, [c for few in seen.values() for c in few[:6]], targets)
    lines = [Spelling(row, c).text() for c in plain]
    for start in range(0, len(lines), 100):
        chunk = lines[start: start + 100]
        if assemble(ptxas, used, first, chunk):
            problems += [f"{line} [{first}]: {why}" for line in chunk if (why := assemble(ptxas, used, first, [line]))]
    if lines:
        for target in targets:
            why = assemble(ptxas, version, target, lines[:1])
            if (why is None) != has_target(row.targets, target):
                problems.append(f"{lines[0]} [{target}]: {why or 'accepted'}")
        before = VERSIONS[max(VERSIONS.index(row.version) - 1, 0)]
        if used == row.version and before != row.version and not assemble(ptxas, before, first, lines[:1]):
            problems.append(f"{lines[0]} [{before}]: accepted")
    return f"ok {len(lines)}" + (f", {len(needing)} with needs of their own" if needing else "") if not problems \
        else f"{len(problems)} of {len(lines)}: " + "; ".join(problems[:6])


def try_row(row, options, targets):
    try:
        return certify(row, options.ptxas, options.version, options.most, targets)
    except ValueError as error:
        return f"not tried: {error}"


def print_entry(row):
    """An entry with each alternative of the row once, and its declarations."""
    shown, lines = set(), []
    for choice in choices_of(row, 3000):
        if not is_plain(row, choice):
            continue
        new = {(i, c) for i, c in enumerate(choice)} - shown
        if new:
            shown |= new
            lines.append(Spelling(row, choice))
    texts = [s.text() for s in lines]
    largest = {}
    for prefix, number in re.findall(r"(%[a-z]+)(\d+)", " ".join(texts)):
        largest[prefix] = max(largest.get(prefix, 0), int(number))
    declared = {"%p": "pred", "%b": "b8", "%h": "b16", "%r": "b32", "%f": "f32", "%rd": "b64", "%fd": "f64", "%q": "b128"}
    print(f"\n// row {row.name}\n.visible .entry r_{re.sub(r'[^A-Za-z0-9]', '_', row.name)}()\n{{")
    for prefix, type_name in declared.items():
        if prefix in largest:
            print(f"    .reg .{type_name} {prefix}<{largest[prefix] + 1}>;")
    print("".join(f"    {t}\n" for t in texts) + "    ret;\n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--version", default=VERSIONS[-1], help="the .version with which all targets are tried")
    parser.add_argument("--most", type=int, default=3000)
    parser.add_argument("--entry", action="store_true")
    parser.add_argument("ids", nargs="+")
    options = parser.parse_args()
    rows = [r for r in read_table(TABLE) if any(fnmatch.fnmatchcase(r.name, i) for i in options.ids)]
    if not rows:
        sys.exit("no such row")
    if options.entry:
        for row in rows:
            print_entry(row)
        return
    targets = known_targets(options.ptxas)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda r: try_row(r, options, targets), rows)
        good = True
        for row, verdict in zip(rows, verdicts):
            print(f"{row.name}\t{verdict}")
            good = good and verdict.startswith(("ok", "not tried"))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
