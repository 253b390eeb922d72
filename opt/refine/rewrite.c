/* Refinement: the code of a loop whose rounds a group shares.
 *
 *     preheader:  last = the number of the last round
 *                 the original, executed by all threads alike, unless that is known, each thread has a round, and no
 *                 two rounds meet in memory
 *                 left = last + 1 - lane
 *     header:     phis that grow start 'lane' rounds later; sums start from nothing, except in the first thread
 *     end:        left -= threads; back while left > 0; phis have grown by 'threads' rounds
 *     parts:      sums of all threads' parts, by shuffles; what has grown, after the last round of all
 *     join:       what the loop and the original leave */
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/refine/internal.h"

enum { ROUNDS_LIMIT = 1 << 30 };

/* The numbers that the rewriting computes before the loop. */
typedef struct Numbers {
    RegId lane_wide;  /* the thread's number, 64 bits */
    RegId last;       /* the number of the last round, 64 bits */
    RegId last_short; /* the same, 32 bits */
    RegId steps[SHARED_PHIS]; /* of phis with a variable step: the step; REG_NONE: it is constant */
} Numbers;

static unsigned bits_of(const Refine *r, RegId reg)
{
    return type_bits(r->body->regs.data[reg].type);
}

/* start + rounds * step, as a new register after other code of the block. 'rounds' has the phi's width. */
static RegId grown(const Refine *r, Block *block, const SharedPhi *phi, RegId step, RegId rounds)
{
    RegId result = body_clone_reg(r->body, phi->reg);
    const bool is_wide = bits_of(r, phi->reg) == 64;
    Inst *inst = step != REG_NONE
                     ? inst_build(r->body, "mad.lo.s64", "drrr", result, rounds, step, phi->start)
                     : inst_build(r->body, is_wide ? "mad.lo.s64" : "mad.lo.s32", "drir", result, rounds,
                                  phi->step.constant, phi->start);
    inst_append(block, inst);
    return result;
}

/* The value of a sum that adds nothing, of the register's width, for all threads but the first. */
static RegId start_of_sum(const Refine *r, Block *block, const SharedPhi *phi)
{
    const bool is_wide = bits_of(r, phi->reg) == 64;
    RegId nothing = body_clone_reg(r->body, phi->reg), start = body_clone_reg(r->body, phi->reg);
    /* -0.0 is what leaves every number as it is. */
    const int64_t zero = phi->merge != MERGE_FLOAT_SUM ? 0 : is_wide ? INT64_MIN : INT64_C(0x80000000);
    inst_append(block, inst_build(r->body, is_wide ? "mov.b64" : "mov.b32", "di", nothing, zero));
    inst_append(block, inst_build(r->body, is_wide ? "selp.b64" : "selp.b32", "drrr", start, phi->start, nothing,
                                  r->is_first));
    return start;
}

/* Another thread's value: of the one whose lane differs in the bit. */
static RegId exchanged(const Refine *r, Block *block, RegId value, unsigned bit)
{
    const char *shuffle = "shfl.sync.bfly.b32";
    RegId other = body_clone_reg(r->body, value);
    if (bits_of(r, value) == 32) {
        inst_append(block, inst_build(r->body, shuffle, "driir", other, value, (int64_t)bit, (int64_t)WARP - 1,
                                      r->members));
        return other;
    }
    RegId bits = refine_reg(r, TYPE_B64, "%half"), halves[2], moved[2]; /* shifts take no floating-point registers */
    inst_append(block, inst_build(r->body, "mov.b64", "dr", bits, value));
    for (unsigned i = 0; i < 2; i++) {
        RegId shifted = refine_reg(r, TYPE_B64, "%half");
        halves[i] = refine_reg(r, TYPE_B32, "%half");
        moved[i] = refine_reg(r, TYPE_B32, "%half");
        inst_append(block, inst_build(r->body, "shr.u64", "dri", shifted, bits, (int64_t)i * 32));
        inst_append(block, inst_build(r->body, "cvt.u32.u64", "dr", halves[i], shifted));
        inst_append(block, inst_build(r->body, shuffle, "driir", moved[i], halves[i], (int64_t)bit, (int64_t)WARP - 1,
                                      r->members));
    }
    RegId low = refine_reg(r, TYPE_B64, "%half"), wide = refine_reg(r, TYPE_B64, "%half");
    RegId high = refine_reg(r, TYPE_B64, "%half"), both = refine_reg(r, TYPE_B64, "%half");
    inst_append(block, inst_build(r->body, "cvt.u64.u32", "dr", low, moved[0]));
    inst_append(block, inst_build(r->body, "cvt.u64.u32", "dr", wide, moved[1]));
    inst_append(block, inst_build(r->body, "shl.b64", "dri", high, wide, INT64_C(32)));
    inst_append(block, inst_build(r->body, "or.b64", "drr", both, low, high));
    inst_append(block, inst_build(r->body, "mov.b64", "dr", other, both));
    return other;
}

