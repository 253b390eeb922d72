/* Integer values as sums of multiples, evaluated once down the dominator tree. */
#include "analysis/affine_internal.h"

#include <string.h>

int64_t affine_sign_extend(uint64_t value, unsigned bits)
{
    return bits == 32 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

bool affine_base_equal(const AffineTerm *a, const AffineTerm *b)
{
    return a->base == b->base && a->reg == b->reg && a->object == b->object && a->offset == b->offset;
}

void affine_sum_add_term(Sum *sum, const AffineTerm *term, int64_t factor)
{
    uint64_t added = (uint64_t)term->coefficient * (uint64_t)factor;
    AffineTerm copy = *term;
    /* Modulo 2^32 it does not matter how a register is extended. */
    if (sum->bits == 32 && copy.base == AFFINE_SIGNED) {
        copy.base = AFFINE_VALUE;
        copy.low = 0;
        copy.high = UINT32_MAX;
    }
    for (unsigned i = 0; i < sum->term_count; i++) {
        AffineTerm *have = &sum->terms[i];
        if (!affine_base_equal(have, &copy))
            continue;
        have->coefficient = affine_sign_extend((uint64_t)have->coefficient + added, sum->bits);
        if (!have->coefficient)
            *have = sum->terms[--sum->term_count];
        return;
    }
    copy.coefficient = affine_sign_extend(added, sum->bits);
    if (copy.coefficient)
        sum->terms[sum->term_count++] = copy;
}

static void sum_add_constant(Sum *sum, int64_t constant, int64_t factor)
{
    sum->constant = affine_sign_extend((uint64_t)sum->constant + (uint64_t)constant * (uint64_t)factor, sum->bits);
}

bool affine_sum_add(Sum *sum, const AffineForm *form, int64_t factor)
{
    sum_add_constant(sum, form->constant, factor);
    for (unsigned i = 0; i < form->term_count; i++)
        affine_sum_add_term(sum, &form->terms[i], factor);
    return sum->term_count <= AFFINE_TERMS;
}

static Sum sum_of_constant(unsigned bits, uint64_t constant)
{
    return (Sum){.bits = bits, .constant = affine_sign_extend(constant, bits)};
}

static Sum sum_of_base(unsigned bits, AffineTerm base)
{
    Sum sum = {.bits = bits};
    base.coefficient = 1;
    affine_sum_add_term(&sum, &base, 1);
    return sum;
}

bool affine_terms_bounds(const AffineTerm *terms, unsigned count, int64_t constant, __int128 *low, __int128 *high)
{
    *low = *high = constant;
    for (unsigned i = 0; i < count; i++) {
        const AffineTerm *term = &terms[i];
        if (!term->bounded)
            return false;
        __int128 a = (__int128)term->coefficient * term->low, b = (__int128)term->coefficient * term->high;
        *low += a < b ? a : b;
        *high += a < b ? b : a;
    }
    return true;
}

AffineForm affine_terms_copy(Arena *arena, const Sum *sum, int64_t constant)
{
    AffineTerm *terms = ARENA_ARRAY(arena, AffineTerm, sum->term_count);
    memcpy(terms, sum->terms, sum->term_count * sizeof *terms);
    return (AffineForm){sum->bits, sum->term_count, constant, terms};
}

bool affine_terms_equal(const AffineForm *a, const AffineForm *b)
{
    if (a->bits != b->bits || a->term_count != b->term_count)
        return false;
    for (unsigned i = 0; i < a->term_count && a->terms != b->terms; i++) {
        unsigned k = 0;
        while (k < b->term_count && !affine_base_equal(&a->terms[i], &b->terms[k]))
            k++;
        if (k == b->term_count || a->terms[i].coefficient != b->terms[k].coefficient)
            return false;
    }
    return true;
}

static bool is_integer(Type type)
{
    return type == TYPE_U32 || type == TYPE_S32 || type == TYPE_B32 || type == TYPE_U64 || type == TYPE_S64 ||
           type == TYPE_B64;
}

AffineTerm affine_reg_base(const Body *body, RegId reg, uint64_t high)
{
    unsigned bits = type_bits(body->regs.data[reg].type);
    AffineTerm term = {.base = AFFINE_VALUE, .reg = reg, .coefficient = 1, .bounded = true, .high = UINT32_MAX};
    if (high && high <= INT64_MAX)
        term.high = (int64_t)high;
    else if (bits > 32)
        term.bounded = false;
    return term;
}

static bool tuning_exact(const Tuning *tuning, unsigned dimension, uint64_t *threads)
{
    if (!tuning->reqntid_count)
        return false;
    *threads = dimension < tuning->reqntid_count && tuning->reqntid[dimension] ? tuning->reqntid[dimension] : 1;
    return true;
}

static uint64_t threads_bound(const Tuning *tuning)
{
    const unsigned *count = tuning->reqntid_count ? tuning->reqntid : tuning->maxntid;
    unsigned given = tuning->reqntid_count ? tuning->reqntid_count : tuning->maxntid_count;
    uint64_t product = 1;
    for (unsigned i = 0; i < given && i < 3 && product <= 1024; i++)
        product *= count[i] ? count[i] : 1;
    return given && product < 1024 ? product : 1024;
}

/* Largest value of the special registers that occur in addresses: CUDA's limits on grids and blocks, or the
 * kernel's own. */
static bool sreg_bound(const Evaluator *evaluator, const Sreg *sreg, int64_t *high)
{
    static const struct Limit {
        uint8_t role, axis;
        int64_t high;
    } limits[] = {
        {SREG_ROLE_LANEID, SREG_AXIS_NONE, 31},         {SREG_ROLE_CLUSTER_CTARANK, SREG_AXIS_NONE, 31},
        {SREG_ROLE_CTAID, SREG_AXIS_X, 2147483646},     {SREG_ROLE_CTAID, SREG_AXIS_Y, 65534},
        {SREG_ROLE_CTAID, SREG_AXIS_Z, 65534},          {SREG_ROLE_NCTAID, SREG_AXIS_X, 2147483647},
        {SREG_ROLE_NCTAID, SREG_AXIS_Y, 65535},         {SREG_ROLE_NCTAID, SREG_AXIS_Z, 65535},
    };
    bool index = sreg->role == SREG_ROLE_TID, count = sreg->role == SREG_ROLE_NTID;
    if (index || count) {
        unsigned dimension = sreg->axis;
        if (dimension > SREG_AXIS_Z)
            return false;
        uint64_t threads = evaluator->block_threads;
        if (dimension == 2 && threads > 64)
            threads = 64;
        tuning_exact(&evaluator->body->tuning, dimension, &threads);
        *high = (int64_t)threads - index;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (sreg->role == limits[i].role && sreg->axis == limits[i].axis) {
            *high = limits[i].high;
            return true;
        }
    return false;
}

static bool reg_sum(const Evaluator *evaluator, RegId reg, unsigned bits, Sum *sum)
{
    const AffineForm *form = &evaluator->affine->forms[reg];
    if (form->bits != bits)
        return false;
    *sum = (Sum){.bits = bits};
    return affine_sum_add(sum, form, 1);
}

/* A source operand as a sum of this width. */
static bool operand_sum(const Evaluator *evaluator, const Inst *inst, const Operand *operand, unsigned bits, Sum *sum)
{
    if (operand->negated || operand->inverted || operand->selector)
        return false;
    if (operand->constant && operand->constant->kind != CONSTANT_INT)
        return false;
    switch (operand->kind) {
    case OPERAND_REG:
        if (!reg_sum(evaluator, inst->refs[operand->ref].reg, bits, sum))
            return false;
        break;
    case OPERAND_CONSTANT:
        *sum = sum_of_constant(bits, operand->constant->bits);
        return true;
    case OPERAND_SYMBOL:
        if (operand->symbol.kind != SYMBOL_VARIABLE || operand->symbol.variable->space == SPACE_REG)
            return false;
        *sum = sum_of_base(bits, (AffineTerm){.base = AFFINE_SYMBOL, .variable = operand->symbol.variable});
        break;
    case OPERAND_SREG: {
        if (operand->sreg->vector != 1 || type_bits(operand->sreg->type) != bits ||
            operand->sreg->dependence == SREG_VOLATILE)
            return false;
        AffineTerm base = {.base = AFFINE_SREG, .sreg = operand->sreg};
        base.bounded = sreg_bound(evaluator, operand->sreg, &base.high);
        *sum = sum_of_base(bits, base);
        return true;
    }
    default:
        return false;
    }
    if (operand->constant)
        sum_add_constant(sum, (int64_t)operand->constant->bits, 1);
    return true;
}

static AffineForm sum_form(const Sum *sum)
{
    return (AffineForm){sum->bits, sum->term_count, sum->constant, sum->terms};
}

/* A 32-bit sum extended to 64 bits: term by term if it cannot have wrapped, else as the register that holds it. */
static bool sum_extend(Evaluator *evaluator, const Inst *inst, const Operand *operand, bool is_signed, Sum *sum)
{
    Sum narrow;
    __int128 low, high;
    if (!operand_sum(evaluator, inst, operand, 32, &narrow))
        return false;
    bool known = affine_terms_bounds(narrow.terms, narrow.term_count, narrow.constant, &low, &high);
    __int128 least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    if (known && low >= least && high <= most) {
        *sum = narrow;
        sum->bits = 64;
        return true;
    }
    if (!narrow.term_count) {
        *sum = sum_of_constant(64, is_signed ? (uint64_t)narrow.constant : (uint32_t)narrow.constant);
        return true;
    }
    if (operand->kind != OPERAND_REG || operand->constant)
        return false;
    affine_class_extend(evaluator, &narrow, inst->refs[operand->ref].reg, is_signed, sum);
    return true;
}

/* Product of two sums; one has to be a constant. */
static bool sum_multiply(Sum *sum, const Sum *other)
{
    if (sum->term_count && other->term_count)
        return false;
    const Sum *terms = sum->term_count ? sum : other;
    int64_t factor = sum->term_count ? other->constant : sum->constant;
    Sum product = {.bits = sum->bits};
    AffineForm form = sum_form(terms);
    affine_sum_add(&product, &form, factor);
    *sum = product;
    return true;
}

static bool sum_negate(Sum *sum)
{
    Sum minus = sum_of_constant(sum->bits, UINT64_MAX);
    return sum_multiply(sum, &minus);
}

/* The largest power of two that divides the sum whatever the bases are; 0: the sum is 0. */
static uint64_t sum_alignment(const Sum *sum)
{
    uint64_t bits = (uint64_t)sum->constant;
    for (unsigned i = 0; i < sum->term_count; i++)
        bits |= (uint64_t)sum->terms[i].coefficient;
    return bits & -bits;
}

static bool eval_mov(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    return inst->operand_count == 2 && operand_sum(evaluator, inst, &inst->operands[1], bits, sum);
}

static bool eval_load(const Inst *inst, unsigned bits, Sum *sum)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.read_only || access.space != SPACE_PARAM ||
        !access.address || access.bytes * 8 != bits)
        return false;
    const Operand *at = access.address->items;
    if (!at || at->kind != OPERAND_SYMBOL || at->symbol.kind != SYMBOL_VARIABLE)
        return false;
    const Constant *offset = access.address->constant;
    AffineTerm base = {
        .base = AFFINE_PARAM,
        .reg = bits,
        .variable = at->symbol.variable,
        .offset = offset ? (int64_t)offset->bits : 0,
        .bounded = bits == 32,
        .high = UINT32_MAX,
    };
    *sum = sum_of_base(bits, base);
    return true;
}

