/* The evidence that the counts of PTX instructions give about machine blocks.
 *
 * Only one machine opcode is evidence for a PTX instruction. If it expands to several instructions, that is the one
 * that occurs in most blocks and least often in each; if the assembler has unrolled a loop, each copy has one. The
 * weight of the evidence depends on the opcode: accesses, barriers and floating-point arithmetic stay where they are in
 * the flow of control, while address arithmetic and moves are hoisted, shared and duplicated. */
#include "sass/internal.h"

#include <stdlib.h>
#include <string.h>

/* One machine instruction that comes from a PTX instruction. */
typedef struct Copy {
    uint32_t ptx, block, instruction;
    uint16_t code;
} Copy;

static int compare_copies(const void *a, const void *b)
{
    const Copy *first = a, *second = b;
    if (first->ptx != second->ptx)
        return first->ptx < second->ptx ? -1 : 1;
    if (first->code != second->code)
        return first->code < second->code ? -1 : 1;
    if (first->block != second->block)
        return first->block < second->block ? -1 : 1;
    return 0;
}

/* The weight of a class as evidence about its block. */
static double class_weight(unsigned class)
{
    static const double weights[MACHINE_CLASS_COUNT] = {
        [MACHINE_FP32] = 4,    [MACHINE_FP16] = 2,   [MACHINE_FP64] = 4,   [MACHINE_SFU] = 4,
        [MACHINE_TENSOR] = 8,  [MACHINE_SHARED] = 8, [MACHINE_GLOBAL] = 8, [MACHINE_TEXTURE] = 8,
        [MACHINE_WARP] = 4,    [MACHINE_BARRIER] = 8, [MACHINE_LOCAL] = 4,  [MACHINE_INTEGER] = 1,
        [MACHINE_COMPARE] = 4, [MACHINE_MULTIPLY] = 1,
        [MACHINE_CONTROL] = 0.05, [MACHINE_UNIFORM] = 0.2, [MACHINE_CONSTANT] = 0.05, [MACHINE_MOVE] = 0.05,
        [MACHINE_OTHER] = 0,
    };
    return weights[class];
}

/* The part of one execution of the PTX instruction that a machine instruction does: a wide access may become several.
 * It is 2 if the machine instruction accesses more, because it then serves several PTX instructions, or several
 * executions of one. */
static double part_of(const SassInstruction *machine, const Inst *inst)
{
    Access access;
    if (!machine->bytes || !inst_access(inst, &access) || !access.bytes || machine->class == MACHINE_CONSTANT)
        return 1;
    return machine->bytes > access.bytes ? 2 : (double)machine->bytes / access.bytes;
}

/* The evidence from the copies [0, count), which have one opcode. */
static Evidence evidence_through(Arena *arena, const SassMap *map, const Copy *copies, size_t count,
                                 const PtxExecution *executions)
{
    const Inst *inst = map->lines.insts[copies->ptx];
    Evidence evidence = {.ptx = copies->ptx,
                         .shares = ARENA_ARRAY(arena, Share, count),
                         .threads = executions[copies->ptx].threads};
    unsigned most = 0, here = 0;
    bool unclear = false;
    const SassClass class = map->code->instructions[copies->instruction].class;
    for (size_t i = 0; i < count; i++) {
        const SassInstruction *machine = &map->code->instructions[copies[i].instruction];
        if (!evidence.share_count || evidence.shares[evidence.share_count - 1].block != copies[i].block) {
            evidence.shares[evidence.share_count++] = (Share){copies[i].block, 0};
            here = 0;
        }
        double part = part_of(machine, inst);
        unclear |= part > 1;
        evidence.shares[evidence.share_count - 1].copies += part > 1 ? 1 : part;
        evidence.may_exceed |= machine->conditional && !inst_is_guarded(inst);
        most = ++here > most ? here : most;
        evidence.weight = class_weight(machine->class);
    }
    /* Two equal instructions may be copies, or the halves of a 64-bit operation. */
    if (unclear || (most > 1 && (class == MACHINE_INTEGER || class == MACHINE_MULTIPLY)))
        evidence.weight *= 0.1;
    return evidence;
}

static double most_copies(const Evidence *evidence)
{
    double most = 0;
    for (uint32_t i = 0; i < evidence->share_count; i++)
        most = evidence->shares[i].copies > most ? evidence->shares[i].copies : most;
    return most;
}

/* True if 'a' says more than 'b' about the same PTX instruction. */
static bool says_more(const Evidence *a, const Evidence *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight;
    if (a->share_count != b->share_count)
        return a->share_count > b->share_count;
    return most_copies(a) < most_copies(b);
}

