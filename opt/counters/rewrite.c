/* Makes private counters.
 *
 *     entry:   places of the counters, and of what they count
 *     clear:   the threads of the block clear them together; barrier
 *     ...      the kernel: updates go to the counters; all exits lead to:
 *     end:     barrier; the threads add what has changed to global memory
 *
 * Counter i has 'copies' words, one after the other, of which threads use different ones: threads of a warp that count
 * the same would take turns otherwise. */
#include "opt/common/beside.h"
#include "opt/common/ends.h"
#include "opt/common/version.h"
#include "opt/counters/counting.h"

enum { ALIGNMENT = 16, VECTOR_BYTES = 16 };

/* A group with its registers. */
typedef struct Place {
    RegId base;  /* of the first counter's address in global memory, 64 bits */
    RegId array; /* of the first counter that this thread uses, in shared memory; if updates are not tested, less the
                  * address of what it counts times the copies */
} Place;

typedef struct Making {
    Counting *c;
    Body *body;
    Block *end; /* of the code that is being added */
    RegId thread, threads; /* the thread's number in its block, and how many there are */
    RegId shared;          /* the address of the array */
    Place places[GROUPS_MOST];
} Making;

static RegId new_reg(const Making *m, Type type, const char *base)
{
    return body_add_reg(m->body, type, intern(m->body->module->names, base));
}

static void put(const Making *m, Inst *inst)
{
    inst_append(m->end, inst);
}

static RegId read_special(const Making *m, const char *name)
{
    RegId reg = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mov.u32", "ds", reg, name));
    return reg;
}

static RegId multiply(const Making *m, RegId a, RegId b)
{
    RegId product = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mul.lo.u32", "drr", product, a, b));
    return product;
}

static RegId multiply_add(const Making *m, RegId a, RegId b, RegId c)
{
    RegId sum = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mad.lo.u32", "drrr", sum, a, b, c));
    return sum;
}

/* Indices that are 0 in all launches are not read. */
static void find_thread(Making *m)
{
    const BlockSize block = block_size_exact(m->c->block);
    const RegId x = read_special(m, "%ntid.x");
    m->thread = read_special(m, "%tid.x");
    m->threads = x;
    if (block.threads[1] != 1 || block.threads[2] != 1) {
        const RegId y = read_special(m, "%ntid.y"), xy = multiply(m, x, y);
        m->thread = multiply_add(m, read_special(m, "%tid.y"), x, m->thread);
        m->thread = multiply_add(m, read_special(m, "%tid.z"), xy, m->thread);
        m->threads = multiply(m, xy, read_special(m, "%ntid.z"));
    }
}

static int64_t element_of(const CounterGroup *group)
{
    return group->like->update.bytes;
}

static Type element_type(const CounterGroup *group)
{
    return element_of(group) == 8 ? TYPE_B64 : TYPE_B32;
}

static RegId add(const SumPlace *place, RegId a, RegId b)
{
    const RegId sum = sum_reg(place, TYPE_B64, "%counted");
    sum_put(place, inst_build(place->body, "add.s64", "drr", sum, a, b));
    return sum;
}

RegId counting_build_base(const Counting *c, const SumPlace *place, const CounterGroup *group)
{
    const Counted *like = group->like;
    const EarlyPlace early = {.scratch = c->scratch, .body = c->body, .at = place->block, .values = c->values};
    RegId base = value_hoist(&early, like->parts[0]);
    for (unsigned i = 1; i < like->part_count; i++)
        base = add(place, base, value_hoist(&early, like->parts[i]));
    if (group->start) {
        const RegId first = sum_reg(place, TYPE_B64, "%counted");
        sum_put(place, inst_build(c->body, "add.s64", "dri", first, base, group->start));
        base = first;
    }
    if (!group->is_tested)
        return base;
    const RegId aligned = sum_reg(place, TYPE_B64, "%counted");
    sum_put(place, inst_build(c->body, "and.b64", "dri", aligned, base, -element_of(group)));
    return aligned;
}

