#!/usr/bin/env bash
# tools/deps.sh                        installs what building and testing need and this machine lacks, and says so
# tools/deps.sh --fuzz                 the same, and clang with libFuzzer, which only the fuzzers need
# tools/deps.sh --missing build|test   installs nothing; prints the Debian packages that are missing
# CUDA=VERSION tools/deps.sh           only fetches the ptxas of another CUDA into third_party/cuda-VERSION, for
#                                      suite/isa and suite/assemblers: 12.0 (the oldest), 13.0 ..., or newest
#
# Debian packages are installed with apt-get. If there is no CUDA toolkit, NVIDIA's ptxas and nvJitLink are fetched as
# Python wheels into third_party/cuda, which git ignores: bin/ptxas and lib/libnvJitLink.so.13; and so is nvdisasm,
# bin/nvdisasm, where it is not installed. The figures of the tests and documents are of their version. The newest ptxas
# comes into a folder of its own, third_party/cuda-VERSION; ptxopt uses it for what the other does not know.
#
# Before anything is fetched, its size is printed. $CC is the C compiler (cc), whose Debian package has its name.
#
# Exit status: 0 the project can be built and tested (a missing assembler is only a warning, unless CI is set, and a
# missing nvdisasm always); 1 it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

cuda_folder=third_party/cuda

say() {
    printf 'deps: %s\n' "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# The words of $CC, one a line.
compiler_words() {
    local words
    read -r -a words <<<"${CC:-cc}"
    printf '%s\n' "${words[@]}"
}

# Prints the packages of the programs in $CC that are not installed: `ccache clang-16` names two.
missing_compilers() {
    local word
    while IFS= read -r word; do
        case "$word" in
        -* | *=*) return ;;
        cc | gcc) have "$word" || printf 'gcc\n' ;;
        *) have "$word" || printf '%s\n' "${word##*/}" ;;
        esac
    done < <(compiler_words)
}

# $1: a clang that is installed. Prints the package with the runtime of its sanitizers and its fuzzer.
runtime_package() {
    printf 'libclang-rt-%s-dev\n' "$("$1" -dumpversion | cut -d . -f 1)"
}

# Prints the package of the sanitizers' runtime, which Debian's clang leaves out, if $CC is a clang without it.
missing_sanitizers() {
    local word version
    word="$(compiler_words | grep -m 1 clang)" || return 0
    if ! have "$word"; then
        version="$(sed -nE 's/.*clang-([0-9]+)$/\1-/p' <<<"$word")"
        printf 'libclang-rt-%sdev\n' "$version"
    elif ! echo 'int main(void) { return 0; }' | "$word" -fsanitize=address -x c -o /dev/null - 2>/dev/null; then
        runtime_package "$word"
    fi
}

# $@: lines HEADER:PACKAGE. Prints the package of each header that the compiler cannot find, after one run of its
# preprocessor.
missing_headers() {
    local compiler pair
    mapfile -t compiler < <(compiler_words)
    for pair in "$@"; do
        printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "${pair%%:*}" "${pair##*:}"
    done | "${compiler[@]}" -E -P -x c - 2>/dev/null | sed -n 's/^missing //p' | tr -d ' '
}

# $1: build or test. Prints the Debian packages that are missing for it; testing includes building.
missing_packages() {
    local tool compilers headers=(stdio.h:libc6-dev jansson.h:libjansson-dev elfutils/libdw.h:libdw-dev)
    headers+=(libiberty/demangle.h:libiberty-dev)
    local test_headers=(cmocka.h:libcmocka-dev mpfr.h:libmpfr-dev)
    [ "$1" = build ] || headers+=("${test_headers[@]}")
    [ "$1" = build ] || missing_sanitizers
    for tool in flex bison make; do
        have "$tool" || printf '%s\n' "$tool"
    done
    have ar || printf 'binutils\n'
    if [ "$1" != build ]; then
        have python3 || printf 'python3\n'
        have pkg-config || printf 'pkg-config\n'
        # Opened at run time, by programs with launch adapters and by "ptxopt tune".
        compgen -G '/usr/lib*/libsqlite3.so.0' >/dev/null || compgen -G '/usr/lib/*/libsqlite3.so.0' >/dev/null ||
            printf 'libsqlite3-0\n'
    fi
    # moreutils has another program of that name.
    [ "$1" = build ] || parallel --version 2>/dev/null | grep -q GNU || printf 'parallel\n'
    compilers="$(missing_compilers)"
    if [ -z "$compilers" ]; then
        missing_headers "${headers[@]}"
    else
        printf '%s\n' "$compilers" "${headers[@]##*:}"
    fi
}

# $@: a command of apt-get. Prints how much it fetches.
download_size() {
    # Without -y, --assume-no ends it after it has said so.
    { LC_ALL=C "${@/#-y/--assume-no}" 2>/dev/null || true; } |
        sed -nE 's|^Need to get ([^/]*)(/.*)? of archives.*|\1 to download|p' | grep . || printf 'size not known\n'
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
    local log install=(apt-get install -y --no-install-recommends "$@")
    log="$(mktemp)"
    # Package lists may be old or absent; they are fetched only if the first try fails.
    if ! "${install[@]}" --simulate >"$log" 2>&1; then
        say "fetching Debian's package lists (about 10 MB)"
        "${as_root[@]}" apt-get update >"$log" 2>&1 || true
    fi
    say "installing Debian packages: $* ($(download_size "${install[@]}"))"
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}")
    if ! "${install[@]}" >"$log" 2>&1 &&
        ! { "${as_root[@]}" apt-get update && "${install[@]}"; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        say "apt-get could not install: $* (no network, or no such package here)"
        return 1
    fi
    rm -f "$log"
}

