#!/usr/bin/env bash
# verify.sh [-v]
#
# Runs ptxas ($PTXAS) on the conformance set: every examples/*.ptx must assemble for the target it names, every
# examples-invalid/*.ptx must be rejected. A line "// ptxas: OPTIONS" in a file adds options.
#
# Files that are not for this ptxas are left out and counted: those of a newer .version, and those for targets that it
# does not have. A line of an example that ends in "// until ptxas 13.0" is left out if ptxas is newer, and so is an
# invalid example whose first line ends in "(until ptxas 13.0)".
#
# It starts no process but ptxas for each file, because forks took as long as the assembler.
set -u
dir=$(cd "$(dirname "$0")" && pwd)
ptxas=${PTXAS:-ptxas}
verbose=${1:-}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
release=$("$ptxas" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
targets=" $("$ptxas" --help | grep -o "'sm_[0-9]*[af]*'" | sort -u | tr -d "'" | tr '\n' ' ')"
read -r first _ <<<"$targets"
# True if version $1 is at most version $2.
at_most() {
    ((${1%.*} < ${2%.*} || (${1%.*} == ${2%.*} && ${1#*.} <= ${2#*.})))
}
# $1: an input; the rest: options. Messages are in $tmp/log.
assemble() {
    local input=$1
    shift
    "$ptxas" "$@" "$input" -o /dev/null >"$tmp/log" 2>&1
}
newest=0.0
for version in 7.0 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5 9.6 9.7 9.8 9.9; do
    printf '.version %s\n.target %s\n.address_size 64\n' "$version" "$first" >"$tmp/empty.ptx"
    ! assemble "$tmp/empty.ptx" -arch "$first" || newest=$version
done
# $1: a file. Sets 'lines', 'options', 'version', which is empty if there is none, and 'target', the -arch for the
# file's .target line (older targets assemble for the oldest), which is empty if this ptxas does not have it.
inspect() {
    local line named="" number suffix=""
    options=() version="" target=sm_90
    mapfile -t lines <"$1" 2>/dev/null
    for line in "${lines[@]}"; do
        if [[ "$line" == "// ptxas: "* ]]; then
            read -r -a options <<<"${line#// ptxas: }"
        elif [[ -z "$version" && "$line" != //* && "$line" =~ \.version[[:space:]]*([0-9]+\.[0-9]+) ]]; then
            version=${BASH_REMATCH[1]}
        elif [[ -z "$named" && "$line" =~ ^[[:space:]]*\.target[[:space:]]*([a-z0-9_]*) ]]; then
            named=${BASH_REMATCH[1]:-none}
        fi
    done
    [[ "$named" =~ ^(sm|compute)_([0-9][0-9]+)([af]?)$ ]] || return
    number=${BASH_REMATCH[2]} suffix=${BASH_REMATCH[3]}
    if ((number < 75)); then
        number=75 suffix=""
    elif ((number == 101)); then
        number=110
    fi
    target=sm_$number$suffix
    if [[ "$targets" != *" $target "* ]]; then
        [[ "$1" == */examples-invalid/* ]] && target=sm_90 || target=""
    fi
}
# True if this ptxas is one that the inspected file can be tried with.
known() {
    [[ -n "$target" ]] && { [[ -z "$version" ]] || at_most "$version" "$newest"; }
}
ok=0 bad=0 out=0
for f in "$dir"/examples/*.ptx; do
    inspect "$f"
    if ! known; then
        out=$((out + 1))
        continue
    fi
    input=$f
    for i in "${!lines[@]}"; do
        if [[ "${lines[i]}" =~ //\ until\ ptxas\ ([0-9.]*)$ ]] && ! at_most "$release" "${BASH_REMATCH[1]}"; then
            lines[i]=""
            input=$tmp/example.ptx
        fi
    done
    [ "$input" = "$f" ] || printf '%s\n' "${lines[@]}" >"$input"
    if assemble "$input" -arch "$target" "${options[@]}"; then
        ok=$((ok + 1))
        [ "$verbose" != -v ] || echo "ok       ${f##*/}"
    else
        bad=$((bad + 1))
        echo "REFUSED  ${f##*/}"
        grep -v -e warning -e ' info ' "$tmp/log" | head -n 5
    fi
done
rej=0 acc=0
for f in "$dir"/examples-invalid/*.ptx; do
    inspect "$f"
    if [[ "${lines[0]:-}" =~ \(until\ ptxas\ ([0-9.]*)\)$ ]] && ! at_most "$release" "${BASH_REMATCH[1]}" ||
        { [[ "${f##*/}" != header-* ]] && ! known; }; then
        out=$((out + 1))
    elif assemble "$f" -arch "$target" "${options[@]}"; then
        acc=$((acc + 1))
        echo "ACCEPTED ${f##*/} (must be refused)"
    else
        rej=$((rej + 1))
        [ "$verbose" != -v ] ||
            echo "refused  ${f##*/}: $(grep -v warning "$tmp/log" | head -n 1 | cut -c 1-120)"
    fi
done
echo "examples: $ok accepted, $bad wrongly refused"
echo "examples-invalid: $rej refused, $acc wrongly accepted"
echo "not for ptxas $release: $out"
[ "$bad" -eq 0 ] && [ "$acc" -eq 0 ] && [ "$ok" -gt 0 ]