bool sass_is_spill(const SassInstruction *machine, const Inst *inst)
{
    Space space = machine->class == MACHINE_LOCAL ? SPACE_LOCAL : SPACE_SHARED;
    if ((machine->class != MACHINE_LOCAL && machine->class != MACHINE_SHARED) || !machine->bytes)
        return false;
    Access access;
    if (inst && inst_access(inst, &access))
        return access.space != space && access.space != SPACE_NONE;
    return !inst || space == SPACE_LOCAL || !(inst->effects & (EFFECT_READ | EFFECT_WRITE));
}

/* A spill says nothing about the instruction that it spills for. Nor do instructions that the assembler adds: to a
 * branch, a vote on whether the warp has diverged; anywhere, branches of its own, and instructions that make diverged
 * threads wait for each other (BSSY, BSYNC). */
bool is_evidence(const SassInstruction *machine, const Inst *inst)
{
    bool is_control = (inst->effects & EFFECT_CONTROL) != 0;
    if (sass_is_spill(machine, inst))
        return false;
    Access access;
    if (machine->class == MACHINE_LOCAL)
        return inst_access(inst, &access) && (access.space == SPACE_LOCAL || access.space == SPACE_NONE);
    if (machine->class == MACHINE_CONTROL)
        return is_control && machine->flow != MACHINE_NEXT;
    return !is_control;
}

/* True if the opcode stays where the instruction is. */
static bool is_strong(const Evidence *evidence)
{
    return evidence->weight >= 2;
}

int shares_compare(const Evidence *a, const Evidence *b)
{
    if (a->share_count != b->share_count)
        return a->share_count < b->share_count ? -1 : 1;
    for (uint32_t i = 0; i < a->share_count; i++) {
        if (a->shares[i].block != b->shares[i].block)
            return a->shares[i].block < b->shares[i].block ? -1 : 1;
        if (a->shares[i].copies != b->shares[i].copies)
            return a->shares[i].copies < b->shares[i].copies ? -1 : 1;
    }
    return 0;
}

static int compare_shares(const void *a, const void *b)
{
    return shares_compare(a, b);
}

/* All instructions of a run are copied together, so the shares that most of them have are right. The others have been
 * shared among the copies of a loop's body, merged, expanded or moved: strong ones keep a little weight. Sorts the
 * evidence. */
static void outvote(Evidence *evidence, size_t count)
{
    const Evidence *winner = evidence;
    double most = -1;
    qsort(evidence, count, sizeof *evidence, compare_shares);
    for (size_t i = 0, end; i < count; i = end) {
        double weight = 0;
        for (end = i; end < count && shares_compare(&evidence[i], &evidence[end]) == 0; end++)
            weight += evidence[end].may_exceed ? 0.1 * evidence[end].weight : evidence[end].weight;
        if (weight > most) {
            most = weight;
            winner = &evidence[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        if (shares_compare(&evidence[i], winner) != 0)
            evidence[i].weight *= is_strong(&evidence[i]) ? 0.02 : 0;
}

static Copy *find_copies(Arena *arena, const SassMap *map, const PtxExecution *executions, const bool *reached,
                         size_t *count)
{
    const SassCode *code = map->code;
    Copy *copies = ARENA_ARRAY(arena, Copy, code->count + 1);
    *count = 0;
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *machine = &code->instructions[i];
        if (machine->ptx != MACHINE_NONE && reached[machine->block] && executions[machine->ptx].known &&
            is_evidence(machine, map->lines.insts[machine->ptx]))
            copies[(*count)++] = (Copy){machine->ptx, machine->block, i, machine->code & 0x1ff};
    }
    qsort(copies, *count, sizeof *copies, compare_copies);
    return copies;
}

EvidenceVec evidence_collect(Arena *arena, const SassMap *map, const PtxExecution *executions,
                             const bool *reached)
{
    size_t count;
    const Copy *copies = find_copies(arena, map, executions, reached, &count);
    EvidenceVec all = {0};
    for (size_t i = 0; i < count;) {
        Evidence best = {0};
        uint32_t ptx = copies[i].ptx;
        while (i < count && copies[i].ptx == ptx) {
            size_t end = i;
            while (end < count && copies[end].ptx == ptx && copies[end].code == copies[i].code)
                end++;
            Evidence evidence = evidence_through(arena, map, copies + i, end - i, executions);
            if (!best.shares || says_more(&evidence, &best))
                best = evidence;
            i = end;
        }
        if (best.weight > 0)
            VEC_PUSH(arena, all, best);
    }
    for (size_t i = 0, end; i < all.count; i = end) {
        uint32_t run = executions[all.data[i].ptx].run;
        for (end = i; end < all.count && executions[all.data[end].ptx].run == run;)
            end++;
        outvote(&all.data[i], end - i);
    }
    return all;
}
