/* "ptxopt tune": the best form of a kernel, by predictions; or what programs have learned by measuring. */
#include "cli/sweep/options.h"
#include "cli/tune/tune.h"

int main_tune(Arena *arena, int argc, char **argv)
{
    TuneOptions options;
    const char *error = NULL;
    const OptionsOutcome outcome = tune_options_parse(arena, argc, argv, &options, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "tune", tune_options_help(arena), error);
    if (is_about_store(&options))
        return tune_store(arena, &options);
    sweep_watch_interrupts(&options.request);
    return tune_run(arena, &options.request);
}
