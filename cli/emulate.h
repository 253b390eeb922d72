/* What "ptxopt run" and -verify share: launches by contract, and counters as JSON. */
#ifndef PTXOPT_CLI_EMULATE_H
#define PTXOPT_CLI_EMULATE_H

#include <jansson.h>

#include "cli/options.h"
#include "cli/run.h"
#include "emulator/emulator.h"

/* Adapts a launch of the original kernel to the module: if the module has a launch contract for the kernel, it
 * is changed as that says, and *has_contract is set.  NULL with *error set if the launch does not meet the contract. */
Launch *launch_by_contract(Arena *arena, const Module *module, const Launch *launch, bool *has_contract,
                           const char **error);

/* {"warp_instructions": ...}; docs/formats.md, "Counters". */
json_t *counters_json(const EmulatorCounters *counters);

/* How many cores pay off for a launch: all that the process may use, or one for a small launch. */
unsigned launch_jobs(const Launch *launch);

/* "ptxopt run": one launch in the emulator. */
ExitStatus emulate_file(const RunOptions *options);

#endif
