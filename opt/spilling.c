/* The spilling pass: lets the assembler spill to shared memory that is unused otherwise.
 *
 * Requires nothing.  Preserves everything but the body's tuning.  Invalidates nothing.
 * CUDAVis (SCOPES'10, section 5.4) asks for values that must leave the registers to go to shared memory where the
 * target occupancy leaves some; ptxas does that itself for the pragma "enable_smem_spilling" (PTX 9.0), with one place
 * for each thread, so without bank conflicts.  It needs the block's size, for without .maxntid it takes places for
 * 1,024 threads.  A form that is proposed must not fit on an SM in fewer blocks, and must not be predicted to be
 * slower; assemblers that do not know the pragma, or do not use it here, return the figures that they had before. */
#include "opt/registers_search.h"

static const char pragma_text[] = "enable_smem_spilling";
/* Predicted speedups of at least this are no loss. */
static const double no_difference = 0.995;

static Name pragma_name(const Body *body)
{
    return intern(body->module->names, pragma_text);
}

static bool has_pragma(const Body *body)
{
    const Block *entry = body->blocks.data[0];
    for (size_t i = 0; i < entry->pragmas.count; i++)
        for (unsigned k = 0; k < entry->pragmas.data[i]->count; k++)
            if (entry->pragmas.data[i]->strings[k] == pragma_name(body))
                return true;
    return false;
}

static unsigned blocks_on_sm(const Search *search, const Figures *figures)
{
    return pass_blocks_on_sm(&search->passes, figures, search->request->dynamic_shared);
}

/* Predicted, over the best form; 1 if that is unknown. */
static double speedup(Search *search, const Body *body, const Figures *figures)
{
    Prediction before = form_predicted(search, search->best, &search->best_figures);
    Prediction after = form_predicted(search, body, figures);
    bool comparable = before.known && after.known && before.is_machine == after.is_machine && after.cycles > 0;
    return comparable ? before.cycles / after.cycles : 1;
}

bool pass_spilling(PassContext *context)
{
    Search *search = context->search;
    if (!search || !search->best || !figures_spills(&search->best_figures) || has_pragma(search->best) ||
        !block_size_total(&search->passes.block))
        return false;
    Body *body = body_clone(search->best);
    if (!body->tuning.maxntid_count && !body->tuning.reqntid_count)
        block_size_declare(&search->passes.block, &body->tuning);
    block_add_pragma(body, body->blocks.data[0], pragma_text);
    search->tried[PASS_SPILLING]++;
    Figures figures = search_measure(search, body);
    const char *what = "spills in shared memory";
    bool better = search_accepts(search, &figures) && search_compare(search, &figures, &search->best_figures) < 0;
    if (better) {
        unsigned before = blocks_on_sm(search, &search->best_figures), after = blocks_on_sm(search, &figures);
        double faster = speedup(search, body, &figures);
        what = arena_printf(search->passes.arena, "%s (%u blocks on an SM instead of %u, predicted %.3fx)", what, after,
                            before, faster);
        better = after >= before && faster >= no_difference;
    }
    search_record(search, PASS_SPILLING, what, body, &figures, better);
    if (better)
        search_set_best(search, body, &figures);
    else
        body_free(body);
    return better;
}
