/* The state of -memory auto's search, which the files memory*.c share. */
#ifndef PTXOPT_ENGINE_CHOOSE_MEMORY_SEARCH_H
#define PTXOPT_ENGINE_CHOOSE_MEMORY_SEARCH_H

#include "engine/choose/bases.h"
#include "engine/choose/memory.h"

/* A coarsening that staging is tried with. */
typedef struct Parent {
    KernelRequest request;
    bool before_vectors;
    bool vectors_first;  /* vectors are made before loops are staged */
    bool is_tried;       /* with its loops staged */
    bool crosses_edges;  /* tiles are in blocks at edges or diagonals as well */
    bool is_nest; /* what a loop inside reads is staged: its rounds are unrolled from the start */
    double work; /* instructions of a round in staged loops, for each thread of the original; 0: nothing is staged */
} Parent;

typedef VEC(Parent) ParentVec;
typedef VEC(MemoryTrial) MemoryTrialVec;

typedef struct MemorySearch {
    Arena *arena;
    Function *kernel;
    const KernelRequest *request;
    PipelineOptions quiet; /* without an assembler or dumps */
    const PipelineOptions *options;
    const ChoiceContext *context;
    const MemoryScope *scope;
    Bases bases;           /* with the costs of the form without */
    Figures input;         /* of the kernel as it is */
    ParentVec parents;
    MemoryTrialVec trials;
    bool edges_pay;        /* the last form that was tried with threads beyond the edge was faster with them */
    bool vectors_pay;      /* vectors alone make the kernel faster */
    bool is_flat;          /* threads of a flattened grid can be tiles */
    bool has_diagonal;     /* threads beside a diagonal can go through a loop */
    StageResult refused;   /* the first refusal to stage */
} MemorySearch;

/* memory_weigh.c */
/* The request that the trial stands for. */
KernelRequest memory_trial_request(const MemorySearch *search, const MemoryTrial *trial);
/* Assembles the form and predicts its cost on each basis. False, with the verdict, if it does not assemble or a cost is
 * unknown. */
bool memory_form_weigh(const MemorySearch *search, const KernelResult *result, Figures *figures, FormCost *costs,
                       TrialVerdict *verdict);
/* Makes, assembles and compares the form, and sets its verdict and speedup. */
void memory_trial_weigh(MemorySearch *search, MemoryTrial *trial);
/* The trials that are asked for: all, or those with tiles or private counters. */
typedef enum TrialsAsked { TRIALS_ALL, TRIALS_STAGED, TRIALS_COUNTED } TrialsAsked;
/* The best of these trials by speedup; NULL: none. */
const MemoryTrial *memory_best_trial(const MemorySearch *search, TrialsAsked asked);

/* memory_parents.c */
/* True if the time is over, or the user wants the search to end. */
bool memory_is_over(const MemorySearch *search);
/* Runs the passes without those that search for registers. */
void memory_form_make(const MemorySearch *search, const KernelRequest *request, KernelResult *result);
/* True if both ask for the same coarsening or refinement. */
bool memory_requests_match(const KernelRequest *a, const KernelRequest *b);
/* Finds the coarsening of the request and, if it can be another one, none. */
void memory_find_own(MemorySearch *search, const FactorChoice *factors);
/* Sets what is known of the parent once its loops are staged, after vectors if these pay. */
void memory_parent_weigh(MemorySearch *search, Parent *parent, bool vectors_pay);
/* The requests of the fastest forms, by machine code, that -coarsen auto made beside the one that it chose. Returns how
 * many. */
unsigned memory_fastest(const MemorySearch *search, const FactorChoice *factors, unsigned most, KernelRequest *fastest);
/* Adds the coarsening of forms that -coarsen auto made: the fastest alone, or all that may pay. Orders the parents from
 * 'own' on: those with the least work in staged loops first. */
void memory_find_parents(MemorySearch *search, const FactorChoice *factors, size_t own, bool fastest_only);

#endif
