/* The greatest unsigned value of each integer, found from below: all start at 0 and grow until nothing changes. After
 * some rounds, a phi that grows in a loop jumps to the next of a few limits, so that the search ends soon. */
#include "analysis/evaluate/evaluate.h"
#include "analysis/significant.h"

enum {
    EXACT_ROUNDS = 4, /* before phis jump */
    ROUNDS_MOST = 60, /* after which nothing is considered known */
};

typedef struct Greatest {
    const Values *values;
    uint64_t *most; /* by RegId */
} Greatest;

/* All bits of a type or register; a larger value says no more. */
static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 || !bits ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static bool is_integer_type(Type type)
{
    return class_is_integer(type_class(type));
}

static uint64_t reg_mask(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    return is_integer_type(r->type) && r->vector <= 1 ? mask_of(type_bits(r->type)) : UINT64_MAX;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t greatest_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

static Bounds bounds_of(const void *context, RegId reg)
{
    const Greatest *greatest = context;
    const Reg *r = &greatest->values->body->regs.data[reg];
    unsigned bits = type_bits(r->type);
    if (!is_integer_type(r->type) || r->vector > 1)
        return bounds_any(bits);
    return bounds_unsigned(bits, 0, least_of(greatest->most[reg], mask_of(bits)));
}

/* The greatest value that the instruction leaves in the register if it is executed. */
static uint64_t inst_most(const Greatest *greatest, const Inst *inst, unsigned ref)
{
    const Body *body = greatest->values->body;
    RegId reg = inst->refs[ref].reg;
    Computation c;
    if (!is_integer_type(body->regs.data[reg].type) || body->regs.data[reg].vector > 1)
        return UINT64_MAX;
    if (!computation_if_executed(body, inst, &c))
        return bounds_of_load(body, inst, reg).high;
    return computation_bounds(&c, bounds_of, greatest).high;
}

/* The greatest value of a definition, including the old one that remains if a guard is false. */
static uint64_t definition_most(const Greatest *greatest, const Inst *inst, unsigned ref)
{
    uint64_t most = inst_most(greatest, inst, ref);
    uint16_t old = inst->refs[ref].partner;
    if (!inst_is_guarded(inst) && !inst->tied_count)
        return most;
    if (old == REF_NONE || inst->refs[old].reg == REG_NONE || inst->refs[old].type != TYPE_NONE)
        return UINT64_MAX;
    return greatest_of(most, greatest->most[inst->refs[old].reg]);
}

static uint64_t phi_most(const Greatest *greatest, const Phi *phi)
{
    uint64_t most = 0;
    for (size_t i = 0; i < phi->args.count; i++)
        most = greatest_of(most, phi->args.data[i].reg == REG_NONE ? UINT64_MAX
                                                                   : greatest->most[phi->args.data[i].reg]);
    return most;
}

/* The next of a few limits. */
static uint64_t jump(uint64_t most)
{
    static const uint64_t limits[] = {1, 0xf, 0xff, 0xfff, 0xffff, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (most <= limits[i])
            return limits[i];
    return UINT64_MAX;
}

/* Raises the value to 'most', or jumps beyond it; true if it grew. */
static bool grow(const Greatest *greatest, RegId reg, uint64_t most, bool jumps)
{
    uint64_t limit = reg_mask(greatest->values->body, reg);
    if (most <= greatest->most[reg])
        return false;
    most = least_of(jumps ? jump(most) : most, limit);
    if (most <= greatest->most[reg])
        return false;
    greatest->most[reg] = most;
    return true;
}

static bool round_run(const Greatest *greatest, bool jumps)
{
    const Body *body = greatest->values->body;
    bool grew = false;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            grew |= grow(greatest, block->phis.data[p].dst, phi_most(greatest, &block->phis.data[p]), jumps);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]))
                    grew |= grow(greatest, inst->refs[r].reg, definition_most(greatest, inst, r), false);
    }
    return grew;
}

static uint8_t bits_needed(uint64_t most)
{
    return (uint8_t)(most ? 64 - __builtin_clzll(most) : 1);
}

uint8_t *significant_bits(Arena *arena, const Values *values)
{
    uint8_t *bits = ARENA_ARRAY(arena, uint8_t, values->reg_count + 1);
    Greatest greatest = {values, ARENA_ARRAY(arena, uint64_t, values->reg_count + 1)};
    unsigned rounds = 0;
    for (size_t r = 0; r < values->reg_count; r++)
        if (value_is_undefined(values, (RegId)r))
            greatest.most[r] = reg_mask(values->body, (RegId)r);
    while (rounds < ROUNDS_MOST && round_run(&greatest, rounds >= EXACT_ROUNDS))
        rounds++;
    for (size_t r = 0; r < values->reg_count; r++) {
        uint64_t limit = reg_mask(values->body, (RegId)r);
        bits[r] = bits_needed(rounds < ROUNDS_MOST ? least_of(greatest.most[r], limit) : limit);
    }
    return bits;
}
