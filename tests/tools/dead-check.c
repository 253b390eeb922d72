/* Checks that buffers which are dead on return stay in shared memory: kernels whose blocks work in a part of a buffer,
 * by loads and stores of random shape between barriers, in loops and under conditions, are compared in the emulator
 * with the originals, except for the buffer. The emulator looks for races, and for elements that nothing has written.
 *
 *     dead-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Some are coarsened, too. Prints the errors, and at the end how many kernels had the buffer in shared memory, how many
 * of these store less in global memory, and how many were refused. -v names the seeds; -d keeps wrong outputs. */
#include "form_difference.h"
#include "kernel_writer.h"
#include "parse_text.h"
#include "seeds.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKS = 3, PART = 4 /* elements of a block for each thread */, PHASES_MOST = 6 };

/* The kernel in the making. */
typedef struct Maker {
    Writer to;
    unsigned threads, bytes; /* of a block, of an element */
    bool by_index;           /* addresses are made of the thread's number in the grid */
    bool is_signed;          /* that number is */
    int offset;              /* bytes, that the address in %a lacks */
} Maker;

static unsigned elements(const Maker *m)
{
    return PART * m->threads;
}

/* Sets %e to the number of an element; those of two threads differ. */
static void own_element(Maker *m)
{
    switch (below(&m->to, 6)) {
    case 0: line(&m->to, "shl.b32 %%e, %%t, 1;"); break;
    case 1: line(&m->to, "add.u32 %%e, %%t, %u;", below(&m->to, m->threads)); break;
    case 2: line(&m->to, "add.u32 %%e, %%t, %%s;"); break;
    case 3: line(&m->to, "sub.u32 %%e, %u, %%t;", elements(m) - 1); break;
    default: line(&m->to, "mov.u32 %%e, %%t;"); break;
    }
}

static void any_element(Maker *m)
{
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "mov.u32 %%e, %%s;"); break;
    case 1:
        line(&m->to, "mad.lo.u32 %%e, %%t, %u, %%s; rem.u32 %%e, %%e, %u;", 1 + below(&m->to, 9), elements(m));
        break;
    default: own_element(m); break;
    }
}

/* Sets %a to the address of element %e, less m->offset bytes. */
static void find_address(Maker *m)
{
    m->offset = chance(&m->to, 80) ? 0 : (int)(below(&m->to, 9) - 4) * (int)m->bytes;
    if (m->by_index && chance(&m->to, 70)) {
        line(&m->to, "add.u32 %%i, %%first, %%e;");
        line(&m->to, "mul.wide.%s32 %%w, %%i, %u; add.s64 %%a, %%buffer, %%w;", m->is_signed ? "s" : "u", m->bytes);
        line(&m->to, "sub.s64 %%a, %%a, %d;", m->offset);
        return;
    }
    line(&m->to, "mul.wide.u32 %%w, %%e, %u; add.s64 %%a, %%part, %%w;", m->bytes);
    line(&m->to, "sub.s64 %%a, %%a, %d;", m->offset);
}

static void load(Maker *m, const char *guard)
{
    const unsigned value = temporary(&m->to);
    if (chance(&m->to, 1))
        line(&m->to, "%sld.global.u8 %%i, [%%a+%d]; add.u32 %%sum, %%sum, %%t;", guard, m->offset);
    line(&m->to, "mov.b32 %%v%u, 7; %sld.global.u%u %%v%u, [%%a+%d]; mad.lo.u32 %%sum, %%sum, 3, %%v%u;", value,
         guard, 8 * m->bytes, value, m->offset, value);
}

static void store(Maker *m, const char *guard)
{
    line(&m->to, "%sst.global.u%u [%%a+%d], %%sum;", guard, 8 * m->bytes, m->offset);
}

/* Sets %p to a condition on the thread. */
static void set_condition(Maker *m)
{
    static const char *const tests[] = {"lt.u32", "lt.s32", "ge.u32", "ge.s32", "le.s32", "gt.s32"};
    const char *test = tests[below(&m->to, COUNT_OF(tests))];
    switch (below(&m->to, 9)) {
    case 7: line(&m->to, "mad.lo.u32 %%i, %%b, %%nt, %%t; setp.%s %%p, %%i, %%n;", test); break;
    case 0: line(&m->to, "and.b32 %%i, %%sum, %u; setp.%s %%p, %%t, %%i;", below(&m->to, 64), test); break;
    case 4: line(&m->to, "setp.%s %%p, %%m, %%s;", test); break;
    case 5: line(&m->to, "and.b32 %%i, %%t, 1; add.u32 %%i, %%i, %%t; setp.%s %%p, %%i, %%s;", test); break;
    case 6: line(&m->to, "add.u32 %%i, %%t, %u; setp.%s %%p, %%i, %%s;", below(&m->to, 9), test); break;
    case 1: line(&m->to, "setp.%s %%p, %%t, %d;", test, (int)below(&m->to, m->threads + 3) - 1); break;
    case 2: line(&m->to, "setp.%s %%p, %%m, %%t;", test); break;
    case 3: line(&m->to, "add.u32 %%i, %%first, %%t; setp.%s %%p, %%i, %%n;", test); break;
    default: line(&m->to, "setp.%s %%p, %%t, %%s;", test); break;
    }
}

