/* The registers that a block needs in several orders of its instructions. */
#include "analysis/orders.h"

#include "analysis/register_file.h"

enum {
    UNROLLED = 4,          /* iterations of a loop of unknown length that assemblers interleave */
    UNROLLED_MOST = 64,    /* the longest block, in instructions, for which they do so */
    CONDITION_COST = 8,    /* the instructions that a condition counts as there */
    UNROLLED_FULLY = 1200, /* instructions of all iterations of a loop whose length is known, */
    UNROLLED_PARTLY = 300, /* and of the interleaved ones of a longer loop */
    COMPARED_MOST = 128,   /* earlier accesses that one is compared with; it stays after all others */
    LARGEST_BLOCK = 20000, /* instructions; a larger one is examined in the body's order only */
    READY_LOOKED_AT = 192,
    OPERANDS_MOST = 3, /* operands that an instruction reads at once */
};

static const uint32_t NO_VALUE = UINT32_MAX;

typedef struct Edge {
    uint32_t to, next; /* next: index + 1; 0 ends */
} Edge;

typedef struct Node {
    const LoweredInst *inst;
    uint32_t *reads, *writes; /* local values */
    uint32_t after, before;   /* edges to later and earlier nodes: index + 1 */
    uint32_t after_count, before_count;
    uint32_t height; /* cycles to the end of the block */
} Node;

/* One block, or several iterations of it, with values numbered from 0. */
typedef struct Plan {
    Arena *arena;
    const Lowered *lowered;
    const LoweredBlock *block;
    const MemoryModel *memory;
    unsigned copies;
    bool ordered; /* the edges say what may be exchanged */
    bool hoists;  /* addresses from parameters were loaded before the loop that the block is */
    Node *nodes;
    uint32_t count;
    VEC(Edge) edges;
    uint32_t *local;      /* by RegId: its number + 1 in the copy that is being made; 0: none yet */
    VEC(RegId) numbered;  /* registers with a number */
    VEC(uint8_t) width;     /* by value */
    VEC(uint32_t) maker;    /* by value: node + 1 that writes it; 0: it is live at the top */
    VEC(uint32_t) reads;    /* by value: nodes that read it */
    VEC(uint32_t) kept;     /* by value: 1 if live at the end */
    VEC(uint8_t) banks;     /* by value: Bank */
    int32_t through; /* registers of values that are live throughout and not touched */
} Plan;

static uint32_t value_new(Plan *plan, RegId reg, uint32_t maker)
{
    VEC_PUSH(plan->arena, plan->width, plan->lowered->width[reg]);
    VEC_PUSH(plan->arena, plan->banks, BANK_ANY);
    VEC_PUSH(plan->arena, plan->maker, maker);
    VEC_PUSH(plan->arena, plan->reads, 0);
    VEC_PUSH(plan->arena, plan->kept, 0);
    if (!plan->local[reg])
        VEC_PUSH(plan->arena, plan->numbered, reg);
    plan->local[reg] = (uint32_t)plan->width.count;
    return (uint32_t)plan->width.count - 1;
}

static uint32_t value_of(Plan *plan, RegId reg)
{
    return plan->local[reg] ? plan->local[reg] - 1 : value_new(plan, reg, 0);
}

static void edge_add(Plan *plan, uint32_t from, uint32_t to)
{
    if (!plan->ordered)
        return;
    VEC_PUSH(plan->arena, plan->edges, (Edge){to, plan->nodes[from].after});
    plan->nodes[from].after = (uint32_t)plan->edges.count;
    plan->nodes[from].after_count++;
    VEC_PUSH(plan->arena, plan->edges, (Edge){from, plan->nodes[to].before});
    plan->nodes[to].before = (uint32_t)plan->edges.count;
    plan->nodes[to].before_count++;
}

static bool is_ordered(const Inst *inst)
{
    return inst && !inst_is_terminator(inst) && (!(inst->effects & EFFECT_PURE) || inst_is_opaque(inst));
}

/* True if instructions of different iterations may be exchanged; their addresses cannot be compared. */
static bool iterations_may_swap(const Inst *a, const Inst *b)
{
    unsigned both = a->effects | b->effects, strong = EFFECT_SYNC | EFFECT_CONTROL | EFFECT_VOLATILE;
    Access x, y;
    if (inst_is_opaque(a) || inst_is_opaque(b) || both & strong)
        return false;
    if (!(both & EFFECT_WRITE))
        return true;
    bool known = inst_access(a, &x) && inst_access(b, &y);
    return known && (x.read_only || y.read_only || (x.space != y.space && x.space && y.space));
}

