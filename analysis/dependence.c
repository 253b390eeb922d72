/* The dependence graph of a block. */
#include "analysis/dependence.h"

#include "analysis/ordering.h"
#include "analysis/values.h"

#include <string.h>

enum { OPEN_ACCESSES = 256 };

typedef struct Edge {
    uint32_t from, to;
    uint8_t kind;
} Edge;
typedef VEC(uint32_t) NodeVec;

/* The uses of one register by the nodes so far. */
typedef struct RegState {
    RegId reg;
    uint32_t writer;  /* the last node to write it, or NO_NODE */
    uint32_t version; /* how many nodes have written it */
    uint32_t readers; /* the nodes that have read it since: a chain through Builder.reads, index + 1, 0 ends */
    bool used;
} RegState;

typedef struct Read {
    uint32_t node, next;
} Read;

/* A load or store that later ones are compared with. If the list is full, a new one replaces the oldest, is ordered
 * after it, and represents it too: it is assumed to conflict with everything. */
typedef struct Open {
    uint32_t node;
    bool wild;
} Open;
typedef struct OpenList {
    Open items[OPEN_ACCESSES];
    uint32_t count, oldest;
} OpenList;

#define NO_NODE UINT32_MAX

typedef struct Builder {
    const MemoryModel *model;
    Arena *scratch;
    Ordering *orderings; /* by node */
    VEC(Edge) edges;
    uint32_t *stamp; /* by node: edges into node n come from nodes stamped n + 1 */
    size_t *edge_of; /* by node: that edge */
    BitSet has_succ;
    RegState *regs; /* a hash table */
    size_t reg_mask;
    VEC(Read) reads;
    uint32_t last_full, last_fence, last_stop, last_volatile, carry_writer;
    uint32_t sinks_from;  /* nodes from here on may have no successor yet */
    NodeVec ordered;      /* ordered nodes since the last fence */
    NodeVec faults;       /* nodes that may fault, and are not ordered, since the last node that may stop */
    NodeVec carry_readers;
    OpenList loads, stores;
} Builder;

static void add_edge(Builder *builder, uint32_t from, uint32_t to, DependenceKind kind)
{
    if (from == NO_NODE || from == to)
        return;
    if (builder->stamp[from] == to + 1) {
        Edge *edge = &builder->edges.data[builder->edge_of[from]];
        if (kind < edge->kind)
            edge->kind = kind;
        return;
    }
    builder->stamp[from] = to + 1;
    builder->edge_of[from] = builder->edges.count;
    bitset_add(&builder->has_succ, from);
    VEC_PUSH(builder->scratch, builder->edges, (Edge){from, to, kind});
}

static RegState *reg_state(Builder *builder, RegId reg)
{
    size_t slot = (reg * UINT32_C(2654435769)) & builder->reg_mask;
    while (builder->regs[slot].used && builder->regs[slot].reg != reg)
        slot = (slot + 1) & builder->reg_mask;
    RegState *state = &builder->regs[slot];
    if (!state->used)
        *state = (RegState){.reg = reg, .writer = NO_NODE, .used = true};
    return state;
}

static void registers_order(Builder *builder, uint32_t node, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            RegState *state = reg_state(builder, inst->refs[r].reg);
            add_edge(builder, state->writer, node, DEPENDENCE_TRUE);
            VEC_PUSH(builder->scratch, builder->reads, (Read){node, state->readers});
            state->readers = (uint32_t)builder->reads.count;
        }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r])) {
            RegState *state = reg_state(builder, inst->refs[r].reg);
            add_edge(builder, state->writer, node, DEPENDENCE_OUTPUT);
            for (uint32_t i = state->readers; i; i = builder->reads.data[i - 1].next)
                add_edge(builder, builder->reads.data[i - 1].node, node, DEPENDENCE_ANTI);
            state->readers = 0;
            state->writer = node;
            state->version++;
        }
}

/* Orders the node after those of the list whose memory it may touch. An access that it overwrites completely is closed:
 * whatever conflicts with it conflicts with this one too. */
static void open_compare(Builder *builder, OpenList *list, uint32_t node)
{
    const Ordering *now = &builder->orderings[node];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        Open open = list->items[i];
        const Ordering *then = &builder->orderings[open.node];
        Alias alias = open.wild ? ALIAS_UNKNOWN : ordering_alias(builder->model, then, now);
        if (alias != ALIAS_NONE)
            add_edge(builder, open.node, node, DEPENDENCE_MEMORY);
        bool covered = alias == ALIAS_SAME && now->writes && then->access.bytes && then->space == now->space &&
                       then->access.bytes <= now->access.bytes;
        if (!covered)
            list->items[kept++] = open;
    }
    if (kept < list->count)
        list->oldest = 0;
    list->count = kept;
}

static void open_add(Builder *builder, OpenList *list, uint32_t node)
{
    if (list->count < OPEN_ACCESSES) {
        list->items[list->count++] = (Open){node, false};
        return;
    }
    Open *place = &list->items[list->oldest];
    add_edge(builder, place->node, node, DEPENDENCE_MEMORY);
    *place = (Open){node, true};
    list->oldest = (list->oldest + 1) % OPEN_ACCESSES;
}

static void accesses_order(Builder *builder, uint32_t node)
{
    const Ordering *now = &builder->orderings[node];
    if (now->reads || now->writes)
        open_compare(builder, &builder->stores, node);
    if (now->writes) {
        open_compare(builder, &builder->loads, node);
        open_add(builder, &builder->stores, node);
    } else if (now->reads) {
        open_add(builder, &builder->loads, node);
    }
}

