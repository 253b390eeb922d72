#!/usr/bin/env bash
# "ptxopt emulate": a program of the driver's API on the emulated GPU, its checks, exit statuses and log; then, if nvcc
# is installed, programs of the runtime's.
set -uo pipefail
. tests/suites/emulated.bash

ptx=tests/launching/checked.ptx
result "a C program" "$($CC -std=gnu11 -Wall -Wextra -Werror -o "$tmp/checked" tests/launching/checked.c \
    -L"$emulated" -l:libcuda.so.1 2>&1 | head -n 3)"

# $1: name; $2: exit status; $3: pattern of a line; $4...: arguments of "ptxopt emulate".
emulates() {
    local name="$1" wanted="$2" pattern="$3" status
    shift 3
    "$PTXOPT" emulate "$@" >"$tmp/out" 2>"$errors"
    status=$?
    cat "$errors" >>"$tmp/out"
    result "$name" "$([ "$status" -eq "$wanted" ] && grep -qE -- "$pattern" "$tmp/out" ||
        echo "exit status $status: $(head -n 3 "$tmp/out")")"
}

# $1: name; $2: checks; $3: the fault, or "none"; $4: step.
finds() {
    local pattern="^[^ ]*:[0-9]+: $3\b" status=5
    [ "$3" = none ] && pattern="launch(es)?, no fault\$" status=0
    emulates "$1" "$status" "$pattern" -check "$2" "$tmp/checked" $ptx "$4"
}

finds "all checks: no fault" all none copy
finds "races" races "data race" race
finds "races, only checked if requested" unwritten,registers,division none race
finds "division by zero" division "division by zero" divide
finds "division by zero, not checked" races none divide
finds "out of bounds, always" none "out of bounds" beyond
finds "unwritten device memory" unwritten "read of unwritten memory" unwritten
finds "unwritten device memory, not checked" races none unwritten
finds "a copy of what is partly unwritten" unwritten "read of unwritten memory: byte 252 of device memory" part
finds "a copy of what is written" unwritten none whole
finds "rows that are filled in part" unwritten "read of unwritten memory: byte 28 of device memory" rows
finds "managed memory counts as written" unwritten none managed

export PTXOPT_EMULATED_BOUNDS=pages
warned='^warning: .*:[0-9]+: out of bounds: load of 4 bytes at offset 256 of device memory \(kernel copy, .* thread 63'
emulates "pages: after an allocation" 0 "$warned" -check none "$tmp/checked" $ptx beyond beyond
result "pages: a warning once" "$([ "$(grep -c '^warning: ' "$tmp/out")" = 1 ] || cat "$tmp/out")"
emulates "pages: before the first allocation" 0 "^before: 0$" -check none "$tmp/checked" $ptx before
emulates "pages: what is stored stays" 0 "^outside: 0$" -check all "$tmp/checked" $ptx outside
finds "pages: where there is none" none "out of bounds" far
PTXOPT_EMULATED_BOUNDS=allocations finds "allocations" none "out of bounds" beyond
PTXOPT_EMULATED_BOUNDS=page emulates "no such bounds" 99 \
    "^PTXOPT_EMULATED_BOUNDS: 'page' is not allocations or pages$" "$tmp/checked" $ptx copy
unset PTXOPT_EMULATED_BOUNDS

emulates "all checks are the default" 5 "data race" "$tmp/checked" $ptx race
emulates "a summary" 5 "^ptxopt: 3 launches, 1 with a fault$" "$tmp/checked" $ptx copy race
emulates "a fault stays" 5 "^copy: 719$" "$tmp/checked" $ptx race copy
emulates "another status for faults" 77 "data race" -fault-status 77 "$tmp/checked" $ptx race
emulates "a fault, whatever the program's status is" 5 "data race" "$tmp/checked" $ptx race 3
emulates "the program's status" 3 "^ptxopt: 2 launches, no fault$" "$tmp/checked" $ptx copy 3
emulates "a program that a signal ends" 143 "was ended by signal 15" "$tmp/checked" $ptx copy killed
emulates "the program's options are its own" 0 "^-check: -1$" "$tmp/checked" $ptx copy -check none
emulates "quiet" 0 "^copy: 0$" -q "$tmp/checked" $ptx copy
result "quiet: nothing else" "$([ "$(cat "$tmp/out")" = "copy: 0" ] || cat "$tmp/out")"
emulates "a script" 5 "data race" sh -c "'$tmp/checked' $ptx copy; '$tmp/checked' $ptx race"
emulates "a program that is not there" 1 "cannot run $tmp/none: No such file" "$tmp/none"
emulates "no program" 2 "expected a program" -check races
emulates "no such check" 2 "-check racing: expected all, none or some" -check racing "$tmp/checked" $ptx copy
emulates "no such status" 2 "-fault-status 0: expected a number from 1 to 255" -fault-status 0 "$tmp/checked" $ptx copy
emulates "a program without a GPU" 0 "true has not used a GPU" true
emulates "a program of NVIDIA's runtime" 6 "checked has NVIDIA's own runtime.*; link it with -cudart shared" \
    "$tmp/checked" $ptx foreign

