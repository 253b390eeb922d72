/* The commands of `ptxopt`, their command lines and their help. */
#ifndef PTXOPT_CLI_COMMANDS_H
#define PTXOPT_CLI_COMMANDS_H

#include "emulator/emulator.h"
#include "options/options.h"
#include "stats/stats.h"
#include "view/view.h"

/* The functions of each row of cli/commands.def: main_NAME executes a command line whose argv[1] is the name, and
 * returns the exit status; NAME_options_table has the rows of its options, none if it has no options; NAME_options_help
 * is the text of its -help, in the arena. */
#define COMMAND(name, arguments, remark)                  \
    int main_##name(Arena *arena, int argc, char **argv); \
    const OptionRow *name##_options_table(void);          \
    const char *name##_options_help(Arena *arena);
#include "cli/commands.def"

typedef struct Command {
    const char *name, *arguments, *remark;
    int (*main)(Arena *arena, int argc, char **argv);
    const OptionRow *(*options)(void);
    const char *(*help)(Arena *arena);
} Command;

/* Ends with a row without a name. */
extern const Command commands[];

/* The command of this name, or NULL. */
const Command *command_find(const char *name);
/* The first line of a command's help. */
const char *command_usage(Arena *arena, const char *name);
/* For a command line that does not ask for a run: prints the help, the version, or the error. Returns the exit
 * status. */
int command_finish(OptionsOutcome outcome, const char *command, const char *help, const char *error);
/* Prints to standard output; the exit status. */
int command_print(const char *text);

/* The path of the first of these files or folders that can be read; they are relative to the folder of this program. In
 * the arena; NULL: there is none. */
const char *find_beside_program(Arena *arena, const char *const *places, size_t count);

/* The text of the program's own -help. */
const char *options_help(Arena *arena);

/* The place and the form of what a command prints. */
typedef struct CommandOutput {
    const char *file; /* NULL: standard output */
    bool json;
    bool quiet; /* no warnings */
} CommandOutput;

/* Writes what a command has printed to its place; the exit status. */
int command_write(Arena *arena, const CommandOutput *output, const Buf *printed);

/* The words of a command line that are not options. */
typedef VEC(const char *) CommandFiles;

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
    bool sample;   /* run a part of the launch */
    bool estimate; /* do not run the launch */
    bool listing;  /* print the machine code */
    bool accesses; /* print each memory access */
} CostOptions;

/* The same for "ptxopt cost". */
OptionsOutcome cost_options_parse(Arena *arena, int argc, char *const *argv, CostOptions *options, const char **error);

/* ptxopt view [options] FILE [-- OPTION...] */
typedef struct ViewOptions {
    const char *input;
    CommandFiles files;      /* with 'report': all of them */
    bool report;             /* a page about a run over all kernels */
    const char *runs;        /* with 'report': a list of what runs wrote (docs/formats.md); NULL: none */
    const char *before;      /* a file with the kernel before a change; NULL: none */
    ViewRequest request;
    CommandOutput output;
    uint64_t width;          /* columns; 0: the terminal's */
    char *const *changes; /* after "--": the options of a run whose result is compared with the input; NULL: none */
    int change_count;
} ViewOptions;

/* The same for "ptxopt view". */
OptionsOutcome view_options_parse(Arena *arena, int argc, char *const *argv, ViewOptions *options, const char **error);

/* The form of a table. */
typedef enum StatsFormat { STATS_TEXT, STATS_TSV, STATS_JSON, STATS_GITHUB } StatsFormat;

/* ptxopt stats [options] FILE..., and ptxopt diff [options] BASE NEW */
typedef struct StatsOptions {
    CommandFiles files;
    StatsRequest request;
    CommandFiles launches; /* files, which the command reads into the request */
    VEC(const StatsCondition *) conditions;
    const char *output; /* NULL: standard output */
    StatsFormat format;
    bool lists_all; /* diff: also kernels that did not change */
} StatsOptions;

/* The same for "ptxopt stats" and "ptxopt diff", one of which the command is. */
OptionsOutcome stats_options_parse(Arena *arena, int argc, char *const *argv, StatsOptions *options,
                                   const char **error);
OptionsOutcome diff_options_parse(Arena *arena, int argc, char *const *argv, StatsOptions *options,
                                  const char **error);

#endif