/* The place of the thread's copy of counter 0. */
static RegId build_copy(const Making *m, const CounterGroup *group)
{
    RegId copy = new_reg(m, TYPE_B32, "%counting"), place = new_reg(m, TYPE_B32, "%counting");
    if (group->copies == 1 && !group->offset)
        return m->shared;
    if (group->copies == 1) {
        put(m, inst_build(m->body, "add.u32", "dri", place, m->shared, (int64_t)group->offset));
        return place;
    }
    RegId first = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "and.b32", "dri", copy, m->thread, (int64_t)group->copies - 1));
    put(m, inst_build(m->body, "mad.lo.u32", "drir", first, copy, element_of(group), m->shared));
    put(m, inst_build(m->body, "add.u32", "dri", place, first, (int64_t)group->offset));
    return place;
}

static void find_places(Making *m)
{
    for (unsigned g = 0; g < m->c->group_count; g++) {
        const CounterGroup *group = &m->c->groups[g];
        Place *place = &m->places[g];
        place->base = counting_build_base(m->c, &(SumPlace){.body = m->body, .block = m->end}, group);
        place->array = build_copy(m, group);
        if (group->is_tested)
            continue;
        RegId low = new_reg(m, TYPE_B32, "%counting"), array = new_reg(m, TYPE_B32, "%counting");
        put(m, inst_build(m->body, "cvt.u32.u64", "dr", low, place->base));
        put(m, inst_build(m->body, "mad.lo.u32", "drir", array, low, -(int64_t)group->copies, place->array));
        place->array = array;
    }
}

/* A loop in which the threads of the block share out the numbers below 'count'. */
typedef struct Sharing {
    Block *before, *loop;
    RegId index, next;
    uint64_t count;
} Sharing;

static Sharing sharing_begin(Making *m, uint64_t count)
{
    RegId inside = new_reg(m, TYPE_PRED, "%inside");
    Sharing sharing = {.before = m->end, .loop = body_add_block(m->body, m->end), .count = count};
    sharing.index = new_reg(m, TYPE_B32, "%counter");
    sharing.next = new_reg(m, TYPE_B32, "%counter");
    put(m, inst_build(m->body, "setp.lt.u32", "dri", inside, m->thread, (int64_t)count));
    Phi phi = {.dst = sharing.index};
    VEC_PUSH(m->body->arena, phi.args, ((PhiArg){sharing.before, m->thread}));
    VEC_PUSH(m->body->arena, phi.args, ((PhiArg){sharing.loop, sharing.next}));
    VEC_PUSH(m->body->arena, sharing.loop->phis, phi);
    m->end = sharing.loop;
    Block *after = body_add_block(m->body, sharing.loop);
    inst_append(sharing.before, inst_build_branch(m->body, after, inside, true));
    sharing.before->fall = sharing.loop;
    sharing.loop->fall = after;
    return sharing;
}

static void sharing_end(Making *m, const Sharing *sharing)
{
    RegId more = new_reg(m, TYPE_PRED, "%more");
    put(m, inst_build(m->body, "add.u32", "drr", sharing->next, sharing->index, m->threads));
    put(m, inst_build(m->body, "setp.lt.u32", "dri", more, sharing->next, (int64_t)sharing->count));
    put(m, inst_build_branch(m->body, sharing->loop, more, false));
    m->end = sharing->loop->fall;
}

static RegId build_identity(const Making *m, const CounterGroup *group)
{
    RegId identity = new_reg(m, element_type(group), "%identity");
    put(m, inst_build(m->body, element_of(group) == 8 ? "mov.b64" : "mov.b32", "di", identity,
                      group->like->update.identity));
    return identity;
}

static const char *access_spelling(const Making *m, const char *name, const CounterGroup *group)
{
    return arena_printf(m->c->scratch, "%s.b%u", name, (unsigned)element_of(group) * 8);
}

static void clear_group(Making *m, const CounterGroup *group)
{
    const RegId identity = build_identity(m, group);
    const Sharing sharing = sharing_begin(m, group->count * group->copies);
    RegId address = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mad.lo.u32", "drir", address, sharing.index, element_of(group), m->shared));
    put(m, inst_build(m->body, access_spelling(m, "st.shared", group), "ar", address, (int64_t)group->offset,
                      identity));
    sharing_end(m, &sharing);
}

