/* See rounds.h. The loop is followed from round to round with what bounds tell of its counters. */
#include "opt/loops/rounds.h"

#include "opt/common/trips.h"
#include "opt/common/version.h"

enum {
    ROUNDS_MOST = 16,
    GIVEN_MOST = 8,     /* the same where a launch gives their number: sizes of data are seldom as small */
    COPIED_MOST = 1024, /* instructions of all rounds */
    GIVEN_COPIED_MOST = 768, /* the same where a launch gives the number: of a filter's taps, not of channels */
    MOST_DEPTH = 8,     /* instructions that a counter is followed through */
};

/* The values of a loop in one of its rounds, as far as they are known. */
typedef struct Round {
    const Body *body;
    const Values *values;
    const Loop *loop;
    Bounds *phis; /* of the header; NULL: it is the first round */
    BitSet needed; /* those of them that decide whether another round follows, by number */
    AssumedParameters *assumed; /* NULL: nothing is */
} Round;

typedef struct Slice {
    const Round *round;
    unsigned depth;
} Slice;

int64_t assumed_number(const AssumedParameters *assumed, unsigned index)
{
    const unsigned unused = 64 - 8 * assumed->parts[index].bytes;
    return (int64_t)(assumed->values[index] << unused) >> unused;
}

KnownParameters known_assumed(Arena *arena, const AssumedParameters *assumed)
{
    KnownParameter *known = ARENA_ARRAY(arena, KnownParameter, assumed->count + 1);
    for (unsigned i = 0; i < assumed->count; i++)
        known[i] = known_parameter(arena, assumed->parts[i].variable, assumed->values[i]);
    return (KnownParameters){known, assumed->count};
}

/* The value that the instruction loads from a parameter that is assumed to have it. */
static bool assumed_value(AssumedParameters *assumed, const Inst *inst, uint64_t *value)
{
    ParameterPart part;
    if (!inst_loads_parameter(inst, &part) || part.offset < 0 ||
        !known_parameter_value(assumed->known, part.variable, (uint64_t)part.offset, part.bytes, value))
        return false;
    for (unsigned i = 0; i < assumed->count; i++)
        if (parameter_part_equal(&assumed->parts[i], &part))
            return true;
    if (assumed->count == ASSUMED_MOST)
        return false;
    assumed->parts[assumed->count] = part;
    assumed->values[assumed->count++] = *value;
    return true;
}

static Bounds bounds_now(const void *context, RegId reg)
{
    const Slice *slice = context;
    const Round *round = slice->round;
    const Slice deeper = {round, slice->depth + 1};
    const ValueDef *def = &round->values->defs[reg];
    const Type type = round->body->regs.data[reg].type;
    Computation c;
    uint64_t value;
    const Phi *phi = !def->inst && def->block ? &def->block->phis.data[def->phi] : NULL;
    const bool is_carried = phi && def->block == round->loop->header;
    if (is_carried && round->phis)
        return round->phis[def->phi];
    if (slice->depth < MOST_DEPTH && is_carried)
        return bounds_now(&deeper, loop_start(round->loop, phi));
    if (slice->depth < MOST_DEPTH && phi && phi->args.count == 1)
        return bounds_now(&deeper, phi->args.data[0].reg);
    if (def->inst && round->assumed && assumed_value(round->assumed, def->inst, &value))
        return bounds_point(type_bits(type), value);
    if (slice->depth < MOST_DEPTH && def->inst && computation_of(round->body, def->inst, &c))
        return computation_bounds(&c, bounds_now, &deeper);
    return bounds_any(type == TYPE_PRED ? 1 : type_bits(type));
}

Bounds first_round_bounds(const Body *body, const Values *values, const Loop *loop, RegId reg)
{
    const Round round = {.body = body, .values = values, .loop = loop};
    const Slice slice = {&round, 0};
    return bounds_now(&slice, reg);
}

/* Marks the phis of the header that the value depends on in the same round. */
static void mark_needed(Round *round, RegId reg, unsigned depth)
{
    const ValueDef *def = &round->values->defs[reg];
    if (!def->block || depth > MOST_DEPTH)
        return;
    if (!def->inst && def->block == round->loop->header)
        bitset_add(&round->needed, def->phi);
    else if (!def->inst && def->block->phis.data[def->phi].args.count == 1)
        mark_needed(round, def->block->phis.data[def->phi].args.data[0].reg, depth + 1);
    for (unsigned r = 0; def->inst && r < def->inst->ref_count; r++)
        if (ref_reads(&def->inst->refs[r]))
            mark_needed(round, def->inst->refs[r].reg, depth + 1);
}

