/* The time of launches by the time model, if the user wants it. Not a part of driver.h, whose structures of CUDA have
 * names that the model has, too. */
#ifndef PTXOPT_EMULATED_CLOCK_H
#define PTXOPT_EMULATED_CLOCK_H

#include "emulator/emulator.h"
#include "target/target.h"

/* The place where a kernel runs, and its needs there. */
typedef struct ClockPlace {
    const char *architecture;
    unsigned multiprocessors, registers;
    uint64_t shared; /* bytes of a block */
} ClockPlace;

bool clock_is_modelled(void);
/* Milliseconds of a run that was made with all counts (EmulatorOptions) and with the form. */
double clock_of_run(Arena *arena, const ClockPlace *place, const FunctionForm *form, const Launch *launch,
                    const EmulatorResult *result);

#endif
