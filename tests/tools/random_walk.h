/* Part of a random kernel: loops that advance pointers. */
#ifndef PTXOPT_TESTS_RANDOM_WALK_H
#define PTXOPT_TESTS_RANDOM_WALK_H

#include "kernel_writer.h"

/* Writes loops that read what %in points to, 256 words, by several pointers, most of which advance alike; they change
 * %v0 to %v3, which differ between threads.  %n is a parameter. */
void random_walk(Writer *to);

#endif
