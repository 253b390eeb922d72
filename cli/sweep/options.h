/* The command line of "ptxopt sweep", and the parts of it that "ptxopt tune" shares. */
#ifndef PTXOPT_CLI_SWEEP_OPTIONS_H
#define PTXOPT_CLI_SWEEP_OPTIONS_H

#include "cli/commands.h"
#include "sweep/sweep.h"

/* -assembler; what is wrong with the value, or NULL. */
const char *sweep_request_assembler(Arena *arena, const char *value, SweepRequest *request);
/* Takes the module and the launches; what is wrong, or NULL. */
const char *sweep_request_files(Arena *arena, const CommandFiles *files, SweepRequest *request);
/* Lets an interrupt end a sweep, unless interrupts are ignored. */
void sweep_watch_interrupts(SweepRequest *request);
/* Lists that are not given become the whole space. */
const char *sweep_request_complete(Arena *arena, SweepRequest *request);

/* As options_parse(): argv[1] is the command. */
OptionsOutcome sweep_options_parse(Arena *arena, int argc, char *const *argv, SweepRequest *request,
                                   const char **error);

#endif
