/* The test that rows are what has been found, as code at the place. */
#include "opt/memory/held/internal.h"

static bool build_range(Holding *h, const PartVec *parts, unsigned group, Range *range)
{
    *range = (Range){REG_NONE, REG_NONE};
    for (size_t i = 0; i < parts->count; i++) {
        const Part *part = &parts->data[i];
        if (part->group == group && !sweep_range_build(&h->s, part->sweep, part->accesses.data[0], part->first,
                                                       part->step, &range->begin, &range->end))
            return false;
    }
    return range->end != REG_NONE;
}

/* Requires that the bytes from 'low' up to 'high' are in the range, or outside of it. */
static void require_bytes(Holding *h, RegId executed, RegId low, RegId high, const Range *range, bool inside)
{
    Sweeps *s = &h->s;
    if (inside) {
        sweeps_require(s, executed, sweeps_compare(s, "setp.ge.s64", low, range->begin));
        sweeps_require(s, executed, sweeps_compare(s, "setp.le.s64", high, range->end));
        return;
    }
    const RegId below = sweeps_compare(s, "setp.le.s64", high, range->begin);
    sweeps_require(s, executed, sweeps_either(s, below, sweeps_compare(s, "setp.ge.s64", low, range->end)));
}

/* The same of what a sweep touches by this access, and by others from the same register, if it is the first of them. */
static bool require_access(Holding *h, const Sweep *sweep, const RowAccessRefs *all, size_t index, const Range *range,
                           bool inside)
{
    const RowAccess *access = all->data[index];
    int64_t first = 0, past = access->bytes;
    RegId low, high;
    for (size_t i = 0; i < all->count; i++) {
        const RowAccess *other = all->data[i];
        const int64_t way = other->constant - access->constant;
        if (other->base != access->base)
            continue;
        if (i < index)
            return true;
        first = way < first ? way : first;
        past = way + other->bytes > past ? way + other->bytes : past;
    }
    if (!sweep_hull_build(&h->s, sweep, access, first, past, &low, &high))
        return false;
    require_bytes(h, sweep->executed, low, high, range, inside);
    return true;
}

static bool require_accesses(Holding *h, const Sweep *sweep, const RowAccessRefs *all, const Range *range, bool inside)
{
    for (size_t i = 0; i < all->count; i++)
        if (!require_access(h, sweep, all, i, range, inside))
            return false;
    return true;
}

/* Requires that the parts are in the range, except what is only loaded if it is. */
static bool require_parts(Holding *h, const PartVec *parts, const Range *range)
{
    for (size_t i = 0; i < parts->count; i++) {
        RowAccessRefs whole = {0};
        for (size_t k = 0; k < parts->data[i].accesses.count; k++)
            if (!parts->data[i].accesses.data[k]->is_partial)
                VEC_PUSH(h->s.scratch, whole, parts->data[i].accesses.data[k]);
        if (!require_accesses(h, parts->data[i].sweep, &whole, range, true))
            return false;
    }
    return true;
}

/* Whether an access that is not of the row must be outside of it: the kernel writes one, or may write the other. */
static bool must_avoid(const HeldRow *row, bool is_store)
{
    return row->stores.count || (is_store && !row->is_fixed);
}

/* Requires that what the sweep loads otherwise is outside of what is stored, and what it stores outside of all rows
 * that the kernel may write, and of where one is stored. */
static bool require_outside(Holding *h, const Sweep *sweep, const RowAccessRefs *all, bool is_store)
{
    for (unsigned i = 0; i < h->row_count; i++)
        if (must_avoid(&h->rows[i], is_store) &&
            !require_accesses(h, sweep, all, &h->rows[i].range, false))
            return false;
    return !h->out || require_accesses(h, sweep, all, &h->out_range, false);
}

/* The same of all sweeps. */
static bool require_others(Holding *h)
{
    for (size_t i = 0; i < h->s.all.count; i++) {
        const Sweep *sweep = &h->s.all.data[i];
        RowAccessRefs loads = {0}, stores = {0};
        for (size_t k = 0; k < sweep->loads.count; k++)
            if (!sweep->loads.data[k].is_fixed && !held_is_address(h, &sweep->loads.data[k].start))
                VEC_PUSH(h->s.scratch, loads, &sweep->loads.data[k]);
        for (size_t k = 0; k < sweep->stores.count; k++)
            if (!held_is_address(h, &sweep->stores.data[k].start))
                VEC_PUSH(h->s.scratch, stores, &sweep->stores.data[k]);
        if (!require_outside(h, sweep, &loads, false) || !require_outside(h, sweep, &stores, true))
            return false;
    }
    return true;
}

