/* The test before a loop of iterations side by side: whether the next ones can be executed together.
 *
 * Early values are computed in it for one iteration after the other. */
#include "opt/jam/internal.h"

JamTest jam_test_new(Jam *jam, Block *block)
{
    const size_t reg_count = jam->values->reg_count;
    JamTest test = {.jam = jam,
                    .block = block,
                    .known = ARENA_ARRAY(jam->scratch, RegId, reg_count),
                    .phis = ARENA_ARRAY(jam->scratch, RegId, jam->loop->header->phis.count),
                    .ready = REG_NONE};
    for (RegId reg = 0; reg < reg_count; reg++)
        test.known[reg] = REG_NONE;
    return test;
}

/* True if the value is known; else it has to be computed. */
static bool early_find(const JamTest *test, RegId reg, RegId *out)
{
    const Jam *jam = test->jam;
    if (!jam_is_inside(jam, reg)) {
        *out = reg;
    } else {
        const Phi *phi = jam_phi(jam, reg);
        *out = phi ? test->phis[phi - jam->loop->header->phis.data] : test->known[reg];
    }
    return *out != REG_NONE;
}

static void early_copy(const JamTest *test, const Inst *inst)
{
    Body *body = test->jam->body;
    Inst *copy = inst_clone(body, inst);
    for (unsigned r = 0; r < copy->ref_count; r++) {
        RegRef *ref = &copy->refs[r];
        if (ref_reads(ref)) {
            bool found = early_find(test, ref->reg, &ref->reg);
            require(found);
        } else if (ref_writes(ref)) {
            test->known[ref->reg] = body_clone_reg(body, ref->reg);
            ref->reg = test->known[ref->reg];
        }
    }
    inst_append(test->block, copy);
}

RegId jam_test_value(const JamTest *test, RegId wanted)
{
    VEC(RegId) pending = {0};
    RegId found;
    VEC_PUSH(test->jam->scratch, pending, wanted);
    while (pending.count) {
        RegId reg = VEC_LAST(pending);
        if (early_find(test, reg, &found)) {
            (void)VEC_POP(pending);
            continue;
        }
        const Inst *inst = value_inst(test->jam->values, reg);
        size_t before = pending.count;
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]) && !early_find(test, inst->refs[r].reg, &found))
                VEC_PUSH(test->jam->scratch, pending, inst->refs[r].reg);
        if (pending.count == before)
            early_copy(test, inst);
    }
    early_find(test, wanted, &found);
    return found;
}

void jam_test_step(JamTest *test)
{
    const Jam *jam = test->jam;
    const Block *header = jam->loop->header;
    RegId *next = ARENA_ARRAY(jam->scratch, RegId, header->phis.count);
    for (size_t p = 0; p < header->phis.count; p++)
        next[p] = test->phis[p] == REG_NONE ? REG_NONE : jam_test_value(test, jam_next(jam, &header->phis.data[p]));
    test->phis = next;
    for (size_t r = 0; r < jam->values->reg_count; r++)
        test->known[r] = REG_NONE;
}

void jam_test_require(JamTest *test, RegId holds, bool inverted)
{
    Body *body = test->jam->body;
    RegId both;
    if (test->ready == REG_NONE && !inverted) {
        test->ready = holds;
        return;
    }
    both = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%jam"));
    inst_append(test->block, inst_build_conjunction(body, both, test->ready, holds, inverted));
    test->ready = both;
}

