#!/usr/bin/env bash
# Choosing forms by measured time, without a GPU: programs run on the emulated driver, whose events have the predicted
# times with noise, and must compute the same as without a choice, in every launch; what one run learns, the next one
# uses. Then programs of the runtime, if nvcc is installed.
set -uo pipefail
. tests/suites/emulated.bash
export PTXOPT_EMULATED_NOISE=0.05
export XDG_CACHE_HOME="$tmp/home"
store="$XDG_CACHE_HOME/ptxopt/Emulated-GPU.sqlite"

result "a C program" "$($CC -std=gnu11 -Wall -Wextra -Werror -o "$tmp/tuned" tests/launching/tuned.c -L"$emulated" \
    -l:libcuda.so.1 -lpthread 2>&1 | head -n 3)"
if ! "$PTXOPT" -q -tune -arch sm_90 -O1 -o "$tmp/step.ptx" tests/launching/step.ptx 2>"$errors"; then
    echo "skip choosing by measured time: $(head -n 1 "$errors")"
    exit "$failed"
fi
adapted=(LD_PRELOAD="$preload" "$tmp/tuned")
for way in plain streams threads graph captured sizes attributes library reset; do
    for mode in learn use off; do
        runs "$way, $mode" 0 "^0 wrong" PTXOPT_TUNE=$mode "${adapted[@]}" $way "$tmp/step.ptx" 40
    done
    runs "$way, not adapted" 0 "^0 wrong" "$tmp/tuned" $way "$tmp/step.ptx" 10
    rm -rf "$XDG_CACHE_HOME"
done
# The original is predicted, wrongly: the first run learns better, and the second one is faster without being asked.
sed 's/\(__ptxopt_tune_step.* = {80,88,84,78,1,0,0,0,3,0,0,0\),1,/\1,0,/' "$tmp/step.ptx" >"$tmp/wrong.ptx"
result "another prediction" "$(! cmp -s "$tmp/step.ptx" "$tmp/wrong.ptx" || echo "the table is as before")"
sums=()
for mode in off learn learn; do
    runs "time, $mode" 0 "^[0-9]* ns$" PTXOPT_TUNE=$mode "${adapted[@]}" timed "$tmp/wrong.ptx" 60
    sums+=("$(sed -n 's/^\([0-9]*\) ns$/\1/p' "$tmp/out")")
done
result "time: each is less than the one before" \
    "$([ "${sums[0]}" -gt "${sums[1]}" ] && [ "${sums[1]}" -gt "${sums[2]}" ] || echo "${sums[*]} ns")"
rm -rf "$XDG_CACHE_HOME"
runs "another word" 0 "PTXOPT_TUNE=lern: expected 'learn', 'use' or 'off'" PTXOPT_TUNE=lern "${adapted[@]}" plain \
    "$tmp/step.ptx" 1

# Kernels are known by what they and their callees do.
calling() {
    cat <<END
.version 8.0
.target sm_90
.address_size 64
.func (.reg .u32 %o) of(.reg .u32 %i) { add.u32 %o, %i, $1; ret; }
.visible .entry k(.param .u64 p)
{
    .reg .b64 %a<3>; .reg .b32 %r<4>;
    ld.param.u64 %a0, [p]; cvta.to.global.u64 %a0, %a0; mov.u32 %r0, %tid.x; mul.wide.u32 %a1, %r0, 4;
    add.s64 %a1, %a0, %a1; ld.global.u32 %r1, [%a1]; call (%r2), of, (%r1); st.global.u32 [%a1], %r2; ret;
}
END
}
hashes=()
for addend in 1 2 1; do
    calling $addend >"$tmp/calling.ptx"
    "$PTXOPT" -q -tune -block 128 -O1 -o "$tmp/called.ptx" "$tmp/calling.ptx" 2>"$errors"
    hashes+=("$(sed -n 's/.*__ptxopt_tune_k\[.* = {\([0-9]*,\)\{16\}\(\([0-9]*,\)\{8\}\).*/\2/p' "$tmp/called.ptx")")
done
result "the hash of a kernel and what it calls" \
    "$([ -n "${hashes[0]}" ] && [ "${hashes[0]}" = "${hashes[2]}" ] && [ "${hashes[0]}" != "${hashes[1]}" ] ||
        echo "${hashes[*]}" "$(head -n 3 "$errors")")"

# One run learns, and the next ones use that at once.
export PTXOPT_LAUNCH_REPORT=1
chosen="step', grid 32,1,1, block 128,1,1: b?x[0-9].*, in 0\.[0-9]* of the original's time"
runs "use, nothing is known" 0 "grid 32,1,1, block 128,1,1: not known yet, 0 launches timed" PTXOPT_TUNE=use \
    "${adapted[@]}" plain "$tmp/step.ptx" 4
