/* Loads whose value is known, replaced.
 *
 * Which values are known at a load is a data-flow problem (analysis/locations.h). The value at a load is that of the
 * last access to the location before it in its block, or else the one that reaches the block: a phi where several
 * accesses meet, at the iterated dominance frontier of the accesses (Cytron and others, 1991), made only when it is
 * asked for. */
#include "opt/replicas/reuse.h"

/* An access that leaves the location's value in the thread. */
typedef struct Holder {
    const PlainAccess *access;
    unsigned element;
    RegId made; /* a register that holds a stored constant, or the value as wide as others; REG_NONE: not made yet */
} Holder;

typedef struct Reuser {
    Arena *scratch;
    Body *body;
    const Dominance *dominance;
    const BlockLists *frontiers;
    const Locations *locations;
    BitSet redundant; /* by access: every element is known before it */
    /* For one location: */
    const Location *location;
    uint32_t number;
    VEC(Holder) holders;    /* in the order of blocks and instructions */
    uint32_t *first_holder; /* by Block.id: index + 1; 0: none */
    BitSet joins;           /* by Block.id: where values may meet */
    RegId *phi_regs;        /* by Block.id; REG_NONE: no phi (yet) */
    VEC(Block *) new_phis;  /* blocks with a phi whose arguments are still to be found */
} Reuser;

static uint64_t constant_bits(const Constant *constant, unsigned bytes)
{
    return bytes >= 8 ? constant->bits : constant->bits & ((UINT64_C(1) << bytes * 8) - 1);
}

static const char *move_spelling(unsigned bits)
{
    return bits == 64 ? "mov.b64" : bits == 32 ? "mov.b32" : "mov.b16";
}

/* Copies the location's value to a register that may be wider or narrower; all of them have it extended alike. */
static Inst *build_copy(Reuser *reuser, RegId to, RegId from)
{
    const Body *body = reuser->body;
    unsigned bits = type_bits(body->regs.data[to].type), have = type_bits(body->regs.data[from].type);
    char sign = type_class(reuser->location->narrow) == CLASS_SIGNED ? 's' : 'u';
    const char *spelling = bits == have ? move_spelling(bits)
                                        : arena_printf(reuser->scratch, "cvt.%c%u.%c%u", sign, bits, sign, have);
    return inst_build(reuser->body, spelling, "dr", to, from);
}

/* The register with the value that the access left, as wide as the location's registers. */
static RegId holder_value(Reuser *reuser, Holder *holder)
{
    Body *body = reuser->body;
    Inst *inst = holder->access->inst;
    const Operand *data = &holder->access->data[holder->element];
    unsigned bits = reuser->location->reg_bits;
    RegId reg = operand_reg(inst, data);
    if (reg != REG_NONE && type_bits(body->regs.data[reg].type) == bits)
        return reg;
    if (holder->made != REG_NONE)
        return holder->made;
    holder->made = body_add_reg(body, type_bits_of_width(bits), reg == REG_NONE ? "%stored" : "%extended");
    if (reg == REG_NONE)
        inst_insert_before(inst, inst_build(body, move_spelling(bits), "di", holder->made,
                                            (int64_t)constant_bits(data->constant, reuser->location->bytes)));
    else
        inst_insert_after(inst, build_copy(reuser, holder->made, reg));
    return holder->made;
}

static Holder *block_last_holder(Reuser *reuser, const Block *block)
{
    uint32_t index = reuser->first_holder[block->id];
    if (!index)
        return NULL;
    while (index < reuser->holders.count && reuser->holders.data[index].access->inst->block == block)
        index++;
    return &reuser->holders.data[index - 1];
}

/* The source of a value. */
typedef struct Origin {
    RegId reg;
    const Holder *holder; /* NULL: a phi */
} Origin;

static Origin phi_origin(Reuser *reuser, Block *block)
{
    if (reuser->phi_regs[block->id] == REG_NONE) {
        Type type = type_bits_of_width(reuser->location->reg_bits);
        reuser->phi_regs[block->id] = body_add_reg(reuser->body, type, "%reused");
        VEC_PUSH(reuser->scratch, reuser->new_phis, block);
    }
    return (Origin){reuser->phi_regs[block->id], NULL};
}

