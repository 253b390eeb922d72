/* Out of SSA form.
 *
 * Boissinot, Darte, Rastello, Dupont de Dinechin, Guillon: "Revisiting Out-of-SSA Translation for Correctness, Code
 * Quality, and Efficiency", CGO 2009.  Every phi and every tied operand is isolated by copies (values that exist only
 * here), which makes phis and ties sets that share one register for certain; then copies are coalesced as long as the
 * union of two sets holds no two values that are live together with different contents.  Copies go before a block's
 * terminator and are correct on critical edges too, so no edge is split.
 *
 * Sets are tried in an order that keeps what did not change: first all versions of one register of the source at once,
 * which succeeds for whatever the passes left alone and gives it back its name; then all that copies connect; then
 * single copies, the most deeply nested first; then what is left of the versions, for the sake of readable names.
 *
 * Keeps: blocks, instructions, edges.  Breaks: everything that is known about registers. */
#include "ir/ssa_out.h"

#include <stdlib.h>
#include <string.h>

typedef struct Set {
    uint32_t *members; /* defined values in the order of the dominator tree; NULL: the value alone */
    uint32_t count, capacity;
} Set;

typedef struct Coalescer {
    Leaver *leaver;
    Set *sets; /* by value; valid for the roots of the union-find */
    uint32_t *merged, *stack;
    size_t work; /* steps spent on merges that only serve names */
} Coalescer;

/* Merges for the sake of names stop after this many steps; a body that needs more is none that a person reads. */
static const size_t NAME_WORK = 50 * 1000 * 1000;

/* ---- Values and copies ------------------------------------------------------------------------------------------- */

static uint32_t value_add(Leaver *leaver, Value value)
{
    require(leaver->values.count < VALUE_NONE);
    value.parent = (uint32_t)leaver->values.count;
    VEC_PUSH(leaver->scratch, leaver->values, value);
    return value.parent;
}

static void registers_to_values(Leaver *leaver)
{
    Body *body = leaver->body;
    leaver->registers = (uint32_t)body->regs.count;
    for (uint32_t i = 0; i < leaver->registers; i++) {
        const Reg *reg = &body->regs.data[i];
        value_add(leaver, (Value){.block = VALUE_NONE, .origin = reg->origin, .type = reg->type, .same = i});
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        uint32_t position = POSITION_FIRST;
        for (size_t i = 0; i < block->phis.count; i++) {
            Value *value = &leaver->values.data[block->phis.data[i].dst];
            value->block = (uint32_t)b;
            value->position = POSITION_ENTRY; /* the copy out of the phi writes it */
        }
        for (const Inst *inst = block->first; inst; inst = inst->next, position += 2)
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role == REF_DEF) {
                    Value *value = &leaver->values.data[inst->refs[i].reg];
                    value->block = (uint32_t)b;
                    value->position = position;
                }
    }
}

static bool value_defined(const Leaver *leaver, uint32_t value)
{
    return leaver->values.data[value].block != VALUE_NONE;
}

static uint32_t find(Leaver *leaver, uint32_t value)
{
    Value *values = leaver->values.data;
    while (values[value].parent != value) {
        values[value].parent = values[values[value].parent].parent;
        value = values[value].parent;
    }
    return value;
}

static void copy_add(Leaver *leaver, uint32_t dst, uint32_t src, uint32_t block, uint32_t position)
{
    VEC_PUSH(leaver->scratch, leaver->copies, (Copy){.dst = dst, .src = src, .block = block, .position = position});
}

/* A value written by a copy of 'src' at 'position' and read at 'last'. */
static uint32_t isolate(Leaver *leaver, uint32_t like, uint32_t src, uint32_t block, uint32_t position, uint32_t last)
{
    const Value *model = &leaver->values.data[like];
    Value value = {.block = block, .position = position, .last = last, .origin = model->origin, .type = model->type};
    value.same = leaver->values.data[src].same;
    uint32_t made = value_add(leaver, value);
    copy_add(leaver, made, src, block, position);
    return made;
}

typedef struct Outgoing { /* a phi's argument, listed at the predecessor */
    uint32_t root, src, next;
} Outgoing;