/* The registers with the copies of a counter, loaded by vectors where they are aligned. */
static void load_copies(const Making *m, const CounterGroup *group, RegId address, RegId *copies)
{
    const unsigned most = VECTOR_BYTES / (unsigned)element_of(group);
    const unsigned wide = group->copies < most ? group->copies : most;
    for (unsigned i = 0; i < group->copies; i += wide) {
        const int64_t offset = group->offset + (int64_t)i * element_of(group);
        for (unsigned k = 0; k < wide; k++)
            copies[i + k] = new_reg(m, element_type(group), "%count");
        if (wide == 1) {
            put(m, inst_build(m->body, access_spelling(m, "ld.shared", group), "da", copies[i], address, offset));
            continue;
        }
        const char *spelling = access_spelling(m, arena_printf(m->c->scratch, "ld.shared.v%u", wide), group);
        put(m, inst_build_vector(m->body, spelling, false, copies + i, wide, address, offset));
    }
}

static RegId combine_copies(const Making *m, const CounterGroup *group, const RegId *copies)
{
    RegId sum = copies[0];
    for (unsigned i = 1; i < group->copies; i++) {
        RegId next = new_reg(m, element_type(group), "%count");
        put(m, inst_build(m->body, update_combine(m->c->scratch, &group->like->update), "drr", next, sum, copies[i]));
        sum = next;
    }
    return sum;
}

static const char *red_spelling(const Making *m, const char *space, const AtomicUpdate *update)
{
    return arena_printf(m->c->scratch, "red.%s.%s", space, update_combine(m->c->scratch, update));
}

/* Adds the count to element number 'index', unless it changes nothing. */
static void add_to_memory(const Making *m, const CounterGroup *group, RegId base, RegId index, RegId count)
{
    RegId way = new_reg(m, TYPE_B64, "%counted"), address = new_reg(m, TYPE_B64, "%counted");
    RegId changed = new_reg(m, TYPE_PRED, "%changed");
    put(m, inst_build(m->body, "mul.wide.u32", "dri", way, index, element_of(group)));
    put(m, inst_build(m->body, "add.s64", "drr", address, base, way));
    put(m, inst_build(m->body, access_spelling(m, "setp.ne", group), "dri", changed, count,
                      group->like->update.identity));
    Inst *red = inst_build(m->body, red_spelling(m, "global", &group->like->update), "ar", address, (int64_t)0, count);
    put(m, red);
    inst_set_guard(m->body, red, changed, false);
}

static void merge_group(Making *m, const CounterGroup *group, const Place *place)
{
    RegId *copies = ARENA_ARRAY(m->c->scratch, RegId, group->copies);
    const Sharing sharing = sharing_begin(m, group->count);
    RegId address = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mad.lo.u32", "drir", address, sharing.index, element_of(group) * group->copies,
                      m->shared));
    load_copies(m, group, address, copies);
    add_to_memory(m, group, place->base, sharing.index, combine_copies(m, group, copies));
    sharing_end(m, &sharing);
}

static Inst *build_constant_red(const Making *m, const char *spelling, const AtomicUpdate *update, RegId address,
                                int64_t offset)
{
    const Constant *constant = update->value->constant;
    if (update->type == TYPE_F32)
        return inst_build(m->body, spelling, "af", address, offset, (uint32_t)constant->bits);
    if (update->type == TYPE_F64)
        return inst_build(m->body, spelling, "ae", address, offset, (uint64_t)constant->bits);
    return inst_build(m->body, spelling, "ai", address, offset, (int64_t)constant->bits);
}

/* The same operation elsewhere; unguarded. */
static Inst *build_red(const Making *m, const char *space, const AtomicUpdate *update, RegId address, int64_t offset)
{
    const RegId value = operand_plain_reg(update->inst, update->value);
    const char *spelling = red_spelling(m, space, update);
    Inst *red = NULL;
    if (value != REG_NONE) {
        red = inst_build(m->body, spelling, "ar", address, offset, value);
    } else {
        red = build_constant_red(m, spelling, update, address, offset);
    }
    red->span = update->inst->span;
    red->loc = update->inst->loc;
    return red;
}

static RegId insert_test(const Making *m, Inst *access, const char *spelling, RegId way, int64_t bytes)
{
    const RegId result = new_reg(m, TYPE_PRED, "%private");
    return access_insert_test(m->body, access, inst_build(m->body, spelling, "dri", result, way, bytes));
}

