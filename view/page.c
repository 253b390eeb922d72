/* The picture as a page: view/page.html with the facts as JSON. */
#include "view/internal.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* The lines of view/page.html; one of them contains PAGE_DATA. */
static const char *const page[] = {
#include "view/page.inc" /* made of view/page.html */
};

json_t *limits_json(void)
{
    json_t *all = json_object();
    size_t count;
    const Architecture *list = architecture_list(&count);
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "sm_%u", list[i].number);
        const SmLimits *sm = architecture_limits(&list[i]);
        if (!sm)
            continue;
        json_t *limits = json_object();
#define LIMIT(member) json_object_set_new(limits, #member, json_integer(sm->member))
        LIMIT(registers_per_sm);
        LIMIT(registers_per_block);
        LIMIT(registers_per_thread);
        LIMIT(threads_per_block);
        LIMIT(warps_per_sm);
        LIMIT(blocks_per_sm);
        LIMIT(warp_size);
        LIMIT(register_unit);
        LIMIT(partitions);
        LIMIT(launch_partitions);
        LIMIT(shared_per_sm);
        LIMIT(shared_per_block_opt_in);
        LIMIT(shared_reserved);
        LIMIT(shared_unit);
#undef LIMIT
        json_object_set_new(all, name, limits);
    }
    return all;
}

/* Appends a run of equal states: ":::" or, if it is longer, ":12". */
static void put_run(Buf *out, SassState state, uint32_t length)
{
    enum { SHORTEST = 4 };
    for (uint32_t i = 0; i < length && length < SHORTEST; i++)
        buf_putc(out, view_state_char(state));
    if (length >= SHORTEST)
        buf_printf(out, "%c%u", view_state_char(state), length);
}

/* The states of the registers of the files from 'first' to 'last', as runs, without the free ones at the end. */
static json_t *states_json(const View *view, uint32_t row, SassFile first, SassFile last)
{
    Buf states = {0};
    SassState run = REGISTER_FREE;
    uint32_t length = 0;
    for (unsigned file = first; file <= last; file++)
        for (uint32_t reg = 0; reg < view->code.ranges->counts[file]; reg++) {
            const SassState state = view_state(view, (SassFile)file, row, reg);
            if (state != run) {
                put_run(&states, run, length);
                run = state;
                length = 0;
            }
            length++;
        }
    if (run != REGISTER_FREE)
        put_run(&states, run, length);
    json_t *text = json_text(buf_text(&states));
    buf_free(&states);
    return text;
}

/* [address, live, states of general registers, states of the others, text, PTX line, place, executions]; the last four
 * only on request. */
static json_t *rows_json(const View *view, Arena *scratch, bool texts)
{
    json_t *rows = json_array();
    for (uint32_t row = 0; row < view->code.count; row++) {
        const ViewRow *inst = &view->code.rows[row];
        json_t *fields = json_array();
        json_array_append_new(fields, json_integer(inst->address));
        json_array_append_new(fields, json_integer(view_live(view, row)));
        json_array_append_new(fields, states_json(view, row, FILE_GENERAL, FILE_GENERAL));
        json_array_append_new(fields, states_json(view, row, FILE_PREDICATE, FILE_UNIFORM_PREDICATE));
        json_array_append_new(rows, fields);
        if (!texts)
            continue;
        const char *place = view_place(scratch, view, row);
        json_array_append_new(fields, json_text(inst->text));
        json_array_append_new(fields, json_integer(inst->line));
        json_array_append_new(fields, json_text(place ? place : ""));
        json_array_append_new(fields, json_integer((json_int_t)(inst->executions + 0.5)));
    }
    return rows;
}

/* Sets "controls", the meanings of machine instructions' control words, and "control", which of them each row has. */
static void set_control(const View *view, json_t *side)
{
    json_t *rows = json_array(), *texts = json_array(), *numbers = json_object();
    for (uint32_t row = 0; view->source.code && row < view->code.count; row++) {
        const SassInstruction *inst = &view->source.code->instructions[row];
        Buf text = {0};
        buf_printf(&text, "%s; stall %u", sass_class_name((SassClass)inst->class), inst->stall);
        for (unsigned i = 0; i < 6; i++)
            if (inst->wait >> i & 1)
                buf_printf(&text, ", waits for scoreboard %u", i);
        if (inst->write_barrier < 6)
            buf_printf(&text, ", sets scoreboard %u when written", inst->write_barrier);
        if (inst->read_barrier < 6)
            buf_printf(&text, ", sets scoreboard %u when read", inst->read_barrier);
        if (!json_object_get(numbers, buf_text(&text))) {
            json_object_set_new(numbers, buf_text(&text), json_integer((json_int_t)json_array_size(texts)));
            json_array_append_new(texts, json_text(buf_text(&text)));
        }
        json_array_append(rows, json_object_get(numbers, buf_text(&text)));
        buf_free(&text);
    }
    json_decref(numbers);
    json_object_set_new(side, "controls", texts);
    json_object_set_new(side, "control", rows);
}

