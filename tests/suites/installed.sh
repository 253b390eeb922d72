#!/usr/bin/env bash
# Programs that are installed find NVIDIA's assembler on a machine without a CUDA toolkit, wherever it may be; they
# never replace one that was named; and `ptxopt setup` fetches one. A toolkit in /usr/local/cuda is hidden, in
# a name space of the suite's own.
set -uo pipefail

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
. tests/suites/programs.bash
kernel="$PWD/corpus/vectoradd/vectoradd.sm_90.ptx"
prefix="$tmp/prefix"
mkdir -p "$prefix/bin" "$tmp/home" "$tmp/path"
cp "${PTXOPT:?}" "$prefix/bin/ptxopt"
cp "$(dirname "$PTXOPT")/ptxopt-ptxas" "$prefix/bin/ptxopt-ptxas"
# No place on this machine, which may have an assembler and a pip.
for name in sh cat mkdir cp rm env; do
    ln -s "$(command -v "$name")" "$tmp/path/$name"
done
environment=(HOME="$tmp/home" PATH="$tmp/path" PTXOPT_CACHE=none ASAN_OPTIONS="${ASAN_OPTIONS:-}")

# $1: name; $2: exit status wanted; $3...: VARIABLE=VALUE, and the command. Leaves $tmp/out and $errors.
try() {
    local name="$1" wanted="$2" status
    shift 2
    without_toolkit env -i "${environment[@]}" "$@" >"$tmp/out" 2>"$errors"
    status=$?
    result "$name" "$([ "$status" -eq "$wanted" ] || echo "exit status $status")"
}
says() {
    result "$1" "$(grep -qE -e "$2" "$errors" "$tmp/out" || echo "'$2' is not said")"
}

if ! without_toolkit true 2>"$errors"; then
    echo "the toolkit in /usr/local/cuda cannot be hidden: $(head -n 1 "$errors")"
    exit 77
fi

# Nothing is found.
registers=("$prefix/bin/ptxopt" -target-regs auto -block 256 -o "$tmp/o.ptx" "$kernel")
try "no assembler: fewer registers" 3 "${registers[@]}"
says "no assembler: what to run" "^'ptxopt setup' fetches ptxas and nvJitLink"
result "no assembler: the PTX is written" "$(grep -q "entry vectoradd_exact" "$tmp/o.ptx" || echo "it is not")"
try "no assembler: coarsening" 0 "$prefix/bin/ptxopt" -coarsen 2 -o "$tmp/o.ptx" "$kernel"
try "no assembler: fewer registers and coarsening" 3 "$prefix/bin/ptxopt" -coarsen 2 -target-regs 24 -o "$tmp/o.ptx" \
    "$kernel"
result "no assembler: coarsened" "$(grep -q __ptxopt_launch "$tmp/o.ptx" || echo "not coarsened")"
try "no assembler: none is wanted" 0 "$prefix/bin/ptxopt" -assembler none -target-regs auto -o "$tmp/o.ptx" "$kernel"
try "no assembler: ptxas is asked for" 1 "$prefix/bin/ptxopt" -assembler ptxas -o "$tmp/o.ptx" "$kernel"
try "no assembler: the wrapper" 127 "$prefix/bin/ptxopt-ptxas" -arch=sm_90 -o "$tmp/o.cubin" "$kernel"
says "no assembler: the wrapper says what to run" "'ptxopt setup' fetches one"

ptxas=yes
if ! copy_ptxas "$tmp/real"; then
    echo "skip places: no ptxas that runs without its toolkit"
    ptxas=
fi

