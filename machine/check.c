/* Compares the machine code of a kernel with its PTX: both run on the same inputs, and must leave the same memory. */
#include "machine/input.h"
#include "machine/internal.h"

#include "emulator/semantics/numbers.h"

#include <string.h>

enum { TRIES_PER_INPUT = 6, FAULTS_AT_FIRST = 24, MOST_PTX_STEPS = 1 << 22 };

typedef struct Check {
    Arena *arena;
    const CheckRequest *request;
    CheckResult *result;
    struct Program *program;
    const char *fault; /* of the first input that the PTX does not run on; NULL: none yet */
} Check;

static const char *check_verdict_name(CheckVerdict verdict)
{
    static const char *const names[] = {"equal", "different", "not decided"};
    return names[verdict];
}

static void leave_undecided(Check *check, const char *reason, uint32_t instruction)
{
    CheckResult *result = check->result;
    const SassMap *map = result->map;
    if (result->verdict != CHECK_EQUAL)
        return;
    result->verdict = CHECK_UNDECIDED;
    result->reason = reason;
    result->reason_instruction = instruction;
    if (map && instruction != MACHINE_NONE && map->code->instructions[instruction].ptx != MACHINE_NONE) {
        const Inst *inst = map->lines.insts[map->code->instructions[instruction].ptx];
        result->reason_line = source_position(map->source, inst->span.begin).line;
    }
}

/* The machine code. 'fmad' is off: the emulator fuses nothing, and a product and a sum that the assembler fuses are
 * right either way. */
static bool assemble(Check *check, bool omits_lines, const SassMap *known)
{
    static const char *const options[] = {"-fmad=false", NULL};
    const CheckRequest *request = check->request;
    SassRequest sass = {.assembler = request->assembler,
                        .module = request->module,
                        .kernel = request->kernel,
                        .assembly = assembly_request(NULL, 0),
                        .disassembler = request->disassembler,
                        .omits_lines = omits_lines};
    const char *error;
    sass.assembly.options = options;
    sass.assembly.opt_level = request->opt_level;
    if (known) {
        sass.cubin = known->cubin;
        sass.cubin_size = known->cubin_size;
        sass.numbered = known->numbered;
        sass.numbered_size = known->numbered_size;
        sass.listing = known->listing;
    }
    check->result->map = sass_map(check->arena, &sass, &error);
    if (!check->result->map)
        leave_undecided(check, error, MACHINE_NONE);
    else if (check->result->map->no_text)
        leave_undecided(check, check->result->map->no_text, MACHINE_NONE);
    return check->result->verdict == CHECK_EQUAL;
}

static bool load(Check *check, const Input *input)
{
    const char *problem;
    const MachineRequest request = {.map = check->result->map,
                                    .kernel = check->request->kernel,
                                    .module = check->request->module,
                                    .memories = input->expected,
                                    .memory_count = input->count,
                                    .launch = check->request->launch};
    check->program = machine_load(check->arena, &request, &problem);
    if (!check->program)
        leave_undecided(check, problem, MACHINE_NONE);
    return check->program != NULL;
}

static EmulatorResult *run_module(const Check *check, Arena *arena, const Module *module, const Input *input,
                                  const char *watch, uint64_t offset)
{
    const EmulatorOptions options = {.check_unwritten = true,
                                     .check_registers = true,
                                     .check_division = true,
                                     .check_races = true,
                                     .max_steps = check->request->launch ? 0 : MOST_PTX_STEPS,
                                     .hang_steps = check->request->launch ? 0 : MOST_PTX_STEPS,
                                     .watch = watch,
                                     .watch_offset = offset,
                                     .watch_bytes = 4};
    return emulator_run(arena, module, &input->launch, &options);
}

static EmulatorResult *run_ptx(const Check *check, Arena *arena, const Input *input, const char *watch,
                               uint64_t offset)
{
    return run_module(check, arena, check->request->module, input, watch, offset);
}

/* A format's NaNs: those above the infinity, without the sign; the one that arithmetic gives, which has all bits but
 * the sign; and what becomes of that of the next smaller format when it is converted. */
typedef struct NanFormat {
    unsigned bytes;
    uint64_t infinity, canonical, widened;
} NanFormat;

static const NanFormat nan_formats[] = {
    {8, UINT64_C(0x7ff0000000000000), F64_NAN, UINT64_C(0x7fffffffe0000000)},
    {4, 0x7f800000, F32_NAN, 0x7fffe000},
    {2, 0x7c00, 0x7fff, 0x7fff},
};

static bool is_canonical(const NanFormat *format, uint64_t nan)
{
    return nan == format->canonical || nan == format->widened;
}

/* The bytes at 'offset' and before it, aligned, that are NaNs in both, one of them the canonical one: PTX leaves the
 * bits of results open. 0: they are not. */
