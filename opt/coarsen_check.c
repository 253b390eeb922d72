/* What coarsening refuses, and why. */
#include "opt/coarsen_internal.h"

#include <string.h>
#include <uthash.h>

static unsigned line_of(const Coarsening *c, const Inst *inst)
{
    const Source *source = c->body->module->source;
    return source ? source_position(source, inst->span.begin).line : 0;
}

/* ---- Special registers ------------------------------------------------------------------------------------------- */

static bool name_begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

typedef enum SregRole {
    SREG_HARMLESS,
    SREG_INDEX,    /* a component of %tid or %ntid: rewritten */
    SREG_VECTOR,   /* the whole of one of them, or a component under another name */
    SREG_LANE,     /* the same for replicas when warps stay whole */
    SREG_WARP,     /* counts warps */
} SregRole;

static SregRole sreg_role(const Sreg *sreg)
{
    const char *name = sreg->name;
    if (name_begins(name, "%tid") || name_begins(name, "%ntid")) {
        const char *dot = strchr(name, '.');
        return dot && strchr("xyzw", dot[1]) ? SREG_INDEX : SREG_VECTOR;
    }
    if (name_begins(name, "%warpid") || name_begins(name, "%nwarpid"))
        return SREG_WARP;
    return sreg->dependence == SREG_THREAD ? SREG_LANE : SREG_HARMLESS;
}

static const Sreg *sreg_read(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SREG)
            return inst->operands[i].sreg;
    return NULL;
}

static bool want_whole_warps(Coarsening *c, const Inst *inst, const char *what)
{
    if (c->stride.kind != STRIDE_BLOCK)
        return coarsening_refuse(c, inst, "%s needs whole warps, which are kept with the block stride only", what);
    c->needs_whole_warps = true;
    return true;
}

