/* The loops and loads that were staged in shared memory, or why not. */
#include "engine/report/report_memory.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"
#include "engine/report/report_trials.h"
#include "engine/report/trial_words.h"

/* ", the same for 16 threads along x"; nothing if each thread reads its own. */
static void print_shared(Buf *out, const StagedLoad *load)
{
    if (load->same_x > 1)
        buf_printf(out, ", the same for %u threads along x", load->same_x);
    if (load->same_y > 1)
        buf_printf(out, "%s %u threads along y", load->same_x > 1 ? " and" : ", the same for", load->same_y);
}

static void print_refused_load(Buf *out, const StagedLoad *load)
{
    buf_puts(out, "not staged: ");
    refusal_print(&load->refusal, out);
    if (load->is_resolved) {
        buf_printf(out, " (%u sector%s for a warp", load->warp_sectors, plural(load->warp_sectors));
        print_shared(out, load);
        buf_puts(out, ")");
    }
    buf_puts(out, "\n");
}

static void print_load(Buf *out, const Report *report, const StagedLoad *load)
{
    if (!load->done && !is_refusal(&load->refusal))
        return;
    buf_printf(out, "    line %u", report_line(report, load->span));
    cuda_line_print(load->loc, out);
    buf_puts(out, ": ");
    if (!load->done) {
        print_refused_load(out, load);
        return;
    }
    if (load->sharers > 1 && !load->is_store)
        buf_printf(out, "%u threads of a block read each element", load->sharers);
    else
        buf_printf(out, "neighbouring threads %s rows apart", load->is_store ? "store" : "read");
    if (load->sharers > 1 && !load->is_store)
        print_shared(out, load);
    buf_printf(out, "; staged in %llu bytes", (unsigned long long)load->bytes);
    if (load->sectors_before)
        buf_printf(out, "; %llu sectors become %llu", (unsigned long long)load->sectors_before,
                   (unsigned long long)load->sectors_after);
    buf_puts(out, "\n");
}

static void print_loop(Buf *out, const Report *report, const StagedLoop *loop)
{
    buf_printf(out, "  memory: the loop that ends on line %u: ", report_line(report, loop->span));
    if (loop->done && loop->unrolled > 1)
        buf_printf(out, "staged, %u rounds at a time, %u of them unrolled, ", loop->rounds, loop->unrolled);
    else if (loop->done)
        buf_printf(out, "staged, %u rounds at a time, ", loop->rounds);
    if (loop->done && loop->buffers)
        buf_printf(out, "by asynchronous copies to %u buffers, ", loop->buffers);
    if (loop->done)
        buf_printf(out, "in %llu bytes of shared memory%s%s\n", (unsigned long long)loop->shared,
                   loop->prefetches ? ", the next ones loaded ahead" : "",
                   loop->votes ? ", where all threads of a block get there" : "");
    else {
        refusal_print_with_line(report, &loop->refusal, out);
        buf_puts(out, "\n");
    }
    for (size_t i = 0; i < loop->loads.count; i++)
        print_load(out, report, &loop->loads.data[i]);
}

/* Copies of a loop, as of jammed iterations, are mostly alike: one stands for all. */
static void print_loops(Buf *out, const Report *report, const StageResult *staged)
{
    Arena *scratch = arena_new();
    const size_t count = staged->loops.count;
    const char **texts = ARENA_ARRAY(scratch, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        Buf text = {0};
        print_loop(&text, report, &staged->loops.data[i]);
        texts[i] = buf_take(scratch, &text);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned before = 0, alike = 0;
        for (size_t other = 0; other < count; other++)
            if (strcmp(texts[i], texts[other]) == 0)
                *(other < i ? &before : &alike) += 1;
        if (before)
            continue;
        buf_puts(out, texts[i]);
        if (alike > 1)
            buf_printf(out, "    (%u copies of the loop are alike)\n", alike);
    }
    arena_free(scratch);
}

static bool edges_are_done(const KernelResult *result)
{
    return result->edges == OUTCOME_DONE && !is_refusal(&result->edges_result.refusal);
}

