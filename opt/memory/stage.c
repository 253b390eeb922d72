/* Staging: what the threads of a block read from global memory in a loop goes through shared memory ("A GPGPU Compiler
 * for Memory Optimization and Parallelism Management", PLDI'10, sections 3.2 to 3.4).
 *
 *     for (k = 0; k < n; k++)                 for (k = 0; k + 16 <= n; k += 16) {
 *         s += a[row * n + k] * b[k];    ->       barrier
 *                                                 the block loads a[its rows][k .. k + 15] together
 *                                                 barrier
 *                                                 for (i = 0; i < 16; i++)
 *                                                     s += tile[ty][i] * b[k + i];
 *                                             }
 *                                             for (; k < n; k++) ...
 *
 * A loop is staged if
 *   1. it has one end, does not synchronise and calls nothing, and what it stores to global memory is not what it loads
 *      in other rounds (stores.c);
 *   2. all threads of the block go round it together, and the number of rounds is known before it (gather.c). If
 *      guards decide which threads do, these vote, and blocks in which some do not take the original loop;
 *   3. the block's size is known. If launches may have another one, they take the original loop, too;
 *   4. the address of a load, executed in every round, can be computed for another thread and round (patterns.c,
 *      slices.c).
 * Then each address in a tile is that of a load which some thread of the block executes in these rounds, so nothing is
 * read that was not read before. The value is the same, too: the thread that reads it in the original does not store
 * there in the loop, and its stores before that are ordered before the tile's loads by the barrier; no other thread may
 * store there without synchronizing with it in between, because that would be a data race. Stores go to tiles in the
 * same way, which the block writes to memory after these rounds, if that takes fewer sectors. */
#include "opt/common/preheader.h"
#include "opt/demands.h"
#include "opt/memory/internal.h"
#include "opt/memory/obstacles.h"
#include "opt/passes.h"

unsigned stage_count(const StageResult *result)
{
    unsigned count = 0;
    for (size_t i = 0; i < result->loops.count; i++)
        count += result->loops.data[i].done;
    return count;
}

bool stage_is_done(const StageResult *result)
{
    return result->exchange.done || result->unflattened.done || result->held.done || stage_count(result);
}

bool stage_is_async(const StageResult *result)
{
    bool is_async = false;
    for (size_t i = 0; i < result->loops.count; i++)
        is_async |= result->loops.data[i].done && result->loops.data[i].buffers;
    return is_async;
}

static bool check_inst(Staging *s, const Inst *inst, bool may_store)
{
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_WRITE | EFFECT_TRAP | EFFECT_THREAD | EFFECT_HINT |
                              EFFECT_CC_READ | EFFECT_CC_WRITE;
    Access access;
    if (inst_is_branch(inst))
        return true;
    if (inst_is_terminator(inst) || inst->sync != SYNC_NONE || inst->effects & ~harmless)
        return stage_refuse(s, inst, REFUSAL_STAGE_FIXED);
    if (!(inst->effects & EFFECT_WRITE))
        return true;
    if (!inst_access(inst, &access) || access.kind != ACCESS_STORE || !access.weak)
        return stage_refuse(s, inst, REFUSAL_STAGE_STORE);
    if (access.space == SPACE_SHARED || access.space == SPACE_LOCAL)
        return true;
    s->stores = may_store && access_is_global(analyses_affine(s->analyses), inst, &access);
    return s->stores || stage_refuse(s, inst, REFUSAL_STAGE_STORE);
}

/* The end of the loop: one edge back, from the only block that leads out. */
static bool check_shape(Staging *s, bool may_store)
{
    const Loop *loop = s->loop;
    if (!trip_count_find(loop, s->loops, s->analyses, &s->trips) || loop->latch_count != 1 ||
        s->trips.exiting != loop->latches[0])
        return stage_refuse(s, loop->latches[0]->last, REFUSAL_STAGE_ROUNDS);
    s->latch = loop->latches[0];
    const Inst *last = s->latch->last;
    s->after = last->targets[0] == loop->header ? s->latch->fall : last->targets[0];
    for (uint32_t b = 0; b < loop->block_count; b++) {
        if (bitset_has(&s->loops->irreducible, loop->blocks[b]->id))
            return stage_refuse(s, last, REFUSAL_STAGE_JUMPS);
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next)
            if (!check_inst(s, inst, may_store))
                return false;
    }
    return true;
}

static bool is_own(const Staging *s, RegId reg)
{
    return reg != REG_NONE && variance_reg(s->variance, reg);
}

/* Whether all threads of a block go round the loop equally often, for certain or as they will test, or as often as the
 * first one at least. */
static bool check_rounds(Staging *s, bool may_test)
{
    s->rounds_differ = is_own(s, s->trips.counter.start) || is_own(s, s->trips.bound);
    s->rounds_grow = s->rounds_differ && may_test && !stage_rounds_alike(s);
    if (is_own(s, s->trips.counter.addend) || (s->rounds_differ && !may_test) ||
        (s->rounds_grow && !stage_rounds_grow(s)))
        return stage_refuse(s, s->latch->last, REFUSAL_STAGE_OWN_ROUNDS);
    return true;
}