runs "learn" 0 "$chosen, (1[6-9]|2[0-9]|3[0-3]) launches timed" "${adapted[@]}" plain "$tmp/step.ptx" 60
runs "use" 0 "$chosen, 0 launches timed" PTXOPT_TUNE=use "${adapted[@]}" plain "$tmp/step.ptx" 4
runs "use: no launch of the original" 0 "launches: 4 adapted, 0 of the original" PTXOPT_TUNE=use "${adapted[@]}" plain \
    "$tmp/step.ptx" 4
runs "learn, known already" 0 "$chosen, 0 launches timed" "${adapted[@]}" plain "$tmp/step.ptx" 40
runs "off" 0 "launches: 0 adapted, 4 of the original|launches: 4 adapted" PTXOPT_TUNE=off "${adapted[@]}" plain \
    "$tmp/step.ptx" 4
result "off: nothing is printed of it" "$(grep 'grid 32' "$tmp/out")"
runs "list" 0 "^Emulated GPU, driver 13.0, step: grid 32,1,1, block 128,1,1: b?x" "$PTXOPT" tune -list
"$PTXOPT" tune -list >"$tmp/before"
result "export" "$("$PTXOPT" tune -export "$tmp/caches" 2>&1)"
result "export: Kernel Tuner's format" "$(python3 - "$tmp"/caches/*.json <<'END'
import json, re, sys
for path in sys.argv[1:]:
    cache = json.load(open(path))
    needed = ["schema_version", "device_name", "kernel_name", "problem_size", "tune_params_keys", "tune_params",
              "objective", "cache"]
    print(*[name for name in needed if name not in cache])
    times = ["time", "compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time",
             "timestamp"]
    for key, entry in cache["cache"].items():
        if not re.fullmatch(r"\d+(,\d+)*", key) or any(name not in entry for name in times):
            print(key)
END
)"
rm -rf "$XDG_CACHE_HOME"
runs "list, no store" 0 "^ptxopt: nothing has been learned yet" "$PTXOPT" tune -list
result "import" "$("$PTXOPT" tune -import "$tmp"/caches/*.json 2>&1)"
result "import: the same" "$("$PTXOPT" tune -list | diff "$tmp/before" -)"
runs "import: used" 0 "$chosen, 0 launches timed" PTXOPT_TUNE=use "${adapted[@]}" plain "$tmp/step.ptx" 4
# The learned form is compiled in.
runs "tune-from" 0 "tune: by measured time: b?x[0-9].*, in 0\.[0-9]* of the original's time \(1 different launch\)" \
    "$PTXOPT" -tune-from "$store" -arch sm_90 -report -o "$tmp/fixed.ptx" tests/launching/step.ptx
runs "tune-from: launched by the contract" 0 "launches: 40 adapted, 0 of the original" "${adapted[@]}" plain \
    "$tmp/fixed.ptx" 40
runs "tune-from: right" 0 "^0 wrong" "${adapted[@]}" streams "$tmp/fixed.ptx" 10
runs "tune-from, JSON" 0 '"words": "b?x[0-9].*",' "$PTXOPT" -tune-from "$store" -arch sm_90 -report \
    -report-format json -o "$tmp/fixed.ptx" tests/launching/step.ptx
runs "tune-from, another architecture: a note" 0 "note: -tune-from: kernel 'step' was measured with other code" \
    "$PTXOPT" -tune-from "$store" -arch sm_80 -o "$tmp/other.ptx" tests/launching/step.ptx
# The block of launches is noted, and the next build makes forms for it, which launches with other blocks do not get.
build=("$PTXOPT" -q -tune -memory auto -arch sm_90 -O1)
runs "a block is listed" 0 "^Emulated GPU, step: launched with blocks of 128,1,1 " "$PTXOPT" tune -list
runs "forms for a block" 0 "bx?[0-9].* block=128,1,1, used until then" "${build[@]}" -tune-from "$store" -report \
    -o "$tmp/block.ptx" tests/launching/step.ptx
contracts="$(grep -c '__ptxopt_launch_.* 128, 1, 1, [0-9]*, 1, 1}' "$tmp/block.ptx")"
forms="$(grep -c 'entry.*__ptxopt_form' "$tmp/block.ptx")"
result "forms for a block: their contracts" "$([ "$contracts" -eq "$forms" ] || grep __ptxopt_launch "$tmp/block.ptx")"
runs "forms for a block: learned" 0 "$chosen block=128,1,1, in .*, [1-9][0-9]* launches timed|block=128,1,1, in 0" \
    "${adapted[@]}" plain "$tmp/block.ptx" 60
