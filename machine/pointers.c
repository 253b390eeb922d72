/* Addresses of functions in variables. The emulator and ptxas have different ones: ptxas puts into the cubin's data
 * what its code expects there, offsets or indices into a table. While the machine code runs, memory has those. */
#include "machine/internal.h"

/* A word of memory that has the address of a function. */
typedef struct Pointer {
    uint8_t *bytes;
    uint64_t emulated, machine;
} Pointer;

struct Pointers {
    VEC(Pointer) all;
};

bool variable_has_functions(const Variable *variable)
{
    for (unsigned i = 0; variable && i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_FUNCTION)
            return true;
    return false;
}

Pointers *pointers_enter(Arena *arena, const Program *program, const MachineLaunch *launch)
{
    Pointers *pointers = ARENA_NEW(arena, Pointers);
    *pointers = (Pointers){0};
    for (size_t i = 0; i < program->initial_count && i < launch->memory_count; i++) {
        const EmulatorMemory *memory = &launch->memories[i];
        for (uint64_t at = 0; program->initial[i] && at + 8 <= memory->size; at += 8) {
            Pointer pointer = {.bytes = memory->bytes + at};
            memcpy(&pointer.emulated, memory->bytes + at, 8);
            memcpy(&pointer.machine, program->initial[i] + at, 8);
            if (!emulator_function_at(program->module, pointer.emulated))
                continue;
            memcpy(memory->bytes + at, &pointer.machine, 8);
            VEC_PUSH(arena, pointers->all, pointer);
        }
    }
    return pointers;
}

void pointers_leave(const Pointers *pointers)
{
    for (size_t i = 0; i < pointers->all.count; i++) {
        const Pointer *pointer = &pointers->all.data[i];
        if (memcmp(pointer->bytes, &pointer->machine, 8) == 0)
            memcpy(pointer->bytes, &pointer->emulated, 8);
    }
}
