#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks; says what it does; silent and quick when nothing is
# missing. Debian packages come through apt-get. Where no CUDA toolkit is found, NVIDIA's ptxas and nvJitLink come as
# Python wheels into third_party/cuda, which git ignores: bin/ptxas and lib/libnvJitLink.so.13.
#
# With --fuzz, also clang and its libFuzzer, which only the fuzzers want.
#
# Exit status: 0 the project can be built (a missing assembler is only warned of, unless CI is set); 1 it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

cuda_version=13.0.88
cuda_folder=third_party/cuda

say() {
    printf 'deps: %s\n' "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# One run of the preprocessor tells of all headers: it prints the Debian package of each that is not there.
missing_headers() {
    if ! have cc && ! have gcc; then
        printf '%s\n' libc6-dev libcmocka-dev libjansson-dev libmpfr-dev uthash-dev
        return
    fi
    local compiler=cc
    have cc || compiler=gcc
    "$compiler" -E -P -x c - <<'HEADERS' 2>/dev/null | sed -n 's/^missing //p' | tr -d ' '
#if !__has_include(<stdio.h>)
missing libc6-dev
#endif
#if !__has_include(<cmocka.h>)
missing libcmocka-dev
#endif
#if !__has_include(<jansson.h>)
missing libjansson-dev
#endif
#if !__has_include(<uthash.h>)
missing uthash-dev
#endif
#if !__has_include(<mpfr.h>)
missing libmpfr-dev
#endif
HEADERS
}

missing_packages() {
    local tool
    for tool in flex bison make gcc; do
        have "$tool" || printf '%s\n' "$tool"
    done
    have ar || printf 'binutils\n'
    have python3 || printf 'python3\n'
    missing_headers
}

# $@: the Debian packages to install.
install_packages() {
    if ! have apt-get; then
        say "missing: $* (Debian's names; this machine has no apt-get, so install them by hand)"
        return 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! have sudo; then
            say "missing: $* (neither root nor sudo here; as root: apt-get install $*)"
            return 1
        fi
        as_root=(sudo)
    fi
    say "installing Debian packages: $*"
    local log
    log="$(mktemp)"
    # The package lists may be old or absent: they are only fetched where the first try fails.
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
    if ! "${install[@]}" >"$log" 2>&1 &&
        ! { "${as_root[@]}" apt-get update && "${install[@]}"; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        say "apt-get could not install: $* (no network, or no such package here)"
        return 1
    fi
    rm -f "$log"
}

toolkit_present() {
    have ptxas || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ] || [ -x /usr/local/cuda/bin/ptxas ]
}

wheels_present() {
    [ -x "$cuda_folder/bin/ptxas" ] && [ -f "$cuda_folder/lib/libnvJitLink.so.13" ]
}

# $1: folder to work in; $2: package; $3: file inside nvidia/cu13 of its wheel, and inside third_party/cuda. It is moved
# into place last, so an interrupted run leaves nothing that looks whole.
install_from_wheel() {
    local work="$1" package="$2" member="nvidia/cu13/$3" target="$cuda_folder/$3"
    say "fetching $package==$cuda_version from the Python package index"
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-input --retries 2 --no-deps \
        --only-binary :all: --dest "$work/$package" "$package==$cuda_version" >"$work/log" 2>&1; then
        grep -v '^WARNING: Retrying' "$work/log" | tail -n 5 >&2
        say "could not fetch $package==$cuda_version (no network, or no wheel for $(uname -sm))"
        return 1
    fi
    python3 -m zipfile -e "$work/$package"/*.whl "$work/$package/content"
    if [ ! -f "$work/$package/content/$member" ]; then
        say "$package==$cuda_version does not hold $member"
        return 1
    fi
    mkdir -p "$(dirname "$target")"
    chmod 755 "$work/$package/content/$member"
    mv "$work/$package/content/$member" "$target"
}

install_assembler() {
    if ! python3 -m pip --version >/dev/null 2>&1; then
        install_packages python3-pip ca-certificates || return 1
    fi
    mkdir -p third_party
    local work
    work="$(mktemp -d third_party/fetch.XXXXXX)"
    local status=0
    install_from_wheel "$work" nvidia-nvjitlink lib/libnvJitLink.so.13 &&
        install_from_wheel "$work" nvidia-cuda-nvcc bin/ptxas || status=1
    rm -rf "$work"
    if [ "$status" -eq 0 ]; then
        say "installed $cuda_folder/bin/ptxas and $cuda_folder/lib/libnvJitLink.so.13 (NVIDIA's licence holds for them)"
    fi
    return "$status"
}

mapfile -t packages < <(missing_packages)
if [ "${#packages[@]}" -gt 0 ]; then
    install_packages "${packages[@]}"
    mapfile -t packages < <(missing_packages)
    if [ "${#packages[@]}" -gt 0 ]; then
        say "still missing after the installation: ${packages[*]}"
        exit 1
    fi
fi

# clang, with the runtime of its own version.
fuzzer_works() {
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address -x c -o /dev/null - >/dev/null 2>&1
}

if [ "${1:-}" = --fuzz ] && ! fuzzer_works; then
    have clang || install_packages clang
    if ! fuzzer_works; then
        install_packages "libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev"
    fi
fi

if ! toolkit_present && ! wheels_present && ! install_assembler; then
    say "no assembler: ptxopt builds and writes PTX, but cannot judge it, and the tests that need ptxas are skipped"
    if [ -n "${CI:-}" ]; then
        exit 1
    fi
fi
