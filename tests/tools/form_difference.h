/* Running a form of a random kernel in the emulator, against the original. */
#ifndef PTXOPT_TESTS_FORM_DIFFERENCE_H
#define PTXOPT_TESTS_FORM_DIFFERENCE_H

#include "parse_text.h"

#include "emulator/emulator.h"
#include "opt/opt.h"

/* The first difference between what the original of the form in 'text' wrote, and what the form writes when it is
 * launched with the change, or its fault; NULL: there is none. *counters (may be NULL): what it executed. */
static inline const char *form_difference(Arena *arena, const Buf *text, const Launch *launch,
                                          const LaunchChange *change, const EmulatorResult *expected,
                                          const EmulatorOptions *options, EmulatorCounters *counters)
{
    Module *changed = parse_text("changed.ptx", buf_text(text), text->length);
    if (!changed)
        return "the output does not parse";
    EmulatorResult *actual = emulator_run(arena, changed, launch_changed(arena, launch, change), options);
    const char *message = actual->fault.kind != FAULT_NONE
                              ? fault_text(arena, changed, &actual->fault)
                              : emulator_difference(arena, launch, expected, actual,
                                                    (Tolerance){.kind = TOLERANCE_EXACT});
    if (counters)
        *counters = actual->counters;
    arena_free(changed->arena);
    return message;
}

#endif
