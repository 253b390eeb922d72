#!/usr/bin/env bash
# ptxopt explain: trees of tables whose speedups follow from a counter, drawings, and what is missing or wrong.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

work="$TEST_TMP/work"
mkdir -p "$work"
# A table of 8 kernels on two architectures: speedup 2 for half of the loads, otherwise 1; of the other counters, one is
# random. The original is 0 to 10% slower with its own block.
python3 - "$work" <<'END'
import json, pathlib, random, re, sys
work, chance = pathlib.Path(sys.argv[1]), random.Random(1)
columns = re.findall(r'^COLUMN\(\w+, "(\w+)"', pathlib.Path("sweep/columns.def").read_text(), re.M)
head = "kernel launch arch block level dimension factor stride status basis bound inputs".split()
lines = ["\t".join(head + columns + ["reason"])]
for kernel in range(8):
    launch = work / f"k{kernel}.launch.json"
    launch.write_text(json.dumps({"block": [64, 2]}))
    for arch in ("sm_80", "sm_90"):
        def row(block, factor, stride, speedup, loads, status="ok"):
            figures = {name: "1" for name in columns}
            figures.update(loads=str(loads * (1 + kernel)), fp32=str(1 + chance.random()), speedup=f"{speedup:.4f}")
            if status != "ok":
                figures = {name: "-" for name in columns}
            level = ["-", "-"] if factor == 1 else ["thread", "x"]
            lines.append("\t".join([f"k{kernel}", str(launch), arch, block, *level, str(factor), stride, status,
                                    "machine", "L1", "0123456789abcdef", *(figures[name] for name in columns), "-"]))
        row("128x1x1", 1, "-", 1, 1)
        row("64x2x1", 1, "-", 1 - kernel / 80, 1)
        for factor in (2, 4, 8):
            fewer = chance.random() < 0.5
            row("64x2x1", factor, "unit", 2 if fewer else 1, 0.5 if fewer else 1)
            row("64x2x1", factor, "block", 1, 1)
            row("64x2x1", factor, "8", 9, 0, "refused")
(work / "table.tsv").write_text("\n".join(lines) + "\n")
END

ends "no table" 2 "explain: expected a table, TABLE.tsv" explain
ends "a wrong number of leaves" 2 "-leaves 0: expected a number from 1 to 1000" explain -leaves 0 "$work/table.tsv"
PTXOPT_PYTHON=/missing/python ends "no Python" 1 "cannot start /missing/python: No such file or directory" explain \
    "$work/table.tsv"
# A Python that has nothing installed.
printf '#!/bin/sh\nexec python3 -I -S "$@"\n' >"$work/python" && chmod +x "$work/python"
export PTXOPT_PYTHON="$work/python"
ends "no scikit-learn" 1 "regression trees need scikit-learn: install it with" explain "$work/table.tsv"
ends "a missing table" 1 "missing.tsv: No such file or directory" explain missing.tsv
ends "a file that is no table" 1 "Makefile: this is not a table of 'ptxopt sweep'" explain Makefile
grep -v '	ok	' "$work/table.tsv" >"$work/empty.tsv"
ends "a table without speedups" 1 "no configuration in it has a speedup" explain "$work/empty.tsv"
ends "a table whose name is like an option" 1 "-leaves.tsv: No such file or directory" explain -- -leaves.tsv

PTXOPT_PYTHON=""
# shellcheck disable=SC2086
for python in python3 ${PTXOPT_PYTHONS:-}; do
    [ -z "$PTXOPT_PYTHON" ] && "$python" -c 'import sklearn' 2>/dev/null && PTXOPT_PYTHON="$python"
done
if [ -z "$PTXOPT_PYTHON" ]; then
    echo "skip trees: scikit-learn is not installed"
    exit "$failed"
fi
ends "the counter that decides is found" 0 "|--- loads <= 0.75" explain "$work/table.tsv"
result "and decides alone" "$(
    [ "$(grep -c '^sm_.*: 56 samples of 8 kernels, 2 leaves by cross-validation, 2 shown' "$work/out")" -eq 2 ] &&
        [ "$(grep -c '^importance: loads 1.00$' "$work/out")" -eq 2 ] || cat "$work/out")"
result "kernels that are left out are predicted" "$(
    grep -q '^correlation 1.00, mean error 0%; for kernels left out 1.00 and 0%$' "$work/out" || cat "$work/out")"
result "own blocks, and the best forms" "$(grep -qE '^k4 +0.95 +(2.00 +2.00|1.00 +1.00)$' "$work/out" ||
    cat "$work/out")"
ends "one leaf" 0 " 1 shown" explain -leaves 1 "$work/table.tsv"
if ! "$PTXOPT_PYTHON" -c 'import matplotlib' 2>/dev/null; then
    echo "skip drawings: Matplotlib is not installed"
    exit "$failed"
fi
ends "drawings" 0 "loads" explain -o "$work/drawn" "$work/table.tsv"
ends "drawings again" 0 "loads" explain -o "$work/again" "$work/table.tsv"
result "of each architecture, with the same bytes" "$(diff -r "$work/drawn" "$work/again"
    for file in tree-sm_80 tree-sm_90 best-sm_80 counters-sm_90 factors; do
        grep -q '</svg>' "$work/drawn/$file.svg" || echo "no $file"
    done)"
exit "$failed"
