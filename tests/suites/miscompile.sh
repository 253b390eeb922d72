#!/usr/bin/env bash
# Plants wrong code in outputs of ptxopt: each must be caught, and the report must name its place. Then makes mutants of
# whole outputs with one changed instruction each and counts those that differ from the original (docs/trust.md).
#
# tests/suites/miscompile.sh -v prints the surviving mutants, -a runs all mutants instead of a sample.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
PTXOPT="${PTXOPT:-./ptxopt}"
folder="${TEST_TMP:-$(mktemp -d)}"
tool="$BUILD/tests/miscompile"
sample=3
verbose=""
case "$BUILD" in
*/asan) sample=29 ;;
esac
while getopts av option; do
    case "$option" in
    a) sample=1 ;;
    v) verbose=-v ;;
    *) exit 2 ;;
    esac
done

status=0
fail() {
    echo "not ok $1: $2"
    status=1
}

# A kernel whose guarded writes keep old values, with a shift by sign and a difference.
cat >"$folder/small.ptx" <<'PTX'
.version 8.0
.target sm_75
.address_size 64
.visible .entry small(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.s32 %r2, [%rd4];
    mov.u32 %r3, 1234567;
    setp.lt.s32 %p1, %r2, 0;
    @%p1 shr.s32 %r3, %r2, 3;
    sub.s32 %r4, %r3, %r1;
    and.b32 %r5, %r2, 1023;
    mad.lo.s32 %r6, %r5, 70000, %r4;
    st.global.u32 [%rd5], %r6;
    ret;
}
PTX
cat >"$folder/small.launch.json" <<'JSON'
{ "kernel": "small", "grid": [1, 1, 1], "block": [64, 1, 1],
  "args": [ {"buffer": "in", "type": "s32", "count": 64, "init": "uniform", "low": -1000, "high": 1000, "seed": 3},
            {"buffer": "out", "type": "s32", "count": 64, "init": "poison"} ] }
JSON

# $1: name; $2: input; $3: launch; the rest: options. Leaves $folder/NAME.{in,out}.ptx and NAME.json.
transform() {
    local name="$1" input="$2" launch="$3"
    shift 3
    cp "$input" "$folder/$name.in.ptx"
    cp "$launch" "$folder/$name.json"
    "$PTXOPT" -q "$@" -o "$folder/$name.out.ptx" "$input" 2>"$folder/$name.errors" ||
        { fail "$name" "ptxopt fails: $(head -n 1 "$folder/$name.errors")"; return; }
    if "$tool" "$folder/$name.in.ptx" "$folder/$name.out.ptx" "$folder/$name.json" 2>"$folder/$name.errors"; then
        echo "ok $name is right before anything is planted"
    else
        fail "$name" "$(cat "$folder/$name.errors")"
    fi
}
corpus() {
    local name="$1" kernel="$2" how="$3" launch
    launch="corpus/$name/$kernel.launch.json"
    transform "$name" "corpus/$name/$name.sm_75.ptx" "$launch" -coarsen "$kernel:$how" -coarsen-guards sequential
}

# $1: the error; $2: the output to change; $3: the sed script; $4: the report's finding ("results", or a fault).
planted=0
plant() {
    local what="$1" name="$2" script="$3" expected="$4" code
    sed -E "$script" "$folder/$name.out.ptx" >"$folder/planted.ptx"
    if cmp -s "$folder/$name.out.ptx" "$folder/planted.ptx"; then
        fail "$what" "nothing was planted into $name"
        return
    fi
    "$tool" "$folder/$name.in.ptx" "$folder/planted.ptx" "$folder/$name.json" 2>"$folder/report"
    code=$?
    if [ "$code" -ne 5 ]; then
        fail "$what" "not caught in $name (status $code): $(head -n 1 "$folder/report")"
        return
    fi
    if [ "$expected" = results ]; then
        # Buffer, index and both values, and for each side the writer: thread, block and line.
        local writer='(nothing writes it|thread [0-9,]+ of block [0-9,]+ writes it,'
        grep -Eq 'computes a different result: [^ ]+\[[0-9]+\] is [^ ]+, but [^ ]+ in the input' "$folder/report" &&
            grep -Eq "in the input, $writer .*:[0-9]+)" "$folder/report" &&
            grep -Eq "in the output, $writer line [0-9]+)" "$folder/report"
    else
        grep -Eq "has a fault that the input does not have: .*:[0-9]+: .*$expected" "$folder/report" &&
            grep -Eq 'thread [0-9,]+\)' "$folder/report"
    fi || { fail "$what" "the report does not tell: $(cat "$folder/report")"; return; }
    planted=$((planted + 1))
    echo "ok planted: $what: $(head -n 1 "$folder/report" | sed 's/^.*: kernel/kernel/')"
}

