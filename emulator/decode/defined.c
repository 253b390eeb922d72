/* Registers that may be read before they are written.
 *
 * A register that every path from the entry writes before each read, without a guard, need not be watched while the
 * code runs. Lanes follow the edges of the control flow, so this holds for each of them. In most code no register is
 * left to watch. */
#include "emulator/decode/decode.h"

#define MOST_BITS (UINT64_C(1) << 30) /* of all sets; bodies that need more have all their exposed registers watched */

typedef struct Definedness {
    const Body *body;
    BitSet exposed, watched; /* the registers that some block reads before it writes them; those that must be watched */
    uint32_t *numbers;       /* of the exposed registers */
    size_t count;
    BitSet *entry; /* for each block, the numbers of the registers that every path to it has written; all for blocks not
                    * reached */
    BitSet defined;
} Definedness;

static bool defines(const Inst *inst, unsigned ref)
{
    return !inst_is_guarded(inst) && (inst->refs[ref].role == REF_DEF || inst->refs[ref].role == REF_BOTH);
}

static void find_exposed(Arena *arena, Definedness *flow)
{
    uint32_t *written = ARENA_ARRAY(arena, uint32_t, flow->body->regs.count); /* the last block, counted from 1 */
    for (uint32_t b = 0; b < flow->body->blocks.count; b++)
        for (const Inst *inst = flow->body->blocks.data[b]->first; inst; inst = inst->next) {
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role != REF_DEF && written[inst->refs[i].reg] != b + 1)
                    bitset_add(&flow->exposed, inst->refs[i].reg);
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (defines(inst, i))
                    written[inst->refs[i].reg] = b + 1;
        }
}

/* Goes through a block from the registers in flow->defined; with 'checks', notes those that it reads too early. */
static void block_apply(Definedness *flow, const Block *block, bool checks)
{
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        for (unsigned i = 0; checks && i < inst->ref_count; i++) {
            RegId reg = inst->refs[i].reg;
            if (inst->refs[i].role != REF_DEF && bitset_has(&flow->exposed, reg) &&
                !bitset_has(&flow->defined, flow->numbers[reg]))
                bitset_add(&flow->watched, reg);
        }
        for (unsigned i = 0; i < inst->ref_count; i++)
            if (defines(inst, i) && bitset_has(&flow->exposed, inst->refs[i].reg))
                bitset_add(&flow->defined, flow->numbers[inst->refs[i].reg]);
    }
}

/* Intersects 'set' with 'other'; true if that removes something. */
static bool bitset_restrict(BitSet *set, const BitSet *other)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < (set->bits + 63) / 64; i++) {
        lost |= set->words[i] & ~other->words[i];
        set->words[i] &= other->words[i];
    }
    return lost != 0;
}

static void flow_solve(Arena *arena, Definedness *flow)
{
    size_t blocks = flow->body->blocks.count;
    BlockEdgeVec edges = body_edges(arena, flow->body);
    flow->defined = bitset_new(arena, flow->count);
    flow->entry = ARENA_ARRAY(arena, BitSet, blocks);
    for (size_t i = 0; i < blocks; i++) {
        flow->entry[i] = bitset_new(arena, flow->count);
        if (i > 0)
            memset(flow->entry[i].words, 0xff, (flow->count + 63) / 64 * sizeof(uint64_t));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0, e = 0; i < blocks; i++) {
            bitset_copy(&flow->defined, &flow->entry[i]);
            block_apply(flow, flow->body->blocks.data[i], false);
            for (; e < edges.count && edges.data[e].from == i; e++)
                changed |= bitset_restrict(&flow->entry[edges.data[e].to], &flow->defined);
        }
    }
    for (size_t i = 0; i < blocks; i++) {
        bitset_copy(&flow->defined, &flow->entry[i]);
        block_apply(flow, flow->body->blocks.data[i], true);
    }
}

void code_watch_registers(Emulator *emulator, Code *code)
{
    Arena *arena = arena_new();
    size_t registers = code->body->regs.count;
    Definedness flow = {.body = code->body};
    flow.exposed = bitset_new(arena, registers);
    flow.watched = bitset_new(arena, registers);
    flow.numbers = ARENA_ARRAY(arena, uint32_t, registers);
    find_exposed(arena, &flow);
    for (size_t i = bitset_next(&flow.exposed, 0); i < registers; i = bitset_next(&flow.exposed, i + 1))
        flow.numbers[i] = (uint32_t)flow.count++;
    if ((uint64_t)flow.count * code->body->blocks.count <= MOST_BITS)
        flow_solve(arena, &flow);
    else
        bitset_copy(&flow.watched, &flow.exposed);
    if (bitset_next(&flow.watched, 0) < registers) {
        code->defined = emulator_alloc(emulator, registers, sizeof *code->defined);
        for (size_t i = 0; i < registers; i++)
            code->defined[i] = bitset_has(&flow.watched, i) ? 0 : ALL_LANES;
    }
    arena_free(arena);
}

bool code_watches(const Code *code, const Inst *inst)
{
    for (unsigned i = 0; code->defined && i < inst->ref_count; i++)
        if (!code->defined[inst->refs[i].reg])
            return true;
    return false;
}
