#!/usr/bin/env bash
# tools/deps.sh                        installs what building and testing need and this machine lacks, and says so
# tools/deps.sh --fuzz                 the same, and clang with libFuzzer, which only the fuzzers need
# tools/deps.sh --missing build|test   installs nothing; prints the Debian packages that are missing
#
# Debian packages are installed with apt-get. If there is no CUDA toolkit, NVIDIA's ptxas and nvJitLink are fetched as
# Python wheels into third_party/cuda, which git ignores: bin/ptxas and lib/libnvJitLink.so.13; and so is nvdisasm,
# bin/nvdisasm, where it is not installed.
#
# $CC is the C compiler (cc). Exit status: 0 the project can be built and tested (a missing assembler is only a warning,
# unless CI is set, and a missing nvdisasm always); 1 it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

cuda_version=13.0.88
nvdisasm_version=13.5.37 # a newer one reads the cubins of older assemblers
cuda_folder=third_party/cuda

say() {
    printf 'deps: %s\n' "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# $@: lines HEADER:PACKAGE. Prints the package of each header that the compiler cannot find, after one run of its
# preprocessor.
missing_headers() {
    local compiler pair
    read -r -a compiler <<<"${CC:-cc}"
    for pair in "$@"; do
        printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "${pair%%:*}" "${pair##*:}"
    done | "${compiler[@]}" -E -P -x c - 2>/dev/null | sed -n 's/^missing //p' | tr -d ' '
}

# $1: build or test. Prints the Debian packages that are missing for it; testing includes building.
missing_packages() {
    local tool compiler headers=(stdio.h:libc6-dev jansson.h:libjansson-dev elfutils/libdw.h:libdw-dev)
    headers+=(libiberty/demangle.h:libiberty-dev)
    local test_headers=(cmocka.h:libcmocka-dev mpfr.h:libmpfr-dev)
    read -r -a compiler <<<"${CC:-cc}"
    [ "$1" = build ] || headers+=("${test_headers[@]}")
    for tool in flex bison make; do
        have "$tool" || printf '%s\n' "$tool"
    done
    have ar || printf 'binutils\n'
    [ "$1" = build ] || have python3 || printf 'python3\n'
    # moreutils has another program of that name.
    [ "$1" = build ] || parallel --version 2>/dev/null | grep -q GNU || printf 'parallel\n'
    if have "${compiler[0]}"; then
        missing_headers "${headers[@]}"
    else
        printf '%s\n' gcc "${headers[@]##*:}"
    fi
}

# $@: the Debian packages to install.
install_packages() {
    if ! have apt-get; then
        say "missing: $* (Debian package names; there is no apt-get here, so install them by hand)"
        return 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! have sudo; then
            say "missing: $* (not root, and no sudo; run as root: apt-get install $*)"
            return 1
        fi
        as_root=(sudo)
    fi
    say "installing Debian packages: $*"
    local log
    log="$(mktemp)"
    # Package lists may be old or absent; they are fetched only if the first try fails.
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

# $1: folder to work in; $2: package; $3: path of the file, below nvidia/cu13 in the wheel, below third_party/cuda here;
# $4: version. The file is moved into place last, so an interrupted run leaves no partial file.
install_from_wheel() {
    local work="$1" package="$2" member="nvidia/cu13/$3" target="$cuda_folder/$3" version="$4"
    say "fetching $package==$version from the Python package index"
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-input --retries 2 --no-deps \
        --only-binary :all: --dest "$work/$package" "$package==$version" >"$work/log" 2>&1; then
        grep -v '^WARNING: Retrying' "$work/log" | tail -n 5 >&2
        say "could not fetch $package==$version (no network, or no wheel for $(uname -sm))"
        return 1
    fi
    python3 -m zipfile -e "$work/$package"/*.whl "$work/$package/content"
    if [ ! -f "$work/$package/content/$member" ]; then
        say "$package==$version does not contain $member"
        return 1
    fi
    mkdir -p "$(dirname "$target")"
    chmod 755 "$work/$package/content/$member"
    mv "$work/$package/content/$member" "$target"
}

# $1: a function that installs files from wheels, given a folder to work in.
with_wheels() {
    if ! python3 -m pip --version >/dev/null 2>&1; then
        install_packages python3-pip ca-certificates || return 1
    fi
    mkdir -p third_party
    local work status=0
    work="$(mktemp -d third_party/fetch.XXXXXX)"
    "$1" "$work" || status=1
    rm -rf "$work"
    return "$status"
}

install_assembler() {
    install_from_wheel "$1" nvidia-nvjitlink lib/libnvJitLink.so.13 "$cuda_version" &&
        install_from_wheel "$1" nvidia-cuda-nvcc bin/ptxas "$cuda_version" || return 1
    say "installed $cuda_folder/bin/ptxas and $cuda_folder/lib/libnvJitLink.so.13 (under NVIDIA's licence)"
}

nvdisasm_present() {
    have nvdisasm || [ -x "$cuda_folder/bin/nvdisasm" ] || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvdisasm" ] ||
        [ -x /usr/local/cuda/bin/nvdisasm ]
}

install_nvdisasm() {
    install_from_wheel "$1" nvidia-cuda-nvdisasm bin/nvdisasm "$nvdisasm_version" || return 1
    say "installed $cuda_folder/bin/nvdisasm (under NVIDIA's licence)"
}

if [ "${1:-}" = --missing ]; then
    missing_packages "${2:?}"
    exit
fi

done_something=no
mapfile -t packages < <(missing_packages test)
if [ "${#packages[@]}" -gt 0 ]; then
    done_something=yes
    install_packages "${packages[@]}"
    mapfile -t packages < <(missing_packages test)
    if [ "${#packages[@]}" -gt 0 ]; then
        say "still missing after the installation: ${packages[*]}"
        exit 1
    fi
fi

# True if clang is installed with the libFuzzer runtime of its version.
fuzzer_works() {
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address -x c -o /dev/null - >/dev/null 2>&1
}

if [ "${1:-}" = --fuzz ] && ! fuzzer_works; then
    done_something=yes
    have clang || install_packages clang
    if ! fuzzer_works; then
        install_packages "libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev"
    fi
fi

if ! toolkit_present && ! wheels_present; then
    done_something=yes
    if ! with_wheels install_assembler; then
        say "no assembler: ptxopt still coarsens, but the register passes and the tests that use ptxas need one"
        if [ -n "${CI:-}" ]; then
            exit 1
        fi
    fi
fi
if ! nvdisasm_present; then
    done_something=yes
    with_wheels install_nvdisasm ||
        say "no nvdisasm: listings lack operands and live registers, and the tests that use it are skipped"
fi
[ "$done_something" = yes ] || say "everything is installed already"
