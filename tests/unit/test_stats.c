/* Tables of kernels' figures, the matching of two builds, and the conditions by which a build fails (stats/). */
#include "stats/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static Stats new_stats(void) { return (Stats){.arena = arena_new()}; }

static StatsRow *add(Stats *stats, const char *file, const char *kernel, const char *arch, double registers)
{
    StatsRow row = stats_row_new(file, kernel, arch);
    row.values[STATS_REGISTERS] = registers;
    VEC_PUSH(stats->arena, stats->rows, row);
    return &VEC_LAST(stats->rows);
}

/* True if the condition, which must be one, holds for the pair. */
static bool holds(const char *text, const StatsRow *base, const StatsRow *now)
{
    Arena *arena = arena_new();
    const char *error;
    StatsFailures failures = {0};
    const StatsCondition *condition = stats_condition_read(arena, text, &error);
    assert_non_null(condition);
    stats_condition_check(arena, condition, &(StatsPair){base, now}, &failures);
    const bool result = failures.count == 1;
    arena_free(arena);
    return result;
}

static void test_conditions_on_a_figure(void **state)
{
    (void)state;
    Stats stats = new_stats();
    const StatsRow *row = add(&stats, "k.ptx", "k", "sm_90", 32);
    assert_true(holds("registers>31", NULL, row));
    assert_false(holds("registers>32", NULL, row));
    assert_true(holds("registers>=32", NULL, row));
    assert_false(holds("registers>=33", NULL, row));
    assert_true(holds("registers<33", NULL, row));
    assert_false(holds("registers<32", NULL, row));
    assert_true(holds("registers<=32", NULL, row));
    assert_false(holds("registers<=31", NULL, row));
    assert_true(holds("registers=32", NULL, row));
    assert_true(holds("registers==32", NULL, row));
    assert_false(holds("registers=31", NULL, row));
    /* Unknown figures fulfil no condition. */
    assert_false(holds("spills>=0", NULL, row));
    assert_false(holds("spills<1", NULL, row));
    arena_free(stats.arena);
}

static void test_conditions_on_a_change(void **state)
{
    (void)state;
    Stats stats = new_stats();
    StatsRow base = *add(&stats, "k.ptx", "k", "sm_90", 40), now = base;
    now.values[STATS_REGISTERS] = 48;
    base.values[STATS_SPILLS] = 0;
    now.values[STATS_SPILLS] = 4;
    base.values[STATS_WARPS] = 48;
    now.values[STATS_WARPS] = 32;
    assert_true(holds("registers+8", &base, &now));
    assert_false(holds("registers+9", &base, &now));
    assert_true(holds("registers+20%", &base, &now));
    assert_false(holds("registers+21%", &base, &now));
    assert_true(holds("spills+50%", &base, &now)); /* of nothing */
    assert_true(holds("warps-16", &base, &now));
    assert_false(holds("warps-17", &base, &now));
    assert_false(holds("warps+1", &base, &now));
    assert_false(holds("registers+8", NULL, &now)); /* a new kernel has not changed */
    assert_false(holds("registers+1", &base, NULL));
    assert_false(holds("registers+1", &base, &base));
    assert_false(holds("spills+50%", &base, &base));
    assert_false(holds("time+1%", &base, &now)); /* unknown */
    arena_free(stats.arena);
}

static void test_conditions_on_some_kernels(void **state)
{
    (void)state;
    Stats stats = new_stats();
    const StatsRow *row = add(&stats, "k.ptx", "_ZN1a1kIiEEvPT_", "sm_90", 32);
    assert_true(holds("a::k<int>:registers>0", NULL, row));
    assert_true(holds("a::*:registers>0", NULL, row));
    assert_true(holds("_ZN1a1kIiEEvPT_:registers>0", NULL, row));
    assert_false(holds("b::k:registers>0", NULL, row));
    arena_free(stats.arena);
}

static void test_wrong_conditions(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"registers", "expected a comparison"},  {"", "is not a figure"},
        {"regs>1", "there are registers"},       {"registers>", "is not a number"},
        {"registers>x", "is not a number"},      {"registers>1x", "is not a number"},
        {"registers>1%", "is not a number"},     {"registers+0", "is none"},
        {"registers>-1", "is not a number"},     {"registers+8%%", "percent sign"},
        {"registers>inf", "is not a number"},    {"registers>nan", "is not a number"},
        {"k:", "is not a figure"},               {">1", "is not a figure"},
    };
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const char *error = NULL;
        assert_null(stats_condition_read(arena, wrong[i][0], &error));
        assert_non_null(strstr(error, wrong[i][1]));
    }
    arena_free(arena);
}

