/* libdw, loaded when a line table is read for the first time: with the libraries that it needs, it would take a third
 * of a millisecond of each start, and most runs read no machine code. */
#include "sass/dwarf.h"
#include "sass/sass.h"

#include <dlfcn.h>
#include <pthread.h>

static DwarfFunctions functions;
static const char *problem;

static void load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW);
    bool all = library != NULL;
#define LOAD(name) all = all && (*(void **)&functions.name = dlsym(library, "dwarf_" #name)) != NULL;
    DWARF_FUNCTIONS(LOAD)
#undef LOAD
    if (!all)
        problem = "libdw.so.1 (elfutils 0.173 or newer) is not installed";
}

const DwarfFunctions *dwarf_functions(const char **error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *error = problem;
    return problem ? NULL : &functions;
}

const char *sass_lines_missing(void)
{
    const char *missing;
    dwarf_functions(&missing);
    return missing;
}
