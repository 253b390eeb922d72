/* Thread coarsening: the order of its steps.
 *
 * After Magni, Dubach and O'Boyle (SC'13, section 4: divergence analysis, replication of divergent instructions and
 * regions, stride) and Unkule, Shaltz and Qasem (CC'12: legality, several dimensions).
 *
 * Requires SSA form. Preserves SSA form, barriers, uniform branches and loops. The kernel needs a different launch
 * afterwards: the contract says which.
 *
 * First all exits are led to one block (exits.c), and parts whose barriers are not always reached are divided
 * (reach.c). Then dimensions are coarsened one after the other: a kernel
 * that is coarse along x is a kernel like any other. For each dimension:
 *   1. instructions that coarsening cannot handle are refused (legality.c, rules.c);
 *   2. the index is read in one place (index.c);
 *   3. variance says which values differ between replicas (analysis/variance.h), given what CUDA guarantees
 *      (observations.c, barriers.c);
 *   4. blocks under variant control are closed to regions with one entry and one exit (regions.c); where that
 *      is because replicas may leave before a barrier, the body is rewritten (leave.c, alive.c);
 *   5. what cannot be shown to be sound is refused (legality.c, warps.c, waiting.c,
 *      progress.c);
 *   6. short regions are predicated (predicate.c), others get fast paths beside them, for where the replicas
 *      agree on the condition (fast.c, joint.c);
 *   7. of merged blocks, shared arrays are found that one copy of is enough for (common.c);
 *   8. variant instructions are cloned in place, and regions as a whole (mapping.c, clone.c,
 *      combine.c), but slow paths become loops over the replicas (slow.c). */
#include "opt/coarsen/coarsen.h"

#include "opt/coarsen/internal.h"
#include "opt/common/ends.h"
#include "opt/passes.h"

#include <string.h>

/* The limits of a block, on every architecture (CUDA Programming Guide, "Compute Capabilities"). */
static const unsigned most_along[3] = {1024, 1024, 64};

/* Finds the values that differ between replicas, and where: the analyses of the body as it is now, and its regions. */
static bool analyze(Coarsening *c)
{
    Facts *facts = &c->facts;
    analyses_free(facts->analyses);
    facts->analyses = analyses_new(c->body);
    facts->dominance = analyses_dominance(facts->analyses);
    facts->postdominance = analyses_postdominance(facts->analyses);
    facts->loops = analyses_loops(facts->analyses);
    coarsening_find_observations(c);
    coarsening_find_uniform_branches(c);
    facts->passed_branches = bitset_new(c->scratch, c->body->blocks.count);
    bitset_copy(&facts->passed_branches, &facts->block_branches);
    for (size_t i = 0; i < c->exits.leaves.count; i++) {
        bitset_add(&facts->uniform_branches, c->exits.leaves.data[i].branch->id);
        bitset_add(&facts->passed_branches, c->exits.leaves.data[i].branch->id);
    }
    facts->agreed = coarsening_agreed(c);
    facts->agreed_count = c->body->regs.count;
    VarianceOptions options = {.lane_uniform = c->needs_whole_warps,
                               .merge_loads = true,
                               .blocks = c->step.merges_blocks,
                               .unmerged = &facts->observations,
                               .common = &c->common.users,
                               .differing = &c->exits.parted,
                               .uniform_branches = &facts->uniform_branches,
                               .agreed = &facts->agreed};
    facts->variance = analyses_variance(facts->analyses, c->step.dimension, &options);
    return coarsening_condition(c->record.legality, LEGAL_FLOW, coarsening_find_regions(c));
}

/* How deep fast paths may nest: regions within fast paths may have fast paths. */
enum { DEEPEST_PATHS = 6 };

