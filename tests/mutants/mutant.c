/* The mutants of this process, and which of the MUTANTS, as tests/mutants/run defines, it comes to. */
#include "mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char unshared[MUTANTS];
unsigned char *mutants_reached = unshared;
unsigned char mutants_on[MUTANTS];

/* Before other constructors and main. Without the file, or if it cannot be mapped, nothing is recorded. */
__attribute__((constructor(101))) static void choose_mutants(void)
{
    const char *chosen = getenv("PTXOPT_MUTANT"), *path = getenv("PTXOPT_MUTANTS_REACHED");
    while (chosen && *chosen) {
        char *end;
        unsigned long n = strtoul(chosen, &end, 10);
        if (end == chosen)
            break;
        if (n < MUTANTS)
            mutants_on[n] = 1;
        chosen = end + (*end == ',');
    }
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *map = mmap(NULL, MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED)
        mutants_reached = map;
    close(file);
}
