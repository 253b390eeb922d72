/* The driver's functions that load modules: text of PTX may go through ptxopt first (jit.c). If the driver does not
 * take the result, it gets what the program has given, with all values as they were: it writes to some of them. */
#include <stdlib.h>

#include "runtime/preload.h"

enum { MOST_OPTIONS = 64 };       /* CUjit_option has fewer */
enum { INPUT_PTX = 1 };           /* CU_JIT_INPUT_PTX */
enum { BINARY_IS_PRESERVED = 1 }; /* CU_LIBRARY_BINARY_IS_PRESERVED */

/* The values of options as they were, to be loaded with again. */
typedef struct Values {
    unsigned count;
    void *before[MOST_OPTIONS];
} Values;

/* False: there are too many to be kept. */
static bool values_keep(Values *kept, void *const *values, unsigned count)
{
    kept->count = values ? count : 0;
    if (kept->count > MOST_OPTIONS)
        return false;
    if (kept->count)
        memcpy(kept->before, values, kept->count * sizeof *values);
    return true;
}

static void values_restore(const Values *kept, void **values)
{
    if (kept->count)
        memcpy(values, kept->before, kept->count * sizeof *values);
}

OWN(int, cuModuleLoadDataEx, void **module, const void *image, unsigned count, int *options, void **values)
{
    Values kept;
    if (!real_cuModuleLoadDataEx())
        return NOT_FOUND;
    char *text = values_keep(&kept, values, count) ? jit_text(preload_driver(), image, SIZE_MAX) : NULL;
    const int error = text ? real_cuModuleLoadDataEx()(module, text, count, options, values) : 0;
    if (error) {
        jit_refused(error);
        values_restore(&kept, values);
    }
    const bool is_loaded = text && !error;
    free(text);
    return is_loaded ? 0 : real_cuModuleLoadDataEx()(module, image, count, options, values);
}

/* Loads a text and frees it; false if there is none, or the driver refuses it. */
static bool load_text(int (*load)(void **, const void *), void **module, char *text)
{
    const int error = text && load ? load(module, text) : NOT_FOUND;
    if (text && error)
        jit_refused(error);
    free(text);
    return !error;
}

OWN(int, cuModuleLoadData, void **module, const void *image)
{
    if (!real_cuModuleLoadData())
        return NOT_FOUND;
    return load_text(real_cuModuleLoadData(), module, jit_text(preload_driver(), image, SIZE_MAX))
               ? 0
               : real_cuModuleLoadData()(module, image);
}

OWN(int, cuModuleLoad, void **module, const char *path)
{
    if (!real_cuModuleLoad())
        return NOT_FOUND;
    return load_text(real_cuModuleLoadData(), module, jit_text_of_file(preload_driver(), path))
               ? 0
               : real_cuModuleLoad()(module, path);
}

/* Libraries, with the options of their code and their own. */
typedef struct LibraryOptions {
    int *options;
    void **values;
    unsigned count;
    int *own;
    void **own_values;
    unsigned own_count;
} LibraryOptions;

OWN(int, cuLibraryLoadData, void **library, const void *image, int *options, void **values, unsigned count, int *own,
    void **own_values, unsigned own_count);

/* The same for libraries. A text that the driver does not copy, as the program has asked, stays. */
static bool load_library(void **library, char *text, const LibraryOptions *with)
{
    Values kept;
    bool stays = false;
    for (unsigned i = 0; i < with->own_count && with->own; i++)
        stays |= with->own[i] == BINARY_IS_PRESERVED;
    if (!text || !real_cuLibraryLoadData() || !values_keep(&kept, with->values, with->count)) {
        free(text);
        return false;
    }
    const int error = real_cuLibraryLoadData()(library, text, with->options, with->values, with->count, with->own,
                                               with->own_values, with->own_count);
    if (error) {
        jit_refused(error);
        values_restore(&kept, with->values);
    }
    if (error || !stays)
        free(text);
    return !error;
}

int cuLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned count, int *own,
                      void **own_values, unsigned own_count)
{
    const LibraryOptions with = {options, values, count, own, own_values, own_count};
    if (!real_cuLibraryLoadData())
        return NOT_FOUND;
    return load_library(library, jit_text(preload_driver(), image, SIZE_MAX), &with)
               ? 0
               : real_cuLibraryLoadData()(library, image, options, values, count, own, own_values, own_count);
}

OWN(int, cuLibraryLoadFromFile, void **library, const char *path, int *options, void **values, unsigned count,
    int *own, void **own_values, unsigned own_count)
{
    const LibraryOptions with = {options, values, count, own, own_values, own_count};
    if (!real_cuLibraryLoadFromFile())
        return NOT_FOUND;
    return load_library(library, jit_text_of_file(preload_driver(), path), &with)
               ? 0
               : real_cuLibraryLoadFromFile()(library, path, options, values, count, own, own_values, own_count);
}

/* Linking. */

OWN(int, cuLinkAddData_v2, void *state, int kind, void *data, size_t size, const char *name, unsigned count,
    int *options, void **values);

/* Adds a text and frees it; false if there is none, or the driver refuses it. */
static bool link_text(void *state, char *text, const char *name, unsigned count, int *options, void **values)
{
    Values kept;
    const bool is_possible = text && real_cuLinkAddData_v2() && values_keep(&kept, values, count);
    const int error = is_possible ? real_cuLinkAddData_v2()(state, INPUT_PTX, text, strlen(text) + 1, name, count,
                                                            options, values)
                                  : NOT_FOUND;
    if (is_possible && error) {
        jit_refused(error);
        values_restore(&kept, values);
    }
    free(text);
    return !error;
}

int cuLinkAddData_v2(void *state, int kind, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values)
{
    if (!real_cuLinkAddData_v2())
        return NOT_FOUND;
    char *text = kind == INPUT_PTX ? jit_text(preload_driver(), data, size) : NULL;
    return link_text(state, text, name, count, options, values)
               ? 0
               : real_cuLinkAddData_v2()(state, kind, data, size, name, count, options, values);
}

OWN(int, cuLinkAddFile_v2, void *state, int kind, const char *path, unsigned count, int *options, void **values)
{
    if (!real_cuLinkAddFile_v2())
        return NOT_FOUND;
    char *text = kind == INPUT_PTX ? jit_text_of_file(preload_driver(), path) : NULL;
    return link_text(state, text, path, count, options, values)
               ? 0
               : real_cuLinkAddFile_v2()(state, kind, path, count, options, values);
}

static const struct {
    const char *name;
    void *function;
} loads[] = {
#define LOADS(NAME) {#NAME, (void *)NAME}
    LOADS(cuModuleLoad),
    LOADS(cuModuleLoadData),
    LOADS(cuModuleLoadDataEx),
    LOADS(cuLibraryLoadData),
    LOADS(cuLibraryLoadFromFile),
    LOADS(cuLinkAddData_v2),
    LOADS(cuLinkAddFile_v2),
#undef LOADS
};

void *loads_function(const char *name)
{
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (strcmp(loads[i].name, name) == 0)
            return loads[i].function;
    return NULL;
}
