/* Rows of a thread's own, which several of its loops read, in shared memory.
 *
 *     for (i = 0; i < n; i++)                    for (first = 0; first < threads; first += m) {
 *         most = max(most, row[i]);                  the block copies rows first .. first + m - 1 to shared memory
 *     for (i = 0; i < n; i++)             ->         if (first <= thread && thread < first + m)
 *         sum += row[i] = exp(row[i] - most);            the loops, on the copy
 *     for (i = 0; i < n; i++)                        the block stores these rows
 *         row[i] /= sum;                         }
 *
 * Tiles of rows (stage.c) are too short for what a later loop reads again, so each loop reads all rows from memory, and
 * all threads of an SM together have far more of them than caches hold. Here, a block works on a few rows at a time, as
 * a whole, and memory moves each once (PLDI'10, section 3.3, of a block's threads in turns).
 *
 * The code from a place that all threads of the block reach, or none after it has ended, up to the end of the kernel is
 * executed by the threads in turns. It must not synchronize, so other threads may be at any place meanwhile, and what
 * they do is not seen, since that would be a data race. As tests at the place show (sweeps.h),
 *
 * - some of the loops, one after the other, load a range of bytes, each byte once: this is the row, so no other byte is
 *   copied. All other accesses of it, by constants that parameters show to be the same array, are inside;
 * - what is stored to it is the whole range. Or all of another range of this length is stored, in loops after which the
 *   row is not read, each element after the one of the row in whose place in shared memory it is then; and the two do
 *   not overlap, or are the same. Later loops may load it from there, and store it again;
 * - all other loads, of what the kernel may write, are outside of what is stored, and other stores outside of both.
 *
 * Rows are copied before the thread's first access, and stored after its last one, which changes nothing for any access
 * that is outside. Elsewhere, the code as it was is executed. */
#include "opt/memory/held_rows.h"

#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/demands.h"
#include "opt/memory/obstacles.h"
#include "opt/memory/sweeps.h"
#include "opt/passes.h"
#include "target/target.h"

enum {
    MOST_COPIED = 4096, /* instructions of the rest of the kernel */
    MOST_SWEEPS = 16,
    MOST_THREADS = 1024,
    MOST_BEFORE = 32,   /* bytes of a row that its first loop may leave out */
    MOST_ELEMENT = 8,   /* bytes */
    LEAST_VERSION = 70,
    LEAST_ARCH = 80,
};

typedef VEC(const RowAccess *) RowAccessRefs;

/* The accesses of a sweep that load, or store, the row, or are where the row is stored. */
typedef struct Part {
    Sweep *sweep;
    RowAccessRefs accesses;
    bool fills;          /* in each round, a step */
    int64_t first, step; /* bytes from the first of the accesses */
    unsigned group;      /* the same: of sweeps that may go on where the one before ends */
} Part;

typedef VEC(Part) PartVec;

typedef struct Range {
    RegId begin, end;
} Range;

/* An access that is executed once. */
typedef struct Single {
    Inst *inst;
    RegId base;
    int64_t constant;
    unsigned bytes;
    AffineForm form;
    bool is_store;
} Single;

typedef struct Holding {
    Sweeps s;
    PassContext *context;
    const AffineForm *row;  /* an address in it */
    const AffineForm *out;  /* where it is stored; NULL: in place, or nowhere */
    PartVec loads, stores;
    PartVec again;          /* loads of where it is stored */
    VEC(Single) singles;
    unsigned element;       /* bytes; 0: not known yet */
    bool is_fixed;          /* nothing in the kernel writes what the loops load of the row */
    bool in_place;          /* the row is stored there */
    HeldPlan plan;
} Holding;

static bool is_plain_access(const Inst *inst, Access *access)
{
    return inst_is_plain(inst) && inst->sync == SYNC_NONE && inst_access(inst, access) && access->weak &&
           (access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE) && access->space != SPACE_SHARED &&
           access->space != SPACE_LOCAL;
}

/* Whether the kernel does nothing that other threads of the block take part in, or could wait for. */
static bool is_alone(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_is_opaque(inst) || (!inst_is_computation(inst) && !inst_is_terminator(inst) &&
                                         !is_plain_access(inst, &access)))
                return false;
        }
    return true;
}

