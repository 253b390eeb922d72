#!/usr/bin/env bash
# The attack: random programs (tests/generate) changed in random ways, against the originals in the emulator; the tools
# that find the guilty pass of a wrong output and reduce its program.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/programs.bash
. tests/suites/result.bash

BUILD="${BUILD:-build}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"
attack="$BUILD/tests/attack"
export PTXOPT="${PTXOPT:-./ptxopt}"
programs=100
case "$BUILD" in
*/asan) programs=40 ;;
esac

# $1: name; the rest: arguments. A few forms must be equal, so that the test is of something.
check() {
    local name="$1" said
    shift
    said="$("$attack" -t "$folder" "$@" 2>&1)" || said="$said
failed"
    result "$name" "$(grep -vE '^[0-9]+ programs: [0-9]{2,} forms equal, .* 0 wrong$' <<<"$said" | head -n 20)"
}

check "random programs" "1,$programs"
check "computations alone" -n 60 -s value=1 "100000,$((programs / 10))"
check "control flow" -n 60 -s value=1,flow=4,memory=1 "200000,$((programs / 5))"
check "accesses to memory" -n 40 -s value=1,memory=5 "300000,$((programs / 10))"
check "threads that meet" -n 30 -s value=1,flow=1,together=4 "400000,$((programs / 10))"
check "loops as people write them" -n 12 -s value=1,idiom=3 "500000,$((programs / 5))"

"$BUILD/tests/ptxsmith" 7 "$folder" && "$BUILD/tests/ptxsmith" -n 100 8 "$folder"
wrong=""
for seed in 7 8; do
    cp "$folder/$seed.ptx" "$folder/$seed.first"
done
"$BUILD/tests/ptxsmith" 7 "$folder" && "$BUILD/tests/ptxsmith" -n 100 8 "$folder"
for seed in 7 8; do
    cmp "$folder/$seed.ptx" "$folder/$seed.first" >/dev/null || wrong="$wrong $seed"
done
result "a seed gives the same program" "$wrong"
"$BUILD/tests/ptxsmith" 9 "$folder"
check "a program of a file" "$folder/7.ptx" "$folder/7.launch.json" "$folder/8.ptx" "$folder/8.launch.json" \
    "$folder/9.ptx" "$folder/9.launch.json"

assembler="$(nvidia_program PTXOPT_PTXAS ptxas)"
if [ -z "$assembler" ]; then
    echo "skip ptxas accepts every program: no ptxas"
else
    mkdir -p "$folder/programs"
    wrong=""
    for seed in $(seq 1 $((programs / 8))); do
        "$BUILD/tests/ptxsmith" "$seed" "$folder/programs"
        said="$("$assembler" -arch=sm_90 -o /dev/null "$folder/programs/$seed.ptx" 2>&1)" ||
            wrong="$wrong$seed: $(head -n 1 <<<"$said")
"
    done
    result "ptxas accepts every program" "$wrong"
fi

# A campaign ends at the first wrong output. An attack that finds one from the fifth seed on is played by a script.
mkdir -p "$folder/played/tests"
cat >"$folder/played/tests/attack" <<'END'
#!/usr/bin/env bash
# Prints the sums of an attack on the programs of its last argument, FIRST,COUNT.
range="${*: -1}"
echo "${range#*,} programs: 2 forms equal, 3 refused, 0 not possible, 0 not run, $((${range%,*} > 4)) wrong"
END
chmod +x "$folder/played/tests/attack"
said="$(BUILD="$folder/played" timeout 60 tests/generate/campaign -e -j 1 -t 50 "$folder/campaign" 2>&1)"
result "a campaign to the first wrong output" "$([ $? = 1 ] &&
    grep -q "^PTX: 8 programs, 4 forms equal, 6 refused, .* 1 wrong$" <<<"$said" || echo "$said")"

# A wrong output is played by a program that calls each output wrong in which a pass has left its traces.
cat >"$folder/wrong" <<'END'
#!/usr/bin/env bash
# ptxopt, but that an output with the trace is said to differ.
[ "$1" = run ] && exec "$REAL" "$@"
"$REAL" "$@" -o "$OUT" >/dev/null 2>&1 || exec "$REAL" "$@"
if grep -q "$TRACE" "$OUT"; then
    echo "error: buffer out differs"
    exit 5
fi
END
chmod +x "$folder/wrong"
export REAL OUT="$folder/out.ptx" TRACE="v2"
REAL="$(realpath "$PTXOPT")"
cat >"$folder/pair.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 8;
	add.s64 %rd3, %rd1, %rd2;
	add.s32 %r2, %r1, 5;
	xor.b32 %r3, %r1, 3;
	st.global.u32 [%rd3], %r1;
	st.global.u32 [%rd3+4], %r2;
	ret;
}
END
echo '{"kernel": "k", "grid": [1], "block": [32], "args": [
    {"buffer": "out", "type": "u32", "count": 64, "init": "poison"}]}' >"$folder/pair.launch.json"
said="$(PTXOPT="$folder/wrong" tools/ptx-bisect "$folder/pair.ptx" "$folder/pair.launch.json" -memory vectors \
    -assembler none 2>/dev/null)"
result "the guilty pass" "$([ "$said" = vectors ] || echo "it is said to be '$said'")"
said="$(tools/ptx-bisect "$folder/pair.ptx" "$folder/pair.launch.json" -memory vectors -assembler none 2>&1)"
result "no guilty pass" "$(grep -q "the output is right" <<<"$said" || echo "$said")"
if command -v cvise >/dev/null; then
    PTXOPT="$folder/wrong" tools/ptx-reduce "$folder/pair.ptx" "$folder/pair.launch.json" -memory vectors \
        -assembler none >"$folder/small.ptx" 2>"$folder/errors" || cat "$folder/errors"
    result "reduced" "$(grep -q xor "$folder/small.ptx" && echo "the xor is left"
        grep -o 'st.global' "$folder/small.ptx" | wc -l | grep -qx 2 || echo "not two stores"
        "$PTXOPT" -q -assembler none -o /dev/null "$folder/small.ptx" 2>&1)"
else
    echo "skip reduced: no cvise"
fi
exit "$failed"
