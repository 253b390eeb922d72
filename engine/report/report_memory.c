/* The loops and loads that were staged in shared memory, or why not. */
#include "engine/report/report_memory.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

static unsigned line_of(const Report *report, Span span)
{
    return source_position(report->source, span.begin).line;
}

static void print_refusal(Buf *out, const Report *report, const Refusal *refusal)
{
    refusal_print(refusal, out);
    if (refusal->has_span)
        buf_printf(out, " (line %u)", line_of(report, refusal->span));
    buf_puts(out, "\n");
}

static void print_load(Buf *out, const Report *report, const StagedLoad *load)
{
    if (!load->done && !is_refusal(&load->refusal))
        return;
    buf_printf(out, "    line %u: ", line_of(report, load->span));
    if (!load->done) {
        buf_puts(out, "not staged: ");
        refusal_print(&load->refusal, out);
        buf_puts(out, "\n");
    } else if (load->sharers > 1)
        buf_printf(out, "%u threads of a block read each element; staged in %llu bytes\n", load->sharers,
                   (unsigned long long)load->bytes);
    else
        buf_printf(out, "neighbouring threads read rows apart; staged in %llu bytes\n",
                   (unsigned long long)load->bytes);
}

static void print_loop(Buf *out, const Report *report, const StagedLoop *loop)
{
    buf_printf(out, "  memory: the loop that ends on line %u: ", line_of(report, loop->span));
    if (loop->done)
        buf_printf(out, "staged, %u rounds at a time, in %llu bytes of shared memory%s\n", loop->rounds,
                   (unsigned long long)loop->shared,
                   loop->votes ? ", where all threads of a block get there" : "");
    else
        print_refusal(out, report, &loop->refusal);
    for (size_t i = 0; i < loop->loads.count; i++)
        print_load(out, report, &loop->loads.data[i]);
}

void staging_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const StageResult *staged = &kernel->result.staged;
    if (kernel->result.staging == OUTCOME_NOT_ASKED)
        return;
    if (is_refusal(&staged->refusal)) {
        buf_puts(out, "  memory: refused: ");
        print_refusal(out, report, &staged->refusal);
    } else if (!staged->loops.count) {
        buf_puts(out, "  memory: no loop to stage\n");
    }
    for (size_t i = 0; i < staged->loops.count; i++)
        print_loop(out, report, &staged->loops.data[i]);
}

static json_t *reason_json(const Refusal *refusal)
{
    Buf words = {0};
    refusal_print(refusal, &words);
    json_t *value = is_refusal(refusal) ? json_text(buf_text(&words)) : json_null();
    buf_free(&words);
    return value;
}

static void set_refusal(json_t *value, const Report *report, const Refusal *refusal)
{
    json_object_set_new(value, "reason", reason_json(refusal));
    json_object_set_new(value, "refused_on_line",
                        refusal->has_span ? json_integer(line_of(report, refusal->span)) : json_null());
}

static json_t *load_json(const Report *report, const StagedLoad *load)
{
    json_t *value = json_object();
    json_object_set_new(value, "line", json_integer(line_of(report, load->span)));
    json_object_set_new(value, "staged", json_boolean(load->done));
    if (load->done) {
        json_object_set_new(value, "threads_for_element", json_integer(load->sharers));
        json_set_number(value, "bytes", load->bytes);
    } else {
        json_object_set_new(value, "reason", reason_json(&load->refusal));
    }
    return value;
}

static json_t *loop_json(const Report *report, const StagedLoop *loop)
{
    json_t *value = json_object(), *loads = json_array();
    json_object_set_new(value, "line", json_integer(line_of(report, loop->span)));
    json_object_set_new(value, "staged", json_boolean(loop->done));
    if (loop->done) {
        json_object_set_new(value, "rounds", json_integer(loop->rounds));
        json_set_number(value, "shared_bytes", loop->shared);
        json_object_set_new(value, "votes", json_boolean(loop->votes));
    } else {
        set_refusal(value, report, &loop->refusal);
    }
    for (size_t i = 0; i < loop->loads.count; i++)
        json_array_append_new(loads, load_json(report, &loop->loads.data[i]));
    json_object_set_new(value, "loads", loads);
    return value;
}

json_t *staging_json(const Report *report, const KernelReport *kernel)
{
    const StageResult *staged = &kernel->result.staged;
    json_t *value = json_object(), *loops = json_array();
    for (size_t i = 0; i < staged->loops.count; i++)
        json_array_append_new(loops, loop_json(report, &staged->loops.data[i]));
    if (is_refusal(&staged->refusal))
        set_refusal(value, report, &staged->refusal);
    json_object_set_new(value, "loops", loops);
    return value;
}
