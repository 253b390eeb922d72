/* Blocks that grow: kernels that must do the same in larger blocks, and those that are refused, with the place. */
#include "parsed.h"

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "engine/report/refusal_words.h"
#include "opt/opt.h"

/* The launch of the original, and how its blocks grow. */
typedef struct Form {
    const char *head, *tuning; /* what goes before the kernel, and after its parameters; NULL: nothing */
    unsigned grid[3], block[3];
    Shape shape;
    bool keeps_grid, knows_no_block, warns_not; /* warns_not: the emulator's checks are off */
    uint64_t dynamic_shared;
} Form;

typedef struct Grown {
    Arena *arena;
    Module *original, *module; /* 'module': the output, parsed again; NULL: refused */
    Buf text;
    KernelResult result;
} Grown;

/* %x and %y are the thread's place in the grid, %n the threads along x, %i their number, and %o the thread's own word
 * of the output. */
static Module *module_of(const Form *form, const char *code)
{
    Buf text = {0};
    const char *head = form->head ? form->head : "";
    buf_printf(&text,
               "%s%s\n.visible .entry k(.param .u64 out, .param .u32 n)%s\n{\n"
               "\t.reg .b32 %%r<20>, %%t, %%b, %%s, %%x, %%y, %%n, %%i;\n\t.reg .b64 %%a, %%o, %%d<8>;\n"
               "\t.reg .pred %%p<8>;\n\t.reg .b16 %%h<4>;\n"
               "\tld.param.u64 %%a, [out];\n\tld.param.u32 %%r0, [n];\n\tmov.u32 %%t, %%tid.x;\n"
               "\tmov.u32 %%b, %%ctaid.x;\n\tmov.u32 %%s, %%ntid.x;\n\tmad.lo.s32 %%x, %%b, %%s, %%t;\n"
               "\tmov.u32 %%r1, %%tid.y;\n\tmov.u32 %%r2, %%ctaid.y;\n\tmov.u32 %%r3, %%ntid.y;\n"
               "\tmad.lo.s32 %%y, %%r2, %%r3, %%r1;\n\tmov.u32 %%n, %%nctaid.x;\n\tmul.lo.u32 %%n, %%n, %%s;\n"
               "\tmad.lo.u32 %%i, %%y, %%n, %%x;\n\tmad.wide.u32 %%o, %%i, 4, %%a;\n%s\tret;\n}\n",
               strstr(head, ".version") ? "" : HEADER, head, form->tuning ? form->tuning : "", code);
    Module *module = module_from(buf_text(&text));
    buf_free(&text);
    return module;
}

static Grown grow(const Form *form, const char *code)
{
    Grown it = {.arena = arena_new(), .original = module_of(form, code)};
    Module *module = module_of(form, code);
    PipelineOptions options = {.sm = NULL};
    memset(options.passes.enabled, true, sizeof options.passes.enabled);
    KernelRequest request = {.coarsen = true};
    request.coarsening.shape = form->shape;
    request.coarsening.shrinks_grid = !form->keeps_grid;
    for (unsigned d = 0; d < 3 && !form->knows_no_block; d++)
        request.block[d] = form->block[d] ? form->block[d] : 1;
    pipeline_run(it.arena, module_find_function(module, "k"), &request, &options, &it.result);
    if (it.result.coarsening == OUTCOME_REFUSED) {
        it.result.refusal.inst = it.result.refusal.inst ? arena_strndup(it.arena, it.result.refusal.inst, 200) : NULL;
        buf_puts(&it.text, refusal_text(it.arena, &it.result.refusal));
        const Span span = it.result.refusal.span;
        buf_printf(&it.text, "|%.20s", it.result.refusal.has_span ? module->source->text + span.begin : "");
        kernel_discard(&it.result);
        release(module);
        return it;
    }
    const LaunchContract contract = it.result.contract;
    kernel_install(&it.result);
    emit_module_as_written(module, &it.text);
    it.module = module_from(buf_text(&it.text));
    it.result.contract = contract;
    release(module);
    return it;
}

