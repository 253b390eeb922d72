/* Replica variance on small kernels: tests/cases/analysis/variance-*.ptx and their expectations.
 *
 * A line
 *     // variance x [lane] [merge] [blocks]: %r1 %r2 / L1 / L2
 * in a kernel lists its variant registers, the labelled blocks that branch on a variant condition, and the blocks under
 * variant control; "any" means all dimensions. Registers have their SSA names: the first definition keeps the original
 * name. */
#include "test_analysis.h"

typedef struct Expectation {
    unsigned dimension;
    VarianceOptions options;
    char *parts[3];
} Expectation;

static bool expectation_parse(char *line, Expectation *expectation)
{
    *expectation = (Expectation){0};
    char *colon = strchr(line, ':');
    assert_non_null(colon);
    *colon = '\0';
    char *save, *word = strtok_r(line, " ", &save);
    assert_non_null(word);
    expectation->dimension = !strcmp(word, "any") ? VARIANCE_ANY : (unsigned)(word[0] - 'x');
    while ((word = strtok_r(NULL, " ", &save))) {
        if (!strcmp(word, "lane"))
            expectation->options.lane_uniform = true;
        else if (!strcmp(word, "merge"))
            expectation->options.merge_loads = true;
        else if (!strcmp(word, "blocks"))
            expectation->options.blocks = true;
        else
            fail_msg("unknown option %s", word);
    }
    expectation->parts[0] = colon + 1;
    for (unsigned i = 1; i < 3; i++) {
        char *slash = strchr(expectation->parts[i - 1], '/');
        if (!slash)
            break;
        *slash = '\0';
        expectation->parts[i] = slash + 1;
    }
    return true;
}

