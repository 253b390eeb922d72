#!/usr/bin/env bash
# "ptxopt calibrate" on the emulated driver: a device whose figures differ from those to begin with, whose times are
# noisy. Then times from a table, and what goes wrong.
set -uo pipefail
. tests/suites/emulated.bash
machine=tests/launching/machine.json
emulator=(PTXOPT_CUDA_DRIVER="$emulated/libcuda.so.1" PTXOPT_EMULATED_NOISE=0.05)
calibrate=("$PTXOPT" calibrate -assembler none)

# Prints the figures of machine file $1 that are further from the true ones than the part $2. The emulated device has 2
# of 132 multiprocessors.
far() {
    python3 - "$1" "$machine" "$2" <<'END'
import json
import sys
found, true = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for name in true:
    share = 2 / 132 if name in ("l2_bytes", "dram_bytes", "blocks_per_cycle") else 1
    ratio = found[name] / (true[name] * share)
    if not 1 / (1 + float(sys.argv[3])) < ratio < 1 + float(sys.argv[3]):
        print(f"{name} is {ratio:.3f} of the true one")
END
}

# The mean error of the other kernels, before and after, in percent.
errors_of_others() {
    sed -n '/^other kernels/,$s/^mean error *\([0-9.]*\)% *\([0-9.]*\)%$/\1 \2/p' "$tmp/out"
}

runs "exact times" 0 "^sm_90, times from Emulated GPU" "${emulator[@]}" PTXOPT_EMULATED_NOISE=0 \
    PTXOPT_EMULATED_MACHINE=$machine "${calibrate[@]}" -runs 1 -o "$tmp/exact.json"
result "exact times: the figures" "$(far "$tmp/exact.json" 0.01)"
result "exact times: the driver's figures" "$(python3 - "$tmp/exact.json" <<'END'
import json
import sys
found = json.load(open(sys.argv[1], encoding="utf-8"))
wanted = {"name": "Emulated GPU", "multiprocessors": 2, "clock_mhz": 1980, "schedulers": 4, "l1_size": 256 << 10,
          "l2_size": int((50 << 20) * 2 / 132)}
print(*(name for name in wanted if found[name] != wanted[name]))
END
)"
result "exact times: the other kernels" "$(awk '$1 < 15 || $2 > 0.5 { print $0 }' <<<"$(errors_of_others)")"
runs "5% of noise" 0 "^other kernels" "${emulator[@]}" PTXOPT_EMULATED_MACHINE=$machine "${calibrate[@]}" -runs 7 \
    -o "$tmp/noisy.json"
result "5% of noise: the figures" "$(far "$tmp/noisy.json" 0.08)"
result "5% of noise: the other kernels" "$(awk '$1 < 15 || $2 > 5 { print $0 }' <<<"$(errors_of_others)")"

# Nothing to gain: nothing is written.
runs "right already" 3 "are not predicted better, so nothing is written" "${emulator[@]}" PTXOPT_EMULATED_NOISE=0 \
    "${calibrate[@]}" -runs 1 -o "$tmp/none.json"
result "right already: no file" "$([ ! -e "$tmp/none.json" ] || echo "there is one")"
runs "right already, by force" 0 "warning: the kernels" "${emulator[@]}" PTXOPT_EMULATED_NOISE=0 \
    "${calibrate[@]}" -runs 1 -force -o "$tmp/forced.json"
result "the file is for -machine" "$("$PTXOPT" cost -q -assembler none -machine "$tmp/exact.json" \
    corpus/vectoradd/vectoradd.sm_90.ptx corpus/vectoradd/vectoradd.launch.json 2>&1 | grep -q 'on Emulated GPU' ||
    echo "'cost' does not take it")"

# Times from elsewhere are those of the same launches.
"$PTXOPT" calibrate -q -arch sm_90 -machine "$tmp/exact.json" -kernels "$tmp/kernels" 2>"$errors"
for file in "$tmp"/kernels/*.launch.json; do
    name="$(basename "$file" .launch.json)"
    printf '%s\t%s\n' "$name" "$("$PTXOPT" cost -q -assembler none -registers 32 -report-format json \
        -machine "$tmp/exact.json" "$tmp/kernels/calibrate.ptx" "$file" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["cost"]["microseconds"])')"
done >"$tmp/times.tsv"
result "a launch file for each kernel" "$([ "$(wc -l <"$tmp/times.tsv")" -eq 26 ] || wc -l <"$tmp/times.tsv")"
python3 - "$tmp/exact.json" <<'END' >"$tmp/start.json"
import json
import sys
exact = json.load(open(sys.argv[1], encoding="utf-8"))
print(json.dumps({name: exact[name] for name in ("multiprocessors", "clock_mhz", "l2_size")} |
                 {"dram_bytes": 28, "l2_bytes": 45, "blocks_per_cycle": 0.012}))
END
runs "a table" 0 "times from $tmp/times.tsv" "${calibrate[@]}" -arch sm_90 -machine "$tmp/start.json" \
    -times "$tmp/times.tsv" -o "$tmp/table.json"
result "a table: the figures" "$(far "$tmp/table.json" 0.02)"
# The other kernels have no part in the fit.
others="$(sed -n '/^other kernels/,$s/^\([a-z_]*\) .*%.*/\1/p' "$tmp/out")"
awk -v others="$others" 'index("\n" others "\n", "\n" $1 "\n") { $2 *= 2 } { print $1 "\t" $2 }' "$tmp/times.tsv" \
    >"$tmp/doubled.tsv"
