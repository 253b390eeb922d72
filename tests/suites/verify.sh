#!/usr/bin/env bash
# ptxopt run and -verify on the corpus: every kernel, from several compilers and with several options, coarsened in
# several ways, reduced to 32 registers, or both, computes the same as before; results, counters and messages do not
# depend on the number of cores; a launch that cannot be verified is reported as such.
set -uo pipefail

program="${PTXOPT:?}"
tmp="${TEST_TMP:?}"
. tests/suites/result.bash

assembler=yes
"$program" -assembler auto -cubin "$tmp/probe.cubin" corpus/vectoradd/vectoradd.sm_90.ptx >/dev/null 2>&1 ||
    assembler=no

# $1: the files' architecture, or *. Prints "FILE.ptx LAUNCH.json" for each launch and architecture; large launches are
# for devices.
launches() {
    local launch name ptx
    for launch in corpus/*/*.launch.json; do
        case "$launch" in *.large.launch.json | *.slow.launch.json) continue ;; esac
        name="$(basename "$(dirname "$launch")")"
        for ptx in corpus/"$name"/"$name".$1.ptx tests/ptx/corpus."$name".$1{,.*}.ptx; do
            [ ! -f "$ptx" ] || printf '%s %s\n' "$ptx" "$launch"
        done
    done
}

# $1: name; $2: architecture; $3...: options. All launches of the corpus must be equal.
verify_all() {
    local name="$1" arch="$2" ptx launch wrong="" count=0 status
    shift 2
    while read -r ptx launch; do
        "$program" -q "$@" -verify "$launch" -o "$tmp/out.ptx" "$ptx" >/dev/null 2>"$tmp/errors" </dev/null
        status=$?
        # Small blocks cannot be divided by every factor.
        [ "$status" -eq 6 ] && grep -q "does not meet the launch contract" "$tmp/errors" && continue
        [ "$status" -eq 0 ] || wrong="$wrong $ptx $launch (status $status: $(head -n 1 "$tmp/errors"))"
        count=$((count + 1))
    done < <(launches "$arch")
    [ "$count" -gt 30 ] || wrong="$wrong only $count launches"
    result "$name" "${wrong:0:1000}"
}

verify_all "unchanged" sm_75 -assembler none
verify_all "coarsened by 2" "sm_*" -assembler none -coarsen 2
verify_all "coarsened by 4" sm_90 -assembler none -coarsen 4
verify_all "coarsened by 2, neighbours" sm_90 -assembler none -coarsen 2 -stride unit
if [ "$assembler" = yes ]; then
    verify_all "coarsened by 2, 32 registers" sm_90 -O1 -coarsen 2 -target-regs 32
else
    printf 'skip 32 registers: no assembler\n'
fi
wrong=""
for name in matmul_naive matmul_tiled; do
    "$program" -q -assembler none -coarsen x2,y2 -stride 4 -verify corpus/$name/$name.launch.json \
        -o "$tmp/out.ptx" corpus/$name/$name.sm_90.ptx 2>"$tmp/errors" ||
        wrong="$wrong $name: $(head -n 1 "$tmp/errors")"
done
result "coarsened by 2 along x and y, 4 apart" "$wrong"

# One core and several give the same results.

wrong=""
while read -r ptx launch; do
    for jobs in 1 3; do
        "$program" run -lines -jobs "$jobs" -report-format json "$ptx" "$launch" >"$tmp/jobs.$jobs" 2>&1
        echo "status $?" >>"$tmp/jobs.$jobs"
    done
    cmp -s "$tmp/jobs.1" "$tmp/jobs.3" || wrong="$wrong $launch"
done < <(launches sm_90)
for ptx in tests/cases/run/*.ptx; do
    launch="$(sed -n 's|^// ptxopt: run \(.*\)|\1|p' "$ptx")"
    for jobs in 1 3; do
        "$program" run -jobs "$jobs" "$launch" "$ptx" >"$tmp/jobs.$jobs" 2>&1
        echo "status $?" >>"$tmp/jobs.$jobs"
    done
    cmp -s "$tmp/jobs.1" "$tmp/jobs.3" || wrong="$wrong $ptx"
done
result "the same on one core and on three" "$wrong"

# A large buffer as JSON: time that grows with the square of its length would be minutes.

cat >"$tmp/large.ptx" <<'END'
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a) { ret; }
END
cat >"$tmp/large.json" <<'END'
{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
 "args": [{"buffer": "a", "type": "f32", "count": 300000, "init": "uniform", "low": -1, "high": 1, "seed": 3}]}
END
wrong=""
(ulimit -t 20 && "$program" run -dump a -report-format json "$tmp/large.ptx" "$tmp/large.json" >"$tmp/large.out") ||
    wrong="status $?"
"$program" run -dump a "$tmp/large.ptx" "$tmp/large.json" >"$tmp/large.text"
[ -n "$wrong" ] || python3 - "$tmp/large.out" "$tmp/large.text" <<'END' || wrong="other values than the text"
import json
import sys
values = json.load(open(sys.argv[1]))["buffers"][0]["values"]
sys.exit(values != [float(line) for line in open(sys.argv[2])])
END
result "a large buffer is printed as JSON in seconds" "$wrong"

# Launches that cannot be verified, and the output that is written then.

# $1: name; $2: status; $3: text on standard error; $4...: arguments. No output may be there.
fails() {
    local name="$1" wanted="$2" text="$3" wrong="" status
    shift 3
    rm -f "$tmp/never.ptx"
    "$program" "$@" -o "$tmp/never.ptx" >"$tmp/out" 2>"$tmp/errors"
    status=$?
    [ "$status" -eq "$wanted" ] || wrong="exit status $status"
    grep -qF -- "$text" "$tmp/errors" || wrong="$wrong, no '$text': $(head -n 2 "$tmp/errors")"
    [ ! -e "$tmp/never.ptx" ] || wrong="$wrong, something was written"
    result "$name" "${wrong#, }"
}

vectoradd=corpus/vectoradd/vectoradd.sm_90.ptx
sed 's/"block": \[256,/"block": [255,/' corpus/vectoradd/vectoradd.launch.json >"$tmp/odd.launch.json"
sed 's/"vectoradd"/"nosuch"/' corpus/vectoradd/vectoradd.launch.json >"$tmp/nosuch.launch.json"
sed 's/"count": 2000, "init": "poison"/"count": 1000, "init": "poison"/' corpus/vectoradd/vectoradd.launch.json \
    >"$tmp/short.launch.json"
fails "a launch that does not meet the contract" 6 "block.x is 255, not a multiple of 2" \
    -assembler none -coarsen 2 -verify "$tmp/odd.launch.json" "$vectoradd"
fails "a launch of another module" 6 "has no kernel 'nosuch'; it has 'vectoradd'" \
    -assembler none -verify "$tmp/nosuch.launch.json" "$vectoradd"
fails "an input that is at fault" 6 \
    "cannot be verified: $vectoradd:49: out of bounds: store of 4 bytes at offset 4000 of c" \
    -assembler none -verify "$tmp/short.launch.json" "$vectoradd"
fails "no launch file" 1 "nosuch.json: No such file or directory" \
    -assembler none -verify "$tmp/nosuch.json" "$vectoradd"
printf '{ "kernel": "vectoradd",\n' >"$tmp/open.json"
fails "a launch file that breaks off" 1 "open.json:2:0: " -assembler none -verify "$tmp/open.json" "$vectoradd"
fails "an instruction that is not executable" 6 "wgmma.fence" -assembler none \
    -verify tests/cases/run/k.launch.json tests/cases/run/unsupported.ptx
fails "one of two launches differs" 5 "computes a different result" -assembler none -coarsen 2 \
    -verify tests/cases/verify/ticket_ignored.launch.json -verify tests/cases/verify/ticket.launch.json \
    tests/cases/verify/ticket.ptx

# The report is written nevertheless.

"$program" -q -assembler none -coarsen 2 -report-format json -report "$tmp/report.json" -o "$tmp/never.ptx" \
    -verify tests/cases/verify/ticket.launch.json tests/cases/verify/ticket_source.ptx >/dev/null 2>&1
result "the difference in the report" "$(python3 - "$tmp/report.json" <<'CHECK'
import json
import sys

report = json.load(open(sys.argv[1]))["verify"][0]
wanted = {"outcome": "different", "kernel": "ticket", "buffer": "out", "index": 32}
wrong = [key for key in wanted if report[key] != wanted[key]]
before, after = report["input"], report["output"]
if before["value"] != "32" or after["value"] != "64":
    wrong.append("values")
if before["written_by"]["thread"] != [32, 0, 0] or before["block"] != [128, 1, 1] or after["block"] != [64, 1, 1]:
    wrong.append("writers")
if "st.global.u32" not in after["written_by"]["text"] or before["written_by"]["line"] != 32:
    wrong.append("lines")
if {side["written_by"]["source"] for side in (before, after)} != {"put.cuh:3, inlined at src/app.cu:9"}:
    wrong.append("sources")
if after["counters"]["thread_instructions"] >= before["counters"]["thread_instructions"]:
    wrong.append("counters")
print(" ".join(wrong), end="")
CHECK
)"

# Dumps are exact.

wrong=""
"$program" run -dump c corpus/vectoradd/vectoradd.sm_90.ptx corpus/vectoradd/vectoradd.launch.json >"$tmp/c" ||
    wrong="status $?"
python3 - "$tmp/c" <<'CHECK' || wrong="$wrong, not what the launch file and an addition say"
import struct
import sys


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def element(seed, index):
    mask = (1 << 64) - 1
    state = (seed * 0x9E3779B97F4A7C15 + index + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ state >> 27) * 0x94D049BB133111EB) & mask
    return single(-1 + ((state ^ state >> 31) >> 11) / 2**53 * 2)


lines = open(sys.argv[1]).read().split()
wanted = [single(element(1, i) + element(2, i)) for i in range(2000)]
sys.exit([single(float(line)) for line in lines] != wanted)
CHECK
result "a buffer's elements" "${wrong#, }"

exit "$failed"