static bool eval_add(const Evaluator *evaluator, const Inst *inst, unsigned bits, int64_t sign, Sum *sum)
{
    Sum other;
    if (inst->operand_count != 3 || !operand_sum(evaluator, inst, &inst->operands[1], bits, sum) ||
        !operand_sum(evaluator, inst, &inst->operands[2], bits, &other))
        return false;
    AffineForm form = sum_form(&other);
    return affine_sum_add(sum, &form, sign);
}

/* The only register that the instruction writes, whole and unconditionally; REG_NONE if there is none. */
static RegId single_result(const Inst *inst)
{
    if (inst_is_opaque(inst) || inst->guard != REF_NONE || inst->tied_count || !inst->operand_count)
        return REG_NONE;
    const Operand *result = &inst->operands[0];
    if (result->kind != OPERAND_REG || result->selector || inst->refs[result->ref].role != REF_DEF)
        return REG_NONE;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (r != result->ref && ref_writes(&inst->refs[r]))
            return REG_NONE;
    return inst->refs[result->ref].reg;
}

/* mul.lo, mul.wide, and with four operands mad.lo, mad.wide. */
static bool eval_multiply(Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    Type type = inst->signature->types[0];
    Sum other, addend = {.bits = bits};
    if (inst_has(inst, MOD_WIDE)) {
        bool is_signed = type == TYPE_S32;
        if (type_bits(type) != 32 || bits != 64 || !sum_extend(evaluator, inst, &inst->operands[1], is_signed, sum) ||
            !sum_extend(evaluator, inst, &inst->operands[2], is_signed, &other))
            return false;
    } else if (!inst_has(inst, MOD_LO) || type_bits(type) != bits ||
               !operand_sum(evaluator, inst, &inst->operands[1], bits, sum) ||
               !operand_sum(evaluator, inst, &inst->operands[2], bits, &other)) {
        return false;
    }
    if (inst->operand_count == 4 && !operand_sum(evaluator, inst, &inst->operands[3], bits, &addend))
        return false;
    if (sum->term_count && other.term_count) {
        Sum factor = *sum;
        return affine_class_multiply(evaluator, &factor, &other, &addend, single_result(inst), sum);
    }
    AffineForm form = sum_form(&addend);
    return sum_multiply(sum, &other) && affine_sum_add(sum, &form, 1);
}

