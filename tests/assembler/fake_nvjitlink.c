// An nvJitLink that compiles nothing, for test_assembler_faults: the cubin of every link is the file $FAKE_CUBIN.
// $FAKE_MODE makes it fail in one way. With VERSIONED it has only names such as __nvJitLinkCreate_12_1, as old ones
// do.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef VERSIONED
#define NAME(name) __nvJitLink##name##_12_1
#else
#define NAME(name) nvJitLink##name
#endif

static const char words[] = "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
                            "ptxas info    : Function properties for first\n"
                            "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                            "ptxas info    : Used 20 registers, 360 bytes cmem[0]\n";

static int is_probe = 1;

static int mode_is(const char *name)
{
    const char *mode = getenv("FAKE_MODE");
    return !is_probe && mode && strcmp(mode, name) == 0;
}

// Writes the process number of the worker where the test finds it.
__attribute__((constructor)) static void loaded(void)
{
    const char *path = getenv("FAKE_PID_FILE"), *mode = getenv("FAKE_MODE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    if (mode && strcmp(mode, "crash-on-load") == 0)
        abort();
}

int NAME(Create)(void **handle, uint32_t count, const char **options)
{
    *handle = strdup("link");
    for (uint32_t i = 0; i < count; i++)
        printf("%s ", options[i]);
    fflush(stdout);
    return 0;
}

int NAME(Destroy)(void **handle)
{
    free(*handle);
    *handle = NULL;
    return 0;
}

int NAME(AddData)(void *handle, int type, const void *data, size_t size, const char *name)
{
    is_probe = strstr(data, "ptxopt_probe") != NULL;
    return handle && name && type == 2 && size > 0 ? 0 : 3;
}

int NAME(Complete)(void *handle)
{
    if (mode_is("crash")) {
        fprintf(stderr, "the last words\n");
        abort();
    }
    if (mode_is("exit"))
        exit(0);
    if (mode_is("hang"))
        for (;;)
            sleep(1);
    if (mode_is("overwrite"))
        for (int fd = 3; fd < 64; fd++) {
            char garbage[64];
            memset(garbage, 0xee, sizeof garbage);
            if (write(fd, garbage, sizeof garbage) < 0)
                break;
        }
    return !handle || mode_is("reject") ? 4 : 0;
}

int NAME(GetLinkedCubinSize)(void *handle, size_t *size)
{
    (void)handle;
    *size = mode_is("no-cubin") ? 0 : mode_is("huge-cubin") ? (size_t)-1 : mode_is("garbage-cubin") ? 100 : 4096;
    FILE *file = fopen(getenv("FAKE_CUBIN"), "rb");
    if (file && *size == 4096) {
        fseek(file, 0, SEEK_END);
        *size = (size_t)ftell(file);
    }
    if (file)
        fclose(file);
    return 0;
}

int NAME(GetLinkedCubin)(void *handle, void *cubin)
{
    (void)handle;
    FILE *file = mode_is("garbage-cubin") ? NULL : fopen(getenv("FAKE_CUBIN"), "rb");
    if (!file)
        memset(cubin, 0x5a, 100);
    else if (fread(cubin, 1, 1 << 20, file) == 0)
        return 6;
    if (file)
        fclose(file);
    return 0;
}

int NAME(GetErrorLogSize)(void *handle, size_t *size)
{
    (void)handle;
    *size = 0;
    return 0;
}

int NAME(GetErrorLog)(void *handle, char *log)
{
    (void)handle;
    *log = 0;
    return 0;
}

int NAME(GetInfoLogSize)(void *handle, size_t *size)
{
    (void)handle;
    *size = mode_is("huge-log") ? (size_t)-1 : mode_is("silent") ? 0 : sizeof words;
    return 0;
}

#ifndef INCOMPLETE
int NAME(GetInfoLog)(void *handle, char *log)
{
    (void)handle;
    memcpy(log, words, sizeof words);
    return 0;
}
#endif