/* A store, perhaps in some threads alone, in which each writes an element of its own, after a load from it. */
static void make_store(Maker *m)
{
    const unsigned label = m->to.labels++;
    const bool loads = chance(&m->to, 50), is_inside = chance(&m->to, 15);
    if (is_inside && chance(&m->to, 50))
        line(&m->to, "and.b32 %%i, %%t, 1; setp.eq.u32 %%q, %%i, 0; @%%q bra AROUND%u;", label);
    else if (is_inside)
        line(&m->to, "setp.ge.u32 %%q, %%t, %%s; @%%q bra AROUND%u;", label);
    own_element(m);
    find_address(m);
    switch (below(&m->to, 3)) {
    case 0:
        if (loads)
            load(m, "");
        store(m, "");
        break;
    case 1:
        set_condition(m);
        if (loads)
            load(m, chance(&m->to, 50) ? "@%p " : "");
        store(m, chance(&m->to, 80) ? "@%p " : "@!%p ");
        break;
    default:
        set_condition(m);
        line(&m->to, "@%%p bra SKIP%u;", label);
        if (loads)
            load(m, "");
        store(m, "");
        line(&m->to, "SKIP%u:", label);
        break;
    }
    if (is_inside)
        line(&m->to, "AROUND%u:", label);
}

static void make_loads(Maker *m)
{
    for (unsigned count = 1 + below(&m->to, 2); count; count--) {
        any_element(m);
        find_address(m);
        load(m, "");
    }
}

/* part[t] += part[t + s] for t < s = c, c / 2 ... 1 */
static void make_tree(Maker *m)
{
    const unsigned label = m->to.labels++;
    line(&m->to, "mov.u32 %%s, %u;", 1 + below(&m->to, m->threads + 2));
    line(&m->to, "TREE%u: setp.ge.u32 %%p, %%t, %%s; @%%p bra LATER%u;", label, label);
    line(&m->to, "mov.u32 %%e, %%t;");
    find_address(m);
    load(m, "");
    line(&m->to, "add.u32 %%e, %%t, %%s;");
    line(&m->to, "add.s64 %%own, %%a, %d;", m->offset);
    find_address(m);
    load(m, "");
    line(&m->to, "st.global.u%u [%%own], %%sum;", 8 * m->bytes);
    line(&m->to, "LATER%u: bar.sync 0; shr.u32 %%s, %%s, 1; setp.ne.u32 %%q, %%s, 0; @%%q bra TREE%u;", label, label);
    line(&m->to, "mov.u32 %%s, %u;", below(&m->to, m->threads));
}

static void make_phase(Maker *m)
{
    if (chance(&m->to, 25))
        make_tree(m);
    else if (chance(&m->to, 60))
        make_store(m);
    else
        make_loads(m);
    line(&m->to, "bar.sync 0;");
}

/* Phases, of which some are in a loop or under a condition that all threads of a block have in common. */
static void make_phases(Maker *m)
{
    for (unsigned count = 2 + below(&m->to, PHASES_MOST); count; count--) {
        const unsigned label = m->to.labels++;
        switch (below(&m->to, 4)) {
        case 0:
            line(&m->to, "mov.u32 %%k%u, %u;", label, 1 + below(&m->to, 3));
            line(&m->to, "LOOP%u:", label);
            make_phase(m);
            make_phase(m);
            line(&m->to, "sub.u32 %%k%u, %%k%u, 1; setp.ne.u32 %%q, %%k%u, 0; @%%q bra LOOP%u;", label, label, label,
                 label);
            break;
        case 1:
            line(&m->to, "and.b32 %%i, %%m, 1; setp.eq.u32 %%q, %%i, %u; @%%q bra OVER%u;", below(&m->to, 2), label);
            make_phase(m);
            line(&m->to, "OVER%u:", label);
            break;
        default: make_phase(m); break;
        }
    }
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    const uint32_t bounds[] = {0, 1, m->threads / 2, m->threads, m->threads + 5, (uint32_t)-3, 5000};
    *launch = (Launch){.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {m->threads, 1, 1}};
    launch->argument_count = 4;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 4);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "dead",
                                            .type = m->bytes == 4 ? TYPE_U32 : m->bytes == 2 ? TYPE_U16 : TYPE_U8,
                                            .count = BLOCKS * elements(m), .fill = FILL_UNIFORM, .low = 0, .high = 200,
                                            .seed = m->to.random.state};
    launch->arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32,
                                            .count = BLOCKS * m->threads, .fill = FILL_POISON};
    scalar_argument(arena, &launch->arguments[2], below(&m->to, BLOCKS * elements(m) + 3));
    scalar_argument(arena, &launch->arguments[3], bounds[below(&m->to, COUNT_OF(bounds))]);
    launch->check = ARENA_ARRAY(arena, const char *, 1);
    launch->check[0] = "out";
    launch->check_count = 1;
}

