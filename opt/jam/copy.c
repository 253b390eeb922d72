/* The loop of iterations side by side.
 *
 *     preheader -> test -> loop' -> after         the test: the iterations' counters, and whether all of them follow
 *                   |  ^-----'                    and do not meet in memory
 *                   '----> loop -> after          for the iterations that are left over
 *
 * If the number of iterations can be computed before the loop, and nothing else is tested, then once for all rounds:
 *
 *     preheader -> gate -> test -> loop' -> rest -> after
 *                   |       ^-------'        |
 *                   '---------> loop <-------'
 *
 * The version loop' has the registers of the last of its iterations, which is what follows the loop may read; the
 * others get registers and instructions of their own. An instruction's copies directly precede it, in the order of the
 * iterations; the instructions of a chain, and those between a carry flag's writer and readers, stay together. */
#include "opt/common/versions.h"
#include "opt/jam/internal.h"

#include <stdlib.h>

typedef VEC(Inst *) InstVec;

typedef struct Copier {
    Jam *jam;
    Body *body;
    Arena *scratch;
    Versions versions;
    JamTest test;
    Block *gate, *rest; /* is_counted */
    RegId **regs;  /* regs[k][r]: what iteration k has for the loop's register r; k < factor - 1 */
} Copier;

static unsigned last_of(const Copier *copier)
{
    return copier->jam->factor - 1;
}

/* The register that the iteration has for one of the old body. */
static RegId reg_in(const Copier *copier, unsigned iteration, RegId reg)
{
    const Jam *jam = copier->jam;
    if (!jam_is_inside(jam, reg) || !bitset_has(&jam->variant, reg) || iteration == last_of(copier))
        return versions_reg(&copier->versions, reg);
    return copier->regs[iteration][reg];
}

static Inst *build_move(const Copier *copier, RegId to, RegId from)
{
    Type type = copier->body->regs.data[to].type;
    const char *spelling =
        type == TYPE_PRED ? "mov.pred" : arena_printf(copier->scratch, "mov.b%u", type_bits(type));
    return inst_build(copier->body, spelling, "dr", to, from);
}

/* Fills the test: the header's phis in all iterations, whether these follow, and whether they conflict. */
static void fill_test(Copier *copier)
{
    Jam *jam = copier->jam;
    const Block *header = jam->loop->header;
    size_t conflicts = jam->conflicts.count;
    RegId *addresses = ARENA_ARRAY(copier->scratch, RegId, 2 * conflicts * jam->factor);
    for (unsigned k = 0; k < jam->factor; k++) {
        for (size_t p = 0; p < header->phis.count; p++) {
            RegId phi = header->phis.data[p].dst;
            if (k < last_of(copier) && copier->test.phis[p] != REG_NONE)
                copier->regs[k][phi] = copier->test.phis[p];
            else if (copier->test.phis[p] != REG_NONE)
                inst_append(copier->test.block,
                            build_move(copier, versions_reg(&copier->versions, phi), copier->test.phis[p]));
        }
        for (size_t i = 0; i < conflicts; i++) {
            int64_t offset;
            RegId *pair = &addresses[2 * (conflicts * k + i)];
            pair[0] = jam_test_value(&copier->test, jam_address(jam->conflicts.data[i].earlier, &offset));
            pair[1] = jam_test_value(&copier->test, jam_address(jam->conflicts.data[i].later, &offset));
        }
        if (k == last_of(copier))
            break;
        if (jam->is_counted) {
            jam_test_step(&copier->test);
            continue;
        }
        if (!jam->is_whole && !jam->countdown.found)
            jam_test_require(&copier->test, jam_test_value(&copier->test, jam->predicate), !jam->stays_if);
        else if (!jam->is_whole && !k)
            jam_test_countdown(&copier->test);
        if (!k)
            jam_test_bounds(&copier->test);
        jam_test_step(&copier->test);
    }
    for (size_t i = 0; i < conflicts; i++)
        if (jam->conflicts.data[i].is_even)
            jam_test_apart_evenly(&copier->test, &jam->conflicts.data[i], addresses[2 * i], addresses[2 * i + 1]);
    for (size_t i = 0; i < conflicts; i++)
        for (unsigned k = 0; k < jam->factor && !jam->conflicts.data[i].is_even; k++)
            for (unsigned n = k + 1; n < jam->factor; n++)
                jam_test_apart(&copier->test, jam->conflicts.data[i].earlier, addresses[2 * (conflicts * k + i)],
                               jam->conflicts.data[i].later, addresses[2 * (conflicts * n + i) + 1]);
}

