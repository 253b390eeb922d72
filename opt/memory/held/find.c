/* The rows that loops read again, and where a row is stored that is not one of these. */
#include "opt/memory/held/internal.h"

enum {
    MOST_BEFORE = 32, /* bytes of a row that its first loop may leave out */
    MOST_ELEMENT = 8, /* bytes */
    MOST_TRIED = 32,  /* arrays, beside one row */
};

bool held_is_row_address(const Holding *h, const AffineForm *address, const AffineForm *row)
{
    AffineForm way;
    if (!affine_add(h->s.scratch, address, row, -1, &way))
        return false;
    for (unsigned t = 0; t < way.term_count; t++)
        if (way.terms[t].base == AFFINE_PARAM)
            return false;
    return way.term_count || way.constant >= -MOST_BEFORE;
}

/* Whether the part may go on where those of the other one's group end. */
static bool continues(const Holding *h, const Part *from, const Part *part)
{
    AffineForm way;
    bool is_later = false;
    if (!affine_add(h->s.scratch, &part->accesses.data[0]->start, &from->accesses.data[0]->start, -1, &way))
        return false;
    for (unsigned t = 0; t < way.term_count; t++) {
        const AffineTerm *term = &way.terms[t];
        if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
            continue;
        const Block *made = h->s.values->defs[term->reg].block;
        is_later |= made && !dominance_has(h->s.dominance, made, from->sweep->loop->preheader);
    }
    return is_later;
}

/* The parts of the array that the sweeps load, or store. */
static void find_parts(Holding *h, const AffineForm *like, bool is_store, PartVec *parts)
{
    size_t from = 0;
    parts->count = 0;
    for (size_t i = 0; i < h->s.all.count; i++) {
        Sweep *sweep = &h->s.all.data[i];
        Part part = {.sweep = sweep};
        const size_t count = is_store ? sweep->stores.count : sweep->loads.count;
        for (size_t k = 0; k < count; k++) {
            const RowAccess *access = is_store ? &sweep->stores.data[k] : &sweep->loads.data[k];
            if (held_is_row_address(h, &access->start, like))
                VEC_PUSH(h->s.scratch, part.accesses, access);
        }
        if (!part.accesses.count)
            continue;
        for (size_t k = 0; k < part.accesses.count; k++)
            part.is_partial |= part.accesses.data[k]->is_partial;
        part.fills = row_accesses_fill(&h->s, part.accesses.data, part.accesses.count, &part.first, &part.step);
        if (parts->count && continues(h, &parts->data[from], &part)) {
            part.group = parts->data[from].group;
        } else {
            part.group = parts->count ? parts->data[from].group + 1 : 0;
            from = parts->count;
        }
        VEC_PUSH(h->s.scratch, *parts, part);
    }
}

/* Whether nothing in the kernel writes what these load. */
static bool are_fixed(const PartVec *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->data[i].accesses.count; k++)
            if (!parts->data[i].accesses.data[k]->is_fixed)
                return false;
    return true;
}

bool held_group_fills(const PartVec *parts, unsigned group)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].group == group && (!parts->data[i].fills || parts->data[i].is_partial))
            return false;
    return true;
}

/* The register with what the store stores; REG_NONE: there is none. */
static RegId stored_reg(const Inst *inst)
{
    RegId found = REG_NONE;
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind != OPERAND_ADDRESS && inst_reg(inst, i) != REG_NONE)
            found = inst_reg(inst, i);
    return found;
}

bool held_add(Holding *h, const HeldAccess *held, unsigned bytes)
{
    const Inst *inst = held->inst;
    for (size_t i = 0; i < h->plan.accesses.count; i++)
        if (h->plan.accesses.data[i].inst == inst)
            return false;
    if (!h->element)
        h->element = bytes;
    if (bytes != h->element || bytes > MOST_ELEMENT || inst->signature->vector > 1 ||
        (held->is_store ? stored_reg(inst) : inst_result(inst)) == REG_NONE)
        return false;
    VEC_PUSH(h->s.scratch, h->plan.accesses, *held);
    return true;
}

static bool hold_parts(Holding *h, const PartVec *parts, bool is_store, unsigned place)
{
    for (size_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->data[i].accesses.count; k++) {
            const RowAccess *access = parts->data[i].accesses.data[k];
            const HeldAccess held = {access->inst, access->base, access->constant, is_store, access->is_partial, place};
            if (!held_add(h, &held, access->bytes))
                return false;
        }
    return true;
}

static bool has_partial(const PartVec *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].is_partial)
            return true;
    return false;
}

