/* The changed form of a kernel that "ptxopt view FILE -- OPTIONS" shows beside the original. */
#ifndef PTXOPT_CLI_VIEW_CHANGE_H
#define PTXOPT_CLI_VIEW_CHANGE_H

#include "cli/commands.h"

/* Reads the options after "--" as those of a run on 'input', with what the picture's own options say of the launch. The
 * architecture may be NULL: the PTX's own. False after a message on standard error. */
bool view_changes_read(Arena *arena, const ViewOptions *options, const char *arch, const char *input,
                       Options *changes);
/* The options of the assembler that a run's PTX is for (Products.knobs, which may be NULL), as a list that ends with
 * NULL. */
const char *const *view_knobs(Arena *arena, const char *knobs);

/* Runs ptxopt with the options after "--" on the PTX of 'before', and reads the result. False after a message on
 * standard error, with *status, which is EXIT_USAGE if the options are wrong. */
bool view_side_change(ViewSide *side, Arena *arena, const ViewOptions *options, const ViewSide *before,
                      ExitStatus *status);

#endif
