/* -tune: the forms of a kernel among which launch adapters choose by measured time; -tune-from: those that they have
 * chosen; -coarsen auto: those of which they take the first that is predicted to pay. The kernel itself stays beside
 * them under its own name, so that a launch that no adapter sees is right. */
#include <string.h>

#include "emit/emit.h"
#include "engine/choose/pays.h"
#include "engine/form_words.h"
#include "engine/launch.h"
#include "engine/run_steps.h"

enum { TUNE_MAGIC = 0x4e545850, TUNE_FORMAT = 1, LEARNED_FORMAT = 2, PREFERRED_FORMAT = 3, TUNE_HEADER_WORDS = 8 };

/* A form as it is made, and what it is called. */
typedef struct FormPlan {
    const KernelRequest *request;
    const char *words;
    unsigned block[3]; /* it is only for this one; zeros: it is for those that the options and the module give */
} FormPlan;

/* The request with only those of the launch's scalars that its form is made for. */
static const KernelRequest *keep_needed(const Run *run, const KernelReport *kernel, const KernelRequest *request)
{
    KernelRequest *own = ARENA_NEW(run->arena, KernelRequest);
    const PipelineOptions quiet = pipeline_quiet(&run->pipeline);
    KernelResult result = {0};
    *own = *request;
    if (request->coarsen && request->coarsening.guards == GUARDS_INTERIOR && request->known.count) {
        pipeline_run(run->arena, kernel->result.kernel, request, &quiet, &result);
        kernel_discard(&result);
    }
    own->known = known_assumed(run->arena, &result.assumed);
    return own;
}

/* Plans a form of a kernel whose own request is 'plain'. A form for the block of a launch file or of the store is for
 * this one alone, unless the kernel has it, too. */
static FormPlan plan_form(const Run *run, const KernelReport *kernel, const KernelRequest *plain,
                          const KernelRequest *request)
{
    FormPlan plan = {.request = keep_needed(run, kernel, request)};
    const unsigned *block = request->block;
    plan.words = form_words_text(run->arena, plan.request);
    if (kernel->result.kernel->tuning.reqntid_count || memcmp(block, plain->block, sizeof plain->block) == 0)
        return plan;
    memcpy(plan.block, block, sizeof plan.block);
    plan.words = arena_printf(run->arena, "%s%s" FORM_BLOCK_WORD "%u,%u,%u", plan.words, *plan.words ? " " : "",
                              block[0], block[1], block[2]);
    return plan;
}

/* True if all that was requested was done, and the kernel is another one than before. */
static bool is_made(const KernelRequest *request, const KernelResult *result)
{
    for (unsigned i = 0; i < result->jam_count; i++)
        if (!result->jams[i].done)
            return false;
    const bool replaces_threads = request->coarsen || request->refining.threads;
    return result->body && (!replaces_threads || result->coarsening == OUTCOME_DONE) &&
           (!request->staging.wanted || result->staging == OUTCOME_DONE);
}

/* Makes a contract require a block, also that of a form that is launched like the original. */
static void require_block(const KernelResult *result, LaunchContract *contract, const unsigned block[3])
{
    if (result->coarsening != OUTCOME_DONE)
        *contract = (LaunchContract){.shape = {.threads = {1, 1, 1}, .blocks = {1, 1, 1}},
                                      .stride_unit = 1,
                                      .dynamic_factor = 1};
    memcpy(contract->block, block, sizeof contract->block);
}

/* Sets the form's contract and its text, in which it has its own name. */
static void set_text(const Run *run, TunedForm *made, const KernelResult *result, const unsigned block[3])
{
    Buf text = {0};
    made->contract = result->contract;
    if (block[0])
        require_block(result, &made->contract, block);
    Function renamed = *result->kernel;
    FunctionForm form = kernel_form(result);
    renamed.name = made->contract.kernel = made->name;
    form.function = &renamed;
    made->has_contract = form.added || block[0];
    if (made->has_contract) {
        Variable *symbol = contract_symbol(run->module, &made->contract);
        symbol->space = SPACE_GLOBAL; /* constant memory has no room for those of many forms */
        form.added = symbol;
    }
    emit_form(&form, &text);
    made->text = arena_strndup(run->arena, buf_text(&text), text.length);
    buf_free(&text);
}

/* True if the form assembles, spills no more than the kernel, and an SM holds the blocks that wait for one another.
 * Forms that were ranked have been judged so already. */
static bool is_fit(const Run *run, const KernelRequest *request, const KernelResult *result)
{
    const Judge *judge = &run->judge.judge;
    const FunctionForm input = {.function = result->kernel}, output = kernel_form(result);
    Figures before = {0}, after = {0};
    return judge->measure(judge->context, &input, &before) && judge->measure(judge->context, &output, &after) &&
           figures_spills(&after) <= figures_spills(&before) &&
           kernel_objection(result, run->sm, request->dynamic_shared, &before, &after).kind == DEMAND_MET;
}

