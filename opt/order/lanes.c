/* Lanes along two axes, where each thread accesses neighbours in memory that are less than a sector.
 *
 *     c = %ctaid.z * 4 + 0 ... 3;   out[(x * height + y) * channels + c] = ...      a vector of 16 bytes for each lane
 *
 * In a transposition of a grid with several axes, lanes that are neighbours along x store rows apart, and merged
 * threads (coarsening along z) give each of them a part of a row. The next part is another block's, so each store of a
 * warp takes a half of 32 sectors. With N parts in a sector, the pass lets N blocks along the other axis exchange
 * threads, or N rows of threads in a block, such that every N-th lane goes along x:
 *
 *     part = %ctaid.z % N,  first = %ctaid.z - part         x = part * (%ntid.x / N) + %tid.x / N,
 *                                                           z = first + %tid.x % N
 *
 * For each first, the pair takes every value of (%tid.x, %ctaid.z) once, if %ntid.x is a multiple of N; the last blocks
 * or rows, if they are fewer than N, keep their threads. Accesses along x are then of 32 / N neighbours, whole sectors
 * still.
 *
 * Sound if threads do nothing together, and learn of their place by reading its components, all of which are replaced.
 * It is the last pass that changes the code, because others may rely on blocks having one index.
 *
 * Requires and keeps SSA form. */
#include "analysis/analysis.h"
#include "opt/common/ends.h"
#include "opt/demands.h"
#include "opt/order/alone.h"
#include "opt/order/place_code.h"
#include "opt/passes.h"

enum { LEAST_BYTES = 8 };

typedef struct Lanes {
    unsigned index; /* from PATTERN_Y to PATTERN_BLOCK_Z: that of the other threads */
    unsigned parts; /* N */
    Span span;      /* of the access */
} Lanes;

static bool may_exchange(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (!inst_is_alone(inst))
                return false;
    return true;
}

/* Whether lanes along x reach rows apart by the register, and those with the next index this many bytes further. */
static bool is_part_of_row(Arena *scratch, const Patterns *patterns, RegId reg, const Block *at, unsigned index,
                           unsigned bytes)
{
    PatternSum along, beside;
    if (!pattern_slope(scratch, patterns, &patterns->sums[reg], at, index, &beside) || !pattern_is_number(&beside) ||
        (uint64_t)beside.constant != bytes ||
        !pattern_slope(scratch, patterns, &patterns->sums[reg], at, PATTERN_X, &along))
        return false;
    return !pattern_is_number(&along) || along.constant >= PATTERN_SECTOR || along.constant <= -PATTERN_SECTOR;
}

/* Whether there are as many rows of threads, if the index is one of a block's. */
static bool has_rows(const BlockSize *block, unsigned index, unsigned rows)
{
    return index >= PATTERN_BLOCK_X || !block_size_total(block) || block->threads[index - PATTERN_X] >= rows;
}

static bool check_access(Arena *scratch, const PassContext *context, const Inst *inst, Lanes *lanes)
{
    const Patterns *patterns = analyses_patterns(context->analyses);
    Access access;
    if (!inst_access(inst, &access) || !access.address || access.kind == ACCESS_OTHER || access.bytes < LEAST_BYTES ||
        access.bytes >= PATTERN_SECTOR || PATTERN_SECTOR % access.bytes)
        return false;
    const RegId base = address_base(inst, access.address);
    for (unsigned index = PATTERN_Y; index <= PATTERN_BLOCK_Z && base != REG_NONE; index++)
        if (index != PATTERN_BLOCK_X && has_rows(&context->block, index, PATTERN_SECTOR / access.bytes) &&
            is_part_of_row(scratch, patterns, base, inst->block, index, access.bytes)) {
            *lanes = (Lanes){.index = index, .parts = PATTERN_SECTOR / access.bytes, .span = inst->span};
            return true;
        }
    return false;
}

static bool find_lanes(Arena *scratch, const PassContext *context, Lanes *lanes)
{
    const Body *body = context->body;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst && !body->blocks.data[b]->is_cold; inst = inst->next)
            if (check_access(scratch, context, inst, lanes))
                return true;
    return false;
}

static void exchange(Body *body, const Lanes *lanes)
{
    static const char *const names[][2] = {[PATTERN_Y] = {"%tid.y", "%ntid.y"},
                                           [PATTERN_Z] = {"%tid.z", "%ntid.z"},
                                           [PATTERN_BLOCK_Y] = {"%ctaid.y", "%nctaid.y"},
                                           [PATTERN_BLOCK_Z] = {"%ctaid.z", "%nctaid.z"}};
    const char *const *name = names[lanes->index];
    const int64_t parts = lanes->parts, shift = __builtin_ctz(lanes->parts);
    PlaceCode entry = {.body = body};
    const RegId x = place_reg(&entry), other = place_reg(&entry);
    body_replace_special(body, sreg_find("%tid.x"), x);
    body_replace_special(body, sreg_find(name[0]), other);
    entry.block = body_add_entry(body);
    const RegId thread = place_read(&entry, "%tid.x"), row = place_read(&entry, name[0]);
    const RegId width = place_read(&entry, "%ntid.x"), count = place_read(&entry, name[1]);
    const RegId first = place_number(&entry, "and.b32", row, -parts);
    const RegId part = place_number(&entry, "and.b32", row, parts - 1);
    const RegId is_even =
        place_compare(&entry, "setp.eq.u32", place_number(&entry, "and.b32", width, parts - 1), 0, REG_NONE);
    const RegId fits =
        place_test(&entry, "setp.le.and.u32", place_number(&entry, "add.u32", first, parts), count, is_even);
    const RegId piece = place_number(&entry, "shr.u32", width, shift);
    const RegId along = place_mad(&entry, part, piece, place_number(&entry, "shr.u32", thread, shift));
    const RegId beside = place_regs(&entry, "or.b32", first, place_number(&entry, "and.b32", thread, parts - 1));
    place_put(&entry, x, inst_build(body, "selp.b32", "drrr", x, along, thread, fits));
    place_put(&entry, other, inst_build(body, "selp.b32", "drrr", other, beside, row, fits));
}

bool pass_lanes(PassContext *context)
{
    Arena *scratch = arena_new();
    Lanes lanes;
    const bool found = may_exchange(context->body) && !demands_find(context->kernel).has_clusters &&
                       find_lanes(scratch, context, &lanes);
    if (found) {
        context->exchange = (Exchange){.done = true, .lanes = lanes.parts, .span = lanes.span};
        exchange(context->body, &lanes);
    }
    arena_free(scratch);
    return found;
}