static void print_edges(const Report *report, const KernelResult *result, Buf *out)
{
    if (result->edges == OUTCOME_NOT_ASKED)
        return;
    if (result->edges_result.diagonal.end)
        buf_printf(out,
                   "  memory: threads beside the diagonal: they pass the branch on line %u with the others, and their "
                   "results are dropped\n",
                   report_line(report, result->edges_result.diagonal));
    buf_puts(out, "  memory: threads beyond the edge of the data: ");
    if (edges_are_done(result))
        buf_printf(out, "they pass the branch on line %u with the others, and store nothing",
                   report_line(report, result->edges_result.span));
    else
        refusal_print_with_line(report, &result->edges_result.refusal, out);
    buf_puts(out, "\n");
}

/* The loops that were looked at: those of the result, or those of which -memory auto stages none. */
static const StageResult *looked_at(const KernelReport *kernel)
{
    const StageResult *refused = &kernel->memory_choice.refused;
    if (kernel->result.staging != OUTCOME_NOT_ASKED)
        return &kernel->result.staged;
    return kernel->is_memory_auto && !stage_count(refused) ? refused : NULL;
}

/* Which threads do what. */
static void print_places(Buf *out, const Report *report, const StageResult *staged)
{
    const Unflattened *unflattened = &staged->unflattened;
    if (staged->exchange.lanes)
        buf_printf(out, "  memory: each %u lanes of a warp go along another axis, because those along x are rows apart "
                        "at the access on line %u\n", staged->exchange.lanes,
                   report_line(report, staged->exchange.span));
    else if (staged->exchange.done)
        buf_printf(out, "  memory: threads of tiles of %u x %u elements change places, because those of the access on "
                        "line %u are rows apart\n", staged->exchange.side, staged->exchange.side,
                   report_line(report, staged->exchange.span));
    if (unflattened->done)
        buf_printf(out, "  memory: the threads of a block are a tile of %u x %u, and not a piece of a row, of what the "
                        "index on line %u numbers\n", unflattened->columns, unflattened->rows,
                   report_line(report, unflattened->span));
    if (staged->held.done)
        buf_printf(out, "  memory: the rows that several loops read, %u of each thread, from line %u on, stay in %llu "
                        "bytes of shared memory where they fit; %u accesses are of these\n",
                   staged->held.rows, report_line(report, staged->held.span),
                   (unsigned long long)staged->held.bytes, staged->held.accesses);
    if (staged->row_threads)
        buf_printf(out, "  memory: a block has rows of %u threads: x is the place in a row, y the row\n",
                   staged->row_threads);
}

void staging_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const StageResult *staged = looked_at(kernel);
    if (kernel->is_memory_auto || kernel->is_refine_auto) {
        buf_puts(out, kernel->is_memory_auto ? "  memory: auto: " : "  refinement: auto: ");
        memory_choice_print(&kernel->memory_choice, out);
        buf_puts(out, "\n");
        memory_trials_print(&kernel->memory_choice, report, out);
    }
    print_edges(report, &kernel->result, out);
    if (!staged)
        return;
    print_places(out, report, staged);
    if (is_refusal(&staged->refusal)) {
        buf_puts(out, "  memory: refused: ");
        refusal_print_with_line(report, &staged->refusal, out);
        buf_puts(out, "\n");
    } else if (!stage_is_done(staged) && !staged->loops.count && kernel->result.staging != OUTCOME_NOT_ASKED) {
        buf_puts(out, "  memory: no loop to stage\n");
    }
    print_loops(out, report, staged);
}

static void set_refusal(json_t *value, const Report *report, const Refusal *refusal)
{
    json_object_set_new(value, "reason", json_refusal(refusal));
    json_object_set_new(value, "refused_on_line",
                        refusal->has_span ? json_integer(report_line(report, refusal->span)) : json_null());
}