static json_t *targets_json(const View *view)
{
    json_t *all = json_array();
    for (uint32_t row = 0; row < view->code.count; row++)
        if (view->code.rows[row].target != MACHINE_NONE)
            json_array_append_new(all, json_pack("[i,i]", (int)row, (int)view->code.rows[row].target));
    return all;
}

static json_t *loops_json(const View *view)
{
    json_t *all = json_array();
    for (uint32_t l = 0; l < view->loop_count; l++)
        json_array_append_new(
            all, json_pack("[i,i,i]", (int)view->loops[l].first, (int)view->loops[l].last, (int)view->loops[l].depth));
    return all;
}

static json_t *spills_json(const View *view)
{
    json_t *all = json_array();
    for (uint32_t row = 0; row < view->code.count; row++)
        if (view->code.rows[row].spills)
            json_array_append_new(all, json_integer(row));
    return all;
}

/* A row, or -1. */
static json_t *row_json(uint32_t row)
{
    return json_integer(row == MACHINE_NONE ? -1 : (json_int_t)row);
}

static json_t *values_json(const View *view)
{
    json_t *all = json_array();
    for (uint32_t v = 0; v < view->value_count; v++) {
        const ViewValue *value = &view->values[v];
        Buf name = {0};
        view_print_value(view, value, &name);
        json_t *fields = json_array();
        json_array_append_new(fields, json_integer(value->reg));
        json_array_append_new(fields, json_integer(value->width));
        json_array_append_new(fields, json_text(buf_text(&name)));
        json_array_append_new(fields, json_text(view_remedy_name(value->remedy)));
        json_array_append_new(fields, row_json(value->written));
        json_array_append_new(fields, row_json(value->read));
        json_array_append_new(fields, json_real(value->cost));
        json_array_append_new(all, fields);
        buf_free(&name);
    }
    return all;
}

/* The lines of the PTX from the first to the last that a row of machine code comes from. */
static void set_ptx(const View *view, Arena *scratch, json_t *side)
{
    uint32_t first = UINT32_MAX, last = 0;
    json_t *lines = json_array();
    for (uint32_t row = 0; !view_is_ptx(view) && row < view->code.count; row++) {
        uint32_t line = view->code.rows[row].line;
        if (line && line < first)
            first = line;
        if (line > last)
            last = line;
    }
    for (uint32_t line = first; line <= last; line++) {
        Span span = source_line_span(view->source.module->source, line);
        json_array_append_new(lines, json_text(arena_strndup(scratch, view->source.module->source->text + span.begin,
                                                             span.end - span.begin)));
    }
    json_object_set_new(side, "firstLine", json_integer(last ? first : 1));
    json_object_set_new(side, "ptx", lines);
}

/* [file, first column, columns, first row, last row, name] */
static json_t *lives_json(const View *view)
{
    json_t *all = json_array();
    for (uint32_t l = 0; l < view->code.life_count; l++) {
        const ViewLife *life = &view->code.lives[l];
        const char *name = life->name ? life->name : "an address";
        json_array_append_new(all, json_pack("[i,i,i,i,i,s]", (int)life->file, (int)life->column, (int)life->width,
                                             (int)life->first, (int)life->last, name));
    }
    return all;
}

/* The picture: rows, and the facts about them that are drawn. */
static json_t *picture_json(const View *view, Arena *scratch, bool texts)
{
    json_t *picture = json_object(), *registers = json_array();
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++)
        json_array_append_new(registers, json_integer(view->code.ranges->counts[file]));
    json_object_set_new(picture, "isPtx", json_boolean(view_is_ptx(view)));
    json_object_set_new(picture, "gap", json_pack("{s:i,s:i}", "allocated", (int)view->gap.allocated, "live",
                                                  (int)view->gap.live));
    json_object_set_new(picture, "peak", json_integer(view->peak));
    json_object_set_new(picture, "frame", json_pack("[i,i]", (int)view->frame[0], (int)view->frame[1]));
    json_object_set_new(picture, "registers", registers);
    json_object_set_new(picture, "rows", rows_json(view, scratch, texts));
    json_object_set_new(picture, "targets", targets_json(view));
    json_object_set_new(picture, "loops", loops_json(view));
    json_object_set_new(picture, "lives", lives_json(view));
    return picture;
}

