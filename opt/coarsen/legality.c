/* Legality: what coarsening refuses, and why.
 *
 * The first check runs before the analyses and looks at instructions one by one: rules.c says what the
 * instruction table decides, the code here adds operands, calls and the carry flag. The second check runs when variance
 * and regions are known: collective operations must not be in a region or differ between replicas, except warp-level
 * ones that name their participants (warps.c).
 *
 * Requires SSA form. Changes nothing but needs_whole_warps and the refusal. */
#include "opt/coarsen/internal.h"

#include <string.h>

static bool want_whole_warps(Coarsening *c, const Inst *inst, const char *what)
{
    if (c->step.grows) {
        c->needs_whole_warps = true; /* opt/grow/grow.c sees to it */
        return true;
    }
    if (c->step.merges_blocks)
        return true; /* blocks keep their warps */
    /* With a number s, each s rows, planes or threads of the new block stand for s neighbours of the original one. If
     * s is a multiple of 32, such a group begins and ends with a warp in both. */
    bool keeps = c->step.stride.kind == STRIDE_BLOCK ||
                 (c->step.stride.kind == STRIDE_NUMBER && c->step.stride.number % 32 == 0);
    if (!keeps)
        return coarsening_refuse_with(c, inst, REFUSAL_WHOLE_WARPS, REFUSAL_WITH(refusal_name(what)));
    c->needs_whole_warps = true;
    return true;
}

typedef struct CallCheck {
    Coarsening *c;
    const Inst *call; /* the one in the kernel */
    PointerMap visited;
    VEC(const Function *) pending;
} CallCheck;

