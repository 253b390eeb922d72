/* Replaces values by equal earlier ones that dominate them.
 *
 * Requires SSA form.
 *
 * The dominator-tree hash of Briggs, Cooper and Simpson, "Value Numbering" (Software: Practice and Experience 27,
 * 1997). */
#include "opt/common/cleanup.h"

/* One value number: the instruction or phi whose results replace all equal ones further down the dominator tree. */
typedef struct Entry {
    uint64_t hash;
    Block *block;
    Inst *inst; /* NULL: a phi */
    Phi phi;    /* with inst NULL; the arguments at the time of entry */
    struct Entry *next;
} Entry;

typedef struct Merger {
    Body *body;
    Arena *scratch;
    const Dominance *dominance;
    RegId *replacement; /* by RegId: the register that is read instead */
    Entry **table;
    size_t mask;
    bool awaits; /* something in the body may wait for other grids */
    unsigned merged;
} Merger;

static RegId find_value(const Merger *merger, RegId reg)
{
    while (merger->replacement[reg] != reg) {
        merger->replacement[reg] = merger->replacement[merger->replacement[reg]];
        reg = merger->replacement[reg];
    }
    return reg;
}

/* True if a reader of 'old' may read 'new' instead: PTX accepts a .b register for any type of its width, and signed and
 * unsigned ones for each other. */
static bool type_replaces(const Body *body, RegId new, RegId old)
{
    Type a = body->regs.data[new].type, b = body->regs.data[old].type;
    if (a == b)
        return true;
    if (type_bits(a) != type_bits(b))
        return false;
    TypeClass from = type_class(a), to = type_class(b);
    if (from == CLASS_BITS)
        return to == CLASS_UNSIGNED || to == CLASS_SIGNED || to == CLASS_FLOAT;
    return (from == CLASS_UNSIGNED && to == CLASS_SIGNED) || (from == CLASS_SIGNED && to == CLASS_UNSIGNED);
}

/* True if equal operands give equal results, within a thread and at any time. */
static bool is_repeatable(const Merger *merger, const Inst *inst)
{
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_THREAD | EFFECT_TRAP | EFFECT_HINT;
    if (!inst_is_plain(inst) || inst->sync != SYNC_NONE || inst->effects & ~harmless || inst->target_count ||
        inst->pragma)
        return false;
    if (inst->effects & EFFECT_READ) {
        Access access;
        if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.weak || !access.read_only ||
            (access.awaited && merger->awaits))
            return false;
    }
    bool writes = false;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (inst->refs[r].role == REF_BOTH)
            return false;
        writes |= ref_writes(&inst->refs[r]);
    }
    const Sreg *sreg = inst_sreg(inst);
    return writes && (!sreg || sreg->dependence != SREG_VOLATILE);
}

static uint64_t constant_hash(uint64_t hash, const Constant *constant)
{
    return constant ? hash_mix(hash_mix(hash, constant->kind), constant->bits) : hash;
}

static uint64_t inst_hash(const Merger *merger, const Inst *inst)
{
    uint64_t hash = hash_mix(1, (uintptr_t)inst->signature);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        hash = constant_hash(hash_mix(hash, operand->kind), operand->constant);
        if (operand->kind == OPERAND_SYMBOL)
            hash = hash_mix(hash, (uintptr_t)operand->symbol.variable);
        if (operand->kind == OPERAND_SREG)
            hash = hash_mix(hash, (uintptr_t)operand->sreg);
    }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            hash = hash_mix(hash, find_value(merger, inst->refs[r].reg));
    return hash;
}

static bool inst_equal(const Merger *merger, const Inst *old, const Inst *inst)
{
    if (old->signature != inst->signature || old->form != inst->form || old->operand_count != inst->operand_count ||
        old->ref_count != inst->ref_count)
        return false;
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (!operand_equal(&old->operands[i], &inst->operands[i]))
            return false;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const RegRef *a = &old->refs[r], *b = &inst->refs[r];
        if (a->role != b->role || (a->reg == REG_NONE) != (b->reg == REG_NONE))
            return false;
        if (a->reg == REG_NONE)
            continue;
        if (ref_reads(a) ? find_value(merger, a->reg) != find_value(merger, b->reg)
                         : !type_replaces(merger->body, a->reg, b->reg))
            return false;
    }
    return true;
}

/* Arguments of an entered phi may have been replaced since: that can miss a merge, but not make a wrong one. */
static uint64_t phi_hash(const Merger *merger, const Block *block, const Phi *phi)
{
    uint64_t hash = hash_mix(2, block->id);
    for (size_t a = 0; a < phi->args.count; a++)
        hash = hash_mix(hash, find_value(merger, phi->args.data[a].reg));
    return hash;
}

static bool phi_equal(const Merger *merger, const Phi *old, const Phi *phi)
{
    if (old->args.count != phi->args.count || !type_replaces(merger->body, old->dst, phi->dst))
        return false;
    for (size_t a = 0; a < phi->args.count; a++)
        if (old->args.data[a].pred != phi->args.data[a].pred ||
            find_value(merger, old->args.data[a].reg) != find_value(merger, phi->args.data[a].reg))
            return false;
    return true;
}

