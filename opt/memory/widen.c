/* Indices of 32 bits in loops, as 64-bit values that grow from round to round.
 *
 *     for (k = 0; k < n; k++)                   wide = (uint64_t)(row * n)
 *         sum += a[(uint64_t)(row * n + k)]  ->   for (k = 0; k < n; k++, wide++)
 *                                                     sum += a[wide]
 *
 * Unsigned arithmetic may wrap, so compilers extend such an index in each round, and no analysis knows that elements
 * are neighbours. With it as a sum of 64 bits, loops along rows become vectors, and tiles have rows, as where compilers
 * advance a pointer.
 *
 * The index is a phi of the header, times a constant or a value that is known before the loop, plus values that are
 * the same in all rounds; all modulo 2^32. So it is first + round * step modulo 2^32, and that is the extended value
 * in all rounds if it is in the range of 32 bits in the first and in the last one, because it grows or falls all the
 * way between them. A test before the loop shows that; the original loop is executed elsewhere. */
#include "opt/common/early.h"
#include "opt/common/preheader.h"
#include "opt/common/trips.h"
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/passes.h"

enum {
    ROUNDS_LIMIT = 1 << 30,
    ROUNDS_LEAST = 8,
    MOST_INDICES = 64,
    MOST_SPAN = 1 << 16, /* between indices that are written as one and a constant */
    MOST_COPIED = 1024,  /* instructions of the loop */
};

/* Indices that differ by constants, times a factor. */
typedef struct WideIndex {
    RegId narrow;         /* the one that the others are written with */
    AffineForm start;     /* what it is in the first round, 32 bits */
    bool is_signed;       /* how it is extended */
    int64_t factor;       /* by which instructions multiply the extended index */
    int64_t low, high;    /* of the others, less this one */
    RegId step_reg;       /* 32 bits, made before the loop; REG_NONE: none */
    int64_t step;         /* for each round, times that register */
    RegId first, by, reg; /* 64 bits, times the factor: in the first round, the step (REG_NONE: a constant), and the
                           * phi of the header */
} WideIndex;

/* An instruction that extends an index. */
typedef struct Extension {
    Inst *inst;
    unsigned index;
    int64_t distance; /* of what it extends from the index */
} Extension;

typedef struct Widening {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Values *values;
    const Affine *affine;
    const LoopForest *loops;
    const Loop *loop;
    TripCount trips;
    WideIndex indices[MOST_INDICES];
    unsigned count;
    VEC(Extension) extensions;
} Widening;

static bool is_before(const Widening *w, RegId reg)
{
    const ValueDef *def = &w->values->defs[reg];
    return def->block && !loop_contains(w->loops, w->loop, def->block);
}

static const Phi *header_phi(const Widening *w, const AffineTerm *term)
{
    const ValueDef *def = term->base == AFFINE_VALUE ? &w->values->defs[term->reg] : NULL;
    if (!def || def->inst || def->block != w->loop->header || type_bits(w->body->regs.data[term->reg].type) != 32)
        return NULL;
    return &def->block->phis.data[def->phi];
}

/* A product of the loop's: a phi of the header plus constants, times a register that is made before the loop, and plus
 * what is the same in all rounds. Sets the register, and how often each round adds it. */
static bool product_find(const Widening *w, RegId reg, RegId *by, int64_t *step)
{
    const Inst *made = value_inst(w->values, reg);
    Computation c;
    if (!computation_matches(w->body, made, COMPUTE_MUL, 32, "rr", &c) &&
        !(computation_matches(w->body, made, COMPUTE_MAD, 32, "rrr", &c) && is_before(w, c.sources[2].reg)))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const AffineForm *form = &w->affine->forms[c.sources[i].reg];
        const Phi *phi = form->bits == 32 && form->term_count == 1 ? header_phi(w, &form->terms[0]) : NULL;
        AffineTerm terms[AFFINE_TERMS];
        AffineForm grows;
        *by = c.sources[1 - i].reg;
        if (!phi || !is_before(w, *by) || type_bits(w->body->regs.data[*by].type) != 32 ||
            !loop_step(w->loop, phi, w->affine, terms, &grows) || grows.bits != 32 || grows.term_count)
            continue;
        *step = (int32_t)((uint32_t)grows.constant * (uint32_t)form->terms[0].coefficient);
        return *step != 0;
    }
    return false;
}

