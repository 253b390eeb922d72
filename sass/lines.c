/* PTX instructions by number, and a copy of the PTX in which line directives carry the numbers. */
#include "sass/internal.h"

#include <string.h>

/* The function of an item if its statements are known, else NULL. */
static const Function *body_of(const Item *item)
{
    return item->kind == ITEM_FUNCTION && item->function->has_body && !item->function->is_text ? item->function : NULL;
}

PtxLines ptx_lines(Arena *arena, const Module *module)
{
    VEC(const Inst *) insts = {0};
    VEC(const Function *) functions = {0};
    for (size_t i = 0; i < module->items.count; i++) {
        const Function *function = body_of(&module->items.data[i]);
        for (size_t s = 0; function && s < function->stmts.count; s++) {
            if (function->stmts.data[s].kind != STMT_INST)
                continue;
            VEC_PUSH(arena, insts, function->stmts.data[s].inst);
            VEC_PUSH(arena, functions, function);
        }
    }
    return (PtxLines){insts.data, functions.data, (uint32_t)insts.count};
}

/* A copy in progress: the source has been copied up to 'at'. */
typedef struct Copy {
    const Source *source;
    Buf text;
    uint32_t at;
} Copy;

static void copy_to(Copy *copy, uint32_t end)
{
    if (end > copy->at) {
        buf_write(&copy->text, copy->source->text + copy->at, end - copy->at);
        copy->at = end;
    }
}

static void leave_out(Copy *copy, Span span)
{
    copy_to(copy, span.begin);
    if (span.end > copy->at)
        copy->at = span.end;
}

/* The span of a section, which includes its contents in braces; they have no braces of their own. */
static Span section_span(const Source *source, Span header)
{
    const char *text = source->text + header.end, *close = memchr(text, '}', source->size - header.end);
    return (Span){header.begin, close ? (uint32_t)(close + 1 - source->text) : header.end};
}

static void copy_function(Copy *copy, const Function *function, uint32_t file, uint32_t *number)
{
    for (size_t s = 0; s < function->stmts.count; s++) {
        const Stmt *stmt = &function->stmts.data[s];
        if (stmt->kind == STMT_LOC)
            leave_out(copy, stmt->span);
        if (stmt->kind != STMT_INST)
            continue;
        copy_to(copy, stmt->span.begin);
        /* Lines count from 1. */
        buf_printf(&copy->text, "\n.loc %u %u 0\n", file, ++*number);
    }
}

const char *ptx_numbered(Arena *arena, const Module *module, const PtxLines *lines, size_t *size)
{
    Copy copy = {.source = module->source};
    uint32_t file = 1, number = 0;
    /* functions that are only text keep their line directives, so the module keeps its files */
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FILE && module->items.data[i].file.index >= file)
            file = module->items.data[i].file.index + 1;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_SECTION)
            leave_out(&copy, section_span(module->source, item->span));
        else if (item->kind == ITEM_VERBATIM)
            leave_out(&copy, item->span);
        else if (body_of(item))
            copy_function(&copy, item->function, file, &number);
    }
    require(number == lines->count);
    copy_to(&copy, (uint32_t)module->source->size);
    buf_printf(&copy.text, "\n.file %u \"" NUMBERED_FILE "\"\n", file);
    const char *text = arena_strndup(arena, copy.text.data, copy.text.length);
    *size = copy.text.length;
    buf_free(&copy.text);
    return text;
}
