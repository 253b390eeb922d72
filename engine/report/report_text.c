/* -report: the changes to each kernel, with its figures before and after in two columns. */
#include <inttypes.h>

#include "engine/kernel_estimate.h"
#include "engine/report/counters.h"
#include "engine/report/contract_words.h"
#include "engine/report/cost_report.h"
#include "engine/report/refusal_words.h"
#include "engine/report/report.h"
#include "engine/report/pattern_words.h"
#include "engine/report/order.h"
#include "engine/report/pool.h"
#include "engine/report/report_memory.h"
#include "engine/report/report_trials.h"
#include "engine/report/summary.h"
#include "engine/report/assembling.h"
#include "engine/report/trial_words.h"
#include "engine/report/verdicts.h"
#include "engine/report/defects.h"
#include "engine/report/vectors.h"
#include "options/options.h"

#include <string.h>

enum { LABEL_WIDTH = 20, COLUMN_WIDTH = 16, CELL_SIZE = 96 };

static void print_row(Buf *out, const char *label, const char *before, const char *after)
{
    buf_printf(out, "  %-*s%*s%*s\n", LABEL_WIDTH, label, COLUMN_WIDTH, before, COLUMN_WIDTH, after);
}

static void print_number_row(Buf *out, const char *label, const KernelReport *kernel, uint64_t before, uint64_t after)
{
    char left[CELL_SIZE] = "unknown", right[CELL_SIZE] = "unknown";
    if (kernel->before.figures.known)
        snprintf(left, sizeof left, "%llu", (unsigned long long)before);
    if (kernel->after.figures.known)
        snprintf(right, sizeof right, "%llu", (unsigned long long)after);
    print_row(out, label, left, right);
}

typedef void CellPrinter(const Standing *standing, char cell[CELL_SIZE]);

static void print_occupancy_row(Buf *out, const char *label, const KernelReport *kernel, CellPrinter *print)
{
    char left[CELL_SIZE] = "unknown", right[CELL_SIZE] = "unknown";
    if (kernel->before.occupancy_known)
        print(&kernel->before, left);
    if (kernel->after.occupancy_known)
        print(&kernel->after, right);
    print_row(out, label, left, right);
}

static void blocks_cell(const Standing *standing, char cell[CELL_SIZE])
{
    snprintf(cell, CELL_SIZE, "%u", standing->occupancy.blocks);
}

static void warps_cell(const Standing *standing, char cell[CELL_SIZE])
{
    snprintf(cell, CELL_SIZE, "%u", standing->occupancy.warps);
}

static void fraction_cell(const Standing *standing, char cell[CELL_SIZE])
{
    snprintf(cell, CELL_SIZE, "%.0f%%", 100 * standing->occupancy.fraction);
}

static void free_cell(const Standing *standing, char cell[CELL_SIZE])
{
    snprintf(cell, CELL_SIZE, "%u", standing->free_up_to);
}

static void boundary_cell(const Standing *standing, char cell[CELL_SIZE])
{
    if (standing->next_boundary)
        snprintf(cell, CELL_SIZE, "%u", standing->next_boundary);
    else
        snprintf(cell, CELL_SIZE, "none");
}

static void print_limits(Buf *out, const KernelReport *kernel)
{
    if (!kernel->before.occupancy_known || !kernel->after.occupancy_known)
        return;
    buf_printf(out, "  %-*sbefore: %s; after: %s\n", LABEL_WIDTH, "blocks limited by",
               occupancy_limits_name(kernel->before.occupancy.limits),
               occupancy_limits_name(kernel->after.occupancy.limits));
    if (kernel->after.better_block)
        buf_printf(out, "  %-*sblocks of %u thread%s would fit %u warp%s on an SM\n", LABEL_WIDTH, "block size",
                   kernel->after.better_block, plural(kernel->after.better_block), kernel->after.better_warps,
                   plural(kernel->after.better_warps));
}