static bool part_names(const char *part, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = part; at && (at = strstr(at, name)); at += length)
        if ((at == part || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static unsigned part_count(const char *part)
{
    unsigned count = 0;
    for (const char *at = part; at && *at; at++)
        count += *at != ' ' && (at == part || at[-1] == ' ');
    return count;
}

static void blocks_check(const Body *body, const BitSet *set, const char *part, const char *what)
{
    unsigned found = 0;
    for (size_t i = 0; i < body->blocks.count; i++) {
        const char *label = body->blocks.data[i]->label;
        if (!label)
            continue;
        bool expected = part_names(part, label);
        if (bitset_has(set, i) != expected)
            fail_msg("%s is %s%s", label, expected ? "not " : "", what);
        found += expected;
    }
    if (found != part_count(part))
        fail_msg("a label of '%s' is not there", part);
}

/* Every chain must end in an inherent cause. */
static void reasons_check(const Body *body, const Variance *variance)
{
    for (RegId reg = 0; reg < body->regs.count; reg++) {
        if (!variance_reg(variance, reg))
            continue;
        Buf chain = {0};
        variance_explain(variance, reg, (unsigned)(body->regs.count + body->blocks.count) * 2 + 2, &chain);
        char *last = strstr(chain.data, "\n");
        for (char *next; last && (next = strstr(last + 1, "\n")); last = next)
            ;
        *last = '\0';
        char *line = strrchr(chain.data, '\n');
        line = line ? line + 1 : chain.data;
        bool inherent = false;
        for (VarianceCause cause = VARIANCE_INDEX; cause <= VARIANCE_CALL; cause++)
            inherent |= strstr(line, variance_cause_text(cause)) != NULL;
        if (!inherent)
            fail_msg("the reasons for %s end in: %s", body->regs.data[reg].name, line);
        buf_free(&chain);
    }
    for (size_t i = 0; i < body->blocks.count; i++) {
        Buf chain = {0};
        variance_explain_block(variance, body->blocks.data[i], 0, &chain);
        assert_int_equal(chain.length != 0, bitset_has(&variance->blocks, i) || bitset_has(&variance->branches, i));
        buf_free(&chain);
    }
}

static void expectation_check(const Body *body, const Expectation *expectation)
{
    Arena *arena = arena_new();
    Variance *variance = variance_compute(arena, body, NULL, expectation->dimension, &expectation->options);
    unsigned found = 0;
    for (RegId reg = 0; reg < body->regs.count; reg++) {
        const char *name = body->regs.data[reg].name;
        bool expected = part_names(expectation->parts[0], name);
        found += expected;
        if (variance_reg(variance, reg) != expected)
            fail_msg("%s is %svariant", name, expected ? "not " : "");
    }
    if (found != part_count(expectation->parts[0]))
        fail_msg("a register of '%s' is not there", expectation->parts[0]);
    blocks_check(body, &variance->branches, expectation->parts[1], "a variant branch");
    blocks_check(body, &variance->blocks, expectation->parts[2], "under variant control");
    reasons_check(body, variance);
    arena_free(arena);
}

static void file_check(const char *path)
{
    static const char marker[] = "// variance ";
    Arena *arena = arena_new();
    const char *error = NULL, *reason = NULL;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    Module *module = module_parse(arena, path, source->text, source->size);
    unsigned checked = 0;
    for (size_t f = 0; f < module->items.count; f++) {
        if (module->items.data[f].kind != ITEM_FUNCTION || !module->items.data[f].function->is_entry)
            continue;
        Function *function = module->items.data[f].function;
        Body *body = body_build(function, &reason);
        assert_non_null(body);
        body_to_ssa(body);
        body_verify(body, "test");
        const char *end = source->text + function->end.begin;
        for (const char *at = source->text + function->span.begin; (at = strstr(at, marker)) && at < end; at++) {
            Expectation expectation;
            const char *begin = at + strlen(marker);
            char *line = arena_strndup(arena, begin, strcspn(begin, "\n"));
            print_message("%s: %s: %s\n", path, function->name, line);
            expectation_parse(line, &expectation);
            expectation_check(body, &expectation);
            checked++;
        }
        body_free(body);
    }
    assert_true(checked > 0);
    arena_free(arena);
}

static void test_cases(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob("tests/cases/analysis/variance-*.ptx", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        file_check(files.gl_pathv[i]);
    globfree(&files);
}

/* On every kernel: chains of reasons end, and a value that is uniform over all dimensions is uniform in each. */
static void check_body(Body *body)
{
    if (!body->ssa)
        return;
    Arena *arena = arena_new();
    Dominance *post = postdominance_compute(arena, body);
    for (unsigned options = 0; options < 8; options++) {
        VarianceOptions chosen = {.lane_uniform = options & 1, .merge_loads = options & 2, .blocks = options & 4};
        Variance *all = variance_compute(arena, body, post, VARIANCE_ANY, &chosen);
        reasons_check(body, all);
        for (unsigned dimension = VARIANCE_X; dimension <= VARIANCE_Z; dimension++) {
            Variance *one = variance_compute(arena, body, post, dimension, &chosen);
            assert_false(bitset_union(&all->regs, &one->regs));
            assert_false(bitset_union(&all->blocks, &one->blocks));
            assert_false(bitset_union(&all->branches, &one->branches));
        }
    }
    arena_free(arena);
}

static void test_corpus(void **state)
{
    (void)state;
    each_body("corpus/*/*.ptx", check_body);
    each_body("tests/isa/examples/k-*.ptx", check_body);
}

static void test_explain(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 p)\n{\n"
                            ".reg .pred %p; .reg .u32 %r<5>; .reg .u64 %d;\n"
                            "mov.u32 %r1, %tid.x;\n"
                            "setp.lt.u32 %p, %r1, 5;\n"
                            "@%p bra B;\n"
                            "mov.u32 %r2, 1;\n"
                            "B: mov.u32 %r3, 4;\n"
                            "ld.param.u64 %d, [p]; st.global.u32 [%d], %r3;\n"
                            "ret;\n}\n");
    Arena *arena = arena_new();
    Variance *variance = variance_compute(arena, body, NULL, VARIANCE_X, NULL);
    Buf chain = {0};
    variance_explain(variance, reg_named(body, "%r2"), 0, &chain);
    assert_string_equal(chain.data, "%r2: mov.u32 (line 10) is made under variant control\n"
                                    "block 1: depends on the branch of block 0\n"
                                    "block 0: branches on %p\n"
                                    "%p: setp.lt.u32 (line 8) reads %r1\n"
                                    "%r1: mov.u32 (line 7) reads the index\n");
    buf_clear(&chain);
    variance_explain(variance, reg_named(body, "%r3"), 0, &chain);
    assert_string_equal(chain.data, "%r3: is the same in all replicas\n");
    assert_int_equal(variance_reason(variance, reg_named(body, "%r3")).cause, VARIANCE_UNIFORM);
    assert_false(variance_inst(variance, inst_nth(body, "st", 0)));
    assert_true(variance_inst(variance, inst_nth(body, "setp", 0)));
    buf_free(&chain);
    arena_free(arena);
    body_drop(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_explain),
    };
    return cmocka_run_group_tests_name("analysis_variance", tests, NULL, NULL);
}