/* Whether control may get from one sweep to the other. */
static bool may_follow(const Holding *h, const Sweep *from, const Sweep *to)
{
    BitSet seen = bitset_new(h->s.scratch, h->s.body->blocks.count);
    VEC(Block *) pending = {0};
    VEC_PUSH(h->s.scratch, pending, from->loop->header);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        FOR_EACH_SUCC(block, succ) {
            if (succ == to->loop->header && block != to->loop->header)
                return true;
            if (bitset_has(&seen, succ->id))
                continue;
            bitset_add(&seen, succ->id);
            VEC_PUSH(h->s.scratch, pending, succ);
        }
    }
    return false;
}

const Part *held_part_of(const PartVec *parts, const Sweep *sweep)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].sweep == sweep)
            return &parts->data[i];
    return NULL;
}

/* How far the access is from the first byte that the part touches in a round. */
static bool distance_in(const Holding *h, const Part *part, const RowAccess *access, int64_t *distance)
{
    AffineForm way;
    if (access->step != part->step ||
        !affine_add(h->s.scratch, &access->start, &part->accesses.data[0]->start, -1, &way) || way.term_count)
        return false;
    *distance = way.constant - part->first;
    return true;
}

/* Whether the access, in each round, comes before another one, which every round executes. */
static bool comes_first(const Holding *h, const Inst *inst, const Inst *other)
{
    return inst->block == other->block ? inst_comes_before(inst, other)
                                       : !dominance_has(h->s.dominance, other->block, inst->block);
}

/* Whether the loads of a sweep that stores elsewhere come before the stores that take their place. */
static bool loads_come_first(const Holding *h, const Part *loads, const Part *stores)
{
    if (!loads->fills || loads->step != stores->step)
        return false;
    for (size_t i = 0; i < loads->accesses.count; i++)
        for (size_t k = 0; k < stores->accesses.count; k++) {
            int64_t of_load, of_store;
            if (!distance_in(h, loads, loads->accesses.data[i], &of_load) ||
                !distance_in(h, stores, stores->accesses.data[k], &of_store))
                return false;
            if (of_load == of_store &&
                !comes_first(h, loads->accesses.data[i]->inst, stores->accesses.data[k]->inst))
                return false;
        }
    return true;
}

/* Whether each element of the row has been read when another one takes its place, which the first loops that store do,
 * and these have been stored when one is loaded. */
static bool is_read_before(const Holding *h, const HeldRow *row)
{
    for (size_t i = 0; i < row->loads.count; i++) {
        const Part *own = held_part_of(&h->stores, row->loads.data[i].sweep);
        if (own && (own->group || !loads_come_first(h, &row->loads.data[i], own)))
            return false;
        for (size_t k = 0; k < h->stores.count; k++)
            if (own != &h->stores.data[k] && (!own || h->stores.data[k].group) &&
                may_follow(h, h->stores.data[k].sweep, row->loads.data[i].sweep))
                return false;
    }
    for (size_t i = 0; i < h->again.count; i++)
        for (size_t k = 0; k < h->stores.count; k++)
            if (!h->stores.data[k].group && (h->stores.data[k].sweep == h->again.data[i].sweep ||
                                             may_follow(h, h->again.data[i].sweep, h->stores.data[k].sweep)))
                return false;
    return true;
}

/* Whether a loop loads the row before the first loops have stored it. */
static bool is_loaded_first(const Holding *h, const HeldRow *row)
{
    for (size_t i = 0; i < row->loads.count; i++)
        for (size_t k = 0; k < row->stores.count; k++)
            if (!row->stores.data[k].group && (row->loads.data[i].sweep == row->stores.data[k].sweep ||
                                               may_follow(h, row->loads.data[i].sweep, row->stores.data[k].sweep)))
                return true;
    return !row->stores.count;
}

bool held_is_address(const Holding *h, const AffineForm *address)
{
    bool is_held = h->out && held_is_row_address(h, address, h->out);
    for (unsigned i = 0; i < h->row_count && !is_held; i++)
        is_held = held_is_row_address(h, address, h->rows[i].at);
    return is_held;
}

/* Adds the row with this address, which must be loaded before it is stored if it is not the first; false: it is not
 * one. */
