/* Finds the PTX instruction that each machine instruction comes from: the assembler gets a copy of the PTX with
 * numbered lines, and its line table is trusted if the code is byte for byte the same as without numbers. */
#include "sass/internal.h"

#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A module and its copy with numbered lines. */
enum { PLAIN, NUMBERED, TEXTS };

typedef struct Text {
    const char *ptx; /* NULL: its cubin exists already or is not needed */
    size_t size;
    const char *problem; /* the reason why the assembler made no cubin; NULL: it made one */
    const void *cubin;
    size_t cubin_size;
} Text;

/* Assembles both texts, at once if there are cores for it. */
static void assemble(Arena *arena, const SassRequest *request, SassMap *map, Text texts[TEXTS])
{
    Arena *arenas[TEXTS];
    AssemblyRequest requests[TEXTS];
    Assembly results[TEXTS];
    Text *made[TEXTS];
    unsigned count = 0;
    for (unsigned i = 0; i < TEXTS; i++) {
        if (!texts[i].ptx)
            continue;
        requests[count] = request->assembly;
        requests[count].ptx = texts[i].ptx;
        requests[count].size = texts[i].size;
        requests[count].want_cubin = true;
        requests[count].syntax_only = false;
        requests[count].line_info = i == NUMBERED;
        arenas[count] = arena_new();
        made[count++] = &texts[i];
    }
    double begin = now();
    assembler_run_many(request->assembler, requests, arenas, results, count);
    map->assembler_seconds += now() - begin;
    for (unsigned i = 0; i < count; i++) {
        if (results[i].failure != ASSEMBLY_DONE) {
            made[i]->problem = arena_printf(arena, "%s", results[i].message);
        } else {
            void *copy = arena_alloc(arena, results[i].cubin_size);
            made[i]->cubin = memcpy(copy, results[i].cubin, results[i].cubin_size);
            made[i]->cubin_size = results[i].cubin_size;
        }
        arena_free(arenas[i]);
    }
}

/* Makes the map's cubins, after its lines have been set. Returns NULL, or the reason why there is no machine code to
 * read. */
static const char *make_cubins(Arena *arena, const SassRequest *request, SassMap *map)
{
    Text texts[TEXTS] = {[PLAIN] = {.cubin = request->cubin, .cubin_size = request->cubin_size},
                         [NUMBERED] = {.cubin = request->numbered, .cubin_size = request->numbered_size}};
    if (!texts[PLAIN].cubin) {
        texts[PLAIN].ptx = request->module->source->text;
        texts[PLAIN].size = request->module->source->size;
    }
    if (request->omits_lines)
        map->unmapped = "PTX instructions were not asked for";
    else if (module_is_debug(request->module))
        map->unmapped = "PTX that is made for debugging has lines of its own";
    else if (!texts[NUMBERED].cubin)
        texts[NUMBERED].ptx = ptx_numbered(arena, request->module, &map->lines, &texts[NUMBERED].size);
    assemble(arena, request, map, texts);
    map->cubin = texts[PLAIN].cubin;
    map->cubin_size = texts[PLAIN].cubin_size;
    map->numbered = texts[NUMBERED].cubin;
    map->numbered_size = texts[NUMBERED].cubin_size;
    if (texts[NUMBERED].problem)
        map->unmapped =
            arena_printf(arena, "a copy with numbered lines cannot be assembled: %s", texts[NUMBERED].problem);
    return texts[PLAIN].problem;
}

/* NULL if done, else the reason why the instructions cannot be mapped. */
static const char *map_lines(Arena *arena, SassMap *map)
{
    if (!same_code(arena, map->cubin, map->cubin_size, map->numbered, map->numbered_size))
        return "with numbered lines the assembler makes other code";
    return line_table_read(arena, map->numbered, map->numbered_size, map->code, map->lines.count);
}

static void add_text(Arena *arena, const SassRequest *request, SassMap *map)
{
    map->listing = request->listing;
    if (!map->listing)
        map->listing = sass_listing(arena, request->disassembler, map->cubin, map->cubin_size, request->life,
                                    &map->no_text);
    if (map->listing)
        sass_code_take_listing(arena, map->code, map->listing, request->life);
}

SassMap *sass_map(Arena *arena, const SassRequest *request, const char **error)
{
    double begin = now();
    SassMap *map = ARENA_NEW(arena, SassMap);
    map->source = request->module->source;
    map->kernel = module_find_function(request->module, request->kernel);
    *error = NULL;
    if (!map->kernel) {
        *error = arena_printf(arena, "the module has no kernel '%s'", request->kernel);
        return NULL;
    }
    map->lines = ptx_lines(arena, request->module);
    *error = make_cubins(arena, request, map);
    if (*error)
        return NULL;
    map->code = sass_code_read(arena, map->cubin, map->cubin_size, request->kernel, error);
    if (!map->code)
        return NULL;
    if (!map->unmapped)
        map->unmapped = map_lines(arena, map);
    map->mapped = !map->unmapped;
    for (uint32_t i = 0; i < map->code->count; i++) {
        if (!map->mapped)
            map->code->instructions[i].ptx = MACHINE_NONE;
        map->mapped_count += map->code->instructions[i].ptx != MACHINE_NONE;
    }
    if (request->disassembler)
        add_text(arena, request, map);
    map->seconds = now() - begin;
    return map;
}