/* The header's phis go to the test, for the first iteration, with what the last passes on. */
static void move_phis(Copier *copier)
{
    const Jam *jam = copier->jam;
    Versions *v = &copier->versions;
    Block *header = versions_block(v, jam->loop->header), *latch = versions_block(v, jam->latch);
    Arena *arena = copier->body->arena;
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *old = &jam->loop->header->phis.data[p], phi = {.dst = body_clone_reg(copier->body, old->dst)};
        RegId next = versions_reg(v, jam_next(jam, old));
        for (size_t a = 0; a < old->args.count; a++) {
            PhiArg arg = old->args.data[a];
            bool is_start = arg.pred == jam->loop->preheader;
            VEC_PUSH(arena, phi.args, ((PhiArg){is_start ? copier->gate : latch, is_start ? arg.reg : next}));
        }
        VEC_PUSH(arena, copier->test.block->phis, phi);
        copier->regs[0][old->dst] = phi.dst;
        copier->test.phis[p] = bitset_has(&jam->early, old->dst) ? phi.dst : REG_NONE;
        for (size_t a = 0; a < old->args.count; a++)
            if (old->args.data[a].pred == jam->loop->preheader)
                old->args.data[a] = jam->is_counted ? (PhiArg){copier->gate, old->args.data[a].reg}
                                                    : (PhiArg){copier->test.block, phi.dst};
        if (jam->is_counted)
            VEC_PUSH(arena, old->args, ((PhiArg){copier->rest, next}));
    }
    header->phis.count = 0;
}

/* The iterations' registers. */
static void name_registers(Copier *copier)
{
    const Jam *jam = copier->jam;
    size_t count = jam->values->reg_count;
    copier->regs = ARENA_ARRAY(copier->scratch, RegId *, jam->factor);
    for (unsigned k = 0; k < last_of(copier); k++)
        copier->regs[k] = ARENA_ARRAY(copier->scratch, RegId, count);
    for (RegId r = 0; r < count; r++) {
        const ValueDef *def = &jam->values->defs[r];
        bool is_phi = def->block == jam->loop->header && !def->inst;
        for (unsigned k = 0; k < last_of(copier) && jam_is_inside(jam, r) && bitset_has(&jam->variant, r); k++)
            copier->regs[k][r] = is_phi ? REG_NONE : body_clone_reg(copier->body, r);
    }
}

/* A chain's phi is in each iteration what the one before has made of it. */
static void name_chains(Copier *copier)
{
    const Jam *jam = copier->jam;
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++) {
        const Phi *phi = &header->phis.data[p];
        for (unsigned k = 1; k < last_of(copier) && !bitset_has(&jam->early, phi->dst); k++)
            copier->regs[k][phi->dst] = reg_in(copier, k - 1, jam_next(jam, phi));
    }
}

/* Before the last iteration's instructions, the phis whose next value 'inst' makes get theirs. */
static void place_chain_moves(Copier *copier, Block *copy, const Inst *inst)
{
    const Jam *jam = copier->jam;
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++) {
        const Phi *phi = &header->phis.data[p];
        RegId next = jam_next(jam, phi);
        if (bitset_has(&jam->early, phi->dst) || value_inst(jam->values, next) != inst)
            continue;
        inst_append(copy, build_move(copier, versions_reg(&copier->versions, phi->dst),
                                     reg_in(copier, last_of(copier) - 1, next)));
    }
}

/* Finds what must stay together: sets ends[i] to the last instruction of the group that begins at i, else to i. */
static void find_groups(const Jam *jam, const Inst *const *insts, size_t count, size_t *ends)
{
    size_t carry = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        ends[i] = i;
        if (insts[i]->effects & EFFECT_CC_READ && carry != SIZE_MAX)
            ends[carry] = i;
        else if (insts[i]->effects & EFFECT_CC_WRITE)
            carry = i;
    }
    for (size_t c = 0; c < jam->chains.count; c++) {
        const Chain *chain = &jam->chains.data[c];
        size_t first = SIZE_MAX;
        for (size_t i = 0; i < count; i++) {
            if (insts[i] == chain->first)
                first = i;
            if (insts[i] == chain->last && first != SIZE_MAX && ends[first] < i)
                ends[first] = i;
        }
    }
}

static void append_copy(Copier *copier, Block *copy, const Inst *inst, unsigned iteration)
{
    Inst *own = inst_clone(copier->body, inst);
    for (unsigned r = 0; r < own->ref_count; r++)
        if (own->refs[r].reg != REG_NONE)
            own->refs[r].reg = reg_in(copier, iteration, own->refs[r].reg);
    inst_append(copy, own);
}

/* Appends a group: all of the first iteration with what is common to all, then the others. */
static void append_group(Copier *copier, Block *copy, const Inst *const *insts, Inst *const *own, size_t count)
{
    const Jam *jam = copier->jam;
    for (unsigned k = 0; k < last_of(copier); k++)
        for (size_t i = 0; i < count; i++) {
            if (jam_is_copied(jam, insts[i]))
                append_copy(copier, copy, insts[i], k);
            else if (!k)
                inst_append(copy, own[i]);
        }
    for (size_t i = 0; i < count; i++)
        place_chain_moves(copier, copy, insts[i]);
    for (size_t i = 0; i < count; i++)
        if (jam_is_copied(jam, insts[i]))
            inst_append(copy, own[i]);
}

