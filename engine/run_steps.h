/* Declarations that the steps of one run share. */
#ifndef PTXOPT_ENGINE_RUN_STEPS_H
#define PTXOPT_ENGINE_RUN_STEPS_H

#include "engine/choose/choose.h"
#include "engine/judge/judge.h"
#include "engine/progress.h"
#include "engine/report/report.h"
#include "engine/run.h"
#include "options/options.h"

typedef struct Run {
    const Options *options;
    Source *source;
    FILE *messages;
    Arena *arena;
    Diag diag;
    Module *module;
    const char *arch;
    const SmLimits *sm; /* NULL: the architecture is unknown */
    Assembler *assembler;   /* NULL: none */
    AssemblerJudge judge;
    Progress progress; /* of the assembler, on a terminal */
    PipelineOptions pipeline;
    ChoiceContext choice;
    Assembly assembly; /* of the output */
    Assembly of_input; /* of the input; all zero: not made yet */
    struct LearnedRows *learned; /* -tune-from; NULL: not given */
    Report report;
    unsigned knobs;     /* options of the assembler that searches may try: opt/registers/moves/knobs.h */
    const char *const *controls; /* files of compiler controls that they may try; NULL ends them, and is none */
    bool skips;         /* an interrupt ended the searches before this kernel's */
    unsigned skipped;   /* the number of kernels for which that is so */
    bool changed;       /* some kernel differs from the input */
    bool lacks_assembler; /* there is none although fewer registers were requested: exit status 3 */
} Run;

static inline bool is_kernel(const Item *item)
{
    return item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

/* lower_version.c: replaces the source by one of the older PTX version that is asked for. */
void lower_version(Run *run);

/* The settings of a run that only looks at kernels, as a command has them. */
typedef struct RunSetting {
    const char *path; /* of the input, for messages */
    const char *arch; /* NULL: the module's .target */
    AssemblerKind assembler;
    bool assembler_given, assembler_none;
    const char *controls;    /* a file of compiler controls for ptxas; NULL: none */
    bool quiet;              /* no warnings */
    PathList python_folders; /* where assemblers are looked for, too */
    FILE *messages;          /* NULL: standard error */
} RunSetting;

/* Sets up such a run, without its source, and its options, which must live as long; run_close() ends it. */
void run_prepare(Run *run, Options *options, Arena *arena, const RunSetting *setting);

/* run_input.c: each prints an error and returns false if the run must end. */
bool read_module(Run *run);
bool names_exist(Run *run);
/* True if the label is in the kernel, as it was written. */
bool choose_arch(Run *run);
bool open_assembler(Run *run);
void run_close(Run *run); /* ends the assembler, if there is one */
bool read_launches(Run *run); /* and the machine file */
bool check_verify(const Run *run); /* that the files of -verify can be read, before anything takes time */
bool read_device(const Run *run, const char *machine_file, Device *device); /* the file may be NULL */

/* run_costs.c */
/* Finds the conditions for a kernel's costs: its launch, or its block size; false if neither is known. */
bool find_basis(const Run *run, const KernelReport *kernel, CostBasis *basis);
/* Predicts the kernel's time before and after, and warns of losses. */
void predict_costs(Run *run, KernelReport *kernel);

/* run_forms.c: -tune */
/* Makes the forms of a kernel that are predicted to be the fastest: what was chosen, which is in the kernel's request,
 * and those that the choice ranks next. The request is then 'plain', that for the kernel itself. */
void forms_make_tuned(Run *run, KernelReport *kernel, const KernelRequest *plain);
/* Makes the forms of which each launch is to take the first that pays, instead of the one that was chosen, unless more
 * than coarsening was chosen for that one. */
void forms_make_preferred(Run *run, KernelReport *kernel, const KernelRequest *plain);
/* Adds the forms of launches that were learned. */
void forms_make_learned(Run *run, KernelReport *kernel);
/* The hash of a kernel's content, under which its times are stored. */
uint64_t kernel_content_hash(const Run *run, const Function *kernel);
/* Appends the forms, and the table by which launch adapters find them. */
void forms_print_tuned(const Run *run, const KernelReport *kernel, Buf *out);
/* Drops all forms, because the assembler rejects the module with them, and warns. False if there are none. */
bool forms_drop_tuned(Run *run);

/* run_learned.c: -tune-from */
/* Reads the file; prints an error and returns false if the run must end. */
bool read_learned(Run *run);
/* If the file knows the kernel, and no option names it, requests the form that was measured to be the fastest. */
void follow_learned(Run *run, KernelReport *report);
/* Adds the words of a form to a request that was cleared (form_words.h). False, after a warning, if the kernel cannot
 * have the form: a word is not known, or the options do not allow it. */
bool follow_form(Run *run, const Function *kernel, const char *words, KernelRequest *request);
/* Warns that the form cannot be made. */
void warn_no_form(Run *run, const Function *kernel, const char *words);

/* run_kernels.c */
void run_kernels(Run *run);

/* run_restore.c: restores the kernels on which the assembler crashes, with a warning. False if there are none. */
bool restore_broken_kernels(Run *run);

/* run_check.c */
/* True if something requested by the name of a kernel or a loop was refused: exit status 3. */
bool is_refused_by_name(const Run *run);
/* Calls bug() if results, module and products disagree about what was done to a kernel. */
void check_products(const Run *run, const Products *products);

/* run_assemble.c: assembles the output, or the input, as assembler_run() does. */
bool run_assemble(Run *run, const AssemblyRequest *request, bool is_output, Assembly *assembly);

/* run_output.c */
/* If the input is to be assembled anyway, for the report or because it is written, assembles it now and hands the
 * figures of its only kernel to the judge. */
void answer_input(Run *run, const Function *kernel);
void print_module(const Run *run, Products *products);
ExitStatus assemble_output(Run *run, Products *products);
ExitStatus verify_output(Run *run, const Products *products);
/* Figures and occupancy of all kernels, before and after. */
void complete_figures(Run *run, const Products *products);
void make_report(Run *run, Products *products);
void print_summary(const Run *run);
void note_launches(Run *run);
/* run_controls.c: sets 'controls', after warnings about files that are skipped. */
void find_controls(Run *run);

/* The assembler options that the output is for, as in opt/registers/moves/knobs.h. */
unsigned output_knobs(const Run *run);
const char *output_controls(const Run *run);
void note_knobs(Run *run);

#endif