static void memory_edges(Plan *plan, uint32_t node, const uint32_t *ordered, uint32_t ordered_count)
{
    const Inst *inst = plan->nodes[node].inst->inst;
    uint32_t compared = 0;
    for (uint32_t i = ordered_count; i-- > 0; compared++) {
        const Inst *before = plan->nodes[ordered[i]].inst->inst;
        bool same_copy = ordered[i] / plan->block->count == node / plan->block->count;
        bool free = compared < COMPARED_MOST && (same_copy ? insts_may_swap(plan->memory, before, inst)
                                                           : iterations_may_swap(before, inst));
        if (!free)
            edge_add(plan, ordered[i], node);
        if (compared >= COMPARED_MOST)
            break;
    }
}

/* The argument of the block's phi that comes from the block itself. */
static RegId latch_argument(const LoweredBlock *block, RegId phi)
{
    for (size_t p = 0; p < block->block->phis.count; p++) {
        const Phi *found = &block->block->phis.data[p];
        if (found->dst == phi)
            return phi_argument(found, block->latch);
    }
    return REG_NONE;
}

/* Begins the next iteration: the phis have the values that this one gave their arguments; everything it computes is
 * new. */
static void iteration_next(Plan *plan)
{
    const LoweredBlock *block = plan->block;
    uint32_t *carried = ARENA_ARRAY(plan->arena, uint32_t, block->phi_count);
    for (uint32_t p = 0; p < block->phi_count; p++) {
        RegId argument = latch_argument(block, block->phis[p]);
        bool known = argument != REG_NONE && plan->lowered->width[argument];
        carried[p] = known ? value_of(plan, argument) : plan->local[block->phis[p]] ? plan->local[block->phis[p]] - 1
                                                                                    : value_of(plan, block->phis[p]);
    }
    for (uint32_t p = 0; p < block->phi_count; p++)
        plan->local[block->phis[p]] = carried[p] + 1;
}

/* Makes an address that was loaded before the loop live throughout it. */
static void address_hoist(Plan *plan, RegId address)
{
    if (plan->local[address])
        return;
    uint32_t value = value_new(plan, address, 0); /* moves the data of 'kept' */
    plan->kept.data[value] = 1;
}

static void node_fill(Plan *plan, uint32_t index, const LoweredInst *inst)
{
    static const LoweredInst nothing;
    Node *node = &plan->nodes[index];
    if (plan->hoists && inst->loads) {
        address_hoist(plan, inst->writes[0]);
        inst = &nothing;
    }
    node->inst = inst;
    node->reads = ARENA_ARRAY(plan->arena, uint32_t, inst->read_count);
    node->writes = ARENA_ARRAY(plan->arena, uint32_t, inst->write_count);
    for (unsigned r = 0; r < inst->read_count; r++) {
        uint32_t value = value_of(plan, inst->reads[r]);
        node->reads[r] = value;
        plan->reads.data[value]++;
        if (plan->maker.data[value])
            edge_add(plan, plan->maker.data[value] - 1, index);
    }
    for (unsigned w = 0; w < inst->write_count; w++)
        node->writes[w] = value_new(plan, inst->writes[w], index + 1);
}

static void heights_compute(Plan *plan)
{
    for (uint32_t n = plan->count; n-- > 0;) {
        Node *node = &plan->nodes[n];
        for (uint32_t e = node->after; e; e = plan->edges.data[e - 1].next) {
            uint32_t height = plan->nodes[plan->edges.data[e - 1].to].height;
            node->height = height > node->height ? height : node->height;
        }
        node->height += node->inst->latency;
    }
}

/* Marks the values that are live at the end. */
static void ends_mark(Plan *plan)
{
    const LoweredBlock *block = plan->block;
    for (uint32_t i = 0; i < block->out_count; i++) {
        if (!plan->local[block->out[i]])
            plan->through += plan->lowered->width[block->out[i]];
        else
            plan->kept.data[plan->local[block->out[i]] - 1] = 1;
    }
}

static Bank other_bank(Bank bank)
{
    return bank == BANK_EVEN ? BANK_ODD : BANK_EVEN;
}

static bool is_single(const Plan *plan, uint32_t value)
{
    return plan->width.data[value] == 1;
}

