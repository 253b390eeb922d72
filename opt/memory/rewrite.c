/* The staged loop, beside the original.
 *
 *     preheader:  enough = all threads of the block get here, there are T rounds, the block has the size expected
 *                 if (!enough) goto header
 *     setup:      addresses; if (not all lines are lines, or rounds differ) goto header
 *     top:        barrier                             all have read the last tile
 *                 load and store this thread's part of the next tile
 *                 barrier                             all of it is there
 *     body:       T rounds that read from the tile
 *     flush:      if stores went to a tile: barrier, the block stores it to memory
 *     tail:       another T rounds? goto top
 *     rest:       if so: barrier; no round left? goto after
 *     header:     the original loop, for the rounds that are left
 *
 * Values pass from round to round as in the original, so sums keep their order. The original loop ends by its own
 * condition; in the copy, whose number of rounds is known, a counter takes its place. */
#include "opt/memory/rewrite.h"

#include <stdlib.h>

enum { ALIGNMENT = 16 };

/* The tiles that are read at one register plus constants. */
typedef struct Reader {
    const Tile *like;
    ReadAddress address;
} Reader;

typedef VEC(Reader) ReaderVec;

static void build_base(Rewrite *w)
{
    Staging *s = w->s;
    const uint64_t bytes = (uint64_t)s->bytes * s->buffers + s->out_bytes;
    if (!*s->array)
        *s->array = body_add_array(w->body, "ptxopt_tile", SPACE_SHARED, bytes, ALIGNMENT);
    if ((*s->array)->dims[0] < bytes)
        (*s->array)->dims[0] = bytes;
    w->base = rewrite_reg(w, TYPE_B32, "%tile");
    w->zero = rewrite_reg(w, TYPE_B32, "%zero");
    rewrite_once(w, inst_build(w->body, "mov.u32", "dv", w->base, *s->array));
    rewrite_once(w, inst_build(w->body, "mov.u32", "di", w->zero, (int64_t)0));
}

/* The address from which this thread's elements of the tile are counted. */
static ReadAddress read_address(Rewrite *w, ReaderVec *readers, const Tile *tile)
{
    for (size_t i = 0; i < readers->count; i++)
        if (tiles_match(readers->data[i].like, tile))
            return readers->data[i].address;
    const Reader reader = {tile, rewrite_own_place(w, tile, w->read_buffer)};
    VEC_PUSH(w->s->scratch, *readers, reader);
    return reader.address;
}

/* Reads the members of a tile at the place of the first of them. */
static void replace_unit(Rewrite *w, const Tile *tile, Inst *const *copies, RegId address)
{
    RegId regs[UNIT_MEMBERS_MOST];
    unsigned count = 0, first = 0;
    for (unsigned m = 0; m < tile->member_count; m++) {
        count += rewrite_results(copies[m], regs + count);
        if (tile->members[m].inst->id < tile->members[first].inst->id)
            first = m;
    }
    inst_insert_before(copies[first], rewrite_read(w, copies[first], tile->members[0].type, regs, count, address,
                                                   tile->offset));
    for (unsigned m = 0; m < tile->member_count; m++)
        inst_remove(copies[m]);
}

/* The copies of the members of tile i, at MEMBERS_MOST * i and after that. */
static Inst **rewrite_copies(Rewrite *w, const TileVec *tiles)
{
    Inst **copies = ARENA_ARRAY(w->s->scratch, Inst *, tiles->count * MEMBERS_MOST + 1);
    for (size_t i = 0; i < tiles->count; i++)
        for (unsigned m = 0; m < tiles->data[i].member_count; m++)
            copies[i * MEMBERS_MOST + m] = rewrite_copy_of(w, tiles->data[i].members[m].inst);
    return copies;
}

static void read_tiles(Rewrite *w)
{
    const TileVec *tiles = &w->s->tiles;
    ReaderVec readers = {0};
    Inst **copies = rewrite_copies(w, tiles);
    for (size_t i = 0; i < tiles->count; i++) {
        const Tile *tile = &tiles->data[i];
        const ReadAddress address = read_address(w, &readers, tile);
        if (tile->is_line)
            rewrite_line(w, tile, &copies[i * MEMBERS_MOST], &address);
        else
            replace_unit(w, tile, &copies[i * MEMBERS_MOST], address.now);
    }
}

/* The phi after all tiles: start + rounds * step, so that pointers which only staged loads read need not advance
 * from round to round. REG_NONE: it has no such step. */
static RegId closed_value(Rewrite *w, size_t p, RegId start)
{
    const Induction *induction = &w->s->inductions[p];
    Body *body = w->body;
    if (!induction->is_found)
        return REG_NONE;
    bool is_wide = type_bits(body->regs.data[start].type) == 64;
    RegId rounds = is_wide ? w->staged_wide : w->staged, value = body_clone_reg(body, start);
    const char *spelling = is_wide ? "mad.lo.s64" : "mad.lo.s32";
    inst_append(w->rest, induction->reg == REG_NONE
                             ? inst_build(body, spelling, "drir", value, rounds, induction->step.constant, start)
                             : inst_build(body, spelling, "drrr", value, rounds, induction->reg, start));
    return value;
}