static void print_figures(Buf *out, const KernelReport *kernel)
{
    char left[CELL_SIZE], right[CELL_SIZE];
    const Figures *before = &kernel->before.figures, *after = &kernel->after.figures;
    print_row(out, "", "before", "after");
    print_row(out, "threads per block", block_text(kernel->before.block.threads, left),
              block_text(kernel->after.block.threads, right));
    if (!before->known && !after->known && kernel->estimate_before.known) {
        snprintf(left, sizeof left, "%u", kernel->estimate_before.registers);
        snprintf(right, sizeof right, "%u", kernel->estimate_after.registers);
        print_row(out, "registers, estimated", left, right);
    }
    if (before->known || after->known) {
        print_number_row(out, "registers", kernel, before->registers, after->registers);
        print_number_row(out, "spilled bytes", kernel, figures_spills(before), figures_spills(after));
        print_number_row(out, "stack bytes", kernel, before->stack, after->stack);
        print_number_row(out, "shared bytes", kernel, before->shared, after->shared);
        if (kernel->before.dynamic_shared)
            print_number_row(out, "dynamic shared bytes", kernel, kernel->before.dynamic_shared,
                             kernel->after.dynamic_shared);
        print_number_row(out, "instructions", kernel, before->instructions, after->instructions);
    }
    if (kernel->before.occupancy_known || kernel->after.occupancy_known) {
        print_occupancy_row(out, "blocks per SM", kernel, blocks_cell);
        print_occupancy_row(out, "warps per SM", kernel, warps_cell);
        print_occupancy_row(out, "occupancy", kernel, fraction_cell);
        print_occupancy_row(out, "registers free up to", kernel, free_cell);
        print_occupancy_row(out, "next boundary", kernel, boundary_cell);
        print_limits(out, kernel);
    }
}

static void print_place(Buf *out, const Report *report, const Refusal *refusal)
{
    if (refusal->has_span) {
        Position position = source_position(report->source, refusal->span.begin);
        buf_printf(out, " (%s:%u:%u)", report->source->path, position.line, position.column);
    }
}

/* Prints the parameters for whose values short loops are straight code. */
static void print_assumed(Buf *out, const AssumedParameters *assumed)
{
    for (unsigned i = 0; i < assumed->count; i++)
        buf_printf(out, "%s%s is %" PRId64, i ? " and " : "    short loops: straight code where ",
                   assumed->parts[i].variable->name, assumed_number(assumed, i));
    if (assumed->count)
        buf_puts(out, ", as in the launch given; other launches execute the loops\n");
}

/* Prints the number of loads that the classes of reuse have saved, and of the pairs of replicas between which. */
static void print_reuse(Buf *out, const ReuseList *list)
{
    for (unsigned class = 0; class < REUSE_CLASSES; class++) {
        unsigned loads = 0, across = 0;
        for (size_t i = 0; i < list->items.count; i++) {
            const Reuse *reuse = &list->items.data[i];
            bool one = reuse->source.end > reuse->source.begin;
            loads += reuse->class == (ReuseClass)class ? reuse->count : 0;
            across += reuse->class == (ReuseClass)class && one && reuse->replica != reuse->of ? reuse->count : 0;
        }
        if (loads)
            buf_printf(out, "    reuse: %u load%s %s, %u of %s from another thread of the original\n", loads,
                       loads == 1 ? "" : "s", reuse_class_text((ReuseClass)class), across, loads == 1 ? "it" : "them");
    }
}

/* The words that the report has explained already; each is explained where it first appears. */
typedef struct Explained {
    bool stride, conditions, costs;
} Explained;

static void explain_stride(Buf *out, const LaunchContract *contract, Explained *explained)
{
    const bool is_of_blocks = !merges_any(contract->shape.threads);
    const char *what = is_of_blocks ? "blocks" : "threads", *of = is_of_blocks ? "grid" : "block";
    if (explained->stride || !shape_merges(&contract->shape))
        return;
    explained->stride = true;
    if (contract->stride.kind == STRIDE_UNIT)
        buf_printf(out, "    (stride unit: the %s merged into one are neighbours)\n", what);
    else if (contract->stride.kind == STRIDE_NUMBER)
        buf_printf(out, "    (stride %u: the %s merged into one are %u apart)\n", contract->stride.number, what,
                   contract->stride.number);
    else
        buf_printf(out, "    (stride block: the %s merged into one are as far apart as the new %s is wide)\n", what,
                   of);
}

