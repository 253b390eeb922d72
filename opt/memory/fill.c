/* The loads of a tile, or its stores to memory, shared out among the threads of the block.
 *
 * Portions of a tile are numbered in the order of memory, the innermost dimension first, and thread t loads portions t,
 * t + threads, ... So the indices of portion i are the digits of t + i * threads in a number system whose bases are the
 * sizes of the dimensions, and in most cases only the last digit depends on i. */
#include "opt/memory/rewrite.h"

enum { JOINED_LEAST = 4 /* tiles that one instruction loads: choosing between addresses takes more than two loads */ };

/* A part of a tile that a thread loads at once: a unit, or one member's element of a row. */
typedef struct Portion {
    Elsewhere at;
    RegId member;   /* rows: the number of the member; lines: of the element; else REG_NONE */
    RegId store;    /* the address in the tile, to which the tile's offset is added, and 'offset' is, too */
    int64_t offset; /* bytes */
    RegId inside;   /* whether there is such a portion; REG_NONE: there is */
    RegId real;     /* lines with a pad: whether it is there and not of the pad, which is zero */
} Portion;

/* A tile with the portions that all tiles of its layout have. */
typedef struct Loading {
    const Tile *tile;
    const Portion *portions;
    uint64_t count;        /* of each thread */
    unsigned turn;         /* of the threads that load it (takes_turns) */
    unsigned joined;       /* the tiles, with those after it, that one instruction loads, each for other threads: */
    const RegId *is_turn;  /* by tile, but of the first: whether the thread loads it */
} Loading;

/* A number that is split into indices: a register, and a constant that is added to it. */
typedef struct Counter {
    RegId reg;
    uint64_t constant;
} Counter;