static json_t *load_json(const Report *report, const StagedLoad *load)
{
    json_t *value = json_object();
    json_object_set_new(value, "line", json_line(report_line(report, load->span)));
    json_object_set_new(value, "source_line", json_line(cuda_line(load->loc)));
    json_object_set_new(value, "stores", json_boolean(load->is_store));
    json_object_set_new(value, "staged", json_boolean(load->done));
    if (load->is_resolved) {
        json_object_set_new(value, "same_along_x", json_integer(load->same_x));
        json_object_set_new(value, "same_along_y", json_integer(load->same_y));
    }
    if (load->done) {
        json_object_set_new(value, "threads_for_element", json_integer(load->sharers));
        json_set_number(value, "bytes", load->bytes);
        json_set_number(value, "sectors_before", load->sectors_before);
        json_set_number(value, "sectors_after", load->sectors_after);
    } else {
        json_object_set_new(value, "reason", json_refusal(&load->refusal));
    }
    return value;
}

static json_t *loop_json(const Report *report, const StagedLoop *loop)
{
    json_t *value = json_object(), *loads = json_array();
    json_object_set_new(value, "line", json_line(report_line(report, loop->span)));
    json_object_set_new(value, "staged", json_boolean(loop->done));
    if (loop->done) {
        json_object_set_new(value, "rounds", json_integer(loop->rounds));
        json_object_set_new(value, "unrolled", json_integer(loop->unrolled));
        json_set_number(value, "shared_bytes", loop->shared);
        json_object_set_new(value, "prefetches", json_boolean(loop->prefetches));
        json_object_set_new(value, "buffers", json_integer(loop->buffers));
        json_object_set_new(value, "votes", json_boolean(loop->votes));
    } else {
        set_refusal(value, report, &loop->refusal);
    }
    for (size_t i = 0; i < loop->loads.count; i++)
        json_array_append_new(loads, load_json(report, &loop->loads.data[i]));
    json_object_set_new(value, "loads", loads);
    return value;
}

static json_t *edges_json(const Report *report, const KernelResult *result)
{
    json_t *value = json_object();
    const bool is_done = edges_are_done(result);
    const Span diagonal = result->edges_result.diagonal;
    json_object_set_new(value, "diagonal", diagonal.end ? json_line(report_line(report, diagonal)) : json_null());
    json_object_set_new(value, "done", json_boolean(is_done));
    if (is_done)
        json_object_set_new(value, "line", json_line(report_line(report, result->edges_result.span)));
    else
        set_refusal(value, report, &result->edges_result.refusal);
    return value;
}

static json_t *trial_json(const MemoryTrial *trial)
{
    json_t *value = json_object();
    Buf form = {0}, verdict = {0};
    memory_form_print(trial, &form);
    trial_verdict_print(&trial->verdict, &verdict);
    json_object_set_new(value, "form", json_words(&form));
    json_object_set_new(value, "refined", json_integer(trial->refining.threads ? trial->refining.threads : 1));
    json_object_set_new(value, "coarsened", json_boolean(trial->coarsens));
    json_object_set_new(value, "edges", json_boolean(trial->edges));
    json_object_set_new(value, "depth", trial->stages ? json_integer(trial->depth ? trial->depth : STAGE_DEPTH)
                                                      : json_null());
    json_object_set_new(value, "unrolled", json_boolean(trial->unrolls));
    json_object_set_new(value, "prefetches", json_boolean(trial->prefetches));
    json_object_set_new(value, "holds_rows", json_boolean(trial->holds_rows));
    json_object_set_new(value, "counters", json_boolean(trial->counts));
    json_object_set_new(value, "vectors", json_boolean(trial->vectors));
    json_object_set_new(value, "speedup", trial->speedup > 0 ? json_real(trial->speedup) : json_null());
    json_object_set_new(value, "chosen", json_boolean(trial->chosen));
    json_object_set_new(value, "verdict", json_words(&verdict));
    return value;
}

