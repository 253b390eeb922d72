#include "opt/pool.h"

#include <string.h>

#include "analysis/analysis.h"
#include "opt/demands.h"

/* The steps up to a place. */
typedef struct Trace {
    bool reached;
    PoolGroup steps;
} Trace;

typedef struct Tracer {
    const Body *body;
    Arena *arena;
    unsigned first;      /* the warpgroup's first thread in its block */
    unsigned threads[3]; /* of the block */
    Bounds *bounds;      /* by RegId */
    bool *bounded;
    Trace *at;           /* by Block.id: at its beginning */
    uint32_t *rank;      /* by Block.id: in reverse postorder */
    PoolOpen open;
    Span place;
} Tracer;

static void give_up(Tracer *tracer, PoolOpen why, Span place)
{
    if (tracer->open != POOL_KNOWN)
        return;
    tracer->open = why;
    tracer->place = place;
}

static unsigned reg_bits(const Body *body, RegId reg)
{
    const Type type = body->regs.data[reg].type;
    const unsigned bits = type == TYPE_PRED ? 1 : type_bits(type);
    return bits < 1 || bits > 64 ? 64 : bits;
}

static Bounds register_bounds(const void *context, RegId reg)
{
    const Tracer *tracer = context;
    return tracer->bounded[reg] ? tracer->bounds[reg] : bounds_any(reg_bits(tracer->body, reg));
}

static void set_bounds(Tracer *tracer, RegId reg, Bounds bounds)
{
    if (reg == REG_NONE || bounds.bits != reg_bits(tracer->body, reg))
        return;
    tracer->bounds[reg] = bounds;
    tracer->bounded[reg] = true;
}

static Bounds bounds_union(const Bounds *a, const Bounds *b)
{
    return (Bounds){.low = a->low < b->low ? a->low : b->low,
                    .high = a->high > b->high ? a->high : b->high,
                    .least = a->least < b->least ? a->least : b->least,
                    .most = a->most > b->most ? a->most : b->most,
                    .zeros = a->zeros & b->zeros,
                    .bits = a->bits};
}

/* The component of %tid in a thread of the block; threads are numbered along x first. */
static unsigned thread_index(const Tracer *tracer, unsigned thread, unsigned axis)
{
    for (unsigned d = 0; d < axis; d++)
        thread /= tracer->threads[d];
    return thread % tracer->threads[axis];
}

static bool special_bounds(const Tracer *tracer, const Sreg *sreg, unsigned bits, Bounds *out)
{
    if (sreg->role == SREG_ROLE_LANEID) {
        *out = bounds_unsigned(bits, 0, 31);
        return true;
    }
    if ((sreg->role != SREG_ROLE_TID && sreg->role != SREG_ROLE_NTID) || sreg->axis > SREG_AXIS_Z)
        return false;
    if (sreg->role == SREG_ROLE_NTID) {
        *out = bounds_point(bits, tracer->threads[sreg->axis]);
        return true;
    }
    unsigned low = UINT32_MAX, high = 0;
    for (unsigned t = 0; t < WARPGROUP_THREADS; t++) {
        const unsigned index = thread_index(tracer, tracer->first + t, sreg->axis);
        low = index < low ? index : low;
        high = index > high ? index : high;
    }
    *out = bounds_unsigned(bits, low, high);
    return true;
}

/* A shuffle gives what a thread of the same warp, and so of the same warpgroup, has. */
static bool is_shuffle(const Inst *inst)
{
    return inst_op(inst) == OP_SHFL && inst_is_plain(inst) && inst->operand_count > 1;
}

static void inst_evaluate(Tracer *tracer, const Inst *inst)
{
    Computation c;
    const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
    const RegId result = inst_result(inst);
    Bounds bounds;
    if (sreg) {
        if (inst_is_plain(inst) && inst_op(inst) == OP_MOV && result != REG_NONE &&
            special_bounds(tracer, sreg, reg_bits(tracer->body, result), &bounds))
            set_bounds(tracer, result, bounds);
    } else if (is_shuffle(inst)) {
        const Operand *to = &inst->operands[0];
        if (to->kind == OPERAND_PAIR)
            to = &to->items[0];
        const RegId reg = operand_plain_reg(inst, to), from = inst_reg(inst, 1);
        if (reg != REG_NONE && from != REG_NONE)
            set_bounds(tracer, reg, register_bounds(tracer, from));
    } else if (computation_of(tracer->body, inst, &c)) {
        set_bounds(tracer, c.result, computation_bounds(&c, register_bounds, tracer));
    }
}

