/* The code of rows that are held in shared memory. A block works on m rows at a time, m a power of two:
 *
 *     place:   begin, length = the thread's row
 *              holds = the test && m rows fit, m >= 8; present = it holds in all threads of the block, which are here
 *              if (present) table[thread] = begin, and its own length if that varies; barrier
 *              if (!present, or length or distances are not those of thread 0 in a thread) goto the code as it was
 *     top:     barrier; for each of the rows: a warp copies it, by cp.async, and the thread's others; wait; barrier
 *              if (thread / m != first / m) goto done
 *     region:  the code as it was, up to its end, whose accesses of the row are of shared memory
 *     done:    if the row is stored: barrier; for each of the rows: a warp stores it
 *              first += m; if (first < threads) goto top
 *              ret
 *
 * The other rows of all m threads come after the first ones. A row takes an odd number of units, so that those of a
 * warp's threads are in different banks. A unit is an element, or a word of smaller ones; then rows must begin and end
 * at words of memory. */
#include "opt/memory/held/held.h"

#include "opt/common/version.h"
#include "opt/common/versions.h"

enum {
    ADDRESS = HELD_ADDRESS,
    NEAR = 4096, /* bytes that accesses may be from their register */
};

typedef struct Phases {
    HeldPlan *plan;
    Body *body;
    const SumPlace *place;
    unsigned unit;                                 /* bytes that a lane copies at once */
    RegId tile, thread, units, pitch, shift, many; /* 32 bits: the array's address, %tid.x, units of a row, its
                                                    * bytes in the array, the logarithm of the rows at a time, their
                                                    * number */
    RegId all_rows;                                /* bytes of as many rows, if there are others beside them */
    RegId distances[HELD_OUT + 1];                 /* 64 bits: of rows, and of where one is stored, from the first row;
                                                    * REG_NONE: of the row itself, or there is none */
    RegId own;                                     /* 64 bits: of the thread's own row, if loads may be outside of it */
    RegId first, limit;                            /* the first row, and the number of rows now */
} Phases;

static RegId new_reg(const Phases *p, Type type, const char *name)
{
    return body_add_reg(p->body, type, intern(p->body->module->names, name));
}

static RegId narrow(const Phases *p) { return new_reg(p, TYPE_B32, "%held"); }
static RegId wide(const Phases *p) { return new_reg(p, TYPE_B64, "%held"); }
static RegId condition(const Phases *p) { return new_reg(p, TYPE_PRED, "%holds"); }

static void put(const Phases *p, Inst *inst) { sum_put(p->place, inst); }

/* A table of where the threads' first rows begin; before it, of their lengths, if these vary. */
static uint32_t table_offset(const HeldPlan *plan) { return plan->bytes - ADDRESS * plan->threads; }
static uint32_t length_offset(const HeldPlan *plan) { return table_offset(plan) - ADDRESS * plan->threads; }

/* Whether the block is as expected; REG_NONE: it always is. */
static RegId build_size_test(const Phases *p)
{
    static const char *const sizes[] = {"%ntid.x", "%ntid.y", "%ntid.z"};
    RegId holds = REG_NONE;
    for (unsigned d = 0; d < 3 && p->plan->tests_block; d++) {
        const RegId size = narrow(p), both = condition(p);
        const int64_t wanted = d ? 1 : p->plan->threads;
        put(p, inst_build(p->body, "mov.u32", "ds", size, sizes[d]));
        put(p, holds == REG_NONE
                   ? inst_build(p->body, "setp.eq.u32", "dri", both, size, wanted)
                   : inst_build(p->body, "setp.eq.and.u32", "drir", both, size, wanted, holds));
        holds = both;
    }
    return holds;
}

static RegId build_both(const Phases *p, RegId a, RegId b)
{
    if (a == REG_NONE || b == REG_NONE)
        return a == REG_NONE ? b : a;
    const RegId both = condition(p);
    put(p, inst_build(p->body, "and.pred", "drr", both, a, b));
    return both;
}

