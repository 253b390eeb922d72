/* Runs one pass or transformation of a body in SSA form, with its own analyses. */
#ifndef PTXOPT_TESTS_ONE_PASS_H
#define PTXOPT_TESTS_ONE_PASS_H

#include <string.h>

#include "opt/common/cleanup.h"
#include "opt/registers/moves/hoist.h"
#include "opt/registers/moves/offsets.h"
#include "opt/registers/moves/pack.h"
#include "opt/passes.h"
#include "opt/registers/moves/recompute.h"
#include "opt/registers/moves/rematerialize.h"
#include "opt/registers/moves/schedule.h"
#include "opt/registers/moves/shifts.h"
#include "opt/registers/moves/sink.h"

/* Runs a pass of the table on the body, which it may replace; true if it changed anything. */
static inline bool one_pass(Body **body, PassId id)
{
    Arena *arena = arena_new();
    PassOptions options = {0};
    memset(options.enabled, true, sizeof options.enabled);
    PassContext context = pass_context_new(arena, &options, (*body)->function, *body);
    bool changed = pass_run(&context, id);
    *body = pass_take_body(&context);
    arena_free(arena);
    return changed;
}

static inline unsigned one_dead_code(Body *body)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = remove_dead_code(body, analyses);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_merge(Body *body)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = merge_equal_values(body, analyses);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_kept_copies(Body *body)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = fold_kept_copies(body, analyses);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_sink(Body *body, SinkMode mode, bool loads)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = sink_values(body, analyses, mode, loads);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_hoist(Body *body)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = hoist_values(body, analyses);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_offsets(Body *body)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = offset_pointers(body, analyses);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_shifts(Body *body, ShiftPart part)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = shift_offsets(body, analyses_values(analyses), part);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_schedule(Body *body, const ScheduleRule *rule)
{
    Analyses *analyses = analyses_new(body);
    unsigned count = schedule_body(body, analyses, rule);
    analyses_free(analyses);
    return count;
}

static inline uint32_t one_candidates(Arena *arena, Body *body, const RematerializeRequest *request,
                                      RematerializeCandidate **values)
{
    Analyses *analyses = analyses_new(body);
    uint32_t count = rematerialize_candidates(arena, body, analyses, request, values);
    analyses_free(analyses);
    return count;
}

static inline unsigned one_rematerialize(Body *body, const RematerializeRequest *request,
                                         const RematerializeCandidate *values, uint32_t count)
{
    Analyses *analyses = analyses_new(body);
    unsigned made = rematerialize_values(body, analyses, request, values, count);
    analyses_free(analyses);
    return made;
}

static inline Packing one_pack(Body *body, const PackRequest *request)
{
    Analyses *analyses = analyses_new(body);
    Packing packing = pack_values(body, analyses, sm_limits_for("sm_90"), request);
    analyses_free(analyses);
    return packing;
}

static inline unsigned one_recompute(Body *body, const RecomputeRequest *request)
{
    Analyses *analyses = analyses_new(body);
    unsigned made = recompute_values(body, analyses, sm_limits_for("sm_90"), request);
    analyses_free(analyses);
    return made;
}

#endif
