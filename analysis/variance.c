/* Replica variance, by a worklist over values and blocks. */
#include "analysis/variance.h"

#include <string.h>

typedef struct Solver {
    Variance *variance;
    const Body *body;
    const Values *values;
    const Dominance *postdominance;
    Arena *scratch;
    RegId *pending_regs; /* each register enters once */
    size_t reg_count;
    const Block **pending_blocks; /* blocks whose dependents are to be marked; each enters once */
    size_t block_count;
    BitSet propagated; /* blocks that were in pending_blocks */
} Solver;

/* 0 to 3 for the components of a vector register, -1 for all of it. */
static int sreg_component_read(const Sreg *sreg, Name selector)
{
    if (sreg->axis != SREG_AXIS_ALL)
        return sreg->axis;
    static const char letters[] = "xyzwrgba";
    const char *place = selector && selector[1] && !selector[2] ? strchr(letters, selector[1]) : NULL;
    return place ? (int)((place - letters) % 4) : -1;
}

static VarianceCause index_cause(const Variance *variance, int component)
{
    if (component == 3)
        return VARIANCE_UNIFORM;
    bool meant = component < 0 || variance->dimension == VARIANCE_ANY || (unsigned)component == variance->dimension;
    return meant ? VARIANCE_INDEX : VARIANCE_UNIFORM;
}

static VarianceCause sreg_cause(const Variance *variance, const Sreg *sreg, Name selector)
{
    switch (sreg->dependence) {
    case SREG_CONSTANT:
    case SREG_LAUNCH:
        return VARIANCE_UNIFORM;
    case SREG_VOLATILE:
        return VARIANCE_UNSTABLE;
    case SREG_BLOCK:
        if (!variance->options.blocks)
            return VARIANCE_UNIFORM;
        /* The clusters of merged blocks may differ in ways that %ctaid does not show. */
        return sreg->role == SREG_ROLE_CTAID ? index_cause(variance, sreg_component_read(sreg, selector))
                                             : VARIANCE_INDEX;
    case SREG_THREAD:
        break;
    }
    if (variance->options.blocks)
        return VARIANCE_UNIFORM;
    if (sreg->role == SREG_ROLE_TID)
        return index_cause(variance, sreg_component_read(sreg, selector));
    return variance->options.lane_uniform ? VARIANCE_UNIFORM : VARIANCE_LANE;
}

/* True if each replica has memory of its own in this space. */
static bool space_is_private(const Variance *variance, Space space)
{
    return space == SPACE_LOCAL || (space == SPACE_SHARED && variance->options.blocks);
}

static bool is_common(const Variance *variance, const void *variable_or_access)
{
    const PointerMap *common = variance->options.common;
    return common && pointer_map_get(common, variable_or_access);
}

static VarianceCause symbol_cause(const Variance *variance, const Symbol *symbol)
{
    if (symbol->kind != SYMBOL_VARIABLE)
        return VARIANCE_UNIFORM;
    const Variable *variable = symbol->variable;
    if (variable->space == SPACE_REG) /* a parameter in a register: a value */
        return VARIANCE_OPAQUE;
    if (is_common(variance, variable))
        return VARIANCE_UNIFORM;
    bool own_param = variable->space == SPACE_PARAM && !(variable->is_parameter && variance->body->function->is_entry);
    return own_param || space_is_private(variance, variable->space) ? VARIANCE_PRIVATE : VARIANCE_UNIFORM;
}

/* How special registers and symbols among the operands affect the result. Table forms nest three deep; anything deeper
 * counts as variant. *sregs counts the special registers met. */
static VarianceCause operand_cause(const Variance *variance, const Operand *operand, unsigned depth, unsigned *sregs)
{
    if (depth > 8)
        return VARIANCE_OPAQUE;
    VarianceCause cause = VARIANCE_UNIFORM;
    if (operand->kind == OPERAND_SREG) {
        ++*sregs;
        cause = sreg_cause(variance, operand->sreg, operand->selector);
    } else if (operand->kind == OPERAND_SYMBOL) {
        cause = symbol_cause(variance, &operand->symbol);
    }
    for (unsigned i = 0; i < operand->item_count && cause == VARIANCE_UNIFORM; i++)
        cause = operand_cause(variance, &operand->items[i], depth + 1, sregs);
    return cause;
}

/* A register can hold the address of a kernel's parameter, but not that of an argument or result of a call. */
static bool is_input(const Variance *variance, const Access *access)
{
    return variance->body->function->is_entry && access->kind == ACCESS_LOAD && access->address &&
           access->address->item_count && access->address->items[0].kind == OPERAND_REG;
}

