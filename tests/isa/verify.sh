#!/bin/sh
# verify.sh [-v]
#
# Runs ptxas ($PTXAS) on the conformance set: every examples/*.ptx must assemble for the target it names, every
# examples-invalid/*.ptx must be rejected. A line "// ptxas: OPTIONS" in a file adds options.
dir=$(cd "$(dirname "$0")" && pwd)
ptxas=${PTXAS:-ptxas}
verbose=$1
tmp=$(mktemp) || exit 2
trap 'rm -f "$tmp"' EXIT
target() {  # -arch value for the file's .target line (targets below sm_75 assemble for sm_75)
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
    case " 75 80 86 87 88 89 90 100 103 110 120 121 " in *" $n "*) ;; *) n=90; suf= ;; esac
    echo "sm_$n$suf"
}
opts() { sed -n 's|^// ptxas: *||p' "$1" | head -n 1; }
ok=0 bad=0
for f in "$dir"/examples/*.ptx; do
    # shellcheck disable=SC2046
    if $ptxas -arch "$(target "$f")" $(opts "$f") "$f" -o /dev/null >"$tmp" 2>&1; then
        ok=$((ok + 1)); [ "$verbose" = -v ] && echo "ok       $(basename "$f")"
    else
        bad=$((bad + 1)); echo "REFUSED  $(basename "$f")"; grep -v -e warning -e ' info ' "$tmp" | head -n 5
    fi
done
rej=0 acc=0
for f in "$dir"/examples-invalid/*.ptx; do
    # shellcheck disable=SC2046
    if $ptxas -arch "$(target "$f")" $(opts "$f") "$f" -o /dev/null >"$tmp" 2>&1; then
        acc=$((acc + 1)); echo "ACCEPTED $(basename "$f") (must be refused)"
    else
        rej=$((rej + 1))
        [ "$verbose" = -v ] && echo "refused  $(basename "$f"): $(grep -v warning "$tmp" | head -n 1 | cut -c 1-120)"
    fi
done
echo "examples: $ok accepted, $bad wrongly refused"
echo "examples-invalid: $rej refused, $acc wrongly accepted"
[ "$bad" -eq 0 ] && [ "$acc" -eq 0 ]