/* The equal entry of the bucket that dominates the block, or NULL. Entries whose subtree the walk has left are
 * dropped: it never comes back to them. */
static Entry *look_up(Merger *merger, uint64_t hash, const Block *block, const Inst *inst, const Phi *phi)
{
    for (Entry **link = &merger->table[hash & merger->mask], *entry; (entry = *link) != NULL;) {
        if (!dominance_has(merger->dominance, entry->block, block)) {
            *link = entry->next;
            continue;
        }
        if (entry->hash == hash) {
            if (inst && entry->inst && inst_equal(merger, entry->inst, inst))
                return entry;
            if (phi && !entry->inst && entry->block == block && phi_equal(merger, &entry->phi, phi))
                return entry;
        }
        link = &entry->next;
    }
    return NULL;
}

static void enter_value(Merger *merger, uint64_t hash, Block *block, Inst *inst, const Phi *phi)
{
    Entry *entry = ARENA_NEW(merger->scratch, Entry);
    entry->hash = hash;
    entry->block = block;
    entry->inst = inst;
    if (phi)
        entry->phi = *phi;
    entry->next = merger->table[hash & merger->mask];
    merger->table[hash & merger->mask] = entry;
}

/* The one value that all arguments have, apart from the phi itself; REG_NONE if they differ. */
static RegId only_argument(const Merger *merger, const Phi *phi)
{
    RegId only = REG_NONE;
    for (size_t a = 0; a < phi->args.count; a++) {
        RegId reg = find_value(merger, phi->args.data[a].reg);
        if (reg == phi->dst || reg == only)
            continue;
        if (only != REG_NONE)
            return REG_NONE;
        only = reg;
    }
    return only;
}

static void merge_phis(Merger *merger, Block *block)
{
    size_t kept = 0;
    for (size_t p = 0; p < block->phis.count; p++) {
        Phi phi = block->phis.data[p];
        RegId only = only_argument(merger, &phi);
        if (only != REG_NONE && type_replaces(merger->body, only, phi.dst)) {
            merger->replacement[phi.dst] = only;
            continue;
        }
        uint64_t hash = phi_hash(merger, block, &phi);
        const Entry *equal = look_up(merger, hash, block, NULL, &phi);
        if (equal)
            merger->replacement[phi.dst] = equal->phi.dst;
        else {
            enter_value(merger, hash, block, NULL, &phi);
            block->phis.data[kept++] = phi;
        }
    }
    merger->merged += (unsigned)(block->phis.count - kept);
    block->phis.count = kept;
}

/* True if another instruction has computed the results already. */
static bool merge_inst(Merger *merger, Block *block, Inst *inst)
{
    if (!is_repeatable(merger, inst))
        return false;
    RegId copied = computation_copied(merger->body, inst);
    if (copied != REG_NONE) {
        RegId dst = inst_reg(inst, 0);
        if (type_replaces(merger->body, copied, dst)) {
            merger->replacement[dst] = copied;
            return true;
        }
    }
    uint64_t hash = inst_hash(merger, inst);
    const Entry *equal = look_up(merger, hash, block, inst, NULL);
    if (!equal) {
        enter_value(merger, hash, block, inst, NULL);
        return false;
    }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE && ref_writes(&inst->refs[r]))
            merger->replacement[inst->refs[r].reg] = equal->inst->refs[r].reg;
    return true;
}

static void merge_block(Merger *merger, Block *block)
{
    merge_phis(merger, block);
    for (Inst *inst = block->first, *next; inst; inst = next) {
        next = inst->next;
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]))
                inst->refs[r].reg = find_value(merger, inst->refs[r].reg);
        if (merge_inst(merger, block, inst)) {
            inst_remove(inst);
            merger->merged++;
        }
    }
}

/* One walk down the dominator tree. Values from a loop's back edge are still unknown when it reaches the loop's head.
 */
static unsigned merge_once(Body *body, const Dominance *dominance)
{
    Arena *scratch = arena_new();
    Merger merger = {.body = body, .scratch = scratch, .dominance = dominance, .awaits = body_may_await(body)};
    size_t values = body->regs.count, size = 64;
    while (size < values)
        size *= 2;
    merger.table = ARENA_ARRAY(scratch, Entry *, size);
    merger.mask = size - 1;
    merger.replacement = ARENA_ARRAY(scratch, RegId, values);
    for (size_t r = 0; r < values; r++)
        merger.replacement[r] = (RegId)r;
    for (uint32_t i = 0; i < dominance->order_count; i++)
        merge_block(&merger, body->blocks.data[dominance->order[i]]);
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
                PhiArg *arg = &block->phis.data[p].args.data[a];
                arg->reg = find_value(&merger, arg->reg);
            }
    }
    arena_free(scratch);
    return merger.merged;
}

/* Each walk knows more about loops than the one before; a few find nearly everything. */
enum { MERGE_WALKS = 4 };

unsigned merge_equal_values(Body *body, Analyses *analyses)
{
    require(body->ssa);
    unsigned merged = 0;
    for (unsigned walk = 0; walk < MERGE_WALKS; walk++) {
        unsigned found = merge_once(body, analyses_dominance(analyses));
        merged += found;
        if (!found)
            break;
    }
    return merged;
}
