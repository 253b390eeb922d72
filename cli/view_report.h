/* "ptxopt view -report". */
#ifndef PTXOPT_CLI_VIEW_REPORT_H
#define PTXOPT_CLI_VIEW_REPORT_H

#include "cli/commands.h"

/* Runs ptxopt on each of the files and writes the page; the exit status. */
int view_report(const ViewOptions *options);

#endif
