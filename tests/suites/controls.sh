#!/usr/bin/env bash
# -apply-controls: the assembler applies a file of compiler controls wherever it assembles, and figures that were
# measured with other controls are not used. No such file may be distributed, so a stand-in for ptxas 13.3 takes words
# for the installed ptxas as its controls. The newest ptxas that is installed is asked what it says to other files, and
# to the one that CONTROLS names, if it does.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

need_program PTXOPT_PTXAS ptxas
unset PTXOPT_FLAGS PTXOPT_STRICT PTXOPT_STATS
work="$TEST_TMP/work"
errors="$TEST_TMP/errors"
mkdir -p "$work/fake"
export REAL_PTXAS="$ptxas" CALLS="$work/calls"

cat >"$work/fake/ptxas" <<'END'
#!/usr/bin/env bash
# $CALLS gets a line for each run: the controls, or "none".
words=() controls=none
while [ $# -gt 0 ]; do
    case "$1" in
    --version | -V)
        printf 'ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.3, V%s\n' \
            "${FAKE_VERSION:-13.3.73}"
        exit
        ;;
    --apply-controls=* | -apply-controls=*) controls="${1#*=}" ;;
    --apply-controls | -apply-controls) controls="$2" && shift ;;
    *) words+=("$1") ;;
    esac
    shift
done
printf '%s\n' "$controls" >>"$CALLS"
if [ "$controls" != none ]; then
    if ! [ -f "$controls" ]; then
        echo "ptxas fatal   : File '$controls' could not be opened"
        exit 255
    fi
    read -r -a more <"$controls"
    if [ "${more[0]:-}" != controls: ]; then
        echo "ptxas fatal   : Invalid compiler controls file"
        exit 255
    fi
    words+=("${more[@]:1}")
fi
exec "$REAL_PTXAS" "${words[@]}"
END
chmod +x "$work/fake/ptxas"
export PTXOPT_PTXAS="$work/fake/ptxas" PTXOPT_CACHE=none
few="$work/few.acf" plain="$work/plain.acf" bad="$work/bad.acf"
echo 'controls: --maxrregcount=24' >"$few"
echo 'controls:' >"$plain"
echo 'nothing of the kind' >"$bad"
# Without bounds of its own, which a number of registers would not replace.
kernel="$work/fft16.ptx"
sed -E '/^\.(max|req)ntid/d' corpus/fft16/fft16.sm_90.ptx >"$kernel"

# $1: name; $2: exit status; $3: pattern of what is said; $4...: the command.
says() {
    local name="$1" wanted="$2" pattern="$3" status
    shift 3
    : >"$CALLS"
    "$@" >"$work/out" 2>"$errors"
    status=$?
    if [ "$status" -ne "$wanted" ]; then
        result "$name" "exit status $status"
    elif ! grep -qE -- "$pattern" "$work/out" "$errors"; then
        result "$name" "says $(head -n 2 "$work/out")"
    else
        result "$name" ""
    fi
}
# $1: name; $2: the file that each run since then was to have, except for the first, which finds the assembler.
always() {
    result "$1: each run" "$(tail -n +2 "$CALLS" | grep -vFx -- "$(realpath "$2")" | sort | uniq -c)"
}

spills=' spilled bytes +[1-9][0-9]* '
says "without" 0 ' spilled bytes +0 ' "$PTXOPT" -assembler ptxas -o "$work/k.ptx" -report "$kernel"
for words in "-apply-controls $few" "-apply-controls=$few" "-Xptxas --apply-controls=$few" \
    "-Xptxas -apply-controls=$few" "-Xptxas -apply-controls -Xptxas $few"; do
    read -r -a given <<<"$words"
    name="${words//$work\//}"
    says "$name" 0 "$spills" "$PTXOPT" "${given[@]}" -cubin "$work/k.cubin" -report "$kernel"
    always "$name" "$few"
done
says "the cubin is made with them" 0 '^ +24 ' "$PTXOPT" stats "$work/k.cubin"
(cd "$work" && "$PTXOPT" -apply-controls few.acf -o k.ptx -report fft16.ptx) >"$work/out" 2>"$errors"
result "a file in the current folder" "$(grep -qE "$spills" "$errors" || echo "it is not used")"
says "the register search" 0 'kernel ' "$PTXOPT" -target-regs auto -apply-controls "$few" -o "$work/k.ptx" -report \
    "$kernel"
always "the register search" "$few"
says "forms by predicted time" 0 'kernel ' "$PTXOPT" -O1 -auto -launch corpus/saxpy/saxpy.launch.json \
    -apply-controls "$plain" -o "$work/k.ptx" -report corpus/saxpy/saxpy.sm_90.ptx
always "forms by predicted time" "$plain"

# Two kernels that can be assembled in parts.
for name in one two; do
    sed "s/\\bfft16\\b/$name/g" "$kernel"
