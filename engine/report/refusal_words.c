#include "engine/report/refusal_words.h"

#include <string.h>

#include "engine/report/verdicts.h"

static const char *const sentences[REFUSAL_COUNT] = {
    [REFUSAL_NONE] = "",
#define REFUSAL(id, sentence) [REFUSAL_##id] = sentence,
#define PART(id, words) [REFUSAL_PART_##id] = words,
#include "opt/common/refusals.def"
#undef REFUSAL
#undef PART
};

const char *refusal_sentence(RefusalReason reason)
{
    return sentences[reason];
}

/* A sentence that is being put together. */
typedef struct Wording {
    const Refusal *refusal;
    unsigned used;   /* operands */
    uint64_t number; /* the last one, for its plural */
    Buf *out;
} Wording;

static void words_print(Wording *wording, const char *words);

static void operand_print(Wording *wording)
{
    require(wording->used < REFUSAL_OPERANDS);
    const RefusalOperand *operand = &wording->refusal->operands[wording->used++];
    switch (operand->kind) {
    case REFUSAL_NAME: buf_puts(wording->out, operand->name); return;
    case REFUSAL_NUMBER:
        wording->number = operand->number;
        buf_printf(wording->out, "%llu", (unsigned long long)operand->number);
        return;
    case REFUSAL_PART: words_print(wording, sentences[operand->part]); return;
    case REFUSAL_END: break;
    }
    bug("refusal %d has too few operands", (int)wording->refusal->reason);
}

/* A word in braces. */
static void place_print(Wording *wording, const char *word, size_t length)
{
    if (length == 1 && *word == 's')
        buf_puts(wording->out, plural(wording->number));
    else if (length == 4 && strncmp(word, "inst", 4) == 0)
        buf_puts(wording->out, wording->refusal->inst);
    else
        operand_print(wording);
}

/* Parts contain parts at most two deep, as refusals.def has them. */
static void words_print(Wording *wording, const char *words)
{
    while (*words) {
        const size_t plain = strcspn(words, "{");
        buf_write(wording->out, words, plain);
        words += plain;
        if (!*words)
            return;
        const size_t length = strcspn(words + 1, "}");
        place_print(wording, words + 1, length);
        words += length + 2;
    }
}

void refusal_print(const Refusal *refusal, Buf *out)
{
    Wording wording = {.refusal = refusal, .out = out};
    if (refusal->reason == REFUSAL_DEMAND)
        demand_print(refusal->demand, out);
    else
        words_print(&wording, sentences[refusal->reason]);
}

void refusal_print_with_line(const Report *report, const Refusal *refusal, Buf *out)
{
    refusal_print(refusal, out);
    if (refusal->has_span)
        buf_printf(out, " (line %u)", report_line(report, refusal->span));
}

const char *refusal_text(Arena *arena, const Refusal *refusal)
{
    Buf words = {0};
    refusal_print(refusal, &words);
    return buf_take(arena, &words);
}

const char *kernel_refusal_text(Arena *arena, const KernelResult *result)
{
    for (unsigned i = 0; i < result->jam_count; i++)
        if (!result->jams[i].done)
            return refusal_text(arena, &result->jams[i].refusal);
    if (result->coarsening == OUTCOME_REFUSED)
        return refusal_text(arena, &result->refusal);
    if (result->ordering == OUTCOME_REFUSED)
        return refusal_text(arena, &result->order_refusal);
    return result->registers == OUTCOME_REFUSED ? refusal_text(arena, &result->registers_refusal) : NULL;
}
