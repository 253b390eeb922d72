#!/usr/bin/env bash
# make install and make uninstall, into a folder of the test.
set -uo pipefail

. tests/suites/result.bash
root="${TEST_TMP:?}/root"
log="$TEST_TMP/log"
rm -rf "$root"
# Not the make that runs the tests, whose job server is not for this one.
unset MAKEFLAGS MFLAGS MAKELEVEL VARIANT

# $1: name; $2...: command.
try() {
    local name="$1"
    shift
    result "$name" "$("$@" >"$log" 2>&1 || tail -3 "$log")"
}

[ "$(realpath "${PTXOPT:?}")" = "$PWD/ptxopt" ] || { skip install "it installs the plain build"; exit "$failed"; }
try "install" make install DESTDIR="$root" PREFIX=/opt/ptxopt
for program in ptxopt ptxopt-ptxas ptxopt-nvcc; do
    file="$root/opt/ptxopt/bin/$program"
    result "$program is installed" "$([ -x "$file" ] || echo "no $file")"
    result "$program is stripped" "$(readelf -S "$file" | grep -o '\.debug_info\|\.symtab' | head -1)"
    result "$program has a manual page" "$([ -f "$root/opt/ptxopt/share/man/man1/$program.1" ] || echo missing)"
done
try "the installed program runs" "$root/opt/ptxopt/bin/ptxopt" -assembler none -o /dev/null corpus/nlm/nlm.sm_90.ptx
for document in README.md formats.md launch-file.schema.json launch-contract.schema.json report.schema.json; do
    result "$document is installed" "$([ -f "$root/opt/ptxopt/share/doc/ptxopt/$document" ] || echo missing)"
done
try "uninstall" make uninstall DESTDIR="$root" PREFIX=/opt/ptxopt
result "uninstall removes everything" "$(find "$root" -type f)"
exit "$failed"
