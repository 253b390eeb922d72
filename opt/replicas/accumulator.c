/* Memory cells that a loop updates in every round, kept in registers.
 *
 * 'for (k ...) c[i] += a[k] * b[k]' stores c[i] in every round, because c might overlap a or b. If nothing else in the
 * loop can touch the cell, it is loaded before the loop, passed from round to round in a phi, and stored after it
 * (scalar promotion: Cooper and Lu, "Register Promotion in C Programs", PLDI 1997). If only the addresses at run time
 * can tell, the ranges of addresses are compared in the preheader, and the loop is made twice (opt/common/version.h).
 *
 * A cell qualifies if
 * - its address is the same in all rounds;
 * - all accesses to it are plain, of one width, and in one block that every round passes before it can leave the loop:
 *   what is loaded there is then what the thread has loaded or stored there before;
 * - nothing in the loop synchronises, calls, or is opaque, strong or volatile;
 * - every other access that may meet it has an address that grows by the same amount in each round, and the number of
 *   rounds is known before the loop.
 * Since a race-free program cannot see what a thread stores between two barriers, only the last value counts. */
#include "opt/passes.h"
#include "opt/replicas/accumulator.h"

enum { MOST_LOOPS = 8 }; /* that are changed */

/* Nothing in the loop that orders memory, or leaves it in an unknown way. */
static bool loop_is_plain(const Promoter *promoter)
{
    for (uint32_t b = 0; b < promoter->loop->block_count; b++)
        for (const Inst *inst = promoter->loop->blocks[b]->first; inst; inst = inst->next)
            if (!accumulator_inst_is_plain(inst))
                return false;
    return true;
}

static RegId stored_reg(const PlainAccess *store)
{
    return operand_reg(store->inst, store->data);
}

/* The register that the address counts from. */
static RegId address_reg(const Inst *inst)
{
    Access access;
    require(inst_access(inst, &access));
    return address_base(inst, access.address);
}

/* A copy of the access for another place, with another register for the data. */
static Inst *access_copy(Body *body, const PlainAccess *access, RegId data)
{
    Inst *copy = inst_clone(body, access->inst);
    operand_ref(copy, access->data)->reg = data;
    return copy;
}

/* True if the register that the access's address counts from is there before the loop. */
static bool address_is_available(const Promoter *promoter, const PlainAccess *access)
{
    RegId reg = address_reg(access->inst);
    return reg == REG_NONE || accumulator_is_invariant(promoter, reg);
}

/* Loads the cell before the loop, and passes its value on in a phi. */
static void load_promote(Promoter *promoter, const Cell *cell, RegId last)
{
    Body *body = promoter->body;
    const Loop *loop = promoter->loop;
    Block *preheader = loop->preheader;
    RegId dst = operand_reg(cell->load->inst, cell->load->data);
    RegId first = body_clone_reg(body, dst);
    Inst *load = access_copy(body, cell->load, first);
    sum_put(&(SumPlace){.body = body, .block = preheader}, load);
    Phi phi = {.dst = dst};
    for (unsigned p = 0; p < loop->header->pred_count; p++) {
        Block *pred = loop->header->preds[p];
        VEC_PUSH(body->arena, phi.args, (PhiArg){pred, pred == preheader ? first : last});
    }
    inst_remove(cell->load->inst);
    VEC_PUSH(body->arena, loop->header->phis, phi);
}

/* Loads after others, or between stores, become copies. They are there because stores to what may be the same memory,
 * such as another cell, come before them. */
static void later_promote(Promoter *promoter, const Cell *cell)
{
    Body *body = promoter->body;
    for (size_t i = 0; i < cell->later.count; i++) {
        const LaterLoad *later = &cell->later.data[i];
        const PlainAccess *load = later->access;
        RegId dst = operand_reg(load->inst, load->data);
        RegId value = later->stores ? stored_reg(cell->stores.data[later->stores - 1])
                                    : operand_reg(cell->load->inst, cell->load->data);
        const char *copy = type_bits(body->regs.data[dst].type) == 64 ? "mov.b64" : "mov.b32";
        inst_insert_before(load->inst, inst_build(body, copy, "dr", dst, value));
        inst_remove(load->inst);
    }
}

static void cell_promote(Promoter *promoter, const Cell *cell, const BlockVec *exits)
{
    Body *body = promoter->body;
    const PlainAccess *store = VEC_LAST(cell->stores);
    RegId last = stored_reg(store);
    later_promote(promoter, cell);
    for (size_t e = 0; e < exits->count; e++) {
        Inst *copy = access_copy(body, store, last);
        if (exits->data[e]->first)
            inst_insert_before(exits->data[e]->first, copy);
        else
            inst_append(exits->data[e], copy);
    }
    if (cell->load)
        load_promote(promoter, cell, last);
    for (size_t s = 0; s < cell->stores.count; s++)
        inst_remove(cell->stores.data[s]->inst);
}

/* Cells whose address registers are made within the loop are left alone. */
static void cells_keep_available(Promoter *promoter)
{
    size_t kept = 0;
    for (size_t c = 0; c < promoter->cells.count; c++) {
        const Cell *cell = &promoter->cells.data[c];
        if (address_is_available(promoter, VEC_LAST(cell->stores)) &&
            (!cell->load || address_is_available(promoter, cell->load)))
            promoter->cells.data[kept++] = *cell;
    }
    promoter->cells.count = kept;
}

static bool loop_promote(Promoter *promoter, const Block *header)
{
    accumulator_cells_find(promoter);
    accumulator_cells_check(promoter);
    cells_keep_available(promoter);
    BlockVec exits = {0};
    if (!promoter->cells.count || !accumulator_free_cells(promoter, header, &exits))
        return false;
    for (size_t c = 0; c < promoter->cells.count; c++)
        cell_promote(promoter, &promoter->cells.data[c], &exits);
    return true;
}

static const Locations *find_locations(Arena *arena, PassContext *context)
{
    return locations_compute(arena, context->body, analyses_memory(context->analyses),
                             analyses_values(context->analyses), LOCATION_PLACES);
}

static bool header_promote(PassContext *context, const Locations *locations, const Block *header)
{
    Arena *scratch = arena_new();
    Promoter promoter = {
        .body = context->body, .scratch = scratch, .analyses = context->analyses, .locations = locations};
    bool changed = locations && accumulator_loop_find(&promoter, header) && loop_is_plain(&promoter) &&
                   loop_promote(&promoter, header);
    arena_free(scratch);
    return changed;
}

bool pass_accumulator(PassContext *context)
{
    Arena *scratch = arena_new();
    const LoopForest *loops = analyses_loops(context->analyses);
    VEC(const Block *) headers = {0};
    unsigned changed = 0;
    /* Inner loops first: what they keep in registers, the loops around them may keep longer. */
    for (uint32_t i = loops->loop_count; i-- > 0;)
        VEC_PUSH(scratch, headers, loops->loops[i].header);
    Arena *facts = arena_new(); /* about the body as it is now */
    const Locations *locations = headers.count ? find_locations(facts, context) : NULL;
    for (size_t i = 0; i < headers.count && changed < MOST_LOOPS; i++) {
        if (!header_promote(context, locations, headers.data[i]))
            continue;
        changed++;
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        arena_free(facts);
        facts = arena_new();
        locations = find_locations(facts, context);
    }
    arena_free(facts);
    arena_free(scratch);
    return changed > 0;
}