/* Gives regions their forms. */
static bool form_regions(Coarsening *c, unsigned growth)
{
    if (c->step.guards == GUARDS_SEQUENTIAL)
        return true;
    c->growth = body_inst_count(c->body) * c->step.factor * ((growth ? growth : GROWTH_DEFAULT) - 1);
    bool closed = true, predicates = c->step.guards != GUARDS_FAST;
    for (unsigned depth = 0; closed && depth < DEEPEST_PATHS; depth++) {
        if (predicates && coarsening_predicate(c))
            closed = analyze(c);
        if (!closed || !coarsening_form_fast_paths(c))
            break;
        closed = analyze(c);
    }
    if (closed && predicates && coarsening_predicate(c))
        closed = analyze(c);
    if (closed)
        return true;
    /* A region within a fast path, an endless loop perhaps, has no end of its own. Then no agreement counts, and the
     * condition of the fast path is that of a region again. */
    c->agreements.results.count = c->agreements.kept;
    return analyze(c);
}

/* Finds the shared arrays that one copy of is enough for. */
static bool share_memory(Coarsening *c)
{
    if (!c->step.merges_blocks)
        return true;
    coarsening_propose_common(c);
    bool is_tried = c->common.arrays.count > 0;
    while (c->common.arrays.count) {
        if (!analyze(c))
            c->common.arrays.count = 0;
        else if (coarsening_keep_common(c))
            return true;
    }
    c->common.users = (PointerMap){.arena = c->scratch};
    return !is_tried || analyze(c);
}

/* Rewrites the body where it has branches at which replicas may leave before such an instruction. */
static bool let_leave_before(Coarsening *c, bool (*is)(const Inst *))
{
    coarsening_find_leaves(c, is);
    if (!c->exits.leaves.count)
        return true;
    coarsening_find_parted(c);
    if (analyze(c) && coarsening_may_leave(c)) {
        coarsening_let_leave(c);
        c->agreements.kept = c->agreements.results.count;
    }
    c->exits.leaves.count = 0;
    c->exits.parted = (PointerMap){.arena = c->scratch};
    c->exits.missing = (BitSet){0};
    return analyze(c);
}

/* Rewrites the body where it has branches at which replicas may leave before a barrier, or before a warp-level
 * instruction whose mask cannot be mended otherwise. */
static bool analyze_leaves(Coarsening *c)
{
    bool fits = analyze(c);
    if (shape_is_identity(&c->step.before))
        coarsening_find_evidence(c);
    coarsening_find_leaves(c, coarsening_is_collective);
    if (c->exits.leaves.count)
        return let_leave_before(c, coarsening_is_collective);
    if (!fits || coarsening_check_exits(c)) {
        c->exits.exclusions.count = 0;
        return fits;
    }
    c->exits.exclusions.count = 0;
    return let_leave_before(c, coarsening_names_members);
}

/* True if the original block has one row (or plane) only along the dimension and those below it. */
static bool is_flat(const LaunchContract *contract, unsigned dimension)
{
    for (unsigned d = dimension + 1; d < 3; d++)
        if (contract->block[d] > 1)
            return false;
    return true;
}

/* Whole warps as LaunchContract defines them. False if the known block size splits them. */
static bool check_warps(const LaunchContract *contract, Coarsening *c)
{
    const unsigned *factor = contract->shape.threads;
    unsigned threads = 1;
    for (unsigned d = 0; d < 3; d++) {
        if (!contract->block[d])
            return true;
        /* If the factor does not divide it, the warps of the original must not reach over the end either. */
        bool aligned = threads * contract->block[d] % 32 == 0 || is_flat(contract, d);
        threads *= (unsigned)divide_up(contract->block[d], factor[d]);
        if (factor[d] > 1 && (threads % 32 || !aligned))
            return coarsening_refuse_with(c, NULL, REFUSAL_SPLITS_WARPS,
                                          REFUSAL_WITH(refusal_number(factor[d]), refusal_axis(d)));
    }
    return true;
}

/* Or an instruction for each replica is made of it; regions are cloned as a whole. */
static bool is_cloned(const Coarsening *c, const Inst *inst)
{
    return bitset_has(&c->facts.in_region, inst->block->id) || coarsening_clones(c, inst) ||
           coarsening_is_agreement(c, inst);
}

