/* The input of "ptxopt view": one of the two files that it compares. */
#ifndef PTXOPT_CLI_VIEW_SIDE_H
#define PTXOPT_CLI_VIEW_SIDE_H

#include "cli/commands.h"
#include "engine/engine.h"
#include "view/view.h"

/* Zeroed before it is read; run_close() of 'run' ends its assembler, whether or not it could be read. */
typedef struct ViewSide {
    Options options;
    Run run;
    ViewSource source;
    const View *view;
} ViewSide;

/* Reads PTX, a cubin, or a file with device code in it, and makes the picture of the kernel that the options name.
 * False after a message on standard error. */
bool view_side_read(ViewSide *side, Arena *arena, const ViewOptions *options, const char *path);
/* The same for a text in memory, which is assembled with more options of the assembler, a list that ends with NULL. */
bool view_side_read_text(ViewSide *side, Arena *arena, const ViewOptions *options, Source *source,
                         const char *const *assembler_options);

#endif
