#include "engine/report/summary.h"
#include "engine/report/cost_report.h"
#include "engine/report/order.h"
#include "engine/report/refusal_words.h"
#include "engine/report/trial_words.h"
#include "engine/report/verdicts.h"

#include <string.h>

#include "options/options.h"

const char *block_text(const unsigned block[3], char text[BLOCK_TEXT])
{
    if (!block[0])
        snprintf(text, BLOCK_TEXT, "unknown");
    else if (block[2] > 1)
        snprintf(text, BLOCK_TEXT, "%u x %u x %u", block[0], block[1], block[2]);
    else if (block[1] > 1)
        snprintf(text, BLOCK_TEXT, "%u x %u", block[0], block[1]);
    else
        snprintf(text, BLOCK_TEXT, "%u", block[0]);
    return text;
}

static void print_block(Buf *out, const LaunchContract *contract)
{
    char before[BLOCK_TEXT], after[BLOCK_TEXT];
    const LaunchChange change = contract_change(contract);
    if (contract->block[0]) {
        unsigned changed[3];
        for (unsigned i = 0; i < 3; i++)
            changed[i] = (unsigned)launch_change_block(&change, i, contract->block[i]);
        buf_printf(out, "blocks of %s threads instead of %s", block_text(changed, after),
                   block_text(contract->block, before));
        return;
    }
    buf_puts(out, "blocks that have");
    const char *separator = " ";
    for (unsigned i = 0; i < 3; i++) {
        const unsigned grown = change.grown[i], divisor = change.block[i];
        if (grown == 1 && divisor == 1)
            continue;
        if (divisor == 1)
            buf_printf(out, "%s%u times the threads along %c", separator, grown, "xyz"[i]);
        else
            buf_printf(out, "%s%u/%u of the threads along %c", separator, grown, divisor, "xyz"[i]);
        separator = " and ";
    }
}

/* Prints the changes of the launch besides the block. */
static void print_grid(Buf *out, const LaunchContract *contract)
{
    char factor[32];
    if (!contract_changes_grid(contract)) {
        buf_puts(out, ", the grid unchanged");
        return;
    }
    const LaunchChange change = contract_change(contract);
    const bool is_spread = merges_any(change.spread);
    buf_printf(out, "%sthe grid %s by %s", contract_changes_block(contract) ? ", " : "",
               is_spread ? "multiplied" : "divided", factor_text(is_spread ? change.spread : change.grid, factor));
    if (contract->dynamic_factor > 1)
        buf_printf(out, ", and %u times the dynamic shared memory, rounded up to a multiple of %d bytes before",
                   contract->dynamic_factor, CONTRACT_SHARED_UNIT);
}

void launch_words_print(const LaunchContract *contract, Buf *out)
{
    if (contract_changes_block(contract))
        print_block(out, contract);
    print_grid(out, contract);
}

/* Separates two outcomes: by a comma after a change; by a semicolon after a reason for no change, which may contain
 * commas. */
static void separate(Buf *out, const KernelReport *kernel)
{
    if (out->length)
        buf_puts(out, kernel->result.coarsening == OUTCOME_DONE ? ", " : "; ");
}

static void print_refusal(Buf *out, const char *what, const Refusal *refusal)
{
    buf_puts(out, what);
    refusal_print(refusal, out);
}

static void print_refinement(Buf *out, const KernelResult *result)
{
    const RefineResult *refined = &result->refined;
    buf_printf(out, "%u threads in the place of one share the rounds of %u loop%s",
               merged_count(result->contract.shape.refined), refined->loops, plural(refined->loops));
    if (refined->reassociated)
        buf_puts(out, ", with sums in another order");
}

static void print_coarsening(Buf *out, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const Shape *shape = &result->contract.shape;
    char factor[32];
    const char *joint = "";
    if (result->coarsening == OUTCOME_REFUSED)
        print_refusal(out, kernel->request.refining.threads ? "not refined: " : "not coarsened: ", &result->refusal);
    else if (result->coarsening != OUTCOME_DONE && kernel->is_auto)
        factor_choice_print(&kernel->choice, out);
    if (result->coarsening != OUTCOME_DONE)
        return;
    if (merges_any(shape->refined))
        print_refinement(out, result);
    if (merges_any(shape->grown)) {
        buf_printf(out, "%s larger blocks", factor_text(shape->grown, factor));
        joint = " and ";
    }
    if (merges_any(shape->threads)) {
        buf_printf(out, "%scoarsened %s", joint, factor_text(shape->threads, factor));
        joint = " and ";
    }
    if (merges_any(shape->blocks))
        buf_printf(out, "%s%s blocks of the grid merged", joint, factor_text(shape->blocks, factor));
}

