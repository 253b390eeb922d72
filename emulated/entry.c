/* Addresses of the driver's functions, by name and version. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"
#include "emulated/log.h"

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

/* The tables that NVIDIA's runtime requests first: 11 and 12, and 13. */
static const uint8_t tables_of_runtime[][16] = {
    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9},
};

/* NVIDIA's libraries ask for tables of private functions. There are none here, and its runtime does nothing without. */
int cuGetExportTable(const void **table, const void *id)
{
    static bool is_told;
    for (size_t i = 0; id && !is_told && i < COUNT_OF(tables_of_runtime); i++) {
        if (memcmp(id, tables_of_runtime[i], sizeof tables_of_runtime[i]) != 0)
            continue;
        is_told = true;
        fprintf(stderr, "Emulated GPU: NVIDIA's own runtime does not work here; link with -cudart shared\n");
        log_open();
        log_add("foreign");
    }
    *table = NULL;
    return NOT_FOUND;
}