corpus matmul_tiled matmul_tiled y2
corpus histogram histogram x2
corpus stencil1d stencil1d x2
transform small "$folder/small.ptx" "$folder/small.launch.json" -coarsen small:x2 -block 64,1,1
hand=tests/cases/coarsen/hand
transform warps "$hand/warps.ptx" "$hand/warps.launch.json" -coarsen leave:2

# $1: name; $2: parameters. The head of a kernel whose code follows.
kernel() {
    printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry %s(%s)\n{\n' "$1" "$2"
    printf '    .reg .pred %%p<8>;\n    .reg .b32 %%r<24>;\n    .reg .b64 %%rd<24>;\n'
}
{
    kernel guarded '.param .u64 in, .param .u64 out, .param .u32 n'
    cat <<'PTX'
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, %r0;
    @%p1 ret;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r2, [%rd4];
    mov.u32 %r3, 0;
L:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, %r2;
    @%p2 bra L;
    st.global.u32 [%rd5], %r3;
    ret;
}
PTX
} >"$folder/guarded.ptx"
cat >"$folder/guarded.launch.json" <<'JSON'
{ "kernel": "guarded", "grid": [1, 1, 1], "block": [64, 1, 1],
  "args": [ {"buffer": "in", "type": "u32", "count": 50, "init": "uniform", "low": 0, "high": 9, "seed": 3},
            {"buffer": "out", "type": "u32", "count": 64, "init": "zero"}, {"scalar": "u32", "value": 50} ] }
JSON
transform guarded "$folder/guarded.ptx" "$folder/guarded.launch.json" -coarsen guarded:x2 -coarsen-guards fast \
    -assembler none

