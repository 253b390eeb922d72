# Read by suites (`. tests/suites/result.bash`): prints one line for each thing that is checked, and remembers in
# 'failed' whether any was wrong.
failed=0

# $1: name; $2: what is wrong, nothing if all is well. Shows what the program said last, if the suite keeps that in
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
