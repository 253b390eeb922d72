#!/usr/bin/env bash
# ptxopt-ptxas and ptxopt-nvcc, in the place of ptxas and nvcc: first with fakes of both, which show their
# arguments, then with the real ones if they are installed. Some builds fail on purpose.
set -uo pipefail

# The folder is on PATH, where a colon would separate two folders.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
tools="$(dirname "$(realpath "${PTXOPT:?}")")"
shim="$tools/ptxopt-ptxas"
nvcc="$tools/ptxopt-nvcc"
root="$PWD"
. tests/suites/result.bash
. tests/suites/programs.bash
unset PTXOPT_FLAGS PTXOPT_STRICT PTXOPT_NESTED PTXOPT_NESTED_NVCC PTXOPT_REAL_PTXAS PTXOPT_REAL_NVCC PTXOPT_PTXAS
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS CUDA_HOME CUDA_PATH
export TMPDIR="$tmp/temporary files"
mkdir -p "$TMPDIR" "$tmp/work/sub folder" "$tmp/fake"
cp corpus/nlm/nlm.sm_90.ptx "$tmp/work/n.ptx"
cp corpus/nlm/nlm.sm_90.ptx "$tmp/work/sub folder/n n.ptx"
cd "$tmp/work" || exit 1

# $1: name; $2: exit status wanted; $3...: command. Leaves $tmp/out and $errors.
try() {
    local name="$1" wanted="$2"
    shift 2
    "$@" >"$tmp/out" 2>"$errors"
    local status=$? wrong=""
    [ "$status" -eq "$wanted" ] || wrong="exit status $status"
    result "$name" "$wrong"
}
# $1: name; $2...: grep's arguments.
says() {
    local name="$1"
    shift
    result "$name" "$(grep -q "$@" || echo "not found")"
}
same() {
    result "$1" "$(cmp "$2" "$3" 2>&1)"
}
nothing_left() {
    result "$1: no temporary files" "$(ls -A "$TMPDIR")"
}

# A ptxas that copies its inputs to its output, and rejects inputs that contain "rejected".
cat >"$tmp/fake/ptxas" <<'END'
#!/bin/sh
case "$1" in
--help | -h) echo fake help; exit 0 ;;
--version | -V) printf 'fake ptxas\nCuda compilation tools, release 1.0, V1.0\n'; exit 0 ;;
esac
inputs="$FAKE_FOLDER/inputs.$$" output=elf.o
: >"$inputs" || exit 255
trap 'rm -f "$inputs"' EXIT
while [ $# -gt 0 ]; do
    case "$1" in
    -o | --output-file) output="$2"; shift ;;
    --gpu-name) shift ;;
    -v) echo 'ptxas info    : fake' >&2 ;;
    -*) ;;
    *) if grep -q rejected "$1"; then echo "ptxas $1, line 1; error : odd" >&2; exit 255; fi
       cat "$1" >>"$inputs" || exit 255 ;;
    esac
    shift
done
cat "$inputs" >"$output"
END
chmod +x "$tmp/fake/ptxas"
export PTXOPT_REAL_PTXAS="$tmp/fake/ptxas" FAKE_FOLDER="$tmp/fake"

try "version" 0 "$shim" --version
"$tmp/fake/ptxas" --version >"$tmp/wanted"
same "version: as the real one says" "$tmp/out" "$tmp/wanted"
try "help" 0 "$shim" --help
says "help: of the wrapper" '^Usage: ptxopt-ptxas' "$tmp/out"
says "help: of the real one" '^fake help$' "$tmp/out"
# Two assemblers in a folder, each used under its own name, as Triton has them.
sed 's/fake ptxas/fake ptxas-blackwell/' "$tmp/fake/ptxas" >"$tmp/fake/ptxas-blackwell"
chmod +x "$tmp/fake/ptxas-blackwell"
mkdir "$tmp/names"
ln -s "$shim" "$tmp/names/ptxopt-ptxas"
ln -s "$shim" "$tmp/names/ptxopt-ptxas-blackwell"
for name in ptxas ptxas-blackwell; do
    PTXOPT_REAL_PTXAS="$tmp/fake" try "a folder of assemblers: $name" 0 "$tmp/names/ptxopt-$name" --version
    says "a folder of assemblers: $name: its own" "^fake $name\$" "$tmp/out"
done
# The caller has loaded Triton: its assemblers are those that it would have used.
triton="$tmp/a triton"
mkdir -p "$triton/_C" "$triton/backends/nvidia/bin"
cp "$tmp/fake/ptxas" "$tmp/fake/ptxas-blackwell" "$triton/backends/nvidia/bin"
printf 'library' >"$triton/_C/libtriton.so"
cat >"$tmp/caller.py" <<'END'
"""Calls a program as Triton does, which has its library in memory."""
import mmap, subprocess, sys
with open(sys.argv[1], "r+b") as file:
    library = mmap.mmap(file.fileno(), 0)
    sys.exit(subprocess.run(sys.argv[2:], check=False).returncode)