/* How many instructions cloning makes of the body, at most: slow paths may become loops instead. */
static uint64_t cloned_size(const Coarsening *c)
{
    uint64_t size = 0;
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            size += is_cloned(c, inst) ? c->step.factor : 1;
    return size;
}

/* Assemblers take minutes for what is much longer, so that a factor far beyond what pays would only seem to hang. */
static bool check_size(Coarsening *c)
{
    const uint64_t most = (uint64_t)c->record.original_size * COARSEN_GROWTH, size = cloned_size(c);
    if (size <= COARSEN_SIZE || size <= most)
        return true;
    return coarsening_refuse_with(c, NULL, REFUSAL_SIZE,
                                  REFUSAL_WITH(refusal_number(size), refusal_number(c->record.original_size),
                                               refusal_number(COARSEN_SIZE), refusal_number(COARSEN_GROWTH)));
}

static bool coarsen_dimension(Coarsening *all, const CoarsenStep *step, unsigned growth, LaunchContract *contract)
{
    Arena *scratch = arena_new();
    Coarsening c = {.body = all->body,
                    .scratch = scratch,
                    .step = *step,
                    .record = all->record,
                    .index = {.first = REG_NONE, .distance = REG_NONE},
                    .exits.parted = {.arena = scratch},
                    .common.users = {.arena = scratch}};
    if (shape_is_identity(&c.step.before))
        coarsening_count_instructions(c.body, c.record.legality);
    bool done =
        coarsening_condition(c.record.legality, LEGAL_INSTRUCTIONS, coarsening_check_instructions(&c)) &&
        (!c.needs_whole_warps || coarsening_condition(c.record.legality, LEGAL_LAUNCH, check_warps(contract, &c)));
    if (done) {
        coarsening_gather_index(&c);
        coarsening_gather_dynamic(&c);
        done = analyze_leaves(&c) && coarsening_check_regions(&c);
    }
    if (done && coarsening_exclude_exits(&c))
        done = analyze(&c);
    done = done && form_regions(&c, growth) && share_memory(&c) &&
           coarsening_condition(c.record.legality, LEGAL_MEMORY, coarsening_check_shared(&c)) && check_size(&c);
    if (done) {
        coarsening_note_shared(&c);
        coarsening_clone(&c);
        coarsening_combine(&c);
        contract->whole_warps |= c.needs_whole_warps;
        if (c.dynamic.is_split)
            contract->dynamic_factor = merged_count(contract->shape.blocks);
    }
    analyses_free(c.facts.analyses);
    arena_free(scratch);
    return done;
}

static CoarsenStep step_of(const CoarsenRequest *request, const LaunchContract *contract, bool merges_blocks,
                           unsigned dimension)
{
    const BlockSize block = block_size_exact(&request->block);
    const bool is_by_number = request->stride.kind == STRIDE_NUMBER;
    return (CoarsenStep){.merges_blocks = merges_blocks,
                         .dimension = dimension,
                         .factor = (merges_blocks ? contract->shape.blocks : contract->shape.threads)[dimension],
                         .shape = contract->shape,
                         .size = merges_blocks ? 0 : block.threads[dimension],
                         .stride = merges_blocks && is_by_number ? (Stride){.kind = STRIDE_BLOCK} : request->stride,
                         .shrinks_grid = request->shrinks_grid,
                         .beyond_joins = request->beyond_joins,
                         .guards = request->guards};
}

/* Threads first: blocks that are merged afterwards have fewer of them, but are blocks like any other. */
static bool coarsen_dimensions(Coarsening *c, const CoarsenRequest *request, LaunchContract *contract)
{
    const Shape *shape = &contract->shape;
    Shape before = {0};
    for (unsigned i = 0; i < 6; i++) {
        CoarsenStep step = step_of(request, contract, i >= 3, i % 3);
        step.before = before;
        if (step.factor > 1 && !coarsen_dimension(c, &step, request->growth, contract))
            return false;
        (step.merges_blocks ? before.blocks : before.threads)[step.dimension] = step.factor;
    }
    /* These are added last, so that they come first: the code that a dimension adds does not depend on them. x comes
     * last of all, because the turns of the others move on with its groups. */
    for (unsigned d = 3; d-- > 0;)
        if (shape->blocks[d] > 1 && !request->shrinks_grid)
            coarsening_stop_surplus(c->body, d, shape->blocks[d]);
    return true;
}

