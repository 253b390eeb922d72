/* The thread's index and the block's size along one dimension, or the block's index and the grid's size.
 *
 * Before the analyses, every read of %tid.d is replaced by one read in the entry block, and so is every read of
 * %ntid.d, which becomes the original size: factor times the new one, or a constant where the contract requires it.
 * After cloning, each replica's index is computed next to the one read.
 *
 * A block whose known size S the factor does not divide has S / factor threads afterwards, rounded up. A replica whose
 * index is S or more has no thread of the original, and exits at once; where it would come to barriers, leave.c
 * sees to it.
 *
 * If blocks are merged, the grid may keep its size N. Then every 'factor' consecutive blocks are a group: one of them
 * does the work of group g, which is that of block g of a grid of H = N / factor blocks, rounded up, and the others
 * exit. A replica whose index is beyond the grid's end exits, too; where it would come to barriers, leave.c sees to it.
 * Code that is made for such replicas (opt/edges/edges.c) tells them apart itself, and nothing exits.
 * Or the grid shrinks: then the contract requires that the factor divides it.
 *
 * Blocks that exit at once cost little while others keep the SMs busy, but their start is waited for where they come
 * last, and an SM that is given only such blocks is idle (docs/time.md). So they are spread evenly, whether an SM is
 * filled with neighbouring blocks or with every n-th of n SMs: of each group one works, and which one moves on by one
 * now and then. If the last group lacks that one, its first block works.
 *
 * Requires and keeps SSA form. */
#include "opt/coarsen/internal.h"
#include "opt/common/ends.h"
#include "opt/common/quotient.h"

/* Component 'dimension' of %tid or %ntid. */
static const Sreg *component(const char *vector, unsigned dimension)
{
    return sreg_component(sreg_find(vector), dimension);
}

static bool reads_special(const Body *body, const Sreg *sreg)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_sreg(inst) == sreg)
                return true;
    return false;
}

/* Replaces all reads of a special register by one in the entry block, and returns it; NULL if nothing reads it. */
static Inst *gather_reads(Body *body, const Sreg *sreg, const char *reg_name)
{
    if (!reads_special(body, sreg))
        return NULL;
    const RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, reg_name));
    body_replace_special(body, sreg, reg);
    Inst *read = inst_build(body, "mov.u32", "ds", reg, sreg->name);
    inst_insert_first(body->blocks.data[0], read);
    return read;
}

static Inst *insert_after(Inst *place, Inst *inst)
{
    inst_insert_after(place, inst);
    return inst;
}

/* Adds an entry block that reads the index, and takes it from there everywhere. */
static Block *gather_in_entry(Coarsening *c, const char *vector, const char *first, const char *name)
{
    Body *body = c->body;
    const Sreg *index = component(vector, c->step.dimension);
    Block *entry = body_add_entry(body);
    RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, first));
    inst_append(entry, inst_build(body, "mov.u32", "ds", reg, index->name));
    c->index.read = gather_reads(body, index, name);
    return entry;
}

/* Ends the entry: a replica exits if its index is the size or more. */
static void exit_beyond(Coarsening *c, Block *entry, Inst *test)
{
    c->index.beyond = test;
    inst_append(entry, test);
    inst_append(entry, inst_build_branch(c->body, coarsening_exit(c->body), test->refs[0].reg, false));
    body_update_preds(c->body);
}

static RegId add_predicate(Coarsening *c, const char *name)
{
    return body_add_reg(c->body, TYPE_PRED, intern(c->body->module->names, name));
}

/* Every replica is there only if its index is within the grid. */
static void gather_block_index(Coarsening *c)
{
    Body *body = c->body;
    Block *entry = gather_in_entry(c, "%ctaid", "%ctaid_first", "%ctaid_read");
    RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_read"));
    inst_append(entry, inst_build(body, "mov.u32", "ds", size, component("%nctaid", c->step.dimension)->name));
    exit_beyond(c, entry, inst_build(body, "setp.ge.u32", "drr", add_predicate(c, "%beyond"),
                                     c->index.read->refs[0].reg, size));
}