static VarianceCause memory_cause(const Variance *variance, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access))
        return VARIANCE_MEMORY;
    if (access.kind == ACCESS_ATOMIC)
        return VARIANCE_ATOMIC;
    if (access.read_only)
        return VARIANCE_UNIFORM;
    if (access.kind == ACCESS_LOAD && !access.weak)
        return VARIANCE_STRONG;
    bool is_private = space_is_private(variance, access.space) && !is_common(variance, inst);
    if (is_private || (access.space == SPACE_PARAM && !is_input(variance, &access)))
        return VARIANCE_PRIVATE;
    bool merges = access.kind == ACCESS_LOAD || inst->sync == SYNC_WARP;
    const PointerMap *unmerged = variance->options.unmerged;
    merges &= variance->options.merge_loads && !(unmerged && pointer_map_get(unmerged, inst));
    return merges ? VARIANCE_UNIFORM : VARIANCE_MEMORY;
}

/* The reason why the results of the instruction are variant whatever it reads; VARIANCE_UNIFORM: they are not. */
static VarianceCause inherent_cause(const Variance *variance, const Inst *inst)
{
    if (inst_is_opaque(inst))
        return VARIANCE_OPAQUE;
    if (inst->effects & EFFECT_CONTROL)
        return VARIANCE_CALL;
    if (variance->options.differing && pointer_map_get(variance->options.differing, inst))
        return VARIANCE_LANE;
    unsigned sregs = 0;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        VarianceCause cause = operand_cause(variance, &inst->operands[i], 0, &sregs);
        if (cause != VARIANCE_UNIFORM)
            return cause;
    }
    /* an address in the private window, made from a number */
    if (inst_op(inst) == OP_CVTA && space_is_private(variance, inst->signature->space))
        return VARIANCE_PRIVATE;
    if (inst->effects & (EFFECT_READ | EFFECT_WRITE)) {
        VarianceCause cause = memory_cause(variance, inst);
        if (cause != VARIANCE_UNIFORM)
            return cause;
    }
    bool lanes = variance->options.lane_uniform || variance->options.blocks;
    switch ((SyncKind)inst->sync) {
    case SYNC_NONE:
    case SYNC_BLOCK_BARRIER:
        break;
    case SYNC_BLOCK_COUNT: /* in two blocks, different threads may have exited */
        if (variance->options.blocks)
            return VARIANCE_UNSTABLE;
        break;
    case SYNC_WARP:
    case SYNC_CONVERGED:
        if (!lanes)
            return VARIANCE_LANE;
        break;
    default:
        return VARIANCE_UNSTABLE;
    }
    /* The special register has decided it for an instruction that reads one. */
    if (sregs)
        return VARIANCE_UNIFORM;
    if (inst->effects & (EFFECT_VOLATILE | EFFECT_ASYNC))
        return VARIANCE_UNSTABLE;
    if (inst->effects & EFFECT_THREAD && !lanes)
        return VARIANCE_LANE;
    return VARIANCE_UNIFORM;
}

static void mark_reg(Solver *solver, RegId reg, VarianceReason reason)
{
    const BitSet *agreed = solver->variance->options.agreed;
    if (bitset_has(&solver->variance->regs, reg) || (agreed && bitset_has(agreed, reg)))
        return;
    bitset_add(&solver->variance->regs, reg);
    solver->variance->reasons[reg] = reason;
    solver->pending_regs[solver->reg_count++] = reg;
}

static void mark_written(Solver *solver, const Inst *inst, VarianceCause cause, RegId operand)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            mark_reg(solver, inst->refs[r].reg, (VarianceReason){cause, inst, inst->block, operand, NULL});
}

/* The register that the instruction writes, or REG_NONE. */
static RegId first_written(const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return inst->refs[r].reg;
    return REG_NONE;
}

/* True if the instruction was marked before. */
static bool mark_carry(Solver *solver, const Inst *inst, RegId reason)
{
    RegId reg = first_written(inst);
    bool marked = reg == REG_NONE || bitset_has(&solver->variance->regs, reg);
    mark_written(solver, inst, VARIANCE_OPERAND, reason);
    return marked;
}

/* The carry flag is a value that no reference shows. The instructions that pass it on vary together, so
 * that each of them reads the flag of its own replica. */