static unsigned nan_bytes(const EmulatorMemory *a, const EmulatorMemory *b, uint64_t offset)
{
    for (size_t i = 0; i < COUNT_OF(nan_formats); i++) {
        const NanFormat *format = &nan_formats[i];
        const uint64_t at = offset & ~(uint64_t)(format->bytes - 1), mask = format->canonical;
        uint64_t x = 0, y = 0;
        if (a->size - at < format->bytes)
            continue;
        memcpy(&x, a->bytes + at, format->bytes);
        memcpy(&y, b->bytes + at, format->bytes);
        if ((x & mask) > format->infinity && (y & mask) > format->infinity &&
            (is_canonical(format, x) || is_canonical(format, y)))
            return format->bytes;
    }
    return 0;
}

/* The first word that differs by more than the bits of a NaN. */
static bool find_difference(const Input *input, size_t *memory, uint64_t *offset)
{
    for (*memory = 0; *memory < input->count; ++*memory) {
        const EmulatorMemory *a = &input->expected[*memory], *b = &input->actual[*memory];
        /* In the heap, what malloc gave to whom is not defined. */
        if ((input->heap.size && a->address == input->heap.address) || memcmp(a->bytes, b->bytes, (size_t)a->size) == 0)
            continue;
        for (*offset = 0; *offset < a->size; ++*offset) {
            if (a->bytes[*offset] == b->bytes[*offset])
                continue;
            const unsigned bytes = nan_bytes(a, b, *offset);
            if (!bytes) {
                *offset &= ~UINT64_C(3);
                return true;
            }
            *offset |= bytes - 1;
        }
    }
    return false;
}

/* The same input again, to see which PTX instruction wrote there last. */
static uint32_t find_line(const Check *check, Arena *arena, const Input *again, size_t memory, uint64_t offset)
{
    const EmulatorResult *result = run_ptx(check, arena, again, again->expected[memory].name, offset);
    return result->writer.found ? result->writer.position.line : 0;
}

static Input *make_input_of(const Check *check, Arena *arena, const Module *module, unsigned number,
                            const char **problem)
{
    const CheckRequest *request = check->request;
    const Function *kernel = module_find_function(module, request->kernel);
    *problem = NULL;
    return request->launch ? input_of_launch(arena, module, kernel, request->launch, problem)
                           : input_random(arena, module, kernel, request->seed, number);
}

static Input *make_input(const Check *check, Arena *arena, unsigned number, const char **problem)
{
    return make_input_of(check, arena, check->request->module, number, problem);
}

static void report_difference(Check *check, Arena *arena, const Input *input, const MachineEnd *end, unsigned number)
{
    CheckDifference *difference = &check->result->difference;
    Buf text = {0};
    const char *problem;
    size_t memory;
    uint64_t offset;
    input_print(input, check->result->function, &text);
    check->result->verdict = CHECK_DIFFERENT;
    *difference = (CheckDifference){.input = number,
                                    .launch = arena_strndup(check->arena, buf_text(&text), text.length),
                                    .instruction = end->instruction};
    buf_free(&text);
    if (end->kind == MACHINE_WRONG) {
        difference->message = arena_strndup(check->arena, end->message, strlen(end->message));
        return;
    }
    if (!find_difference(input, &memory, &offset))
        return;
    const EmulatorMemory *expected = &input->expected[memory];
    const uint64_t bytes = expected->size - offset < 4 ? expected->size - offset : 4;
    difference->memory = expected->name;
    difference->offset = offset;
    memcpy(&difference->expected, expected->bytes + offset, (size_t)bytes);
    memcpy(&difference->actual, input->actual[memory].bytes + offset, (size_t)bytes);
    for (uint64_t i = 0; i < bytes && difference->instruction == MACHINE_NONE; i++)
        difference->instruction = end->writers[memory][offset + i];
    difference->line = find_line(check, arena, make_input(check, arena, number, &problem), memory, offset);
}

static bool is_within_field(const Operand *operand)
{
    return operand->kind == OPERAND_CONSTANT && operand->constant->bits <= UINT8_MAX;
}

/* Why results may differ that PTX leaves open: fields of 64 bits whose position or length, the last two operands, is
 * not known to be at most 255, and |x| of the least integer of 16 or 32 bits, which ptxas takes for positive. NULL:
 * they may not. */
static const char *open_reason(const Inst *inst)
{
    static const char *const fields[] = {"bfe.u64", "bfe.s64", "bfi.b64"};
    const char *spelling = inst->signature->spelling;
    const Operand *last = &inst->operands[inst->operand_count - 1];
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (strcmp(fields[i], spelling) == 0 && (!is_within_field(last) || !is_within_field(last - 1)))
            return "results differ, and PTX leaves open what fields of 64 bits are above 255";
    return strcmp(spelling, "abs.s16") == 0 || strcmp(spelling, "abs.s32") == 0
               ? "results differ, and PTX leaves open what |x| of the least integer is"
               : NULL;
}