# A loop over words of its own updates a cell, which thread 1 meets in its last iteration.
{
    kernel sums '.param .u64 data, .param .u32 n, .param .u32 shift'
    cat <<'PTX'
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    ld.param.s32 %r2, [shift];
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd2, %r3, 64;
    add.s64 %rd3, %rd1, %rd2;
    sub.s32 %r8, %r2, %r3;
    mul.wide.s32 %rd4, %r8, 4;
    add.s64 %rd5, %rd1, %rd4;
    mov.u32 %r4, 0;
L:
    ld.global.u32 %r5, [%rd3];
    ld.global.u32 %r6, [%rd5];
    mad.lo.u32 %r7, %r5, 5, %r6;
    st.global.u32 [%rd5], %r7;
    add.s64 %rd3, %rd3, 4;
    add.s32 %r4, %r4, 1;
    setp.lt.s32 %p1, %r4, %r1;
    @%p1 bra L;
    ret;
}
PTX
} >"$folder/sums.ptx"
# Three neighbours of each thread; with a large "from" their indices wrap, and nothing is loaded.
{
    kernel wraps '.param .u64 in, .param .u64 out, .param .u32 from'
    cat <<'PTX'
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [from];
    mov.u32 %r2, %tid.x;
    add.s32 %r3, %r1, %r2;
    add.s32 %r4, %r3, 1;
    add.s32 %r5, %r3, 2;
    mul.wide.s32 %rd3, %r3, 4;
    mul.wide.s32 %rd4, %r4, 4;
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd1, %rd3;
    add.s64 %rd7, %rd1, %rd4;
    add.s64 %rd8, %rd1, %rd5;
    shr.s64 %rd9, %rd5, 8;
    cvt.u32.u64 %r6, %rd9;
    setp.gt.u32 %p1, %r1, 1000;
    @%p1 bra L;
    ld.global.u32 %r7, [%rd6];
    ld.global.u32 %r8, [%rd7];
    ld.global.u32 %r9, [%rd8];
    mad.lo.u32 %r10, %r7, 3, %r8;
    mad.lo.u32 %r6, %r10, 3, %r9;
L:
    mul.wide.u32 %rd10, %r2, 4;
    add.s64 %rd11, %rd2, %rd10;
    st.global.u32 [%rd11], %r6;
    ret;
}
PTX
} >"$folder/wraps.ptx"
# Four neighbours for each coarsened thread, at any alignment.
{
    kernel wide '.param .u64 in, .param .u64 out, .param .u32 from'
    cat <<'PTX'
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [from];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    mul.wide.u32 %rd5, %r2, 4;
    add.s64 %rd6, %rd4, %rd5;
    add.s64 %rd7, %rd2, %rd5;
    ld.global.u32 %r3, [%rd6];
    mad.lo.u32 %r4, %r3, 3, %r2;
    st.global.u32 [%rd7], %r4;
    ret;
}
PTX
} >"$folder/wide.ptx"
# A stored value that another store may replace, and a word of a tile on both sides of a barrier.
{
    kernel kept '.param .u64 data, .param .u32 shift'
    cat <<'PTX'
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [data];
    ld.param.s32 %r1, [shift];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 64;
    add.s64 %rd3, %rd1, %rd2;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.u32 %r3, [%rd3+4];
    st.global.u32 [%rd3], %r3;
    st.global.u32 [%rd5], %r2;
    ld.global.u32 %r4, [%rd3];
    shl.b32 %r5, %r2, 2;
    mov.u32 %r6, tile;
    add.s32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r4;
    bar.sync 0;
    ld.shared.u32 %r8, [tile+4];
    bar.sync 0;
    add.s32 %r9, %r4, %r8;
    st.shared.u32 [%r7], %r9;
    bar.sync 0;
    ld.shared.u32 %r10, [tile+4];
    mad.lo.u32 %r11, %r8, 7, %r10;
    add.s32 %r11, %r11, %r4;
    st.global.u32 [%rd3+8], %r11;
    ret;
}
PTX
} >"$folder/kept.ptx"
# Two sides, and threads that take neither.
{
    kernel chosen '.param .u64 in, .param .u64 out, .param .u32 n'
    cat <<'PTX'
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.s32 %r3, [%rd4];
    mov.u32 %r4, 7;
    setp.lt.s32 %p2, %r3, 0;
    @%p2 bra N;
    add.s32 %r4, %r3, 100;
    bra.uni S;
N:
    ld.global.s32 %r5, [%rd4+4];
    mul.lo.s32 %r4, %r5, 3;
S:
    st.global.u32 [%rd5], %r4;
    ret;
}
PTX
} >"$folder/chosen.ptx"

# $1: kernel; $2: threads; $3: words of the first buffer; the rest: scalars. With $outputs, as many words of output.
launch() {
    local name="$1" threads="$2" words="$3" scalars=""
    shift 3
    for value in "$@"; do scalars="$scalars, {\"scalar\": \"u32\", \"value\": $value}"; done
    local out=""
    [ "$outputs" -eq 0 ] ||
        out=", {\"buffer\": \"out\", \"type\": \"u32\", \"count\": $outputs, \"init\": \"zero\"}"
    cat <<JSON
{ "kernel": "$name", "grid": [1, 1, 1], "block": [$threads, 1, 1],
  "args": [ {"buffer": "data", "type": "s32", "count": $words, "init": "uniform", "low": -99, "high": 99, "seed": 3}
            $out $scalars ] }
JSON
}
# $1: case; $2: kernel; the rest: options.
reuse() {
    local name="$1" kernel="$2"
    shift 2
    transform "$name" "$folder/$kernel.ptx" "$folder/$name.launch.json" -assembler none -coarsen "$@"
}
outputs=0 launch sums 2 64 16 32 >"$folder/sums.launch.json"
reuse sums sums sums:x2
outputs=0 launch sums 2 64 16 40 >"$folder/apart.launch.json"
reuse apart sums sums:x2
transform wrapping tests/cases/memory/sum-wraps.ptx tests/cases/memory/sum-wraps.launch.json -assembler none \
    -coarsen 2 -coarsen-level block -block 1
