/* The functions of the device's runtime that the emulator provides: vprintf, malloc, free and __assertfail. */
#include "emulator/execute/execute.h"

static const char *const builtins[] = {"vprintf", "malloc", "free", "__assertfail"};

bool is_builtin(const Function *function)
{
    for (size_t i = 0; i < COUNT_OF(builtins); i++)
        if (strcmp(function->name, builtins[i]) == 0)
            return true;
    return false;
}

static uint64_t argument(Exec *x, const CallOp *call, unsigned index, unsigned lane)
{
    uint64_t value = 0;
    if (index >= call->argument_count)
        return 0;
    const struct CallCopy *copy = &call->arguments[index];
    const Frame *caller = x->frame;
    size_t size = copy->size < 8 ? (size_t)copy->size : 8;
    if (copy->source == NO_ROW)
        memcpy(&value, caller->local + lane * caller->code->local_bytes + copy->local, size);
    else
        memcpy(&value, (const uint8_t *)source_row(x, copy->source) + lane * copy->bytes, size);
    return value;
}

static void result(Exec *x, const CallOp *call, unsigned lane, uint64_t value)
{
    if (call->result_count)
        call_copy_out(x, &call->results[0], (const uint8_t *)&value, lane, 8);
}

/* The string at a generic address, cut off after 1024 bytes or at the end of memory. */
static const char *text_at(Exec *x, unsigned lane, uint64_t address)
{
    Buf text = {0};
    for (unsigned i = 0; i < 1024; i++) {
        const uint8_t *byte = access_peek(x, lane, address + i, 1);
        if (!byte || !*byte)
            break;
        buf_putc(&text, (char)*byte);
    }
    const char *copy = arena_strndup(x->emulator->arena, buf_text(&text), text.length);
    buf_free(&text);
    return copy;
}

/* Prints one conversion of a format, from '%' to its letter, and returns the text after it. Arguments follow each
 * other, aligned to their size: doubles, pointers and integers with l or ll have 8 bytes, all others 4. */
static const char *print_conversion(Exec *x, unsigned lane, const char *format, uint64_t *at, FILE *out)
{
    char spec[40];
    size_t length = 1 + strspn(format + 1, "-+ #0123456789.");
    size_t flags_end = length;
    length += strspn(format + length, "hlLjzt");
    char letter = format[length];
    bool is_long = memchr(format, 'l', length) || memchr(format, 'j', length) || memchr(format, 'z', length);
    bool real = letter && strchr("eEfFgGaA", letter), text = letter == 's', pointer = letter == 'p';
    if (!letter || !strchr("diouxXcspeEfFgGaA", letter) || flags_end > sizeof spec - 8) {
        fputc('%', out);
        return format + 1;
    }
    unsigned size = is_long || real || text || pointer ? 8 : 4;
    *at = align_up(*at, size);
    uint64_t value = 0;
    const uint8_t *bytes = access_peek(x, lane, *at, size);
    if (bytes)
        memcpy(&value, bytes, size);
    *at += size;
    memcpy(spec, format, flags_end);
    const char *middle = real || text || pointer || letter == 'c' ? "" : "ll";
    snprintf(spec + flags_end, sizeof spec - flags_end, "%s%c", middle, letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    if (real)
        fprintf(out, spec, double_from_bits(value));
    else if (text)
        fprintf(out, spec, text_at(x, lane, value));
    else if (pointer)
        fprintf(out, spec, (void *)(uintptr_t)value);
    else if (letter == 'c')
        fprintf(out, spec, (int)value);
    else if (letter == 'd' || letter == 'i')
        fprintf(out, spec, size == 4 ? (long long)(int32_t)value : (long long)value);
    else
        fprintf(out, spec, (unsigned long long)value);
#pragma GCC diagnostic pop
    return format + length + 1;
}

static void print_lane(Exec *x, unsigned lane, uint64_t format_address, uint64_t at)
{
    FILE *out = x->emulator->options.output;
    const char *format = text_at(x, lane, format_address);
    while (out && *format) {
        if (format[0] != '%') {
            fputc(*format++, out);
        } else if (format[1] == '%') {
            fputc('%', out);
            format += 2;
        } else {
            format = print_conversion(x, lane, format, &at, out);
        }
    }
}

Step run_builtin(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    const char *name = call->callee->name;
    effect_note(x);
    EACH_ACTIVE(lane, mask)
    {
        if (strcmp(name, "vprintf") == 0) {
            print_lane(x, lane, argument(x, call, 0, lane), argument(x, call, 1, lane));
            result(x, call, lane, 0);
        } else if (strcmp(name, "malloc") == 0) {
            result(x, call, lane, heap_take(x->emulator, argument(x, call, 0, lane)));
        } else if (strcmp(name, "free") == 0) {
            if (!heap_give_back(x, op, lane, argument(x, call, 0, lane)))
                return STEP_FAULT;
        } else if (strcmp(name, "__assertfail") == 0) {
            return fault_at(x, op, lane, FAULT_TRAP, "assertion failed: %s (%s:%u)",
                            text_at(x, lane, argument(x, call, 0, lane)), text_at(x, lane, argument(x, call, 1, lane)),
                            (unsigned)argument(x, call, 2, lane));
        }
    }
    return STEP_NEXT;
}
