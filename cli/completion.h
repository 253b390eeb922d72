/* "ptxopt completion SHELL": the script with which a shell completes ptxopt's command line. */
#ifndef PTXOPT_CLI_COMPLETION_H
#define PTXOPT_CLI_COMPLETION_H

#include "support/support.h"

/* For bash, zsh or fish, from the tables of the options. False if the shell is another one. */
bool completion_print(const char *shell, Buf *out);
/* The same for ptxopt-nvcc and ptxopt-ptxas. False if it is another program, too. */
bool wrapper_completion_print(const char *shell, const char *program, Buf *out);

#endif