static void dead_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    static const unsigned sizes[] = {1, 7, 31, 32, 48, 64}, widths[] = {1, 2, 4, 4};
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 3}, .out = &code}};
    m.threads = sizes[below(&m.to, COUNT_OF(sizes))];
    m.bytes = widths[below(&m.to, COUNT_OF(widths))];
    m.by_index = chance(&m.to, 40);
    m.is_signed = chance(&m.to, 50);
    line(&m.to, "ld.param.u64 %%buffer, [dead]; ld.param.u64 %%all, [out];");
    line(&m.to, "ld.param.u32 %%n, [n]; ld.param.u32 %%m, [m];");
    line(&m.to, "mov.u32 %%t, %%tid.x; mov.u32 %%b, %%ctaid.x; mov.u32 %%sum, %%t; mov.u32 %%nt, %%ntid.x;");
    line(&m.to, "mov.u32 %%s, %u; mul.lo.u32 %%first, %%b, %u;", below(&m.to, m.threads), elements(&m));
    line(&m.to, "mul.wide.u32 %%w, %%first, %u; add.s64 %%part, %%buffer, %%w;", m.bytes);
    if (chance(&m.to, 10))
        line(&m.to, "setp.eq.u32 %%q, %%b, 1; @%%q ret;");
    if (chance(&m.to, 10))
        line(&m.to, "setp.ge.u32 %%q, %%t, %u; @%%q ret;", below(&m.to, m.threads + 1));
    make_phases(&m);
    line(&m.to, "mad.lo.u32 %%i, %%b, %u, %%t; mul.wide.u32 %%w, %%i, 4; add.s64 %%a, %%all, %%w;", m.threads);
    line(&m.to, "st.global.u32 [%%a], %%sum; ret;");
    make_launch(&m, arena, launch);
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 dead, "
                   ".param .u64 out, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%k<%u>, %%t, %%b, %%e, %%s, %%i, %%n, %%m, %%first, %%nt, %%sum;\n",
               m.to.temporaries + 1, m.to.labels + 1);
    buf_puts(text, "\t.reg .b64 %buffer, %all, %part, %a, %w, %own;\n\t.reg .pred %p, %q;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned done, fewer, refused, wrong;
} Check;

/* Half of the kernels are coarsened as well, if that is sound. */
static KernelRequest choose_request(uint64_t seed, const Launch *launch)
{
    static const char *const names[] = {"dead"};
    KernelRequest request = {.dead = {names, 1}, .block = {launch->block[0], 1, 1}};
    if (seed % 4 == 1 && launch->block[0] % 2 == 0) {
        request.coarsen = true;
        request.coarsening = (CoarsenRequest){.shape.threads = {2, 1, 1}};
    }
    if (seed % 4 == 3) {
        request.coarsen = true;
        request.coarsening = (CoarsenRequest){.shape.blocks = {2, 1, 1}};
    }
    if (seed % 5 == 0) /* a launch may have other blocks than the pass is told */
        request.block[0] = request.coarsen ? request.block[0] : 0;
    return request;
}

static void check_form(Check *check, Arena *arena, uint64_t seed, Module *module, const Launch *launch,
                       const EmulatorResult *expected, const Buf *text)
{
    PipelineOptions pipeline = {.no_figures = true};
    const EmulatorOptions strict = {
        .check_races = true, .check_unwritten = true, .check_registers = true, .count_memory = true};
    const KernelRequest request = choose_request(seed, launch);
    KernelResult result = {0};
    Buf after = {0};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        pipeline.passes.enabled[i] = true;
    pipeline_run(arena, module_find_function(module, "k"), &request, &pipeline, &result);
    if (!dead_buffers_count(&result.dead)) {
        check->refused++;
        kernel_discard(&result);
        return;
    }
    kernel_install(&result);
    emit_module(module, &after);
    const LaunchChange change = kernel_launch_change(&result);
    EmulatorCounters counters = {0};
    const char *message = form_difference(arena, &after, launch, &change, expected, &strict, &counters);
    check->done++;
    check->fewer += counters.stores[SPACE_GLOBAL] < expected->counters.stores[SPACE_GLOBAL];
    check->wrong += message != NULL;
    if (message)
        report_wrong(arena, check->folder, "dead", seed, message, &after, text);
    function_set_body(module_find_function(module, "k"), NULL);
    buf_free(&after);
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Launch launch;
    Buf text = {0};
    const EmulatorOptions options = {.check_races = true, .check_unwritten = true, .count_memory = true};
    dead_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    if (expected->fault.kind == FAULT_NONE) {
        check_form(check, arena, seed, module, &launch, expected, &text);
    } else {
        check->wrong++;
        report_wrong(arena, check->folder, "dead", seed, fault_text(arena, module, &expected->fault), &text, &text);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
}

int main(int count, char **words)
{
    Check check = {0};
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    printf("%u done, %u with fewer stores, %u refused, %u wrong\n", check.done, check.fewer, check.refused,
           check.wrong);
    return check.wrong != 0;
}
