/* Names of kernels as people write them: mangled, as in C++ source, or with wildcards. */
#ifndef PTXOPT_OPTIONS_KERNEL_NAME_H
#define PTXOPT_OPTIONS_KERNEL_NAME_H

#include "support/support.h"

/* "void f<int>(int*)" is "f<int>(int*)", with its parameters, or "f<int>" without. In the arena; NULL if the name is
 * not a mangled C++ name, or its readable form is too long to be of use. */
const char *kernel_name_demangled(Arena *arena, const char *mangled, bool parameters);

/* True if what the user wrote names the kernel: its mangled name, its demangled name with or without parameters, or a
 * pattern of the shell (fnmatch(3): '*', '?', '[...]') that matches one of the three. */
bool kernel_name_matches(const char *written, const char *mangled);

/* The end of the name that begins a comma-separated list: commas within brackets are part of a C++ name. */
const char *kernel_name_end(const char *list);

#endif