/* The same with a block whose size the factor does not divide. */
static void gather_thread_index(Coarsening *c)
{
    if (c->step.size % c->step.factor == 0) {
        c->index.read = gather_reads(c->body, component("%tid", c->step.dimension), "%tid_read");
        return;
    }
    Block *entry = gather_in_entry(c, "%tid", "%tid_first", "%tid_read");
    exit_beyond(c, entry, inst_build(c->body, "setp.ge.u32", "dri", add_predicate(c, "%beyond"),
                                     c->index.read->refs[0].reg, (int64_t)c->step.size));
}

/* H - 1, after the place. */
static Inst *insert_last(Body *body, unsigned dimension, unsigned factor, Inst *place, RegId last)
{
    RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_read"));
    RegId less = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_less"));
    place = insert_after(place, inst_build(body, "mov.u32", "ds", size, component("%nctaid", dimension)->name));
    place = insert_after(place, inst_build(body, "add.u32", "dri", less, size, (int64_t)-1));
    return inst_insert_quotient(body, place, last, less, factor);
}

static bool is_power_of_two(unsigned number)
{
    return !(number & (number - 1));
}

/* A number modulo the factor, at the end of the block; 'quotient' is the number divided by it, which powers of two do
 * not need. */
static RegId append_remainder(Body *body, Block *block, const char *name, RegId number, RegId quotient,
                              unsigned factor)
{
    RegId rest = body_add_reg(body, TYPE_B32, intern(body->module->names, name));
    if (!is_power_of_two(factor))
        inst_append(block, inst_build(body, "mad.lo.u32", "drir", rest, quotient, -(int64_t)factor, number));
    else
        inst_append(block, inst_build(body, "and.b32", "dri", rest, number, (int64_t)factor - 1));
    return rest;
}

/* How often the turn has moved on, at the end of the entry: along x about every 128 blocks, which no number of SMs that
 * GPUs have is in step with, and with every other row of a grid that has rows; along y and z with each block along x,
 * or each group of them where they are merged, too (stopping the surplus along x replaces this read). */
static RegId append_moves(Body *body, Block *entry, unsigned dimension, unsigned factor, RegId group)
{
    Interner *names = body->module->names;
    RegId moves = body_add_reg(body, TYPE_B32, intern(names, "%moves"));
    if (dimension) {
        inst_append(entry, inst_build(body, "mov.u32", "ds", moves, component("%ctaid", 0)->name));
        return moves;
    }
    const Sreg *row_sreg = component("%ctaid", 1);
    int64_t bits = 7;
    for (unsigned merged = factor; merged > 1 && bits > 1; merged /= 2)
        bits--;
    RegId number = group;
    if (reads_special(body, row_sreg)) {
        RegId row = body_add_reg(body, TYPE_B32, intern(names, "%ctaid_row"));
        number = body_add_reg(body, TYPE_B32, intern(names, "%ctaid_ahead"));
        inst_append(entry, inst_build(body, "mov.u32", "ds", row, row_sreg->name));
        inst_append(entry, inst_build(body, "mad.lo.u32", "drir", number, row, INT64_C(1) << (bits - 1), group));
    }
    inst_append(entry, inst_build(body, "shr.u32", "dri", moves, number, bits));
    return moves;
}

/* The position in its group of the block that works, at the end of the entry. */
static RegId append_turn(Body *body, Block *entry, unsigned dimension, unsigned factor, RegId group)
{
    RegId moves = append_moves(body, entry, dimension, factor, group), quotient = REG_NONE;
    if (!is_power_of_two(factor)) {
        quotient = body_add_reg(body, TYPE_B32, intern(body->module->names, "%turns"));
        inst_insert_quotient(body, entry->last, quotient, moves, factor);
    }
    return append_remainder(body, entry, "%turn", moves, quotient, factor);
}

