#!/usr/bin/env bash
# The steps of `make test` and `make demo` before anything is tested: tools/deps.sh names the Debian packages that are
# missing, and tools/build.sh makes the goals quietly. Both run with fakes of other programs.
set -uo pipefail

# The folder is on PATH, where a colon would separate two folders.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash

# A make that prints its arguments, and what it can build.
cat >"$tmp/make" <<'END'
#!/bin/sh
echo "a command: $*"
echo "a warning" >&2
exit "${FAKE_STATUS:-0}"
END
chmod +x "$tmp/make"
# $1: name; $2: exit status wanted; $3...: environment. Leaves $tmp/out, $errors and $tmp/log.
build() {
    local name="$1" wanted="$2" status
    shift 2
    env MAKE="$tmp/make" LOG="$tmp/log" JOBS= V= "$@" tools/build.sh one two >"$tmp/out" 2>"$errors"
    status=$?
    result "$name" "$([ "$status" -eq "$wanted" ] || echo "exit status $status")"
}
build "build" 0
result "build: the commands are in the log" "$(grep -qx "a command: .*-j$(nproc) V=1 one two" "$tmp/log" ||
    cat "$tmp/log")"
result "build: they are not shown" "$(grep 'a command' "$tmp/out" "$errors")"
result "build: warnings are shown, and in the log" "$(grep -qx "a warning" "$errors" &&
    grep -qx "a warning" "$tmp/log" || echo "not there")"
result "build: two lines, and the warning" "$([ "$(cat "$tmp/out" "$errors" | wc -l)" -eq 3 ] || cat "$errors")"
build "build: failing" 1 FAKE_STATUS=2
build "build: the user's jobs" 0 JOBS="-j3 --jobserver-auth=3,4"
result "build: the user's jobs: no others" "$(grep -e '-j' "$tmp/log")"
build "build: every command" 0 V=1
result "build: every command is shown" "$(grep -q '^a command: ' "$tmp/out" || echo "not shown")"

# Packages that are missing if there are only these programs.
mkdir "$tmp/path"
for name in bash dirname env tr sed grep id; do
    ln -s "$(command -v "$name")" "$tmp/path/$name"
done
# $1: name; $2: build or test; $3: the compiler; $4...: packages that are missing at least.
missing() {
    local name="$1" wrong="" package
    PATH="$tmp/path" CC="$3" tools/deps.sh --missing "$2" >"$tmp/out" 2>"$errors"
    for package in "${@:4}"; do
        grep -qxF "$package" "$tmp/out" || wrong+="$package is not named "
    done
    result "$name" "$wrong"
}
missing "packages for building" build cc gcc libc6-dev flex bison make binutils libjansson-dev libdw-dev libiberty-dev
missing "packages for testing" test cc gcc pkg-config python3 parallel libcmocka-dev libmpfr-dev
missing "packages: another compiler" build clang clang libc6-dev
missing "packages: a compiler with a version, and a cache" build "ccache gcc-12 -m64" ccache gcc-12
result "packages: options are none" "$(grep -e -m64 "$tmp/out")"
fetched="$(grep -oE 'install_from_wheel "\$1" [^ ]+' tools/deps.sh | cut -d' ' -f3)"
result "wheels: each that is fetched has its row" "$(for file in $fetched; do
    grep -q "^WHEEL(\"[a-z-]*\", \"[0-9.]*\", [0-9]*, \"$file\", " assembler/wheels.def || echo "$file"
done)"
exit "$failed"
