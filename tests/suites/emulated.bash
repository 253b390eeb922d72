# For suites (`. tests/suites/emulated.bash`) that run programs on the emulated driver: their tools and folders, and a
# check of a program. Ends the suite where the sanitizers are built in.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
. tests/suites/programs.bash
tools="$(dirname "$(realpath "${PTXOPT:?}")")"
root="$PWD"
emulated="$(realpath "${BUILD:?}/emulated")"
preload="$(realpath "$BUILD/runtime/libptxopt-launch.so")"
if [ "$(basename "$BUILD")" != build ]; then
    echo "the sanitizers cannot be loaded into other programs"
    exit 77
fi
CC="${CC:-cc}"
unset PTXOPT_LAUNCH_REPORT PTXOPT_TUNE

# $1: name; $2: exit status; $3: pattern of the output; $4...: the command.
runs() {
    local name="$1" wanted="$2" pattern="$3" status
    shift 3
    (env LD_LIBRARY_PATH="$emulated" "$@" >"$tmp/out" 2>"$errors"; exit $?) 2>/dev/null
    status=$?
    cat "$errors" >>"$tmp/out"
    if [ "$status" -ne "$wanted" ]; then
        result "$name" "exit status $status: $(tail -n 3 "$tmp/out")"
    else
        result "$name" "$(grep -qE "$pattern" "$tmp/out" || echo "'$pattern' is not in: $(head -n 3 "$tmp/out")")"
    fi
}
