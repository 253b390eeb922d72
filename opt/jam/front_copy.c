/* The loop of fronts side by side.
 *
 *     preheader -> test -> fronts -> rounds -> rest 0 -> ... -> rest n - 1 -> after
 *                  | ^ ^             ^---'                         |
 *                  | |  '------------------------------------------'
 *                  v |
 *                 loop -> after                       one iteration, then the test for the next ones
 *
 * A rest begins with the rounds that the iteration has left:
 *
 *     more -> round -> merge -> what follows the inner loop
 *        '------------^
 *
 * The version of the last rest has what follows the loop may read. */
#include "opt/common/versions.h"
#include "opt/jam/front.h"

/* A value in one iteration: in the inner loop's first round, and how far on it is in the next. */
typedef struct Start {
    RegId first, step;
} Start;

typedef struct FrontCopier {
    Jam *jam;
    const Front *front;
    Body *body;
    Arena *scratch;
    Versions versions;
    JamTest test;
    SumPlace place;       /* the end of the test's block */
    Block *fronts, *rounds;
    VEC(Block *) rest;    /* of the loop, beside the front */
    RegId **names;        /* names[k][r]: what iteration k has for the loop's register r in the front */
    RegId *lasts;         /* by iteration: the number of the inner loop's last round, 64 bits */
    RegId least;          /* the least of them */
    RegId count;          /* one more, 32 bits: how many rounds are executed together */
    RegId **stores;       /* stores[k][s]: the base of span s in iteration k */
    Start **reads;        /* reads[k][s]: the base of span s */
    Start **indices;
    RegId *addresses;     /* of the jam's conflicts: a pair for each iteration and conflict */
} FrontCopier;

/* a op b, for 64 bits. */
static RegId put_wide(const FrontCopier *copier, const char *spelling, RegId a, RegId b)
{
    const RegId reg = sum_reg(&copier->place, TYPE_B64, "%range");
    inst_append(copier->test.block, inst_build(copier->body, spelling, "drr", reg, a, b));
    return reg;
}

/* The test. */

/* The iteration goes from the header to the inner loop. */
static void require_lead(FrontCopier *copier)
{
    const Front *front = copier->front;
    for (size_t b = 0; b < front->lead.count; b++) {
        const Inst *last = block_two_way_branch(front->lead.data[b]);
        const Block *next = b + 1 < front->lead.count ? front->lead.data[b + 1] : front->round;
        if (!last)
            continue;
        const bool goes_on_if = (last->targets[0] == next) != last->guard_inverted;
        jam_test_require(&copier->test, jam_test_value(&copier->test, inst_predicate(last)), !goes_on_if);
    }
}

static RegId value_if_any(const FrontCopier *copier, RegId reg)
{
    return reg == REG_NONE ? REG_NONE : jam_test_value(&copier->test, reg);
}

static void count_rounds(FrontCopier *copier, unsigned k)
{
    enum { MOST_ROUNDS = 1 << 30 };
    TripCount trips = copier->front->trips;
    trips.counter.start = jam_test_value(&copier->test, trips.counter.start);
    trips.counter.addend = value_if_any(copier, trips.counter.addend);
    trips.bound = value_if_any(copier, trips.bound);
    jam_test_require(&copier->test, trip_count_build(&copier->place, &trips, MOST_ROUNDS, &copier->lasts[k]), false);
    copier->least = k ? put_wide(copier, "min.u64", copier->least, copier->lasts[k]) : copier->lasts[k];
}

/* Sets what the value is in the first round, or, if that is known, how far on it is in the second. */
static void start_set(FrontCopier *copier, Start *start, RegId value, bool is_second)
{
    if (!is_second) {
        start->first = value;
        return;
    }
    start->step = body_clone_reg(copier->body, value);
    const bool is_wide = type_bits(copier->body->regs.data[value].type) == 64;
    inst_append(copier->test.block, inst_build(copier->body, is_wide ? "sub.s64" : "sub.s32", "drr", start->step, value,
                                               start->first));
}

/* Finds where the reads of the inner loop begin, by computing the addresses with what its phis are in the first two
 * rounds. */