void jam_test_countdown(JamTest *test)
{
    const Jam *jam = test->jam;
    const Countdown *count = &jam->countdown;
    Body *body = jam->body;
    const bool grows = count->step > 0, wide = count->bits == 64;
    const uint64_t room = (uint64_t)(grows ? count->step : -count->step) * (jam->factor - 2);
    const char *subtract = wide ? "sub.s64" : "sub.s32";
    const char *compare = arena_printf(jam->scratch, "setp.%s.u%u", count->with_bound ? "ge" : "gt", count->bits);
    RegId first = jam_test_value(test, count->counter);
    RegId way = body_clone_reg(body, count->counter);
    RegId fits = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%jam"));
    Inst *distance;
    if (count->bound != REG_NONE)
        distance = inst_build(body, subtract, "drr", way, grows ? count->bound : first, grows ? first : count->bound);
    else if (grows)
        distance = inst_build(body, subtract, "dir", way, count->constant, first);
    else
        distance = inst_build(body, subtract, "dri", way, first, count->constant);
    inst_append(test->block, distance);
    inst_append(test->block, inst_build(body, compare, "dri", fits, way, (int64_t)room));
    if (count->is_ordered)
        jam_test_require(test, jam_test_value(test, jam->predicate), !jam->stays_if);
    jam_test_require(test, fits, false);
}

/* The indices of all iterations are extended to what they would be without wrapping. This is not needed for what is
 * computed, but tells the passes that follow that elements are neighbours. */
void jam_test_bounds(JamTest *test)
{
    const Jam *jam = test->jam;
    for (size_t i = 0; i < jam->bounds.count; i++) {
        const IndexBound *bound = &jam->bounds.data[i];
        const int64_t most = (bound->is_signed ? INT32_MAX : (int64_t)UINT32_MAX) - bound->span -
                             (int64_t)jam->factor * bound->step;
        RegId fits = body_add_reg(jam->body, TYPE_PRED, intern(jam->body->module->names, "%jam"));
        inst_append(test->block, inst_build(jam->body, bound->is_signed ? "setp.le.s32" : "setp.le.u32", "dri", fits,
                                            jam_test_value(test, bound->reg), most));
        jam_test_require(test, fits, false);
    }
}

/* y - x is neither in (-bytes of y, 0] nor in [0, bytes of x). */
void jam_test_apart(JamTest *test, const Inst *earlier, RegId x, const Inst *later, RegId y)
{
    Body *body = test->jam->body;
    Access a, b;
    int64_t from, to;
    require(inst_access(earlier, &a) && inst_access(later, &b));
    jam_address(earlier, &from);
    jam_address(later, &to);
    bool wide = type_bits(body->regs.data[x].type) == 64;
    RegId way = body_clone_reg(body, x), moved = body_clone_reg(body, x);
    RegId apart = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%apart"));
    int64_t offset = to - from + b.bytes - 1, least = (int64_t)a.bytes + b.bytes - 1;
    inst_append(test->block, inst_build(body, wide ? "sub.s64" : "sub.s32", "drr", way, y, x));
    inst_append(test->block, inst_build(body, wide ? "add.s64" : "add.s32", "dri", moved, way, offset));
    inst_append(test->block, inst_build(body, wide ? "setp.ge.u64" : "setp.ge.u32", "dri", apart, moved, least));
    jam_test_require(test, apart, false);
}

/* In the first iteration, y - x is not within what the steps of up to factor - 1 iterations bridge. */
void jam_test_apart_evenly(JamTest *test, const Conflict *conflict, RegId x, RegId y)
{
    const Jam *jam = test->jam;
    Body *body = jam->body;
    Access a, b;
    int64_t from, to, step = conflict->step, most = (int64_t)(jam->factor - 1) * step;
    require(inst_access(conflict->earlier, &a) && inst_access(conflict->later, &b));
    jam_address(conflict->earlier, &from);
    jam_address(conflict->later, &to);
    int64_t low = 1 - (int64_t)b.bytes - (step > 0 ? most : step) - (to - from);
    int64_t high = (int64_t)a.bytes - 1 - (step > 0 ? step : most) - (to - from);
    RegId way = body_clone_reg(body, x), moved = body_clone_reg(body, x);
    RegId apart = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%apart"));
    inst_append(test->block, inst_build(body, "sub.s64", "drr", way, y, x));
    inst_append(test->block, inst_build(body, "sub.s64", "dri", moved, way, low));
    inst_append(test->block, inst_build(body, "setp.gt.u64", "dri", apart, moved, high - low));
    jam_test_require(test, apart, false);
}
