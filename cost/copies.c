/* Copies that the register passes hide from the assembler, which the estimate must see through: opaque copies
 * (opt/registers/moves/opaque.h), and values that a thread keeps in shared memory for a while
 * (opt/registers/moves/demote.h).
 *
 * An address computed from such a copy would look like one from another pointer, or from a table, and the estimate
 * would count its sectors again. So, in the clone of the body that is estimated, all reads of these copies read the
 * original; the copying instructions stay and are counted. Nothing is proved: a copy in shared memory may be wrong if
 * another thread has stored there too. */
#include "cost/estimate.h"

enum {
    HALF_BITS = 32,
    IDENTITY = 0x3210, /* a selector of prmt */
    WALKS = 2,         /* copies of copies, wherever their blocks are */
};

typedef struct StoredWord {
    const Inst *store;
    AffineForm form; /* of the address */
    RegId value;
} StoredWord;

typedef struct Copies {
    Body *body;
    Analyses *analyses;
    const Values *values;
    RegId *original; /* by RegId: the register that it is a copy of, + 1; 0: none */
    VEC(StoredWord) stored;
} Copies;

static RegId original_of(const Copies *copies, RegId reg)
{
    while (reg != REG_NONE && copies->original[reg])
        reg = copies->original[reg] - 1;
    return reg;
}

/* The instruction that makes the register; NULL if there is none. */
static const Inst *maker_of(const Copies *copies, RegId reg)
{
    return reg == REG_NONE ? NULL : value_inst(copies->values, reg);
}

/* The original that the computation reads as this source; REG_NONE: it is not a register. */
static RegId read_by(const Copies *copies, const Computation *c, unsigned source)
{
    return original_of(copies, c->sources[source].reg);
}

/* The integer that the register is a conversion of; REG_NONE: it is anything else. */
static RegId converted_from(const Copies *copies, RegId reg)
{
    Computation c;
    const Inst *inst = maker_of(copies, reg);
    bool is_conversion = inst && computation_of(copies->body, inst, &c) && c.op == COMPUTE_CONVERT;
    return is_conversion ? read_by(copies, &c, 0) : REG_NONE;
}

/* The register from which an operation on 64 bits with this constant makes the register; REG_NONE: none does. */
static RegId made_from(const Copies *copies, RegId reg, ComputeOp op, uint64_t constant)
{
    Computation c;
    bool is_made = computation_matches(copies->body, maker_of(copies, reg), op, 64, "ri", &c) &&
                   c.sources[1].constant == constant;
    return is_made ? read_by(copies, &c, 0) : REG_NONE;
}

/* x of x ^ y ^ y */
static RegId unmixed(const Copies *copies, const Computation *c)
{
    Computation mixed;
    RegId mask = read_by(copies, c, 1);
    bool is_mixed = computation_matches(copies->body, maker_of(copies, read_by(copies, c, 0)), COMPUTE_XOR, c->bits,
                                        "rr", &mixed) && read_by(copies, &mixed, 1) == mask;
    return is_mixed ? read_by(copies, &mixed, 0) : REG_NONE;
}

/* The value whose halves are put together again. */
static RegId rejoined(const Copies *copies, const Computation *c)
{
    RegId low = converted_from(copies, converted_from(copies, read_by(copies, c, 0)));
    RegId other = read_by(copies, c, 1), high = made_from(copies, other, COMPUTE_AND, ~(uint64_t)UINT32_MAX);
    if (high == REG_NONE) {
        high = converted_from(copies, converted_from(copies, made_from(copies, other, COMPUTE_SHIFT_LEFT, HALF_BITS)));
        high = made_from(copies, high, COMPUTE_SHIFT_RIGHT, HALF_BITS);
    }
    return low == high ? low : REG_NONE;
}

/* True for a volatile access to one word of shared memory, with a register, which is stored to *reg. */
static bool is_volatile_word(const Inst *inst, AccessKind kind, Access *access, RegId *reg)
{
    if (!inst_is_plain(inst) || !inst_access(inst, access) || access->kind != kind || access->weak ||
        access->space != SPACE_SHARED || access->bytes * 8 != HALF_BITS || inst->sync != SYNC_NONE)
        return false;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        *reg = inst_reg(inst, i); /* not of the address, which is an operand in brackets */
        if (*reg != REG_NONE)
            return true;
    }
    return false;
}