static bool is_suitable(Arena *scratch, const PassContext *context)
{
    const Body *body = context->body;
    const Module *module = body->module;
    const unsigned *threads = context->block.threads;
    Arch arch;
    uint64_t shared = 0;
    if (kernel_obstacle(scratch, body, &shared).reason || shared || demands_find(body->function).waits)
        return false;
    return block_size_total(&context->block) && threads[0] % HELD_LANES == 0 && threads[0] <= MOST_THREADS &&
           threads[1] == 1 && threads[2] == 1 && module->version >= LEAST_VERSION && module->target_count &&
           arch_parse(module->targets[0], &arch) && arch.number >= LEAST_ARCH && is_alone(body);
}

/* Whether the block only ends the thread. */
static bool is_end(const Block *block)
{
    return !block->phis.count && block->first && block->first == block->last && inst_is_terminator(block->last) &&
           !inst_is_branch(block->last) && !inst_is_guarded(block->last);
}

static bool is_region(const Holding *h, const Block *block)
{
    return block != h->plan.at && dominance_has(h->s.dominance, h->plan.at, block);
}

static const Sweep *sweep_headed(const Holding *h, const Block *header)
{
    for (size_t i = 0; i < h->s.all.count; i++)
        if (h->s.all.data[i].loop->header == header)
            return &h->s.all.data[i];
    return NULL;
}

/* Whether the block's paths lead to others of the region, or end the thread. */
static bool leads_on(const Holding *h, const Block *block)
{
    const Inst *last = block->last && inst_is_terminator(block->last) ? block->last : NULL;
    if (last && !inst_is_branch(last))
        return !inst_is_guarded(last);
    FOR_EACH_SUCC(block, succ)
        if (!is_region(h, succ) && !is_end(succ))
            return false;
    return block->fall || last;
}

/* Finds the place, in front of all sweeps. */
static bool find_place(Holding *h)
{
    const Sweeps *s = &h->s;
    const Block *at = s->all.count ? s->all.data[0].loop->preheader : NULL;
    for (size_t i = 1; i < s->all.count && at; i++)
        at = dominance_common(s->dominance, at, s->all.data[i].loop->preheader);
    if (!at || at->is_cold || loop_of(s->loops, at) || s->all.count > MOST_SWEEPS)
        return false;
    h->plan.at = s->body->blocks.data[at->id];
    for (size_t b = 0; b < s->body->blocks.count; b++) {
        const Block *block = s->body->blocks.data[b];
        if (block != at && !is_region(h, block))
            continue;
        const Loop *loop = loop_of(s->loops, block);
        if (!leads_on(h, block) || (loop && !sweep_headed(h, block)) || bitset_has(&s->loops->irreducible, block->id))
            return false;
    }
    return true;
}

/* The accesses of the region that are executed once, except loads of what nothing writes; false if an address is not
 * understood. */
static bool find_singles(Holding *h)
{
    const Sweeps *s = &h->s;
    for (size_t b = 0; b < s->body->blocks.count; b++) {
        const Block *block = s->body->blocks.data[b];
        if (!is_region(h, block) || loop_of(s->loops, block))
            continue;
        for (Inst *inst = block->first; inst; inst = inst->next) {
            Access access;
            AffineAddress address;
            if (!inst_access(inst, &access) || access.space == SPACE_PARAM || access.space == SPACE_CONST ||
                (access.kind == ACCESS_LOAD && access.read_only && !access.awaited))
                continue;
            if (!access_is_global(s->affine, inst, &access) || !access.address || !access.bytes)
                return false;
            affine_of_address(s->affine, inst, access.address, &address);
            const Single single = {inst, address_base(inst, access.address), address_offset(access.address),
                                   access.bytes, address.form, access.kind == ACCESS_STORE};
            if (single.base == REG_NONE || address.form.bits != 64)
                return false;
            VEC_PUSH(s->scratch, h->singles, single);
        }
    }
    return true;
}

/* Whether an address is in the row, or where it is stored: in the same array, as far as parameters show, and not far in
 * front of the first access. This decides what is tried, not what is right. */
static bool is_row_address(const Holding *h, const AffineForm *a, const AffineForm *b)
{
    AffineForm way;
    if (!affine_add(h->s.scratch, a, b, -1, &way))
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
            if (is_row_address(h, &access->start, like))
                VEC_PUSH(h->s.scratch, part.accesses, access);
        }
        if (!part.accesses.count)
            continue;
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

