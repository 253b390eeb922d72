/* Faults: their descriptions and their places. */
#include "emulator/state/state.h"

const char *fault_name(FaultKind kind)
{
    static const char *const names[] = {
        [FAULT_NONE] = "no fault",
        [FAULT_LAUNCH] = "bad launch",
        [FAULT_UNSUPPORTED] = "not supported",
        [FAULT_BOUNDS] = "out of bounds",
        [FAULT_ALIGNMENT] = "misaligned",
        [FAULT_READ_ONLY] = "write to read-only memory",
        [FAULT_UNWRITTEN] = "read of unwritten memory",
        [FAULT_UNDEFINED] = "undefined register",
        [FAULT_BARRIER] = "barrier divergence",
        [FAULT_WARP_SYNC] = "warp divergence",
        [FAULT_POOL] = "register pool",
        [FAULT_RACE] = "data race",
        [FAULT_HANG] = "hang",
        [FAULT_DIVISION] = "division by zero",
        [FAULT_SHUFFLE] = "shuffle from an inactive lane",
        [FAULT_TRAP] = "trap",
        [FAULT_CALL] = "bad call",
        [FAULT_STOPPED] = "interrupted",
    };
    _Static_assert(COUNT_OF(names) == FAULT_COUNT, "every fault has a name");
    return (unsigned)kind < FAULT_COUNT ? names[kind] : "unknown";
}

void thread_position(const Warp *warp, unsigned lane, unsigned thread[3])
{
    const unsigned *block = warp->block->emulator->block;
    unsigned index = warp->index * LANES + lane;
    thread[0] = index % block[0];
    thread[1] = index / block[0] % block[1];
    thread[2] = index / block[0] / block[1];
}

const Inst *op_instruction(const Code *code, const Op *op)
{
    while (!op->inst && op > code->ops.data)
        op--;
    return op->inst;
}

static void fault_describe(EmulatorFault *fault, Emulator *emulator, FaultKind kind, const Function *function,
                           const Inst *inst, const char *message)
{
    fault->kind = kind;
    fault->message = message;
    fault->kernel = emulator->launch->kernel;
    fault->launch_path = kind == FAULT_LAUNCH ? emulator->launch->path : NULL;
    fault->function = function ? function->name : NULL;
    if (inst) {
        fault->span = inst->span;
        if (emulator->module->source)
            fault->position = source_position(emulator->module->source, inst->span.begin);
        fault->source = loc_place(emulator->arena, emulator->module, inst->loc);
    }
}

static void fault_begin(Emulator *emulator, FaultKind kind, const Function *function, const Inst *inst,
                        const char *message)
{
    fault_describe(&emulator->result->fault, emulator, kind, function, inst, message);
}

void fault_of_lane(EmulatorFault *fault, Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *message)
{
    const Code *code = x->frame ? x->frame->code : NULL;
    const Inst *inst = code && op ? op_instruction(code, op) : NULL;
    fault_describe(fault, x->emulator, kind, code ? code->function : NULL, inst, message);
    memcpy(fault->block, x->block->id, sizeof fault->block);
    thread_position(x->warp, lane, fault->thread);
    fault->has_thread = true;
}

Step fault_at(Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *format, ...)
{
    Emulator *emulator = x->emulator;
    EmulatorFault *fault = &emulator->result->fault;
    if (fault->kind != FAULT_NONE)
        return STEP_FAULT;
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(emulator->arena, format, arguments);
    va_end(arguments);
    fault_of_lane(fault, x, op, lane, kind, message);
    return STEP_FAULT;
}

bool fault_static(Emulator *emulator, FaultKind kind, const Function *function, const Inst *inst, const char *format,
                  ...)
{
    if (emulator->result->fault.kind != FAULT_NONE)
        return false;
    va_list arguments;
    va_start(arguments, format);
    fault_begin(emulator, kind, function, inst, arena_vprintf(emulator->arena, format, arguments));
    va_end(arguments);
    return false;
}

bool fault_launch(Emulator *emulator, Position place, const Function *function, const char *format, ...)
{
    if (emulator->result->fault.kind != FAULT_NONE)
        return false;
    va_list arguments;
    va_start(arguments, format);
    fault_begin(emulator, FAULT_LAUNCH, function, NULL, arena_vprintf(emulator->arena, format, arguments));
    va_end(arguments);
    emulator->result->fault.launch_place = place;
    return false;
}

/* "LAUNCH.json:3:17:", or the place in the source. */
static void print_place(Buf *text, const Module *module, const EmulatorFault *fault)
{
    const Position place = fault->launch_path ? fault->launch_place : fault->position;
    if (fault->launch_path)
        buf_printf(text, "%s:", fault->launch_path);
    else if (module->source)
        buf_printf(text, "%s:", module->source->path);
    if (place.line)
        buf_printf(text, "%u:", place.line);
    if (place.line && fault->launch_path)
        buf_printf(text, "%u:", place.column);
}

const char *fault_text(Arena *arena, const Module *module, const EmulatorFault *fault)
{
    Buf text = {0};
    print_place(&text, module, fault);
    bool has_more = fault->message && *fault->message;
    buf_printf(&text, "%s%s%s%s (kernel %s", text.length ? " " : "", fault_name(fault->kind), has_more ? ": " : "",
               has_more ? fault->message : "", fault->kernel ? fault->kernel : "?");
    if (fault->function && (!fault->kernel || strcmp(fault->function, fault->kernel) != 0))
        buf_printf(&text, ", function %s", fault->function);
    if (fault->has_thread)
        buf_printf(&text, ", block %u,%u,%u, thread %u,%u,%u", fault->block[0], fault->block[1], fault->block[2],
                   fault->thread[0], fault->thread[1], fault->thread[2]);
    if (fault->source)
        buf_printf(&text, ", from %s", fault->source);
    buf_putc(&text, ')');
    if (fault->launch_path)
        buf_puts(&text, "; 'ptxopt run -template FILE.ptx KERNEL' prints a launch file that fits");
    return buf_take(arena, &text);
}
