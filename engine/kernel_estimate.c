#include "engine/kernel_estimate.h"

#include "engine/report/json.h"

enum { MOST_PRINTED = 8 };

RegisterEstimate kernel_estimate(Arena *arena, Function *function, const Body *body, const SmLimits *sm)
{
    const char *reason;
    Body *copy = !sm ? NULL : body ? body_clone(body) : body_build(function, &reason);
    if (!copy)
        return (RegisterEstimate){0};
    if (!copy->ssa)
        body_to_ssa(copy);
    Analyses *analyses = analyses_new(copy);
    RegisterEstimate estimate = register_estimate(arena, copy, analyses, sm);
    analyses_free(analyses);
    body_free(copy);
    return estimate;
}

static bool has_place(Span span)
{
    return span.end > span.begin;
}

static void print_line(const Source *source, Span span, Buf *out)
{
    if (has_place(span))
        buf_printf(out, " (line %u)", source_position(source, span.begin).line);
}

void estimate_print_peak(const RegisterEstimate *estimate, const Source *source, Buf *out)
{
    buf_printf(out, "  pressure peaks at %u register%s", estimate->peak, plural(estimate->peak));
    if (has_place(estimate->span))
        buf_printf(out, " on line %u", source_position(source, estimate->span.begin).line);
    for (unsigned i = 0; i < estimate->live_count && i < MOST_PRINTED; i++) {
        const LiveValue *value = &estimate->live[i];
        buf_puts(out, i ? ", " : ", with ");
        if (value->width > 1)
            buf_printf(out, "%u in ", value->width);
        buf_puts(out, value->name);
        print_line(source, value->span, out);
    }
    if (estimate->live_count > MOST_PRINTED)
        buf_printf(out, " and %u more values", estimate->live_count - MOST_PRINTED);
    buf_puts(out, "\n");
}

static json_t *line_json(const Source *source, Span span)
{
    return has_place(span) ? json_integer(source_position(source, span.begin).line) : json_null();
}

/* The registers that barriers and loop heads need; null if none needs any. */
static json_t *needed_json(const RegistersNeeded *needed, const Source *source)
{
    if (!needed->registers)
        return json_null();
    return json_pack("{s:i,s:s,s:o}", "registers", (int)needed->registers, "at", needed->is_loop ? "loop" : "barrier",
                     "line", line_json(source, needed->span));
}

json_t *estimate_json(const RegisterEstimate *estimate, const Source *source)
{
    if (!estimate->known)
        return json_null();
    json_t *value = json_object(), *live = json_array(), *peaks = json_object();
    json_object_set_new(value, "registers", json_integer(estimate->registers));
    json_object_set_new(value, "least", json_integer(estimate->least));
    json_object_set_new(value, "peak", json_integer(estimate->peak));
    json_object_set_new(value, "line", line_json(source, estimate->span));
    for (unsigned i = 0; i < estimate->live_count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "name", json_text(estimate->live[i].name));
        json_object_set_new(one, "line", line_json(source, estimate->live[i].span));
        json_object_set_new(one, "registers", json_integer(estimate->live[i].width));
        json_array_append_new(live, one);
    }
    json_object_set_new(value, "live", live);
    json_object_set_new(value, "needed", needed_json(&estimate->needed, source));
    json_object_set_new(peaks, "plenty", json_integer(estimate->plenty_peak));
    json_object_set_new(peaks, "spread", json_integer(estimate->spread_peak));
    json_object_set_new(peaks, "called", json_integer(estimate->called));
    json_object_set_new(peaks, "least", json_integer(estimate->least_peak));
    json_object_set_new(peaks, "across", json_integer(estimate->across_peak));
    json_object_set_new(peaks, "aim", json_integer(estimate->aim));
    json_object_set_new(peaks, "fills", json_boolean(estimate->fills));
    json_object_set_new(value, "peaks", peaks);
    return value;
}
