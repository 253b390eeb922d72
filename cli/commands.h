/* The commands of `ptxopt`, their command lines and their help. */
#ifndef PTXOPT_CLI_COMMANDS_H
#define PTXOPT_CLI_COMMANDS_H

#include "emulator/emulator.h"
#include "options/options.h"

/* What --help prints of the program itself. */
const char *options_help(Arena *arena);

/* Where and how a command prints. */
typedef struct CommandOutput {
    const char *file; /* NULL: standard output */
    bool json;
    bool quiet; /* no warnings */
} CommandOutput;

/* ptxopt run [options] FILE.ptx LAUNCH.json, or -template FILE.ptx KERNEL */
typedef struct RunOptions {
    const char *input, *launch;
    const char *template; /* -template: a kernel; instead of 'launch' */
    CommandOutput output;
    bool timed;
    VEC(const char *) dumps; /* buffers */
    unsigned jobs;           /* cores; 0: all of them, if races are checked and the launch is not small */
    EmulatorOptions machine;
} RunOptions;

/* As options_parse(), for "ptxopt run": argv[1] is "run". */
OptionsOutcome run_options_parse(Arena *arena, int argc, char *const *argv, RunOptions *options, const char **error);
const char *run_options_help(void);

/* ptxopt cost [options] FILE.ptx LAUNCH.json */
typedef struct CostOptions {
    const char *input, *launch;
    const char *before;  /* NULL: no comparison */
    const char *arch;    /* NULL: the module's .target */
    const char *machine; /* NULL: the device as the table has it */
    CommandOutput output;
    bool assembler_given, assembler_none;
    AssemblerKind assembler;
    unsigned registers; /* 0: the assembler's figure */
    bool estimate; /* do not run the launch */
    bool listing;  /* print the machine code */
    bool accesses; /* print each memory access */
} CostOptions;

/* The same for "ptxopt cost". */
OptionsOutcome cost_options_parse(Arena *arena, int argc, char *const *argv, CostOptions *options, const char **error);
const char *cost_options_help(Arena *arena);

/* help_topic.c: what "help" prints of a command, or of an option of any command, with or without its dash; all for "".
 * NULL: there is no such topic, and options_help_hint() says what may have been meant: "; did you mean 'run'?" or
 * "". */
const char *options_help_topic(Arena *arena, const char *topic);
const char *options_help_hint(Arena *arena, const char *topic);

/* The options of the commands, as options_table() has the program's. */
const struct option *run_options_table(void);
const struct option *cost_options_table(void);

#endif
