/* Stores of a loop that go to tiles, and the test that they do not touch what the loop loads (stores.c). */
#include "opt/memory/rewrite.h"

/* The bytes that a group touches in all rounds that are in tiles: from 'first' on, before 'end'. */
typedef struct Ends {
    RegId base;        /* in the first round, 64 bits */
    RegId first, end;
} Ends;

static RegId add_constant(Rewrite *w, RegId reg, int64_t constant)
{
    RegId sum = rewrite_reg(w, TYPE_B64, "%end");
    inst_append(w->setup, inst_build(w->body, "add.s64", "dri", sum, reg, constant));
    return sum;
}

/* 'last' is the number of the last round that is in a tile. */
static Ends build_ends(Rewrite *w, Slices *slices, const AccessGroup *group, RegId last)
{
    const Elsewhere here = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}};
    Ends ends = {.base = slices_value(slices, &here, group->base)};
    RegId reached = rewrite_reg(w, TYPE_B64, "%end");
    inst_append(w->setup, inst_build(w->body, "mad.lo.s64", "drir", reached, last, group->step, ends.base));
    ends.first = add_constant(w, group->step < 0 ? reached : ends.base, group->first);
    ends.end = add_constant(w, group->step < 0 ? ends.base : reached, group->end);
    return ends;
}

static RegId test_apart(Rewrite *w, const Ends *a, const Ends *b, bool may_be_same, RegId holds)
{
    RegId below = rewrite_reg(w, TYPE_PRED, "%apart"), apart = rewrite_reg(w, TYPE_PRED, "%apart");
    inst_append(w->setup, inst_build(w->body, "setp.le.u64", "drr", below, a->end, b->first));
    inst_append(w->setup, inst_build(w->body, "setp.le.or.u64", "drrr", apart, b->end, a->first, below));
    if (may_be_same) {
        RegId either = rewrite_reg(w, TYPE_PRED, "%apart");
        inst_append(w->setup, inst_build(w->body, "setp.eq.or.s64", "drrr", either, a->base, b->base, apart));
        apart = either;
    }
    if (holds == REG_NONE)
        return apart;
    RegId both = rewrite_reg(w, TYPE_PRED, "%apart");
    inst_append(w->setup, inst_build(w->body, "and.pred", "drr", both, holds, apart));
    return both;
}

RegId rewrite_test_stores(Rewrite *w, Slices *slices, RegId holds)
{
    Staging *s = w->s;
    if (!s->apart_count)
        return holds;
    RegId rounds = rewrite_reg(w, TYPE_B64, "%last"), last = rewrite_reg(w, TYPE_B64, "%last");
    inst_append(w->setup, inst_build(w->body, "mul.wide.u32", "dri", rounds, w->groups.groups, (int64_t)s->rounds));
    inst_append(w->setup, inst_build(w->body, "add.s64", "dri", last, rounds, (int64_t)-1));
    Ends *ends = ARENA_ARRAY(s->scratch, Ends, s->group_count);
    for (unsigned i = 0; i < s->group_count; i++)
        ends[i] = build_ends(w, slices, &s->groups[i], last);
    for (unsigned i = 0; i < s->apart_count; i++) {
        const Apart *apart = &s->aparts[i];
        holds = test_apart(w, &ends[apart->a - s->groups], &ends[apart->b - s->groups], apart->may_be_same, holds);
    }
    return holds;
}

/* The registers that the store reads as data; their number. */
static unsigned data_of(const Inst *store, RegId *regs)
{
    const Operand *data = &store->operands[1];
    const unsigned count = data->kind == OPERAND_VECTOR ? data->item_count : 1;
    for (unsigned i = 0; i < count; i++)
        regs[i] = operand_plain_reg(store, data->kind == OPERAND_VECTOR ? &data->items[i] : data);
    return count;
}

/* Stores the members' data of a round to the tile, in place of the last of them. */
static void replace_stores(Rewrite *w, const Tile *tile, Inst *const *copies, RegId address)
{
    RegId regs[UNIT_MEMBERS_MOST];
    unsigned count = 0, last = 0;
    for (unsigned m = 0; m < tile->member_count; m++) {
        count += data_of(copies[m], regs + count);
        if (tile->members[m].inst->id > tile->members[last].inst->id)
            last = m;
    }
    Inst *store = shared_access(w, true, tile->members[0].type, regs, count, address, tile->offset);
    store->span = copies[last]->span;
    store->loc = copies[last]->loc;
    inst_insert_before(copies[last], store);
    for (unsigned m = 0; m < tile->member_count; m++)
        inst_remove(copies[m]);
}

void rewrite_write(Rewrite *w, Inst *const *copies)
{
    const TileVec *tiles = &w->s->out_tiles;
    for (size_t i = 0; i < tiles->count; i++)
        replace_stores(w, &tiles->data[i], &copies[i * MEMBERS_MOST],
                       rewrite_own_place(w, &tiles->data[i], REG_NONE).now);
}
