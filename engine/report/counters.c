#include "engine/report/counters.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

/* Whether the two say the same, as those of replicas and of versions of a loop do. */
static bool sum_is_alike(const PartialSum *a, const PartialSum *b)
{
    return a->span.begin == b->span.begin && a->in_loop == b->in_loop && a->updates == b->updates;
}

static void sum_print(const Report *report, const PartialSum *sum, Buf *out)
{
    buf_printf(out, "    line %u", report_line(report, sum->span));
    cuda_line_print(sum->loc, out);
    if (sum->in_loop)
        buf_puts(out, ": added up in a register in all rounds of a loop, with one update after it");
    else
        buf_printf(out, ": one update instead of %u", sum->updates);
    buf_printf(out, "%s\n", sum->reassociates ? ", sums in another order" : "");
}

static bool sum_is_new(const PartialSums *summed, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (sum_is_alike(&summed->sums.data[i], &summed->sums.data[index]))
            return false;
    return true;
}

static bool is_alike(const CountedUpdate *a, const CountedUpdate *b)
{
    return a->span.begin == b->span.begin && a->done == b->done && a->counters == b->counters &&
           a->refusal.reason == b->refusal.reason && a->refusal.span.begin == b->refusal.span.begin;
}

static bool is_new(const CountersResult *counted, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_alike(&counted->updates.data[i], &counted->updates.data[index]))
            return false;
    return true;
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
        buf_puts(out, result->summed.sums.count ? "sums in registers alone: " : "refused: ");
        refusal_print_with_line(report, &result->counted.refusal, out);
    } else {
        buf_puts(out, result->counting == OUTCOME_DONE        ? "done"
                      : result->counted.updates.count != 0 ? "nothing to count"
                                                           : "no atomic operation in global memory");
    }
    buf_puts(out, "\n");
    for (size_t i = 0; i < result->summed.sums.count; i++)
        if (sum_is_new(&result->summed, i))
            sum_print(report, &result->summed.sums.data[i], out);
    for (size_t i = 0; i < result->counted.updates.count; i++)
        if (is_new(&result->counted, i))
            update_print(report, &result->counted.updates.data[i], out);
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

static json_t *sum_json(const Report *report, const PartialSum *sum)
{
    json_t *value = json_object();
    json_object_set_new(value, "line", json_line(report_line(report, sum->span)));
    json_object_set_new(value, "source_line", json_line(cuda_line(sum->loc)));
    json_object_set_new(value, "in_loop", json_boolean(sum->in_loop));
    if (!sum->in_loop)
        json_object_set_new(value, "merged", json_integer(sum->updates));
    json_object_set_new(value, "reassociated", json_boolean(sum->reassociates));
    return value;
}

json_t *counted_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *value = json_object(), *updates = json_array(), *sums = json_array();
    json_object_set_new(value, "outcome", json_string(json_outcome_word(result->counting)));
    if (is_refusal(&result->counted.refusal))
        json_object_set_new(value, "reason", json_refusal(&result->counted.refusal));
    for (size_t i = 0; i < result->summed.sums.count; i++)
        json_array_append_new(sums, sum_json(report, &result->summed.sums.data[i]));
    json_object_set_new(value, "sums", sums);
    for (size_t i = 0; i < result->counted.updates.count; i++)
        json_array_append_new(updates, update_json(report, &result->counted.updates.data[i]));
    json_object_set_new(value, "updates", updates);
    return value;
}