/* Whether a single access could meet a row or what is stored of it. */
static bool may_meet(const Holding *h, const Single *single)
{
    bool may = h->out;
    for (unsigned i = 0; i < h->row_count; i++)
        may |= must_avoid(&h->rows[i], single->is_store);
    return may;
}

/* The same of accesses that are executed once; those of a row that is stored in place are of its copy. */
static bool require_single(Holding *h, const Single *single)
{
    Sweeps *s = &h->s;
    if (!may_meet(h, single))
        return true;
    const RegId base = sweeps_early(s, single->base);
    if (base == REG_NONE)
        return false;
    const RegId low = sum_reg(&s->place, TYPE_B64, "%row"), high = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "add.s64", "dri", low, base, single->constant));
    sum_put(&s->place, inst_build(s->body, "add.s64", "dri", high, low, (int64_t)single->bytes));
    for (unsigned i = 0; i < h->row_count; i++)
        if (h->rows[i].stores.count && held_is_row_address(h, &single->form, h->rows[i].at)) {
            require_bytes(h, REG_NONE, low, high, &h->rows[i].range, true);
            const HeldAccess held = {single->inst, single->base, single->constant, single->is_store, false, i};
            return held_add(h, &held, single->bytes);
        }
    for (unsigned i = 0; i < h->row_count; i++)
        if (must_avoid(&h->rows[i], single->is_store))
            require_bytes(h, REG_NONE, low, high, &h->rows[i].range, false);
    if (h->out)
        require_bytes(h, REG_NONE, low, high, &h->out_range, false);
    return true;
}

/* Requires that loops which load the host and store elsewhere load, in each round, the elements that they store. */
static bool require_same_rounds(Holding *h, RegId distance)
{
    Sweeps *s = &h->s;
    for (size_t i = 0; i < h->stores.count; i++) {
        const Part *stores = &h->stores.data[i], *loads = held_part_of(&h->rows[h->host].loads, stores->sweep);
        if (!loads)
            continue;
        const RegId to = row_access_early(s, stores->sweep, stores->accesses.data[0]);
        const RegId from = row_access_early(s, stores->sweep, loads->accesses.data[0]);
        if (to == REG_NONE || from == REG_NONE)
            return false;
        const RegId way = sum_reg(&s->place, TYPE_B64, "%row"), moved = sum_reg(&s->place, TYPE_B64, "%row");
        sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", way, to, from));
        sum_put(&s->place, inst_build(s->body, "add.s64", "dri", moved, way, stores->first - loads->first));
        sweeps_require(s, stores->sweep->executed, sweeps_compare(s, "setp.eq.s64", moved, distance));
    }
    return true;
}

/* Requires that what is stored elsewhere is as long as the host, or longer if that varies, and does not overlap it, or
 * is the same. */
static bool require_host(Holding *h)
{
    Sweeps *s = &h->s;
    const HeldRow *host = &h->rows[h->host];
    RegId regs[4]; /* distance, the same between the ends, length, the distance the other way */
    for (unsigned i = 0; i < 4; i++)
        regs[i] = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[0], h->out_range.begin, host->range.begin));
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[1], h->out_range.end, host->range.end));
    sweeps_require(s, REG_NONE, sweeps_compare(s, h->plan.varies ? "setp.le.s64" : "setp.eq.s64", regs[0], regs[1]));
    if (!host->is_fixed) {
        sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[2], host->range.end, host->range.begin));
        sum_put(&s->place, inst_build(s->body, "neg.s64", "dr", regs[3], regs[0]));
        const RegId is_same = sum_reg(&s->place, TYPE_PRED, "%holds");
        sum_put(&s->place, inst_build(s->body, "setp.eq.s64", "dri", is_same, regs[0], (int64_t)0));
        const RegId apart = sweeps_either(s, sweeps_compare(s, "setp.ge.s64", regs[0], regs[2]),
                                          sweeps_compare(s, "setp.ge.s64", regs[3], regs[2]));
        sweeps_require(s, REG_NONE, sweeps_either(s, apart, is_same));
    }
    return require_same_rounds(h, regs[0]);
}

