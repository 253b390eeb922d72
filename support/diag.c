/* Messages with file, line, column, the line itself and a caret. */
#include "support/support.h"

#include <string.h>

enum {
    DEFAULT_ERROR_LIMIT = 20,
    LONGEST_EXCERPT = 160,
    LONGEST_WORD = 256, /* of a message: names and literals may have any length */
};

void diag_init(Diag *diag, const Source *source, FILE *out)
{
    *diag = (Diag){.source = source, .out = out, .error_limit = DEFAULT_ERROR_LIMIT};
}

/* Counts the message; false if it is not to be printed. */
static bool admit(Diag *diag, Severity *severity)
{
    if (*severity == SEVERITY_WARNING) {
        diag->warnings++;
        if (diag->warnings_are_errors)
            *severity = SEVERITY_ERROR;
    }
    if (*severity == SEVERITY_ERROR) {
        diag->errors++;
        if (diag->error_limit && diag->errors == diag->error_limit + 1)
            fprintf(diag->out, "ptxopt: more than %u errors; the rest is not shown\n", diag->error_limit);
        return !diag->error_limit || diag->errors <= diag->error_limit;
    }
    if (diag->error_limit && diag->errors > diag->error_limit)
        return false; /* the note belongs to an error that was not shown */
    return !diag->quiet;
}

static const char *severity_name(Severity severity)
{
    return severity == SEVERITY_ERROR ? "error" : severity == SEVERITY_WARNING ? "warning" : "note";
}

/* A tab stays a tab, so that the caret below lines up; other control and non-ASCII bytes become '?'. */
static void put_excerpt(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        putc(text[i] == '\t' || (text[i] >= ' ' && text[i] < 127) ? text[i] : '?', out);
}

/* Words that are too long are cut off, and control characters become '?': a message is one line that can be read. */
static void put_message(FILE *out, const char *format, va_list arguments)
{
    Buf message = {0};
    buf_vprintf(&message, format, arguments);
    for (const char *at = buf_text(&message); *at;) {
        size_t length = strcspn(at, " \n");
        bool is_long = length > LONGEST_WORD;
        put_excerpt(out, at, is_long ? LONGEST_WORD : length);
        if (is_long)
            fputs(at[length - 1] == '\'' ? "...'" : "...", out);
        at += length;
        if (*at)
            putc(*at++, out);
    }
    putc('\n', out);
    buf_free(&message);
}

static void print_line(const Diag *diag, Span span, Position position)
{
    const Source *source = diag->source;
    Span line = source_line_span(source, position.line);
    size_t start = line.begin, end = line.end;
    while (end > start && (source->text[end - 1] == '\r' || source->text[end - 1] == '\n'))
        end--;
    size_t caret = span.begin < end ? span.begin : end;
    if (caret > start + LONGEST_EXCERPT) /* a whole module may be on one line */
        start = caret - LONGEST_EXCERPT / 2;
    if (end > start + LONGEST_EXCERPT)
        end = start + LONGEST_EXCERPT;
    putc(' ', diag->out);
    put_excerpt(diag->out, source->text + start, end - start);
    fputs("\n ", diag->out);
    for (size_t i = start; i < caret; i++)
        putc(source->text[i] == '\t' ? '\t' : ' ', diag->out);
    putc('^', diag->out);
    for (size_t i = caret + 1; i < span.end && i < end; i++)
        putc('~', diag->out);
    putc('\n', diag->out);
}

void diag_report(Diag *diag, Severity severity, Span span, const char *format, ...)
{
    if (!admit(diag, &severity))
        return;
    Position position = {0, 0};
    if (diag->source) {
        if (span.begin > diag->source->size)
            span.begin = (uint32_t)diag->source->size;
        position = source_position(diag->source, span.begin);
        fprintf(diag->out, "%s:%u:%u: ", diag->source->path, position.line, position.column);
    } else
        fputs("ptxopt: ", diag->out);
    fprintf(diag->out, "%s: ", severity_name(severity));
    va_list arguments;
    va_start(arguments, format);
    put_message(diag->out, format, arguments);
    va_end(arguments);
    if (diag->source)
        print_line(diag, span, position);
}

void diag_report_plain(Diag *diag, Severity severity, const char *format, ...)
{
    if (!admit(diag, &severity))
        return;
    fprintf(diag->out, "%s: %s: ", diag->source ? diag->source->path : "ptxopt", severity_name(severity));
    va_list arguments;
    va_start(arguments, format);
    put_message(diag->out, format, arguments);
    va_end(arguments);
}