static void set_choice(json_t *value, const MemoryChoice *choice)
{
    Buf words = {0};
    json_t *trials = json_array();
    memory_choice_print(choice, &words);
    for (unsigned i = 0; i < choice->trial_count; i++)
        json_array_append_new(trials, trial_json(&choice->trials[i]));
    json_object_set_new(value, "auto", json_words(&words));
    json_object_set_new(value, "counted", json_counted(&choice->counted));
    json_object_set_new(value, "left_out", json_integer(choice->left_out));
    json_object_set_new(value, "trials", trials);
}

static json_t *unflattened_json(const Report *report, const Unflattened *unflattened)
{
    if (!unflattened->done)
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "line", json_line(report_line(report, unflattened->span)));
    json_object_set_new(value, "columns", json_integer(unflattened->columns));
    json_object_set_new(value, "rows", json_integer(unflattened->rows));
    return value;
}

static json_t *held_json(const Report *report, const HeldRows *held)
{
    if (!held->done)
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "line", json_line(report_line(report, held->span)));
    json_object_set_new(value, "rows", json_integer(held->rows));
    json_object_set_new(value, "accesses", json_integer(held->accesses));
    json_set_number(value, "shared_bytes", held->bytes);
    return value;
}

json_t *staging_json(const Report *report, const KernelReport *kernel)
{
    static const StageResult none = {.refusal = {.reason = REFUSAL_NONE}};
    const StageResult *staged = looked_at(kernel) ? looked_at(kernel) : &none;
    json_t *value = json_object(), *loops = json_array();
    if (kernel->is_memory_auto || kernel->is_refine_auto)
        set_choice(value, &kernel->memory_choice);
    for (size_t i = 0; i < staged->loops.count; i++)
        json_array_append_new(loops, loop_json(report, &staged->loops.data[i]));
    if (is_refusal(&staged->refusal))
        set_refusal(value, report, &staged->refusal);
    json_object_set_new(value, "loops", loops);
    json_object_set_new(value, "exchanged_on_line",
                        staged->exchange.done ? json_line(report_line(report, staged->exchange.span)) : json_null());
    json_object_set_new(value, "unflattened", unflattened_json(report, &staged->unflattened));
    json_object_set_new(value, "held", held_json(report, &staged->held));
    json_object_set_new(value, "threads_in_row",
                        staged->row_threads ? json_integer(staged->row_threads) : json_null());
    if (kernel->result.edges != OUTCOME_NOT_ASKED)
        json_object_set_new(value, "edges", edges_json(report, &kernel->result));
    return value;
}

void dead_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    for (unsigned i = 0; i < kernel->result.dead.count; i++) {
        const DeadBuffer *buffer = &kernel->result.dead.buffers[i];
        buf_printf(out, "  dead on return: %s: ", buffer->parameter);
        if (buffer->done) {
            buf_printf(out, "from line %u on, up to %u elements of %u byte%s for a block are in shared memory; ",
                       report_line(report, buffer->span), buffer->elements, buffer->element, plural(buffer->element));
            buf_printf(out, "%u access%s", buffer->accesses, buffer->accesses == 1 ? "" : "es");
        } else {
            buf_puts(out, "stays in global memory: ");
            refusal_print_with_line(report, &buffer->refusal, out);
        }
        buf_puts(out, "\n");
    }
}

static json_t *buffer_json(const Report *report, const DeadBuffer *buffer)
{
    json_t *value = json_object();
    json_object_set_new(value, "parameter", json_string(buffer->parameter));
    json_object_set_new(value, "done", json_boolean(buffer->done));
    if (!buffer->done) {
        json_object_set_new(value, "reason", json_refusal(&buffer->refusal));
        return value;
    }
    json_object_set_new(value, "line", json_line(report_line(report, buffer->span)));
    json_set_number(value, "elements", buffer->elements);
    json_set_number(value, "element_bytes", buffer->element);
    json_set_number(value, "accesses", buffer->accesses);
    return value;
}

json_t *dead_json(const Report *report, const KernelReport *kernel)
{
    json_t *buffers = json_array();
    for (unsigned i = 0; i < kernel->result.dead.count; i++)
        json_array_append_new(buffers, buffer_json(report, &kernel->result.dead.buffers[i]));
    return buffers;
}
