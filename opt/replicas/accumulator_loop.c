/* The loop of the cells that are kept in registers: its instructions, its exits, and a second version of it. */
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/replicas/accumulator.h"

enum {
    MOST_COPIED = 2000, /* instructions that are made twice */
    LEAST_ROUNDS = 8,   /* of a loop that may go as often: fewer, as of what unrolling leaves over, pay for no test */
};

bool accumulator_inst_is_plain(const Inst *inst)
{
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst) || inst->sync != SYNC_NONE ||
        inst->effects & (EFFECT_SYNC | EFFECT_ASYNC | EFFECT_STACK | EFFECT_VOLATILE) ||
        (inst_is_terminator(inst) && !inst_is_branch(inst)))
        return false;
    return !(inst->effects & (EFFECT_READ | EFFECT_WRITE)) ||
           (inst_access(inst, &access) &&
            (access.read_only || (access.weak && access.address && access.bytes)));
}

/* Puts a block on the edge. */
static Block *edge_split(Body *body, Block *from, Block *to)
{
    Block *between = body_add_block(body, from->fall == to ? from : NULL);
    block_retarget(from, to, between);
    block_replace_pred(to, from, between);
    between->fall = to;
    return between;
}

/* The blocks on the edges that lead out of the loop, each with one predecessor. */
static BlockVec exits_split(Promoter *promoter)
{
    Body *body = promoter->body;
    const Loop *loop = promoter->loop;
    BlockVec exits = {0};
    BlockEdgeVec edges = body_edges(promoter->scratch, body);
    VEC(Block *) ends = {0};
    for (size_t e = 0; e < edges.count; e++) {
        Block *from = body->blocks.data[edges.data[e].from], *to = body->blocks.data[edges.data[e].to];
        if (loop_contains(promoter->loops, loop, from) && !loop_contains(promoter->loops, loop, to)) {
            VEC_PUSH(promoter->scratch, ends, from);
            VEC_PUSH(promoter->scratch, ends, to);
        }
    }
    for (size_t i = 0; i < ends.count; i += 2)
        VEC_PUSH(promoter->scratch, exits, edge_split(body, ends.data[i], ends.data[i + 1]));
    return exits;
}

/* Tests before the loop whether the cells meet anything else in it, and makes a second loop for where they do. */
static bool loop_test(Promoter *promoter)
{
    Body *body = promoter->body;
    Block *preheader = promoter->loop->preheader;
    Inst *end = preheader->last && inst_is_terminator(preheader->last) ? preheader->last : NULL;
    SumPlace place = sum_place_new(body, preheader, promoter->analyses);
    TripCount trips;
    if (!trip_count_find_most(promoter->loop, promoter->loops, promoter->analyses, &trips) ||
        trip_count_bound(&trips, place.affine) < LEAST_ROUNDS ||
        !body_may_version(body, place.dominance, preheader, end, MOST_COPIED))
        return false;
    RegId holds = accumulator_test_build(promoter, &place, &trips);
    if (holds == REG_NONE)
        return false;
    body_version(body, preheader, end, holds);
    return true;
}

bool accumulator_loop_find(Promoter *promoter, const Block *header)
{
    promoter->loops = analyses_loops(promoter->analyses);
    promoter->loop = loop_headed(promoter->loops, header);
    return promoter->loop && promoter->loop->preheader;
}

bool accumulator_free_cells(Promoter *promoter, const Block *header, BlockVec *exits)
{
    if (!accumulator_ranges_find(promoter) || (promoter->ranges.count && !loop_test(promoter)))
        return false;
    analyses_invalidate(promoter->analyses, ANALYSES_ALL);
    const bool found = accumulator_loop_find(promoter, header);
    require(found);
    *exits = exits_split(promoter);
    body_update_preds(promoter->body);
    return true;
}
