#include "engine/judge/figures_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name must change whenever the record does. */
#define FILE_NAME "figures-1"

enum { SLOTS = 1 << 16 };

/* A record as it is in the file, in this machine's byte order. */
typedef struct Record {
    TextKey key;
    uint64_t spill_stores, spill_loads, stack, shared, constant, instructions;
    uint32_t registers, barriers, serialized, unused;
    uint64_t checksum; /* of everything before it */
} Record;

static uint64_t checksum(const Record *record)
{
    return hash_fnv(record, offsetof(Record, checksum), HASH_START);
}

static off_t place_of(const TextKey *key)
{
    return (off_t)((key->first ^ key->second) % SLOTS * sizeof(Record));
}

/* Finds the folder, or makes it if it does not exist; false if none is wanted. */
static bool folder_find(char path[PATH_MAX])
{
    const char *given = getenv("PTXOPT_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (given) {
        if (!*given || strcmp(given, "none") == 0)
            return false;
        length = snprintf(path, PATH_MAX, "%s", given);
    } else if (base && *base == '/') {
        length = snprintf(path, PATH_MAX, "%s/ptxopt", base);
    } else if (home && *home == '/') {
        length = snprintf(path, PATH_MAX, "%s/.cache/ptxopt", home);
    } else {
        return false;
    }
    if (length < 0 || length >= PATH_MAX)
        return false;
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = 0;
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *end = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

FiguresCache figures_cache_open(void)
{
    char path[PATH_MAX];
    FiguresCache cache = {-1};
    if (!folder_find(path))
        return cache;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return cache;
    cache.file = openat(folder, FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    close(folder);
    return cache;
}

void figures_cache_close(FiguresCache *cache)
{
    if (cache->file >= 0)
        close(cache->file);
    cache->file = -1;
}

bool figures_cache_find(const FiguresCache *cache, const TextKey *key, Figures *figures)
{
    Record record;
    if (cache->file < 0 || pread(cache->file, &record, sizeof record, place_of(key)) != (ssize_t)sizeof record ||
        memcmp(&record.key, key, sizeof *key) != 0 || record.checksum != checksum(&record))
        return false;
    *figures = (Figures){
        .known = true,
        .serialized = record.serialized,
        .registers = record.registers,
        .barriers = record.barriers,
        .spill_stores = record.spill_stores,
        .spill_loads = record.spill_loads,
        .stack = record.stack,
        .shared = record.shared,
        .constant = record.constant,
        .instructions = record.instructions,
    };
    return true;
}

void figures_cache_store(const FiguresCache *cache, const TextKey *key, const Figures *figures)
{
    if (cache->file < 0 || !figures->known)
        return;
    Record record = {
        .key = *key,
        .spill_stores = figures->spill_stores,
        .spill_loads = figures->spill_loads,
        .stack = figures->stack,
        .shared = figures->shared,
        .constant = figures->constant,
        .instructions = figures->instructions,
        .registers = figures->registers,
        .barriers = figures->barriers,
        .serialized = figures->serialized,
    };
    record.checksum = checksum(&record);
    if (pwrite(cache->file, &record, sizeof record, place_of(key)) != (ssize_t)sizeof record)
        return; /* a full disk only costs the next run time */
}