static void require_apart(Holding *h, const Range *a, const Range *b)
{
    require_bytes(h, REG_NONE, a->begin, a->end, b, false);
}

/* Requires that the loops which store elsewhere store one range, apart from all rows but the host. */
static bool require_out(Holding *h)
{
    Range *out = &h->out_range;
    if (!h->out)
        return true;
    if (!held_group_fills(&h->stores, 0) || !build_range(h, &h->stores, 0, out) || !require_host(h) ||
        !require_parts(h, &h->stores, out) || !require_parts(h, &h->again, out))
        return false;
    for (unsigned i = 0; i < h->row_count; i++)
        if (i != h->host && !h->rows[i].is_fixed)
            require_apart(h, &h->rows[i].range, out);
    return true;
}

/* Requires that the last of the loops which store in place store all of the row. */
static bool require_all_stored(Holding *h, const HeldRow *row)
{
    const unsigned group = VEC_LAST(row->stores).group;
    Range stored;
    if (!held_group_fills(&row->stores, group) || !build_range(h, &row->stores, group, &stored))
        return false;
    sweeps_require(&h->s, REG_NONE, sweeps_compare(&h->s, "setp.eq.s64", stored.begin, row->range.begin));
    sweeps_require(&h->s, REG_NONE, sweeps_compare(&h->s, "setp.eq.s64", stored.end, row->range.end));
    return require_parts(h, &row->stores, &row->range);
}

/* Requires that the row is one, as long as the first, and apart from those before it if either is stored. */
static bool require_row(Holding *h, unsigned index)
{
    Sweeps *s = &h->s;
    HeldRow *row = &h->rows[index];
    const Range *first = &h->rows[0].range;
    if (!build_range(h, &row->loads, row->group, &row->range) || !require_parts(h, &row->loads, &row->range) ||
        (row->stores.count && !require_all_stored(h, row)))
        return false;
    for (unsigned i = 0; i < index; i++) {
        const HeldRow *other = &h->rows[i];
        if ((row->stores.count && !other->is_fixed) || (other->stores.count && !row->is_fixed))
            require_apart(h, &row->range, &other->range);
    }
    if (!index)
        return true;
    const RegId length = sum_reg(&s->place, TYPE_B64, "%row"), other = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", length, first->end, first->begin));
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", other, row->range.end, row->range.begin));
    sweeps_require(s, REG_NONE, sweeps_compare(s, "setp.eq.s64", length, other));
    return true;
}

/* The end of the first row, or where it would be if it were as long as what is stored. */
static RegId build_end(Holding *h)
{
    Sweeps *s = &h->s;
    if (!h->plan.varies)
        return h->rows[0].range.end;
    const RegId length = sum_reg(&s->place, TYPE_B64, "%row"), end = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", length, h->out_range.end, h->out_range.begin));
    sum_put(&s->place, inst_build(s->body, "add.s64", "drr", end, h->rows[0].range.begin, length));
    return end;
}

bool held_test_build(Holding *h)
{
    sweeps_begin(&h->s, h->plan.at);
    for (size_t i = 0; i < h->s.all.count; i++)
        if (!sweep_rounds_build(&h->s, &h->s.all.data[i]))
            return false;
    for (unsigned i = 0; i < h->row_count; i++) {
        if (!require_row(h, i))
            return false;
        h->plan.begin[i] = h->rows[i].range.begin;
        h->plan.stores[i] = h->rows[i].stores.count > 0;
    }
    if (!require_out(h) || !require_others(h))
        return false;
    for (size_t i = 0; i < h->singles.count; i++)
        if (!require_single(h, &h->singles.data[i]))
            return false;
    h->plan.end = build_end(h);
    h->plan.own_end = h->rows[0].range.end;
    h->plan.row_count = h->row_count;
    h->plan.out = h->out ? h->out_range.begin : REG_NONE;
    h->plan.host = h->host;
    h->plan.holds = h->s.holds;
    h->plan.element = h->element;
    return true;
}