static AffineForm address_of(const Copies *copies, const Inst *inst, const Access *access)
{
    AffineAddress address;
    affine_of_address(analyses_affine(copies->analyses), inst, access->address, &address);
    return address.form;
}

static bool comes_before(const Copies *copies, const Inst *a, const Inst *b)
{
    return a->block == b->block ? a->id < b->id
                                : dominance_has(analyses_dominance(copies->analyses), a->block, b->block);
}

/* The value that the thread stored there last, on every path. */
static RegId stored_last(const Copies *copies, const Inst *load, const AffineForm *form)
{
    const StoredWord *last = NULL;
    for (size_t i = 0; i < copies->stored.count; i++) {
        const StoredWord *word = &copies->stored.data[i];
        if (comes_before(copies, word->store, load) && (!last || comes_before(copies, last->store, word->store)) &&
            affine_compare(&word->form, HALF_BITS / 8, form, HALF_BITS / 8) == ALIAS_SAME)
            last = word;
    }
    return last ? original_of(copies, last->value) : REG_NONE;
}

static void stores_collect(Copies *copies, Arena *arena)
{
    Access access;
    for (size_t b = 0; b < copies->body->blocks.count; b++) {
        uint32_t position = 0;
        for (Inst *inst = copies->body->blocks.data[b]->first; inst; inst = inst->next) {
            StoredWord word = {.store = inst};
            inst->id = position++;
            if (!is_volatile_word(inst, ACCESS_STORE, &access, &word.value))
                continue;
            word.form = address_of(copies, inst, &access);
            if (word.form.bits)
                VEC_PUSH(arena, copies->stored, word);
        }
    }
}

/* The register that the instruction copies to its result; REG_NONE: it does something else. */
static RegId copied_by(const Copies *copies, const Inst *inst, RegId *result)
{
    Access access;
    if (copies->stored.count && is_volatile_word(inst, ACCESS_LOAD, &access, result)) {
        const AffineForm form = address_of(copies, inst, &access);
        return form.bits ? stored_last(copies, inst, &form) : REG_NONE;
    }
    Computation c;
    if (!computation_of(copies->body, inst, &c))
        return REG_NONE;
    *result = c.result;
    switch (c.op) {
    case COMPUTE_PERMUTE:
        return c.sources[2].is_constant && c.sources[2].constant == IDENTITY ? read_by(copies, &c, 0) : REG_NONE;
    case COMPUTE_XOR: return unmixed(copies, &c);
    case COMPUTE_OR: return rejoined(copies, &c);
    default: return REG_NONE;
    }
}

static bool copies_find(Copies *copies)
{
    bool found = false;
    for (size_t b = 0; b < copies->body->blocks.count; b++)
        for (const Inst *inst = copies->body->blocks.data[b]->first; inst; inst = inst->next) {
            RegId result = REG_NONE, original = copied_by(copies, inst, &result);
            if (original == REG_NONE || copies->original[result])
                continue;
            copies->original[result] = original + 1;
            found = true;
        }
    return found;
}

static void reads_replace(const Copies *copies)
{
    for (size_t b = 0; b < copies->body->blocks.count; b++) {
        Block *block = copies->body->blocks.data[b];
        for (size_t i = 0; i < block->phis.count; i++)
            for (size_t k = 0; k < block->phis.data[i].args.count; k++)
                block->phis.data[i].args.data[k].reg = original_of(copies, block->phis.data[i].args.data[k].reg);
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]) && inst->refs[r].role != REF_BOTH)
                    inst->refs[r].reg = original_of(copies, inst->refs[r].reg);
    }
}

void estimate_see_through_copies(Body *body)
{
    Arena *arena = arena_new();
    Copies copies = {.body = body, .analyses = analyses_new(body)};
    copies.values = analyses_values(copies.analyses);
    copies.original = ARENA_ARRAY(arena, RegId, copies.values->reg_count);
    stores_collect(&copies, arena);
    bool found = false;
    for (unsigned walk = 0; walk < WALKS; walk++)
        found |= copies_find(&copies);
    if (found)
        reads_replace(&copies);
    analyses_free(copies.analyses);
    arena_free(arena);
}