result "eight other kernels" "$(awk 'NR == FNR { one[$1] = $2; next } $2 != one[$1] { count++ }
    END { if (count != 8) print count }' "$tmp/times.tsv" "$tmp/doubled.tsv")"
runs "other kernels take twice as long" 0 "times from $tmp/doubled.tsv" "${calibrate[@]}" \
    -arch sm_90 -machine "$tmp/start.json" -times "$tmp/doubled.tsv" -force -o "$tmp/doubled.json"
result "they do not change the figures" "$(cmp "$tmp/table.json" "$tmp/doubled.json" 2>&1)"
table=("${calibrate[@]}" -arch sm_90 -machine "$tmp/start.json" -o "$tmp/wrong.json" -times "$tmp/wrong.tsv")
wrong() {
    printf "$2" >"$tmp/wrong.tsv"
    runs "$1" 1 "$3" "${table[@]}"
}
wrong "a kernel that is not there" '# us\nfp32\t1\nfp23\t1\n' \
    'wrong.tsv:3:1: error: there is no kernel .fp23. for sm_90'
wrong "no tab" 'fp32 1\n' 'wrong.tsv:1:1: error: expected a kernel, a tab, and microseconds'
wrong "a kernel twice" 'fp32\t1\nfp32\t1\n' "wrong.tsv:2:1: error: the time of 'fp32' is here twice"
for time in 0 -1 nan inf 1e999 '' x '1 2'; do
    wrong "the time '$time'" "fp32\\t$time\\n" "wrong.tsv:1:6: error: expected microseconds, not '"
done
wrong "no other kernels" 'fp32\t1\n' 'has no time of a kernel that judges the fit'
wrong "only other kernels" 'stencil\t1\n' 'has no time of a kernel that the figures are fitted to'
result "wrong tables: no file" "$([ ! -e "$tmp/wrong.json" ] || echo "there is one")"

# Failures: a message, the status, and no file.
runs "no driver" 1 "no CUDA driver here: .*-kernels FOLDER" PTXOPT_CUDA_DRIVER=/nowhere/libcuda.so "${calibrate[@]}" \
    -o "$tmp/wrong.json"
runs "no GPU" 1 "the CUDA driver is here, but no GPU" "${emulator[@]}" PTXOPT_EMULATED_FAILURE=no-device \
    "${calibrate[@]}" -o "$tmp/wrong.json"
runs "a launch fails" 1 "Emulated GPU: one_block: running it: CUDA_ERROR_LAUNCH_FAILED" "${emulator[@]}" \
    PTXOPT_EMULATED_FAILURE=fault "${calibrate[@]}" -o "$tmp/wrong.json"
runs "the emulated device's file" 1 "PTXOPT_EMULATED_MACHINE: /nowhere.json" "${emulator[@]}" \
    PTXOPT_EMULATED_MACHINE=/nowhere.json "${calibrate[@]}" -o "$tmp/wrong.json"
runs "an old architecture" 1 "sm_20 is too old|there is no architecture" "${calibrate[@]}" -arch sm_20 \
    -times "$tmp/times.tsv" -o "$tmp/wrong.json"
echo '{"multiprocessors": 1e9}' >"$tmp/huge.json"
runs "a huge device" 1 "is not one to calibrate" "${calibrate[@]}" -arch sm_90 -machine "$tmp/huge.json" \
    -kernels "$tmp/huge"
runs "a place that cannot be written" 1 "there is no directory ./nowhere" "${emulator[@]}" "${calibrate[@]}" \
    -o /nowhere/x.json
runs "a folder that cannot be made" 1 "cannot make /nowhere/x/y" "${calibrate[@]}" -arch sm_90 -kernels /nowhere/x/y
runs "no architecture" 2 "calibrate: -arch: expected" "${calibrate[@]}" -kernels "$tmp/other"
runs "files" 2 "expected no files" "${calibrate[@]}" x.ptx
runs "both" 2 "exclude one another" "${calibrate[@]}" -arch sm_90 -kernels x -times y
runs "a file of nothing" 2 "calibrate: -o: with -kernels, nothing is fitted" "${calibrate[@]}" -arch sm_90 \
    -kernels x -o y
result "failures: no file" "$([ ! -e "$tmp/wrong.json" ] || echo "there is one")"

# All kernels assemble, for old architectures and new ones.
if ! "$PTXOPT" -q -o /dev/null "$tmp/kernels/calibrate.ptx" 2>"$errors"; then
    echo "skip assembling: $(head -n 1 "$errors")"
    exit "$failed"
fi
for arch in sm_75 sm_80 sm_90 sm_100; do
    "$PTXOPT" calibrate -q -arch $arch -kernels "$tmp/$arch" 2>"$errors"
    result "assembled for $arch" "$("$PTXOPT" -q -cubin "$tmp/cubin" -o /dev/null "$tmp/$arch/calibrate.ptx" 2>&1 |
        head -n 3)"
done
exit "$failed"
