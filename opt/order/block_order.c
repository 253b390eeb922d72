/* The order of blocks: each block does the work of another one.
 *
 * GPUs begin blocks in the order of their indices, x first. Those that run at the same time share L2: a row of them
 * reads one band of the first matrix of a product, and all of the second. N rows of blocks read N bands of the first,
 * and only as many of the second as there are columns of N blocks at a time (Triton calls N GROUP_M). With X blocks
 * along x and Y along y, block (x, y) does the work of (x', y'):
 *
 *     top = y - y % N,  h = min(N, Y - top),  l = (y - top) * X + x,     x' = l / h,  y' = top + l % h
 *
 * The blocks of h whole rows change places among themselves: l takes each value below h * X once, and so does the
 * pair (l / h, l % h). l must fit in 32 bits: where N * X does not, blocks keep their places. The last group may have
 * fewer rows.
 *
 * The diagonal order, x' = (x + y) % X, is that of Yang, Xiang, Kong and Zhou, "A GPGPU Compiler for Memory
 * Optimization and Parallelism Management" (PLDI'10, section 3.7), which spreads the blocks of a column over the
 * partitions of memory. It permutes the blocks of each row. x is below 2^31 and y below 2^16, so the sum fits.
 *
 * The z index stays. Every read of %ctaid.x and %ctaid.y takes the new values, which the entry computes once.
 * coarsening_may_renumber() tells whether a kernel computes the same then. */
#include "opt/common/ends.h"
#include "opt/common/quotient.h"
#include "opt/passes.h"

typedef struct Place {
    RegId x, y;
} Place;

static RegId new_reg(Body *body, const char *name)
{
    return body_add_reg(body, TYPE_B32, intern(body->module->names, name));
}

/* The register that an instruction at the end of the block sets to a special register. */
static RegId append_read(Body *body, Block *block, const char *name, const char *sreg)
{
    RegId reg = new_reg(body, name);
    inst_append(block, inst_build(body, "mov.u32", "ds", reg, sreg));
    return reg;
}

/* The first row of the group that the row is in. */
static RegId append_top(Body *body, Block *entry, RegId row, unsigned rows)
{
    RegId top = new_reg(body, "%group_top");
    if (!(rows & (rows - 1))) {
        inst_append(entry, inst_build(body, "and.b32", "dri", top, row, -(int64_t)rows));
        return top;
    }
    RegId group = new_reg(body, "%group");
    inst_insert_quotient(body, entry->last, group, row, rows);
    inst_append(entry, inst_build(body, "mul.lo.u32", "dri", top, group, (int64_t)rows));
    return top;
}

/* Computes the block's place at the end of the entry. */
static void append_groups(Body *body, Block *entry, Place launched, unsigned rows, Place place)
{
    const int64_t widest = UINT32_MAX / rows;
    RegId width = append_read(body, entry, "%nctaid_x", "%nctaid.x");
    RegId height = append_read(body, entry, "%nctaid_y", "%nctaid.y");
    RegId top = append_top(body, entry, launched.y, rows);
    RegId row = new_reg(body, "%group_row"), left = new_reg(body, "%rows_left"), high = new_reg(body, "%group_rows");
    RegId number = new_reg(body, "%group_number"), column = new_reg(body, "%group_column");
    RegId before = new_reg(body, "%group_before"), rest = new_reg(body, "%group_rest");
    RegId below = new_reg(body, "%group_below");
    RegId fits = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%group_fits"));
    inst_append(entry, inst_build(body, "sub.u32", "drr", row, launched.y, top));
    inst_append(entry, inst_build(body, "sub.u32", "drr", left, height, top));
    inst_append(entry, inst_build(body, "min.u32", "dri", high, left, (int64_t)rows));
    inst_append(entry, inst_build(body, "mad.lo.u32", "drrr", number, row, width, launched.x));
    inst_append(entry, inst_build(body, "div.u32", "drr", column, number, high));
    inst_append(entry, inst_build(body, "mul.lo.u32", "drr", before, column, high));
    inst_append(entry, inst_build(body, "sub.u32", "drr", rest, number, before));
    inst_append(entry, inst_build(body, "add.u32", "drr", below, top, rest));
    inst_append(entry, inst_build(body, "setp.le.u32", "dri", fits, width, widest));
    inst_append(entry, inst_build(body, "selp.b32", "drrr", place.x, column, launched.x, fits));
    inst_append(entry, inst_build(body, "selp.b32", "drrr", place.y, below, launched.y, fits));
}

/* The same; y stays. */
static void append_diagonal(Body *body, Block *entry, Place launched, RegId place_x)
{
    RegId width = append_read(body, entry, "%nctaid_x", "%nctaid.x"), sum = new_reg(body, "%ctaid_sum");
    inst_append(entry, inst_build(body, "add.u32", "drr", sum, launched.x, launched.y));
    inst_append(entry, inst_build(body, "rem.u32", "drr", place_x, sum, width));
}

bool pass_block_order(PassContext *context)
{
    Body *body = context->body;
    const GridOrder *order = context->order;
    const bool is_diagonal = order->kind == GRID_ORDER_DIAGONAL;
    if (order->kind == GRID_ORDER_ROWS)
        return false;
    Place place = {.x = new_reg(body, "%ctaid_x")};
    body_replace_special(body, sreg_find("%ctaid.x"), place.x);
    if (!is_diagonal) {
        place.y = new_reg(body, "%ctaid_y");
        body_replace_special(body, sreg_find("%ctaid.y"), place.y);
    }
    Block *entry = body_add_entry(body);
    const RegId launched_x = append_read(body, entry, "%ctaid_launched_x", "%ctaid.x");
    const Place launched = {launched_x, append_read(body, entry, "%ctaid_launched_y", "%ctaid.y")};
    if (is_diagonal)
        append_diagonal(body, entry, launched, place.x);
    else
        append_groups(body, entry, launched, order->rows, place);
    return true;
}
