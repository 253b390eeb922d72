/* Sweeps, and their ends as code: what loops leave behind is computed from the number of their rounds, which branches
 * lead to them from the conditions, and values that meet are selected. All of it is executed whether the loops are or
 * not. */
#include "opt/memory/sweeps.h"

#include "opt/common/early.h"

enum { ROUNDS_LIMIT = 1 << 30, STEP_MOST = 1 << 20, MOST_DEPTH = 64, MOST_BLOCKS = 64 };

/* The phi of the loop's header, of 64 bits, that is the sum's only term; NULL: there is none. */
static const Phi *only_phi(const Sweeps *s, const Loop *loop, const AffineForm *form)
{
    const ValueDef *def = form->term_count == 1 && form->terms[0].base == AFFINE_VALUE &&
                                  form->terms[0].coefficient == 1
                              ? &s->values->defs[form->terms[0].reg]
                              : NULL;
    if (!def || def->inst || def->block != loop->header ||
        type_bits(s->body->regs.data[form->terms[0].reg].type) != form->bits)
        return NULL;
    return &def->block->phis.data[def->phi];
}

/* The constant that the phi grows by each round; false: it does not. */
static bool constant_step(const Sweeps *s, const Loop *loop, const Phi *phi, int64_t *step)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm by;
    if (!loop_step(loop, phi, s->affine, terms, &by) || by.term_count)
        return false;
    *step = by.constant;
    return true;
}

/* The sum in the first round. */
static bool first_round(const Sweeps *s, const Loop *loop, const AffineForm *form, AffineForm *out)
{
    *out = (AffineForm){form->bits, 0, form->constant, NULL};
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        const AffineForm one = {form->bits, 1, 0, term};
        const ValueDef *def = term->base == AFFINE_VALUE ? &s->values->defs[term->reg] : NULL;
        const bool advances = def && !def->inst && def->block == loop->header;
        const AffineForm *start =
            advances ? &s->affine->forms[loop_start(loop, &def->block->phis.data[def->phi])] : &one;
        if (!affine_add(s->scratch, out, start, advances ? term->coefficient : 1, out))
            return false;
    }
    return true;
}

static bool row_access_find(const Sweeps *s, const Loop *loop, Inst *inst, const Access *access, RowAccess *out)
{
    AffineAddress address;
    if (!inst_is_plain(inst) || inst->operand_count != 2 || !access->address || !access->weak || !access->bytes ||
        (access->kind != ACCESS_LOAD && access->kind != ACCESS_STORE) || !access_is_global(s->affine, inst, access))
        return false;
    affine_of_address(s->affine, inst, access->address, &address);
    *out = (RowAccess){.inst = inst, .base = address_base(inst, access->address), .bytes = access->bytes};
    out->constant = address_offset(access->address);
    return out->base != REG_NONE && address.form.bits == 64 &&
           loop_sum_step(s->scratch, loop, s->analyses, &address.form, &out->step) && out->step > 0 &&
           out->step < STEP_MOST && first_round(s, loop, &address.form, &out->start);
}

/* Sets how far the accesses are from the first store. */
static void find_offsets(const Sweeps *s, const Sweep *sweep, RowAccess *accesses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AffineForm way;
        accesses[i].is_near =
            affine_add(s->scratch, &accesses[i].start, &sweep->stores.data[0].start, -1, &way) && !way.term_count;
        accesses[i].offset = accesses[i].is_near ? way.constant : 0;
    }
}

bool row_accesses_fill(const Sweeps *s, const RowAccess *const *accesses, size_t count, int64_t *first, int64_t *step)
{
    int64_t total = 0, end = INT64_MIN;
    int64_t *offsets = ARENA_ARRAY(s->scratch, int64_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        AffineForm way;
        if (!affine_add(s->scratch, &accesses[i]->start, &accesses[0]->start, -1, &way) || way.term_count ||
            accesses[i]->step != accesses[0]->step)
            return false;
        offsets[i] = way.constant;
        for (size_t k = 0; k < i; k++)
            if (offsets[i] < offsets[k] + accesses[k]->bytes && offsets[k] < offsets[i] + accesses[i]->bytes)
                return false;
        total += accesses[i]->bytes;
        *first = !i || offsets[i] < *first ? offsets[i] : *first;
        end = offsets[i] + accesses[i]->bytes > end ? offsets[i] + accesses[i]->bytes : end;
    }
    *step = count ? accesses[0]->step : 0;
    return count && total == *step && end - *first == total;
}

