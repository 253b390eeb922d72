/* The command line: every option, and every way to get one wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "cli/emulated/options.h"
#include "opt/passes.h"

enum { MOST_WORDS = 32 };

typedef struct Line {
    Arena *arena;
    Options options;
    OptionsOutcome outcome;
    const char *error;
} Line;

/* Reads a command line whose words are split at blanks. */
static Line line_read(const char *text)
{
    Line line = {.arena = arena_new()};
    char *words[MOST_WORDS] = {"ptxopt"};
    int count = 1;
    char *copy = arena_strndup(line.arena, text, strlen(text));
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    line.outcome = options_parse(line.arena, count, words, &line.options, &line.error);
    return line;
}

static void line_free(Line *line)
{
    arena_free(line->arena);
}

static void check_good(const char *text)
{
    Line line = line_read(text);
    if (line.outcome != OPTIONS_RUN)
        fail_msg("'%s' is refused: %s", text, line.error);
    line_free(&line);
}

/* The message names the error and is one line. */
static void check_wrong(const char *text, const char *part)
{
    Line line = line_read(text);
    if (line.outcome != OPTIONS_WRONG)
        fail_msg("'%s' is taken", text);
    if (!strstr(line.error, part))
        fail_msg("'%s' is refused with '%s', which lacks '%s'", text, line.error, part);
    assert_null(strchr(line.error, '\n'));
    line_free(&line);
}

static void test_defaults(void **state)
{
    (void)state;
    Line line = line_read("in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    assert_string_equal(line.options.input, "in.ptx");
    assert_string_equal(line.options.output, "-");
    assert_null(line.options.cubin);
    assert_false(line.options.report);
    assert_int_equal(line.options.level, 2);
    assert_int_equal(line.options.assembler, ASSEMBLER_AUTO);
    assert_int_equal(line.options.stride.kind, STRIDE_BLOCK);
    for (unsigned i = 0; i < PASS_COUNT; i++) {
        assert_true(line.options.passes.enabled[i]);
        assert_false(line.options.passes.dumped[i]);
    }
    assert_true(options_selects(&line.options, "anything"));
    assert_null(options_coarsen_for(&line.options, "anything"));
    line_free(&line);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const spellings[] = {"-arch sm_90 -o x in.ptx", "--arch sm_90 --o x in.ptx",
                                            "-arch=sm_90 -o=x in.ptx", "--arch=sm_90 --o=x in.ptx",
                                            "in.ptx -o x -arch sm_90", "-o x -arch sm_90 -- in.ptx"};
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        Line line = line_read(spellings[i]);
        assert_int_equal(line.outcome, OPTIONS_RUN);
        assert_string_equal(line.options.arch, "sm_90");
        assert_string_equal(line.options.output, "x");
        assert_string_equal(line.options.input, "in.ptx");
        line_free(&line);
    }
}

static void test_outputs(void **state)
{
    (void)state;
    Line line = line_read("-cubin a.cubin -launch-out a.json -coarsen 2 -");
    assert_string_equal(line.options.input, "-");
    assert_null(line.options.output);
    assert_string_equal(line.options.cubin, "a.cubin");
    assert_string_equal(line.options.launch_out, "a.json");
    line_free(&line);
    line = line_read("-cubin a.cubin -o a.ptx -");
    assert_string_equal(line.options.output, "a.ptx");
    line_free(&line);
    check_wrong("-o a -cubin a in.ptx", "-o and -cubin would both be written to a");
    check_wrong("-coarsen 2 -launch-out - in.ptx", "the PTX and -launch-out would both be written to standard output");
    check_wrong("-report=- in.ptx", "standard output");
    check_good("-o a -report=- in.ptx");
    check_good("-o /dev/null -cubin /dev/null in.ptx");
    check_wrong("-o= in.ptx", "-o: the file name is empty");
    check_wrong("-launch-out a in.ptx", "neither -coarsen nor -refine is given");
}