static void start_reads(FrontCopier *copier, unsigned k)
{
    const Front *front = copier->front;
    const size_t phi_count = front->round->phis.count, reg_count = copier->jam->values->reg_count;
    JamTest round = copier->test;
    RegId *next = ARENA_ARRAY(copier->scratch, RegId, phi_count);
    for (unsigned n = 0; n < 2; n++) {
        round.known = ARENA_ARRAY(copier->scratch, RegId, reg_count);
        memcpy(round.known, copier->test.known, reg_count * sizeof *round.known);
        for (size_t p = 0; p < phi_count; p++) {
            const Phi *phi = &front->round->phis.data[p];
            if (bitset_has(&front->computed, phi->dst))
                round.known[phi->dst] = n ? next[p] : jam_test_value(&round, loop_start(front->inner, phi));
        }
        for (size_t s = 0; s < front->reads.count; s++)
            start_set(copier, &copier->reads[k][s], jam_test_value(&round, front->reads.data[s].base), n);
        for (size_t i = 0; i < front->indices.count; i++)
            start_set(copier, &copier->indices[k][i], jam_test_value(&round, front->indices.data[i].reg), n);
        for (size_t p = 0; p < phi_count && !n; p++)
            if (bitset_has(&front->computed, front->round->phis.data[p].dst))
                next[p] = jam_test_value(&round, phi_argument(&front->round->phis.data[p], front->round));
    }
}

/* From the least to the greatest address of a span, over the iterations, without its own bytes. */
typedef struct Range {
    RegId low, high;
} Range;

static void range_add(FrontCopier *copier, Range *range, RegId at)
{
    const bool is_first = range->low == REG_NONE;
    range->low = is_first ? at : put_wide(copier, "min.u64", range->low, at);
    range->high = is_first ? at : put_wide(copier, "max.u64", range->high, at);
}

/* A 64-bit value in the last round that is executed together. */
static RegId last_value(const FrontCopier *copier, const Start *start)
{
    return put_wide(copier, "add.s64", start->first, put_wide(copier, "mul.lo.s64", start->step, copier->least));
}

/* The index does not wrap: in the last round, the 64-bit sum is the extension of its low half. */
static void require_index(FrontCopier *copier, const FrontIndex *index, const Start *narrow)
{
    const Start wide = {sum_extend(&copier->place, narrow->first, index->is_signed, "%range"),
                        sum_extend(&copier->place, narrow->step, true, "%range")};
    const RegId last = last_value(copier, &wide), low = sum_reg(&copier->place, TYPE_B32, "%range");
    const RegId fits = sum_reg(&copier->place, TYPE_PRED, "%fits");
    inst_append(copier->test.block, inst_build(copier->body, "cvt.u32.u64", "dr", low, last));
    inst_append(copier->test.block, inst_build(copier->body, "setp.eq.s64", "drr", fits, last,
                                               sum_extend(&copier->place, low, index->is_signed, "%range")));
    jam_test_require(&copier->test, fits, false);
}

/* A store's addresses are used by all iterations but the last, a read's by all but the first. */
static Range store_range(FrontCopier *copier, uint32_t store)
{
    Range range = {REG_NONE, REG_NONE};
    for (unsigned k = 0; k + 1 < copier->jam->factor; k++)
        range_add(copier, &range, copier->stores[k][store]);
    return range;
}

static Range read_range(FrontCopier *copier, uint32_t read)
{
    const bool varies = bitset_has(&copier->jam->variant, copier->front->reads.data[read].base);
    Range range = {REG_NONE, REG_NONE};
    for (unsigned k = 1; k < (varies ? copier->jam->factor : 2); k++) {
        const Start *start = &copier->reads[k][read];
        range_add(copier, &range, start->first);
        range_add(copier, &range, last_value(copier, start));
    }
    return range;
}

static RegId put_moved(FrontCopier *copier, RegId reg, int64_t way)
{
    const RegId moved = sum_reg(&copier->place, TYPE_B64, "%range");
    inst_append(copier->test.block, inst_build(copier->body, "add.s64", "dri", moved, reg, way));
    return moved;
}

