/* Refinement: see refine.h for what it does, and check.c for what it needs. */
#include "opt/refine/internal.h"

#include "opt/common/ends.h"
#include "opt/common/kept_sums.h"
#include "opt/common/preheader.h"
#include "opt/passes.h"

#include <string.h>

static RegId put(Block *block, RegId result, Inst *inst)
{
    inst_append(block, inst);
    return result;
}

static RegId binary(const Refine *r, Block *block, const char *spelling, RegId reg, int64_t number)
{
    RegId result = refine_reg(r, TYPE_B32, "%part");
    return put(block, result, inst_build(r->body, spelling, "dri", result, reg, number));
}

static RegId read_sreg(const Refine *r, Block *block, const char *name)
{
    RegId result = refine_reg(r, TYPE_B32, "%part");
    return put(block, result, inst_build(r->body, "mov.u32", "ds", result, name));
}

/* The lanes of the group of lane 0. */
static uint32_t first_members(const Refine *r)
{
    uint32_t lanes = 0;
    for (unsigned i = 0; i < r->request->threads; i++)
        lanes |= UINT32_C(1) << (i * r->spacing);
    return lanes;
}

/* The lanes of the thread's group. */
static RegId build_members(const Refine *r, Block *block)
{
    RegId members = refine_reg(r, TYPE_B32, "%members");
    put(block, members, inst_build(r->body, "mov.b32", "di", members, (int64_t)first_members(r)));
    if (r->request->threads == WARP)
        return members;
    RegId lane = read_sreg(r, block, "%laneid"), shifted = refine_reg(r, TYPE_B32, "%members");
    /* Groups of neighbours begin at multiples of their size, others in the first lanes. */
    const int64_t mask = r->spacing == 1 ? WARP - r->request->threads : r->spacing - 1;
    RegId first = binary(r, block, "and.b32", lane, mask);
    return put(block, shifted, inst_build(r->body, "shl.b32", "drr", shifted, members, first));
}

/* The index of the original's thread along x. */
static RegId build_index(const Refine *r, Block *block, RegId tid)
{
    const unsigned threads = r->request->threads;
    RegId index = binary(r, block, "shr.u32", tid, __builtin_ctz(threads * r->spacing));
    if (r->spacing == 1)
        return index;
    RegId within = binary(r, block, "and.b32", tid, r->spacing - 1), result = refine_reg(r, TYPE_B32, "%part");
    return put(block, result, inst_build(r->body, "mad.lo.u32", "drir", result, index, (int64_t)r->spacing, within));
}

/* Makes all reads of a special register of a role, along x, read a register instead. */
static void replace_reads(const Refine *r, unsigned role, RegId reg)
{
    for (size_t b = 1; b < r->body->blocks.count; b++)
        for (Inst *inst = r->body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_index_axis(inst, role) == 0)
                inst_replace_special(r->body, inst, inst_sreg(inst), reg);
}

/* The thread's number along x among those of all the blocks that take the place of its own one. */
static RegId build_joint_tid(const Refine *r, Block *entry, RegId ntid)
{
    RegId tid = read_sreg(r, entry, "%tid.x");
    if (r->spread == 1)
        return tid;
    RegId ctaid = read_sreg(r, entry, "%ctaid.x"), nctaid = read_sreg(r, entry, "%nctaid.x");
    const int64_t shift = __builtin_ctz(r->spread);
    replace_reads(r, SREG_ROLE_CTAID, binary(r, entry, "shr.u32", ctaid, shift));
    replace_reads(r, SREG_ROLE_NCTAID, binary(r, entry, "shr.u32", nctaid, shift));
    RegId part = binary(r, entry, "and.b32", ctaid, r->spread - 1), joint = refine_reg(r, TYPE_B32, "%part");
    return put(entry, joint, inst_build(r->body, "mad.lo.u32", "drrr", joint, part, ntid, tid));
}

/* The thread's place in its group, in a block before all others. */
static void build_entry(Refine *r)
{
    Block *entry = body_add_entry(r->body);
    const unsigned threads = r->request->threads;
    RegId ntid = read_sreg(r, entry, "%ntid.x"), tid = build_joint_tid(r, entry, ntid);
    RegId size = r->grown == 1 ? ntid : binary(r, entry, "shr.u32", ntid, __builtin_ctz(r->grown));
    RegId index = build_index(r, entry, tid);
    RegId place = r->spacing == 1 ? tid : binary(r, entry, "shr.u32", tid, __builtin_ctz(r->spacing));
    r->lane = binary(r, entry, "and.b32", place, threads - 1);
    r->is_first = refine_reg(r, TYPE_PRED, "%first");
    put(entry, r->is_first, inst_build(r->body, "setp.eq.s32", "dri", r->is_first, r->lane, (int64_t)0));
    r->members = build_members(r, entry);
    replace_reads(r, SREG_ROLE_TID, index);
    replace_reads(r, SREG_ROLE_NTID, size);
}