/* The number of the form that has these words, from 1; 0: none. */
static unsigned form_of_words(const KernelReport *kernel, const char *words)
{
    for (unsigned i = 0; i < kernel->form_count; i++)
        if (strcmp(kernel->forms[i].words, words) == 0)
            return i + 1;
    return 0;
}

/* Adds the form, unless it cannot be made, or is there already. */
static void add_form(Run *run, KernelReport *kernel, const FormPlan *plan, double speedup, bool is_judged)
{
    PipelineOptions pipeline = run->pipeline;
    KernelRequest ordered = *plan->request;
    KernelResult result;
    if (form_of_words(kernel, plan->words))
        return;
    ordered.order = kernel->order;
    pipeline.no_figures = true;
    memset(pipeline.passes.dumped, 0, sizeof pipeline.passes.dumped);
    pipeline_run(run->arena, kernel->result.kernel, &ordered, &pipeline, &result);
    if (is_made(plan->request, &result) && (is_judged || is_fit(run, plan->request, &result))) {
        TunedForm *form = &kernel->forms[kernel->form_count++];
        const char *name = arena_printf(run->arena, "%s" FORM_SUFFIX "%u", kernel->result.kernel->name,
                                        kernel->form_count);
        form->name = intern(run->module->names, name);
        form->words = plan->words;
        form->speedup = speedup;
        set_text(run, form, &result, plan->block);
    }
    kernel_discard(&result);
}

/* Adds forms with tiles, which cannot be predicted without a launch that says how often loops go round: of the kernel
 * merged as the best form is, and as it is. */
static void add_tiles(Run *run, KernelReport *kernel, const KernelRequest *plain, const KernelRequest *chosen,
                      unsigned most)
{
    const BlockSize given = block_size_resolve(&kernel->result.kernel->tuning, chosen->block);
    KernelRequest tiled[] = {*chosen, *plain};
    if (!kernel->is_memory_auto || run->choice.launch_count || chosen->staging.wanted ||
        !block_size_exact(&given).threads[0])
        return;
    for (size_t i = 0; i < COUNT_OF(tiled) && kernel->form_count < most; i++) {
        memcpy(tiled[i].block, chosen->block, sizeof tiled[i].block);
        tiled[i].staging.wanted = true;
        const FormPlan plan = plan_form(run, kernel, plain, &tiled[i]);
        add_form(run, kernel, &plan, 0, false);
    }
}

void forms_make_tuned(Run *run, KernelReport *kernel, const KernelRequest *plain)
{
    const unsigned most = run->options->tuned_forms - 1;
    const KernelRequest chosen = kernel->request;
    const FactorChoice *choice = &kernel->choice;
    kernel->is_tuned = true;
    kernel->forms = ARENA_ARRAY(run->arena, TunedForm, most + 1);
    const FormPlan first = plan_form(run, kernel, plain, &chosen);
    const char *words = form_words_text(run->arena, first.request);
    if (*words && strcmp(words, form_words_text(run->arena, plain)) != 0)
        add_form(run, kernel, &first, choice->speedup, true);
    kernel->is_first_chosen = kernel->form_count > 0;
    add_tiles(run, kernel, plain, &chosen, most);
    for (unsigned i = 0; i < choice->ranked_count && kernel->form_count < most; i++) {
        const FormPlan plan = plan_form(run, kernel, plain, &choice->ranked[i].request);
        add_form(run, kernel, &plan, choice->ranked[i].speedup, true);
    }
    kernel->request = *plain;
    kernel->request.refused = chosen.refused;
}

void forms_make_preferred(Run *run, KernelReport *kernel, const KernelRequest *plain)
{
    const FactorChoice *choice = &kernel->choice;
    if (strcmp(form_words_text(run->arena, &kernel->request), form_words_text(run->arena, &choice->request)) != 0)
        return;
    kernel->forms = ARENA_ARRAY(run->arena, TunedForm, choice->preferred_count + 1);
    for (unsigned i = 0; i < choice->preferred_count; i++) {
        const PreferredForm *preferred = &choice->preferred[i];
        const FormPlan plan = plan_form(run, kernel, plain, &preferred->request);
        add_form(run, kernel, &plan, preferred->speedup, true);
        if (kernel->form_count == i + 1)
            kernel->forms[i].pays = preferred->pays;
    }
    kernel->is_several = kernel->form_count == choice->preferred_count;
    if (kernel->is_several)
        kernel->request = *plain;
    else
        kernel->form_count = 0;
}

/* Adds a form that was learned, unless it is there; returns its number, or 0: the original. */
static unsigned add_learned(Run *run, KernelReport *kernel, const char *words)
{
    enum { MOST_LEARNED = 15 };
    const unsigned before = kernel->form_count, known = form_of_words(kernel, words);
    KernelRequest request = kernel->request;
    FormPlan plan = {.request = &request, .words = words};
    if (known || !*words || before == MOST_LEARNED)
        return known;
    memset(request.block, 0, sizeof request.block);
    if (!follow_form(run, kernel->result.kernel, words, &request))
        return 0;
    if (form_words_have(words, FORM_BLOCK_WORD))
        memcpy(plan.block, request.block, sizeof plan.block);
    else
        memcpy(request.block, kernel->request.block, sizeof request.block);
    add_form(run, kernel, &plan, 0, true);
    if (kernel->form_count > before)
        return kernel->form_count;
    warn_no_form(run, kernel->result.kernel, words);
    return 0;
}