static void assert_same_rows(const Stats *one, const Stats *other)
{
    assert_int_equal(one->rows.count, other->rows.count);
    for (size_t i = 0; i < one->rows.count; i++) {
        assert_string_equal(one->rows.data[i].file, other->rows.data[i].file);
        assert_string_equal(one->rows.data[i].kernel, other->rows.data[i].kernel);
        assert_string_equal(one->rows.data[i].arch, other->rows.data[i].arch);
        for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++) {
            const double a = one->rows.data[i].values[column], b = other->rows.data[i].values[column];
            assert_true(isnan(a) ? isnan(b) : a == b);
        }
    }
}

static Source *as_source(Arena *arena, Buf *text)
{
    Source *source = source_from_memory(arena, "table", buf_text(text), text->length);
    buf_free(text);
    return source;
}

static void test_tables_are_read_as_written(void **state)
{
    (void)state;
    Stats stats = new_stats();
    add(&stats, "a b.ptx", "k", "sm_90", 32)->values[STATS_TIME] = 12.25;
    add(&stats, "lib.a(x.o)", "_Z1kPf", "sm_100a", NAN);
    void (*const prints[])(const Stats *, Buf *) = {stats_print_tsv, stats_print_json};
    for (size_t i = 0; i < COUNT_OF(prints); i++) {
        Stats read = new_stats();
        Buf text = {0};
        prints[i](&stats, &text);
        const Source *source = as_source(read.arena, &text);
        assert_true(stats_is_table(source));
        assert_null(stats_read_table(&read, source));
        assert_same_rows(&stats, &read);
        arena_free(read.arena);
    }
    arena_free(stats.arena);
}

static void test_tables_of_other_versions(void **state)
{
    (void)state;
    Stats stats = new_stats();
    Buf text = {0};
    /* One column that is not known, none of the others, Windows' line ends, and an empty line. */
    buf_puts(&text, "file\tarch\tkernel\tfuture\tregisters\r\nf\tsm_90\tk\t7\t32\r\n\r\n");
    assert_null(stats_read_table(&stats, as_source(stats.arena, &text)));
    assert_int_equal(stats.rows.count, 1);
    assert_true(stats.rows.data[0].values[STATS_REGISTERS] == 32);
    assert_true(isnan(stats.rows.data[0].values[STATS_SPILLS]));
    arena_free(stats.arena);
}

static void test_wrong_tables(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"file\tarch\tkernel\tregisters\nf\tsm_90\tk\n", "table:2: there are 3 fields"},
        {"file\tarch\tkernel\tregisters\nf\tsm_90\tk\tmany\n", "table:2: registers 'many' is not a number"},
        {"file\tarch\tkernel\tregisters\nf\tsm_90\tk\t\n", "is not a number"},
        {"{\"format\":\"other\",\"kernels\":[]}", "not a table"},
        {"{\"format\":\"ptxopt-stats\",\"version\":2,\"kernels\":[]}", "another version"},
        {"{\"format\":\"ptxopt-stats\",\"version\":1,\"kernels\":[{}]}", "kernel 1 has no file"},
        {"{\"format\":\"ptxopt-stats\",\"version\":1,\"kernels\":[{\"file\":\"f\",\"arch\":\"a\",\"kernel\":\"k\","
         "\"registers\":\"x\"}]}",
         "kernel 1: registers is not a number"},
        {"{", "table:1:"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        Stats stats = new_stats();
        const Source *source = source_from_memory(stats.arena, "table", wrong[i][0], strlen(wrong[i][0]));
        const char *error = stats_read_table(&stats, source);
        assert_non_null(error);
        assert_non_null(strstr(error, wrong[i][1]));
        arena_free(stats.arena);
    }
}

static const StatsPair *find_pair(const StatsDiff *diff, const StatsRow *now)
{
    for (size_t i = 0; i < diff->pairs.count; i++)
        if (diff->pairs.data[i].now && strcmp(diff->pairs.data[i].now->file, now->file) == 0 &&
            strcmp(diff->pairs.data[i].now->kernel, now->kernel) == 0)
            return &diff->pairs.data[i];
    return NULL;
}