static void print_jams(Buf *out, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    for (unsigned i = 0; i < result->jam_count; i++) {
        const UnrollJamResult *jam = &result->jams[i];
        separate(out, kernel);
        buf_printf(out, "loop %s x%u%s", jam->jam.loop, jam->jam.factor,
                   jam->done ? " unrolled and jammed" : " not unrolled: ");
        if (!jam->done)
            refusal_print(&jam->refusal, out);
    }
}

static void print_edges(Buf *out, const KernelReport *kernel)
{
    if (kernel->result.edges == OUTCOME_NOT_ASKED)
        return;
    separate(out, kernel);
    buf_puts(out, kernel->result.edges == OUTCOME_DONE ? "threads beyond the edge go along"
                                                       : "no threads beyond an edge");
}

static void print_staging(Buf *out, const KernelReport *kernel)
{
    unsigned count = stage_count(&kernel->result.staged);
    if (kernel->result.staging == OUTCOME_NOT_ASKED)
        return;
    separate(out, kernel);
    if (kernel->result.staged.exchange.done || kernel->result.staged.unflattened.done)
        buf_printf(out, "threads change places%s", count ? ", " : "");
    if (kernel->result.staged.held.done)
        buf_printf(out, "rows that several loops read stay in shared memory%s", count ? ", " : "");
    if (count)
        buf_printf(out, "%u loop%s staged in shared memory", count, plural(count));
    else if (!stage_is_done(&kernel->result.staged))
        buf_puts(out, "no loop staged in shared memory");
}

static void print_counters(Buf *out, const KernelReport *kernel)
{
    const unsigned count = counters_count(&kernel->result.counted);
    if (kernel->result.counting == OUTCOME_NOT_ASKED)
        return;
    separate(out, kernel);
    const size_t sums = kernel->result.summed.sums.count;
    if (sums)
        buf_printf(out, "%zu atomic update%s added up in registers%s", sums, plural(sums), count ? ", " : "");
    if (count)
        buf_printf(out, "%u atomic update%s counted in shared memory", count, plural(count));
    else if (!sums)
        buf_puts(out, "no private counters");
}

static void print_dead(Buf *out, const KernelReport *kernel)
{
    const unsigned count = dead_buffers_count(&kernel->result.dead);
    if (!kernel->result.dead.count)
        return;
    separate(out, kernel);
    if (count)
        buf_printf(out, "%u dead buffer%s in shared memory", count, plural(count));
    else
        buf_puts(out, "no dead buffer in shared memory");
}

static void print_vectors(Buf *out, const KernelReport *kernel)
{
    const unsigned made = kernel->result.vectors == OUTCOME_DONE ? vectors_joined(&kernel->result.vector_list) : 0;
    if (kernel->result.vectors == OUTCOME_NOT_ASKED)
        return;
    separate(out, kernel);
    if (kernel->result.vectors == OUTCOME_REFUSED) {
        buf_puts(out, "no vectors: ");
        refusal_print(&kernel->result.vectors_refusal, out);
    } else if (kernel->result.vectors_are_slower) {
        buf_puts(out, "vectors would be slower");
    } else {
        buf_printf(out, "%u vector%s", made, plural(made));
    }
}

static void print_order(Buf *out, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    if (result->ordering == OUTCOME_NOT_ASKED)
        return;
    separate(out, kernel);
    if (result->ordering == OUTCOME_REFUSED) {
        print_refusal(out, "blocks in their order: ", &result->order_refusal);
    } else {
        buf_puts(out, "order of blocks ");
        order_words_print(&result->order, out);
    }
}

static void print_repairs(Buf *out, const KernelReport *kernel)
{
    const DefectList *list = &kernel->result.defects;
    if (!kernel_is_repaired(&kernel->result))
        return;
    separate(out, kernel);
    buf_printf(out, "%zu place%s rewritten that the assembler gets wrong", list->items.count,
               plural(list->items.count));
}

/* Finds the figures of the whole files, or else those that the register search found. */
static bool find_figures(const KernelReport *kernel, const Figures **before, const Figures **after)
{
    const KernelResult *result = &kernel->result;
    const bool is_whole = kernel->before.figures.known && kernel->after.figures.known;
    *before = is_whole ? &kernel->before.figures : &result->reduction.before;
    *after = is_whole ? &kernel->after.figures : &result->reduction.after;
    return (*before)->known && (*after)->known;
}

static void print_change(Buf *out, const char *what, uint64_t before, uint64_t after)
{
    if (before == after)
        buf_printf(out, "%s %llu", what, (unsigned long long)before);
    else
        buf_printf(out, "%s %llu -> %llu", what, (unsigned long long)before, (unsigned long long)after);
}

