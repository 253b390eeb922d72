#!/usr/bin/env bash
# The program around its passes: outputs, files left after failures, exit statuses, and files of the caller that are
# closed, full, missing or not files.
set -uo pipefail

program="${PTXOPT:?}"
tmp="${TEST_TMP:?}"
kernel=corpus/vectoradd/vectoradd.sm_90.ptx
. tests/suites/result.bash
. tests/suites/programs.bash

# $@: the program's arguments. Leaves status, $tmp/out and $tmp/errors.
run() {
    "$program" "$@" >"$tmp/out" 2>"$tmp/errors" </dev/null
    status=$?
}

# $1: name; $2: status wanted; $3: text that standard error holds; $4...: arguments. Nothing may be on standard output.
fails_with() {
    local name="$1" wanted="$2" text="$3" wrong=""
    shift 3
    run "$@"
    [ "$status" -eq "$wanted" ] || wrong="exit status $status"
    grep -qF -- "$text" "$tmp/errors" || wrong="$wrong, standard error lacks '$text'"
    [ ! -s "$tmp/out" ] || wrong="$wrong, something on standard output"
    result "$name" "${wrong#, }"
}

assembler=yes
"$program" -assembler auto -cubin "$tmp/probe.cubin" "$kernel" >/dev/null 2>&1 || assembler=no

# Wrong usage gives one line that names the error.

one_message() {
    fails_with "$@"
    local lines
    lines="$(wc -l <"$tmp/errors")"
    [ "$lines" -eq 1 ] || result "$1 (one line)" "$lines lines"
}

one_message "no file" 2 "no input file"
one_message "two files" 2 "one input file at a time" "$kernel" "$kernel"
one_message "factor 0" 2 "the factor is 0" -coarsen 0 "$kernel"
one_message "factor twice" 2 "a factor for x is given twice" -coarsen x2,x4 "$kernel"
one_message "stride without coarsening" 2 "-coarsen is not given" -stride 3 "$kernel"
one_message "unknown option" 2 "did you mean '-coarsen'?" -coarsne 2 "$kernel"
one_message "unknown kernel" 2 "it has 'vectoradd', 'vectoradd_exact'" -entry nosuch "$kernel"
one_message "kernel misspelt" 2 "did you mean 'vectoradd'?" -entry vectorad "$kernel"
one_message "no such architecture" 2 "-arch sm_12" -arch sm_12 "$kernel"
one_message "unknown architecture" 2 "-arch sm_99: unknown architecture" -arch sm_99 "$kernel"
one_message "architecture too old" 2 "is for sm_90 and newer" -arch sm_80 "$kernel"
one_message "no architecture" 2 "expected an architecture" -arch h100 "$kernel"
one_message "run without a launch" 2 "expected two files" run "$kernel"
one_message "run with an unknown option" 2 "unknown option '-coarsen'" run -coarsen 2 "$kernel" a.json
one_message "level grid" 2 "expected 'thread' or 'block'" -coarsen-level grid -coarsen 2 "$kernel"

# Files that are missing or not files.

one_message "missing file" 1 "No such file or directory" "$tmp/nosuch.ptx"
one_message "directory as input" 1 "Is a directory" corpus
one_message "output into a missing directory" 1 "there is no directory" -o "$tmp/nosuch/out.ptx" "$kernel"
one_message "output over a directory" 1 "it is a directory" -o "$tmp" "$kernel"
one_message "report into a missing directory" 1 "there is no directory" -report="$tmp/nosuch/r" -o "$tmp/o.ptx" \
    "$kernel"
result "nothing written beside a missing directory" "$([ ! -e "$tmp/o.ptx" ] || echo "o.ptx is there")"

"$program" "$kernel" >&- 2>"$tmp/errors"
status=$?
: >"$tmp/out"
wrong="$([ "$status" -eq 1 ] && grep -q 'standard output' "$tmp/errors" || echo "status $status")"
result "standard output closed" "$wrong"
"$program" - <&- >"$tmp/out" 2>"$tmp/errors"
status=$?
result "standard input closed" "$([ "$status" -eq 1 ] && grep -q 'cannot read' "$tmp/errors" || echo "status $status")"
"$program" -coarsen 2 -assembler none -report "$kernel" >"$tmp/out" 2>&-
status=$?
result "standard error closed" "$([ "$status" -eq 0 ] && [ -s "$tmp/out" ] || echo "status $status")"
if [ -e /dev/full ]; then
    "$program" "$kernel" >/dev/full 2>"$tmp/errors"
    status=$?
    result "full disk" "$([ "$status" -eq 1 ] && grep -q 'No space left' "$tmp/errors" || echo "status $status")"