static RegId selected(const Refine *r, Block *block, RegId a, RegId b, RegId predicate)
{
    RegId result = body_clone_reg(r->body, a);
    inst_append(block, inst_build(r->body, bits_of(r, a) == 64 ? "selp.b64" : "selp.b32", "drrr", result, a, b,
                                  predicate));
    return result;
}

/* The thread's own part or the other's, as a round chooses, with that of the lower lane as the value and that of the
 * higher one as the element: so both threads choose the same of two zeros. */
static RegId chosen(const Refine *r, Block *block, const SharedPhi *phi, const RegId parts[2], unsigned apart)
{
    RegId bit = refine_reg(r, TYPE_B32, "%apart"), is_high = refine_reg(r, TYPE_PRED, "%high");
    RegId holds = refine_reg(r, TYPE_PRED, "%chosen");
    inst_append(block, inst_build(r->body, "and.b32", "dri", bit, r->lane, (int64_t)apart));
    inst_append(block, inst_build(r->body, "setp.ne.u32", "dri", is_high, bit, (int64_t)0));
    RegId value = selected(r, block, parts[1], parts[0], is_high);
    RegId element = selected(r, block, parts[0], parts[1], is_high);
    inst_append(block, inst_build(r->body, phi->with.spelling, "drr", holds, phi->with.first ? value : element,
                                  phi->with.first ? element : value));
    return selected(r, block, phi->with.keeps ? value : element, phi->with.keeps ? element : value, holds);
}

/* The value that the parts of all threads make together; all threads get it. */
static RegId combined(const Refine *r, Block *block, const SharedPhi *phi)
{
    RegId value = phi->next;
    for (unsigned apart = r->request->threads / 2; apart; apart /= 2) {
        RegId other = exchanged(r, block, value, apart * r->spacing), both = body_clone_reg(r->body, value);
        if (phi->merge == MERGE_CHOICE || phi->merge == MERGE_FLOAT_CHOICE)
            both = chosen(r, block, phi, (RegId[]){value, other}, apart);
        else
            inst_append(block, inst_build(r->body, phi->with.spelling, "drr", both, value, other));
        value = both;
    }
    return value;
}

static Phi *phi_of(const SharedLoop *shared, unsigned p)
{
    return &shared->loop->header->phis.data[p];
}

static void set_argument(Phi *phi, const Block *pred, RegId reg)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].pred == pred)
            phi->args.data[a].reg = reg;
}

/* Computes before the loop what is the same in all of its rounds. Gives the predicate: the rounds can be shared. */
static RegId build_numbers(const Refine *r, const SharedLoop *shared, Numbers *numbers)
{
    const SumPlace place = sum_place_new(r->body, shared->loop->preheader, r->analyses);
    RegId fits = trip_count_build(&place, &shared->trips, ROUNDS_LIMIT, &numbers->last);
    RegId enough = sum_reg(&place, TYPE_PRED, "%shared");
    sum_put(&place, inst_build(r->body, "setp.ge.and.u64", "drir", enough, numbers->last,
                               (int64_t)r->request->threads - 1, fits));
    numbers->last_short = sum_reg(&place, TYPE_B32, "%last");
    sum_put(&place, inst_build(r->body, "cvt.u32.u64", "dr", numbers->last_short, numbers->last));
    numbers->lane_wide = sum_reg(&place, TYPE_B64, "%lane");
    sum_put(&place, inst_build(r->body, "cvt.u64.u32", "dr", numbers->lane_wide, r->lane));
    for (unsigned p = 0; p < shared->phi_count; p++) {
        const SharedPhi *phi = &shared->phis[p];
        const bool is_variable = phi->merge == MERGE_NONE && phi->step.term_count;
        numbers->steps[p] = is_variable ? sum_build(&place, &phi->step) : REG_NONE;
        if (is_variable && numbers->steps[p] == REG_NONE)
            return REG_NONE;
    }
    return shared_loop_build_aparts(shared, &place, numbers->last, enough);
}

/* The loop's first round of the thread, in a block of its own before the header. */
static void build_starts(const Refine *r, const SharedLoop *shared, const Numbers *numbers, Block *block)
{
    for (unsigned p = 0; p < shared->phi_count; p++) {
        const SharedPhi *phi = &shared->phis[p];
        RegId start = phi->start;
        if (phi->merge == MERGE_NONE)
            start = grown(r, block, phi, numbers->steps[p],
                          bits_of(r, phi->reg) == 64 ? numbers->lane_wide : r->lane);
        else if (!merge_starts_alike(phi->merge))
            start = start_of_sum(r, block, phi);
        set_argument(phi_of(shared, p), block, start);
    }
    if (shared->stores)
        inst_append(block, refine_build_wait(r));
}

