#!/usr/bin/env bash
# The walkthroughs of CONTRIBUTING.md, applied word by word to a copy of the tree: the copy must build, do what they
# promise, and pass the checks of the files. Adding a pass compiles few files, since only files that include the table
# of passes depend on it.
set -uo pipefail
tmp="${TEST_TMP:?}"
errors="$tmp/errors"
. tests/suites/result.bash
case "${BUILD:?}" in
build) ;;
*) echo "only the plain build is copied" && exit 77 ;;
esac
MOST_OBJECTS=80
root="$PWD"
copy="$tmp/tree"
changed="$copy/ptxopt"
pass=shift
command=example

# $1: heading; $2: number. Prints that block of code below the heading, without its indentation.
block() {
    awk -v heading="## $1" -v wanted="$2" '
        /^## / { inside = $0 == heading; next }
        !inside { next }
        /^(    |       )[^ ]/ && !in_block && (blank || code) { in_block = 1; number++; indent = match($0, /[^ ]/) - 1 }
        in_block && $0 != "" && match($0, /[^ ]/) - 1 < indent { in_block = 0 }
        in_block && number == wanted { print substr($0, indent + 1) }
        { blank = $0 == "" }' "$root/CONTRIBUTING.md"
}

# $1: file; $2: a pattern; standard input is put after the first line that matches.
insert_after() {
    local line
    line="$(grep -n -m 1 -e "$2" "$1" | cut -d: -f1)"
    [ -n "$line" ] || { echo "no line '$2' in $1" >>"$errors"; return 1; }
    sed -i "${line}r /dev/stdin" "$1"
}

build() {
    # The objects are those of the tree: their paths are mapped to the folder that they were built in. Code that
    # is compiled again need not be fast.
    MAKEFLAGS='' make -C "$copy" CURDIR="$root" CC="${CC:-cc}" QUICKLY='-O0 -g0' V=1 "$@" >"$tmp/log" 2>&1 || {
        grep -E 'error|\*\*\*' "$tmp/log" | head -n 5 >>"$errors"
        return 1
    }
}

# $1: name; $2...: a command, which must succeed.
try() {
    local name="$1"
    shift
    : >"$errors"
    result "$name" "$("$@" >>"$errors" 2>&1 || { echo "exit status $?: "; tail -n 5 "$errors"; })"
}

mkdir "$copy"
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -path ./build -prune -o -path ./third_party/cuda -prune -o -type f -print0
    fi
} | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$copy"
mkdir "$copy/build"
cp -a "$BUILD"/. "$copy/build"
cp -a ptxopt ptxopt-ptxas ptxopt-nvcc "$copy"
rm -rf "$copy/build/tests" "$copy/build/asan" "$copy/build/fuzz"
cd "$copy" || exit 1

# A pass.
a_pass() {
    block "Adding a pass" 1 | insert_after opt/passes.def '^PASS(DECIDE,'
    block "Adding a pass" 2 >"opt/replicas/$pass.c"
    block "Adding a pass" 3 | sed 's/^./    &/' | insert_after opt/pipeline.c 'pass_run(context, PASS_DECIDE);'
    tools/manual-passes -w
}
cat >multiply.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry multiply(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    mul.lo.u32 %r3, %r2, 32;
    st.global.u32 [%rd3], %r3;
    ret;
}
END
cat >multiply.json <<'END'
{"kernel": "multiply", "grid": [1], "block": [64],
 "args": [{"buffer": "b", "type": "u32", "count": 64, "init": "uniform", "low": 0, "high": 1000, "seed": 1}]}
END
# The original must not contain a shift.
shifts() {
    "$changed" -q -assembler none -coarsen 2 -block 64 -d shift -verify multiply.json -o multiply.out multiply.ptx \
        2>dumped && grep -q 'multiply: after shift' dumped && [ "$(grep -c 'shl.b32' multiply.out)" -eq 2 ] &&
        ! grep -q 'mul.lo' multiply.out &&
        "$changed" -help | grep >/dev/null '^  shift  .*shift instead of multiplying'
}
try "a pass: the steps" a_pass
try "a pass: builds" build ptxopt
compiled="$(grep -cE -- ' -c -o ' "$tmp/log")"
result "a pass: at most $MOST_OBJECTS files are compiled" "$([ "$compiled" -le "$MOST_OBJECTS" ] || echo "$compiled")"
result "a pass: some files are compiled" "$([ "$compiled" -ge 2 ] || echo "$compiled")"
try "a pass: does what it is for" shifts
try "a pass: the files" tests/check-files
try "a pass: includes" tests/check-includes