static void print_condition(Buf *out, const Report *report, const KernelResult *result, LegalityCondition condition)
{
    const Legality *legality = &result->legality;
    buf_printf(out, "    %-12s %s: %s", legality_state_text(legality->state[condition]), legality_name(condition),
               legality_text(condition));
    if (legality->state[condition] == LEGALITY_FAILED)
        print_place(out, report, &result->refusal);
    else if (legality->first[condition].end)
        buf_printf(out, " (%u, the first on line %u)", legality->count[condition],
                   report_line(report, legality->first[condition]));
    buf_puts(out, "\n");
}

/* Prints each condition of coarsening: its text, whether it held, the number of instructions that it concerns, and the
 * first line. */
static void print_legality(Buf *out, const Report *report, const KernelResult *result, Explained *explained)
{
    const Legality *legality = &result->legality;
    unsigned checked = 0;
    for (unsigned i = 0; i < LEGALITY_COUNT; i++)
        checked += legality->state[i] != LEGALITY_UNCHECKED;
    if (checked && !explained->conditions)
        buf_puts(out, "    conditions of soundness (held: shown to be so for every launch of the kernel)\n");
    explained->conditions |= checked > 0;
    for (unsigned i = 0; i < LEGALITY_COUNT && checked; i++)
        print_condition(out, report, result, (LegalityCondition)i);
}

static void print_done(Buf *out, const KernelReport *kernel)
{
    const LaunchContract *contract = &kernel->result.contract;
    const Shape *shape = &contract->shape;
    char factor[32], first[SHAPE_TEXT], stride[16];
    buf_printf(out, "  coarsening: done: %s", shape_first_text(shape, first));
    if (merges_any(shape->refined))
        buf_printf(out, ", rounds of %u loop%s shared%s", kernel->result.refined.loops,
                   plural(kernel->result.refined.loops),
                   kernel->result.refined.reassociated ? ", sums in another order" : "");
    if (shape_merges(shape))
        buf_printf(out, ", stride %s", stride_text(&contract->stride, stride));
    if (!contract_changes_launch(contract)) {
        buf_puts(out, "; launch it as before\n");
        return;
    }
    if (!shape_is_of_blocks(shape) && merges_any(shape->blocks))
        buf_printf(out, ", and %s blocks of the grid", factor_text(shape->blocks, factor));
    buf_puts(out, "; launch it with ");
    launch_words_print(contract, out);
    pays_print(&kernel->choice.pays, out);
    buf_putc(out, '\n');
    Arena *scratch = arena_new();
    for (unsigned i = 0; i < kernel->condition_count; i++)
        buf_printf(out, "    provided that %s\n", condition_text(scratch, &kernel->conditions[i]));
    arena_free(scratch);
}

static void print_unadapted(Buf *out, const Unadapted *unadapted)
{
    buf_puts(out, "    launched as before: ");
    unadapted_print(unadapted, out);
    buf_puts(out, "\n");
}

