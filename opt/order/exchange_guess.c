/* How far apart threads are that access neighbouring elements, where neighbours do not.
 *
 * Two ways to guess. The address may be a sum of which one term is a quotient of the thread's index times the size of
 * an element. If the values of parameters are known, the address is computed for two threads as far apart as the
 * divisors of any quotient say: that tells also if strides are parameters, as in a permutation of any dimensions.
 * The guess is the product of the divisors, as registers, so it holds for other values of the same parameters. */
#include "opt/common/early.h"
#include "opt/order/exchanging.h"

enum {
    LEAST_SIGN_SHIFT = 16, /* a shift by this is of a sign, which divisions by constants add */
    MOST_QUOTIENTS = 8,    /* that are tried */
};

static const Computation *computed(const Exchanger *e, RegId reg, Computation *c)
{
    const Inst *inst = reg == REG_NONE ? NULL : value_inst(e->values, reg);
    return inst && inst_is_plain(inst) && computation_of(e->body, inst, c) && c->bits == 32 && c->reg_bits == 32 ? c
                                                                                                                 : NULL;
}

static bool divisor_add(const Exchanger *e, Divisor *divisor, const ComputeSource *by)
{
    if (by->is_constant) {
        divisor->constant *= (double)(uint32_t)by->constant;
        return true;
    }
    if (by->reg == REG_NONE || divisor->count == MOST_DIVISORS || !value_is_common(e->scratch, e->values, by->reg))
        return false;
    divisor->regs[divisor->count++] = by->reg;
    return true;
}

/* Whether the register is the index after divisions, of which it may be a remainder; by what they divide in all. A
 * division by a constant is a product's high half, or a shift, perhaps with a sign added. */
static bool find_quotient(const Exchanger *e, RegId reg, unsigned depth, Divisor *divisor)
{
    Computation c, shift;
    const Divisor before = *divisor;
    if (reg != REG_NONE && value_copied_from(e->values, reg) == e->flat.reg)
        return true;
    if (depth == MOST_DEPTH || !computed(e, reg, &c))
        return false;
    const RegId from = c.sources[0].reg;
    const bool by_constant = c.source_count > 1 && c.sources[1].is_constant;
    switch (c.op) {
    case COMPUTE_COPY:
    case COMPUTE_REM: return find_quotient(e, from, depth + 1, divisor);
    case COMPUTE_AND: return by_constant && find_quotient(e, from, depth + 1, divisor);
    case COMPUTE_DIV: return divisor_add(e, divisor, &c.sources[1]) && find_quotient(e, from, depth + 1, divisor);
    case COMPUTE_MUL_HIGH:
        divisor->constant *= by_constant ? 0x1p32 / (double)(uint32_t)c.sources[1].constant : 0;
        return by_constant && find_quotient(e, from, depth + 1, divisor);
    case COMPUTE_SHIFT_RIGHT:
        divisor->constant *= by_constant && c.sources[1].constant < 32 ? (double)(1u << c.sources[1].constant) : 0;
        return divisor->constant > 0 && find_quotient(e, from, depth + 1, divisor);
    case COMPUTE_ADD:
        for (unsigned i = 0; i < 2; i++) {
            *divisor = before;
            if (computed(e, c.sources[1 - i].reg, &shift) && shift.op == COMPUTE_SHIFT_RIGHT &&
                shift.sources[1].is_constant && shift.sources[1].constant >= LEAST_SIGN_SHIFT &&
                find_quotient(e, c.sources[i].reg, depth + 1, divisor))
                return true;
        }
        return false;
    default: return false;
    }
}

/* Whether the other terms of the sum are the same in all threads. */
static bool is_only_term(const Exchanger *e, const AffineForm *form, unsigned term)
{
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *other = &form->terms[t];
        const bool is_value = other->base == AFFINE_VALUE || other->base == AFFINE_SIGNED;
        if (t != term && other->base != AFFINE_PARAM &&
            !(is_value && value_is_common(e->scratch, e->values, other->reg)))
            return false;
    }
    return true;
}

/* Whether a term of the address is 'bytes' times such a quotient, and by what it divides; 'is_alone': the rest is the
 * same in all threads, as of a factor for each row, so that neighbours access one element already. Indices of 32 bits
 * are taken apart as if they did not wrap. */