/* True if a value is stored through an address in a pair of registers; the value then comes from an odd register. */
static bool stores_through_pair(const Plan *plan, const Node *node)
{
    Access access;
    bool stores = node->inst->inst && inst_access(node->inst->inst, &access) && access.kind != ACCESS_LOAD;
    unsigned pairs = 0;
    for (unsigned r = 0; r < node->inst->read_count && stores; r++)
        pairs += plan->width.data[node->reads[r]] > 1;
    return pairs > 0;
}

/* Puts two operands in different banks, and three not all in the same one. */
static void operand_banks_assign(Plan *plan, const Node *node)
{
    uint8_t *banks[OPERANDS_MOST];
    unsigned found = 0, known = 0;
    for (unsigned r = 0; r < node->inst->read_count && found < OPERANDS_MOST; r++)
        if (is_single(plan, node->reads[r])) {
            banks[found] = &plan->banks.data[node->reads[r]];
            known += *banks[found++] != BANK_ANY;
        }
    if (found == 1 && !known && stores_through_pair(plan, node))
        *banks[0] = BANK_ODD;
    if (found < 2)
        return;
    if (known >= 2) {
        for (unsigned i = 0; i < found; i++)
            if (!*banks[i] && *banks[(i + 1) % found] == *banks[(i + 2) % found])
                *banks[i] = (uint8_t)other_bank((Bank)*banks[(i + 1) % found]);
        return;
    }
    if (!*banks[0])
        *banks[0] = *banks[1] ? (uint8_t)other_bank((Bank)*banks[1]) : BANK_EVEN;
    if (!*banks[1])
        *banks[1] = (uint8_t)other_bank((Bank)*banks[0]);
}

/* Lets a result replace an operand whose last read this is; the results of a vector are side by side. */
static void result_banks_assign(Plan *plan, const Node *node, uint32_t ended)
{
    Access access;
    bool accesses = node->inst->inst && inst_access(node->inst->inst, &access);
    for (unsigned w = 0; w < node->inst->write_count && is_single(plan, node->writes[w]); w++) {
        if (accesses && node->inst->write_count > 1)
            plan->banks.data[node->writes[w]] = w % 2 ? BANK_ODD : BANK_EVEN;
        else if (ended != NO_VALUE)
            plan->banks.data[node->writes[w]] = plan->banks.data[ended];
    }
}

static void banks_assign(Plan *plan)
{
    uint32_t *left = ARENA_ARRAY(plan->arena, uint32_t, plan->width.count);
    for (size_t v = 0; v < plan->width.count; v++)
        left[v] = plan->reads.data[v] + plan->kept.data[v];
    for (uint32_t n = 0; n < plan->count; n++) {
        const Node *node = &plan->nodes[n];
        uint32_t ended = NO_VALUE;
        for (unsigned r = node->inst->read_count; r-- > 0;)
            if (--left[node->reads[r]] == 0 && is_single(plan, node->reads[r]))
                ended = node->reads[r];
        operand_banks_assign(plan, node);
        result_banks_assign(plan, node, ended);
    }
}

static void plan_make(Plan *plan)
{
    const LoweredBlock *block = plan->block;
    VEC(uint32_t) ordered = {0};
    uint32_t split = 0; /* node + 1 that nothing moves across */
    plan->count = block->count * plan->copies;
    plan->nodes = ARENA_ARRAY(plan->arena, Node, plan->count);
    for (uint32_t p = 0; p < block->phi_count; p++)
        value_new(plan, block->phis[p], 0);
    for (unsigned copy = 0; copy < plan->copies; copy++) {
        if (copy)
            iteration_next(plan);
        for (uint32_t i = 0; i < block->count; i++) {
            uint32_t node = copy * block->count + i;
            Inst *inst = block->insts[i].inst;
            node_fill(plan, node, &block->insts[i]);
            bool ends = inst && inst_is_terminator(inst);
            if (ends && copy + 1 < plan->copies)
                continue;
            if (!plan->ordered)
                continue;
            if (split)
                edge_add(plan, split - 1, node);
            if (ends || block->insts[i].splits) {
                for (uint32_t n = 0; n < node; n++)
                    if (!plan->nodes[n].after_count)
                        edge_add(plan, n, node);
                split = node + 1;
            } else if (is_ordered(inst)) {
                memory_edges(plan, node, ordered.data, (uint32_t)ordered.count);
                VEC_PUSH(plan->arena, ordered, node);
                split = inst->effects & EFFECT_SYNC ? node + 1 : split;
            }
        }
    }
    ends_mark(plan);
    banks_assign(plan);
    heights_compute(plan);
}

