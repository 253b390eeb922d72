/* The PTX of a part: the module's text without the functions that its kernels do not need. */
#include <string.h>

#include "split/internal.h"

/* Appends a part of the source, and notes which of its lines those are. */
static void copy(Arena *arena, const Plan *plan, uint32_t begin, uint32_t end, uint32_t *line, PartText *part)
{
    const uint32_t original = source_text_position(plan->source, begin).line;
    VEC_PUSH(arena, part->lines, (LineStep){*line, original});
    buf_write(&part->text, plan->source->text + begin, end - begin);
    for (const char *at = plan->source->text + begin, *stop = plan->source->text + end;
         (at = memchr(at, '\n', (size_t)(stop - at))) != NULL; at++)
        ++*line;
}

static void print_parameter(const Variable *variable, const char *name, unsigned number, Buf *text)
{
    buf_puts(text, "\t.param ");
    if (variable->align)
        buf_printf(text, ".align %llu ", (unsigned long long)variable->align);
    if (variable->vector > 1)
        buf_printf(text, ".v%u ", variable->vector);
    buf_printf(text, ".%s %s%u", type_name(variable->type), name, number);
    for (unsigned i = 0; i < variable->dim_count; i++)
        buf_printf(text, "[%llu]", (unsigned long long)variable->dims[i]);
    buf_puts(text, ";\n");
}

static void print_list(const char *name, unsigned count, Buf *text)
{
    buf_putc(text, '(');
    for (unsigned i = 0; i < count; i++)
        buf_printf(text, "%s%s%u", i ? ", " : "", name, i);
    buf_putc(text, ')');
}

/* A call of a function outside. Its arguments do not matter: the kernel is taken out of the cubin. */
static void print_call(const Function *function, Buf *text)
{
    const Prototype *prototype = &function->prototype;
    buf_puts(text, "{\n");
    for (unsigned i = 0; i < prototype->param_count; i++)
        print_parameter(prototype->params[i], "p", i, text);
    for (unsigned i = 0; i < prototype->return_count; i++)
        print_parameter(prototype->returns[i], "r", i, text);
    buf_puts(text, "\tcall.uni ");
    if (prototype->return_count) {
        print_list("r", prototype->return_count, text);
        buf_puts(text, ", ");
    }
    buf_puts(text, function->name);
    if (prototype->param_count) {
        buf_puts(text, ", ");
        print_list("p", prototype->param_count, text);
    }
    buf_puts(text, ";\n}\n");
}

/* In the place of a kernel, one that calls the functions outside that it was the first to use: so all parts have the
 * same table of addresses. */
static void add_anchor(const Plan *plan, const PlanFunction *kernel, uint32_t *line, PartText *part)
{
    const size_t before = part->text.length;
    buf_printf(&part->text, "\n.visible .entry " ANCHOR "%zu()\n{\n", (size_t)(kernel - plan->functions));
    for (size_t i = 0; i < kernel->introduces.count; i++)
        print_call(plan->outside[kernel->introduces.data[i]], &part->text);
    buf_puts(&part->text, "\tret;\n}\n");
    for (size_t at = before; at < part->text.length; at++)
        *line += part->text.data[at] == '\n';
}

void part_text_make(Arena *arena, const Plan *plan, const uint32_t *kernels, size_t count, PartText *part)
{
    *part = (PartText){0};
    BitSet needed = bitset_new(arena, plan->count + 1);
    bool *used = ARENA_ARRAY(arena, bool, plan->outside_count);
    memset(used, 0, plan->outside_count * sizeof *used);
    for (size_t i = 0; i < count; i++)
        bitset_add(&needed, kernels[i]);
    plan_close(arena, plan, &needed, used);
    PointerMap left_out = {.arena = arena};
    for (size_t i = 0; i < plan->count; i++)
        if (!bitset_has(&needed, i))
            pointer_map_put(&left_out, plan->functions[i].function->name, &plan->functions[i]);
    uint32_t at = 0, line = 1;
    for (size_t i = 0; i < plan->module->items.count; i++) {
        const Item *item = &plan->module->items.data[i];
        const PlanFunction *function =
            item->kind == ITEM_FUNCTION ? pointer_map_get(&left_out, item->function->name) : NULL;
        if (!function)
            continue;
        const Span span = item->function->text;
        if (span.begin > at)
            copy(arena, plan, at, span.begin, &line, part);
        if (span.end > at)
            at = span.end;
        if (item->function->has_body && function->introduces.count)
            add_anchor(plan, function, &line, part);
    }
    copy(arena, plan, at, (uint32_t)plan->source->size, &line, part);
}

unsigned part_text_line(const PartText *part, unsigned line)
{
    for (size_t i = part->lines.count; i-- > 0;)
        if (part->lines.data[i].line <= line)
            return part->lines.data[i].original + (line - part->lines.data[i].line);
    return line;
}