/* The sum in the first round: with the phi's start in its place. */
static bool set_start(const Widening *w, const AffineForm *form, const AffineTerm *moving, const Phi *phi,
                      WideIndex *index)
{
    const RegId start = loop_start(w->loop, phi);
    const AffineForm own = {32, 1, 0, moving};
    AffineForm rest;
    return start != REG_NONE && affine_knows(w->affine, start) && affine_add(w->scratch, form, &own, -1, &rest) &&
           affine_add(w->scratch, &rest, &w->affine->forms[start], moving->coefficient, &index->start);
}

/* The only term that changes from round to round; NULL: there are several, or none. */
static const AffineTerm *moving_term(const Widening *w, const AffineForm *form)
{
    const AffineTerm *moving = NULL;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || is_before(w, term->reg))
            continue;
        if (moving)
            return NULL;
        moving = term;
    }
    return moving;
}

/* Whether the register is a phi of the header times a constant, or such a product, plus what is the same in all rounds;
 * and its step. */
static bool index_of(const Widening *w, RegId reg, WideIndex *out)
{
    const AffineForm *form = &w->affine->forms[reg];
    const AffineTerm *moving = form->bits == 32 ? moving_term(w, form) : NULL;
    const Phi *phi = moving ? header_phi(w, moving) : NULL;
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    RegId next;
    out->step_reg = REG_NONE;
    if (moving && !phi) {
        out->start = *form;
        return moving->base == AFFINE_VALUE && moving->coefficient == 1 &&
               product_find(w, moving->reg, &out->step_reg, &out->step);
    }
    if (!phi || !loop_step(w->loop, phi, w->affine, terms, &step) || step.bits != 32 ||
        !set_start(w, form, moving, phi, out))
        return false;
    out->step = (int32_t)((uint32_t)step.constant * (uint32_t)moving->coefficient);
    if (!step.term_count)
        return out->step != 0;
    out->step_reg = moving->coefficient == 1 ? loop_stride(w->loop, w->loops, w->values, phi, &next) : REG_NONE;
    out->step = 1;
    return out->step_reg != REG_NONE;
}

static bool step_alike(const WideIndex *a, const WideIndex *b)
{
    return a->is_signed == b->is_signed && a->step == b->step && a->step_reg == b->step_reg;
}

/* The place before the loop, where values of its first round are computed. */
static EarlyPlace first_round(Widening *w)
{
    return (EarlyPlace){.scratch = w->scratch, .body = w->body, .at = w->loop->preheader, .values = w->values,
                        .dominance = analyses_dominance(w->analyses), .loop = w->loop};
}

/* The index that this one is, plus a constant; a new one if there is none. False if there are too many. */
static bool index_add(Widening *w, const WideIndex *own, unsigned *index, int64_t *distance)
{
    for (unsigned i = 0; i < w->count; i++) {
        WideIndex *other = &w->indices[i];
        AffineForm moved = other->start;
        *index = i;
        *distance = own->start.constant - moved.constant;
        moved.constant = own->start.constant;
        if (!step_alike(other, own) || other->factor != own->factor || *distance > MOST_SPAN ||
            *distance < -MOST_SPAN || affine_compare(&moved, 1, &own->start, 1) != ALIAS_SAME)
            continue;
        other->low = *distance < other->low ? *distance : other->low;
        other->high = *distance > other->high ? *distance : other->high;
        return true;
    }
    const EarlyPlace place = first_round(w);
    if (w->count == MOST_INDICES || !value_is_early(&place, own->narrow))
        return false;
    *index = w->count;
    *distance = 0;
    w->indices[w->count++] = *own;
    return true;
}

/* Whether the instruction extends a register of 32 bits to 64, and perhaps multiplies it by a constant. */
static bool extends(const Body *body, const Inst *inst, Computation *c)
{
    if (!inst_is_plain(inst) || !computation_of(body, inst, c) || c->bits != 64 || c->reg_bits != 64 || c->saturates ||
        (c->op != COMPUTE_CONVERT && c->op != COMPUTE_MUL && c->op != COMPUTE_MAD))
        return false;
    if (c->sources[0].reg == REG_NONE || c->sources[0].is_constant || c->sources[0].bits != 32 ||
        c->sources[0].reg_bits != 32)
        return false;
    if (c->op == COMPUTE_CONVERT)
        return true;
    return c->sources[1].is_constant && (c->op == COMPUTE_MUL || c->sources[2].reg != REG_NONE);
}

static int64_t factor_of(const Computation *c)
{
    if (c->op == COMPUTE_CONVERT)
        return 1;
    const uint32_t factor = (uint32_t)c->sources[1].constant;
    return c->sources[1].is_signed ? (int32_t)factor : (int64_t)factor;
}

