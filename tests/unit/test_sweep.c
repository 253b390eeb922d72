/* Tables of sweeps, and the command line. */
#include "tests/unit/parsed.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/sweep/options.h"
#include "sweep/internal.h"

static SweepRow row_of(const char *arch, unsigned block, unsigned factor, double cycles)
{
    SweepRow row = sweep_row_new();
    row.kernel = "k";
    row.launch = "k.launch.json";
    row.arch = arch;
    memcpy(row.block, (unsigned[]){block, 1, 1}, sizeof row.block);
    row.factor = factor;
    row.by_machine = true;
    row.inputs = 0x123456789abcdef0;
    row.values[SWEEP_CYCLES] = cycles;
    return row;
}

static char *write_table(const char *text)
{
    const char *folder = getenv("TEST_TMP");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%ld-table.tsv", folder ? folder : "/tmp", (long)getpid()) > 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

/* Reads a text as a table; the message, or NULL. */
static const char *read_back(SweepTable *table, const char *text)
{
    char *path = write_table(text);
    const char *error = sweep_read(table, path);
    unlink(path);
    free(path);
    return error;
}

static void rows_survive_a_file(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SweepTable table = {.arena = arena}, back = {.arena = arena};
    SweepRow row = row_of("sm_80", 128, 4, 1000);
    row.dimension = (SweepDimension){false, 1};
    row.stride = (Stride){STRIDE_NUMBER, 16};
    row.bound = "shared memory";
    row.values[SWEEP_L1_MISSES] = 0.125;
    VEC_PUSH(arena, table.rows, row_of("sm_80", 128, 1, 2000));
    VEC_PUSH(arena, table.rows, row);
    row.stride = (Stride){STRIDE_UNIT, 0};
    row.status = SWEEP_NO_ROOM;
    row.reason = "a tab\tor a\nnew line";
    VEC_PUSH(arena, table.rows, row);
    row.dimension = (SweepDimension){true, 2};
    row.status = SWEEP_FAULT;
    VEC_PUSH(arena, table.rows, row);
    Buf text = {0}, again = {0};
    sweep_print(&table, 0, &text);
    assert_null(read_back(&back, buf_text(&text)));
    assert_int_equal(back.rows.count, 4);
    sweep_print(&back, 0, &again);
    assert_string_equal(buf_text(&text), buf_text(&again));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(sweep_row_compare(&table.rows.data[i], &back.rows.data[i]), 0);
    assert_int_equal(back.rows.data[1].inputs, row.inputs);
    assert_true(back.rows.data[1].values[SWEEP_L1_MISSES] == 0.125);
    assert_true(back.rows.data[1].by_machine);
    assert_string_equal(back.rows.data[2].reason, "a tab or a new line");
    /* The last line of a file that was being written is not complete. */
    back.rows.count = 0;
    buf_puts(&text, "k\tk.launch.json\tsm_80");
    assert_null(read_back(&back, buf_text(&text)));
    assert_int_equal(back.rows.count, 4);
    buf_putc(&text, '\n');
    assert_non_null(strstr(read_back(&back, buf_text(&text)), ":6: this is not a table of 'ptxopt sweep'"));
    assert_non_null(strstr(read_back(&back, "file\tarch\n"), ":1: this is not a table of 'ptxopt sweep' of this"));
    buf_free(&text);
    buf_free(&again);
    arena_free(arena);
}

/* Each field in turn is something that it cannot be. */
static void damaged_rows_are_noticed(void **state)
{
    (void)state;
    static const int wrong[] = {3, 4, 5, 6, 7, 8, 11, 12};
    Arena *arena = arena_new();
    SweepRow row = row_of("sm_80", 128, 4, 1000), back;
    Buf text = {0};
    sweep_row_print(&row, &text);
    text.data[text.length - 1] = 0;
    assert_true(sweep_row_read(arena, arena_printf(arena, "%s", buf_text(&text)), &back));
    assert_false(sweep_row_read(arena, arena_printf(arena, "%s\tmore", buf_text(&text)), &back));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char *rest = arena_printf(arena, "%s", buf_text(&text)), *field;
        Buf changed = {0};
        for (int at = 0; (field = strsep(&rest, "\t")) != NULL; at++)
            buf_printf(&changed, "%s%s", at ? "\t" : "", at == wrong[i] ? "?" : field);
        assert_false(sweep_row_read(arena, changed.data, &back));
        buf_free(&changed);
    }
    buf_free(&text);
    arena_free(arena);
}