static void done(Grown *it)
{
    if (it->module)
        release(it->module);
    release(it->original);
    buf_free(&it->text);
    arena_free(it->arena);
}

static Grown check_same(const Form *form, const char *code)
{
    enum { WORDS = 4096 };
    const uint32_t n = 37;
    Grown it = grow(form, code);
    if (!it.module)
        fail_msg("refused: %s\n%s", buf_text(&it.text), code);
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_ZERO},
        {.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .count = 1, .bytes = &n, .size = sizeof n},
    };
    Launch launch = {
        .kernel = "k", .arguments = arguments, .argument_count = 2, .dynamic_shared = form->dynamic_shared};
    memcpy(launch.grid, form->grid, sizeof launch.grid);
    memcpy(launch.block, form->block, sizeof launch.block);
    const EmulatorOptions options = {.check_unwritten = !form->warns_not,
                                     .check_registers = !form->warns_not,
                                     .check_races = !form->warns_not,
                                     .resident_blocks = 3};
    LaunchContract contract;
    LaunchUnmet unmet;
    assert_int_equal(contract_find(it.module, "k", &contract), CONTRACT_FOUND);
    assert_true(contract_is_met(&contract, launch.block, launch.grid, &unmet));
    const LaunchChange change = contract_change(&contract);
    const EmulatorComparison *comparison =
        emulator_compare(it.arena, it.original, it.module, "k", &launch, &change, &options);
    if (!comparison->equal)
        fail_msg("%s\n%s", comparison->message, buf_text(&it.text));
    return it;
}

/* The output must have the text, which must not begin with '!', or must not have what follows that. */
static void check_text(const Form *form, const char *code, const char *text)
{
    Grown it = check_same(form, code);
    const bool is_absent = text[0] == '!';
    if (buf_has(&it.text, text + is_absent) == is_absent)
        fail_msg("'%s':\n%s", text, buf_text(&it.text));
    done(&it);
}

static void check(const Form *form, const char *code)
{
    Grown it = check_same(form, code);
    done(&it);
}

/* 'at': the instruction that the refusal names; NULL: none. */
static void check_refused(const Form *form, const char *code, const char *reason, const char *at)
{
    Grown it = grow(form, code);
    if (it.module)
        fail_msg("not refused:\n%s", buf_text(&it.text));
    const char *place = strchr(buf_text(&it.text), '|') + 1;
    if (!buf_has(&it.text, reason) || strncmp(place, at ? at : "", strlen(at ? at : "")) != 0 || (!at && *place))
        fail_msg("refused otherwise: %s\n%s", buf_text(&it.text), code);
    done(&it);
}

static const Form along_x = {.grid = {6, 2, 1}, .block = {16, 4, 1}, .shape.grown = {2, 1, 1}};
static const Form along_y = {.grid = {3, 4, 1}, .block = {16, 4, 1}, .shape.grown = {1, 4, 1}};
static const Form along_both = {.grid = {6, 4, 2}, .block = {5, 3, 2}, .shape.grown = {3, 2, 2}};
static const Form in_warps = {.grid = {4, 2, 1}, .block = {64, 2, 1}, .shape.grown = {2, 2, 1}};
static const Form unknown = {.grid = {6, 2, 1}, .block = {16, 4, 1}, .shape.grown = {2, 1, 1}, .knows_no_block = true};
static const Form fixed = {.grid = {6, 2, 1},
                           .block = {16, 4, 1},
                           .shape.grown = {2, 1, 1},
                           .knows_no_block = true,
                           .tuning = " .reqntid 16, 4"};

#define STORE "\tst.global.u32 [%o], %r5;\n"

