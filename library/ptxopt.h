/* libptxopt: changes PTX so that kernels need fewer threads and registers, like the program ptxopt.
 *
 *     ptxopt_options *options = ptxopt_options_new();
 *     ptxopt_options_set(options, "coarsen", "2");
 *     ptxopt_module *module = ptxopt_module_from_text("k.ptx", text, length);
 *     ptxopt_result *result = ptxopt_run(module, options);
 *     if (ptxopt_result_status(result) == PTXOPT_DONE)
 *         use(ptxopt_result_ptx(result, NULL), ptxopt_result_contract(result));
 *     ptxopt_result_free(result); ptxopt_module_free(module); ptxopt_options_free(options);
 *
 * The library has no state of its own: objects may be used in any thread. Any number of runs at once may share a module
 * and options, as long as the options do not change. It never ends the process and prints nothing; it installs no
 * signal handlers. Assemblers run in child processes. A text that a function returns belongs to the object that it came
 * from, ends with a NUL, and is UTF-8 unless the input is not.
 *
 * Later additions go to the ends of structures and enumerations, and get new symbol versions. */
#ifndef PTXOPT_H
#define PTXOPT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit statuses of the program, and two more. */
typedef enum ptxopt_status {
    PTXOPT_DONE = 0,
    PTXOPT_INPUT = 1,      /* the PTX is wrong, or an assembler is needed and none was found */
    PTXOPT_USAGE = 2,      /* an option does not fit the module */
    PTXOPT_REFUSED = 3,    /* as PTXOPT_DONE, but a request by kernel name was refused, or fewer registers were
                            * requested and there is no assembler */
    PTXOPT_REJECTED = 4,   /* the assembler rejects the output: there is none */
    PTXOPT_DIFFERENT = 5,  /* "verify" found a difference: there is only a report */
    PTXOPT_UNVERIFIED = 6, /* "verify" could not run the kernel: there is only a report */
    PTXOPT_NO_MEMORY = 7,
    PTXOPT_BUG = 8 /* a bug in this library; the last diagnostic says where */
} ptxopt_status;

/* "0.2.0" */
const char *ptxopt_version(void);

typedef struct ptxopt_options ptxopt_options;
typedef struct ptxopt_module ptxopt_module;
typedef struct ptxopt_result ptxopt_result;

/* Diagnostics. */

typedef enum ptxopt_severity { PTXOPT_NOTE, PTXOPT_WARNING, PTXOPT_ERROR } ptxopt_severity;

typedef struct ptxopt_diagnostic {
    ptxopt_severity severity;
    const char *name;      /* of the module; NULL: the message is not about a place in it */
    unsigned line, column; /* from 1; 0: not known */
    const char *message;   /* one line in most cases */
    const char *text;      /* as the program prints it, with the line of the source */
} ptxopt_diagnostic;

/* Called in the thread of ptxopt_run, at its end, for each diagnostic in order. It may leave by an exception or
 * longjmp, but the result is then lost. */
typedef void (*ptxopt_diagnostic_function)(void *context, const ptxopt_diagnostic *diagnostic);

/* Options. */

/* New options; NULL: no memory. */
ptxopt_options *ptxopt_options_new(void);
/* NULL is allowed. */
void ptxopt_options_free(ptxopt_options *options);
/* Sets an option of the program by its name without a dash, "coarsen" or "target-regs", to its value, or NULL if it has
 * none. Options that may be repeated add to each other, others replace. Options that name output files or only print
 * are not for the library; "report-format" is "json" unless set. Returns PTXOPT_DONE, PTXOPT_USAGE or PTXOPT_NO_MEMORY;
 * ptxopt_options_error then gives the reason. */
ptxopt_status ptxopt_options_set(ptxopt_options *options, const char *name, const char *value);
/* The error in the last option that was set; NULL if there was none. */
const char *ptxopt_options_error(const ptxopt_options *options);
/* Requests the assembled result too. */
void ptxopt_options_want_cubin(ptxopt_options *options, int wanted);
/* Also looks for NVIDIA's assembler in this folder of Python packages ("/usr/lib/python3/dist-packages"): in NVIDIA's
 * wheels, and in Triton's files. May be repeated. The text is copied. Returns PTXOPT_DONE or PTXOPT_NO_MEMORY. */
ptxopt_status ptxopt_options_python_folder(ptxopt_options *options, const char *folder);
/* Sets the function that receives diagnostics; NULL: none does. */
void ptxopt_options_on_diagnostic(ptxopt_options *options, ptxopt_diagnostic_function function, void *context);

/* Modules. */

