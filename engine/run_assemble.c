/* Assembling whole modules, in parts if that is asked for. */
#include <stdio.h>

#include "engine/run_steps.h"
#include "split/split.h"

bool run_assemble(Run *run, const AssemblyRequest *request, bool is_output, Assembly *assembly)
{
    const SplitOption *option = &run->options->split;
    if (!option->wanted && !option->seconds)
        return assembler_run(run->assembler, run->arena, request, assembly);
    const SplitRequest split = {.request = *request,
                                .parts = option->wanted ? (int)option->parts : SPLIT_NOT,
                                .limit = {option->seconds, option->level}};
    SplitReport *report = ARENA_NEW(run->arena, SplitReport);
    const bool done = split_run(run->assembler, run->arena, &split, assembly, report);
    if (!is_output)
        return done;
    run->report.split = report;
    run->report.late_level = option->level;
    Buf notes = {0};
    split_notes(report, &split.limit, assembly, "ptxopt", &notes);
    if (!run->options->quiet && (run->options->cubin || run->options->report))
        fputs(buf_text(&notes), run->messages);
    buf_free(&notes);
    return done;
}
