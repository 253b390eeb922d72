/* Predication: a short region without branches of its own becomes guarded instructions in its head.
 *
 *     if (p) { x = *a; *b = x + 1; }        @p ld x, [a];  @p add y, x, 1;  @p st [b], y
 *
 * Then cloning interleaves the replicas' instructions, loads first if the original has them first, and no branch is
 * left. An instruction that cannot fault and reads nothing that was computed under the guard, or under one like it
 * before, is executed by all threads, and once for all replicas if it is uniform. A division by what differs between
 * threads stays under the guard, which may be about zero. Values that the region's end chooses between are chosen by
 * selp, or by a guarded mov where one of them is computed under the guard: it is undefined elsewhere.
 *
 * Requires SSA form, variance and regions. Keeps SSA form; blocks, edges and all analyses change. */
#include "opt/coarsen/internal.h"

#include <string.h>

/* The longest regions that are predicated where no form is asked for (threads that do not enter execute them too), and
 * where this one is. */
enum { LONGEST_AUTO = 16, LONGEST = 64 };

/* One side of the head's branch: blocks in a row, from the first to the join. */
typedef struct Side {
    Block *first;  /* NULL: the head leads to the join */
    Block *last;   /* from which the join is reached */
    bool inverted; /* executed where the predicate is false */
    size_t instructions;
    bool reads; /* memory that threads share */
} Side;

typedef struct Predication {
    Coarsening *c;
    Body *body;
    Block *head, *join;
    RegId predicate;
    Side sides[2];
    PointerMap guarded; /* Inst: its results are undefined where its side is not taken */
    PointerMap moved, own;   /* Inst: all that have left their side, and those that differ between replicas */
    const BitSet *undefined; /* by RegId: on some path, before the pass */
} Predication;

/* True if the instruction can be given a guard. */
static bool is_simple(const Inst *inst)
{
    const unsigned allowed = EFFECT_PURE | EFFECT_READ | EFFECT_WRITE | EFFECT_THREAD | EFFECT_HINT | EFFECT_TRAP |
                             EFFECT_VOLATILE | EFFECT_SYNC;
    bool syncs = inst->sync != SYNC_NONE && inst->sync != SYNC_STRONG; /* of other threads or accesses */
    if (!inst_is_plain(inst) || syncs || inst->effects & ~allowed || inst->pragma)
        return false;
    Access access;
    if (!(inst->effects & (EFFECT_READ | EFFECT_WRITE)))
        return true;
    return inst_access(inst, &access) && access.kind != ACCESS_OTHER &&
           (access.space != SPACE_PARAM || access.read_only);
}

/* The only block that follows; NULL if there are several. */
static Block *next_of(const Block *block)
{
    const Inst *last = block->last;
    if (!last || !inst_is_terminator(last))
        return block->fall;
    return !inst_is_guarded(last) && last->target_count == 1 ? last->targets[0] : NULL;
}

/* Follows one side to the join. False if it branches, or does what cannot be guarded. */
static bool walk_side(const Facts *facts, const Region *region, Block *first, Side *side)
{
    side->last = region->head;
    side->first = first == region->join ? NULL : first;
    for (Block *block = first; block != region->join; block = next_of(block)) {
        if (!block || !bitset_has(&facts->in_region, block->id) || block->pred_count != 1 || block->is_cold ||
            block->phis.count)
            return false;
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (inst == block->last && inst_is_terminator(inst))
                continue;
            if (!is_simple(inst))
                return false;
            side->instructions++;
            side->reads |= coarsening_reads_memory(inst);
        }
        side->last = block;
    }
    return true;
}

/* True if mov and selp take values of the register's type. */
static bool is_movable(const Body *body, RegId reg)
{
    unsigned bits = type_bits(body->regs.data[reg].type);
    return body->regs.data[reg].type == TYPE_PRED || bits == 16 || bits == 32 || bits == 64;
}

