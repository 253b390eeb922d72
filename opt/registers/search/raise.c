/* Registers that are free: raising what a thread may have to the next boundary.
 *
 * An assembler aims at as many warps as an SM can hold at all, whatever else limits them: a block's shared memory, how
 * many blocks an SM holds, or that one block more does not fit. Told by .minnctapersm how many blocks are on an SM,
 * it uses the registers that these leave to each thread, to load earlier and to unroll further (CUDA C++ Programming
 * Guide, "Launch Bounds"). No block is lost by that, and whether anything is gained the predicted time says. */
#include "opt/registers/search/search.h"

bool raise_is_possible(const Search *search, const Body *input)
{
    const Tuning *tuning = &input->tuning;
    return search->passes.judge->predict && !search->demands.pool && block_size_total(&search->passes.block) &&
           pass_is_enabled(search->passes.options, PASS_BOUNDS) && !tuning->minnctapersm && !tuning->maxnreg;
}

Body *raise_make(const Search *search, const Body *input, unsigned blocks)
{
    Body *body = body_clone(input);
    if (!body->tuning.reqntid_count && !body->tuning.maxntid_count)
        block_size_declare(&search->passes.block, &body->tuning);
    body->tuning.minnctapersm = blocks;
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
