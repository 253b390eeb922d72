/* -tune: the forms of a kernel among which launch adapters choose by measured time; -tune-from: those that they have
 * chosen. The kernel itself stays beside them under its own name, so that a launch that no adapter sees is right. */
#include <string.h>

#include "emit/emit.h"
#include "engine/launch.h"
#include "engine/run_steps.h"

enum { TUNE_MAGIC = 0x4e545850, TUNE_FORMAT = 1, LEARNED_FORMAT = 2, TUNE_HEADER_WORDS = 8 };

static void print_factors(const unsigned factor[3], const char *prefix, Buf *out)
{
    for (unsigned d = 0; d < 3; d++)
        if (factor[d] > 1)
            buf_printf(out, "%s%s%c%u", out->length ? "," : "", prefix, "xyz"[d], factor[d]);
}

/* The words by which a form is known to the store and to people: they say what was asked for, so they are the same in
 * each build. */
static const char *form_words(Arena *arena, const KernelRequest *request)
{
    static const char *const guards[] = {[GUARDS_SEQUENTIAL] = " guards=sequential",
                                         [GUARDS_FAST] = " guards=fast",
                                         [GUARDS_PREDICATED] = " guards=predicated",
                                         [GUARDS_AUTO] = ""};
    const CoarsenRequest *coarsening = &request->coarsening;
    Buf out = {0};
    char stride[16];
    if (request->coarsen) {
        print_factors(coarsening->shape.grown, "g", &out);
        print_factors(coarsening->shape.threads, "", &out);
        print_factors(coarsening->shape.blocks, "b", &out);
        if (coarsening->stride.kind != STRIDE_BLOCK)
            buf_printf(&out, " stride=%s", stride_text(&coarsening->stride, stride));
        buf_puts(&out, guards[coarsening->guards]);
        if (coarsening->shrinks_grid && merges_any(coarsening->shape.blocks))
            buf_puts(&out, " grid=shrink");
    }
    if (request->edges)
        buf_printf(&out, "%sedges", out.length ? " " : "");
    if (request->vectors && request->vectors_first)
        buf_printf(&out, "%svectors", out.length ? " " : "");
    if (request->staging.buffers)
        buf_printf(&out, "%sasync%u", out.length ? " " : "", request->staging.buffers);
    else if (request->staging.wanted)
        buf_printf(&out, "%s%s", out.length ? " " : "", request->staging.prefetches ? "prefetch" : "stage");
    if (request->counters)
        buf_printf(&out, "%scounters", out.length ? " " : "");
    if (request->vectors && !request->vectors_first)
        buf_printf(&out, "%svectors", out.length ? " " : "");
    for (unsigned i = 0; i < request->jam_count; i++)
        buf_printf(&out, "%suj=%s:%u", out.length ? " " : "", request->jams[i].loop, request->jams[i].factor);
    return buf_take(arena, &out);
}

/* The same of a form that the kernel gets: also the block that it is only for. */
static const char *tuned_words(const Run *run, const KernelReport *kernel, const KernelRequest *request)
{
    const char *words = form_words(run->arena, request);
    const unsigned *block = kernel->learned_block;
    return block[0] ? arena_printf(run->arena, "%s%s" FORM_BLOCK_WORD "%u,%u,%u", words, *words ? " " : "", block[0],
                                   block[1], block[2])
                    : words;
}