bool tiles_match(const Tile *a, const Tile *b)
{
    if (a->unit != b->unit || a->dim_count != b->dim_count || a->is_line != b->is_line ||
        a->across != b->across || a->step != b->step || a->span != b->span)
        return false;
    for (unsigned d = 0; d < a->dim_count; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

RegId rewrite_thread_number(Rewrite *w)
{
    const unsigned *block = w->s->block.threads;
    RegId number = rewrite_thread_index(w, INDEX_X);
    if (block[1] > 1)
        number = rewrite_multiple(w, rewrite_thread_index(w, INDEX_Y), block[0], number);
    if (block[2] > 1)
        number = rewrite_multiple(w, rewrite_thread_index(w, INDEX_Z), block[0] * block[1], number);
    return number;
}

static RegId build_sum(Rewrite *w, RegId reg, uint64_t constant)
{
    if (!constant)
        return reg;
    RegId sum = rewrite_reg(w, TYPE_B32, "%stage");
    rewrite_once(w, inst_build(w->body, "add.u32", "dri", sum, reg, (int64_t)constant));
    return sum;
}

static unsigned log_two(uint32_t power)
{
    return (unsigned)__builtin_ctz(power);
}

/* Takes the remainder by 'size' off the counter. */
static RegId counter_split(Rewrite *w, Counter *counter, uint32_t size)
{
    if (counter->constant % size)
        *counter = (Counter){build_sum(w, counter->reg, counter->constant), 0};
    RegId rest = rewrite_reg(w, TYPE_B32, "%stage"), quotient = rewrite_reg(w, TYPE_B32, "%stage");
    bool is_power = !(size & (size - 1));
    rewrite_once(w, inst_build(w->body, is_power ? "and.b32" : "rem.u32", "dri", rest, counter->reg,
                             is_power ? (int64_t)size - 1 : (int64_t)size));
    rewrite_once(w, inst_build(w->body, is_power ? "shr.u32" : "div.u32", "dri", quotient, counter->reg,
                             is_power ? (int64_t)log_two(size) : (int64_t)size));
    *counter = (Counter){quotient, counter->constant / size};
    return rest;
}

static uint64_t portions_of(const Tile *tile)
{
    uint64_t portions = tile->is_row ? tile->member_count : 1;
    for (unsigned d = 0; d < tile->dim_count; d++)
        portions *= tile->sizes[d];
    return portions;
}

/* Whether the tile keeps only some of the threads busy. */
static bool takes_turns(const Rewrite *w, const Tile *tile)
{
    uint64_t all = portions_of(tile);
    return all < w->s->threads && !(w->s->threads % all);
}

static RegId build_predicate(Rewrite *w, const char *spelling, RegId reg, uint64_t constant)
{
    RegId holds = rewrite_reg(w, TYPE_PRED, "%inside");
    rewrite_once(w, inst_build(w->body, spelling, "dri", holds, reg, (int64_t)constant));
    return holds;
}

/* The counter of the thread's portion number i. If several tiles are needed to keep all threads busy, the turn says
 * which of them load this one. */
static Counter counter_start(Rewrite *w, const Tile *tile, uint64_t i, unsigned turn, RegId *inside)
{
    uint64_t all = portions_of(tile), threads = w->s->threads;
    Counter counter = {w->number, i * threads};
    if (takes_turns(w, tile)) {
        RegId rest = counter_split(w, &counter, (uint32_t)all);
        *inside = build_predicate(w, "setp.eq.u32", counter.reg, turn);
        return (Counter){rest, 0};
    }
    if ((i + 1) * threads > all)
        *inside = build_predicate(w, "setp.lt.u32", build_sum(w, w->number, i * threads), all);
    return counter;
}

/* An element of a line is counted from the one that thread 0 reads in round 0. */
static void portion_set(const Rewrite *w, Portion *portion, Index index, RegId value)
{
    if (index != INDEX_LINE) {
        portion->at.index[index] = value;
        return;
    }
    portion->at.index[INDEX_X] = w->zero;
    portion->member = value;
}

/* Whether the element of a line is not of its pad. */
static RegId build_real(Rewrite *w, const Tile *tile, const Portion *portion)
{
    RegId real = build_predicate(w, "setp.lt.u32", portion->member, tile->sizes[0] - tile->pad);
    if (portion->inside == REG_NONE)
        return real;
    RegId both = rewrite_reg(w, TYPE_PRED, "%inside");
    rewrite_once(w, inst_build(w->body, "and.pred", "drr", both, real, portion->inside));
    return both;
}

/* The portion with the number of the counter, counted from the place of the tile. */
static Portion portion_at(Rewrite *w, const Tile *tile, Counter counter, RegId place, RegId inside)
{
    Portion portion = {.at = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}}, .member = REG_NONE, .store = place,
                       .inside = inside, .real = REG_NONE};
    if (tile->is_row) {
        portion.member = counter_split(w, &counter, tile->member_count);
        unsigned bytes = tile->members[0].count * tile->members[0].bytes;
        portion.store = rewrite_multiple(w, portion.member, bytes, portion.store);
    }
    for (unsigned d = 0; d + 1 < tile->dim_count; d++) {
        RegId index = counter_split(w, &counter, tile->sizes[d]);
        portion_set(w, &portion, tile->dims[d], index);
        portion.store = rewrite_multiple(w, index, tile->pitches[d], portion.store);
    }
    unsigned last = tile->dim_count - 1;
    portion.store = rewrite_multiple(w, counter.reg, tile->pitches[last], portion.store);
    portion.offset = (int64_t)(counter.constant * tile->pitches[last]);
    portion_set(w, &portion, tile->dims[last], build_sum(w, counter.reg, counter.constant));
    if (tile->pad)
        portion.real = build_real(w, tile, &portion);
    return portion;
}

/* The thread's portion number i of a tile with this layout. */
static Portion portion_build(Rewrite *w, const Tile *tile, uint64_t i, unsigned turn)
{
    RegId inside = REG_NONE;
    const Counter counter = counter_start(w, tile, i, turn, &inside);
    return portion_at(w, tile, counter, w->base, inside);
}

/* Whether one instruction can load a member of either tile, each for other threads. */
static bool members_join(const Rewrite *w, const Member *a, const Member *b)
{
    return a->inst->signature == b->inst->signature && type_bits(w->body->regs.data[a->base].type) == 64 &&
           type_bits(w->body->regs.data[b->base].type) == 64;
}

/* Whether the threads that load the tile ask for each element whether it is read. */
static bool has_own_condition(const Tile *tile)
{
    return tile->members[0].when && tile->members[0].when->own_count;
}

static bool tiles_join(const Rewrite *w, const Tile *a, const Tile *b)
{
    if (!tiles_match(a, b) || a->is_line || a->is_row != b->is_row || a->member_count != b->member_count ||
        a->bytes != b->bytes || has_own_condition(b))
        return false;
    for (unsigned m = 0; m < a->member_count; m++)
        if (!members_join(w, &a->members[m], &b->members[m]))
            return false;
    return true;
}