static void print_coarsening(Buf *out, const Report *report, const KernelReport *kernel, Explained *explained)
{
    const KernelResult *result = &kernel->result;
    const FactorChoice *choice = &kernel->choice;
    if (kernel->is_auto && result->coarsening != OUTCOME_REFUSED) {
        buf_puts(out, "  coarsening: auto: ");
        factor_choice_print(choice, out);
        buf_puts(out, "\n");
    }
    if (result->coarsening != OUTCOME_REFUSED)
        coarsen_trials_print(choice, report, out);
    if (kernel->learned.words) {
        buf_puts(out, "  tune: ");
        learned_print(&kernel->learned, out);
        buf_puts(out, "\n");
    }
    if (kernel->is_tuned) {
        buf_puts(out, "  tune: ");
        tuned_print(kernel, out);
        if (kernel->is_first_chosen)
            pays_print(&kernel->choice.pays, out);
        buf_puts(out, "\n");
    }
    if (kernel->is_several) {
        buf_puts(out, "  coarsening: ");
        preferred_print(kernel, out);
        buf_puts(out, "\n");
    }
    switch (result->coarsening) {
    case OUTCOME_DONE:
        print_done(out, kernel);
        if (report->is_full)
            explain_stride(out, &result->contract, explained);
        if (contract_changes_launch(&result->contract))
            print_unadapted(out, &result->unadapted);
        print_assumed(out, &result->assumed);
        print_reuse(out, &result->reuse);
        if (report->is_full)
            print_legality(out, report, result, explained);
        break;
    case OUTCOME_REFUSED:
        buf_puts(out, "  coarsening: refused: ");
        refusal_print(&result->refusal, out);
        print_place(out, report, &result->refusal);
        buf_puts(out, "\n");
        if (report->is_full)
            print_legality(out, report, result, explained);
        break;
    case OUTCOME_UNCHANGED:
        if (!kernel->is_auto)
            buf_puts(out, "  coarsening: nothing to do\n");
        break;
    case OUTCOME_NOT_ASKED: break;
    }
}

static void print_jams(Buf *out, const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    if (kernel->is_jam_auto) {
        buf_puts(out, "  unroll and jam: auto: ");
        loops_choice_print(&kernel->loops_choice, out);
        buf_puts(out, "\n");
    }
    jam_trials_print(&kernel->loops_choice, report, out);
    for (unsigned i = 0; i < result->jam_count; i++) {
        const UnrollJamResult *jam = &result->jams[i];
        buf_printf(out, "  unroll and jam: %s x%u: %s", jam->jam.loop, jam->jam.factor,
                   jam->done ? "done" : "refused: ");
        if (!jam->done) {
            refusal_print(&jam->refusal, out);
            print_place(out, report, &jam->refusal);
        }
        buf_puts(out, "\n");
    }
}

static bool figures_differ(const Figures *a, const Figures *b)
{
    return a->known && b->known &&
           (a->registers != b->registers || a->stack != b->stack || figures_spills(a) != figures_spills(b));
}

/* Notes that an assembler may treat a kernel differently in a module with others, for instance if it calls functions by
 * address. */
static void note_module(Buf *out, const KernelReport *kernel)
{
    const RegistersResult *reduction = &kernel->result.reduction;
    if (figures_differ(&reduction->after, &kernel->after.figures) ||
        (kernel->result.coarsening != OUTCOME_DONE && figures_differ(&reduction->before, &kernel->before.figures)))
        buf_puts(out, "    these figures are of a module with this kernel alone; those below are of the whole file\n");
}