/* One range ends before the other begins. */
static void require_apart(FrontCopier *copier, const FrontConflict *conflict)
{
    const FrontSpan *store = &copier->front->stores.data[conflict->store];
    const FrontSpan *read = &copier->front->reads.data[conflict->read];
    const Range a = store_range(copier, conflict->store), b = read_range(copier, conflict->read);
    const RegId before = sum_reg(&copier->place, TYPE_PRED, "%apart");
    const RegId apart = sum_reg(&copier->place, TYPE_PRED, "%apart");
    inst_append(copier->test.block, inst_build(copier->body, "setp.le.u64", "drr", before,
                                               put_moved(copier, a.high, store->high),
                                               put_moved(copier, b.low, read->low)));
    inst_append(copier->test.block, inst_build(copier->body, "setp.le.or.u64", "drrr", apart,
                                               put_moved(copier, b.high, read->high),
                                               put_moved(copier, a.low, store->low), before));
    jam_test_require(&copier->test, apart, false);
}

/* Computes and requires whatever concerns one iteration. */
static void test_iteration(FrontCopier *copier, unsigned k)
{
    const Jam *jam = copier->jam;
    const Front *front = copier->front;
    const Block *header = jam->loop->header;
    const size_t conflicts = jam->conflicts.count;
    int64_t offset;
    for (size_t p = 0; p < header->phis.count; p++)
        copier->names[k][header->phis.data[p].dst] = copier->test.phis[p];
    require_lead(copier);
    count_rounds(copier, k);
    for (size_t i = 0; i < conflicts; i++) {
        RegId *pair = &copier->addresses[2 * (conflicts * k + i)];
        pair[0] = jam_test_value(&copier->test, jam_address(jam->conflicts.data[i].earlier, &offset));
        pair[1] = jam_test_value(&copier->test, jam_address(jam->conflicts.data[i].later, &offset));
    }
    for (size_t s = 0; s < front->stores.count; s++)
        copier->stores[k][s] = jam_test_value(&copier->test, front->stores.data[s].base);
    if (front->reads.count && k)
        start_reads(copier, k);
}

static void fill_test(FrontCopier *copier)
{
    const Jam *jam = copier->jam;
    const size_t conflicts = jam->conflicts.count;
    for (unsigned k = 0; k < jam->factor; k++) {
        test_iteration(copier, k);
        if (k + 1 == jam->factor)
            break;
        jam_test_require(&copier->test, jam_test_value(&copier->test, jam->predicate), !jam->stays_if);
        jam_test_step(&copier->test);
    }
    for (size_t i = 0; i < conflicts; i++)
        for (unsigned k = 0; k < jam->factor; k++)
            for (unsigned n = k + 1; n < jam->factor; n++)
                jam_test_apart(&copier->test, jam->conflicts.data[i].earlier,
                               copier->addresses[2 * (conflicts * k + i)], jam->conflicts.data[i].later,
                               copier->addresses[2 * (conflicts * n + i) + 1]);
    for (size_t i = 0; i < copier->front->indices.count; i++) {
        const FrontIndex *index = &copier->front->indices.data[i];
        const bool varies = bitset_has(&jam->variant, index->reg);
        for (unsigned k = 1; k < (varies ? jam->factor : 2); k++)
            require_index(copier, index, &copier->indices[k][i]);
    }
    for (size_t i = 0; i < copier->front->conflicts.count; i++)
        require_apart(copier, &copier->front->conflicts.data[i]);
}

/* The fronts. */

/* Appends the block's instructions for each iteration; those with what is common to all once. */
static void append_fronts(FrontCopier *copier, const Block *block, Block *to)
{
    for (unsigned k = 0; k < copier->jam->factor; k++)
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            const bool is_shared = k && !jam_is_copied(copier->jam, inst);
            if (inst_is_terminator(inst))
                continue;
            if (!is_shared)
                inst_append(to, inst_clone_renamed(copier->body, inst, copier->names[k]));
            for (unsigned r = 0; r < inst->ref_count && is_shared; r++)
                if (ref_writes(&inst->refs[r]))
                    copier->names[k][inst->refs[r].reg] = copier->names[0][inst->refs[r].reg];
        }
}

