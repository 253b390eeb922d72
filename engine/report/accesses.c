#include "engine/report/accesses.h"

#include "engine/report/json.h"
#include "engine/report/pattern_words.h"

static bool is_access(const InstProfile *inst)
{
    return (inst->unit.pipe == PIPE_GLOBAL || inst->unit.pipe == PIPE_SHARED) && inst->spelling;
}

static double each(const InstProfile *inst, double sum)
{
    return inst->warps > 0 ? sum / inst->warps : 0;
}

void accesses_print_text(const Module *module, const Profile *profile, Buf *out)
{
    Arena *scratch = arena_new();
    buf_printf(out, "accesses, for each execution by a warp:\n  %6s %-24s %-28s %10s %8s %8s %9s\n", "line", "source",
               "instruction", "executions", "sectors", "lines", "conflicts");
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        if (!is_access(inst))
            continue;
        const char *place = loc_short_place(scratch, module, inst->loc);
        buf_printf(out, "  %6u %-24s %-28s %10.0f %8.2f %8.2f %9.2f\n",
                   source_position(module->source, inst->span.begin).line, place ? place : "",
                   inst->spelling, inst->warps, each(inst, inst->sectors), each(inst, inst->lines),
                   each(inst, inst->bank_conflicts));
    }
    arena_free(scratch);
}

json_t *accesses_json(const Module *module, const Profile *profile, const KernelPatterns *patterns)
{
    json_t *array = json_array();
    Arena *scratch = arena_new();
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        if (!is_access(inst))
            continue;
        const char *place = loc_short_place(scratch, module, inst->loc);
        json_t *value = json_object();
        json_object_set_new(value, "line", json_integer(source_position(module->source, inst->span.begin).line));
        json_object_set_new(value, "source", json_text(place));
        json_object_set_new(value, "instruction", json_text(inst->spelling));
        json_object_set_new(value, "executions", json_real(inst->warps));
        json_object_set_new(value, "sectors", json_real(each(inst, inst->sectors)));
        json_object_set_new(value, "lines", json_real(each(inst, inst->lines)));
        json_object_set_new(value, "bank_conflicts", json_real(each(inst, inst->bank_conflicts)));
        if (inst->unit.pipe == PIPE_GLOBAL)
            json_object_set_new(value, "pattern", pattern_json(scratch, patterns, inst->span));
        json_array_append_new(array, value);
    }
    arena_free(scratch);
    return array;
}
