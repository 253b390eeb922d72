#include "engine/report/vectors.h"

#include <string.h>

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

static void note_print(const Report *report, const VectorNote *note, Buf *out)
{
    buf_puts(out, "    ");
    if (note->span.end)
        buf_printf(out, "line %u", report_line(report, note->span));
    else
        buf_puts(out, "somewhere");
    cuda_line_print(note->loc, out);
    switch (note->fate) {
    case VECTOR_JOINED:
        buf_printf(out, ": %u %s become one of %u bytes%s\n", note->count, note->is_store ? "stores" : "loads",
                   note->bytes, note->is_tested ? ", where a test allows it" : "");
        break;
    case VECTOR_UNROLLED: buf_printf(out, ": the loop's rounds are executed %u at a time\n", note->count); break;
    case VECTOR_LEFT:
        buf_puts(out, ": left alone: ");
        refusal_print_with_line(report, &note->refusal, out);
        buf_puts(out, "\n");
        break;
    }
}

/* A loop that was unrolled for nothing is as it was. */
static bool is_told(const KernelResult *result, const VectorNote *note)
{
    return note->fate != VECTOR_UNROLLED || vectors_joined(&result->vector_list);
}

void vectors_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const KernelResult *result = &kernel->result;
    if (result->vectors == OUTCOME_NOT_ASKED)
        return;
    const char *verdict = result->vectors == OUTCOME_DONE ? "done"
                          : result->vectors_are_slower    ? "dropped: predicted to take longer"
                                                          : "nothing to join";
    if (result->vectors == OUTCOME_REFUSED)
        verdict = "refused: ";
    buf_printf(out, "  vectors: %s", verdict);
    refusal_print(&result->vectors_refusal, out);
    buf_puts(out, "\n");
    for (size_t i = 0; i < result->vector_list.items.count; i++)
        if (is_told(result, &result->vector_list.items.data[i]))
            note_print(report, &result->vector_list.items.data[i], out);
}

static json_t *note_json(const Report *report, const VectorNote *note)
{
    static const char *const fates[] = {"joined", "unrolled", "left"};
    json_t *value = json_object();
    json_object_set_new(value, "fate", json_string(fates[note->fate]));
    json_object_set_new(value, "line", json_line(report_line(report, note->span)));
    json_object_set_new(value, "source_line", json_line(cuda_line(note->loc)));
    if (note->fate == VECTOR_LEFT) {
        json_object_set_new(value, "reason", json_refusal(&note->refusal));
        return value;
    }
    json_object_set_new(value, note->fate == VECTOR_JOINED ? "accesses" : "rounds", json_integer(note->count));
    if (note->fate != VECTOR_JOINED)
        return value;
    json_object_set_new(value, "bytes", json_integer(note->bytes));
    json_object_set_new(value, "stores", json_boolean(note->is_store));
    json_object_set_new(value, "tested", json_boolean(note->is_tested));
    return value;
}

json_t *vectors_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *value = json_object(), *notes = json_array();
    json_object_set_new(value, "outcome", json_string(json_outcome_word(result->vectors)));
    if (result->vectors == OUTCOME_REFUSED)
        json_object_set_new(value, "reason", json_refusal(&result->vectors_refusal));
    json_object_set_new(value, "slower", json_boolean(result->vectors_are_slower));
    for (size_t i = 0; i < result->vector_list.items.count; i++)
        if (is_told(result, &result->vector_list.items.data[i]))
            json_array_append_new(notes, note_json(report, &result->vector_list.items.data[i]));
    json_object_set_new(value, "notes", notes);
    return value;
}
