/* support: arenas, bit sets, names, sources, whole-file writes, diagnostics. */
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    unsigned char *last = NULL;
    for (size_t size = 0; size < 70000; size = size * 2 + 1) {
        unsigned char *memory = arena_alloc(arena, size);
        assert_int_equal((uintptr_t)memory % 16, 0);
        assert_ptr_not_equal(memory, last);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xff, size);
        last = memory;
    }
    assert_true(arena_bytes(arena) >= 70000);
    arena_free(arena);
    arena_free(NULL);
}

static jmp_buf out_of_memory_jump;
static void note_out_of_memory(void)
{
    longjmp(out_of_memory_jump, 1);
}

static void a_size_that_overflows_is_out_of_memory(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    set_out_of_memory_handler(note_out_of_memory);
    if (setjmp(out_of_memory_jump) == 0) {
        arena_array(arena, SIZE_MAX / 2, 4);
        fail_msg("an allocation beyond all memory came back");
    }
    if (setjmp(out_of_memory_jump) == 0) {
        arena_alloc(arena, SIZE_MAX - 8);
        fail_msg("an allocation beyond all memory came back");
    }
    set_out_of_memory_handler(NULL);
    arena_free(arena);
}

static void vectors_keep_their_elements_while_they_grow(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        VEC_PUSH(arena, numbers, i * 3);
    assert_int_equal(numbers.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers.data[i], i * 3);
    assert_int_equal(VEC_POP(numbers), 2997);
    assert_int_equal(VEC_LAST(numbers), 2994);
    arena_free(arena);
}

static void bit_sets_find_members(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    BitSet a = bitset_new(arena, 200), b = bitset_new(arena, 200);
    static const size_t members[] = {0, 63, 64, 127, 128, 199};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        bitset_add(&a, members[i]);
    size_t at = bitset_next(&a, 0);
    for (size_t i = 0; i < COUNT_OF(members); i++, at = bitset_next(&a, at + 1))
        assert_int_equal(at, members[i]);
    assert_true(at == SIZE_MAX);
    assert_true(bitset_next(&a, 200) == SIZE_MAX);
    bitset_add(&b, 5);
    assert_true(bitset_has(&b, 5));
    bitset_remove(&b, 5);
    assert_false(bitset_has(&b, 5));
    bitset_add(&b, 6);
    bitset_copy(&b, &a);
    assert_int_equal(bitset_next(&b, 1), 63);
    bitset_clear(&b);
    assert_true(bitset_next(&b, 0) == SIZE_MAX);
    BitSet none = bitset_new(arena, 0);
    assert_true(bitset_next(&none, 0) == SIZE_MAX);
    arena_free(arena);
}

static void equal_names_are_one_pointer(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Interner *names = interner_new(arena, 0);
    Name first = intern(names, "%r1");
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name%d", i);
        intern(names, text);
    }
    assert_ptr_equal(intern_n(names, "%r12", 3), first);
    assert_ptr_not_equal(intern(names, "%r12"), first);
    assert_string_equal(first, "%r1");
    arena_free(arena);
}

static void the_closest_word_is_close(void **state)
{
    (void)state;
    static const char *const words[] = {"add", "addc", "fma", "setp", "%tid.x"};
    assert_string_equal(closest_word("ad", words, COUNT_OF(words)), "add");
    assert_string_equal(closest_word("step", words, COUNT_OF(words)), "setp");
    assert_string_equal(closest_word("%tidx", words, COUNT_OF(words)), "%tid.x");
    assert_null(closest_word("barrier", words, COUNT_OF(words)));
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_null(closest_word(longest, words, COUNT_OF(words)));
}