static json_t *side_json(const View *view)
{
    Arena *scratch = arena_new();
    json_t *side = picture_json(view, scratch, true);
    Buf advice = {0}, sums = {0};
    view_print_advice(view, &advice);
    view_print_gap(view, &sums);
    json_object_set_new(side, "file", json_text(view->source.file));
    json_object_set_new(side, "kernel", json_text(view->source.kernel));
    json_object_set_new(side, "arch", json_text(view->source.arch));
    json_object_set_new(side, "advice", json_text(buf_text(&advice)));
    json_object_set_new(side, "sums", json_text(buf_text(&sums)));
    json_object_set_new(side, "threads", json_integer(view->source.block_threads));
    json_object_set_new(side, "shared",
                        json_integer((json_int_t)(view->code.shared + view->source.dynamic_shared)));
    json_object_set_new(side, "counted", json_boolean(view_is_counted(view)));
    json_object_set_new(side, "missing", json_text(view->source.missing ? view->source.missing : ""));
    set_control(view, side);
    json_object_set_new(side, "spills", spills_json(view));
    json_object_set_new(side, "values", values_json(view));
    set_ptx(view, scratch, side);
    if (view->ptx)
        json_object_set_new(side, "picture", picture_json(view->ptx, scratch, false));
    buf_free(&advice);
    buf_free(&sums);
    arena_free(scratch);
    return side;
}

/* Adds the changes of each row to the sides, and a sentence about all of them. */
static void set_changes(const View *before, const View *view, json_t *data, json_t *sides)
{
    Arena *scratch = arena_new();
    const ViewChanges *changes = view_compare(scratch, before, view);
    const View *const views[2] = {before, view};
    Buf sentence = {0};
    for (unsigned s = 0; s < 2; s++) {
        json_t *partners = json_array();
        Buf kinds = {0};
        for (uint32_t row = 0; row < views[s]->code.count; row++) {
            buf_putc(&kinds, view_change_char((ViewChange)changes->kinds[s][row]));
            json_array_append_new(partners, row_json(changes->partners[s][row]));
        }
        json_object_set_new(json_array_get(sides, s), "changes", json_text(buf_text(&kinds)));
        json_object_set_new(json_array_get(sides, s), "partners", partners);
        buf_free(&kinds);
    }
    view_print_changes(changes, &sentence);
    json_object_set_new(data, "changes", json_text(buf_text(&sentence)));
    buf_free(&sentence);
    arena_free(scratch);
}

json_t *sides_json(const View *before, const View *view)
{
    json_t *data = json_object(), *sides = json_array();
    if (before)
        json_array_append_new(sides, side_json(before));
    json_array_append_new(sides, side_json(view));
    if (before)
        set_changes(before, view, data, sides);
    json_object_set_new(data, "sides", sides);
    return data;
}

/* Prints JSON that stands in a script element, where no '<' may begin a tag. */
static void print_data(const json_t *data, Buf *out)
{
    char *text = json_dumps(data, JSON_COMPACT);
    require(text);
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "<");
        buf_write(out, at, length);
        at += length;
        if (*at) {
            buf_puts(out, "\\u003c");
            at++;
        }
    }
    free(text);
}

void print_page(const char *const *lines, size_t count, const json_t *data, Buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *mark = data ? strstr(lines[i], PAGE_DATA) : NULL;
        if (!mark) {
            buf_puts(out, lines[i]);
            continue;
        }
        buf_write(out, lines[i], (size_t)(mark - lines[i]));
        print_data(data, out);
        buf_puts(out, mark + sizeof PAGE_DATA - 1);
    }
}

void print_template(Buf *out)
{
    print_page(page, COUNT_OF(page), NULL, out);
}

void view_print_page(const View *before, const View *view, Buf *out)
{
    json_t *data = sides_json(before, view);
    json_object_set_new(data, "limits", limits_json());
    print_page(page, COUNT_OF(page), data, out);
    json_decref(data);
}