static bool check_sreg(Coarsening *c, const Inst *inst, const Sreg *sreg)
{
    switch (sreg_role(sreg)) {
    case SREG_HARMLESS:
        return true;
    case SREG_INDEX:
        return true;
    case SREG_VECTOR:
        return coarsening_refuse(c, inst, "it reads %s, of which only the components x, y and z can be replaced",
                                 sreg->name);
    case SREG_LANE:
        return want_whole_warps(c, inst, sreg->name);
    case SREG_WARP:
        return coarsening_refuse(c, inst, "it reads %s, which counts warps that coarsening merges", sreg->name);
    }
    return true;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

typedef struct Visited {
    const Function *function;
    UT_hash_handle hh;
} Visited;

typedef struct CallCheck {
    Coarsening *c;
    const Inst *call; /* in the kernel */
    Visited *visited;
    VEC(const Function *) pending;
} CallCheck;

/* Functions of the CUDA run time that neither synchronise nor ask which thread they run in. */
static bool is_harmless_extern(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const Function *called_function(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SYMBOL && inst->operands[i].symbol.kind == SYMBOL_FUNCTION)
            return inst->operands[i].symbol.function;
    return NULL;
}

static bool visit_callee(CallCheck *check, const Inst *call)
{
    const Function *callee = called_function(call);
    if (!callee)
        return coarsening_refuse(check->c, check->call, "an indirect call: what it reaches is not known");
    if (!callee->has_body && callee->definition)
        callee = callee->definition;
    if (!callee->has_body) {
        if (is_harmless_extern(callee->name))
            return true;
        return coarsening_refuse(check->c, check->call,
                                 "it calls '%s', which is not defined in this module and may contain barriers",
                                 callee->name);
    }
    Visited *visited;
    HASH_FIND_PTR(check->visited, &callee, visited);
    if (visited)
        return true;
    visited = ARENA_NEW(check->c->scratch, Visited);
    visited->function = callee;
    HASH_ADD_PTR(check->visited, function, visited);
    VEC_PUSH(check->c->scratch, check->pending, callee);
    return true;
}

static bool check_callee_inst(CallCheck *check, const Function *callee, const Inst *inst)
{
    Coarsening *c = check->c;
    const char *name = callee->name;
    if (inst_is_opaque(inst))
        return coarsening_refuse(c, check->call, "it calls '%s', which has an instruction that is not known (line %u)",
                                 name, line_of(c, inst));
    if (inst_is_call(inst))
        return visit_callee(check, inst);
    if (inst_op(inst) == OP_EXIT)
        return coarsening_refuse(c, check->call, "it calls '%s', which ends the thread ('exit' in line %u)", name,
                                 line_of(c, inst));
    if (inst->effects & EFFECT_SYNC || (inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ))
        return coarsening_refuse(c, check->call, "it calls '%s', which synchronises ('%s' in line %u)", name,
                                 inst_spelling(c->scratch, inst), line_of(c, inst));
    const Sreg *sreg = sreg_read(inst);
    if (sreg && sreg_role(sreg) != SREG_HARMLESS)
        return coarsening_refuse(c, check->call, "it calls '%s', which reads %s (line %u)", name, sreg->name,
                                 line_of(c, inst));
    return true;
}

static bool check_call(Coarsening *c, const Inst *inst)
{
    CallCheck check = {.c = c, .call = inst};
    bool fine = visit_callee(&check, inst);
    while (fine && check.pending.count) {
        const Function *callee = VEC_POP(check.pending);
        for (size_t i = 0; fine && i < callee->stmts.count; i++)
            if (callee->stmts.data[i].kind == STMT_INST)
                fine = check_callee_inst(&check, callee, callee->stmts.data[i].inst);
    }
    HASH_CLEAR(hh, check.visited);
    return fine;
}

/* ---- Synchronisation --------------------------------------------------------------------------------------------- */

static bool check_sync(Coarsening *c, const Inst *inst)
{
    const char *spelling = inst_spelling(c->scratch, inst);
    switch ((SyncKind)inst->sync) {
    case SYNC_NONE:
    case SYNC_FENCE:
    case SYNC_STRONG:
    case SYNC_CLUSTER_BARRIER:
    case SYNC_ASYNC_GROUP:
        return true;
    case SYNC_BLOCK_BARRIER:
        if (!inst_has(inst, MOD_SYNC))
            return coarsening_refuse(c, inst, "'%s' counts or combines the threads of the block", spelling);
        if (inst->operand_count > 1)
            return coarsening_refuse(c, inst, "'%s' waits for a given number of threads", spelling);
        return true;
    case SYNC_WARP:
        if (form_category(inst->form) == CATEGORY_WGMMA)
            return coarsening_refuse(c, inst, "'%s' works on groups of four warps", spelling);
        if (!inst_has(inst, MOD_SYNC) && !inst_has(inst, MOD_ALIGNED))
            return coarsening_refuse(c, inst, "'%s' depends on which threads of the warp run together", spelling);
        return want_whole_warps(c, inst, spelling);
    case SYNC_MBARRIER:
        return coarsening_refuse(c, inst, "'%s' counts arrivals at a barrier in memory", spelling);
    case SYNC_OTHER:
        return coarsening_refuse(c, inst, "'%s' cannot be coarsened", spelling);
    }
    return true;
}

static bool check_instruction(Coarsening *c, const Inst *inst)
{
    if (inst_is_opaque(inst))
        return coarsening_refuse(c, inst, "what '%s' does is not known", inst_spelling(c->scratch, inst));
    if (!check_sync(c, inst))
        return false;
    const Sreg *sreg = sreg_read(inst);
    if (sreg && !check_sreg(c, inst, sreg))
        return false;
    if (inst_is_call(inst))
        return check_call(c, inst);
    Opcode op = inst_op(inst);
    if (op == OP_ALLOCA || op == OP_STACKSAVE || op == OP_STACKRESTORE)
        return coarsening_refuse(c, inst, "it allocates on the stack");
    return true;
}

bool coarsening_check_instructions(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        bool carry = false, ordered = false; /* an instruction that orders memory since the chain began */
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!check_instruction(c, inst))
                return false;
            ordered |= instruction_orders(inst);
            if (inst->effects & EFFECT_CC_READ && !carry)
                return coarsening_refuse(c, inst, "the carry flag is passed from one basic block to another");
            if (inst->effects & EFFECT_CC_READ && ordered)
                return coarsening_refuse(c, inst,
                                         "the carry flag is passed across a barrier, fence or warp-level instruction");
            if (inst->effects & EFFECT_CC_WRITE) {
                carry = true;
                ordered = false;
            }
        }
    }
    return true;
}

/* ---- Waiting for other threads ----------------------------------------------------------------------------------- */

/* Reads what other threads may write in the same barrier interval, and uses it: the only way to wait for one of
 * them. */
static bool observes(const Values *values, const Inst *inst)
{
    bool strong = inst->sync == SYNC_STRONG || inst->sync == SYNC_MBARRIER ||
                  (inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ);
    if (!strong)
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && value_use_count(values, inst->refs[r].reg) > 0)
            return true;
    return false;
}

bool coarsening_loads_merge(const Coarsening *c)
{
    const Values *values = analyses_values(c->analyses);
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (observes(values, inst))
                return false;
    return true;
}