END
# $1: name; $2: the assembler; $3...: the command.
calls() {
    local name="$1" wanted="$2"
    shift 2
    PTXOPT_REAL_PTXAS='' try "Triton: $name" 0 python3 "$tmp/caller.py" "$triton/_C/libtriton.so" "$@"
    says "Triton: $name: its own" "^fake $wanted\$" "$tmp/out" "$errors"
}
calls "ptxas" ptxas "$tmp/names/ptxopt-ptxas" --version
calls "ptxas-blackwell" ptxas-blackwell "$tmp/names/ptxopt-ptxas-blackwell" --version
sed -i "s|^    -v) .*|    -v) \"\$0\" --version >\&2 ;;|" "$triton"/backends/nvidia/bin/*
for arch in 80:ptxas 90:ptxas-blackwell 100a:ptxas-blackwell; do
    export TRITON_PTXAS_PATH="$tmp/names/ptxopt-ptxas" TRITON_PTXAS_BLACKWELL_PATH="$tmp/names/ptxopt-ptxas"
    calls "one for both, sm_${arch%:*}" "${arch#*:}" "$tmp/names/ptxopt-ptxas" -v --gpu-name="sm_${arch%:*}" n.ptx \
        -o t.cubin
    unset TRITON_PTXAS_PATH TRITON_PTXAS_BLACKWELL_PATH
done
# Triton's variables mean nothing to another caller.
TRITON_PTXAS_PATH="$tmp/names/ptxopt-ptxas" TRITON_PTXAS_BLACKWELL_PATH="$tmp/names/ptxopt-ptxas" \
    PTXOPT_REAL_PTXAS="$triton/backends/nvidia/bin" try "another caller with Triton's variables" 0 \
    "$tmp/names/ptxopt-ptxas" -v --gpu-name=sm_90 n.ptx -o t.cubin
says "another caller with Triton's variables: ptxas" '^fake ptxas$' "$tmp/out" "$errors"
# The fake makes no cubins, so ptxopt fails, and the original is assembled.
try "ptxopt fails" 0 "$shim" -arch=sm_90 -v n.ptx -o "sub folder/o o.cubin"
same "ptxopt fails: the original is assembled" n.ptx "sub folder/o o.cubin"
says "ptxopt fails: a warning" 'ptxopt-ptxas: warning: n.ptx is assembled unchanged: ptxopt ended with exit' "$errors"
says "ptxopt fails: messages of ptxas stay" '^ptxas info    : fake$' "$errors"
nothing_left "ptxopt fails"
rm "sub folder/o o.cubin"
PTXOPT_STRICT=1 try "strict" 1 "$shim" -arch=sm_90 n.ptx -o s.cubin
result "strict: no output" "$(ls s.cubin 2>/dev/null)"
try "standard input" 0 "$shim" --gpu-name sm_90 - -o i.cubin <n.ptx
same "standard input: assembled" n.ptx i.cubin
try "several inputs" 0 "$shim" -arch=sm_90 n.ptx "sub folder/n n.ptx" -o two.cubin
cat n.ptx n.ptx >"$tmp/wanted"
same "several inputs: both assembled" two.cubin "$tmp/wanted"
printf -- '-arch=sm_90\n-o "sub folder/f f.cubin" "sub folder/n n.ptx"\n' >options
try "options file" 0 "$shim" -optf options
same "options file: assembled" n.ptx "sub folder/f f.cubin"
sed 's/^\.version.*/rejected/' n.ptx >broken.ptx
try "broken PTX: status of ptxas" 255 "$shim" -arch=sm_90 broken.ptx -o b.cubin
result "broken PTX: only ptxas complains" "$(grep -v '^ptxas broken.ptx, line 1; error : odd' "$errors")"
PTXOPT_FLAGS="-target-rgs 32" try "wrong flags" 0 "$shim" -arch=sm_90 n.ptx -o w.cubin
says "wrong flags: a warning" "unchanged: unknown option '-target-rgs'; did you mean '-target-regs'" "$errors"
for flags in "-o x" "-arch sm_80" "-assembler none" "-Xptxas -O1" "-target-regs 32 -knobs -knobs-out x" "-help" \
    "'unclosed"; do
    PTXOPT_STRICT=1 PTXOPT_FLAGS="$flags" try "flags that are not for builds: $flags" 1 \
        "$shim" -arch=sm_90 n.ptx -o w.cubin
done
PTXOPT_FLAGS="-target-regs 32 -knobs" try "options of ptxas for several inputs" 0 \
    "$shim" -arch=sm_90 n.ptx "sub folder/n n.ptx" -o two.cubin
says "options of ptxas for several inputs: a warning" 'n.ptx is assembled unchanged: -knobs is for one input' "$errors"
same "options of ptxas for several inputs: both assembled" two.cubin <(cat n.ptx n.ptx)
for flags in "-coarsen 2" "-coarsen auto" "-coarsen bx2 -coarsen-grid shrink"; do
    PTXOPT_FLAGS="$flags" try "coarsening for a launcher that does not know: $flags" 1 \
        "$shim" -arch=sm_90 n.ptx -o c.cubin
    says "coarsening for a launcher that does not know: how to say that it does: $flags" \
        'say so with -launches-adapted among the options' "$errors"
    result "coarsening for a launcher that does not know: no output: $flags" "$(ls c.cubin 2>/dev/null)"
