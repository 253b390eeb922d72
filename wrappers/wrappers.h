/* wrappers: programs that take the place of ptxas and nvcc in a build, and run ptxopt on the way.
 *
 * ptxopt-ptxas has the command line of ptxas; ptxopt-nvcc has that of nvcc, which calls it back in place of ptxas.
 *
 * The files in the order of their calls, each calling only those above it: words.c, find.c, process.c; flags.c, help.c,
 * ptxas_line.c; names.c, beside.c; transform.c; assemble.c; nvcc_line.c, nvcc_adapt.c,
 * nvcc_dryrun.c; main_ptxas.c and main_nvcc.c. */
#ifndef PTXOPT_WRAPPERS_H
#define PTXOPT_WRAPPERS_H

#include "support/support.h"

/* words.c: command lines as lists of words. */

typedef VEC(const char *) Words;

void words_add(Arena *arena, Words *words, const char *word);
void words_add_all(Arena *arena, Words *words, const Words *more);
/* For exec(): after the last word comes NULL, which is not counted. */
char **words_argv(Arena *arena, Words *words);

typedef enum Quoting {
    QUOTING_SHELL,  /* as a shell: '...', "..." and backslashes */
    QUOTING_OPTIONS /* as an options file of ptxas or nvcc: "..." and backslashes */
} Quoting;

/* Splits at white space, and appends the words. Returns NULL, or what is wrong with the text. */
const char *words_split(Arena *arena, const char *text, Quoting quoting, Words *words);
/* The word as a shell reads it. */
const char *word_quoted(Arena *arena, const char *word);
/* "-NAME" or "--NAME", alone or followed by '=': what follows '=', or "". NULL if it is another word. */
const char *word_option(const char *word, const char *name);
bool word_is_one_of(const char *word, const char *const *names, size_t count);
/* The words with those of option files (-optf FILE, --options-file FILE) in their places. *expanded says whether there
 * are any. Returns NULL, or what is wrong. */
const char *words_expand_files(Arena *arena, const Words *words, Words *all, bool *expanded);

/* find.c: the programs that the wrappers replace. */

/* The path of the real program 'name' ("ptxas"): the file that the environment variable names, or the one of that
 * name in the folder that it names; 'first', if not NULL, in the same way; the first of that name on PATH; the one
 * in $CUDA_HOME/bin, $CUDA_PATH/bin and /usr/local/cuda/bin; a ptxas also where assembler/assembler.h says. Never a
 * file that is the running program. NULL, with *error, if there is none. */
const char *find_real(Arena *arena, const char *name, const char *variable, const char *first, const char **error);
/* The folder with Triton's assemblers, if the process that called this program is one that has loaded Triton; or
 * NULL. */
const char *triton_of_caller(Arena *arena);
/* To be called before a real program is run. Returns how many programs of ptxopt's run each other, the environment
 * variable counts them: 0 if none of them runs this one; -1 if they run each other without end. */
int enter_real(Arena *arena, const char *variable);
/* The running program's own path; NULL if it is not known. */
const char *own_path(Arena *arena);
/* Whether both names lead to the same file. */
bool same_file(const char *one, const char *other);
/* The folder of a path: "." if it names none. */
const char *folder_of(Arena *arena, const char *path);

/* process.c: running programs, and a folder for their files. */

/* At the start of a program: its name in messages, and what every program of ptxopt's needs. */
void wrapper_begin(const char *name);
/* "PROGRAM: LABEL: ..." and a line end, to standard error. */
void say(const char *label, const char *format, ...) PRINTF_LIKE(2, 3);

/* Replaces this program. Returns only if that fails, with the exit status for the message that it has printed. */
int replace_with(Arena *arena, Words *command);
/* Runs a command and waits. 'log', unless NULL, gets what it prints to both standard outputs, in two buffers. Returns
 * its exit status; 128 plus the signal that ended it; 127 if it was not started, after a message. */
typedef struct Log {
    Buf output, errors;
} Log;
int run_command(Arena *arena, Words *command, Log *log);
/* The same for a function of this program, in a child process. */
int run_function(int (*function)(void *context), void *context, Log *log);
/* Prints a log where it belongs, and empties it. */
void log_print(Log *log);
void log_free(Log *log);

/* A new folder in $TMPDIR, removed by folder_remove, and when a signal ends the program. NULL, with *error in the
 * arena, if it cannot be made. One at a time. */
const char *folder_make(Arena *arena, const char **error);
void folder_remove(void);

/* flags.c: what ptxopt is asked to do. */