/* The number of rounds in all tiles. */
static void count_staged(Rewrite *w)
{
    w->staged = rewrite_reg(w, TYPE_B32, "%rounds");
    w->staged_wide = rewrite_reg(w, TYPE_B64, "%rounds");
    inst_append(w->rest, inst_build(w->body, "mul.lo.u32", "dri", w->staged, w->groups.groups, (int64_t)w->s->rounds));
    inst_append(w->rest, inst_build(w->body, "cvt.u64.u32", "dr", w->staged_wide, w->staged));
}

/* The header's phis pass through the top of each tile, and on to the rounds that are left. */
static void lead_phis(Rewrite *w)
{
    Staging *s = w->s;
    Arena *arena = w->body->arena;
    Block *header = s->loop->header, *copy = versions_block(&w->versions, header);
    count_staged(w);
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *old = &header->phis.data[p], *own = &copy->phis.data[p];
        Phi phi = {.dst = body_clone_reg(w->body, old->dst)};
        RegId last = versions_reg(&w->versions, phi_argument(old, s->latch));
        VEC_PUSH(arena, phi.args, ((PhiArg){w->gate, loop_start(s->loop, old)}));
        VEC_PUSH(arena, phi.args, ((PhiArg){w->tail, last}));
        VEC_PUSH(arena, w->top->phis, phi);
        for (size_t a = 0; a < own->args.count; a++)
            if (own->args.data[a].pred == s->loop->preheader)
                own->args.data[a] = (PhiArg){w->top, phi.dst};
        RegId closed = closed_value(w, p, loop_start(s->loop, old));
        VEC_PUSH(arena, old->args, ((PhiArg){w->rest, closed == REG_NONE ? last : closed}));
    }
}

/* Ends the copy of the loop after as many rounds as a tile has. */
static void end_body(Rewrite *w)
{
    Block *header = versions_block(&w->versions, w->s->loop->header);
    Block *latch = versions_block(&w->versions, w->s->latch);
    RegId more = rewrite_reg(w, TYPE_PRED, "%more");
    RegId round = rewrite_counter(w, w->zero, 1);
    inst_insert_before(latch->last, inst_build(w->body, "setp.lt.u32", "dri", more, round,
                                               (int64_t)w->s->rounds - 1));
    inst_remove(latch->last);
    inst_append(latch, inst_build_branch(w->body, header, more, false));
    latch->fall = w->flush ? w->flush : w->tail;
    if (w->flush)
        w->flush->fall = w->tail;
}

/* The predicate that a line's address grows with x as its tile assumes, for this thread and with the others so far. */
static RegId test_line(Rewrite *w, Slices *slices, const Tile *tile, RegId holds)
{
    const Staging *s = w->s;
    const Phi *phi = &s->loop->header->phis.data[s->values->defs[tile->members[0].root].phi];
    const Elsewhere at = {{w->zero, REG_NONE, REG_NONE, REG_NONE}};
    RegId start = loop_start(s->loop, phi), first = slices_value(slices, &at, start);
    RegId expected = body_clone_reg(w->body, start), both = rewrite_reg(w, TYPE_PRED, "%line");
    inst_append(w->setup, inst_build(w->body, "mad.wide.u32", "drir", expected, rewrite_thread_index(w, INDEX_X),
                                     (int64_t)tile->across * tile->unit, first));
    inst_append(w->setup, holds == REG_NONE
                              ? inst_build(w->body, "setp.eq.s64", "drr", both, start, expected)
                              : inst_build(w->body, "setp.eq.and.s64", "drrr", both, start, expected, holds));
    return both;
}

/* Ends the setup: to the original loop unless all threads of the block go round it equally often, all lines are lines,
 * and stores are apart from loads, in all of them. */
static void test_addresses(Rewrite *w)
{
    Staging *s = w->s;
    Slices *slices = slices_new(s, w->setup, w->setup, NULL, w->strides, s->rounds);
    RegId holds = rewrite_vote_on_loads(w, slices, w->in_step);
    for (size_t i = 0; i < s->tiles.count; i++)
        if (s->tiles.data[i].is_line)
            holds = test_line(w, slices, &s->tiles.data[i], holds);
    holds = rewrite_test_stores(w, slices, holds);
    if (holds == REG_NONE)
        return;
    RegId all = rewrite_reg(w, TYPE_PRED, "%lines");
    inst_append(w->setup, inst_build(w->body, "bar.red.and.pred", "dir", all, (int64_t)0, holds));
    inst_append(w->setup, inst_build_branch(w->body, s->loop->header, all, true));
    for (size_t p = 0; p < s->loop->header->phis.count; p++) {
        Phi *phi = &s->loop->header->phis.data[p];
        VEC_PUSH(w->body->arena, phi->args, ((PhiArg){w->setup, loop_start(s->loop, phi)}));
    }
}