static void print_figures(Buf *out, const KernelReport *kernel)
{
    const Figures *before, *after;
    if (!find_figures(kernel, &before, &after))
        return;
    separate(out, kernel);
    print_change(out, "registers", before->registers, after->registers);
    if (figures_spills(before) || figures_spills(after)) {
        separate(out, kernel);
        print_change(out, "spilled bytes", figures_spills(before), figures_spills(after));
    }
    if (kernel->before.occupancy_known && kernel->after.occupancy_known &&
        kernel->before.occupancy.warps != kernel->after.occupancy.warps)
        buf_printf(out, ", warps on an SM %u -> %u", kernel->before.occupancy.warps, kernel->after.occupancy.warps);
}

/* Prints the outcome of the register search, besides the number of registers. */
static void print_search(Buf *out, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const bool is_count = kernel->request.registers.goal == GOAL_COUNT;
    if (result->registers == OUTCOME_REFUSED) {
        separate(out, kernel);
        print_refusal(out, "registers not reduced: ", &result->registers_refusal);
    } else if (result->registers == OUTCOME_NOT_ASKED) {
        return;
    } else if (is_count && !result->reduction.reached) {
        buf_printf(out, " (%u not reached)", kernel->request.registers.target);
    } else if (result->registers == OUTCOME_UNCHANGED && has_explanation(&result->reduction)) {
        buf_puts(out, " (");
        explanation_print(&result->reduction, result->kernel->module->source, out);
        buf_puts(out, ")");
    }
}

static bool is_changed(const KernelResult *result)
{
    return kernel_is_changed(result);
}

static void print_interval(const Interval *interval, Buf *out)
{
    buf_puts(out, " (");
    interval_print(interval, out);
    buf_putc(out, ')');
}

static void print_gain(Buf *out, const KernelReport *kernel)
{
    const bool is_coarsened = kernel->result.coarsening == OUTCOME_DONE;
    if (kernel->has_cost) {
        const Interval interval = cost_interval(&kernel->cost_before, &kernel->cost_after);
        buf_printf(out, ", predicted %.2fx", cost_speedup(&kernel->cost_before, &kernel->cost_after));
        if (is_coarsened)
            print_interval(&interval, out);
    } else if (is_coarsened && kernel->choice.speedup > 0) {
        buf_printf(out, ", estimated %.2fx in large launches", kernel->choice.speedup);
        print_interval(&kernel->choice.interval, out);
    } else if (is_changed(&kernel->result) && !kernel->has_basis) {
        buf_puts(out, ", gain unknown without a block size (-block)");
    }
}

void pays_print(const FormPays *pays, Buf *out)
{
    const char *factors = "; launches whose blocks would fill their warps less well run the original";
    if (pays->from == PAYS_NEVER) {
        buf_printf(out, "; each launch decides by parameter %u and its threads, or runs the original",
                   pays->by_trips.parameter + 1);
    } else if (pays->from && pays->by_trips.count) {
        buf_printf(out, "; launches of fewer than %u threads for each SM decide by parameter %u whether they run the "
                   "original", pays->from, pays->by_trips.parameter + 1);
    } else if (pays->from) {
        buf_printf(out, "; launches of fewer than %u threads for each SM run the original", pays->from);
        factors = "; so do those whose blocks would fill their warps less well";
    }
    if (pays->factors)
        buf_puts(out, factors);
}

/* ", for blocks of at least 256 threads, from 512 threads for each SM on, or by parameter 3". */
static void conditions_print(const FormPays *pays, Buf *out)
{
    if (pays->least_block)
        buf_printf(out, ", for blocks of at least %u threads", pays->least_block);
    if (pays->most_block)
        buf_printf(out, ", for blocks of at most %u threads", pays->most_block);
    if (pays->from && pays->from != PAYS_NEVER)
        buf_printf(out, ", from %u threads for each SM on", pays->from);
    if (pays->most)
        buf_printf(out, ", up to %u threads for each SM", pays->most);
    if (pays->aligned.multiple)
        buf_printf(out, ", with a multiple of %u as parameter %u", pays->aligned.multiple, pays->aligned.index + 1);
    if (pays->by_trips.count)
        buf_printf(out, ", %sby parameter %u", pays->from == PAYS_NEVER ? "" : "or ", pays->by_trips.parameter + 1);
}

void preferred_print(const KernelReport *kernel, Buf *out)
{
    buf_puts(out, "each launch takes the first form that pays and that it allows: ");
    for (unsigned i = 0; i < kernel->form_count; i++) {
        const TunedForm *form = &kernel->forms[i];
        buf_printf(out, "%s (predicted %.2fx", form->words, form->speedup);
        conditions_print(&form->pays, out);
        buf_puts(out, "); ");
    }
    buf_puts(out, "else the original");
}

