#include "engine/report/order.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

void order_words_print(const GridOrder *order, Buf *out)
{
    switch (order->kind) {
    case GRID_ORDER_ROWS: buf_puts(out, "off"); break;
    case GRID_ORDER_GROUPS: buf_printf(out, "groups:%u", order->rows); break;
    case GRID_ORDER_DIAGONAL: buf_puts(out, "diagonal"); break;
    }
}

void order_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const KernelResult *result = &kernel->result;
    if (result->ordering == OUTCOME_NOT_ASKED)
        return;
    buf_puts(out, "  order of blocks: ");
    if (result->ordering == OUTCOME_REFUSED) {
        buf_puts(out, "refused: ");
        refusal_print_with_line(report, &result->order_refusal, out);
    } else {
        order_words_print(&result->order, out);
    }
    buf_puts(out, "\n");
}

json_t *order_json(const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *value = json_object();
    json_object_set_new(value, "outcome", json_string(json_outcome_word(result->ordering)));
    if (result->ordering == OUTCOME_REFUSED)
        json_object_set_new(value, "reason", json_refusal(&result->order_refusal));
    if (result->ordering != OUTCOME_DONE)
        return value;
    Buf words = {0};
    order_words_print(&result->order, &words);
    json_object_set_new(value, "order", json_string(buf_text(&words)));
    buf_free(&words);
    return value;
}