static int compare_ids(const void *a, const void *b)
{
    const Block *x = *(Block *const *)a, *y = *(Block *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void copy_loop(Rewrite *w)
{
    Staging *s = w->s;
    Versions *v = &w->versions;
    uint32_t count = s->loop->block_count;
    Block **blocks = ARENA_ARRAY(s->scratch, Block *, count);
    for (uint32_t b = 0; b < count; b++)
        blocks[b] = s->loop->blocks[b];
    qsort(blocks, count, sizeof *blocks, compare_ids);
    *v = versions_new(s->scratch, w->body, s->values);
    versions_begin(v, blocks, count);
    w->setup = w->gate = versions_add_block(v, s->loop->preheader, true);
    if (s->inner) {
        w->verify = versions_add_block(v, s->loop->preheader, true);
        w->gate = versions_add_block(v, s->loop->preheader, true);
        w->setup->fall = w->verify;
        w->verify->fall = w->gate;
    } else if (s->apart_count || s->rounds_differ || s->votes) {
        w->gate = versions_add_block(v, s->loop->preheader, true);
        w->setup->fall = w->gate;
    }
    w->top = versions_add_block(v, s->loop->preheader, true);
    versions_copy(v, blocks, count, s->loop->preheader);
    w->flush = s->out_tiles.count ? versions_add_block(v, s->loop->preheader, true) : NULL;
    w->tail = versions_add_block(v, s->loop->preheader, true);
    w->rest = versions_add_block(v, s->loop->preheader, true);
    w->gate->fall = w->top;
    w->top->fall = versions_block(v, s->loop->header);
    const Loop *reading = s->inner ? s->inner : s->loop;
    w->reading = versions_block(v, reading->header);
    w->reading_end = versions_block(v, reading->latches[0]);
    w->reading_start = s->inner ? versions_block(v, reading->preheader) : w->top;
}

/* The last block before the setup that is in no loop, if the loop is in others; else the setup. */
static Block *outside_loops(const Rewrite *w)
{
    const Staging *s = w->s;
    Block *block = s->loop->preheader;
    if (!loop_of(s->loops, block))
        return w->setup;
    while (loop_of(s->loops, block))
        block = dominance_parent(s->dominance, block);
    return block;
}

static unsigned count_instructions(const Block *block)
{
    unsigned count = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count++;
    return count;
}

/* The instructions of a round of the loop that reads, and its share of those of a tile, and of the loop around it. */
static double work_of_round(const Rewrite *w)
{
    const Staging *s = w->s;
    const unsigned flush = w->flush ? count_instructions(w->flush) : 0;
    double work = (double)(count_instructions(w->top) + flush + count_instructions(w->tail)) / s->rounds, inner = 0;
    if (s->inner)
        work += count_instructions(w->verify);
    for (uint32_t b = 0; b < s->loop->block_count; b++) {
        Block *block = s->loop->blocks[b];
        const unsigned count = count_instructions(versions_block(&w->versions, block));
        if (s->inner && loop_contains(s->loops, s->inner, block))
            inner += count;
        else if (!block->is_cold)
            work += count;
    }
    return s->inner ? work / s->inner_rounds + inner : work;
}

static bool has_lines(const Staging *s)
{
    bool has = false;
    for (size_t i = 0; i < s->tiles.count; i++)
        has |= s->tiles.data[i].is_line;
    return has;
}

void stage_rewrite(Staging *s)
{
    Rewrite w = {.s = s, .body = s->body, .index = {REG_NONE, REG_NONE, REG_NONE},
                 .in_step = REG_NONE, .read_buffer = REG_NONE, .fill_buffer = REG_NONE};
    copy_loop(&w);
    w.once = outside_loops(&w);
    rewrite_test(&w);
    build_base(&w);
    lead_phis(&w);
    if (s->inner) {
        nest_test(&w);
        nest_fill(&w);
        nest_read(&w);
    } else {
        Inst **stores = rewrite_copies(&w, &s->out_tiles);
        w.slices = slices_new(s, w.gate, w.top, w.tail, w.strides, s->rounds);
        rewrite_fill(&w);
        read_tiles(&w);
        rewrite_write(&w, stores);
        if (w.flush)
            rewrite_flush(&w);
    }
    end_body(&w);
    round_groups_end(&w.groups, w.gate, w.top, w.tail, w.rest, s->loop->header, s->after);
    if (!s->inner)
        test_addresses(&w);
    if (s->buffers > 1)
        rewrite_async(&w);
    s->report->prefetches =
        s->request->prefetches && !s->inner && s->tiles.count && !has_lines(s) && s->buffers == 1;
    if (s->report->prefetches)
        rewrite_prefetch(&w);
    s->report->work = work_of_round(&w);
    for (uint32_t b = 0; b < s->loop->block_count; b++)
        s->loop->blocks[b]->is_cold = true;
    s->report->unrolled = s->request->unrolls ? rewrite_unroll(&w) : 1;
    versions_join(&w.versions, s->after);
    block_replace_pred(s->after, versions_block(&w.versions, s->latch), w.rest);
    versions_finish(&w.versions);
    if (s->inner)
        body_remove_unreachable(w.body);
}
