#!/usr/bin/env bash
# libptxopt as its users get it: `make install` into an empty folder, then a C program against the installed header and
# the libraries, by pkg-config and CMake, in several threads, without memory, and with everything that can be wrong.
set -uo pipefail

# In paths for pkg-config and the loader a colon would separate two folders.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
. tests/suites/programs.bash
variant="$(basename "${BUILD:?}")"
[ "$variant" = build ] && variant=""
sanitize=""
[ "$variant" != asan ] || sanitize="-fsanitize=address,undefined"
CC="${CC:-cc}"
root="$tmp/root"
make=(make --no-print-directory VARIANT="$variant" DESTDIR="$root" PREFIX=/usr)
if ! "${make[@]}" install >"$tmp/make" 2>"$errors"; then
    result "make install" "failed"
    exit 1
fi
export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig"
export LD_LIBRARY_PATH="$root/usr/lib"
kernel=corpus/vectoradd/vectoradd.sm_90.ptx

# The installed files are those that the Makefile lists, and are removed again.
(cd "$root/usr" && find . -type f -o -type l | sed 's|^\./||' | grep -v '^share/doc/' | sort) >"$tmp/installed"
"${make[@]}" print-installed | tr ' ' '\n' | sort >"$tmp/listed"
result "install: what is listed" "$(diff "$tmp/installed" "$tmp/listed" | head -n 3)"

bash -c '. "$1"; COMP_WORDS=(ptxopt -coar) COMP_CWORD=1; _ptxopt; echo "${COMPREPLY[@]}"
    COMP_WORDS=(ptxopt -stride u) COMP_CWORD=2; _ptxopt; echo "${COMPREPLY[@]}"
    COMP_WORDS=(ptxopt run -max) COMP_CWORD=2; _ptxopt; echo "${COMPREPLY[@]}"' - \
    "$root/usr/share/bash-completion/completions/ptxopt" >"$tmp/completed" 2>"$errors"
# The wrappers: options of ptxopt where they are passed, and those of the real program, which its help names.
mkdir -p "$tmp/fake"
printf '#!/bin/sh\necho "--gpu-name <name>  (-arch)"\n' >"$tmp/fake/nvcc"
chmod +x "$tmp/fake/nvcc"
PTXOPT_REAL_NVCC="$tmp/fake/nvcc" bash -c '. "$1"; shopt -s progcomp; compopt() { :; }
    COMP_WORDS=("$2" -Xptxopt -coarsen-l) COMP_CWORD=2; _ptxopt_nvcc; echo "${COMPREPLY[@]}"
    COMP_WORDS=("$2" --gpu) COMP_CWORD=1; _ptxopt_nvcc; echo "${COMPREPLY[@]}"
    COMP_WORDS=("$2" -a) COMP_CWORD=1; _ptxopt_nvcc; echo "${COMPREPLY[@]}"' - \
    "$root/usr/share/bash-completion/completions/ptxopt-nvcc" "$root/usr/bin/ptxopt-nvcc" \
    >>"$tmp/completed" 2>>"$errors"
printf "%s\n" "-coarsen -coarsen-level -coarsen-grid -coarsen-guards -coarsen-growth" unit -max-steps \
    -coarsen-level= --gpu-name -arch >"$tmp/wanted"
result "completion in bash" "$(diff "$tmp/completed" "$tmp/wanted" | head -n 3)"
for shell in zsh fish; do
    if command -v $shell >/dev/null; then
        result "completion in $shell" "$($shell -n "$root"/usr/share/$shell/*/*ptxopt* 2>&1 | head -n 2)"
    else
        echo "skip completion in $shell: not installed"
    fi
done
"$PTXOPT" completion csh >"$tmp/out" 2>"$errors"
result "completion in another shell" "$([ $? -eq 2 ] || echo "exit status $?")"

flags="$(pkg-config --cflags --libs ptxopt 2>"$errors")"
private="$(pkg-config --cflags --libs --static ptxopt 2>>"$errors" | sed 's/-lptxopt/-l:libptxopt.a/')"
# shellcheck disable=SC2086
result "client, shared library" "$($CC -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror $sanitize \
    -o "$tmp/shared" tests/library/client.c $flags -pthread 2>&1 | head -n 3)"
# shellcheck disable=SC2086
result "client, static library" "$($CC -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror $sanitize -DWRAPPED \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o "$tmp/static" tests/library/client.c $private -pthread 2>&1 |
    head -n 3)"
