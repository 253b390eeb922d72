#!/usr/bin/env bash
# The launch adapters, without a GPU: programs run on a driver whose device is the emulator. First a program of the
# driver's API, then, if nvcc is installed, a whole program of the runtime's, built by ptxopt-nvcc as users do.
set -uo pipefail
. tests/suites/emulated.bash

ptx=tests/launching/reverse.ptx
"$PTXOPT" -q -assembler none -coarsen 2 -o "$tmp/coarse.ptx" $ptx
"$PTXOPT" -q -assembler none -coarsen 2 -keep-original -o "$tmp/both.ptx" $ptx
"$PTXOPT" -q -assembler none -coarsen 2 -block 128 -o "$tmp/fixed.ptx" $ptx
"$PTXOPT" -q -assembler none -coarsen 8 -block 100 -o "$tmp/uneven.ptx" $ptx
result "a C program" "$($CC -std=gnu11 -Wall -Wextra -Werror -Iruntime -o "$tmp/driver" tests/launching/driver.c \
    -L"$emulated" -l:libcuda.so.1 -ldl 2>&1 | head -n 3)"
result "the header in C++" "$(! command -v c++ >/dev/null || echo '#include <ptxopt-launch.h>' |
    c++ -Wall -Wextra -Werror -Iruntime -fsyntax-only -x c++ - 2>&1 | head -n 3)"
runs "original" 0 "0 wrong" "$tmp/driver" linked $ptx 128
runs "coarsened, launched like the original" 1 "[1-9][0-9]* wrong" "$tmp/driver" linked "$tmp/coarse.ptx" 128
runs "a known block, launched like the original" 1 "requires .reqntid 64 along x, but the launch has 128" \
    "$tmp/driver" linked "$tmp/fixed.ptx" 128
runs "header" 0 "0 wrong" "$tmp/driver" header "$tmp/coarse.ptx" 128
runs "header, original" 0 "0 wrong" "$tmp/driver" header $ptx 128
runs "header, forbidden" 4 "not allowed: block.x is 127, not a multiple of 2" "$tmp/driver" header "$tmp/coarse.ptx" 127
runs "header, another block" 4 "block.x is 64; the contract is for 128 only" "$tmp/driver" header "$tmp/fixed.ptx" 64
runs "header, a factor that does not divide the block" 0 "0 wrong" "$tmp/driver" header "$tmp/uneven.ptx" 100
runs "preloaded, a factor that does not divide the block" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" linked \
    "$tmp/uneven.ptx" 100
# A store beyond its buffer, of code that .loc says was inlined.
sed 's/st\.global\.f32 \[%rd5\]/.loc 1 12 3\n.loc 2 7 5, function_name $put, inlined_at 1 12 3\n&/
     s/add\.s64 %rd5, %rd2, %rd3/add.s64 %rd5, %rd2, 1099511627776/
     $ a .file 1 "reverse.cu"\n.file 2 "put.cuh"\n.section .debug_str {\n$put:\n.b8 112, 117, 116, 0\n}' \
    $ptx >"$tmp/beyond.ptx"
runs "a fault is reported with the lines of the source" 1 \
    '^[^ ]*:32: out of bounds: .*\(kernel reverse, .*, from put\.cuh:7, inlined at reverse\.cu:12\)$' \
    "$tmp/driver" linked "$tmp/beyond.ptx" 128

# $1: name; $2: a line that it must also print; $3...: a program of parts, each of which prints its number of errors.
is_right() {
    local name="$1" wanted="$2"
    shift 2
    runs "$name" 0 ": 0 wrong" "$@"
    result "$name: all parts" "$(grep -E '(^|[^0-9])[1-9][0-9]* wrong' "$tmp/out")"
    result "$name: '$wanted'" "$(grep -qxF "$wanted" "$tmp/out" || echo "not in: $(grep -m 2 regis "$tmp/out")")"
}

result "a C program of the driver's functions" "$($CC -std=gnu11 -Wall -Wextra -Werror -I. -o "$tmp/driver_calls" \
    tests/launching/driver_calls.c -L"$emulated" -l:libcuda.so.1 2>&1 | head -n 3)"
is_right "the driver's functions" "Emulated GPU: cuGreenCtxCreate is not supported" PTXOPT_PTXAS=/none \
    PTXOPT_NVJITLINK=/none "$tmp/driver_calls"
result "the driver's functions: estimated registers" \
    "$(grep -qx 'kernel: 32 registers, 2048 bytes shared, 4 constant' "$tmp/out" || grep '^kernel' "$tmp/out")"