/* A source operand of so many bits that is known to be constant. */
static bool constant_operand(const Evaluator *evaluator, const Inst *inst, unsigned index, unsigned bits,
                             uint64_t *value)
{
    Sum sum;
    if (index >= inst->operand_count || !operand_sum(evaluator, inst, &inst->operands[index], bits, &sum) ||
        sum.term_count)
        return false;
    *value = bits == 32 ? (uint32_t)sum.constant : (uint64_t)sum.constant;
    return true;
}

static bool eval_shl(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    uint64_t amount;
    if (!constant_operand(evaluator, inst, 2, 32, &amount) ||
        !operand_sum(evaluator, inst, &inst->operands[1], bits, sum))
        return false;
    Sum factor = sum_of_constant(bits, amount < bits ? UINT64_C(1) << amount : 0);
    return sum_multiply(sum, &factor);
}

/* An or with a constant is a sum if those bits of the other operand are known to be clear. */
static bool eval_or(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    Sum other;
    if (inst->operand_count != 3 || !operand_sum(evaluator, inst, &inst->operands[1], bits, sum) ||
        !operand_sum(evaluator, inst, &inst->operands[2], bits, &other))
        return false;
    if (!sum->term_count) {
        Sum swap = *sum;
        *sum = other;
        other = swap;
    }
    uint64_t alignment = sum_alignment(sum);
    uint64_t constant = bits == 32 ? (uint32_t)other.constant : (uint64_t)other.constant;
    if (other.term_count || (alignment && constant >= alignment))
        return false;
    sum_add_constant(sum, other.constant, 1);
    return true;
}