done
printf '{"flags": "-coarsen 2"}' >ptxopt.json
try "coarsening for a launcher that does not know: ptxopt.json" 1 "$shim" -arch=sm_90 n.ptx -o c.cubin
says "coarsening for a launcher that does not know: ptxopt.json: says so" 'say so with -launches-adapted' "$errors"
rm ptxopt.json
PTXOPT_FLAGS="-coarsen 2 -launches-adapted" try "coarsening never falls back" 1 "$shim" -arch=sm_90 n.ptx -o c.cubin
says "coarsening never falls back: says why" 'because launches are adapted' "$errors"
for flags in "-coarsen bx2" "-coarsen 2 -coarsen-level block" "-coarsen auto -coarsen-level block"; do
    PTXOPT_FLAGS="$flags" try "merging blocks falls back: $flags" 0 "$shim" -arch=sm_90 n.ptx -o c.cubin
    says "merging blocks falls back, with a warning: $flags" 'n.ptx is assembled unchanged' "$errors"
done
for flags in "-coarsen x2,bx2" "-coarsen auto" "-coarsen source" "-coarsen bx2 -coarsen-grid shrink"; do
    PTXOPT_FLAGS="$flags -launches-adapted" try "merging threads does not: $flags" 1 \
        "$shim" -arch=sm_90 n.ptx -o c.cubin
done
for text in '{"flags": "-target-rgs 1"}' '{"flags": ["-target-rgs", "1"]}' '{"flags": [1]}' '{"flagz": ""}' '{' '[]'; do
    printf '%s\n' "$text" >"sub folder/ptxopt.json"
    PTXOPT_STRICT=1 try "ptxopt.json: $text" 1 "$shim" -arch=sm_90 "sub folder/n n.ptx" -o j.cubin
done
printf '{"strict": true, "flags": "-target-rgs 1"}' >ptxopt.json
try "ptxopt.json in the current folder, strict" 1 "$shim" -arch=sm_90 n.ptx -o j.cubin
PTXOPT_FLAGS="-target-regs 32" try "PTXOPT_FLAGS before ptxopt.json" 0 "$shim" -arch=sm_90 n.ptx -o j.cubin
rm ptxopt.json "sub folder/ptxopt.json"
PTXOPT_FLAGS="-target-regs 32" try "debug code with flags" 0 "$shim" -g -arch=sm_90 n.ptx -o g.cubin
says "debug code with flags: changed" 'assembled unchanged' "$errors"
try "debug code" 0 "$shim" -g -arch=sm_90 n.ptx -o g.cubin
result "debug code: ptxopt is not run" "$(cat "$errors")"
try "virtual architecture" 0 "$shim" -arch=compute_90 n.ptx
result "virtual architecture: ptxopt is not run" "$(cat "$errors")"
TMPDIR=/nosuch try "no temporary folder" 0 "$shim" -arch=sm_90 n.ptx -o t.cubin
says "no temporary folder: a warning" 'warning: ptxopt is not run: cannot create a temporary folder' "$errors"
TMPDIR=/nosuch PTXOPT_STRICT=1 try "no temporary folder, strict" 1 "$shim" -arch=sm_90 n.ptx -o t.cubin
try "missing input" 255 "$shim" -arch=sm_90 nosuch.ptx -o t.cubin
PTXOPT_NESTED=1 try "as the judge of ptxopt" 0 "$shim" -arch=sm_90 n.ptx -o n.cubin
result "as the judge of ptxopt: does not run ptxopt" "$(cat "$errors")"
PTXOPT_REAL_PTXAS="$shim" try "itself as the real one" 127 "$shim" --version
says "itself as the real one: says so" 'is this program itself' "$errors"
PTXOPT_REAL_PTXAS=/nosuch try "no ptxas" 127 "$shim" --version
says "no ptxas: says so" "PTXOPT_REAL_PTXAS is '/nosuch', which is not a program" "$errors"
mkdir -p "$tmp/one" "$tmp/two"
cp "$shim" "$tmp/one/ptxas"
cp "$shim" "$tmp/two/ptxas"
mkdir "$tmp/links"
ln -s "$shim" "$tmp/links/ptxas"
PTXOPT_REAL_PTXAS='' PATH="$tmp/links:$tmp/fake:$PATH" try "links are passed over" 0 \
    "$tmp/links/ptxas" -V
same "links are passed over: the real one answers" "$tmp/out" <("$tmp/fake/ptxas" -V)
unset PTXOPT_REAL_PTXAS
(PATH="$tmp/one:$tmp/two:$PATH" timeout 20 "$tmp/one/ptxas" -V >"$tmp/out" 2>"$errors")
result "copies in a circle end" "$([ $? -ne 124 ] || echo "they do not")"
nothing_left "ptxopt-ptxas"

