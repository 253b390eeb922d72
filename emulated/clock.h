/* The time of launches by the time model, if the user wants it. Not a part of driver.h, whose structures of CUDA have
 * names that the model has, too. */
#ifndef PTXOPT_EMULATED_CLOCK_H
#define PTXOPT_EMULATED_CLOCK_H

#include "emulator/emulator.h"
#include "target/target.h"

/* The place where a kernel runs, and its needs there. */
typedef struct ClockPlace {
    const char *architecture;
    unsigned registers;
    uint64_t shared; /* bytes of a block */
} ClockPlace;

bool clock_is_modelled(void);
/* Reads the machine file that $PTXOPT_EMULATED_MACHINE names, if it is set, before the device is first used. False,
 * after printing the error, if that is impossible; then the device stays as it is without the file. */
bool clock_open(void);
/* The device that times are predicted for; NULL if the time is not modelled. */
const Device *clock_device(void);
/* Milliseconds of a run that was made with all counts (EmulatorOptions) and with the form. */
double clock_of_run(Arena *arena, const ClockPlace *place, const FunctionForm *form, const Launch *launch,
                    const EmulatorResult *result);

#endif
