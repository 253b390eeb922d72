/* The loads and stores that are staged, and where their elements are in shared memory.
 *
 * A tile has an element for each thread and round that read different ones: its dimensions are the indices that the
 * address depends on. The index with the smallest stride in memory is the innermost one, so that consecutive threads
 * load neighbouring elements, whichever threads read them afterwards (section 3.3 of the paper). If that is the round,
 * threads read columns of the tile: a unit more in each row keeps these from falling into one bank. Up to four loads
 * share a tile, so that a thread reads up to 16 bytes with one instruction. */
#include "opt/memory/internal.h"
#include "opt/memory/obstacles.h"

#include <stdlib.h>

enum {
    MOVED_MOST = 1 << 20, /* bytes */
    SECTOR = 32,          /* bytes */
    BANK = 4,             /* bytes */
    ROUNDS_MOST = 32,
    ROUNDS_SOMETIMES = 8, /* of loads that are not executed in every round: of channels, of which there are few */
    LOADS_MOST = 16,      /* of a thread for one tile */
    BYTES_OF_THREAD = 96, /* shared memory that does not cost blocks on an SM full of threads, on most architectures */
    BYTES_LEAST = 8192,   /* nor does this for a block, however small */
    VOTES_MOST = 32,
    GAIN = 2,             /* times as many sectors that a load has to move without its tile */
};

static uint32_t index_size(const Staging *s, const Tile *tile, Index index)
{
    if (index == INDEX_LINE)
        return (s->block.threads[0] - 1) * tile->across + (s->rounds - 1) * tile->step + tile->span +
               tile->pad;
    return index == INDEX_ROUND ? s->rounds : s->block.threads[index];
}

static bool load_refuse(const Staging *s, StagedLoad *load, const Inst *inst, RefusalReason reason)
{
    refusal_set(&load->refusal, s->body, inst, reason, NULL);
    return false;
}

/* The elements of a load or store of a register or a vector of registers. */
static bool read_elements(const Staging *s, const Inst *inst, const Access *access, Member *member)
{
    const Operand *data = &inst->operands[access->kind == ACCESS_STORE];
    member->count = data->kind == OPERAND_VECTOR ? data->item_count : 1;
    member->type = inst->signature->types[0];
    member->bytes = type_bits(member->type) / 8;
    member->bits = 0;
    for (unsigned i = 0; i < member->count; i++) {
        RegId reg = operand_plain_reg(inst, data->kind == OPERAND_VECTOR ? &data->items[i] : data);
        const unsigned bits = reg == REG_NONE ? 0 : type_bits(s->body->regs.data[reg].type);
        if (!bits || s->body->regs.data[reg].vector > 1 || (member->bits && member->bits != bits))
            return false;
        member->bits = bits;
    }
    return inst->operand_count == 2 && (member->count == 1 || member->count == 2 || member->count == 4) &&
           member->bytes && member->count * member->bytes == access->bytes && access->bytes <= UNIT_MOST;
}

static bool is_in_every_round(const Staging *s, const Block *block)
{
    return dominance_has(s->dominance, block, s->latch);
}

/* Takes constants that were added to the base as a part of the offset: neighbours then have the same base. */
static void find_base(const Staging *s, Member *member)
{
    Computation c;
    uint64_t moved = 0;
    while (computation_matches(s->body, value_inst(s->values, member->base), COMPUTE_ADD, 64, "ri", &c) &&
           !c.saturates && type_bits(s->body->regs.data[c.sources[0].reg].type) == 64 &&
           moved + c.sources[1].constant + MOVED_MOST <= 2 * MOVED_MOST) {
        member->base = c.sources[0].reg;
        moved += c.sources[1].constant;
    }
    member->moved = (int64_t)moved;
    member->offset = (int64_t)((uint64_t)member->offset + moved);
}

