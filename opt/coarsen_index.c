/* The thread's index and the block's size along one dimension.
 *
 * Before the analyses, every read of %tid.d is replaced by one read in the entry block, and so is every read of
 * %ntid.d, which becomes the original size: factor times the new one. After cloning, each replica's index is computed
 * next to the one read.
 *
 * Requires and keeps SSA form. */
#include "opt/coarsen_internal.h"

#include <string.h>

static const char *const index_names[3] = {"%tid.x", "%tid.y", "%tid.z"};
static const char *const size_names[3] = {"%ntid.x", "%ntid.y", "%ntid.z"};

static const Sreg *sreg_read(const Inst *inst, const char *name)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_SREG && strcmp(operand->sreg->name, name) == 0)
            return operand->sreg;
    }
    return NULL;
}

/* Moves all reads of a special register to one "mov.u32" before 'first'; NULL if nothing reads it. */
static Inst *gather_reads(Body *body, const char *name, const char *reg_name)
{
    Inst *read = NULL;
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const Sreg *sreg = inst == read ? NULL : sreg_read(inst, name);
            if (!sreg)
                continue;
            if (!read) {
                RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, reg_name));
                read = inst_build(body, "mov.u32", "ds", reg, name);
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

void coarsening_gather_index(Coarsening *c)
{
    Body *body = c->body;
    c->index_read = gather_reads(body, index_names[c->dimension], "%tid_read");
    Inst *size_read = gather_reads(body, size_names[c->dimension], "%ntid_read");
    if (size_read) {
        RegId original = size_read->refs[0].reg;
        RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ntid_coarse"));
        size_read->refs[0].reg = size;
        inst_insert_after(size_read, inst_build(body, "mul.lo.u32", "dri", original, size, (int64_t)c->factor));
    }
    body_update_preds(body);
}

static Inst *insert_after(Inst *place, Inst *inst)
{
    inst_insert_after(place, inst);
    return inst;
}

/* T = %tid.d becomes the index of replica 0, and replica k's is made beside it. */
void coarsening_make_indices(Coarsening *c)
{
    Inst *read = c->index_read;
    if (!read)
        return;
    Body *body = c->body;
    RegId first = read->refs[0].reg;
    int64_t factor = c->factor;
    Inst *place = read;
    if (c->stride.kind == STRIDE_BLOCK) {
        RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ntid_coarse"));
        place = insert_after(place, inst_build(body, "mov.u32", "ds", size, size_names[c->dimension]));
        for (unsigned k = 1; k < c->factor; k++) /* each from the one before: an addition, and no product to keep */
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
