/* The alignment of a vector's address: shown by its sum, or by terms that are tested.
 *
 * Multiples of the size, parameters declared .ptr .align, variables' own alignment, and phis that start and grow by
 * such values are aligned. The terms that remain, pointers and widths from the launch, are those to test. */
#include "opt/common/early.h"
#include "opt/common/trips.h"
#include "opt/replicas/vectors.h"

enum {
    MOST_FORMS = 24, /* looked at for the alignment of one address */
    DEEPEST = 4,     /* factors within factors */
    LEFT_OVER_MOST = 32, /* rounds, of an unrolled loop */
};

static uint64_t lowest_bit(uint64_t value)
{
    return value ? value & -value : UINT64_C(1) << 63;
}

static uint64_t form_alignment(const Affine *affine, const AffineForm *form, unsigned depth);
static uint64_t terms_alignment(const Affine *affine, const AffineForm *form, unsigned depth);

/* The 32-bit sum that the term's register holds, whose low bits extending keeps; NULL: none that says more. */
static const AffineForm *held_sum(const Affine *affine, const AffineTerm *term)
{
    if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || affine->factors[term->reg])
        return NULL;
    const AffineForm *form = &affine->forms[term->reg];
    bool itself = form->term_count == 1 && form->terms[0].reg == term->reg;
    return itself || form->bits != 32 ? NULL : form;
}

/* The sum's constant with those of the sums that its terms hold: of one replica's index, another's may be the base. */
static uint64_t form_constant(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t constant = (uint64_t)form->constant;
    for (unsigned i = 0; i < form->term_count && depth < DEEPEST; i++) {
        const AffineForm *held = held_sum(affine, &form->terms[i]);
        if (held)
            constant += (uint64_t)form->terms[i].coefficient * form_constant(affine, held, depth + 1);
    }
    return constant;
}

/* The largest power of two that is known to divide the base, the constants of held sums not counted. */
static uint64_t base_alignment(const Affine *affine, const AffineTerm *term, unsigned depth)
{
    const Variable *variable = term->variable;
    switch (term->base) {
    case AFFINE_PARAM: return variable->is_ptr && !term->offset && variable->ptr_align ? lowest_bit(variable->ptr_align)
                                                                                        : 1;
    case AFFINE_SYMBOL: return variable->align ? lowest_bit(variable->align) : 1;
    case AFFINE_VALUE:
    case AFFINE_SIGNED: break;
    default: return 1;
    }
    const AffineFactors *factors = affine->factors[term->reg];
    const AffineForm *held = held_sum(affine, term);
    if (depth >= DEEPEST)
        return 1;
    if (factors) {
        uint64_t product = form_alignment(affine, &factors->forms[0], depth + 1) *
                           form_alignment(affine, &factors->forms[1], depth + 1);
        uint64_t rest = form_alignment(affine, &factors->forms[2], depth + 1);
        return product && product < rest ? product : rest;
    }
    return held ? terms_alignment(affine, held, depth + 1) : 1;
}

static uint64_t term_alignment(const Affine *affine, const AffineTerm *term, unsigned depth)
{
    uint64_t base = base_alignment(affine, term, depth), by = lowest_bit((uint64_t)term->coefficient);
    return base > UINT32_MAX || by > UINT32_MAX ? UINT64_C(1) << 31 : base * by;
}

static uint64_t form_alignment(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t terms = terms_alignment(affine, form, depth), constant = lowest_bit(form_constant(affine, form, depth));
    return terms < constant ? terms : constant;
}

static uint64_t terms_alignment(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t alignment = UINT64_C(1) << 31;
    for (unsigned i = 0; i < form->term_count; i++) {
        uint64_t term = term_alignment(affine, &form->terms[i], depth);
        alignment = term < alignment ? term : alignment;
    }
    return alignment;
}

const Phi *vector_phi(const Vectorizer *vectorizer, const AffineTerm *term, const Loop **loop)
{
    if (term->base != AFFINE_VALUE && !(term->base == AFFINE_SIGNED && vectorizer->everywhere))
        return NULL;
    const ValueDef *def = &analyses_values(vectorizer->analyses)->defs[term->reg];
    const unsigned bits = type_bits(vectorizer->body->regs.data[term->reg].type);
    if (!def->block || def->inst || (bits != 64 && !(bits == 32 && vectorizer->everywhere)))
        return NULL;
    *loop = loop_of(analyses_loops(vectorizer->analyses), def->block);
    return *loop && (*loop)->header == def->block && (*loop)->preheader ? &def->block->phis.data[def->phi] : NULL;
}