outputs=64 launch wraps 64 80 2147483600 >"$folder/wraps.launch.json"
reuse wraps wraps wraps:x4 -stride unit
outputs=64 launch wide 64 80 1 >"$folder/crooked.launch.json"
reuse crooked wide wide:x4 -stride unit
outputs=64 launch wide 64 80 4 >"$folder/wide.launch.json"
reuse wide wide wide:x4 -stride unit
outputs=0 launch kept 8 128 0 >"$folder/kept.launch.json"
reuse kept kept kept:x2
outputs=64 launch chosen 64 50 50 >"$folder/chosen.launch.json"
reuse chosen chosen chosen:x2 -coarsen-guards predicated

plant "a replica at the wrong offset" matmul_tiled \
    's/add.u32 %tid_read_1, %tid_read, [^;]*/add.u32 %tid_read_1, %tid_read, 1/' 'never written'
plant "the wrong dimension's size as stride" stencil1d 's/(%ntid[a-z_]*), %ntid.x/\1, %ntid.y/' '.'
plant "a replica's store dropped" matmul_tiled '/st.global.f32 \[%rd17_1\]/d' results
plant "a replica \
    's store to the other's place" matmul_tiled 's/st.global.f32 \[%rd17_1\]/st.global.f32 [%rd17]/' results
plant "a replica that reads the other's register" matmul_tiled 's/(st.shared.f32 \[%r5_1\]), %f6_1/\1, %f6/' results
plant "a barrier left out" matmul_tiled '0,/bar.sync/{/bar.sync/d}' race
plant "a load before the barrier that it waits for" matmul_tiled \
    '/bar.sync/{x;s/^/x/;/^x$/{x;s/.*/\tld.shared.f32 %f9_1, [%r7_1];/;n;s/(.*)/\tbar.sync 0;\n\1/;b};x}
    /^\tld.shared.f32 %f9_1, /d' 'race|written'
plant "a rounding mode" matmul_tiled '0,/fma.rn.f32/s/fma.rn.f32/fma.rz.f32/' results
plant "a loop bound off by one" histogram \
    '0,/setp.lt.s32 %p4, %r29, /s/setp.lt.s32 %p4, %r29, /setp.le.s32 %p4, %r29, /' 'out of bounds'
plant "a constant in an address" matmul_tiled 's/\[%r8\+320\]/[%r8+324]/' results
plant "a predicate's polarity" histogram 's/@%p3_1 bra/@!%p3_1 bra/' results
plant "an atomic done twice" histogram '0,/(atom.global.add.*)/s//\1\n\1/' results
plant "an atomic on the replica's behalf left out" histogram '/\$L14:/,$ { 0,/atom.shared/{/atom.shared/d} }' results
plant "operands of a difference exchanged" small \
    's/sub.s32 (%r4_1), (%[a-z0-9_]+), (%[a-z0-9_]+)/sub.s32 \1, \3, \2/' results
plant "a shift's sign" small 's/shr.s32 %r3_/shr.u32 %r3_/' results
plant "a guarded write that loses the old value" small 's/@%p1_1 (shr.s32)/\1/' results
plant "a guard of the other replica" small 's/@%p1_1 shr/@%p1 shr/' results
plant "an immediate cut to 16 bits" small 's/70000/4464/' results
plant "a mask cut to 8 bits" small '0,/1023/s/1023/255/' results
plant "a signed comparison made unsigned" small 's/setp.lt.s32 %p1_1/setp.lt.u32 %p1_1/' results
plant "an undefined register" small \
    's/(mad.lo.s32 %r6_1), %r5_1/.reg .b32 %nowhere;\n\t\1, %nowhere/' 'never written|undefined'
plant "the widening of an index" stencil1d \
    '0,/mul.wide.s32 (%[a-z0-9_]+), (%[a-z0-9_]+), 4/s//mul.wide.s32 \1, \2, 8/' '.'
plant "a mask that names threads which have left" warps 's/(redux.sync.add.u32 .*), %stay;/\1, -1;/' 'warp divergence'
plant "the lanes that leave for those that stay" warps 's/(%stay_1), !%p1_1/\1, %p1_1/' 'warp divergence'
plant "the other replica's lanes" warps 's/(vote.sync.ballot.b32 %r5, 1), %stay_1;/\1, %stay;/' '.'
plant "a vote of the others' replica" warps 's/(%stay_1), !%p1_1/\1, !%p1/' '.'
plant "a fast path whose test leaves a replica out" guarded \
    's/(or.pred %any), %p1, %p1_1/\1, %p1, %p1/' 'out of bounds'
