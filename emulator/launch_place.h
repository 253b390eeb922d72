/* Where the values of a launch file are. */
#ifndef PTXOPT_EMULATOR_LAUNCH_PLACE_H
#define PTXOPT_EMULATOR_LAUNCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The line of a member of the outermost object, or, if 'index' is not negative, of that element of the member, which is
 * an array. 0: there is none. The text is JSON that was read without an error. */
unsigned launch_line(const char *text, size_t size, const char *key, int index);

#endif