done | awk '/^\.(version|target|address_size)/ && seen[$1]++ {next} 1' >"$work/two.ptx"
says "in parts" 0 '^kernel two' "$PTXOPT" -report=/dev/stdout -split-assemble=2 -apply-controls "$few" -o /dev/null \
    -cubin "$work/parts.cubin" "$work/two.ptx"
always "in parts" "$few"
result "in parts: there are two" "$([ "$(grep -cFx "$few" "$CALLS")" -ge 3 ] || echo "one run")"
"$PTXOPT" -q -apply-controls "$few" -o /dev/null -cubin "$work/whole.cubin" "$work/two.ptx"
result "in parts: the same figures" "$(diff <("$PTXOPT" stats "$work/whole.cubin" | tail -n +2) \
    <("$PTXOPT" stats "$work/parts.cubin" | tail -n +2))"

# The figures of one file are not those of another of the same name.
export PTXOPT_CACHE="$work/cache"
cp "$few" "$work/now.acf"
says "figures are kept" 0 "$spills" "$PTXOPT" -apply-controls "$work/now.acf" -o "$work/k.ptx" -report "$kernel"
cp "$plain" "$work/now.acf"
says "figures of other controls" 0 ' spilled bytes +0 ' "$PTXOPT" -apply-controls "$work/now.acf" -o "$work/k.ptx" \
    -report "$kernel"
export PTXOPT_CACHE=none

says "stats" 0 '^ +24 ' "$PTXOPT" stats -q -apply-controls "$few" "$kernel"
always "stats" "$few"
says "stats, a file that is not one" 1 'does not accept -apply-controls' "$PTXOPT" stats -apply-controls "$bad" \
    "$kernel"
if [ -n "$(nvidia_program PTXOPT_NVDISASM nvdisasm)" ]; then
    says "check" 0 'equal for 3 inputs' "$PTXOPT" check -inputs 3 -apply-controls "$few" corpus/saxpy/saxpy.sm_90.ptx
    always "check" "$few"
else
    echo "skip check: no nvdisasm"
fi
says "check, a file that is not one" 1 'does not accept -apply-controls .*: Invalid compiler controls file' "$PTXOPT" \
    check -apply-controls "$bad" "$kernel"

says "a file that is not one" 1 'error: ptxas 13.3.73 does not accept -apply-controls .*bad.acf: Invalid compiler' \
    "$PTXOPT" -apply-controls "$bad" -o "$work/k.ptx" "$kernel"
says "no such file" 1 'error: -apply-controls /nosuch/file: No such file' "$PTXOPT" -apply-controls /nosuch/file \
    -o "$work/k.ptx" "$kernel"
says "a folder" 1 'error: -apply-controls /: it is not a regular file' "$PTXOPT" -apply-controls / -o "$work/k.ptx" \
    "$kernel"
says "two files" 1 'given twice' "$PTXOPT" -apply-controls "$few" -Xptxas --apply-controls="$plain" -o "$work/k.ptx" \
    "$kernel"
says "no file" 1 '-apply-controls needs a file' "$PTXOPT" -Xptxas -apply-controls -o "$work/k.ptx" "$kernel"
FAKE_VERSION=13.2.86 says "an assembler that is too old" 1 \
    'error: ptxas 13.2.86 is too old for -apply-controls, which needs ptxas 13.3 or newer' "$PTXOPT" \
    -apply-controls "$few" -o "$work/k.ptx" "$kernel"

# Files that -knobs tries. Nothing but an option of ptxas helps this kernel, which the user has set, and one file.
loop=tests/cases/registers/knobs.ptx tried="$work/tried"
mkdir -p "$tried"
echo 'controls: --opt-level=1' >"$tried/help.acf"
cp "$plain" "$bad" "$tried"
echo 'not tried' >"$tried/README"
search=(-target-regs 24 -p -schedule,-rematerialize,-sink,-hoist,-offsets,-nounroll -Xptxas -O3 -o "$work/k.ptx")
helps="--apply-controls=$(realpath "$tried")/help.acf"
for value in "$tried" "$bad,$tried/plain.acf,$tried/help.acf"; do
    says "-knobs=${value//$work\//}" 0 "kept   $helps: 24 registers, 0 bytes spilled" "$PTXOPT" "${search[@]}" \
        -knobs="$value" -knobs-out "$work/options" -cubin "$work/k.cubin" -report "$loop"
    result "-knobs=${value//$work\//}: the options" "$(grep -vFx -- "$helps" "$work/options")"
    result "-knobs=${value//$work\//}: each is tried" "$(for name in plain help; do
        grep -q "/tried/$name.acf" "$CALLS" || echo "$name is not"
    done)"
    result "-knobs=${value//$work\//}: others are named" \
        "$(grep -q 'skips compiler controls: .*bad.acf: Invalid' "$errors" || cat "$errors")"
    result "-knobs=${value//$work\//}: others are not tried" "$(grep README "$errors" "$CALLS")"