static void test_knobs(void **state)
{
    (void)state;
    Line line = line_read("-target-regs 32 -knobs=a.acf,folder -knobs-out a.options in.ptx");
    assert_true(line.options.knobs && line.options.knob_files.count == 2);
    assert_string_equal(line.options.knobs_out, "a.options");
    assert_int_equal(line.options.assembler, ASSEMBLER_PTXAS);
    line_free(&line);
    line = line_read("-target-regs 32 -knobs -assembler nvjitlink in.ptx");
    assert_int_equal(line.options.assembler, ASSEMBLER_NVJITLINK);
    line_free(&line);
    check_wrong("-tune=1 in.ptx", "-tune 1: expected a number from 2 to 16");
    check_wrong("-tune=17 in.ptx", "-tune 17: expected a number from 2 to 16");
    check_wrong("-tune -assembler none in.ptx", "-tune ranks forms by the assembler's figures");
    check_wrong("-knobs in.ptx", "-target-regs, which is not given");
    check_wrong("-target-regs 32 -knobs-out a in.ptx", "-knobs is not given");
    check_wrong("-target-regs 32 -knobs -knobs-out= in.ptx", "-knobs-out: the file name is empty");
    check_wrong("-target-regs 32 -knobs -knobs-out a -o a in.ptx", "-o and -knobs-out would both be written to a");
    check_wrong("-target-regs 32 -knobs=a,,b in.ptx", "-knobs: the file name is empty");
    check_wrong("-target-regs 32 -knobs -assembler none in.ptx", "-assembler says not to use it");
    check_wrong("-target-regs 32 -knobs -assembler driver in.ptx", "-assembler says not to use it");
}