static void put_guarded(const Phases *p, Inst *inst, RegId predicate)
{
    put(p, inst);
    if (predicate != REG_NONE)
        inst_set_guard(p->body, inst, predicate, false);
}

/* Thread 0 shows its value to the others, if all are there; and whether it is also this thread's. */
static void show(const Phases *p, RegId is_first, RegId value, int64_t at)
{
    put_guarded(p, inst_build(p->body, "st.shared.b64", "ar", p->tile, at, value), is_first);
}

static RegId build_same(const Phases *p, RegId present, RegId value, int64_t at)
{
    const RegId shown = wide(p), same = condition(p);
    Inst *load = inst_build(p->body, "ld.shared.b64", "da", shown, p->tile, at);
    put(p, load);
    inst_guard(p->body, load, present, false, value);
    put(p, inst_build(p->body, "setp.eq.s64", "drr", same, shown, value));
    return same;
}

/* The bits of the row's length, and of its places in memory if elements are smaller than units: the lowest tell whether
 * these are all of whole units. */
static RegId build_ends(const Phases *p, RegId length)
{
    RegId bits = length;
    for (unsigned i = 0; i <= HELD_OUT && p->plan->element < p->unit; i++) {
        const RegId place = i ? p->distances[i] : p->plan->begin[0];
        if (place == REG_NONE)
            continue;
        const RegId more = wide(p);
        put(p, inst_build(p->body, "or.b64", "drr", more, bits, place));
        bits = more;
    }
    return bits;
}

/* The bytes that a thread's rows take, all of them. */
static RegId build_all_rows(const Phases *p)
{
    if (p->plan->row_count == 1)
        return p->pitch;
    const RegId all = narrow(p);
    put(p, inst_build(p->body, "mul.lo.u32", "dri", all, p->pitch, (int64_t)p->plan->row_count));
    return all;
}

/* Sets the size of a row in the array, and how many fit: whether these are enough. */
static RegId build_rows(Phases *p, RegId length)
{
    const HeldPlan *plan = p->plan;
    Body *body = p->body;
    const int64_t room = plan->varies ? length_offset(plan) : table_offset(plan), shift = __builtin_ctz(p->unit);
    const RegId less = wide(p), left = wide(p), fits = condition(p), whole = condition(p), enough = condition(p);
    const RegId bytes = narrow(p), odd = narrow(p), rows = narrow(p), zeros = narrow(p), one = narrow(p);
    put(p, inst_build(body, "add.s64", "dri", less, length, (int64_t)-1));
    put(p, inst_build(body, "setp.lt.u64", "dri", fits, less, room));
    put(p, inst_build(body, "and.b64", "dri", left, build_ends(p, length), (int64_t)p->unit - 1));
    put(p, inst_build(body, "setp.eq.and.s64", "drir", whole, left, (int64_t)0, fits));
    put(p, inst_build(body, "cvt.u32.u64", "dr", bytes, length));
    p->units = narrow(p), p->pitch = narrow(p), p->shift = narrow(p), p->many = narrow(p);
    put(p, inst_build(body, "shr.u32", "dri", p->units, bytes, shift));
    put(p, inst_build(body, "or.b32", "dri", odd, p->units, (int64_t)1));
    put(p, inst_build(body, "shl.b32", "dri", p->pitch, odd, shift));
    put(p, inst_build(body, "div.u32", "dir", rows, room, build_all_rows(p)));
    put(p, inst_build(body, "clz.b32", "dr", zeros, rows));
    put(p, inst_build(body, "sub.s32", "dir", p->shift, (int64_t)31, zeros));
    put(p, inst_build(body, "mov.u32", "di", one, (int64_t)1));
    put(p, inst_build(body, "shl.b32", "drr", p->many, one, p->shift));
    put(p, inst_build(body, "setp.ge.and.u32", "drir", enough, rows, (int64_t)HELD_LEAST, whole));
    return enough;
}