/* PTX under a name for messages. The text is not copied: it must stay as it is while the module exists. It is read in
 * each run, which reports its errors. A NUL at its end is ignored. NULL: no memory. */
ptxopt_module *ptxopt_module_from_text(const char *name, const char *text, size_t length);
/* NULL is allowed. */
void ptxopt_module_free(ptxopt_module *module);

/* Runs. */

/* Runs the options on the module. NULL only without memory; check the result's status first. The result is independent
 * of the module and the options. */
ptxopt_result *ptxopt_run(const ptxopt_module *module, const ptxopt_options *options);
/* NULL is allowed. */
void ptxopt_result_free(ptxopt_result *result);

ptxopt_status ptxopt_result_status(const ptxopt_result *result);
/* The PTX, with a NUL after its *length bytes; 'length' may be NULL. NULL, unless the status is PTXOPT_DONE or
 * PTXOPT_REFUSED. */
const char *ptxopt_result_ptx(const ptxopt_result *result, size_t *length);
/* The cubin; NULL unless it was requested, there is an assembler, and there is PTX. */
const void *ptxopt_result_cubin(const ptxopt_result *result, size_t *length);
/* The launch contract of the coarsened kernels, as JSON (docs/formats.md); NULL unless there is PTX. */
const char *ptxopt_result_contract(const ptxopt_result *result);
/* The ptxas options that the PTX is meant for, which it cannot contain, as found by the option 'knobs', separated by
 * spaces. "" if there are none; NULL unless there is PTX. */
const char *ptxopt_result_assembler_options(const ptxopt_result *result);
/* The report; NULL if there is none. */
const char *ptxopt_result_report(const ptxopt_result *result);

/* The assembler's figures of a kernel. */
typedef struct ptxopt_figures {
    int known;                                     /* 0: all others are 0 */
    unsigned registers;                            /* of each thread, 32-bit */
    unsigned warps_per_sm;                         /* resident at once; 0: not known */
    unsigned long long spill_stores, spill_loads;  /* bytes, of instructions in the code */
    unsigned long long stack, shared;              /* bytes of each thread; static bytes of each block */
    unsigned long long instructions;               /* of machine code */
} ptxopt_figures;

typedef struct ptxopt_kernel {
    const char *name;
    int coarsened;           /* 1: it must be launched by its contract */
    unsigned factor[3];      /* along x, y, z; 1 each unless it is coarsened */
    int registers_reduced;
    double predicted_speedup; /* 0: not known */
    const char *refusal; /* why it is not coarsened, or its registers are not reduced, although requested; or NULL */
    ptxopt_figures before, after;
    double predicted_low, predicted_high; /* nine of ten such changes have speedups between them; 0: not known */
} ptxopt_kernel;

/* The kernels that the options select, in their order in the module; none if there is no report. */
size_t ptxopt_result_kernel_count(const ptxopt_result *result);
/* Fills the first 'size' bytes of *kernel: sizeof(ptxopt_kernel) of the caller's header. Returns 1, or 0 if there is no
 * kernel of that index. */
int ptxopt_result_kernel(const ptxopt_result *result, size_t index, ptxopt_kernel *kernel, size_t size);

/* Executions: kernels in an emulator, which needs no GPU. Each instruction that the emulator knows computes what the
 * PTX ISA says, and every access is checked (docs/emulator.md).
 *
 *     float a[256] = {0}; int n = 256; void *pa = a;
 *     ptxopt_memory memory = {"a", a, sizeof a};
 *     const void *arguments[] = {&pa, &n};
 *     ptxopt_launch launch = {.grid = {1}, .block = {256}, .arguments = arguments, .argument_count = 2,
 *                             .memories = &memory, .memory_count = 1};
 *     ptxopt_execution *execution = ptxopt_execute(module, &launch, sizeof launch);
 *     if (ptxopt_execution_status(execution) != PTXOPT_DONE)
 *         puts(ptxopt_execution_message(execution));
 *     ptxopt_execution_free(execution); */

/* Memory of the caller that a kernel may access, at the address that it has: a pointer to it is a parameter's value. */
typedef struct ptxopt_memory {
    const char *name; /* in messages; NULL: none */
    void *bytes;
    size_t size;
} ptxopt_memory;

/* Checks beside those of bounds, alignment, barriers and waiting for ever. */
typedef enum ptxopt_check {
    PTXOPT_CHECK_RACES = 1,     /* two unordered accesses to a byte, one of them a write */
    PTXOPT_CHECK_REGISTERS = 2, /* reads of registers that were never written */
    PTXOPT_CHECK_DIVISION = 4,  /* integer divisions by zero, whose results are unspecified */
    PTXOPT_COUNT_MEMORY = 8     /* counters of sectors, lines and bank conflicts */
} ptxopt_check;