typedef struct Flags {
    Words words;         /* of ptxopt's command line */
    bool is_default;     /* nobody asked for anything */
    bool is_strict;      /* failing is an error */
    bool coarsens;       /* launches must be adapted */
    bool launches_adapted; /* and the user says that they are */
    bool keeps_names;    /* a coarsened kernel is beside its original, which keeps the name (beside.c) */
    bool tries_knobs;    /* options of ptxas are found that must be given with the result */
    const char *problem; /* what is wrong with the words; or NULL */
} Flags;

/* Whether an environment variable is set, and not to 0. */
bool variable_is_on(const char *variable);
/* From $PTXOPT_FLAGS, or else from ptxopt.json in the current folder, or else in the folder of 'input' (NULL: none). */
Flags flags_of_environment(Arena *arena, const char *input);
/* What is wrong with coarsening for programs that load the code themselves; NULL if their launches are adapted.
 * 'word' is how to say so. */
const char *flags_check_launches(Arena *arena, const Flags *flags, const char *word);
/* Completes flags of which the words are known, by ptxopt's own reading of them. No words: the default ones. */
void flags_check(Arena *arena, Flags *flags);

/* help.c: what the wrappers say about themselves, before NVIDIA's help. */

bool asks_for_help(int argc, char **argv);
void nvcc_help(void);
void ptxas_help(void);

/* ptxas_line.c: the command line of ptxas. */

typedef struct PtxasLine {
    Words words;          /* all of them, with those of option files; words.data[0] is the first option */
    VEC(size_t) inputs;   /* indices of words */
    bool has_option_file; /* 'words' differ from those given */
    bool only_asks;       /* for the version, the help ... */
    bool is_debug;        /* -g or -O0 */
    const char *arch;     /* NULL: not given */
    const char *output;   /* what ptxas writes */
    Words judge;          /* options that decide what code becomes of the PTX */
} PtxasLine;

/* Returns NULL, or what is wrong; ptxas then has its own message for it. */
const char *ptxas_line_parse(Arena *arena, const Words *words, PtxasLine *line);

/* names.c: kernels, and options that name them. */

/* Adds the names of a PTX text's kernels. */
void names_of_ptx(Arena *arena, const Source *ptx, Words *kernels);
/* Appends them to a file, and reads what is in it. */
void names_note(Arena *arena, const char *path, const Source *ptx);
void names_read(Arena *arena, const char *path, Words *kernels);
/* Whether options of ptxopt name kernels that must be there. */
bool names_are_given(Arena *arena, const Words *flags);
/* Whether each of these is one of 'kernels', and a message for each that is not: "LABEL: -coarsen: OF has no kernel
 * ..." */
bool names_check(Arena *arena, const Words *flags, const Words *kernels, const char *label, const char *of);

/* beside.c: names of coarsened kernels in host code that adapts its launches. */

/* Renames the kernels in a file of PTX that 'ptxopt -keep-original' wrote. Returns NULL, or what went wrong. */
const char *put_beside(Arena *arena, const char *path);

/* transform.c: ptxopt on one file. */

typedef struct Request {
    const Flags *flags;
    const Words *judge; /* options for ptxas */
    const char *arch;   /* "sm_90"; NULL: the PTX's own */
    const char *ptxas;  /* path */
    const char *source; /* what the input was compiled from, for messages; NULL: the input itself is meant */
    const char *knobs;  /* where the options that -knobs finds are written; NULL: a note names them */
} Request;

/* Writes what ptxopt makes of 'input' to 'output'. Returns ptxopt's exit status (0: done; 3: done, but something
 * requested by name was refused), its messages in *log. */
int transform(Arena *arena, const Request *request, const char *input, const char *output, Log *log);

/* assemble.c: one call of ptxas, with ptxopt before it. */

typedef struct Assembling {
    const char *ptxas;      /* path */
    Words words;            /* of the command line of ptxas, without its name */
    const Flags *flags;     /* NULL: those of the environment */
    bool in_place;          /* inputs that nvcc made are rewritten, because nvcc embeds them after this call */
    bool kept;              /* nvcc was told to keep them, so that they have no names of their own */
    const Words *protected; /* files that are never written: the user's; or NULL */
    const Words *sources;   /* what nvcc compiles; or NULL */
    const char *names;      /* a file for the names of kernels; or NULL */
} Assembling;

/* Returns the exit status for the program. */
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

/* In what -dryrun has printed, replaces the compiler. */
void dryrun_replace(Arena *arena, const Step *step, Buf *printed);
/* The step: the real compiler, then ptxopt. Returns the exit status. */
int run_compiler(Arena *arena, int argc, char **argv);

/* nvcc_adapt.c: the launch adapter (runtime/) of programs that nvcc builds. */

/* Adds to a command line of nvcc what makes the host code have the adapter. Returns NULL, or what is missing. */
const char *adapter_add(Arena *arena, Words *command);
/* A file of ours, where it is installed or in the tree; NULL if there is none. */
const char *find_own(Arena *arena, const char *name);

#endif
