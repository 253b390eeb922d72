/* Blocks of one dimension whose threads a kernel arranges in rows.
 *
 *     tx = %tid.x & 15;   ty = %tid.x >> 4           as if blocks had 16 threads along x and the others along y
 *
 * While loops are staged, the body is one of such blocks: it reads %tid.x for tx and %tid.y for ty, and takes
 * ty * 16 + tx where it had %tid.x. So an address that depends on tx alone has 16 elements in a tile, not one for each
 * thread of the block. Afterwards %tid.x and %tid.y are %tid.x & 15 and %tid.x >> 4 again, which is what they stand for
 * whatever blocks are launched. Tests of a block's size are not the body's yet, and are made for the launched size. */
#include "opt/memory/internal.h"

#include "opt/pass.h"

static bool reads(const Inst *inst, const char *sreg)
{
    return inst_sreg(inst) == sreg_find(sreg);
}

static bool is_power(const ComputeSource *source)
{
    return source->is_constant && source->constant && !(source->constant & (source->constant - 1));
}

/* The logarithm of the threads in a row, if the instruction computes the place in it, or the row, of this number; 0: it
 * does neither. *is_row: the row. */
static unsigned row_shift(const Computation *c, bool *is_row)
{
    const ComputeSource *by = &c->sources[1];
    *is_row = c->op == COMPUTE_SHIFT_RIGHT || c->op == COMPUTE_DIV;
    if (c->source_count != 2 || !by->is_constant || by->constant >= BLOCK_MOST_THREADS)
        return 0;
    if (c->op == COMPUTE_SHIFT_RIGHT)
        return by->constant < 10 ? (unsigned)by->constant : 0;
    const ComputeSource next = {.is_constant = true, .constant = by->constant + 1};
    if (c->op == COMPUTE_AND && is_power(&next))
        return (unsigned)__builtin_ctzll(next.constant);
    return (c->op == COMPUTE_DIV || c->op == COMPUTE_REM) && is_power(by) ? (unsigned)__builtin_ctzll(by->constant) : 0;
}

/* The same of %tid.x, which is below 2^31, so that signed arithmetic gives the same. */
static unsigned inst_row_shift(const Body *body, const Values *values, const Inst *inst, bool *is_row)
{
    Computation c;
    const bool is_plain = inst_is_plain(inst) && computation_of(body, inst, &c) && c.bits == 32 && c.reg_bits == 32;
    const RegId reg = is_plain ? c.sources[0].reg : REG_NONE;
    const Inst *read = reg == REG_NONE ? NULL : value_inst(values, value_copied_from(values, reg));
    return read && inst_is_plain(read) && inst_index_axis(read, SREG_ROLE_TID) == 0 ? row_shift(&c, is_row) : 0;
}

/* The logarithm of the threads in a row, on which all instructions agree; 0: there are no rows. */
static unsigned find_shift(const Body *body, const Values *values)
{
    unsigned shift = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            bool is_row;
            const unsigned own = inst_row_shift(body, values, inst, &is_row);
            if (reads(inst, "%tid") || reads(inst, "%tid.y") || (own && shift && own != shift))
                return 0;
            shift = own ? own : shift;
        }
    return shift;
}

/* Makes the results the two indices: what computes them reads these instead. */
static void take_indices(Body *body, const Values *values, RegId column, RegId row)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            bool is_row;
            next = inst->next;
            if (!inst_row_shift(body, values, inst, &is_row))
                continue;
            inst_insert_before(inst, inst_build(body, "mov.b32", "dr", inst_result(inst), is_row ? row : column));
            inst_remove(inst);
        }
}

static void replace_reads(Body *body, const char *name, RegId reg)
{
    const Sreg *sreg = sreg_find(name);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_sreg(inst) == sreg)
                inst_replace_special(body, inst, sreg, reg);
}

/* Puts instructions where the kernel begins, in their order. */
typedef struct Start {
    Body *body;
    Inst *last; /* NULL: none yet */
} Start;

static void start_put(Start *start, Inst *inst)
{
    if (start->last)
        inst_insert_after(start->last, inst);
    else
        inst_insert_first(start->body->blocks.data[0], inst);
    start->last = inst;
}

static RegId new_index(Body *body, const char *name)
{
    return body_add_reg(body, TYPE_B32, intern(body->module->names, name));
}

bool rows_split(BlockRows *rows, PassContext *context)
{
    Body *body = context->body;
    const Values *values = analyses_values(context->analyses);
    *rows = (BlockRows){.launched = context->block, .tuning = body->tuning};
    const unsigned *threads = rows->launched.threads;
    const bool is_flat = threads[0] > 1 && threads[1] == 1 && threads[2] == 1;
    rows->shift = is_flat ? find_shift(body, values) : 0;
    if (!rows->shift || threads[0] >> rows->shift < 2 || threads[0] & ((1U << rows->shift) - 1))
        return false;
    Start start = {.body = body};
    const RegId column = new_index(body, "%column"), row = new_index(body, "%row"), thread = new_index(body, "%thread");
    take_indices(body, values, column, row);
    replace_reads(body, "%tid.x", thread);
    start_put(&start, inst_build(body, "mov.u32", "ds", column, "%tid.x"));
    start_put(&start, inst_build(body, "mov.u32", "ds", row, "%tid.y"));
    rows->thread = inst_build(body, "mad.lo.u32", "drir", thread, row, INT64_C(1) << rows->shift, column);
    start_put(&start, rows->thread);
    context->block.threads[0] = 1U << rows->shift;
    context->block.threads[1] = rows->launched.threads[0] >> rows->shift;
    body->tuning.reqntid_count = 0;
    body->tuning.maxntid[0] = rows->launched.threads[0];
    body->tuning.maxntid_count = rows->tuning.reqntid_count || rows->tuning.maxntid_count;
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    return true;
}

void rows_join(const BlockRows *rows, PassContext *context)
{
    Body *body = context->body;
    Start start = {.body = body};
    const RegId column = new_index(body, "%column"), row = new_index(body, "%row"), thread = new_index(body, "%thread");
    replace_reads(body, "%tid.x", column);
    replace_reads(body, "%tid.y", row);
    start_put(&start, inst_build(body, "mov.u32", "ds", thread, "%tid.x"));
    start_put(&start, inst_build(body, "and.b32", "dri", column, thread, (INT64_C(1) << rows->shift) - 1));
    start_put(&start, inst_build(body, "shr.u32", "dri", row, thread, (int64_t)rows->shift));
    inst_insert_before(rows->thread, inst_build(body, "mov.b32", "dr", inst_result(rows->thread), thread));
    inst_remove(rows->thread);
    body->tuning = rows->tuning;
    context->block = rows->launched;
    analyses_invalidate(context->analyses, ANALYSES_ALL);
}
