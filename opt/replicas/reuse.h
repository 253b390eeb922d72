/* Values that were loaded or stored before, instead of loading them again: the parts that load_reuse and forward
 * share, and what they report. */
#ifndef PTXOPT_OPT_REPLICAS_REUSE_H
#define PTXOPT_OPT_REPLICAS_REUSE_H

#include "analysis/analysis.h"

/* The classes of Unkule, Shaltz and Qasem (CC'12, section 4.4), and values that did not come from a load. */
typedef enum ReuseClass {
    REUSE_SELF_TEMPORAL,  /* the same load, in another replica or iteration */
    REUSE_GROUP_TEMPORAL, /* another load of the same place */
    REUSE_STORED,         /* a store to it, before */
    REUSE_CLASSES
} ReuseClass;

/* Loads of one place in the source that were left out for one reason. */
typedef struct Reuse {
    ReuseClass class;
    Span load, source;         /* the load, and what left the value; an empty source: several places */
    uint32_t replica, of;      /* replica of the load, and the one whose value it takes */
    unsigned count;
} Reuse;

typedef struct ReuseList {
    VEC(Reuse) items;
} ReuseList;

/* "group-temporal" */
const char *reuse_class_text(ReuseClass class);

/* Adds to an entry of the list that differs in the count only, or adds an entry, in the arena. */
void reuse_record(Arena *arena, ReuseList *list, const Reuse *reuse);

/* Replaces plain loads, in SSA form, whose value the thread already has on every path, by copies; new phis join values
 * of several paths. Adds what it did to the list, in the arena. Returns how many loads are gone; dead copies stay. */
unsigned reuse_values(Arena *arena, Body *body, Analyses *analyses, LocationSource source, ReuseList *list);

#endif