# $1: a place, below $tmp; $2...: environment. The program and the wrapper find it there.
found() {
    local place="$tmp/$1"
    shift
    mkdir -p "$(dirname "$place")"
    ln -s "$tmp/real" "$place"
    try "${place#"$tmp/"}" 0 "$@" "$prefix/bin/ptxopt" -v -assembler ptxas -o /dev/null "$kernel"
    result "${place#"$tmp/"}: used" "$(grep -qF "($place) assembles" "$errors" || echo "not used")"
    try "${place#"$tmp/"}: by the wrapper" 0 "$@" "$prefix/bin/ptxopt-ptxas" --version
    rm -f "$place"
}
if [ -n "$ptxas" ]; then
    site=lib/python3.11/site-packages
    mkdir -p "$tmp/env/bin"
    ln -s /bin/true "$tmp/env/bin/python3"
    found prefix/bin/ptxas
    found prefix/third_party/cuda/bin/ptxas
    found home/.local/share/ptxopt/cuda/bin/ptxas
    found data/ptxopt/cuda/bin/ptxas XDG_DATA_HOME="$tmp/data"
    found prefix/$site/nvidia/cu13/bin/ptxas
    found prefix/lib/python3/dist-packages/nvidia/cu13/bin/ptxas
    found home/.local/$site/nvidia/cu13/bin/ptxas
    found venv/$site/nvidia/cu13/bin/ptxas VIRTUAL_ENV="$tmp/venv"
    found conda/$site/nvidia/cu13/bin/ptxas CONDA_PREFIX="$tmp/conda"
    found env/$site/nvidia/cu13/bin/ptxas PATH="$tmp/path:$tmp/env/bin"
    found env/$site/nvidia/cuda_nvcc/bin/ptxas PATH="$tmp/path:$tmp/env/bin"
    found env/$site/triton/backends/nvidia/bin/ptxas PATH="$tmp/path:$tmp/env/bin"
    found env/$site/triton/backends/nvidia/bin/ptxas-blackwell PATH="$tmp/path:$tmp/env/bin"
    found prefix/third_party/cuda-13.5/bin/ptxas
    # A source tree in a folder whose name is a pattern of shells.
    mkdir -p "$tmp/a[b]/third_party/cuda/bin"
    cp "$prefix/bin/ptxopt" "$tmp/a[b]/ptxopt"
    ln -s "$tmp/real" "$tmp/a[b]/third_party/cuda/bin/ptxas"
    try "a folder with brackets" 0 "$tmp/a[b]/ptxopt" -assembler ptxas -o /dev/null "$kernel"
    rm -r "$tmp/a[b]"
    # One that does not know the module's version of PTX gives way to one that does, if there is any.
    mkdir -p "$tmp/toolkit/bin" "$tmp/known"
    ln -s "$tmp/real" "$tmp/known/ptxas"
    cat >"$tmp/toolkit/bin/ptxas" <<END
#!/bin/sh
case "\$(cat input.ptx 2>/dev/null)" in *"version 8.3"*)
    echo "ptxas input.ptx, line 1; fatal   : Unsupported .version 8.3; current version is '8.2'" >&2
    exit 255 ;;
esac
exec "$tmp/known/ptxas" "\$@"
END
    chmod +x "$tmp/toolkit/bin/ptxas"
    sed 's/^\.version .*/.version 8.3/' "$kernel" >"$tmp/newer.ptx"
    old=(CUDA_HOME="$tmp/toolkit" "$prefix/bin/ptxopt" -v -assembler ptxas -o /dev/null)
    try "a newer module, by an old assembler alone" 4 "${old[@]}" "$tmp/newer.ptx"
    says "a newer module, by an old assembler alone: says why" "Unsupported .version 8.3"
    mkdir -p "$tmp/prefix/third_party/cuda-13.5/bin"
    ln -s "$tmp/real" "$tmp/prefix/third_party/cuda-13.5/bin/ptxas"
    try "a newer module, where there is a newer assembler" 0 "${old[@]}" "$tmp/newer.ptx"
    says "a newer module: by the newer one" 'third_party/cuda-13.5/bin/ptxas\) assembles'
    try "an older module" 0 "${old[@]}" "$kernel"
    says "an older module: by the first" 'toolkit/bin/ptxas\) assembles'
    rm -r "$tmp/prefix/third_party" "$tmp/toolkit"
    # The user's own comes before Triton's, and a toolkit before both.
    mkdir -p "$tmp/env/$site/triton/backends/nvidia/bin" "$tmp/toolkit/bin"
    cp "$tmp/real" "$tmp/env/$site/triton/backends/nvidia/bin/ptxas"
    found data/ptxopt/cuda/bin/ptxas XDG_DATA_HOME="$tmp/data" PATH="$tmp/path:$tmp/env/bin"
    mkdir -p "$tmp/data/ptxopt/cuda/bin"
    cp "$tmp/real" "$tmp/data/ptxopt/cuda/bin/ptxas"
    found toolkit/bin/ptxas XDG_DATA_HOME="$tmp/data" CUDA_HOME="$tmp/toolkit"
    # Nothing in the current folder, though the program's name is there.
    mkdir "$tmp/here"
    cp "$tmp/real" "$tmp/here/ptxas"
    cp "$tmp/real" "$tmp/here/ptxopt"
    cd "$tmp/here" || exit 1
    try "the current folder" 1 PATH="$tmp/path:$prefix/bin" ptxopt -assembler ptxas -o /dev/null "$kernel"
    cd - >/dev/null || exit 1
    # No other replaces one that was named.
    for variable in PTXOPT_PTXAS PTXOPT_NVJITLINK PTXOPT_CUDA_DRIVER; do
        rm -f "$tmp/o.ptx"
        try "$variable is wrong" 1 "$variable=/nope" XDG_DATA_HOME="$tmp/data" "${registers[@]}"
        says "$variable is wrong: named" "$variable: /nope: cannot "
        result "$variable is wrong: nothing is written" "$(ls "$tmp/o.ptx" 2>/dev/null)"
    done
    try "PTXOPT_PTXAS is wrong: coarsening" 1 PTXOPT_PTXAS=/nope XDG_DATA_HOME="$tmp/data" \
        "$prefix/bin/ptxopt" -coarsen 2 -o "$tmp/o.ptx" "$kernel"
    try "a file without an assembler needs no assembler" 0 PTXOPT_PTXAS=/nope "$prefix/bin/ptxopt" -o "$tmp/o.ptx" \
        "$kernel"
    # The wrapper by the name of the program that it replaces.
    ln -s ptxopt-ptxas "$prefix/bin/ptxas"
    try "the wrapper is not an assembler" 1 PATH="$tmp/path:$prefix/bin" \
        "$prefix/bin/ptxopt" -assembler ptxas -o /dev/null "$kernel"
    says "the wrapper is not an assembler: there is none" "ptxas: not found"
    rm "$prefix/bin/ptxas"