/* Whether a round's stores fill a step, all of it once. */
static bool stores_fill(const Sweeps *s, Sweep *sweep)
{
    const RowAccess **stores = ARENA_ARRAY(s->scratch, const RowAccess *, sweep->stores.count + 1);
    for (size_t i = 0; i < sweep->stores.count; i++)
        stores[i] = &sweep->stores.data[i];
    return row_accesses_fill(s, stores, sweep->stores.count, &sweep->first, &sweep->step);
}

/* Whether the loop is one block, or several of which the last decides whether another round follows. */
static bool has_sweep_blocks(const Sweeps *s, const Loop *loop, const TripCount *trips)
{
    return loop->block_count == 1 || (s->takes_branches && loop->block_count <= MOST_BLOCKS && loop->latch_count == 1 &&
                                      loop->end == loop->index + 1 && trips->exiting == loop->latches[0]);
}

/* Finds the accesses of a block of the loop; false: there are others. */
static bool find_accesses(const Sweeps *s, const Loop *loop, const Block *block, Sweep *sweep)
{
    const bool is_partial = !dominance_has(s->dominance, block, loop->latches[0]);
    for (Inst *inst = block->first; inst; inst = inst->next) {
        Access access;
        RowAccess found;
        if (!inst_access(inst, &access) || access.space == SPACE_SHARED || access.space == SPACE_LOCAL)
            continue;
        const bool is_fixed =
            access.kind == ACCESS_LOAD && access.read_only && (!access.awaited || s->never_waits);
        if (!row_access_find(s, loop, inst, &access, &found)) {
            if (is_fixed)
                continue;
            return false;
        }
        found.is_fixed = is_fixed;
        found.is_partial = is_partial;
        if (is_partial && !is_fixed)
            return false;
        if (access.kind == ACCESS_STORE)
            VEC_PUSH(s->scratch, sweep->stores, found);
        else
            VEC_PUSH(s->scratch, sweep->loads, found);
    }
    return true;
}

static bool sweep_find(const Sweeps *s, const Loop *loop, Sweep *sweep)
{
    *sweep = (Sweep){.loop = loop, .executed = REG_NONE, .last = REG_NONE};
    if (loop->header->is_cold || !loop->preheader ||
        !trip_count_find(loop, s->loops, s->analyses, &sweep->trips) || !has_sweep_blocks(s, loop, &sweep->trips))
        return false;
    for (uint32_t b = 0; b < loop->block_count; b++)
        if (!find_accesses(s, loop, loop->blocks[b], sweep))
            return false;
    if (!sweep->stores.count)
        return s->takes_all;
    find_offsets(s, sweep, sweep->stores.data, sweep->stores.count);
    find_offsets(s, sweep, sweep->loads.data, sweep->loads.count);
    return stores_fill(s, sweep) || s->takes_all;
}

/* Puts the sweeps in the order of their execution: clang has the main part of a loop after what is left over of it. */
static void sort_sweeps(Sweeps *s)
{
    size_t count;
    Block **order = body_reverse_postorder(s->scratch, s->body, &count);
    size_t *rank = ARENA_ARRAY(s->scratch, size_t, s->body->blocks.count);
    for (size_t i = 0; i < count; i++)
        rank[order[i]->id] = i;
    for (size_t i = 1; i < s->all.count; i++) {
        const Sweep sweep = s->all.data[i];
        size_t k = i;
        for (; k && rank[s->all.data[k - 1].loop->header->id] > rank[sweep.loop->header->id]; k--)
            s->all.data[k] = s->all.data[k - 1];
        s->all.data[k] = sweep;
    }
}

void sweeps_find(Sweeps *s)
{
    s->loops = analyses_loops(s->analyses);
    s->values = analyses_values(s->analyses);
    s->affine = analyses_affine(s->analyses);
    s->dominance = analyses_dominance(s->analyses);
    s->postdominance = analyses_postdominance(s->analyses);
    for (size_t b = 0; b < s->body->blocks.count; b++) {
        const Loop *loop = loop_headed(s->loops, s->body->blocks.data[b]);
        Sweep sweep;
        if (loop && sweep_find(s, loop, &sweep))
            VEC_PUSH(s->scratch, s->all, sweep);
    }
    if (s->takes_branches)
        sort_sweeps(s);
}

