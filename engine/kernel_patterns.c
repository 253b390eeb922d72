#include "engine/kernel_patterns.h"

#include <string.h>

#include "engine/launch.h"

enum { ASSUMED_THREADS = 256, ASSUMED_SIDE = 16 };

/* Whether the kernel reads an index along this axis. */
static bool reads_index(const Body *body, uint8_t role, unsigned axis)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
            if (sreg && sreg->role == role && sreg->axis == axis)
                return true;
        }
    return false;
}

static void set_block(KernelPatterns *out, const Launch *launch, const BlockSize *block)
{
    const unsigned *known = launch ? launch->block : block->threads;
    out->is_block_assumed = !launch && !block_size_total(block);
    for (unsigned d = 0; d < 3; d++)
        out->block[d] = known[d] ? known[d] : 1;
    if (!out->is_block_assumed)
        return;
    const bool is_flat = !reads_index(out->body, SREG_ROLE_TID, SREG_AXIS_Y);
    out->block[0] = is_flat ? ASSUMED_THREADS : ASSUMED_SIDE;
    out->block[1] = is_flat ? 1 : ASSUMED_SIDE;
}

static void find_staging(Arena *arena, Function *kernel, const Launch *launch, const SmLimits *sm, KernelPatterns *out)
{
    PipelineOptions options = {.sm = sm, .no_figures = true};
    KernelRequest request = {.staging = {.wanted = true}, .dynamic_shared = launch->dynamic_shared};
    KernelResult result;
    memcpy(request.block, out->block, sizeof request.block);
    for (unsigned i = 0; i < PASSES_MOST; i++)
        options.passes.enabled[i] = true;
    pipeline_run(arena, kernel, &request, &options, &result);
    out->staged = result.staged;
    out->has_staging = true;
    kernel_discard(&result);
}

KernelPatterns kernel_patterns(Arena *arena, Function *kernel, const Launch *launch, const BlockSize *block,
                               const SmLimits *sm)
{
    KernelPatterns out = {.has_staging = false};
    PatternLaunch known = {.parameters = {.count = 0}};
    const char *reason;
    out.body = body_build(kernel, &reason);
    if (!out.body)
        return out;
    body_to_ssa(out.body);
    out.analyses = analyses_new(out.body);
    for (unsigned axis = 0; axis < 2; axis++)
        out.reads_block[axis] = reads_index(out.body, SREG_ROLE_CTAID, SREG_AXIS_X + axis);
    set_block(&out, launch, block);
    memcpy(known.block, out.block, sizeof known.block);
    for (unsigned d = 0; d < 3 && launch; d++)
        known.grid[d] = launch->grid[d] ? launch->grid[d] : 1;
    if (launch)
        known.parameters = launch_scalars(arena, kernel, launch);
    const PatternRequest request = {.body = out.body,
                                    .dominance = analyses_dominance(out.analyses),
                                    .loops = analyses_loops(out.analyses),
                                    .values = analyses_values(out.analyses),
                                    .affine = analyses_affine(out.analyses),
                                    .launch = known};
    out.patterns = patterns_compute(arena, &request);
    if (launch)
        find_staging(arena, kernel, launch, sm, &out);
    return out;
}

void kernel_patterns_free(KernelPatterns *patterns)
{
    analyses_free(patterns->analyses);
    if (patterns->body)
        body_free(patterns->body);
}

const StagedLoad *kernel_patterns_load(const KernelPatterns *patterns, const Inst *inst)
{
    for (size_t i = 0; i < patterns->staged.loops.count; i++)
        for (size_t k = 0; k < patterns->staged.loops.data[i].loads.count; k++)
            if (patterns->staged.loops.data[i].loads.data[k].span.begin == inst->span.begin)
                return &patterns->staged.loops.data[i].loads.data[k];
    return NULL;
}

const StagedLoop *kernel_patterns_loop(const KernelPatterns *patterns, const AccessPattern *access)
{
    const Inst *last = access->loop ? access->loop->latches[0]->last : NULL;
    for (size_t i = 0; last && i < patterns->staged.loops.count; i++)
        if (patterns->staged.loops.data[i].span.begin == last->span.begin)
            return &patterns->staged.loops.data[i];
    return NULL;
}