fi
# More text than a pipe holds, to a reader that has exited.
{
    cat "$kernel"
    for _ in $(seq 40000); do printf '.global .align 4 .u32 padding%d;\n' "$((n = ${n:-0} + 1))"; done
} >"$tmp/large.ptx"
"$program" "$tmp/large.ptx" 2>"$tmp/errors" | true
status="${PIPESTATUS[0]}"
result "reader gone" "$([ "$status" -eq 1 ] && grep -q 'Broken pipe' "$tmp/errors" || echo "status $status")"

# Outputs.

run "$kernel"
cp "$tmp/out" "$tmp/plain.ptx"
"$program" - <"$kernel" >"$tmp/out" 2>"$tmp/errors"
result "standard input" "$(cmp "$tmp/out" "$tmp/plain.ptx" 2>&1)"
result "what is unchanged comes out to the byte" "$(cmp "$kernel" "$tmp/plain.ptx" 2>&1)"
run -canonical "$kernel"
cp "$tmp/out" "$tmp/canonical.ptx"
run -canonical "$tmp/canonical.ptx"
wrong="$(cmp "$tmp/out" "$tmp/canonical.ptx" 2>&1)"
! grep -q '//' "$tmp/canonical.ptx" || wrong="$wrong, there are comments"
result "the canonical form is its own" "${wrong#, }"
run -o "$tmp/named.ptx" "$kernel"
wrong="$(cmp "$tmp/named.ptx" "$tmp/plain.ptx" 2>&1)$([ ! -s "$tmp/out" ] || echo ", and standard output")"
result "named output" "$wrong"
: >"$tmp/target.ptx"
ln -sf target.ptx "$tmp/link.ptx"
run -o "$tmp/link.ptx" "$kernel"
wrong="$(cmp "$tmp/target.ptx" "$tmp/plain.ptx" 2>&1)"
[ -L "$tmp/link.ptx" ] || wrong="$wrong, the link is not a link any more"
result "output through a link" "${wrong#, }"
if [ -L /dev/stdout ]; then
    run -o /dev/stdout "$kernel"
    wrong="$(cmp "$tmp/out" "$tmp/plain.ptx" 2>&1)"
    [ -L /dev/stdout ] || wrong="$wrong, /dev/stdout was replaced"
    result "output to /dev/stdout" "${wrong#, }"
fi
cp "$kernel" "$tmp/place.ptx"
run -coarsen 2 -assembler none -o "$tmp/place.ptx" "$tmp/place.ptx"
wrong="$([ "$status" -eq 0 ] && grep -q __ptxopt_launch_vectoradd "$tmp/place.ptx" || echo "status $status")"
result "in place" "$wrong"
run -assembler none -coarsen 2 "$tmp/place.ptx"
wrong="$([ "$status" -eq 0 ] && grep -q 'is already coarsened' "$tmp/errors" || echo "status $status")"
result "not coarsened twice" "$wrong"
run -assembler none -coarsen vectoradd:2 -launch-out "$tmp/launch.json" -block 256 -o "$tmp/o.ptx" "$kernel"
wrong="$(python3 - "$tmp/launch.json" <<'CHECK' 2>&1
import json, sys
launch = json.load(open(sys.argv[1]))
assert (launch["format"], launch["version"]) == ("ptxopt-launch", 1), launch
(kernel,) = launch["kernels"]
assert kernel["kernel"] == "vectoradd" and kernel["factor"] == [2, 1, 1] and kernel["stride"] == "block", kernel
assert kernel["block_before"] == [256, 1, 1] and kernel["block_after"] == [128, 1, 1], kernel
CHECK
)"
result "launch contract" "$wrong"
if [ "$assembler" = yes ]; then
    loop=tests/cases/registers/knobs.ptx
    only=(-p -schedule,-rematerialize,-sink,-hoist,-offsets,-nounroll)
    run -target-regs 24 -knobs "${only[@]}" -knobs-out "$tmp/options" -o "$tmp/o.ptx" "$loop"
    wrong="$([ "$status" -eq 0 ] && grep -qx -e --opt-level=1 "$tmp/options" || echo "status $status")"
    [ ! -s "$tmp/errors" ] || wrong="$wrong, messages"
    result "-knobs-out says what the output needs, and no note does" "$wrong"
    run -target-regs 64 -knobs -knobs-out "$tmp/options" -o "$tmp/o.ptx" "$loop"
    wrong="$([ "$status" -eq 0 ] && [ -e "$tmp/options" ] && [ ! -s "$tmp/options" ] || echo "status $status")"
    result "-knobs-out is empty where nothing is needed" "$wrong"
    fails_with "-knobs-out cannot be written" 1 "cannot write '$tmp/none/options'" -target-regs 24 -knobs \
        -knobs-out "$tmp/none/options" -o "$tmp/o.ptx" "$loop"