/* The tiles from number i on that follow one another in shared memory, and take turns. */
static unsigned count_joined(const Rewrite *w, size_t i)
{
    const TileVec *tiles = &w->s->tiles;
    const Tile *first = &tiles->data[i];
    unsigned count = 1;
    if (first->is_line || !takes_turns(w, first) || has_own_condition(first))
        return 1;
    const unsigned turns = w->s->threads / (unsigned)portions_of(first);
    while (count < turns && i + count < tiles->count && tiles_join(w, first, &tiles->data[i + count]) &&
           tiles->data[i + count].offset == first->offset + count * first->bytes)
        count++;
    return count < JOINED_LEAST ? 1 : count;
}

/* Tiles that one instruction loads. */
static Loading join_tiles(Rewrite *w, const Tile *tile, unsigned joined)
{
    const unsigned all = (unsigned)portions_of(tile);
    Counter counter = {w->number, 0};
    const RegId rest = counter_split(w, &counter, all);
    const RegId place = rewrite_multiple(w, counter.reg, tile->bytes, w->base);
    const RegId inside =
        joined * all == w->s->threads ? REG_NONE : build_predicate(w, "setp.lt.u32", counter.reg, joined);
    Portion *portion = ARENA_NEW(w->s->scratch, Portion);
    RegId *is_turn = ARENA_ARRAY(w->s->scratch, RegId, joined);
    *portion = portion_at(w, tile, (Counter){rest, 0}, place, inside);
    for (unsigned t = 1; t < joined; t++)
        is_turn[t] = build_predicate(w, "setp.eq.u32", counter.reg, t);
    return (Loading){tile, portion, 1, 0, joined, is_turn};
}

/* The address that the other thread loads the member from, less the member's offset: computed in the top. */
static RegId build_address(Rewrite *w, const Member *member, const Portion *portion)
{
    RegId address = slices_value(w->slices, &portion->at, member->base);
    if (portion->member == REG_NONE)
        return address;
    RegId moved = body_clone_reg(w->body, address), way = rewrite_reg(w, TYPE_B64, "%stage");
    bool is_wide = type_bits(w->body->regs.data[address].type) == 64;
    int64_t bytes = member->count * member->bytes;
    if (is_wide)
        rewrite_once(w, inst_build(w->body, "mul.wide.u32", "dri", way, portion->member, bytes));
    inst_append(w->top, is_wide ? inst_build(w->body, "add.s64", "drr", moved, address, way)
                        : inst_build(w->body, "mad.lo.u32", "drir", moved, portion->member, bytes, address));
    return moved;
}

/* The same for a copy of the member's instruction, which adds what is in the instruction. */
static RegId build_own_address(Rewrite *w, const Member *member, const Portion *portion)
{
    RegId address = build_address(w, member, portion);
    if (!member->moved)
        return address;
    RegId moved = body_clone_reg(w->body, address);
    inst_append(w->top, inst_build(w->body, "add.s64", "dri", moved, address, member->moved));
    return moved;
}

/* Whether the thread loads the portion; REG_NONE: it does. */
static RegId portion_inside(Rewrite *w, const Tile *tile, const Portion *portion)
{
    const Sometimes *when = tile->members[0].when;
    return when ? rewrite_passes(w, w->slices, w->gate, &portion->at, when->own, when->own_count, portion->inside)
                : portion->inside;
}

/* The address for a copy of the first tile's instruction, from which this thread loads its element of member m: that of
 * the tile whose turn it is. 'moved': what of the member's offset is not in the instruction. */
static RegId choose_address(Rewrite *w, const Loading *loading, unsigned m, const Portion *portion, int64_t moved)
{
    const Member *first = &loading->tile->members[m];
    RegId chosen = REG_NONE;
    for (unsigned t = 0; t < loading->joined; t++) {
        const Member *member = &loading->tile[t].members[m];
        const int64_t way = member->offset - first->offset + moved;
        RegId address = build_address(w, member, portion);
        if (way) {
            const RegId sum = body_clone_reg(w->body, address);
            inst_append(w->top, inst_build(w->body, "add.s64", "dri", sum, address, way));
            address = sum;
        }
        const RegId either = t ? body_clone_reg(w->body, address) : address;
        if (t)
            inst_append(w->top, inst_build(w->body, "selp.b64", "drrr", either, address, chosen, loading->is_turn[t]));
        chosen = either;
    }
    return chosen;
}