/* Functions of the CUDA run time that neither synchronize nor read the index of their thread. */
static bool is_harmless_extern(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool visit_callee(CallCheck *check, const Inst *call)
{
    const Function *callee = inst_callee(call);
    if (!callee)
        return coarsening_refuse(check->c, check->call, REFUSAL_CALL_INDIRECT);
    if (!callee->has_body && callee->definition)
        callee = callee->definition;
    if (!callee->has_body) {
        if (is_harmless_extern(callee->name))
            return true;
        return coarsening_refuse_with(check->c, check->call, REFUSAL_CALL_EXTERN,
                                      REFUSAL_WITH(refusal_name(callee->name)));
    }
    if (pointer_map_get(&check->visited, callee))
        return true;
    pointer_map_put(&check->visited, callee, callee);
    VEC_PUSH(check->c->scratch, check->pending, callee);
    return true;
}

/* A called function reads the real thread's registers, never a replica's. */
static bool depends_on_thread(const Coarsening *c, const Sreg *sreg)
{
    CoarsenRule rule = coarsening_sreg_rule(c, sreg).rule;
    return rule != COARSEN_IF_VARIANT && rule != COARSEN_CLONED;
}

/* Refuses the call because of an instruction of a function that it reaches. */
static bool refuse_callee(CallCheck *check, RefusalReason reason, const Function *callee, const Inst *inst)
{
    return coarsening_refuse_with(
        check->c, check->call, reason,
        REFUSAL_WITH(refusal_name(callee->name), refusal_number(coarsening_line(check->c, inst))));
}

static bool check_callee_inst(CallCheck *check, const Function *callee, const Inst *inst)
{
    Coarsening *c = check->c;
    if (inst_is_opaque(inst))
        return refuse_callee(check, REFUSAL_CALL_UNKNOWN, callee, inst);
    if (inst_is_call(inst))
        return visit_callee(check, inst);
    if (inst_op(inst) == OP_EXIT)
        return refuse_callee(check, REFUSAL_CALL_EXIT, callee, inst);
    if (inst->effects & EFFECT_SYNC || (inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ))
        return coarsening_refuse_with(c, check->call, REFUSAL_CALL_SYNC,
                                      REFUSAL_WITH(refusal_name(callee->name),
                                                   refusal_name(inst_spelling(c->scratch, inst)),
                                                   refusal_number(coarsening_line(c, inst))));
    const Sreg *sreg = inst_sreg(inst);
    if (c->step.merges_blocks && inst_names_shared(inst))
        return refuse_callee(check, REFUSAL_CALL_SHARED, callee, inst);
    if (sreg && depends_on_thread(c, sreg))
        return coarsening_refuse_with(c, check->call, REFUSAL_CALL_READS,
                                      REFUSAL_WITH(refusal_name(callee->name), refusal_name(sreg->name),
                                                   refusal_number(coarsening_line(c, inst))));
    return true;
}

bool coarsening_check_call(Coarsening *c, const Inst *inst)
{
    CallCheck check = {.c = c, .call = inst, .visited = {.arena = c->scratch}};
    bool fine = visit_callee(&check, inst);
    while (fine && check.pending.count) {
        const Function *callee = VEC_POP(check.pending);
        for (size_t i = 0; fine && i < callee->stmts.count; i++)
            if (callee->stmts.data[i].kind == STMT_INST)
                fine = check_callee_inst(&check, callee, callee->stmts.data[i].inst);
    }
    return fine;
}

static bool check_treatment(Coarsening *c, const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    CoarsenTreatment treatment = coarsening_treatment(inst);
    if (c->step.merges_blocks)
        treatment = sreg ? coarsening_sreg_rule(c, sreg) : coarsening_block_rule(c, inst);
    const char *what = sreg ? sreg->name : inst_spelling(c->scratch, inst);
    switch (treatment.rule) {
    case COARSEN_REFUSED: return coarsening_refuse_with(c, inst, treatment.reason, REFUSAL_WITH(refusal_name(what)));
    case COARSEN_WHOLE_WARPS: return want_whole_warps(c, inst, what);
    case COARSEN_BY_CALLEE: return coarsening_check_call(c, inst);
    default: return true;
    }
}

static bool check_instruction(Coarsening *c, const Inst *inst)
{
    if (inst_is_opaque(inst))
        return coarsening_refuse(c, inst, REFUSAL_UNKNOWN);
    const bool is_numbered = (inst->sync == SYNC_BLOCK_BARRIER && inst->operand_count > 1) ||
                             (coarsening_combines(inst) && inst->operand_count > 3);
    if (is_numbered && (!c->step.merges_blocks || c->step.grows))
        return coarsening_refuse(c, inst, REFUSAL_WAITS_FOR_NUMBER);
    return check_treatment(c, inst);
}

bool coarsening_has_clusters(const Tuning *tuning)
{
    return tuning->reqnctapercluster_count || tuning->maxclusterrank || tuning->explicitcluster ||
           tuning->blocksareclusters;
}

bool coarsening_check_instructions(Coarsening *c)
{
    if (c->step.merges_blocks && coarsening_has_clusters(&c->body->tuning))
        return coarsening_refuse(c, NULL, REFUSAL_CLUSTERS);
    if (c->step.merges_blocks && !coarsening_check_dynamic(c))
        return false;
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        bool carry = false;   /* the flag was written in this block */
        bool ordered = false; /* and an instruction that orders memory came after it */
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!check_instruction(c, inst))
                return false;
            ordered |= coarsening_orders(inst);
            if (inst->effects & EFFECT_CC_READ && !carry)
                return coarsening_refuse(c, inst, REFUSAL_CARRY_BETWEEN_BLOCKS);
            if (inst->effects & EFFECT_CC_READ && ordered)
                return coarsening_refuse(c, inst, REFUSAL_CARRY_ACROSS_BARRIER);
            if (inst->effects & EFFECT_CC_WRITE) {
                carry = true;
                ordered = false;
            }
        }
    }
    return true;
}

static bool is_aligned_barrier(const Inst *inst)
{
    bool barrier = inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_CLUSTER_BARRIER || coarsening_combines(inst);
    return barrier && signature_is_aligned(inst->signature);
}