static void print_registers(Buf *out, const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const RegistersResult *reduction = &result->reduction;
    if (result->registers == OUTCOME_NOT_ASKED)
        return;
    if (result->registers == OUTCOME_REFUSED) {
        buf_puts(out, "  registers: refused: ");
        refusal_print(&result->registers_refusal, out);
        buf_puts(out, "\n");
        return;
    }
    if (kernel->request.registers.goal == GOAL_AUTO && reduction->target)
        buf_printf(out, "  registers: auto, target %u", reduction->target);
    else if (kernel->request.registers.goal == GOAL_AUTO)
        buf_puts(out, "  registers: auto");
    else if (kernel->request.registers.goal == GOAL_FEWEST)
        buf_printf(out, "  registers: the fewest for at most %g%% more time", kernel->request.registers.price);
    else
        buf_printf(out, "  registers: %u requested", kernel->request.registers.target);
    buf_puts(out, has_explanation(reduction) ? ": " : "");
    explanation_print(reduction, report->source, out);
    buf_puts(out, "\n");
    for (unsigned i = 0; i < reduction->boundary_count; i++) {
        const RegistersBoundary *boundary = &reduction->boundaries[i];
        buf_printf(out, "    %s %u register%s, %u block%s and %u warp%s on an SM: ",
                   boundary->is_chosen ? "chosen" : "      ", boundary->registers, plural(boundary->registers),
                   boundary->blocks, plural(boundary->blocks), boundary->warps, plural(boundary->warps));
        boundary_print(boundary, &reduction->before, out);
        buf_puts(out, "\n");
    }
    if (reduction->capped.known) {
        buf_puts(out, "    capped, unchanged code: ");
        register_figures_print(&reduction->capped, out);
        buf_puts(out, "\n");
    }
    register_steps_print(reduction, report, out);
    const unsigned knobs = knobs_of(result->kernel);
    const char *controls = controls_of(result->kernel);
    if (knobs || controls) {
        Arena *arena = arena_new();
        buf_printf(out, "    assemble with: %s\n", knobs_text(arena, knobs, controls));
        arena_free(arena);
    }
    note_module(out, kernel);
}

static void print_verification(Buf *out, const Verification *verification)
{
    static const char *const sides[] = {"input", "output"};
    static const char *const words[] = {
        [VERIFY_EQUAL] = "equal", [VERIFY_DIFFERENT] = "DIFFERENT", [VERIFY_NOT_DONE] = "not verified"};
    const EmulatorWriter *writers = verification->writers;
    buf_printf(out, "\nverify %s, kernel %s: %s", verification->path,
               verification->kernel ? verification->kernel : "unknown", words[verification->outcome]);
    buf_printf(out, "%s%s\n", verification->message ? ": " : "", verification->message ? verification->message : "");
    for (unsigned side = 0; side < 2 && verification->has_difference; side++)
        if (writers[side].found) {
            buf_printf(out, "  %s: written by thread %u,%u,%u of block %u,%u,%u, line %u: %s", sides[side],
                       writers[side].thread[0], writers[side].thread[1], writers[side].thread[2],
                       writers[side].block[0], writers[side].block[1], writers[side].block[2],
                       writers[side].position.line,
                       verification->written_lines[side] ? verification->written_lines[side] : "");
            if (verification->written_sources[side])
                buf_printf(out, " (from %s)", verification->written_sources[side]);
            buf_putc(out, '\n');
        } else {
            buf_printf(out, "  %s: never written\n", sides[side]);
        }
    if (verification->original_because)
        buf_printf(out, "  the original beside the coarsened kernel runs: %s\n", verification->original_because);
    if (verification->fault_line)
        buf_printf(out, "  line %u of the output: %s\n", verification->fault->position.line, verification->fault_line);
    if (verification->weakened)
        buf_printf(out, "  not checked, because the input does it too: %s\n", verification->weakened);
    if (verification->is_reordered)
        buf_printf(out, "  compared within %g of the input's values and %g, because sums are added in another order\n",
                   verification->tolerance.relative, verification->tolerance.absolute);
    if (verification->outcome == VERIFY_EQUAL)
        buf_printf(out, "  %llu thread instructions before, %llu after\n",
                   (unsigned long long)verification->counters[0].thread_instructions,
                   (unsigned long long)verification->counters[1].thread_instructions);
}

static void print_costs(Buf *out, const Report *report, const KernelReport *kernel, Explained *explained)
{
    if (!kernel->has_cost)
        return;
    buf_printf(out, "  cost on %s", kernel->basis.device.name);
    if (report->device_is_assumed)
        buf_printf(out, ", assumed for %s%s", report->arch, explained->costs ? "" : " (-machine describes another)");
    buf_puts(out, ":\n");
    cost_print_text(&kernel->basis, &kernel->cost_before, &kernel->cost_after, !explained->costs, out);
    cost_print_verdict(kernel->basis.arena, &kernel->cost_before, &kernel->cost_after, out);
    if (kernel->result.coarsening == OUTCOME_DONE)
        cost_print_interval(&kernel->cost_before, &kernel->cost_after, out);
    if (kernel->advice)
        buf_printf(out, "  note: %s\n", kernel->advice);
    explained->costs = true;
}