# The versions of CUDA whose ptxas can be fetched, with its package and the folder of the wheel that it is in.
other_assemblers() {
    cat <<END
12.0 nvidia-cuda-nvcc-cu12==12.0.140 nvidia/cuda_nvcc
12.8 nvidia-cuda-nvcc-cu12==12.8.93 nvidia/cuda_nvcc
13.0 nvidia-cuda-nvcc==13.0.88 nvidia/cu13
13.1 nvidia-cuda-nvcc==13.1.115 nvidia/cu13
13.2 nvidia-cuda-nvcc==13.2.86 nvidia/cu13
13.3 nvidia-cuda-nvcc==13.3.73 nvidia/cu13
13.4 nvidia-cuda-nvcc==13.4.92 nvidia/cu13
13.5 nvidia-cuda-nvcc==13.5.37 nvidia/cu13
END
}

newest_version() {
    other_assemblers | tail -n 1 | cut -d ' ' -f 1
}

# $1: folder to work in. Fetches the ptxas that $CUDA names.
install_other_assembler() {
    local work="$1" version package folder
    [ "$CUDA" != newest ] || CUDA="$(newest_version)"
    read -r version package folder < <(other_assemblers | grep "^${CUDA//./\\.} ") || true
    if [ -z "$version" ]; then
        say "CUDA=$CUDA is none of these: $(other_assemblers | cut -d ' ' -f 1 | paste -s -d ' '), newest"
        return 1
    fi
    local target="third_party/cuda-$version/bin/ptxas"
    if [ -x "$target" ]; then
        say "$target is installed already"
        return
    fi
    say "fetching $package from the Python package index (about 40 MB)"
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-input --retries 2 --no-deps \
        --only-binary :all: --dest "$work" "$package" >"$work/log" 2>&1; then
        grep -v '^WARNING: Retrying' "$work/log" | tail -n 5 >&2
        say "could not fetch $package (no network, or no wheel for $(uname -sm))"
        return 1
    fi
    python3 -m zipfile -e "$work"/*.whl "$work/content"
    chmod 755 "$work/content/$folder/bin/ptxas"
    mkdir -p "$(dirname "$target")"
    mv "$work/content/$folder/bin/ptxas" "$target"
    say "installed $target (under NVIDIA's licence)"
}

toolkit_present() {
    have ptxas || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ] || [ -x /usr/local/cuda/bin/ptxas ]
}

wheels_present() {
    [ -x "$cuda_folder/bin/ptxas" ] && [ -f "$cuda_folder/lib/libnvJitLink.so.13" ]
}

# $1: folder to work in; $2: a file of assembler/wheels.def, "bin/ptxas", which is below nvidia/cu13 in its wheel and
# below third_party/cuda here. The file is moved into place last, so an interrupted run leaves no partial file.
install_from_wheel() {
    local work="$1" member="nvidia/cu13/$2" target="$cuda_folder/$2" package version size
    IFS=' ' read -r package version size < <(
        sed -nE "s|^WHEEL\\(\"([^\"]*)\", \"([^\"]*)\", ([0-9]+), \"$2\".*|\1 \2 \3|p" assembler/wheels.def)
    say "fetching $package==$version from the Python package index ($size MB)"
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
    if ! pip_present; then
        say "no pip, which fetches NVIDIA's wheels: python3 -m pip does not work"
        return 1
    fi
    mkdir -p third_party
    local work status=0
    work="$(mktemp -d third_party/fetch.XXXXXX)"
    "$1" "$work" || status=1
    rm -rf "$work"
    return "$status"
}

install_assembler() {
    install_from_wheel "$1" lib/libnvJitLink.so.13 && install_from_wheel "$1" bin/ptxas || return 1
    say "installed $cuda_folder/bin/ptxas and $cuda_folder/lib/libnvJitLink.so.13 (under NVIDIA's licence)"
}

# True if the newest ptxas that is known here is installed.
newest_present() {
    local version ptxas
    version="$(newest_version)"
    for ptxas in "$(command -v ptxas)" "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" \
        "third_party/cuda-$version/bin/ptxas"; do
        [ ! -x "$ptxas" ] || ! "$ptxas" --version | grep -qF "release $version," || return 0
    done
    return 1
}

nvdisasm_present() {
    have nvdisasm || [ -x "$cuda_folder/bin/nvdisasm" ] || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvdisasm" ] ||
        [ -x /usr/local/cuda/bin/nvdisasm ]
}

install_nvdisasm() {
    install_from_wheel "$1" bin/nvdisasm || return 1
    say "installed $cuda_folder/bin/nvdisasm (under NVIDIA's licence)"
}

if [ "${1:-}" = --missing ]; then
    missing_packages "${2:?}"
    exit
fi

pip_present() {
    python3 -m pip --version >/dev/null 2>&1
}

if [ -n "${CUDA:-}" ]; then
    with_wheels install_other_assembler
    exit
fi

done_something=no
mapfile -t packages < <(missing_packages test)
if ! { toolkit_present || wheels_present; } || ! nvdisasm_present || ! newest_present; then
    # Fetches the wheels.
    pip_present || packages+=(python3-pip ca-certificates)
fi
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
        install_packages "$(runtime_package clang)"
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
if ! newest_present; then
    done_something=yes
    CUDA=newest
    with_wheels install_other_assembler || say "without the newest ptxas: what only that knows is not assembled"
fi
[ "$done_something" = yes ] || say "everything is installed already"
