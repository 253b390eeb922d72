/* The driver's figures for a GPU, asked by a child process, so that this one does not open it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing/internal.h"

typedef struct Answer {
    bool found;
    GpuDriver driver; /* whose pointers mean nothing elsewhere */
    char message[512];
} Answer;

static _Noreturn void answer(int pipe)
{
    Answer answer = {0};
    Buf message = {0};
    answer.found = gpu_driver_open(&answer.driver, 0, &message);
    snprintf(answer.message, sizeof answer.message, "%s", buf_text(&message));
    _exit(write(pipe, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

static bool read_answer(int pipe, Answer *answer)
{
    size_t got = 0;
    for (ssize_t more; got < sizeof *answer; got += (size_t)more) {
        more = read(pipe, (char *)answer + got, sizeof *answer - got);
        if (more < 0 && errno == EINTR)
            more = 0;
        else if (more <= 0)
            return false;
    }
    return true;
}

bool gpu_device_ask(GpuDriver *driver, Buf *message)
{
    int ends[2];
    Answer answered = {.message = "a process that asks the CUDA driver has ended early"};
    fflush(NULL);
    if (pipe(ends) != 0) {
        buf_puts(message, strerror(errno));
        return false;
    }
    const pid_t process = fork();
    if (process == 0)
        answer(ends[1]);
    close(ends[1]);
    const bool got = process > 0 && read_answer(ends[0], &answered);
    close(ends[0]);
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
        ;
    *driver = (GpuDriver){.version = answered.driver.version,
                          .architecture = answered.driver.architecture,
                          .multiprocessors = answered.driver.multiprocessors,
                          .cache_bytes = answered.driver.cache_bytes,
                          .clock_khz = answered.driver.clock_khz};
    memcpy(driver->name, answered.driver.name, sizeof driver->name);
    if (!got || !answered.found)
        buf_puts(message, answered.message);
    return got && answered.found;
}
