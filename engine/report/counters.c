#include "engine/report/counters.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

/* Whether the next one says the same: replicas do. */
static bool is_alike(const CountedUpdate *a, const CountedUpdate *b)
{
    return a->span.begin == b->span.begin && a->done == b->done && a->counters == b->counters &&
           a->refusal.reason == b->refusal.reason && a->refusal.span.begin == b->refusal.span.begin;
}

static void update_print(const Report *report, const CountedUpdate *update, Buf *out)
{
    buf_printf(out, "    line %u", report_line(report, update->span));
    cuda_line_print(update->loc, out);
    if (!update->done) {
        buf_puts(out, ": left alone: ");
        refusal_print_with_line(report, &update->refusal, out);
        buf_puts(out, "\n");
        return;
    }
    buf_printf(out, ": %llu counter%s of the block", (unsigned long long)update->counters, plural(update->counters));
    if (update->copies > 1)
        buf_printf(out, ", %u copies of each", update->copies);
    buf_printf(out, ", in %llu bytes of shared memory%s%s\n", (unsigned long long)update->bytes,
               update->reassociates ? ", sums in another order" : "",
               update->is_tested ? "; elements after these are updated in global memory" : "");
}

void counted_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const KernelResult *result = &kernel->result;
    if (result->counting == OUTCOME_NOT_ASKED)
        return;
    buf_puts(out, "  counters: ");
    if (is_refusal(&result->counted.refusal)) {
        buf_puts(out, "refused: ");
        refusal_print_with_line(report, &result->counted.refusal, out);
    } else {
        buf_puts(out, result->counting == OUTCOME_DONE        ? "done"
                      : result->counted.updates.count != 0 ? "nothing to count"
                                                           : "no atomic operation in global memory");
    }
    buf_puts(out, "\n");
    const CountedUpdate *updates = result->counted.updates.data;
    for (size_t i = 0; i < result->counted.updates.count; i++)
        if (!i || !is_alike(&updates[i - 1], &updates[i]))
            update_print(report, &updates[i], out);
}

static json_t *update_json(const Report *report, const CountedUpdate *update)
{
    json_t *value = json_object();
    json_object_set_new(value, "line", json_line(report_line(report, update->span)));
    json_object_set_new(value, "source_line", json_line(cuda_line(update->loc)));
    json_object_set_new(value, "counted", json_boolean(update->done));
    if (!update->done) {
        json_object_set_new(value, "reason", json_refusal(&update->refusal));
        return value;
    }
    json_set_number(value, "counters", update->counters);
    json_object_set_new(value, "copies", json_integer(update->copies));
    json_set_number(value, "bytes", update->bytes);
    json_object_set_new(value, "reassociated", json_boolean(update->reassociates));
    json_object_set_new(value, "tested", json_boolean(update->is_tested));
    return value;
}

json_t *counted_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *value = json_object(), *updates = json_array();
    json_object_set_new(value, "outcome", json_string(json_outcome_word(result->counting)));
    if (is_refusal(&result->counted.refusal))
        json_object_set_new(value, "reason", json_refusal(&result->counted.refusal));
    for (size_t i = 0; i < result->counted.updates.count; i++)
        json_array_append_new(updates, update_json(report, &result->counted.updates.data[i]));
    json_object_set_new(value, "updates", updates);
    return value;
}
