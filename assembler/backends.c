/* The back ends: their names, the places where they are installed, and the functions that run them. */
#include "assembler/internal.h"

#include <string.h>

static const char *const library_folders[] = {"lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                              NULL};
static const char *const program_folders[] = {"bin", NULL};
static const char *const no_folders[] = {NULL};
static const char *const driver_files[] = {"libcuda.so.1", NULL};
static const char *const nvjitlink_files[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so", NULL};
static const char *const ptxas_files[] = {"ptxas", NULL};

static const Backend backends[ASSEMBLER_KIND_COUNT] = {
    [ASSEMBLER_AUTO] = {.word = "auto", .name = "assembler"},
    /* A toolkit's folder has only stubs of the driver. */
    [ASSEMBLER_DRIVER] = {.word = "driver",
                          .name = "CUDA driver",
                          .variable = "PTXOPT_CUDA_DRIVER",
                          .folders = no_folders,
                          .files = driver_files,
                          .other_file = "/usr/lib/wsl/lib/libcuda.so.1",
                          .engine = &driver_engine},
    [ASSEMBLER_NVJITLINK] = {.word = "nvjitlink",
                             .name = "nvJitLink",
                             .variable = "PTXOPT_NVJITLINK",
                             .folders = library_folders,
                             .files = nvjitlink_files,
                             .engine = &nvjitlink_engine},
    [ASSEMBLER_PTXAS] = {.word = "ptxas",
                         .name = "ptxas",
                         .variable = "PTXOPT_PTXAS",
                         .folders = program_folders,
                         .files = ptxas_files,
                         .program = &ptxas_program},
};

const Backend *backend_of(AssemblerKind kind)
{
    return &backends[kind];
}

const char *assembler_kind_word(AssemblerKind kind)
{
    return backends[kind].word;
}

bool assembler_kind_parse(const char *word, AssemblerKind *kind)
{
    for (AssemblerKind i = 0; i < ASSEMBLER_KIND_COUNT; i++) {
        if (strcmp(word, backends[i].word) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}