/* Everything that says where a thread is. */
static void the_place_is_the_old_one(void **state)
{
    (void)state;
    const char *code = "\tmov.u32 %r5, %tid.x;\n\tmov.u32 %r6, %ctaid.x;\n\tmad.lo.u32 %r5, %r6, 100, %r5;\n"
                       "\tmov.u32 %r6, %ntid.x;\n\tmad.lo.u32 %r5, %r5, 100, %r6;\n\tmov.u32 %r6, %nctaid.x;\n"
                       "\txor.b32 %r5, %r5, %r6;\n\tmov.u32 %r6, %ctaid.z;\n\tmov.u32 %r7, %tid.z;\n"
                       "\tmad.lo.u32 %r5, %r5, 7, %r6;\n\tmad.lo.u32 %r5, %r5, 7, %r7;\n\tmov.u16 %h1, %tid.y;\n"
                       "\tcvt.u32.u16 %r6, %h1;\n\tmad.lo.u32 %r5, %r5, 7, %r6;\n"
                       "\tmad.lo.u32 %r7, %r7, 5, %i;\n\tmov.u32 %r8, %ctaid.z;\n\tmad.lo.u32 %r7, %r8, 900, %r7;\n"
                       "\tmad.wide.u32 %o, %r7, 4, %a;\n\tred.global.add.u32 [%o], %r5;\n";
    const Form *const forms[] = {&along_x, &along_y, &along_both, &in_warps, &unknown, &fixed};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        check(forms[i], code);
}

static void sums_of_the_place_stay_sums(void **state)
{
    (void)state;
    const char *code = "\tmov.b32 %r5, %x;\n" STORE;
    check_text(&along_x, code, "mad.lo.u32 %x, %ctaid_grown, 32, %tid_grown;");
    check_text(&along_x, code, "!and.b32");
    check_text(&along_x, "\tshl.b32 %r5, %b, 4;\n\tor.b32 %r5, %r5, %t;\n\tadd.s32 %r5, %r5, 3;\n" STORE, "!and.b32");
    check_text(&along_x, "\tsub.s32 %r5, 5, %t;\n\tmul.lo.s32 %r6, %b, 16;\n\tsub.s32 %r5, %r5, %r6;\n" STORE,
               "!shr.u32");
    check_text(&along_both, "\tadd.s32 %r5, %x, %y;\n" STORE "\tmov.u32 %r6, %tid.z;\n\tsetp.ne.u32 %p1, %r6, 99;\n",
               "mad.lo.u32 %y, %ctaid_grown_1, 6, %tid_grown_1;");
    check_text(&unknown, code, "mad.lo.u32 %x, %ctaid_grown, %ntid_grown, %tid_grown;");
    check_text(&unknown, code, "!div.u32");
    check_text(&along_x, "\tmad.lo.u32 %r5, %b, 17, %t;\n" STORE, "and.b32"); /* something else */
    check_text(&along_x, "\tmad.lo.u32 %r5, %t, 16, %b;\n" STORE, "and.b32");
    check_text(&unknown, "\tmad.lo.u32 %r5, %t, %s, %b;\n" STORE, "div.u32");
    check_text(&unknown, "\tmad.lo.u32 %r5, %b, %s, %r0;\n" STORE, "div.u32");
}

static void the_size_is_declared(void **state)
{
    (void)state;
    const char *code = "\tmov.b32 %r5, %x;\n" STORE;
    check_text(&along_x, code, ".reqntid 32, 4\n");
    check_text(&fixed, code, ".reqntid 32, 4\n");
    check_text(&along_y, code, ".reqntid 16, 16\n");
    check_text(&unknown, code, ".maxntid 1024\n");
    Form form = unknown;
    form.tuning = " .maxntid 16, 8";
    check_text(&form, code, ".maxntid 256\n");
    form.tuning = " .maxntid 1024";
    check_text(&form, code, ".maxntid 1024\n");
    form.tuning = " .maxntid 128 .minnctapersm 5";
    check_text(&form, code, ".minnctapersm 3\n");
    form = along_x;
    form.shape.threads[0] = 2; /* as many threads as before */
    check_text(&form, code, ".maxntid 16, 4\n");
}

/* Each block's threads pass values on through shared memory, and must not see those of another block. */
#define PASS_ON "\tshl.b32 %r6, %t, 2;\n\tadd.u32 %r6, %r6, %r7;\n\tmad.lo.u32 %r6, %r1, 64, %r6;\n" \
                "\tst.shared.u32 [%r6], %i;\n\tbar.sync 0;\n\tld.shared.u32 %r5, [%r7+60];\n" \
                "\tld.shared.u32 %r8, [%r6];\n\tmad.lo.u32 %r5, %r5, 3, %r8;\n" STORE