/* -1: not known. */
static int guard_outcome(const Tracer *tracer, const Inst *inst)
{
    if (!inst_is_guarded(inst))
        return 1;
    const Bounds bounds = register_bounds(tracer, inst_predicate(inst));
    return bounds_is_point(&bounds) ? (bounds.low != 0) != inst->guard_inverted : -1;
}

static void step_add(Tracer *tracer, PoolGroup *steps, const Inst *inst)
{
    const int outcome = guard_outcome(tracer, inst);
    if (outcome < 0)
        give_up(tracer, POOL_GUARD, inst->span);
    else if (steps->step_count == POOL_STEPS)
        give_up(tracer, POOL_MANY, inst->span);
    else if (outcome)
        steps->steps[steps->step_count++] = (PoolStep){.span = inst->span,
                                                       .increases = setmaxnreg_increases(inst),
                                                       .registers = (unsigned)inst->operands[0].constant->bits};
}

bool pool_groups_match(const PoolGroup *a, const PoolGroup *b)
{
    if (a->step_count != b->step_count)
        return false;
    for (unsigned i = 0; i < a->step_count; i++)
        if (a->steps[i].span.begin != b->steps[i].span.begin)
            return false;
    return true;
}

/* The last step of the longer list, which the other path lacks. */
static Span odd_step(const PoolGroup *a, const PoolGroup *b)
{
    const PoolGroup *longer = a->step_count >= b->step_count ? a : b;
    return longer->step_count ? longer->steps[longer->step_count - 1].span : (Span){0};
}

static void flow_to(Tracer *tracer, const Block *from, const Block *to, const PoolGroup *steps)
{
    Trace *trace = &tracer->at[to->id];
    if (!trace->reached)
        *trace = (Trace){true, *steps};
    else if (!pool_groups_match(&trace->steps, steps))
        give_up(tracer, tracer->rank[to->id] <= tracer->rank[from->id] ? POOL_LOOP : POOL_PATHS,
                odd_step(&trace->steps, steps));
}

static void phis_evaluate(Tracer *tracer, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++) {
        const Phi *phi = &block->phis.data[p];
        Bounds joined = {0};
        bool known = true, any = false;
        for (size_t a = 0; a < phi->args.count && known; a++) {
            const PhiArg *arg = &phi->args.data[a];
            if (tracer->rank[arg->pred->id] >= tracer->rank[block->id]) {
                known = false; /* from a loop's latch, which has not been looked at */
            } else if (tracer->at[arg->pred->id].reached) {
                const Bounds bounds = register_bounds(tracer, arg->reg);
                joined = any ? bounds_union(&joined, &bounds) : bounds;
                any = true;
            }
        }
        if (known && any)
            set_bounds(tracer, phi->dst, joined);
    }
}

/* The warpgroup ends here, after these steps; code that stops the kernel with an error ends elsewhere. */
static void path_end(Tracer *tracer, const Block *block, const PoolGroup *steps, Trace *end)
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst_op(inst) == OP_TRAP)
            return;
    if (!end->reached)
        *end = (Trace){true, *steps};
    else if (!pool_groups_match(&end->steps, steps))
        give_up(tracer, POOL_PATHS, odd_step(&end->steps, steps));
}

