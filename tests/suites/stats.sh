#!/usr/bin/env bash
# ptxopt stats and ptxopt diff: figures against ptxas's own, every kind of file, conditions, tables of whole builds, and
# wrong input.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

need_program PTXOPT_PTXAS ptxas
nvcc="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
unset PTXOPT_FLAGS PTXOPT_STRICT PTXOPT_STATS PTXOPT_REAL_PTXAS PTXOPT_REAL_NVCC
work="$TEST_TMP/work"
mkdir -p "$work/build/deep"

# Rows "REGISTERS SPILL_STORES SPILL_LOADS STACK SHARED KERNEL" of a table.
figures() {
    awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        {
            print $at["registers"], $at["spill_stores"], $at["spill_loads"], $at["stack"], $at["shared"], $at["kernel"]
        }' "$1" | sort
}

# The same from what ptxas -v prints.
told() {
    awk '/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
        /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
        /: Used / {
            shared = 0
            for (i = 1; i < NF; i++)
                if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
                else if ($(i + 1) ~ /^registers/) registers = $i
            print registers, stores, loads, stack, shared, kernel
        }' "$1" | sort
}

cat >"$work/spills.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry spills(.param .u64 out, .param .u32 n)
.maxntid 256
.minnctapersm 8
{
.reg .b64 %a;
.reg .b32 %n, %i;
.reg .f32 %v<64>;
.reg .pred %p;
ld.param.u64 %a, [out];
ld.param.u32 %n, [n];
cvta.to.global.u64 %a, %a;
mov.u32 %i, %tid.x;
mad.wide.u32 %a, %i, 256, %a;
END
{
    for i in $(seq 0 63); do echo "ld.volatile.global.f32 %v$i, [%a+$((4 * i))];"; done
    echo "mov.u32 %i, 0;"
    echo "loop:"
    for i in $(seq 0 63); do echo "fma.rn.f32 %v$i, %v$i, %v$(((i + 7) % 64)), 0f3F800000;"; done
    printf 'add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %%n;\n@%%p bra loop;\n'
    for i in $(seq 0 63); do echo "st.volatile.global.f32 [%a+$((4 * i))], %v$i;"; done
    printf 'ret;\n}\n'
} >>"$work/spills.ptx"
sed '/minnctapersm/d' "$work/spills.ptx" >"$work/free.ptx"

# The figures are ptxas's.
for ptx in corpus/spmv/spmv.sm_90.ptx corpus/layernorm/layernorm.sm_90.ptx corpus/matmul_tiled/matmul_tiled.sm_75.ptx \
    "$work/spills.ptx"; do
    arch="$(sed -nE 's/^\.target (sm_[0-9]+).*/\1/p' "$ptx")"
    "$ptxas" -v -arch="$arch" "$ptx" -o "$work/k.cubin" >"$work/log" 2>&1
    "$PTXOPT" stats -q -format tsv -o "$work/ptx.tsv" "$ptx"
    result "$(basename "$ptx"): as ptxas -v" "$(diff <(figures "$work/ptx.tsv") <(told "$work/log"))"
    "$PTXOPT" stats -format tsv -o "$work/cubin.tsv" "$work/k.cubin"
    result "$(basename "$ptx"): its cubin has the same figures" \
        "$(diff <(cut -f 4,8-16 "$work/ptx.tsv") <(cut -f 4,8-16 "$work/cubin.tsv"))"
done
result "spills of a cubin are not known" "$(awk -F'\t' 'NR == 2 && $5 == "-" && $8 > 0' "$work/cubin.tsv" | grep -q . ||
    cat "$work/cubin.tsv")"

# A bound that is met by spilling.
ends "a bound that costs" 0 "spills.ptx:4: warning: kernel 'spills' spills" stats "$work/spills.ptx"
cost='without, it has [0-9]+ registers and no spills, and is predicted to be [0-9.]+ times as fast'
result "what it costs is predicted" "$(grep -qE "$cost" "$work/err" || cat "$work/err")"
ends "no bound, no warning" 0 "0 of them with spills" stats "$work/free.ptx"
result "nothing else is said" "$(cat "$work/err")"
ends "a predicted time" 0 "time (us)" stats -q -time "$work/free.ptx"
ends "a counted time" 0 "time (us)" stats -q -time -launch corpus/matmul_naive/matmul_naive.launch.json \
    corpus/matmul_naive/matmul_naive.sm_90.ptx

# Conditions.
ends "a condition that holds" 5 "spills.ptx: spills: spills " stats -q -fail-if 'spills>0' "$work/spills.ptx"
ends "one that does not" 0 "1 kernel" stats -q -fail-if 'spills>0' "$work/free.ptx"
ends "one about another kernel" 0 "1 kernel" stats -q -fail-if 'other:spills>0' "$work/spills.ptx"
ends "as an annotation" 5 "::error file=" stats -q -fail-if 'spills>0' -format github "$work/spills.ptx"
sed 's/entry spills/entry k/' "$work/spills.ptx" >"$work/new.ptx"
sed 's/entry spills/entry k/' "$work/free.ptx" >"$work/old.ptx"
ends "two builds" 0 "hurt     k (" diff -q "$work/old.ptx" "$work/new.ptx"
ends "a change that is too much" 5 "local_in_loops 0 -> " diff -q -fail-if 'local_in_loops+1' "$work/old.ptx" \
    "$work/new.ptx"