static void analyze(Refine *r)
{
    analyses_free(r->analyses);
    r->analyses = analyses_new(r->body);
}

/* Shares the rounds of all loops that allow it. */
static void share_loops(Refine *r)
{
    VEC(Block *) headers = {0};
    const LoopForest *loops = analyses_loops(r->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].end == i + 1)
            VEC_PUSH(r->scratch, headers, loops->loops[i].header);
    Refusal first = {.reason = REFUSAL_NONE};
    for (size_t i = 0; i < headers.count; i++) {
        SharedLoop shared;
        analyze(r);
        const Loop *loop = loop_headed(analyses_loops(r->analyses), headers.data[i]);
        require(loop);
        *r->refusal = (Refusal){.reason = REFUSAL_NONE};
        if (shared_loop_find(r, loop, &shared) && !shared_loop_rewrite(r, &shared))
            refine_refuse(r, loop->latches[0]->last, REFUSAL_REFINE_MEMORY);
        if (first.reason == REFUSAL_NONE)
            first = *r->refusal;
    }
    *r->refusal = first;
}

static bool has_loops(Refine *r)
{
    return analyses_loops(r->analyses)->loop_count || refine_refuse(r, NULL, REFUSAL_REFINE_NO_LOOP);
}

/* Parts of a warp can wait for one another. */
static bool check_target(Refine *r)
{
    enum { FIRST_SM = 70 };
    const Module *module = r->body->module;
    Arch arch;
    return (module->target_count && arch_parse(module->targets[0], &arch) && arch.number >= FIRST_SM) ||
           refine_refuse(r, NULL, REFUSAL_REFINE_SM);
}

/* False, with the reason, if the kernel cannot be refined, whatever its loops do. */
static bool may_refine(PassContext *context, const RefineRequest *request)
{
    Refine r = {.body = context->body,
                .scratch = context->arena,
                .request = request,
                .analyses = context->analyses,
                .refusal = &context->refusal};
    return check_target(&r) && refine_check(&r) && has_loops(&r);
}

/* Changes a body in SSA form, which must be launched with more blocks or larger ones, along x. False, with the
 * reason and the body in an unspecified state, if a kernel cannot be refined, or has no loop that can be shared. */
static bool refine_threads(Body *body, const RefineRequest *request, RefineResult *result, Refusal *refusal)
{
    require(body->ssa && request->threads >= 2 && request->threads <= REFINE_MOST &&
            !(request->threads & (request->threads - 1)));
    Arena *scratch = arena_new();
    *result = (RefineResult){0};
    Refine r = {.body = body, .scratch = scratch, .request = request, .result = result, .refusal = refusal};
    r.shared = (PointerMap){.arena = scratch};
    r.spacing = request->is_apart ? WARP / request->threads : 1;
    analyze(&r);
    if (refine_set_sizes(&r)) {
        loops_remove_empty_latches(body, r.analyses);
        loops_add_preheaders(body, r.analyses);
        build_entry(&r);
        analyze(&r);
        share_loops(&r);
        result->spread = r.spread;
        result->unit = r.unit;
        if (result->loops) {
            *refusal = (Refusal){.reason = REFUSAL_NONE};
            refine_effects(&r);
            body_renumber(body);
            body_update_preds(body);
        } else if (refusal->reason == REFUSAL_NONE) {
            refine_refuse(&r, NULL, REFUSAL_REFINE_NO_LOOP);
        }
    }
    analyses_free(r.analyses);
    arena_free(scratch);
    return result->loops;
}

bool pass_refine(PassContext *context)
{
    const Function *kernel = context->kernel;
    if (!kernel->is_entry || kernel->name[0] == '%') {
        refusal_set(&context->refusal, context->body, NULL, kernel->is_entry ? REFUSAL_BAD_NAME : REFUSAL_NOT_KERNEL,
                    NULL);
        return false;
    }
    RefineRequest request = *context->refining;
    request.block = context->block;
    if (!may_refine(context, &request))
        return false;
    Body *before = sums_keep(context);
    if (before)
        body_free(before);
    if (!refine_threads(context->body, &request, &context->refined, &context->refusal))
        return false;
    const BlockSize exact = block_size_exact(&context->block);
    const RefineResult *refined = &context->refined;
    context->contract = (LaunchContract){.kernel = context->kernel->name,
                                         .stride = {.kind = STRIDE_BLOCK},
                                         .stride_unit = refined->unit,
                                         .dynamic_factor = 1};
    context->contract.shape = (Shape){.threads = {1, 1, 1},
                                      .blocks = {1, 1, 1},
                                      .grown = {1, 1, 1},
                                      .refined = {request.threads, 1, 1},
                                      .spread = {refined->spread, 1, 1}};
    memcpy(context->contract.block, exact.threads, sizeof exact.threads);
    if (context->block.threads[0])
        context->block.threads[0] *= request.threads / refined->spread;
    return true;
}