void sweeps_begin(Sweeps *s, Block *at)
{
    s->place = sum_place_new(s->body, at, s->analyses);
    s->failed = bitset_new(s->scratch, s->values->reg_count);
    s->early = ARENA_ARRAY(s->scratch, RegId, s->values->reg_count);
    for (size_t r = 0; r < s->values->reg_count; r++)
        s->early[r] = REG_NONE;
    s->holds = REG_NONE;
    for (size_t i = 0; i < s->all.count; i++)
        s->all.data[i].is_built = false;
}

static RegId put(const Sweeps *s, Type type, const char *base, const char *spelling, const char *operands, RegId a,
                 RegId b)
{
    RegId reg = sum_reg(&s->place, type, base);
    sum_put(&s->place, inst_build(s->body, spelling, operands, reg, a, b));
    return reg;
}

static RegId put_sum(const Sweeps *s, RegId reg, int64_t constant)
{
    if (!constant)
        return reg;
    const bool is_wide = type_bits(s->body->regs.data[reg].type) == 64;
    RegId sum = sum_reg(&s->place, is_wide ? TYPE_B64 : TYPE_B32, "%row");
    sum_put(&s->place, inst_build(s->body, is_wide ? "add.s64" : "add.s32", "dri", sum, reg, constant));
    return sum;
}

RegId sweeps_compare(const Sweeps *s, const char *spelling, RegId a, RegId b)
{
    return put(s, TYPE_PRED, "%holds", spelling, "drr", a, b);
}

RegId sweeps_either(const Sweeps *s, RegId a, RegId b)
{
    return put(s, TYPE_PRED, "%holds", "or.pred", "drr", a, b);
}

/* Both hold; REG_NONE: what always does. */
static RegId both(const Sweeps *s, RegId condition, RegId predicate, bool inverted)
{
    RegId reg = sum_reg(&s->place, TYPE_PRED, "%holds");
    sum_put(&s->place, inst_build_conjunction(s->body, reg, condition, predicate, inverted));
    return reg;
}

void sweeps_require(Sweeps *s, RegId executed, RegId predicate)
{
    if (executed != REG_NONE) {
        RegId skipped = both(s, REG_NONE, executed, true);
        predicate = sweeps_either(s, skipped, predicate);
    }
    s->holds = s->holds == REG_NONE ? predicate : both(s, s->holds, predicate, false);
}

static RegId early_value(Sweeps *s, RegId reg, unsigned depth);

/* The value of a register that a built sweep makes, after it. */
static RegId exit_value(Sweeps *s, const Sweep *sweep, RegId reg, unsigned depth)
{
    const AffineForm *form = &s->affine->forms[reg];
    const unsigned bits = type_bits(s->body->regs.data[reg].type);
    const Phi *phi = form->bits == bits && (bits == 32 || bits == 64) ? only_phi(s, sweep->loop, form) : NULL;
    int64_t step;
    RegId start, last = sweep->last;
    if (!phi || !constant_step(s, sweep->loop, phi, &step) ||
        (start = early_value(s, loop_start(sweep->loop, phi), depth)) == REG_NONE)
        return REG_NONE;
    if (bits == 32) {
        last = sum_reg(&s->place, TYPE_B32, "%last");
        sum_put(&s->place, inst_build(s->body, "cvt.u32.u64", "dr", last, sweep->last));
    }
    RegId sum = sum_reg(&s->place, bits == 64 ? TYPE_B64 : TYPE_B32, "%row");
    sum_put(&s->place, inst_build(s->body, bits == 64 ? "mad.lo.s64" : "mad.lo.s32", "drir", sum, last, step, start));
    return put_sum(s, sum, form->constant);
}

/* Which way the block's branch goes to get from there to the edge: 1: its target, 0: on; -1: unknown. */
static int side_of(const Sweeps *s, const Block *chooser, const Block *pred, const Block *to)
{
    const Inst *branch = block_two_way_branch(chooser);
    if (!branch)
        return -1;
    for (int side = 0; side < 2; side++) {
        const Block *next = side ? branch->targets[0] : chooser->fall;
        if (pred == chooser ? next == to : next->pred_count == 1 && dominance_has(s->dominance, next, pred))
            return side;
    }
    return -1;
}

