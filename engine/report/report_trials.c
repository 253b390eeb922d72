#include "engine/report/report_trials.h"
#include "engine/report/trial_words.h"
#include "engine/report/verdicts.h"

#include <stdlib.h>

enum { SHOWN = 5 };

/* How many of the forms are listed. */
static unsigned shown_of(const Report *report, unsigned count)
{
    const unsigned most = report->lists_all ? count : report->is_full ? SHOWN : 0;
    return count < most ? count : most;
}

/* The end of the line before the list. */
static const char *list_words(unsigned shown, unsigned count)
{
    return shown == count ? ":" : shown ? "; the fastest:" : "";
}

static void print_trial(const CoarsenTrial *trial, Buf *out)
{
    char shape[SHAPE_TEXT], stride[16];
    buf_printf(out, "      %s%s, stride %s%s: ", trial->chosen ? "chosen " : "", shape_text(&trial->shape, shape),
               stride_text(&trial->stride, stride), guards_text(trial->guards));
    trial_verdict_print(&trial->verdict, out);
    buf_puts(out, "\n");
}

/* Orders the chosen form first, then the others from fast to slow, then those that were never compared. */
static int compare(const void *a, const void *b)
{
    const CoarsenTrial *x = *(const CoarsenTrial *const *)a, *y = *(const CoarsenTrial *const *)b;
    if (x->chosen != y->chosen)
        return x->chosen ? -1 : 1;
    if (x->is_compared != y->is_compared)
        return x->is_compared ? -1 : 1;
    if (x->speedup != y->speedup)
        return x->speedup > y->speedup ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* If no form was compared, the reason is of interest, and the first forms give it. */
void coarsen_trials_print(const FactorChoice *choice, const Report *report, Buf *out)
{
    const unsigned count = choice->trial_count, shown = shown_of(report, count);
    if (!count)
        return;
    Arena *scratch = arena_new();
    const CoarsenTrial **trials = ARENA_ARRAY(scratch, const CoarsenTrial *, count);
    unsigned compared = 0;
    for (unsigned i = 0; i < count; i++) {
        trials[i] = &choice->trials[i];
        compared += trials[i]->is_compared;
    }
    if (shown < count)
        qsort(trials, count, sizeof *trials, compare);
    buf_printf(out, "    %u form%s tried, %u of them assembled and compared%s\n", count, plural(count), compared,
               list_words(shown, count));
    for (unsigned i = 0; i < shown; i++)
        print_trial(trials[i], out);
    arena_free(scratch);
}

static int compare_memory(const void *a, const void *b)
{
    const MemoryTrial *x = *(const MemoryTrial *const *)a, *y = *(const MemoryTrial *const *)b;
    if (x->chosen != y->chosen)
        return x->chosen ? -1 : 1;
    if (x->speedup != y->speedup)
        return x->speedup > y->speedup ? -1 : 1;
    return x < y ? -1 : x > y;
}

void memory_trials_print(const MemoryChoice *choice, const Report *report, Buf *out)
{
    const unsigned count = choice->trial_count, shown = shown_of(report, count);
    if (!count)
        return;
    Arena *scratch = arena_new();
    const MemoryTrial **trials = ARENA_ARRAY(scratch, const MemoryTrial *, count);
    for (unsigned i = 0; i < count; i++)
        trials[i] = &choice->trials[i];
    qsort(trials, count, sizeof *trials, compare_memory);
    buf_printf(out, "    %u form%s tried%s\n", count, plural(count), list_words(shown, count));
    for (unsigned i = 0; i < shown; i++) {
        buf_puts(out, trials[i]->chosen ? "      chosen " : "      ");
        memory_form_print(trials[i], out);
        buf_puts(out, ": ");
        if (trials[i]->verdict.state == TRIAL_NOT_REACHED)
            buf_puts(out, "left out");
        else
            trial_verdict_print(&trials[i]->verdict, out);
        buf_puts(out, "\n");
    }
    arena_free(scratch);
}

void jam_trials_print(const LoopsChoice *choice, const Report *report, Buf *out)
{
    unsigned left = 0;
    const bool lists_all = shown_of(report, choice->trial_count) == choice->trial_count;
    for (unsigned i = 0; i < choice->trial_count; i++) {
        const JamTrial *trial = &choice->trials[i];
        if (!lists_all && !trial->chosen) {
            left++;
            continue;
        }
        buf_printf(out, "    %s x%u: ", trial->jam.loop, trial->jam.factor);
        trial_verdict_print(&trial->verdict, out);
        buf_puts(out, "\n");
    }
    if (left)
        buf_printf(out, "    %u other form%s tried\n", left, plural(left));
}

void register_figures_print(const Figures *figures, Buf *out)
{
    if (figures->known)
        buf_printf(out, "%u registers, %llu bytes spilled, %llu instructions", figures->registers,
                   (unsigned long long)figures_spills(figures), (unsigned long long)figures->instructions);
    if (figures->known)
        return;
    buf_puts(out, "not assembled: ");
    unknown_figures_print(figures, "no reason given", out);
}

void register_steps_print(const RegistersResult *reduction, const Report *report, Buf *out)
{
    unsigned left = 0;
    for (unsigned i = 0; i < reduction->step_count; i++) {
        const RegistersStep *step = &reduction->steps[i];
        if (!report->lists_all && !step->kept) {
            left++;
            continue;
        }
        buf_puts(out, step->kept ? "    kept   " : "    undone ");
        move_print(&step->move, out);
        buf_puts(out, ": ");
        register_figures_print(&step->figures, out);
        buf_puts(out, "\n");
    }
    if (left)
        buf_printf(out, "    undone %u other change%s, which did not help\n", left, plural(left));
}