static void print_kernel(Buf *out, const Report *report, const KernelReport *kernel, Explained *explained)
{
    const char *name = kernel->result.kernel->name;
    Arena *scratch = arena_new();
    const char *readable = kernel_name_demangled(scratch, name, true);
    buf_printf(out, "\nkernel %s%s%s\n", name, readable ? "  " : "", readable ? readable : "");
    arena_free(scratch);
    print_coarsening(out, report, kernel, explained);
    print_jams(out, report, kernel);
    staging_print(report, kernel, out);
    if (report->is_full)
        patterns_print_input(kernel->result.kernel, &kernel->result.block_before, 2, out);
    counted_print(report, kernel, out);
    dead_print(report, kernel, out);
    vectors_print(report, kernel, out);
    order_print(report, kernel, out);
    defects_print(report, kernel, out);
    assembling_print(report, kernel, out);
    pool_print(report, kernel, out);
    print_registers(out, report, kernel);
    print_costs(out, report, kernel, explained);
    print_figures(out, kernel);
    if (kernel->estimate_before.known)
        estimate_print_peak(&kernel->estimate_before, report->source, out);
}

static bool is_faster(const KernelReport *kernel)
{
    return kernel->has_cost && time_is_longer(cost_speedup(&kernel->cost_before, &kernel->cost_after), 1);
}

/* For a module with several kernels. */
static void print_total(Buf *out, const Report *report)
{
    unsigned changed = 0, predicted = 0, faster = 0;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const KernelReport *kernel = &report->kernels[i];
        changed += kernel_is_changed(&kernel->result);
        predicted += kernel->has_cost;
        faster += is_faster(kernel);
    }
    buf_printf(out, "  %u of %zu kernels changed", changed, report->kernel_count);
    if (predicted)
        buf_printf(out, ", %u of them predicted to be faster", faster);
    buf_puts(out, "\n");
}

/* A line for each kernel says what was done; there is none where nothing was asked for. */
static void print_answers(Buf *out, const Report *report)
{
    if (!summary_count(report))
        return;
    buf_puts(out, "\n");
    summary_print(report, 2, out);
    if (report->kernel_count > 1)
        print_total(out, report);
}

static bool leaves_out(const Report *report)
{
    for (size_t i = 0; i < report->kernel_count && !report->is_full; i++) {
        const KernelReport *kernel = &report->kernels[i];
        if (kernel->choice.trial_count || kernel->memory_choice.trial_count ||
            kernel->result.coarsening == OUTCOME_DONE || kernel->result.coarsening == OUTCOME_REFUSED)
            return true;
    }
    return false;
}

void report_print_text(const Report *report, Buf *out)
{
    buf_printf(out, "%s for %s, ", report->source->path, report->arch);
    if (report->assembler)
        buf_printf(out, "figures by %s %s\n", report->assembler, report->assembler_version);
    else
        buf_printf(out, "not assembled: %s\n", report->assembler_missing ? report->assembler_missing : "no assembler");
    if (!report->kernel_count)
        buf_puts(out, "\nno kernel\n");
    print_answers(out, report);
    Explained explained = {false, false, false};
    bool block_missing = false;
    for (size_t i = 0; i < report->kernel_count; i++) {
        print_kernel(out, report, &report->kernels[i], &explained);
        block_missing |= !report->kernels[i].before.block.threads[0];
    }
    for (size_t i = 0; i < report->verification_count; i++)
        print_verification(out, &report->verifications[i]);
    if (leaves_out(report))
        buf_puts(out, "\n-report=full adds the conditions of soundness and the best of the forms that were tried.\n");
    if (block_missing && report->assembler)
        buf_puts(out, "\nOccupancy is unknown without the block size; set it with -block X,Y,Z.\n");
}