/* The first such instruction in the kernel or in functions that it may call; NULL: none. */
static const Inst *find_open(const SassMap *map)
{
    for (uint32_t i = 0; i < map->lines.count; i++) {
        const Inst *inst = map->lines.insts[i];
        if ((map->lines.functions[i] == map->kernel || !map->lines.functions[i]->is_entry) && open_reason(inst))
            return inst;
    }
    return NULL;
}

/* True if the kernel's code or a variable has the address of a function, of which a result may be made. */
static bool has_function_addresses(const SassMap *map, const Module *module)
{
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE && variable_has_functions(module->items.data[i].variable))
            return true;
    for (uint32_t i = 0; i < map->lines.count; i++) {
        const Inst *inst = map->lines.insts[i];
        for (unsigned j = 0; j < inst->operand_count && !inst_is_call(inst); j++)
            if (inst->operands[j].kind == OPERAND_SYMBOL && inst->operands[j].symbol.kind == SYMBOL_FUNCTION)
                return true;
    }
    return false;
}

/* Leaves a difference undecided that what PTX leaves open may explain. */
static void allow_open(Check *check)
{
    const SassMap *map = check->result->map;
    const Inst *inst = find_open(map);
    if (has_function_addresses(map, check->request->module))
        leave_undecided(check, "results differ, and addresses of functions may be a part of them", MACHINE_NONE);
    if (!inst)
        return;
    leave_undecided(check, open_reason(inst), MACHINE_NONE);
    check->result->reason_line = source_position(map->source, inst->span.begin).line;
}

/* Whether the machine code left what the PTX gives with the other NaNs that neg and abs may give. */
static bool has_other_nans(const Check *check, Arena *arena, const Input *input, unsigned number)
{
    const char *problem;
    size_t memory;
    uint64_t offset;
    const Module *variant = module_with_kept_nans(arena, check->request->module, &check->result->map->lines);
    Input *other = variant ? make_input_of(check, arena, variant, number, &problem) : NULL;
    if (!other || run_module(check, arena, variant, other, NULL, 0)->fault.kind != FAULT_NONE)
        return false;
    other->actual = input->actual;
    return !find_difference(other, &memory, &offset);
}

/* A run of the machine code on an input. */
typedef struct Outcome {
    const Input *input;
    const MachineEnd *end;
    bool differs;
} Outcome;

static Outcome run_machine(Check *check, Arena *arena, Input *input, unsigned number, MachineOrder order)
{
    size_t memory;
    uint64_t offset;
    input->machine.order = order;
    MachineEnd *end = machine_run(arena, check->program, &input->machine);
    const bool differs = end->kind == MACHINE_WRONG || (find_difference(input, &memory, &offset) &&
                                                        !has_other_nans(check, arena, input, number));
    if (end->kind == MACHINE_UNDECIDED)
        leave_undecided(check, arena_strndup(check->arena, end->message, strlen(end->message)), end->instruction);
    else if (differs && end->approximate != MACHINE_NONE)
        leave_undecided(check, "results differ, and an approximate instruction was executed", end->approximate);
    else if (differs && end->ordered != MACHINE_NONE)
        leave_undecided(check, "results differ, and atomic operations, or malloc, may come in any order", end->ordered);
    else if (differs && end->open != MACHINE_NONE)
        leave_undecided(check, "results differ, and threads may be together otherwise", end->open);
    else if (differs && end->kind != MACHINE_WRONG)
        allow_open(check);
    return (Outcome){input, end, differs};
}

/* The kernel's result for an input. Returns false if no more inputs are needed. Where threads of a warp are apart and
 * write registers that they share, the result may depend on their order, and must be the same in all. */
static bool compare(Check *check, Arena *arena, Input *input, unsigned number)
{
    const char *problem;
    const Outcome first = run_machine(check, arena, input, number, 0);
    Outcome last = first;
    check->result->tried++;
    for (unsigned order = 1; order < MACHINE_ORDERS && check->result->verdict == CHECK_EQUAL &&
                             (last.end->forked != MACHINE_NONE || last.end->open != MACHINE_NONE); order++) {
        Input *again = make_input(check, arena, number, &problem);
        again->expected = input->expected;
        last = run_machine(check, arena, again, number, order);
        if (last.differs != first.differs)
            leave_undecided(check, "results depend on which threads of a warp go first", last.end->forked);
    }
    if (check->result->verdict == CHECK_EQUAL && first.differs)
        report_difference(check, arena, first.input, first.end, number);
    else if (check->result->verdict == CHECK_EQUAL)
        check->result->equal++;
    return check->result->verdict == CHECK_EQUAL;
}