# $1: version of the runtime; $2: function; $3: pattern of the size and of three ints, at the offsets $4...
has_properties() {
    local version="$1" function="$2" wanted="$3"
    shift 3
    runs "$function of CUDA $version" 0 "^$wanted$" "$tmp/properties" "libcudart.so.$version" "$function" "$@"
}
result "a program that reads properties" "$($CC -std=gnu11 -Wall -Wextra -Werror -o "$tmp/properties" \
    tests/launching/properties.c -ldl 2>&1 | head -n 3)"
has_properties 11.0 cudaGetDeviceProperties "728 bytes 9 2 232448" 360 388 696
has_properties 12 cudaGetDeviceProperties "728 bytes 9 2 232448" 360 388 696
has_properties 12 cudaGetDeviceProperties_v2 "1032 bytes 9 2 232448" 360 388 696
has_properties 13 cudaGetDeviceProperties "1008 bytes 9 2 232448" 360 384 672
export PTXOPT_LAUNCH_REPORT=1
for way in linked dlsym proc library enumerated ex cooperative graph changed first any older asks; do
    runs "preloaded, $way" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way "$tmp/coarse.ptx" 128
    result "preloaded, $way: counted" \
        "$(grep -qx "ptxopt: kernel 'reverse': launches: [1-5] adapted, 0 of the original" "$errors" || echo no)"
    runs "preloaded, $way, original" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way $ptx 127
    runs "preloaded, $way, forbidden" 134 "kernel 'reverse' cannot be launched like this: block.x is 127, not" \
        LD_PRELOAD="$preload" "$tmp/driver" $way "$tmp/coarse.ptx" 127
    runs "preloaded, $way, forbidden, original kept" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way \
        "$tmp/both.ptx" 127
    result "preloaded, $way, original kept: counted" \
        "$(grep -q "launches: 0 adapted, [1-5] of the original" "$errors" || echo no)"
done
# Queries about a block that the contract forbids are answered for the original.
runs "asks, original" 0 "0 wrong" "$tmp/driver" asks $ptx 1023
grep '^error 0: 2 or 2 blocks of 1023' "$tmp/out" >"$tmp/answers"
runs "preloaded, asks, original kept" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" asks "$tmp/both.ptx" 1023
result "preloaded, asks: the same answers" "$(grep '^error .* threads' "$tmp/out" | diff "$tmp/answers" - | head -n 4)"
runs "preloaded, another module" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" again "$tmp/coarse.ptx" 127 $ptx
# Six blocks of 128 threads on two multiprocessors are coarsened if that pays from 384 threads for each.
for least in 384 385; do
    { cat "$tmp/both.ptx" && echo ".visible .global .u32 __ptxopt_pays_reverse[4] = {1497452632, 1, $least, 0};"; } \
        >"$tmp/pays.ptx"
    counts="$([ $least -eq 384 ] && echo "[1-5] adapted, 0 of the original" || echo "0 adapted, [1-5] of the original")"
    for way in linked library ex cooperative graph; do
        runs "preloaded, $way, pays from $least" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way \
            "$tmp/pays.ptx" 128
        result "preloaded, $way, pays from $least: counted" "$(grep -q "launches: $counts" "$errors" || echo no)"
    done
done
# The grid shrinks, and the dynamic shared memory grows.
blocks=(-q -assembler none -coarsen-level block -coarsen-grid shrink)
sed -e 's/^\(\.address_size.*\)$/\1\n.extern .shared .align 4 .b8 part[];/' \
    -e '/\.shared.*part\[4096\]/d' $ptx >"$tmp/dynamic.ptx"
"$PTXOPT" "${blocks[@]}" -coarsen 2 -o "$tmp/grid.ptx" "$tmp/dynamic.ptx"
"$PTXOPT" "${blocks[@]}" -coarsen 3 -o "$tmp/thirds.ptx" "$tmp/dynamic.ptx"
"$PTXOPT" "${blocks[@]}" -coarsen 3 -keep-original -o "$tmp/thirds-both.ptx" "$tmp/dynamic.ptx"
"$PTXOPT" "${blocks[@]}" -coarsen 4 -o "$tmp/quarters.ptx" "$tmp/dynamic.ptx"
"$PTXOPT" "${blocks[@]}" -coarsen 4 -keep-original -o "$tmp/quarters-both.ptx" "$tmp/dynamic.ptx"
runs "shrunk grid, original" 0 "0 wrong" "$tmp/driver" linked "$tmp/dynamic.ptx" 100
runs "shrunk grid, launched like the original" 1 "[1-9][0-9]* wrong" "$tmp/driver" linked "$tmp/grid.ptx" 100
for file in grid thirds; do
    runs "shrunk grid, $file, header" 0 "0 wrong" "$tmp/driver" header "$tmp/$file.ptx" 100
    for way in linked library ex cooperative graph changed any; do
        runs "shrunk grid, $file, preloaded, $way" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way \
            "$tmp/$file.ptx" 100
        result "shrunk grid, $file, preloaded, $way: counted" \
            "$(grep -qx "ptxopt: kernel 'reverse': launches: [1-5] adapted, 0 of the original" "$errors" || echo no)"
    done