static void shared_memory_is_split(void **state)
{
    (void)state;
    const char *code = "\t.shared .align 4 .b8 tile[256];\n\tmov.u32 %r7, tile;\n" PASS_ON;
    check_text(&along_x, code, ".shared .align 16 .b8 tile_1[512];");
    check_text(&along_x, code, "!tile[256]");
    check(&along_y, code);
    check(&unknown, code);
    Form racing = along_y;
    racing.warns_not = true;
    check_text(&racing, "\t.shared .align 32 .b8 tile[250];\n\tmov.u32 %r7, tile;\n\tst.shared.u8 [tile+249], 1;\n"
                         "\tld.shared.u8 %r5, [tile+249];\n" STORE "\tbar.sync 0;\n", ".align 32 .b8 tile_1[1024]");
    Form form = along_x;
    form.head = ".shared .b32 tile[64];\n.shared .b32 other[3];\n";
    form.shape.grown[1] = 2;
    check(&form, "\tmov.u32 %r7, tile;\n" PASS_ON);
    check(&form, "\t{\n\t.reg .b64 %g;\n\tmov.u64 %d1, tile;\n\tcvta.shared.u64 %g, %d1;\n"
                 "\tmad.wide.u32 %d2, %t, 4, %g;\n\tmad.wide.u32 %d2, %r1, 64, %d2;\n\tst.u32 [%d2], %i;\n"
                 "\tbar.sync 0;\n\txor.b32 %r6, %t, 3;\n\tmad.wide.u32 %d2, %r6, 4, %g;\n"
                 "\tmad.wide.u32 %d2, %r1, 64, %d2;\n\tld.u32 %r5, [%d2];\n\t}\n" STORE);
    form.head = ".extern .shared .align 16 .b8 tile[];\n";
    form.dynamic_shared = 260;
    Grown it = check_same(&form, "\tmov.u32 %r7, tile;\n" PASS_ON);
    assert_int_equal(it.result.contract.dynamic_factor, 4);
    done(&it);
    form.shape.threads[1] = 2;
    check(&form, "\tmov.u32 %r7, tile;\n" PASS_ON);
    form.shape.threads[1] = 1;
    check_refused(&along_x, "\t.shared .b32 s[8192];\n\tst.shared.u32 [s], %t;\n", "65536 bytes", NULL);
    check_refused(&along_x, "\tst.shared.u32 [%t], %t;\n", "does not come from a shared", "st.shared");
    check_refused(&along_x, "\tmov.u32 %r5, %total_smem_size;\n" STORE, "size of shared memory", "mov.u32");
    form.head = ".extern .shared .b32 elsewhere[4];\n";
    check_refused(&form, "\tst.shared.u32 [elsewhere], %t;\n", "is defined elsewhere", "st.shared");
}

