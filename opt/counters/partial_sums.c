/* Partial sums in registers of what a thread adds to one address.
 *
 *     for (i = a; i < b; i++)               partial = 0;
 *         atomicAdd(sum, x[i]);      ->     for (i = a; i < b; i++)
 *                                               partial += x[i];
 *                                           if (partial != 0)
 *                                               atomicAdd(sum, partial);
 *
 *     atomicAdd(sum, u);             ->     atomicAdd(sum, u + v);
 *     atomicAdd(sum, v);
 *
 * The first is scalar promotion (opt/replicas/accumulator.c) of a cell that relaxed atomic operations update, outermost
 * loops first; the second is what merged threads, jammed rounds and unrolled loops leave.
 *
 * No other thread may be able to tell. Between an update and the place where it is made instead, the thread executes
 * no access that may meet it (by a test before the loop, if need be, and a second loop), except updates that commute
 * with it; and nothing that orders memory or waits. So other threads see it as if the thread had been slower:
 * relaxed atomic operations on different addresses are not ordered, and of those on one, others may miss the values in
 * between. Loops with strong accesses are left alone, since such a loop may wait for another thread, and that one for
 * the update. A sum that has not changed is not added, so that no address is updated that the original leaves alone. */
#include "opt/common/preheader.h"
#include "opt/memory/atomics.h"
#include "opt/passes.h"
#include "opt/replicas/accumulator.h"

enum {
    CELLS_MOST = 8,    /* of a loop: each takes a register */
    CELL_NONE = CELLS_MOST,
    UPDATES_MOST = 64, /* of a loop or a block */
    LEAVES_MOST = 24,
};

/* An update with its address. */
typedef struct Update {
    AtomicUpdate update;
    const AffineForm *form; /* NULL: not in global memory, or the address is not in a register */
    unsigned cell;          /* loops: index of the cell that it updates; CELL_NONE */
    unsigned merged;        /* blocks: the updates that it stands for */
    size_t report;          /* blocks, merged > 1: index of its PartialSum */
} Update;

typedef VEC(Update) UpdateVec;

typedef struct Summing {
    PassContext *context;
    Body *body;
    Arena *scratch;
} Summing;

/* The instruction, which is an atomic operation, as an update. False if it is none, or may be ordered. */
static bool update_find(const Summing *s, Inst *inst, const Access *access, Update *out)
{
    const Affine *affine = analyses_affine(s->context->analyses);
    *out = (Update){.cell = CELL_NONE, .merged = 1};
    if (atomic_update(s->body, analyses_values(s->context->analyses), inst, s->context->reassociates, &out->update) !=
        ATOMIC_IS_UPDATE)
        return false;
    const RegId base = address_base(inst, access->address);
    if (base == REG_NONE || type_bits(s->body->regs.data[base].type) != 64 || !access_is_global(affine, inst, access))
        return true;
    AffineAddress *address = ARENA_NEW(s->scratch, AffineAddress);
    affine_of_address(affine, inst, access->address, address);
    out->form = address->form.bits == 64 ? &address->form : NULL;
    return true;
}

static bool updates_one_address(const Update *a, const Update *b)
{
    return a->form && b->form && updates_commute(&a->update, &b->update) &&
           accesses_have_same_terms(&a->update.access, &b->update.access) &&
           affine_compare(a->form, a->update.bytes, b->form, b->update.bytes) == ALIAS_SAME;
}

/* Whether it matters in which order the two are made. */
static bool updates_meet(const Summing *s, const Update *a, const Update *b)
{
    return !updates_commute(&a->update, &b->update) &&
           !accesses_apart(analyses_memory(s->context->analyses), a->update.inst, b->update.inst);
}

static RegId partial_reg(const Summing *s, const AtomicUpdate *update)
{
    return body_add_reg(s->body, update->bytes == 8 ? TYPE_B64 : TYPE_B32,
                        intern(s->body->module->names, "%partial"));
}

static const char *spell(const Summing *s, const char *op, const AtomicUpdate *update)
{
    return arena_printf(s->scratch, "%s.b%u", op, update->bytes * 8);
}

/* A register with what the instruction adds, from before 'at' on; not what it adds where its guard forbids it. */
static RegId value_of(const Summing *s, const AtomicUpdate *update, Inst *at)
{
    const RegId reg = operand_plain_reg(update->inst, update->value);
    if (reg != REG_NONE)
        return reg;
    const RegId value = partial_reg(s, update);
    inst_insert_before(at, inst_build(s->body, spell(s, "mov", update), "di", value,
                                      (int64_t)update->value->constant->bits));
    return value;
}

