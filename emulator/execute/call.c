/* Calls of device functions, and the few functions that the device's runtime provides. */
#include "emulator/execute/execute.h"

#define MAX_CALL_DEPTH 512

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* A value of a register's row: 'bytes' for each lane, or a bit where that is 0. */
static void value_get(const void *row, unsigned bytes, unsigned lane, void *value, uint64_t size)
{
    if (bytes)
        memcpy(value, (const uint8_t *)row + lane * bytes, (size_t)size);
    else
        *(uint8_t *)value = *(const uint32_t *)row >> lane & 1;
}

static void value_set(void *row, unsigned bytes, unsigned lane, const uint8_t *value, uint64_t size)
{
    uint32_t *bits = row;
    if (bytes) {
        memset((uint8_t *)row + lane * bytes, 0, bytes);
        memcpy((uint8_t *)row + lane * bytes, value, (size_t)size);
    } else {
        *bits = (*bits & ~(UINT32_C(1) << lane)) | (uint32_t)(*value & 1) << lane;
    }
}

static void copy_in(Exec *x, const struct CallCopy *copy, Frame *callee, uint64_t place, uint64_t capacity,
                    uint32_t mask)
{
    uint64_t size = copy->size < capacity ? copy->size : capacity;
    const Frame *caller = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t at = lane * callee->code->local_bytes + place;
        if (copy->source == NO_ROW)
            memcpy(callee->local + at, caller->local + lane * caller->code->local_bytes + copy->local, (size_t)size);
        else
            value_get(source_row(x, copy->source), copy->bytes, lane, callee->local + at, size);
        if (callee->local_written)
            memset(callee->local_written + at, 1, (size_t)size);
    }
}

static void copy_out(Exec *x, const struct CallCopy *copy, const uint8_t *from, unsigned lane, uint64_t capacity)
{
    uint64_t size = copy->size < capacity ? copy->size : capacity;
    Frame *caller = x->frame;
    if (copy->source == NO_ROW) {
        uint64_t at = lane * caller->code->local_bytes + copy->local;
        memcpy(caller->local + at, from, (size_t)size);
        if (caller->local_written)
            memset(caller->local_written + at, 1, (size_t)size);
    } else {
        value_set(caller->registers + copy->source, copy->bytes, lane, from, size);
    }
}

static Step call_code(Exec *x, const Op *op, Code *code, uint32_t mask)
{
    const CallOp *call = op->call;
    Split *split = x->split;
    if (x->frame->depth >= MAX_CALL_DEPTH)
        return fault_at(x, op, (unsigned)__builtin_ctz(mask), FAULT_CALL, "calls are nested more than %u deep", MAX_CALL_DEPTH);
    Frame *frame = frame_new(x->machine, code, x->frame);
    for (unsigned i = 0; i < call->argument_count && i < code->formal_count; i++)
        copy_in(x, &call->arguments[i], frame, code->formals[i], code->formal_bytes[i], mask);
    x->machine->result->counters.calls++;
    split->pc++;
    warp_drop(x->warp, split);
    split->wait = WAIT_CHILDREN;
    split->callee = frame;
    warp_push(x->warp, split_new(x->machine, split, frame, 0, mask, PC_EXIT));
    return STEP_SWITCH;
}

Step run_call(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    if (call->callee)
        return call_code(x, op, code_get(x->machine, call->callee), mask);

    /* Lanes that call other functions than the first do so in a split of their own, and meet behind the results. */
    const void *targets = source_row(x, call->target);
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint64_t address = row_get(targets, 8, first);
    uint32_t same = 0;
    EACH_ACTIVE(lane, mask)
    {
        same |= (uint32_t)(row_get(targets, 8, lane) == address) << lane;
    }
    const Function *function = function_at(x->machine, address);
    Code *code = function ? code_get(x->machine, function_resolve(x->machine, function)) : NULL;
    if (!code || code->is_entry)
        return fault_at(x, op, first, FAULT_CALL, "0x%llx is not the address of a function", (unsigned long long)address);
    if (same != mask) {
        uint32_t pcs[2] = {x->split->pc, x->split->pc}, masks[2] = {same, mask & ~same};
        return split_diverge(x, pcs, masks, 2, x->split->pc + 2);
    }
    return call_code(x, op, code, mask);
}