void forms_make_learned(Run *run, KernelReport *kernel)
{
    kernel->forms = ARENA_ARRAY(run->arena, TunedForm, kernel->learned_launch_count + 2);
    kernel->is_first_chosen = add_learned(run, kernel, kernel->learned.words) == 1;
    for (unsigned i = 0; i < kernel->learned_launch_count; i++)
        kernel->learned_launches[i].form = add_learned(run, kernel, kernel->learned_launches[i].words);
}

static void put_word(Buf *bytes, uint32_t word)
{
    for (unsigned k = 0; k < 4; k++)
        buf_putc(bytes, (char)(word >> 8 * k));
}

static void put_launch(Buf *bytes, const LearnedLaunch *launch)
{
    for (unsigned d = 0; d < 3; d++)
        put_word(bytes, launch->grid[d]);
    for (unsigned d = 0; d < 3; d++)
        put_word(bytes, launch->block[d]);
    put_word(bytes, (uint32_t)launch->shared);
    put_word(bytes, (uint32_t)(launch->shared >> 32));
    put_word(bytes, launch->form);
}

/* When a form pays, as ptxopt_form_pays() reads it. */
static void put_pays(Buf *bytes, const FormPays *pays)
{
    uint32_t words[PAYS_WORDS + TRIPS_WORDS + LIMIT_WORDS] = {PAYS_MAGIC, PAYS_FORMAT, pays->from, pays->factors};
    if (pays->by_trips.count)
        trips_set(words + PAYS_WORDS, &pays->by_trips);
    words[PAYS_WORDS + TRIPS_WORDS] = pays->least_block;
    words[PAYS_WORDS + TRIPS_WORDS + 1] = pays->most_block;
    words[PAYS_WORDS + TRIPS_WORDS + 2] = pays->most;
    words[PAYS_WORDS + TRIPS_WORDS + 3] = pays->aligned.index | pays->aligned.multiple << 16;
    for (unsigned i = 0; i < COUNT_OF(words); i++)
        put_word(bytes, words[i]);
}

/* The table that the launch adapters read (docs/formats.md). */
static void print_table(const Run *run, const KernelReport *kernel, Buf *out)
{
    const uint64_t hash = kernel_content_hash(run, kernel->result.kernel);
    const uint32_t header[TUNE_HEADER_WORDS] = {
        TUNE_MAGIC,
        kernel->learned_launch_count ? LEARNED_FORMAT : kernel->is_several ? PREFERRED_FORMAT : TUNE_FORMAT,
        kernel->form_count,
        kernel->is_first_chosen,
        (uint32_t)hash,
        (uint32_t)(hash >> 32),
        kernel->learned_launch_count};
    Buf bytes = {0};
    for (unsigned i = 0; i < TUNE_HEADER_WORDS; i++)
        put_word(&bytes, header[i]);
    for (unsigned i = 0; i < kernel->form_count; i++)
        buf_write(&bytes, kernel->forms[i].words, strlen(kernel->forms[i].words) + 1);
    for (unsigned i = 0; i < kernel->learned_launch_count; i++)
        put_launch(&bytes, &kernel->learned_launches[i]);
    for (unsigned i = 0; i < kernel->form_count && kernel->is_several; i++)
        put_pays(&bytes, &kernel->forms[i].pays);
    buf_printf(out, ".visible .global .align 4 .b8 __ptxopt_tune_%s[%zu] = {", kernel->result.kernel->name,
               bytes.length);
    for (size_t i = 0; i < bytes.length; i++)
        buf_printf(out, "%s%u", i ? "," : "", (unsigned char)bytes.data[i]);
    buf_puts(out, "};\n");
    buf_free(&bytes);
}

void forms_print_tuned(const Run *run, const KernelReport *kernel, Buf *out)
{
    if (!kernel->form_count)
        return;
    if (out->length && out->data[out->length - 1] != '\n')
        buf_putc(out, '\n');
    for (unsigned i = 0; i < kernel->form_count; i++)
        buf_puts(out, kernel->forms[i].text);
    print_table(run, kernel, out);
}

bool forms_drop_tuned(Run *run)
{
    unsigned dropped = 0;
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        KernelReport *kernel = &run->report.kernels[i];
        dropped += kernel->form_count;
        kernel->form_count = 0;
        kernel->is_first_chosen = kernel->is_several = false;
    }
    if (dropped)
        diag_report_plain(&run->diag, SEVERITY_WARNING, "no forms are beside the kernels: %s rejects the module "
                          "with them", run->report.assembler);
    return dropped > 0;
}