/* Ends the rounds: as many as the iteration with the fewest has. */
static void end_rounds(FrontCopier *copier)
{
    Body *body = copier->body;
    const RegId last = sum_reg(&copier->place, TYPE_B32, "%rounds");
    copier->count = sum_reg(&copier->place, TYPE_B32, "%together");
    inst_append(copier->fronts, inst_build(body, "cvt.u32.u64", "dr", last, copier->least));
    inst_append(copier->fronts, inst_build(body, "add.u32", "dri", copier->count, last, (int64_t)1));
    const FallingCounter left =
        falling_counter_add(body, copier->rounds, copier->fronts, copier->count, &copier->rounds, 1);
    inst_append(copier->rounds, left.step);
    inst_append(copier->rounds, left.test);
    Inst *back = inst_build_branch(body, copier->rounds, left.more, false);
    back->span = copier->front->round->last->span;
    inst_append(copier->rounds, back);
}

static void fill_rounds(FrontCopier *copier)
{
    const Jam *jam = copier->jam;
    const Block *round = copier->front->round;
    RegId *starts = ARENA_ARRAY(copier->scratch, RegId, jam->factor * round->phis.count);
    for (size_t p = 0; p < round->phis.count; p++) {
        const Phi *phi = &round->phis.data[p];
        const bool varies = bitset_has(&jam->variant, phi->dst);
        for (unsigned k = 0; k < jam->factor; k++) {
            starts[jam->factor * p + k] = copier->names[k][loop_start(copier->front->inner, phi)];
            copier->names[k][phi->dst] =
                k && !varies ? copier->names[0][phi->dst] : body_clone_reg(copier->body, phi->dst);
        }
    }
    append_fronts(copier, round, copier->rounds);
    for (size_t p = 0; p < round->phis.count; p++) {
        const Phi *phi = &round->phis.data[p];
        for (unsigned k = 0; k < (bitset_has(&jam->variant, phi->dst) ? jam->factor : 1); k++) {
            Phi own = {.dst = copier->names[k][phi->dst]};
            VEC_PUSH(copier->body->arena, own.args, ((PhiArg){copier->fronts, starts[jam->factor * p + k]}));
            VEC_PUSH(copier->body->arena, own.args,
                     ((PhiArg){copier->rounds, copier->names[k][phi_argument(phi, round)]}));
            VEC_PUSH(copier->body->arena, copier->rounds->phis, own);
        }
    }
    end_rounds(copier);
}

/* The rests. */

/* The constant by which the phi of the inner loop grows; 0: it does not. */
static int64_t phi_step(const FrontCopier *copier, const Phi *phi)
{
    const unsigned bits = type_bits(copier->body->regs.data[phi->dst].type);
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    if ((bits != 32 && bits != 64) || !bitset_has(&copier->jam->variant, phi->dst) ||
        !loop_step(copier->front->inner, phi, analyses_affine(copier->jam->analyses), terms, &step) ||
        step.term_count || step.bits != bits)
        return 0;
    return step.constant;
}

/* The phi in the first round that is left. A counter is computed, so that it need not be counted in the rounds. */
static RegId phi_left(FrontCopier *copier, const Phi *phi, unsigned k, Block *block)
{
    Body *body = copier->body;
    const int64_t step = phi_step(copier, phi);
    const bool is_wide = type_bits(body->regs.data[phi->dst].type) == 64;
    if (!step)
        return copier->names[k][phi_argument(phi, copier->front->round)];
    const RegId start = copier->names[k][loop_start(copier->front->inner, phi)];
    const RegId left = body_clone_reg(body, phi->dst), way = body_clone_reg(body, phi->dst);
    RegId count = copier->count;
    if (is_wide) {
        count = sum_reg(&copier->place, TYPE_B64, "%rounds");
        inst_append(block, inst_build(body, "cvt.u64.u32", "dr", count, copier->count));
    }
    inst_append(block, inst_build(body, is_wide ? "mul.lo.s64" : "mul.lo.s32", "dri", way, count, step));
    inst_append(block, inst_build(body, is_wide ? "add.s64" : "add.s32", "drr", left, start, way));
    return left;
}

static bool is_used_outside(const FrontCopier *copier, RegId reg)
{
    const ValueUse *uses = value_uses(copier->jam->values, reg);
    for (uint32_t u = 0; u < value_use_count(copier->jam->values, reg); u++)
        if (uses[u].block != copier->front->round)
            return true;
    return false;
}

