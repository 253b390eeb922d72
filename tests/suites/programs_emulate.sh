#!/usr/bin/env bash
# tools/programs-emulate on a folder of programs. Fakes take the places of nvcc and ptxopt-nvcc: each "program" is a
# shell script that prints, and writes the log of the emulated driver.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

tmp="$(mktemp -d)" # a colon in $TEST_TMP would end an entry of PATH
trap 'rm -rf "$tmp"' EXIT
programs="$tmp/programs" toolkit="$tmp/toolkit"
mkdir -p "$programs/common" "$toolkit/bin" "$toolkit/lib64"
echo shared >"$programs/common/text"

# $1: the program; $2: what both builds do, $3: the plain one, and $4: the other, in shell.
program() {
    mkdir -p "$programs/$1"
    printf '%s\n' "$2" 'if [ "$KIND" = plain ]; then' "${3:-:}" else "${4:-:}" fi >"$programs/$1/$1.cu"
}
launches='log() { echo "$@" >>"$PTXOPT_EMULATED_LOG"; }; log device; log launch k 1,1,1 1,1,1; '
program same "$launches"'echo "Time: $$ ms"; echo "Elapsed seconds:"; echo 1.$$; echo PASS; log copy 4 1'
program wrong "$launches"'echo sum' 'log copy 4 1; echo 5' 'log copy 4 1; log copy 4 2; echo 6'
program copies "$launches" 'log copy 4 1' 'log copy 4 2'
program unsteady "$launches"'echo $$; log copy 4 $$'
program fault "$launches"'log fault k.ptx:3: data race; exit 7'
program missing 'echo "Emulated GPU: cudaThing is not supported"'
program slow "$launches"'sleep 60'
program broken 'error'
program threads "$launches # cudaThreadSynchronize()"
program fails "$launches"'echo "no mismatch"' 'echo "0 errors"' 'echo "Test FAILED"'
mkdir "$programs/make"
old="-gencode arch=compute_20,code=sm_20 -cudart=static"
printf 'app: app.sh\n\tcat ../common/text && $(NVCC) %s app.sh -o app\n' "$old" >"$programs/make/Makefile"
printf '%s\necho "$1"\n' "$launches" >"$programs/make/app.sh"
mkdir "$programs/deep"
cp -r "$programs/make" "$programs/deep/own"
cp -r "$programs/common" "$programs/deep"
printf 'all:\n\tfalse\n' >"$programs/deep/Makefile"
echo 'texture<float> t;' >"$programs/deep/own/app.cuh"

cat >"$toolkit/bin/nvcc" <<'FAKE'
#!/bin/sh
echo "$*" >>"${OPTIONS:?}"
case "$*" in *broken*) echo "error: it is broken" >&2; exit 2 ;; esac
while [ $# -gt 1 ]; do
    case "$1" in -o) into="$2" ;; *.cu | *.sh) from="$1" ;; esac
    shift
done
case "$1" in *.cu | *.sh) from="$1" ;; esac
{ echo '#!/bin/sh'; echo "KIND=${KIND:-plain}"; cat "$from"; } >"$into"
chmod +x "$into"
FAKE
cat >"$tmp/ptxopt-nvcc" <<'FAKE'
#!/bin/sh
[ "$1 $2" = "-Xptxas $WANTED" ] || { echo "error: wrong options $1 $2" >&2; exit 1; }
KIND=ptxopt exec "$PTXOPT_REAL_NVCC" "$@"
FAKE
chmod +x "$toolkit/bin/nvcc" "$tmp/ptxopt-nvcc"
export WANTED=-auto,-target-regs=auto PTXOPT_REAL_NVCC="$toolkit/bin/nvcc" PTXOPT_NVCC="$tmp/ptxopt-nvcc"
export OPTIONS="$tmp/options"

# $1: name; $2: the row, whose times may be any.
says() {
    result "$1" "$(sed 's/[0-9.]*, [0-9.]*$/T/; s/\t[0-9.]*$/\tT/' "$tmp/said" | grep -qxF -- "$2" || cat "$tmp/said")"
}