static bool leaves_loop(const Coarsening *c, const Loop *loop, const Block *block)
{
    FOR_EACH_SUCC(block, succ)
        if (!loop_contains(c->loops, loop, succ))
            return true;
    return false;
}

/* What an observed value reaches: by data, by the branches that it decides, and through memory of the thread's own. */
typedef struct Reach {
    const Coarsening *c;
    const Values *values;
    const BlockLists *dependents; /* control dependents */
    const Block *observed;        /* where the observing instruction stands */
    const Loop *outermost;        /* around it */
    BitSet regs, blocks;          /* reached; blocks: those whose branch parts ways by the value */
    VEC(RegId) pending;
    VEC(const Block *) parted;
    bool has_locals, memory; /* the body has .local variables; a value was stored to own memory */
} Reach;

static void reach_reg(Reach *reach, RegId reg)
{
    if (bitset_has(&reach->regs, reg))
        return;
    bitset_add(&reach->regs, reg);
    VEC_PUSH(reach->c->scratch, reach->pending, reg);
}

static void reach_results(Reach *reach, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            reach_reg(reach, inst->refs[r].reg);
}

static void reach_phis(Reach *reach, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        reach_reg(reach, block->phis.data[p].dst);
}

static void reach_block(Reach *reach, const Block *block)
{
    if (bitset_has(&reach->blocks, block->id))
        return;
    bitset_add(&reach->blocks, block->id);
    VEC_PUSH(reach->c->scratch, reach->parted, block);
}

/* Local memory, call parameters, and, where the body has .local variables, generic addresses. */
static bool is_own_access(const Reach *reach, const Inst *inst, AccessKind kind)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != kind || access.read_only)
        return false;
    return access.space == SPACE_LOCAL || access.space == SPACE_PARAM ||
           (access.space == SPACE_NONE && reach->has_locals);
}

/* A store, or a call, that is reached: what is loaded later may be what it left. */
static void reach_memory(Reach *reach, const Inst *inst)
{
    if (reach->memory || (!inst_is_call(inst) && !is_own_access(reach, inst, ACCESS_STORE)))
        return;
    reach->memory = true;
    for (uint32_t b = 0; b < reach->outermost->block_count; b++)
        for (const Inst *load = reach->outermost->blocks[b]->first; load; load = load->next)
            if (is_own_access(reach, load, ACCESS_LOAD))
                reach_results(reach, load);
}

/* The block's terminator if it may leave a loop around the observing instruction. */
static const Inst *deciding(const Reach *reach, const Block *block)
{
    for (const Loop *around = loop_of(reach->c->loops, reach->observed); around; around = around->parent)
        if (loop_contains(reach->c->loops, around, block) && leaves_loop(reach->c, around, block))
            return block->last;
    return NULL;
}

/* What runs, and which ways meet, by the branch of a block. */
static const Inst *reach_parted(Reach *reach, const Block *block)
{
    const Inst *decides = deciding(reach, block);
    if (decides && block_chooses(block))
        return decides;
    FOR_EACH_SUCC(block, succ)
        if (succ->pred_count > 1)
            reach_phis(reach, succ);
    for (uint32_t d = 0; d < block_list_count(reach->dependents, block); d++) {
        const Block *dependent = block_list(reach->dependents, block)[d];
        reach_block(reach, dependent);
        reach_phis(reach, dependent);
        for (const Inst *inst = dependent->first; inst; inst = inst->next)
            reach_memory(reach, inst);
    }
    return NULL;
}

static void reach_uses(Reach *reach, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(reach->values, reg); u++) {
        const ValueUse *use = &value_uses(reach->values, reg)[u];
        if (!use->inst) {
            reach_reg(reach, use->block->phis.data[use->index].dst);
            continue;
        }
        if (inst_is_terminator(use->inst))
            reach_block(reach, use->block);
        reach_results(reach, use->inst);
        reach_memory(reach, use->inst);
    }
}

/* The terminator that lets 'observed' decide whether a loop around it goes on, or NULL. */
static const Inst *loop_decided_by(const Coarsening *c, const Values *values, const BlockLists *dependents,
                                   const Inst *observed)
{
    const Loop *loop = loop_of(c->loops, observed->block);
    if (!loop)
        return NULL;
    while (loop->parent)
        loop = loop->parent;
    Reach reach = {
        .c = c, .values = values, .dependents = dependents, .observed = observed->block, .outermost = loop};
    reach.regs = bitset_new(c->scratch, c->body->regs.count);
    reach.blocks = bitset_new(c->scratch, c->body->blocks.count);
    for (size_t i = 0; i < c->body->variables.count; i++)
        reach.has_locals |= c->body->variables.data[i]->space == SPACE_LOCAL;
    reach_results(&reach, observed);
    while (reach.pending.count || reach.parted.count) {
        if (reach.pending.count) {
            reach_uses(&reach, VEC_POP(reach.pending));
            continue;
        }
        const Inst *decides = reach_parted(&reach, VEC_POP(reach.parted));
        if (decides)
            return decides;
    }
    return NULL;
}

