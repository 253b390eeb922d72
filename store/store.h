/* store: measured times of kernels' forms, and which form each launch shape has, in SQLite files below the user's cache
 * folder, one for each kind of device. Programs with a launch adapter read and write them (runtime/), and so does
 * "ptxopt tune". Several processes may do so at once; a process may end at any moment.
 *
 * SQLite is opened at run time, so that nothing has to be linked with it. Nothing here depends on the rest of ptxopt,
 * because it is also a part of programs that ptxopt-nvcc builds. */
#ifndef PTXOPT_STORE_H
#define PTXOPT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The times of one form in launches of one shape; or a block that a kernel has been launched with. */
typedef struct StoreRow {
    bool is_block;              /* hash, kernel, block, device and time alone mean something */
    uint64_t hash;              /* of the kernel's content */
    const char *kernel;         /* its name, for people */
    unsigned grid[3], block[3]; /* of the original's launch */
    uint64_t shared;            /* bytes of dynamic shared memory */
    const char *device;         /* its name */
    int driver;                 /* version, as cuDriverGetVersion gives it */
    const char *form;           /* how it was made: "x2 stride=unit"; "": the original */
    bool is_chosen;             /* such launches run this form */
    unsigned launches;          /* that were timed */
    double milliseconds, variance; /* mean, and of one launch */
    int64_t when;               /* seconds since 1970 */
} StoreRow;

enum { STORE_PATH = 1024, STORE_ERROR = 256 };

/* The folder of the store, $XDG_CACHE_HOME/ptxopt or ~/.cache/ptxopt. False if there is no home. */
bool store_folder(char path[STORE_PATH]);
/* The file for a device. */
bool store_file(const char *device, char path[STORE_PATH]);

/* Calls 'take' for each row of the file, in the order of kernels and shapes, blocks last; texts are valid during the
 * call. 'wait':
 * milliseconds for which another process that writes may hold it up. False, with the reason in 'error', if it cannot be
 * read. A file that is not there has no rows. */
typedef void StoreTake(void *context, const StoreRow *row);
bool store_read(const char *path, int wait, StoreTake *take, void *context, char error[STORE_ERROR]);
/* Writes rows, all or none, in place of those with the same kernel, shape, driver and form, or the same block. If one
 * of them is chosen, no earlier one of its kernel and shape is. Makes the file and its folder. A file that is not a
 * database, or is damaged, is replaced. */
bool store_write(const char *path, int wait, const StoreRow *rows, size_t count, char error[STORE_ERROR]);

#endif