static bool member_find(const Staging *s, Inst *inst, const Access *access, StagedLoad *load, Member *out)
{
    uint64_t offset = 0;
    *out = (Member){.inst = inst, .base = address_base(inst, access->address)};
    if (!access->weak || !inst_is_plain(inst) || inst->pragma || !read_elements(s, inst, access, out))
        return load_refuse(s, load, inst, load->is_store ? REFUSAL_STAGE_STORE_PLAIN : REFUSAL_STAGE_LOAD_PLAIN);
    if (!is_in_every_round(s, inst->block) && s->stores)
        return load_refuse(s, load, inst, REFUSAL_STAGE_LOAD_SOMETIMES);
    if (out->base == REG_NONE)
        return load_refuse(s, load, inst, REFUSAL_STAGE_LOAD_ADDRESS);
    if (access->address->constant)
        offset = access->address->constant->bits;
    out->offset = (int64_t)offset;
    find_base(s, out);
    out->pattern = s->patterns[out->base];
    line_find_root(s, out);
    load->depends_x = out->pattern.depends & 1 << INDEX_X;
    load->depends_y = out->pattern.depends & 1 << INDEX_Y;
    load->depends_z = out->pattern.depends & 1 << INDEX_Z;
    load->depends_round = out->pattern.depends & 1 << INDEX_ROUND;
    if (!out->pattern.is_resolved)
        return load_refuse(s, load, inst, REFUSAL_STAGE_LOAD_UNRESOLVED);
    if (!load->depends_round)
        return load_refuse(s, load, inst, REFUSAL_STAGE_LOAD_FIXED);
    if (is_in_every_round(s, inst->block))
        return true;
    out->root = REG_NONE;
    out->when = sometimes_find(s, inst, out->pattern.depends);
    return out->when || load_refuse(s, load, inst, REFUSAL_STAGE_LOAD_SOMETIMES);
}

/* The place in memory that a thread reads, as far as it is known: unknown strides are as good as different places. */
typedef struct Place {
    unsigned far[3];
    int64_t sector;
} Place;

static Place lane_place(const Staging *s, const Member *member, unsigned lane)
{
    const unsigned *block = s->block.threads;
    const unsigned at[3] = {lane % block[0], lane / block[0] % block[1], lane / block[0] / block[1]};
    Place place = {{0}, 0};
    for (unsigned i = 0; i < 3; i++)
        if (member->pattern.unknown >> i & 1)
            place.far[i] = at[i];
        else
            place.sector += member->pattern.slope[i] * at[i];
    place.sector >>= 5;
    return place;
}

/* The sectors that a warp's access touches. */
static unsigned warp_sectors(const Staging *s, const Member *member)
{
    Place places[LANES];
    unsigned count = 0, lanes = s->threads < LANES ? s->threads : LANES;
    for (unsigned lane = 0; lane < lanes; lane++) {
        const Place place = lane_place(s, member, lane);
        unsigned i = 0;
        while (i < count && (places[i].sector != place.sector || places[i].far[0] != place.far[0] ||
                             places[i].far[1] != place.far[1] || places[i].far[2] != place.far[2]))
            i++;
        if (i == count)
            places[count++] = place;
    }
    unsigned wide = member->count * member->bytes;
    return count * (wide > SECTOR ? wide / SECTOR : 1);
}

static StagedLoad *report_load(const Staging *s, const Inst *inst)
{
    for (size_t i = 0; i < s->report->loads.count; i++)
        if (s->report->loads.data[i].span.begin == inst->span.begin)
            return &s->report->loads.data[i];
    VEC_PUSH(s->body->module->arena, s->report->loads, ((StagedLoad){.span = inst->span, .loc = inst->loc}));
    return &s->report->loads.data[s->report->loads.count - 1];
}

static void find_members(const Staging *s, AccessKind kind, MemberVec *members)
{
    for (uint32_t b = 0; b < s->loop->block_count; b++)
        for (Inst *inst = s->loop->blocks[b]->first; inst; inst = inst->next) {
            Access access;
            Member member;
            if (!inst_access(inst, &access) || access.kind != kind || !access.address ||
                !access_is_global(analyses_affine(s->analyses), inst, &access))
                continue;
            StagedLoad *load = report_load(s, inst);
            load->is_store = kind == ACCESS_STORE;
            if (member_find(s, inst, &access, load, &member))
                VEC_PUSH(s->scratch, *members, member);
            load->is_resolved = member.pattern.is_resolved;
            load->same_x = load->depends_x ? 1 : s->block.threads[0];
            load->same_y = load->depends_y ? 1 : s->block.threads[1];
            load->warp_sectors = load->is_resolved ? warp_sectors(s, &member) : 0;
        }
}

