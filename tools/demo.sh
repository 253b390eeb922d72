#!/usr/bin/env bash
# The demonstration (`make demo`): what README's first page promises, on kernels of the corpus for which it comes true,
# on one for which nothing is to be gained, and on one that is refused. The kernels start from the CUDA sources if nvcc
# is installed, otherwise from the PTX beside them; each output is compared with its input in the emulator. The files
# stay in build/demo.
set -uo pipefail
cd "$(dirname "$0")/.."

program="${PTXOPT:-./ptxopt}"
out="${BUILD:-build}/demo"
arch=sm_90
# what is shown : folder of the corpus : kernel : options
cases=(
    "coarsening:vectoradd:vectoradd_exact:-coarsen auto -keep-original"
    "coarsening:matmul_naive:matmul_naive:-coarsen auto -keep-original"
    "coarsening:stencil1d:stencil1d:-coarsen auto -keep-original"
    "registers:mriq:mriq_fast:-target-regs auto"
    "nothing:mandelbrot:mandelbrot:-coarsen auto"
    "refused:spinlock:spinlock:-coarsen 2"
)

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

# $1: folder; $2: kernel; $3: options. Writes KERNEL.ptx, KERNEL.json and so on, and KERNEL.seconds.
run_one() {
    local name="$out/$2" launch="corpus/$1/$2.launch.json" options begin
    read -r -a options <<<"$3"
    options+=(-block "$(block_of "$launch")" -entry "$2")
    begin="$(date +%s%N)"
    printf '%s\n' "ptxopt ${options[*]} $1.ptx" >"$name.command"
    case "$3" in *-coarsen*) options+=(-launch-out "$name.launch.json") ;; esac
    "$program" "${options[@]}" -summary -verify "$launch" -o "$name.out.ptx" -cubin "$name.cubin" \
        -report="$name.json" -report-format json "$out/$1.ptx" >"$name.log" 2>&1
    printf '%s\n' $? >"$name.status"
    printf '%d\n' $((($(date +%s%N) - begin) / 100000000)) >"$name.tenths"
}

begin="$(date +%s)"
if [ -n "$nvcc" ]; then
    echo "PTX: made from corpus/*/*.cu by $("$nvcc" --version | sed -n 's/.*release.*V/nvcc /p') for $arch"
else
    echo "PTX: corpus/*/*.$arch.ptx (nvcc is not installed)"
fi
for one in "${cases[@]}"; do
    IFS=: read -r _ folder kernel options <<<"$one"
    make_ptx "$folder"
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
        wait -n
    done
    run_one "$folder" "$kernel" "$options" &
done
wait

# The judge was perhaps nvJitLink or the driver: check the outputs with ptxas too.
ptxas="$(command -v ptxas || true)"
for candidate in third_party/cuda/bin/ptxas /usr/local/cuda/bin/ptxas; do
    [ -n "$ptxas" ] || [ ! -x "$candidate" ] || ptxas="$candidate"
done
checked=""
if [ -n "$ptxas" ]; then
    good=0
    all=0
    for file in "$out"/*.out.ptx; do
        all=$((all + 1))
        "$ptxas" -arch="$arch" -o /dev/null "$file" >/dev/null 2>&1 && good=$((good + 1))
    done
    checked="ptxas $("$ptxas" --version | sed -n 's/.* V//p') assembles $good of the $all outputs."
fi
end="$(date +%s)"

CHECKED="$checked" python3 - "$out" "$((end - begin))" "${cases[@]}" <<'TABLE'
import json
import os
import sys
import textwrap

out, seconds, cases = sys.argv[1], sys.argv[2], [case.split(":") for case in sys.argv[3:]]
titles = {
    "coarsening": "Coarsening: each thread does the work of several, and what they have in common is done once.",
    "registers": "Fewer registers, without spilling, so that more blocks run on each multiprocessor.",
    "nothing": "Nothing to gain: the kernel is left alone.",
    "refused": "Refused: it cannot be shown that the result stays the same.",
}


def read(kernel, name):
    try:
        with open(f"{out}/{kernel}.{name}") as file:
            return file.read().strip()
    except OSError:
        return ""


def summary(kernel):
    lines = [line for line in read(kernel, "log").splitlines() if line.startswith(f"{kernel}: ")]
    return lines[-1] if lines else ""


def change(before, after, digits=0):
    """'12 -> 32', or one of the two where they are equal; nothing where one is unknown."""
    if before is None or after is None:
        return ""
    texts = [f"{value:.{digits}f}" for value in (before, after)]
    return texts[0] if texts[0] == texts[1] else " -> ".join(texts)


def of(standing, *path):
    for name in path:
        standing = standing.get(name) if standing else None
    return standing


def spilled(standing):
    figures = standing["figures"]
    return figures["spill_stores"] + figures["spill_loads"] if figures else None


def row(kernel, entry):
    before, after, cost = entry["before"], entry["after"], entry.get("cost")
    instructions = [of(cost, side, "per_original_thread", "machine_instructions") for side in ("before", "after")]
    return [kernel, change(*instructions, 1),
            change(of(before, "figures", "registers"), of(after, "figures", "registers")),
            change(spilled(before), spilled(after)),
            change(of(before, "occupancy", "warps"), of(after, "occupancy", "warps")),
            change(of(cost, "before", "microseconds"), of(cost, "after", "microseconds"), 1),
            f"{cost['speedup']:.2f}x" if cost and cost.get("speedup") else "", read(kernel, "tenths")]


failures, rows, assembler, shown = [], [], None, None
for what, _, kernel, _ in cases:
    try:
        report = json.loads(read(kernel, "json"))
    except ValueError:
        failures.append(kernel)
        continue
    if read(kernel, "status") not in ("0", "3"):
        failures.append(kernel)
    assembler = report["assembler"] or assembler
    if what != shown:
        print(f"\n{titles[what]}")
    shown = what
    print(f"  $ {read(kernel, 'command')}")
    print(textwrap.fill(summary(kernel), 112, initial_indent="    ", subsequent_indent="      "))
    rows.append(row(kernel, report["kernels"][0]))

print()
if assembler:
    print(f"Figures: {assembler['name']} {assembler['version']}; times: predicted for an H100, by estimates")
else:
    print("Figures: none, because no assembler was found; 'make deps' installs one")
head = ["kernel", "instructions", "registers", "spilled", "warps/SM", "microseconds", "gain", "took"]
for one in rows:
    one[-1] = f"{int(one[-1] or 0) / 10:.1f} s"
widths = [max(len(one[i]) for one in rows + [head]) for i in range(len(head))]
for one in [head] + rows:
    print("  ".join(cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(one)))
print(f"""
instructions  machine instructions that are executed for each original thread
registers     32-bit registers of a thread; spilled: bytes of spill stores and loads in the machine code
warps/SM      warps that a multiprocessor runs at once
took          what ptxopt needed, with the comparison of input and output in the emulator: they leave the same memory

{os.environ['CHECKED']}
The PTX, cubins, reports and launch contracts are in {out}. {seconds} seconds.""")
for kernel in failures:
    print(f"FAILED: {kernel}: see {out}/{kernel}.log")
sys.exit(1 if failures else 0)
TABLE
