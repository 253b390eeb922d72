/* Regressions from abusing the program that no case file can express. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/support.h"

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static void check_text(Arena *arena, const char *path, const char *text)
{
    const char *error;
    const Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    assert_string_equal(source->text, text);
}

/* An output file that is a symbolic link used to be replaced, even /dev/stdout if standard output is a file. */
static void links_stay_and_what_they_lead_to_is_written(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/ptxopt-torture-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(mkdir(arena_printf(arena, "%s/inner", folder), 0755), 0);
    char *file = arena_printf(arena, "%s/inner/file", folder);
    char *near = arena_printf(arena, "%s/inner/near", folder);
    char *far = arena_printf(arena, "%s/far", folder);
    char *whole = arena_printf(arena, "%s/whole", folder);
    char *circle = arena_printf(arena, "%s/circle", folder);
    assert_int_equal(symlink("file", near), 0);
    assert_int_equal(symlink("inner/near", far), 0);
    assert_int_equal(symlink(file, whole), 0);
    assert_int_equal(symlink("circle", circle), 0);
    assert_null(write_file(arena, far, "made", 4)); /* it was a dangling link before */
    check_text(arena, file, "made");
    assert_null(write_file(arena, near, "near", 4));
    check_text(arena, file, "near");
    assert_null(write_file(arena, whole, "whole", 5));
    check_text(arena, file, "whole");
    assert_non_null(write_file(arena, circle, "x", 1));
    assert_true(is_link(near) && is_link(far) && is_link(whole) && is_link(circle));
    const char *const made[] = {file, near, far, whole, circle};
    for (size_t i = 0; i < COUNT_OF(made); i++)
        assert_int_equal(unlink(made[i]), 0);
    assert_int_equal(rmdir(arena_printf(arena, "%s/inner", folder)), 0);
    assert_int_equal(rmdir(folder), 0);
    arena_free(arena);
}

static void descriptors_are_written_where_they_stand(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/ptxopt-torture-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "before ", 7), 7);
    assert_null(write_file(arena, arena_printf(arena, "/dev/fd/%d", file), "here ", 5));
    assert_null(write_file(arena, arena_printf(arena, "/proc/self/fd/%d", file), "there ", 6));
    assert_int_equal(write(file, "after", 5), 5);
    check_text(arena, path, "before here there after");
    assert_int_equal(close(file), 0);
    assert_non_null(write_file(arena, arena_printf(arena, "/dev/fd/%d", file), "x", 1));
    assert_int_equal(unlink(path), 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_stay_and_what_they_lead_to_is_written),
        cmocka_unit_test(descriptors_are_written_where_they_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
