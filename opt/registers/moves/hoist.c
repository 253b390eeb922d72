/* Computations move up to where their operands die, across blocks.
 *
 * The opposite of sinking: where a computation is the last reader of more registers than it writes (two addresses, of
 * which a predicate remains; 64 bits, of which 32 do), it moves to the end of the block in which the last of its
 * operands is computed. It may then be executed where nothing needs it, so only computations without effects move,
 * none of them slow, and never into a loop. */
#include "opt/pass.h"

#include "opt/registers/moves/hoist.h"
#include "opt/registers/moves/sink.h"
#include "opt/registers/search/search.h"

typedef struct Hoister {
    Body *body;
    const Dominance *dominance;
    const LoopForest *loops;
    const Values *values;
    BitSet undefined; /* by RegId: perhaps, where nothing reads it */
} Hoister;

static bool is_movable(const Inst *inst)
{
    return inst->effects & EFFECT_PURE && !(inst->effects & EFFECTS_IN_PLACE) && !inst_is_opaque(inst) &&
           !inst_is_terminator(inst) && inst->sync == SYNC_NONE && !inst->pragma && !opcode_is_slow(inst_op(inst));
}

/* The lowest block with a definition of an operand; NULL: there is none, or it may have no value. If the instruction
 * that makes an operand has moved, that is a block below it: in the next round more is known. */
static Block *operands_block(const Hoister *hoister, const Inst *inst)
{
    Block *lowest = NULL;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        RegId reg = inst->refs[r].reg;
        if (!ref_reads(&inst->refs[r]))
            continue;
        if (bitset_has(&hoister->undefined, reg))
            return NULL;
        Block *block = hoister->values->defs[reg].block;
        if (block && (!lowest || dominance_has(hoister->dominance, lowest, block)))
            lowest = block;
    }
    return lowest;
}

/* Goes down the dominator tree, to 'from' at most, out of the loops that 'from' is not in. */
static Block *target_outside_loops(const Hoister *hoister, Block *target, Block *from)
{
    Block *found = from;
    for (Block *block = from; block; block = dominance_parent(hoister->dominance, block)) {
        const Loop *loop = loop_of(hoister->loops, block);
        if ((!loop || loop_contains(hoister->loops, loop, from)) &&
            !bitset_has(&hoister->loops->irreducible, block->id))
            found = block;
        if (block == target)
            return found;
    }
    return from;
}

/* True if nothing below the target reads the register but this instruction. */
static bool dies_with(const Hoister *hoister, const Inst *inst, RegId reg, const Block *target)
{
    const ValueUse *uses = value_uses(hoister->values, reg);
    if (loop_of(hoister->loops, hoister->values->defs[reg].block) != loop_of(hoister->loops, target))
        return false;
    for (uint32_t u = 0; u < value_use_count(hoister->values, reg); u++) {
        if (uses[u].inst == inst)
            continue;
        if (!uses[u].inst || !dominance_has(hoister->dominance, uses[u].block, target))
            return false;
    }
    return true;
}

/* True if fewer registers are live between the target and the instruction when it moves. */
static bool saves_registers(const Hoister *hoister, const Inst *inst, const Block *target)
{
    int32_t saved = 0;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        RegId reg = inst->refs[r].reg;
        int32_t size = reg == REG_NONE ? 0 : pressure_of_reg(hoister->body, reg).regs32;
        bool counted = false;
        for (unsigned i = 0; i < r; i++)
            counted |= inst->refs[i].reg == reg;
        if (counted || reg == REG_NONE)
            continue;
        if (ref_writes(&inst->refs[r]))
            saved -= size;
        else if (dies_with(hoister, inst, reg, target))
            saved += size;
    }
    return saved > 0;
}

static bool inst_hoist(const Hoister *hoister, Inst *inst)
{
    Block *operands = is_movable(inst) ? operands_block(hoister, inst) : NULL;
    if (!operands || operands == inst->block)
        return false;
    Block *target = target_outside_loops(hoister, operands, inst->block);
    if (target == inst->block || !saves_registers(hoister, inst, target))
        return false;
    inst_remove(inst);
    if (target->last && inst_is_terminator(target->last))
        inst_insert_before(target->last, inst);
    else
        inst_append(target, inst);
    return true;
}

static unsigned hoist_once(Body *body, Analyses *analyses)
{
    Arena *scratch = arena_new();
    Hoister hoister = {
        .body = body,
        .dominance = analyses_dominance(analyses),
        .loops = analyses_loops(analyses),
        .values = analyses_values(analyses),
        .undefined = values_maybe_undefined(scratch, analyses_values(analyses)),
    };
    unsigned moved = 0;
    for (size_t i = 0; i < body->blocks.count; i++) {
        for (Inst *inst = body->blocks.data[i]->first, *next; inst; inst = next) {
            next = inst->next;
            moved += inst_hoist(&hoister, inst);
        }
    }
    arena_free(scratch);
    return moved;
}

unsigned hoist_values(Body *body, Analyses *analyses)
{
    require(body->ssa);
    unsigned all = 0, moved = 1;
    /* Instructions that read the result of a moved instruction can follow it, in the next round. */
    for (unsigned round = 0; round < 8 && moved; round++) {
        moved = hoist_once(body, analyses);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        all += moved;
    }
    return all;
}

bool pass_hoist(PassContext *context)
{
    Search *search = context->search;
    Candidate candidate = candidate_new(search);
    unsigned moved = hoist_values(candidate.body, candidate.analyses);
    return candidate_propose(search, PASS_HOIST, &candidate, move_of(MOVE_HOIST, moved));
}