/* The members' registers for a portion: loaded in the top, from where the other thread loads them. */
static void build_load(Rewrite *w, const Loading *loading, unsigned m, const Portion *portion, RegId inside,
                       RegId *results)
{
    const Member *member = &loading->tile->members[m];
    Inst *load = inst_clone(w->body, member->inst);
    Access access;
    RegId address = loading->joined > 1 ? choose_address(w, loading, m, portion, member->moved)
                                        : build_own_address(w, member, portion);
    unsigned count = 0;
    require(inst_access(load, &access));
    operand_ref(load, &access.address->items[0])->reg = address;
    for (unsigned r = 0; r < load->ref_count; r++)
        if (ref_writes(&load->refs[r]))
            results[count++] = load->refs[r].reg = body_clone_reg(w->body, load->refs[r].reg);
    require(count == member->count);
    inst_append(w->top, load);
    if (inside != REG_NONE)
        inst_guard(w->body, load, inside, false, REG_NONE);
}

static RegId build_zero(Rewrite *w, RegId like)
{
    RegId zero = body_clone_reg(w->body, like);
    rewrite_once(w, inst_build(w->body, rewrite_move(w->body->regs.data[like].type), "di", zero, (int64_t)0));
    return zero;
}

/* The same for an element of a line. */
static void build_element(Rewrite *w, const Tile *tile, const Portion *portion, RegId *result)
{
    const Member *member = &tile->members[0];
    RegId root = slices_value(w->slices, &portion->at, member->root);
    RegId address = body_clone_reg(w->body, root), way = rewrite_reg(w, TYPE_B64, "%stage");
    const RegId *like = NULL;
    for (unsigned r = 0; r < member->inst->ref_count && !like; r++)
        if (ref_writes(&member->inst->refs[r]))
            like = &member->inst->refs[r].reg;
    const char *spelling = arena_printf(w->s->scratch, "ld.global.%s", type_name(member->type));
    *result = body_clone_reg(w->body, *like);
    rewrite_once(w, inst_build(w->body, "mul.wide.u32", "dri", way, portion->member, (int64_t)tile->unit));
    inst_append(w->top, inst_build(w->body, "add.s64", "drr", address, root, way));
    Inst *load = inst_build(w->body, spelling, "da", *result, address, tile->start);
    inst_append(w->top, load);
    if (portion->real != REG_NONE)
        inst_guard(w->body, load, portion->real, false, build_zero(w, *like));
    else if (portion->inside != REG_NONE)
        inst_guard(w->body, load, portion->inside, false, REG_NONE);
}

static void build_store(Rewrite *w, const Tile *tile, const Portion *portion, const RegId *regs)
{
    unsigned count = tile->is_row && !tile->is_line ? tile->members[0].count : tile->count;
    Inst *store = shared_access(w, true, tile->members[0].type, regs, count, portion->store,
                                portion->offset + tile->offset);
    const RegId inside = portion_inside(w, tile, portion);
    inst_append(w->top, store);
    if (inside != REG_NONE)
        inst_set_guard(w->body, store, inside, false);
}

static Loading loading_of(Rewrite *w, const Loading *loadings, size_t known, const Tile *tile)
{
    unsigned turn = 0;
    for (size_t i = 0; i < known; i++)
        turn += takes_turns(w, tile) && takes_turns(w, loadings[i].tile) && loadings[i].joined == 1;
    turn = takes_turns(w, tile) ? turn % (w->s->threads / (unsigned)portions_of(tile)) : 0;
    for (size_t i = 0; i < known; i++)
        if (loadings[i].joined == 1 && tiles_match(loadings[i].tile, tile) &&
            loadings[i].tile->is_row == tile->is_row && loadings[i].turn == turn &&
            (tile->is_line || loadings[i].tile->member_count == tile->member_count))
            return (Loading){tile, loadings[i].portions, loadings[i].count, turn, 1, NULL};
    uint64_t count = divide_up(portions_of(tile), w->s->threads);
    Portion *portions = ARENA_ARRAY(w->s->scratch, Portion, count);
    for (uint64_t i = 0; i < count; i++)
        portions[i] = portion_build(w, tile, i, turn);
    return (Loading){tile, portions, count, turn, 1, NULL};
}

typedef VEC(RegId *) ResultVec;

static void load_all(Rewrite *w, const Loading *loading, ResultVec *results)
{
    const Tile *tile = loading->tile;
    for (uint64_t k = 0; k < loading->count; k++) {
        RegId *regs = ARENA_ARRAY(w->s->scratch, RegId, tile->count);
        const RegId inside = portion_inside(w, tile, &loading->portions[k]);
        if (tile->is_line)
            build_element(w, tile, &loading->portions[k], regs);
        for (unsigned m = 0; m < (tile->is_row ? 1 : tile->member_count) && !tile->is_line; m++)
            build_load(w, loading, m, &loading->portions[k], inside, regs + m * tile->members[m].count);
        VEC_PUSH(w->s->scratch, *results, regs);
    }
}