/* The phi's own isolated value comes first, so that the values of its arguments, which may be phis, are known:
 * same[dst]. */
static uint32_t phi_isolate(Leaver *leaver, uint32_t block, const Phi *phi)
{
    const Value *dst = &leaver->values.data[phi->dst];
    Value value = {
        .block = block, .position = POSITION_PHI, .last = POSITION_ENTRY, .origin = dst->origin, .type = dst->type};
    value.same = (uint32_t)leaver->values.count;
    uint32_t made = value_add(leaver, value);
    leaver->values.data[phi->dst].same = made;
    return made;
}

static uint32_t end_position(const Block *block)
{
    uint32_t position = POSITION_FIRST - 1;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst != block->last || !inst_is_terminator(inst))
            position += 2;
    return position;
}

static void ties_isolate(Leaver *leaver, const Block *block)
{
    uint32_t position = POSITION_FIRST;
    for (const Inst *inst = block->first; inst; inst = inst->next, position += 2)
        for (unsigned i = 0; i < inst->ref_count; i++) {
            const RegRef *ref = &inst->refs[i];
            if (ref->role != REF_TIED || !value_defined(leaver, ref->reg))
                continue;
            uint32_t dst = inst->refs[ref->partner].reg;
            uint32_t made = isolate(leaver, dst, ref->reg, block->id, position - 1, position);
            leaver->values.data[made].parent = dst;
        }
}

static void copies_collect(Leaver *leaver)
{
    Body *body = leaver->body;
    VEC(Outgoing) outgoing = {0};
    uint32_t *heads = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    uint32_t **roots = ARENA_ARRAY(leaver->scratch, uint32_t *, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++)
        heads[b] = VALUE_NONE;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        roots[b] = ARENA_ARRAY(leaver->scratch, uint32_t, block->phis.count);
        for (size_t i = 0; i < block->phis.count; i++) {
            const Phi *phi = &block->phis.data[i];
            roots[b][i] = phi_isolate(leaver, (uint32_t)b, phi);
            for (size_t a = 0; a < phi->args.count; a++) {
                if (!value_defined(leaver, phi->args.data[a].reg))
                    continue;
                uint32_t pred = phi->args.data[a].pred->id;
                VEC_PUSH(leaver->scratch, outgoing, (Outgoing){roots[b][i], phi->args.data[a].reg, heads[pred]});
                heads[pred] = (uint32_t)(outgoing.count - 1);
            }
        }
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (size_t i = 0; i < block->phis.count; i++)
            copy_add(leaver, block->phis.data[i].dst, roots[b][i], (uint32_t)b, POSITION_ENTRY);
        ties_isolate(leaver, block);
        uint32_t position = end_position(block);
        for (uint32_t o = heads[b]; o != VALUE_NONE; o = outgoing.data[o].next) {
            uint32_t root = outgoing.data[o].root;
            uint32_t made = isolate(leaver, root, outgoing.data[o].src, (uint32_t)b, position, UINT32_MAX);
            leaver->values.data[made].parent = root;
        }
    }
}

/* Live ranges matter for the ends of copies and for registers that might share a name. */
static void tracked_mark(Leaver *leaver)
{
    uint32_t *sharing = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->registers);
    for (uint32_t i = 0; i < leaver->registers; i++)
        if (value_defined(leaver, i))
            sharing[leaver->values.data[i].origin]++;
    for (uint32_t i = 0; i < leaver->registers; i++)
        leaver->values.data[i].tracked = value_defined(leaver, i) && sharing[leaver->values.data[i].origin] > 1;
    for (size_t i = 0; i < leaver->copies.count; i++) {
        leaver->values.data[leaver->copies.data[i].dst].tracked = true;
        leaver->values.data[leaver->copies.data[i].src].tracked = true;
    }
    for (uint32_t i = 0; i < leaver->values.count;
         i++) /* a tied definition shares its set with the isolated old value */
        if (leaver->values.data[i].parent != i)
            leaver->values.data[leaver->values.data[i].parent].tracked = true;
}

