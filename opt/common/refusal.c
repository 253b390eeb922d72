#include "opt/common/refusal.h"

void refusal_set(Refusal *refusal, const Body *body, const Inst *inst, const char *format, va_list arguments)
{
    Buf text = {0};
    buf_vprintf(&text, format, arguments);
    *refusal = (Refusal){.reason = arena_strndup(body->module->arena, buf_text(&text), text.length),
                         .has_span = inst && inst->span.end > 0,
                         .span = inst ? inst->span : (Span){0, 0}};
    buf_free(&text);
}

unsigned inst_line(const Body *body, const Inst *inst)
{
    const Source *source = body->module->source;
    return source ? source_position(source, inst->span.begin).line : 0;
}