# An nvcc that makes a temporary file of PTX, lets ptxas assemble it, and "embeds" it.
cat >"$tmp/fake/nvcc" <<'END'
#!/bin/bash
printf '%s\n' "$@" >"$FAKE_NVCC_WORDS"
prefix= input= output=a.out
while [ $# -gt 0 ]; do
    case "$1" in
    --ptxas-prefix) prefix="$2"; shift ;;
    -o) output="$2"; shift ;;
    -Xptxas) shift ;;
    --version) echo fake nvcc; exit ;;
    --help) echo fake help; exit ;;
    -dryrun) echo dry; exit ;;
    -ptx) cp "${@: -1}" "$output"; exit ;;
    -*) ;;
    *) input="$1" ;;
    esac
    shift
done
ptx="$input"
case "$input" in
*.cu) ptx="$TMPDIR/tmpxft_1_k.ptx"; cp "$input" "$ptx" ;;
esac
export PATH="${0%/*}:$PATH"
words="'${ptx}' -o '$output'"
sh -c "$prefix ptxas -arch=sm_90 -m64 $words" || { status=$?; rm -f "$TMPDIR/tmpxft_1_k.ptx"; exit $status; }
cp "$ptx" "$output.embedded"
rm -f "$TMPDIR/tmpxft_1_k.ptx"
END
chmod +x "$tmp/fake/nvcc"
export PTXOPT_REAL_NVCC="$tmp/fake/nvcc" FAKE_NVCC_WORDS="$tmp/nvcc-words"
cp n.ptx k.cu
try "nvcc: version" 0 "$nvcc" --version
same "nvcc: version as the real one says" "$tmp/out" <(echo fake nvcc)
try "nvcc: help" 0 "$nvcc" --help
says "nvcc: help: of the wrapper" '^Usage: ptxopt-nvcc' "$tmp/out"
says "nvcc: help: of the real one" '^fake help$' "$tmp/out"
try "nvcc: -dryrun" 0 "$nvcc" -dryrun k.cu -Xptxopt -target-regs=32
same "nvcc: -dryrun is passed on as it is" "$tmp/nvcc-words" <(printf '%s\n' -dryrun k.cu)
try "nvcc: words for ptxopt and for ptxas" 0 "$nvcc" -Xptxas -v,-target-regs=nlm:32,-block,16,16,-O2 \
    -Xptxopt=-stride,unit -Xptxopt -coarsen,x1,y1 -Xptxopt -launches-adapted k.cu -o "sub folder/k k"
says "nvcc: words for ptxopt" -F \
    "flag '-target-regs=nlm:32' flag '-block=16,16' flag '-stride=unit' flag '-coarsen=x1,y1' source 'k.cu' --" \
    "$tmp/nvcc-words"
same "nvcc: words for ptxas stay" <(sed '/^--ptxas-prefix/,+1d' "$tmp/nvcc-words") \
    <(printf '%s\n' -Xptxas -v -Xptxas -O2 k.cu -o "sub folder/k k")
try "nvcc: controls are those of ptxas" 0 "$nvcc" -Xptxas -apply-controls=k.acf,-apply-controls,l.acf \
    -apply-controls m.acf k.cu -o k
same "nvcc: controls are those of ptxas, and stay" <(sed '/^--ptxas-prefix/,+1d' "$tmp/nvcc-words") \
    <(printf '%s\n' -Xptxas -apply-controls=k.acf -Xptxas -apply-controls -Xptxas l.acf -apply-controls m.acf k.cu -o k)
try "nvcc: the original where ptxopt fails" 0 "$nvcc" k.cu -o k
same "nvcc: the original is embedded" k.cu k.embedded
says "nvcc: a warning" 'ptxopt-nvcc: warning: k.cu is assembled unchanged' "$errors"
try "nvcc: strict" 1 "$nvcc" -Xptxopt -strict k.cu -o k
try "nvcc: options that only ptxopt has" 0 "$nvcc" -Xptxas -spill,-search=3,-Werror,-O1 k.cu -o k
same "nvcc: they do not go to ptxas" <(sed '/^--ptxas-prefix/,+1d' "$tmp/nvcc-words") \
    <(printf '%s\n' -Xptxas -Werror -Xptxas -O1 k.cu -o k)
try "nvcc: coarsening without adapted launches" 2 "$nvcc" -cubin -Xptxas -coarsen=2 k.cu -o k
says "nvcc: coarsening without adapted launches: says why" 'say so with -Xptxopt -launches-adapted' "$errors"
"$nvcc" -c -Xptxas -coarsen=2 k.cu -o k >/dev/null 2>&1
says "nvcc: coarsened host code has the adapter" "^'/.*/ptxopt-embedded.h'$" "$tmp/nvcc-words"
says "nvcc: originals are kept, under their names" -e "-back-call beside .*flag '-keep-original'" "$tmp/nvcc-words"
"$nvcc" -dlink -Xptxas -coarsen=2 k.o -o k >/dev/null 2>&1
result "nvcc: linking needs no option" "$(grep -e -Xlinker -e '[.]a$' "$tmp/nvcc-words")"
try "nvcc: coarsening never falls back" 1 "$nvcc" -Xptxas -coarsen=2 -Xptxopt -launches-adapted k.cu -o k
try "nvcc: merging blocks needs no adapter" 0 "$nvcc" -cubin -Xptxas -coarsen=bx2 k.cu -o k
"$nvcc" -c -Xptxopt -coarsen=2,-coarsen-level=block k.cu -o k >/dev/null 2>&1
result "nvcc: merging blocks needs no adapter: none" "$(grep -e ptxopt-embedded -e keep-orig -e beside \
    "$tmp/nvcc-words")"