/* How far other rows, and what is stored elsewhere, are from the thread's first one. */
static void build_distances(Phases *p)
{
    const HeldPlan *plan = p->plan;
    for (unsigned i = 0; i <= HELD_OUT; i++) {
        const RegId begin = i == HELD_OUT ? plan->out : i && i < plan->row_count ? plan->begin[i] : REG_NONE;
        p->distances[i] = REG_NONE;
        if (begin == REG_NONE)
            continue;
        p->distances[i] = wide(p);
        put(p, inst_build(p->body, "sub.s64", "drr", p->distances[i], begin, plan->begin[0]));
    }
}

/* Code at the place: whether all threads of the block take the new version. */
static RegId build_test(Phases *p)
{
    HeldPlan *plan = p->plan;
    Body *body = p->body;
    const RegId length = wide(p), slot = narrow(p), is_first = condition(p), all = narrow(p), counted = condition(p);
    p->tile = narrow(p), p->thread = narrow(p);
    put(p, inst_build(body, "mov.u32", "dv", p->tile, plan->array));
    put(p, inst_build(body, "mov.u32", "ds", p->thread, "%tid.x"));
    put(p, inst_build(body, "sub.s64", "drr", length, plan->end, plan->begin[0]));
    build_distances(p);
    const RegId sized = build_size_test(p);
    /* Threads that have ended do not count, so they are missing. */
    const RegId holds = build_both(p, build_both(p, sized, plan->holds), build_rows(p, length));
    put(p, inst_build(body, "bar.red.popc.u32", "dir", all, (int64_t)0, holds));
    put(p, inst_build(body, "setp.eq.u32", "dri", counted, all, (int64_t)plan->threads));
    const RegId present = build_both(p, counted, sized);
    put(p, inst_build(body, "mad.lo.u32", "drir", slot, p->thread, (int64_t)ADDRESS, p->tile));
    put_guarded(p, inst_build(body, "st.shared.b64", "ar", slot, (int64_t)table_offset(plan),
                              plan->begin[0]), present);
    p->own = wide(p);
    put(p, inst_build(body, "sub.s64", "drr", p->own, plan->own_end, plan->begin[0]));
    if (plan->varies)
        put_guarded(p, inst_build(body, "st.shared.b64", "ar", slot, (int64_t)length_offset(plan), p->own), present);
    put(p, inst_build(body, "setp.eq.and.u32", "drir", is_first, p->thread, (int64_t)0, present));
    RegId shown[HELD_OUT + 2] = {length};
    unsigned count = 1;
    for (unsigned i = 0; i <= HELD_OUT; i++)
        if (p->distances[i] != REG_NONE)
            shown[count++] = p->distances[i];
    for (unsigned i = 0; i < count; i++)
        show(p, is_first, shown[i], ADDRESS * i);
    put(p, inst_build(body, "bar.sync", "i", (int64_t)0));
    RegId agrees = present;
    for (unsigned i = 0; i < count; i++)
        agrees = build_both(p, agrees, build_same(p, present, shown[i], ADDRESS * i));
    const RegId together = condition(p);
    put(p, inst_build(body, "bar.red.and.pred", "dir", together, (int64_t)0, agrees));
    return together;
}

static Block *add_block(const Phases *p, Block *after) { return body_add_block(p->body, after); }

static RegId add_phi(const Phases *p, Block *block, Type type)
{
    const Phi phi = {.dst = new_reg(p, type, "%held")};
    VEC_PUSH(p->body->arena, block->phis, phi);
    return phi.dst;
}

static void add_argument(const Phases *p, Block *block, size_t index, Block *pred, RegId reg)
{
    VEC_PUSH(p->body->arena, block->phis.data[index].args, ((PhiArg){pred, reg}));
}

/* Appends a loop after the block: lanes take units of a row, from a place in memory and in the array on. Each is copied
 * from memory, or stored there. Gives the block after it, which is empty. */
