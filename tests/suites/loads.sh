#!/usr/bin/env bash
# PTX that a program loads, put through ptxopt by the preloaded library (PTXOPT_JIT), on the emulated driver: in each
# way of loading, the program computes the same, its other symbols and options are as before, and whatever goes wrong
# with ptxopt, what the program has given is loaded.
set -uo pipefail
. tests/suites/emulated.bash
export XDG_CACHE_HOME="$tmp/home" TMPDIR="$tmp/temporary" PTXOPT_LAUNCH_REPORT=1
mkdir "$TMPDIR"
result "a C program" "$($CC -std=gnu11 -Wall -Wextra -Werror -o "$tmp/loads" tests/launching/loads.c -L"$emulated" \
    -l:libcuda.so.1 -ldl 2>&1 | head -n 3)"
(printf '/* A comment; .version 1 */ // and one more\n\n' && cat tests/launching/step.ptx &&
    echo '.visible .global .u32 offset = 3;') >"$tmp/loaded.ptx"
printf '.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry second() { ret; }\n' >"$tmp/second.ptx"
program="$PTXOPT"
PTXOPT="$(realpath "$PTXOPT")"
export PTXOPT PTXOPT_JIT="-coarsen 2 -assembler none"
adapted="launches: 3 adapted, 0 of the original"
preloaded=(LD_PRELOAD="$preload" "$tmp/loads")

# $1: name; $2: exit status; $3: pattern; $4...: the command. Nothing else may be said of PTX, and nothing be left.
loads() {
    runs "$@"
    result "$1: as often as expected" "$([ "$(grep -cE "$3" "$tmp/out")" = 1 ] || head -n 5 "$tmp/out")"
    result "$1: nothing is left" "$(ls -A "$TMPDIR")"
}

for way in text options file library kept library_file link link_file requested; do
    loads "$way, without the library" 0 "^0 wrong$" "$tmp/loads" $way "$tmp/loaded.ptx" 3
    loads "$way" 0 "$adapted" "${preloaded[@]}" $way "$tmp/loaded.ptx" 3
    result "$way: right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
    loads "$way, not wanted" 0 "^0 wrong$" PTXOPT_JIT= "${preloaded[@]}" $way "$tmp/loaded.ptx" 3
    result "$way, not wanted: not adapted" "$(grep ptxopt: "$tmp/out")"
done
for way in link link_file; do
    loads "$way, two" 0 "$adapted" "${preloaded[@]}" $way "$tmp/loaded.ptx" 3 "$tmp/second.ptx"
done
loads "children are ignored" 0 "$adapted" IGNORES_CHILDREN=1 "${preloaded[@]}" text "$tmp/loaded.ptx" 3
loads "the program of the installation" 0 "$adapted" PTXOPT= "${preloaded[@]}" text "$tmp/loaded.ptx" 3
cp "$preload" "$tmp/alone.so"
loads "the program in the search path" 0 "$adapted" PTXOPT= PATH="$(dirname "$PTXOPT"):$PATH" \
    LD_PRELOAD="$tmp/alone.so" "$tmp/loads" text "$tmp/loaded.ptx" 3
"$program" -q -assembler none -coarsen 4 -keep-original -o "$tmp/before.ptx" "$tmp/loaded.ptx"
loads "coarsened before" 0 "$adapted" PTXOPT=/none "${preloaded[@]}" text "$tmp/before.ptx" 3
result "coarsened before: is left alone" "$(grep note: "$tmp/out")"

