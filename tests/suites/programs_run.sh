#!/usr/bin/env bash
# tools/programs-run on a folder of three programs: one .cu file, one with a Makefile, and one that is wrong. Fakes take
# the places of nvcc and ptxopt-nvcc, and print summaries.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

tmp="$TEST_TMP"
programs="$tmp/programs" toolkit="$tmp/toolkit" table="$tmp/table.md"
mkdir -p "$programs/add" "$programs/make/src" "$programs/wrong" "$toolkit/bin" "$toolkit/lib64"
echo 'int main() { return 0; }' | tee "$programs/add/add.cu" "$programs/make/src/scale.cu" >/dev/null
echo 'int main( {' >"$programs/wrong/wrong.cu"
# The Makefile knows nothing of ptxopt, and the program is in the folder that the build makes a copy of.
printf 'all:\n\ttest -d $(CUDA_DIR)/lib64 && nvcc -o scale src/scale.cu && $(NVCC) --second\n' \
    >"$programs/make/Makefile"
cat >"$toolkit/bin/nvcc" <<'FAKE'
#!/bin/sh
exit 9
FAKE
cat >"$tmp/ptxopt-nvcc" <<'FAKE'
#!/bin/sh
[ "$1 $2" = "-Xptxas $WANTED,-summary" ] || { echo "error: wrong options $1 $2" >&2; exit 1; }
[ -x "$PTXOPT_REAL_NVCC" ] || { echo "error: no nvcc" >&2; exit 1; }
case "$*" in
*wrong.cu*) echo 'wrong.cu(1): error: not a declaration' >&2; exit 2 ;;
*scale.cu*)
    printf 'ptxopt: scale: fewer registers, 40 assembled, 10 s\r' >&2
    echo 'scale<int, 4>: x4 blocks of the grid merged, registers 8 -> 20 (with 9), predicted 1.92x (1.41x to 2.32x)' >&2
    echo 'idle: not coarsened: no factor is sound' >&2 ;;
*--second*) echo 'idle: not coarsened: no factor is sound' >&2 ;;
*) echo 'add: coarsened x4, estimated 1.12x in large launches (0.82x to 1.34x); launch it with blocks of 64' >&2 ;;
esac
FAKE
chmod +x "$toolkit/bin/nvcc" "$tmp/ptxopt-nvcc"
export WANTED=-auto PTXOPT_REAL_NVCC="$toolkit/bin/nvcc" PTXOPT_NVCC="$tmp/ptxopt-nvcc"

says() {
    result "$1" "$(grep -qxF -- "$2" "$tmp/said" || printf 'no line "%s"' "$2")"
}

tools/programs-run -o "$table" "$programs" >"$tmp/said" 2>"$tmp/errors"
result "exit status" "$([ $? = 0 ] || echo wrong)"
says "a .cu file" $'add/add.cu\tadd\tcoarsened x4\t1.12x\t0.82x to 1.34x\t'
says "a Makefile" $'make\tscale<int, 4>\tx4 blocks of the grid merged, registers 8 -> 20\t1.92x\t1.41x to 2.32x\t'
says "a kernel that is left alone" $'make\tidle\tnot coarsened: no factor is sound\t\t\t'
says "a program that does not compile" $'wrong/wrong.cu\t\twrong.cu(1): error: not a declaration\t\t\t'
result "each kernel once, and nothing else" "$([ "$(wc -l <"$tmp/said")" = 4 ] || cat "$tmp/said")"
result "the table" "$([ "$(grep -c '^|' "$table")" = 6 ] || cat "$table")"
result "the programs are left alone" "$(find "$programs" -newer "$tmp/ptxopt-nvcc" -type f)"
WANTED=-coarsen=2,-block=64 tools/programs-run -x coarsen=2,block=64 "$programs/add" >"$tmp/said" 2>"$tmp/errors"
says "other options" $'add.cu\tadd\tcoarsened x4\t1.12x\t0.82x to 1.34x\t'

# A GPU with a profiler: a changed kernel has a mangled name, and one that is not changed does not.
gpu="$(mktemp -d)" # a colon in $TEST_TMP would end an entry of PATH
trap 'rm -rf "$gpu"' EXIT
cat >"$toolkit/bin/nvcc" <<'FAKE'
#!/bin/sh
echo '#!/bin/sh' >program && chmod +x program
FAKE
sed -i '2i case "$*" in *add.cu*) "$PTXOPT_REAL_NVCC" && echo "# ptxopt" >>program ;; esac' "$tmp/ptxopt-nvcc"
printf '#!/bin/sh\n' >"$gpu/nvidia-smi"
cat >"$gpu/ncu" <<'FAKE'
#!/bin/sh
for program; do :; done
case " $* " in *" -c 7 "*) ;; *) exit 1 ;; esac
echo '==PROF== a line of the profiler'
echo '"ID","Kernel Name","gpu__time_duration.sum"'
echo '"","","ns"'
name="add(float *, int)" time=1,500
if grep -q ptxopt "$program"; then name=_Z3addPfS_i__ptxopt_coarsened time=1,000; fi
printf '"0","%s","%s"\n"1","other(int)","600"\n"2","%s","%s"\n' "$name" "$time" "$name" "$time"
FAKE
chmod +x "$gpu/"*
PATH="$gpu:$PATH" tools/programs-run -n 7 "$programs/add" >"$tmp/said" 2>"$tmp/errors"
says "the time of all kernels" $'add.cu\t\tall kernels\t\t\t1.385x'
says "the time of a kernel" $'add.cu\tadd\tcoarsened x4\t1.12x\t0.82x to 1.34x\t1.500x'
mkdir "$tmp/empty"
tools/programs-run "$tmp/empty" >"$tmp/said" 2>"$tmp/errors"
result "no program" "$([ $? = 1 ] && grep -q 'no program in' "$tmp/errors" || cat "$tmp/errors")"
exit "$failed"