static Block *build_units(const Phases *p, Block *row, RegId lane, RegId at, RegId place, RegId units, bool is_store)
{
    Body *body = p->body;
    Block *lanes = add_block(p, row), *next = add_block(p, lanes);
    const RegId own = wide(p), to = narrow(p), from = wide(p), is_none = condition(p);
    inst_append(row, inst_build(body, "mul.wide.u32", "dri", own, lane, (int64_t)p->unit));
    inst_append(row, inst_build(body, "add.s64", "drr", from, at, own));
    inst_append(row, inst_build(body, "mad.lo.u32", "drir", to, lane, (int64_t)p->unit, place));
    inst_append(row, inst_build(body, "setp.ge.u32", "drr", is_none, lane, units));
    inst_append(row, inst_build_branch(body, next, is_none, false));
    row->fall = lanes;
    const RegId c = add_phi(p, lanes, TYPE_B32), memory = add_phi(p, lanes, TYPE_B64);
    const RegId shared = add_phi(p, lanes, TYPE_B32), goes_on = condition(p);
    const RegId c2 = narrow(p), memory2 = wide(p), shared2 = narrow(p);
    if (is_store) {
        const bool is_long = p->unit == 8;
        const RegId value = is_long ? wide(p) : narrow(p);
        inst_append(lanes, inst_build(body, is_long ? "ld.shared.b64" : "ld.shared.b32", "da", value, shared,
                                      (int64_t)0));
        inst_append(lanes, inst_build(body, is_long ? "st.global.b64" : "st.global.b32", "ar", memory, (int64_t)0,
                                      value));
    } else {
        inst_append(lanes, inst_build(body, "cp.async.ca.shared.global", "aai", shared, (int64_t)0, memory, (int64_t)0,
                                      (int64_t)p->unit));
    }
    inst_append(lanes, inst_build(body, "add.u32", "dri", c2, c, (int64_t)HELD_LANES));
    inst_append(lanes, inst_build(body, "add.s64", "dri", memory2, memory, (int64_t)HELD_LANES * p->unit));
    inst_append(lanes, inst_build(body, "add.u32", "dri", shared2, shared, (int64_t)HELD_LANES * p->unit));
    inst_append(lanes, inst_build(body, "setp.lt.u32", "drr", goes_on, c2, units));
    inst_append(lanes, inst_build_branch(body, lanes, goes_on, false));
    lanes->fall = next;
    const RegId starts[3] = {lane, from, to}, nexts[3] = {c2, memory2, shared2};
    for (size_t i = 0; i < 3; i++) {
        add_argument(p, lanes, i, row, starts[i]);
        add_argument(p, lanes, i, lanes, nexts[i]);
    }
    return next;
}

static RegId append_sum(const Phases *p, Block *block, const char *spelling, RegId a, RegId b)
{
    const RegId sum = type_bits(p->body->regs.data[a].type) == 64 ? wide(p) : narrow(p);
    inst_append(block, inst_build(p->body, spelling, "drr", sum, a, b));
    return sum;
}

/* Appends two loops after the block: warps take the rows of a thread, and their lanes units. Gives the block after
 * them, which is empty. */
