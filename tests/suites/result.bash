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
