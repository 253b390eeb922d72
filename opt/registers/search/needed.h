/* A lower bound of a kernel's registers: for reports, and for what is said where a target is not reached. */
#ifndef PTXOPT_OPT_REGISTERS_SEARCH_NEEDED_H
#define PTXOPT_OPT_REGISTERS_SEARCH_NEEDED_H

#include "analysis/analysis.h"

/* The registers needed at the place that needs the most: a barrier, or another instruction that synchronizes, or the
 * head of a loop. */
typedef struct RegistersNeeded {
    unsigned registers; /* 32-bit; 0: nothing has to be kept at any such place */
    bool is_loop;
    Span span; /* the barrier, or the first instruction of the loop; empty for what a pass has made */
} RegistersNeeded;

/* How many registers hold values across the place in every form of the body in which each thread makes the same loads
 * and keeps what it needs in registers: a form that spills nothing may still have fewer if it loads again or keeps
 * values in shared memory. The body must be in SSA form; its instructions are numbered by block. */
RegistersNeeded registers_needed(const Body *body, Analyses *analyses);

#endif
