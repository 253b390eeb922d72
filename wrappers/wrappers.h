/* wrappers: programs that replace ptxas and nvcc in a build, and run ptxopt on the way.
 *
 * ptxopt-ptxas has the command line of ptxas; ptxopt-nvcc has that of nvcc, which calls it back in place of ptxas.
 *
 * The files in the order of their calls, each calling only those before it: words.c, find.c, process.c; flags.c,
 * help.c, ptxas_line.c; names.c, beside.c; transform.c; build_stats.c; split_ptxas.c; assemble.c; nvcc_line.c,
 * nvcc_adapt.c, nvcc_dryrun.c; main_ptxas.c and main_nvcc.c. */
#ifndef PTXOPT_WRAPPERS_H
#define PTXOPT_WRAPPERS_H

#include "options/options.h"
#include "support/support.h"

/* words.c: command lines as lists of words. */

typedef VEC(const char *) Words;

void words_add(Arena *arena, Words *words, const char *word);
void words_add_all(Arena *arena, Words *words, const Words *more);
/* The words for exec(): NULL, which is not counted, follows the last. */
char **words_argv(Arena *arena, Words *words);

typedef enum Quoting {
    QUOTING_SHELL,  /* as in a shell: '...', "..." and backslashes */
    QUOTING_OPTIONS /* as in an options file of ptxas or nvcc: "..." and backslashes */
} Quoting;

/* Splits at white space, and appends the words. Returns NULL, or the error in the text. */
const char *words_split(Arena *arena, const char *text, Quoting quoting, Words *words);
/* The word as a shell reads it. */
const char *word_quoted(Arena *arena, const char *word);
/* "-NAME" or "--NAME", alone or followed by '=': the text after '=', or "". NULL if it is another word. */
const char *word_option(const char *word, const char *name);
bool word_is_one_of(const char *word, const char *const *names, size_t count);
/* Appends the words to 'all', with option files (-optf FILE, --options-file FILE) replaced by their words. *expanded:
 * there are option files. Returns NULL, or an error message. */
const char *words_expand_files(Arena *arena, const Words *words, Words *all, bool *expanded);

/* find.c: the programs that the wrappers replace. */

/* The path of the real program 'name' ("ptxas"): the file that the environment variable names, or the one of that
 * name in the folder that it names; 'first', if not NULL, in the same way; the first of that name on PATH; the one
 * in $CUDA_HOME/bin, $CUDA_PATH/bin and /usr/local/cuda/bin; a ptxas also where assembler/assembler.h says. Never a
 * file that is the running program. NULL, with *error, if there is none. */
const char *find_real(Arena *arena, const char *name, const char *variable, const char *first, const char **error);
/* The folder with Triton's assemblers, if the process that called this program has loaded Triton; else NULL. */
const char *triton_of_caller(Arena *arena);
/* Must be called before a real program is run. Returns the number of ptxopt's programs that run each other, which the
 * environment variable counts: 0 if none of them runs this one; -1 if they run each other without end. */
int enter_real(Arena *arena, const char *variable);
/* The running program's own path; NULL if it is not known. */
const char *own_path(Arena *arena);
/* True if both names lead to the same file. */
bool same_file(const char *one, const char *other);
/* The folder of a path: "." if it names none. */
const char *folder_of(Arena *arena, const char *path);

/* process.c: running programs, and a folder for their files. */

/* Begins a program: sets its name in messages, and does what every program of ptxopt's needs. */
void wrapper_begin(const char *name);
/* Prints "PROGRAM: LABEL: ..." and a line end to standard error. */
void say(const char *label, const char *format, ...) PRINTF_LIKE(2, 3);

/* Replaces this program. Returns only if that fails, with the exit status for the message that it has printed. */
int replace_with(Arena *arena, Words *command);
/* Runs a command and waits. 'log', unless NULL, gets its standard output and standard error, in two buffers. Returns
 * its exit status; 128 plus the signal that ended it; 127 if it was not started, after a message. */
typedef struct Log {
    Buf output, errors;
} Log;
int run_command(Arena *arena, Words *command, Log *log);
/* The same for a function of this program, in a child process. */
int run_function(int (*function)(void *context), void *context, Log *log);
/* Prints a log to standard output and standard error, and empties it. */
void log_print(Log *log);
void log_free(Log *log);

