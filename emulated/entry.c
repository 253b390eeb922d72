/* Addresses of the driver's functions, by name and version. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

/* VERSION(function, number of its form, first CUDA version in which the name means that form) */
typedef struct Version {
    const char *name;
    int form, since;
} Version;

#define VERSION(name, form, since) {#name, form, since},
static const Version versions[] = {
#include "emulated/versions.def"
};
#undef VERSION

static int form_of(const char *name, int version)
{
    int form = 1;
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (strcmp(versions[i].name, name) == 0 && version >= versions[i].since && versions[i].form > form)
            form = versions[i].form;
    return form;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    enum { FOUND, MISSING };
    char symbol[256];
    Dl_info own;
    void *library = dladdr(&versions, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    int form = form_of(name, version);
    (void)flags;
    if (form > 1)
        snprintf(symbol, sizeof symbol, "%s_v%d", name, form);
    else
        snprintf(symbol, sizeof symbol, "%s", name);
    *function = library ? dlsym(library, symbol) : NULL;
    if (status)
        *status = *function ? FOUND : MISSING;
    return *function ? DONE : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* NVIDIA's libraries ask for tables of private functions. It has none here. */
int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}