fi

# ptxopt setup, with a pip that makes the files itself. It takes pip's arguments, and can fail.
setup=(XDG_DATA_HOME="$tmp/fetched" "$prefix/bin/ptxopt" setup)
try "setup: no pip" 1 "${setup[@]}" -yes
says "setup: no pip: says so" 'there is no pip here'
cat >"$tmp/path/python3" <<'END'
#!/bin/sh
[ "$1 $2" = "-m pip" ] || exit 9
[ "$3" != --version ] || exit 0
echo "$PIP_USER $*" >"$FAKE/words"
while [ "$1" != --target ]; do shift; done
case "$PIP_FAILS" in
status) exit 1 ;;
signal) kill -TERM $$ ;;
esac
mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/lib" "$2/nvidia_cuda_nvcc-1.dist-info/licenses"
for file in lib/libnvJitLink.so.13 bin/nvdisasm bin/ptxas; do
    [ "$PIP_FAILS:$file" = file:bin/ptxas ] || echo "$file" >"$2/nvidia/cu13/$file"
done
[ ! -e "$FAKE/real" ] || cp "$FAKE/real" "$2/nvidia/cu13/bin/ptxas"
[ "$PIP_FAILS" != file ] || rm "$2/nvidia/cu13/bin/ptxas"
echo licence >"$2/nvidia_cuda_nvcc-1.dist-info/licenses/License.txt"
END
chmod +x "$tmp/path/python3"
environment+=(FAKE="$tmp")
try "setup: nobody to ask" 2 "${setup[@]}" </dev/null
says "setup: the sizes" ' 37 MB  bin/ptxas'
says "setup: the licence" "under NVIDIA's licence"
for fails in status signal file; do
    try "setup: pip fails ($fails)" 1 PIP_FAILS="$fails" "${setup[@]}" -yes
    says "setup: pip fails ($fails): says how" \
        'setup: (python3 ended (with exit status 1|by signal 15 .*)|nvidia-cuda-nvcc==.* has no bin/ptxas)$'
    result "setup: pip fails ($fails): nothing is left" "$(find "$tmp/fetched" -type f -o -name 'fetch.*')"
done
try "setup: unknown word" 2 "${setup[@]}" now
try "setup: help" 0 "${setup[@]}" -help
if [ -n "$ptxas" ]; then
    cat >"$tmp/terminal.py" <<'END'
"""Runs sys.argv[2:] on a terminal, answers with sys.argv[1], and exits as it does."""
import os
import pty
import sys

child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode() + b"\n")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
    python="$(python3 -c 'import sys; print(sys.executable)')"
    for answer in "" n perhaps; do
        try "setup: the answer '$answer'" 1 "$python" "$tmp/terminal.py" "$answer" env "${setup[@]}"
    done
    result "setup: other answers fetch nothing" "$(find "$tmp/fetched" -type f)"
    try "setup: the answer y" 0 "$python" "$tmp/terminal.py" y env "${setup[@]}"
    rm -r "$tmp/fetched"
    try "setup" 0 PIP_USER=1 "${setup[@]}" -yes
    says "setup: what there is now" "^ptxas .* is ready: $tmp/fetched/ptxopt/cuda/bin/ptxas\$"
    result "setup: its files" "$(diff <(cd "$tmp/fetched/ptxopt" && find . -type f | sort) - <<'END'
./cuda/LICENSE.nvidia-cuda-nvcc
./cuda/bin/nvdisasm
./cuda/bin/ptxas
./cuda/lib/libnvJitLink.so.13
./cuda/wheels.txt
END
)"
    result "setup: pip is told where, whatever the user has set" "$(grep -qE \
        "^0 -m pip install .*--target $tmp/fetched/ptxopt/fetch\..* nvidia-cuda-nvcc==[0-9.]+ " "$tmp/words" ||
        cat "$tmp/words")"
    try "setup: registers now" 0 XDG_DATA_HOME="$tmp/fetched" "${registers[@]}"
    rm "$tmp/words"
    try "setup: again" 0 "${setup[@]}"
    result "setup: again: nothing is fetched" "$(ls "$tmp/words" 2>/dev/null)"
    echo "older" >"$tmp/fetched/ptxopt/cuda/wheels.txt"
    try "setup: over an older one" 0 "${setup[@]}" -yes
    result "setup: over an older one: fetched" "$([ -e "$tmp/words" ] || echo "not fetched")"
fi
exit "$failed"
