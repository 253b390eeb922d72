#!/bin/sh
# verify.sh [-v]
#
# Runs ptxas ($PTXAS) on the conformance set: every examples/*.ptx must assemble for the target it names, every
# examples-invalid/*.ptx must be rejected. A line "// ptxas: OPTIONS" in a file adds options.
#
# Files that are not for this ptxas are left out and counted: those of a newer .version, and those for targets that it
# does not have. A line of an example that ends in "// until ptxas 13.0" is left out if ptxas is newer, and so is an
# invalid example whose first line ends in "(until ptxas 13.0)".
dir=$(cd "$(dirname "$0")" && pwd)
ptxas=${PTXAS:-ptxas}
verbose=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
release=$("$ptxas" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
targets=" $("$ptxas" --help | grep -o "'sm_[0-9]*[af]*'" | sort -u | tr -d "'" | tr '\n' ' ')"
at_most() {  # true if version $1 is at most version $2
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t . -k 1,1n -k 2,2n | head -n 1)" = "$1" ]
}
accepts() {  # true if ptxas accepts an empty module of version $1
    printf '.version %s\n.target %s\n.address_size 64\n' "$1" "$(echo "$targets" | cut -d ' ' -f 2)" >"$tmp/empty.ptx"
    $ptxas -arch "$(echo "$targets" | cut -d ' ' -f 2)" "$tmp/empty.ptx" -o /dev/null >/dev/null 2>&1
}
newest=0.0
for version in 7.0 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5 9.6 9.7 9.8 9.9; do
    if accepts "$version"; then newest=$version; fi
done
version_of() {
    grep -v '^//' "$1" | grep -o '\.version[[:space:]]*[0-9]*\.[0-9]*' | head -n 1 | sed 's/.version[[:space:]]*//'
}
target() {  # -arch value for the file's .target line (older targets assemble for the oldest)
    t=$(sed -n 's/^[[:space:]]*\.target[[:space:]]*\([a-z0-9_]*\).*/\1/p' "$1" | head -n 1)
    case $t in
        sm_[0-9][0-9]*|compute_[0-9][0-9]*) ;;
        *) echo sm_90; return ;;
    esac
    n=${t#*_}; suf=
    case $n in *[af]) suf=${n#"${n%?}"}; n=${n%?} ;; esac
    case $n in *[!0-9]*) echo sm_90; return ;; esac
    [ "$n" -lt 75 ] && n=75 && suf=
    [ "$n" -eq 101 ] && n=110
    case $targets in
        *" sm_$n$suf "*) echo "sm_$n$suf" ;;
        *) case $1 in */examples-invalid/*) echo sm_90 ;; esac ;;
    esac
}
opts() { sed -n 's|^// ptxas: *||p' "$1" | head -n 1; }
known() {  # true if this ptxas is one that the file can be tried with
    v=$(version_of "$1")
    { [ -z "$v" ] || at_most "$v" "$newest"; } && [ -n "$(target "$1")" ]
}
# The lines that a ptxas of this release no longer accepts.
later() {
    sed -n 's|.*// until ptxas \([0-9.]*\)$|\1|p' "$1" | sort -u | while read -r last; do
        at_most "$release" "$last" || printf 's|^.*// until ptxas %s$||\n' "$last"
    done
}
ok=0 bad=0 out=0
for f in "$dir"/examples/*.ptx; do
    if ! known "$f"; then out=$((out + 1)); continue; fi
    later "$f" >"$tmp/edit"
    sed -f "$tmp/edit" "$f" >"$tmp/${f##*/}"
    # shellcheck disable=SC2046
    if $ptxas -arch "$(target "$f")" $(opts "$f") "$tmp/${f##*/}" -o /dev/null >"$tmp/log" 2>&1; then
        ok=$((ok + 1)); [ "$verbose" = -v ] && echo "ok       $(basename "$f")"
    else
        bad=$((bad + 1)); echo "REFUSED  $(basename "$f")"; grep -v -e warning -e ' info ' "$tmp/log" | head -n 5
    fi
    rm -f "$tmp/${f##*/}"
done
rej=0 acc=0
for f in "$dir"/examples-invalid/*.ptx; do
    last=$(sed -n '1s/.*(until ptxas \([0-9.]*\))$/\1/p' "$f")
    if [ -n "$last" ] && ! at_most "$release" "$last"; then out=$((out + 1)); continue; fi
    case ${f##*/} in header-*) ;; *) if ! known "$f"; then out=$((out + 1)); continue; fi ;; esac
    # shellcheck disable=SC2046
    if $ptxas -arch "$(target "$f")" $(opts "$f") "$f" -o /dev/null >"$tmp/log" 2>&1; then
        acc=$((acc + 1)); echo "ACCEPTED $(basename "$f") (must be refused)"
    else
        rej=$((rej + 1))
        [ "$verbose" = -v ] &&
            echo "refused  $(basename "$f"): $(grep -v warning "$tmp/log" | head -n 1 | cut -c 1-120)"
    fi
done
echo "examples: $ok accepted, $bad wrongly refused"
echo "examples-invalid: $rej refused, $acc wrongly accepted"
echo "not for ptxas $release: $out"
[ "$bad" -eq 0 ] && [ "$acc" -eq 0 ] && [ "$ok" -gt 0 ]