/* Makes a folder in $TMPDIR, which is removed by folder_remove, or when a signal ends the program. NULL, with *error in
 * the arena, if it cannot be made. Only one may exist at a time. */
const char *folder_make(Arena *arena, const char **error);
void folder_remove(void);

/* flags.c: the options for ptxopt. */

typedef struct Flags {
    Words words;         /* of ptxopt's command line */
    bool is_default;     /* no options were given */
    bool is_strict;      /* failing is an error */
    bool coarsens;       /* launches must be adapted */
    bool launches_adapted; /* and the user says that they are */
    bool keeps_names;    /* a coarsened kernel gets another name, and its original keeps the kernel's (beside.c) */
    SplitOption split;   /* the real ptxas runs on parts, or with a time limit */
    bool tries_knobs;    /* ptxopt searches for ptxas options, which must then be given with the result */
    const char *problem; /* the error in the words; or NULL */
} Flags;

/* True if an environment variable is set, and not to 0. */
bool variable_is_on(const char *variable);
/* The flags from $PTXOPT_FLAGS, or else from ptxopt.json in the current folder, or else in the folder of 'input' (NULL:
 * none). */
Flags flags_of_environment(Arena *arena, const char *input);
/* The reason why coarsening is wrong for programs that load the code themselves; NULL if their launches are adapted.
 * 'word' is the way to say so. */
const char *flags_check_launches(Arena *arena, const Flags *flags, const char *word);
/* Completes flags whose words are known, by parsing them as ptxopt does. Without words, takes the default ones. */
void flags_check(Arena *arena, Flags *flags);

/* help.c: the wrappers' own help, before NVIDIA's. */

bool asks_for_help(int argc, char **argv);
void nvcc_help(void);
void ptxas_help(void);

/* ptxas_line.c: the command line of ptxas. */

typedef struct PtxasLine {
    Words words;          /* all of them, with those of option files; words.data[0] is the first option */
    VEC(size_t) inputs;   /* indices of words */
    bool has_option_file; /* 'words' differ from those given */
    bool only_asks;       /* asks for the version, the help ... */
    bool is_debug;        /* -g or -O0 */
    bool is_verbose;      /* -v */
    const char *arch;     /* NULL: not given */
    const char *output;   /* what ptxas writes */
    Words judge;          /* options that affect the code */
    Words plain;          /* options without those for inputs, output, architecture, level, and -v */
    const char *level;    /* of optimization; NULL: not given */
    const char *whole;    /* the option for which the module must be assembled whole; NULL: there is none */
} PtxasLine;

/* Returns NULL, or an error; ptxas then has its own message for it. */
const char *ptxas_line_parse(Arena *arena, const Words *words, PtxasLine *line);

/* names.c: kernels, and options that name them. */

/* Adds the names of a PTX text's kernels. */
void names_of_ptx(Arena *arena, const Source *ptx, Words *kernels);
/* Append names to a file, and read those in it. */
void names_note(Arena *arena, const char *path, const Source *ptx);
void names_read(Arena *arena, const char *path, Words *kernels);
/* True if options of ptxopt name kernels that must exist. */
bool names_are_given(Arena *arena, const Words *flags);
/* True if each of these is one of 'kernels'; prints a message for each that is not: "LABEL: -coarsen: OF has no kernel
 * ..." */
bool names_check(Arena *arena, const Words *flags, const Words *kernels, const char *label, const char *of);

/* beside.c: names of coarsened kernels in host code that adapts its launches. */

/* Renames the kernels in a file of PTX that 'ptxopt -keep-original' wrote. Returns NULL, or an error message. */
const char *put_beside(Arena *arena, const char *path);

/* transform.c: ptxopt on one file. */

typedef struct Request {
    const Flags *flags;
    const Words *judge; /* options for ptxas */
    const char *arch;   /* "sm_90"; NULL: the PTX's own */
    const char *ptxas;  /* path */
    const char *source; /* the file that the input was compiled from, for messages; NULL: the input itself */
    const char *knobs;  /* the file for the options that -knobs finds; NULL: a note names them */
} Request;

