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

/* The instruction that makes the register, if it has this opcode and 'operands' operands besides its result, the first
 * of them a register; else NULL. */
static const Inst *made_by(const Copies *copies, RegId reg, Opcode op, unsigned operands)
{
    const Inst *inst = reg == REG_NONE ? NULL : value_inst(copies->values, reg);
    bool is_made = inst && !inst_is_opaque(inst) && inst->guard == REF_NONE && inst_op(inst) == op &&
                   inst->operand_count == operands + 1 && inst->operands[1].kind == OPERAND_REG;
    return is_made ? inst : NULL;
}

/* The original of the register that the operand reads; REG_NONE if it is not a register. */
static RegId read_by(const Copies *copies, const Inst *inst, unsigned index)
{
    const Operand *operand = &inst->operands[index];
    return operand->kind == OPERAND_REG && !operand->negated ? original_of(copies, inst->refs[operand->ref].reg)
                                                             : REG_NONE;
}

static bool is_constant(const Inst *inst, unsigned index, uint64_t bits)
{
    const Operand *operand = &inst->operands[index];
    return operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT &&
           operand->constant->bits == bits;
}

/* The source of the conversion between 32-bit and 64-bit integers that makes the register. */
static RegId converted_from(const Copies *copies, RegId reg)
{
    const Inst *inst = made_by(copies, reg, OP_CVT, 1);
    return inst ? read_by(copies, inst, 1) : REG_NONE;
}

/* The first operand of the instruction that makes the register, if its second is the constant. */
static RegId made_from(const Copies *copies, RegId reg, Opcode op, uint64_t constant)
{
    const Inst *inst = made_by(copies, reg, op, 2);
    return inst && is_constant(inst, 2, constant) ? read_by(copies, inst, 1) : REG_NONE;
}

/* x ^ y ^ y */
static RegId unmixed(const Copies *copies, const Inst *inst)
{
    const Inst *mixed = made_by(copies, read_by(copies, inst, 1), OP_XOR, 2);
    RegId mask = read_by(copies, inst, 2);
    return mixed && mask != REG_NONE && read_by(copies, mixed, 2) == mask ? read_by(copies, mixed, 1) : REG_NONE;
}

/* The value whose halves the instruction joins again. */
static RegId rejoined(const Copies *copies, const Inst *inst)
{
    RegId low = converted_from(copies, converted_from(copies, read_by(copies, inst, 1)));
    RegId other = read_by(copies, inst, 2), high = made_from(copies, other, OP_AND, ~(uint64_t)UINT32_MAX);
    if (high == REG_NONE) {
        high = converted_from(copies, converted_from(copies, made_from(copies, other, OP_SHL, HALF_BITS)));
        high = made_from(copies, high, OP_SHR, HALF_BITS);
    }
    return low == high ? low : REG_NONE;
}

/* True for a volatile access to one word of shared memory, with a register, which is stored to *reg. */
static bool is_volatile_word(const Inst *inst, AccessKind kind, Access *access, RegId *reg)
{
    if (inst_is_opaque(inst) || inst->guard != REF_NONE || !inst_access(inst, access) || access->kind != kind ||
        access->weak || access->space != SPACE_SHARED || access->bytes * 8 != HALF_BITS || inst->sync != SYNC_NONE)
        return false;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand == access->address || operand->kind != OPERAND_REG || operand->negated)
            continue;
        *reg = inst->refs[operand->ref].reg;
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
    if (inst_is_opaque(inst) || inst->guard != REF_NONE || inst->operand_count < 3 ||
        inst->operands[0].kind != OPERAND_REG)
        return REG_NONE;
    *result = inst->refs[inst->operands[0].ref].reg;
    switch (inst_op(inst)) {
    case OP_PRMT:
        return inst->operand_count == 4 && is_constant(inst, 3, IDENTITY) ? read_by(copies, inst, 1) : REG_NONE;
    case OP_XOR: return unmixed(copies, inst);
    case OP_OR: return rejoined(copies, inst);
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