static void mark_carry_chain(Solver *solver, const Inst *inst)
{
    const unsigned carries = EFFECT_CC_READ | EFFECT_CC_WRITE;
    RegId reason = first_written(inst);
    bool reads = inst->effects & EFFECT_CC_READ;
    for (const Inst *at = inst->prev; at && reads; at = at->prev)
        if (at->effects & EFFECT_CC_WRITE) {
            if (mark_carry(solver, at, reason))
                break;
            reads = at->effects & EFFECT_CC_READ;
        }
    for (const Inst *at = inst->next; at; at = at->next)
        if (at->effects & carries && (!(at->effects & EFFECT_CC_READ) || mark_carry(solver, at, reason)))
            break;
}

static void mark_results(Solver *solver, const Inst *inst, VarianceCause cause, RegId operand)
{
    mark_written(solver, inst, cause, operand);
    if (inst->effects & (EFFECT_CC_READ | EFFECT_CC_WRITE))
        mark_carry_chain(solver, inst);
}

static void mark_phi(Solver *solver, const Block *block, const Phi *phi, VarianceCause cause, RegId argument,
                     const Block *branch)
{
    mark_reg(solver, phi->dst, (VarianceReason){cause, NULL, block, argument, branch});
}

/* Marks everything that the block's branch, which separates replicas, decides; once. */
static void mark_parting(Solver *solver, const Block *block)
{
    if (bitset_has(&solver->propagated, block->id))
        return;
    bitset_add(&solver->propagated, block->id);
    solver->pending_blocks[solver->block_count++] = block;
}

static void mark_branch(Solver *solver, const Block *block, RegId condition)
{
    const BitSet *uniform = solver->variance->options.uniform_branches;
    if (bitset_has(&solver->variance->branches, block->id) || !block_chooses(block) ||
        (uniform && bitset_has(uniform, block->id)))
        return;
    bitset_add(&solver->variance->branches, block->id);
    solver->variance->conditions[block->id] = condition;
    if (!bitset_has(&solver->variance->blocks, block->id))
        bitset_add(&solver->variance->sources, block->id);
    mark_parting(solver, block);
}

static void mark_block(Solver *solver, const Block *block, const Block *decider)
{
    if (bitset_has(&solver->variance->blocks, block->id))
        return;
    bitset_add(&solver->variance->blocks, block->id);
    solver->variance->deciders[block->id] = decider;
    for (size_t p = 0; p < block->phis.count; p++)
        mark_phi(solver, block, &block->phis.data[p], VARIANCE_CONTROL, REG_NONE, NULL);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        mark_results(solver, inst, VARIANCE_CONTROL, REG_NONE);
    mark_parting(solver, block);
}

/* True if the instruction's guard, or its index into a branch table, decides which block follows. */
static bool inst_decides(const Inst *inst)
{
    return inst->block && inst->block->last == inst && inst_is_terminator(inst);
}

static void reg_propagate(Solver *solver, RegId reg)
{
    const ValueUse *uses = value_uses(solver->values, reg);
    uint32_t count = value_use_count(solver->values, reg);
    for (uint32_t i = 0; i < count; i++) {
        const ValueUse *use = &uses[i];
        if (!use->inst) {
            mark_phi(solver, use->block, &use->block->phis.data[use->index], VARIANCE_ARGUMENT, reg, NULL);
            continue;
        }
        /* A barrier that combines values gives all threads of the block the same result. */
        if (use->inst->sync != SYNC_BLOCK_COUNT || solver->variance->options.blocks)
            mark_results(solver, use->inst, VARIANCE_OPERAND, reg);
        if (inst_decides(use->inst))
            mark_branch(solver, use->block, reg);
    }
}

/* The phis directly after a branching block join its paths; those farther on follow blocks that are marked here. */
static void join_propagate(Solver *solver, const Block *block, const Block *to)
{
    if (to->pred_count > 1)
        for (size_t p = 0; p < to->phis.count; p++)
            mark_phi(solver, to, &to->phis.data[p], VARIANCE_JOIN, REG_NONE, block);
}

static void block_propagate(Solver *solver, const Block *block)
{
    const Dominance *tree = solver->postdominance;
    uint32_t stop = tree->parent[block->id];
    unsigned targets = block->last ? block->last->target_count : 0;
    for (unsigned i = 0; i <= targets; i++) {
        const Block *to = i == 0 ? block->fall : block->last->targets[i - 1];
        if (!to)
            continue;
        join_propagate(solver, block, to);
        for (uint32_t node = to->id; node != stop && node != tree->root; node = tree->parent[node])
            mark_block(solver, solver->body->blocks.data[node], block);
    }
}