# Failures. A stand-in for ptxopt writes what it is told to the file after -o.
kept="^ptxopt: note: PTX is loaded as it is:"
refused="the driver refuses what ptxopt has made of it \(error 218\)$"
fails() {
    local name="$1" pattern="$2"
    shift 2
    for way in text options library file; do
        loads "$name, $way" 0 "$kept $pattern" "$@" "${preloaded[@]}" $way "$tmp/loaded.ptx" 3
        result "$name, $way: as given" "$(grep -qx '0 wrong' "$tmp/out" && ! grep adapted "$tmp/out" || cat "$tmp/out")"
    done
    # The emulated driver takes any text as an input, and links PTX to PTX, which is loaded in its turn.
    [ "$pattern" != "$refused" ] || return
    runs "$name, link" 0 "$kept $pattern" "$@" "${preloaded[@]}" link "$tmp/loaded.ptx" 3
}
stand_in() {
    printf '#!/bin/bash\nwhile [ $# -gt 0 ]; do [ "$1" != -o ] || out="$2"; input="$1"; shift; done\n%s\n' \
        "$1" >"$tmp/fake"
    chmod +x "$tmp/fake"
}
fails "no program" "cannot start /none/ptxopt: No such file or directory$" PTXOPT=/none/ptxopt
fails "not a program" "cannot start .*: (Exec format error|Permission denied)$" PTXOPT="$tmp/loaded.ptx"
fails "an unknown option" "ptxopt: error: .*-coarsn" PTXOPT_JIT="-coarsn 2"
fails "a kernel that is not there" "ptxopt: error: .*'none'" PTXOPT_JIT="-coarsen none:2 -assembler none"
fails "no temporary folder" "cannot make a temporary folder: No such file" TMPDIR="$tmp/none"
stand_in 'exit 0'
fails "nothing is written" "ptxopt has written nothing$" PTXOPT="$tmp/fake"
stand_in 'kill -9 $$'
fails "killed" "ptxopt has written nothing$" PTXOPT="$tmp/fake"
stand_in '(trap "" TERM; while :; do sleep 0.1; done) & wait; : >"$out"'
fails "endless" "ptxopt has not ended after 0.3 seconds$" PTXOPT="$tmp/fake" PTXOPT_JIT_LIMIT=0.3
result "endless: it has been ended" "$(pgrep -f "^/bin/bash $tmp/fake")"
stand_in 'echo .version 8.0 garbage >"$out"'
fails "not PTX" "$refused" PTXOPT="$tmp/fake"
stand_in 'printf ".version 8.0\n\0.target" >"$out"'
fails "a zero" "what ptxopt has written is not text$" PTXOPT="$tmp/fake"
stand_in ': >"$out"'
fails "empty" "what ptxopt has written is not text$" PTXOPT="$tmp/fake"
# The log is of what the program has given, and as large as it says, though the driver has written to it before.
stand_in 'echo .version 8.0 garbage >"$out"'
echo ".version 8.0 rubbish, which is much longer than the other" >"$tmp/rubbish.ptx"
for way in "" "$preload"; do
    runs "the log of an error" 1 "^log of [1-9][0-9]* bytes: image:1:14: error" PTXOPT="$tmp/fake" \
        PTXOPT_LAUNCH_REPORT= LD_PRELOAD="$way" "$tmp/loads" options "$tmp/rubbish.ptx" 1
    cp "$tmp/out" "$tmp/log${way:+-preloaded}"
done
result "the log of an error: is the program's own" \
    "$(diff <(grep -a log "$tmp/log") <(grep -a log "$tmp/log-preloaded"))"
# Without PTXOPT_LAUNCH_REPORT, nothing is said. The environment is that of the program, without the library's.
loads "quiet" 0 "^0 wrong$" PTXOPT_LAUNCH_REPORT= PTXOPT=/none "${preloaded[@]}" text "$tmp/loaded.ptx" 3
result "quiet: nothing is said" "$(grep ptxopt "$tmp/out")"
stand_in 'env >'"$tmp/environment"'; cp "$input" "$out"'
loads "the environment" 0 "^0 wrong$" SOME=thing PTXOPT="$tmp/fake" "${preloaded[@]}" text "$tmp/loaded.ptx" 3
result "the environment: complete" "$(grep -qx SOME=thing "$tmp/environment" || echo "it has no SOME")"
result "the environment: nothing of the library" \
    "$(grep -E '^(LD_PRELOAD|PTXOPT_JIT|PTXOPT_LAUNCH)' "$tmp/environment")"
# Other images are not looked at.
stand_in "touch $tmp/called"
printf '\177ELF no cubin' >"$tmp/image.cubin"
printf '\120\355\125\272 no fat binary .version 8.0' >"$tmp/image.fatbin"
echo '// nothing' >"$tmp/image.text"
for image in cubin fatbin text; do
    runs "$image" 1 "module: error" PTXOPT="$tmp/fake" "${preloaded[@]}" text "$tmp/image.$image" 1
done
result "other images: ptxopt is not called" "$([ ! -e "$tmp/called" ] || echo "it is")"

# Forms that take turns, and what is learned of them.
PTXOPT_JIT="-tune -O1"
export PTXOPT_EMULATED_NOISE=0.05
if ! "$PTXOPT" -q -tune -arch sm_90 -O1 -o "$tmp/tuned.ptx" "$tmp/loaded.ptx" 2>"$errors"; then
    echo "skip choosing by measured time: $(head -n 1 "$errors")"
    exit "$failed"
fi
chosen="step', grid 32,1,1, block 128,1,1: b?x[0-9].*, in 0\.[0-9]* of the original's time"
for way in text library; do
    rm -rf "$XDG_CACHE_HOME"
    runs "tune, $way" 0 "$chosen, [1-9][0-9]* launches timed" "${preloaded[@]}" $way "$tmp/loaded.ptx" 60
    runs "tune, $way, the next run" 0 "$chosen, 0 launches timed" "${preloaded[@]}" $way "$tmp/loaded.ptx" 4
    result "tune, $way: right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
done
exit "$failed"