/* One input; false if no more are needed. */
static bool try_input(Check *check, Arena *arena, unsigned number)
{
    const char *problem;
    Input *input = make_input(check, arena, number, &problem);
    if (!input) {
        leave_undecided(check, problem, MACHINE_NONE);
        return false;
    }
    const EmulatorResult *result = run_ptx(check, arena, input, NULL, 0);
    if (result->fault.kind == FAULT_NONE)
        return (check->program || load(check, input)) && compare(check, arena, input, number);
    if (!check->fault)
        check->fault = arena_printf(check->arena, "%s", fault_text(arena, check->request->module, &result->fault));
    return result->fault.kind != FAULT_UNSUPPORTED && result->fault.kind != FAULT_LAUNCH;
}

static void try_inputs(Check *check)
{
    const unsigned wanted = check->request->launch ? 1 : check->request->inputs;
    const unsigned most = check->request->launch ? 1 : wanted * TRIES_PER_INPUT + FAULTS_AT_FIRST;
    bool goes_on = true;
    for (unsigned number = 0; goes_on && number < most && check->result->tried < wanted; number++) {
        Arena *arena = arena_new();
        goes_on = try_input(check, arena, number) && (check->result->tried || number < FAULTS_AT_FIRST);
        arena_free(arena);
    }
    if (!check->result->tried)
        leave_undecided(check, arena_printf(check->arena, "the emulator ran it on no input: %s",
                                            check->fault ? check->fault : "there was none"),
                        MACHINE_NONE);
}

/* Without PTX instructions, every MUFU counts as an approximation, and every vote as open. */
static CheckResult *check_once(Arena *arena, const CheckRequest *request, bool omits_lines, const SassMap *known)
{
    CheckResult *result = ARENA_NEW(arena, CheckResult);
    *result = (CheckResult){.kernel = request->kernel,
                            .function = module_find_function(request->module, request->kernel),
                            .reason_instruction = MACHINE_NONE,
                            .difference = {.instruction = MACHINE_NONE}};
    Check check = {.arena = arena, .request = request, .result = result};
    if (assemble(&check, omits_lines, known))
        try_inputs(&check);
    return result;
}

/* Nearly all kernels are equal, for which it does not matter where machine instructions come from. Finding that out is
 * a large part of the work. */
CheckResult *check_kernel(Arena *arena, const CheckRequest *request)
{
    CheckResult *result = check_once(arena, request, true, request->known);
    return result->verdict == CHECK_EQUAL || !result->tried ? result : check_once(arena, request, false, result->map);
}

static void print_instruction(const CheckResult *result, uint32_t instruction, Buf *out)
{
    if (instruction == MACHINE_NONE)
        return;
    const SassInstruction *machine = &result->map->code->instructions[instruction];
    buf_printf(out, "    machine code: /*%04x*/ %s\n", machine->address, machine->text ? machine->text : "?");
}

static void print_line(const CheckRequest *request, uint32_t line, Buf *out)
{
    const Source *source = request->module->source;
    const char *at = source->text;
    for (uint32_t i = 1; i < line && at; i++)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (!line || !at)
        return;
    at += strspn(at, " \t");
    buf_printf(out, "    PTX, line %u: %.*s\n", line, (int)strcspn(at, "\n"), at);
}

static void print_difference(const CheckRequest *request, const CheckResult *result, Buf *out)
{
    const CheckDifference *difference = &result->difference;
    buf_printf(out, "    input %u: %s\n", difference->input, difference->launch);
    if (difference->message)
        buf_printf(out, "    the machine code %s\n", difference->message);
    else
        buf_printf(out, "    %s, byte %llu: the PTX gives 0x%08x, the machine code 0x%08x\n", difference->memory,
                   (unsigned long long)difference->offset, difference->expected, difference->actual);
    print_line(request, difference->line, out);
    print_instruction(result, difference->instruction, out);
}

void check_print(const CheckRequest *request, const CheckResult *result, const char *file, Buf *out)
{
    uint32_t line = 0;
    if (result->function)
        line = source_position(request->module->source, result->function->span.begin).line;
    buf_printf(out, "%s:%u: %s (%s, -O%d): %s", file, line, result->kernel, assembler_arch(request->assembler),
               request->opt_level, check_verdict_name(result->verdict));
    if (result->verdict == CHECK_EQUAL)
        buf_printf(out, " for %u input%s\n", result->equal, plural(result->equal));
    else if (result->verdict == CHECK_DIFFERENT)
        buf_putc(out, '\n');
    else
        buf_printf(out, ": %s\n", result->reason);
    if (result->verdict == CHECK_DIFFERENT)
        print_difference(request, result, out);
    if (result->verdict == CHECK_UNDECIDED) {
        print_line(request, result->reason_line, out);
        print_instruction(result, result->reason_instruction, out);
    }
}