void learned_print(const LearnedForm *learned, Buf *out)
{
    buf_printf(out, "by measured time: %s%s", learned->is_beside ? "each launch its own form, others " : "",
               *learned->words ? learned->words : "the original");
    if (*learned->words)
        buf_printf(out, ", in %.2f of the original's time", learned->share);
    buf_printf(out, " (%u different launch%s)", learned->launches, learned->launches == 1 ? "" : "es");
}

void tuned_print(const KernelReport *kernel, Buf *out)
{
    if (!kernel->form_count)
        buf_puts(out, "the original alone, because no other form can be used");
    else
        buf_printf(out, "%u forms, among which launches choose by measured time: the original", kernel->form_count + 1);
    for (unsigned i = 0; i < kernel->form_count; i++) {
        const TunedForm *form = &kernel->forms[i];
        buf_printf(out, "; %s%s", form->words, i == 0 && kernel->is_first_chosen ? ", used until then" : "");
        if (form->speedup > 0)
            buf_printf(out, " (predicted %.2fx)", form->speedup);
    }
}

static void print_launch(Buf *out, const KernelResult *result)
{
    if (result->coarsening != OUTCOME_DONE)
        return;
    if (!contract_changes_launch(&result->contract)) {
        buf_puts(out, "; launch it as before");
        return;
    }
    buf_puts(out, "; launch it with ");
    launch_words_print(&result->contract, out);
}

/* Prints the outcome for a kernel; nothing if nothing was requested. */
static void print_kernel(Buf *out, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    print_coarsening(out, kernel);
    print_jams(out, kernel);
    print_edges(out, kernel);
    print_staging(out, kernel);
    print_counters(out, kernel);
    print_dead(out, kernel);
    print_vectors(out, kernel);
    print_order(out, kernel);
    print_repairs(out, kernel);
    if (is_changed(result) || result->registers == OUTCOME_UNCHANGED)
        print_figures(out, kernel);
    print_search(out, kernel);
    print_gain(out, kernel);
    print_launch(out, result);
    if (kernel->learned.words) {
        separate(out, kernel);
        learned_print(&kernel->learned, out);
    }
    if (kernel->is_tuned) {
        separate(out, kernel);
        tuned_print(kernel, out);
    }
    if (kernel->is_several) {
        separate(out, kernel);
        preferred_print(kernel, out);
    }
    if (result->coarsening == OUTCOME_DONE || kernel->is_first_chosen)
        pays_print(&kernel->choice.pays, out);
}

/* The kernels' C++ names without parameters, unless two would then be the same. */
static const char **short_names(Arena *arena, const Report *report)
{
    const char **names = ARENA_ARRAY(arena, const char *, report->kernel_count + 1);
    Map counts = {.arena = arena};
    for (size_t i = 0; i < report->kernel_count; i++) {
        names[i] = kernel_name_demangled(arena, report->kernels[i].result.kernel->name, false);
        if (!names[i])
            continue;
        const uint64_t key = hash_fnv(names[i], strlen(names[i]), HASH_START) | 1, *count = map_get(&counts, key);
        map_put(&counts, key, count ? *count + 1 : 1);
    }
    for (size_t i = 0; i < report->kernel_count; i++)
        if (!names[i] || *map_get(&counts, hash_fnv(names[i], strlen(names[i]), HASH_START) | 1) > 1)
            names[i] = report->kernels[i].result.kernel->name;
    return names;
}

unsigned summary_count(const Report *report)
{
    unsigned count = 0;
    for (size_t i = 0; i < report->kernel_count; i++) {
        Buf text = {0};
        print_kernel(&text, &report->kernels[i]);
        count += text.length > 0;
        buf_free(&text);
    }
    return count;
}

void summary_print(const Report *report, unsigned indent, Buf *out)
{
    enum { WIDEST = 32 };
    Arena *scratch = arena_new();
    const char **names = short_names(scratch, report);
    size_t width = 0;
    for (size_t i = 0; i < report->kernel_count && indent; i++)
        if (strlen(names[i]) <= WIDEST && strlen(names[i]) > width)
            width = strlen(names[i]);
    for (size_t i = 0; i < report->kernel_count; i++) {
        Buf text = {0};
        print_kernel(&text, &report->kernels[i]);
        const size_t length = strlen(names[i]), blanks = length < width ? width - length : 0;
        if (text.length)
            buf_printf(out, "%*s%s:%*s %s\n", (int)indent, "", names[i], (int)blanks, "", buf_text(&text));
        buf_free(&text);
    }
    arena_free(scratch);
}