static void seeds_mark(Solver *solver)
{
    for (size_t i = 0; i < solver->body->blocks.count; i++)
        for (const Inst *inst = solver->body->blocks.data[i]->first; inst; inst = inst->next) {
            bool writes = false;
            for (unsigned r = 0; r < inst->ref_count && !writes; r++)
                writes = ref_writes(&inst->refs[r]);
            if (!writes)
                continue;
            VarianceCause cause = inherent_cause(solver->variance, inst);
            if (cause != VARIANCE_UNIFORM)
                mark_results(solver, inst, cause, REG_NONE);
        }
}

Variance *variance_compute(Arena *arena, const Body *body, const Dominance *postdominance, unsigned dimension,
                           const VarianceOptions *options)
{
    require(body->ssa && dimension <= VARIANCE_ANY);
    Arena *scratch = arena_new();
    size_t blocks = body->blocks.count, regs = body->regs.count;
    Variance *variance = ARENA_NEW(arena, Variance);
    variance->body = body;
    variance->dimension = dimension;
    if (options)
        variance->options = *options;
    variance->regs = bitset_new(arena, regs);
    variance->branches = bitset_new(arena, blocks);
    variance->blocks = bitset_new(arena, blocks);
    variance->sources = bitset_new(arena, blocks);
    variance->reasons = ARENA_ARRAY(arena, VarianceReason, regs);
    variance->conditions = ARENA_ARRAY(arena, RegId, blocks);
    variance->deciders = ARENA_ARRAY(arena, const Block *, blocks);
    for (size_t i = 0; i < blocks; i++)
        variance->conditions[i] = REG_NONE;
    Solver solver = {
        .variance = variance,
        .body = body,
        .values = values_compute(scratch, body),
        .postdominance = postdominance ? postdominance : postdominance_compute(scratch, body),
        .scratch = scratch,
        .pending_regs = ARENA_ARRAY(scratch, RegId, regs),
        .pending_blocks = ARENA_ARRAY(scratch, const Block *, blocks),
        .propagated = bitset_new(scratch, blocks),
    };
    require(solver.postdominance->post && solver.postdominance->body == body);
    seeds_mark(&solver);
    while (solver.reg_count || solver.block_count) {
        if (solver.reg_count)
            reg_propagate(&solver, solver.pending_regs[--solver.reg_count]);
        else
            block_propagate(&solver, solver.pending_blocks[--solver.block_count]);
    }
    arena_free(scratch);
    return variance;
}

bool variance_inst(const Variance *variance, const Inst *inst)
{
    if (inst->block && variance_block(variance, inst->block))
        return true;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE && variance_reg(variance, inst->refs[r].reg))
            return true;
    return false;
}

VarianceReason variance_reason(const Variance *variance, RegId reg)
{
    if (!variance_reg(variance, reg))
        return (VarianceReason){VARIANCE_UNIFORM, NULL, NULL, REG_NONE, NULL};
    return variance->reasons[reg];
}

const char *variance_cause_text(VarianceCause cause)
{
    switch (cause) {
    case VARIANCE_UNIFORM: return "is the same in all replicas";
    case VARIANCE_INDEX: return "reads the index";
    case VARIANCE_LANE: return "depends on the lane";
    case VARIANCE_UNSTABLE: return "may differ at each execution";
    case VARIANCE_OPAQUE: return "is of an unknown instruction";
    case VARIANCE_ATOMIC: return "is the result of an atomic";
    case VARIANCE_STRONG: return "is a volatile, relaxed or acquire load";
    case VARIANCE_MEMORY: return "is loaded from memory that may be written";
    case VARIANCE_PRIVATE: return "is in memory that each replica has to itself";
    case VARIANCE_CALL: return "is the result of a call";
    case VARIANCE_OPERAND: return "reads";
    case VARIANCE_CONTROL: return "is made under variant control";
    case VARIANCE_ARGUMENT: return "merges in";
    case VARIANCE_JOIN: return "joins ways that part at a variant branch";
    }
    return "";
}

static void print_place(const Variance *variance, const Inst *inst, Buf *out)
{
    if (!inst) {
        buf_puts(out, "phi");
        return;
    }
    Arena *scratch = arena_new();
    buf_puts(out, inst_spelling(scratch, inst));
    arena_free(scratch);
    const Module *module = variance->body->module;
    if (module && module->source && inst->span.end > inst->span.begin)
        buf_printf(out, " (line %u)", source_position(module->source, inst->span.begin).line);
}

