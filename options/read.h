/* Shared by the two halves of the command line's reader: the options (options.c) and their values (read.c). */
#ifndef PTXOPT_OPTIONS_READ_H
#define PTXOPT_OPTIONS_READ_H

#include "options/options.h"

typedef struct Reader {
    Arena *arena;
    Options *options;
    const char *error; /* the first one found */
    const char *report_word; /* the FILE of "-report FILE", which may turn out to be the input */
    VEC(const char *) inputs;
} Reader;

/* Records an error, unless there is one already. */
void options_fail(Reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

/* A file's name as it is; an empty one is an error. */
const char *options_read_file(Reader *reader, OptionId id, const char *name);
/* A whole number from 'least' to 'most' into *number, or an error. */
void options_read_number(Reader *reader, OptionId id, const char *text, unsigned least, unsigned most,
                         unsigned *number);

/* Each reads the value of one option into reader->options, or fails. */
void options_read_arch(Reader *reader, const char *text);
void options_read_knobs(Reader *reader, const char *text);
void options_read_report_format(Reader *reader, const char *text);
void options_read_risk(Reader *reader, const char *text);
void options_read_split(Reader *reader, const char *text);
void options_read_assemble_limit(Reader *reader, const char *text);
void options_read_level(Reader *reader, const char *text);
void options_read_memory(Reader *reader, const char *text);
void options_read_dead(Reader *reader, const char *text);
void options_read_block_order(Reader *reader, const char *text);
void options_read_ptx_version(Reader *reader, const char *text);
void options_read_xptxas(Reader *reader, const char *word);
void options_read_coarsen(Reader *reader, const char *text);
void options_read_stride(Reader *reader, const char *text);
void options_read_jam(Reader *reader, const char *text);
void options_read_grid(Reader *reader, const char *text);
void options_read_guards(Reader *reader, const char *text);
void options_read_search(Reader *reader, const char *text);
void options_read_tune(Reader *reader, const char *text);
void options_read_target_regs(Reader *reader, const char *text);
void options_read_block(Reader *reader, const char *text);
void options_read_shared(Reader *reader, const char *text);
void options_read_refine(Reader *reader, const char *text);
void options_read_assembler(Reader *reader, const char *word);
void options_read_passes(Reader *reader, const char *text);
void options_read_stop_after(Reader *reader, const char *text);
void options_read_dumps(Reader *reader, const char *text);
void options_read_entries(Reader *reader, const char *text);

#endif