plant "a fast path beside which nothing is done" guarded 's/@%any bra .*/@%any ret;/' results
plant "a joint loop that asks one replica only" guarded 's/(and.pred %all), %p2, %p2_3/\1, %p2, %p2/' results
plant "a replica that leaves a joint loop for good" guarded 's/@%p2_3 bra/@!%p2_3 bra/' results
plant "a replica that begins its loop again after a joint loop" guarded \
    's/mov.b32 (%r3_[0-9]), %r3;/mov.b32 \1, 0;/' results
plant "an accumulator whose test is left out" sums '/@!%apart_4 bra/d' results
plant "an accumulator whose test is one round short" sums 's/(add.s64 %way_1, %way), -1;/\1, -2;/' results
plant "an accumulator whose test forgets an access's size" sums 's/(add.s64 %range_5, %range_1), 4;/\1, 0;/' results
plant "an accumulator whose test asks one replica only" sums 's/(max.s64 %range_1), .*;/\1, %rd3, %rd3;/' results
plant "an accumulator whose test does not bound the step" wrapping \
    's/(setp.le.u64 %small[_0-9]*, %range_[0-9]+), [0-9]+;/\1, -1;/' results
plant "an accumulator that is not stored" apart 's/st.global.u32 \[%rd5_1\], %r6_5;//' results
plant "addresses whose test is left out" wraps '/@!%fits bra/d' results
plant "addresses whose test forgets the farthest index" wraps \
    's/(setp.lt.u64 %fits, %first), [0-9]+;/\1, 4294967296;/' results
plant "vectors whose test is left out" crooked '/@!%aligned bra/d' 'misaligned|aligned'
plant "vectors whose test asks for half the alignment" crooked 's/(and.b64 %bits_2, %bits_1), 15;/\1, 3;/' \
    'misaligned|aligned'
plant "elements of a vector exchanged" wide 's/\{%r3, %r3_1, /{%r3_1, %r3, /' results
plant "a vector of stores at the wrong end" wide 's/\[%rd7_3\+-12\]/[%rd7_3+-8]/' '.'
plant "a stored value kept past a store that may replace it" kept \
    's/ld.global.u32 %r4_1, \[%rd3_1\];/mov.b32 %r4_1, %r3_1;/' results
plant "a loaded value kept past a barrier" kept 's/ld.shared.u32 %r10, \[tile\+4\];/mov.b32 %r10, %r8;/' results
plant "a predicated load without its guard" chosen 's/@%p2_2 (ld.global.s32 %r5_3)/\1/' 'out of bounds'
plant "a predicated value of the other replica's guard" chosen 's/@%p2_2 (mul.lo.s32)/@%p2 \1/' 'results|never written'
plant "a choice by the other replica's guard" chosen 's/@!%p2_2 (mov.b32)/@!%p2 \1/' 'never written'
plant "a choice the wrong way round" chosen 's/@!%p2_2 (mov.b32)/@%p2_2 \1/' 'never written'
plant "a predicated side that all replicas keep" chosen 's/@!%p2_2 (mov.b32)/\1/' results
echo "$planted kinds of planted wrong code are caught"

# $1: name; $2: survivors at most, in hundredths of the mutants; $3: one mutant out of this many is tried
mutants() {
    local name="$1" most="$2" step="${3:-$sample}" killed made
    # shellcheck disable=SC2086
    "$tool" -m -s "$step" $verbose "$folder/$name.in.ptx" "$folder/$name.out.ptx" "$folder/$name.json" \
        >"$folder/mutants" 2>"$folder/report" || { fail "mutants of $name" "$(cat "$folder/report")"; return; }
    [ -z "$verbose" ] || cat "$folder/mutants"
    killed="$(tail -n 1 "$folder/mutants" | cut -d' ' -f1)"
    made="$(tail -n 1 "$folder/mutants" | cut -d' ' -f3)"
    if [ $(((made - killed) * 100)) -le $((made * most)) ]; then
        echo "ok mutants of $name: $killed of $made killed"
    else
        fail "mutants of $name" "only $killed of $made killed"
    fi
}
mutants matmul_tiled 12
mutants histogram 30
mutants stencil1d 40
mutants chosen 40
# So few that the sanitizers' sample would be a handful.
mutants guarded 30 1
mutants small 20 "$((sample < 3 ? sample : 3))"
exit "$status"
