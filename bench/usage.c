/* usage DESCRIPTOR COMMAND...: runs a command, then prints its processor seconds and peak resident bytes to DESCRIPTOR.
 *
 * A process inherits the peak of the one that started it, up to its exec; so bench/frontend cannot be the one to start
 * what it measures: Python's own memory would be the least that it could see. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **arguments)
{
    int status;
    struct rusage usage;
    if (count < 3)
        return 126;
    int answer = atoi(arguments[1]);
    pid_t child = fork();
    if (child == 0) {
        close(answer);
        execvp(arguments[2], arguments + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0)
        return 126;
    dprintf(answer, "%.6f %ld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss * 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