try "nvcc: a factor of 1 is no coarsening" 0 "$nvcc" -Xptxas -coarsen=1 k.cu -o k
try "nvcc: wrong option" 2 "$nvcc" -Xptxopt -coarsne=2 k.cu
says "nvcc: wrong option: one message" "^ptxopt-nvcc: error: unknown option '-coarsne=2'; did you mean '-coarsen'?\$" \
    "$errors"
try "nvcc: a word that is no option" 2 "$nvcc" -Xptxopt coarsen k.cu
try "nvcc: prefix given" 2 "$nvcc" --ptxas-prefix=time k.cu
try "nvcc: options in the environment" 2 env NVCC_APPEND_FLAGS="-Xptxopt -coarsen=2" "$nvcc" k.cu
printf -- '-Xptxopt -target-regs=40\n-o "sub folder/r"' >options
try "nvcc: options file with words for ptxopt" 0 "$nvcc" -optf options k.cu
says "nvcc: options file is expanded" -F "flag '-target-regs=40'" "$tmp/nvcc-words"
printf -- '-DX="a b"' >options
try "nvcc: options file without" 0 "$nvcc" --options-file options k.cu
says "nvcc: options file stays" '^--options-file$' "$tmp/nvcc-words"
try "nvcc: link-time optimization" 0 "$nvcc" -dlto k.cu
says "nvcc: link-time optimization: a warning" 'does not call ptxas for link-time optimization' "$errors"
PTXOPT_REAL_NVCC=/nosuch try "nvcc: missing" 127 "$nvcc" k.cu
PTXOPT_REAL_NVCC="$nvcc" try "nvcc: itself" 127 "$nvcc" k.cu
cat >"$tmp/fake/cicc" <<'END'
#!/bin/sh
printf '%s\n' "$@" >"$FAKE_NVCC_WORDS"
for last; do :; done
cp k.cu "$last"
END
chmod +x "$tmp/fake/cicc"
cat >"$tmp/fake/dryrun" <<END
#$ CICC_PATH=$tmp/fake
#$ "\$CICC_PATH/cicc" -a k.ii -o k.ptx
#$ ptxas k.ptx
END
sed -i "s|^    -dryrun) .*|    -dryrun) cat '$tmp/fake/dryrun' >\&2; exit ;;|" "$tmp/fake/nvcc"
"$nvcc" -Xptxopt -target-regs=40,-strict -Xptxas -O2 -dryrun k.cu >"$tmp/out" 2>"$errors"
says "nvcc: -dryrun: ptxopt is in the compiler's step" -E \
    "^#\\$ '$tools/([.]{2}/)*wrappers/cicc' '--ptxopt-program=$nvcc' '--ptxopt-compiler=$tmp/fake/cicc' " "$errors"
says "nvcc: -dryrun: its options are words of the step" -F \
    " --ptxopt-strict '--ptxopt-flag=-target-regs=40' '--ptxopt-judge=-O2' -a k.ii -o k.ptx" "$errors"
"$nvcc" -Xptxas -coarsen=2 -dryrun k.cu >"$tmp/out" 2>"$tmp/coarsened"
says "nvcc: -dryrun: names of kernels" -e " --ptxopt-beside '--ptxopt-flag=-coarsen=2'" "$tmp/coarsened"
says "nvcc: -dryrun: other steps stay" -Fx '#$ ptxas k.ptx' "$errors"
sed -n 's/^#\$ \(.*cicc.*\)/\1/p' "$errors" >step
try "nvcc: the compiler's step, strict" 1 sh -c "$(cat step)"
same "nvcc: the compiler's step: words of the compiler" "$tmp/nvcc-words" <(printf '%s\n' -a k.ii -o k.ptx)
try "nvcc: the compiler's step" 0 sh -c "$(sed 's/ --ptxopt-strict//' step)"
same "nvcc: the compiler's step: the original where ptxopt fails" k.ptx k.cu
says "nvcc: the compiler's step: a warning" 'warning: k.ptx is not changed' "$errors"
rm -f k.ptx
nothing_left "ptxopt-nvcc"
unset PTXOPT_REAL_NVCC

real="$(cd "$root" && nvidia_program PTXOPT_PTXAS ptxas)"
if [ -z "$real" ]; then
    echo "skip with the real ptxas: not found"
    exit "$failed"
