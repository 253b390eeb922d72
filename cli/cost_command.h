/* "ptxopt cost": what a launch of a kernel costs, and what that of another form of it costs. */
#ifndef PTXOPT_CLI_COST_COMMAND_H
#define PTXOPT_CLI_COST_COMMAND_H

#include "engine/engine.h"
#include "cli/commands.h"

ExitStatus cost_file(const CostOptions *options);

#endif
