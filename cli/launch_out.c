/* -launch-out: the launch contract as JSON (docs/formats.md). */
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/report.h"

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

/* jansson puts each number of an array on a line of its own; [2, 1, 1] is easier to read. */
static void print_compact(const char *text, Buf *out)
{
    bool in_string = false;
    for (const char *at = text; *at; at++) {
        if (in_string && *at == '\\') { /* and what it escapes */
            buf_write(out, at++, 2);
            continue;
        }
        if (*at == '"')
            in_string = !in_string;
        size_t length = strspn(at + 1, "0123456789-., \n");
        if (in_string || *at != '[' || !length || at[length + 1] != ']') {
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

static json_t *contract_json(const KernelReport *kernel)
{
    const LaunchContract *contract = &kernel->result.contract;
    unsigned block_after[3];
    for (unsigned i = 0; i < 3; i++)
        block_after[i] = contract->block[i] / contract->factor[i];
    json_t *conditions = json_array();
    for (unsigned i = 0; i < kernel->condition_count; i++)
        json_array_append_new(conditions, json_text(kernel->conditions[i]));
    json_t *value = json_object();
    json_object_set_new(value, "kernel", json_text(contract->kernel));
    json_object_set_new(value, "level", json_string("thread"));
    json_object_set_new(value, "factor", json_triple(contract->factor));
    json_object_set_new(value, "stride", json_stride(&contract->stride));
    json_object_set_new(value, "block_before", json_block(contract->block));
    json_object_set_new(value, "block_after", json_block(block_after));
    json_object_set_new(value, "grid", json_string("unchanged"));
    json_object_set_new(value, "dynamic_shared", json_string("unchanged"));
    json_object_set_new(value, "whole_warps", json_boolean(contract->whole_warps));
    json_object_set_new(value, "stride_unit", json_integer(contract->stride_unit));
    json_object_set_new(value, "conditions", conditions);
    return value;
}

void launch_print_json(const Report *report, Buf *out)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->kernel_count; i++)
        if (report->kernels[i].result.coarsening == OUTCOME_DONE)
            json_array_append_new(kernels, contract_json(&report->kernels[i]));
    json_t *value = json_object();
    json_object_set_new(value, "format", json_string("ptxopt-launch"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "kernels", kernels);
    json_print(value, out);
}