/* ---- Sets -------------------------------------------------------------------------------------------------------- */

/* Orders values as a walk of the dominator tree meets their definitions. */
static int value_order(const Leaver *leaver, uint32_t a, uint32_t b)
{
    const Value *x = &leaver->values.data[a], *y = &leaver->values.data[b];
    uint64_t p = (uint64_t)leaver->dominators.enter[x->block] << 32 | x->position;
    uint64_t q = (uint64_t)leaver->dominators.enter[y->block] << 32 | y->position;
    if (p != q)
        return p < q ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int value_compare(const void *a, const void *b, void *leaver)
{
    return value_order(leaver, *(const uint32_t *)a, *(const uint32_t *)b);
}

static const uint32_t *set_members(const Coalescer *c, const uint32_t *root, uint32_t *count)
{
    const Set *set = &c->sets[*root];
    *count = set->members ? set->count : value_defined(c->leaver, *root);
    return set->members ? set->members : root;
}

/* Whether two of the values, which are in tree order, are live together with different contents.  The stack holds the
 * chain of members that dominate the current one; if the one on top is not in the way, neither are those below it,
 * except that a member with the contents of the top one may live where that no longer does: Value.equal leads to
 * those. */
static bool members_interfere(const Coalescer *c, const uint32_t *members, uint32_t count)
{
    Leaver *leaver = c->leaver;
    Value *values = leaver->values.data;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t current = members[i];
        while (depth && !value_dominates(leaver, c->stack[depth - 1], current))
            depth--;
        values[current].equal = VALUE_NONE;
        if (depth) {
            uint32_t above = c->stack[depth - 1];
            bool same = values[above].same == values[current].same;
            while (above != VALUE_NONE && !values_intersect(leaver, above, current))
                above = values[above].equal;
            if (above != VALUE_NONE && !same)
                return true;
            values[current].equal = above;
        }
        c->stack[depth++] = current;
    }
    return false;
}

static void set_store(Coalescer *c, uint32_t root, const uint32_t *members, uint32_t count)
{
    Set *set = &c->sets[root];
    if (count > set->capacity) {
        set->capacity = count * 2;
        set->members = ARENA_ARRAY(c->leaver->scratch, uint32_t, set->capacity);
    }
    memcpy(set->members, members, count * sizeof *members);
    set->count = count;
}

/* Joins the sets of a and b if that leaves the union free of interference. */
static bool sets_join(Coalescer *c, uint32_t a, uint32_t b)
{
    Leaver *leaver = c->leaver;
    uint32_t x = find(leaver, a), y = find(leaver, b), m, n, used = 0;
    if (x == y)
        return true;
    if (leaver->values.data[x].type != leaver->values.data[y].type)
        return false;
    const uint32_t *p = set_members(c, &x, &m), *q = set_members(c, &y, &n);
    for (uint32_t i = 0, j = 0; i < m || j < n;)
        c->merged[used++] = j == n || (i < m && value_order(leaver, p[i], q[j]) < 0) ? p[i++] : q[j++];
    c->work += used;
    if (members_interfere(c, c->merged, used))
        return false;
    if (c->sets[x].capacity < c->sets[y].capacity) {
        uint32_t swap = x;
        x = y;
        y = swap;
    }
    leaver->values.data[y].parent = x;
    set_store(c, x, c->merged, used);
    return true;
}

/* The sets that phis and ties form from the start. */
static void sets_begin(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    uint32_t count = (uint32_t)leaver->values.count;
    uint32_t *sizes = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    c->sets = ARENA_ARRAY(leaver->scratch, Set, count);
    c->merged = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    c->stack = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        sizes[find(leaver, i)] += value_defined(leaver, i);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = find(leaver, i);
        Set *set = &c->sets[root];
        if (sizes[root] < 2 || !value_defined(leaver, i))
            continue;
        if (!set->members) {
            set->capacity = sizes[root];
            set->members = ARENA_ARRAY(leaver->scratch, uint32_t, set->capacity);
        }
        set->members[set->count++] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (c->sets[i].count > 1)
            qsort_r(c->sets[i].members, c->sets[i].count, sizeof *c->sets[i].members, value_compare, leaver);
}

