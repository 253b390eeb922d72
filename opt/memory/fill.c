/* The loads of a tile, or its stores to memory, shared out among the threads of the block.
 *
 * Portions of a tile are numbered in the order of memory, the innermost dimension first, and thread t loads portions t,
 * t + threads, ... So the indices of portion i are the digits of t + i * threads in a number system whose bases are the
 * sizes of the dimensions, and in most cases only the last digit depends on i. */
#include "opt/memory/rewrite.h"

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
    uint64_t count; /* of each thread */
    unsigned turn;  /* of the threads that load it (takes_turns) */
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

/* The thread's portion number i of a tile with this layout. */
static Portion portion_build(Rewrite *w, const Tile *tile, uint64_t i, unsigned turn)
{
    Portion portion = {.at = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}}, .member = REG_NONE, .inside = REG_NONE,
                       .real = REG_NONE};
    Counter counter = counter_start(w, tile, i, turn, &portion.inside);
    portion.store = w->base;
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

/* The members' registers for a portion: loaded in the top, from where the other thread loads them. */
static void build_load(Rewrite *w, const Member *member, const Portion *portion, RegId *results)
{
    Inst *load = inst_clone(w->body, member->inst);
    Access access;
    RegId address = build_own_address(w, member, portion);
    unsigned count = 0;
    require(inst_access(load, &access));
    operand_ref(load, &access.address->items[0])->reg = address;
    for (unsigned r = 0; r < load->ref_count; r++)
        if (ref_writes(&load->refs[r]))
            results[count++] = load->refs[r].reg = body_clone_reg(w->body, load->refs[r].reg);
    require(count == member->count);
    inst_append(w->top, load);
    if (portion->inside != REG_NONE)
        inst_guard(w->body, load, portion->inside, false, REG_NONE);
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
    inst_append(w->top, store);
    if (portion->inside != REG_NONE)
        inst_set_guard(w->body, store, portion->inside, false);
}

static Loading loading_of(Rewrite *w, const Loading *loadings, size_t known, const Tile *tile)
{
    unsigned turn = 0;
    for (size_t i = 0; i < known; i++)
        turn += takes_turns(w, tile) && takes_turns(w, loadings[i].tile);
    turn = takes_turns(w, tile) ? turn % (w->s->threads / (unsigned)portions_of(tile)) : 0;
    for (size_t i = 0; i < known; i++)
        if (tiles_match(loadings[i].tile, tile) && loadings[i].tile->is_row == tile->is_row &&
            (tile->is_line || loadings[i].tile->member_count == tile->member_count) && loadings[i].turn == turn)
            return (Loading){tile, loadings[i].portions, loadings[i].count, turn};
    uint64_t count = divide_up(portions_of(tile), w->s->threads);
    Portion *portions = ARENA_ARRAY(w->s->scratch, Portion, count);
    for (uint64_t i = 0; i < count; i++)
        portions[i] = portion_build(w, tile, i, turn);
    return (Loading){tile, portions, count, turn};
}

typedef VEC(RegId *) ResultVec;

static void load_all(Rewrite *w, const Loading *loading, ResultVec *results)
{
    const Tile *tile = loading->tile;
    for (uint64_t k = 0; k < loading->count; k++) {
        RegId *regs = ARENA_ARRAY(w->s->scratch, RegId, tile->count);
        if (tile->is_line)
            build_element(w, tile, &loading->portions[k], regs);
        for (unsigned m = 0; m < (tile->is_row ? 1 : tile->member_count) && !tile->is_line; m++)
            build_load(w, &tile->members[m], &loading->portions[k], regs + m * tile->members[m].count);
        VEC_PUSH(w->s->scratch, *results, regs);
    }
}

/* The same by asynchronous copies, which need no registers. */
static void copy_all(Rewrite *w, const Loading *loading)
{
    const Tile *tile = loading->tile;
    for (uint64_t k = 0; k < loading->count; k++) {
        const Portion *portion = &loading->portions[k];
        int64_t offset = portion->offset + tile->offset;
        for (unsigned m = 0; m < (tile->is_row ? 1 : tile->member_count); m++) {
            const Member *member = &tile->members[m];
            async_copy(w, member, build_address(w, member, portion), portion->store, offset, portion->inside);
            offset += member->count * member->bytes;
        }
    }
}

static void fill_ahead(Rewrite *w)
{
    const TileVec *tiles = &w->s->tiles;
    Loading *loadings = ARENA_ARRAY(w->s->scratch, Loading, tiles->count);
    async_begin_tile(w);
    for (size_t i = 0; i < tiles->count; i++) {
        loadings[i] = loading_of(w, loadings, i, &tiles->data[i]);
        copy_all(w, &loadings[i]);
    }
    async_end_copies(w);
}

void rewrite_fill(Rewrite *w)
{
    const TileVec *tiles = &w->s->tiles;
    Loading *loadings = ARENA_ARRAY(w->s->scratch, Loading, tiles->count);
    ResultVec results = {0};
    size_t next = 0;
    w->number = rewrite_thread_number(w);
    if (w->s->buffers > 1) {
        fill_ahead(w);
        return;
    }
    inst_append(w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    if (!tiles->count)
        return;
    for (size_t i = 0; i < tiles->count; i++) {
        loadings[i] = loading_of(w, loadings, i, &tiles->data[i]);
        load_all(w, &loadings[i], &results);
    }
    for (size_t i = 0; i < tiles->count; i++)
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
