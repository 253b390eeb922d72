"""docs/results/predicted.md: predicted times of what -coarsen auto and -target-regs keep."""
import math

ASKED = ("-coarsen auto", "-target-regs auto", "-target-regs 32")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def mean_rows(rows):
    lines = ["| options | PTX | rows | changed | speedup, geometric mean | least | left alone | refused |",
             "|---|---|---|---|---|---|---|---|"]
    for options in ASKED:
        for form in sorted({row["ptx"] for row in rows}):
            own = [row for row in rows if row["options"] == options and row["ptx"] == form]
            speedups = [row["speedup"] for row in own if row.get("speedup")]
            if not own:
                continue
            refused = sum(row["outcome"] == "refused" for row in own)
            lines.append(f"| `{options}` | {form} | {len(own)} | {len(speedups)} | {geometric_mean(speedups):.2f} | "
                         f"{min(speedups, default=1):.3f} | {len(own) - len(speedups) - refused} | {refused} |")
    return lines


def kernel_rows(rows, options):
    lines = ["| kernel | PTX | form | predicted | limited by, afterwards |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -(row.get("speedup") or 0)):
        if row["options"] != options or not row.get("speedup"):
            continue
        form = f"{row['factor']} {row['stride']}" if row.get("stride") else f"{row['registers']} registers"
        lines.append(f"| `{row['kernel']}` | {row['ptx']} | {form} | {row['verdict']} | {row['binding']} |")
    return lines


def page(table, command):
    rows = table["rows"]
    assembler = f"{table['assembler']['name']} {table['assembler']['version']}".strip()
    parts = [f"""# Predicted times over the corpus

Made by `{command}`,
with {assembler}. Times are predicted (`docs/time.md`), not measured: for the first launch file of each kernel, counted
by the emulator, on two SMs of the architecture's device with their share of L2 and DRAM (`corpus/two-sms.json`); for
`-target-regs`, estimated for a launch that fills the device. Many of the launches do not fill even two SMs; where all
blocks run at once, a change must promise more before it is made (`docs/time.md`). Changed kernels give the input's results
to the bit.
""", *mean_rows(rows)]
    for options in ASKED:
        parts += ["", f"## `{options}`", "", *kernel_rows(rows, options)]
    return "\n".join(parts) + "\n"