static bool find_sides(const Coarsening *c, const Region *region, Side sides[2])
{
    Block *head = region->head;
    const Inst *last = block_two_way_branch(head);
    if (!last || !variance_branch(c->facts.variance, head) || head->is_cold)
        return false;
    sides[0] = (Side){.inverted = last->guard_inverted};
    sides[1] = (Side){.inverted = !last->guard_inverted};
    if (!walk_side(&c->facts, region, last->targets[0], &sides[0]) ||
        !walk_side(&c->facts, region, head->fall, &sides[1]))
        return false;
    for (size_t p = 0; p < region->join->phis.count; p++)
        if (!is_movable(c->body, region->join->phis.data[p].dst))
            return false;
    return true;
}

/* With GUARDS_AUTO, where replicas are neighbours a fast path's loads are shared and become vectors; guarded ones are
 * not. */
static bool is_wanted(const CoarsenStep *step, const Side sides[2])
{
    size_t instructions = sides[0].instructions + sides[1].instructions;
    bool reads = sides[0].reads || sides[1].reads;
    if (step->guards == GUARDS_AUTO && step->stride.kind == STRIDE_UNIT && reads && instructions >= LEAST_FAST)
        return false;
    return instructions <= (step->guards == GUARDS_PREDICATED ? LONGEST : LONGEST_AUTO);
}

/* True if all threads may execute the instruction. */
static bool is_speculative(const Inst *inst)
{
    Access access;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg)
        return sreg->dependence != SREG_VOLATILE;
    if (inst->effects & EFFECT_READ && inst_access(inst, &access) && access.space == SPACE_PARAM)
        return true;
    return !(inst->effects & ~(unsigned)(EFFECT_PURE | EFFECT_THREAD | EFFECT_HINT));
}

/* True if the instruction reads a value that may be undefined where its side is not taken. */
static bool reads_undefined(const Predication *p, const Inst *inst)
{
    const Values *values = analyses_values(p->c->facts.analyses);
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const RegId reg = inst->refs[r].reg;
        if (ref_reads(&inst->refs[r]) &&
            (bitset_has(p->undefined, reg) ||
             (value_inst(values, reg) && pointer_map_get(&p->guarded, value_inst(values, reg)))))
            return true;
    }
    return false;
}

/* True if the value differs between replicas, were they all to compute it: under the guard, every value does. */
static bool is_own(const Predication *p, RegId reg)
{
    const Inst *inst = value_inst(analyses_values(p->c->facts.analyses), reg);
    return inst && pointer_map_get(&p->moved, inst) ? pointer_map_get(&p->own, inst) != NULL
                                                    : variance_reg(p->c->facts.variance, reg);
}

static bool reads_own(const Predication *p, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && is_own(p, inst->refs[r].reg))
            return true;
    return false;
}

/* True if the instruction divides integers by a value that differs between replicas. */
static bool divides_by_own(const Predication *p, const Inst *inst)
{
    Computation c;
    return computation_of(p->body, inst, &c) && (c.op == COMPUTE_DIV || c.op == COMPUTE_REM) &&
           c.sources[1].reg != REG_NONE && is_own(p, c.sources[1].reg);
}

/* Moves the side's instructions to the end of the head, guarded where they need to be. */
static void move_side(Predication *p, const Side *side)
{
    for (Block *block = side->first; block && block != p->join; block = next_of(block))
        for (Inst *inst = block->first, *next; inst; inst = next) {
            next = inst->next;
            if (inst_is_terminator(inst))
                continue;
            bool needs_guard = !is_speculative(inst) || reads_undefined(p, inst) || divides_by_own(p, inst);
            pointer_map_put(&p->moved, inst, inst);
            if (reads_own(p, inst))
                pointer_map_put(&p->own, inst, inst);
            inst_remove(inst);
            if (needs_guard) {
                inst_guard(p->body, inst, p->predicate, side->inverted, REG_NONE);
                pointer_map_put(&p->guarded, inst, inst);
            }
            inst_append(p->head, inst);
        }
}