result "forms for a block: right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
$CC -std=gnu11 -o "$tmp/tuned64" -x c <(sed 's/BLOCK = 128/BLOCK = 64/' tests/launching/tuned.c) -L"$emulated" \
    -l:libcuda.so.1 -lpthread
runs "forms for a block: another one" 0 "block 64,1,1: the original, 0 launches timed" LD_PRELOAD="$preload" \
    "$tmp/tuned64" plain "$tmp/block.ptx" 20
result "forms for a block: another one is right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
runs "two blocks" 0 "launched with blocks of 64,1,1" "$PTXOPT" tune -list
"${build[@]}" -tune-from "$store" -report -o "$tmp/blocks.ptx" tests/launching/step.ptx 2>"$errors"
result "two blocks: forms for any" "$(grep 'block=' "$errors")"
# Launches have different forms: each gets its own, and others the one that is the best on average, without a store.
hash_of() {
    sed -n 's/.*__ptxopt_tune_[a-z_]*\[.* = {\([0-9]*,\)\{16\}\(\([0-9]*,\)\{8\}\).*/\2/p' "$1" |
        tr , '\n' | tac | awk 'NF { printf "%02x", $1 }'
}
# $1: grid; $2: block; $3: the chosen form; the rest: milliseconds of the original, x2, bx4 and what $forms has besides
learned() {
    python3 - "$(hash_of "$tmp/step.ptx")" "$@" >"$tmp/learned-$1-$2.json" <<'END'
import json, sys
name, grid, block, chosen, *times = sys.argv[1:]
words = ["", "x2", "bx4 grid=shrink", "x2 block=128,1,1"][:len(times)]
print(json.dumps({"device_name": "Emulated GPU", "kernel_name": "step", "ptxopt": {"hash": name,
    "grid": [int(grid), 1, 1], "block": [int(block), 1, 1], "driver": 13000, "dynamic_shared": 0, "forms": words},
    "cache": {str(i): {"time": float(times[i]), "launches": 9, "chosen": words[i] == chosen, "variance": 0.0}
              for i in range(len(times))}}))
END
}
rm -rf "$XDG_CACHE_HOME"
learned 32 128 "bx4 grid=shrink" 1 0.9 0.5
learned 16 128 x2 1 0.8 0.9
learned 3 128 "" 1 1.1 1.005
"$PTXOPT" tune -import "$tmp"/learned-*.json
each=("$PTXOPT" -q -tune-from "$store" -arch sm_90 -O1 -report)
runs "each launch its form" 0 "time: each launch its own form, others bx4 grid=shrink, in 0.77 of .* \(3 diff" \
    "${each[@]}" -o "$tmp/each.ptx" tests/launching/step.ptx
mv "$store" "$tmp/away"
for mode in learn off; do
    runs "each launch its form, $mode" 0 "grid 32,1,1, block 128,1,1: bx4 grid=shrink, 0 launches timed" \
        PTXOPT_TUNE=$mode "${adapted[@]}" plain "$tmp/each.ptx" 20
    runs "each launch its form, $mode, streams" 0 "grid 16,1,1, block 128,1,1: x2, 0 launches timed" PTXOPT_TUNE=$mode \
        "${adapted[@]}" streams "$tmp/each.ptx" 20
    result "each launch its form, $mode: right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
done
runs "each launch its form, sizes" 0 "grid 3,1,1, block 128,1,1: the original, 0" "${adapted[@]}" sizes \
    "$tmp/each.ptx" 40
result "each launch its form: others have the best" "$(grep -q 'grid 8,1,1, .*: bx4 grid=shrink, 0' "$tmp/out" &&
    grep -q 'grid 7,1,1, .*: the original, 0' "$tmp/out" && grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
result "each launch its form: nothing is learned" "$([ ! -e "$store" ] || echo "there is a store")"
mv "$tmp/away" "$store"
runs "each launch its form, JSON" 0 '"beside": true' "${each[@]}" -report-format json -o "$tmp/each.ptx" \
    tests/launching/step.ptx
learned 32 128 "x2 block=128,1,1" 1 0.9 0.95 0.5
learned 16 128 "x2 block=128,1,1" 1 0.8 0.9 0.7
learned 3 128 "x2 block=128,1,1" 1 1.1 1.005 0.9
"$PTXOPT" tune -import "$tmp"/learned-*.json
runs "a form for one block" 0 "each launch its own form, others x2 block=128,1,1" "${each[@]}" -o "$tmp/each.ptx" \
    -keep-original tests/launching/step.ptx