/* A value of the inner loop after all its rounds. */
static void merge_value(FrontCopier *copier, RegId reg, RegId together, Block *round, Block *more, Block *merge)
{
    Phi phi = {.dst = body_clone_reg(copier->body, reg)};
    if (!is_used_outside(copier, reg))
        return;
    VEC_PUSH(copier->body->arena, phi.args, ((PhiArg){more, together}));
    VEC_PUSH(copier->body->arena, phi.args, ((PhiArg){round, versions_reg(&copier->versions, reg)}));
    VEC_PUSH(copier->body->arena, merge->phis, phi);
    versions_set_reg(&copier->versions, reg, phi.dst);
}

/* The rounds that the iteration has left. Gives the block where its rest begins; *merge: where these have ended. */
static Block *copy_rounds_left(FrontCopier *copier, unsigned k, Block **merge)
{
    const Front *front = copier->front;
    Versions *v = &copier->versions;
    Block *round = front->round, *preheader = front->inner->preheader, *place = copier->jam->loop->preheader;
    Block *more = versions_add_block(v, place, true);
    const RegId is_left = sum_reg(&copier->place, TYPE_PRED, "%more");
    versions_copy(v, &round, 1, place);
    Block *copy = versions_block(v, round);
    *merge = versions_add_block(v, place, true);
    for (size_t p = 0; p < round->phis.count; p++)
        for (size_t a = 0; a < copy->phis.data[p].args.count; a++)
            if (copy->phis.data[p].args.data[a].pred == preheader)
                copy->phis.data[p].args.data[a] =
                    (PhiArg){more, phi_left(copier, &round->phis.data[p], k, more)};
    for (size_t p = 0; p < round->phis.count; p++)
        merge_value(copier, round->phis.data[p].dst, copier->names[k][round->phis.data[p].dst], copy, more, *merge);
    for (const Inst *inst = round->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                merge_value(copier, inst->refs[r].reg, copier->names[k][inst->refs[r].reg], copy, more, *merge);
    inst_append(more, inst_build(copier->body, "setp.ne.u64", "drr", is_left, copier->lasts[k], copier->least));
    inst_append(more, inst_build_branch(copier->body, *merge, is_left, true));
    more->fall = copy;
    block_retarget(copy, front->exit, *merge);
    return more;
}

/* True for a block of the front: the header, those that lead to the inner loop, and that. */
static bool is_in_front(const Front *front, const Block *block)
{
    for (size_t b = 0; b < front->lead.count; b++)
        if (front->lead.data[b] == block)
            return true;
    return block == front->round;
}

/* Copies the rest of an iteration. Gives the block where it begins. */
static Block *copy_rest(FrontCopier *copier, unsigned k)
{
    const Jam *jam = copier->jam;
    const Front *front = copier->front;
    Versions *v = &copier->versions;
    Block *merge;
    versions_repeat(v);
    for (RegId reg = 0; reg < jam->values->reg_count; reg++) {
        const Block *made = jam->values->defs[reg].block;
        if (made && made != front->round && is_in_front(front, made))
            versions_set_reg(v, reg, copier->names[k][reg]);
    }
    Block *first = copy_rounds_left(copier, k, &merge);
    versions_copy(v, copier->rest.data, copier->rest.count, jam->loop->preheader);
    merge->fall = versions_block(v, front->exit);
    block_replace_pred(merge->fall, versions_block(v, front->round), merge);
    return first;
}

/* The test gets phis in the place of the header's: from the preheader, the loop itself and the version. */
static void move_phis(FrontCopier *copier, Block *latch)
{
    const Jam *jam = copier->jam;
    Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *phi = &header->phis.data[p], *own = &copier->test.block->phis.data[p];
        const RegId next = jam_next(jam, phi), start = loop_start(jam->loop, phi);
        VEC_PUSH(copier->body->arena, own->args, ((PhiArg){jam->loop->preheader, start}));
        VEC_PUSH(copier->body->arena, own->args, ((PhiArg){jam->latch, next}));
        VEC_PUSH(copier->body->arena, own->args, ((PhiArg){latch, versions_reg(&copier->versions, next)}));
        phi->args.count = 0;
        VEC_PUSH(copier->body->arena, phi->args, ((PhiArg){copier->test.block, own->dst}));
    }
}