result "static: no library of ours is needed" "$(ldd "$tmp/static" | grep ptxopt)"
nm -D --defined-only "$root/usr/lib/libptxopt.so" | grep -v ' ptxopt_[a-z_]*@@PTXOPT_0\.[12]$' |
    grep -vE ' A PTXOPT_0\.[12]$' >"$tmp/odd"
[ -n "$sanitize" ] || result "shared: only public functions, with versions" "$(head -n 2 "$tmp/odd")"
nm --defined-only --extern-only "$root/usr/lib/libptxopt.a" | awk 'NF == 3 && $3 !~ /^ptxopt_/' >"$tmp/odd"
[ -n "$sanitize" ] || result "static: only public functions" "$(head -n 2 "$tmp/odd")"
grep -oE '\bptxopt_[a-z_]+\(' library/ptxopt.h | tr -d '(' | sort -u >"$tmp/declared"
nm -D --defined-only "$root/usr/lib/libptxopt.so" | grep -oE 'ptxopt_[a-z_]+@' | tr -d @ | sort -u >"$tmp/defined"
result "what the header declares is there" "$(comm -23 "$tmp/declared" "$tmp/defined" | grep -v '_function$')"
if command -v c++ >/dev/null; then
    printf '#include <ptxopt.h>\nint main() { return ptxopt_version()[0] != %s0%s; }\n' "'" "'" >"$tmp/a.cc"
    # shellcheck disable=SC2086
    result "C++" "$(c++ $sanitize -Wall -Werror -o "$tmp/cc" "$tmp/a.cc" $flags 2>&1 && "$tmp/cc" 2>&1)"
fi

# $1: name; $2: wanted output, with ? and * as in a shell's patterns; $3...: words of the client.
says() {
    local name="$1" wanted="$2" got
    shift 2
    got="$("$tmp/shared" "$@" 2>"$errors")"
    # shellcheck disable=SC2053
    if [[ "$got" != $wanted ]]; then
        result "$name" "$(head -n 4 <<<"$got")"
    else
        result "$name" ""
    fi
    result "$name: prints nothing itself" "$(head -n 1 "$errors")"
}
none=assembler=none
says "version" "[0-9]*.[0-9]*.[0-9]*"
says "coarsening" "status 0 ptx 1 cubin 0 contract 1 report 1
kernel * coarsened 1 x2,y1,z1 registers 0: -; known 0,0*" one "$kernel" $none coarsen=2
"$tmp/shared" text "$kernel" $none coarsen=2 entry=vectoradd_exact >"$tmp/by-library.ptx"
"$PTXOPT" -q -assembler none -coarsen 2 -entry vectoradd_exact -o "$tmp/by-program.ptx" "$kernel" 2>"$errors"
result "the text is the program's" "$(cmp "$tmp/by-library.ptx" "$tmp/by-program.ptx" 2>&1)"
cat >"$tmp/refused.ptx" <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k()
{
    wgmma.fence.sync.aligned;
    ret;
}
END
says "a refusal by name" "warning input 6:5 \[kernel 'k' is not coarsened: *\]
status 3 ptx 1 *" one "$tmp/refused.ptx" $none coarsen=k:2
sed '20s/^/  nonsense.b32 %r1;\n/' "$kernel" >"$tmp/broken.ptx"
says "broken PTX" "error input 20:*
status 1 ptx 0 cubin 0 contract 0 report 0" one "$tmp/broken.ptx" $none
: >"$tmp/empty.ptx"
says "empty PTX" "error input *status 1 *" one "$tmp/empty.ptx" $none
{ cat "$kernel"; printf '\0'; } >"$tmp/nul.ptx"
says "PTX with a NUL at its end" "status 0 *" one "$tmp/nul.ptx" $none
says "not PTX" "error - 0:0 \['input' is not PTX but an ELF file*\]
status 1 *" one "$tmp/shared" $none
says "a kernel that is not there" "error - 0:0 \[-entry: input has no kernel 'x'; *\]
status 2 *" one "$kernel" $none entry=x
says "options that do not go together" "error - 0:0 \[-stride says how to coarsen*\]
status 2 *" one "$kernel" $none stride=unit
says "an unknown option" "option coarsne: status 2: unknown option 'coarsne'; did you mean '-coarsen'?" \
    one "$kernel" coarsne=2
