/* A form of a kernel as text, and text as a module. */
#include "engine/judge/judge.h"

#include "emit/emit.h"
#include "parser/parser.h"

void judge_print_form(const FunctionForm *form, Buf *text)
{
    if (!form->body || !form->body->ssa) {
        emit_module_with(form->function->module, form, text);
        return;
    }
    FunctionForm printed = *form;
    Body *copy = body_clone(form->body);
    body_from_ssa(copy);
    printed.body = copy;
    emit_module_with(form->function->module, &printed, text);
    body_free(copy);
}

Module *judge_parse_text(Arena *arena, const char *name, const Buf *text)
{
    Diag diag;
    Source *source = source_from_memory(arena, name, arena_strndup(arena, buf_text(text), text->length), text->length);
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    return parse_module(arena, source, &diag);
}