/* The sum's constant with those of the sums that its terms hold, as in form_constant(), and of the values that its phis
 * start with: compilers let a pointer begin in the middle of what a round reads, and count back from there. Sets
 * is_deep if some may be missing. */
static uint64_t whole_constant(Vectorizer *vectorizer, const AffineForm *form, unsigned depth)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    uint64_t constant = (uint64_t)form->constant;
    vectorizer->is_deep |= depth >= DEEPEST;
    for (unsigned i = 0; i < form->term_count && depth < DEEPEST; i++) {
        const Loop *loop;
        const Phi *phi = vector_phi(vectorizer, &form->terms[i], &loop);
        RegId start = phi ? loop_start(loop, phi) : REG_NONE;
        const AffineForm *held = start != REG_NONE ? &affine->forms[start] : held_sum(affine, &form->terms[i]);
        if (held)
            constant += (uint64_t)form->terms[i].coefficient * whole_constant(vectorizer, held, depth + 1);
    }
    return constant;
}

/* The form without the constant that whole_constant() of a sum that has it as a term counts. */
static AffineForm without_constant(Vectorizer *vectorizer, const AffineForm *form)
{
    AffineForm rest = *form;
    rest.constant = (int64_t)((uint64_t)form->constant - whole_constant(vectorizer, form, 1));
    return rest;
}

/* True if a test before the block has shown that the term is a multiple of 'unit'. */
static bool is_tested(const Vectorizer *vectorizer, const AffineTerm *term, uint64_t unit)
{
    for (size_t t = 0; t < vectorizer->tested.count; t++) {
        const Tested *tested = &vectorizer->tested.data[t];
        if (tested->unit < unit ||
            !dominance_has(analyses_dominance(vectorizer->analyses), tested->block, vectorizer->block))
            continue;
        for (unsigned i = 0; i < tested->term_count; i++)
            if (affine_base_equal(&tested->terms[i], term) && term->coefficient % tested->terms[i].coefficient == 0)
                return true;
    }
    return false;
}

/* Only the coefficient's lowest bit counts: odd factors, and the sign, make no multiple of a power of two. More sums
 * can be tested so, among them those of stencils, which begin one element off in all threads: unless vectors are asked
 * for, they are left alone, since their version with vectors would be code that no thread executes. */
static bool term_add(Vectorizer *vectorizer, const AffineTerm *term, uint64_t unit)
{
    AffineTerm tested = *term;
    if (is_tested(vectorizer, term, unit))
        return true;
    if (vectorizer->everywhere)
        tested.coefficient = (int64_t)lowest_bit((uint64_t)term->coefficient);
    for (unsigned i = 0; i < vectorizer->term_count; i++)
        if (affine_base_equal(&vectorizer->terms[i], &tested) &&
            vectorizer->terms[i].coefficient == tested.coefficient)
            return true;
    if (vectorizer->term_count == VECTOR_TERMS || vectorizer->proven_only)
        return false;
    vectorizer->terms[vectorizer->term_count++] = tested;
    return true;
}

/* True if all threads of a block agree on the term: a test of it then takes one way for all. */
static bool term_is_uniform(const Vectorizer *vectorizer, const AffineTerm *term)
{
    if (term->base == AFFINE_SREG)
        return term->sreg->dependence != SREG_THREAD;
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return term->base == AFFINE_PARAM || term->base == AFFINE_SYMBOL;
    return !variance_reg(analyses_variance(vectorizer->analyses, VARIANCE_ANY, NULL), term->reg) ||
           value_is_common(vectorizer->scratch, analyses_values(vectorizer->analyses), term->reg);
}

/* The same for a sum. */
static bool sum_is_uniform(const Vectorizer *vectorizer, const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count; i++)
        if (!term_is_uniform(vectorizer, &form->terms[i]))
            return false;
    return true;
}

/* Sums that have to be multiples of 'unit', except for the constant of the first, which is checked elsewhere. */
typedef struct Worklist {
    const AffineForm *forms[MOST_FORMS];
    unsigned count;
} Worklist;