static void test_kernels_are_matched(void **state)
{
    (void)state;
    Stats base = new_stats(), now = new_stats();
    StatsDiff diff;
    add(&base, "old/a.o", "k", "sm_80", 1);
    add(&base, "old/b.o", "k", "sm_90", 2);
    add(&base, "old/a.o", "k", "sm_90", 3);
    add(&base, "x.o", "gone", "sm_90", 4);
    add(&base, "x.o", "_ZN33_GLOBAL__N__b9467fa6_5_t1_cu_main3hidEPf", "sm_90", 5);
    StatsRow k_in_a = *add(&now, "new/a.o", "k", "sm_90", 3), k_in_b = *add(&now, "new/b.o", "k", "sm_90", 2);
    StatsRow fresh = *add(&now, "x.o", "fresh", "sm_90", 6);
    StatsRow hidden = *add(&now, "x.o", "_ZN33_GLOBAL__N__00ffee11_5_t1_cu_main3hidEPf", "sm_90", 5);
    stats_match(&base, &now, &diff);
    assert_int_equal(diff.pairs.count, 6);
    const StatsRow *same[] = {&k_in_a, &k_in_b, &hidden};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        const StatsPair *pair = find_pair(&diff, same[i]);
        assert_non_null(pair->base);
        assert_true(pair->base->values[STATS_REGISTERS] == pair->now->values[STATS_REGISTERS]);
    }
    assert_null(find_pair(&diff, &fresh)->base);
    assert_null(diff.pairs.data[4].now);
    assert_string_equal(diff.pairs.data[4].base->arch, "sm_80");
    assert_string_equal(diff.pairs.data[5].base->kernel, "gone");
    arena_free(base.arena);
    arena_free(now.arena);
}

static void test_what_was_built_again_counts_once(void **state)
{
    (void)state;
    Stats base = new_stats(), now = new_stats();
    StatsDiff diff;
    add(&base, "a.cu", "k", "sm_90", 10);
    add(&base, "a.cu", "k", "sm_90", 20);
    add(&now, "a.cu", "k", "sm_90", 30);
    stats_match(&base, &now, &diff);
    assert_int_equal(diff.pairs.count, 1);
    assert_true(diff.pairs.data[0].base->values[STATS_REGISTERS] == 20);
    arena_free(base.arena);
    arena_free(now.arena);
}

static void test_names_without_hashes(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"_ZN33_GLOBAL__N__b9467fa6_5_t1_cu_main3hidEPf", "_ZN33_GLOBAL__N__********_5_t1_cu_main3hidEPf"},
        {"_Z9deadbeef_feedbeefPf", "_Z9deadbeef_feedbeefPf"}, /* nothing says that it is local to a file */
        {"_INTERNAL_b9467fa6_b9467fa61", "_INTERNAL_********_b9467fa61"},
        {"k", "k"},
    };
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_string_equal(stats_name_stable(arena, names[i][0]), names[i][1]);
    arena_free(arena);
}

static void test_annotations_are_escaped(void **state)
{
    (void)state;
    Stats stats = new_stats();
    StatsFailures failures = {0};
    Buf out = {0};
    const StatsRow *row = add(&stats, "a:b,c%.ptx", "k\n::error::", "sm_90", 1);
    VEC_PUSH(stats.arena, failures, ((StatsFailure){row, "spills 4"}));
    stats_print_github(stats.arena, &failures, &stats, &out);
    assert_string_equal(out.data, "::error file=a%3Ab%2Cc%25.ptx::k%0A::error:: (sm_90): spills 4\n");
    buf_free(&out);
    arena_free(stats.arena);
}

/* Processes add rows to one table; none is lost or mixed with another, and the first line is there once. */
static void test_many_append(void **state)
{
    (void)state;
    enum { PROCESSES = 8, APPENDS = 20 };
    const char *folder = getenv("TEST_TMP");
    Stats read = new_stats();
    const char *path = arena_printf(read.arena, "%s/ptxopt-stats-%d.tsv", folder ? folder : "/tmp", (int)getpid());
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            Stats stats = new_stats();
            for (int k = 0; k < 50; k++)
                add(&stats, "file.cu", arena_printf(stats.arena, "kernel_%d_%d", p, k), "sm_90", p);
            bool failed = false;
            for (int i = 0; i < APPENDS; i++)
                failed |= stats_append(stats.arena, path, &stats.rows) != NULL;
            _exit(failed);
        }
    for (int status; wait(&status) > 0;)
        assert_int_equal(status, 0);
    const char *error = NULL;
    assert_null(stats_read_table(&read, source_read(read.arena, path, &error)));
    assert_int_equal(read.rows.count, PROCESSES * APPENDS * 50);
    unlink(path);
    assert_non_null(stats_append(read.arena, "/nowhere/table.tsv", &read.rows));
    arena_free(read.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_on_a_figure),
        cmocka_unit_test(test_conditions_on_a_change),
        cmocka_unit_test(test_conditions_on_some_kernels),
        cmocka_unit_test(test_wrong_conditions),
        cmocka_unit_test(test_tables_are_read_as_written),
        cmocka_unit_test(test_tables_of_other_versions),
        cmocka_unit_test(test_wrong_tables),
        cmocka_unit_test(test_kernels_are_matched),
        cmocka_unit_test(test_what_was_built_again_counts_once),
        cmocka_unit_test(test_names_without_hashes),
        cmocka_unit_test(test_annotations_are_escaped),
        cmocka_unit_test(test_many_append),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
