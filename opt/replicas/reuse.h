/* Values that were loaded or stored before, instead of loading them again: the part that load_reuse and forward
 * share. */
#ifndef PTXOPT_OPT_REPLICAS_REUSE_H
#define PTXOPT_OPT_REPLICAS_REUSE_H

#include "analysis/analysis.h"
#include "opt/common/reuse_list.h"

/* Replaces plain loads, in SSA form, whose value the thread already has on every path, by copies; new phis join values
 * of several paths. Adds what it did to the list, in the arena. Returns how many loads are gone; dead copies stay. */
unsigned reuse_values(Arena *arena, Body *body, Analyses *analyses, LocationSource source, ReuseList *list);

#endif
