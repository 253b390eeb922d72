/* The order of instructions within blocks: list scheduling by rules, and changes at random. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_SCHEDULE_H
#define PTXOPT_OPT_REGISTERS_MOVES_SCHEDULE_H

#include "analysis/analysis.h"
#include "support/support.h"

/* How a list scheduler chooses among the instructions that may come next: the highest sum of these weights wins, and
 * the source's order breaks ties. */
typedef struct ScheduleRule {
    const char *name;
    bool top_down;
    int32_t pressure; /* for each register that the choice frees, less that for each register it takes */
    int32_t source;   /* for each place nearer to the end at which the order is built; at most 256 places count */
    int32_t recent;   /* for continuing the expression tree of the last choice */
    int32_t need; /* for each register that its operand tree needs (Sethi and Ullman, 1970); bottom up: against it */
    int32_t load;     /* for being a load */
    int32_t store;    /* for being a store */
    int32_t chain;    /* for each instruction on the longest path to the other end of the block */
    int32_t noise;    /* a random amount below this */
    int32_t limit;    /* 'pressure' counts only while at least this many registers are live; 0: always */
    uint64_t seed;
} ScheduleRule;

extern const ScheduleRule schedule_rules[];
extern const unsigned schedule_rule_count;
/* A rule with random weights. */
ScheduleRule schedule_rule_random(Random *random);
/* The same rule with one weight drawn again, and other noise. */
ScheduleRule schedule_rule_near(Random *random, const ScheduleRule *rule);

typedef struct BlockOrder {
    Block *block;
    DependenceGraph *graph;
    uint32_t *order;          /* the nodes in the block's current order */
    uint32_t *need;           /* by node: Sethi-Ullman numbers */
    uint32_t *height, *depth; /* by node: the longest paths to the block's end, and from its top */
    int32_t peak;             /* of the current order, in 32-bit registers */
    bool fixed;               /* too small or too large to be reordered */
} BlockOrder;

/* The orders of a body's blocks. While it is in use, nothing but the order of instructions may change in the body, and
 * its analyses must not be invalidated. */
typedef struct Scheduler {
    Arena *arena;
    Body *body;
    const Liveness *liveness;
    PressureTracker tracker;
    BlockOrder *blocks; /* by Block.id */
    size_t block_count;
} Scheduler;

/* O(I log I) plus the dependence graphs. Belongs to 'arena'. */
Scheduler *scheduler_new(Arena *arena, Body *body, Analyses *analyses);
/* Writes an order of the block by the rule to out[graph->count]. */
void scheduler_choose(Scheduler *scheduler, const BlockOrder *block, const ScheduleRule *rule, uint32_t *out);
/* Writes a neighbour of 'from' to 'out': some instructions, some of them with what only they need, are moved within
 * what the dependences allow. */
void scheduler_mutate(Scheduler *scheduler, const BlockOrder *block, const uint32_t *from, Random *random,
                      uint32_t *out);

typedef struct OrderCost {
    int32_t peak;
    int64_t above; /* registers above the limit, summed over all places */
} OrderCost;
OrderCost scheduler_cost(Scheduler *scheduler, const BlockOrder *block, const uint32_t *order, int32_t limit);
/* Puts the block's instructions into that order; false if it is the current one. */
bool scheduler_apply(Scheduler *scheduler, BlockOrder *block, const uint32_t *order);
/* Orders all blocks by one rule; returns how many changed. */
unsigned schedule_body(Body *body, Analyses *analyses, const ScheduleRule *rule);

#endif