/* The index that a grid-stride loop ends by, for which analyses of ranges need no version of the loop. */
static bool is_strided_counter(const Widening *w, RegId reg)
{
    LoopCounter counter;
    const LoopCounter *own = &w->trips.counter;
    return own->is_strided && loop_counter_find_strided(w->loop, w->loops, w->analyses, reg, &counter) &&
           counter.phi == own->phi && !counter.offset && counter.addend == REG_NONE;
}

static void find_extensions(Widening *w)
{
    for (uint32_t b = 0; b < w->loop->block_count; b++)
        for (Inst *inst = w->loop->blocks[b]->first; inst; inst = inst->next) {
            Computation c;
            WideIndex own = {.first = REG_NONE, .by = REG_NONE, .reg = REG_NONE};
            Extension extension = {.inst = inst};
            if (!extends(w->body, inst, &c))
                continue;
            own.narrow = c.sources[0].reg;
            own.is_signed = c.sources[0].is_signed;
            own.factor = factor_of(&c);
            if (!is_strided_counter(w, own.narrow) && index_of(w, own.narrow, &own) &&
                index_add(w, &own, &extension.index, &extension.distance))
                VEC_PUSH(w->scratch, w->extensions, extension);
        }
}

static RegId put(const SumPlace *place, RegId result, Inst *inst)
{
    sum_put(place, inst);
    return result;
}

static RegId scale(const SumPlace *place, RegId reg, int64_t factor)
{
    RegId scaled = sum_reg(place, TYPE_B64, "%wide");
    return factor == 1 ? reg : put(place, scaled, inst_build(place->body, "mul.lo.s64", "dri", scaled, reg, factor));
}

/* The least and the greatest index of those that step like this one, in the first round: 32 bits each. Sets what they
 * are themselves, and how far neighbours are from them. */
static void find_extremes(Widening *w, const SumPlace *place, unsigned index, RegId extremes[2], int64_t *low,
                          int64_t *high)
{
    const EarlyPlace early = first_round(w);
    const bool is_signed = w->indices[index].is_signed;
    const char *const spellings[2] = {is_signed ? "min.s32" : "min.u32", is_signed ? "max.s32" : "max.u32"};
    *low = *high = 0;
    for (unsigned i = index; i < w->count; i++) {
        WideIndex *own = &w->indices[i];
        if (!step_alike(own, &w->indices[index]))
            continue;
        RegId first = value_hoist(&early, own->narrow);
        own->first = scale(place, sum_extend(place, first, is_signed, "%wide"), own->factor);
        *low = own->low < *low ? own->low : *low;
        *high = own->high > *high ? own->high : *high;
        for (unsigned e = 0; e < 2; e++) {
            RegId next = i == index ? first : sum_reg(place, TYPE_B32, "%narrow");
            extremes[e] = i == index ? first
                                     : put(place, next, inst_build(w->body, spellings[e], "drr", next, extremes[e],
                                                                   first));
        }
    }
}

/* Whether the indices that step like this one, and their neighbours, stay in the range of 32 bits from the first round
 * to the last one. */
static RegId indices_test(Widening *w, const SumPlace *place, unsigned index, RegId last, RegId holds)
{
    Body *body = w->body;
    const WideIndex *own = &w->indices[index];
    const bool is_signed = own->is_signed;
    const int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
    RegId extremes[2], way = sum_reg(place, TYPE_B64, "%wide"), step = REG_NONE;
    int64_t low, high;
    find_extremes(w, place, index, extremes, &low, &high);
    if (own->step_reg != REG_NONE)
        step = scale(place, sum_extend(place, own->step_reg, is_signed, "%wide"), own->step);
    sum_put(place, step != REG_NONE ? inst_build(body, "mul.lo.s64", "drr", way, last, step)
                                    : inst_build(body, "mul.lo.s64", "dri", way, last, own->step));
    for (unsigned i = index; i < w->count && step != REG_NONE; i++)
        if (step_alike(own, &w->indices[i]))
            w->indices[i].by = scale(place, step, w->indices[i].factor);
    for (unsigned e = 0; e < 2; e++) {
        RegId first = sum_extend(place, extremes[e], is_signed, "%wide"), end = sum_reg(place, TYPE_B64, "%wide");
        RegId outer = sum_reg(place, TYPE_B64, "%wide"), fits = sum_reg(place, TYPE_PRED, "%fits");
        sum_put(place, inst_build(body, "add.s64", "drr", end, first, way));
        sum_put(place, inst_build(body, e ? "max.s64" : "min.s64", "drr", outer, first, end));
        holds = put(place, fits, inst_build(body, e ? "setp.le.and.s64" : "setp.ge.and.s64", "drir", fits, outer,
                                            e ? most - high : least - low, holds));
    }
    return holds;
}

