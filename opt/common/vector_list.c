#include "opt/common/vector_list.h"

void vector_record(Arena *arena, VectorList *list, const VectorNote *note)
{
    for (size_t i = 0; i < list->items.count; i++) {
        const VectorNote *have = &list->items.data[i];
        if (have->fate == note->fate && have->span.begin == note->span.begin && have->count == note->count &&
            have->bytes == note->bytes && have->refusal.reason == note->refusal.reason &&
            have->refusal.span.begin == note->refusal.span.begin)
            return;
    }
    VEC_PUSH(arena, list->items, *note);
}

unsigned vectors_joined(const VectorList *list)
{
    unsigned count = 0;
    for (size_t i = 0; i < list->items.count; i++)
        count += list->items.data[i].fate == VECTOR_JOINED;
    return count;
}