static bool group_fills(const PartVec *parts, unsigned group)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].group == group && !parts->data[i].fills)
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

/* Adds an access that goes to shared memory; false if it cannot. */
static bool hold(Holding *h, Inst *inst, RegId base, int64_t constant, unsigned bytes, bool is_store, bool is_out)
{
    if (!h->element)
        h->element = bytes;
    if (bytes != h->element || bytes > MOST_ELEMENT || inst->signature->vector > 1 ||
        (is_store ? stored_reg(inst) : inst_result(inst)) == REG_NONE)
        return false;
    const HeldAccess held = {inst, base, constant, is_store, is_out};
    VEC_PUSH(h->s.scratch, h->plan.accesses, held);
    return true;
}

static bool hold_parts(Holding *h, const PartVec *parts, bool is_store, bool is_out)
{
    for (size_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->data[i].accesses.count; k++) {
            const RowAccess *access = parts->data[i].accesses.data[k];
            if (!hold(h, access->inst, access->base, access->constant, access->bytes, is_store, is_out))
                return false;
        }
    return true;
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

static const Part *part_of(const PartVec *parts, const Sweep *sweep)
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
                !inst_comes_before(loads->accesses.data[i]->inst, stores->accesses.data[k]->inst))
                return false;
        }
    return true;
}

/* Whether each element of the row has been read when another one takes its place, which the first loops that store do,
 * and these have been stored when one is loaded. */
static bool is_read_before(const Holding *h)
{
    for (size_t i = 0; i < h->loads.count; i++) {
        const Part *own = part_of(&h->stores, h->loads.data[i].sweep);
        if (own && (own->group || !loads_come_first(h, &h->loads.data[i], own)))
            return false;
        for (size_t k = 0; k < h->stores.count; k++)
            if (own != &h->stores.data[k] && (!own || h->stores.data[k].group) &&
                may_follow(h, h->stores.data[k].sweep, h->loads.data[i].sweep))
                return false;
    }
    for (size_t i = 0; i < h->again.count; i++)
        for (size_t k = 0; k < h->stores.count; k++)
            if (!h->stores.data[k].group && (h->stores.data[k].sweep == h->again.data[i].sweep ||
                                             may_follow(h, h->again.data[i].sweep, h->stores.data[k].sweep)))
                return false;
    return true;
}

/* Finds what is loaded and stored of the row, and where it is stored. */
static bool find_row(Holding *h, const AffineForm *row)
{
    const Sweeps *s = &h->s;
    h->row = row;
    h->out = NULL;
    h->element = 0;
    h->plan.accesses.count = 0;
    h->again.count = 0;
    find_parts(h, row, false, &h->loads);
    h->is_fixed = true;
    for (size_t i = 0; i < h->loads.count; i++)
        for (size_t k = 0; k < h->loads.data[i].accesses.count; k++)
            h->is_fixed &= h->loads.data[i].accesses.data[k]->is_fixed;
    find_parts(h, row, true, &h->stores);
    h->in_place = h->stores.count > 0;
    for (size_t i = 0; i < s->all.count && !h->in_place && !h->out; i++)
        if (s->all.data[i].stores.count)
            h->out = &s->all.data[i].stores.data[0].start;
    if (h->out) {
        find_parts(h, h->out, true, &h->stores);
        find_parts(h, h->out, false, &h->again);
        if (!is_read_before(h))
            return false;
    }
    h->plan.stores = h->stores.count > 0;
    const bool is_read_again = VEC_LAST(h->loads).group > 0 || h->again.count;
    return is_read_again && hold_parts(h, &h->loads, false, false) &&
           hold_parts(h, &h->stores, true, h->out != NULL) && hold_parts(h, &h->again, false, true);
}

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

static bool require_parts(Holding *h, const PartVec *parts, const Range *range)
{
    for (size_t i = 0; i < parts->count; i++)
        if (!require_accesses(h, parts->data[i].sweep, &parts->data[i].accesses, range, true))
            return false;
    return true;
}

/* Requires that what the sweeps access otherwise does not meet the row: loads what is stored of it, and stores any of
 * it. */
