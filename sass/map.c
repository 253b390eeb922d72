/* Which PTX instruction each machine instruction comes from: the assembler is given a copy of the PTX with numbered
 * lines, and its line table is believed if the code is the same, to the byte, as without. */
#include "sass/internal.h"

#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One run of the assembler on 'ptx'. NULL when done, else what failed. */
static const char *assemble(Arena *arena, const MachineRequest *request, MachineMap *map, const char *ptx, size_t size,
                            bool line_info, Assembly *result)
{
    AssemblyRequest assembly = request->assembly;
    assembly.ptx = ptx;
    assembly.size = size;
    assembly.want_cubin = true;
    assembly.syntax_only = false;
    assembly.line_info = line_info;
    bool done = assembler_run(request->assembler, arena, &assembly, result);
    map->assembler_seconds += result->seconds;
    return done ? NULL : result->message;
}

/* NULL when done, else why the instructions cannot be mapped. */
static const char *map_lines(Arena *arena, const MachineRequest *request, MachineMap *map)
{
    if (module_is_debug(request->module))
        return "PTX that is made for debugging has lines of its own";
    map->numbered = request->numbered;
    map->numbered_size = request->numbered_size;
    if (!map->numbered) {
        size_t size;
        const char *text = ptx_numbered(arena, request->module, &map->lines, &size);
        Assembly result;
        const char *problem = assemble(arena, request, map, text, size, true, &result);
        if (problem)
            return arena_printf(arena, "a copy with numbered lines cannot be assembled: %s", problem);
        map->numbered = result.cubin;
        map->numbered_size = result.cubin_size;
    }
    if (!same_code(arena, map->cubin, map->cubin_size, map->numbered, map->numbered_size))
        return "with numbered lines the assembler makes other code";
    return line_table_read(arena, map->numbered, map->numbered_size, map->code, map->lines.count);
}

MachineMap *machine_map(Arena *arena, const MachineRequest *request, const char **error)
{
    double begin = now();
    MachineMap *map = ARENA_NEW(arena, MachineMap);
    map->source = request->module->source;
    map->kernel = module_find_function(request->module, request->kernel);
    map->cubin = request->cubin;
    map->cubin_size = request->cubin_size;
    *error = NULL;
    if (!map->kernel) {
        *error = arena_printf(arena, "the module has no kernel '%s'", request->kernel);
        return NULL;
    }
    if (!map->cubin) {
        Assembly plain;
        *error = assemble(arena, request, map, request->module->source->text, request->module->source->size, false,
                          &plain);
        if (*error)
            return NULL;
        map->cubin = plain.cubin;
        map->cubin_size = plain.cubin_size;
    }
    map->code = machine_code_read(arena, map->cubin, map->cubin_size, request->kernel, error);
    if (!map->code)
        return NULL;
    map->lines = ptx_lines(arena, request->module);
    map->unmapped = map_lines(arena, request, map);
    map->mapped = !map->unmapped;
    for (uint32_t i = 0; i < map->code->count; i++) {
        if (!map->mapped)
            map->code->instructions[i].ptx = MACHINE_NONE;
        map->mapped_count += map->code->instructions[i].ptx != MACHINE_NONE;
    }
    if (request->disassembler)
        map->no_text = machine_code_disassemble(arena, map->code, request->disassembler, map->cubin, map->cubin_size,
                                                request->live_registers);
    map->seconds = now() - begin;
    return map;
}