/* The complement of all bits from the k-th on, as compilers write rows above: -sum - 2^k, if the others are clear. */
static bool eval_complement(unsigned bits, uint64_t mask, Sum *sum)
{
    uint64_t first = bits == 32 ? (uint32_t)-mask : -mask, alignment = sum_alignment(sum);
    if (!first || first & (first - 1) || (alignment && alignment < first) || !sum_negate(sum))
        return false;
    sum_add_constant(sum, -(int64_t)first, 1);
    return true;
}

static bool eval_xor(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    uint64_t mask;
    return inst->operand_count == 3 && constant_operand(evaluator, inst, 2, bits, &mask) &&
           operand_sum(evaluator, inst, &inst->operands[1], bits, sum) && eval_complement(bits, mask, sum);
}

static bool eval_cvt(Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    const Signature *signature = inst->signature;
    if (signature->type_count != 2 || !is_integer(signature->types[0]) || !is_integer(signature->types[1]) ||
        type_bits(signature->types[0]) != bits || inst_has(inst, MOD_SAT) || inst->operand_count != 2)
        return false;
    unsigned from = type_bits(signature->types[1]);
    if (from == bits)
        return operand_sum(evaluator, inst, &inst->operands[1], bits, sum);
    if (bits == 64)
        return sum_extend(evaluator, inst, &inst->operands[1], type_class(signature->types[1]) == CLASS_SIGNED, sum);
    Sum wide;
    if (!operand_sum(evaluator, inst, &inst->operands[1], 64, &wide))
        return false;
    AffineForm form = sum_form(&wide);
    *sum = (Sum){.bits = 32};
    return affine_sum_add(sum, &form, 1);
}

