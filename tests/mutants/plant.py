#!/usr/bin/python3
"""Plants mistakes in C files, each switched on by its number at run time ("mutant schemata").

The planted code also notes whether the mistake would make a difference to the value (mutant.h): a job for whose values
< and <= are the same need not be asked about that.

    tests/mutants/plant.py [-n COUNT] [-s SEED] TREE FILE...

TREE is a copy of the project, which is changed: COUNT mistakes (300) are picked by chance among those that the files
have room for, a file getting as many as its size deserves, and none in another. Writes TREE/mutants.tsv, a line for
each: number, file, line, function, kind, what stands there, what replaces it. libclang (Debian's python3-clang) says
where the expressions are.

The kinds:
  compare    a < b becomes a <= b, == becomes !=, and so on
  arithmetic a + b becomes a - b, & becomes |, << becomes >>
  constant   an integer becomes one more
  negate     the condition of an if or a loop, or a result of bool, is negated
  operand    an operand of && or || does not count
  swap       two neighbouring arguments of one type, or the operands of a difference, change places
  call       a call whose result is not used is left out
  assign     an assignment is left out
  jump       a break or continue is left out
"""
import argparse
import concurrent.futures
import os
import random
import re
import sys

from clang import cindex
from clang.cindex import CursorKind, TypeKind

FOLDER = "support"  # of the tree, where tests/mutants/run puts mutant.h and mutant.c
COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "&": "|", "|": "&", "<<": ">>", ">>": "<<"}
INTEGERS = {TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT, TypeKind.USHORT, TypeKind.INT,
            TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG, TypeKind.INT128,
            TypeKind.UINT128}
# Only the tests of leaks and of our own errors can see these.
NOT_LEFT_OUT = re.compile(r"free|close|destroy|^bug$|assert|^va_|release|unreachable")


class Site:
    """A mistake: text[start:end] becomes form with the number put in for {n}."""

    def __init__(self, kind, start, end, form, changed, function):
        self.kind, self.start, self.end, self.form = kind, start, end, form
        self.changed, self.function = changed, function


class Finder:
    """Finds the sites of one file. Offsets are of bytes."""

    def __init__(self, path, text, unit):
        self.path, self.text, self.unit, self.sites = path, text, unit, []
        self.macros = [self.extent(c) for c in unit.cursor.get_children()
                       if c.kind == CursorKind.MACRO_INSTANTIATION and self.here(c)]
        for cursor in unit.cursor.get_children():
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and self.here(cursor):
                self.visit(cursor, None, cursor.spelling)

    def here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == self.path

    @staticmethod
    def extent(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def source(self, cursor):
        start, end = self.extent(cursor)
        return self.text[start:end].decode()

    def written(self, cursor):
        """Whether the cursor is text of this file, not what a macro makes."""
        start, end = self.extent(cursor)
        if end <= start or not self.here(cursor):
            return False
        return all(end <= s or e <= start or (start <= s and e <= end and (start, end) != (s, e))
                   for s, e in self.macros)

    def add(self, kind, cursor, form, changed, function):
        if self.written(cursor):
            start, end = self.extent(cursor)
            self.sites.append(Site(kind, start, end, form, changed, function))

    def operator(self, cursor):
        """(left, operator, right) of a binary expression whose parts are written in this file, or None."""
        parts = list(cursor.get_children())
        if len(parts) != 2 or not all(self.written(p) or self.is_macro(p) for p in parts):
            return None
        between = self.text[self.extent(parts[0])[1]:self.extent(parts[1])[0]].decode().strip()
        return parts[0], between, parts[1]

    def is_macro(self, cursor):
        return self.here(cursor) and self.extent(cursor) in self.macros

    def visit(self, cursor, parent, function):
        kind = cursor.kind
        if kind == CursorKind.CASE_STMT:
            children = list(cursor.get_children())[1:]
        elif kind == CursorKind.VAR_DECL and (cursor.storage_class == cindex.StorageClass.STATIC or
                                              cursor.type.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY)):
            children = []
        elif kind == CursorKind.CXX_UNARY_EXPR:  # sizeof
            children = []
        else:
            children = list(cursor.get_children())
        self.mistakes(cursor, parent, function)
        for child in children:
            self.visit(child, cursor, function)

    def mistakes(self, cursor, parent, function):
        kind = cursor.kind
        if kind == CursorKind.BINARY_OPERATOR:
            self.binary(cursor, parent, function)
        elif kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR and self.is_statement(parent):
            self.leave_out("assign", cursor, function)
        elif kind == CursorKind.INTEGER_LITERAL:
            source = self.source(cursor)
            self.add("constant", cursor, f"(mutant({{n}}) ? {source} + 1 : {source})", f"{source} + 1", function)
        elif kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT):
            self.negate(next(cursor.get_children()), function)
        elif kind == CursorKind.RETURN_STMT:
            for value in cursor.get_children():
                if value.type.get_canonical().kind == TypeKind.BOOL:
                    self.negate(value, function)
        elif kind == CursorKind.CALL_EXPR:
            self.call(cursor, parent, function)
        elif kind in (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT):
            alone = parent.kind == CursorKind.COMPOUND_STMT or (
                parent.kind == CursorKind.IF_STMT and len(list(parent.get_children())) == 2)
            if alone:
                source = self.source(cursor)
                self.add("jump", cursor, f"if (!mutant({{n}})) {source}", "", function)

    def binary(self, cursor, parent, function):
        found = self.operator(cursor)
        if not found:
            return
        left, operator, right = self.source(found[0]), found[1], self.source(found[2])
        integer = cursor.type.get_canonical().kind in INTEGERS
        if operator == "<" and parent.kind == CursorKind.FOR_STMT:
            return  # one round too many reads beyond an array, which only sanitizers see
        if operator in COMPARE:
            self.either("compare", cursor, left, operator, COMPARE[operator], right, function)
        elif operator in ARITHMETIC and integer and not any(self.is_pointer(part) for part in found[::2]):
            self.either("arithmetic", cursor, left, operator, ARITHMETIC[operator], right, function)
            if operator == "-":
                self.add("swap", cursor, f"MUTANT_EXCHANGED({{n}}, ({left}), ({right}))", f"({right}) - ({left})",
                         function)
        elif operator in ("&&", "||"):
            for part in (found[0], found[2]):
                source = self.source(part)
                word = "true" if operator == "&&" else "false"
                self.add("operand", part, f"mutant_{word}({{n}}, !!({source}))", word, function)
        elif operator == "=" and self.is_statement(parent):
            self.leave_out("assign", cursor, function)

    def call(self, cursor, parent, function):
        if not cursor.spelling or NOT_LEFT_OUT.search(cursor.spelling):
            return
        if self.is_statement(parent):
            self.leave_out("call", cursor, function)
        arguments = list(cursor.get_arguments())
        for a, b in zip(arguments, arguments[1:]):
            if not (self.written(a) and self.written(b)) or not self.written(cursor):
                continue
            one, other = a.type.get_canonical(), b.type.get_canonical()
            first, second = self.source(a), self.source(b)
            if one.spelling == other.spelling and first != second and '"' not in first + second:
                self.sites.append(Site("swap", self.extent(a)[0], self.extent(b)[1],
                                       f"mutant({{n}}) ? ({second}) : ({first}), mutant({{n}}) ? ({first}) : ({second})",
                                       f"{second}, {first}", function))

    @staticmethod
    def is_statement(parent):
        return parent is not None and parent.kind == CursorKind.COMPOUND_STMT

    @staticmethod
    def is_pointer(cursor):
        return cursor.type.get_canonical().kind not in INTEGERS | {TypeKind.BOOL, TypeKind.ENUM}

    def either(self, kind, cursor, left, operator, other, right, function):
        self.add(kind, cursor, f"MUTANT_EITHER({{n}}, ({left}), ({right}), {operator}, {other})",
                 f"({left}) {other} ({right})", function)

    def negate(self, cursor, function):
        source = self.source(cursor)
        self.add("negate", cursor, f"(mutant({{n}}) != !!({source}))", f"!({source})", function)

    def leave_out(self, kind, cursor, function):
        self.add(kind, cursor, f"(mutant({{n}}) ? (void)0 : (void)({self.source(cursor)}))", "", function)