/* Blocks that come to barriers alike. */
static void barriers_of_all(void **state)
{
    (void)state;
    check(&along_x, "\tmov.u32 %r9, 0;\nL:\n\tred.global.add.u32 [%o], 1;\n\tbar.sync 0;\n\tadd.u32 %r9, %r9, 1;\n"
                    "\tsetp.lt.u32 %p1, %r9, %r0;\n\t@%p1 bra L;\n");
    /* sides that meet before it, one of which has a loop */
    check(&along_x, "\tand.b32 %r9, %b, 3;\n\tsetp.eq.u32 %p1, %r9, 1;\n\t@%p1 bra M;\nL:\n"
                    "\tred.global.add.u32 [%o], 1;\n\tadd.u32 %r9, %r9, 1;\n\tsetp.lt.u32 %p2, %r9, 5;\n\t@%p2 bra L;\n"
                    "M:\n\tbar.sync 0;\n\tred.global.add.u32 [%o], %r9;\n\tbar.sync 0;\n");
    /* after the last one */
    check(&along_x, "\tbar.sync 0;\n\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 bra M;\n\tred.global.add.u32 [%o], 1;\nM:\n");
    /* a block leaves before it, in whole warps */
    const char *leave = "\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 ret;\n\tmov.u32 %r9, 0;\nL:\n\tred.global.add.u32 [%o], 1;\n"
                        "\tbar.sync 0;\n\tadd.u32 %r9, %r9, 1;\n\tsetp.lt.u32 %p2, %r9, 3;\n\t@%p2 bra L;\n";
    check(&in_warps, leave);
    check_refused(&along_x, leave, "are no whole warps", NULL);
    /* those that stay go on to another barrier, wherever the branch leads */
    check(&in_warps, "\tsetp.ne.u32 %p1, %b, 1;\n\t@%p1 bra G;\n\tred.global.add.u32 [%o], 5;\n\tret;\nG:\n"
                     "\tmov.u32 %r9, 0;\nL:\n\tred.global.add.u32 [%o], 1;\n\tbar.sync 0;\n\tadd.u32 %r9, %r9, 1;\n"
                     "\tsetp.lt.u32 %p2, %r9, 3;\n\t@%p2 bra L;\n\tbar.sync 0;\n\tred.global.add.u32 [%o], 1;\n");
    /* in a loop that blocks leave after different numbers of rounds, with no other barrier after it */
    check(&in_warps, "\tmov.u32 %r9, 0;\nL:\n\tred.global.add.u32 [%o], 1;\n\tbar.sync 0;\n\tadd.u32 %r9, %r9, 1;\n"
                     "\tsetp.le.u32 %p1, %r9, %b;\n\t@%p1 bra L;\n");
    check(&along_x, "\tsetp.gt.u32 %p1, %r0, 4;\n\t@%p1 bar.sync 0;\n\tred.global.add.u32 [%o], 1;\n");
}

static void other_barriers(void **state)
{
    (void)state;
    const char *meets = "differently, and not come to";
    check_refused(&in_warps, "\tmov.u32 %r9, 0;\nL:\n\tred.global.add.u32 [%o], 1;\n\tbar.sync 0;\n"
                             "\tadd.u32 %r9, %r9, 1;\n\tsetp.le.u32 %p1, %r9, %b;\n\t@%p1 bra L;\n\tbar.sync 0;\n",
                  meets, "bar.sync");
    check_refused(&in_warps, "\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 bra M;\n\tbar.sync 0;\nM:\n\tbar.sync 0;\n", meets,
                  "bar.sync");
    check_refused(&in_warps, "\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 bra M;\n\tbar.sync 0;\n\tret;\nM:\n\tbar.sync 0;\n",
                  meets, "bar.sync");
    /* the condition is from memory, or from a loop that blocks leave at different times */
    check_refused(&in_warps, "\tld.global.u32 %r9, [%a];\n\tsetp.eq.u32 %p1, %r9, 1;\n"
                             "\t@%p1 bra M;\n\tbar.sync 0;\nM:\n\tbar.sync 0;\n",
                  meets, "bar.sync");
    check_refused(&in_warps, "\tmov.u32 %r9, 0;\nL:\n\tadd.u32 %r9, %r9, 1;\n\tsetp.le.u32 %p1, %r9, %b;\n"
                             "\t@%p1 bra L;\n\tsetp.gt.u32 %p2, %r9, 2;\n"
                             "\t@%p2 bra M;\n\tbar.sync 0;\nM:\n\tbar.sync 0;\n",
                  meets, "bar.sync");
    check_refused(&in_warps, "\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 bar.sync 0;\n", "differs between the blocks", "@%p1");
    check_refused(&in_warps, "\tbarrier.sync %r0;\n", "only known at run time", "barrier.sync");
    check_refused(&in_warps, "\tbar.sync 0, 64;\n", "given number of threads", "bar.sync");
    check_refused(&in_warps, "\tbar.arrive 1, 64;\n", "counts threads", "bar.arrive");
    check_refused(&in_warps, "\tsetp.eq.u32 %p1, %t, 1;\n\tbar.red.popc.u32 %r5, 0, %p1;\n" STORE, "counts threads",
                  "bar.red");
    /* along x, where blocks do not grow */
    check(&along_y, "\tsetp.eq.u32 %p1, %b, 1;\n\t@%p1 bra M;\n\tbar.sync 0;\nM:\n\tbar.sync 0;\n");
}