done
runs "shrunk grid, forbidden, header" 4 "not allowed: grid.x is 6, not a multiple of 4" "$tmp/driver" header \
    "$tmp/quarters.ptx" 100
runs "shrunk grid, forbidden, preloaded" 134 "grid.x is 6, not a multiple of 4" LD_PRELOAD="$preload" "$tmp/driver" \
    linked "$tmp/quarters.ptx" 100
runs "shrunk grid, forbidden, original kept" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" linked \
    "$tmp/quarters-both.ptx" 100
# The driver has enough for two parts, but not for three.
runs "shrunk grid, much shared memory" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" asks "$tmp/grid.ptx" 100
runs "shrunk grid, too much" 134 "needs 307200 bytes of dynamic shared memory, which the driver refuses" \
    LD_PRELOAD="$preload" "$tmp/driver" asks "$tmp/thirds.ptx" 100
runs "shrunk grid, too much, original kept" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" asks \
    "$tmp/thirds-both.ptx" 100
# Adapters hand the launch's parameters to the decision: the form would pay in any grid, but never by a parameter.
{
    cat "$tmp/both.ptx"
    echo ".visible .global .align 4 .u32 __ptxopt_pays_reverse[4] = {1497452632, 1, 0, 0};"
    echo ".visible .global .align 4 .u32 __ptxopt_trips_reverse[16] = {1346982484, 1, 1, 1, 0, 0, 4294967295};"
} >"$tmp/trips.ptx"
for way in linked library ex cooperative graph changed any; do
    runs "preloaded, $way, by a parameter" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way "$tmp/trips.ptx" 128
    result "preloaded, $way, by a parameter: counted" \
        "$(grep -q "launches: 0 adapted, [1-5] of the original" "$errors" || grep launches "$errors")"
done
# Several forms, of which launches take the first that pays and that its contract allows: six blocks of 128 threads.
# $1: number; the rest: how the form is made.
form() {
    local number=$1
    shift
    "$PTXOPT" -q -assembler none "$@" -o "$tmp/form.ptx" $ptx
    sed -e '1,/^.address_size/d' -e "s/reverse\b/&__ptxopt_form$number/" "$tmp/form.ptx"
}
# Words, as bytes.
bytes() {
    local word
    for word; do
        printf ',%d,%d,%d,%d' $((word & 255)) $((word >> 8 & 255)) $((word >> 16 & 255)) $((word >> 24 & 255))
    done
}
# $1: how the first form merges blocks; $2: the threads for each multiprocessor from which on it pays; $3: the most
# threads of a block for the second, which merges threads; $4: bytes of the table; $5: the most threads for each
# multiprocessor for the second, 0 without.
forms() {
    local unused=(0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0)
    cat $ptx
    form 1 -coarsen-level block -coarsen-grid shrink -coarsen "$1"
    form 2 -coarsen 2
    echo ".visible .global .align 4 .b8 __ptxopt_tune_reverse[$4] = {$(
        { bytes 1314150480 3 2 0 7 7 0 0 && printf ',98,0,120,0' && bytes 1497452632 1 "$2" 0 "${unused[@]}" 0 0 0 0 &&
            bytes 1497452632 1 0 2 "${unused[@]}" 64 "$3" "${5:-0}" 0; } | cut -d, -f "2-$(($4 + 1))")};"
}
# $1: name; $2, $3: launches of the first form and of the second; the rest: of forms.
takes() {
    local name="$1" first="$2" second="$3" way
    shift 3
    forms "$@" >"$tmp/forms.ptx"
    for way in linked library ex graph; do
        runs "several forms, $name, $way" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way "$tmp/forms.ptx" 128
        result "several forms, $name, $way: counted" \
            "$(grep -qE "of the form 'b': $first\$" "$errors" && grep -qE "of the form 'x': $second\$" "$errors" ||
                grep launches "$errors")"
    done
}
takes "the first" "[1-5]" 0 2 384 0 228
takes "the first is not worth it" 0 "[1-5]" 2 385 0 228
takes "the grid is no multiple" 0 "[1-5]" 4 0 128 228
takes "none" 0 0 2 385 127 228
takes "as many threads as it pays for" 0 "[1-5]" 2 385 0 228 384
takes "too many threads" 0 0 2 385 0 228 383
for way in cooperative changed any; do # some of which have other grids
    runs "several forms, $way" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" $way "$tmp/forms.ptx" 128