def find(tree, file):
    """(text, sites) of a file, whose path is relative to the tree."""
    path = os.path.join(tree, file)
    with open(path, "rb") as stream:
        text = stream.read()
    unit = cindex.Index.create().parse(path, args=["-std=gnu11", f"-I{tree}", f"-I{tree}/build", "-D_GNU_SOURCE="],
                                       options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        sys.exit(f"plant: {errors[0]}")
    return text, Finder(path, text, unit).sites


def pick(found, count, chance):
    """[(file, site)]: by chance among all sites, none inside another, in the order of files and places."""
    everything = [(file, site) for file, (_, sites) in found.items() for site in sites]
    chance.shuffle(everything)
    taken = {file: [] for file in found}
    picked = []
    for file, site in everything:
        if len(picked) == count:
            break
        if all(site.end <= other.start or other.end <= site.start for other in taken[file]):
            taken[file].append(site)
            picked.append((file, site))
    return sorted(picked, key=lambda p: (p[0], p[1].start))


def one_line(text):
    return re.sub(r"\s+", " ", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="count", type=int, default=300)
    parser.add_argument("-s", dest="seed", type=int, default=1)
    parser.add_argument("tree")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    with concurrent.futures.ProcessPoolExecutor() as pool:
        trees = [options.tree] * len(options.files)
        found = dict(zip(options.files, pool.map(find, trees, options.files, chunksize=4)))
    picked = pick(found, options.count, random.Random(options.seed))
    changed = {}
    with open(os.path.join(options.tree, "mutants.tsv"), "w", encoding="utf-8") as table:
        for number, (file, site) in enumerate(picked):
            text = found[file][0]
            line = text.count(b"\n", 0, site.start) + 1
            original = one_line(text[site.start:site.end].decode())
            table.write("\t".join([str(number), file, str(line), site.function, site.kind, original,
                                   one_line(site.changed)]) + "\n")
            changed.setdefault(file, []).append((site, number))
    for file, sites in changed.items():
        text = found[file][0]
        for site, number in reversed(sites):
            text = text[:site.start] + site.form.replace("{n}", str(number)).encode() + text[site.end:]
        with open(os.path.join(options.tree, file), "wb") as stream:
            stream.write(f'#include "{FOLDER}/mutant.h"\n#line 1\n'.encode() + text)
    print(f"{len(picked)} of {sum(len(s) for _, s in found.values())} mistakes in {len(changed)} files")


if __name__ == "__main__":
    main()
