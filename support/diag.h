/* Diagnostics with source spans. */
#ifndef PTXOPT_SUPPORT_DIAG_H
#define PTXOPT_SUPPORT_DIAG_H

#include <stdio.h>

#include "support/source.h"

typedef enum Severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR } Severity;

/* A sink for messages about one source. Each prints as
 *     FILE:LINE:COL: error: MESSAGE
 *     SOURCE LINE
 *         ^~~~
 * After 'error_limit' errors further ones are counted but not printed. */
typedef struct Diag {
    const Source *source; /* may be NULL: then messages begin with the program's name */
    FILE *out;            /* not owned; standard error in the program */
    bool warnings_are_errors;
    bool quiet; /* no warnings, no notes */
    bool colored;
    unsigned error_limit;
    unsigned errors, warnings;
} Diag;

/* True if 'out' is a terminal to be written to in colours: not if $NO_COLOR is set or $TERM is "dumb". */
bool stream_is_colored(FILE *out);
/* Messages are coloured if stream_is_colored('out'). */
void diag_init(Diag *diag, const Source *source, FILE *out);
void diag_report(Diag *diag, Severity severity, Span span, const char *format, ...) PRINTF_LIKE(4, 5);
/* A message about the whole file or run: "PATH: error: ..." or "ptxopt: error: ...". */
void diag_report_plain(Diag *diag, Severity severity, const char *format, ...) PRINTF_LIKE(3, 4);
#define diag_error(diag, span, ...) diag_report((diag), SEVERITY_ERROR, (span), __VA_ARGS__)
#define diag_warning(diag, span, ...) diag_report((diag), SEVERITY_WARNING, (span), __VA_ARGS__)
#define diag_note(diag, span, ...) diag_report((diag), SEVERITY_NOTE, (span), __VA_ARGS__)

/* The candidate closest to 'word' by edit distance if it is close enough to suggest, else NULL. */
const char *closest_word(const char *word, const char *const *candidates, size_t count);
/* The end of a message about an unknown word, in the arena: "; did you mean 'CLOSEST'?" or, if that is NULL,
 * "; INTRODUCTION 'a', 'b'" with the first eight of the words. */
const char *words_hint(Arena *arena, const char *closest, const char *introduction, const char *const *words,
                       size_t count);

#endif
