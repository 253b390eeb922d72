/* A kernel's results before and after passes change it, and launch files. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/emulator.h"

#include "forms.h"

/* A buffer for each parameter that could be an address, a small number for each other. */
static Launch launch_for(Arena *arena, const Function *kernel)
{
    static const unsigned shapes[][3] = {{32, 1, 1}, {64, 1, 1}, {8, 8, 1}, {1, 1, 1}};
    Launch launch = {.kernel = kernel->name, .grid = {2, 1, 1}, .dynamic_shared = 256};
    const Tuning *tuning = &kernel->tuning;
    unsigned shape = (unsigned)strlen(kernel->name) % COUNT_OF(shapes);
    for (unsigned i = 0; i < 3; i++)
        launch.block[i] = tuning->reqntid_count ? tuning->reqntid[i] : shapes[shape][i];
    launch.argument_count = kernel->prototype.param_count;
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, launch.argument_count);
    for (unsigned i = 0; i < launch.argument_count; i++) {
        const Variable *parameter = kernel->prototype.params[i];
        LaunchArgument *argument = &launch.arguments[i];
        uint64_t bytes = variable_bytes(parameter);
        if (bytes == 8 && type_bits(parameter->type) == 64) {
            *argument = (LaunchArgument){.kind = ARGUMENT_BUFFER, .type = TYPE_U32, .count = 256, .fill = FILL_UNIFORM,
                                         .high = 64, .seed = i};
            argument->name = arena_printf(arena, "b%u", i);
        } else {
            bytes = bytes > 4096 ? 4096 : bytes;
            uint8_t *value = arena_alloc(arena, (size_t)bytes);
            if (bytes)
                value[0] = 16;
            *argument = (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_U8, .count = bytes, .bytes = value,
                                         .size = bytes};
        }
    }
    return launch;
}

/* True if the emulator would need much memory for the module's variables: that is not a finding. */
static bool is_large(const Module *module)
{
    enum { LARGEST = 1 << 20 };
    uint64_t sum = 0;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_VARIABLE && __builtin_add_overflow(sum, variable_bytes(item->variable), &sum))
            return true;
        const StmtVec none = {0}, *stmts = item->kind == ITEM_FUNCTION ? &item->function->stmts : &none;
        for (size_t j = 0; j < stmts->count; j++)
            if (stmts->data[j].kind == STMT_VARIABLE &&
                __builtin_add_overflow(sum, variable_bytes(stmts->data[j].variable), &sum))
                return true;
    }
    return sum > LARGEST;
}

/* True if the module reads a clock or similar: then each form may compute something different. */
static bool tells_time(const Module *module)
{
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        const StmtVec none = {0}, *stmts = item->kind == ITEM_FUNCTION ? &item->function->stmts : &none;
        for (size_t j = 0; j < stmts->count; j++) {
            const Inst *inst = stmts->data[j].kind == STMT_INST ? stmts->data[j].inst : NULL;
            for (unsigned k = 0; inst && k < inst->operand_count; k++)
                if (inst->operands[k].kind == OPERAND_SREG && inst->operands[k].sreg->dependence == SREG_VOLATILE)
                    return true;
        }
    }
    return false;
}

/* Execution must not depend on where an instruction is placed: a kernel that runs without a fault, a race or a read of
 * unwritten data computes the same in every form. One that a checker stops may do anything except crash the
 * emulator. */
void harness_meaning(const char *text, size_t size)
{
    Module *module = text_parse("input", text, size);
    if (!module)
        return;
    if (is_large(module) || tells_time(module)) {
        module_discard(module);
        return;
    }
    Module *changed = text_parse("input", text, size);
    Random random = random_of_text(text, size);
    module_change(changed, &random, false);
    Arena *arena = arena_new();
    EmulatorOptions options = {.check_unwritten = true, .check_registers = true, .check_races = true,
                               .count_memory = true, .hang_steps = 4000, .max_steps = 20000, .resident_blocks = 2};
    unsigned kernels = 0;
    for (size_t i = 0; i < module->items.count && kernels < 4; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || !item->function->is_entry || !item->function->has_body)
            continue;
        kernels++;
        Launch launch = launch_for(arena, item->function);
        EmulatorResult *result = emulator_run(arena, module, &launch, &options);
        if (result->fault.kind != FAULT_NONE) {
            if (!result->fault.message)
                property_broken("a fault without a message");
            fault_text(arena, module, &result->fault);
            continue;
        }
        EmulatorOptions more = options; /* leaving SSA form may add copies */
        more.max_steps *= 8;
        more.hang_steps *= 8;
        EmulatorResult *other = emulator_run(arena, changed, &launch, &more);
        if (other->fault.kind != FAULT_NONE)
            property_broken("kernel %s ran well and now faults: %s", launch.kernel,
                            fault_text(arena, changed, &other->fault));
        const char *difference = emulator_difference(arena, &launch, result, other, (Tolerance){0});
        if (difference)
            property_broken("kernel %s computes something else: %s", launch.kernel, difference);
    }
    arena_free(arena);
    module_discard(module);
    module_discard(changed);
}

static void launch_use(Arena *arena, const Launch *launch)
{
    enum { LARGEST = 1 << 20 };
    const LaunchChange change = {
        .block = {2, 3, 1}, .grid = {2, 3, 1}, .shared_factor = 6, .shared_unit = 128};
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->count <= LARGEST && argument->kind != ARGUMENT_POINTER)
            launch_fill(arena, argument);
    }
    Launch *changed = launch_changed(arena, launch, &change);
    for (unsigned i = 0; i < 3; i++)
        if (!changed->grid[i] || changed->block[i] > launch->block[i])
            property_broken("divided into %u and %u", changed->grid[i], changed->block[i]);
    if (changed->dynamic_shared < 6 * launch->dynamic_shared)
        property_broken("%llu bytes of dynamic shared memory", (unsigned long long)changed->dynamic_shared);
}

void harness_launch(const char *text, size_t size)
{
    Arena *arena = arena_new();
    int file = memfd_create("launch", 0);
    if (file < 0 || write(file, text, size) != (ssize_t)size)
        property_broken("no file in memory can be made");
    const char *error = NULL;
    Launch *launch = launch_read(arena, arena_printf(arena, "/proc/self/fd/%d", file), &error);
    if (!launch == !error)
        property_broken("%s", launch ? "accepted with an error" : "refused without an error");
    if (launch)
        launch_use(arena, launch);
    close(file);
    arena_free(arena);
}