printf 'kept\n' >"$tmp/log"
emulates "a log" 5 "data race" -log "$tmp/log" "$tmp/checked" $ptx back race
wanted='kept
device
copy 4 b98fb1f9e67a23d1
launch race 1,1,1 64,1,1'
result "the log: launches and copies, after what was there" \
    "$([ "$(head -n 4 "$tmp/log")" = "$wanted" ] || cat "$tmp/log")"
result "the log: the fault" "$(sed -n 5p "$tmp/log" | grep -qE '^fault .*data race' || cat "$tmp/log")"
emulates "a log that is there counts once" 0 "^ptxopt: 2 launches, no fault$" -log "$tmp/log" "$tmp/checked" $ptx copy
emulates "a log that cannot be written" 1 "cannot write $tmp/none/log: No such file" -log "$tmp/none/log" \
    "$tmp/checked" $ptx copy
# Copies by which the adapter reads a launch contract are not the program's.
$CC -std=gnu11 -Iruntime -o "$tmp/driver" tests/launching/driver.c -L"$emulated" -l:libcuda.so.1 -ldl
"$PTXOPT" -q -assembler none -coarsen 2 -o "$tmp/coarse.ptx" tests/launching/reverse.ptx
cp tests/launching/reverse.ptx "$tmp"
for module in "$tmp/reverse.ptx" "$tmp/coarse.ptx"; do
    runs "$(basename "$module"), preloaded" 0 "0 wrong" LD_PRELOAD="$preload" PTXOPT_EMULATED_LOG="$module.log" \
        "$tmp/driver" linked "$module" 128
    grep '^copy' "$module.log" >"$tmp/copies-$(basename "$module")"
done
result "the log: copies of a coarsened program" "$([ -s "$tmp/copies-coarse.ptx" ] || echo none)$(
    diff "$tmp/copies-reverse.ptx" "$tmp/copies-coarse.ptx")"
mkdir "$tmp/temporary"
TMPDIR="$tmp/temporary" "$PTXOPT" emulate -q "$tmp/checked" $ptx copy >/dev/null
result "no file is left" "$(ls "$tmp/temporary")"
runs "the driver alone, with checks" 0 "data race" PTXOPT_EMULATED_CHECK=races "$tmp/checked" $ptx race
runs "the driver alone, with a wrong list" 99 "PTXOPT_EMULATED_CHECK: 'raced' is not all, none or some" \
    PTXOPT_EMULATED_CHECK=raced "$tmp/checked" $ptx race

nvcc="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
if [ -z "$nvcc" ]; then
    echo "skip programs of the runtime: no nvcc"
    exit "$failed"
fi
cat >"$tmp/race.cu" <<'END'
#include <cstdio>
__global__ void meet(int *to)
{
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    to[threadIdx.x] = part[63 - threadIdx.x];
}
int main()
{
    int *to;
    cudaMalloc(&to, 256);
    meet<<<1, 64>>>(to);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
END
result "nvcc" "$("$nvcc" -arch=sm_90 -lineinfo -cudart shared "$tmp/race.cu" -o "$tmp/race" 2>&1 &&
    "$nvcc" -arch=sm_90 "$tmp/race.cu" -o "$tmp/static" 2>&1)"
emulates "a race, with its line" 5 "data race: .*, from [^ ]*race\.cu:5\)$" -check races "$tmp/race"
emulates "not checked" 0 "^no error$" -check none "$tmp/race"
result "names of CUDA 11" "$("$nvcc" -arch=sm_90 -cudart shared -include tools/programs/cuda11.h -DCUDA11_TEXTURES \
    tests/launching/cuda11.cu -o "$tmp/cuda11" 2>&1)"
emulates "textures and functions of CUDA 11" 0 "^0 wrong$" -check none "$tmp/cuda11"
emulates "the static runtime" 6 "static has NVIDIA's own runtime" "$tmp/static"
exit "$failed"
