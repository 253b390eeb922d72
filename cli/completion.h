/* "ptxopt completion SHELL": the script with which a shell completes ptxopt's command line. */
#ifndef PTXOPT_CLI_COMPLETION_H
#define PTXOPT_CLI_COMPLETION_H

#include "support/support.h"

/* For bash, zsh or fish, of ptxopt-nvcc and ptxopt-ptxas. False if the shell or the program is another one. */
bool wrapper_completion_print(const char *shell, const char *program, Buf *out);

#endif
