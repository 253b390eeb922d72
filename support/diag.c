/* Messages with file, line, column, the line itself and a caret. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_ERROR_LIMIT = 20,
    LONGEST_EXCERPT = 160,
    LONGEST_WORD = 256, /* of a message: names and literals may have any length */
};

bool stream_is_colored(FILE *out)
{
    const char *unwanted = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool plain = (unwanted && *unwanted) || (terminal && strcmp(terminal, "dumb") == 0);
    return !plain && fileno(out) >= 0 && isatty(fileno(out));
}

void diag_init(Diag *diag, const Source *source, FILE *out)
{
    *diag = (Diag){.source = source,
                   .out = out,
                   .error_limit = DEFAULT_ERROR_LIMIT,
                   .colored = stream_is_colored(out)};
}

#define COLOR_ERROR "\33[1;31m"
#define COLOR_WARNING "\33[1;35m"
#define COLOR_NOTE "\33[1;36m"
#define COLOR_CARET "\33[1;32m"
#define COLOR_END "\33[0m"

static void put_colored(const Diag *diag, const char *color)
{
    if (diag->colored)
        fputs(color, diag->out);
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
            fprintf(diag->out, "ptxopt: more than %u error%s; the rest is not shown\n", diag->error_limit,
                    plural(diag->error_limit));
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

/* "error: " */
static void put_severity(const Diag *diag, Severity severity)
{
    put_colored(diag, severity == SEVERITY_ERROR     ? COLOR_ERROR
                      : severity == SEVERITY_WARNING ? COLOR_WARNING
                                                     : COLOR_NOTE);
    fprintf(diag->out, "%s:", severity_name(severity));
    put_colored(diag, COLOR_END);
    putc(' ', diag->out);
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

static void print_line(const Diag *diag, Span span)
{
    const Source *source = diag->source;
    Span line = source_line_span(source, source_text_position(source, span.begin).line);
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
    put_colored(diag, COLOR_CARET);
    putc('^', diag->out);
    for (size_t i = caret + 1; i < span.end && i < end; i++)
        putc('~', diag->out);
    put_colored(diag, COLOR_END);
    putc('\n', diag->out);
}

void diag_report(Diag *diag, Severity severity, Span span, const char *format, ...)
{
    if (!admit(diag, &severity))
        return;
    if (diag->source) {
        if (span.begin > diag->source->size)
            span.begin = (uint32_t)diag->source->size;
        Position position = source_position(diag->source, span.begin);
        fprintf(diag->out, "%s:%u:%u: ", diag->source->path, position.line, position.column);
    } else
        fputs("ptxopt: ", diag->out);
    put_severity(diag, severity);
    va_list arguments;
    va_start(arguments, format);
    put_message(diag->out, format, arguments);
    va_end(arguments);
    if (diag->source)
        print_line(diag, span);
}

void diag_report_plain(Diag *diag, Severity severity, const char *format, ...)
{
    if (!admit(diag, &severity))
        return;
    fprintf(diag->out, "%s: ", diag->source ? diag->source->path : "ptxopt");
    put_severity(diag, severity);
    va_list arguments;
    va_start(arguments, format);
    put_message(diag->out, format, arguments);
    va_end(arguments);
}

const char *words_hint(Arena *arena, const char *closest, const char *introduction, const char *const *words,
                       size_t count)
{
    enum { LISTED = 8 };
    if (closest)
        return arena_printf(arena, "; did you mean '%s'?", closest);
    Buf hint = {0};
    for (size_t i = 0; i < count && i < LISTED; i++)
        if (i)
            buf_printf(&hint, ", '%s'", words[i]);
        else
            buf_printf(&hint, "; %s '%s'", introduction, words[i]);
    if (count > LISTED)
        buf_printf(&hint, " and %zu more", count - LISTED);
    return buf_take(arena, &hint);
}