static void positions_count_from_one(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char text[] = "ab\n\ncd";
    Source *source = source_from_memory(arena, "f", text, sizeof text - 1);
    static const struct {
        uint32_t offset, line, column;
    } cases[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {5, 3, 2}, {6, 3, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Position position = source_position(source, cases[i].offset);
        assert_int_equal(position.line, cases[i].line);
        assert_int_equal(position.column, cases[i].column);
    }
    Source *empty = source_from_memory(arena, "f", "", 0);
    assert_int_equal(source_position(empty, 0).line, 1);
    arena_free(arena);
}

static char *message_of(const char *text, Span span, bool warnings_are_errors, unsigned *errors)
{
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    Arena *arena = arena_new();
    Diag diag;
    diag_init(&diag, source_from_memory(arena, "k.ptx", text, strlen(text)), stream);
    diag.warnings_are_errors = warnings_are_errors;
    diag_warning(&diag, span, "odd");
    *errors = diag.errors;
    fclose(stream);
    arena_free(arena);
    return out;
}

static void messages_show_the_line_and_a_caret(void **state)
{
    (void)state;
    unsigned errors;
    char *out = message_of("first\n\tadd x;\n", (Span){7, 10}, false, &errors);
    assert_string_equal(out, "k.ptx:2:2: warning: odd\n \tadd x;\n \t^~~\n");
    assert_int_equal(errors, 0);
    free(out);
    out = message_of("first\n", (Span){900, 901}, true, &errors);
    assert_string_equal(out, "k.ptx:2:1: error: odd\n \n ^\n");
    assert_int_equal(errors, 1);
    free(out);
}

static void a_line_without_end_is_cut(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    unsigned errors;
    char *out = message_of(text, (Span){4000, 4002}, false, &errors);
    assert_true(strlen(out) < 600);
    assert_non_null(strstr(out, "k.ptx:1:4001: warning: odd\n"));
    free(out);
}

static void long_words_of_a_message_are_cut(void **state)
{
    (void)state;
    char word[5000], *out = NULL;
    size_t size = 0;
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    FILE *stream = open_memstream(&out, &size);
    Diag diag;
    diag_init(&diag, NULL, stream);
    diag_error(&diag, ((Span){0, 0}), "'%s' and '%.200s' are two words of %s", word, word, word);
    fclose(stream);
    char *expected = NULL;
    assert_true(asprintf(&expected, "ptxopt: error: '%.255s...' and '%.200s' are two words of %.256s...\n", word, word,
                         word) > 0);
    assert_string_equal(out, expected);
    free(expected);
    free(out);
}

static void errors_beyond_the_limit_are_counted_only(void **state)
{
    (void)state;
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    Diag diag;
    diag_init(&diag, NULL, stream);
    diag.error_limit = 2;
    for (int i = 0; i < 5; i++)
        diag_report_plain(&diag, SEVERITY_ERROR, "wrong");
    fclose(stream);
    assert_int_equal(diag.errors, 5);
    assert_string_equal(out, "ptxopt: error: wrong\nptxopt: error: wrong\n"
                             "ptxopt: more than 2 errors; the rest is not shown\n");
    free(out);
}

static void files_are_written_whole_or_not_at_all(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/ptxopt-support-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = arena_printf(arena, "%s/out", folder);
    assert_null(write_file(arena, path, "one", 3));
    assert_int_equal(chmod(path, 0640), 0);
    assert_null(write_file(arena, path, "three", 5));
    const char *error;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    assert_string_equal(source->text, "three");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_non_null(write_file(arena, arena_printf(arena, "%s/none/out", folder), "x", 1));
    assert_non_null(write_file(arena, folder, "x", 1));
    assert_null(write_file(arena, "/dev/null", "x", 1));
    assert_null(source_read(arena, folder, &error));
    assert_non_null(error);
    assert_null(source_read(arena, arena_printf(arena, "%s/none", folder), &error));
    assert_non_null(error);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left in it */
    arena_free(arena);
}

static void buffers_grow_and_stay_terminated(void **state)
{
    (void)state;
    Buf buf = {0};
    assert_string_equal(buf_text(&buf), "");
    for (int i = 0; i < 1000; i++)
        buf_printf(&buf, "%d,", i);
    assert_int_equal(buf.length, strlen(buf_text(&buf)));
    buf_clear(&buf);
    buf_putc(&buf, 'x');
    assert_string_equal(buf_text(&buf), "x");
    buf_free(&buf);
}

static void maps_keep_their_values_while_they_grow(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Map map = {.arena = arena};
    assert_null(map_get(&map, 1));
    for (uint64_t i = 1; i <= 1000; i++)
        map_put(&map, i << 32, i % 7);
    map_put(&map, UINT64_C(5) << 32, 100);
    assert_int_equal(map.count, 1000);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_int_equal(*map_get(&map, i << 32), i == 5 ? 100 : i % 7);
    assert_null(map_get(&map, 1));
    Map copy = map_copy(&map, arena);
    map_clear(&map);
    assert_null(map_get(&map, UINT64_C(5) << 32));
    uint64_t sum = 0;
    for (const MapEntry *entry = map_next(&copy, NULL); entry; entry = map_next(&copy, entry))
        sum += entry->key >> 32;
    assert_int_equal(sum, 500500);
    assert_null(map_next(&map, NULL));
    arena_free(arena);
}

static void random_numbers_are_those_of_the_paper(void **state)
{
    (void)state;
    Random random = {1234567};
    assert_true(random_next(&random) == UINT64_C(6457827717110365317));
    assert_true(random_next(&random) == UINT64_C(3203168211198807973));
    for (uint32_t bound = 1; bound < 100; bound++)
        assert_true(random_below(&random, bound) < bound);
}

static void sizes_are_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(align_up(0, 16), 0);
    assert_int_equal(align_up(1, 16), 16);
    assert_int_equal(align_up(16, 16), 16);
    assert_int_equal(align_up(13, 12), 24);
    assert_int_equal(align_up(13, 0), 13);
    assert_int_equal(divide_up(0, 16), 0);
    assert_int_equal(divide_up(1, 16), 1);
    assert_int_equal(divide_up(16, 16), 1);
    assert_int_equal(divide_up(17, 16), 2);
    assert_true(divide_up(UINT64_MAX, 2) == UINT64_C(1) << 63);
}