/* A loop that goes on until another thread has done something: if that thread is a replica of this one, it never
 * ends. */
static bool check_waiting(Coarsening *c)
{
    const Values *values = analyses_values(c->analyses);
    const BlockLists *dependents = NULL;
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (!observes(values, inst))
                continue;
            if (bitset_has(&c->loops->irreducible, block->id))
                return coarsening_refuse(c, inst, "'%s' stands in a loop with several entries",
                                         inst_spelling(c->scratch, inst));
            if (!dependents)
                dependents = control_dependents(c->scratch, c->postdominance);
            const Inst *decides = loop_decided_by(c, values, dependents, inst);
            if (decides)
                return coarsening_refuse(c, inst,
                                         "the loop that ends in line %u may wait for another thread through '%s'",
                                         line_of(c, decides), inst_spelling(c->scratch, inst));
        }
    }
    return true;
}

/* ---- Regions ----------------------------------------------------------------------------------------------------- */

/* Must be executed by all threads of a block or warp, or as often as before. */
static bool is_collective(const Inst *inst)
{
    switch ((SyncKind)inst->sync) {
    case SYNC_BLOCK_BARRIER:
    case SYNC_CLUSTER_BARRIER:
    case SYNC_WARP:
    case SYNC_ASYNC_GROUP:
        return true;
    default:
        return false;
    }
}

static bool refuse_collective(Coarsening *c, const Inst *inst)
{
    const char *spelling = inst_spelling(c->scratch, inst);
    const Block *block = inst->block;
    const Block *decider = variance_block(c->variance, block) ? c->variance->deciders[block->id] : NULL;
    if (decider && decider->last && decider->last->span.end)
        return coarsening_refuse(c, inst,
                                 "'%s' is executed under a condition that differs between the merged threads (line %u)",
                                 spelling, line_of(c, decider->last));
    return coarsening_refuse(c, inst, "'%s' lies between branches that differ between the merged threads", spelling);
}

/* Replicas get local variables of their own, so an address in local memory must come from one of them. */
static bool check_local_address(Coarsening *c, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access) || access.space != SPACE_LOCAL || !access.address || !access.address->item_count)
        return true;
    const Operand *base = &access.address->items[0];
    bool own = base->kind == OPERAND_SYMBOL ||
               (base->kind == OPERAND_REG && variance_reg(c->variance, inst->refs[base->ref].reg));
    return own || coarsening_refuse(c, inst, "the local address of '%s' does not come from a local variable",
                                    inst_spelling(c->scratch, inst));
}

/* All threads of a warp have to come to it together: bar, and what says .aligned. */
static bool is_aligned_barrier(const Inst *inst)
{
    bool barrier = inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_CLUSTER_BARRIER;
    return barrier && (inst_op(inst) == OP_BAR || inst_has(inst, MOD_ALIGNED));
}

/* An aligned barrier under a condition that differs along another dimension only, which no warp was divided by:
 * narrower rows must not bring several of them into one warp. */
static void check_alignment(Coarsening *c)
{
    const Variance *any = NULL;
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!is_aligned_barrier(inst))
                continue;
            if (!any) {
                VarianceOptions options = {.merge_loads = c->variance->options.merge_loads};
                any = analyses_variance(c->analyses, VARIANCE_ANY, &options);
            }
            c->needs_whole_warps |= variance_inst(any, inst);
        }
}

bool coarsening_check_regions(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        bool in_region = bitset_has(&c->in_region, block->id);
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (!check_local_address(c, inst))
                return false;
            if (!is_collective(inst))
                continue;
            if (in_region)
                return refuse_collective(c, inst);
            if (inst->guard != REF_NONE && variance_reg(c->variance, inst->refs[inst->guard].reg))
                return coarsening_refuse(c, inst, "the guard of '%s' differs between the merged threads",
                                         inst_spelling(c->scratch, inst));
            if (inst->sync != SYNC_WARP && variance_inst(c->variance, inst))
                return coarsening_refuse(c, inst, "the operands of '%s' differ between the merged threads",
                                         inst_spelling(c->scratch, inst));
        }
    }
    check_alignment(c);
    return check_waiting(c);
}
