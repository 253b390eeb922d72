/* What the two halves of the command line's reader share: the options (options.c) and their values (options_read.c). */
#ifndef PTXOPT_CLI_OPTIONS_READ_H
#define PTXOPT_CLI_OPTIONS_READ_H

#include "cli/options.h"

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

/* The value of -assembler, for all commands. Returns what is wrong with it, or NULL. */
const char *assembler_choice_read(Arena *arena, const char *word, bool *none, AssemblerKind *kind);
/* Its words, in the order of help: "auto, driver, nvjitlink, ptxas or none" with ", " and " or ". */
void assembler_choice_print(Buf *out, const char *between, const char *before_last);

/* "2", "x2,y2", "x2,bx4" or "auto" into factor, merged and is_auto.  Returns what is wrong with it, or NULL. */
const char *coarsen_factors_read(Arena *arena, const char *text, CoarsenOption *option);
/* "block", "unit" or a number.  False if it is neither. */
bool stride_read(const char *text, Stride *stride);

/* Each reads the value of one option into reader->options, or fails. */
void options_read_coarsen(Reader *reader, const char *text);
void options_read_stride(Reader *reader, const char *text);
/* A number of iterations, from 2 to UNROLL_JAM_MOST.  False if the text is anything else. */
bool jam_factor_read(const char *text, unsigned *factor);
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
void options_read_dumps(Reader *reader, const char *letters);
void options_read_entries(Reader *reader, const char *text);

#endif
