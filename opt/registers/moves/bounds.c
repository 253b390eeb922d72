/* The bounds pass: declares the block size to the assembler.
 *
 * Without .maxntid an assembler assumes blocks of 1,024 threads. Told that blocks are smaller it may give each thread
 * more registers, and then fewer blocks may fit on an SM: so the directive is measured wherever there is a judge. The
 * register search measures it as one candidate among others; without it the directive stays unless it does harm, by
 * spills, or by fewer blocks where the kernel is not predicted to be as fast. Kernels whose warps pass on registers
 * keep their directives, which give the registers that they have at launch. */
#include "opt/demands.h"
#include "opt/pass.h"
#include "opt/registers/search/search.h"

static bool is_objected(const PassContext *context, const Demands *demands, const Figures *without,
                        const Figures *with)
{
    const Residency residency = {.sm = context->sm, .block = context->block};
    return demands_objection(demands, &residency, without, with).kind != DEMAND_MET;
}

static bool does_harm(const PassContext *context, const Tuning *declared)
{
    const Demands demands = demands_find(context->kernel);
    if (demands.pool)
        return true;
    if (!context->judge || !context->sm)
        return false;
    const FunctionForm now = pass_form(context, context->body);
    FunctionForm form = now;
    form.tuning = declared;
    Figures with = {0}, without = {0};
    context->judge->measure(context->judge->context, &form, &with);
    context->judge->measure(context->judge->context, &now, &without);
    return with.known && without.known &&
           (figures_spills(&with) > figures_spills(&without) || is_objected(context, &demands, &without, &with) ||
            (pass_blocks_on_sm(context, &with, 0) < pass_blocks_on_sm(context, &without, 0) &&
             pass_is_slower(context, &form, &with, &now, &without)));
}

bool pass_bounds(PassContext *context)
{
    if (context->search)
        return search_bounds(context->search);
    Tuning declared = context->body->tuning;
    if (!block_size_total(&context->block) || declared.reqntid_count || declared.maxntid_count)
        return false;
    block_size_declare(&context->block, &declared);
    if (does_harm(context, &declared))
        return false;
    context->body->tuning = declared;
    return true;
}