says "a bad value" "option coarsen: status 2: -coarsen z: expected a factor*" one "$kernel" coarsen=z
says "a missing value" "option coarsen: status 2: option '-coarsen' needs a value" one "$kernel" coarsen
says "a value too many" "option q: status 2: option '-q' takes no value" one "$kernel" q=1
for name in o launch-out report d version help; do
    says "an option for the program: $name" "option $name: status 2: option '-$name' is for the program only" \
        one "$kernel" $name=x
done
says "warnings are errors" "error *
status 1 *" one "$tmp/refused.ptx" $none coarsen=2 Werror
says "verify" "status 0 *" one "$kernel" $none coarsen=2 entry=vectoradd_exact \
    verify=corpus/vectoradd/vectoradd_exact.launch.json
says "verify: a difference" "error *computes a different result*status 5 ptx 0 cubin 0 contract 0 report 1*" \
    one tests/cases/verify/ticket.ptx $none coarsen=2 verify=tests/cases/verify/ticket.launch.json
PTXOPT_PTXAS=/nosuch says "no such assembler" "error - 0:0 *status 1 *" one "$kernel" assembler=ptxas

"$tmp/shared" threads 8 corpus/vectoradd/*.sm_90.ptx corpus/nlm/*.sm_90.ptx corpus/matmul_naive/*.sm_90.ptx \
    "$kernel" >"$tmp/out" 2>"$errors"
result "8 threads" "$([ $? -eq 0 ] || head -n 1 "$tmp/out" "$errors")"
if [ -n "$sanitize" ]; then
    echo "skip helgrind: the sanitizers are on"
elif command -v valgrind >/dev/null; then
    valgrind -q --tool=helgrind --error-exitcode=9 "$tmp/shared" threads 3 "$kernel" >"$tmp/out" 2>"$errors"
    result "threads, under helgrind" "$([ $? -eq 0 ] || head -n 1 "$tmp/out")"
    valgrind -q --leak-check=full --error-exitcode=9 "$tmp/shared" one "$kernel" $none coarsen=2 >"$tmp/out" 2>"$errors"
    result "no memory is lost" "$([ $? -eq 0 ] || echo "some is")"
    valgrind -q --leak-check=full --error-exitcode=9 "$tmp/shared" one "$tmp/broken.ptx" $none >"$tmp/out" 2>"$errors"
    result "no memory is lost after an error" "$([ $? -eq 0 ] || echo "some is")"
else
    echo "skip helgrind: no valgrind"
fi
ASAN_OPTIONS=detect_leaks=0 "$tmp/static" memory "$tmp/by-library.ptx" $none canonical >"$tmp/out" 2>"$errors"
result "out of memory, at each allocation" "$([ $? -eq 0 ] || head -n 1 "$tmp/out")"

# With an assembler: figures and a cubin. The client is not in the source tree, where the program finds one.
ptxas="$(nvidia_program PTXOPT_PTXAS ptxas)"
[ -z "$ptxas" ] || export PTXOPT_PTXAS="$ptxas"
if "$PTXOPT" -assembler auto -cubin "$tmp/probe.cubin" "$kernel" >/dev/null 2>&1; then
    says "figures and a cubin" "status 0 ptx 1 cubin 1 contract 1 report 1
kernel vectoradd_exact coarsened 1 x2,y1,z1 registers 0: -; known 1,1" one "$kernel" \
        coarsen=2 cubin entry=vectoradd_exact q
else
    echo "skip figures and a cubin: no assembler"
fi

if command -v cmake >/dev/null; then
    mkdir "$tmp/cmake"
    cat >"$tmp/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.10)
project(client C)
find_package(ptxopt 0.1 REQUIRED)
foreach(kind ptxopt static)
    add_executable(client-\${kind} $PWD/tests/library/client.c)
    target_compile_options(client-\${kind} PRIVATE $sanitize)
    target_link_libraries(client-\${kind} ptxopt::\${kind} $sanitize pthread)
endforeach()
END
    (cd "$tmp/cmake" && cmake -DCMAKE_PREFIX_PATH="$root/usr" . && make) >"$tmp/out" 2>&1
    for kind in ptxopt static; do
        result "CMake, ptxopt::$kind" "$("$tmp/cmake/client-$kind" 2>&1 | grep -v '^[0-9.]*$')"
    done
else
    echo "skip CMake: not installed"
fi

"${make[@]}" uninstall >/dev/null 2>"$errors"
result "uninstall" "$(find "$root" -type f -o -type l | head -n 3)"
exit "$failed"
