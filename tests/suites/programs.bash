# For suites (`. tests/suites/programs.bash`, in the root of the tree).

# Prints the path of one of NVIDIA's programs: what a variable says, else the one in PATH, the installed toolkit's or the
# one that tools/deps.sh fetched. Nothing if there is none. $1: the variable; $2: the program.
nvidia_program() {
    local candidate
    for candidate in "${!1:-}" "$(command -v "$2")" "/usr/local/cuda/bin/$2" "$PWD/third_party/cuda/bin/$2"; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}