printf '%s\t%s\n' make './app hello' >"$tmp/commands"
printf '%s\t%s\t%s\n' deep/own './app "$(cat old)"' 'make "$@" && echo built >old' >>"$tmp/commands"
tools/programs-emulate -l 2 -j 2 -o "$tmp/table.md" "$programs" >"$tmp/said" 2>"$tmp/errors"
result "exit status" "$([ $? = 0 ] && [ ! -s "$tmp/errors" ] || cat "$tmp/errors")"
says "equal, apart from times" $'same/same.cu\t\t0\t0\tpass\tequal\tequal\tT'
says "another output" $'wrong/wrong.cu\t\t0\t0\t\tline 2: \'5\', \'6\'\t1 copies, 2\tT'
says "other copies" $'copies/copies.cu\t\t0\t0\t\tequal\tcopy 1: \'4 1\', \'4 2\'\tT'
says "what changes from run to run" $'unsteady/unsteady.cu\t\t0\t0\t\tequal\tequal\tT'
says "a fault" $'fault/fault.cu\t\t7: k.ptx:3: data race\t7: k.ptx:3: data race\t\tequal\t\tT'
says "what is missing" $'missing/missing.cu\t\tEmulated GPU: cudaThing is not supported\t'\
$'Emulated GPU: cudaThing is not supported\t\tequal\t\tT'
says "the time limit" $'slow/slow.cu\t\ttimeout\t\t\t\t\tT'
says "not built" $'broken/broken.cu\tplain: error: it is broken\tnot built\t\t\t\t\tT'
says "another verdict" $'fails/fails.cu\t\t0\t0\tpass, fail\tline 2: \'0 errors\', \'Test FAILED\'\t\tT'
head='| program | build | plain | ptxopt | check | output | copies | seconds |'
result "the table" "$(head -n 1 "$tmp/table.md" | grep -qxF "$head" || cat "$tmp/table.md")"
result "options of nvcc" \
    "$(grep -vE 'app.sh|threads.cu' "$OPTIONS" | grep -vE -- '-arch=sm_90 -cudart shared -O2 [a-z]+\.cu -o program$')"
tools/programs-emulate -i "$tmp/commands" -k "$tmp/kept" "$programs" >"$tmp/said" 2>"$tmp/errors"
says "a command, and a Makefile" $'make\t\t0\t0\t\tequal\t\tT'
says "a command that builds, and a Makefile above" $'deep/own\t\t0\t0\t\tequal\t\tT'
result "only these" "$([ "$(wc -l <"$tmp/said")" = 2 ] || cat "$tmp/said")"
result "the command has make's variables" \
    "$(grep -qx built "$tmp/kept/deep+own/ptxopt.output" || ls "$tmp/kept/deep+own")"
header="-include $PWD/tools/programs/cuda11.h"
result "textures of CUDA 11" "$(grep -qF -- "$header -DCUDA11_TEXTURES -arch=sm_90 -cudart shared app.sh" "$OPTIONS" ||
    cat "$OPTIONS")"
result "functions of CUDA 11" "$(grep -qF -- "$header -arch=sm_90 -cudart shared -O2 threads.cu" "$OPTIONS" ||
    cat "$OPTIONS")"
result "what it prints is kept" "$(grep -qx hello "$tmp/kept/make/ptxopt.output" || ls "$tmp/kept/make")"
result "architecture and runtime are replaced" "$(grep app.sh "$OPTIONS" | grep -v include |
    grep -vE -- '^(-Xptxas -auto,-target-regs=auto )?-arch=sm_90 -cudart shared app.sh -o app$')"
WANTED=-coarsen=2 tools/programs-emulate -x coarsen=2 -p same/same.cu "$programs" >"$tmp/said" 2>"$tmp/errors"
says "other options" $'same/same.cu\t\t0\t0\tpass\tequal\tequal\tT'
result "the programs are left alone" "$(find "$programs" -newer "$tmp/commands" -type f)"
# Rodinia's inputs: for each program that its table names with one, in folders beside those of the programs.
mkdir -p "$tmp/rodinia/cuda" "$tmp/rodinia/data/bfs"
echo kept >"$tmp/rodinia/data/bfs/graph4096.txt"
result "inputs of Rodinia" "$(tools/programs/rodinia-inputs "$tmp/rodinia" 2>&1)"
result "inputs that are there stay" "$(grep -vx kept "$tmp/rodinia/data/bfs/graph4096.txt")"
result "inputs of the table" "$(grep -oE '\.\./data/[^ ;[:cntrl:]]+' tools/programs/rodinia.tsv | while read -r path; do
    [ -s "$tmp/rodinia/${path#../}" ] || echo "no $path"
done)"
result "programs of the table, each once" "$(grep -o '^cuda/[^	]*' tools/programs/rodinia.tsv | sort | uniq -d)"
tools/programs/rodinia-inputs "$tmp" >"$tmp/said" 2>&1
result "not a folder of Rodinia" "$([ $? = 1 ] && grep -q 'usage: rodinia-inputs' "$tmp/said" || cat "$tmp/said")"
tools/programs-emulate -p nothing "$programs" >"$tmp/said" 2>"$tmp/errors"
result "no program" "$([ $? = 1 ] && grep -q 'no program in' "$tmp/errors" || cat "$tmp/errors")"
exit "$failed"