/* Sets the contract's block size if it is exact. False if the factor or the stride does not fit. */
static bool set_block(const CoarsenRequest *request, LaunchContract *contract, Coarsening *c)
{
    const BlockSize block = block_size_exact(&request->block);
    const bool is_of_blocks = shape_is_of_blocks(&contract->shape);
    for (unsigned d = 0; d < 3; d++) {
        contract->block[d] = is_of_blocks ? 0 : block.threads[d];
        unsigned factor = contract->shape.threads[d], size = contract->block[d];
        unsigned kept = (unsigned)divide_up(size, factor);
        if (factor > 1 && size && size < factor)
            return coarsening_refuse_with(c, NULL, REFUSAL_FACTOR,
                                          REFUSAL_WITH(refusal_number(factor), refusal_number(size), refusal_axis(d)));
        if (factor > 1 && kept % contract->stride_unit)
            return coarsening_refuse_with(c, NULL, REFUSAL_STRIDE,
                                          REFUSAL_WITH(refusal_number(contract->stride_unit), refusal_number(kept),
                                                       refusal_axis(d)));
    }
    return true;
}

static void shrink_tuning(Tuning *tuning, const LaunchContract *contract)
{
    const unsigned *factor = contract->shape.threads;
    bool divides = true;
    for (unsigned d = 0; d < 3; d++) {
        if (d < tuning->reqntid_count)
            tuning->reqntid[d] = (unsigned)divide_up(tuning->reqntid[d], factor[d]);
        divides &= contract->block[d] % factor[d] == 0;
    }
    if (!divides && !tuning->reqntid_count) { /* tells later passes which replicas are never beyond the end */
        BlockSize kept = {.origin = BLOCK_GIVEN};
        for (unsigned d = 0; d < 3; d++)
            kept.threads[d] = (unsigned)divide_up(contract->block[d], factor[d]);
        block_size_declare(&kept, tuning);
        return;
    }
    /* .maxntid limits the number of threads in a block, whatever its shape. */
    if (tuning->maxntid_count) {
        bool each = true;
        for (unsigned d = 0; d < 3; d++)
            each &= factor[d] == 1 || (d < tuning->maxntid_count && tuning->maxntid[d] % factor[d] == 0);
        if (each)
            for (unsigned d = 0; d < tuning->maxntid_count; d++)
                tuning->maxntid[d] /= factor[d];
        else {
            unsigned threads = 1;
            for (unsigned d = 0; d < tuning->maxntid_count; d++)
                threads *= tuning->maxntid[d];
            tuning->maxntid[0] = (unsigned)divide_up(threads, merged_count(factor));
            tuning->maxntid_count = 1;
        }
    }
}

/* True if some block meets the conditions of the contract. */
static bool check_some_block_fits(const LaunchContract *contract, Coarsening *c)
{
    const Tuning *tuning = &c->body->tuning;
    uint64_t most = 1, least = contract->whole_warps && contract->stride_unit % 32 ? 32 : 1;
    for (unsigned d = 0; d < 3; d++) {
        unsigned factor = contract->shape.threads[d], unit = factor > 1 ? factor * contract->stride_unit : 1;
        most *= d < tuning->maxntid_count ? tuning->maxntid[d] : 1;
        least *= unit;
        if (unit > most_along[d])
            return coarsening_refuse_with(c, NULL, REFUSAL_BLOCK_ALONG,
                                          REFUSAL_WITH(refusal_number(unit), refusal_axis(d),
                                                       refusal_number(most_along[d])));
    }
    bool bounded = tuning->maxntid_count && most < BLOCK_MOST_THREADS;
    const RefusalReason limit = bounded ? REFUSAL_PART_BLOCK_DECLARED : REFUSAL_PART_BLOCK_ANY;
    if (least <= (bounded ? most : BLOCK_MOST_THREADS))
        return true;
    return coarsening_refuse_with(c, NULL, contract->whole_warps ? REFUSAL_BLOCK_OF_WARPS : REFUSAL_BLOCK,
                                  REFUSAL_WITH(refusal_number(least), refusal_part(limit),
                                               refusal_number(bounded ? most : BLOCK_MOST_THREADS)));
}

