/* The table of a whole build's figures, to which each call of ptxas adds its kernels (stats/). */
#include <stdlib.h>

#include "stats/stats.h"
#include "wrappers/wrappers.h"

static const char *table_path(void)
{
    const char *path = getenv("PTXOPT_STATS");
    return path && *path ? path : NULL;
}

bool build_stats_wanted(void) { return table_path() != NULL; }

/* True if the line is one of those that -v alone prints. */
static bool is_verbose(const char *line)
{
    static const char *const words[] = {" bytes gmem", "Compiling entry function '", "Function properties for ",
                                        " bytes stack frame, ", ": Used ", "Compile time = "};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strstr(line, words[i]))
            return strncmp(line, "ptxas info", 10) == 0 || line[0] == ' ';
    return false;
}

/* Moves the lines of -v from one text to another. */
static void take_lines(Arena *arena, Buf *from, Buf *to)
{
    const char *text = arena_strndup(arena, buf_text(from), from->length);
    buf_clear(from);
    while (*text) {
        const size_t length = strcspn(text, "\n"), whole = length + (text[length] == '\n');
        const char *line = arena_strndup(arena, text, length);
        buf_write(is_verbose(line) ? to : from, text, whole);
        text += whole;
    }
}

void build_stats_take(Arena *arena, Log *log, Buf *verbose)
{
    take_lines(arena, &log->output, verbose);
    take_lines(arena, &log->errors, verbose);
}

void build_stats_add(Arena *arena, const char *source, const char *cubin, const Buf *verbose)
{
    const char *error = NULL;
    Stats stats = {.arena = arena};
    const Source *file = source_read(arena, cubin, &error);
    if (file)
        stats_add_cubin(&stats, &(StatsRequest){0}, source, file->text, file->size, buf_text(verbose));
    if (!error)
        error = stats_append(arena, table_path(), &stats.rows);
    if (error)
        say("warning", "PTXOPT_STATS: %s", error);
}