/* The counter's address, from the low half of what the array's place is counted from. */
static RegId build_counter(const Making *m, const AtomicUpdate *update, const CounterGroup *group, RegId wide,
                           RegId array)
{
    RegId low = new_reg(m, TYPE_B32, "%counting"), counter = new_reg(m, TYPE_B32, "%counting");
    access_insert(m->body, update->inst, inst_build(m->body, "cvt.u32.u64", "dr", low, wide));
    access_insert(m->body, update->inst,
                  group->copies == 1
                      ? inst_build(m->body, "add.u32", "drr", counter, low, array)
                      : inst_build(m->body, "mad.lo.u32", "drir", counter, low, (int64_t)group->copies, array));
    return counter;
}

static void convert_update(const Making *m, const CounterGroup *group, const Place *place, const Counted *member)
{
    const AtomicUpdate *update = &member->update;
    Inst *inst = update->inst;
    const RegId address = access_whole_address(m->body, inst, &update->access, "%counted");
    if (!group->is_tested) {
        const RegId counter = build_counter(m, update, group, address, place->array);
        access_insert(m->body, inst, build_red(m, "shared", update, counter, 0));
        inst_remove(inst);
        return;
    }
    const int64_t bytes = (int64_t)group->count * element_of(group);
    RegId way = new_reg(m, TYPE_B64, "%counted");
    access_insert(m->body, inst, inst_build(m->body, "sub.s64", "drr", way, address, place->base));
    const RegId inside = insert_test(m, inst, "setp.lt.u64", way, bytes);
    const RegId outside = insert_test(m, inst, "setp.ge.u64", way, bytes);
    Inst *own = build_red(m, "shared", update, build_counter(m, update, group, way, place->array), 0);
    Inst *other = build_red(m, "global", update, address, 0);
    inst_insert_before(inst, own);
    inst_insert_before(inst, other);
    inst_set_guard(m->body, own, inside, false);
    inst_set_guard(m->body, other, outside, false);
    inst_remove(inst);
}

/* The loop that takes what the counters from byte 'first' to byte 'last' of the counted array have, and adds it to
 * memory. It ends at 'after'. */
static void take_counters(Making *m, const CounterGroup *group, const Place *place, RegId first, RegId last,
                          Block *after)
{
    const int64_t bytes = element_of(group), wide = bytes * group->copies;
    Block *before = m->end, *loop = body_add_block(m->body, before);
    const RegId identity = build_identity(m, group);
    RegId begin = new_reg(m, TYPE_B32, "%counting"), end = new_reg(m, TYPE_B32, "%counting");
    RegId at = new_reg(m, TYPE_B32, "%counter"), next = new_reg(m, TYPE_B32, "%counter");
    RegId address = new_reg(m, TYPE_B32, "%counting"), count = new_reg(m, element_type(group), "%count");
    RegId index = new_reg(m, TYPE_B32, "%counting"), more = new_reg(m, TYPE_PRED, "%more");
    put(m, inst_build(m->body, "mul.lo.u32", "dri", begin, first, (int64_t)group->copies));
    RegId top = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, "mul.lo.u32", "dri", top, last, (int64_t)group->copies));
    put(m, inst_build(m->body, "add.u32", "dri", end, top, wide));
    Phi phi = {.dst = at};
    VEC_PUSH(m->body->arena, phi.args, ((PhiArg){before, begin}));
    VEC_PUSH(m->body->arena, phi.args, ((PhiArg){loop, next}));
    VEC_PUSH(m->body->arena, loop->phis, phi);
    loop->is_cold = true;
    before->fall = loop;
    m->end = loop;
    put(m, inst_build(m->body, "add.u32", "drr", address, at, m->shared));
    put(m, inst_build(m->body, access_spelling(m, "atom.shared.exch", group), "dar", count, address,
                      (int64_t)group->offset, identity));
    put(m, inst_build(m->body, "shr.u32", "dri", index, at, (int64_t)__builtin_ctzll((unsigned long long)wide)));
    add_to_memory(m, group, place->base, index, count);
    put(m, inst_build(m->body, "add.u32", "dri", next, at, bytes));
    put(m, inst_build(m->body, "setp.lt.u32", "drr", more, next, end));
    put(m, inst_build_branch(m->body, loop, more, false));
    loop->fall = after;
}