/* The registers live at a place on the way through a plan. */
typedef struct Place {
    const Plan *plan;
    uint32_t *left;  /* by value: reads to come; going up: reads done */
    int32_t now, peak;
    RegisterFile *file;  /* NULL: only counted */
    uint32_t peak_node;
    int32_t across; /* the highest at a subroutine */
    int32_t around; /* the highest at a call */
} Place;

static void place_add(Place *place, uint32_t value)
{
    place->now += place->plan->width.data[value];
    if (place->file)
        register_file_take(place->file, value, place->plan->width.data[value], (Bank)place->plan->banks.data[value]);
}

/* Operands of accesses become free late, except that a load can write to the register of an address that it reads
 * last. */
static void place_remove(Place *place, uint32_t value, const Inst *reader)
{
    Access access;
    bool late = reader && inst_access(reader, &access) &&
                (access.kind != ACCESS_LOAD || !is_single(place->plan, value));
    place->now -= place->plan->width.data[value];
    if (place->file)
        register_file_give(place->file, value, late);
}

static Place place_top(const Plan *plan, RegisterFile *file)
{
    Place place = {.plan = plan,
                   .left = ARENA_ARRAY(plan->arena, uint32_t, plan->width.count),
                   .now = plan->through,
                   .file = file};
    for (size_t v = 0; v < plan->width.count; v++) {
        place.left[v] = plan->reads.data[v];
        if (!plan->maker.data[v] && (place.left[v] || plan->kept.data[v]))
            place_add(&place, (uint32_t)v);
    }
    place.peak = place.now;
    return place;
}

static int32_t advance_delta(const Place *place, uint32_t node)
{
    const Plan *plan = place->plan;
    const Node *next = &plan->nodes[node];
    int32_t delta = 0;
    for (unsigned r = 0; r < next->inst->read_count; r++)
        if (place->left[next->reads[r]] == 1 && !plan->kept.data[next->reads[r]])
            delta -= plan->width.data[next->reads[r]];
    for (unsigned w = 0; w < next->inst->write_count; w++)
        if (plan->reads.data[next->writes[w]] || plan->kept.data[next->writes[w]])
            delta += plan->width.data[next->writes[w]];
    return delta;
}

static void place_advance(Place *place, uint32_t node)
{
    const Plan *plan = place->plan;
    const Node *next = &plan->nodes[node];
    int32_t unread = 0;
    if (place->file)
        register_file_step(place->file);
    for (unsigned r = 0; r < next->inst->read_count; r++)
        if (--place->left[next->reads[r]] == 0 && !plan->kept.data[next->reads[r]])
            place_remove(place, next->reads[r], next->inst->inst);
    for (unsigned w = 0; w < next->inst->write_count; w++) {
        if (plan->reads.data[next->writes[w]] || plan->kept.data[next->writes[w]])
            place_add(place, next->writes[w]);
        else
            unread += plan->width.data[next->writes[w]];
    }
    if (next->inst->splits) {
        int32_t *most = inst_is_call(next->inst->inst) ? &place->around : &place->across;
        *most = place->now > *most ? place->now : *most;
    }
    if (place->now + unread > place->peak) {
        place->peak = place->now + unread;
        place->peak_node = node;
    }
}

static int32_t source_peak(const Plan *plan, uint32_t *at)
{
    Place place = place_top(plan, NULL);
    for (uint32_t n = 0; n < plan->count; n++)
        place_advance(&place, n);
    *at = place.peak_node;
    return place.peak;
}

/* Nodes that may come next. */
typedef struct Ready {
    uint32_t *nodes, *waits;
    uint32_t count;
} Ready;

static Ready ready_new(const Plan *plan, bool down)
{
    Ready ready = {ARENA_ARRAY(plan->arena, uint32_t, plan->count), ARENA_ARRAY(plan->arena, uint32_t, plan->count), 0};
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t n = down ? i : plan->count - 1 - i;
        ready.waits[n] = down ? plan->nodes[n].before_count : plan->nodes[n].after_count;
        if (!ready.waits[n])
            ready.nodes[ready.count++] = n;
    }
    return ready;
}

