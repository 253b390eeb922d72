/* The log of what a program does with the device. */
#ifndef PTXOPT_EMULATED_LOG_H
#define PTXOPT_EMULATED_LOG_H

#include <stdbool.h>

/* Opens the log, if there is to be one; before anything else. False, after printing the error, if that fails. */
bool log_open(void);
bool log_is_open(void);
/* Adds a line. */
__attribute__((format(printf, 1, 2))) void log_add(const char *format, ...);

#endif
