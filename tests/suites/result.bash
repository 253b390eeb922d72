# For suites (`. tests/suites/result.bash`): prints one line per check and sets 'failed' if any check fails.
failed=0

# $1: name; $2: the error, empty if there is none. Shows the program's last messages, if the suite keeps them in
# $TEST_TMP/errors.
result() {
    if [ -z "$2" ]; then
        printf 'ok %s\n' "$1"
    else
        printf 'not ok %s: %s\n' "$1" "$2"
        [ ! -s "$TEST_TMP/errors" ] || head -n 10 "$TEST_TMP/errors" | cut -c 1-200 | sed 's/^/    /'
        failed=1
    fi
}

# The first lines of 'said' in which a tool for random kernels says that something is wrong.
wrong() {
    grep -E 'WRONG|failed|internal error' <<<"$said" | head -n 20
}

# Runs such a tool, and checks that nothing is wrong. $1: the name of the check; $2: the tool; the rest: its arguments. Sets
# 'said' to what it says.
random_check() {
    said="$("$BUILD/tests/$2" "${@:3}" 2>&1)" || said+=$'\nfailed'
    result "$1" "$(wrong)"
}
