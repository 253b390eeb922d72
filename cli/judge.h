/* The judge of the program: forms are printed by emit/ and measured by assembler/. */
#ifndef PTXOPT_CLI_JUDGE_H
#define PTXOPT_CLI_JUDGE_H

#include "assembler/assembler.h"
#include "cli/form_cost.h"
#include "opt/opt.h"

/* A Judge over one Assembler.  Equal texts are assembled once, so a candidate that prints like an earlier one costs
 * nothing. */
typedef struct AssemblerJudge AssemblerJudge;
struct AssemblerJudge {
    const CostBasis *basis; /* what times are predicted for; NULL: they are unknown */
    Judge judge; /* judge.context is this structure: it must not move while in use */
    Assembler *assembler;
    const char *arch;    /* NULL: the one that the assembler was opened for */
    int opt_level;       /* of the assembler, 0..3; 3 unless changed after assembler_judge_init */
    unsigned timeout_ms; /* 0: ASSEMBLY_TIMEOUT_MS */
    Arena *arena;        /* the cache and the messages */
    Map entries;         /* figures by the text that was assembled: judge.c */
    unsigned calls;      /* runs of the assembler */
    unsigned repeats;    /* answers from the cache */
    double seconds;      /* spent in the assembler */
};

/* 'assembler' and 'arena' are not owned and must outlive the judge; messages of its Figures live in 'arena'. */
void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler);

/* Appends the module with the form in it, and with the functions that it needs. */
void judge_print_form(const FunctionForm *form, Buf *text);

/* The assembler's figures in the form that passes see. */
Figures figures_of_resources(const Resources *resources);

#endif