static bool find_rows(const Exchanger *e, const AffineForm *form, int64_t bytes, unsigned depth, Divisor *divisor,
                      bool *is_alone)
{
    for (unsigned t = 0; t < form->term_count && depth < MOST_DEPTH; t++) {
        const AffineTerm *term = &form->terms[t];
        if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || bytes % term->coefficient)
            continue;
        *divisor = (Divisor){.constant = 1};
        if (term->coefficient == bytes && find_quotient(e, term->reg, 0, divisor) &&
            (divisor->count || divisor->constant > 1)) {
            *is_alone = is_only_term(e, form, t);
            return true;
        }
        const AffineForm *narrow = &e->affine->forms[term->reg];
        const AffineFactors *factors = e->affine->factors[term->reg];
        const bool is_itself = narrow->term_count == 1 && narrow->terms[0].base == AFFINE_VALUE &&
                               narrow->terms[0].reg == term->reg;
        if (is_itself && factors)
            narrow = &factors->forms[2]; /* what is added to a product of values */
        if (narrow->bits == 32 && (!is_itself || factors) &&
            find_rows(e, narrow, bytes / term->coefficient, depth + 1, divisor, is_alone)) {
            *is_alone &= !(is_itself && factors) && is_only_term(e, form, t);
            return true;
        }
    }
    return false;
}

/* Values of registers for one thread. */
typedef struct Trial {
    const Exchanger *e;
    Bounds *values;  /* by RegId; a point: the value; bits 0: not computed */
    Divisor divisor; /* whose product the thread's index is */
} Trial;

/* The first thread, its neighbour, and those that are the divisors of a quotient further. */
typedef struct Trials {
    Trial first, next, apart[MOST_QUOTIENTS];
    unsigned count;
} Trials;

static Bounds value_of(const void *context, RegId reg)
{
    const Trial *trial = context;
    const Bounds *bounds = &trial->values[reg];
    return bounds->bits ? *bounds : bounds_any(type_bits(trial->e->body->regs.data[reg].type));
}

static bool find_value(const Trial *trial, RegId reg, uint64_t *value)
{
    const Bounds bounds = value_of(trial, reg);
    *value = bounds.low;
    return bounds_is_point(&bounds);
}

/* Sets what the instruction gives, if that is an integer which follows from the index and known parameters. */
static void try_inst(const Trial *trial, const Inst *inst)
{
    const RegId result = inst_is_plain(inst) ? inst_destination(inst) : REG_NONE;
    const Reg *reg = result == REG_NONE ? NULL : &trial->e->body->regs.data[result];
    ParameterPart part;
    Computation c;
    uint64_t value;
    if (!reg || reg->vector > 1 || type_bits(reg->type) > 64)
        return;
    if (computation_of(trial->e->body, inst, &c))
        trial->values[result] = computation_bounds(&c, value_of, trial);
    else if (inst_loads_parameter(inst, &part) && part.bytes * 8 == type_bits(reg->type) &&
             known_parameter_value(trial->e->known, part.variable, (uint64_t)part.offset, part.bytes, &value))
        trial->values[result] = bounds_point(type_bits(reg->type), value);
}

/* Computes the values of the thread with this index. */
static Trial try_thread(const Exchanger *e, uint32_t index, const Divisor *divisor)
{
    const Dominance *dominance = analyses_dominance(e->analyses);
    const Trial trial = {e, ARENA_ARRAY(e->scratch, Bounds, e->body->regs.count), *divisor};
    for (uint32_t b = 0; b < dominance->order_count; b++)
        for (const Inst *inst = e->body->blocks.data[dominance->order[b]]->first; inst; inst = inst->next)
            if (inst == e->flat.inst)
                trial.values[e->flat.reg] = bounds_point(32, index);
            else
                try_inst(&trial, inst);
    return trial;
}

/* The address, less pointers that are parameters; false if it is not known. */
static bool find_address(const Trial *trial, const AffineForm *form, uint64_t *address)
{
    *address = (uint64_t)form->constant;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        const bool is_pointer = term->base == AFFINE_PARAM && term->reg == 64;
        uint64_t value = 0;
        if (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) {
            if (!find_value(trial, term->reg, &value))
                return false;
            value = term->base == AFFINE_SIGNED ? (uint64_t)(int32_t)(uint32_t)value : value;
        } else if (term->base == AFFINE_PARAM && !is_pointer) {
            if (!known_parameter_value(trial->e->known, term->variable, (uint64_t)term->offset, 4, &value))
                return false;
        } else if (!is_pointer) {
            return false;
        }
        *address += (uint64_t)term->coefficient * value;
    }
    return form->bits == 64;
}