done
runs "several forms, asks" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" asks "$tmp/forms.ptx" 100
forms 2 0 0 227 >"$tmp/forms.ptx"
runs "several forms, a table that is cut off" 0 "0 wrong" LD_PRELOAD="$preload" "$tmp/driver" linked \
    "$tmp/forms.ptx" 128
result "several forms, a table that is cut off: the original" "$(grep launches "$errors")"
runs "several forms, not adapted" 0 "0 wrong" "$tmp/driver" linked "$tmp/forms.ptx" 128
runs "preloaded into another program" 0 "^hello" LD_PRELOAD="$preload" echo hello

real="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
if [ -z "$real" ]; then
    echo "skip a whole program: no nvcc"
    exit "$failed"
fi
export PTXOPT_REAL_NVCC="$real"
nvcc="$tools/ptxopt-nvcc"
headers="$(dirname "$(realpath "$real")")/../include"
if [ -f "$headers/cuda.h" ]; then
    result "the CUDA headers' structures" "$($CC -std=gnu11 -I. -isystem "$headers" -fsyntax-only \
        tests/launching/layout.c 2>&1 | head -n 3)"
else
    echo "skip the CUDA headers' structures: no cuda.h"
fi
cp tests/launching/program.cu "$tmp/app.cu"
cp tests/launching/{launches,unit,other_unit,seen,unseen}.cu "$tmp"
cd "$tmp" || exit 1
# $1: name; $2...: the command.
builds() {
    local name="$1"
    shift
    result "$name" "$("$@" >"$tmp/out" 2>"$errors" || echo "exit status $?")"
}
coarse=(-Xptxas -coarsen=2 -Xptxopt -q)
# A static runtime of the name of NVIDIA's, before which the linker finds it.
static=(-cudart static -L"$emulated/static")
# The functions that a library has, without those with C++ names.
names_of() {
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -E '^(cu|__cuda)' | sort -u
}

# $1: name; $2: a library of NVIDIA's, if it is installed; $3: the emulated one, which must have all of its names.
has_names() {
    [ -f "$2" ] || { echo "skip $1: there is no $2"; return; }
    result "$1" "$(comm -23 <(names_of "$2") <(names_of "$3") | head -n 3)"
}
for folder in "$headers/../lib" "$headers/../lib64" "$headers/../targets/x86_64-linux/lib"; do
    for library in libcudart.so.12 libcudart.so.13 stubs/libcuda.so; do
        own="$emulated/$(basename "$library" | sed 's/^libcuda\.so$/&.1/')"
        [ ! -f "$folder/$library" ] || has_names "the names of $(basename "$library")" "$folder/$library" "$own"
    done
done

# Functions that programs call. The figures of a kernel are those of ptxas, beside the PTX or from it, or an estimate.
cp "$root/tests/launching/memory.cu" "$root/tests/launching/calls.cu" .
builds "memory" "$real" -cudart shared -std=c++17 -arch=sm_90 memory.cu -o memory
is_right "memory" "limits: 0 wrong" ./memory
builds "calls" "$real" -cudart shared -std=c++17 -arch=sm_90 calls.cu -o calls
is_right "calls" "Emulated GPU: cudaIpcGetMemHandle is not supported" PTXOPT_PTXAS=/none PTXOPT_NVJITLINK=/none ./calls
"$real" -std=c++17 -arch=sm_90 -Xptxas -v -cubin calls.cu -o calls.cubin >"$tmp/log" 2>&1
registers="$(grep -A 3 "'_Z10sum_shared" "$tmp/log" | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p')"
figures="sum_shared: $registers registers, 4096 bytes shared, 0 local, 0 constant"
result "calls: figures of ptxas" "$(grep -qx "$figures" "$tmp/out" || grep sum_shared "$tmp/out")"
builds "calls, PTX alone" "$real" -cudart shared -std=c++17 -gencode arch=compute_90,code=compute_90 calls.cu \
    -o calls-ptx