/* Adds coefficient * form. False if there is no room. */
static bool work_add(Vectorizer *vectorizer, Worklist *work, const AffineForm *form, int64_t coefficient)
{
    AffineForm *scaled = ARENA_NEW(vectorizer->scratch, AffineForm);
    AffineTerm *terms = ARENA_ARRAY(vectorizer->scratch, AffineTerm, form->term_count);
    if (work->count == MOST_FORMS)
        return false;
    for (unsigned i = 0; i < form->term_count; i++) {
        terms[i] = form->terms[i];
        terms[i].coefficient = (int64_t)((uint64_t)terms[i].coefficient * (uint64_t)coefficient);
    }
    *scaled = (AffineForm){64, form->term_count, (int64_t)((uint64_t)form->constant * (uint64_t)coefficient), terms};
    work->forms[work->count++] = scaled;
    return true;
}

/* Adds the sums that make a phi's term a multiple in every round, except for the constant that it starts with: start
 * and step. */
static bool phi_expand(Vectorizer *vectorizer, Worklist *work, const Loop *loop, const Phi *phi, int64_t coefficient)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    const Affine *affine = analyses_affine(vectorizer->analyses);
    RegId start = loop_start(loop, phi);
    if (start == REG_NONE || !loop_step(loop, phi, affine, terms, &step))
        return false;
    AffineForm rest = without_constant(vectorizer, &affine->forms[start]);
    int64_t rounds = loop == vectorizer->unrolled ? vectorizer->factor : 1;
    return work_add(vectorizer, work, &step, coefficient * rounds) && work_add(vectorizer, work, &rest, coefficient);
}

/* The same for a product with a factor that all threads share and whose sum has a constant, as "width + size - 1": sums
 * of products take such factors apart, so that the register itself is to be tested. */
static bool product_expand(Vectorizer *vectorizer, Worklist *work, const AffineTerm *term, uint64_t unit)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    const Inst *inst = value_inst(analyses_values(vectorizer->analyses), term->reg);
    Computation c;
    if (!inst || !computation_of(vectorizer->body, inst, &c) || (c.op != COMPUTE_MUL && c.op != COMPUTE_MAD))
        return false;
    const RegId addend = c.op == COMPUTE_MAD ? c.sources[2].reg : REG_NONE;
    if (c.op == COMPUTE_MAD && (addend == REG_NONE || !affine->forms[addend].bits))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const RegId reg = c.sources[i].reg;
        const AffineTerm factor = {.base = AFFINE_VALUE, .reg = reg, .coefficient = term->coefficient};
        if (reg != REG_NONE && affine->forms[reg].bits && affine->forms[reg].constant &&
            sum_is_uniform(vectorizer, &affine->forms[reg]))
            return term_add(vectorizer, &factor, unit) &&
                   (addend == REG_NONE || work_add(vectorizer, work, &affine->forms[addend], term->coefficient));
    }
    return false;
}

/* Whether the loop may go more rounds than compilers leave over. */
static bool is_long(const Vectorizer *vectorizer, const Loop *loop)
{
    TripCount trips;
    return !trip_count_find(loop, analyses_loops(vectorizer->analyses), vectorizer->analyses, &trips) ||
           trip_count_bound(&trips, analyses_affine(vectorizer->analyses)) > LEFT_OVER_MOST;
}

/* Whether the value is one of a long loop without the block. */
static bool is_of_long_loop(const Vectorizer *vectorizer, const Block *made, const Block *block)
{
    const LoopForest *loops = analyses_loops(vectorizer->analyses);
    const Loop *loop = loop_of(loops, made);
    return loop && !loop_contains(loops, loop, block) && is_long(vectorizer, loop);
}

/* Whether the phi comes from indices, parameters and short loops alone, by whichever path. */
static bool is_near_start(const Vectorizer *vectorizer, const ValueDef *phi)
{
    const Values *values = analyses_values(vectorizer->analyses);
    BitSet seen = bitset_new(vectorizer->scratch, values->reg_count);
    RegIdVec pending = {0};
    VEC_PUSH(vectorizer->scratch, pending, phi->block->phis.data[phi->phi].dst);
    while (pending.count) {
        const RegId next = VEC_POP(pending);
        const ValueDef *def = &values->defs[next];
        if (bitset_has(&seen, next))
            continue;
        bitset_add(&seen, next);
        if (!def->block || (def->inst && !inst_can_move(def->inst)) ||
            is_of_long_loop(vectorizer, def->block, phi->block))
            return false;
        for (unsigned r = 0; def->inst && r < def->inst->ref_count; r++)
            if (ref_reads(&def->inst->refs[r]))
                VEC_PUSH(vectorizer->scratch, pending, def->inst->refs[r].reg);
        const Phi *joined = def->inst ? NULL : &def->block->phis.data[def->phi];
        for (size_t i = 0; joined && i < joined->args.count; i++)
            VEC_PUSH(vectorizer->scratch, pending, joined->args.data[i].reg);
    }
    return true;
}

