#!/usr/bin/env python3
"""Prints one large module for sm_90 that consists of several modules, each as often as COPIES says, under other names.

usage: tests/tools/join-modules.py COPIES FILE.ptx... >JOINED.ptx

Functions that are declared but defined elsewhere, such as vprintf, keep their names, and are declared once.
"""
import re
import sys

HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n"
DIRECTIVE = re.compile(r"^\s*\.(version|target|address_size).*$", re.M)
EXTERN = re.compile(r"^\s*(\.extern \.func.*?;)", re.M | re.S)
DEFINED = re.compile(
    r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)"
    r"|^\s*\.(?:visible |weak |extern )*(?:global|const|shared)[^\n=;]*?\s(\w+)(?:\[[^\]]*\])*\s*[=;]",
    re.M,
)


def main():
    declarations, modules = set(), []
    for number, path in enumerate(sys.argv[2:]):
        with open(path, encoding="utf-8") as file:
            text = DIRECTIVE.sub("", file.read())
        declarations.update(EXTERN.findall(text))
        text = EXTERN.sub("", text)
        names = {name for pair in DEFINED.findall(text) for name in pair if name}
        for copy in range(int(sys.argv[1])):
            suffix = "__%d_%d" % (number, copy)
            modules.append(re.sub(r"[\w$%]+", lambda m: m[0] + suffix if m[0] in names else m[0], text))
    print("\n".join([HEADER, *sorted(declarations), *modules]))


main()