static uint32_t ready_take(const Plan *plan, Ready *ready, uint32_t place, bool down)
{
    uint32_t node = ready->nodes[place];
    for (uint32_t i = place; i + 1 < ready->count; i++)
        ready->nodes[i] = ready->nodes[i + 1];
    ready->count--;
    for (uint32_t e = down ? plan->nodes[node].after : plan->nodes[node].before; e; e = plan->edges.data[e - 1].next)
        if (--ready->waits[plan->edges.data[e - 1].to] == 0)
            ready->nodes[ready->count++] = plan->edges.data[e - 1].to;
    return node;
}

/* Tells the node's successors when the result can be used. */
static void result_ready(const Plan *plan, uint32_t node, uint32_t now, uint32_t *times)
{
    for (uint32_t e = plan->nodes[node].after; e; e = plan->edges.data[e - 1].next) {
        uint32_t to = plan->edges.data[e - 1].to, then = now + plan->nodes[node].inst->latency;
        times[to] = then > times[to] ? then : times[to];
    }
}

/* Issues one instruction in a cycle: of those whose operands are ready, the one with the longest path to the end, as
 * long as no more than 'limit' registers are live; beyond, the one that frees the most. */
static Place eager_order(const Plan *plan, int32_t limit)
{
    RegisterFile *file = limit ? register_file_new(plan->arena, plan->width.count, limit, plan->through) : NULL;
    Place place = place_top(plan, file);
    Ready ready = ready_new(plan, true);
    uint32_t *times = ARENA_ARRAY(plan->arena, uint32_t, plan->count);
    for (uint32_t now = 0; ready.count; now++) {
        uint32_t best = 0;
        int64_t best_score = INT64_MIN;
        for (uint32_t i = 0; i < ready.count && i < READY_LOOKED_AT; i++) {
            uint32_t node = ready.nodes[i];
            int32_t delta = advance_delta(&place, node);
            bool fits = place.now + delta <= limit;
            int64_t wait = limit && times[node] > now ? times[node] - now : 0;
            int64_t score = fits ? INT64_C(1) << 44 : -(int64_t)delta * (1 << 24);
            score += fits ? ((int64_t)plan->nodes[node].height - wait) * 65536 : 0;
            score -= node < 65536 ? node : 65535;
            if (score > best_score) {
                best_score = score;
                best = i;
            }
        }
        uint32_t taken = ready_take(plan, &ready, best, true);
        now = times[taken] > now ? times[taken] : now;
        place_advance(&place, taken);
        result_ready(plan, taken, now, times);
    }
    return place;
}

/* Works from the end up: the next instruction is the one that makes the fewest operands live for the results that it
 * defines. */
static int32_t upward_peak(const Plan *plan)
{
    uint8_t *live = ARENA_ARRAY(plan->arena, uint8_t, plan->width.count);
    int32_t now = plan->through, peak;
    for (size_t v = 0; v < plan->width.count; v++)
        if (plan->kept.data[v]) {
            live[v] = 1;
            now += plan->width.data[v];
        }
    peak = now;
    Ready ready = ready_new(plan, false);
    while (ready.count) {
        uint32_t best = 0;
        int32_t best_delta = INT32_MAX;
        for (uint32_t i = 0; i < ready.count && i < READY_LOOKED_AT; i++) {
            const Node *node = &plan->nodes[ready.nodes[i]];
            int32_t delta = 0;
            for (unsigned w = 0; w < node->inst->write_count; w++)
                delta -= live[node->writes[w]] ? plan->width.data[node->writes[w]] : 0;
            for (unsigned r = 0; r < node->inst->read_count; r++)
                delta += live[node->reads[r]] ? 0 : plan->width.data[node->reads[r]];
            if (delta < best_delta || (delta == best_delta && ready.nodes[i] > ready.nodes[best])) {
                best_delta = delta;
                best = i;
            }
        }
        uint32_t taken = ready_take(plan, &ready, best, false);
        const Node *node = &plan->nodes[taken];
        int32_t unread = 0;
        for (unsigned w = 0; w < node->inst->write_count; w++) {
            unread += live[node->writes[w]] ? 0 : plan->width.data[node->writes[w]];
            now -= live[node->writes[w]] ? plan->width.data[node->writes[w]] : 0;
            live[node->writes[w]] = 0;
        }
        peak = now + unread > peak ? now + unread : peak;
        for (unsigned r = 0; r < node->inst->read_count; r++) {
            now += live[node->reads[r]] ? 0 : plan->width.data[node->reads[r]];
            live[node->reads[r]] = 1;
        }
        peak = now > peak ? now : peak;
    }
    return peak;
}

