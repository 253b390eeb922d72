#include "opt/common/reuse_list.h"

const char *reuse_class_text(ReuseClass class)
{
    static const char *const texts[] = {"self-temporal", "group-temporal", "stored"};
    return texts[class];
}

void reuse_record(Arena *arena, ReuseList *list, const Reuse *reuse)
{
    for (size_t i = 0; i < list->items.count; i++) {
        Reuse *have = &list->items.data[i];
        if (have->class != reuse->class || have->replica != reuse->replica || have->of != reuse->of ||
            !span_equal(have->load, reuse->load) || !span_equal(have->source, reuse->source))
            continue;
        have->count += reuse->count;
        return;
    }
    VEC_PUSH(arena, list->items, *reuse);
}