/* Finds the phis that decide, by way of others, whether the loop goes round again. */
static void find_needed(Arena *scratch, Round *round, const Block *latch)
{
    const size_t count = round->loop->header->phis.count;
    BitSet done = bitset_new(scratch, count + 1);
    round->needed = bitset_new(scratch, count + 1);
    mark_needed(round, inst_predicate(latch->last), 0);
    for (size_t p = 0; p < count; p++)
        if (bitset_has(&round->needed, (uint32_t)p) && !bitset_has(&done, (uint32_t)p)) {
            bitset_add(&done, (uint32_t)p);
            mark_needed(round, phi_argument(&round->loop->header->phis.data[p], latch), 0);
            p = SIZE_MAX; /* from the first one again */
        }
}

/* The values of the header's phis in the next round, or, with 'from' the preheader, in the first one. */
static void enter_round(Arena *scratch, Round *round, const Block *from)
{
    const size_t count = round->loop->header->phis.count;
    const Slice slice = {round, 0};
    Bounds *next = ARENA_ARRAY(scratch, Bounds, count + 1);
    for (size_t p = 0; p < count; p++)
        next[p] = bitset_has(&round->needed, (uint32_t)p)
                      ? bounds_now(&slice, phi_argument(&round->loop->header->phis.data[p], from))
                      : bounds_any(64);
    round->phis = next;
}

/* The number of rounds of a loop that is left at its end alone; 0: not known, or too many. */
static unsigned count_rounds(Arena *scratch, Round *round)
{
    const Loop *loop = round->loop;
    const Block *latch = loop->latches[0];
    const Inst *branch = latch->last;
    const Slice slice = {round, 0};
    find_needed(scratch, round, latch);
    enter_round(scratch, round, loop->preheader);
    const unsigned most = round->assumed ? GIVEN_MOST : ROUNDS_MOST;
    for (unsigned rounds = 1; rounds <= most; rounds++) {
        const Bounds taken = bounds_now(&slice, inst_predicate(branch));
        if (!bounds_is_point(&taken))
            return 0;
        if ((taken.low != branch->guard_inverted) != (branch->targets[0] == loop->header))
            return rounds;
        enter_round(scratch, round, latch);
    }
    return 0;
}

/* The branch that decides, as the last one before the loop, whether it is entered; NULL: none does. */
static const Inst *find_entry(const Loop *loop)
{
    const Block *to = loop->preheader;
    while (to && to->pred_count == 1 && !block_two_way_branch(to->preds[0]))
        to = to->preds[0];
    return to && to->pred_count == 1 ? block_two_way_branch(to->preds[0]) : NULL;
}

static bool leads_to_loop(const Inst *branch, const Loop *loop, bool taken)
{
    const Block *to = loop->preheader;
    const Block *from = taken ? branch->targets[0] : branch->block->fall;
    while (to != from && to->pred_count == 1 && to->preds[0] != branch->block)
        to = to->preds[0];
    return to == from;
}

bool skipped_loop_find(const Loop *loop, Analyses *analyses, const Body *body, AssumedParameters *assumed)
{
    const Inst *branch = loop->header->is_cold ? NULL : find_entry(loop);
    if (!branch)
        return false;
    AssumedParameters found = *assumed;
    const Round round = {.body = body, .values = analyses_values(analyses), .loop = loop, .assumed = &found};
    const Slice slice = {&round, 0};
    const Bounds taken = bounds_now(&slice, inst_predicate(branch));
    if (!bounds_is_point(&taken) || leads_to_loop(branch, loop, taken.low != branch->guard_inverted))
        return false;
    for (unsigned i = assumed->count; i < found.count; i++)
        if (assumed_number(&found, i) < 0 || assumed_number(&found, i) > GIVEN_MOST)
            return false;
    *assumed = found;
    return true;
}

unsigned short_loop_rounds(Arena *scratch, const Loop *loop, Analyses *analyses, const Body *body,
                           AssumedParameters *assumed)
{
    if (loop->header->is_cold || !loop->preheader || loop->latch_count != 1 ||
        !block_two_way_branch(loop->latches[0]) ||
        loop_only_exit(loop, analyses_loops(analyses)) != loop->latches[0])
        return 0;
    AssumedParameters found = assumed ? *assumed : (AssumedParameters){0};
    Round round = {.body = body, .values = analyses_values(analyses), .loop = loop,
                   .assumed = assumed ? &found : NULL};
    const unsigned rounds = count_rounds(scratch, &round);
    const unsigned copied = assumed ? GIVEN_COPIED_MOST : COPIED_MOST;
    if (!rounds || !blocks_may_version(loop->blocks, loop->block_count, copied / rounds))
        return 0;
    if (assumed)
        *assumed = found;
    return rounds;
}