# An instruction, and one that is emulated: one build, since everything that includes the table is compiled again.
instructions() {
    block "Adding an instruction" 1 | insert_after ir/table/ops.def '^add\.x2 '
    echo "avg    The average of two numbers." | insert_after ir/table/notes.txt '^add\.x2 '
    block "Adding an emulated instruction" 1 | insert_after ir/table/ops.def '^brev '
    echo "bswap  Reverses the order of bytes." | insert_after ir/table/notes.txt '^brev '
    { echo && block "Adding an emulated instruction" 2; } >>emulator/semantics/scalar_bits.c
    block "Adding an emulated instruction" 3 | sed 's/^./    &/' |
        insert_after tests/oracle/answer_integer.c 'case OP_BREV:'
}
cat >average.ptx <<'END'
.version 9.0
.target sm_90
.address_size 64
.visible .entry average(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    avg.u32 %r3, %r2, 7;
    bswap.b32 %r4, %r3;
    st.global.u32 [%rd3], %r4;
    ret;
}
END
coarsens() {
    "$changed" -q -assembler none -coarsen 2 -block 64 -o average.out average.ptx &&
        [ "$(grep -c 'avg.u32' average.out)" -eq 2 ] && [ "$(grep -c 'bswap.b32' average.out)" -eq 2 ]
}
rejects() {
    sed 's/avg.u32/avg.u16/' average.ptx >wrong.ptx
    ! "$changed" -assembler none -o wrong.out wrong.ptx 2>rejected && grep -q 'wrong.ptx:13:.*avg' rejected
}
swaps() {
    sed '/avg.u32/d; s/bswap.b32 %r4, %r3/bswap.b32 %r4, %r2/; s/average/multiply/' average.ptx >swap.ptx
    "$changed" -q -assembler none -coarsen 2 -block 64 -verify multiply.json -o swap.out swap.ptx
}
answers() {
    ORACLE='bswap*' build/tests/test_oracle_pure
}
# An option and a command, in the same build.
an_option() {
    block "Adding an option" 1 | sed 's/^/    /' | insert_after options/options.h 'unsigned growth;'
    block "Adding an option" 2 | insert_after options/options.def '^SECTION("Transformations")'
    block "Adding an option" 3 | insert_after docs/ptxopt.1 '^\.SS Transformations'
    block "Adding an option" 4 | sed 's/^/    /' | insert_after python/ptxopt/_optimize.py 'coarsen_growth: Optional'
    block "Adding an option" 5 | sed 's/^/    /' | insert_after python/ptxopt/_optimize.py 'coarsen_growth  fast'
    block "Adding an option" 6 | sed 's/^/        /' | insert_after python/ptxopt/_optimize.py '("coarsen-growth",'
}
a_command() {
    block "Adding a command" 1 | insert_after cli/commands.def '^COMMAND(setup,'
    block "Adding a command" 2 >"cli/$command.c"
}
has_option() {
    "$changed" -help | grep >/dev/null '^  -example N  .*do it at most N times (1)' &&
        "$changed" completion bash | grep >/dev/null -- '-example' &&
        "$changed" -q -assembler none -example 3 -o optional.out multiply.ptx &&
        ! "$changed" -q -assembler none -example 101 -o optional.out multiply.ptx 2>refused &&
        grep -q 'example 101' refused && python3 -m py_compile python/ptxopt/_optimize.py
}
has_command() {
    [ "$("$changed" example multiply.ptx)" = multiply.ptx ] &&
        "$changed" -help | grep >/dev/null 'ptxopt example FILE.ptx' &&
        "$changed" completion bash | grep >/dev/null example
}
try "instructions: the steps" instructions
try "an option: the steps" an_option
try "a command: the steps" a_command
try "all of them: build" build ptxopt build/tests/test_oracle_pure build/tests/instruction-reference
try "an instruction: it is parsed and coarsened" coarsens
try "an instruction: what the row does not allow is rejected" rejects
try "an emulated instruction: input and output agree" swaps
try "an emulated instruction: the oracle agrees" answers
try "an instruction: the reference page" build docs/instructions.md
result "an instruction: it is on the reference page" "$(grep -q '`avg' docs/instructions.md || echo "it is not")"
try "an option: it does what its row says" has_option
try "a command: it is run, helped and completed" has_command
exit "$failed"
