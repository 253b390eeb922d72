/* Parses the diagnostics that a run prints: "NAME:LINE:COLUMN: error: MESSAGE", "NAME: error: MESSAGE" or "ptxopt:
 * ...", each followed by lines that belong to it. Until the next diagnostic begins, a line belongs to the last one. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "library/internal.h"

static const struct {
    const char *word;
    ptxopt_severity severity;
} severities[] = {{"error: ", PTXOPT_ERROR}, {"warning: ", PTXOPT_WARNING}, {"note: ", PTXOPT_NOTE}};

/* Reads "NUMBER:" and moves *at past it. */
static bool read_number(const char **at, unsigned *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *number = (unsigned)strtoul(*at, &end, 10);
    if (*end != ':')
        return false;
    *at = end + 1;
    return true;
}

/* True if a diagnostic begins here; *diagnostic then has everything except its texts, and *message begins after the
 * severity. */
static bool read_head(const char *line, const char *name, ptxopt_diagnostic *diagnostic, const char **message)
{
    static const char program[] = "ptxopt:";
    size_t length = strlen(name);
    const char *at = line;
    *diagnostic = (ptxopt_diagnostic){.severity = PTXOPT_NOTE};
    if (strncmp(at, program, sizeof program - 1) == 0) {
        at += sizeof program - 1;
    } else if (strncmp(at, name, length) == 0 && at[length] == ':') {
        diagnostic->name = name;
        at += length + 1;
        if (read_number(&at, &diagnostic->line) && !read_number(&at, &diagnostic->column))
            return false;
    } else {
        return false;
    }
    if (*at++ != ' ')
        return false;
    *message = at;
    for (size_t i = 0; i < COUNT_OF(severities); i++)
        if (strncmp(at, severities[i].word, strlen(severities[i].word)) == 0) {
            diagnostic->severity = severities[i].severity;
            *message = at + strlen(severities[i].word);
            return true;
        }
    return !diagnostic->name; /* "ptxopt: nothing is written" */
}

/* The message, without the indented lines that belong to a place in the source: the line and the caret. */
static char *message_of(const char *from, const char *end, bool has_place)
{
    const char *line_end = memchr(from, '\n', (size_t)(end - from));
    while (line_end && line_end + 1 < end && !(has_place && line_end[1] == ' '))
        line_end = memchr(line_end + 1, '\n', (size_t)(end - line_end - 1));
    return strndup(from, (size_t)((line_end ? line_end : end) - from));
}

void diagnostics_report(char *text, const char *name, ptxopt_diagnostic_function function, void *context)
{
    ptxopt_diagnostic diagnostic, next_diagnostic;
    const char *message, *next_message;
    for (char *at = text; *at;) {
        if (!read_head(at, name, &diagnostic, &message)) {
            diagnostic = (ptxopt_diagnostic){.severity = PTXOPT_NOTE};
            message = at;
        }
        char *next = strchr(at, '\n');
        while (next && next[1] && !read_head(next + 1, name, &next_diagnostic, &next_message))
            next = strchr(next + 1, '\n');
        char *end = next ? next + 1 : at + strlen(at), first_of_next = *end;
        char *line = message_of(message, end, diagnostic.line != 0);
        *end = 0;
        diagnostic.message = line ? line : "";
        diagnostic.text = at;
        function(context, &diagnostic);
        free(line);
        *end = first_of_next;
        at = end;
    }
}
