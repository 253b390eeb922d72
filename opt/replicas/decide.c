/* Conditions whose outcome the ranges of their operands tell, or their lowest bits.
 *
 * With a known block size, the index of a replica is a constant more than the thread's: of "if (tid < 3)" for a halo,
 * only the first replica's is a question. Comparisons of sums whose bounds decide them become constants, and so do
 * their conjunctions; branches on those are taken always or never, choices become copies, and what is left without a
 * path to it goes. */
#include "opt/common/cleanup.h"
#include "opt/passes.h"
#include "opt/replicas/low_bits.h"

/* The known value of a predicate. */
typedef enum Decision { OPEN, NEVER, ALWAYS } Decision;

typedef struct Decider {
    Body *body;
    const Affine *affine;
    LowBits *low; /* by RegId; of values that a loop carries, or that differ by the path taken, none is known */
    uint8_t *known; /* by RegId: Decision */
} Decider;

/* The known bounds of a register: for a predicate, its decision; for an index, the bounds of its sum. Addresses are
 * left alone: the tests of addresses that other passes make guard code that has been reported as done. */
static Bounds register_bounds(const void *context, RegId reg)
{
    const Decider *decider = context;
    const Reg *r = &decider->body->regs.data[reg];
    if (r->type != TYPE_PRED)
        return type_bits(r->type) == 32
                   ? low_bits_bounds(decider->low[reg], affine_reg_bounds(decider->affine, reg))
                   : bounds_any(type_bits(r->type));
    return decider->known[reg] == OPEN ? bounds_any(1) : bounds_point(1, decider->known[reg] == ALWAYS);
}

static void find_low_bits(const Decider *decider, const Computation *c)
{
    LowBits sources[COMPUTE_SOURCES] = {{0, 0}};
    for (unsigned i = 0; i < c->source_count; i++)
        if (c->sources[i].reg != REG_NONE)
            sources[i] = decider->low[c->sources[i].reg];
    decider->low[c->result] = low_bits_of(c, sources);
}

static Decision decide(const Decider *decider, const Inst *inst)
{
    Computation c;
    if (!computation_of(decider->body, inst, &c))
        return OPEN;
    find_low_bits(decider, &c);
    if (c.reg_bits != 1)
        return OPEN;
    Bounds outcome = computation_bounds(&c, register_bounds, decider);
    return !bounds_is_point(&outcome) ? OPEN : outcome.low ? ALWAYS : NEVER;
}

/* Takes a branch that is decided; false if it is not. */
static bool branch_settle(Decider *decider, Block *block)
{
    Inst *last = block->last;
    if (!last || !inst_is_branch(last) || !inst_is_guarded(last) || last->target_count != 1 || !block->fall)
        return false;
    Decision outcome = (Decision)decider->known[inst_predicate(last)];
    if (outcome == OPEN)
        return false;
    Block *target = last->targets[0];
    inst_remove(last);
    if ((outcome == ALWAYS) != last->guard_inverted) {
        inst_append(block, inst_build_branch(decider->body, target, REG_NONE, false));
        block->fall = NULL;
    }
    return true;
}

/* A guarded instruction that is always executed loses its guard. One that never is goes, if it has no results: a store
 * of a predicated region. The code that computes its operands is then dead. */
static bool guarded_settle(const Decider *decider, Inst *inst)
{
    if (!inst_is_guarded(inst) || inst_is_opaque(inst) || inst_is_terminator(inst))
        return false;
    Decision outcome = (Decision)decider->known[inst_predicate(inst)];
    if (outcome == OPEN)
        return false;
    if ((outcome == ALWAYS) != inst->guard_inverted)
        return inst_unguard(inst);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return false;
    inst_remove(inst);
    return true;
}

static bool is_open(const Decider *decider, RegId reg)
{
    return decider->known[reg] == OPEN;
}

/* "and" and "or" of a predicate that is known and one that is not are the other one. */
static bool joined_settle(const Decider *decider, Inst *inst)
{
    Computation c;
    if (!computation_of(decider->body, inst, &c) || c.bits != 1 || (c.op != COMPUTE_AND && c.op != COMPUTE_OR) ||
        !is_open(decider, c.result))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const ComputeSource *one = &c.sources[i], *other = &c.sources[1 - i];
        if (one->reg == REG_NONE || is_open(decider, one->reg) || other->reg == REG_NONE || other->is_inverted)
            continue;
        Inst *copy = inst_build(decider->body, "mov.pred", "dr", c.result, other->reg);
        inst_insert_before(inst, copy);
        inst_remove(inst);
        return true;
    }
    return false;
}

/* A choice whose condition is known is the value that it chooses. */
static bool choice_settle(const Decider *decider, Inst *inst)
{
    Computation c;
    if (!computation_of(decider->body, inst, &c) || c.op != COMPUTE_SELECT || c.source_count != 3 ||
        c.sources[2].reg == REG_NONE || is_open(decider, c.sources[2].reg))
        return false;
    const bool is_first = (decider->known[c.sources[2].reg] == ALWAYS) != c.sources[2].is_inverted;
    const RegId chosen = c.sources[!is_first].reg;
    const unsigned bits = type_bits(decider->body->regs.data[c.result].type);
    if (chosen == REG_NONE || (bits != 32 && bits != 64) || type_bits(decider->body->regs.data[chosen].type) != bits)
        return false;
    inst_insert_before(inst, inst_build(decider->body, bits == 64 ? "mov.b64" : "mov.b32", "dr", c.result, chosen));
    inst_remove(inst);
    return true;
}

static bool has_cold_side_only(const Block *block)
{
    bool any = false;
    FOR_EACH_SUCC(block, succ)
    {
        if (!succ->is_cold)
            return false;
        any = true;
    }
    return any;
}

/* A slow side whose other side is gone is where all go: it is slow no longer, and neither is what follows in it. */
static void slow_sides_check(const Body *body, Arena *scratch)
{
    VEC(Block *) warm = {0};
    for (size_t b = 0; b < body->blocks.count; b++)
        if (!body->blocks.data[b]->is_cold && has_cold_side_only(body->blocks.data[b]))
            VEC_PUSH(scratch, warm, body->blocks.data[b]);
    while (warm.count) {
        const Block *block = warm.data[--warm.count];
        FOR_EACH_SUCC(block, succ)
        {
            if (!succ->is_cold || succ->is_never)
                continue;
            succ->is_cold = false;
            VEC_PUSH(scratch, warm, succ);
        }
    }
}

bool pass_decide(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    Decider decider = {.body = body,
                       .affine = analyses_affine(context->analyses),
                       .low = ARENA_ARRAY(scratch, LowBits, body->regs.count),
                       .known = ARENA_ARRAY(scratch, uint8_t, body->regs.count)};
    /* Definitions come before their uses but in loops, whose conditions are not decided through phis anyway. */
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Decision outcome = decide(&decider, inst);
            if (outcome != OPEN)
                decider.known[inst_reg(inst, 0)] = (uint8_t)outcome; /* its only result */
        }
    unsigned settled = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            settled +=
                guarded_settle(&decider, inst) || joined_settle(&decider, inst) || choice_settle(&decider, inst);
        }
        settled += branch_settle(&decider, body->blocks.data[b]);
    }
    if (settled) {
        body_update_preds(body);
        body_remove_unreachable(body);
        slow_sides_check(body, scratch);
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        remove_dead_code(body, context->analyses);
    }
    arena_free(scratch);
    return settled > 0;
}
