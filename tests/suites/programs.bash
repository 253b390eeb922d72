# For suites (`. tests/suites/programs.bash`, in the root of the tree).

# Prints the paths of one of NVIDIA's programs, best first: the one that a variable names, the one in PATH, that of the
# installed toolkit, the one that tools/deps.sh fetched. $1: the variable; $2: the program.
nvidia_programs() {
    local candidate
    for candidate in "${!1:-}" "$(command -v "$2")" "/usr/local/cuda/bin/$2" "$PWD/third_party/cuda/bin/$2"; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
        fi
    done
}

# Prints the first of them; nothing if there is none. $1, $2: the same.
nvidia_program() {
    nvidia_programs "$@" | head -n 1
}

# Sets the variable of the program's name to its path; without one, the suite ends as skipped. $1, $2: the same.
need_program() {
    local path
    path="$(nvidia_program "$@")"
    if [ -z "$path" ]; then
        echo "no $2"
        exit 77
    fi
    printf -v "$2" '%s' "$path"
}

# Runs a command as on a machine without a toolkit: the one in /usr/local/cuda is hidden, in a name space of its own.
without_toolkit() {
    if [ -e /usr/local/cuda ]; then
        unshare --map-root-user --mount sh -c 'mount -t tmpfs none /usr/local/cuda && exec "$@"' - "$@"
    else
        "$@"
    fi
}

# One check of the program, whose output stays in $work/out and $work/err: it ends so, and says the text. $1: name; $2:
# exit status; $3: text; $4...: arguments.
ends() {
    local name="$1" wanted="$2" text="$3" status
    shift 3
    "$PTXOPT" "$@" >"$work/out" 2>"$work/err"
    status=$?
    result "$name" "$([ "$status" -eq "$wanted" ] && grep -qF -- "$text" "$work/out" "$work/err" ||
        echo "status $status: $(head -qn 3 "$work/out" "$work/err")")"
}

# Copies a ptxas that runs without its toolkit (the one in PATH may be a script that runs the toolkit's). Fails if there
# is none. $1: path of the copy.
copy_ptxas() {
    local candidate
    while read -r candidate; do
        if cp "$candidate" "$1" && without_toolkit "$1" --version >/dev/null 2>&1; then
            return
        fi
    done < <(nvidia_programs PTXOPT_PTXAS ptxas)
    return 1
}

# Prints the release of a ptxas: 13.0. $1: its path.
assembler_release() {
    "$1" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'
}