static FrontCopier copier_new(Jam *jam, const Front *front)
{
    FrontCopier copier = {.jam = jam, .front = front, .body = jam->body, .scratch = jam->scratch};
    const size_t reg_count = jam->values->reg_count;
    copier.names = ARENA_ARRAY(jam->scratch, RegId *, jam->factor);
    copier.lasts = ARENA_ARRAY(jam->scratch, RegId, jam->factor);
    copier.stores = ARENA_ARRAY(jam->scratch, RegId *, jam->factor);
    copier.reads = ARENA_ARRAY(jam->scratch, Start *, jam->factor);
    copier.indices = ARENA_ARRAY(jam->scratch, Start *, jam->factor);
    for (uint32_t b = 0; b < jam->loop->block_count; b++)
        if (!is_in_front(front, jam->loop->blocks[b]))
            VEC_PUSH(jam->scratch, copier.rest, jam->loop->blocks[b]);
    copier.addresses = ARENA_ARRAY(jam->scratch, RegId, 2 * jam->factor * (jam->conflicts.count + 1));
    for (unsigned k = 0; k < jam->factor; k++) {
        copier.names[k] = ARENA_ARRAY(jam->scratch, RegId, reg_count);
        copier.stores[k] = ARENA_ARRAY(jam->scratch, RegId, front->stores.count + 1);
        copier.reads[k] = ARENA_ARRAY(jam->scratch, Start, front->reads.count + 1);
        copier.indices[k] = ARENA_ARRAY(jam->scratch, Start, front->indices.count + 1);
        for (RegId reg = 0; reg < reg_count; reg++)
            copier.names[k][reg] = reg;
    }
    return copier;
}

/* Adds the blocks before the rests. */
static void add_fronts(FrontCopier *copier)
{
    Jam *jam = copier->jam;
    Block *header = jam->loop->header, *preheader = jam->loop->preheader;
    Block *test = versions_add_block(&copier->versions, preheader, false);
    copier->test = jam_test_new(jam, test);
    copier->place = sum_place_new(jam->body, test, jam->analyses);
    copier->fronts = versions_add_block(&copier->versions, preheader, false);
    copier->rounds = versions_add_block(&copier->versions, preheader, false);
    for (size_t p = 0; p < header->phis.count; p++) {
        copier->test.phis[p] = body_clone_reg(jam->body, header->phis.data[p].dst);
        VEC_PUSH(jam->body->arena, test->phis, ((Phi){.dst = copier->test.phis[p]}));
    }
    fill_test(copier);
    inst_append(test, inst_build_branch(jam->body, header, copier->test.ready, true));
    test->fall = copier->fronts;
    for (size_t b = 0; b < copier->front->lead.count; b++)
        append_fronts(copier, copier->front->lead.data[b], copier->fronts);
    fill_rounds(copier);
    copier->fronts->fall = copier->rounds;
}

Block *jam_copy_front(Jam *jam, const Front *front)
{
    FrontCopier copier = copier_new(jam, front);
    Block *header = jam->loop->header, *latch = copier.rounds;
    copier.versions = versions_new(jam->scratch, jam->body, jam->values);
    versions_begin(&copier.versions, jam->loop->blocks, jam->loop->block_count);
    add_fronts(&copier);
    for (unsigned k = 0; k < jam->factor; k++) {
        Block *rest = copy_rest(&copier, k);
        if (k)
            inst_remove(latch->last);
        else
            latch = copier.rounds;
        latch->fall = rest;
        latch = versions_block(&copier.versions, jam->latch);
    }
    move_phis(&copier, latch);
    block_retarget(latch, header, copier.test.block);
    block_retarget(jam->latch, header, copier.test.block);
    block_retarget(jam->loop->preheader, header, copier.test.block);
    for (uint32_t b = 0; b < jam->loop->block_count; b++)
        jam->loop->blocks[b]->is_cold = true;
    versions_join(&copier.versions, jam->after);
    versions_finish(&copier.versions);
    body_remove_unreachable(jam->body);
    return copier.test.block;
}
