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

/* The logarithm of the threads in a row, if the instruction computes a thread's place in it, or its row, from %tid.x,
 * which is below 2^31; 0: it does neither. *is_row: the row. */
static unsigned row_shift(const Body *body, const Values *values, const Inst *inst, bool *is_row)
{
    Computation c;
    const bool is_plain = inst_is_plain(inst) && computation_of(body, inst, &c) && c.bits == 32 && c.reg_bits == 32;
    const RegId reg = is_plain ? c.sources[0].reg : REG_NONE;
    const Inst *read = reg == REG_NONE ? NULL : value_inst(values, value_copied_from(values, reg));
    if (!read || !inst_is_plain(read) || inst_index_axis(read, SREG_ROLE_TID) != 0)
        return 0;
    computation_take_division(&c);
    *is_row = c.op == COMPUTE_DIV;
    const uint64_t threads = c.source_count == 2 && c.sources[1].is_constant ? c.sources[1].constant : 0;
    const bool is_power = threads && threads < BLOCK_MOST_THREADS && !(threads & (threads - 1));
    return (c.op == COMPUTE_DIV || c.op == COMPUTE_REM) && is_power ? (unsigned)__builtin_ctzll(threads) : 0;
}

/* Whether it reads what rows are to be, or all three indices. */
static bool reads_row(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    return sreg && sreg->role == SREG_ROLE_TID && sreg->axis != SREG_AXIS_X && sreg->axis != SREG_AXIS_Z;
}

/* The logarithm of the threads in a row, on which all instructions agree; 0: there are no rows. */
static unsigned find_shift(const Body *body, const Values *values)
{
    unsigned shift = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            bool is_row;
            const unsigned own = row_shift(body, values, inst, &is_row);
            if (reads_row(inst) || (own && shift && own != shift))
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
            if (!row_shift(body, values, inst, &is_row))
                continue;
            inst_insert_before(inst, inst_build(body, "mov.b32", "dr", inst_result(inst), is_row ? row : column));
            inst_remove(inst);
        }
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
    const RegId column = new_index(body, "%column"), row = new_index(body, "%row"), thread = new_index(body, "%thread");
    take_indices(body, values, column, row);
    body_replace_special(body, sreg_find("%tid.x"), thread);
    rows->thread = inst_build(body, "mad.lo.u32", "drir", thread, row, INT64_C(1) << rows->shift, column);
    inst_insert_first(body->blocks.data[0], rows->thread);
    inst_insert_first(body->blocks.data[0], inst_build(body, "mov.u32", "ds", row, "%tid.y"));
    inst_insert_first(body->blocks.data[0], inst_build(body, "mov.u32", "ds", column, "%tid.x"));
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
    const RegId column = new_index(body, "%column"), row = new_index(body, "%row"), thread = new_index(body, "%thread");
    Block *entry = body->blocks.data[0];
    body_replace_special(body, sreg_find("%tid.x"), column);
    body_replace_special(body, sreg_find("%tid.y"), row);
    inst_insert_first(entry, inst_build(body, "shr.u32", "dri", row, thread, (int64_t)rows->shift));
    inst_insert_first(entry, inst_build(body, "and.b32", "dri", column, thread, (INT64_C(1) << rows->shift) - 1));
    inst_insert_first(entry, inst_build(body, "mov.u32", "ds", thread, "%tid.x"));
    inst_insert_before(rows->thread, inst_build(body, "mov.b32", "dr", inst_result(rows->thread), thread));
    inst_remove(rows->thread);
    body->tuning = rows->tuning;
    context->block = rows->launched;
    analyses_invalidate(context->analyses, ANALYSES_ALL);
}