is_right "calls, PTX alone" "$figures" ./calls-ptx
runs "calls, no assembler" 0 "sum_shared: 32 registers, 4096 bytes shared, 0 local, 0 constant" PTXOPT_PTXAS=/none \
    PTXOPT_NVJITLINK=/none ./calls-ptx
builds "memory, a static runtime" "$real" "${static[@]}" -std=c++17 -arch=sm_90 memory.cu -o memory-inside
is_right "memory, a static runtime" "limits: 0 wrong" ./memory-inside
builds "calls, threads with streams of their own" "$real" -cudart shared -default-stream per-thread -std=c++17 \
    -arch=sm_90 calls.cu -o calls-streams
is_right "calls, threads with streams of their own" "streams: 0 wrong" ./calls-streams
builds "nvcc alone" "$real" -cudart shared -arch=sm_90 app.cu -o plain
builds "ptxopt-nvcc" "$nvcc" -cudart shared -arch=sm_90 "${coarse[@]}" app.cu -o coarse
builds "ptxopt-nvcc, NVIDIA's static runtime" "$nvcc" -arch=sm_90 "${coarse[@]}" app.cu -o static
builds "ptxopt-nvcc, a static runtime" "$nvcc" "${static[@]}" -arch=sm_90 "${coarse[@]}" app.cu -o inside
builds "ptxopt-nvcc, compiled and linked apart" "$nvcc" -arch=sm_90 "${coarse[@]}" -c app.cu -o app.o
builds "ptxopt-nvcc, linked" "$nvcc" -cudart shared "${coarse[@]}" app.o -o apart
builds "ptxopt-nvcc, threads with streams of their own" "$nvcc" -cudart shared -default-stream per-thread -arch=sm_90 \
    "${coarse[@]}" app.cu -o streams
# The objects contain the adapter, so any linker command works.
builds "linked by nvcc" "$real" -cudart shared app.o -o by-nvcc
builds "linked by the host compiler" c++ app.o -o by-host -L"$emulated" -l:libcudart.so.13
builds "in a static library" ar rc libapp.a app.o
builds "linked from a static library" c++ -Wl,-u,main libapp.a -o by-archive -L"$emulated" -l:libcudart.so.13
"$nvcc" -arch=sm_90 "${coarse[@]}" -c seen.cu -o seen.o >"$tmp/out" 2>"$errors"
builds "without ptxopt" "$real" -arch=sm_90 -c unseen.cu -o unseen.o
builds "objects with and without ptxopt" "$real" -cudart shared unseen.o seen.o -o mixed
builds "a shared library" "$nvcc" -cudart shared -shared -Xcompiler -fPIC -arch=sm_90 "${coarse[@]}" seen.cu \
    -o libseen.so
builds "linked with a shared library" "$real" -cudart shared unseen.o -L. -lseen -Xlinker -rpath,"$tmp" -o mixed-shared
echo 'int not_cuda(void) { return 1; }' >not_cuda.c
builds "C code without CUDA" "$nvcc" "${coarse[@]}" -c not_cuda.c -o not_cuda.o
# shellcheck disable=SC2086
builds "C code without CUDA, linked without it" $CC -shared not_cuda.o -o libnot_cuda.so
unset PTXOPT_LAUNCH_REPORT
runs "nvcc alone: runs" 0 "^0 wrong, 1536 counted of 1536, at most 1024 threads, some time" ./plain
for program in coarse apart inside by-nvcc by-host by-archive; do
    runs "$program: runs" 0 "^0 wrong, 1536 counted of 1536, at most 1024 threads, some time" PTXOPT_LAUNCH_REPORT=1 \
        ./$program 128
    sort "$errors" >"$tmp/counts"
    result "$program: launches are counted" "$(diff - "$tmp/counts" <<'END'
ptxopt: kernel '_Z5countPKff': launches: 3 adapted, 0 of the original
ptxopt: kernel '_Z7reversePKfPf': launches: 1 adapted, 0 of the original
ptxopt: kernel '_Z8weightedIfEvPKT_S2_PS0_i': launches: 1 adapted, 0 of the original
END
)"
    runs "$program: forbidden launches run the originals" 0 "^0 wrong, 1524 counted of 1524" \
        PTXOPT_LAUNCH_REPORT="$tmp/report" ./$program 127
    result "$program: they are counted, in a file" \
        "$(grep -c 'launches: 0 adapted, [13] of the original' "$tmp/report" | grep -v '^3$')"
    rm "$tmp/report"