static const SweepRow *find_row(const SweepTable *table, const SweepRow *like)
{
    for (size_t i = 0; i < table->rows.count; i++)
        if (sweep_row_compare(&table->rows.data[i], like) == 0)
            return &table->rows.data[i];
    fail_msg("no such row");
    return NULL;
}

/* The strict baseline is the original at its best block size, on the same architecture. */
static void speedups_are_relative(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SweepTable table = {.arena = arena};
    SweepRow refused = row_of("sm_80", 64, 4, NAN), by_ptx = row_of("sm_80", 64, 8, 500);
    SweepRow original_by_ptx = row_of("sm_80", 64, 1, 4000), on_other = row_of("sm_90", 64, 8, 500);
    refused.status = SWEEP_REFUSED;
    by_ptx.by_machine = original_by_ptx.by_machine = on_other.by_machine = false;
    const SweepRow rows[] = {
        row_of("sm_80", 64, 2, 800),  row_of("sm_80", 64, 1, 1200), row_of("sm_80", 128, 1, 1000),
        row_of("sm_90", 64, 1, 300),  row_of("sm_80", 256, 2, 900), row_of("sm_90", 64, 2, 150),
        row_of("sm_80", 64, 2, 400), /* the same as the first, and measured later */
        refused,                      by_ptx,                       original_by_ptx,
        on_other,
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        VEC_PUSH(arena, table.rows, rows[i]);
    sweep_settle(&table);
    assert_int_equal(table.rows.count, COUNT_OF(rows) - 1);
    for (size_t i = 0; i + 1 < table.rows.count; i++)
        assert_true(sweep_row_compare(&table.rows.data[i], &table.rows.data[i + 1]) < 0);
    const double *twice = find_row(&table, &rows[0])->values, *other = find_row(&table, &rows[4])->values;
    assert_true(twice[SWEEP_STRICT] == 2.5 && twice[SWEEP_SAME_BLOCK] == 3);
    assert_true(other[SWEEP_STRICT] == 1000.0 / 900 && isnan(other[SWEEP_SAME_BLOCK]));
    assert_true(find_row(&table, &rows[1])->values[SWEEP_STRICT] == 1000.0 / 1200);
    assert_true(find_row(&table, &rows[1])->values[SWEEP_SAME_BLOCK] == 1);
    assert_true(find_row(&table, &rows[5])->values[SWEEP_STRICT] == 2);
    assert_true(isnan(find_row(&table, &refused)->values[SWEEP_STRICT]));
    assert_true(find_row(&table, &by_ptx)->values[SWEEP_STRICT] == 8);
    assert_true(find_row(&table, &by_ptx)->values[SWEEP_SAME_BLOCK] == 8);
    assert_true(isnan(find_row(&table, &on_other)->values[SWEEP_STRICT]));
    arena_free(arena);
}

/* A fault of the best original leaves the next one. */
static void baselines_have_run(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SweepTable table = {.arena = arena};
    SweepRow fault = row_of("sm_80", 32, 1, NAN);
    fault.status = SWEEP_FAULT;
    VEC_PUSH(arena, table.rows, fault);
    VEC_PUSH(arena, table.rows, row_of("sm_80", 64, 1, 1000));
    VEC_PUSH(arena, table.rows, row_of("sm_80", 32, 2, 500));
    sweep_settle(&table);
    assert_true(table.rows.data[2].values[SWEEP_STRICT] == 2);
    assert_true(isnan(table.rows.data[2].values[SWEEP_SAME_BLOCK]));
    arena_free(arena);
}

enum { MOST_WORDS = 16 };

/* Parses a line of words; the message, or NULL. */
static const char *parse_line(Arena *arena, const char *text, SweepRequest *request)
{
    char *words[MOST_WORDS], *rest = arena_printf(arena, "ptxopt sweep %s", text);
    int count = 0;
    const char *error = NULL;
    for (char *word; count < MOST_WORDS && (word = strsep(&rest, " ")) != NULL;)
        words[count++] = word;
    return sweep_options_parse(arena, count, words, request, &error) == OPTIONS_RUN ? NULL : error;
}

static void lists_are_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SweepRequest request;
    assert_null(parse_line(arena, "k.ptx a.json b.json", &request));
    assert_int_equal(request.launches.count, 2);
    assert_int_equal(request.factors.count, 5);
    assert_int_equal(request.strides.count, 7);
    assert_true(request.usual_blocks && !request.dimensions.count && !request.archs.count);
    assert_null(parse_line(arena, "a.json k.ptx -factors 1,3 -dims y,bz -strides unit,8 -block-sizes 96,32x4x2 -arch "
                                  "sm_80,sm_90a", &request));
    assert_string_equal(request.input, "k.ptx");
    assert_int_equal(request.factors.data[1], 3);
    assert_true(!request.dimensions.data[0].of_blocks && request.dimensions.data[0].axis == 1);
    assert_true(request.dimensions.data[1].of_blocks && request.dimensions.data[1].axis == 2);
    assert_true(request.strides.data[0].kind == STRIDE_UNIT && request.strides.data[1].number == 8);
    assert_false(request.usual_blocks);
    assert_memory_equal(request.blocks.data[1].threads, ((unsigned[]){32, 4, 2}), sizeof request.blocks.data[1]);
    assert_string_equal(request.archs.data[1], "sm_90a");
    assert_null(parse_line(arena, "a.json k.ptx -block-sizes 96,usual", &request));
    assert_true(request.usual_blocks && request.blocks.count == 1);
    static const char *const mistakes[][2] = {
        {"k.ptx", "expected FILE.ptx and LAUNCH.json"},
        {"k.ptx l.ptx a.json", "expected FILE.ptx and LAUNCH.json"},
        {"k.ptx a.json -factors 2,33", "'33' is not a number from 1 to 32"},
        {"k.ptx a.json -factors 2,", "'' is not a number from 1 to 32"},
        {"k.ptx a.json -dims x,q", "'q' is not x, y, z, bx, by or bz"},
        {"k.ptx a.json -dims xy", "'xy' is not x, y"},
        {"k.ptx a.json -strides 0", "'0' is not 'block', 'unit' or a number"},
        {"k.ptx a.json -block-sizes 64,1024x2", "'1024x2' is not 'usual' or a size"},
        {"k.ptx a.json -block-sizes 8x8x8x1", "'8x8x8x1' is not"},
        {"k.ptx a.json -block-sizes 8x", "'8x' is not"},
        {"k.ptx a.json -block-sizes 1x1x128", "'1x1x128' is not"},
        {"k.ptx a.json -arch sm_80,hopper", "-arch hopper: expected an architecture such as sm_90"},
        {"k.ptx a.json -assembler none", "a sweep is about what the assembler makes"},
        {"k.ptx a.json -jobs 0", "-jobs 0: expected a number of processes from 1 to 1024"},
        {"k.ptx a.json -o=", "-o: the file name is empty"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        const char *error = parse_line(arena, mistakes[i][0], &request);
        if (!error || !strstr(error, mistakes[i][1]))
            fail_msg("%s: %s", mistakes[i][0], error);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baselines_have_run),  cmocka_unit_test(damaged_rows_are_noticed),
        cmocka_unit_test(lists_are_read),      cmocka_unit_test(rows_survive_a_file),
        cmocka_unit_test(speedups_are_relative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