fi
run -assembler none -coarsen 2 -report-format json -report="$tmp/report.json" -o "$tmp/o.ptx" "$kernel"
wrong="$(python3 - "$tmp/report.json" <<'CHECK' 2>&1
import json, sys
report = json.load(open(sys.argv[1]))
assert report["format"] == "ptxopt-report" and report["assembler"] is None and report["arch"] == "sm_90", report
assert [kernel["kernel"] for kernel in report["kernels"]] == ["vectoradd", "vectoradd_exact"], report
assert report["kernels"][0]["coarsening"]["outcome"] == "done", report
assert report["kernels"][0]["registers"]["outcome"] == "not asked", report
CHECK
)"
result "report as JSON" "$wrong"
odd="$(printf '%s/od\377d\001.ptx' "$tmp")"
cp "$kernel" "$odd"
run -assembler none -report-format json -report=- -o /dev/null "$odd"
result "a file name that is not text" "$(python3 -m json.tool "$tmp/out" 2>&1 >/dev/null)"
run -q -assembler none -coarsen 2 -target-regs 32 "$kernel"
result "quiet" "$([ "$status" -eq 0 ] && [ ! -s "$tmp/errors" ] || echo "status $status, or it speaks")"
run -help
wrong="$([ "$status" -eq 0 ] && grep -q 'Usage: ptxopt' "$tmp/out" && [ ! -s "$tmp/errors" ] || echo "status $status")"
result "help" "$wrong"
wrong="$(tools/manual-passes | diff docs/ptxopt.1 - | head -4)"
result "the manual page lists the passes" "$wrong"
"${BUILD:-build}/tests/option-reference" >"$tmp/options"
wrong="$([ -s "$tmp/options" ] || echo "no options")$(tests/compare-options docs/ptxopt.1 "$tmp/options" 2>&1)"
result "the manual page has the options of -help, and their arguments" "$wrong"
run help
wrong="$([ "$status" -eq 0 ] && grep -q 'Usage: ptxopt' "$tmp/out" || echo "status $status")"
run help run
grep -q '^Usage: ptxopt run' "$tmp/out" || wrong="$wrong, not of run"
run help --search
[ "$(sed -n 2p "$tmp/out" | cut -c 1-17)" = '  -search SECONDS' ] || wrong="$wrong, not of an option"
result "help on a command and on an option" "${wrong#, }"
run help -O2
wrong="$(tr -s ' \n' ' ' <"$tmp/out" | grep -qx 'ptxopt: -O0 .. -O3 how many forms to try (-O2) ' ||
    cat "$tmp/out")"
result "help on an option that another one's entry describes" "$wrong"
run help -version
wrong="$(tr -s ' \n' ' ' <"$tmp/out" | grep -qx 'ptxopt: -version, -help ptxopt setup: -version, -help ' ||
    cat "$tmp/out")"
