/* Several rounds of the loop that reads as one: their number is a multiple of a power of two, so nothing is left over.
 * It saves the counters and branches of small loops. */
#include "opt/memory/rewrite.h"

enum { INSTS_MOST = 320 /* of the unrolled block */ };

/* The rounds before the last one: copies of the block's instructions, ahead of them. */
typedef struct Unrolling {
    Rewrite *w;
    Block *block;
    Inst *first; /* of the last round */
    RegId *now;  /* by RegId of the block: its value in the current round */
} Unrolling;

static bool phis_can_move(const Body *body, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++) {
        const Reg *reg = &body->regs.data[block->phis.data[p].dst];
        if (reg->vector > 1 || !rewrite_move(reg->type))
            return false;
    }
    return true;
}

unsigned unroll_factor(unsigned rounds, unsigned insts)
{
    unsigned factor = 1;
    while (2 * factor <= rounds && 2 * factor * insts <= INSTS_MOST)
        factor *= 2;
    return factor;
}

bool loop_can_unroll(const Staging *s, const Loop *loop)
{
    return loop->block_count == 1 && phis_can_move(s->body, loop->header);
}

/* The rounds that follow one another. In a nest, that has been decided: the number of rounds must be a multiple. */
static unsigned factor_of(const Rewrite *w, const Block *block)
{
    unsigned count = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count++;
    return w->s->inner ? w->s->inner_factor : unroll_factor(w->s->rounds, count);
}

static void copy_round(Unrolling *u)
{
    for (const Inst *inst = u->first; inst != u->block->last; inst = inst->next)
        inst_insert_before(u->first, inst_clone_renamed(u->w->body, inst, u->now));
}

/* The phis get the values that the next round has. */
static void advance_phis(Unrolling *u)
{
    const size_t count = u->block->phis.count;
    RegId *next = ARENA_ARRAY(u->w->s->scratch, RegId, count + 1);
    for (size_t p = 0; p < count; p++)
        next[p] = u->now[phi_argument(&u->block->phis.data[p], u->block)];
    for (size_t p = 0; p < count; p++)
        u->now[u->block->phis.data[p].dst] = next[p];
}

unsigned rewrite_unroll(Rewrite *w)
{
    Body *body = w->body;
    Block *block = w->reading;
    const Loop *loop = w->s->inner ? w->s->inner : w->s->loop;
    const unsigned factor = factor_of(w, block);
    if (loop->block_count > 1 || factor < 2 || !phis_can_move(body, block))
        return 1;
    Unrolling u = {w, block, block->first, ARENA_ARRAY(w->s->scratch, RegId, body->regs.count)};
    const size_t reg_count = body->regs.count, phi_count = block->phis.count;
    for (size_t r = 0; r < reg_count; r++)
        u.now[r] = (RegId)r;
    for (size_t p = 0; p < phi_count; p++)
        u.now[block->phis.data[p].dst] = body_clone_reg(body, block->phis.data[p].dst);
    RegId *firsts = ARENA_ARRAY(w->s->scratch, RegId, phi_count + 1);
    for (size_t p = 0; p < phi_count; p++)
        firsts[p] = u.now[block->phis.data[p].dst];
    for (unsigned round = 1; round < factor; round++) {
        copy_round(&u);
        advance_phis(&u);
    }
    /* The last round is the block's own code, whose values are used outside. */
    for (size_t p = 0; p < phi_count; p++) {
        Phi *phi = &block->phis.data[p];
        Inst *move = inst_build(body, rewrite_move(body->regs.data[phi->dst].type), "dr", phi->dst, u.now[phi->dst]);
        inst_insert_before(u.first, move);
        phi->dst = firsts[p];
    }
    return factor;
}