void coarsening_stop_surplus(Body *body, unsigned dimension, unsigned factor)
{
    const Sreg *sreg = component("%ctaid", dimension);
    Interner *names = body->module->names;
    Block *entry = body_add_entry(body);
    RegId launched = body_add_reg(body, TYPE_B32, intern(names, "%ctaid_launched"));
    RegId group = body_add_reg(body, TYPE_B32, intern(names, "%ctaid_group"));
    RegId size = body_add_reg(body, TYPE_B32, intern(names, "%nctaid_read"));
    RegId chosen = body_add_reg(body, TYPE_B32, intern(names, "%ctaid_chosen"));
    RegId works = body_add_reg(body, TYPE_B32, intern(names, "%works"));
    RegId is_missing = body_add_reg(body, TYPE_PRED, intern(names, "%missing"));
    RegId surplus = body_add_reg(body, TYPE_PRED, intern(names, "%surplus"));
    body_replace_special(body, sreg, group);
    inst_append(entry, inst_build(body, "mov.u32", "ds", launched, sreg->name));
    inst_insert_quotient(body, entry->last, group, launched, factor);
    RegId position = append_remainder(body, entry, "%ctaid_position", launched, group, factor);
    RegId turn = append_turn(body, entry, dimension, factor, group);
    inst_append(entry, inst_build(body, "mad.lo.u32", "drir", chosen, group, (int64_t)factor, turn));
    inst_append(entry, inst_build(body, "mov.u32", "ds", size, component("%nctaid", dimension)->name));
    inst_append(entry, inst_build(body, "setp.ge.u32", "drr", is_missing, chosen, size));
    inst_append(entry, inst_build(body, "selp.b32", "dirr", works, (int64_t)0, turn, is_missing));
    inst_append(entry, inst_build(body, "setp.ne.u32", "drr", surplus, position, works));
    inst_append(entry, inst_build_branch(body, coarsening_exit(body), surplus, false));
    body_update_preds(body);
}

/* Makes every read of the size that of the original. */
static void gather_size(Coarsening *c, const char *vector, const char *name, const char *name_coarse)
{
    Body *body = c->body;
    Inst *size_read = gather_reads(body, component(vector, c->step.dimension), name);
    if (!size_read)
        return;
    RegId original = size_read->refs[0].reg;
    if (c->step.size) {
        inst_insert_after(size_read, inst_build(body, "mov.u32", "di", original, (int64_t)c->step.size));
        inst_remove(size_read);
        return;
    }
    RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, name_coarse));
    size_read->refs[0].reg = size;
    inst_insert_after(size_read, inst_build(body, "mul.lo.u32", "dri", original, size, (int64_t)c->step.factor));
}

void coarsening_gather_index(Coarsening *c)
{
    if (!c->step.merges_blocks) {
        gather_thread_index(c);
        gather_size(c, "%ntid", "%ntid_read", "%ntid_coarse");
    } else if (c->step.shrinks_grid) {
        c->index.read = gather_reads(c->body, component("%ctaid", c->step.dimension), "%ctaid_read");
        gather_size(c, "%nctaid", "%nctaid_read", "%nctaid_coarse");
    } else if (c->step.beyond_joins) {
        c->index.read = gather_reads(c->body, component("%ctaid", c->step.dimension), "%ctaid_read");
    } else {
        gather_block_index(c);
    }
    body_update_preds(c->body);
}

Inst *coarsening_next_index(Body *body, const ReplicaIndex *indices, RegId next, RegId index)
{
    if (indices->distance != REG_NONE)
        return inst_build(body, "add.u32", "drr", next, index, indices->distance);
    return inst_build(body, "add.u32", "dri", next, index, indices->step);
}

