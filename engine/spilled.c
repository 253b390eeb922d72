#include "engine/spilled.h"

#include <string.h>

#include "sass/sass.h"

static bool has_text(const char *ptx, size_t size, const char *text)
{
    return memmem(ptx, size, text, strlen(text)) != NULL;
}

/* Accesses to the kernel's own local memory are not spills but look the same. */
bool spills_need_counting(const char *ptx, size_t size)
{
    return has_text(ptx, size, "\"" SMEM_SPILLING "\"") && !has_text(ptx, size, ".local");
}

void spills_count(const Assembly *assembly, const char *kernel, Figures *figures)
{
    const char *error;
    Arena *arena = arena_new();
    const SassCode *code =
        assembly->cubin ? sass_code_read(arena, assembly->cubin, assembly->cubin_size, kernel, &error) : NULL;
    if (code) {
        figures->spill_stores = figures->spill_loads = 0;
        for (uint32_t i = 0; i < code->count; i++) {
            const SassInstruction *instruction = &code->instructions[i];
            if (instruction->class != MACHINE_LOCAL)
                continue;
            bool is_store = strcmp(instruction->mnemonic, "STL") == 0;
            *(is_store ? &figures->spill_stores : &figures->spill_loads) += instruction->bytes;
        }
    }
    arena_free(arena);
}
