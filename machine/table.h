/* The folder's own view of the table; others go through machine_for() and machine_list(). */
#ifndef PTXOPT_MACHINE_TABLE_H
#define PTXOPT_MACHINE_TABLE_H

#include "machine/machine.h"

/* By ascending arch. */
extern const Machine machine_table[];
extern const size_t machine_table_count;

#endif