Step run_call_results(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    Frame *callee = x->split->callee;
    for (unsigned i = 0; i < call->result_count && i < callee->code->return_count; i++)
        EACH_ACTIVE(lane, mask)
        {
            copy_out(x, &call->results[i], callee->local + lane * callee->code->local_bytes + callee->code->returns[i],
                     lane, callee->code->return_bytes[i]);
        }
    frame_free(callee);
    x->split->callee = NULL;
    return STEP_NEXT;
}

/* Parameters and results in registers. */
Step run_parameter_read(Exec *x, const Op *op, uint32_t mask)
{
    const Frame *frame = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        value_set(frame->registers + op->dest, op->dest_bytes, lane,
                  frame->local + lane * frame->code->local_bytes + op->copy.source_offset, op->copy.bytes);
    }
    return STEP_NEXT;
}

Step run_result_write(Exec *x, const Op *op, uint32_t mask)
{
    const Frame *frame = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        value_get(source_row(x, op->sources[0]), op->source_bytes[0], lane,
                  frame->local + lane * frame->code->local_bytes + op->copy.dest_offset, op->copy.bytes);
    }
    return STEP_NEXT;
}

/* ---- The runtime's functions ------------------------------------------------------------------------------------ */

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
        copy_out(x, &call->results[0], (const uint8_t *)&value, lane, 8);
}

/* The string at a generic address, cut at 1024 bytes or where memory ends. */
static const char *text_at(Exec *x, unsigned lane, uint64_t address)
{
    Buf text = {0};
    for (unsigned i = 0; i < 1024; i++) {
        const uint8_t *byte = access_peek(x, lane, address + i, 1);
        if (!byte || !*byte)
            break;
        buf_putc(&text, (char)*byte);
    }
    const char *copy = arena_strndup(x->machine->arena, buf_text(&text), text.length);
    buf_free(&text);
    return copy;
}

/* One conversion of a format: from '%' to its letter.  Arguments lie one after the other, aligned to their size:
 * doubles, pointers and integers with l or ll take 8 bytes, all others 4. */
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
    *at = (*at + size - 1) / size * size;
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
    FILE *out = x->machine->options.output;
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

/* The heap only grows; free is accepted. */
static uint64_t heap_take(Machine *machine, uint64_t bytes)
{
    if (!machine->heap.bytes) {
        machine->heap = (Region){.name = "the heap", .space = SPACE_GLOBAL, .size = HEAP_BYTES};
        machine->heap.base = GLOBAL_BASE + ((uint64_t)machine->slot_count << SLOT_SHIFT) + SLOT_GUARD;
        machine->heap.bytes = machine_alloc(machine, HEAP_BYTES, 1);
        if (machine->options.check_unwritten)
            machine->heap.written = machine_alloc(machine, HEAP_BYTES, 1);
        if (machine->slot_count == MAX_SLOTS)
            return 0;
        machine->slots[machine->slot_count++] = &machine->heap;
    }
    if (bytes > HEAP_BYTES - machine->heap_used)
        return 0;
    uint64_t address = machine->heap.base + machine->heap_used;
    uint64_t rest = HEAP_BYTES - machine->heap_used, taken = (bytes + 15) & ~UINT64_C(15);
    machine->heap_used += taken < rest ? taken : rest;
    return address;
}

Step run_builtin(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    const char *name = call->callee->name;
    x->warp->idle_steps = 0;
    EACH_ACTIVE(lane, mask)
    {
        if (strcmp(name, "vprintf") == 0) {
            print_lane(x, lane, argument(x, call, 0, lane), argument(x, call, 1, lane));
            result(x, call, lane, 0);
        } else if (strcmp(name, "malloc") == 0) {
            result(x, call, lane, heap_take(x->machine, argument(x, call, 0, lane)));
        } else if (strcmp(name, "__assertfail") == 0) {
            return fault_at(x, op, lane, FAULT_TRAP, "assertion failed: %s (%s:%u)",
                            text_at(x, lane, argument(x, call, 0, lane)), text_at(x, lane, argument(x, call, 1, lane)),
                            (unsigned)argument(x, call, 2, lane));
        }
    }
    return STEP_NEXT;
}