static void nodes_order(Builder *builder, NodeVec *before, uint32_t node)
{
    for (size_t i = 0; i < before->count; i++)
        add_edge(builder, before->data[i], node, DEPENDENCE_ORDER);
    before->count = 0;
}

static void fences_order(Builder *builder, uint32_t node)
{
    const Ordering *now = &builder->orderings[node];
    if (now->ordered)
        add_edge(builder, builder->last_fence, node, DEPENDENCE_ORDER);
    if (now->fence) {
        nodes_order(builder, &builder->ordered, node);
        builder->last_fence = node;
        builder->loads.count = builder->stores.count = 0;
        builder->loads.oldest = builder->stores.oldest = 0;
    } else if (now->ordered) {
        VEC_PUSH(builder->scratch, builder->ordered, node);
    }
    if (now->may_fault && !now->ordered) {
        add_edge(builder, builder->last_stop, node, DEPENDENCE_ORDER);
        VEC_PUSH(builder->scratch, builder->faults, node);
    }
    if (now->may_stop) {
        nodes_order(builder, &builder->faults, node);
        builder->last_stop = node;
    }
}

static void chains_order(Builder *builder, uint32_t node)
{
    const Ordering *now = &builder->orderings[node];
    if (now->is_volatile) {
        add_edge(builder, builder->last_volatile, node, DEPENDENCE_ORDER);
        builder->last_volatile = node;
    }
    if (now->carry_read || now->carry_write)
        add_edge(builder, builder->carry_writer, node, DEPENDENCE_ORDER);
    if (now->carry_write) {
        nodes_order(builder, &builder->carry_readers, node);
        builder->carry_writer = node;
    }
    if (now->carry_read)
        VEC_PUSH(builder->scratch, builder->carry_readers, node);
}

/* Orders the node after all earlier ones: each of them has a successor, or gets this node as one. Later nodes come
 * after it and need no other edge to stay after the earlier ones. */
static void full_order(Builder *builder, uint32_t node)
{
    for (uint32_t i = builder->sinks_from; i < node; i++)
        if (!bitset_has(&builder->has_succ, i))
            add_edge(builder, i, node, DEPENDENCE_ORDER);
    builder->sinks_from = node;
    builder->last_full = node;
    builder->last_fence = builder->last_stop = builder->last_volatile = builder->carry_writer = NO_NODE;
    builder->ordered.count = builder->faults.count = builder->carry_readers.count = 0;
    builder->loads = builder->stores = (OpenList){.count = 0};
}

static void node_order(Builder *builder, uint32_t node, const Inst *inst)
{
    Ordering *now = &builder->orderings[node];
    ordering_find(builder->model, inst, now);
    if (now->base != REG_NONE)
        now->version = reg_state(builder, now->base)->version;
    registers_order(builder, node, inst);
    add_edge(builder, builder->last_full, node, DEPENDENCE_ORDER);
    if (now->full) {
        full_order(builder, node);
        return;
    }
    accesses_order(builder, node);
    fences_order(builder, node);
    chains_order(builder, node);
}

static void edges_index(Arena *arena, const Builder *builder, DependenceGraph *graph)
{
    size_t count = builder->edges.count;
    require(count < UINT32_MAX);
    graph->succ_start = ARENA_ARRAY(arena, uint32_t, (size_t)graph->count + 2);
    graph->pred_start = ARENA_ARRAY(arena, uint32_t, (size_t)graph->count + 2);
    graph->succs = ARENA_ARRAY(arena, Dependence, count + 1);
    graph->preds = ARENA_ARRAY(arena, Dependence, count + 1);
    for (size_t i = 0; i < count; i++) {
        graph->succ_start[builder->edges.data[i].from + 2]++;
        graph->pred_start[builder->edges.data[i].to + 2]++;
    }
    for (uint32_t i = 2; i <= graph->count; i++) {
        graph->succ_start[i] += graph->succ_start[i - 1];
        graph->pred_start[i] += graph->pred_start[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        const Edge *edge = &builder->edges.data[i];
        graph->succs[graph->succ_start[edge->from + 1]++] = (Dependence){edge->to, edge->kind};
        graph->preds[graph->pred_start[edge->to + 1]++] = (Dependence){edge->from, edge->kind};
    }
}

DependenceGraph *block_dependences(Arena *arena, const MemoryModel *model, const Block *block)
{
    Arena *scratch = arena_new();
    DependenceGraph *graph = ARENA_NEW(arena, DependenceGraph);
    size_t references = 1;
    graph->block = block;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        require(graph->count < UINT32_MAX - 2);
        references += inst->ref_count;
        inst->id = graph->count++;
    }
    graph->insts = ARENA_ARRAY(arena, Inst *, graph->count);
    size_t slots = 16;
    while (slots < references * 2)
        slots *= 2;
    Builder builder = {
        .model = model,
        .scratch = scratch,
        .orderings = ARENA_ARRAY(scratch, Ordering, graph->count),
        .stamp = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .edge_of = ARENA_ARRAY(scratch, size_t, graph->count),
        .has_succ = bitset_new(scratch, graph->count),
        .regs = ARENA_ARRAY(scratch, RegState, slots),
        .reg_mask = slots - 1,
        .last_full = NO_NODE,
        .last_fence = NO_NODE,
        .last_stop = NO_NODE,
        .last_volatile = NO_NODE,
        .carry_writer = NO_NODE,
    };
    for (Inst *inst = block->first; inst; inst = inst->next) {
        graph->insts[inst->id] = inst;
        node_order(&builder, inst->id, inst);
    }
    edges_index(arena, &builder, graph);
    arena_free(scratch);
    return graph;
}
