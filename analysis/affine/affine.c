/* Integer values as sums of multiples, evaluated once down the dominator tree. */
#include "analysis/affine/internal.h"

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

static bool is_integer(Type type)
{
    return type == TYPE_U32 || type == TYPE_S32 || type == TYPE_B32 || type == TYPE_U64 || type == TYPE_S64 ||
           type == TYPE_B64;
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
        if (!reg_sum(evaluator, operand_reg(inst, operand), bits, sum))
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
        affine_sum_add_constant(sum, (int64_t)operand->constant->bits, 1);
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
    affine_class_extend(evaluator, &narrow, operand_reg(inst, operand), is_signed, sum);
    return true;
}

/* The largest power of two that divides a sum of 32 bits; 1: it is not one. */
static uint64_t narrow_alignment(const AffineForm *form)
{
    uint64_t bits = (uint64_t)form->constant | UINT64_C(1) << 32;
    for (unsigned i = 0; i < form->term_count; i++)
        bits |= (uint64_t)form->terms[i].coefficient;
    return form->bits == 32 ? bits & -bits : 1;
}

/* The largest power of two that divides the sum whatever the values of the bases; 0: the sum is 0. A sum of 32 bits
 * that is extended has the same last bits. */
static uint64_t sum_alignment(const Evaluator *evaluator, const Sum *sum)
{
    uint64_t bits = (uint64_t)sum->constant;
    for (unsigned i = 0; i < sum->term_count; i++) {
        const AffineTerm *term = &sum->terms[i];
        const bool is_reg = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
        const uint64_t own = is_reg && evaluator->makers[term->reg]
                                 ? narrow_alignment(&evaluator->affine->forms[term->reg])
                                 : 1;
        bits |= (uint64_t)term->coefficient * own;
    }
    return bits & -bits;
}

static bool eval_load(const KnownParameters *known, const Inst *inst, unsigned bits, Sum *sum)
{
    ParameterPart part;
    uint64_t value;
    if (!inst_loads_parameter(inst, &part) || part.bytes * 8 != bits)
        return false;
    if (known && known_parameter_value(known, part.variable, (uint64_t)part.offset, part.bytes, &value)) {
        *sum = (Sum){.bits = bits, .constant = affine_sign_extend(value, bits)};
        return true;
    }
    AffineTerm base = {
        .base = AFFINE_PARAM,
        .reg = bits,
        .variable = part.variable,
        .offset = part.offset,
        .bounded = bits == 32,
        .high = UINT32_MAX,
    };
    *sum = sum_of_base(bits, base);
    return true;
}

/* The bounds of a source: those of its sum, with its alignment, if it is one. */
static Bounds source_bounds(const Evaluator *evaluator, const Inst *inst, const ComputeSource *source)
{
    Sum sum;
    __int128 low, high;
    unsigned bits = source->reg_bits;
    if (source->is_constant)
        return bounds_point(bits, source->constant);
    if (bits == 16 && source->reg != REG_NONE && evaluator->narrow[source->reg].bits == bits)
        return evaluator->narrow[source->reg];
    if ((bits != 32 && bits != 64) || !operand_sum(evaluator, inst, source->operand, bits, &sum))
        return bounds_any(bits);
    if (!sum.term_count)
        return bounds_point(bits, (uint64_t)sum.constant);
    Bounds bounds = bounds_any(bits);
    if (affine_terms_bounds(sum.terms, sum.term_count, sum.constant, &low, &high))
        bounds = bounds_wrapped(bits, low, high);
    return bounds_with_zeros(bounds, sum_alignment(evaluator, &sum) - 1);
}

/* A source as a sum of this width: unchanged, extended, or truncated. */
static bool source_sum(Evaluator *evaluator, const Inst *inst, const ComputeSource *source, unsigned bits, Sum *sum)
{
    if (source->reg_bits != source->bits)
        return false;
    if (source->bits == bits)
        return operand_sum(evaluator, inst, source->operand, bits, sum);
    if (source->bits == 32)
        return bits == 64 && sum_extend(evaluator, inst, source->operand, source->is_signed, sum);
    Sum wide;
    if (source->bits != 64 || !operand_sum(evaluator, inst, source->operand, 64, &wide))
        return false;
    AffineForm form = sum_form(&wide);
    *sum = (Sum){.bits = bits};
    return affine_sum_add(sum, &form, 1);
}