/* PTX ISA, "Generic Addressing": an address within a state space's window is the address in the space plus the
 * window's base; global addresses are generic addresses. */
static bool eval_cvta(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    Space space = inst->signature->space;
    if (inst->operand_count != 2 || space == SPACE_NONE ||
        !operand_sum(evaluator, inst, &inst->operands[1], bits, sum))
        return false;
    if (space == SPACE_GLOBAL)
        return true;
    AffineTerm window = {.base = AFFINE_WINDOW, .coefficient = 1, .offset = space};
    affine_sum_add_term(sum, &window, inst_has(inst, MOD_TO) ? -1 : 1);
    return sum->term_count <= AFFINE_TERMS;
}

static bool eval_inst(Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    const Signature *signature = inst->signature;
    Type type = signature->types[0];
    if (!signature->type_count || !is_integer(type) || signature->vector > 1)
        return false;
    bool wide = inst_has(inst, MOD_WIDE);
    if (type_bits(type) != bits && !wide)
        return false;
    switch (inst_op(inst)) {
    case OP_MOV: return eval_mov(evaluator, inst, bits, sum);
    case OP_LD: return eval_load(inst, bits, sum);
    case OP_ADD: return !inst_has(inst, MOD_SAT) && eval_add(evaluator, inst, bits, 1, sum);
    case OP_SUB: return !inst_has(inst, MOD_SAT) && eval_add(evaluator, inst, bits, -1, sum);
    case OP_MUL:
    case OP_MAD: return !inst_has(inst, MOD_SAT) && eval_multiply(evaluator, inst, bits, sum);
    case OP_SHL: return eval_shl(evaluator, inst, bits, sum);
    case OP_OR: return eval_or(evaluator, inst, bits, sum);
    case OP_XOR: return eval_xor(evaluator, inst, bits, sum);
    case OP_NOT:
        return inst->operand_count == 2 && operand_sum(evaluator, inst, &inst->operands[1], bits, sum) &&
               eval_complement(bits, UINT64_MAX, sum);
    case OP_CVT: return eval_cvt(evaluator, inst, bits, sum);
    case OP_CVTA: return eval_cvta(evaluator, inst, bits, sum);
    case OP_NEG:
        return inst->operand_count == 2 && operand_sum(evaluator, inst, &inst->operands[1], bits, sum) &&
               sum_negate(sum);
    default: return false;
    }
}