/* A launch, as for cuLaunchKernel. Members that do not matter are zero. */
typedef struct ptxopt_launch {
    const char *kernel;           /* as the module or C++ names it; NULL: the only one of the module */
    unsigned grid[3], block[3];   /* blocks, and threads of each; 0 counts as 1. Those of the original, if the kernel is
                                   * coarsened: its contract is applied */
    size_t dynamic_shared;        /* bytes of each block */
    const void *const *arguments; /* for each parameter, a pointer to its value */
    size_t argument_count;
    const ptxopt_memory *memories; /* all memory that the kernel may access, besides the module's own variables */
    size_t memory_count;
    unsigned checks; /* ptxopt_check, added */
    unsigned cores;  /* that may be used if that cannot change the results; 0: one */
} ptxopt_launch;

typedef struct ptxopt_execution ptxopt_execution;

/* Runs the kernel to its end, in this thread, with variables of the module at their initial values. 'size' is
 * sizeof(ptxopt_launch) of the caller's header. NULL only without memory; check the status first. */
ptxopt_execution *ptxopt_execute(const ptxopt_module *module, const ptxopt_launch *launch, size_t size);
/* NULL is allowed. */
void ptxopt_execution_free(ptxopt_execution *execution);

/* PTXOPT_DONE; PTXOPT_INPUT: the PTX is wrong; PTXOPT_USAGE: the launch does not fit it; PTXOPT_DIFFERENT: the kernel
 * did something forbidden, and memory is as it then was; PTXOPT_UNVERIFIED: it has an instruction that is not
 * supported, and nothing ran; or PTXOPT_NO_MEMORY, PTXOPT_BUG. */
ptxopt_status ptxopt_execution_status(const ptxopt_execution *execution);
/* The error, with its place; NULL if there is none. */
const char *ptxopt_execution_message(const ptxopt_execution *execution);
/* The text that the kernel printed by vprintf. */
const char *ptxopt_execution_output(const ptxopt_execution *execution);
/* The counters as JSON (docs/formats.md, "Counters"); NULL if nothing ran. */
const char *ptxopt_execution_counters(const ptxopt_execution *execution);

/* The place of a fault. */
typedef struct ptxopt_fault {
    const char *kind;                        /* "out of bounds", "race" ...; NULL: none */
    const char *kernel, *function;           /* NULL: unknown */
    const char *source;                      /* "k.cu:12"; NULL: unknown */
    unsigned line, column;                   /* in the PTX, from 1; 0: unknown */
    int has_thread;
    unsigned block[3], thread[3];            /* of the first thread */
} ptxopt_fault;

/* Fills the first 'size' bytes of *fault: sizeof(ptxopt_fault) of the caller's header. */
void ptxopt_execution_fault(const ptxopt_execution *execution, ptxopt_fault *fault, size_t size);

/* A parameter of a kernel. */
typedef struct ptxopt_parameter {
    char type[8]; /* "u64", "f32"; of one element, if it has more bytes */
    size_t size;  /* bytes */
} ptxopt_parameter;

/* Describes the parameters of a kernel (NULL: the only one), the first 'count' of them. Returns how many there are, or
 * -1 if the PTX is wrong or has no such kernel. */
int ptxopt_module_parameters(const ptxopt_module *module, const char *kernel, ptxopt_parameter *parameters,
                             size_t count);

/* Pictures of the registers of a kernel's machine code (docs/view.md). They need an assembler and nvdisasm. */

typedef struct ptxopt_picture ptxopt_picture;

/* The picture of a kernel; or, unless 'after' is NULL, of the kernel there, with the changes since 'module'. The
 * options "entry", "arch", "block", "dynamic-shared", "launch" (the last one), "assembler" and "q" matter. Diagnostics
 * go to the options' function. NULL only without memory; check the status first. */
ptxopt_picture *ptxopt_view(const ptxopt_module *module, const ptxopt_module *after, const ptxopt_options *options);
/* NULL is allowed. */
void ptxopt_picture_free(ptxopt_picture *picture);
/* PTXOPT_DONE, PTXOPT_INPUT, PTXOPT_NO_MEMORY or PTXOPT_BUG. */
ptxopt_status ptxopt_picture_status(const ptxopt_picture *picture);
/* The picture as text, in lines of any width; NULL unless the status is PTXOPT_DONE. */
const char *ptxopt_picture_text(const ptxopt_picture *picture);
/* The picture as one HTML file, which needs no other; NULL as for the text. */
const char *ptxopt_picture_page(const ptxopt_picture *picture);

#ifdef __cplusplus
}
#endif

#endif
