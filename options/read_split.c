/* The values of -split-assemble and -assemble-limit. */
#include <stdlib.h>
#include <string.h>

#include "options/read.h"

void options_read_split(Reader *reader, const char *text)
{
    enum { MOST_PARTS = 4096 };
    SplitOption *split = &reader->options->split;
    split->wanted = true;
    split->parts = 0;
    if (text && strcmp(text, "auto") != 0)
        options_read_number(reader, OPTION_SPLIT_ASSEMBLE, text, 1, MOST_PARTS, &split->parts);
}

/* SECONDS:-ON, or SECONDS:ON. */
void options_read_assemble_limit(Reader *reader, const char *text)
{
    enum { MOST_SECONDS = 1000000 };
    SplitOption *split = &reader->options->split;
    char *end = NULL;
    const unsigned long seconds = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    const char *level = end && *end == ':' ? end + 1 + (end[1] == '-') : "";
    if (seconds > MOST_SECONDS || level[0] != 'O' || level[1] < '0' || level[1] > '2' || level[2]) {
        options_fail(reader, "-assemble-limit %s: expected SECONDS:-O0, -O1 or -O2, as in 60:-O1", text);
        return;
    }
    split->seconds = (unsigned)seconds;
    split->level = (unsigned)(level[1] - '0');
}
