/* cli: what the program `ptxopt` does: its options, a run of each command, and the reports. */
#ifndef PTXOPT_CLI_H
#define PTXOPT_CLI_H

#include "cli/completion.h"
#include "cli/cost_command.h"
#include "cli/emulate.h"
#include "cli/input.h"
#include "cli/kernel_name.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/setup.h"

#endif
