/* `ptxopt FILE.ptx`: a run over files. */
#ifndef PTXOPT_CLI_TRANSFORM_FILE_H
#define PTXOPT_CLI_TRANSFORM_FILE_H

#include "library/library.h"

ExitStatus transform_file(const Options *options);

#endif