/* The same, but what changes nothing where the guard forbids it; the value may not have been made then. */
static RegId guarded_value_of(const Summing *s, const AtomicUpdate *update, Inst *at)
{
    const RegId value = value_of(s, update, at);
    const Inst *inst = update->inst;
    if (!inst_is_guarded(inst))
        return value;
    const RegId none = partial_reg(s, update), chosen = partial_reg(s, update);
    Inst *copy = inst_build(s->body, spell(s, "mov", update), "dr", chosen, value);
    inst_insert_before(at, inst_build(s->body, spell(s, "mov", update), "di", none, update->identity));
    inst_insert_before(at, copy);
    inst_guard(s->body, copy, inst_predicate(inst), inst->guard_inverted, none);
    return chosen;
}

static Inst *combine(const Summing *s, const AtomicUpdate *update, RegId result, RegId a, RegId b)
{
    return inst_build(s->body, update_combine(s->scratch, update), "drr", result, a, b);
}

static Inst *build_red(const Summing *s, const AtomicUpdate *update, RegId base, int64_t offset, RegId value)
{
    Inst *red = inst_build(s->body, arena_printf(s->scratch, "red.global.%s", update_combine(s->scratch, update)),
                           "ar", base, offset, value);
    red->span = update->inst->span;
    red->loc = update->inst->loc;
    red->replica = update->inst->replica;
    return red;
}

static size_t report(const Summing *s, const AtomicUpdate *update, bool in_loop)
{
    VEC_PUSH(s->body->module->arena, s->context->summed.sums,
             ((PartialSum){.span = update->inst->span, .loc = update->inst->loc, .in_loop = in_loop,
                           .reassociates = type_class(update->type) == CLASS_FLOAT}));
    return s->context->summed.sums.count - 1;
}

/* Lists the updates of the loop; false if anything else in it may order memory, or wait. */
static bool loop_list(const Summing *s, const Promoter *promoter, UpdateVec *updates)
{
    for (uint32_t b = 0; b < promoter->loop->block_count; b++)
        for (Inst *inst = promoter->loop->blocks[b]->first; inst; inst = inst->next) {
            Access access;
            Update update;
            if (!inst_access(inst, &access) || access.kind != ACCESS_ATOMIC) {
                if (!accumulator_inst_is_plain(inst))
                    return false;
                continue;
            }
            if (updates->count == UPDATES_MOST || !update_find(s, inst, &access, &update))
                return false;
            VEC_PUSH(s->scratch, *updates, update);
        }
    return updates->count > 0;
}

static bool is_invariant(const Summing *s, const Promoter *promoter, const AffineForm *form)
{
    RegIdVec leaves = {0};
    if (!affine_leaves(s->scratch, analyses_affine(s->context->analyses), form, LEAVES_MOST, &leaves))
        return false;
    for (size_t i = 0; i < leaves.count; i++)
        if (!accumulator_is_invariant(promoter, leaves.data[i]))
            return false;
    return true;
}

/* Whether all of the loop's other updates may be made before or after this one. */
static bool may_wait(const Summing *s, const UpdateVec *updates, const Update *update)
{
    for (size_t i = 0; i < updates->count; i++)
        if (updates_meet(s, &updates->data[i], update))
            return false;
    return true;
}

/* Makes a cell of each address that is the same in all rounds. */
static void cells_find(const Summing *s, Promoter *promoter, UpdateVec *updates)
{
    for (size_t i = 0; i < updates->count; i++) {
        Update *update = &updates->data[i];
        for (size_t k = 0; k < i && update->cell == CELL_NONE; k++)
            if (updates->data[k].cell != CELL_NONE && updates_one_address(&updates->data[k], update))
                update->cell = updates->data[k].cell;
        if (update->cell != CELL_NONE || !update->form || promoter->cells.count == CELLS_MOST ||
            !is_invariant(s, promoter, update->form) || !may_wait(s, updates, update))
            continue;
        update->cell = (unsigned)promoter->cells.count;
        VEC_PUSH(s->scratch, promoter->cells,
                 ((Cell){.inst = update->update.inst, .form = update->form, .bytes = update->update.bytes}));
    }
}

/* An address that is there where the loop ends. */
typedef struct Place {
    RegId base; /* REG_NONE: there is none */
    int64_t offset;
} Place;

static Place place_find(const Summing *s, const Promoter *promoter, const Cell *cell)
{
    Access access;
    require(inst_access(cell->inst, &access));
    const RegId base = address_base(cell->inst, access.address);
    if (accumulator_is_invariant(promoter, base))
        return (Place){base, address_offset(access.address)};
    const SumPlace at = sum_place_new(s->body, promoter->loop->preheader, s->context->analyses);
    return (Place){sum_build(&at, cell->form), 0};
}