static void warps_stay_warps(void **state)
{
    (void)state;
    const char *shuffle = "\tshfl.sync.bfly.b32 %r5, %i, 1, 31, -1;\n" STORE;
    const char *lane = "\tmov.u32 %r5, %laneid;\n" STORE;
    check(&in_warps, shuffle);
    check(&in_warps, lane);
    Form form = along_y; /* 64 threads in a block, along x and y */
    check(&form, shuffle);
    form.shape.grown[1] = 2;
    check(&form, shuffle);
    form.tuning = " .reqntid 16, 4";
    form.knows_no_block = true;
    check(&form, shuffle);
    check_refused(&along_x, shuffle, "the 16 threads of a block that stay together", NULL);
    check_refused(&along_x, lane, "are no whole warps", NULL);
    form = in_warps;
    form.knows_no_block = true;
    check_refused(&form, shuffle, "use -block", NULL);
    form.tuning = " .maxntid 128";
    check_refused(&form, shuffle, "use -block", NULL);
    check_refused(&in_warps, "\tmov.u32 %r5, %warpid;\n" STORE, "counts warps", "mov.u32");
    const char *quick = "\t.shared .b32 s[64];\n\tmov.u32 %r6, s;\n\tmad.lo.u32 %r6, %t, 4, %r6;\n"
                        "\tst.volatile.shared.u32 [%r6], %t;\n\tld.volatile.shared.u32 %r5, [%r6];\n" STORE;
    check_refused(&along_x, quick, "are no whole warps", NULL);
    form = in_warps;
    form.block[1] = 1;
    check(&form, quick);
}

static void sizes(void **state)
{
    (void)state;
    Form form = {.grid = {2, 1, 64}, .block = {512, 2, 1}, .shape.grown = {2, 1, 1}};
    check_refused(&form, STORE, "2048 threads", NULL);
    form = (Form){.grid = {1, 1, 80}, .block = {2, 1, 2}, .shape.grown = {1, 1, 40}};
    check_refused(&form, STORE, "80 threads along z", NULL);
    form = along_x;
    form.tuning = " .maxnreg 80";
    check(&form, "\tmov.b32 %r5, %x;\n" STORE);
    form.block[0] = 512;
    form.block[1] = 1;
    check_refused(&form, STORE, "81920", NULL);
    form = along_x;
    form.head = SM_90;
    form.tuning = " .reqnctapercluster 2";
    check_refused(&form, STORE, "form clusters", NULL);
    form.tuning = NULL;
    check_refused(&form, "\tmov.u32 %r5, %cluster_ctarank;\n" STORE, "about clusters", "mov.u32");
    form.head = ".version 8.0\n.target sm_90a\n.address_size 64\n";
    check_refused(&form, "\tsetmaxnreg.inc.sync.aligned.u32 64;\n", "registers of the block", "setmaxnreg");
}

static void loops_that_wait(void **state)
{
    (void)state;
    check_refused(&along_x, "L:\n\tld.volatile.global.u32 %r5, [%a];\n\tsetp.eq.u32 %p1, %r5, 0;\n\t@%p1 bra L;\n",
                  "may wait", "ld.volatile");
    Form form = along_x; /* swaps that fail because another has succeeded */
    form.warns_not = true;
    check(&form, "\tld.global.u32 %r5, [%a];\nL:\n\tadd.u32 %r6, %r5, %x;\n\tmov.b32 %r8, %r5;\n"
                 "\tatom.global.cas.b32 %r5, [%a], %r8, %r6;\n\tsetp.ne.u32 %p1, %r5, %r8;\n\t@%p1 bra L;\n");
}