/* The predicate of a branch at the place, and whether the branch is taken where it is false. */
static RegId early_condition(Sweeps *s, const Block *chooser, bool *inverted, unsigned depth)
{
    const Inst *branch = block_two_way_branch(chooser);
    *inverted = branch->guard_inverted;
    return early_value(s, inst_predicate(branch), depth);
}

/* The value of a phi where two paths from a branch meet. */
static RegId meeting_value(Sweeps *s, const ValueDef *def, unsigned depth)
{
    const Phi *phi = &def->block->phis.data[def->phi];
    const Block *chooser = dominance_parent(s->dominance, def->block);
    const char *spelling = type_bits(s->body->regs.data[phi->dst].type) == 64   ? "selp.b64"
                           : type_bits(s->body->regs.data[phi->dst].type) == 32 ? "selp.b32"
                                                                                : NULL;
    if (phi->args.count != 2 || !chooser || !spelling)
        return REG_NONE;
    RegId values[2] = {REG_NONE, REG_NONE};
    for (size_t a = 0; a < 2; a++) {
        const int side = side_of(s, chooser, phi->args.data[a].pred, def->block);
        if (side < 0 || values[side] != REG_NONE)
            return REG_NONE;
        values[side] = early_value(s, phi->args.data[a].reg, depth);
    }
    bool inverted;
    const RegId condition = early_condition(s, chooser, &inverted, depth);
    if (values[0] == REG_NONE || values[1] == REG_NONE || condition == REG_NONE)
        return REG_NONE;
    RegId reg = sum_reg(&s->place, type_bits(s->body->regs.data[phi->dst].type) == 64 ? TYPE_B64 : TYPE_B32, "%row");
    sum_put(&s->place, inst_build(s->body, spelling, "drrr", reg, values[!inverted], values[inverted], condition));
    return reg;
}

/* A computation there, of what it reads there. */
static RegId computed_value(Sweeps *s, const Inst *inst, RegId reg, unsigned depth)
{
    if (!inst_can_move(inst))
        return REG_NONE;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && early_value(s, inst->refs[r].reg, depth) == REG_NONE)
            return REG_NONE;
    sum_put(&s->place, inst_clone_renamed(s->body, inst, s->early));
    return s->early[reg];
}

static const Sweep *sweep_around(const Sweeps *s, const Loop *loop)
{
    for (size_t i = 0; i < s->all.count; i++)
        if (s->all.data[i].is_built && s->all.data[i].loop == loop)
            return &s->all.data[i];
    return NULL;
}

static RegId make_value(Sweeps *s, RegId reg, unsigned depth)
{
    const ValueDef *def = &s->values->defs[reg];
    if (!def->block || depth == MOST_DEPTH)
        return REG_NONE;
    if (dominance_has(s->dominance, def->block, s->place.block))
        return reg;
    const Loop *loop = loop_of(s->loops, def->block);
    if (loop != loop_of(s->loops, s->place.block)) {
        const Sweep *sweep = sweep_around(s, loop);
        return sweep ? exit_value(s, sweep, reg, depth + 1) : REG_NONE;
    }
    return def->inst ? computed_value(s, def->inst, reg, depth + 1) : meeting_value(s, def, depth + 1);
}

/* The value, which later code makes, at the place; REG_NONE: it cannot be told there. Each is tried once, since paths
 * that part and meet again share what comes before. */
static RegId early_value(Sweeps *s, RegId reg, unsigned depth)
{
    if (s->early[reg] != REG_NONE || bitset_has(&s->failed, reg))
        return s->early[reg];
    s->early[reg] = make_value(s, reg, depth);
    if (s->early[reg] == REG_NONE)
        bitset_add(&s->failed, reg);
    return s->early[reg];
}

/* Whether control gets from the place to the block: *executed, REG_NONE if it always does. */
static bool executed_build(Sweeps *s, const Block *block, RegId *executed)
{
    *executed = REG_NONE;
    for (const Block *chooser; block != s->place.block; block = chooser) {
        chooser = dominance_parent(s->dominance, block);
        if (!chooser)
            return false;
        if (dominance_has(s->postdominance, block, chooser))
            continue;
        const int side = block->pred_count == 1 ? side_of(s, chooser, chooser, block) : -1;
        bool inverted;
        const RegId condition = side < 0 ? REG_NONE : early_condition(s, chooser, &inverted, 0);
        if (condition == REG_NONE)
            return false;
        *executed = both(s, *executed, condition, inverted == (side == 1));
    }
    return true;
}

