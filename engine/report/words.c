/* The words that the pages of the report use for lines, factors, trials, guards and strides. */
#include "engine/report/report.h"

unsigned report_line(const Report *report, Span span)
{
    return span.end ? source_position(report->source, span.begin).line : 0;
}

unsigned cuda_line(const Loc *loc)
{
    unsigned line = 0;
    for (; loc; loc = loc->at)
        line = loc->line ? loc->line : line;
    return line;
}

void cuda_line_print(const Loc *loc, Buf *out)
{
    const unsigned line = cuda_line(loc);
    if (line)
        buf_printf(out, " (CUDA line %u)", line);
}

const char *factor_text(const unsigned factor[3], char text[32])
{
    size_t length = 0;
    for (unsigned i = 0; i < 3; i++)
        if (factor[i] > 1)
            length +=
                (size_t)snprintf(text + length, 32 - length, "%s%c%u", length ? "," : "", "xyz"[i], factor[i] % 100000);
    return length ? text : "none";
}

const char *shape_text(const Shape *shape, char text[SHAPE_TEXT])
{
    char first[SHAPE_TEXT], blocks[32];
    const bool has_more = merges_any(shape->blocks) && !shape_is_of_blocks(shape);
    if (!has_more)
        return shape_first_text(shape, text);
    snprintf(text, SHAPE_TEXT, "%.*s and %s blocks of the grid", SHAPE_TEXT - 64, shape_first_text(shape, first),
             factor_text(shape->blocks, blocks));
    return text;
}

const char *shape_first_text(const Shape *shape, char text[SHAPE_TEXT])
{
    char factor[32], grown[32];
    bool is_of_blocks = shape_is_of_blocks(shape);
    if (merges_any(shape->refined)) {
        snprintf(text, SHAPE_TEXT, "%u threads in the place of one", merged_count(shape->refined));
        return text;
    }
    if (merges_any(shape->grown)) {
        snprintf(text, SHAPE_TEXT, "%s larger blocks%s%s", factor_text(shape->grown, grown),
                 merges_any(shape->threads) ? " and " : "",
                 merges_any(shape->threads) ? factor_text(shape->threads, factor) : "");
        return text;
    }
    snprintf(text, SHAPE_TEXT, "%s%s", factor_text(is_of_blocks ? shape->blocks : shape->threads, factor),
             is_of_blocks ? " blocks of the grid" : "");
    return text;
}

const char *shape_level_text(const Shape *shape)
{
    if (merges_any(shape->refined))
        return "refined";
    return merges_any(shape->grown) ? "grown" : shape_is_of_blocks(shape) ? "block" : "thread";
}

const char *guards_text(GuardForm guards)
{
    return guards == GUARDS_SEQUENTIAL ? ", sequential guards" : guards == GUARDS_INTERIOR ? ", interior guards" : "";
}

const char *stride_text(const Stride *stride, char text[16])
{
    if (stride->kind == STRIDE_NUMBER)
        snprintf(text, 16, "%u", stride->number);
    else
        snprintf(text, 16, "%s", stride->kind == STRIDE_UNIT ? "unit" : "block");
    return text;
}

static const struct {
    const char *name, *text;
} conditions[LEGALITY_COUNT] = {
    [LEGAL_INSTRUCTIONS] = {"instructions", "each can be cloned, done once for all, or computed anew"},
    [LEGAL_FLOW] = {"control flow", "what merged threads decide each for itself begins and ends in one place"},
    [LEGAL_MEMORY] = {"memory", "what each merged thread has to itself is only reached by its name"},
    [LEGAL_BARRIERS] = {"barriers", "merged threads come to what all threads execute together"},
    [LEGAL_PARTICIPANTS] = {"participants", "warp-level instructions name nobody who has left the kernel"},
    [LEGAL_WAITING] = {"waiting", "no loop waits for a merged thread"},
    [LEGAL_LAUNCH] = {"launch", "there are blocks that can be launched so"},
};

const char *legality_name(LegalityCondition condition)
{
    return conditions[condition].name;
}

const char *legality_text(LegalityCondition condition)
{
    return conditions[condition].text;
}

const char *legality_state_text(LegalityState state)
{
    return state == LEGALITY_HELD ? "held" : state == LEGALITY_FAILED ? "failed" : "not checked";
}

void unadapted_print(const Unadapted *unadapted, Buf *out)
{
    const unsigned most = unadapted->most;
    switch (unadapted->effect) {
    case UNADAPTED_UNNOTICED: buf_puts(out, "not noticed"); break;
    case UNADAPTED_REFUSED: buf_puts(out, "the driver refuses it (.reqntid)"); break;
    case UNADAPTED_LARGER_REFUSED:
        buf_printf(out, "the driver refuses blocks of more than %u thread%s (.maxntid)", most, plural(most));
        break;
    case UNADAPTED_STOPPED: buf_puts(out, "the kernel stops, with a message"); break;
    case UNADAPTED_LARGER_STOPPED:
        buf_printf(out, "the kernel stops at blocks of more than %u thread%s, with a message", most, plural(most));
        break;
    }
}
