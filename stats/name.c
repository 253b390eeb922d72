/* The names of kernels, as builds can be compared by them and as people read them. */
#include "options/options.h"
#include "stats/internal.h"

/* nvcc puts a hash of the file into the names of what is local to it. */
static bool is_local(const char *kernel)
{
    static const char *const marks[] = {"_GLOBAL__N_", "_INTERNAL_", "__nv_static_"};
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (strstr(kernel, marks[i]))
            return true;
    return false;
}

static size_t hex_length(const char *text) { return strspn(text, "0123456789abcdef"); }

const char *stats_name_stable(Arena *arena, const char *kernel)
{
    enum { HASH_DIGITS = 8 };
    if (!is_local(kernel))
        return kernel;
    char *stable = arena_strndup(arena, kernel, strlen(kernel));
    for (char *at = stable; (at = strchr(at, '_')) != NULL; at++)
        if (hex_length(at + 1) == HASH_DIGITS)
            memset(at + 1, '*', HASH_DIGITS);
    return stable;
}

const char *stats_name_shown(Arena *arena, const char *kernel)
{
    const char *name = kernel_name_demangled(arena, kernel, true);
    return name ? name : kernel;
}
