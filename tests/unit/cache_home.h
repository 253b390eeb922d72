/* A cache folder for tests that write into the user's, for cmocka_run_group_tests. */
#ifndef PTXOPT_TESTS_CACHE_HOME_H
#define PTXOPT_TESTS_CACHE_HOME_H

#include <stdio.h>
#include <stdlib.h>

enum { CACHE_HOME_SIZE = 4096 };

static int make_cache_home(void **state)
{
    static char home[CACHE_HOME_SIZE];
    const char *base = getenv("TEST_TMP");
    snprintf(home, sizeof home, "%s/cache-XXXXXX", base ? base : "/tmp");
    *state = mkdtemp(home);
    setenv("XDG_CACHE_HOME", home, 1);
    return *state ? 0 : -1;
}

static int remove_cache_home(void **state)
{
    char command[CACHE_HOME_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    return system(command);
}

#endif
