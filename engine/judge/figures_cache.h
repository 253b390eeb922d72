/* Figures of texts that have been assembled before, on disk. */
#ifndef PTXOPT_ENGINE_FIGURES_CACHE_H
#define PTXOPT_ENGINE_FIGURES_CACHE_H

#include "opt/opt.h"

/* The identity of a text and everything else that determines an assembler's result: its length and two 64-bit hashes,
 * all three of which a false match would need. */
typedef struct TextKey {
    uint64_t length, first, second;
} TextKey;

/* A table of fixed size in one file; storing a figure may replace another. Processes may share it: each record has a
 * checksum, and a torn or foreign one is not found. */
typedef struct FiguresCache {
    int file; /* -1: there is none */
} FiguresCache;

/* The file is figures-N in $PTXOPT_CACHE, or in ptxopt/ below $XDG_CACHE_HOME or ~/.cache; "none" or an empty variable
 * means no cache. If the file cannot be made, there is no cache, on which nothing depends. */
FiguresCache figures_cache_open(void);
void figures_cache_close(FiguresCache *cache);

bool figures_cache_find(const FiguresCache *cache, const TextKey *key, Figures *figures);
/* Only known figures are stored. */
void figures_cache_store(const FiguresCache *cache, const TextKey *key, const Figures *figures);

#endif
