#!/usr/bin/env bash
# The demonstration (`make demo`): coarsens kernels of the corpus by two, reduces their registers, and prints the
# figures of NVIDIA's assembler before and after. It starts from the CUDA sources if nvcc is installed, otherwise from
# the PTX beside them. Its files stay in build/demo.
set -uo pipefail
cd "$(dirname "$0")/.."

program="${PTXOPT:-./ptxopt}"
out="${BUILD:-build}/demo"
arch=sm_90
kernels=(vectoradd:vectoradd transpose:transpose_tiled transpose:transpose_naive stencil1d:stencil1d
    matmul_tiled:matmul_tiled matmul_naive:matmul_naive blackscholes:blackscholes nbody:nbody reduce:reduce_sum)

rm -rf "$out"
mkdir -p "$out"

nvcc="$(command -v nvcc || true)"
if [ -z "$nvcc" ] && [ -x /usr/local/cuda/bin/nvcc ]; then
    nvcc=/usr/local/cuda/bin/nvcc
fi

# $1: folder of the corpus. Writes its PTX to $out.
make_ptx() {
    local source="corpus/$1/$1.cu" ptx="$out/$1.ptx"
    [ ! -f "$ptx" ] || return 0
    if [ -n "$nvcc" ] && "$nvcc" -ptx -arch="$arch" -o "$ptx" "$source" >"$out/$1.nvcc.log" 2>&1; then
        return 0
    fi
    cp "corpus/$1/$1.$arch.ptx" "$ptx"
}

# $1: launch file. Its "block" as X,Y,Z.
block_of() {
    tr -d ' \n' <"$1" | sed 's/.*"block":\[\([0-9,]*\)\].*/\1/'
}

# $1: kernel; $2: its PTX; $3: the value of -target-regs; $4: block. Writes NAME.ptx, NAME.cubin, NAME.json and so on.
run_one() {
    local name="$out/$1.regs-$3"
    "$program" -entry "$1" -block "$4" -coarsen 2 -target-regs "$3" -o "$name.ptx" -cubin "$name.cubin" \
        -launch-out "$name.launch.json" -report="$name.json" -report-format json "$2" >"$name.log" 2>&1
}

begin="$(date +%s)"
if [ -n "$nvcc" ]; then
    echo "PTX: made from corpus/*/*.cu by $("$nvcc" --version | sed -n 's/.*release.*V/nvcc /p') for $arch"
else
    echo "PTX: corpus/*/*.$arch.ptx (nvcc is not installed)"
fi
for pair in "${kernels[@]}"; do
    folder="${pair%%:*}"
    kernel="${pair##*:}"
    make_ptx "$folder"
    block="$(block_of "corpus/$folder/$kernel.launch.json")"
    run_one "$kernel" "$out/$folder.ptx" 16 "$block" &
    run_one "$kernel" "$out/$folder.ptx" auto "$block" &
    wait
done

# The judge was most likely nvJitLink or the driver: check the outputs with ptxas too.
ptxas="$(command -v ptxas || true)"
for candidate in /usr/local/cuda/bin/ptxas third_party/cuda/bin/ptxas; do
    [ -n "$ptxas" ] || [ ! -x "$candidate" ] || ptxas="$candidate"
done
checked=""
if [ -n "$ptxas" ]; then
    good=0
    all=0
    for file in "$out"/*.regs-*.ptx; do
        all=$((all + 1))
        "$ptxas" -arch="$arch" -o /dev/null "$file" >/dev/null 2>&1 && good=$((good + 1))
    done
    checked="ptxas $("$ptxas" --version | sed -n 's/.* V//p') assembles $good of the $all outputs."
fi
end="$(date +%s)"

CHECKED="$checked" python3 - "$out" "$((end - begin))" "${kernels[@]##*:}" <<'TABLE'
import json
import os
import sys

out, seconds, kernels = sys.argv[1], sys.argv[2], sys.argv[3:]


def load(kernel, regs):
    try:
        with open(f"{out}/{kernel}.regs-{regs}.json") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def cells(standing):
    figures, occupancy, block = standing["figures"], standing["occupancy"], standing["block"]
    while block and len(block) > 1 and block[-1] == 1:
        block = block[:-1]
    return [
        "x".join(str(side) for side in block) if block else "?",
        str(figures["registers"]) if figures else "?",
        str(figures["spill_stores"] + figures["spill_loads"]) if figures else "?",
        str(figures["instructions"]) if figures else "?",
        str(occupancy["blocks"]) if occupancy else "?",
        f"{100 * occupancy['fraction']:.0f} %" if occupancy else "?",
    ]


def remark(entry):
    coarsening, registers = entry["coarsening"], entry["registers"]
    if coarsening["outcome"] == "refused":
        line = f", line {coarsening['line']}" if "line" in coarsening else ""
        return f"not coarsened{line}: {coarsening['reason']}"
    if registers["outcome"] == "refused":
        return f"registers unchanged: {registers['reason']}"
    if registers.get("asked") != "auto":
        return "" if registers.get("reached") else f"{registers['asked']} registers cannot be reached"
    if registers.get("target"):
        return f"target {registers['target']} registers"
    return "fewer registers gain nothing" if registers["outcome"] == "unchanged" else ""


head = ["kernel", "", "block", "registers", "spilled", "instr.", "blocks/SM", "occupancy", "remark"]
rows, assembler, failures = [], None, []
for kernel in kernels:
    for regs in ("16", "auto"):
        report = load(kernel, regs)
        if not report:
            failures.append((kernel, regs))
            continue
        assembler = report["assembler"] or assembler
        entry = report["kernels"][0]
        if regs == "16":
            rows.append([kernel, "original"] + cells(entry["before"]) + [""])
        rows.append(["", f"x2, registers {regs}"] + cells(entry["after"]) + [remark(entry)])

if assembler:
    print(f"Figures: {assembler['name']} {assembler['version']}, for sm_90 (an H100)")
else:
    print("Figures: none, because no assembler was found; 'make deps' installs one")
print(f"""
Each kernel as compiled by nvcc, and after ptxopt: twice the work in each of half as many threads (-coarsen 2), with 16
registers per thread (-target-regs 16), or just few enough for one more block to fit on a multiprocessor (auto).
""")
widths = [max(len(row[i]) for row in rows + [head]) for i in range(len(head))]
for row in [head] + rows:
    if row[0] and row is not head:
        print()
    line = [cell.ljust(widths[i]) if i < 2 or i == 8 else cell.rjust(widths[i]) for i, cell in enumerate(row)]
    print("  ".join(line).rstrip())
print(f"""
block      threads per block at launch; the grid stays, so a coarsened kernel has half as many threads
registers  32-bit registers per thread
spilled    bytes of spill stores and loads in the machine code; 0 is good
instr.     machine instructions; a coarsened thread does the work of two
blocks/SM  blocks that a multiprocessor runs at once; occupancy: their share of the threads that it can hold

{os.environ['CHECKED']}
The PTX, cubins, reports and launch contracts are in {out}. {seconds} seconds.""")
for kernel, regs in failures:
    print(f"FAILED: {kernel} with -target-regs {regs}: see {out}/{kernel}.regs-{regs}.log")
sys.exit(1 if failures else 0)
TABLE
