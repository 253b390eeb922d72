/* -tune-from: kernels get the form that programs have measured to be the fastest (store/), so that nothing is left to
 * choose when they run. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "engine/form_words.h"
#include "engine/run_steps.h"
#include "store/store.h"

enum { WAIT = 5000 }; /* milliseconds for which another process may hold up the file */

/* Rows are next to each other if they are about one kernel and one launch. */
struct LearnedRows {
    Arena *arena;
    VEC(StoreRow) rows, blocks;
};

static void take(void *context, const StoreRow *row)
{
    struct LearnedRows *learned = context;
    StoreRow copy = *row;
    copy.kernel = arena_strndup(learned->arena, row->kernel, strlen(row->kernel));
    copy.device = "";
    copy.form = arena_strndup(learned->arena, row->form, strlen(row->form));
    if (row->is_block)
        VEC_PUSH(learned->arena, learned->blocks, copy);
    else
        VEC_PUSH(learned->arena, learned->rows, copy);
}

bool read_learned(Run *run)
{
    const char *path = run->options->tune_from;
    char error[STORE_ERROR] = "";
    if (!path)
        return true;
    run->learned = ARENA_NEW(run->arena, struct LearnedRows);
    run->learned->arena = run->arena;
    const bool is_there = access(path, R_OK) == 0;
    if (is_there && store_read(path, WAIT, take, run->learned, error))
        return true;
    fprintf(run->messages, "ptxopt: error: -tune-from %s: %s\n", path, is_there ? error : strerror(errno));
    return false;
}

static bool is_same_launch(const StoreRow *one, const StoreRow *other)
{
    return one->hash == other->hash && memcmp(one->grid, other->grid, sizeof one->grid) == 0 &&
           memcmp(one->block, other->block, sizeof one->block) == 0 && one->shared == other->shared &&
           one->driver == other->driver;
}

/* The row of a form in the launch that begins here; NULL: it was not measured. */
static const StoreRow *row_of_form(const struct LearnedRows *learned, size_t first, const char *form)
{
    for (size_t i = first; i < learned->rows.count; i++) {
        const StoreRow *row = &learned->rows.data[i];
        if (!is_same_launch(&learned->rows.data[first], row))
            return NULL;
        if (strcmp(row->form, form) == 0)
            return row;
    }
    return NULL;
}

/* The form's time over the original's: the geometric mean over the kernel's launches, whose number is *launches. 0: it
 * was not measured in all of them. */
static double form_share(const struct LearnedRows *learned, uint64_t hash, const char *form, unsigned *launches)
{
    double sum = 0;
    *launches = 0;
    for (size_t i = 0; i < learned->rows.count; i++) {
        const StoreRow *first = &learned->rows.data[i];
        if (first->hash != hash || (i && is_same_launch(first, &learned->rows.data[i - 1])))
            continue;
        const StoreRow *row = row_of_form(learned, i, form), *original = row_of_form(learned, i, "");
        if (!row || !original || !(row->milliseconds > 0) || !(original->milliseconds > 0))
            return 0;
        sum += log(row->milliseconds / original->milliseconds);
        ++*launches;
    }
    return *launches ? exp(sum / *launches) : 0;
}

/* The form with the lowest share; the original if none gains enough. NULL: nothing is known about the kernel. */
static const char *best_form(const struct LearnedRows *learned, uint64_t hash, double *share, unsigned *launches)
{
    const double most_share = 1 / threshold(THRESHOLD_LEARNED_GAIN);
    const char *best = NULL;
    *share = form_share(learned, hash, "", launches);
    if (*share > 0)
        best = "";
    for (size_t i = 0; best && i < learned->rows.count; i++) {
        const StoreRow *row = &learned->rows.data[i];
        unsigned count;
        const double own = row->hash == hash ? form_share(learned, hash, row->form, &count) : 0;
        if (own > 0 && own <= most_share && own < *share) {
            *share = own;
            best = row->form;
        }
    }
    return best;
}

/* Adds a row's block to the one that all rows before have had; false if it is another one. */
static bool same_block(const StoreRow *row, uint64_t hash, unsigned block[3])
{
    const bool is_first = !block[0];
    if (row->hash != hash)
        return true;
    if (is_first)
        memcpy(block, row->block, sizeof row->block);
    return memcmp(block, row->block, sizeof row->block) == 0;
}

/* Sets the block of all of a kernel's launches that the file knows; false if there is none, or several. */
static bool find_block(const struct LearnedRows *learned, uint64_t hash, unsigned block[3])
{
    bool is_one = true;
    memset(block, 0, 3 * sizeof *block);
    for (size_t i = 0; i < learned->blocks.count && is_one; i++)
        is_one = same_block(&learned->blocks.data[i], hash, block);
    for (size_t i = 0; i < learned->rows.count && is_one; i++)
        is_one = same_block(&learned->rows.data[i], hash, block);
    return is_one && block[0] && block[1] && block[2] && (uint64_t)block[0] * block[1] * block[2] <= BLOCK_MOST_THREADS;
}

/* True if forms have been measured that were made for a block. */
static bool has_block_forms(const struct LearnedRows *learned, uint64_t hash)
{
    bool any = false;
    for (size_t i = 0; i < learned->rows.count; i++)
        any |= learned->rows.data[i].hash == hash && form_words_have(learned->rows.data[i].form, FORM_BLOCK_WORD);
    return any;
}