/* The register at the place, if it is one; false: it is, and its value cannot be told there. */
static bool make_early(Sweeps *s, RegId *reg)
{
    return *reg == REG_NONE || (*reg = early_value(s, *reg, 0)) != REG_NONE;
}

RegId sweeps_early(Sweeps *s, RegId reg)
{
    return early_value(s, reg, 0);
}

/* The value of a register of the loop in the first round, at the place. 'names' (by RegId) has those that are known. */
static RegId first_value(Sweeps *s, const Loop *loop, RegId reg, RegId *names, unsigned depth)
{
    const ValueDef *def = &s->values->defs[reg];
    if (names[reg] != REG_NONE || depth == MOST_DEPTH)
        return names[reg];
    if (!def->block || !loop_contains(s->loops, loop, def->block))
        return names[reg] = early_value(s, reg, depth);
    if (!def->inst && def->block != loop->header)
        return REG_NONE;
    if (!def->inst)
        return names[reg] = early_value(s, loop_start(loop, &def->block->phis.data[def->phi]), depth);
    if (!inst_is_computation(def->inst))
        return REG_NONE;
    for (unsigned r = 0; r < def->inst->ref_count; r++)
        if (ref_reads(&def->inst->refs[r]) &&
            first_value(s, loop, def->inst->refs[r].reg, names, depth + 1) == REG_NONE)
            return REG_NONE;
    sum_put(&s->place, inst_clone_renamed(s->body, def->inst, names));
    return names[reg];
}

RegId row_access_early(Sweeps *s, const Sweep *sweep, const RowAccess *access)
{
    RegId *names = ARENA_ARRAY(s->scratch, RegId, s->values->reg_count);
    for (size_t r = 0; r < s->values->reg_count; r++)
        names[r] = REG_NONE;
    const RegId base = first_value(s, sweep->loop, access->base, names, 0);
    return base == REG_NONE ? REG_NONE : put_sum(s, base, access->constant);
}

static RegId select_executed(const Sweeps *s, RegId executed, RegId then, RegId otherwise)
{
    if (executed == REG_NONE)
        return then;
    RegId reg = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "selp.b64", "drrr", reg, then, otherwise, executed));
    return reg;
}

bool sweep_hull_build(Sweeps *s, const Sweep *sweep, const RowAccess *access, int64_t first, int64_t past, RegId *low,
                      RegId *high)
{
    const RegId start = row_access_early(s, sweep, access);
    if (start == REG_NONE)
        return false;
    *low = put_sum(s, start, first);
    RegId end = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "mad.lo.s64", "drir", end, sweep->last, access->step, *low));
    *high = put_sum(s, end, past - first);
    return true;
}

bool sweep_rounds_build(Sweeps *s, Sweep *sweep)
{
    TripCount trips = sweep->trips;
    if (!executed_build(s, sweep->loop->preheader, &sweep->executed) || !make_early(s, &trips.counter.start) ||
        !make_early(s, &trips.counter.addend) || !make_early(s, &trips.bound))
        return false;
    sweeps_require(s, sweep->executed, trip_count_build(&s->place, &trips, ROUNDS_LIMIT, &sweep->last));
    sweep->is_built = true;
    s->failed = bitset_new(s->scratch, s->values->reg_count);
    return true;
}

bool sweep_range_build(Sweeps *s, const Sweep *sweep, const RowAccess *access, int64_t first, int64_t step,
                       RegId *begin, RegId *end)
{
    RegId low, high;
    if (!sweep_hull_build(s, sweep, access, first, first + step, &low, &high))
        return false;
    if (*end == REG_NONE)
        *begin = low;
    else
        sweeps_require(s, sweep->executed, sweeps_compare(s, "setp.eq.s64", low, *end));
    *end = select_executed(s, sweep->executed, high, *end == REG_NONE ? low : *end);
    return true;
}

bool sweep_build(Sweeps *s, Sweep *sweep, RegId *begin, RegId *end)
{
    return sweep_rounds_build(s, sweep) &&
           sweep_range_build(s, sweep, &sweep->stores.data[0], sweep->first, sweep->step, begin, end);
}
