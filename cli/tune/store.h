/* Shared by the files of "ptxopt tune" that are about the store. */
#ifndef PTXOPT_CLI_TUNE_STORE_H
#define PTXOPT_CLI_TUNE_STORE_H

#include "store/store.h"
#include "support/support.h"

typedef VEC(StoreRow) StoreRows;

/* store_json.c: Kernel Tuner's caches. */
/* Writes the rows of one kernel and shape to a file in the folder. NULL, or what is wrong. */
const char *rows_export(Arena *arena, const char *folder, const StoreRow *rows, size_t count);
/* Adds the rows of such a file, in the arena. NULL, or what is wrong. */
const char *rows_import(Arena *arena, const char *path, StoreRows *rows);

#endif