fi
export PTXOPT_REAL_PTXAS="$real"
"$real" --version >"$tmp/wanted"
"$shim" --version >"$tmp/out"
same "real: version" "$tmp/out" "$tmp/wanted"
export PTXOPT_FLAGS="-target-regs 32 -spill -O1"
try "real: registers" 0 "$shim" -arch=sm_90 -v n.ptx -o n.cubin
says "real: registers reduced" 'Used 32 registers' "$errors"
result "real: the input is as it was" "$(cmp n.ptx "$root/corpus/nlm/nlm.sm_90.ptx")"
try "real: standard input" 0 "$shim" -arch=sm_90 -v - -o i.cubin <n.ptx
same "real: standard input gives the same" n.cubin i.cubin
cp n.ptx clang.s
try "real: as clang calls it" 0 "$shim" -m64 -O3 -v --gpu-name sm_90 --output-file c.cubin clang.s
says "real: as clang calls it: reduced" 'Used 32 registers' "$errors"
try "real: as Triton calls it" 0 "$shim" -lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_90 n.ptx -o n.ptx.o
# Nothing but an option of ptxas helps this kernel.
passes="-schedule,-rematerialize,-sink,-hoist,-offsets,-nounroll"
cp "$root/tests/cases/registers/knobs.ptx" knobs.ptx
export PTXOPT_FLAGS="-target-regs 24 -spill -knobs -p $passes"
try "real: options that -knobs found" 0 "$shim" -arch=sm_90 -v knobs.ptx -o k.cubin
says "real: options that -knobs found reach ptxas" ' 0 bytes spill stores' "$errors"
says "real: options that -knobs found: the cap is there" 'Used 24 registers' "$errors"
try "real: options that the user gave" 0 "$shim" -arch=sm_90 -v -O3 -Ofc 0 -regUsageLevel 5 knobs.ptx -o k.cubin
says "real: options that the user gave are not replaced" ' [1-9][0-9]* bytes spill stores' "$errors"
PTXOPT_FLAGS="-target-regs 24 -spill -p $passes" try "real: without -knobs" 0 \
    "$shim" -arch=sm_90 -v knobs.ptx -o k.cubin
says "real: without -knobs it spills" ' [1-9][0-9]* bytes spill stores' "$errors"
export PTXOPT_FLAGS="-target-regs 32 -spill -O1"
PTXOPT_FLAGS="-target-regs nosuch:32" try "real: kernels that are not there" 0 "$shim" -arch=sm_90 n.ptx -o n.cubin
result "real: kernels that are not there: no message" "$(cat "$errors")"
try "real: unknown option" 255 "$shim" -arch=sm_90 -nonsense n.ptx -o n.cubin
result "real: unknown option: ptxas says so" "$(grep -v "^ptxas fatal   : Unknown option 'nonsense'" "$errors")"
try "real: options that decide the code reach the judge" 0 "$shim" -arch=sm_90 -maxrregcount=24 -v n.ptx -o n.cubin
says "real: the cap is there before ptxopt" 'Used 24 registers' "$errors"
mkdir -p "$tmp/cuda/bin"
ln -sf "$shim" "$tmp/cuda/bin/ptxas"
try "real: in a CUDA folder of its own" 0 "$tmp/cuda/bin/ptxas" -arch=sm_90 -v n.ptx -o x.cubin
says "real: in a CUDA folder of its own: reduced" 'Used 32 registers' "$errors"
unset PTXOPT_FLAGS
nothing_left "real"

# The real nvcc, on a program with two kernels.
real="$(dirname "$real")/nvcc"
if [ ! -x "$real" ]; then
    echo "skip with the real nvcc: not found"
    exit "$failed"
fi
unset PTXOPT_REAL_PTXAS
export PTXOPT_REAL_NVCC="$real"
# With -t, nvcc itself fails if the name has a space.
export TMPDIR="$tmp/nvcc"
mkdir "$TMPDIR"
cat >"sub folder/my app.cu" <<'END'
__global__ void __launch_bounds__(256) heavy(const float *a, float *o, int w, int h, float s)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < 4 || y < 4 || x >= w - 4 || y >= h - 4)
        return;
    float v[9], t = 0, q = 0;
    for (int i = 0; i < 9; i++)
        v[i] = a[(y + i - 4) * w + x];
    for (int j = -4; j <= 4; j++)
        for (int i = 0; i < 9; i++) {
            float c = a[y * w + x + j], d = c - v[i], e = __expf(-d * d * s);
            t += e * c * v[i];
            q += e;
        }
    o[y * w + x] = t / q;
}
__global__ void light(float *a) { a[threadIdx.x] *= 2; }
int main()
{
    light<<<1, 64>>>(nullptr);
    heavy<<<1, 256>>>(nullptr, nullptr, 1, 1, 1);
}
END
options=(-Xptxas "-v,-target-regs=*heavy*:30" -Xptxopt -strict)
try "real nvcc: a program" 0 "$nvcc" -arch=sm_90 "${options[@]}" "sub folder/my app.cu" -o "sub folder/my app"
says "real nvcc: registers reduced" 'Used 30 registers' "$errors"
mkdir "$tmp/kept"
try "real nvcc: -keep" 0 "$nvcc" -keep -keep-dir "$tmp/kept" -arch=sm_90 "${options[@]}" -cubin "sub folder/my app.cu" \
    -o x.cubin
