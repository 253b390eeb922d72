/* Refusals: the reason why a kernel is left unchanged, with the place of the instruction that causes it. */
#include "opt/coarsen_internal.h"

bool coarsening_refuse(Coarsening *c, const Inst *inst, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    Arena *arena = c->body->module->arena;
    c->refusal->reason = arena_strndup(arena, buf_text(&text), text.length);
    c->refusal->has_span = inst != NULL && inst->span.end > 0;
    c->refusal->span = inst ? inst->span : (Span){0, 0};
    buf_free(&text);
    return false;
}

unsigned coarsening_line(const Coarsening *c, const Inst *inst)
{
    const Source *source = c->body->module->source;
    return source ? source_position(source, inst->span.begin).line : 0;
}