done
# Launches that nothing adapts run the original.
for program in mixed mixed-shared; do
    runs "$program: launches from an object without ptxopt" 0 "^0 wrong, no error" PTXOPT_LAUNCH_REPORT=1 ./$program
    result "$program: only the others are adapted" "$(diff - "$errors" <<'END'
ptxopt: kernel '_Z7reversePKfPf': launches: 1 adapted, 0 of the original
END
)"
done
# NVIDIA's runtime does not work here, but says so.
runs "NVIDIA's static runtime: ends with its own message" 1 "cudaMalloc.*: " ./static

# Every other way to launch: the same results as without ptxopt, adapted or by the originals.
builds "launches, nvcc alone" "$real" -cudart shared -arch=sm_90 launches.cu -o launches-plain
builds "launches" "$nvcc" -cudart shared -arch=sm_90 "${coarse[@]}" launches.cu -o launches
builds "launches, a static runtime" "$nvcc" "${static[@]}" -arch=sm_90 "${coarse[@]}" -DWITH_NODE_GET launches.cu \
    -o launches-inside
builds "launches, a known block" "$nvcc" -cudart shared -arch=sm_90 "${coarse[@]}" -Xptxopt -block=128 launches.cu \
    -o launches-known
for program in launches-plain launches launches-inside launches-known; do
    library="$tmp/both.ptx"
    [ $program != launches-plain ] || library="$root/$ptx"
    for block in 128 127; do
        runs "$program, $block" 0 "^library, as it lists them: 0 wrong" PTXOPT_LAUNCH_REPORT=1 \
            ./$program $block "$library"
        grep '^of 1023 threads' "$tmp/out" >"$tmp/asked-$program"
        result "$program, $block: what it is told" "$(diff "$tmp/asked-launches-plain" "$tmp/asked-$program")"
        result "$program, $block: all right" "$(grep -E ': [1-9][0-9]* wrong' "$tmp/out")"
        result "$program, $block: what is asked for" "$(grep -qx "a node has blocks of $block threads of this kernel" \
            "$tmp/out" && grep -qx 'too large: too many blocks in cooperative launch' "$tmp/out" || cat "$tmp/out")"
    done
done
result "launches: they are counted" \
    "$(sort "$errors" | diff - <(cat <<'END'
ptxopt: kernel '_Z13reverse_largePKfPf': launches: 0 adapted, 1 of the original
ptxopt: kernel '_Z5scalePff': launches: 0 adapted, 6 of the original
ptxopt: kernel '_Z7reversePKfPf': launches: 0 adapted, 9 of the original
ptxopt: kernel 'reverse': launches: 0 adapted, 1 of the original
ptxopt: kernel 'reverse': launches: 0 adapted, 1 of the original
ptxopt: kernel 'reverse': launches: 0 adapted, 3 of the original
ptxopt: kernel 'reverse': launches: 0 adapted, 3 of the original
END
) )"

# Two units that are linked for the device.
builds "relocatable, nvcc alone" "$real" -cudart shared -rdc=true -arch=sm_90 unit.cu other_unit.cu -o units-plain
builds "relocatable" "$nvcc" -cudart shared -rdc=true -arch=sm_90 "${coarse[@]}" unit.cu other_unit.cu -o units
builds "relocatable, first" "$nvcc" -dc -arch=sm_90 "${coarse[@]}" unit.cu -o unit.o
builds "relocatable, second" "$nvcc" -dc -arch=sm_90 "${coarse[@]}" other_unit.cu -o other_unit.o
builds "relocatable, linked" "$nvcc" -cudart shared -arch=sm_90 "${coarse[@]}" unit.o other_unit.o -o units-apart
builds "relocatable, linked by nvcc" "$real" -cudart shared -arch=sm_90 unit.o other_unit.o -o units-by-nvcc
for program in units-plain units units-apart units-by-nvcc; do
    for block in 128 127; do
        runs "$program, $block" 0 "^0 wrong, 0 different, all counted, weights 2 and 3" PTXOPT_LAUNCH_REPORT=1 \
            ./$program $block
    done
done
result "units: they are counted" "$(sort "$errors" | diff - <(cat <<'END'
ptxopt: kernel '_Z5countPKfi': launches: 0 adapted, 1 of the original
ptxopt: kernel '_Z7double_Pf': launches: 0 adapted, 1 of the original
ptxopt: kernel '_Z7reversePKfPf': launches: 0 adapted, 1 of the original
END
) )"
exit "$failed"