says "real nvcc: the PTX of nvcc is rewritten in place" '^// Rewritten by ptxopt' "$tmp/kept/my app.ptx"
try "real nvcc: several architectures, relocatable, in parallel" 0 "$nvcc" -t 2 -dc "${options[@]}" -gencode \
    arch=compute_80,code=[sm_80,sm_86] -gencode arch=compute_90,code=[sm_90,compute_90] "sub folder/my app.cu" -o app.o
try "real nvcc: -ptx" 0 "$nvcc" -ptx -arch=sm_90 "${options[@]}" "sub folder/my app.cu"
says "real nvcc: -ptx is rewritten" '^\.maxnreg 30' "my app.ptx"
"$real" -ptx -arch=sm_90 "sub folder/my app.cu" -o mine.ptx
cp mine.ptx before.ptx
for more in "-cubin" "-fatbin" "-cubin -keep"; do
    # shellcheck disable=SC2086
    try "real nvcc: PTX of the user, $more" 0 "$nvcc" $more -arch=sm_90 "${options[@]}" mine.ptx -o mine.out
    says "real nvcc: PTX of the user is optimized, $more" 'Used 30 registers' "$errors"
    same "real nvcc: PTX of the user is not overwritten, $more" mine.ptx before.ptx
done
try "real nvcc: coarsened" 0 "$nvcc" -cubin -arch=sm_90 -Xptxopt -coarsen=*light*:2,-launches-adapted \
    "sub folder/my app.cu" -o x.cubin
says "real nvcc: the contract is in the cubin" __ptxopt_launch_ x.cubin
# Options that name kernels which do not exist.
# $1: name; $2: exit status; $3: label; $4...: more options.
misspelt() {
    local name="$1" status="$2" label="$3"
    shift 3
    rm -f m.out
    try "misspelt kernel: $name" "$status" "$nvcc" -arch=sm_90 "$@" "sub folder/my app.cu" -o m.out
    says "misspelt kernel: $name: says so" \
        "ptxopt-nvcc: $label: -[a-z-]*: .* has no kernel 'ligth'; did you mean 'light'" \
        "$errors"
    result "misspelt kernel: $name: output" "$([ "$status" -eq 0 ] || ls m.out 2>/dev/null)"
}
misspelt "a program" 1 error -Xptxas -coarsen=ligth:2
misspelt "a cubin" 1 error -cubin -Xptxas -coarsen=ligth:2 -Xptxopt -launches-adapted
misspelt "PTX" 1 error -ptx -Xptxas -coarsen=ligth:2 -Xptxopt -launches-adapted
misspelt "an object, others may have it" 0 warning -c -Xptxas -coarsen=ligth:2
misspelt "registers" 0 warning -Xptxas -target-regs=ligth:32
misspelt "registers, strict" 1 error -Xptxas -target-regs=ligth:32 -Xptxopt -strict
misspelt "-entry" 0 warning -Xptxas -entry=ligth
misspelt "-block" 0 warning -Xptxas -block=ligth:64
PTXOPT_STRICT=1 misspelt "PTXOPT_STRICT" 1 error -Xptxas -target-regs=ligth:32
try "misspelt kernel: -missing-ok" 0 "$nvcc" -arch=sm_90 -Xptxas -target-regs=ligth:32,-missing-ok \
    -c "sub folder/my app.cu" -o m.o
result "misspelt kernel: -missing-ok: no message" "$(cat "$errors")"
try "kernels in two files" 0 "$nvcc" -arch=sm_90 -Xptxas -coarsen=scale:2 -Xptxas -coarsen=light:2,-q \
    -Xptxopt -launches-adapted -cubin "sub folder/my app.cu" "$root/docs/examples/directive.cu"