/* ---- Coalescing -------------------------------------------------------------------------------------------------- */

typedef struct Groups { /* defined values by a key: members[starts[k] .. starts[k + 1]) */
    uint32_t *starts, *members;
} Groups;

/* 'keys' has one for each value, below 'limit'. */
static Groups groups_collect(Leaver *leaver, const uint32_t *keys, uint32_t limit)
{
    Groups groups = {0};
    uint32_t count = (uint32_t)leaver->values.count;
    groups.starts = ARENA_ARRAY(leaver->scratch, uint32_t, limit + (size_t)2);
    groups.members = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    uint32_t *ends = groups.starts + 1; /* counts first, then running ends: each becomes the next one's start */
    for (uint32_t i = 0; i < count; i++)
        if (value_defined(leaver, i))
            ends[keys[i] + 1]++;
    for (uint32_t i = 1; i <= limit; i++)
        ends[i] += ends[i - 1];
    for (uint32_t i = 0; i < count; i++)
        if (value_defined(leaver, i))
            groups.members[ends[keys[i]]++] = i;
    return groups;
}

static Groups groups_by_origin(Leaver *leaver)
{
    uint32_t *keys = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->values.count);
    for (size_t i = 0; i < leaver->values.count; i++)
        keys[i] = leaver->values.data[i].origin;
    return groups_collect(leaver, keys, leaver->registers);
}

/* All versions of one register as one set, if they agree. */
static bool group_join(Coalescer *c, uint32_t *members, uint32_t count)
{
    Leaver *leaver = c->leaver;
    Value *values = leaver->values.data;
    for (uint32_t i = 0; i < count; i++)
        if (values[members[i]].type != values[members[0]].type)
            return false;
    qsort_r(members, count, sizeof *members, value_compare, leaver);
    if (members_interfere(c, members, count))
        return false;
    uint32_t root = find(leaver, members[0]);
    for (uint32_t i = 1; i < count; i++)
        values[find(leaver, members[i])].parent = root;
    set_store(c, root, members, count);
    return true;
}

static void whole_groups_join(Coalescer *c, const Groups *groups)
{
    Leaver *leaver = c->leaver;
    const Value *values = leaver->values.data;
    bool *foreign = ARENA_ARRAY(leaver->scratch, bool, leaver->registers);
    for (size_t i = 0; i < leaver->copies.count; i++) {
        RegId dst = values[leaver->copies.data[i].dst].origin, src = values[leaver->copies.data[i].src].origin;
        if (dst != src)
            foreign[dst] = foreign[src] = true;
    }
    for (uint32_t o = 0; o < leaver->registers; o++) {
        uint32_t count = groups->starts[o + 1] - groups->starts[o];
        if (count > 1 && !foreign[o])
            group_join(c, groups->members + groups->starts[o], count);
    }
}

/* Joins what is left of the versions of each register to the largest of their sets. */
static void group_remains_join(Coalescer *c, const Groups *groups)
{
    Leaver *leaver = c->leaver;
    for (uint32_t o = 0; o < leaver->registers && c->work < NAME_WORK; o++) {
        const uint32_t *members = groups->members + groups->starts[o];
        uint32_t count = groups->starts[o + 1] - groups->starts[o];
        if (count < 2)
            continue;
        uint32_t owner = find(leaver, members[0]);
        for (uint32_t i = 1; i < count; i++) {
            uint32_t root = find(leaver, members[i]);
            if (c->sets[root].count > c->sets[owner].count)
                owner = root;
        }
        for (uint32_t i = 0; i < count && c->work < NAME_WORK; i++)
            sets_join(c, owner, members[i]);
    }
}