static bool require_others(Holding *h, const Range *row, const Range *out)
{
    for (size_t i = 0; i < h->s.all.count; i++) {
        const Sweep *sweep = &h->s.all.data[i];
        RowAccessRefs loads = {0}, stores = {0};
        for (size_t k = 0; k < sweep->loads.count; k++)
            if (!sweep->loads.data[k].is_fixed && !is_row_address(h, &sweep->loads.data[k].start, h->row) &&
                !(h->out && is_row_address(h, &sweep->loads.data[k].start, h->out)))
                VEC_PUSH(h->s.scratch, loads, &sweep->loads.data[k]);
        for (size_t k = 0; k < sweep->stores.count; k++)
            if (!is_row_address(h, &sweep->stores.data[k].start, h->out ? h->out : h->row))
                VEC_PUSH(h->s.scratch, stores, &sweep->stores.data[k]);
        if ((h->plan.stores && !require_accesses(h, sweep, &loads, h->out ? out : row, false)) ||
            (!h->is_fixed && !require_accesses(h, sweep, &stores, row, false)) ||
            (h->out && !require_accesses(h, sweep, &stores, out, false)))
            return false;
    }
    return true;
}

/* The same of accesses that are executed once; those of a row that is stored in place are of its copy. */
static bool require_single(Holding *h, const Single *single, const Range *row, const Range *out)
{
    Sweeps *s = &h->s;
    if (single->is_store ? h->is_fixed && !h->plan.stores : !h->plan.stores)
        return true;
    const RegId base = sweeps_early(s, single->base);
    if (base == REG_NONE)
        return false;
    const RegId low = sum_reg(&s->place, TYPE_B64, "%row"), high = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "add.s64", "dri", low, base, single->constant));
    sum_put(&s->place, inst_build(s->body, "add.s64", "dri", high, low, (int64_t)single->bytes));
    if (h->in_place && is_row_address(h, &single->form, h->row)) {
        require_bytes(h, REG_NONE, low, high, row, true);
        return hold(h, single->inst, single->base, single->constant, single->bytes, single->is_store, false);
    }
    if (h->in_place || (single->is_store && !h->is_fixed))
        require_bytes(h, REG_NONE, low, high, row, false);
    if (h->out)
        require_bytes(h, REG_NONE, low, high, out, false);
    return true;
}

/* Requires that loops which load the row and store it elsewhere load, in each round, the elements that they store. */
static bool require_same_rounds(Holding *h, RegId distance)
{
    Sweeps *s = &h->s;
    for (size_t i = 0; i < h->stores.count; i++) {
        const Part *stores = &h->stores.data[i], *loads = part_of(&h->loads, stores->sweep);
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

/* Requires that what is stored elsewhere is as long as the row, and does not overlap it, or is the same. */
static bool require_out(Holding *h, const Range *row, const Range *out)
{
    Sweeps *s = &h->s;
    RegId regs[4]; /* distance, the same between the ends, length, the distance the other way */
    for (unsigned i = 0; i < 4; i++)
        regs[i] = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[0], out->begin, row->begin));
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[1], out->end, row->end));
    sweeps_require(s, REG_NONE, sweeps_compare(s, "setp.eq.s64", regs[0], regs[1]));
    if (!h->is_fixed) {
        sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", regs[2], row->end, row->begin));
        sum_put(&s->place, inst_build(s->body, "neg.s64", "dr", regs[3], regs[0]));
        const RegId is_same = sum_reg(&s->place, TYPE_PRED, "%holds");
        sum_put(&s->place, inst_build(s->body, "setp.eq.s64", "dri", is_same, regs[0], (int64_t)0));
        const RegId apart = sweeps_either(s, sweeps_compare(s, "setp.ge.s64", regs[0], regs[2]),
                                          sweeps_compare(s, "setp.ge.s64", regs[3], regs[2]));
        sweeps_require(s, REG_NONE, sweeps_either(s, apart, is_same));
    }
    return require_same_rounds(h, regs[0]);
}