static void block_trace(Tracer *tracer, const Block *block, Trace *end)
{
    PoolGroup steps = tracer->at[block->id].steps;
    phis_evaluate(tracer, block);
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (!inst_is_opaque(inst) && inst->sync == SYNC_REGISTERS)
            step_add(tracer, &steps, inst);
        else
            inst_evaluate(tracer, inst);
    }
    const Inst *last = block->last;
    const bool ends = last && inst_is_terminator(last);
    const int outcome = ends ? guard_outcome(tracer, last) : 0;
    if (ends && outcome != 0 && !last->target_count)
        path_end(tracer, block, &steps, end);
    for (unsigned t = 0; ends && outcome != 0 && t < last->target_count; t++)
        flow_to(tracer, block, last->targets[t], &steps);
    const bool falls = !ends || outcome != 1;
    if (falls && block->fall)
        flow_to(tracer, block, block->fall, &steps);
    else if (!ends)
        path_end(tracer, block, &steps, end);
}

static bool group_trace(Tracer *tracer, PoolGroup *out)
{
    const Body *body = tracer->body;
    size_t count;
    Block **order = body_reverse_postorder(tracer->arena, body, &count);
    tracer->bounds = ARENA_ARRAY(tracer->arena, Bounds, body->regs.count + 1);
    tracer->bounded = ARENA_ARRAY(tracer->arena, bool, body->regs.count + 1);
    tracer->at = ARENA_ARRAY(tracer->arena, Trace, body->blocks.count + 1);
    tracer->rank = ARENA_ARRAY(tracer->arena, uint32_t, body->blocks.count + 1);
    for (size_t i = 0; i < count; i++)
        tracer->rank[order[i]->id] = (uint32_t)i;
    Trace end = {0};
    tracer->at[order[0]->id].reached = true;
    for (size_t i = 0; i < count && tracer->open == POOL_KNOWN; i++)
        if (tracer->at[order[i]->id].reached)
            block_trace(tracer, order[i], &end);
    *out = end.steps;
    return tracer->open == POOL_KNOWN;
}

/* Functions that the kernel calls may execute setmaxnreg, too; those of other modules cannot ("to maintain
 * compatibility across compilation units", PTX ISA). */
static bool is_called(const Function *kernel, Span *place)
{
    Arena *scratch = arena_new();
    const FunctionVec functions = functions_called(scratch, kernel);
    bool found = false;
    for (size_t f = 0; f < functions.count && !found; f++)
        for (size_t i = 0; functions.data[f] != kernel && i < functions.data[f]->stmts.count && !found; i++) {
            const Stmt *stmt = &functions.data[f]->stmts.data[i];
            found = stmt->kind == STMT_INST && !inst_is_opaque(stmt->inst) && stmt->inst->sync == SYNC_REGISTERS;
            if (found)
                *place = stmt->inst->span;
        }
    arena_free(scratch);
    return found;
}

static Pool pool_trace(const Body *body, const unsigned threads[3])
{
    Pool pool = {.threads = threads[0] * threads[1] * threads[2]};
    if (!pool.threads || pool.threads > BLOCK_MOST_THREADS)
        pool.open = POOL_NO_BLOCK;
    else if (pool.threads % WARPGROUP_THREADS)
        pool.open = POOL_PART_OF_GROUP;
    else if (is_called(body->function, &pool.place))
        pool.open = POOL_CALLED;
    if (pool.open != POOL_KNOWN)
        return pool;
    Arena *arena = arena_new();
    pool.group_count = pool.threads / WARPGROUP_THREADS;
    for (unsigned g = 0; g < pool.group_count && pool.open == POOL_KNOWN; g++) {
        Tracer tracer = {.body = body, .arena = arena, .first = g * WARPGROUP_THREADS};
        memcpy(tracer.threads, threads, sizeof tracer.threads);
        group_trace(&tracer, &pool.groups[g]);
        pool.open = tracer.open;
        pool.place = tracer.place;
    }
    arena_free(arena);
    return pool;
}

Pool pool_find(Function *kernel, const BlockSize *block)
{
    const char *reason;
    if (block->origin == BLOCK_UNKNOWN)
        return (Pool){.open = POOL_NO_BLOCK};
    Body *body = body_build(kernel, &reason);
    if (!body)
        return (Pool){.open = POOL_NO_BODY};
    body_to_ssa(body);
    const Pool pool = pool_trace(body, block->threads);
    body_free(body);
    return pool;
}
