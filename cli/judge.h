/* judge: what passes ask an assembler, answered by emit/ and assembler/. */
#ifndef PTXOPT_CLI_JUDGE_H
#define PTXOPT_CLI_JUDGE_H

#include "assembler/assembler.h"
#include "opt/opt.h"

/* A Judge over one Assembler.  Equal texts are assembled once: a candidate that prints as an earlier one did costs
 * nothing. */
typedef struct AssemblerJudge {
    Judge judge; /* judge.context is this structure: it must not move while in use */
    Assembler *assembler;
    const char *arch;    /* NULL: what the assembler was opened for */
    int opt_level;       /* of the assembler, 0..3; 3 unless changed after assembler_judge_init */
    unsigned timeout_ms; /* 0: ASSEMBLY_TIMEOUT_MS */
    Arena *arena;        /* the cache and the messages */
    Map entries;         /* figures by the text that was assembled: judge.c */
    unsigned calls;      /* times the assembler ran */
    unsigned repeats;    /* times the cache had the answer */
    double seconds;      /* spent in the assembler */
} AssemblerJudge;

/* 'assembler' and 'arena' are not owned and have to live as long as the judge is used; messages of its Figures live in
 * 'arena'. */
void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler);

/* The assembler's figures as passes see them. */
Figures figures_of_resources(const Resources *resources);

#endif
