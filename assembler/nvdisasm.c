/* nvdisasm, NVIDIA's disassembler. The cubin is passed in memory; nothing is written to disk. */
#include "assembler/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISASSEMBLY_TIMEOUT_MS 120000

static const char *const folders[] = {"bin", NULL};
static const char *const files[] = {"nvdisasm", NULL};
static const Program no_assembler = {0};

static const Backend nvdisasm = {.word = "nvdisasm",
                                 .name = "nvdisasm",
                                 .variable = "PTXOPT_NVDISASM",
                                 .folders = folders,
                                 .files = files,
                                 .program = &no_assembler};

const Disassembler *disassembler_find(Arena *arena, const char **message)
{
    Candidates candidates = locate(arena, &nvdisasm, NULL);
    *message = NULL;
    if (candidates.paths.count == 0) {
        *message = "nvdisasm was not found: 'ptxopt setup' fetches it; PTXOPT_NVDISASM can name another one";
        return NULL;
    }
    Disassembler *found = ARENA_NEW(arena, Disassembler);
    found->path = candidates.paths.data[0];
    return found;
}

/* A file in memory that holds the cubin; -1, with errno set, if it cannot be created. */
static int cubin_file(const void *cubin, size_t size)
{
    int fd = memfd_create("cubin", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < size) {
        ssize_t count = write(fd, (const char *)cubin + done, size - done);
        if (count < 0 && errno != EINTR) {
            int problem = errno;
            close(fd);
            errno = problem;
            return -1;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return fd;
}

/* The error message; NULL if it ended well. */
static const char *describe(const Disassembler *disassembler, Arena *arena, ProcessEnd end, int status,
                            const char *printed)
{
    if (end == PROCESS_NOT_STARTED)
        return arena_printf(arena, "%s cannot be run: %s", disassembler->path, strerror(status));
    if (end == PROCESS_TIMED_OUT)
        return arena_printf(arena, "%s did not end within %d s", disassembler->path, DISASSEMBLY_TIMEOUT_MS / 1000);
    if (end == PROCESS_INTERRUPTED)
        return "nvdisasm was stopped because this program received a signal to end";
    if (status == 0)
        return NULL;
    Buf ending = {0};
    ending_describe(&ending, status);
    const char *message = arena_printf(arena, "nvdisasm ended %s: %.*s", buf_text(&ending),
                                       (int)strcspn(printed, "\n"), printed);
    buf_free(&ending);
    return message;
}

const char *disassembler_run(const Disassembler *disassembler, Arena *arena, const void *cubin, size_t size,
                             const char *const *options, Buf *text)
{
    int fd = cubin_file(cubin, size);
    if (fd < 0)
        return arena_printf(arena, "cannot keep a cubin in memory: %s", strerror(errno));
    VEC(const char *) arguments = {0};
    VEC_PUSH(arena, arguments, disassembler->path);
    for (size_t i = 0; options[i]; i++)
        VEC_PUSH(arena, arguments, options[i]);
    VEC_PUSH(arena, arguments, arena_printf(arena, "/proc/%ld/fd/%d", (long)getpid(), fd));
    VEC_PUSH(arena, arguments, NULL);
    Outcome outcome = {0};
    SignalHold hold;
    int status;
    signals_hold(&hold);
    ProcessEnd end = process_run(arguments.data, NULL, DISASSEMBLY_TIMEOUT_MS, &hold, &outcome, &status);
    signals_release(&hold);
    close(fd);
    const char *message = describe(disassembler, arena, end, status, buf_text(&outcome.log));
    if (!message)
        buf_write(text, outcome.log.data, outcome.log.length);
    outcome_free(&outcome);
    return message;
}
