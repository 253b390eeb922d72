/* Parts of a random kernel: loops that advance pointers, and loads whose values are used late. */
#ifndef PTXOPT_TESTS_RANDOM_WALK_H
#define PTXOPT_TESTS_RANDOM_WALK_H

#include "kernel_writer.h"

/* Writes loops that read the 256 words at %in by several pointers, most of which advance alike; they change %v0 to %v3,
 * which differ between threads. %n is a parameter. */
void random_walk(Writer *to);

/* Writes loads from the thread's own 12 words at %own, stores to them under conditions and in loops, and late uses of
 * the loaded values; it changes %v0 to %v3. */
void random_keep(Writer *to);

#endif
