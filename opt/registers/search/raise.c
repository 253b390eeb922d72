/* Registers that are free: raising what a thread may have to the next boundary.
 *
 * An assembler aims at as many warps as an SM can hold at all, whatever else limits them: a block's shared memory, how
 * many blocks an SM holds, that one block more does not fit, or a launch of few blocks. Told by .minnctapersm how many
 * blocks are on an SM, it uses the registers that these leave to each thread, to load earlier and to unroll further
 * (CUDA C++ Programming Guide, "Launch Bounds"). No block is lost by that in the launches that are known, and whether
 * anything is gained the predicted time says.
 *
 * .minnctapersm needs .maxntid. If only a launch tells the size of blocks, others may have larger ones, and the bound
 * is that of the largest block of all: one of them on an SM. */
#include "opt/registers/search/search.h"

bool raise_is_possible(const Search *search, const Body *input)
{
    const Tuning *tuning = &input->tuning;
    return search->passes.judge->predict && !search->demands.pool &&
           (block_size_total(&search->passes.block) || search->request->launch_blocks) &&
           pass_is_enabled(search->passes.options, PASS_BOUNDS) && !tuning->minnctapersm && !tuning->maxnreg;
}

bool raise_is_at(const Search *search, const Boundary *at, const Occupancy *now)
{
    const unsigned launched = search->request->launch_blocks;
    const unsigned resident = launched && launched < now->blocks ? launched : now->blocks;
    if (at->blocks < resident || at->registers <= search->result->before.registers)
        return false;
    return block_size_total(&search->passes.block) ||
           sm_occupancy(search->passes.sm, BLOCK_MOST_THREADS, at->registers, 0).blocks;
}

Body *raise_make(const Search *search, const Body *input, unsigned blocks)
{
    Body *body = body_clone(input);
    const bool is_known = block_size_total(&search->passes.block);
    const BlockSize largest = {.origin = BLOCK_BOUNDED, .threads = {BLOCK_MOST_THREADS, 1, 1}};
    if (!body->tuning.reqntid_count && !body->tuning.maxntid_count)
        block_size_declare(is_known ? &search->passes.block : &largest, &body->tuning);
    body->tuning.minnctapersm = is_known ? blocks : 1;
    return body;
}

BoundaryVerdict raise_judge(const Search *search, RegistersBoundary *boundary, const Prediction *before,
                            const Prediction *after)
{
    const Figures *input = &search->result->before, *form = &boundary->figures;
    if (form->registers > boundary->registers)
        return BOUNDARY_EXCEEDED;
    if (figures_spills(form) > figures_spills(input))
        return BOUNDARY_SPILLS_MORE;
    if (form->registers == input->registers && form->instructions == input->instructions)
        return BOUNDARY_UNUSED;
    const Policy policy = {.needs_time = true,
                           .path = threshold(THRESHOLD_PATH_ALIKE),
                           .gain = threshold(THRESHOLD_RAISE_GAIN)};
    const JudgedForm raised = {form, after}, than = {input, before};
    boundary->objection = policy_objection(&policy, &raised, &than);
    return objects(&boundary->objection) ? BOUNDARY_OBJECTED : BOUNDARY_FITS;
}