static void print_block(const Block *block, Buf *out)
{
    if (block->label)
        buf_puts(out, block->label);
    else
        buf_printf(out, "block %u", block->id);
}

/* The next thing to explain: why a register varies, why a block is under variant control, or why its branch separates
 * replicas. Each fact was found after the one that explains it, so no step leads back. */
typedef struct Step {
    RegId reg;          /* or REG_NONE */
    const Block *block; /* or NULL */
    bool parting;
} Step;

static const Step step_end = {REG_NONE, NULL, false};

static Step reg_next(const VarianceReason *reason)
{
    if (reason->reg != REG_NONE)
        return (Step){reason->reg, NULL, false};
    if (reason->cause == VARIANCE_CONTROL)
        return (Step){REG_NONE, reason->block, false};
    return (Step){REG_NONE, reason->branch, true};
}

/* The block's own branch explains itself if it was found variant before the block was found under variant control. */
static Step block_next(const Variance *variance, const Block *block, bool parting)
{
    RegId condition = variance->conditions[block->id];
    const Block *decider = variance->deciders[block->id];
    if (condition != REG_NONE && (!decider || (parting && bitset_has(&variance->sources, block->id))))
        return (Step){condition, NULL, false};
    return (Step){REG_NONE, decider, true};
}

VarianceReason variance_block_reason(const Variance *variance, const Block *block, VarianceRoot *root)
{
    Step step = {REG_NONE, block, !variance_block(variance, block)};
    VarianceReason reason = {VARIANCE_UNIFORM, NULL, NULL, REG_NONE, NULL};
    *root = (VarianceRoot){NULL, REG_NONE, REG_NONE};
    while (step.reg != REG_NONE || step.block) {
        if (step.reg != REG_NONE) {
            reason = variance_reason(variance, step.reg);
            root->reg = step.reg;
            step = reg_next(&reason);
            continue;
        }
        const Block *from = step.block;
        step = block_next(variance, from, step.parting);
        if (step.reg != REG_NONE && root->condition == REG_NONE) {
            root->condition = step.reg;
            root->branch = from->last;
        }
    }
    return reason;
}

static Step reg_explain(const Variance *variance, RegId reg, Buf *out)
{
    VarianceReason reason = variance_reason(variance, reg);
    buf_printf(out, "%s: ", variance->body->regs.data[reg].name);
    if (reason.cause == VARIANCE_UNIFORM) {
        buf_printf(out, "%s\n", variance_cause_text(reason.cause));
        return step_end;
    }
    print_place(variance, reason.inst, out);
    buf_printf(out, " %s", variance_cause_text(reason.cause));
    if (reason.reg != REG_NONE)
        buf_printf(out, " %s", variance->body->regs.data[reason.reg].name);
    buf_putc(out, '\n');
    return reg_next(&reason);
}

static Step block_explain(const Variance *variance, const Block *block, bool parting, Buf *out)
{
    Step next = block_next(variance, block, parting);
    print_block(block, out);
    if (next.reg != REG_NONE) {
        buf_printf(out, ": branches on %s\n", variance->body->regs.data[next.reg].name);
    } else {
        buf_puts(out, ": depends on the branch of ");
        print_block(next.block, out);
        buf_putc(out, '\n');
    }
    return next;
}

static void explain(const Variance *variance, Step step, unsigned limit, Buf *out)
{
    for (unsigned i = 0; (!limit || i < limit) && (step.reg != REG_NONE || step.block); i++)
        step = step.reg != REG_NONE ? reg_explain(variance, step.reg, out)
                                    : block_explain(variance, step.block, step.parting, out);
}

void variance_explain(const Variance *variance, RegId reg, unsigned limit, Buf *out)
{
    explain(variance, (Step){reg, NULL, false}, limit, out);
}

void variance_explain_block(const Variance *variance, const Block *block, unsigned limit, Buf *out)
{
    if (variance_block(variance, block) || variance_branch(variance, block))
        explain(variance, (Step){REG_NONE, block, !variance_block(variance, block)}, limit, out);
}

Variance *variance_on_any_path(Arena *arena, const Body *body, const Dominance *postdominance, bool blocks)
{
    BitSet *all = ARENA_NEW(arena, BitSet);
    *all = bitset_new(arena, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++)
        bitset_add(all, body->blocks.data[b]->id);
    const VarianceOptions options = {.uniform_branches = all, .blocks = blocks};
    return variance_compute(arena, body, postdominance, VARIANCE_ANY, &options);
}
