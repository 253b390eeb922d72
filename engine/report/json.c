/* Helpers over jansson that the JSON outputs share. */
#include "engine/report/json.h"

#include "engine/report/contract_words.h"
#include "engine/report/refusal_words.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text)
{
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    if (value)
        return value;
    size_t length = strlen(text);
    char *plain = malloc(length + 1);
    if (!plain)
        out_of_memory();
    for (size_t i = 0; i <= length; i++)
        plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    value = json_string(plain);
    free(plain);
    return value;
}

json_t *json_words(Buf *words)
{
    json_t *text = json_text(buf_text(words));
    buf_free(words);
    return text;
}

json_t *json_refusal(const Refusal *refusal)
{
    if (!is_refusal(refusal))
        return json_null();
    Buf words = {0};
    refusal_print(refusal, &words);
    return json_words(&words);
}

const char *json_outcome_word(Outcome outcome)
{
    switch (outcome) {
    case OUTCOME_NOT_ASKED: return "not asked";
    case OUTCOME_DONE: return "done";
    case OUTCOME_REFUSED: return "refused";
    case OUTCOME_UNCHANGED: return "unchanged";
    }
    return "unknown";
}

json_t *json_line(unsigned line)
{
    return line ? json_integer(line) : json_null();
}

json_t *json_counted(const CountedPart *part)
{
    if (!part->is_counted)
        return json_null();
    return json_pack("{s: I, s: I, s: f}", "ran", (json_int_t)part->ran, "blocks", (json_int_t)part->blocks, "error",
                     part->error);
}

json_t *json_triple(const unsigned values[3])
{
    return json_pack("[i,i,i]", (int)values[0], (int)values[1], (int)values[2]);
}

json_t *json_block(const unsigned values[3])
{
    return values[0] ? json_triple(values) : json_null();
}

json_t *json_stride(const Stride *stride)
{
    if (stride->kind == STRIDE_NUMBER)
        return json_integer(stride->number);
    return json_string(stride->kind == STRIDE_UNIT ? "unit" : "block");
}

json_t *json_fault(const EmulatorFault *fault)
{
    if (!fault || fault->kind == FAULT_NONE)
        return json_null();
    json_t *value = json_object();
    bool has_line = fault->position.line > 0;
    json_object_set_new(value, "kind", json_string(fault_name(fault->kind)));
    json_object_set_new(value, "message", json_text(fault->message));
    json_object_set_new(value, "function", json_text(fault->function));
    json_object_set_new(value, "line", has_line ? json_integer(fault->position.line) : json_null());
    json_object_set_new(value, "column", has_line ? json_integer(fault->position.column) : json_null());
    json_object_set_new(value, "source", json_text(fault->source));
    json_object_set_new(value, "block", fault->has_thread ? json_triple(fault->block) : json_null());
    json_object_set_new(value, "thread", fault->has_thread ? json_triple(fault->thread) : json_null());
    return value;
}

/* jansson prints each number of an array on a line of its own; [2, 1, 1] is easier to read. */
static void print_compact(const char *text, Buf *out)
{
    bool in_string = false;
    for (const char *at = text; *at; at++) {
        if (in_string && *at == '\\') { /* and the character that it escapes */
            buf_write(out, at++, 2);
            continue;
        }
        if (*at == '"')
            in_string = !in_string;
        size_t length = !in_string && *at == '[' ? strspn(at + 1, "0123456789-., \n") : 0;
        if (!length || at[length + 1] != ']') {
            buf_putc(out, *at);
            continue;
        }
        buf_putc(out, '[');
        for (const char *number = at + 1; number <= at + length; number++)
            if (*number != ' ' && *number != '\n')
                buf_printf(out, "%c%s", *number, *number == ',' ? " " : "");
        at += length;
    }
    buf_putc(out, '\n');
}

void json_print(json_t *value, Buf *out)
{
    char *text = json_dumps(value, JSON_INDENT(2));
    json_decref(value);
    if (!text)
        out_of_memory();
    print_compact(text, out);
    free(text);
}

void json_set_number(json_t *object, const char *key, uint64_t number)
{
    json_object_set_new(object, key, json_integer((json_int_t)number));
}

json_t *counters_json(const EmulatorCounters *counters)
{
    json_t *value = json_object(), *categories = json_object(), *spaces = json_object();
    json_set_number(value, "warp_instructions", counters->warp_instructions);
    json_set_number(value, "thread_instructions", counters->thread_instructions);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++) {
        if (!counters->warp_category[i])
            continue;
        json_t *one = json_object();
        json_set_number(one, "warp_instructions", counters->warp_category[i]);
        json_set_number(one, "thread_instructions", counters->thread_category[i]);
        json_object_set_new(categories, category_name((Category)i), one);
    }
    json_object_set_new(value, "categories", categories);
    for (unsigned i = 0; i < SPACE_COUNT; i++) {
        if (!counters->loads[i] && !counters->stores[i] && !counters->atomics[i])
            continue;
        json_t *one = json_object();
        json_set_number(one, "loads", counters->loads[i]);
        json_set_number(one, "load_bytes", counters->load_bytes[i]);
        json_set_number(one, "stores", counters->stores[i]);
        json_set_number(one, "store_bytes", counters->store_bytes[i]);
        json_set_number(one, "atomics", counters->atomics[i]);
        json_object_set_new(spaces, space_name((Space)i), one);
    }
    json_object_set_new(value, "spaces", spaces);
    json_set_number(value, "load_sectors", counters->load_sectors);
    json_set_number(value, "load_lines", counters->load_lines);
    json_set_number(value, "store_sectors", counters->store_sectors);
    json_set_number(value, "store_lines", counters->store_lines);
    json_set_number(value, "bank_conflicts", counters->bank_conflicts);
    json_set_number(value, "block_load_sectors", counters->block_load_sectors);
    json_set_number(value, "block_store_sectors", counters->block_store_sectors);
    json_set_number(value, "load_footprint", counters->load_footprint);
    json_set_number(value, "store_footprint", counters->store_footprint);
    json_set_number(value, "branches", counters->branches);
    json_set_number(value, "divergent_branches", counters->divergent_branches);
    json_set_number(value, "barriers", counters->barriers);
    json_set_number(value, "calls", counters->calls);
    json_set_number(value, "warp_waits", counters->warp_waits);
    return value;
}

json_t *json_conditions(const LaunchCondition *conditions, unsigned count)
{
    json_t *words = json_array();
    Arena *scratch = arena_new();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(words, json_text(condition_text(scratch, &conditions[i])));
    arena_free(scratch);
    return words;
}