/* How many natural loops lie around each block: the bodies of the back edges. */
static uint32_t *depths_compute(Leaver *leaver)
{
    Body *body = leaver->body;
    uint32_t *depths = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    uint32_t *seen = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    VEC(uint32_t) work = {0};
    for (uint32_t header = 0; header < body->blocks.count; header++) {
        const Block *block = body->blocks.data[header];
        for (unsigned i = 0; i < block->pred_count; i++) {
            uint32_t latch = block->preds[i]->id;
            if (dominates(&leaver->dominators, header, latch) && seen[latch] != header + 1) {
                seen[latch] = header + 1;
                VEC_PUSH(leaver->scratch, work, latch);
            }
        }
        if (!work.count)
            continue;
        seen[header] = header + 1;
        depths[header]++;
        while (work.count) {
            uint32_t inside = VEC_POP(work);
            if (inside == header)
                continue;
            depths[inside]++;
            for (unsigned i = 0; i < body->blocks.data[inside]->pred_count; i++) {
                uint32_t pred = body->blocks.data[inside]->preds[i]->id;
                if (seen[pred] != header + 1) {
                    seen[pred] = header + 1;
                    VEC_PUSH(leaver->scratch, work, pred);
                }
            }
        }
    }
    return depths;
}

static int copy_compare(const void *a, const void *b)
{
    const Copy *x = *(const Copy *const *)a, *y = *(const Copy *const *)b;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sets that copies connect, joined at once where they agree: one pass instead of one for each copy. */
static void components_join(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    uint32_t count = (uint32_t)leaver->values.count;
    uint32_t *keys = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        keys[i] = find(leaver, i);
    for (size_t i = 0; i < leaver->copies.count; i++) {
        uint32_t a = leaver->copies.data[i].dst, b = leaver->copies.data[i].src;
        if (leaver->values.data[a].type != leaver->values.data[b].type)
            continue;
        while (keys[a] != a)
            a = keys[a] = keys[keys[a]];
        while (keys[b] != b)
            b = keys[b] = keys[keys[b]];
        keys[a] = b;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = i;
        while (keys[root] != root)
            root = keys[root];
        for (uint32_t next = i; keys[next] != root && next != root;) {
            uint32_t above = keys[next];
            keys[next] = root;
            next = above;
        }
    }
    Groups groups = groups_collect(leaver, keys, count);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t *members = groups.members + groups.starts[k], size = groups.starts[k + 1] - groups.starts[k];
        bool joined = true;
        for (uint32_t i = 1; i < size && joined; i++)
            joined = find(leaver, members[i]) == find(leaver, members[0]);
        if (!joined)
            group_join(c, members, size);
    }
}

static void copies_join(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    VEC(Copy *) pending = {0};
    for (size_t i = 0; i < leaver->copies.count; i++) {
        Copy *copy = &leaver->copies.data[i];
        if (find(leaver, copy->dst) != find(leaver, copy->src))
            VEC_PUSH(leaver->scratch, pending, copy);
    }
    if (!pending.count)
        return;
    const uint32_t *depths = depths_compute(leaver);
    for (size_t i = 0; i < pending.count; i++)
        pending.data[i]->depth = depths[pending.data[i]->block];
    qsort(pending.data, pending.count, sizeof *pending.data, copy_compare);
    for (size_t i = 0; i < pending.count; i++)
        sets_join(c, pending.data[i]->dst, pending.data[i]->src);
    c->work = 0;
}

/* ---- Registers for sets ------------------------------------------------------------------------------------------ */

static int origin_compare(const void *a, const void *b)
{
    RegId x = *(const RegId *)a, y = *(const RegId *)b;
    return x < y ? -1 : x > y;
}

/* The register of the source that most members are versions of. */
static RegId set_origin(Coalescer *c, const uint32_t *members, uint32_t count)
{
    RegId *origins = c->stack, best = REG_NONE;
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        origins[i] = c->leaver->values.data[members[i]].origin;
    qsort(origins, count, sizeof *origins, origin_compare);
    for (uint32_t i = 0, j; i < count; i = j) {
        for (j = i; j < count && origins[j] == origins[i]; j++)
            ;
        if (j - i > most) {
            most = j - i;
            best = origins[i];
        }
    }
    return best;
}