ends "the other way round" 0 "helped   k (" diff -q -fail-if 'local_in_loops+1' "$work/new.ptx" "$work/old.ptx"
ends "kernels come and go" 0 "1 added, 1 removed" diff -q "$work/old.ptx" "$work/free.ptx"
ends "nothing changed" 0 "0 hurt, 0 helped, 0 added, 0 removed, 1 same" diff -q "$work/old.ptx" "$work/old.ptx"
"$PTXOPT" stats -q -format tsv -o "$work/base.tsv" "$work/old.ptx"
"$PTXOPT" stats -q -format json -o "$work/base.json" "$work/old.ptx"
ends "a committed baseline" 5 "registers" diff -q -fail-if 'spills+1' "$work/base.tsv" "$work/new.ptx"
ends "one in JSON" 5 "registers" diff -q -fail-if 'spills+1' "$work/base.json" "$work/new.ptx"
ends "differences as JSON" 0 '"change": "hurt"' diff -q -format json "$work/base.tsv" "$work/new.ptx"
ends "differences between tabs" 0 "$(printf 'hurt\t')" diff -q -format tsv "$work/base.tsv" "$work/new.ptx"

# Folders.
cp "$work/old.ptx" "$work/build/a.ptx"
cp "$work/k.cubin" "$work/build/deep/b.cubin"
echo "no kernels" >"$work/build/deep/notes.txt"
ends "a folder" 0 "2 kernels in 2 files" stats -q "$work/build"

# Wrong input.
ends "a launch file that is missing" 1 "nowhere.json" stats -time -launch "$work/nowhere.json" "$work/old.ptx"
ends "no file" 1 "No such file" stats "$work/missing"
ends "no files at all" 2 "expected files" stats
ends "one build" 2 "expected two builds" diff "$work/old.ptx"
ends "three builds" 2 "expected two builds" diff "$work/old.ptx" "$work/old.ptx" "$work/old.ptx"
ends "an unknown figure" 2 "'size' is not a figure; there are registers," stats -fail-if 'size>1' "$work/old.ptx"
ends "a change of one build" 2 "'ptxopt diff BASE NEW'" stats -fail-if 'spills+1' "$work/old.ptx"
ends "an unknown format" 2 "expected 'text', 'tsv', 'json' or 'github'" stats -format xml "$work/old.ptx"
ends "text without kernels" 1 "notes.txt" stats "$work/build/deep/notes.txt"
mkdir -p "$work/empty"
ends "an empty folder" 1 "there is no kernel in it" stats "$work/empty"
head -c 700 "$work/k.cubin" >"$work/short.cubin"
ends "a cubin that is cut off" 1 "short.cubin" stats "$work/short.cubin"
sed 's/fma.rn.f32/fma.f99/' "$work/old.ptx" >"$work/wrong.ptx"
ends "PTX that is wrong" 1 "wrong.ptx:" stats "$work/wrong.ptx"
ends "an output that cannot be written" 1 "nowhere" stats -q -o "$work/nowhere/t.tsv" "$work/old.ptx"

# Whole builds.
if [ -z "$nvcc" ]; then
    echo "skip programs: no nvcc"
    exit $failed
fi
export PTXOPT_REAL_NVCC="$nvcc"
tools="$(dirname "$(realpath "$PTXOPT")")"
for name in one two three; do
    cat >"$work/$name.cu" <<END
template <class T> __global__ void $name(T *a) { a[threadIdx.x] *= 2; }
namespace { __global__ void __launch_bounds__(256) hidden(float *a) { a[threadIdx.x] += 2; } }
void launch_$name(float *a, int *b) { $name<<<1, 1>>>(a); $name<<<1, 1>>>(b); hidden<<<1, 256>>>(a); }
END
done
echo 'int main() {}' >"$work/main.cu"
export PTXOPT_STATS="$work/build.tsv"
for name in one two three main; do
    (cd "$work" && "$tools/ptxopt-nvcc" -Xptxopt -q -gencode arch=compute_80,code=sm_80 \
        -gencode arch=compute_90,code=sm_90 -c "$name.cu" -o "$name.o" >"$name.out" 2>&1) &
done
wait
unset PTXOPT_STATS
result "nothing is printed for it" "$(cat "$work"/{one,two,three,main}.out)"
result "a build adds its kernels" "$([ "$(wc -l <"$work/build.tsv")" -eq 19 ] || wc -l "$work/build.tsv")"
result "it knows their spills" "$(awk -F'\t' 'NR > 1 && $5 != "0"' "$work/build.tsv")"
(cd "$work" && "$nvcc" -o program ./*.o && ar rc all.a one.o two.o three.o) >"$work/out" 2>&1
ends "an object" 0 "6 kernels in 1 file" stats "$work/one.o"
ends "an archive" 0 "all.a(two.o) (sm_80)" stats "$work/all.a"
ends "a program" 0 "18 kernels in 1 file" stats "$work/program"
ends "a program against its build" 0 "0 hurt, 0 helped, 0 added, 0 removed, 18 same" diff "$work/build.tsv" \
    "$work/program"
export PTXOPT_STATS="$work/nowhere/build.tsv"
(cd "$work" && "$tools/ptxopt-nvcc" -c one.cu -o one.o) >"$work/out" 2>&1
status=$?
result "a table that cannot be written is no error" \
    "$([ $status -eq 0 ] && grep -q 'warning: PTXOPT_STATS: cannot open' "$work/out" || cat "$work/out")"
exit $failed