static void calls(void **state)
{
    (void)state;
    Form form = along_x;
    form.head = ".func (.param .u32 r) plain(.param .u32 a)\n{\n\t.reg .b32 %q;\n\tld.param.u32 %q, [a];\n"
                "\tmul.lo.u32 %q, %q, 3;\n\tst.param.u32 [r], %q;\n\tret;\n}\n"
                ".func (.param .u32 r) place(.param .u32 a)\n{\n\t.reg .b32 %q<2>;\n\tld.param.u32 %q0, [a];\n"
                "\tmov.u32 %q1, %tid.x;\n\tadd.u32 %q0, %q0, %q1;\n\tst.param.u32 [r], %q0;\n\tret;\n}\n"
                ".func (.param .u32 r) deep(.param .u32 a)\n{\n\t.reg .b32 %q<3>;\n\t.reg .pred %p;\n"
                "\tld.param.u32 %q0, [a];\n\tmov.u32 %q1, %ntid.x;\n\tsetp.gt.u32 %p, %q0, %q1;\n\t@%p bra E;\n"
                "\t{\n\t.param .u32 x;\n\t.param .u32 y;\n\tadd.u32 %q2, %q0, 9;\n\tst.param.u32 [x], %q2;\n"
                "\tcall (y), deep, (x);\n\tld.param.u32 %q0, [y];\n\t}\nE:\n\tst.param.u32 [r], %q0;\n\tret;\n}\n";
#define CALL(name) "\t{\n\t.param .u32 u;\n\t.param .u32 v;\n\tst.param.u32 [u], %x;\n\tcall (v), " name ", (u);\n" \
                   "\tld.param.u32 %r5, [v];\n\t}\n" STORE
    check_text(&form, CALL("plain"), ", plain,");
    check_text(&form, CALL("place"), "!, place,");
    check_refused(&form, CALL("deep"), "reads %ntid.x", "call");
}

/* Threads and blocks are merged after blocks have grown. */
static void coarsened_after(void **state)
{
    (void)state;
    const char *code = "\tmad.lo.u32 %r5, %y, 1000, %x;\n" STORE;
    Form form = along_x;
    form.shape.threads[1] = 2;
    form.shape.blocks[0] = 3;
    Grown it = check_same(&form, code);
    const LaunchChange change = contract_change(&it.result.contract);
    assert_int_equal(change.grown[0], 2);
    assert_int_equal(change.block[1], 2);
    assert_int_equal(change.grid[0], 6);
    assert_int_equal(it.result.contract.block[0], 16);
    done(&it);
    form.keeps_grid = true; /* merged blocks that are left over exit, those that have grown are not launched */
    it = check_same(&form, code);
    assert_int_equal(contract_change(&it.result.contract).grid[0], 2);
    done(&it);
    form.knows_no_block = true;
    check(&form, code);
    /* 6 threads along x, of which 4 become one: only because blocks have grown */
    form = (Form){.grid = {4, 1, 1}, .block = {6, 1, 1}, .shape = {.grown = {2, 1, 1}, .threads = {4, 1, 1}}};
    form.knows_no_block = true;
    check(&form, code);
    /* nothing grows if the rest is refused */
    form = along_x;
    form.shape.threads[0] = 2;
    check_refused(&form, "\tbarrier.sync 0;\n\tmov.u32 %r5, %laneid;\n\tmov.u32 %r6, %warpid;\n" STORE, "warp",
                  "mov.u32");
    form.block[0] = 1;
    form.shape.threads[0] = 3;
    check_refused(&form, code, "the factor 3 is more than the block's 2 threads", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_is_the_old_one),
        cmocka_unit_test(sums_of_the_place_stay_sums),
        cmocka_unit_test(the_size_is_declared),
        cmocka_unit_test(shared_memory_is_split),
        cmocka_unit_test(barriers_of_all),
        cmocka_unit_test(other_barriers),
        cmocka_unit_test(warps_stay_warps),
        cmocka_unit_test(sizes),
        cmocka_unit_test(loops_that_wait),
        cmocka_unit_test(calls),
        cmocka_unit_test(coarsened_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