result "help on an option that not every help mentions" "$wrong"
run completion bash
wrong="$(grep -o '^    -[a-z-]* | ' "$tmp/out" | sort | uniq -d)"
[ "$(grep -c "options='-" "$tmp/out")" -eq 13 ] || wrong="$wrong, not thirteen lists of options"
grep -q "commands='run emulate cost view stats diff check sweep tune calibrate explain setup" "$tmp/out" ||
    wrong="$wrong, no commands"
result "completion has each value once, and the options of each command" "${wrong#, }"
one_message "help on what is misspelt" 2 "did you mean '-coarsen'?" help coarsn
one_message "a command misspelt" 2 "there is no command 'rnu'; did you mean 'run'?" rnu "$kernel" launch.json
commands="'run', 'emulate', 'cost', 'view', 'stats', 'diff', 'check', 'sweep', 'tune', 'calibrate', 'explain', 'setup'"
one_message "not a command" 2 "there are $commands" draw "$kernel"
run --version
result "version" "$([ "$status" -eq 0 ] && grep -q '^ptxopt [0-9]' "$tmp/out" || echo "status $status")"
run -assembler none -coarsen 2 -d ssa,coarsen,cleanup -o /dev/null "$kernel"
result "dumps" "$([ "$status" -eq 0 ] && grep -q 'vectoradd: after coarsen' "$tmp/errors" || echo "status $status")"

# Assemblers.

export_none=(env PTXOPT_PTXAS=/nosuch PTXOPT_NVJITLINK=/nosuch PTXOPT_CUDA_DRIVER=/nosuch)
"${export_none[@]}" "$program" -coarsen 2 "$kernel" >"$tmp/out" 2>"$tmp/errors"
status=$?
wrong="$([ "$status" -eq 1 ] && [ ! -s "$tmp/out" ] || echo "status $status")"
grep -q 'PTXOPT_CUDA_DRIVER: /nosuch: ' "$tmp/errors" || wrong="$wrong, does not say so"
result "a named one that is not there" "$wrong"
"${export_none[@]}" "$program" -cubin "$tmp/none.cubin" "$kernel" >"$tmp/out" 2>"$tmp/errors"
status=$?
result "none found for a cubin" "$([ "$status" -eq 1 ] && [ ! -e "$tmp/none.cubin" ] || echo "status $status")"
"${export_none[@]}" "$program" -assembler ptxas "$kernel" >"$tmp/out" 2>"$tmp/errors"
status=$?
result "the one asked for not found" "$([ "$status" -eq 1 ] && [ ! -s "$tmp/out" ] || echo "status $status")"

if [ "$assembler" = no ]; then
    echo "skip with an assembler: none found"
    # The traffic of each access, with its place in the CUDA source.
cat >"$tmp/located.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<4>; .reg .b64 %d<4>;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  .loc 1 7 3
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.u32 %r2, [%d3];
  .loc 1 8 3
  shl.b32 %r3, %r1, 3;
  st.shared.u32 [%r3], %r2;
  ret;
}
.file 1 "/somewhere/else/k.cu"
END
printf '%s\n' '{"kernel": "k", "block": [64], "args": [{"buffer": "p", "type": "u32", "count": 64, "init": "iota"}]}' \
    >"$tmp/located.json"
for estimate in "" -estimate; do
    run cost $estimate -accesses -assembler none "$tmp/located.ptx" "$tmp/located.json"
    wrong="$(cat "$tmp/errors")"
    grep -Eq '^ +13 k\.cu:7 +ld\.global\.u32 +2 +4\.00 +1\.00 +0\.00$' "$tmp/out" || wrong="$wrong, no load"
    grep -Eq '^ +16 k\.cu:8 +st\.shared\.u32 +2 +0\.00 +0\.00 +1\.00$' "$tmp/out" || wrong="$wrong, no store"
    result "accesses with their source lines${estimate:+, estimated}" "${wrong#, }"
done
run cost -accesses -assembler none -report-format json "$tmp/located.ptx" "$tmp/located.json"
result "accesses as JSON" "$(python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["accesses"]
assert [one["source"] for one in found] == ["k.cu:7", "k.cu:8"], found
assert [one["executions"] for one in found] == [2, 2], found' "$tmp/out" 2>&1)"
exit "$failed"
fi
search=corpus/stencil27/stencil27.sm_90.ptx
run -O1 -target-regs 24 -d schedule,bounds,sink -o /dev/null "$search"
wrong=""
grep -q '^// stencil27: after bounds: .maxnreg 24: 24 registers, [0-9]* bytes spilled, ' "$tmp/errors" ||
    wrong="no figures"
