/* A cache folder for tests that write into the user's, for cmocka_run_group_tests. */
#ifndef PTXOPT_TESTS_CACHE_HOME_H
#define PTXOPT_TESTS_CACHE_HOME_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CACHE_HOME_SIZE = 4096 };

static struct {
    char path[CACHE_HOME_SIZE];
    pid_t owner; /* children that exit leave it */
} cache_home;

static void remove_cache_home(void)
{
    char command[CACHE_HOME_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", cache_home.path);
    if (getpid() == cache_home.owner && system(command) != 0)
        _exit(1);
}

/* It goes when the program ends, after what the code under test writes at exit, which waits for its writing thread. */
static int make_cache_home(void **state)
{
    const char *base = getenv("TEST_TMP");
    snprintf(cache_home.path, sizeof cache_home.path, "%s/cache-XXXXXX", base ? base : "/tmp");
    *state = mkdtemp(cache_home.path);
    if (!*state)
        return -1;
    cache_home.owner = getpid();
    atexit(remove_cache_home);
    return setenv("XDG_CACHE_HOME", cache_home.path, 1);
}

#endif