/* The branches that say nothing about who comes to a barrier: threads take them alike, or exit. */
static BitSet harmless_branches(const Coarsening *c)
{
    BitSet branches = bitset_new(c->scratch, c->body->blocks.count);
    bitset_copy(&branches, &c->facts.uniform_branches);
    for (size_t b = 0; b < c->body->blocks.count; b++)
        FOR_EACH_SUCC(c->body->blocks.data[b], succ)
            if (coarsening_only_exits(c->body, succ))
                bitset_add(&branches, b);
    return branches;
}

/* An aligned barrier may be under a condition that differs along another dimension only, so that every warp agrees on
 * it. Narrower rows would put threads that disagree into one warp. */
static void check_alignment(Coarsening *c)
{
    const Variance *any = NULL;
    BitSet harmless = harmless_branches(c);
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!is_aligned_barrier(inst))
                continue;
            if (!any) {
                VarianceOptions options = {
                    .merge_loads = true, .unmerged = &c->facts.observations, .uniform_branches = &harmless};
                any = analyses_variance(c->facts.analyses, VARIANCE_ANY, &options);
            }
            /* The predicate that a barrier combines is each thread's own. */
            c->needs_whole_warps |= coarsening_combines(inst) ? variance_block(any, inst->block)
                                                              : variance_inst(any, inst);
        }
}

/* For instructions that all replicas execute together; each has a predicate of its own to be combined. */
static bool operands_differ(const Coarsening *c, const Inst *inst)
{
    if (c->step.merges_blocks && coarsening_combines(inst))
        return false; /* each merged block has its own */
    if (coarsening_combines(inst)) {
        RegId barrier = inst_reg(inst, 1);
        return barrier != REG_NONE && variance_reg(c->facts.variance, barrier);
    }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE && variance_reg(c->facts.variance, inst->refs[r].reg))
            return true;
    return false;
}

RefusalReason coarsening_why_not_once(const Coarsening *c, const Inst *inst)
{
    if (inst_is_guarded(inst) && coarsening_joins(&c->step, inst))
        return REFUSAL_GUARD;
    if (inst_is_guarded(inst) && variance_reg(c->facts.variance, inst_predicate(inst)))
        return REFUSAL_GUARD_DIFFERS;
    if (inst->sync != SYNC_WARP && operands_differ(c, inst))
        return REFUSAL_OPERANDS_DIFFER;
    return REFUSAL_NONE;
}

/* True if every wait for asynchronous copies is for all of a thread's groups. Then it does not matter how many groups
 * there are, and each copy of a region may make its own. */
static bool waits_for_all_groups(const Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            uint64_t left;
            if (inst->sync == SYNC_ASYNC_GROUP && inst->operand_count &&
                (!operand_is_integer(&inst->operands[0], &left) || left))
                return false;
        }
    return true;
}

/* Refuses collective instructions that merged threads do not come to together. */
static bool check_collectives(Coarsening *c)
{
    const bool counts_groups = !waits_for_all_groups(c);
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        bool in_region = bitset_has(&c->facts.in_region, block->id);
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (!coarsening_is_collective(inst))
                continue;
            bool may_differ = inst->sync == SYNC_ASYNC_GROUP && !counts_groups;
            if (in_region && (may_differ || coarsening_come_together(c, block)))
                continue;
            if (in_region)
                return coarsening_refuse_controlled(c, inst);
            const RefusalReason reason = coarsening_why_not_once(c, inst);
            if (reason != REFUSAL_NONE)
                return coarsening_refuse(c, inst, reason);
        }
    }
    if (!c->step.merges_blocks)
        check_alignment(c);
    return true;
}

bool coarsening_check_regions(Coarsening *c)
{
    return coarsening_condition(c->record.legality, LEGAL_MEMORY, coarsening_check_private(c)) &&
           coarsening_condition(c->record.legality, LEGAL_BARRIERS, check_collectives(c)) &&
           coarsening_condition(c->record.legality, LEGAL_PARTICIPANTS, coarsening_check_exits(c)) &&
           coarsening_condition(c->record.legality, LEGAL_WAITING, coarsening_check_waiting(c));
}