/* The phi of the header that the index becomes. */
static void index_build(const Widening *w, WideIndex *index, const Block *entering)
{
    Body *body = w->body;
    Block *latch = w->loop->latches[0];
    Phi phi = {.dst = body_clone_reg(body, index->first)};
    RegId next = body_clone_reg(body, index->first);
    VEC_PUSH(body->arena, phi.args, ((PhiArg){(Block *)entering, index->first}));
    VEC_PUSH(body->arena, phi.args, ((PhiArg){latch, next}));
    VEC_PUSH(body->arena, w->loop->header->phis, phi);
    inst_insert_before(latch->last, index->by == REG_NONE
                                        ? inst_build(body, "add.s64", "dri", next, phi.dst, index->step * index->factor)
                                        : inst_build(body, "add.s64", "drr", next, phi.dst, index->by));
    index->reg = phi.dst;
}

static void extension_replace(const Widening *w, const Extension *extension)
{
    Body *body = w->body;
    const WideIndex *index = &w->indices[extension->index];
    Computation c;
    const bool found = extends(body, extension->inst, &c);
    require(found);
    RegId wide = c.op == COMPUTE_MAD ? body_clone_reg(body, index->reg) : c.result;
    const int64_t distance = extension->distance * index->factor;
    inst_insert_before(extension->inst, distance ? inst_build(body, "add.s64", "dri", wide, index->reg, distance)
                                                 : inst_build(body, "mov.b64", "dr", wide, index->reg));
    if (c.op == COMPUTE_MAD)
        inst_insert_before(extension->inst, inst_build(body, "add.s64", "drr", c.result, c.sources[2].reg, wide));
    inst_remove(extension->inst);
}

static void loop_rewrite(Widening *w)
{
    Body *body = w->body;
    Block *header = w->loop->header, *latch = w->loop->latches[0], *preheader = w->loop->preheader;
    Block *after = latch->last->targets[0] == header ? latch->fall : latch->last->targets[0];
    const SumPlace place = sum_place_new(body, preheader, w->analyses);
    RegId last, holds = trip_count_build(&place, &w->trips, ROUNDS_LIMIT, &last);
    for (unsigned i = 0; i < w->count; i++)
        if (w->indices[i].first == REG_NONE)
            holds = indices_test(w, &place, i, last, holds);
    Block *join = block_between(body, latch, after);
    blocks_version(body, w->values, w->loop->blocks, w->loop->block_count, preheader, join, holds, NULL);
    const Block *entering = header->preds[header->preds[0] == latch];
    for (unsigned i = 0; i < w->count; i++)
        index_build(w, &w->indices[i], entering);
    for (size_t i = 0; i < w->extensions.count; i++)
        extension_replace(w, &w->extensions.data[i]);
}

static bool loop_qualifies(Widening *w)
{
    const Loop *loop = w->loop;
    return loop && loop->preheader && loop->latch_count == 1 && loop->end == loop->index + 1 &&
           !loop->header->is_cold && trip_count_find_most(loop, w->loops, w->analyses, &w->trips) &&
           w->trips.exiting == loop->latches[0] &&
           loop_only_exit(loop, w->loops) == loop->latches[0] &&
           trip_count_bound(&w->trips, w->affine) >= ROUNDS_LEAST &&
           blocks_may_version(loop->blocks, loop->block_count, MOST_COPIED);
}

static bool loop_widen(PassContext *context, const Block *header)
{
    Arena *scratch = arena_new();
    Widening w = {.body = context->body, .scratch = scratch, .analyses = context->analyses,
                  .values = analyses_values(context->analyses), .affine = analyses_affine(context->analyses),
                  .loops = analyses_loops(context->analyses)};
    w.loop = loop_headed(w.loops, header);
    if (loop_qualifies(&w))
        find_extensions(&w);
    const bool changed = w.extensions.count > 0;
    if (changed) {
        loop_rewrite(&w);
        analyses_invalidate(context->analyses, ANALYSES_ALL);
    }
    arena_free(scratch);
    return changed;
}

bool pass_widen(PassContext *context)
{
    Arena *scratch = arena_new();
    VEC(const Block *) headers = {0};
    const LoopForest *loops = analyses_loops(context->analyses);
    bool changed = false;
    for (uint32_t i = 0; i < loops->loop_count; i++)
        VEC_PUSH(scratch, headers, loops->loops[i].header);
    for (size_t i = 0; i < headers.count; i++)
        changed |= loop_widen(context, headers.data[i]);
    arena_free(scratch);
    return changed;
}
