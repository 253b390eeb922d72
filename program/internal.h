/* What the files of this folder share. */
#ifndef PTXOPT_PROGRAM_INTERNAL_H
#define PTXOPT_PROGRAM_INTERNAL_H

#include "library/library.h"

/* transform_file.c: `ptxopt FILE.ptx`. */
ExitStatus transform_file(const Options *options);

#endif