/* Takes the block that launches have had, for forms that -tune adds: their contracts require it, so the kernel runs as
 * it is with another one. False if such forms have been measured already. */
static bool follow_block(const Run *run, KernelReport *report, uint64_t hash)
{
    const Function *kernel = report->result.kernel;
    unsigned block[3];
    if (!run->options->tuned_forms || kernel->tuning.reqntid_count || report->request.block[0] ||
        report->request.launch_block[0] || has_block_forms(run->learned, hash) ||
        !find_block(run->learned, hash, block))
        return false;
    memcpy(report->learned_block, block, sizeof block);
    return true;
}

void warn_no_form(Run *run, const Function *kernel, const char *words)
{
    diag_warning(&run->diag, kernel->span, "-tune-from: kernel '%s' has no form '%s' any more", kernel->name, words);
}

/* The form of the launch whose rows begin here: the chosen one if it gains enough, else the original. */
static const char *form_of_launch(const struct LearnedRows *learned, size_t first)
{
    const StoreRow *original = row_of_form(learned, first, ""), *chosen = NULL;
    for (size_t i = first; i < learned->rows.count; i++)
        if (is_same_launch(&learned->rows.data[first], &learned->rows.data[i]) && learned->rows.data[i].is_chosen)
            chosen = &learned->rows.data[i];
    const bool gains = chosen && original && chosen->milliseconds > 0 &&
                       chosen->milliseconds * threshold(THRESHOLD_LEARNED_GAIN) <= original->milliseconds;
    return gains ? chosen->form : "";
}

/* Lists the kernel's launches with their forms. True if these differ, or are for one block alone: then no form can take
 * the place of the kernel. */
static bool list_launches(const Run *run, KernelReport *report, uint64_t hash, const char *words)
{
    enum { MOST_LAUNCHES = 4096 }; /* as many as adapters keep */
    const struct LearnedRows *learned = run->learned;
    bool differ = form_words_have(words, FORM_BLOCK_WORD);
    report->learned_launches = ARENA_ARRAY(run->arena, LearnedLaunch, learned->rows.count + 1);
    for (size_t i = 0; i < learned->rows.count && report->learned_launch_count < MOST_LAUNCHES; i++) {
        const StoreRow *row = &learned->rows.data[i];
        if (row->hash != hash || (i && is_same_launch(row, &learned->rows.data[i - 1])))
            continue;
        LearnedLaunch *launch = &report->learned_launches[report->learned_launch_count++];
        *launch = (LearnedLaunch){.shared = row->shared, .words = form_of_launch(learned, i)};
        memcpy(launch->grid, row->grid, sizeof launch->grid);
        memcpy(launch->block, row->block, sizeof launch->block);
        differ |= strcmp(launch->words, words) != 0;
    }
    if (!differ)
        report->learned_launch_count = 0;
    return differ;
}

/* Says so if the file knows a kernel of this name, which was another one when it was measured. */
static void note_other_version(Run *run, const Function *kernel, uint64_t hash)
{
    bool is_known = false, has_name = false;
    for (size_t i = 0; i < run->learned->rows.count; i++) {
        const StoreRow *row = &run->learned->rows.data[i];
        is_known |= row->hash == hash;
        has_name |= strcmp(row->kernel, kernel->name) == 0;
    }
    if (has_name && !is_known)
        diag_report(&run->diag, SEVERITY_NOTE, kernel->span,
                    "-tune-from: kernel '%s' was measured with other code, for another architecture, or as another "
                    "version of ptxopt made it", kernel->name);
}

bool follow_form(Run *run, const Function *kernel, const char *words, KernelRequest *request)
{
    if (form_words_have(words, FORM_REASSOCIATE_WORD) && !run->options->reassociates) {
        diag_warning(&run->diag, kernel->span,
                     "-tune-from: the form '%s' of kernel '%s' adds floating-point numbers in another order, which "
                     "needs -reassociate", words, kernel->name);
        return false;
    }
    if (form_words_follow(run->arena, kernel, words, request))
        return true;
    warn_no_form(run, kernel, words);
    return false;
}

void follow_learned(Run *run, KernelReport *report)
{
    const Function *kernel = report->result.kernel;
    const CoarsenOption *coarsen = options_coarsen_for(run->options, kernel->name);
    const RefineOption *refine = options_refine_for(run->options, kernel->name);
    KernelRequest request = report->request;
    double share;
    unsigned launches;
    if (!run->learned || (coarsen && coarsen->kernel) || (refine && refine->kernel) || is_refusal(&request.refused))
        return;
    const uint64_t hash = kernel_content_hash(run, kernel);
    if (follow_block(run, report, hash))
        return;
    const char *words = best_form(run->learned, hash, &share, &launches);
    if (!words) {
        note_other_version(run, kernel, hash);
        return;
    }
    form_words_clear(&request);
    const bool is_beside = list_launches(run, report, hash, words);
    if (!is_beside && !follow_form(run, kernel, words, &request))
        return;
    report->request = request;
    report->jams_named = 0;
    report->is_auto = report->is_memory_auto = report->is_refine_auto = report->is_jam_auto = false;
    report->learned = (LearnedForm){words, share, launches, is_beside};
}