/* True if all that was requested was done, and the kernel is another one than before. */
static bool is_made(const KernelRequest *request, const KernelResult *result)
{
    for (unsigned i = 0; i < result->jam_count; i++)
        if (!result->jams[i].done)
            return false;
    return result->body && (!request->coarsen || result->coarsening == OUTCOME_DONE) &&
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

static const char *form_text(const Run *run, Name name, const KernelResult *result, const unsigned block[3])
{
    Buf text = {0};
    LaunchContract contract = result->contract;
    if (block[0])
        require_block(result, &contract, block);
    Function renamed = *result->kernel;
    FunctionForm form = kernel_form(result);
    renamed.name = contract.kernel = name;
    form.function = &renamed;
    if (form.added || block[0]) {
        Variable *symbol = contract_symbol(run->module, &contract);
        symbol->space = SPACE_GLOBAL; /* constant memory has no room for those of many forms */
        form.added = symbol;
    }
    emit_form(&form, &text);
    const char *copy = arena_strndup(run->arena, buf_text(&text), text.length);
    buf_free(&text);
    return copy;
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

/* Adds the form that the request makes, unless it cannot be made. */
static void add_named_form(Run *run, KernelReport *kernel, const KernelRequest *request, const char *words,
                           const unsigned block[3], double speedup, bool is_judged)
{
    PipelineOptions pipeline = run->pipeline;
    KernelRequest ordered = *request;
    KernelResult result;
    ordered.order = kernel->order;
    pipeline.no_figures = true;
    memset(pipeline.passes.dumped, 0, sizeof pipeline.passes.dumped);
    pipeline_run(run->arena, kernel->result.kernel, &ordered, &pipeline, &result);
    if (is_made(request, &result) && (is_judged || is_fit(run, request, &result))) {
        TunedForm *form = &kernel->forms[kernel->form_count++];
        const char *name = arena_printf(run->arena, "%s" FORM_SUFFIX "%u", kernel->result.kernel->name,
                                        kernel->form_count);
        form->name = intern(run->module->names, name);
        form->words = words;
        form->speedup = speedup;
        form->text = form_text(run, form->name, &result, block);
    }
    kernel_discard(&result);
}

static void add_form(Run *run, KernelReport *kernel, const KernelRequest *request, double speedup, bool is_judged)
{
    add_named_form(run, kernel, request, tuned_words(run, kernel, request), kernel->learned_block, speedup, is_judged);
}

static bool is_same_form(const Run *run, const KernelRequest *request, const KernelReport *kernel)
{
    const char *words = tuned_words(run, kernel, request);
    for (unsigned i = 0; i < kernel->form_count; i++)
        if (strcmp(kernel->forms[i].words, words) == 0)
            return true;
    return false;
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
        if (!is_same_form(run, &tiled[i], kernel))
            add_form(run, kernel, &tiled[i], 0, false);
    }
}

void forms_make_tuned(Run *run, KernelReport *kernel, const KernelRequest *plain)
{
    const unsigned most = run->options->tuned_forms - 1;
    const KernelRequest chosen = kernel->request;
    const FactorChoice *choice = &kernel->choice;
    kernel->is_tuned = true;
    kernel->forms = ARENA_ARRAY(run->arena, TunedForm, most + 1);
    if (*form_words(run->arena, &chosen) && strcmp(form_words(run->arena, &chosen), form_words(run->arena, plain)) != 0)
        add_form(run, kernel, &chosen, choice->speedup, true);
    kernel->is_first_chosen = kernel->form_count > 0;
    add_tiles(run, kernel, plain, &chosen, most);
    for (unsigned i = 0; i < choice->ranked_count && kernel->form_count < most; i++)
        if (!is_same_form(run, &choice->ranked[i].request, kernel))
            add_form(run, kernel, &choice->ranked[i].request, choice->ranked[i].speedup, true);
    kernel->request = *plain;
    kernel->request.refused = chosen.refused;
}

/* Adds a form that was learned, unless it is there; returns its number, or 0: the original. */
static unsigned add_learned(Run *run, KernelReport *kernel, const char *words)
{
    enum { MOST_LEARNED = 15 };
    static const unsigned any[3];
    const unsigned before = kernel->form_count;
    KernelRequest request = kernel->request;
    for (unsigned i = 0; i < before; i++)
        if (strcmp(kernel->forms[i].words, words) == 0)
            return i + 1;
    if (!*words || before == MOST_LEARNED)
        return 0;
    memcpy(request.block, any, sizeof request.block);
    if (follow_words(run, kernel->result.kernel, words, &request)) {
        const bool is_for_block = strstr(words, FORM_BLOCK_WORD) != NULL;
        if (!is_for_block)
            memcpy(request.block, kernel->request.block, sizeof request.block);
        add_named_form(run, kernel, &request, words, is_for_block ? request.block : any, 0, true);
    }
    if (kernel->form_count == before)
        diag_warning(&run->diag, kernel->result.kernel->span, "-tune-from: kernel '%s' has no form '%s' any more",
                     kernel->result.kernel->name, words);
    return kernel->form_count > before ? kernel->form_count : 0;
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

/* The table that the launch adapters read (docs/formats.md). */
static void print_table(const Run *run, const KernelReport *kernel, Buf *out)
{
    const uint64_t hash = kernel_content_hash(run, kernel->result.kernel);
    const uint32_t header[TUNE_HEADER_WORDS] = {
        TUNE_MAGIC, kernel->learned_launch_count ? LEARNED_FORMAT : TUNE_FORMAT, kernel->form_count,
        kernel->is_first_chosen, (uint32_t)hash, (uint32_t)(hash >> 32), kernel->learned_launch_count};
    Buf bytes = {0};
    for (unsigned i = 0; i < TUNE_HEADER_WORDS; i++)
        put_word(&bytes, header[i]);
    for (unsigned i = 0; i < kernel->form_count; i++)
        buf_write(&bytes, kernel->forms[i].words, strlen(kernel->forms[i].words) + 1);
    for (unsigned i = 0; i < kernel->learned_launch_count; i++)
        put_launch(&bytes, &kernel->learned_launches[i]);
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
        kernel->is_first_chosen = false;
    }
    if (dropped)
        diag_report_plain(&run->diag, SEVERITY_WARNING, "-tune adds no forms: %s rejects the module with them",
                          run->report.assembler);
    return dropped > 0;
}
