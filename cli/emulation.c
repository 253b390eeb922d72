/* The results of "ptxopt run" as text and as JSON (docs/formats.md). */
#include "cli/emulation.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* CRC-32 of IEEE 802.3, as in zlib and cksum -a crc32b. */
static uint32_t checksum(const uint8_t *bytes, uint64_t size)
{
    uint32_t table[256], sum = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (unsigned bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
    }
    for (uint64_t i = 0; i < size; i++)
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
    return ~sum;
}

static unsigned element_bytes(const EmulatorBuffer *buffer)
{
    return type_bits(buffer->type) / 8;
}

static bool is_dumped(const RunOptions *options, const char *name)
{
    for (size_t i = 0; i < options->dumps.count; i++)
        if (strcmp(options->dumps.data[i], name) == 0)
            return true;
    return false;
}

static const char *element_text(Arena *arena, const EmulatorBuffer *buffer, uint64_t index)
{
    Buf text = {0};
    element_print(buffer->type, buffer->bytes + index * element_bytes(buffer), &text);
    return buf_take(arena, &text);
}

bool emulation_has_dumps(const Emulation *run)
{
    for (size_t i = 0; i < run->options->dumps.count; i++)
        if (!emulator_buffer(run->result, run->options->dumps.data[i])) {
            Buf names = {0};
            for (unsigned k = 0; k < run->result->buffer_count; k++)
                buf_printf(&names, "%s'%s'", k ? ", " : "", run->result->buffers[k].name);
            fprintf(stderr, "ptxopt: error: -dump %s: the launch has no such buffer; it has %s\n",
                    run->options->dumps.data[i], names.length ? buf_text(&names) : "none");
            buf_free(&names);
            return false;
        }
    return true;
}

void emulation_print_dumps(const Emulation *run, Buf *out)
{
    for (size_t i = 0; i < run->options->dumps.count; i++) {
        const EmulatorBuffer *buffer = emulator_buffer(run->result, run->options->dumps.data[i]);
        for (uint64_t k = 0; k < buffer->count; k++) {
            element_print(buffer->type, buffer->bytes + k * element_bytes(buffer), out);
            buf_putc(out, '\n');
        }
    }
}

void emulation_print_text(const Emulation *run, Buf *out)
{
    enum { FIRST_ELEMENTS = 4 };
    const Launch *launch = run->launch;
    buf_printf(out, "kernel %s: grid %u,%u,%u, block %u,%u,%u%s\n", launch->kernel, launch->grid[0], launch->grid[1],
               launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
               run->has_contract ? ", by its launch contract" : "");
    for (unsigned i = 0; i < run->result->buffer_count; i++) {
        const EmulatorBuffer *buffer = &run->result->buffers[i];
        buf_printf(out, "%s %s: %llu %s, crc32 %08x:", buffer->is_variable ? "variable" : "buffer", buffer->name,
                   (unsigned long long)buffer->count, type_name(buffer->type), checksum(buffer->bytes, buffer->size));
        for (uint64_t k = 0; k < buffer->count && k < FIRST_ELEMENTS; k++)
            buf_printf(out, " %s", element_text(run->arena, buffer, k));
        buf_puts(out, buffer->count > FIRST_ELEMENTS ? " ...\n" : "\n");
    }
    counters_print(&run->result->counters, out);
    lines_print(run->result, out);
    if (run->options->timed)
        buf_printf(out, "%.3f seconds, %.1f million thread instructions per second\n", run->seconds,
                   (double)run->result->counters.thread_instructions / run->seconds * 1e-6);
}

static json_t *element_json(const Emulation *run, const EmulatorBuffer *buffer, uint64_t index)
{
    const char *text = element_text(run->arena, buffer, index);
    char *end;
    /* NaNs, infinities and bits stay text: JSON has no such numbers. */
    strtod(text, &end);
    bool is_number = *end == 0 && strspn(text, "0123456789+-.e") == strlen(text);
    json_t *number = is_number ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return number ? number : json_text(text);
}

static json_t *buffer_json(const Emulation *run, const EmulatorBuffer *buffer)
{
    json_t *value = json_object();
    json_object_set_new(value, "name", json_text(buffer->name));
    json_object_set_new(value, "kind", json_string(buffer->is_variable ? "variable" : "buffer"));
    json_object_set_new(value, "type", json_text(type_name(buffer->type)));
    json_set_number(value, "count", buffer->count);
    json_object_set_new(value, "crc32", json_text(arena_printf(run->arena, "%08x",
                                                               checksum(buffer->bytes, buffer->size))));
    if (is_dumped(run->options, buffer->name)) {
        json_t *values = json_array();
        for (uint64_t k = 0; k < buffer->count; k++)
            json_array_append_new(values, element_json(run, buffer, k));
        json_object_set_new(value, "values", values);
    }
    return value;
}

static json_t *lines_json(const EmulatorResult *result)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < result->line_count; i++) {
        const EmulatorLine *line = &result->lines[i];
        json_t *value = json_object();
        json_object_set_new(value, "function", json_text(line->function));
        json_set_number(value, "line", line->line);
        json_set_number(value, "warp_instructions", line->warp_instructions);
        json_set_number(value, "thread_instructions", line->thread_instructions);
        json_set_number(value, "sectors", line->sectors);
        json_set_number(value, "lines", line->lines);
        json_set_number(value, "bank_conflicts", line->bank_conflicts);
        json_set_number(value, "divergent_branches", line->divergent_branches);
        json_array_append_new(lines, value);
    }
    return lines;
}

void emulation_print_json(const Emulation *run, Buf *out)
{
    json_t *value = json_object(), *buffers = json_array();
    for (unsigned i = 0; i < run->result->buffer_count; i++)
        json_array_append_new(buffers, buffer_json(run, &run->result->buffers[i]));
    json_object_set_new(value, "format", json_string("ptxopt-run"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "source", json_text(run->options->input));
    json_object_set_new(value, "launch", json_text(run->options->launch));
    json_object_set_new(value, "kernel", json_text(run->launch->kernel));
    json_object_set_new(value, "grid", json_triple(run->launch->grid));
    json_object_set_new(value, "block", json_triple(run->launch->block));
    json_object_set_new(value, "by_contract", json_boolean(run->has_contract));
    json_object_set_new(value, "fault", json_fault(&run->result->fault));
    json_object_set_new(value, "buffers", buffers);
    json_object_set_new(value, "counters", counters_json(&run->result->counters));
    if (run->options->timed) {
        json_object_set_new(value, "seconds", json_real(run->seconds));
        json_object_set_new(value, "processor_seconds", json_real(run->processor_seconds));
    }
    if (run->options->machine.count_lines)
        json_object_set_new(value, "lines", lines_json(run->result));
    json_object_set_new(value, "printed", json_text(run->printed ? run->printed : ""));
    json_print(value, out);
}
