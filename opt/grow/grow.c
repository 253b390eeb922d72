/* Blocks that grow: neighbouring blocks of the grid become one block with the threads of all of them.
 *
 * PLDI'10 (Yang et al., section 3.5.1, "thread-block merge"): a larger block shares what its threads load, as tiles in
 * shared memory (opt/memory/), which are filled from memory once for all of them. Each thread keeps its work. If N
 * blocks of B threads along an axis become one,
 *
 *     old %tid = %tid % B, old %ctaid = %ctaid * N + %tid / B, old %ntid = B, old %nctaid = %nctaid * N
 *
 * and the launch has N times the threads in a block, and blocks fewer by the same factor: the contract says so, and
 * that N divides the grid.
 *
 * It is sound, or refused:
 *   - a barrier becomes one of more threads, so all original blocks must come to it alike (meet.c), and no loop may
 *     wait for another thread, which a barrier might hold up now (opt/coarsen/waiting.c);
 *   - nothing may count the threads or warps of a block, or depend on which of them are in a warp, unless each warp is
 *     one of the original's: then the original block's size must be known, and fill whole warps;
 *   - each original block has its own part of shared memory (parts.c).
 * Accesses that are ordered or atomic among the threads of a block are so among more of them.
 *
 * Requires and keeps SSA form. The launch changes. */
#include "opt/grow/internal.h"
#include "opt/passes.h"

enum { MOST_ALONG_Z = 64, MOST_REGISTERS = 65536 }; /* of a block, on every architecture */

static bool launch_fails(Grow *g, RefusalReason reason, const RefusalOperand *operands)
{
    return coarsening_refuse_with(&g->c, NULL, reason, operands);
}

/* The threads of the grown block; 0: unknown. */
static uint64_t grown_threads(const Grow *g)
{
    uint64_t threads = g->total;
    for (unsigned d = 0; d < 3; d++)
        threads *= g->axes[d].threads;
    return threads;
}

/* Refuses blocks that cannot be launched. */
static bool check_size(Grow *g)
{
    const Tuning *tuning = &g->c.body->tuning;
    const uint64_t threads = grown_threads(g), along_z = (uint64_t)g->axes[2].by * g->axes[2].threads;
    if (threads > BLOCK_MOST_THREADS)
        return launch_fails(g, REFUSAL_GROWN_BLOCK,
                            REFUSAL_WITH(refusal_number(threads), refusal_number(BLOCK_MOST_THREADS)));
    if (along_z > MOST_ALONG_Z)
        return launch_fails(g, REFUSAL_GROWN_ALONG_Z,
                            REFUSAL_WITH(refusal_number(along_z), refusal_number(MOST_ALONG_Z)));
    const uint64_t registers = (threads ? threads : BLOCK_MOST_THREADS) * tuning->maxnreg;
    if (registers > MOST_REGISTERS)
        return launch_fails(g, REFUSAL_GROWN_REGISTERS,
                            REFUSAL_WITH(refusal_number(tuning->maxnreg), refusal_number(registers),
                                         refusal_number(MOST_REGISTERS)));
    return true;
}

/* Refuses blocks whose threads would be in other warps. An original block's threads follow one another in the larger
 * block as far as the axes below the lowest one that grows, and along that. */
static bool check_warps(Grow *g)
{
    uint64_t together = 1;
    if (!g->c.needs_whole_warps)
        return true;
    for (unsigned d = 0; d < 3; d++) {
        if (!g->axes[d].threads)
            return launch_fails(g, REFUSAL_GROWN_WARPS_UNKNOWN, NULL);
        together *= g->axes[d].threads;
        if (g->axes[d].by > 1)
            break;
    }
    return together % 32 == 0 ||
           launch_fails(g, REFUSAL_GROWN_WARPS, REFUSAL_WITH(refusal_number(together)));
}

/* Threads that exchange values through volatile memory without a barrier rely on being in one warp (before sm_70). */
static bool relies_on_warps(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst->effects & EFFECT_VOLATILE && inst_access(inst, &access) && access.space != SPACE_GLOBAL)
                return true;
        }
    return false;
}

static void find_facts(Grow *g)
{
    Facts *facts = &g->c.facts;
    facts->analyses = analyses_new(g->c.body);
    facts->dominance = analyses_dominance(facts->analyses);
    facts->postdominance = analyses_postdominance(facts->analyses);
    facts->loops = analyses_loops(facts->analyses);
    facts->in_region = bitset_new(g->c.scratch, g->c.body->blocks.count); /* no thread does the work of others */
}