/* True if a block can be launched as the contract says, now that all is known about it. */
static bool check_launch(const LaunchContract *contract, Coarsening *c)
{
    return (!contract->whole_warps || check_warps(contract, c)) && check_some_block_fits(contract, c);
}

bool coarsen_body(Body *body, const CoarsenRequest *request, LaunchContract *contract, Refusal *refusal,
                  Legality *legality)
{
    require(body->ssa);
    *contract = (LaunchContract){.kernel = body->function->name,
                                 .shape = shape_complete(&request->shape),
                                 .shrinks_grid = request->shrinks_grid,
                                 .stride = request->stride,
                                 .stride_unit = 1,
                                 .dynamic_factor = 1};
    *refusal = (Refusal){0};
    Legality unwanted;
    legality = legality ? legality : &unwanted;
    *legality = (Legality){0};
    PointerMap sharers = {.arena = request->arena};
    Coarsening c = {.body = body,
                    .record = {.refusal = refusal,
                               .legality = legality,
                               .shared = request->shared,
                               .sharers = &sharers,
                               .original_size = body_inst_count(body)}};
    if (!body->function->is_entry)
        return coarsening_refuse(&c, NULL, REFUSAL_NOT_KERNEL);
    if (body->function->name[0] == '%')
        return coarsening_refuse(&c, NULL, REFUSAL_BAD_NAME);
    if (shape_is_of_blocks(&request->shape) && request->stride.kind == STRIDE_NUMBER) {
        coarsening_refuse(&c, NULL, REFUSAL_BLOCKS_STRIDE);
        return coarsening_condition(legality, LEGAL_LAUNCH, false);
    }
    if (request->stride.kind == STRIDE_NUMBER)
        contract->stride_unit = request->stride.number;
    if (!set_block(request, contract, &c))
        return coarsening_condition(legality, LEGAL_LAUNCH, false);
    body_unify_exits(body);
    coarsening_separate_entry(body);
    coarsening_divide(body, contract);
    if (!coarsen_dimensions(&c, request, contract))
        return false;
    coarsening_restore_exits(body);
    if (!coarsening_condition(legality, LEGAL_LAUNCH, check_launch(contract, &c)))
        return false;
    shrink_tuning(&body->tuning, contract);
    return true;
}

/* Adds to the contract how blocks have grown before, which made the kernel that it is about. */
static void add_grown(LaunchContract *contract, const LaunchContract *grown)
{
    if (!merges_any(grown->shape.grown))
        return;
    contract->whole_warps |= grown->whole_warps;
    contract->dynamic_factor *= grown->dynamic_factor;
    for (unsigned d = 0; d < 3; d++) {
        contract->shape.grown[d] = grown->shape.grown[d];
        contract->block[d] = grown->block[d];
    }
}

bool pass_coarsen(PassContext *context)
{
    const LaunchContract grown = context->contract;
    CoarsenRequest request = *context->coarsening;
    memset(request.shape.grown, 0, sizeof request.shape.grown);
    request.block = context->block;
    request.shared = &context->reuse;
    request.arena = context->arena;
    if (!coarsen_body(context->body, &request, &context->contract, &context->refusal, &context->legality))
        return false;
    add_grown(&context->contract, &grown);
    context->block = block_size_coarsened(&context->block, context->contract.shape.threads, &context->body->tuning);
    return true;
}
