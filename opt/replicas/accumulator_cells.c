/* The cells of memory that a loop updates in every round (accumulator.c says which qualify). */
#include "opt/replicas/accumulator.h"

enum { MOST_CELLS = 32 };

bool accumulator_is_invariant(const Promoter *promoter, RegId reg)
{
    const Block *block = analyses_values(promoter->analyses)->defs[reg].block;
    return block && !loop_contains(promoter->loops, promoter->loop, block);
}

static bool location_is_invariant(const Promoter *promoter, const Location *location)
{
    for (uint32_t i = 0; i < location->leaf_count; i++)
        if (!accumulator_is_invariant(promoter, location->leaves[i]))
            return false;
    return true;
}

/* True if each round passes the block before it leaves the loop or comes to its end. */
static bool passes(const Promoter *promoter, const Block *block)
{
    const Dominance *dominance = analyses_dominance(promoter->analyses);
    const Loop *loop = promoter->loop;
    if (loop_of(promoter->loops, block) != loop)
        return false;
    for (uint32_t i = 0; i < loop->latch_count; i++)
        if (!dominance_has(dominance, block, loop->latches[i]))
            return false;
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const Block *from = loop->blocks[b];
        unsigned targets = from->last ? from->last->target_count : 0;
        for (unsigned t = 0; t <= targets; t++) {
            const Block *to = t < targets ? from->last->targets[t] : from->fall;
            if (to && !loop_contains(promoter->loops, loop, to) && !dominance_has(dominance, block, from))
                return false;
        }
    }
    return true;
}

static Cell *cell_of(Promoter *promoter, uint32_t location)
{
    for (size_t i = 0; i < promoter->cells.count; i++)
        if (promoter->cells.data[i].location == location)
            return &promoter->cells.data[i];
    return NULL;
}

void accumulator_cells_find(Promoter *promoter)
{
    const Locations *locations = promoter->locations;
    for (uint32_t i = 0; i < locations->access_count; i++) {
        const PlainAccess *access = &locations->accesses[i];
        Block *block = access->inst->block;
        uint32_t location = access->locations[0];
        if (!access->is_store || access->count != 1 || access->data->kind != OPERAND_REG ||
            !loop_contains(promoter->loops, promoter->loop, block) ||
            !location_is_invariant(promoter, &locations->items[location]) || !passes(promoter, block))
            continue;
        Cell *cell = cell_of(promoter, location);
        if (!cell && promoter->cells.count < MOST_CELLS) {
            const Location *item = &locations->items[location];
            VEC_PUSH(promoter->scratch, promoter->cells,
                     ((Cell){.inst = access->inst, .form = &item->form, .bytes = item->bytes, .location = location,
                             .block = block}));
            cell = &VEC_LAST(promoter->cells);
        }
        if (cell && cell->block == block)
            VEC_PUSH(promoter->scratch, cell->stores, access);
    }
}

bool accumulator_cell_has(const Cell *cell, const PlainAccess *access)
{
    return access->count == 1 && access->locations[0] == cell->location && access->inst->block == cell->block;
}

static void cell_add_load(Promoter *promoter, Cell *cell, const PlainAccess *load)
{
    size_t stores = 0;
    while (stores < cell->stores.count && cell->stores.data[stores]->inst->id < load->inst->id)
        stores++;
    if (!stores && !cell->load)
        cell->load = load;
    else
        VEC_PUSH(promoter->scratch, cell->later, ((LaterLoad){load, stores}));
}

void accumulator_cells_check(Promoter *promoter)
{
    const Locations *locations = promoter->locations;
    size_t kept = 0;
    for (size_t c = 0; c < promoter->cells.count; c++) {
        Cell cell = promoter->cells.data[c];
        bool good = true;
        for (uint32_t i = 0; i < locations->access_count && good; i++) {
            const PlainAccess *access = &locations->accesses[i];
            if (!loop_contains(promoter->loops, promoter->loop, access->inst->block))
                continue;
            for (unsigned e = 0; e < access->count; e++)
                if (access->locations[e] == cell.location)
                    good &= accumulator_cell_has(&cell, access);
            if (!good || access->is_store || access->locations[0] != cell.location)
                continue;
            cell_add_load(promoter, &cell, access);
        }
        /* The stored values come from one round to the next in registers of one width. */
        if (good && locations->items[cell.location].narrow == TYPE_NONE)
            promoter->cells.data[kept++] = cell;
    }
    promoter->cells.count = kept;
}