unsigned orders_unrolled(const LoweredBlock *block)
{
    uint64_t size = block->count + (uint64_t)CONDITION_COST * block->conditions;
    if (!block->latch || block->block->pragmas.count)
        return 1;
    for (uint32_t i = 0; i < block->count; i++)
        if (block->insts[i].splits || (block->insts[i].inst && inst_is_opaque(block->insts[i].inst)))
            return 1;
    if (size > UNROLLED_MOST)
        return 1;
    if (block->trips && block->trips * size <= UNROLLED_FULLY)
        return block->trips;
    return block->trips && UNROLLED_PARTLY / size > UNROLLED ? UNROLLED_PARTLY / (unsigned)size : UNROLLED;
}

static bool loops_to_itself(const LoweredBlock *block)
{
    FOR_EACH_SUCC(block->last, succ)
        if (succ == block->block)
            return true;
    return false;
}

static Plan plan_new(Arena *arena, const Lowered *lowered, const LoweredBlock *block, const MemoryModel *memory,
                     unsigned copies, bool hoists)
{
    Plan plan = {.arena = arena, .lowered = lowered, .block = block, .memory = memory, .copies = copies,
                 .ordered = memory != NULL, .hoists = hoists};
    plan.local = lowered->numbers;
    plan_make(&plan);
    for (size_t i = 0; i < plan.numbered.count; i++)
        plan.local[plan.numbered.data[i]] = 0;
    return plan;
}

OrderPeaks order_peaks(const Lowered *lowered, const LoweredBlock *block, const MemoryModel *memory, int32_t limit)
{
    Arena *scratch = arena_new();
    OrderPeaks peaks = {0};
    bool large = block->count > LARGEST_BLOCK;
    Plan plan = plan_new(scratch, lowered, block, large ? NULL : memory, 1, false);
    peaks.source = peaks.least = peaks.plenty = peaks.spread = source_peak(&plan, &peaks.peak);
    if (!large) {
        Place greedy = eager_order(&plan, 0);
        int32_t up = upward_peak(&plan);
        peaks.across = greedy.across;
        peaks.around = greedy.around;
        peaks.least = greedy.peak < peaks.least ? greedy.peak : peaks.least;
        peaks.least = up < peaks.least ? up : peaks.least;
        Plan unrolled = plan_new(scratch, lowered, block, memory, orders_unrolled(block), loops_to_itself(block));
        Place eager = eager_order(&unrolled, limit);
        peaks.plenty = eager.peak;
        peaks.spread = register_file_highest(eager.file);
    }
    arena_free(scratch);
    return peaks;
}

OrderLoad order_load(const Lowered *lowered, const LoweredBlock *block, int32_t limit)
{
    Arena *scratch = arena_new();
    Plan plan = plan_new(scratch, lowered, block, NULL, 1, false);
    Place place = place_top(&plan, NULL);
    OrderLoad load = {.peak = place.peak};
    for (uint32_t n = 0; n < plan.count; n++) {
        place_advance(&place, n);
        load.above += place.now > limit ? place.now - limit : 0;
        if (place.peak > load.peak) {
            load.peak = place.peak;
            load.index = n;
        }
    }
    arena_free(scratch);
    return load;
}

uint32_t order_live(Arena *arena, const Lowered *lowered, const LoweredBlock *block, uint32_t index, RegId **out)
{
    Arena *scratch = arena_new();
    VEC(RegId) live = {0};
    BitSet seen = bitset_new(scratch, lowered->reg_count + 1);
    BitSet made = bitset_new(scratch, lowered->reg_count + 1);
    for (uint32_t i = index + 1; i < block->count; i++) {
        const LoweredInst *inst = &block->insts[i];
        for (unsigned r = 0; r < inst->read_count; r++)
            if (lowered->width[inst->reads[r]] && !bitset_has(&made, inst->reads[r]) &&
                !bitset_has(&seen, inst->reads[r])) {
                bitset_add(&seen, inst->reads[r]);
                VEC_PUSH(arena, live, inst->reads[r]);
            }
        for (unsigned w = 0; w < inst->write_count; w++)
            bitset_add(&made, inst->writes[w]);
    }
    for (uint32_t i = 0; i < block->out_count; i++)
        if (lowered->width[block->out[i]] && !bitset_has(&made, block->out[i]) && !bitset_has(&seen, block->out[i]))
            VEC_PUSH(arena, live, block->out[i]);
    arena_free(scratch);
    *out = live.data;
    return (uint32_t)live.count;
}