static Block *build_move(const Phases *p, Block *before, bool is_store)
{
    const HeldPlan *plan = p->plan;
    Body *body = p->body;
    Block *rows = add_block(p, before), *row = add_block(p, rows);
    const RegId warp = narrow(p), lane = narrow(p);
    inst_append(before, inst_build(body, "shr.u32", "dri", warp, p->thread, (int64_t)5));
    inst_append(before, inst_build(body, "and.b32", "dri", lane, p->thread, (int64_t)HELD_LANES - 1));
    before->fall = rows;
    /* rows: is there one for this warp? */
    const RegId r = add_phi(p, rows, TYPE_B32), is_over = condition(p);
    inst_append(rows, inst_build(body, "setp.ge.u32", "drr", is_over, r, p->limit));
    rows->fall = row;
    /* row: where it is. */
    const RegId index = narrow(p), slot = narrow(p), at = wide(p);
    RegId place = narrow(p);
    inst_append(row, inst_build(body, "add.u32", "drr", index, p->first, r));
    inst_append(row, inst_build(body, "mad.lo.u32", "drir", slot, index, (int64_t)ADDRESS, p->tile));
    inst_append(row, inst_build(body, "ld.shared.b64", "da", at, slot, (int64_t)table_offset(plan)));
    inst_append(row, inst_build(body, "mad.lo.u32", "drrr", place, r, p->pitch, p->tile));
    RegId units = p->units;
    if (plan->varies && !is_store) {
        const RegId own = wide(p), bytes = narrow(p);
        units = narrow(p);
        inst_append(row, inst_build(body, "ld.shared.b64", "da", own, slot, (int64_t)length_offset(plan)));
        inst_append(row, inst_build(body, "cvt.u32.u64", "dr", bytes, own));
        inst_append(row, inst_build(body, "shr.u32", "dri", units, bytes, (int64_t)__builtin_ctz(p->unit)));
    }
    Block *next = row;
    for (unsigned i = 0; i < plan->row_count; i++) {
        const bool is_host = is_store && plan->out != REG_NONE && i == plan->host;
        const RegId distance = p->distances[is_host ? HELD_OUT : i];
        if (i)
            place = append_sum(p, next, "add.u32", place, p->all_rows);
        if (is_store && !is_host && !plan->stores[i])
            continue;
        const RegId start = distance == REG_NONE ? at : append_sum(p, next, "add.s64", at, distance);
        next = build_units(p, next, lane, start, place, units, is_store);
    }
    /* next: the warp's next row. */
    Block *after = add_block(p, next);
    const RegId r2 = narrow(p);
    inst_append(rows, inst_build_branch(body, after, is_over, false));
    inst_append(next, inst_build(body, "add.u32", "dri", r2, r, (int64_t)plan->threads / HELD_LANES));
    inst_append(next, inst_build_branch(body, rows, REG_NONE, false));
    add_argument(p, rows, 0, before, warp);
    add_argument(p, rows, 0, next, r2);
    return after;
}

/* A load that may be outside of the row: the one of the row is executed if it is inside, and the original otherwise. */
static void keep_outside(const Phases *p, const HeldAccess *held, Inst *inside)
{
    Body *body = p->body;
    Inst *outside = inst_clone(body, held->inst);
    const RegId result = inst_result(outside), other = body_clone_reg(body, result), is_inside = condition(p);
    RegId way = wide(p);
    inst_insert_before(inside, inst_build(body, "sub.s64", "drr", way, held->base, p->plan->begin[held->place]));
    if (held->constant) {
        const RegId sum = wide(p);
        inst_insert_before(inside, inst_build(body, "add.s64", "dri", sum, way, held->constant));
        way = sum;
    }
    inst_insert_before(inside, inst_build(body, "setp.lt.u64", "drr", is_inside, way, p->own));
    for (unsigned i = 0; i < outside->ref_count; i++)
        if (outside->refs[i].role == REF_DEF && outside->refs[i].reg == result)
            outside->refs[i].reg = other;
    inst_guard(body, outside, is_inside, true, REG_NONE);
    inst_guard(body, inside, is_inside, false, other);
    inst_insert_before(inside, outside);
}