/* A bound on a result that is not a sum; 0: none. */
static uint64_t result_bound(const Evaluator *evaluator, const Inst *inst)
{
    const Signature *signature = inst->signature;
    if (!signature->type_count)
        return 0;
    Type type = signature->types[0], last = signature->types[signature->type_count - 1];
    unsigned bits = type_bits(type);
    bool is_unsigned = type_class(type) == CLASS_UNSIGNED || type_class(type) == CLASS_BITS;
    uint64_t value;
    switch (inst_op(inst)) {
    case OP_AND:
        for (unsigned i = 1; i < inst->operand_count; i++)
            if (bits >= 32 && constant_operand(evaluator, inst, i, bits, &value))
                return value ? value : 1;
        return 0;
    case OP_SHR:
        if (is_unsigned && bits >= 32 && constant_operand(evaluator, inst, 2, 32, &value) && value && value < bits)
            return UINT64_MAX >> (64 - bits) >> value;
        return 0;
    case OP_REM:
        if (is_unsigned && bits >= 32 && constant_operand(evaluator, inst, 2, bits, &value) && value > 1)
            return value - 1;
        return 0;
    case OP_BFE:
        if (is_unsigned && constant_operand(evaluator, inst, 3, 32, &value) && (value & 255) < 32)
            return (value & 255) ? (UINT64_C(1) << (value & 255)) - 1 : 1;
        return 0;
    case OP_LD: return type == TYPE_U8 ? UINT8_MAX : type == TYPE_U16 ? UINT16_MAX : 0;
    case OP_CVT:
        if (inst_has(inst, MOD_SAT) || bits < 32 || type_class(type) == CLASS_FLOAT)
            return 0;
        return last == TYPE_U8 ? UINT8_MAX : last == TYPE_U16 ? UINT16_MAX : 0;
    default: return 0;
    }
}

static void form_store(const Evaluator *evaluator, RegId reg, const Sum *sum)
{
    evaluator->affine->forms[reg] = affine_terms_copy(evaluator->arena, sum, sum->constant);
}

static unsigned reg_bits(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    return is_integer(r->type) && r->vector <= 1 ? type_bits(r->type) : 0;
}

static void reg_store_base(const Evaluator *evaluator, RegId reg, uint64_t high)
{
    unsigned bits = reg_bits(evaluator->body, reg);
    if (!bits)
        return;
    Sum sum = sum_of_base(bits, affine_reg_base(evaluator->body, reg, high));
    form_store(evaluator, reg, &sum);
}

static void inst_eval(Evaluator *evaluator, const Inst *inst)
{
    RegId result = single_result(inst);
    unsigned bits = result == REG_NONE ? 0 : reg_bits(evaluator->body, result);
    Sum sum;
    if (result != REG_NONE)
        evaluator->makers[result] = inst;
    if (!bits)
        return;
    if (eval_inst(evaluator, inst, bits, &sum))
        form_store(evaluator, result, &sum);
    else
        reg_store_base(evaluator, result, result_bound(evaluator, inst));
}

Affine *affine_compute(Arena *arena, const Body *body, const Dominance *dominance)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Affine *affine = ARENA_NEW(arena, Affine);
    affine->body = body;
    affine->reg_count = body->regs.count;
    affine->forms = ARENA_ARRAY(arena, AffineForm, body->regs.count);
    affine->factors = ARENA_ARRAY(arena, AffineFactors *, body->regs.count);
    Evaluator evaluator = {
        .arena = arena,
        .scratch = scratch,
        .body = body,
        .affine = affine,
        .block_threads = threads_bound(&body->tuning),
        .makers = ARENA_ARRAY(scratch, const Inst *, body->regs.count),
        .facts = ARENA_ARRAY(scratch, const AffineFact *, body->blocks.count),
    };
    affine_classes_start(&evaluator);
    if (!dominance)
        dominance = dominance_compute(scratch, body);
    require(!dominance->post && dominance->body == body);
    for (RegId reg = 0; reg < body->regs.count; reg++)
        reg_store_base(&evaluator, reg, 0);
    /* Definitions come before their uses down the dominator tree; phis stay bases. */
    for (uint32_t i = 0; i < dominance->order_count; i++) {
        const Block *block = body->blocks.data[dominance->order[i]];
        affine_facts_enter(&evaluator, dominance, block);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            inst_eval(&evaluator, inst);
    }
    arena_free(scratch);
    return affine;
}