static bool add_row(Holding *h, const AffineForm *at)
{
    HeldRow *row = &h->rows[h->row_count];
    const size_t held = h->plan.accesses.count;
    h->tried++;
    row->at = at;
    find_parts(h, at, false, &row->loads);
    find_parts(h, at, true, &row->stores);
    row->is_fixed = are_fixed(&row->loads) && !row->stores.count;
    row->group = VEC_LAST(row->loads).group;
    if ((has_partial(&row->loads) && !row->is_fixed) ||
        (h->row_count && !is_loaded_first(h, row)) || !hold_parts(h, &row->loads, false, h->row_count) ||
        !hold_parts(h, &row->stores, true, h->row_count)) {
        h->plan.accesses.count = held;
        return false;
    }
    h->row_count++;
    return true;
}

static void drop_row(Holding *h)
{
    h->row_count--;
    while (h->plan.accesses.count && VEC_LAST(h->plan.accesses).place == h->row_count)
        h->plan.accesses.count--;
}

/* Whether the way from one address to the other is one that parameters set, the same in all threads. */
static bool is_shared_distance(const Holding *h, const AffineForm *from, const AffineForm *to)
{
    AffineForm way;
    if (!affine_add(h->s.scratch, to, from, -1, &way) || !way.term_count)
        return false;
    for (unsigned t = 0; t < way.term_count; t++)
        if (way.terms[t].base != AFFINE_PARAM)
            return false;
    return true;
}

/* Adds the next of the rows beside the first, from this load on: false if there is none. */
static bool add_beside(Holding *h, size_t *sweep, size_t *load)
{
    for (; *sweep < h->s.all.count; *sweep += 1, *load = 0)
        while (*load < h->s.all.data[*sweep].loads.count && h->row_count < HELD_ROWS && h->tried < MOST_TRIED) {
            const AffineForm *at = &h->s.all.data[*sweep].loads.data[(*load)++].start;
            if (held_is_address(h, at) || !is_shared_distance(h, h->rows[0].at, at) || !add_row(h, at))
                continue;
            const HeldRow *row = &h->rows[h->row_count - 1];
            if (held_group_fills(&row->loads, row->group))
                return true;
            drop_row(h);
        }
    return false;
}

/* Adds those that several loops read, or that are stored. */
static void add_others(Holding *h)
{
    size_t sweep = 0, load = 0;
    while (add_beside(h, &sweep, &load)) {
        const HeldRow *row = &h->rows[h->row_count - 1];
        if (!row->group && !row->stores.count)
            drop_row(h);
    }
}

/* Finds the row whose elements those that are stored elsewhere replace: if need be, one that is read once. */
static bool find_host(Holding *h, bool with_others)
{
    size_t sweep = 0, load = 0;
    for (h->host = 0; h->host < h->row_count; h->host++)
        if (!h->rows[h->host].stores.count && is_read_before(h, &h->rows[h->host]))
            return true;
    while (with_others && add_beside(h, &sweep, &load)) {
        if (!h->rows[h->host].stores.count && is_read_before(h, &h->rows[h->host]))
            return true;
        drop_row(h);
    }
    return false;
}

/* Finds where a row is stored that is not one of these; false: its elements take the place of none. */
static bool find_out(Holding *h, bool with_others)
{
    const AffineForm *out = NULL;
    for (size_t i = 0; i < h->s.all.count && !out; i++)
        for (size_t k = 0; k < h->s.all.data[i].stores.count && !out; k++)
            if (!held_is_address(h, &h->s.all.data[i].stores.data[k].start))
                out = &h->s.all.data[i].stores.data[k].start;
    if (!out)
        return true;
    find_parts(h, out, true, &h->stores);
    find_parts(h, out, false, &h->again);
    if (find_host(h, with_others)) {
        h->out = out;
        return !has_partial(&h->again) && hold_parts(h, &h->stores, true, HELD_OUT) &&
               hold_parts(h, &h->again, false, HELD_OUT);
    }
    h->stores.count = h->again.count = 0;
    for (unsigned i = 0; i < h->row_count; i++)
        if (h->rows[i].stores.count)
            return true;
    return false;
}

bool held_rows_find(Holding *h, const AffineForm *at, bool with_others)
{
    h->row_count = h->tried = 0;
    h->out = NULL;
    h->element = 0;
    h->plan.accesses.count = h->stores.count = h->again.count = 0;
    if (!add_row(h, at))
        return false;
    if (with_others)
        add_others(h);
    if (!find_out(h, with_others))
        return false;
    h->plan.varies = h->out && h->row_count == 1 && has_partial(&h->rows[0].loads) && h->element >= HELD_WORD &&
                     h->plan.bytes >= 3 * HELD_ADDRESS * h->plan.threads;
    return h->rows[0].group || (h->again.count && !h->host);
}