static void test_coarsen(void **state)
{
    (void)state;
    Line line = line_read("-coarsen 2 -coarsen b:x4,z2 -coarsen c:auto -coarsen=d:1 in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    const CoarsenOption *a = options_coarsen_for(&line.options, "a"), *b = options_coarsen_for(&line.options, "b");
    assert_true(a->shape.threads[0] == 2 && a->shape.threads[1] == 1 && a->shape.threads[2] == 1 && !a->kernel);
    assert_true(b->shape.threads[0] == 4 && b->shape.threads[1] == 1 && b->shape.threads[2] == 2);
    assert_string_equal(b->kernel, "b");
    assert_true(options_coarsen_for(&line.options, "c")->is_auto);
    assert_int_equal(options_coarsen_for(&line.options, "d")->shape.threads[0], 1);
    line_free(&line);
    line = line_read("-coarsen k:2 -coarsen y3 -coarsen x2,y4 in.ptx");
    assert_int_equal(options_coarsen_for(&line.options, "k")->shape.threads[0], 2);
    assert_int_equal(options_coarsen_for(&line.options, "other")->shape.threads[1], 4);
    line_free(&line);
    line = line_read("-coarsen source -coarsen k:x2,bx3,bz4 -coarsen 8 -coarsen source in.ptx");
    assert_int_equal(options_coarsen_for(&line.options, "k")->shape.threads[0], 2);
    assert_int_equal(options_coarsen_for(&line.options, "k")->shape.blocks[0], 3);
    assert_int_equal(options_coarsen_for(&line.options, "k")->shape.blocks[1], 1);
    assert_int_equal(options_coarsen_for(&line.options, "k")->shape.blocks[2], 4);
    assert_int_equal(options_coarsen_for(&line.options, "other")->shape.threads[0], 8);
    line_free(&line);
    line = line_read("-coarsen gx2,gy4,x2 -coarsen-level block in.ptx");
    const Shape shape = options_shape(&line.options, options_coarsen_for(&line.options, "k"));
    assert_true(shape_is_equal(&shape, &(Shape){.blocks = {2}, .grown = {2, 4}}));
    line_free(&line);
    check_wrong("-coarsen gx2,gx4 in.ptx", "a factor for gx is given twice");
    check_wrong("-coarsen g in.ptx", "expected a factor");
    check_wrong("-coarsen gx64,gy64 in.ptx", "no more blocks can become one");
    check_wrong("-coarsen k:source in.ptx", "'source' is about all kernels");
    check_wrong("-coarsen bx64,by64 in.ptx", "at most 1024 blocks");
    check_wrong("-coarsen b in.ptx", "expected a factor");
    check_wrong("-coarsen 0 in.ptx", "the factor is 0");
    check_wrong("-coarsen 1025 in.ptx", "the factor is 1025");
    check_wrong("-coarsen x2,x4 in.ptx", "a factor for x is given twice");
    check_wrong("-coarsen 2,2 in.ptx", "twice");
    check_wrong("-coarsen x64,y64 in.ptx", "at most 1024 threads");
    check_wrong("-coarsen w2 in.ptx", "expected a factor");
    check_wrong("-coarsen -2 in.ptx", "expected a factor");
    check_wrong("-coarsen 2x in.ptx", "expected a factor");
    check_wrong("-coarsen x2, in.ptx", "expected a factor");
    check_wrong("-coarsen 99999999999999999999 in.ptx", "expected a factor");
    check_wrong("-coarsen k: in.ptx", "expected a factor");
    check_wrong("-coarsen :2 in.ptx", "no kernel before the ':'");
    check_wrong("-coarsen auto -assembler none in.ptx", "-assembler none");
    check_wrong("-coarsen", "needs a value");
}

static void test_stride(void **state)
{
    (void)state;
    Line line = line_read("-coarsen 2 -stride unit in.ptx");
    assert_int_equal(line.options.stride.kind, STRIDE_UNIT);
    line_free(&line);
    line = line_read("-coarsen 2 -stride 16 in.ptx");
    assert_int_equal(line.options.stride.kind, STRIDE_NUMBER);
    assert_int_equal(line.options.stride.number, 16);
    line_free(&line);
    check_wrong("-stride 3 in.ptx", "-coarsen is not given");
    check_wrong("-coarsen 2 -stride 0 in.ptx", "-stride 0");
    check_wrong("-coarsen 2 -stride warp in.ptx", "-stride warp");
}

static void test_registers_and_blocks(void **state)
{
    (void)state;
    Line line = line_read("-target-regs 32 -target-regs k:auto -block 16,16 -block k:8,4,2 in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    assert_int_equal(options_registers_for(&line.options, "a")->target, 32);
    assert_true(options_registers_for(&line.options, "k")->goal == GOAL_AUTO);
    const BlockOption *a = options_block_for(&line.options, "a"), *k = options_block_for(&line.options, "k");
    assert_true(a->threads[0] == 16 && a->threads[1] == 16 && a->threads[2] == 1);
    assert_true(k->threads[0] == 8 && k->threads[1] == 4 && k->threads[2] == 2);
    line_free(&line);
    line = line_read("-target-regs fewest -target-regs a::k:fewest:2.5 -target-regs fewest:fewest "
                     "-target-regs m:fewest in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    const RegistersOption *all = options_registers_for(&line.options, "a"), *one = &line.options.registers.data[1];
    assert_true(all->goal == GOAL_FEWEST && all->price == 0 && !all->kernel);
    assert_true(one->goal == GOAL_FEWEST && one->price == 2.5);
    assert_string_equal(one->kernel, "a::k");
    assert_string_equal(line.options.registers.data[2].kernel, "fewest");
    assert_string_equal(line.options.registers.data[3].kernel, "m");
    line_free(&line);
    check_wrong("-target-regs fewest: in.ptx", "after 'fewest:', expected percent");
    check_wrong("-target-regs fewest:101 in.ptx", "from 0 to 100");
    check_wrong("-target-regs k:fewest:2x in.ptx", "expected percent");
    check_wrong("-target-regs :fewest in.ptx", "no kernel before the ':'");
    check_wrong("-target-regs fewestest in.ptx", "'auto' or 'fewest'");
    check_wrong("-target-regs 0 in.ptx", "-target-regs 0");
    check_wrong("-target-regs 256 in.ptx", "-target-regs 256");
    check_wrong("-target-regs few in.ptx", "-target-regs few");
    check_wrong("-block 0 in.ptx", "-block 0");
    check_wrong("-block 2048 in.ptx", "-block 2048");
    check_wrong("-block 64,64 in.ptx", "4096 threads");
    check_wrong("-block 1,1,65 in.ptx", "along z");
    check_wrong("-block 1,1,1,1 in.ptx", "-block 1,1,1,1");
    check_wrong("-block 16x16 in.ptx", "expected X");
    line = line_read("-dynamic-shared 43008 -dynamic-shared k:0 in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    assert_int_equal(options_shared_for(&line.options, "a")->bytes, 43008);
    assert_int_equal(options_shared_for(&line.options, "k")->bytes, 0);
    line_free(&line);
    check_wrong("-dynamic-shared 48K in.ptx", "expected a number of bytes");
    check_wrong("-dynamic-shared 232449 in.ptx", "up to 232448");
    check_wrong("-dynamic-shared :8 in.ptx", "no kernel before the ':'");
}

typedef double Limit(const Options *options);

static double limit_of(Limit *limit, const char *text)
{
    Line line = line_read(text);
    assert_int_equal(line.outcome, OPTIONS_RUN);
    double seconds = limit(&line.options);
    line_free(&line);
    return seconds;
}

static void test_search_time(void **state)
{
    (void)state;
    assert_true(limit_of(options_search_seconds, "k.ptx") == 120);
    assert_true(limit_of(options_search_seconds, "-O1 k.ptx") == 60);
    assert_true(limit_of(options_search_seconds, "-O3 k.ptx") == 600);
    assert_true(limit_of(options_search_seconds, "-search 2.5 -O3 k.ptx") == 2.5);
    assert_true(limit_of(options_memory_seconds, "k.ptx") == 16);
    assert_true(limit_of(options_memory_seconds, "-search 2.5 -O3 k.ptx") == 2.5);
    assert_true(limit_of(options_search_seconds, "-search 0 k.ptx") == 0);
    assert_true(limit_of(options_choice_seconds, "k.ptx") == 50);
    assert_true(limit_of(options_choice_seconds, "-O0 k.ptx") == 10);
    assert_true(limit_of(options_choice_seconds, "-O3 k.ptx") == 600);
    assert_true(limit_of(options_choice_seconds, "-search 2.5 -O3 k.ptx") == 2.5);
}

static Risk risk_of(const char *text)
{
    Line line = line_read(text);
    assert_int_equal(line.outcome, OPTIONS_RUN);
    const Risk risk = line.options.risk;
    line_free(&line);
    return risk;
}

static void test_risk(void **state)
{
    (void)state;
    assert_int_equal(risk_of("k.ptx"), RISK_NORMAL);
    assert_int_equal(risk_of("-risk normal k.ptx"), RISK_NORMAL);
    assert_int_equal(risk_of("-risk low k.ptx"), RISK_LOW);
    assert_int_equal(risk_of("-risk=high k.ptx"), RISK_HIGH);
    check_wrong("-risk none k.ptx", "-risk none: expected 'low', 'normal' or 'high'");
    check_wrong("-risk", "-risk");
}

static void test_report(void **state)
{
    (void)state;
    static const struct {
        const char *text, *input, *file;
    } rows[] = {
        {"-report in.ptx", "in.ptx", NULL},
        {"in.ptx -report", "in.ptx", NULL},
        {"-report -o x in.ptx", "in.ptx", NULL},
        {"-report out.txt in.ptx", "in.ptx", "out.txt"},
        {"in.ptx -report out.txt", "in.ptx", "out.txt"},
        {"-report=out.ptx in.ptx", "in.ptx", "out.ptx"},
        {"-report in.s", "in.s", NULL},
        {"-report in.s -o x", "in.s", NULL},
        {"-report -", "-", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Line line = line_read(rows[i].text);
        if (line.outcome != OPTIONS_RUN)
            fail_msg("'%s': %s", rows[i].text, line.error);
        assert_true(line.options.report);
        assert_string_equal(line.options.input, rows[i].input);
        if (rows[i].file)
            assert_string_equal(line.options.report_file, rows[i].file);
        else
            assert_null(line.options.report_file);
        line_free(&line);
    }
    Line line = line_read("-report-format json in.ptx");
    assert_true(line.options.report && line.options.report_json);
    line_free(&line);
    check_wrong("-report-format xml in.ptx", "-report-format xml");
}

static void test_memory(void **state)
{
    static const struct {
        const char *list;
        MemoryOption option;
    } lists[] = {
        {"stage", {.stages = true}},
        {"prefetch", {.stages = true, .prefetches = true}},
        {"rows", {.stages = true, .rows = true}},
        {"vectors,rows", {.stages = true, .rows = true, .vectors = true, .vectors_first = true}},
        {"async", {.stages = true, .buffers = 2}},
        {"async3", {.stages = true, .buffers = 3}},
        {"edges,async4", {.edges = true, .stages = true, .buffers = 4}},
        {"stage,vectors", {.stages = true, .vectors = true}},
        {"vectors,stage", {.stages = true, .vectors = true, .vectors_first = true}},
        {"vectors,async,stage", {.stages = true, .vectors = true, .vectors_first = true, .buffers = 2}},
        {"counters", {.counts = true}},
        {"auto", {.is_auto = true}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        char text[64];
        snprintf(text, sizeof text, "-memory %s k.ptx", lists[i].list);
        Line line = line_read(text);
        const MemoryOption *read = &line.options.memory.data[0], *wanted = &lists[i].option;
        assert_int_equal(line.outcome, OPTIONS_RUN);
        assert_true(read->is_auto == wanted->is_auto && read->edges == wanted->edges &&
                    read->stages == wanted->stages && read->prefetches == wanted->prefetches &&
                    read->rows == wanted->rows && read->counts == wanted->counts && read->vectors == wanted->vectors &&
                    read->vectors_first == wanted->vectors_first && read->buffers == wanted->buffers);
        line_free(&line);
    }
    check_wrong("-memory async1 k.ptx", "-memory async1: expected 'auto', 'off', or a list");
    check_wrong("-memory async5 k.ptx", "async5");
    check_wrong("-memory async22 k.ptx", "async22");
    check_wrong("-memory stage,asynch k.ptx", "asynch");
}

static void test_passes(void **state)
{
    (void)state;
    Line line = line_read("-p -schedule,-sink,schedule -d ssa,coarsen -O3 in.ptx");
    assert_int_equal(line.outcome, OPTIONS_RUN);
    assert_true(line.options.passes.enabled[PASS_SCHEDULE]);
    assert_false(line.options.passes.enabled[PASS_SINK]);
    assert_true(line.options.passes.dumped[PASS_SSA] && line.options.passes.dumped[PASS_COARSEN]);
    assert_false(line.options.passes.dumped[PASS_BOUNDS]);
    assert_int_equal(line.options.level, 3);
    line_free(&line);
    check_wrong("-p schedul in.ptx", "did you mean 'schedule'?");
    check_wrong("-p zzzzzz in.ptx", "the passes are inline, ssa, middle_exits, pointer_loops, dead_buffers,");
    check_wrong("-p ,sink in.ptx", "no pass is called ''");
    line = line_read("-d all in.ptx");
    for (unsigned i = 0; i < PASS_COUNT; i++)
        assert_true(line.options.passes.dumped[i]);
    line_free(&line);
    check_wrong("-d Q in.ptx", "no pass is called 'Q'");
    check_wrong("-d coarsn in.ptx", "did you mean 'coarsen'?");
    check_wrong("-d= in.ptx", "no pass is called ''");
}

static void test_rest(void **state)
{
    (void)state;
    Line line = line_read("-entry a,b -entry c -Werror -q -v -assembler none in.ptx");
    assert_true(options_selects(&line.options, "a") && options_selects(&line.options, "c"));
    assert_false(options_selects(&line.options, "d"));
    assert_true(line.options.warnings_are_errors && line.options.quiet && line.options.verbose);
    assert_true(line.options.assembler_none && option_given(&line.options, OPTION_ASSEMBLER));
    line_free(&line);
    line = line_read("-help");
    assert_int_equal(line.outcome, OPTIONS_HELP);
    assert_non_null(strstr(options_help(line.arena), "-target-regs"));
    line_free(&line);
    line = line_read("--version whatever");
    assert_int_equal(line.outcome, OPTIONS_VERSION);
    line_free(&line);
    check_good("-assembler ptxas in.ptx");
    check_wrong("-assembler ptxass in.ptx", "did you mean 'ptxas'?");
    check_wrong("-arch hopper in.ptx", "-arch hopper");
    check_wrong("-entry , in.ptx", "-entry ,");
    check_wrong("-entry a,,b in.ptx", "-entry a,,b");
    line = line_read("-verify a.json -verify=b.json in.ptx");
    assert_int_equal(line.options.verify.count, 2);
    assert_string_equal(line.options.verify.data[1], "b.json");
    line_free(&line);
    check_wrong("-verify", "needs a value");
    check_good("-coarsen-level block -coarsen 2 in.ptx");
    check_good("-coarsen bx2 -coarsen-grid shrink in.ptx");
    check_good("-uj $L__BB0_2:4 -uj LOOP:16 -uj auto -uj source in.ptx");
    check_wrong("-uj LOOP in.ptx", "-uj LOOP: expected LABEL:N");
    check_wrong("-uj :4 in.ptx", "-uj :4: expected LABEL:N");
    check_wrong("-uj LOOP:1 in.ptx", "-uj LOOP:1: expected LABEL:N");
    check_wrong("-uj LOOP:17 in.ptx", "-uj LOOP:17: expected LABEL:N");
    check_wrong("-uj L:2 -uj L:4 in.ptx", "-uj names the loop at L twice");
    check_wrong("-uj auto -assembler none in.ptx", "-uj auto chooses by the assembler's figures");
    check_wrong("-coarsen-grid shrink in.ptx", "-coarsen-grid says how to coarsen, but -coarsen is not given");
    check_wrong("-coarsen bx2 -coarsen-grid half in.ptx", "-coarsen-grid half: expected 'keep' or 'shrink'");
    check_good("-coarsen-level thread in.ptx");
    check_wrong("-coarsen-level grid in.ptx", "-coarsen-level grid");
    check_wrong("", "no input file");
    check_wrong("a.ptx b.ptx", "one input file at a time");
    check_wrong("-cubin a -assembler none in.ptx", "-cubin needs an assembler");
    check_wrong("-coarsn 2 in.ptx", "did you mean '-coarsen'?");
    check_wrong("-qqqqqqq in.ptx", "unknown option '-qqqqqqq'");
    check_wrong("-q=1 in.ptx", "takes no value");
    check_wrong("-O in.ptx", "ambiguous");
    check_wrong("-O4 in.ptx", "unknown option '-O4'");
    check_wrong("-: in.ptx", "unknown option '-:'");
}

static void check_table(const OptionRow *rows)
{
    assert_true(!rows->name || rows->help);
    for (const OptionRow *row = rows; row->name; row++) {
        assert_ptr_equal(option_row_find(rows, row->name), row);
        assert_non_null(row->argument);
        assert_false(row->words && row->choice);
        assert_true(row->takes == no_argument || *row->argument || row->is_hidden);
        /* Shells complete a value by the option's name, whatever the command. */
        const OptionRow *same = option_row_find(options_table(), row->name);
        Buf words = {0}, other = {0};
        option_row_print_words(row, &words);
        option_row_print_words(same ? same : row, &other);
        assert_string_equal(buf_text(&words), buf_text(&other));
        buf_free(&words);
        buf_free(&other);
    }
}

/* Each option changes its own field. */
static void test_fields(void **state)
{
    (void)state;
    Line line = line_read("-auto -coarsen k:2 -target-regs 40 in.ptx");
    assert_int_equal(line.options.coarsen.count, 2);
    assert_true(options_coarsen_for(&line.options, "other")->is_auto && options_jam_auto(&line.options));
    assert_false(options_coarsen_for(&line.options, "k")->is_auto);
    assert_int_equal(options_registers_for(&line.options, "k")->target, 40);
    line_free(&line);
    line = line_read("-spill -keep-original -missing-ok in.ptx");
    assert_true(line.options.spill && line.options.keep_original && line.options.missing_ok);
    assert_false(line.options.summary || line.options.canonical || line.options.knobs);
    assert_int_equal(line.options.level, 2);
    line_free(&line);
    line = line_read("-tune in.ptx");
    assert_int_equal(line.options.tuned_forms, 4);
    assert_true(line.options.keep_original && options_coarsen_for(&line.options, "k")->is_auto);
    line_free(&line);
    line = line_read("-tune-from a.sqlite in.ptx");
    assert_string_equal(line.options.tune_from, "a.sqlite");
    assert_true(line.options.keep_original && !line.options.coarsen.count);
    line_free(&line);
    line = line_read("-tune=2 -coarsen k:2 in.ptx");
    assert_int_equal(line.options.tuned_forms, 2);
    assert_null(options_coarsen_for(&line.options, "other"));
    line_free(&line);
    line = line_read("-summary -canonical -input-name k.cu -machine m.json -launch a.json -launch b.json -O0 in.ptx");
    assert_true(line.options.summary && line.options.canonical);
    assert_false(line.options.spill || line.options.keep_original || line.options.missing_ok);
    assert_string_equal(line.options.input_name, "k.cu");
    assert_string_equal(line.options.machine, "m.json");
    assert_int_equal(line.options.launches.count, 2);
    assert_int_equal(line.options.verify.count, 0);
    assert_int_equal(line.options.level, 0);
    line_free(&line);
    for (unsigned level = 0; level <= 3; level++) {
        Buf text = {0};
        buf_printf(&text, "-O%u in.ptx", level);
        line = line_read(buf_text(&text));
        assert_int_equal(line.options.level, level);
        line_free(&line);
        buf_free(&text);
    }
}

/* Properties of a table of options that the compiler does not check. */
static void test_tables(void **state)
{
    (void)state;
    check_table(options_table());
    assert_string_equal(options_table()[OPTION_COARSEN_LEVEL].name, "coarsen-level");
    assert_null(options_table()[OPTION_COUNT].name);
    for (const Command *command = commands; command->name; command++) {
        check_table(command->options());
        assert_ptr_equal(command_find(command->name), command);
    }
    assert_null(command_find("runs"));
}

/* The help of one option: beside a short name, below a long one. */
static void test_help(void **state)
{
    (void)state;
    const OptionRow short_one = {.name = "x", .argument = "N", .help = "one\ntwo"};
    const OptionRow long_one = {.name = "seven-and-twenty-characters", .argument = "", .help = "one"};
    const OptionRow longest_beside = {.name = "one-character-is-left-here", .argument = "", .help = "one"};
    Buf text = {0};
    option_row_print_help(&short_one, &text);
    option_row_print_help(&long_one, &text);
    option_row_print_help(&longest_beside, &text);
    assert_string_equal(buf_text(&text), "  -x N                        one\n"
                                         "                              two\n"
                                         "  -seven-and-twenty-characters\n"
                                         "                              one\n"
                                         "  -one-character-is-left-here one\n");
    buf_free(&text);
}

/* Options that were read count as given, wherever they came from. */
static void test_given(void **state)
{
    (void)state;
    Line line = line_read("-coarsen 2 -O3 -report=r in.ptx");
    for (OptionId id = 0; id < OPTION_COUNT; id++)
        assert_int_equal(option_given(&line.options, id),
                         id == OPTION_COARSEN || id == OPTION_O3 || id == OPTION_REPORT);
    line_free(&line);
    line = line_read("-Xptxas -O1 in.ptx");
    assert_true(option_given(&line.options, OPTION_ASSEMBLER));
    line_free(&line);
    Arena *arena = arena_new();
    Options options;
    options_init(&options);
    assert_null(options_set(arena, &options, "stride", "unit"));
    assert_true(option_given(&options, OPTION_STRIDE));
    assert_false(option_given(&options, OPTION_COARSEN));
    assert_string_equal(options_check(arena, &options), "-stride says how to coarsen, but -coarsen is not given");
    for (OptionId id = 0; id < OPTION_COUNT; id++)
        if (options_table()[id].is_for_program)
            assert_non_null(strstr(options_set(arena, &options, options_table()[id].name, "x"), "is for the program"));
    arena_free(arena);
}

static OptionsOutcome run_line(Arena *arena, RunOptions *options, const char **error, int count,
                               const char *const *words)
{
    char **copy = ARENA_ARRAY(arena, char *, (size_t)count + 3);
    copy[0] = arena_printf(arena, "ptxopt");
    copy[1] = arena_printf(arena, "run");
    for (int i = 0; i < count; i++)
        copy[i + 2] = arena_printf(arena, "%s", words[i]);
    return run_options_parse(arena, count + 2, copy, options, error);
}

#define RUN_LINE(...)                                                                                                  \
    run_line(arena, &options, &error, (int)COUNT_OF(((const char *[]){__VA_ARGS__})), (const char *[]){__VA_ARGS__})

static void test_run(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    RunOptions options;
    const char *error;
    assert_int_equal(RUN_LINE("a.ptx", "-dump", "x", "a.json", "-dump=y", "-resident", "4"), OPTIONS_RUN);
    assert_string_equal(options.input, "a.ptx");
    assert_string_equal(options.launch, "a.json");
    assert_int_equal(options.dumps.count, 2);
    assert_int_equal(options.machine.resident_blocks, 4);
    assert_true(options.machine.check_races && options.machine.check_unwritten && options.machine.check_registers);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-check", "races,unwritten", "-report-format", "json"), OPTIONS_RUN);
    assert_true(options.machine.check_races && options.machine.check_unwritten && !options.machine.check_registers);
    assert_true(options.output.json);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-check=none"), OPTIONS_RUN);
    assert_false(options.machine.check_races || options.machine.check_unwritten || options.machine.check_registers);
    assert_int_equal(RUN_LINE("-help"), OPTIONS_HELP);
    assert_int_equal(RUN_LINE("a.ptx"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "b.json"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-check", "racing"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-check", "races,"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-resident", "0"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-max-steps", "-1"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-coarsen", "2"), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-dump"), OPTIONS_WRONG);
    arena_free(arena);
}

static void test_run_fields(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    RunOptions options;
    const char *error;
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-jobs", "3", "-max-steps", "5", "-lines", "-o", "f"), OPTIONS_RUN);
    assert_int_equal(options.jobs, 3);
    assert_int_equal(options.machine.max_steps, 5);
    assert_int_equal(options.machine.resident_blocks, 0);
    assert_true(options.machine.count_lines && options.machine.count_memory);
    assert_false(options.timed || options.output.quiet || options.output.json);
    assert_string_equal(options.output.file, "f");
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-no-sectors", "-time", "-q"), OPTIONS_RUN);
    assert_true(options.timed && options.output.quiet && !options.machine.count_memory);
    assert_int_equal(RUN_LINE("-template", "a.ptx", "k"), OPTIONS_RUN);
    assert_string_equal(options.template, "k");
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-jobs", "1025"), OPTIONS_WRONG);
    assert_string_equal(error, "-jobs 1025: expected a number of cores from 1 to 1024");
    assert_int_equal(RUN_LINE("a.ptx", "a.json", "-o="), OPTIONS_WRONG);
    assert_int_equal(RUN_LINE("-version"), OPTIONS_VERSION);
    arena_free(arena);
}

static void test_emulate(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char *words[] = {"ptxopt", "emulate", "-check", "races", "-log=l", "-fault-status", "9",
                     "./app",  "-q",      "-check", "x"};
    char *few[] = {"ptxopt", "emulate", "./app"};
    char *none[] = {"ptxopt", "emulate", "-q"};
    char *much[] = {"ptxopt", "emulate", "-fault-status", "256", "./app"};
    EmulateOptions options;
    const char *error;
    assert_int_equal(emulate_options_parse(arena, (int)COUNT_OF(words), words, &options, &error), OPTIONS_RUN);
    assert_string_equal(options.checks, "races");
    assert_string_equal(options.log, "l");
    assert_int_equal(options.fault_status, 9);
    assert_false(options.quiet);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(options.program[i], words[7 + i]);
    assert_null(options.program[4]);
    assert_int_equal(emulate_options_parse(arena, (int)COUNT_OF(few), few, &options, &error), OPTIONS_RUN);
    assert_string_equal(options.checks, "all");
    assert_int_equal(options.fault_status, 5);
    assert_null(options.log);
    assert_null(options.program[1]);
    assert_int_equal(emulate_options_parse(arena, (int)COUNT_OF(none), none, &options, &error), OPTIONS_WRONG);
    assert_string_equal(error, "expected a program, and its arguments");
    assert_int_equal(emulate_options_parse(arena, (int)COUNT_OF(much), much, &options, &error), OPTIONS_WRONG);
    assert_string_equal(error, "-fault-status 256: expected a number from 1 to 255");
    arena_free(arena);
}

static void test_cost(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char *words[] = {"ptxopt", "cost", "-before", "b.ptx", "a.json", "-machine=m", "-registers", "40", "a.ptx",
                     "-sass"};
    char *others[] = {"ptxopt", "cost", "-estimate", "-accesses", "-assembler", "none", "-arch", "sm_90",
                      "a.ptx", "a.json"};
    char *wrong[] = {"ptxopt", "cost", "-registers", "256", "a.ptx", "a.json"};
    CostOptions options;
    const char *error;
    assert_int_equal(cost_options_parse(arena, (int)COUNT_OF(words), words, &options, &error), OPTIONS_RUN);
    assert_string_equal(options.before, "b.ptx");
    assert_string_equal(options.machine, "m");
    assert_string_equal(options.input, "a.ptx");
    assert_string_equal(options.launch, "a.json");
    assert_int_equal(options.registers, 40);
    assert_true(options.listing && !options.accesses && !options.estimate && !options.assembler_given);
    assert_int_equal(cost_options_parse(arena, (int)COUNT_OF(others), others, &options, &error), OPTIONS_RUN);
    assert_true(options.accesses && options.estimate && !options.listing);
    assert_true(options.assembler_given && options.assembler_none);
    assert_string_equal(options.arch, "sm_90");
    assert_int_equal(cost_options_parse(arena, (int)COUNT_OF(wrong), wrong, &options, &error), OPTIONS_WRONG);
    assert_string_equal(error, "-registers 256: expected a number from 1 to 255");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_knobs),
        cmocka_unit_test(test_coarsen),
        cmocka_unit_test(test_stride),
        cmocka_unit_test(test_registers_and_blocks),
        cmocka_unit_test(test_search_time),
        cmocka_unit_test(test_risk),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_run_fields),
        cmocka_unit_test(test_emulate),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