/* Strides compare by their size; unknown ones are larger. */
static bool is_closer(const Pattern *pattern, Index a, Index b)
{
    bool a_unknown = pattern->unknown >> a & 1, b_unknown = pattern->unknown >> b & 1;
    if (a_unknown || b_unknown)
        return b_unknown && !a_unknown;
    return llabs(pattern->slope[a]) < llabs(pattern->slope[b]);
}

static unsigned order_dims(const Pattern *pattern, Index dims[INDEX_COUNT])
{
    unsigned count = 0;
    for (unsigned i = 0; i < INDEX_COUNT; i++) {
        if (!(pattern->depends >> i & 1))
            continue;
        unsigned place = count++;
        for (; place && is_closer(pattern, (Index)i, dims[place - 1]); place--)
            dims[place] = dims[place - 1];
        dims[place] = (Index)i;
    }
    return count;
}

static bool same_kind(const Member *a, const Member *b)
{
    Index a_dims[INDEX_COUNT], b_dims[INDEX_COUNT];
    unsigned count = order_dims(&a->pattern, a_dims);
    if (a->inst->block != b->inst->block || a->type != b->type || a->count != b->count ||
        order_dims(&b->pattern, b_dims) != count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (a_dims[i] != b_dims[i])
            return false;
    return true;
}

/* The members that follow one another in memory, from members[first] on. */
static unsigned find_row(const MemberVec *members, const bool *taken, size_t first, size_t row[UNIT_MEMBERS_MOST])
{
    const Member *start = &members->data[first];
    unsigned count = 1;
    row[0] = first;
    for (bool found = true; found && count < UNIT_MEMBERS_MOST;) {
        found = false;
        for (size_t i = 0; i < members->count && !found; i++) {
            const Member *member = &members->data[i];
            if (taken[i] || member->base != start->base || !same_kind(start, member) ||
                member->offset != start->offset + (int64_t)(count * start->count * start->bytes))
                continue;
            row[count++] = i;
            found = true;
        }
    }
    return count;
}

/* Members that differ in no way that matters, from members[first] on. */
static unsigned find_pack(const MemberVec *members, const bool *taken, size_t first, size_t pack[UNIT_MEMBERS_MOST])
{
    unsigned count = 0;
    for (size_t i = first; i < members->count && count < UNIT_MEMBERS_MOST; i++)
        if (!taken[i] && same_kind(&members->data[first], &members->data[i]))
            pack[count++] = i;
    return count;
}

/* The most of them that one access can read. */
static unsigned unit_members(const Member *member, unsigned count)
{
    unsigned most = 1;
    while (2 * most <= count && 2 * most * member->count <= 4 && 2 * most * member->count * member->bytes <= UNIT_MOST)
        most *= 2;
    return most;
}

static void tile_add(Staging *s, TileVec *tiles, const MemberVec *members, bool *taken, const size_t *which,
                     unsigned count, bool is_row)
{
    Tile tile = {.member_count = count, .is_row = is_row && count > 1};
    for (unsigned m = 0; m < count; m++) {
        tile.members[m] = members->data[which[m]];
        taken[which[m]] = true;
    }
    tile.count = count * tile.members[0].count;
    tile.unit = tile.count * tile.members[0].bytes;
    tile.dim_count = order_dims(&tile.members[0].pattern, tile.dims);
    VEC_PUSH(s->scratch, *tiles, tile);
}

static void make_lines(Staging *s, const MemberVec *members, bool *taken)
{
    size_t line[MEMBERS_MOST];
    for (size_t i = 0; i < members->count; i++) {
        int64_t end;
        unsigned count = taken[i] ? 0 : line_find(s, members, taken, i, line, &end);
        if (!count)
            continue;
        tile_add(s, &s->tiles, members, taken, line, count, false);
        line_make(&s->tiles.data[s->tiles.count - 1], end);
    }
}

/* First the rows that are as long as an access can be, then shorter ones, then what is left. */
static void make_tiles(Staging *s, TileVec *tiles, const MemberVec *members)
{
    bool *taken = ARENA_ARRAY(s->scratch, bool, members->count + 1);
    size_t which[MEMBERS_MOST];
    if (tiles == &s->tiles)
        make_lines(s, members, taken);
    for (unsigned wanted = UNIT_MEMBERS_MOST; wanted > 1; wanted /= 2)
        for (size_t i = 0; i < members->count; i++) {
            unsigned count = taken[i] ? 0 : find_row(members, taken, i, which);
            if (count >= wanted && unit_members(&members->data[i], count) == wanted)
                tile_add(s, tiles, members, taken, which, wanted, true);
        }
    for (size_t i = 0; i < members->count; i++)
        if (!taken[i]) {
            unsigned count = find_pack(members, taken, i, which);
            tile_add(s, tiles, members, taken, which, unit_members(&members->data[i], count), false);
        }
}

static unsigned power_below(uint64_t value)
{
    unsigned power = 1;
    while (2 * (uint64_t)power <= value)
        power *= 2;
    return power;
}

/* The rounds after which a tile's rows are long enough. */
static unsigned rounds_wanted(const Staging *s, const Tile *tile)
{
    const Pattern *pattern = &tile->members[0].pattern;
    uint64_t depth = s->request->depth ? s->request->depth : STAGE_DEPTH, step = tile->unit;
    if (tile->is_line)
        step = (uint64_t)tile->step * tile->unit;
    if (tile->dims[0] == INDEX_ROUND && !(pattern->unknown >> INDEX_ROUND & 1))
        step = (uint64_t)llabs(pattern->slope[INDEX_ROUND]);
    return step && step < depth ? power_below(depth / step) : 1;
}

static bool is_column_read(const Tile *tile)
{
    return tile->dims[0] == INDEX_ROUND && tile->dim_count > 1;
}

/* The bytes of a row that threads read in columns: an odd number of units, or of words, if units are smaller, because
 * several of them are in one bank. */
static uint64_t column_pitch(const Tile *tile, uint64_t bytes)
{
    const unsigned step = tile->unit > BANK ? tile->unit : BANK;
    return (divide_up(bytes, step) | 1) * step;
}

static void place_tile(const Staging *s, Tile *tile)
{
    uint64_t bytes = tile->unit;
    for (unsigned d = 0; d < tile->dim_count; d++) {
        tile->sizes[d] = index_size(s, tile, tile->dims[d]);
        tile->pitches[d] = (uint32_t)bytes;
        bytes *= tile->sizes[d];
        if (!d && is_column_read(tile))
            bytes = column_pitch(tile, bytes);
        if (!d && tile->is_line)
            bytes += (uint64_t)tile->unit * line_padding(s, tile);
    }
    tile->bytes = (uint32_t)((bytes + UNIT_MOST - 1) / UNIT_MOST * UNIT_MOST);
}

static uint64_t tile_units(const Tile *tile)
{
    uint64_t units = 1;
    for (unsigned d = 0; d < tile->dim_count; d++)
        units *= tile->sizes[d];
    return units;
}

/* The sectors that the loads of a block move in the rounds of a tile; of lines: about. */
static uint64_t plain_sectors(const Staging *s, const Tile *tile)
{
    const uint64_t warps = (s->threads + LANES - 1) / LANES;
    return warps * s->rounds * warp_sectors(s, &tile->members[0]) * tile->member_count;
}

/* The sectors that the tile takes. */
static uint64_t tile_sectors(const Tile *tile)
{
    const Member *member = &tile->members[0];
    unsigned inner = tile->is_row ? tile->unit : member->count * member->bytes;
    bool is_dense = tile->is_line || (!(member->pattern.unknown >> tile->dims[0] & 1) &&
                                      llabs(member->pattern.slope[tile->dims[0]]) <= (int64_t)inner);
    uint64_t bytes = tile_units(tile) * tile->unit;
    return is_dense ? (bytes + SECTOR - 1) / SECTOR : tile_units(tile) * tile->member_count;
}

/* Whether the loads move many times the sectors that the block needs. */
static bool tile_pays(const Staging *s, const Tile *tile)
{
    return plain_sectors(s, tile) >= GAIN * tile_sectors(tile);
}

static uint64_t loads_each(const Staging *s, const Tile *tile)
{
    uint64_t loads = tile_units(tile) * (tile->is_row ? tile->member_count : 1);
    return (loads + s->threads - 1) / s->threads * (tile->is_row || tile->is_line ? 1 : tile->member_count);
}

/* Places the tiles one after the other, and sums up their bytes; false if a thread would have too much to do. */
static bool place_all(const Staging *s, TileVec *tiles, uint32_t *bytes)
{
    bool fits = true;
    *bytes = 0;
    for (size_t i = 0; i < tiles->count; i++) {
        Tile *tile = &tiles->data[i];
        place_tile(s, tile);
        tile->offset = *bytes;
        *bytes += tile->bytes;
        fits &= loads_each(s, tile) <= LOADS_MOST && *bytes <= SHARED_MOST;
    }
    return fits;
}

/* Places all tiles; false if they do not fit. */
static bool place_tiles(Staging *s, uint64_t most)
{
    if (!place_all(s, &s->tiles, &s->bytes) || !place_all(s, &s->out_tiles, &s->out_bytes))
        return false;
    for (size_t i = 0; i < s->out_tiles.count; i++)
        s->out_tiles.data[i].offset += s->bytes * s->buffers;
    return s->bytes + divide_up(s->out_bytes, s->buffers) <= most;
}

/* A depth that is asked for may cost blocks on an SM. */
static uint64_t bytes_most(const Staging *s)
{
    const unsigned ways = 1 + (s->tiles.count && s->out_tiles.count);
    uint64_t used = s->shared + s->request->dynamic_shared, most = (uint64_t)ways * BYTES_OF_THREAD * s->threads;
    uint64_t left = (used < SHARED_MOST ? SHARED_MOST - used : 0) / s->buffers;
    most = most < BYTES_LEAST ? BYTES_LEAST : most;
    return most < left && !s->request->depth ? most : left;
}

/* Whether several threads of a block read an element, or a warp more sectors than its elements fill. */
static bool is_shared(const Staging *s, const Member *member)
{
    const unsigned lanes = s->threads < LANES ? s->threads : LANES;
    for (unsigned d = 0; d < 3; d++)
        if (s->block.threads[d] > 1 && !(member->pattern.depends >> d & 1))
            return true;
    return warp_sectors(s, member) > divide_up(lanes * member->count * member->bytes, SECTOR);
}

/* Whether threads vote on the same parts. */
static bool is_alike(const Sometimes *a, const Sometimes *b)
{
    if (!a || !b || a->other_count != b->other_count)
        return a == b;
    for (unsigned i = 0; i < a->other_count; i++)
        if (a->others[i].predicate != b->others[i].predicate || a->others[i].passes_if != b->others[i].passes_if)
            return false;
    return true;
}

/* Whether the tile is the first for which threads vote on its parts. */
static bool is_first(const TileVec *tiles, size_t tile)
{
    const Sometimes *when = tiles->data[tile].members[0].when;
    if (!when || !when->other_count)
        return false;
    for (size_t i = 0; i < tile; i++)
        if (is_alike(tiles->data[i].members[0].when, when))
            return false;
    return true;
}

/* Drops tiles for which threads would have to vote on too many conditions; returns how many votes the others take. */
static unsigned limit_votes(const Staging *s, TileVec *tiles)
{
    unsigned votes = 0;
    size_t kept = 0;
    for (size_t i = 0; i < tiles->count; i++) {
        tiles->data[kept] = tiles->data[i];
        const bool is_new = is_first(tiles, kept);
        if (is_new && votes == VOTES_MOST) {
            for (unsigned m = 0; m < tiles->data[kept].member_count; m++) {
                const Inst *inst = tiles->data[kept].members[m].inst;
                load_refuse(s, report_load(s, inst), inst, REFUSAL_STAGE_LOAD_SOMETIMES);
            }
            continue;
        }
        votes += is_new;
        tiles->data[kept++].is_voted = is_new;
    }
    tiles->count = kept;
    return votes;
}

static void keep_paying(const Staging *s, TileVec *tiles)
{
    size_t kept = 0;
    for (size_t i = 0; i < tiles->count; i++) {
        place_tile(s, &tiles->data[i]);
        const Tile tile = tiles->data[i];
        for (unsigned m = 0; m < tile.member_count && !tile_pays(s, &tile); m++) {
            StagedLoad *load = report_load(s, tile.members[m].inst);
            load_refuse(s, load, tile.members[m].inst,
                        load->is_store                   ? REFUSAL_STAGE_STORE_COALESCED
                        : is_shared(s, &tile.members[m]) ? REFUSAL_STAGE_LOAD_GAIN
                                                         : REFUSAL_STAGE_LOAD_COALESCED);
        }
        if (tile_pays(s, &tile))
            tiles->data[kept++] = tile;
    }
    tiles->count = kept;
}

static void choose_rounds(Staging *s)
{
    s->rounds = 2;
    for (size_t i = 0; i < s->tiles.count + s->out_tiles.count; i++) {
        const bool is_out = i >= s->tiles.count;
        unsigned wanted = rounds_wanted(s, is_out ? &s->out_tiles.data[i - s->tiles.count] : &s->tiles.data[i]);
        if (wanted > s->rounds)
            s->rounds = wanted < ROUNDS_MOST ? wanted : ROUNDS_MOST;
    }
}

static void report_tiles(const Staging *s, const TileVec *tiles)
{
    for (size_t i = 0; i < tiles->count; i++) {
        const Tile *tile = &tiles->data[i];
        for (unsigned m = 0; m < tile->member_count; m++) {
            StagedLoad *load = report_load(s, tile->members[m].inst);
            load->done = true;
            load->sectors_before += plain_sectors(s, tile) / tile->member_count;
            load->sectors_after += divide_up(tile_sectors(tile), tile->member_count);
            load->bytes += tile->bytes / tile->member_count;
            load->sharers = (unsigned)(s->threads * s->rounds * (tile->is_line ? tile->member_count : 1) /
                                       tile_units(tile));
        }
    }
}

static void report_loop(const Staging *s)
{
    report_tiles(s, &s->tiles);
    report_tiles(s, &s->out_tiles);
    s->report->rounds = s->rounds;
    s->report->shared = (uint64_t)s->bytes * s->buffers + s->out_bytes;
    s->report->buffers = s->buffers > 1 ? s->buffers : 0;
}

static void find_tiles(Staging *s, AccessKind kind, TileVec *tiles)
{
    MemberVec members = {0};
    find_members(s, kind, &members);
    make_tiles(s, tiles, &members);
}

static bool are_sometimes(const TileVec *tiles)
{
    bool are = tiles->count;
    for (size_t i = 0; i < tiles->count; i++)
        are &= tiles->data[i].members[0].when != NULL;
    return are;
}

bool stage_find_tiles(Staging *s)
{
    find_tiles(s, ACCESS_LOAD, &s->tiles);
    if (s->stores)
        find_tiles(s, ACCESS_STORE, &s->out_tiles);
    choose_rounds(s);
    keep_paying(s, &s->tiles);
    keep_paying(s, &s->out_tiles);
    s->votes = limit_votes(s, &s->tiles);
    if (are_sometimes(&s->tiles) && !s->out_tiles.count && s->rounds > ROUNDS_SOMETIMES)
        s->rounds = ROUNDS_SOMETIMES;
    if (!s->tiles.count && !s->out_tiles.count)
        return stage_refuse(s, s->latch->last, REFUSAL_STAGE_NOTHING);
    s->buffers = s->request->buffers && s->tiles.count && async_can_fill(s) ? s->request->buffers : 1;
    while (!place_tiles(s, bytes_most(s)) && s->rounds)
        s->rounds /= 2;
    if (s->rounds < 2)
        return stage_refuse(s, s->latch->last, REFUSAL_STAGE_NO_ROOM);
    if (trip_count_bound(&s->trips, analyses_affine(s->analyses)) < s->rounds)
        return stage_refuse(s, s->latch->last, REFUSAL_STAGE_FEW);
    report_loop(s);
    return true;
}
