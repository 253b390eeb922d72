/* Registers that are free: raising what a thread may have to the next boundary.
 *
 * An assembler aims at as many warps as an SM can hold at all, whatever else limits them: a block's shared memory, how
 * many blocks an SM holds, or that one block more does not fit.  Told by .minnctapersm how many blocks are on an SM,
 * it uses the registers that these leave to each thread, to load earlier and to unroll further (CUDA C++ Programming
 * Guide, "Launch Bounds").  No block is lost by that, and whether anything is gained the predicted time says. */
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

const char *raise_objection(const Search *search, const RegistersBoundary *boundary, const Prediction *before,
                            const Prediction *after)
{
    Arena *arena = search->passes.arena;
    const Figures *input = &search->result->before, *form = &boundary->figures;
    if (form->registers > boundary->registers)
        return arena_printf(arena, "the assembler takes %u", form->registers);
    if (figures_spills(form) > figures_spills(input))
        return arena_printf(arena, "the assembler spills %llu byte%s then",
                            (unsigned long long)(figures_spills(form) - figures_spills(input)),
                            plural((figures_spills(form) - figures_spills(input))));
    if (form->registers == input->registers && form->instructions == input->instructions)
        return "the assembler has no use for more";
    const Policy policy = {.needs_time = true,
                           .path = threshold(THRESHOLD_PATH_ALIKE),
                           .gain = threshold(THRESHOLD_RAISE_GAIN)};
    const JudgedForm raised = {.prediction = after}, than = {.prediction = before};
    switch (policy_judge(&policy, &raised, &than)) {
    case VERDICT_UNKNOWN: return "nobody knows the time";
    case VERDICT_LONGER_PATH:
        return arena_printf(arena, "with %u a warp takes %.2f times as long", form->registers,
                            after->path / before->path);
    case VERDICT_NO_GAIN:
        return arena_printf(arena, "with %u nothing is gained: it is predicted %.3fx", form->registers,
                            boundary->speedup);
    default: return NULL;
    }
}
