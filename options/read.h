/* What the two halves of the command line's reader share: the options (options.c) and their values (read.c). */
#ifndef PTXOPT_OPTIONS_READ_H
#define PTXOPT_OPTIONS_READ_H

#include "options/options.h"

typedef struct Reader {
    Arena *arena;
    Options *options;
    const char *error; /* the first one found */
    bool stride_given;
    const char *report_word; /* the FILE of "-report FILE", which may turn out to be the input */
    VEC(const char *) inputs;
} Reader;

/* Records an error, unless there is one already. */
void options_fail(Reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

/* Each reads the value of one option into reader->options, or fails. */
void options_read_coarsen(Reader *reader, const char *text);
void options_read_stride(Reader *reader, const char *text);
void options_read_jam(Reader *reader, const char *text);
void options_read_grid(Reader *reader, const char *text);
void options_read_guards(Reader *reader, const char *text);
void options_read_growth(Reader *reader, const char *text);
void options_read_search(Reader *reader, const char *text);
void options_read_target_regs(Reader *reader, const char *text);
void options_read_block(Reader *reader, const char *text);
void options_read_shared(Reader *reader, const char *text);
void options_read_assembler(Reader *reader, const char *word);
void options_read_passes(Reader *reader, const char *text);
void options_read_dumps(Reader *reader, const char *text);
void options_read_entries(Reader *reader, const char *text);

#endif