typedef struct Left {
    Arena *before; /* made outside */
    unsigned cleaned;
    bool wants_bug;
} Left;

static void leave(void *context)
{
    Left *left = context;
    arena_alloc(left->before, 100);
    Arena *freed = arena_new();
    arena_alloc(arena_new(), 100000);
    arena_free(freed);
    assert_true(guard_active());
    if (left->wants_bug)
        bug("number %d", 7);
    arena_alloc(arena_new(), SIZE_MAX);
}

static void stay(void *context)
{
    Arena **made = context;
    *made = arena_new();
}

static void clean(void *context)
{
    Left *left = context;
    left->cleaned++;
}

static void test_guard(void **state)
{
    (void)state;
    char *message;
    Left left = {.before = arena_new()};
    assert_int_equal(guard_run(leave, clean, &left, &message), GUARD_NO_MEMORY);
    assert_null(message);
    left.wants_bug = true;
    assert_int_equal(guard_run(leave, clean, &left, &message), GUARD_BUG);
    assert_non_null(strstr(message, "number 7 (tests/unit/test_support.c:"));
    free(message);
    assert_int_equal(left.cleaned, 2);
    assert_false(guard_active());
    arena_free(left.before);
    Arena *kept;
    assert_int_equal(guard_run(stay, clean, &kept, &message), GUARD_DONE);
    arena_alloc(kept, 100);
    arena_free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(a_size_that_overflows_is_out_of_memory),
        cmocka_unit_test(vectors_keep_their_elements_while_they_grow),
        cmocka_unit_test(bit_sets_find_members),
        cmocka_unit_test(equal_names_are_one_pointer),
        cmocka_unit_test(the_closest_word_is_close),
        cmocka_unit_test(positions_count_from_one),
        cmocka_unit_test(messages_show_the_line_and_a_caret),
        cmocka_unit_test(a_line_without_end_is_cut),
        cmocka_unit_test(long_words_of_a_message_are_cut),
        cmocka_unit_test(errors_beyond_the_limit_are_counted_only),
        cmocka_unit_test(files_are_written_whole_or_not_at_all),
        cmocka_unit_test(buffers_grow_and_stay_terminated),
        cmocka_unit_test(maps_keep_their_values_while_they_grow),
        cmocka_unit_test(random_numbers_are_those_of_the_paper),
        cmocka_unit_test(sizes_are_rounded_up),
        cmocka_unit_test(test_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