void coarsening_make_indices(Coarsening *c)
{
    const CoarsenStep *step = &c->step;
    ReplicaIndex *indices = &c->index;
    Inst *read = indices->read;
    if (!read)
        return;
    Body *body = c->body;
    RegId **maps = c->copies.maps;
    RegId first = read->refs[0].reg;
    indices->first = first;
    if (indices->beyond) { /* the first replica never is: H is N / factor, rounded up */
        RegId beyond = indices->beyond->refs[0].reg;
        inst_insert_after(indices->beyond, inst_build(body, "setp.ne.u32", "dii", beyond, (int64_t)0, (int64_t)0));
        inst_remove(indices->beyond);
    }
    int64_t factor = step->factor;
    Inst *place = read;
    if (step->stride.kind == STRIDE_BLOCK && step->size) {
        indices->step = (int64_t)divide_up(step->size, step->factor);
        for (unsigned k = 1; k < step->factor; k++)
            place = insert_after(place, inst_build(body, "add.u32", "dri", maps[k][first], first, k * indices->step));
        return;
    }
    if (step->stride.kind == STRIDE_BLOCK) {
        RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%stride"));
        const char *vector = step->merges_blocks ? "%nctaid" : "%ntid";
        if (step->merges_blocks && !step->shrinks_grid) {
            RegId last = body_add_reg(body, TYPE_B32, intern(body->module->names, "%last"));
            place = insert_last(body, step->dimension, step->factor, place, last);
            place = insert_after(place, inst_build(body, "add.u32", "dri", size, last, (int64_t)1));
        } else
            place = insert_after(place, inst_build(body, "mov.u32", "ds", size,
                                                   component(vector, step->dimension)->name));
        indices->distance = size;
        for (unsigned k = 1; k < step->factor; k++) /* each from the one before: no product stays live */
            place = insert_after(place, coarsening_next_index(body, indices, maps[k][first], maps[k - 1][first]));
        return;
    }
    RegId index = body_add_reg(body, TYPE_B32, intern(body->module->names, "%tid_coarse"));
    read->refs[0].reg = index;
    indices->step = step->stride.kind == STRIDE_UNIT ? 1 : step->stride.number;
    if (step->stride.kind == STRIDE_UNIT)
        place = insert_after(place, inst_build(body, "mul.lo.u32", "dri", first, index, factor));
    else {
        /* (t / s) * c * s + t % s  =  t + (t / s) * (c - 1) * s */
        RegId group = body_add_reg(body, TYPE_B32, intern(body->module->names, "%tid_group"));
        place = insert_after(place, inst_build(body, "div.u32", "dri", group, index, indices->step));
        int64_t ahead = (factor - 1) * indices->step;
        place = insert_after(place, inst_build(body, "mad.lo.u32", "drir", first, group, ahead, index));
    }
    for (unsigned k = 1; k < step->factor; k++)
        place = insert_after(place, inst_build(body, "add.u32", "dri", maps[k][first], first, k * indices->step));
    indices->group = index;
}

/* Makes the instruction its result, if it divides the number of replica k by the factor, or takes the remainder. */
static void take_group(const Coarsening *c, Inst *inst, const Computation *divided, unsigned k)
{
    const unsigned factor = c->step.factor;
    const uint64_t by = divided->sources[1].constant;
    if (divided->op == COMPUTE_SHIFT_RIGHT && by == (uint64_t)__builtin_ctz(factor))
        inst_insert_before(inst, inst_build(c->body, "mov.b32", "dr", inst_result(inst), c->index.group));
    else if (divided->op == COMPUTE_AND && by == factor - 1)
        inst_insert_before(inst, inst_build(c->body, "mov.b32", "di", inst_result(inst), (int64_t)k));
    else
        return;
    inst_remove(inst);
}

void coarsening_take_groups(const Coarsening *c)
{
    const ReplicaIndex *indices = &c->index;
    Body *body = c->body;
    const CoarsenStep *step = &c->step;
    if (!step->merges_blocks || step->stride.kind != STRIDE_UNIT || !is_power_of_two(step->factor) || !indices->read)
        return;
    unsigned *replica = ARENA_ARRAY(c->scratch, unsigned, body->regs.count); /* whose number it is, from 1 on */
    for (unsigned k = 0; k < step->factor; k++)
        replica[k ? c->copies.maps[k][indices->first] : indices->first] = k + 1;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            Computation computed;
            next = inst->next;
            if (!inst_is_plain(inst) || !computation_of(body, inst, &computed) || computed.bits != 32 ||
                computed.reg_bits != 32 || computed.sources[0].reg == REG_NONE || !replica[computed.sources[0].reg])
                continue;
            const unsigned from = replica[computed.sources[0].reg];
            if (computed.op == COMPUTE_COPY)
                replica[inst_result(inst)] = from;
            else if (computed.source_count == 2 && computed.sources[1].is_constant)
                take_group(c, inst, &computed, from - 1);
        }
}
