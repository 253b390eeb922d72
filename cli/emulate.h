#ifndef PTXOPT_CLI_EMULATE_H
#define PTXOPT_CLI_EMULATE_H

#include "cli/commands.h"
#include "engine/engine.h"

/* "ptxopt run": one launch in the emulator. */
ExitStatus emulate_file(const RunOptions *options);

#endif
