#!/usr/bin/env bash
# docs/instructions.md agrees with the instruction table.
. tests/suites/result.bash
difference="$("${BUILD:?}/tests/instruction-reference" | diff docs/instructions.md - | head -n 5)"
result "docs/instructions.md is current" "${difference:+run make docs/instructions.md}"
exit "$failed"
