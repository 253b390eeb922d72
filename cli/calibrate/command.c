/* "ptxopt calibrate": the figures of a device, from the times of kernels. */
#include "cli/calibrate/options.h"

int main_calibrate(Arena *arena, int argc, char **argv)
{
    CalibrateRequest request;
    const char *error = NULL;
    const OptionsOutcome outcome = calibrate_options_parse(arena, argc, argv, &request, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "calibrate", calibrate_options_help(arena), error);
    return calibrate_run(arena, &request);
}