rm "$store"
runs "a form for one block: it" 0 "grid 32,1,1, block 128,1,1: x2 block=128,1,1, 0" "${adapted[@]}" plain \
    "$tmp/each.ptx" 9
runs "a form for one block: another block" 0 "block 64,1,1: the original, 0" LD_PRELOAD="$preload" "$tmp/tuned64" \
    plain "$tmp/each.ptx" 9
result "a form for one block: right" "$(grep -qx '0 wrong' "$tmp/out" || cat "$tmp/out")"
# A table that is cut, or names forms that are not there, is as if it were not there.
sed 's/\(__ptxopt_tune_step.* = {80,88,84,78,2,0,0,0,\)1,/\19,/' "$tmp/each.ptx" >"$tmp/cut.ptx"
runs "a table of the wrong size" 0 "^0 wrong" "${adapted[@]}" plain "$tmp/cut.ptx" 9
result "a table of the wrong size: the original" "$(grep 'grid 32' "$tmp/out")"
# Tiles need the block.
matmul=corpus/matmul_naive/matmul_naive
"${build[@]}" -o "$tmp/mm.ptx" $matmul.sm_90.ptx 2>"$errors"
hash="$(hash_of "$tmp/mm.ptx")"
printf '{"device_name": "Emulated GPU", "kernel_name": "matmul_naive", "ptxopt": {"hash": "%s", "grid": [1, 1, 1],
    "block": [16, 16, 1], "driver": 13000, "forms": [], "block_alone": true}}' "$hash" >"$tmp/block.json"
result "a block is imported" "$("$PTXOPT" tune -import "$tmp/block.json" 2>&1)"
runs "tiles for a block" 0 "; stage block=16,16,1" "${build[@]}" -tune-from "$store" -report \
    -verify $matmul.launch.json -o "$tmp/mm.ptx" $matmul.sm_90.ptx
