/* The sentences of opt/common/refusals.def, and how their operands are put in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/report/refusal_words.h"

static bool is_part(RefusalReason reason)
{
    static const RefusalReason parts[] = {
#define REFUSAL(id, sentence)
#define PART(id, words) REFUSAL_PART_##id,
#include "opt/common/refusals.def"
#undef REFUSAL
#undef PART
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (parts[i] == reason)
            return true;
    return false;
}

/* A refusal with an operand for each place of its sentence: a number where a plural follows, else a name. */
static Refusal filled(RefusalReason reason)
{
    Refusal refusal = {.reason = reason, .inst = "add.u32"};
    unsigned count = 0;
    for (const char *at = refusal_sentence(reason); (at = strchr(at, '{')) != NULL; at++) {
        if (strncmp(at, "{s}", 3) == 0 || strncmp(at, "{inst}", 6) == 0)
            continue;
        const char *plural = strstr(at, "{s}"), *next = strchr(at + 1, '{');
        assert_true(count < REFUSAL_OPERANDS);
        refusal.operands[count++] = plural && plural == next ? refusal_number(2) : refusal_name("it");
    }
    return refusal;
}

static void test_every_sentence(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (RefusalReason reason = REFUSAL_NONE + 1; reason < REFUSAL_COUNT; reason++) {
        const char *sentence = refusal_sentence(reason);
        const size_t length = strlen(sentence);
        assert_true(length > 0);
        assert_false(strchr(".! ", sentence[length - 1]));
        assert_true(is_part(reason) || sentence[0] != ' ');
        if (reason == REFUSAL_DEMAND)
            continue;
        const Refusal refusal = filled(reason);
        const char *text = refusal_text(arena, &refusal);
        assert_null(strpbrk(text, "{}"));
        assert_null(strstr(text, "  "));
    }
    arena_free(arena);
}

static void test_plurals(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Refusal refusal = {.reason = REFUSAL_FACTOR,
                       .operands = {refusal_number(2), refusal_number(1), refusal_axis(1)}};
    assert_string_equal(refusal_text(arena, &refusal), "the factor 2 is more than the block's 1 thread along y");
    refusal.operands[0] = refusal_number(4);
    refusal.operands[1] = refusal_number(3);
    assert_string_equal(refusal_text(arena, &refusal), "the factor 4 is more than the block's 3 threads along y");
    arena_free(arena);
}

/* A part takes its own operands, and the sentence goes on with the next one. */
static void test_parts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Refusal refusal = {.reason = REFUSAL_BLOCK,
                       .operands = {refusal_number(64), refusal_part(REFUSAL_PART_BLOCK_DECLARED), refusal_number(32)}};
    assert_string_equal(refusal_text(arena, &refusal),
                        "at this factor it needs blocks of at least 64 threads, but .maxntid allows only 32");
    refusal = (Refusal){.reason = REFUSAL_CONDITION_MAY_DIFFER,
                        .inst = "bar.sync",
                        .operands = {refusal_part(REFUSAL_PART_MERGED_THREADS), refusal_name("%p1"), refusal_number(9),
                                     refusal_part(REFUSAL_PART_VALUE_WRITTEN), refusal_part(REFUSAL_PART_VALUE_OF),
                                     refusal_name("ld.u32"), refusal_number(7), refusal_name("bar.arrive"),
                                     refusal_number(8)}};
    assert_string_equal(refusal_text(arena, &refusal),
                        "'bar.sync' is executed under a condition that may differ between the merged threads (%p1 on "
                        "line 9): it depends on 'ld.u32' on line 7, and loads of one address are not merged because "
                        "'bar.arrive' on line 8 may read what another thread writes meanwhile");
    arena_free(arena);
}

static void test_none(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Refusal refusal = {.reason = REFUSAL_NONE};
    assert_false(is_refusal(&refusal));
    assert_string_equal(refusal_text(arena, &refusal), "");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sentence),
        cmocka_unit_test(test_plurals),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