static RegId set_register(Coalescer *c, uint32_t root, BitSet *claimed)
{
    Leaver *leaver = c->leaver;
    Body *body = leaver->body;
    uint32_t count;
    const uint32_t *members = set_members(c, &root, &count);
    Type type = leaver->values.data[root].type;
    RegId origin = set_origin(c, members, count);
    if (!bitset_has(claimed, origin) && body->regs.data[origin].type == type)
        return origin;
    for (uint32_t i = 0; i < count; i++)
        if (members[i] < leaver->registers && !bitset_has(claimed, members[i]) &&
            leaver->values.data[members[i]].origin != members[i])
            return members[i];
    return body_add_reg(body, type, body->regs.data[origin].name);
}

typedef struct Ranked {
    uint32_t root, count;
} Ranked;

static int rank_compare(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

/* The register of each value.  Larger sets choose first; an undefined register keeps its own, whoever else has it. */
static RegId *registers_choose(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    uint32_t count = (uint32_t)leaver->values.count;
    RegId *chosen = ARENA_ARRAY(leaver->scratch, RegId, count);
    BitSet claimed = bitset_new(leaver->scratch, leaver->registers);
    VEC(Ranked) ranked = {0};
    for (uint32_t i = 0; i < count; i++) {
        chosen[i] = i < leaver->registers ? i : REG_NONE;
        if (find(leaver, i) != i || !value_defined(leaver, i))
            continue;
        uint32_t size;
        set_members(c, &i, &size);
        if (leaver->values.data[i].tracked || leaver->values.data[i].origin != i)
            VEC_PUSH(leaver->scratch, ranked, (Ranked){i, size});
        else if (i < leaver->registers)
            bitset_add(&claimed, i);
    }
    if (ranked.count)
        qsort(ranked.data, ranked.count, sizeof *ranked.data, rank_compare);
    for (size_t i = 0; i < ranked.count; i++) {
        RegId reg = set_register(c, ranked.data[i].root, &claimed);
        chosen[ranked.data[i].root] = reg;
        if (reg < leaver->registers)
            bitset_add(&claimed, reg);
    }
    for (uint32_t i = 0; i < count; i++)
        if (value_defined(leaver, i))
            chosen[i] = chosen[find(leaver, i)];
    return chosen;
}

/* ---- The body ---------------------------------------------------------------------------------------------------- */

static void inst_rewrite(Inst *inst, const RegId *chosen)
{
    for (unsigned i = 0; i < inst->ref_count; i++) {
        RegRef *ref = &inst->refs[i];
        if (ref->role == REF_TIED) {
            RegRef *partner = &inst->refs[ref->partner];
            if (inst->guard == REF_NONE || inst_is_opaque(inst) || ref->type != TYPE_NONE)
                partner->role = REF_BOTH;
            continue;
        }
        ref->reg = chosen[ref->reg];
        ref->partner = REF_NONE;
    }
    inst->ref_count -= inst->tied_count;
    inst->tied_count = 0;
}

static void body_rewrite(Leaver *leaver, const RegId *chosen)
{
    Body *body = leaver->body;
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        block->phis.count = 0;
        for (Inst *inst = block->first; inst; inst = inst->next)
            inst_rewrite(inst, chosen);
    }
    for (size_t i = 0; i < body->regs.count; i++)
        body->regs.data[i].origin = (RegId)i;
}

void body_from_ssa(Body *body)
{
    require(body->ssa);
    body_remove_unreachable(body);
    Leaver leaver = {.body = body, .scratch = arena_new()};
    Coalescer coalescer = {.leaver = &leaver};
    dominators_compute(&leaver.dominators, leaver.scratch, body);
    registers_to_values(&leaver);
    copies_collect(&leaver);
    tracked_mark(&leaver);
    live_ranges_compute(&leaver);
    sets_begin(&coalescer);
    Groups groups = groups_by_origin(&leaver);
    whole_groups_join(&coalescer, &groups);
    components_join(&coalescer);
    copies_join(&coalescer);
    group_remains_join(&coalescer, &groups);
    RegId *chosen = registers_choose(&coalescer);
    body_rewrite(&leaver, chosen);
    body->ssa = false;
    copies_write(&leaver, chosen);
    arena_free(leaver.scratch);
}