rm -rf "$tmp/caches2"
result "blocks are exported" "$("$PTXOPT" tune -export "$tmp/caches2" 2>&1
    ls "$tmp"/caches2/*-16x16x1-block.json 2>&1 >/dev/null)"
"$PTXOPT" tune -list >"$tmp/before"
rm -rf "$XDG_CACHE_HOME/ptxopt"
"$PTXOPT" tune -import "$tmp"/caches2/*.json
result "blocks are imported: the same" "$("$PTXOPT" tune -list | diff "$tmp/before" -)"
runs "tune-from, another architecture" 0 "step.ptx for sm_80" "$PTXOPT" -tune-from "$store" -arch sm_80 -q -report \
    -o "$tmp/other.ptx" tests/launching/step.ptx
result "tune-from, another architecture: unchanged" "$(cmp tests/launching/step.ptx "$tmp/other.ptx" 2>&1)"
runs "tune-from, no file" 1 "error: -tune-from $tmp/none: No such file or directory" "$PTXOPT" -tune-from "$tmp/none" \
    tests/launching/step.ptx
runs "tune-from, another file" 1 "error: -tune-from .*: file is not a database" "$PTXOPT" \
    -tune-from tests/launching/tuned.c tests/launching/step.ptx
echo '{"cache": {}}' >"$tmp/other.json"
runs "import, another file" 1 "it has no member \"ptxopt\"" "$PTXOPT" tune -import "$tmp/other.json"
runs "import, no file" 1 "error: $tmp/none.json: No such file" "$PTXOPT" tune -import "$tmp/none.json"
runs "export, no folder" 1 "cannot make '/dev/null/caches'" "$PTXOPT" tune -export /dev/null/caches
runs "tune alone" 2 "expected FILE.ptx and LAUNCH.json" "$PTXOPT" tune

# Nothing can break a program: processes at once, one that is killed, and stores that cannot be used.
rm -rf "$XDG_CACHE_HOME"
for i in 1 2 3; do
    LD_LIBRARY_PATH="$emulated" PTXOPT_EMULATED_SEED=$i LD_PRELOAD="$preload" \
        "$tmp/tuned" streams "$tmp/step.ptx" 60 >"$tmp/process$i" 2>&1 &
done
wait
result "three processes" "$(grep -L '^0 wrong' "$tmp"/process?)"
runs "three processes: both shapes are known" 0 "grid 16,1,1, block 128" "$PTXOPT" tune -list
for i in 1 2 3 4 5; do
    LD_LIBRARY_PATH="$emulated" LD_PRELOAD="$preload" "$tmp/tuned" sizes "$tmp/step.ptx" \
        2000 >/dev/null 2>&1 &
    sleep 0.$i
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
done
runs "after processes that were killed" 0 "$chosen, 0 launches timed" "${adapted[@]}" plain "$tmp/step.ptx" 40
runs "killed at its end" 137 "^0 wrong" ENDS_BY_KILL=1 "${adapted[@]}" plain "$tmp/step.ptx" 60
printf '%0200d\n' 0 >"$store"
runs "a damaged store" 0 "what is learned about launches is not kept: file is not a database" "${adapted[@]}" plain \
    "$tmp/step.ptx" 60
runs "a damaged store is made anew" 0 "$chosen, 0 launches timed" "${adapted[@]}" plain "$tmp/step.ptx" 4
runs "no home" 0 "is not kept: there is no home folder" XDG_CACHE_HOME= HOME= "${adapted[@]}" plain "$tmp/step.ptx" 60
result "no home: learns all the same" "$(grep -qE "$chosen, [1-9]" "$tmp/out" || echo "it does not")"
runs "a home that cannot be written" 0 "is not kept: unable to open database file" XDG_CACHE_HOME=/dev/null/none \
    "${adapted[@]}" plain "$tmp/step.ptx" 60
mkdir "$tmp/without" && echo nothing >"$tmp/without/libsqlite3.so.0"
runs "no SQLite" 0 "is not kept: libsqlite3.so.0 is not installed" LD_LIBRARY_PATH="$emulated:$tmp/without" \
    "${adapted[@]}" plain "$tmp/step.ptx" 60
result "no SQLite: learns all the same" "$(grep -qE "$chosen, [1-9]" "$tmp/out" || echo "it does not")"
result "no SQLite: one message" "$(grep -c 'is not kept' "$tmp/out" | grep -v '^1$')"
unset PTXOPT_LAUNCH_REPORT

real="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
if [ -z "$real" ]; then
    echo "skip a whole program: no nvcc"
    exit "$failed"
fi
export PTXOPT_REAL_NVCC="$real"
nvcc="$tools/ptxopt-nvcc"
cp tests/launching/program.cu "$tmp/app.cu"
cp tests/launching/launches.cu "$tmp"
cd "$tmp" || exit 1
# $1: name; $2...: the command.
builds() {
    local name="$1"
    shift
    result "$name" "$("$@" >"$tmp/out" 2>"$errors" || echo "exit status $?")"
}
tune=(-Xptxas -tune=3 -Xptxopt -q,-O1)
builds "app" "$nvcc" -cudart shared -arch=sm_90 "${tune[@]}" app.cu -o app
builds "app, a static runtime" "$nvcc" -cudart static -L"$emulated/static" -arch=sm_90 "${tune[@]}" app.cu -o app-static
builds "app, threads with streams of their own" "$nvcc" -cudart shared -default-stream per-thread -arch=sm_90 \
    "${tune[@]}" app.cu -o app-streams
for program in app app-static app-streams; do
    for mode in learn use off; do
        runs "$program, $mode" 0 "^0 wrong, 1536 counted of 1536, at most 1024 threads, some time" PTXOPT_TUNE=$mode \
            ./$program 128
        runs "$program, $mode, another block" 0 "^0 wrong, 1524 counted of 1524" PTXOPT_TUNE=$mode ./$program 127
    done
done
builds "app, compiled in" "$nvcc" -cudart shared -arch=sm_90 -Xptxas -tune-from="$store" -Xptxopt -q,-O1 app.cu \
    -o app-fixed
for block in 128 127; do
    runs "app, compiled in, $block" 0 "^0 wrong, 15[0-9]* counted" ./app-fixed $block
done
rm -rf "$XDG_CACHE_HOME"
builds "launches, nvcc alone" "$real" -cudart shared -arch=sm_90 launches.cu -o launches-plain
builds "launches" "$nvcc" -cudart shared -arch=sm_90 "${tune[@]}" launches.cu -o launches
for program in launches-plain launches; do
    for block in 128 127; do
        runs "$program, $block" 0 "^library, as it lists them: 0 wrong" ./$program $block \
            "$root/tests/launching/reverse.ptx"
        result "$program, $block: all right" "$(grep -E ': [1-9][0-9]* wrong' "$tmp/out")"
        result "$program, $block: what is asked for" "$(grep -qx "a node has blocks of $block threads of this kernel" \
            "$tmp/out" && grep -qx 'too large: too many blocks in cooperative launch' "$tmp/out" || cat "$tmp/out")"
    done
done
exit "$failed"