/* The value that the location has at the top of the block, or, with 'at_end', at its end. */
static Origin value_at(Reuser *reuser, Block *block, bool at_end)
{
    for (;; at_end = true) {
        Holder *holder = at_end ? block_last_holder(reuser, block) : NULL;
        if (holder)
            return (Origin){holder_value(reuser, holder), holder};
        if (bitset_has(&reuser->joins, block->id) &&
            bitset_has(&reuser->locations->entry[block->id], reuser->number))
            return phi_origin(reuser, block);
        block = dominance_parent(reuser->dominance, block);
        require(block);
    }
}

static void joins_find(Reuser *reuser)
{
    VEC(Block *) pending = {0};
    for (size_t i = 0; i < reuser->holders.count; i++)
        VEC_PUSH(reuser->scratch, pending, reuser->holders.data[i].access->inst->block);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        Block **frontier = block_list(reuser->frontiers, block);
        for (uint32_t i = 0, n = block_list_count(reuser->frontiers, block); i < n; i++)
            if (!bitset_has(&reuser->joins, frontier[i]->id)) {
                bitset_add(&reuser->joins, frontier[i]->id);
                VEC_PUSH(reuser->scratch, pending, frontier[i]);
            }
    }
}

static void phis_fill(Reuser *reuser)
{
    while (reuser->new_phis.count) {
        Block *block = VEC_POP(reuser->new_phis);
        Phi phi = {.dst = reuser->phi_regs[block->id]};
        for (unsigned p = 0; p < block->pred_count; p++)
            VEC_PUSH(reuser->body->arena, phi.args,
                     (PhiArg){block->preds[p], value_at(reuser, block->preds[p], true).reg});
        VEC_PUSH(reuser->body->arena, block->phis, phi);
    }
}

static void record(Arena *arena, ReuseList *list, const Inst *load, const Inst *source)
{
    bool stored = source && inst_op(source) == OP_ST;
    Reuse reuse = {.load = load->span, .replica = load->replica, .of = load->replica, .count = 1};
    if (source) {
        reuse.source = source->span;
        reuse.of = source->replica;
    }
    reuse.class = stored ? REUSE_STORED
                  : source && span_equal(load->span, source->span) ? REUSE_SELF_TEMPORAL : REUSE_GROUP_TEMPORAL;
    reuse_record(arena, list, &reuse);
}

/* The source before 'index' in the same block, or NULL. */
static Holder *holder_before(Reuser *reuser, size_t index)
{
    const Block *block = reuser->holders.data[index].access->inst->block;
    return index && reuser->holders.data[index - 1].access->inst->block == block ? &reuser->holders.data[index - 1]
                                                                                   : NULL;
}

static void location_reuse(Reuser *reuser, Arena *arena, ReuseList *list)
{
    joins_find(reuser);
    for (size_t i = 0; i < reuser->holders.count; i++) {
        const PlainAccess *access = reuser->holders.data[i].access;
        const Operand *data = &access->data[reuser->holders.data[i].element];
        if (access->is_store || !bitset_has(&reuser->redundant, (size_t)(access - reuser->locations->accesses)))
            continue;
        Holder *before = holder_before(reuser, i);
        Origin origin = before ? (Origin){holder_value(reuser, before), before}
                               : value_at(reuser, access->inst->block, false);
        RegId dst = operand_reg(access->inst, data);
        inst_insert_before(access->inst, build_copy(reuser, dst, origin.reg));
        if (reuser->holders.data[i].element == 0)
            record(arena, list, access->inst, origin.holder ? origin.holder->access->inst : NULL);
    }
    phis_fill(reuser);
}

/* Collects the location's sources; true if some load of it is redundant. */
static bool holders_find(Reuser *reuser, const uint32_t *users, uint32_t count, LocationSource source)
{
    bool wanted = false;
    reuser->holders.count = 0;
    reuser->new_phis.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const PlainAccess *access = &reuser->locations->accesses[users[i]];
        if (access->is_store && source == LOCATION_LOADS)
            continue;
        for (unsigned e = 0; e < access->count; e++) {
            if (access->locations[e] != reuser->number)
                continue;
            VEC_PUSH(reuser->scratch, reuser->holders, (Holder){access, e, REG_NONE});
            wanted |= !access->is_store && bitset_has(&reuser->redundant, users[i]);
        }
    }
    return wanted;
}