/* The access, of shared memory. 'delta': from an address in memory to that in the array, as far as 32 bits tell. */
static void replace_access(const Phases *p, const HeldAccess *held, RegId delta)
{
    Body *body = p->body;
    Inst *inst = held->inst;
    const RegId low = narrow(p), at = narrow(p);
    RegId address = at;
    int64_t offset = held->constant;
    const char *spelling = arena_printf(body->arena, "%s.shared.%s", held->is_store ? "st" : "ld",
                                        type_name(inst->signature->types[0]));
    inst_insert_before(inst, inst_build(body, "cvt.u32.u64", "dr", low, held->base));
    inst_insert_before(inst, inst_build(body, "add.u32", "drr", at, low, delta));
    if (offset < -NEAR || offset > NEAR) {
        address = narrow(p);
        inst_insert_before(inst, inst_build(body, "add.u32", "dri", address, at, (int64_t)(int32_t)offset));
        offset = 0;
    }
    Inst *other;
    if (held->is_store) {
        RegId value = REG_NONE;
        for (unsigned i = 0; i < inst->operand_count; i++) /* the address is not a plain register */
            value = inst_reg(inst, i) != REG_NONE && inst->operands[i].kind != OPERAND_ADDRESS ? inst_reg(inst, i)
                                                                                              : value;
        other = inst_build(body, spelling, "ar", address, offset, value);
    } else {
        other = inst_build(body, spelling, "da", inst_result(inst), address, offset);
    }
    other->span = inst->span;
    other->loc = inst->loc;
    inst_insert_before(inst, other);
    if (held->is_partial)
        keep_outside(p, held, other);
    inst_remove(inst);
}

/* Threads that leave the region, or end there, are done for now. */
static void lead_out(const Phases *p, const Block *head, Block *done)
{
    Body *body = p->body;
    Arena *scratch = arena_new();
    const Dominance *dominance = dominance_compute(scratch, body);
    const size_t count = body->blocks.count;
    for (size_t b = 0; b < count; b++) {
        Block *block = body->blocks.data[b];
        if (!dominance_has(dominance, head, block))
            continue;
        if (block->last && inst_is_terminator(block->last) && !inst_is_branch(block->last)) {
            inst_remove(block->last);
            block->fall = done;
            continue;
        }
        VEC(Block *) leaving = {0};
        FOR_EACH_SUCC(block, succ)
            if (!dominance_has(dominance, head, succ))
                VEC_PUSH(scratch, leaving, succ);
        for (size_t i = 0; i < leaving.count; i++)
            if (leaving.data[i] != done)
                block_retarget(block, leaving.data[i], done);
    }
    arena_free(scratch);
}

/* The way from a place in memory to that in the array, as far as 32 bits tell. */
static RegId append_delta(const Phases *p, Block *enter, RegId begin, RegId own)
{
    const RegId low = narrow(p);
    inst_append(enter, inst_build(p->body, "cvt.u32.u64", "dr", low, begin));
    return append_sum(p, enter, "sub.u32", own, low);
}

static bool stores_rows(const HeldPlan *plan)
{
    bool stores = plan->out != REG_NONE;
    for (unsigned i = 0; i < plan->row_count; i++)
        stores |= plan->stores[i];
    return stores;
}

