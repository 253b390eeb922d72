/* Integers that are computed from constants become constants. */
#include "opt/common/cleanup.h"

typedef struct Folder {
    const Body *body;
    BitSet known;      /* by RegId */
    uint64_t *numbers; /* by RegId, of those: the bits of the register */
} Folder;

/* The value of an instruction whose operands are all known. */
static bool value_find(const Folder *folder, const Inst *inst, RegId *reg, uint64_t *value)
{
    Computation c;
    uint64_t sources[COMPUTE_SOURCES];
    if (inst_is_guarded(inst) || !computation_of(folder->body, inst, &c) || c.reg_bits < 32)
        return false;
    for (unsigned s = 0; s < c.source_count; s++) {
        const ComputeSource *source = &c.sources[s];
        if (source->is_constant)
            continue;
        if (source->reg == REG_NONE || source->is_inverted || !bitset_has(&folder->known, source->reg))
            return false;
        sources[s] = folder->numbers[source->reg];
    }
    *reg = c.result;
    return computation_value(&c, sources, value);
}

static bool is_constant_move(const Body *body, const Inst *inst)
{
    Computation c;
    return computation_of(body, inst, &c) && c.op == COMPUTE_COPY && c.sources[0].is_constant;
}

void inst_become_constant(Body *body, Inst *inst, RegId reg, int64_t number)
{
    const bool is_wide = type_bits(body->regs.data[reg].type) == 64;
    inst_insert_before(inst, inst_build(body, is_wide ? "mov.b64" : "mov.b32", "di", reg,
                                        is_wide ? number : (int32_t)number));
    inst_remove(inst);
}

/* Makes the instruction a constant, if it is one; true if it was not written as one. */
static bool fold(Folder *folder, Body *body, Inst *inst)
{
    RegId reg;
    uint64_t value;
    if (!value_find(folder, inst, &reg, &value))
        return false;
    bitset_add(&folder->known, reg);
    folder->numbers[reg] = value;
    if (is_constant_move(body, inst))
        return false;
    inst_become_constant(body, inst, reg, (int64_t)value);
    return true;
}

/* Whether all paths bring the same constant to the phi. */
static void join(Folder *folder, const Phi *phi)
{
    for (size_t a = 0; a < phi->args.count; a++) {
        const RegId reg = phi->args.data[a].reg;
        if (!bitset_has(&folder->known, reg) || folder->numbers[reg] != folder->numbers[phi->args.data[0].reg])
            return;
    }
    if (!phi->args.count)
        return;
    bitset_add(&folder->known, phi->dst);
    folder->numbers[phi->dst] = folder->numbers[phi->args.data[0].reg];
}

unsigned fold_constants(Body *body, Analyses *analyses)
{
    Arena *scratch = arena_new();
    const Dominance *dominance = analyses_dominance(analyses);
    Folder folder = {.body = body, .known = bitset_new(scratch, body->regs.count),
                     .numbers = ARENA_ARRAY(scratch, uint64_t, body->regs.count)};
    unsigned count = 0;
    for (uint32_t i = 0; i < dominance->order_count; i++) {
        Block *block = body->blocks.data[dominance->order[i]];
        for (size_t p = 0; p < block->phis.count; p++)
            join(&folder, &block->phis.data[p]);
        for (Inst *inst = block->first, *next; inst; inst = next) {
            next = inst->next;
            count += fold(&folder, body, inst);
        }
    }
    arena_free(scratch);
    return count;
}
