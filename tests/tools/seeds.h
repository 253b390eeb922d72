/* The functions that tools share to check random kernels by their seeds. */
#ifndef PTXOPT_TESTS_SEEDS_H
#define PTXOPT_TESTS_SEEDS_H

#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The words of a tool: [-v] [-d FOLDER] SEEDS. Gives the last, or NULL if they are not these. */
static inline const char *seeds_word(int count, char **words, bool *verbose, const char **folder)
{
    for (int option; (option = getopt(count, words, "vd:")) != -1;) {
        if (option != 'v' && option != 'd')
            return NULL;
        if (option == 'v')
            *verbose = true;
        else
            *folder = optarg;
    }
    return optind + 1 == count ? words[optind] : NULL;
}

/* "SEED,COUNT", or "SEED" for one: calls 'check' with each, after printing it if 'verbose'. */
static inline void each_seed(const char *text, bool verbose, void (*check)(void *context, uint64_t seed), void *context)
{
    char *rest;
    uint64_t seed = strtoull(text, &rest, 10), many = *rest == ',' ? strtoull(rest + 1, NULL, 10) : 1;
    for (uint64_t i = 0; i < many; i++) {
        if (verbose)
            printf("seed %llu\n", (unsigned long long)(seed + i));
        fflush(stdout);
        check(context, seed + i);
    }
}

/* Writes a wrong output and its original to the folder, unless that is NULL, as NAME.SEED.ptx and
 * NAME.SEED.original.ptx. */
static inline void keep_wrong(Arena *arena, const char *folder, const char *name, uint64_t seed, const Buf *output,
                              const Buf *original)
{
    if (!folder)
        return;
    char *path = arena_printf(arena, "%s/%s.%llu.ptx", folder, name, (unsigned long long)seed);
    write_file(arena, path, buf_text(output), output->length);
    path = arena_printf(arena, "%s/%s.%llu.original.ptx", folder, name, (unsigned long long)seed);
    write_file(arena, path, buf_text(original), original->length);
}

/* Says what is wrong with the output, and keeps it. */
static inline void report_wrong(Arena *arena, const char *folder, const char *name, uint64_t seed, const char *message,
                                const Buf *output, const Buf *original)
{
    printf("seed %llu: WRONG: %s\n", (unsigned long long)seed, message);
    keep_wrong(arena, folder, name, seed, output, original);
}

#endif