/* The blocks around the region, between the place and its first block. */
static void build_phases(Phases *p, Block *head)
{
    HeldPlan *plan = p->plan;
    Body *body = p->body;
    Block *done = add_block(p, NULL);
    lead_out(p, head, done);
    Block *enter = add_block(p, plan->at), *top = add_block(p, enter);
    const RegId zero = narrow(p), mask = narrow(p), turn = narrow(p), place = narrow(p);
    RegId own = narrow(p), deltas[HELD_OUT + 1];
    require(plan->at->fall == head);
    plan->at->fall = enter;
    inst_append(enter, inst_build(body, "mov.u32", "di", zero, (int64_t)0));
    inst_append(enter, inst_build(body, "add.u32", "dri", mask, p->many, (int64_t)-1));
    inst_append(enter, inst_build(body, "and.b32", "drr", place, p->thread, mask));
    inst_append(enter, inst_build(body, "shr.u32", "drr", turn, p->thread, p->shift));
    inst_append(enter, inst_build(body, "mad.lo.u32", "drrr", own, place, p->pitch, p->tile));
    if (plan->row_count > 1) {
        p->all_rows = narrow(p);
        inst_append(enter, inst_build(body, "shl.b32", "drr", p->all_rows, p->pitch, p->shift));
    }
    for (unsigned i = 0; i < plan->row_count; i++) {
        own = i ? append_sum(p, enter, "add.u32", own, p->all_rows) : own;
        deltas[i] = append_delta(p, enter, plan->begin[i], own);
        if (plan->out != REG_NONE && i == plan->host)
            deltas[HELD_OUT] = append_delta(p, enter, plan->out, own);
    }
    enter->fall = top;
    p->first = add_phi(p, top, TYPE_B32);
    p->limit = narrow(p);
    const RegId left = narrow(p), now = narrow(p), is_other = condition(p);
    inst_append(top, inst_build(body, "sub.u32", "dir", left, (int64_t)plan->threads, p->first));
    inst_append(top, inst_build(body, "min.u32", "drr", p->limit, left, p->many));
    inst_append(top, inst_build(body, "bar.sync", "i", (int64_t)0));
    Block *filled = build_move(p, top, false);
    inst_append(filled, inst_build(body, "cp.async.commit_group", ""));
    inst_append(filled, inst_build(body, "cp.async.wait_group", "i", (int64_t)0));
    inst_append(filled, inst_build(body, "bar.sync", "i", (int64_t)0));
    inst_append(filled, inst_build(body, "shr.u32", "drr", now, p->first, p->shift));
    inst_append(filled, inst_build(body, "setp.ne.u32", "drr", is_other, now, turn));
    inst_append(filled, inst_build_branch(body, done, is_other, false));
    filled->fall = head;
    Block *last = done;
    if (stores_rows(plan)) {
        inst_append(done, inst_build(body, "bar.sync", "i", (int64_t)0));
        last = build_move(p, done, true);
    }
    const RegId next = narrow(p), goes_on = condition(p);
    inst_append(last, inst_build(body, "add.u32", "drr", next, p->first, p->many));
    inst_append(last, inst_build(body, "setp.lt.u32", "dri", goes_on, next, (int64_t)plan->threads));
    inst_append(last, inst_build_branch(body, top, goes_on, false));
    Block *end = add_block(p, last);
    last->fall = end;
    inst_append(end, inst_build(body, "ret", ""));
    add_argument(p, top, 0, enter, zero);
    add_argument(p, top, 0, last, next);
    for (size_t i = 0; i < plan->accesses.count; i++)
        replace_access(p, &plan->accesses.data[i], deltas[plan->accesses.data[i].place]);
    body_update_preds(body);
    body_renumber(body);
}

/* Code for rows that do not fit is not what few threads need: it can be staged, unless parts of it were so before. */
static void warm_copy(const HeldPlan *plan, const Block *head)
{
    Arena *scratch = arena_new();
    const Dominance *dominance = dominance_compute(scratch, plan->body);
    const Block *copy = plan->at->last->targets[0];
    bool was_cold = false;
    for (size_t b = 0; b < plan->body->blocks.count; b++) {
        const Block *block = plan->body->blocks.data[b];
        was_cold |= block->is_cold && dominance_has(dominance, head, block);
    }
    if (was_cold)
        copy = NULL;
    for (size_t b = 0; b < plan->body->blocks.count; b++)
        if (copy && dominance_has(dominance, copy, plan->body->blocks.data[b]))
            plan->body->blocks.data[b]->is_cold = false;
    arena_free(scratch);
}

void held_rewrite(HeldPlan *plan, const SumPlace *place)
{
    enum { ALIGNMENT = 16 };
    Phases p = {.plan = plan, .body = plan->body, .place = place};
    p.unit = plan->element > HELD_WORD ? plan->element : HELD_WORD;
    plan->array = body_add_array(plan->body, "ptxopt_tile", SPACE_SHARED, plan->bytes, ALIGNMENT);
    const RegId together = build_test(&p);
    Inst *end = plan->at->last && inst_is_terminator(plan->at->last) ? plan->at->last : NULL;
    Block *head = body_version(plan->body, plan->at, end, together);
    build_phases(&p, head);
    warm_copy(plan, head);
}