static void copy_phis(Copier *copier, const Block *block, Block *copy)
{
    const Jam *jam = copier->jam;
    for (size_t p = 0; p < block->phis.count && block != jam->loop->header; p++) {
        const Phi *phi = &block->phis.data[p];
        for (unsigned k = 0; k < last_of(copier) && bitset_has(&jam->variant, phi->dst); k++) {
            Phi own = {.dst = reg_in(copier, k, phi->dst)};
            for (size_t a = 0; a < phi->args.count; a++)
                VEC_PUSH(copier->body->arena, own.args,
                         ((PhiArg){versions_block(&copier->versions, phi->args.data[a].pred),
                                   reg_in(copier, k, phi->args.data[a].reg)}));
            VEC_PUSH(copier->body->arena, copy->phis, own);
        }
    }
}

static void copy_block(Copier *copier, Block *block)
{
    Block *copy = versions_block(&copier->versions, block);
    VEC(const Inst *) insts = {0};
    InstVec own = {0};
    copy_phis(copier, block, copy);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        VEC_PUSH(copier->scratch, insts, inst);
    for (Inst *inst = copy->first, *next; inst; inst = next) {
        next = inst->next;
        inst_remove(inst);
        VEC_PUSH(copier->scratch, own, inst);
    }
    require(own.count == insts.count);
    size_t *ends = ARENA_ARRAY(copier->scratch, size_t, insts.count);
    find_groups(copier->jam, insts.data, insts.count, ends);
    for (size_t i = 0; i < insts.count;) {
        size_t end = ends[i];
        if (inst_is_terminator(insts.data[i])) {
            inst_append(copy, own.data[i++]);
            continue;
        }
        for (size_t k = i; k <= end; k++)
            if (ends[k] > end)
                end = ends[k];
        append_group(copier, copy, &insts.data[i], &own.data[i], end + 1 - i);
        i = end + 1;
    }
}

static int compare_ids(const void *a, const void *b)
{
    const Block *x = *(Block *const *)a, *y = *(Block *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The rounds of the new loop are counted before it; it goes as many, and the loop itself does what is left over. */
static void count_rounds(Copier *copier)
{
    const Jam *jam = copier->jam;
    Block *header = jam->loop->header, *latch = versions_block(&copier->versions, jam->latch);
    const SumPlace place = sum_place_new(copier->body, jam->loop->preheader, jam->analyses);
    RoundGroups groups;
    RegId enough = round_groups_test(&place, &jam->trips, jam->factor, &groups);
    round_groups_count(&groups, copier->gate, "%rounds");
    inst_append(copier->gate, inst_build_branch(copier->body, header, enough, true));
    copier->gate->fall = copier->test.block;
    inst_remove(latch->last);
    round_groups_end(&groups, copier->gate, copier->test.block, latch, copier->rest, header, jam->after);
}

Block *jam_copy(Jam *jam)
{
    Copier copier = {.jam = jam, .body = jam->body, .scratch = jam->scratch};
    const Loop *loop = jam->loop;
    Block *header = loop->header, *preheader = loop->preheader;
    Block **blocks = ARENA_ARRAY(jam->scratch, Block *, loop->block_count);
    for (uint32_t b = 0; b < loop->block_count; b++)
        blocks[b] = loop->blocks[b];
    qsort(blocks, loop->block_count, sizeof *blocks, compare_ids);
    copier.versions = versions_new(jam->scratch, jam->body, jam->values);
    Versions *v = &copier.versions;
    versions_begin(v, blocks, loop->block_count);
    copier.gate = jam->is_counted ? versions_add_block(v, preheader, true) : preheader;
    copier.test = jam_test_new(jam, versions_add_block(v, preheader, true));
    versions_copy(v, blocks, loop->block_count, preheader);
    copier.rest = jam->is_counted ? versions_add_block(v, preheader, true) : NULL;
    name_registers(&copier);
    move_phis(&copier);
    fill_test(&copier);
    name_chains(&copier);
    for (uint32_t b = 0; b < loop->block_count; b++)
        copy_block(&copier, blocks[b]);
    block_retarget(versions_block(v, jam->latch), versions_block(v, header), copier.test.block);
    block_retarget(preheader, header, jam->is_counted ? copier.gate : copier.test.block);
    if (jam->is_counted)
        count_rounds(&copier);
    copier.test.block->fall = versions_block(v, header);
    if (copier.test.ready != REG_NONE)
        inst_append(copier.test.block, inst_build_branch(jam->body, header, copier.test.ready, true));
    for (uint32_t b = 0; b < loop->block_count; b++)
        blocks[b]->is_cold = true;
    versions_join(v, jam->after);
    if (jam->is_counted)
        block_replace_pred(jam->after, versions_block(v, jam->latch), copier.rest);
    versions_finish(v);
    if (copier.test.ready == REG_NONE && !jam->is_counted)
        body_remove_unreachable(jam->body);
    return copier.test.block;
}
