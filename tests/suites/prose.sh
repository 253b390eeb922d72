#!/usr/bin/env bash
# tests/check-prose finds what it is meant to find, in each kind of file, and nothing else.
set -uo pipefail
. tests/suites/result.bash

tmp="${TEST_TMP:?}"

# $1: name; $2: the file's name; $3: how many violations it has; standard input: its text.
has() {
    local got
    cat >"$tmp/$2"
    got="$(tests/check-prose -c "$tmp/$2" | awk '{ print $1 }')"
    result "$1" "$([ "$got" = "$3" ] || echo "$got violations instead of $3")"
}

has "a paragraph" a.md 3 <<'TEXT'
Of each value, the first is kept. It is there
so many times. This is allowed, but
for one of them.
TEXT
has "a list, and a sentence within a table's cell" a.md 2 <<'TEXT'
- What remains is kept.

| a | b |
|---|---|
| What | it is good. Where it is not, it is bad |
TEXT
has "paragraphs without a full stop" a.md 1 <<'TEXT'
The following holds

What is left
TEXT
has "questions, headings, code and quotations" a.md 0 <<'TEXT'
# What a form costs, and so many others

Where is a kernel refused? The message is "nobody knows", and the variable `somebody`.

    What this prints: so many

```
Of nobody
```
TEXT
has "what begins like these words" a.md 0 <<'TEXT'
Whatever happens, offsets stay. Whereas one is left, nobodys are not. Often it is so.
TEXT
has "comments of C" a.c 3 <<'TEXT'
/* Where it is known, it is used.
 * Without that it is not. */
int a; // nobody calls it
const char *text = "/* What */ // so many";
TEXT
has "comments of two lines" a.c 2 <<'TEXT'
// The others are kept, but
// for the first.
/* Here, too: all but
 * for one. */
TEXT
has "comments of a script" a.sh 2 <<'TEXT'
#!/bin/bash
# To that come others.
echo "What is this" # somebody calls it
TEXT
has "comments and docstrings of Python" a.py 2 <<'TEXT'
"""What it does is this."""
a = "# so many"
# Nobody calls it.
TEXT
has "a manual page" a.1 2 <<'TEXT'
.SH OPTIONS
What is read is
.BR \-a ,
but
.B for
.IR b .
TEXT
result "the status says so" "$(tests/check-prose "$tmp/a.1" >/dev/null && echo "it is 0")"
