/* The changed form of a kernel that "ptxopt view FILE -- OPTIONS" shows beside the original. */
#ifndef PTXOPT_CLI_VIEW_CHANGE_H
#define PTXOPT_CLI_VIEW_CHANGE_H

#include "cli/view_side.h"

/* Runs ptxopt with the options after "--" on the PTX of 'before', and reads the result. False after a message on
 * standard error, with *status, which is EXIT_USAGE if the options are wrong. */
bool view_side_change(ViewSide *side, Arena *arena, const ViewOptions *options, const ViewSide *before,
                      ExitStatus *status);

#endif