/* Requires that the last of the loops which store in place store all of the row. */
static bool require_all_stored(Holding *h, const Range *row)
{
    const unsigned group = VEC_LAST(h->stores).group;
    Range stored;
    if (!group_fills(&h->stores, group) || !build_range(h, &h->stores, group, &stored))
        return false;
    sweeps_require(&h->s, REG_NONE, sweeps_compare(&h->s, "setp.eq.s64", stored.begin, row->begin));
    sweeps_require(&h->s, REG_NONE, sweeps_compare(&h->s, "setp.eq.s64", stored.end, row->end));
    return true;
}

/* Adds the test, if the row is what the loops of this group load. */
static bool build_test(Holding *h, unsigned group)
{
    Range row, out = {REG_NONE, REG_NONE};
    sweeps_begin(&h->s, h->plan.at);
    for (size_t i = 0; i < h->s.all.count; i++)
        if (!sweep_rounds_build(&h->s, &h->s.all.data[i]))
            return false;
    if (!build_range(h, &h->loads, group, &row) || !require_parts(h, &h->loads, &row))
        return false;
    if (h->in_place && (!require_all_stored(h, &row) || !require_parts(h, &h->stores, &row)))
        return false;
    if (h->out && (!group_fills(&h->stores, 0) || !build_range(h, &h->stores, 0, &out) ||
                   !require_out(h, &row, &out) || !require_parts(h, &h->stores, &out) ||
                   !require_parts(h, &h->again, &out)))
        return false;
    if (!require_others(h, &row, &out))
        return false;
    for (size_t i = 0; i < h->singles.count; i++)
        if (!require_single(h, &h->singles.data[i], &row, &out))
            return false;
    h->plan.begin = row.begin;
    h->plan.end = row.end;
    h->plan.out = out.begin;
    h->plan.holds = h->s.holds;
    h->plan.element = h->element;
    return true;
}

/* Holds the row that the sweep loads first, as far as it can be shown to be one. */
static bool hold_row(Holding *h, const AffineForm *row)
{
    Sweeps *s = &h->s;
    if (!find_row(h, row))
        return false;
    const size_t held = h->plan.accesses.count;
    s->place = sum_place_new(s->body, h->plan.at, s->analyses);
    Inst *before = sum_place_end(&s->place);
    for (unsigned group = VEC_LAST(h->loads).group + 1; group-- > 0;) {
        h->plan.accesses.count = held;
        if (!group_fills(&h->loads, group))
            continue;
        if (build_test(h, group)) {
            const Inst *first = h->plan.accesses.data[0].inst;
            h->context->holds = (HeldRows){.accesses = (unsigned)h->plan.accesses.count,
                                             .bytes = h->plan.bytes, .span = first->span};
            held_rewrite(&h->plan, &s->place);
            h->context->holds.array = h->plan.array;
            return true;
        }
        sum_place_undo(&s->place, before);
    }
    return false;
}

/* Tries the arrays that sweeps load, in their order. */
static bool hold_any(Holding *h)
{
    const Sweeps *s = &h->s;
    VEC(const AffineForm *) tried = {0};
    for (size_t i = 0; i < s->all.count; i++)
        for (size_t k = 0; k < s->all.data[i].loads.count; k++) {
            const AffineForm *row = &s->all.data[i].loads.data[k].start;
            bool is_new = true;
            for (size_t t = 0; t < tried.count; t++)
                is_new &= !is_row_address(h, row, tried.data[t]);
            if (!is_new)
                continue;
            VEC_PUSH(s->scratch, tried, row);
            if (hold_row(h, row))
                return true;
        }
    return false;
}

bool pass_held_rows(PassContext *context)
{
    Arena *scratch = arena_new();
    if (!is_suitable(scratch, context)) {
        arena_free(scratch);
        return false;
    }
    Holding h = {.s = {.scratch = scratch, .body = context->body, .analyses = context->analyses, .takes_all = true},
                 .context = context};
    loops_add_preheaders(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    sweeps_find(&h.s);
    h.plan.body = context->body;
    h.plan.bytes = context->held_bytes ? context->held_bytes : HELD_BYTES;
    h.plan.threads = context->block.threads[0];
    h.plan.tests_block = context->block.origin != BLOCK_REQUIRED;
    const bool done = find_place(&h) && find_singles(&h) &&
                      body_may_version(context->body, h.s.dominance, h.plan.at, h.plan.at->first, MOST_COPIED) &&
                      hold_any(&h);
    arena_free(scratch);
    return done;
}