done
says "-knobs: the cubin is made with it" 0 '^ +24 .* 0 ' "$PTXOPT" stats "$work/k.cubin"
says "-knobs: no such file" 0 'warning: -knobs skips compiler controls: .*nosuch.acf: No such file' "$PTXOPT" \
    "${search[@]}" -knobs="$work/nosuch.acf" "$loop"
says "-knobs: a folder without any" 0 'warning: -knobs skips compiler controls: .*fake has no file whose name ends in' \
    "$PTXOPT" "${search[@]}" -knobs="$work/fake" "$loop"
says "-knobs: beside a file for all" 0 'warning: -knobs skips compiler controls: the command line has a file' \
    "$PTXOPT" "${search[@]}" -knobs="$tried" -apply-controls "$plain" "$loop"
mkdir -p "$work/a space"
cp "$plain" "$work/a space"
says "-knobs: a name that is not one word" 0 'skips compiler controls: .*there is a space' "$PTXOPT" "${search[@]}" \
    -knobs="$work/a space" "$loop"
FAKE_VERSION=13.2.86 says "-knobs: an assembler that is too old" 0 \
    'warning: -knobs skips compiler controls: ptxas 13.2.86 is too old' "$PTXOPT" "${search[@]}" -knobs="$tried" "$loop"
result "-knobs: an assembler that is too old: one warning" \
    "$([ "$(grep -c 'skips compiler controls' "$errors")" -eq 1 ] || cat "$errors")"

# The wrappers, for which it is an option of ptxas.
export PTXOPT_REAL_PTXAS="$PTXOPT_PTXAS"
shim="$PWD/ptxopt-ptxas"
for words in "--apply-controls few.acf" "-apply-controls few.acf" "--apply-controls=few.acf" \
    "-apply-controls=few.acf"; do
    read -r -a given <<<"$words"
    for flags in "-target-regs auto -O1" "-split-assemble=2"; do
        : >"$CALLS"
        (cd "$work" &&
            PTXOPT_FLAGS="$flags" PTXOPT_STRICT=1 "$shim" -arch=sm_90 -v "${given[@]}" two.ptx -o w.cubin) \
            >"$work/out" 2>"$errors"
        status=$?
        result "ptxopt-ptxas $words, $flags" "$(
            [ $status -eq 0 ] || echo "exit status $status"
            grep -vxE "none|few.acf|$few" "$CALLS"
            [ "$(grep -cx none "$CALLS")" -le 2 ] || echo "ran without them"
            grep -q 'Used 24 registers' "$work/out" "$errors" || echo "they are not used"
        )"
    done
done
(cd "$work" && PTXOPT_FLAGS="-apply-controls few.acf" "$shim" -arch=sm_90 two.ptx -o w.cubin) >"$work/out" 2>"$errors"
result "ptxopt-ptxas, among the options of ptxopt" \
    "$(grep -q "is an option of ptxas: give it on the assembler's command line" "$errors" || echo "accepted")"
PTXOPT_FLAGS="-target-regs 24 -spill -knobs=$tried ${search[*]:2:2}" says "ptxopt-ptxas with -knobs=" 0 \
    'Used 24 registers' "$shim" -arch=sm_90 -v -O3 "$loop" -o "$work/w.cubin"
result "ptxopt-ptxas with -knobs=: the file reaches ptxas" \
    "$(tail -n 1 "$CALLS" | grep -vFx -- "$(realpath "$tried")/help.acf")"
result "ptxopt-ptxas with -knobs=: nothing is spilled" "$(grep -q ' 0 bytes spill stores' "$errors" "$work/out" ||
    cat "$errors")"
unset PTXOPT_REAL_PTXAS

newest="$(for path in "$PWD"/third_party/cuda-13.*/bin/ptxas "$ptxas"; do
    [ ! -x "$path" ] || printf '%s %s\n' "$("$path" --version | sed -nE 's/.* V([0-9.]+)$/\1/p')" "$path"
done | sort -V | tail -n 1)"
export PTXOPT_PTXAS="${newest#* }"
newest="${newest%% *}"
if [ "$(printf '13.3\n%s\n' "$newest" | sort -V | head -n 1)" != 13.3 ]; then
    echo "skip the real ptxas: $newest is older than 13.3 (CUDA=newest tools/deps.sh)"
else
    : >"$work/empty.acf"
    says "ptxas $newest, a file that is not one" 1 'does not accept -apply-controls' "$PTXOPT" -apply-controls "$bad" \
        -o "$work/k.ptx" "$kernel"
    says "ptxas $newest, an empty file" 1 'does not accept -apply-controls' "$PTXOPT" \
        -apply-controls "$work/empty.acf" -o "$work/k.ptx" "$kernel"
fi
if [ -n "${CONTROLS:-}" ]; then
    says "a file for ptxas $newest" 0 'kernel ' "$PTXOPT" -apply-controls "$CONTROLS" -o "$work/k.ptx" -report "$kernel"
else
    echo "skip a file for ptxas $newest: CONTROLS names none"
fi
exit $failed
