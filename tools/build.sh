#!/usr/bin/env bash
# tools/build.sh GOAL...: makes the goals, for `make test` and `make demo`. Prints a line before and after, and what the
# compilers complain about; the commands are in $LOG.
#
# $MAKE is make; $JOBS its options that say how many jobs run at once (empty: as many as there are cores); with $V,
# every command is shown instead.
set -uo pipefail
cd "$(dirname "$0")/.."

where="with the jobs of -j"
read -r -a make <<<"${MAKE:?}"
make+=(--no-print-directory)
if [ -z "${JOBS:-}" ]; then
    make+=(-j"$(nproc)")
    where="on $(nproc) cores"
fi
[ -z "${V:-}" ] || exec "${make[@]}" "$@"
mkdir -p "$(dirname "${LOG:?}")"
printf 'build: %s, %s; the commands are in %s\n' "$*" "$where" "$LOG" >&2
# Not file 3: the jobs of make -j are handed out through 3 and 4.
: >"$LOG"
exec {log}>>"$LOG"
begin="$SECONDS"
if "${make[@]}" V=1 "$@" 2>&1 >&"$log" | tee -a "$LOG" >&2; then
    printf 'build: done in %d seconds\n' "$((SECONDS - begin))" >&2
    exit 0
fi
printf 'build: failed; the commands are in %s\n' "$LOG" >&2
exit 1