grep -q '^// stencil27: after sink: no candidate was kept' "$tmp/errors" || wrong="$wrong, not a word about sinking"
# Each form parses again: here the first.
{
    sed -n '1,/^\.address_size/p' "$search"
    awk '/^\/\/ .*: after/ && seen++ { exit } { print }' "$tmp/errors"
} >"$tmp/form.ptx"
grep -q '^\.visible \.entry stencil27' "$tmp/form.ptx" && "$program" -q -assembler none -o /dev/null "$tmp/form.ptx" ||
    wrong="$wrong, the form does not parse"
result "dumps of the register search" "${wrong#, }"
run -coarsen 2 -target-regs 24 -block 256 -report -cubin "$tmp/o.cubin" -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 0 ] || echo "status $status")$(head -c 4 "$tmp/o.cubin" | grep -q ELF || echo ", no cubin")"
grep -q '^  registers  *[0-9]* *[0-9]*$' "$tmp/errors" || wrong="$wrong, no registers in the report"
result "cubin and report" "${wrong#, }"
if [ -e /dev/full ]; then
    rm -f "$tmp/o.ptx"
    run -cubin /dev/full -o "$tmp/o.ptx" "$kernel"
    wrong="$([ "$status" -eq 1 ] || echo "status $status")"
    [ ! -e "$tmp/o.ptx" ] || wrong="$wrong, o.ptx is there"
    result "the second output fails: the first goes again" "${wrong#, }"
fi
# An unknown instruction passes ptxopt, but no assembler accepts it.
sed 's/^.*add\.f32.*$/\tfrobnicate.b32 %r1;/' "$kernel" >"$tmp/odd.ptx"
rm -f "$tmp/o.ptx" "$tmp/o.cubin"
run -cubin "$tmp/o.cubin" -o "$tmp/o.ptx" -report="$tmp/r.txt" "$tmp/odd.ptx"
wrong="$([ "$status" -eq 4 ] || echo "status $status")"
for file in o.ptx o.cubin r.txt; do
    [ ! -e "$tmp/$file" ] || wrong="$wrong, $file is there"
done
grep -q 'rejects the input already' "$tmp/errors" || wrong="$wrong, does not blame the input"
result "rejected: nothing written" "${wrong#, }"

# An assembler that rejects only what ptxopt has coarsened, and one that crashes on it.
ptxas="$(nvidia_program PTXOPT_PTXAS ptxas)"
if [ -z "$ptxas" ]; then
    echo "skip assemblers that fail: no ptxas"
    exit "$failed"
fi
# $1: name; $2: what it does with a coarsened kernel; $3: of that name, or of any.
make_assembler() {
    {
        printf '#!/bin/sh\nfor word; do\n    case "$word" in\n'
        printf '    *.ptx) if grep -q "__ptxopt_launch_%s" "$word" && grep -q "entry %s" "$word"; then %s; fi ;;\n' \
            "${3:-}" "${3:-}" "$2"
        printf '    esac\ndone\nexec "%s" "$@"\n' "$ptxas"
    } >"$tmp/$1"
    chmod +x "$tmp/$1"
}
# $1: name; $2: assembler; $3: text.
rejects() {
    rm -f "$tmp/o.ptx"
    PTXOPT_PTXAS="$tmp/$2" "$program" -assembler ptxas -coarsen 2 -o "$tmp/o.ptx" "$kernel" >"$tmp/out" 2>"$tmp/errors"
    status=$?
    wrong="$([ "$status" -eq 4 ] || echo "status $status")"
    [ ! -e "$tmp/o.ptx" ] || wrong="$wrong, o.ptx is there"
    grep -q "$3" "$tmp/errors" || wrong="$wrong, does not say '$3'"
    grep -q 'this is a bug in ptxopt or in ptxas' "$tmp/errors" || wrong="$wrong, blames nobody"
    result "$1" "${wrong#, }"
}
make_assembler rejecting 'echo "ptxas $word, line 7; error : odd" >&2; exit 255'
rejects "the output rejected" rejecting 'line 7 of the output is'