void affine_of_address(const Affine *affine, const Inst *inst, const Operand *address, AffineAddress *out)
{
    *out = (AffineAddress){0};
    if (!address || address->kind != OPERAND_ADDRESS || !address->item_count ||
        (address->constant && address->constant->kind != CONSTANT_INT))
        return;
    const Operand *at = &address->items[0];
    if (at->negated || at->selector)
        return;
    if (at->kind == OPERAND_REG) {
        require(inst->refs[at->ref].reg < affine->reg_count);
        out->form = affine->forms[inst->refs[at->ref].reg];
    } else if (at->kind == OPERAND_SYMBOL && at->symbol.kind == SYMBOL_VARIABLE) {
        out->own = (AffineTerm){.base = AFFINE_SYMBOL, .variable = at->symbol.variable, .coefficient = 1};
        out->form = (AffineForm){64, 1, 0, &out->own};
    } else if (at->kind == OPERAND_CONSTANT && at->constant->kind == CONSTANT_INT) {
        out->form = (AffineForm){64, 0, (int64_t)at->constant->bits, NULL};
    } else {
        return;
    }
    if (!out->form.bits)
        return;
    uint64_t offset = (uint64_t)out->form.constant;
    if (at->kind != OPERAND_CONSTANT && at->constant)
        offset += at->constant->bits;
    if (address->constant)
        offset += address->constant->bits;
    out->form.constant = affine_sign_extend(offset, out->form.bits);
}

static void print_term(const Affine *affine, const AffineTerm *term, Buf *out)
{
    switch (term->base) {
    case AFFINE_VALUE: buf_puts(out, affine->body->regs.data[term->reg].name); break;
    case AFFINE_SIGNED: buf_printf(out, "signed(%s)", affine->body->regs.data[term->reg].name); break;
    case AFFINE_SREG: buf_puts(out, term->sreg->name); break;
    case AFFINE_SYMBOL: buf_puts(out, term->variable->name); break;
    case AFFINE_PARAM:
        buf_puts(out, term->variable->name ? term->variable->name : "_");
        if (term->offset)
            buf_printf(out, "[%lld]", (long long)term->offset);
        break;
    case AFFINE_WINDOW: buf_printf(out, "window(%s)", space_name((Space)term->offset)); break;
    }
}

void affine_print(const Affine *affine, const AffineForm *form, Buf *out)
{
    if (!form->bits)
        buf_puts(out, "?");
    for (unsigned i = 0; i < form->term_count; i++) {
        int64_t coefficient = form->terms[i].coefficient;
        /* The magnitude of the least integer is its own bits. */
        uint64_t magnitude = coefficient < 0 ? -(uint64_t)coefficient : (uint64_t)coefficient;
        if (i || coefficient < 0)
            buf_puts(out, !i ? "-" : coefficient < 0 ? " - " : " + ");
        if (magnitude != 1)
            buf_printf(out, "%llu*", (unsigned long long)magnitude);
        print_term(affine, &form->terms[i], out);
    }
    if (!form->bits || (form->term_count && !form->constant))
        return;
    uint64_t magnitude = form->constant < 0 ? -(uint64_t)form->constant : (uint64_t)form->constant;
    const char *minus = form->term_count ? " - " : "-", *plus = form->term_count ? " + " : "";
    buf_printf(out, "%s%llu", form->constant < 0 ? minus : plus, (unsigned long long)magnitude);
}
