/* The loads that take a value which is there already, for the report: by coarsening, load_reuse and forward. */
#ifndef PTXOPT_OPT_COMMON_REUSE_LIST_H
#define PTXOPT_OPT_COMMON_REUSE_LIST_H

#include "ir/ir.h"

/* The classes of Unkule, Shaltz and Qasem (CC'12, section 4.4), and values that did not come from a load. */
typedef enum ReuseClass {
    REUSE_SELF_TEMPORAL,  /* the same load, in another replica or iteration */
    REUSE_GROUP_TEMPORAL, /* another load of the same place */
    REUSE_STORED,         /* a store to it, before */
    REUSE_CLASSES
} ReuseClass;

static inline bool span_equal(Span a, Span b)
{
    return a.begin == b.begin && a.end == b.end;
}

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

#endif