/* The lower or upper end of the counters that an access touches, as a 32-bit number of bytes: "max" with 0, or "min"
 * with the last byte, down to a whole element. */
static RegId build_end(const Making *m, const CounterGroup *group, const char *spelling, RegId way, int64_t limit)
{
    RegId wide = new_reg(m, TYPE_B64, "%counted"), low = new_reg(m, TYPE_B32, "%counting");
    RegId whole = new_reg(m, TYPE_B32, "%counting");
    put(m, inst_build(m->body, spelling, "dri", wide, way, limit));
    put(m, inst_build(m->body, "cvt.u32.u64", "dr", low, wide));
    put(m, inst_build(m->body, "and.b32", "dri", whole, low, -element_of(group)));
    return whole;
}

/* Before the access, the thread adds to memory what it has counted there. */
static void watch_access(Making *m, const Watched *watched, const CounterGroup *group, const Place *place)
{
    const int64_t bytes = (int64_t)watched->access.bytes, all = (int64_t)group->count * element_of(group);
    Inst *inst = watched->inst;
    RegId first = new_reg(m, TYPE_B64, "%counted"), last = new_reg(m, TYPE_B64, "%counted");
    const RegId address = access_whole_address(m->body, inst, &watched->access, "%counted");
    access_insert(m->body, inst, inst_build(m->body, "sub.s64", "drr", first, address, place->base));
    access_insert(m->body, inst, inst_build(m->body, "add.s64", "dri", last, first, bytes - 1));
    const RegId touches = insert_test(m, inst, "setp.lt.u64", last, all + bytes - 1);
    Block *before = inst->block, *after = body_split(m->body, inst), *taking = body_add_block(m->body, before);
    taking->is_cold = true;
    inst_append(before, inst_build_branch(m->body, taking, touches, false));
    m->end = taking;
    const RegId low = build_end(m, group, "max.s64", first, 0), high = build_end(m, group, "min.s64", last, all - 1);
    take_counters(m, group, place, low, high, after);
}

static void watch_accesses(Making *m)
{
    for (unsigned i = 0; i < m->c->watched_count; i++)
        for (unsigned g = 0; g < m->c->group_count; g++)
            if (m->c->watched[i].groups[g])
                watch_access(m, &m->c->watched[i], &m->c->groups[g], &m->places[g]);
}

static void put_barrier(const Making *m)
{
    put(m, inst_build(m->body, "bar.sync", "i", (int64_t)0));
}

/* The threads come together where the kernel ends. */
static void merge_groups(Making *m, Block *exit)
{
    Inst *ret = exit->last;
    inst_remove(ret);
    m->end = exit;
    put_barrier(m);
    for (unsigned g = 0; g < m->c->group_count; g++)
        merge_group(m, &m->c->groups[g], &m->places[g]);
    put(m, ret);
}

static void begin(Making *m, Block *entry)
{
    const Variable *array = body_add_array(m->body, "ptxopt_counters", SPACE_SHARED, m->c->bytes, ALIGNMENT);
    Block *kernel = entry->fall;
    entry->fall = NULL;
    m->end = entry;
    find_thread(m);
    m->shared = new_reg(m, TYPE_B32, "%counters");
    put(m, inst_build(m->body, "mov.u32", "dv", m->shared, array));
    find_places(m);
    for (unsigned g = 0; g < m->c->group_count; g++)
        clear_group(m, &m->c->groups[g]);
    put_barrier(m);
    m->end->fall = kernel;
}

void counters_rewrite(Counting *c)
{
    Making m = {.c = c, .body = c->body};
    Block *exit = body_unify_exits(c->body), *entry = body_add_entry(c->body);
    begin(&m, entry);
    for (unsigned g = 0; g < c->group_count; g++)
        for (size_t i = 0; i < c->groups[g].members.count; i++)
            convert_update(&m, &c->groups[g], &m.places[g], c->groups[g].members.data[i]);
    watch_accesses(&m);
    merge_groups(&m, exit);
    body_renumber(c->body);
    body_update_preds(c->body);
}