/* Writes ptxopt's output for 'input' to 'output'. Returns ptxopt's exit status (0: done; 3: done, but something
 * requested by name was refused), its messages in *log. */
int transform(Arena *arena, const Request *request, const char *input, const char *output, Log *log);

/* build_stats.c: the table that $PTXOPT_STATS names. */

/* True if there is to be one. */
bool build_stats_wanted(void);
/* Moves what ptxas prints for -v alone from its log to the end of *verbose. */
void build_stats_take(Arena *arena, Log *log, Buf *verbose);
/* Adds the kernels of a cubin that was made of 'source', with what -v told about them. Warns if that fails. */
void build_stats_add(Arena *arena, const char *source, const char *cubin, const Buf *verbose);

/* split_ptxas.c: the real ptxas on parts of a module (split/), or with a time limit. */

typedef struct Splitting {
    const SplitOption *option;
    const PtxasLine *line;
    const char *ptxas; /* path */
    const char *input; /* path */
    const Words *knobs; /* more options */
} Splitting;

/* True if that is asked for, and options allow it. */
bool splitting_wanted(const SplitOption *option, const PtxasLine *line);
/* Runs it as run_command() would run ptxas, -v included. */
int split_ptxas(const Splitting *splitting, Log *log);

/* assemble.c: one call of ptxas, with ptxopt before it. */

typedef struct Assembling {
    const char *ptxas;      /* path */
    Words words;            /* of the command line of ptxas, without its name */
    const Flags *flags;     /* NULL: those of the environment */
    bool in_place;          /* inputs that nvcc made are rewritten, because nvcc embeds them after this call */
    bool kept;              /* nvcc was told to keep them, so that they have no names of their own */
    const Words *protected; /* files that are never written: the user's; or NULL */
    const Words *sources;   /* the files that nvcc compiles; or NULL */
    const char *names;      /* a file for the names of kernels; or NULL */
} Assembling;

/* Runs the call. Returns the exit status for the program. */
int assemble(Arena *arena, const Assembling *assembling);
/* Replaces this program by the real ptxas with the same command line. */
int assemble_plainly(Arena *arena, const Assembling *assembling);
/* Rewrites a file of PTX that nvcc has written. Returns the exit status. */
int rewrite(Arena *arena, const Request *request, const char *path);

/* nvcc_line.c: the command line of nvcc. */

typedef struct NvccLine {
    Words words;       /* for nvcc: without the words for ptxopt */
    Words flags;       /* for ptxopt */
    Words ptxas;       /* the options for ptxas among them */
    Words ptx_files;   /* words that name PTX */
    Words sources;     /* words that name other inputs */
    const char *output, *output_folder; /* or NULL */
    bool asks_only;    /* -dryrun, -version ...: nothing is compiled */
    bool is_dryrun;
    bool makes_ptx;    /* -ptx */
    bool makes_module; /* device code alone: -ptx, -cubin, -fatbin */
    bool keeps;        /* -keep, -save-temps */
    bool makes_objects; /* -c, -dc ...: other calls make other parts of the program */
    bool links_late;   /* code is optimized when linking */
    bool has_prefix;   /* --ptxas-prefix */
    bool launches_adapted;
    bool is_strict;
    const char *error; /* or NULL */
} NvccLine;

void nvcc_line_parse(Arena *arena, const Words *words, NvccLine *line);

/* nvcc_dryrun.c: nvcc's steps, for tools that run them themselves. */

typedef struct Step {
    const char *link;   /* the program that takes the compiler's place, and has its name */
    const char *ptxas;  /* path */
    const Flags *flags;
    const Words *judge; /* options for ptxas */
} Step;

/* Replaces the compiler in the output of -dryrun. */
void dryrun_replace(Arena *arena, const Step *step, Buf *printed);
/* Runs the step: the real compiler, then ptxopt. Returns the exit status. */
int run_compiler(Arena *arena, int argc, char **argv);

/* nvcc_adapt.c: the launch adapter (runtime/) of programs that nvcc builds. */

/* Adds the options that put the adapter into the host code to a command line of nvcc. Returns NULL, or the missing
 * file. */
const char *adapter_add(Arena *arena, Words *command);
/* The path of one of our files, installed or in the tree; NULL if there is none. */
const char *find_own(Arena *arena, const char *name);

#endif
