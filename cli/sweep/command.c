/* "ptxopt sweep": all configurations of a space, into a table. */
#include <signal.h>

#include "cli/sweep/options.h"
#include "engine/engine.h"

static volatile sig_atomic_t is_interrupted;

/* The first interrupt ends the sweep, whose rows are then written; any other ends the process. */
static void on_interrupt(int number)
{
    if (is_interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    is_interrupted = 1;
}

void sweep_watch_interrupts(SweepRequest *request)
{
    struct sigaction before, action = {.sa_handler = on_interrupt};
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN && sigaction(SIGINT, &action, NULL) == 0)
        request->stop = &is_interrupted;
}

int main_sweep(Arena *arena, int argc, char **argv)
{
    SweepRequest request;
    const char *error;
    const OptionsOutcome outcome = sweep_options_parse(arena, argc, argv, &request, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "sweep", sweep_options_help(arena), error);
    sweep_watch_interrupts(&request);
    return sweep_run(arena, &request);
}
