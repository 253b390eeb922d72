/* What "run" and -verify share: launches by contract, and what the emulator tells. */
#ifndef PTXOPT_CLI_EMULATE_H
#define PTXOPT_CLI_EMULATE_H

#include <jansson.h>

#include "cli/options.h"
#include "cli/run.h"
#include "emulator/emulator.h"

/* The launch that a launch file of the original kernel means for what the module holds: the same, or, where the module
 * carries a launch contract for the kernel, the one by that contract.  NULL with *error set if the launch does not meet
 * it.  *contract_out says whether there is one, if not NULL. */
Launch *launch_by_contract(Arena *arena, const Module *module, const Launch *launch, bool *has_contract,
                           const char **error);

/* {"warp_instructions": ...}; docs/formats.md, "Counters". */
json_t *counters_json(const EmulatorCounters *counters);

/* How many cores a launch is worth: all that the process may use, or one. */
unsigned launch_jobs(const Launch *launch);

/* "ptxopt run": one launch in the emulator. */
ExitStatus emulate_file(const RunOptions *options);

#endif
