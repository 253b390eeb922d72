/* The program's judge: forms are printed by emit/ and measured by assembler/. */
#ifndef PTXOPT_ENGINE_JUDGE_JUDGE_H
#define PTXOPT_ENGINE_JUDGE_JUDGE_H

#include <signal.h>

#include "assembler/assembler.h"
#include "engine/judge/figures_cache.h"
#include "engine/judge/form_cost.h"
#include "opt/opt.h"

/* The time for a search, which has parts that follow each other. */
typedef struct SearchTime {
    double begin, end; /* of all parts, on the monotonic clock; end 0: no limit */
    double part_begin, part_end; /* of the part in progress */
    double stage_end; /* of the stage that it is in */
    bool is_over;     /* the stage's time was over at the last check, or the user has ended the search */
    bool was_late;    /* some stage used up its time */
} SearchTime;

/* A Judge over one Assembler. Equal texts are assembled once, so a candidate with the same text as an earlier one, or
 * as one of an earlier run (engine/judge/figures_cache.h), costs nothing. */
typedef struct AssemblerJudge AssemblerJudge;
struct AssemblerJudge {
    const CostBasis *basis; /* the conditions for which times are predicted; NULL: times are unknown */
    Judge judge; /* judge.context is this structure: it must not move while in use */
    Assembler *assembler;
    const char *arch;    /* NULL: the one that the assembler was opened for */
    int opt_level;       /* of the assembler, 0 to 3; 3 unless changed after assembler_judge_init */
    unsigned timeout_ms; /* 0: ASSEMBLY_TIMEOUT_MS */
    Arena *arena;        /* the cache and the messages */
    Map entries;         /* figures by the text that was assembled: entries.c */
    unsigned calls;      /* runs of the assembler */
    unsigned repeats;    /* answers from the cache */
    double seconds;      /* spent in the assembler */
    struct JudgeRun *running; /* the texts being assembled, the oldest first */
    struct JudgeEntry *kept;  /* the texts whose machine code is kept */
    size_t kept_bytes;
    bool keeps_code; /* the machine code of what is measured is kept for predictions, also where 'basis' is not set */
    struct CountedForm *counted; /* the forms that text_cost() and machine_cost() have counted, the last one first */
    struct PredictedForm *predicted; /* the forms that predict() was called for, the last one first */
    FiguresCache cache;
    uint64_t setting; /* a hash of the assembler and its options; 0: not computed yet */
    SearchTime time;  /* all zero: no limit */
    EmulatorPoll poll; /* ends the emulator's counts when the search is over */
    struct Progress *progress; /* NULL: not shown */
    const volatile sig_atomic_t *interrupted; /* not 0: the user wants the search to end. NULL: no such requests */
};

/* 'assembler' and 'arena' are not owned and must outlive the judge; messages of its Figures live in 'arena'. */
void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler);

void assembler_judge_close(AssemblerJudge *judge);
/* limit.c: limits the next search to 'seconds'; infinity: no limit. */
void assembler_judge_limit(AssemblerJudge *judge, double seconds);
/* Begins a part of the search, which has to leave this share of the whole time to those after it; half of the rest, if
 * parts before it have taken more than theirs. Returns its seconds. */
double assembler_judge_part(AssemblerJudge *judge, double reserved);
/* Begins a stage, which has to leave this share of the part's time. */
void assembler_judge_stage(AssemblerJudge *judge, double reserved);
/* True if the stage's time is over, or the user wants the search to end. */
bool assembler_judge_is_over(AssemblerJudge *judge);
/* A poll that asks so, and shows how far the emulator is. */
EmulatorPoll assembler_judge_poll(AssemblerJudge *judge);
/* Waits for all texts being assembled. Until then, signals that would end the process stay pending. */
void assembler_judge_settle(AssemblerJudge *judge);
/* The same, and also frees the machine code that is kept; the figures stay. */
void assembler_judge_forget(AssemblerJudge *judge);
/* Records a form that has been assembled elsewhere as the judge would, apart from differences that do not change the
 * code. */
void assembler_judge_answer(AssemblerJudge *judge, const FunctionForm *form, const Assembly *assembly);
/* Machine code that belongs to the judge. */
typedef struct JudgeCubin {
    const void *data; /* NULL: it is not kept */
    size_t size;
    bool is_numbered; /* it was made of ptx_numbered() text */
} JudgeCubin;
/* entries.c: the machine code of a text that was measured for the kernel, with its knobs. */
JudgeCubin assembler_judge_cubin(AssemblerJudge *judge, const Source *text, const Function *kernel);
/* The cost on judge->basis, which must be set, that is predicted for a form with these figures; *is_new: it had to be
 * computed. */
FormCost assembler_judge_cost(AssemblerJudge *judge, const FunctionForm *form, const Figures *figures,
                              const LaunchChange *change, bool *is_new);

/* text.c: appends the module with the form in it and the functions that it needs. */
void judge_print_form(const FunctionForm *form, Buf *text);
/* Parses such a text into a module, which messages call 'name'; NULL if it has an error, which is not reported. */
Module *judge_parse_text(Arena *arena, const char *name, const Buf *text);

/* The assembler's figures in the form that passes see. */
Figures figures_of_resources(const Resources *resources);

#endif