# Kernels on which the assembler crashes are left alone, the others are not.
cat >"$tmp/two.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p) { .reg .b32 r; mov.u32 r, %tid.x; .reg .b64 a; ld.param.u64 a, [p];
  st.global.u32 [a], r; ret; }
.visible .entry second(.param .u64 p) { .reg .b32 r; .reg .b64 a; ld.param.u64 a, [p]; mov.u32 r, %tid.x;
  st.global.u32 [a], r; ret; }
END
# $1: name; $2: assembler; $3: status; $4: what -coarsen is given; $5: text.
breaks() {
    PTXOPT_PTXAS="$tmp/$2" "$program" -assembler ptxas -coarsen "$4" -o "$tmp/o.ptx" "$tmp/two.ptx" 2>"$tmp/errors"
    status=$?
    wrong="$([ "$status" -eq "$3" ] || echo "status $status")"
    [ "$(grep -c 'entry first(.param .u64 p) {' "$tmp/o.ptx")" = 1 ] || wrong="$wrong, 'first' was changed"
    ! grep -q __ptxopt_launch_first "$tmp/o.ptx" || wrong="$wrong, 'first' has a contract"
    [ "$4" = first:2 ] || grep -q __ptxopt_launch_second "$tmp/o.ptx" || wrong="$wrong, 'second' was not changed"
    grep -q "kernel 'first' is left as it is: ptxas breaks down.*$5" "$tmp/errors" || wrong="$wrong, no reason"
    result "$1" "${wrong#, }"
}
make_assembler crashing 'kill -SEGV $$' first
breaks "the assembler crashes on one kernel" crashing 0 2 'signal 11'
breaks "the assembler crashes on the kernel that was named" crashing 3 first:2 'signal 11'
make_assembler swelling 'head -c 300000000 /dev/zero | tail >/dev/null || exit 1' first
PTXOPT_ASSEMBLER_MEMORY=200 breaks "the assembler takes too much memory" swelling 0 2 'more than the 200 MiB'
PTXOPT_ASSEMBLER_MEMORY=much "$program" -assembler ptxas -coarsen 2 "$tmp/two.ptx" >"$tmp/out" 2>"$tmp/errors"
result "a memory limit that is not a number" "$(grep -q 'PTXOPT_ASSEMBLER_MEMORY is not a number' "$tmp/errors" ||
    echo "no message")"

# On a terminal, a run of more than a second shows that the assembler works, and removes the line again.
make_assembler slow 'sleep 2'
cat >"$tmp/terminal.py" <<'END'
import os, pty, sys
shown = b""
def read(descriptor):
    global shown
    piece = os.read(descriptor, 4096)
    shown += piece
    return piece
sys.stdout = open(os.devnull, "w")
status = pty.spawn(sys.argv[2:], read, lambda descriptor: b"")
open(sys.argv[1], "wb").write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
END
# $1: name; $2: whether the line is to appear; $3...: more arguments.
progress() {
    local name="$1" wanted="$2" wrong=""
    shift 2
    PTXOPT_PTXAS="$tmp/slow" python3 "$tmp/terminal.py" "$tmp/shown" "$program" -assembler ptxas -coarsen 2 "$@" \
        -o "$tmp/o.ptx" "$kernel" >/dev/null 2>"$tmp/errors" </dev/null || wrong="status $?"
    local found=no
    ! grep -qE 'assembling the output, [0-9]+ assembled, [0-9]+ s' "$tmp/shown" || found=yes
    [ "$found" = "$wanted" ] || wrong="$wrong the line is there: $found"
    [ "$found" = no ] || grep -q "$(printf '\r\033\\[Kvectoradd: ')" "$tmp/shown" || wrong="$wrong not removed"
    result "$name" "$wrong"
}
progress "progress on a terminal" yes
progress "no progress with -q" no -q
PTXOPT_PTXAS="$tmp/slow" "$program" -assembler ptxas -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/errors"
result "no progress without a terminal" "$(grep assembling "$tmp/errors")"
exit "$failed"