/* How many bytes the second thread is further than the first; false if that is not known. */
static bool find_way(const Trial *first, const Trial *second, const AffineForm *form, int64_t *way)
{
    uint64_t a, b;
    if (!find_address(first, form, &a) || !find_address(second, form, &b))
        return false;
    *way = (int64_t)(b - a);
    return true;
}

/* The product of the divisors; 0: it is not known. */
static uint64_t find_product(const Trial *trial, const Divisor *divisor)
{
    double product = divisor->constant + 0.5;
    for (unsigned i = 0; i < divisor->count; i++) {
        uint64_t value;
        if (!find_value(trial, divisor->regs[i], &value))
            return 0;
        product = (double)(uint64_t)product * (double)(uint32_t)value;
    }
    return product < 0x1p31 ? (uint64_t)product : 0;
}

static void try_quotients(Exchanger *e, Trials *trials)
{
    const Divisor none = {.constant = 1};
    trials->first = try_thread(e, 0, &none);
    trials->next = try_thread(e, 1, &none);
    for (size_t b = 0; b < e->body->blocks.count; b++)
        for (const Inst *inst = e->body->blocks.data[b]->first; inst; inst = inst->next) {
            const RegId result = inst_is_computation(inst) ? inst_result(inst) : REG_NONE;
            Divisor divisor = none;
            if (trials->count == MOST_QUOTIENTS || result == REG_NONE || !find_quotient(e, result, 0, &divisor))
                continue;
            const uint64_t product = find_product(&trials->first, &divisor);
            bool is_new = product > 1;
            for (unsigned t = 0; t < trials->count && is_new; t++)
                is_new = find_product(&trials->first, &trials->apart[t].divisor) != product;
            if (is_new)
                trials->apart[trials->count++] = try_thread(e, (uint32_t)product, &divisor);
        }
}

/* Whether threads that are as far apart as one of the quotients says access neighbours, and those next to each other do
 * not. */
static bool are_neighbours_apart(Exchanger *e, const Trials *trials, const AffineForm *form)
{
    int64_t way;
    if (!find_way(&trials->first, &trials->next, form, &way) || (way > -SECTOR && way < SECTOR))
        return false;
    for (unsigned t = 0; t < trials->count; t++)
        if (find_way(&trials->first, &trials->apart[t], form, &way) && way == e->bytes) {
            e->divisor = trials->apart[t].divisor;
            return true;
        }
    return false;
}

/* Whether the address tells the distance, and neighbours do not access the same. */
static bool are_rows_apart(Exchanger *e, const AffineForm *form)
{
    bool is_alone = false;
    return find_rows(e, form, (int64_t)e->bytes, 0, &e->divisor, &is_alone) && !is_alone;
}

/* Finds the first access outside of loops of which the trials, or, if they are NULL, its address tells the distance. */
static bool find_access(Exchanger *e, const Trials *trials)
{
    const LoopForest *loops = analyses_loops(e->analyses);
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        for (const Inst *inst = loop_of(loops, block) ? NULL : block->first; inst; inst = inst->next) {
            Access access;
            AffineAddress address;
            if (!inst_access(inst, &access) || !access.address || !access_is_global(e->affine, inst, &access) ||
                !access.bytes || access.bytes >= SECTOR || SECTOR % access.bytes)
                continue;
            affine_of_address(e->affine, inst, access.address, &address);
            e->bytes = access.bytes;
            e->span = inst->span;
            if (address.form.bits && (trials ? are_neighbours_apart(e, trials, &address.form)
                                             : are_rows_apart(e, &address.form)))
                return true;
        }
    }
    return false;
}

bool exchange_guess(Exchanger *e)
{
    if (find_access(e, NULL))
        return true;
    if (!e->known || !e->known->count)
        return false;
    Trials trials = {.count = 0};
    try_quotients(e, &trials);
    return trials.count && find_access(e, &trials);
}