static bool check(Grow *g)
{
    Coarsening *c = &g->c;
    Legality *legality = c->record.legality;
    coarsening_count_instructions(c->body, legality);
    if (!coarsening_condition(legality, LEGAL_INSTRUCTIONS, coarsening_check_instructions(c)))
        return false;
    find_facts(g);
    c->needs_whole_warps |= relies_on_warps(c->body);
    return coarsening_condition(legality, LEGAL_MEMORY, coarsening_check_private(c) && coarsening_check_shared(c) &&
                                                            grow_check_shared(g)) &&
           coarsening_condition(legality, LEGAL_BARRIERS, grow_check_barriers(g)) &&
           coarsening_condition(legality, LEGAL_WAITING, coarsening_check_waiting(c)) &&
           coarsening_condition(legality, LEGAL_LAUNCH, check_size(g) && check_warps(g));
}

/* Declares the size of the larger blocks, so that an assembler leaves each thread no more registers than a block of
 * them can have. */
static void grow_tuning(const Grow *g, Tuning *tuning)
{
    BlockSize grown = {.origin = BLOCK_GIVEN, .threads = {BLOCK_MOST_THREADS, 1, 1}};
    uint64_t bound = g->total;
    for (unsigned d = 0; d < 3; d++) {
        if (grown_threads(g))
            grown.threads[d] = g->axes[d].by * g->axes[d].threads;
        bound *= d < tuning->maxntid_count ? tuning->maxntid[d] : 1;
    }
    if (!grown_threads(g) && tuning->maxntid_count && bound < BLOCK_MOST_THREADS)
        grown.threads[0] = (unsigned)bound;
    tuning->minnctapersm = (unsigned)divide_up(tuning->minnctapersm, g->total);
    tuning->maxnctapersm = (unsigned)divide_up(tuning->maxnctapersm, g->total);
    if (!tuning->reqntid_count) {
        block_size_declare(&grown, tuning);
        return;
    }
    tuning->reqntid_count = grown.threads[2] > 1 ? 3 : grown.threads[1] > 1 ? 2 : 1;
    for (unsigned d = 0; d < 3; d++)
        tuning->reqntid[d] = grown.threads[d];
}

static void set_contract(const Grow *g, LaunchContract *contract)
{
    const Shape none = {0};
    *contract = (LaunchContract){.kernel = g->c.body->function->name,
                                 .shape = shape_complete(&none),
                                 .dynamic_factor = g->c.dynamic.is_split ? g->total : 1,
                                 .whole_warps = g->c.needs_whole_warps,
                                 .stride_unit = 1};
    for (unsigned d = 0; d < 3; d++) {
        contract->shape.grown[d] = g->axes[d].by;
        contract->block[d] = g->axes[d].threads;
    }
}

static void rewrite(Grow *g)
{
    coarsening_gather_dynamic(&g->c);
    Inst *place = grow_place(g);
    grow_split_shared(g, place);
    grow_simplify(g);
}

static BlockSize grown_block(const Grow *g, const BlockSize *block)
{
    unsigned given[3] = {0};
    for (unsigned d = 0; d < 3 && block->origin == BLOCK_GIVEN; d++)
        given[d] = g->axes[d].by * block->threads[d];
    return block_size_resolve(&g->c.body->tuning, given);
}

bool pass_grow(PassContext *context)
{
    Arena *scratch = arena_new();
    const unsigned *by = context->coarsening->shape.grown;
    const BlockSize block = block_size_exact(&context->block);
    Grow g = {.c = {.body = context->body,
                    .scratch = scratch,
                    .step = {.merges_blocks = true, .grows = true, .factor = merged_count(by), .shrinks_grid = true},
                    .record = {.refusal = &context->refusal, .legality = &context->legality},
                    .index = {.first = REG_NONE, .distance = REG_NONE},
                    .exits.parted = {.arena = scratch},
                    .common.users = {.arena = scratch}},
              .total = merged_count(by)};
    context->refusal = (Refusal){0};
    context->legality = (Legality){0};
    for (unsigned d = 0; d < 3; d++)
        g.axes[d] = (GrowAxis){.by = by[d] ? by[d] : 1, .threads = block.threads[d]};
    bool done = context->body->function->is_entry || launch_fails(&g, REFUSAL_NOT_KERNEL, NULL);
    if (done && context->body->function->name[0] == '%')
        done = launch_fails(&g, REFUSAL_BAD_NAME, NULL);
    done = done && check(&g);
    if (done) {
        rewrite(&g);
        grow_tuning(&g, &context->body->tuning);
        set_contract(&g, &context->contract);
        context->block = grown_block(&g, &context->block);
    }
    analyses_free(g.c.facts.analyses);
    arena_free(scratch);
    return done;
}
