/* The store of what launches have learned (store/). */
#include "store/store.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/cache_home.h"

static StoreRow row_of(uint64_t hash, const char *form, bool is_chosen, double milliseconds)
{
    return (StoreRow){.hash = hash, .kernel = "k", .grid = {9, 1, 1}, .block = {128, 1, 1}, .device = "Test GPU 0",
                      .driver = 12040, .form = form, .is_chosen = is_chosen, .launches = 7,
                      .milliseconds = milliseconds, .variance = 0.0001, .when = 1};
}

static void store_put(const StoreRow *rows, size_t count)
{
    char path[STORE_PATH], error[STORE_ERROR];
    assert_true(store_file("Test GPU 0", path));
    if (!store_write(path, 1000, rows, count, error))
        fail_msg("%s", error);
}

/* Without its journal, SQLite would roll that back into the next file. */
static void store_remove(void)
{
    char path[STORE_PATH], journal[STORE_PATH + 16];
    assert_true(store_file("Test GPU 0", path));
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path);
    unlink(journal);
}

typedef struct Seen {
    unsigned rows, chosen, blocks;
    int64_t last;
    double milliseconds;
    char form[32];
} Seen;

static void see(void *context, const StoreRow *row)
{
    Seen *seen = context;
    seen->rows++;
    seen->blocks += row->is_block;
    seen->last = row->when;
    seen->chosen += row->is_chosen;
    if (!row->is_chosen)
        return;
    seen->milliseconds = row->milliseconds;
    snprintf(seen->form, sizeof seen->form, "%s", row->form);
}

static Seen store_see(void)
{
    char path[STORE_PATH], error[STORE_ERROR] = "";
    Seen seen = {0};
    assert_true(store_file("Test GPU 0", path));
    if (!store_read(path, 1000, see, &seen, error))
        fail_msg("%s", error);
    return seen;
}

static void test_store(void **state)
{
    (void)state;
    char path[STORE_PATH], error[STORE_ERROR];
    assert_true(store_file("Test GPU 0", path));
    assert_non_null(strstr(path, "/ptxopt/Test-GPU-0.sqlite"));
    store_remove();
    assert_int_equal(store_see().rows, 0);
    const StoreRow rows[] = {row_of(~UINT64_C(0), "", false, 1), row_of(~UINT64_C(0), "x2", true, 0.5)};
    store_put(rows, 2);
    assert_int_equal(store_see().rows, 2);
    assert_string_equal(store_see().form, "x2");
    const StoreRow blocks[] = {{.is_block = true, .hash = 5, .kernel = "k", .block = {32, 2, 1}, .device = "Test GPU 0",
                                .form = "", .when = 3},
                               {.is_block = true, .hash = 5, .kernel = "k", .block = {32, 2, 1}, .device = "Test GPU 0",
                                .form = "", .when = 4},
                               {.is_block = true, .hash = 6, .kernel = "j", .block = {32, 2, 1}, .device = "Test GPU 0",
                                .form = "", .when = 9}};
    store_put(blocks, 3);
    assert_int_equal(store_see().rows, 4);
    assert_int_equal(store_see().blocks, 2);
    assert_int_equal(store_see().last, 4); /* the newer one of k, after j */
    const StoreRow other = row_of(~UINT64_C(0), "x4", true, 0.4); /* chosen in place of x2 */
    store_put(&other, 1);
    assert_int_equal(store_see().rows, 5);
    assert_int_equal(store_see().chosen, 1);
    assert_string_equal(store_see().form, "x4");
    FILE *file = fopen(path, "w"); /* not a database */
    fputs("This is not what SQLite writes, but a text that is long enough to be read as its header.\n", file);
    fclose(file);
    Seen seen = {0};
    assert_false(store_read(path, 10, see, &seen, error));
    store_put(rows, 2);
    assert_int_equal(store_see().rows, 2);
    if (geteuid() != 0) { /* for whom nothing is read-only */
        chmod(path, 0400);
        assert_int_equal(store_see().rows, 2);
        assert_false(store_write(path, 10, rows, 2, error));
        chmod(path, 0600);
    }
    assert_false(store_write("/dev/null/none/a.sqlite", 10, rows, 2, error));
}

/* Several processes write, and one of them is killed meanwhile. */
static void test_store_processes(void **state)
{
    (void)state;
    enum { WRITERS = 4, WRITES = 10 };
    pid_t writers[WRITERS + 1];
    char path[STORE_PATH], error[STORE_ERROR];
    assert_true(store_file("Test GPU 0", path));
    store_remove();
    for (unsigned w = 0; w <= WRITERS; w++)
        if ((writers[w] = fork()) == 0) {
            for (unsigned i = 0; i < WRITES || w == WRITERS; i++) {
                const StoreRow row = row_of(w * 1000 + i, "x2", true, 1);
                if (!store_write(path, 20000, &row, 1, error))
                    _exit(1);
            }
            _exit(0);
        }
    usleep(100000);
    kill(writers[WRITERS], SIGKILL);
    for (unsigned w = 0; w <= WRITERS; w++) {
        int status;
        waitpid(writers[w], &status, 0);
        assert_int_equal(status, w == WRITERS ? SIGKILL : 0);
    }
    assert_true(store_see().rows >= WRITERS * WRITES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_store), cmocka_unit_test(test_store_processes)};
    return cmocka_run_group_tests(tests, make_cache_home, NULL);
}