/* The update of the cell goes to the register, which is written at several places. */
static void update_promote(const Summing *s, const AtomicUpdate *update, RegId partial)
{
    Inst *inst = update->inst;
    const RegId value = guarded_value_of(s, update, inst);
    inst_insert_before(inst, combine(s, update, partial, partial, value));
    inst_remove(inst);
}

/* Sets the sum to what changes nothing: before the loop, and, for paths around it, where the kernel begins. */
static void begin_sum(const Summing *s, Block *preheader, const AtomicUpdate *like, RegId partial)
{
    Inst *begin = inst_build(s->body, spell(s, "mov", like), "di", partial, like->identity);
    inst_insert_first(s->body->blocks.data[0], inst_clone(s->body, begin));
    sum_put(&(SumPlace){.body = s->body, .block = preheader}, begin);
}

static void cell_promote(const Summing *s, const Promoter *promoter, unsigned cell, const UpdateVec *updates,
                         const Place *place, const BlockVec *exits)
{
    const AtomicUpdate *like = NULL;
    RegId partial = REG_NONE;
    for (size_t i = 0; i < updates->count; i++) {
        if (updates->data[i].cell != cell)
            continue;
        if (!like) {
            like = &updates->data[i].update;
            partial = partial_reg(s, like);
        }
        report(s, &updates->data[i].update, true);
        update_promote(s, &updates->data[i].update, partial);
    }
    begin_sum(s, promoter->loop->preheader, like, partial);
    for (size_t e = 0; e < exits->count; e++) {
        const RegId changed = body_add_reg(s->body, TYPE_PRED, intern(s->body->module->names, "%changed"));
        Inst *red = build_red(s, like, place->base, place->offset, partial);
        inst_append(exits->data[e], inst_build(s->body, spell(s, "setp.ne", like), "dri", changed, partial,
                                               like->identity));
        inst_append(exits->data[e], red);
        inst_set_guard(s->body, red, changed, false);
    }
    body_split_variable(s->body, partial);
}

/* Drops the cells whose address cannot be had where the loop ends. */
static void places_find(const Summing *s, Promoter *promoter, UpdateVec *updates, Place places[CELLS_MOST])
{
    unsigned kept = 0, now[CELLS_MOST + 1] = {[CELL_NONE] = CELL_NONE};
    for (unsigned c = 0; c < promoter->cells.count; c++) {
        places[kept] = place_find(s, promoter, &promoter->cells.data[c]);
        promoter->cells.data[kept] = promoter->cells.data[c];
        now[c] = places[kept].base == REG_NONE ? CELL_NONE : kept++;
    }
    promoter->cells.count = kept;
    for (size_t i = 0; i < updates->count; i++)
        updates->data[i].cell = now[updates->data[i].cell];
}

static bool loop_sum(const Summing *s, const Block *header)
{
    Promoter promoter = {.body = s->body, .scratch = s->scratch, .analyses = s->context->analyses};
    UpdateVec updates = {0};
    Place places[CELLS_MOST];
    BlockVec exits = {0};
    if (!accumulator_loop_find(&promoter, header) || !loop_list(s, &promoter, &updates))
        return false;
    cells_find(s, &promoter, &updates);
    places_find(s, &promoter, &updates, places);
    if (!promoter.cells.count || !accumulator_free_cells(&promoter, header, &exits))
        return false;
    for (unsigned c = 0; c < promoter.cells.count; c++)
        cell_promote(s, &promoter, c, &updates, &places[c], &exits);
    return true;
}

static bool loops_sum(PassContext *context)
{
    Arena *names = arena_new();
    VEC(const Block *) headers = {0};
    bool changed = false;
    const LoopForest *loops = analyses_loops(context->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++) /* loops come before those in them */
        VEC_PUSH(names, headers, loops->loops[i].header);
    for (size_t i = 0; i < headers.count; i++) {
        const Summing s = {.context = context, .body = context->body, .scratch = arena_new()};
        if (loop_sum(&s, headers.data[i])) {
            analyses_invalidate(context->analyses, ANALYSES_ALL);
            changed = true;
        }
        arena_free(s.scratch);
    }
    arena_free(names);
    return changed;
}

/* Closes the updates that may not be made after the instruction. */
static void close_before(const Summing *s, UpdateVec *open, const Inst *inst, const Update *update)
{
    size_t kept = 0;
    for (size_t i = 0; i < open->count; i++) {
        const Update *one = &open->data[i];
        const bool meets = update ? updates_meet(s, one, update)
                                  : !accesses_apart(analyses_memory(s->context->analyses), one->update.inst, inst);
        if (!meets)
            open->data[kept++] = *one;
    }
    open->count = kept;
}

