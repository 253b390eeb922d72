/* The thread's index and the block's size along one dimension, or the block's index and the grid's size.
 *
 * Before the analyses, every read of %tid.d is replaced by one read in the entry block, and so is every read of
 * %ntid.d, which becomes the original size: factor times the new one, or a constant where the contract requires it.
 * After cloning, each replica's index is computed next to the one read.
 *
 * Of merged blocks, the grid keeps its size N: with H = N / factor, rounded up, the first H blocks do the work of all,
 * and the others exit.  A replica whose index is beyond the grid's end exits, too; where it would come to barriers,
 * coarsen_leave.c sees to it.
 *
 * Requires and keeps SSA form. */
#include "opt/coarsen_internal.h"

/* Component 'dimension' of %tid or %ntid. */
static const Sreg *component(const char *vector, unsigned dimension)
{
    return sreg_component(sreg_find(vector), dimension);
}

/* Replaces all reads of a special register by one in the entry block, and returns it; NULL if nothing reads it. */
static Inst *gather_reads(Body *body, const Sreg *sreg, const char *reg_name)
{
    Inst *read = NULL;
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            if (inst == read || coarsening_sreg(inst) != sreg)
                continue;
            if (!read) {
                RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, reg_name));
                read = inst_build(body, "mov.u32", "ds", reg, sreg->name);
                Block *entry = body->blocks.data[0];
                if (entry->first)
                    inst_insert_before(entry->first, read);
                else
                    inst_append(entry, read);
            }
            inst_replace_special(body, inst, sreg, read->refs[0].reg);
        }
    }
    return read;
}

static Inst *insert_after(Inst *place, Inst *inst)
{
    inst_insert_after(place, inst);
    return inst;
}

/* Every replica is there only if its index is within the grid. */
static void gather_block_index(Coarsening *c)
{
    Body *body = c->body;
    const Sreg *index = component("%ctaid", c->dimension);
    Block *entry = coarsening_add_entry(body);
    RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ctaid_first"));
    inst_append(entry, inst_build(body, "mov.u32", "ds", reg, index->name));
    c->index_read = gather_reads(body, index, "%ctaid_read");
    RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_read"));
    RegId beyond = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%beyond"));
    inst_append(entry, inst_build(body, "mov.u32", "ds", size, component("%nctaid", c->dimension)->name));
    c->beyond = inst_build(body, "setp.ge.u32", "drr", beyond, c->index_read->refs[0].reg, size);
    inst_append(entry, c->beyond);
    inst_append(entry, inst_build_branch(body, coarsening_exit(body), beyond, false));
    body_update_preds(body);
}

/* H, after the place. */
static Inst *insert_stride(Body *body, unsigned dimension, unsigned factor, Inst *place, RegId stride)
{
    RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_read"));
    RegId up = body_add_reg(body, TYPE_B32, intern(body->module->names, "%nctaid_up"));
    place = insert_after(place, inst_build(body, "mov.u32", "ds", size, component("%nctaid", dimension)->name));
    place = insert_after(place, inst_build(body, "add.u32", "dri", up, size, (int64_t)factor - 1));
    return insert_after(place, inst_build(body, "div.u32", "dri", stride, up, (int64_t)factor));
}

void coarsening_stop_surplus(Body *body, unsigned dimension, unsigned factor)
{
    Block *entry = coarsening_add_entry(body);
    RegId index = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ctaid_read"));
    RegId kept = body_add_reg(body, TYPE_B32, intern(body->module->names, "%kept"));
    RegId surplus = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%surplus"));
    inst_append(entry, inst_build(body, "mov.u32", "ds", index, component("%ctaid", dimension)->name));
    insert_stride(body, dimension, factor, entry->last, kept);
    inst_append(entry, inst_build(body, "setp.ge.u32", "drr", surplus, index, kept));
    inst_append(entry, inst_build_branch(body, coarsening_exit(body), surplus, false));
    body_update_preds(body);
}

void coarsening_gather_index(Coarsening *c)
{
    Body *body = c->body;
    if (c->level == LEVEL_BLOCK) {
        gather_block_index(c);
        return;
    }
    c->index_read = gather_reads(body, component("%tid", c->dimension), "%tid_read");
    Inst *size_read = gather_reads(body, component("%ntid", c->dimension), "%ntid_read");
    if (size_read) {
        RegId original = size_read->refs[0].reg;
        if (c->size) {
            inst_insert_after(size_read, inst_build(body, "mov.u32", "di", original, (int64_t)c->size));
            inst_remove(size_read);
            body_update_preds(body);
            return;
        }
        RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ntid_coarse"));
        size_read->refs[0].reg = size;
        inst_insert_after(size_read, inst_build(body, "mul.lo.u32", "dri", original, size, (int64_t)c->factor));
    }
    body_update_preds(body);
}

void coarsening_make_indices(Coarsening *c)
{
    Inst *read = c->index_read;
    if (!read)
        return;
    Body *body = c->body;
    RegId first = read->refs[0].reg;
    if (c->beyond) { /* the first replica never is: H <= N, and factor * (H - 1) < N */
        RegId beyond = c->beyond->refs[0].reg;
        inst_insert_after(c->beyond, inst_build(body, "setp.ne.u32", "dii", beyond, (int64_t)0, (int64_t)0));
        inst_remove(c->beyond);
    }
    int64_t factor = c->factor;
    Inst *place = read;
    if (c->stride.kind == STRIDE_BLOCK && c->size) {
        for (unsigned k = 1; k < c->factor; k++)
            place = insert_after(place, inst_build(body, "add.u32", "dri", c->maps[k][first], first,
                                                   (int64_t)k * (c->size / c->factor)));
        return;
    }
    if (c->stride.kind == STRIDE_BLOCK) {
        RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%stride"));
        if (c->level == LEVEL_BLOCK)
            place = insert_stride(body, c->dimension, c->factor, place, size);
        else
            place = insert_after(place, inst_build(body, "mov.u32", "ds", size,
                                                   component("%ntid", c->dimension)->name));
        for (unsigned k = 1; k < c->factor; k++) /* each from the one before: no product stays live */
            place = insert_after(place,
                                  inst_build(body, "add.u32", "drr", c->maps[k][first], c->maps[k - 1][first], size));
        return;
    }
    RegId index = body_add_reg(body, TYPE_B32, intern(body->module->names, "%tid_coarse"));
    read->refs[0].reg = index;
    int64_t step = 1;
    if (c->stride.kind == STRIDE_UNIT)
        place = insert_after(place, inst_build(body, "mul.lo.u32", "dri", first, index, factor));
    else {
        /* (t / s) * c * s + t % s  =  t + (t / s) * (c - 1) * s */
        step = c->stride.number;
        RegId group = body_add_reg(body, TYPE_B32, intern(body->module->names, "%tid_group"));
        place = insert_after(place, inst_build(body, "div.u32", "dri", group, index, step));
        place = insert_after(place, inst_build(body, "mad.lo.u32", "drir", first, group, (factor - 1) * step, index));
    }
    for (unsigned k = 1; k < c->factor; k++)
        place = insert_after(place, inst_build(body, "add.u32", "dri", c->maps[k][first], first, k * step));
}