/* Whether the loop's start has this term where paths meet before it: compilers that unroll a loop may do the rounds
 * left over first, and the others go on from there. Threads may disagree on it, if the last one has fewer rounds; each
 * then takes its own version of the loop. */
static bool follows_left_over(const Vectorizer *vectorizer, const Loop *loop, const AffineTerm *term)
{
    const ValueDef *def = &analyses_values(vectorizer->analyses)->defs[term->reg];
    return vectorizer->by_thread && def->block && !def->inst && is_long(vectorizer, loop) &&
           is_near_start(vectorizer, def);
}

/* A term that differs between threads: a product is a multiple if a factor is that all threads share, as the width of
 * a row. 'loop': it is one of what this loop starts with. */
static bool variant_expand(Vectorizer *vectorizer, Worklist *work, const AffineTerm *term, const Loop *loop,
                           uint64_t unit)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return false;
    const AffineFactors *factors = affine->factors[term->reg];
    if (factors && product_expand(vectorizer, work, term, unit))
        return true;
    for (unsigned i = 0; factors && i < 2; i++)
        if (sum_is_uniform(vectorizer, &factors->forms[i]))
            return work_add(vectorizer, work, &factors->forms[i], term->coefficient) &&
                   work_add(vectorizer, work, &factors->forms[2], term->coefficient);
    if (!held_sum(affine, term))
        return loop && follows_left_over(vectorizer, loop, term) && term_add(vectorizer, term, unit);
    AffineForm rest = without_constant(vectorizer, &affine->forms[term->reg]);
    return work_add(vectorizer, work, &rest, term->coefficient);
}

/* Shows that the sum without its constant is a multiple of 'unit', or collects terms that have to be, on which all
 * threads of a block agree. False if that is not enough, or there are too many. */
static bool aligned_find(Vectorizer *vectorizer, const AffineForm *form, uint64_t unit)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    const Phi *met[MOST_FORMS];
    int64_t coefficients[MOST_FORMS];
    Worklist work = {.forms = {form}, .count = 1};
    unsigned phis = 0;
    const Loop *started = NULL; /* that the term now looked at may be from the start of */
    for (unsigned looked = 0; work.count; looked++) {
        const AffineForm *at = work.forms[--work.count];
        if ((at != form && whole_constant(vectorizer, at, 0) % unit) || looked > MOST_FORMS)
            return false;
        for (unsigned i = 0; i < at->term_count; i++) {
            const AffineTerm *term = &at->terms[i];
            const Loop *loop;
            if (term_alignment(affine, term, 0) >= unit)
                continue;
            const Phi *phi = vector_phi(vectorizer, term, &loop);
            bool seen = false;
            for (unsigned k = 0; k < phis && phi; k++)
                seen |= met[k] == phi && coefficients[k] == term->coefficient;
            if (seen)
                continue;
            if (phi) {
                const bool may_scale = vectorizer->everywhere && term->coefficient > 0 && term->coefficient < 1 << 16;
                if ((term->coefficient != 1 && !may_scale) || phis == MOST_FORMS ||
                    !phi_expand(vectorizer, &work, loop, phi, term->coefficient))
                    return false;
                started = loop;
                coefficients[phis] = term->coefficient;
                met[phis++] = phi;
                continue;
            }
            /* A held sum's constant is counted already, so the register itself cannot be tested. */
            bool tests = term_is_uniform(vectorizer, term) && !held_sum(affine, term);
            if (!(tests ? term_add(vectorizer, term, unit)
                        : variant_expand(vectorizer, &work, term, started, unit)))
                return false;
        }
    }
    return true;
}

bool vector_is_aligned(Vectorizer *vectorizer, const AffineForm *form, uint64_t unit)
{
    const unsigned terms = vectorizer->term_count;
    vectorizer->is_deep = false;
    if (whole_constant(vectorizer, form, 0) % unit == 0 && aligned_find(vectorizer, form, unit) && !vectorizer->is_deep)
        return true;
    vectorizer->term_count = terms;
    return false;
}
