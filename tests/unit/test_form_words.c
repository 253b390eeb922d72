/* The words of forms: each request that a choice may make comes back from its words, and other words are refused. */
#include "parsed.h"

#include "engine/form_words.h"

static const char text[] = HEADER ".visible .entry k(.param .u32 k_n, .param .u64 k_m)\n{\n$first:\nbra $first;\n"
                                 "$block_reassociate:\nbra $block_reassociate;\n}\n";

static const Function *kernel(Module *module)
{
    return module_find_function(module, "k");
}

/* Words that the program writes. */
static void words_come_back(void **state)
{
    static const char *const forms[] = {
        "",
        "x2",
        "gx2,x4,y2,bz8",
        "gx2",
        "x4 stride=unit",
        "bx4 stride=16 guards=fast grid=shrink",
        "y2 guards=sequential",
        "y2 guards=predicated",
        "y2 guards=interior given=k_n:3 given=k_m:17179869184",
        "refine=8",
        "refine=2 reassociate",
        "refine=16,apart reassociate vectors",
        "edges",
        "x2 edges stage",
        "vectors stage depth=256 unroll",
        "vectors stage rows",
        "x2 stride=unit stage depth=32 before-vectors",
        "prefetch depth=64 unroll before-vectors",
        "async2",
        "async4 depth=64 counters vectors",
        "counters vectors",
        "counters extent=k_m:1024 vectors",
        "x2 uj=$first:4",
        "vectors uj=$block_reassociate:2 uj=$first:8",
    };
    (void)state;
    Module *module = module_from(text);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        KernelRequest request = {.jams = &(UnrollJam){"other", 2}, .jam_count = 1, .vectors_first = true,
                                 .refining = {.threads = 4}, .staging = {.depth = 64, .unrolls = true}};
        form_words_clear(&request);
        assert_string_equal(form_words_text(module->arena, &request), "");
        assert_true(form_words_follow(module->arena, kernel(module), forms[i], &request));
        assert_string_equal(form_words_text(module->arena, &request), forms[i]);
    }
    release(module);
}

/* The fields that words stand for. */
static void words_mean_what_they_say(void **state)
{
    (void)state;
    Module *module = module_from(text);
    KernelRequest request = {0};
    form_words_clear(&request);
    assert_true(form_words_follow(module->arena, kernel(module),
                                  "refine=4,apart reassociate vectors async3 depth=64 unroll before-vectors "
                                  "uj=$first:3 block=16,8,1", &request));
    assert_int_equal(request.refining.threads, 4);
    assert_true(request.refining.is_apart && request.refining.reassociates && !request.coarsen);
    assert_true(request.vectors && request.vectors_first && request.staging.wanted && !request.staging.prefetches);
    assert_true(request.staging.unrolls && request.staging.before_vectors);
    assert_int_equal(request.staging.buffers, 3);
    assert_int_equal(request.staging.depth, 64);
    assert_int_equal(request.jam_count, 1);
    assert_int_equal(request.jams[0].factor, 3);
    assert_int_equal(request.block[1], 8);
    release(module);
}

static void others_are_refused(void **state)
{
    static const char *const forms[] = {
        "x0",          "x2,",           "auto",          "refine=3",        "refine=64",   "refine=8,near",
        "refine=",     "x2 refine=8",   "depth=64",      "stage depth=48",  "stage depth=512", "stage depth=-64",
        "async9",      "stage depth=",  "uj=$first",     "uj=$first:1",     "uj=$none:2",  "uj=:2",
        "block=0",     "block=1,2,3,4", "stride=-1",     "guards=none",     "grid=grow",   "vectors unrolled",
        "given=k_n",   "given=k_n:",    "given=k:1",     "given=k_n:-1",
    };
    (void)state;
    Module *module = module_from(text);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        KernelRequest request = {0};
        form_words_clear(&request);
        if (form_words_follow(module->arena, kernel(module), forms[i], &request))
            fail_msg("'%s' is followed", forms[i]);
    }
    release(module);
}

static void single_words_are_found(void **state)
{
    (void)state;
    assert_true(form_words_have("x2 block=16,16,1", FORM_BLOCK_WORD));
    assert_true(form_words_have("block=1", FORM_BLOCK_WORD));
    assert_false(form_words_have("x2 uj=$block=:2", FORM_BLOCK_WORD));
    assert_false(form_words_have("", FORM_BLOCK_WORD));
    assert_true(form_words_have("refine=8 reassociate", FORM_REASSOCIATE_WORD));
    assert_true(form_words_have("refine=8 reassociate vectors", FORM_REASSOCIATE_WORD));
    assert_false(form_words_have("refine=8 reassociated uj=reassociate:2", FORM_REASSOCIATE_WORD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back),
        cmocka_unit_test(words_mean_what_they_say),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(single_words_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