static bool is_guarded_value(const Predication *p, RegId reg)
{
    const Inst *inst = value_inst(analyses_values(p->c->facts.analyses), reg);
    return inst && pointer_map_get(&p->guarded, inst);
}

static const char *typed(const Predication *p, const char *opcode, RegId reg)
{
    Type type = p->body->regs.data[reg].type;
    return type == TYPE_PRED ? arena_printf(p->c->scratch, "%s.pred", opcode)
                             : arena_printf(p->c->scratch, "%s.b%u", opcode, type_bits(type));
}

/* The value that a phi of the join takes, of the two sides'. */
static RegId choose_value(Predication *p, RegId dst, RegId first, RegId second)
{
    Body *body = p->body;
    if (first == second)
        return first;
    RegId chosen = body_clone_reg(body, dst);
    bool undefined = is_guarded_value(p, first) || is_guarded_value(p, second);
    if (!undefined && body->regs.data[dst].type != TYPE_PRED) {
        RegId one = p->sides[0].inverted ? second : first, other = p->sides[0].inverted ? first : second;
        inst_append(p->head, inst_build(body, typed(p, "selp", dst), "drrr", chosen, one, other, p->predicate));
        return chosen;
    }
    /* The first side's value, then the second's over it. */
    RegId values[2] = {first, second}, old = REG_NONE;
    for (unsigned s = 0; s < 2; s++) {
        if (s == 0 && !is_guarded_value(p, first)) {
            old = first;
            continue;
        }
        RegId to = s ? chosen : body_clone_reg(body, dst);
        Inst *move = inst_build(body, typed(p, "mov", dst), "dr", to, values[s]);
        inst_guard(body, move, p->predicate, p->sides[s].inverted, old);
        inst_append(p->head, move);
        old = to;
    }
    return chosen;
}

static void predicate_region(Coarsening *c, const Region *region, const Side sides[2], const BitSet *undefined)
{
    Block *head = region->head, *join = region->join;
    Predication p = {.c = c,
                     .body = c->body,
                     .head = head,
                     .join = join,
                     .predicate = inst_predicate(head->last),
                     .sides = {sides[0], sides[1]},
                     .guarded = {.arena = c->scratch},
                     .moved = {.arena = c->scratch},
                     .own = {.arena = c->scratch},
                     .undefined = undefined};
    inst_remove(head->last);
    for (unsigned s = 0; s < 2; s++)
        move_side(&p, &p.sides[s]);
    for (size_t i = 0, count = join->phis.count; i < count; i++) {
        Phi *phi = &join->phis.data[i];
        RegId values[2] = {REG_NONE, REG_NONE};
        size_t kept = 0;
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            for (unsigned s = 0; s < 2; s++)
                if (arg.pred == p.sides[s].last)
                    values[s] = arg.reg;
            if (arg.pred != p.sides[0].last && arg.pred != p.sides[1].last)
                phi->args.data[kept++] = arg;
        }
        phi->args.count = kept;
        VEC_PUSH(c->body->arena, phi->args, ((PhiArg){head, choose_value(&p, phi->dst, values[0], values[1])}));
    }
    head->fall = join;
}

bool coarsening_predicate(Coarsening *c)
{
    bool changed = false;
    const BitSet undefined = values_maybe_undefined(c->scratch, analyses_values(c->facts.analyses));
    for (size_t r = 0; r < c->facts.regions.count; r++) {
        Side sides[2];
        const Region *region = &c->facts.regions.data[r];
        if (!find_sides(c, region, sides) || !is_wanted(&c->step, sides) ||
            coarsening_region_observes(&c->facts, region))
            continue;
        predicate_region(c, region, sides, &undefined);
        changed = true;
    }
    if (changed)
        body_remove_unreachable(c->body);
    return changed;
}