static RegId guard_of(const Summing *s, const AtomicUpdate *update, Inst *at)
{
    const Inst *inst = update->inst;
    if (!inst->guard_inverted)
        return inst_predicate(inst);
    const RegId guard = body_add_reg(s->body, TYPE_PRED, intern(s->body->module->names, "%adds"));
    inst_insert_before(at, inst_build(s->body, "not.pred", "dr", guard, inst_predicate(inst)));
    return guard;
}

/* Makes one update of two, in the place of the second. */
static Inst *updates_merge(const Summing *s, const AtomicUpdate *first, const AtomicUpdate *second)
{
    Inst *at = second->inst;
    const bool alike = insts_guarded_alike(first->inst, at);
    const RegId a = alike ? value_of(s, first, at) : guarded_value_of(s, first, at);
    const RegId b = alike ? value_of(s, second, at) : guarded_value_of(s, second, at);
    const RegId sum = partial_reg(s, second);
    const Operand *address = second->access.address;
    Inst *red = build_red(s, second, address_base(at, address), address_offset(address), sum);
    Inst *adds = combine(s, second, sum, a, b);
    inst_insert_before(at, adds);
    inst_insert_before(at, red);
    if (alike && inst_is_guarded(at)) {
        inst_guard(s->body, adds, inst_predicate(at), at->guard_inverted, REG_NONE);
        inst_set_guard(s->body, red, inst_predicate(at), at->guard_inverted);
    } else if (inst_is_guarded(first->inst) && inst_is_guarded(at)) {
        const RegId either = body_add_reg(s->body, TYPE_PRED, intern(s->body->module->names, "%adds"));
        const RegId p = guard_of(s, first, red), q = guard_of(s, second, red);
        inst_insert_before(red, inst_build(s->body, "or.pred", "drr", either, p, q));
        inst_set_guard(s->body, red, either, false);
    }
    inst_remove(first->inst);
    inst_remove(at);
    return red;
}

/* The update that stands for both from now on. */
static Update merged_update(const Summing *s, const Update *first, const Update *second)
{
    Update merged = *second;
    const bool is_new = first->merged == 1;
    merged.merged = first->merged + 1;
    merged.report = is_new ? report(s, &second->update, false) : first->report;
    s->context->summed.sums.data[merged.report].updates = merged.merged;
    merged.update.inst = updates_merge(s, &first->update, &second->update);
    merged.update.value = &merged.update.inst->operands[1];
    require(inst_access(merged.update.inst, &merged.update.access));
    return merged;
}

/* Merges the update with an open one if there is one of its address; then it is open itself. */
static bool update_add(const Summing *s, UpdateVec *open, const Update *update)
{
    for (size_t i = 0; i < open->count; i++)
        if (updates_one_address(&open->data[i], update)) {
            open->data[i] = merged_update(s, &open->data[i], update);
            return true;
        }
    if (update->form && open->count < UPDATES_MOST)
        VEC_PUSH(s->scratch, *open, *update);
    return false;
}

static bool block_sum(const Summing *s, Block *block)
{
    UpdateVec open = {0};
    bool changed = false;
    for (Inst *inst = block->first, *next; inst; inst = next) {
        Access access;
        Update update;
        next = inst->next;
        if (!inst_access(inst, &access) || access.kind != ACCESS_ATOMIC) {
            if (!accumulator_inst_is_plain(inst)) {
                open.count = 0;
            } else if (inst_access(inst, &access) && !access.read_only) {
                close_before(s, &open, inst, NULL);
            }
        } else if (update_find(s, inst, &access, &update)) {
            close_before(s, &open, inst, &update);
            changed |= update_add(s, &open, &update);
        } else {
            open.count = 0;
        }
    }
    return changed;
}

static bool blocks_sum(PassContext *context)
{
    const Summing s = {.context = context, .body = context->body, .scratch = arena_new()};
    bool changed = false;
    for (size_t b = 0; b < s.body->blocks.count; b++)
        changed |= block_sum(&s, s.body->blocks.data[b]);
    arena_free(s.scratch);
    return changed;
}

bool partial_sums_reassociate(const PartialSums *result)
{
    bool reassociates = false;
    for (size_t i = 0; i < result->sums.count; i++)
        reassociates |= result->sums.data[i].reassociates;
    return reassociates;
}

bool pass_partial_sums(PassContext *context)
{
    loops_add_preheaders(context->body, context->analyses);
    loops_add_outer_preheaders(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    const bool in_loops = loops_sum(context);
    return blocks_sum(context) || in_loops;
}