/* The terms that an instruction adds up, except for a product. */
static bool terms_sum(Evaluator *evaluator, const Inst *inst, const Computation *c, const ComputedSum *computed,
                      Sum *sum)
{
    *sum = sum_of_constant(computed->bits, computed->constant);
    for (unsigned i = 0; i < computed->term_count; i++) {
        Sum source;
        if (!source_sum(evaluator, inst, &c->sources[computed->terms[i].source], computed->bits, &source))
            return false;
        AffineForm form = sum_form(&source);
        if (!affine_sum_add(sum, &form, (int64_t)computed->terms[i].factor))
            return false;
    }
    return true;
}

static bool eval_computation(Evaluator *evaluator, const Inst *inst, const Computation *c, const Bounds *sources,
                             Sum *sum)
{
    ComputedSum computed;
    Sum factors[2], rest;
    if ((c->bits != 32 && c->bits != 64) || !computation_sum(c, sources, &computed))
        return false;
    if (!computed.has_product)
        return terms_sum(evaluator, inst, c, &computed, sum);
    for (unsigned i = 0; i < 2; i++)
        if (!source_sum(evaluator, inst, &c->sources[computed.factors[i]], c->bits, &factors[i]))
            return false;
    return terms_sum(evaluator, inst, c, &computed, &rest) &&
           affine_class_multiply(evaluator, &factors[0], &factors[1], &rest, c->result, sum);
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

/* A mov of a special register or of an address. (A mov of a register or constant is a sum with one term: see
 * eval_inst.) */
static bool eval_mov(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    const Operand *operand = inst->operand_count == 2 ? &inst->operands[1] : NULL;
    return operand && (operand->kind == OPERAND_SREG || operand->kind == OPERAND_SYMBOL) &&
           operand_sum(evaluator, inst, operand, bits, sum);
}

/* Values that are not the result of arithmetic: addresses, special registers and parameters. */
static bool eval_leaf(const Evaluator *evaluator, const Inst *inst, unsigned bits, Sum *sum)
{
    const Signature *signature = inst->signature;
    if (!signature->type_count || !is_integer(signature->types[0]) || type_bits(signature->types[0]) != bits ||
        signature->vector > 1)
        return false;
    switch (inst_op(inst)) {
    case OP_MOV: return eval_mov(evaluator, inst, bits, sum);
    case OP_LD: return eval_load(evaluator->known, inst, bits, sum);
    case OP_CVTA: return eval_cvta(evaluator, inst, bits, sum);
    default: return false;
    }
}

/* Bounds of the result of an instruction that may be a computation or a load. */
static Bounds result_bounds(const Evaluator *evaluator, const Inst *inst, RegId result)
{
    Computation c;
    Bounds sources[COMPUTE_SOURCES];
    if (!computation_of(evaluator->body, inst, &c))
        return bounds_of_load(evaluator->body, inst, result);
    for (unsigned i = 0; i < c.source_count; i++)
        sources[i] = source_bounds(evaluator, inst, &c.sources[i]);
    return computation_bounds_of(&c, sources);
}

/* False if the result is not a sum; *high is then a bound on it, or 0. */
static bool eval_inst(Evaluator *evaluator, const Inst *inst, RegId result, unsigned bits, Sum *sum, uint64_t *high)
{
    const Body *body = evaluator->body;
    Computation c;
    Bounds sources[COMPUTE_SOURCES], bounds;
    if (computation_of(body, inst, &c)) {
        for (unsigned i = 0; i < c.source_count; i++)
            sources[i] = source_bounds(evaluator, inst, &c.sources[i]);
        if (eval_computation(evaluator, inst, &c, sources, sum))
            return true;
        bounds = computation_bounds_of(&c, sources);
        if (evaluator->known && bounds_is_point(&bounds)) {
            *sum = (Sum){.bits = bits, .constant = affine_sign_extend(bounds.low, bits)};
            return true;
        }
    } else {
        if (eval_leaf(evaluator, inst, bits, sum))
            return true;
        bounds = bounds_of_load(body, inst, result);
    }
    *high = bounds.high == bounds_any(bits).high ? 0 : bounds.high ? bounds.high : 1;
    return false;
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

static bool holds_narrow(const Reg *reg)
{
    return reg->vector <= 1 && type_bits(reg->type) == 16 && type_class(reg->type) != CLASS_FLOAT;
}

static void inst_eval(Evaluator *evaluator, const Inst *inst)
{
    RegId result = inst_is_plain(inst) ? inst_destination(inst) : REG_NONE;
    unsigned bits = result == REG_NONE ? 0 : reg_bits(evaluator->body, result);
    uint64_t high;
    Sum sum;
    if (result != REG_NONE) {
        evaluator->makers[result] = inst;
        evaluator->places[result] = inst->block;
    }
    if (result != REG_NONE && holds_narrow(&evaluator->body->regs.data[result]))
        evaluator->narrow[result] = result_bounds(evaluator, inst, result);
    if (!bits)
        return;
    if (eval_inst(evaluator, inst, result, bits, &sum, &high))
        form_store(evaluator, result, &sum);
    else
        reg_store_base(evaluator, result, high);
}

/* The slow sides of tests, and what they dominate. Their registers do not become the bases of classes that the usual
 * path has, too: less is known about them. */
static bool *find_late(Arena *scratch, const Body *body, const Dominance *dominance)
{
    bool *late = ARENA_ARRAY(scratch, bool, body->blocks.count);
    for (uint32_t i = 0; i < dominance->order_count; i++) {
        const Block *block = body->blocks.data[dominance->order[i]], *parent = dominance_parent(dominance, block);
        late[block->id] = block->is_cold || (parent && late[parent->id]);
    }
    return late;
}

/* Whether all bases of the sum are there where the block begins. */
static bool is_there(const Evaluator *evaluator, const Dominance *dominance, const Block *block, const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
            continue;
        const Block *place = evaluator->places[term->reg];
        if (!place || !dominance_has(dominance, place, block))
            return false;
    }
    return true;
}

/* A phi is a sum if all of its arguments are that one, as where compilers compute a value on two paths. Arguments that
 * come back from a loop's end are not known yet, so phis of headers stay bases. */
static void phi_eval(Evaluator *evaluator, const Dominance *dominance, const Block *block, const Phi *phi)
{
    const AffineForm *common = NULL;
    evaluator->places[phi->dst] = block;
    for (size_t i = 0; i < phi->args.count; i++) {
        const AffineForm *form = &evaluator->affine->forms[phi->args.data[i].reg];
        if (common && (!affine_terms_equal(common, form) || common->constant != form->constant))
            return;
        common = form;
    }
    if (common && common->bits && common->bits == reg_bits(evaluator->body, phi->dst) &&
        is_there(evaluator, dominance, block, common))
        evaluator->affine->forms[phi->dst] = *common;
}

/* Down the dominator tree, definitions come before their uses. */
static void block_eval(Evaluator *evaluator, const Dominance *dominance, const Block *block)
{
    affine_facts_enter(evaluator, dominance, block);
    for (size_t i = 0; i < block->phis.count; i++)
        phi_eval(evaluator, dominance, block, &block->phis.data[i]);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        inst_eval(evaluator, inst);
}

Affine *affine_compute(Arena *arena, const Body *body, const Dominance *dominance, const KnownParameters *known)
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
        .known = known,
        .affine = affine,
        .block_threads = threads_bound(&body->tuning),
        .makers = ARENA_ARRAY(scratch, const Inst *, body->regs.count),
        .narrow = ARENA_ARRAY(scratch, Bounds, body->regs.count),
        .places = ARENA_ARRAY(scratch, const Block *, body->regs.count),
        .facts = ARENA_ARRAY(scratch, const AffineFact *, body->blocks.count),
    };
    affine_classes_start(&evaluator);
    if (!dominance)
        dominance = dominance_compute(scratch, body);
    require(!dominance->post && dominance->body == body);
    for (RegId reg = 0; reg < body->regs.count; reg++)
        reg_store_base(&evaluator, reg, 0);
    const bool *late = find_late(scratch, body, dominance);
    for (unsigned turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < dominance->order_count; i++)
            if (late[dominance->order[i]] == turn)
                block_eval(&evaluator, dominance, body->blocks.data[dominance->order[i]]);
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
        require(operand_reg(inst, at) < affine->reg_count);
        out->form = affine->forms[operand_reg(inst, at)];
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
        /* The magnitude of the least integer has the same bits. */
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

bool access_is_global(const Affine *affine, const Inst *inst, const Access *access)
{
    AffineAddress address;
    if (access->space == SPACE_GLOBAL)
        return true;
    affine_of_address(affine, inst, access->address, &address);
    return access->space == SPACE_NONE && address.form.bits == 64 && affine_space(&address.form) == SPACE_GLOBAL;
}