result "kernels in two files: no message" "$(grep -v '^$' "$errors")"
# -entry is ptxopt's, as ptxas has it with two dashes only.
try "-entry" 0 "$nvcc" -arch=sm_90 -Xptxas -entry=light,-coarsen=2,-report -c "sub folder/my app.cu" -o m.o
result "-entry: one kernel" "$(grep -c '^kernel' "$errors" | grep -vx 1)"
# A kernel that another one launches, which names the original, defined before it.
cat >launches.cu <<'END'
__global__ void child(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
__global__ void parent(float *a) { child<<<4, 128>>>(a); }
END
try "a kernel that a kernel launches" 0 "$nvcc" -dc -keep -keep-dir "$tmp/kept" -arch=sm_90 -Xptxas -coarsen=child:2 \
    launches.cu -o m.o
says "a kernel that a kernel launches: its coarsened form is beside it" \
    '^.visible .entry _Z5childPf__ptxopt_coarsened(' "$tmp/kept/launches.ptx"
# Input that ptxas itself rejects is not ptxopt's fault.
for more in -nonsense --entry=nosuch; do
    try "ptxas rejects the original: $more" 255 "$nvcc" -arch=sm_90 -Xptxas $more,-coarsen=2 -c "sub folder/my app.cu" \
        -o m.o
    result "ptxas rejects the original: $more: only ptxas says so" "$(grep -v '^ptxas fatal' "$errors")"
done
# Messages name the source, and its lines if the PTX has them.
cat >refused.cu <<'END'
__device__ float part(float value);
__global__ void scale(float *a, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = factor * part(a[i]);
}
END
try "places: -lineinfo" 0 "$nvcc" -dc -lineinfo -arch=sm_90 -Xptxas -coarsen=2 refused.cu -o m.o
says "places: -lineinfo: the line of the source" "^refused.cu:5:5: warning: kernel '_Z5scalePff' is not" "$errors"
try "places: without" 0 "$nvcc" -dc -arch=sm_90 -Xptxas -coarsen=2 refused.cu -o m.o
says "places: without: the line of the PTX" \
    "^PTX of refused.cu:[0-9]*:[0-9]*: warning: kernel '_Z5scalePff' is" "$errors"
try "places: report" 0 "$nvcc" -dc -lineinfo -arch=sm_90 -Xptxas -coarsen=2,-report refused.cu -o m.o
says "places: report: names the source" '^refused.cu for sm_90' "$errors"
says "places: report: its line" '(refused.cu:5:5)' "$errors"
for more in "-dc -t 2 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]" \
    "-dc -keep -keep-dir $tmp/kept -arch=sm_90" "-ptx -arch=sm_90 -Xptxopt -launches-adapted"; do
    # shellcheck disable=SC2086
    try "places: $more" 0 "$nvcc" $more -lineinfo -Xptxas -coarsen=2 refused.cu -o m.out
    says "places: $more: named" "^refused.cu:5:5: warning: " "$errors"
    result "places: $more: no temporary file" "$(grep tmpxft "$errors")"
done
try "real nvcc: directives in the source" 0 "$nvcc" -keep -keep-dir "$tmp/kept" -cubin -arch=sm_90 \
    -Xptxopt -coarsen=source,-launches-adapted,-Werror "$root/docs/examples/directive.cu" -o x.cubin
says "real nvcc: the directive says x4" '__ptxopt_launch__Z5scalePffi.*{1347964752, 1, 0, 4, 1, 1, 0' \
    "$tmp/kept/directive.ptx"
says "real nvcc: the directive says x2, unit" '__ptxopt_launch__Z9transpose.*{1347964752, 1, 0, 2, 1, 1, 1' \
    "$tmp/kept/directive.ptx"
try "real nvcc: directives without ptxopt" 0 "$real" -cubin -arch=sm_90 -Werror all-warnings \
    "$root/docs/examples/directive.cu" -o x.cubin
result "real nvcc: directives are no concern of its own" "$(cat "$errors")"
try "real nvcc: merged blocks" 0 "$nvcc" -ptx -arch=sm_90 -Xptxopt "-coarsen=*light*:bx2,-q" "sub folder/my app.cu" \
    -o b.ptx
result "real nvcc: merged blocks: launched as before" "$(grep -o '__ptxopt_launch' b.ptx; grep -q '%nctaid.x' b.ptx ||
    echo "not merged")"
# sccache runs the steps itself.
if command -v sccache >/dev/null; then
    export SCCACHE_DIR="$tmp/sccache" SCCACHE_SERVER_PORT=4226
    sccache --start-server >/dev/null 2>&1
    for step in "once" "again"; do
        try "sccache, $step" 0 sccache "$nvcc" -arch=sm_90 -Xptxopt -coarsen=2,-q -c "sub folder/my app.cu" -o cached.o
        says "sccache, $step: coarsened" __ptxopt_beside_ cached.o
    done
    try "sccache, other options" 0 sccache "$nvcc" -arch=sm_90 -c "sub folder/my app.cu" -o cached.o
    result "sccache, other options: not coarsened" "$(grep -o __ptxopt_beside_ cached.o)"
    sccache --show-stats >"$tmp/out"
    says "sccache: hits" -E '^Cache hits +[1-9]' "$tmp/out"
    sccache --stop-server >/dev/null 2>&1
else
    echo "skip sccache: not installed"
fi
chmod a-w "sub folder"
[ "$(id -u)" -eq 0 ] ||
    try "real nvcc: read-only folder" 1 "$nvcc" -cubin -arch=sm_90 "sub folder/my app.cu" -o "sub folder/y"
chmod u+w "sub folder"
echo 'int main( {' >wrong.cu
"$nvcc" -arch=sm_90 wrong.cu -o wrong >"$tmp/out" 2>"$errors"
result "real nvcc: wrong source" "$([ $? -ne 0 ] || echo "exit status 0")"
result "real nvcc: no temporary files" "$(find "$TMPDIR" -name 'ptxopt*')"
exit "$failed"