/* The same for a loop with another one inside. */
static bool stage_nest(Staging *s)
{
    if (!check_shape(s, false) || !stage_find_guards(s) || !check_rounds(s, false))
        return false;
    stage_find_patterns(s);
    if (!nest_find(s))
        return false;
    s->report->votes = s->report->done = true;
    stage_rewrite(s);
    return true;
}

static bool stage_loop(Staging *s)
{
    if (!check_shape(s, true) || !stage_find_guards(s))
        return false;
    stage_find_patterns(s);
    if (!check_rounds(s, true) || (s->stores && !stage_find_stores(s)) || !stage_find_tiles(s))
        return false;
    s->report->votes = s->vote != NULL;
    s->report->done = true;
    stage_rewrite(s);
    return true;
}

/* Whether the loop is one of a kernel's part whose threads take turns (held/held_rows.c). */
static bool takes_turns(const Loop *loop)
{
    for (; loop; loop = loop->parent)
        for (const Inst *inst = loop->header->first; inst; inst = inst->next)
            if (inst->sync == SYNC_BLOCK_BARRIER)
                return true;
    return false;
}

/* The headers of the loops that have none inside, on paths that are often taken. */
static size_t find_headers(Arena *arena, const LoopForest *loops, bool held, Block ***headers)
{
    size_t count = 0;
    *headers = ARENA_ARRAY(arena, Block *, loops->loop_count + 1);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].end == i + 1 && !loops->loops[i].header->is_cold &&
            !(held && takes_turns(&loops->loops[i])))
            (*headers)[count++] = loops->loops[i].header;
    return count;
}

static void need_preheader(PassContext *context, const Block *header)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    const Loop *loop = loop_headed(loops, header);
    if (loop->preheader)
        return;
    loop_add_preheader(context->body, loops, loop);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
}

typedef struct Kernel {
    PassContext *context;
    BlockSize launched;
    uint64_t shared;
    Variable *array;
} Kernel;

/* Stages the loop, or, with 'is_nest', what the loop inside of it reads; a nest that cannot be staged is not
 * reported. */
static bool stage_headed(Kernel *kernel, Block *header, bool is_nest)
{
    PassContext *context = kernel->context;
    Arena *scratch = arena_new();
    Staging s = {.body = context->body, .scratch = scratch, .analyses = context->analyses};
    StagedLoop report = {.span = {0, 0}};
    s.dominance = analyses_dominance(s.analyses);
    s.loops = analyses_loops(s.analyses);
    s.values = analyses_values(s.analyses);
    s.loop = loop_headed(s.loops, header);
    s.request = context->staging;
    s.sm = context->sm;
    s.buffers = 1;
    s.shared = kernel->shared;
    s.block = context->block;
    s.launched = kernel->launched;
    s.threads = block_size_total(&context->block);
    s.array = &kernel->array;
    s.report = &report;
    const Inst *last = s.loop->latches[0]->last;
    report.span = last ? last->span : report.span;
    bool done = is_nest ? stage_nest(&s) : stage_loop(&s);
    if (done || !is_nest)
        VEC_PUSH(context->body->module->arena, context->staged.loops, report);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    arena_free(scratch);
    return done;
}

/* Stages the loop around the one with this header as a nest. */
static bool stage_around(Kernel *kernel, const Block *header)
{
    PassContext *context = kernel->context;
    const Loop *parent = loop_headed(analyses_loops(context->analyses), header)->parent;
    if (!parent || parent->header->is_cold || parent->latch_count != 1)
        return false;
    Block *outer = parent->header;
    need_preheader(context, outer);
    need_preheader(context, header);
    return stage_headed(kernel, outer, true);
}

bool pass_stage(PassContext *context)
{
    Arena *scratch = arena_new();
    Kernel kernel = {.context = context, .launched = context->block};
    bool changed = false;
    context->staged.refusal = (Refusal){.reason = REFUSAL_NONE};
    const Demands demands = demands_find(context->body->function);
    Obstacle obstacle = {0};
    if (context->holds.done) /* which takes neither barriers nor shared memory of the kernel's own */
        kernel.array = context->holds.array;
    else
        obstacle = kernel_obstacle(scratch, context->body, &kernel.shared);
    if (demands.waits)
        obstacle = (Obstacle){demands.waits, REFUSAL_STAGE_BLOCKS};
    if (obstacle.reason)
        refusal_set(&context->staged.refusal, context->body, obstacle.inst, obstacle.reason, NULL);
    else if (!block_size_total(&context->block))
        refusal_set(&context->staged.refusal, context->body, NULL, REFUSAL_STAGE_BLOCK, NULL);
    Block **headers;
    bool may_stage = !is_refusal(&context->staged.refusal);
    BlockRows rows;
    const bool has_rows = may_stage && !context->holds.done && rows_split(&rows, context);
    size_t count = may_stage ? find_headers(scratch, analyses_loops(context->analyses), context->holds.done, &headers)
                             : 0;
    for (size_t i = 0; i < count; i++) {
        if (headers[i]->is_cold)
            continue;
        if (stage_around(&kernel, headers[i])) {
            changed = true;
            continue;
        }
        need_preheader(context, headers[i]);
        changed |= stage_headed(&kernel, headers[i], false);
    }
    if (has_rows) {
        rows_join(&rows, context);
        context->staged.row_threads = 1U << rows.shift;
    }
    arena_free(scratch);
    return changed;
}