/* The next round of the thread, at the loop's end: that of 'threads' rounds later. */
static void build_next(const Refine *r, const SharedLoop *shared, const Numbers *numbers, Block *before, Block *parts)
{
    Body *body = r->body;
    Block *latch = shared->latch;
    const int64_t threads = r->request->threads;
    const Loc *loc = latch->last->loc;
    inst_remove(latch->last);
    for (unsigned p = 0; p < shared->phi_count; p++) {
        const SharedPhi *phi = &shared->phis[p];
        if (phi->merge != MERGE_NONE)
            continue;
        RegId next = body_clone_reg(body, phi->reg);
        const bool is_wide = bits_of(r, phi->reg) == 64;
        if (numbers->steps[p] != REG_NONE)
            inst_append(latch, inst_build(body, "mad.lo.s64", "drir", next, numbers->steps[p], threads, phi->reg));
        else
            inst_append(latch, inst_build(body, is_wide ? "add.s64" : "add.s32", "dri", next, phi->reg,
                                          (int64_t)((uint64_t)phi->step.constant * (uint64_t)threads)));
        set_argument(phi_of(shared, p), latch, next);
    }
    RegId all = refine_reg(r, TYPE_B32, "%left"), first = refine_reg(r, TYPE_B32, "%left");
    inst_append(before, inst_build(body, "sub.s32", "drr", all, numbers->last_short, r->lane));
    inst_append(before, inst_build(body, "add.s32", "dri", first, all, (int64_t)1));
    Phi left = {.dst = refine_reg(r, TYPE_B32, "%left")};
    RegId fewer = refine_reg(r, TYPE_B32, "%left"), more = refine_reg(r, TYPE_PRED, "%more");
    VEC_PUSH(body->arena, left.args, ((PhiArg){before, first}));
    VEC_PUSH(body->arena, left.args, ((PhiArg){latch, fewer}));
    VEC_PUSH(body->arena, shared->loop->header->phis, left);
    inst_append(latch, inst_build(body, "add.s32", "dri", fewer, left.dst, -threads));
    inst_append(latch, inst_build(body, "setp.gt.s32", "dri", more, fewer, (int64_t)0));
    Inst *branch = inst_build_branch(body, shared->loop->header, more, false);
    branch->loc = loc;
    inst_append(latch, branch);
    latch->fall = parts;
}

/* The values after the last round of all, in place of those of the thread's own: arguments of phis of the join. */
static void build_results(const Refine *r, const SharedLoop *shared, const Numbers *numbers, Block *parts, Block *join)
{
    if (shared->stores)
        inst_append(parts, refine_build_wait(r));
    RegId rounds = refine_reg(r, TYPE_B64, "%rounds"), rounds_short = refine_reg(r, TYPE_B32, "%rounds");
    inst_append(parts, inst_build(r->body, "add.s64", "dri", rounds, numbers->last, (int64_t)1));
    inst_append(parts, inst_build(r->body, "cvt.u32.u64", "dr", rounds_short, rounds));
    for (unsigned p = 0; p < shared->phi_count; p++) {
        const SharedPhi *phi = &shared->phis[p];
        const bool is_wide = bits_of(r, phi->reg) == 64;
        RegId next = REG_NONE, last = REG_NONE;
        for (size_t j = 0; j < join->phis.count; j++) {
            Phi *merged = &join->phis.data[j];
            const RegId reg = phi_argument(merged, parts);
            if (reg == phi->next && next == REG_NONE)
                next = phi->merge != MERGE_NONE ? combined(r, parts, phi)
                                                    : grown(r, parts, phi, numbers->steps[p],
                                                            is_wide ? rounds : rounds_short);
            if (reg == phi->reg && last == REG_NONE)
                last = grown(r, parts, phi, numbers->steps[p], is_wide ? numbers->last : numbers->last_short);
            if (reg == phi->next || reg == phi->reg)
                set_argument(merged, parts, reg == phi->next ? next : last);
        }
    }
}

bool shared_loop_rewrite(Refine *r, const SharedLoop *shared)
{
    Numbers numbers = {0};
    Body *body = r->body;
    Block *header = shared->loop->header, *preheader = shared->loop->preheader;
    const Values *values = analyses_values(r->analyses);
    RegId holds = build_numbers(r, shared, &numbers);
    if (holds == REG_NONE)
        return false;
    Block *join = block_between(body, shared->latch, shared->after);
    blocks_version(body, values, shared->loop->blocks, shared->loop->block_count, preheader, join, holds,
                   NULL);
    Block *parts = block_between(body, shared->latch, join);
    Block *entering = header->preds[header->preds[0] == shared->latch];
    Block *before = block_between(body, entering, header);
    build_starts(r, shared, &numbers, before);
    build_next(r, shared, &numbers, before, parts);
    build_results(r, shared, &numbers, parts, join);
    for (unsigned p = 0; p < shared->phi_count; p++)
        r->result->reassociated += merge_is_ordered(shared->phis[p].merge);
    for (uint32_t b = 0; b < shared->loop->block_count; b++)
        pointer_map_put(&r->shared, shared->loop->blocks[b], shared->loop);
    r->result->loops++;
    return true;
}