/* The same by asynchronous copies, which need no registers. */
static void copy_all(Rewrite *w, const Loading *loading)
{
    const Tile *tile = loading->tile;
    for (uint64_t k = 0; k < loading->count; k++) {
        const Portion *portion = &loading->portions[k];
        const RegId inside = portion_inside(w, tile, portion);
        int64_t offset = portion->offset + tile->offset;
        for (unsigned m = 0; m < (tile->is_row ? 1 : tile->member_count); m++) {
            const Member *member = &tile->members[m];
            const RegId from = loading->joined > 1 ? choose_address(w, loading, m, portion, 0)
                                                   : build_address(w, member, portion);
            async_copy(w, member, from, portion->store, offset, inside);
            offset += member->count * member->bytes;
        }
    }
}

/* Finds out how the threads of a block load the tiles; returns the number of loadings. */
static size_t find_loadings(Rewrite *w, Loading *loadings)
{
    const TileVec *tiles = &w->s->tiles;
    size_t count = 0;
    for (size_t i = 0; i < tiles->count; count++) {
        const unsigned joined = count_joined(w, i);
        loadings[count] = joined > 1 ? join_tiles(w, &tiles->data[i], joined)
                                     : loading_of(w, loadings, count, &tiles->data[i]);
        i += joined;
    }
    return count;
}

static void fill_ahead(Rewrite *w, const Loading *loadings, size_t count)
{
    async_begin_tile(w);
    for (size_t i = 0; i < count; i++)
        copy_all(w, &loadings[i]);
    async_end_copies(w);
}

void rewrite_fill(Rewrite *w)
{
    const TileVec *tiles = &w->s->tiles;
    Loading *loadings = ARENA_ARRAY(w->s->scratch, Loading, tiles->count);
    ResultVec results = {0};
    size_t next = 0;
    w->number = rewrite_thread_number(w);
    const size_t count = find_loadings(w, loadings);
    if (w->s->buffers > 1) {
        fill_ahead(w, loadings, count);
        return;
    }
    inst_append(w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        load_all(w, &loadings[i], &results);
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = 0; k < loadings[i].count; k++)
            build_store(w, loadings[i].tile, &loadings[i].portions[k], results.data[next++]);
    inst_append(w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
}

/* Stores the members' elements of a portion to where the other thread stores them. */
static void flush_portion(Rewrite *w, const Tile *tile, const Portion *portion)
{
    int64_t offset = portion->offset + tile->offset;
    for (unsigned m = 0; m < (tile->is_row ? 1 : tile->member_count); m++) {
        const Member *member = &tile->members[m];
        RegId address = build_own_address(w, member, portion), regs[UNIT_MEMBERS_MOST];
        Inst *store = inst_clone(w->body, member->inst);
        Access access;
        unsigned count = 0;
        require(inst_access(store, &access));
        RegRef *base = operand_ref(store, &access.address->items[0]);
        base->reg = address;
        for (unsigned r = 0; r < store->ref_count; r++)
            if (&store->refs[r] != base)
                regs[count++] = store->refs[r].reg = body_clone_reg(w->body, store->refs[r].reg);
        require(count == member->count);
        Inst *load = shared_access(w, false, member->type, regs, count, portion->store, offset);
        inst_append(w->flush, load);
        inst_append(w->flush, store);
        if (portion->inside != REG_NONE) {
            inst_guard(w->body, load, portion->inside, false, REG_NONE);
            inst_set_guard(w->body, store, portion->inside, false);
        }
        offset += member->count * member->bytes;
    }
}

void rewrite_flush(Rewrite *w)
{
    const TileVec *tiles = &w->s->out_tiles;
    Loading *loadings = ARENA_ARRAY(w->s->scratch, Loading, tiles->count);
    /* Registers of their own, which are not those of tiles that are loaded ahead. */
    w->slices = slices_new(w->s, w->gate, w->top, w->tail, w->strides, w->s->rounds);
    inst_append(w->flush, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    for (size_t i = 0; i < tiles->count; i++) {
        loadings[i] = loading_of(w, loadings, i, &tiles->data[i]);
        for (uint64_t k = 0; k < loadings[i].count; k++)
            flush_portion(w, &tiles->data[i], &loadings[i].portions[k]);
    }
    /* Each thread sees what others have stored for it. */
    inst_append(w->rest, inst_build(w->body, "bar.sync", "i", (int64_t)0));
}