static void blocks_start(Reuser *reuser)
{
    size_t blocks = reuser->body->blocks.count;
    reuser->first_holder = ARENA_ARRAY(reuser->scratch, uint32_t, blocks);
    reuser->joins = bitset_new(reuser->scratch, blocks);
    reuser->phi_regs = ARENA_ARRAY(reuser->scratch, RegId, blocks);
    for (size_t b = 0; b < blocks; b++)
        reuser->phi_regs[b] = REG_NONE;
    for (size_t i = reuser->holders.count; i-- > 0;)
        reuser->first_holder[reuser->holders.data[i].access->inst->block->id] = (uint32_t)i + 1;
}

/* Marks the loads all of whose elements are known before them. Returns how many. */
static unsigned redundant_find(Reuser *reuser, LocationSource source)
{
    const Locations *locations = reuser->locations;
    BitSet known = bitset_new(reuser->scratch, locations->count);
    unsigned found = 0;
    for (size_t b = 0; b < reuser->body->blocks.count; b++) {
        const Block *block = reuser->body->blocks.data[b];
        bitset_copy(&known, &locations->entry[b]);
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            const PlainAccess *access = locations->access_of[inst->id];
            bool all = access && !access->is_store && dominance_reaches(reuser->dominance, block->id);
            for (unsigned e = 0; all && e < access->count; e++)
                all = bitset_has(&known, access->locations[e]);
            if (all) {
                bitset_add(&reuser->redundant, (size_t)(access - locations->accesses));
                found++;
            }
            locations_step(locations, inst, source, &known);
        }
    }
    return found;
}

/* For each location the accesses that name it, in order: users[start[l] .. start[l + 1]). */
static uint32_t *users_find(Arena *arena, const Locations *locations, uint32_t **start)
{
    uint32_t total = 0;
    uint32_t *ends = ARENA_ARRAY(arena, uint32_t, (size_t)locations->count + 2);
    for (uint32_t i = 0; i < locations->access_count; i++)
        for (unsigned e = 0; e < locations->accesses[i].count; e++, total++)
            ends[locations->accesses[i].locations[e] + 2]++;
    for (uint32_t l = 2; l < locations->count + 2; l++)
        ends[l] += ends[l - 1];
    uint32_t *users = ARENA_ARRAY(arena, uint32_t, total);
    for (uint32_t i = 0; i < locations->access_count; i++)
        for (unsigned e = 0; e < locations->accesses[i].count; e++)
            users[ends[locations->accesses[i].locations[e] + 1]++] = i;
    *start = ends;
    return users;
}

unsigned reuse_values(Arena *arena, Body *body, Analyses *analyses, LocationSource source, ReuseList *list)
{
    Arena *scratch = arena_new(), *own = arena_new();
    Reuser reuser = {.scratch = scratch, .body = body, .dominance = analyses_dominance(analyses)};
    reuser.locations = locations_compute(own, body, analyses_memory(analyses), analyses_values(analyses), source);
    unsigned found = 0;
    if (reuser.locations) {
        reuser.redundant = bitset_new(own, reuser.locations->access_count);
        found = redundant_find(&reuser, source);
    }
    if (found) {
        uint32_t *start, *users = users_find(own, reuser.locations, &start);
        reuser.frontiers = dominance_frontiers(own, reuser.dominance);
        for (uint32_t l = 0; l < reuser.locations->count; l++) {
            arena_clear(scratch);
            reuser.holders.data = NULL;
            reuser.holders.capacity = 0;
            reuser.new_phis.data = NULL;
            reuser.new_phis.capacity = 0;
            reuser.location = &reuser.locations->items[l];
            reuser.number = l;
            if (!holders_find(&reuser, users + start[l], start[l + 1] - start[l], source))
                continue;
            blocks_start(&reuser);
            location_reuse(&reuser, arena, list);
        }
        for (uint32_t i = 0; i < reuser.locations->access_count; i++)
            if (bitset_has(&reuser.redundant, i))
                inst_remove(reuser.locations->accesses[i].inst);
    }
    arena_free(own);
    arena_free(scratch);
    return found;
}
