/* Checks code that threads inside of the data go without guards and clamps: random loops with guards, whose counters
 * start, step and end anywhere, near the ends of the range of 32 bits, too, and the same without loops, are coarsened
 * with the pass, and compared in the emulator with the originals. Some loops have a known number of rounds, or get a
 * version for the rounds of this launch, or of another one.
 *
 *     interior-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels got such a loop, and how many of these were executed: a check of
 * nothing would find nothing. -v names the seeds; -d keeps wrong outputs. */
#include "kernel_writer.h"
#include "parse_text.h"
#include "pass_form.h"
#include "seeds.h"

#include "engine/launch.h"
#include "opt/opt.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 32, MOST_ROUNDS = 24, SCALARS = 6, RELATIONS = 5, GUARDED_MOST = 5 };

static const char *const relation_names[RELATIONS] = {"lt", "le", "gt", "ge", "ne"};

/* A loop whose counter is compared with an end in each round, before or after it grows. */
typedef struct Count {
    uint32_t start, end, step;
    unsigned relation, unroll; /* unroll: the offset of the counter in the comparison */
    bool is_unsigned, is_proportional; /* a second counter, which grows as fast, is compared */
} Count;

typedef struct Maker {
    Writer to;
    uint32_t scalars[SCALARS]; /* w, x, and start and end of each loop */
    Count counts[2];
    bool has_constants; /* the loops start and end at constants */
} Maker;

static uint32_t edge_value(Maker *m)
{
    static const uint32_t values[] = {0, 3, 0x7ffffff0, 0x7fffffff, 0x80000000, 0x80000010, 0xfffffff0, 40};
    return values[below(&m->to, COUNT_OF(values))] + below(&m->to, 9) - 4;
}

static uint32_t any_value(Maker *m)
{
    return chance(&m->to, 75) ? below(&m->to, 60) - 10 : edge_value(m);
}

static bool holds(unsigned relation, bool is_unsigned, uint32_t a, uint32_t b)
{
    const int64_t x = is_unsigned ? (int64_t)a : (int32_t)a, y = is_unsigned ? (int64_t)b : (int32_t)b;
    const bool outcomes[RELATIONS] = {x < y, x <= y, x > y, x >= y, x != y};
    return outcomes[relation];
}

static unsigned rounds_of(const Count *c)
{
    uint32_t value = c->start;
    unsigned rounds = 1;
    while (rounds <= MOST_ROUNDS && holds(c->relation, c->is_unsigned, value + c->unroll, c->end)) {
        value += c->step;
        rounds++;
    }
    return rounds;
}

static void count_choose(Maker *m, Count *c)
{
    do {
        const unsigned rounds = 1 + below(&m->to, 8);
        c->step = chance(&m->to, 50) ? 1 : below(&m->to, 9) - 4;
        c->start = chance(&m->to, 80) ? below(&m->to, 20) - 10 : edge_value(m);
        c->unroll = chance(&m->to, 60) ? below(&m->to, 4) : c->step;
        c->end = c->start + c->unroll + c->step * (rounds - 1) + (chance(&m->to, 30) ? below(&m->to, 5) - 2 : 0);
        c->relation = chance(&m->to, 30) ? 4 : below(&m->to, 2) + ((int32_t)c->step < 0 ? 2 : 0);
        c->is_unsigned = chance(&m->to, 15);
        c->is_proportional = chance(&m->to, 25);
    } while (!c->step || rounds_of(c) > MOST_ROUNDS);
}

/* A condition on the register 'v', into a new predicate; gives its number. */
static unsigned make_comparison(Maker *m, unsigned v)
{
    const unsigned t = temporary(&m->to), relation = below(&m->to, 4);
    const char *kind = chance(&m->to, 20) ? "u32" : "s32";
    if (chance(&m->to, 40))
        line(&m->to, "setp.%s.%s %%p%u, %%v%u, %d;", relation_names[relation], kind, t, v, (int)below(&m->to, 3) - 1);
    else if (chance(&m->to, 80))
        line(&m->to, "setp.%s.%s %%p%u, %%v%u, %%w;", relation_names[relation], kind, t, v);
    else
        line(&m->to, "setp.%s.%s %%p%u, %%w, %%v%u;", relation_names[relation], kind, t, v);
    return t;
}

/* A sum of the thread's number, counters and a constant. */
static unsigned make_sum(Maker *m)
{
    const unsigned v = temporary(&m->to), last = temporary(&m->to);
    static const char *const forms[] = {"add.s32 %%v%u, %%x, %%c0;", "sub.s32 %%v%u, %%x, %%c1;",
                                        "add.s32 %%v%u, %%c0, %%c1;", "mad.lo.s32 %%v%u, %%c1, 2, %%x;",
                                        "sub.s32 %%v%u, %%c0, %%x;",  "add.s32 %%v%u, %%x, %%meet;",
                                        "mad.lo.s32 %%v%u, %%meet, 3, %%start1;"};
    switch (below(&m->to, COUNT_OF(forms))) {
    case 0: line(&m->to, forms[0], v); break;
    case 1: line(&m->to, forms[1], v); break;
    case 2: line(&m->to, forms[2], v); break;
    case 3: line(&m->to, forms[3], v); break;
    case 4: line(&m->to, forms[4], v); break;
    case 5: line(&m->to, forms[5], v); break;
    default: line(&m->to, forms[6], v); break;
    }
    line(&m->to, "add.s32 %%v%u, %%v%u, %d;", last, v, (int)below(&m->to, 5) - 2);
    return last;
}

/* A condition that the kernel's round goes on by, of one or two comparisons. */
static unsigned make_condition(Maker *m)
{
    const unsigned first = make_sum(m);
    if (chance(&m->to, 20)) {
        const unsigned second = make_sum(m), both = temporary(&m->to), t = temporary(&m->to);
        line(&m->to, "or.b32 %%v%u, %%v%u, %%v%u; setp.ge.s32 %%p%u, %%v%u, 0;", both, first, second, t, both);
        return t;
    }
    const unsigned a = make_comparison(m, first);
    if (chance(&m->to, 50))
        return a;
    const unsigned b = make_comparison(m, chance(&m->to, 70) ? first : make_sum(m)), t = temporary(&m->to);
    line(&m->to, "%s.pred %%p%u, %%p%u, %%p%u;", chance(&m->to, 80) ? "and" : "or", t, a, b);
    return t;
}

/* Adds an index that is kept within the data to the register. Some wrap before that. */
static void make_clamped(Maker *m, unsigned v)
{
    const unsigned index = make_sum(m), low = temporary(&m->to), last = temporary(&m->to);
    if (chance(&m->to, 20))
        line(&m->to, "add.s32 %%v%u, %%v%u, %d;", index, index,
             chance(&m->to, 50) ? INT32_MIN + (int)below(&m->to, 8) : INT32_MAX - (int)below(&m->to, 8));
    if (chance(&m->to, 30)) {
        line(&m->to, "%s.s32 %%v%u, %%v%u, %%w;", chance(&m->to, 50) ? "min" : "max", last, index);
    } else if (chance(&m->to, 50)) {
        line(&m->to, "max.s32 %%v%u, %%v%u, %d;", low, index, (int)below(&m->to, 3) - 1);
        line(&m->to, "add.s32 %%v%u, %%w, -1; min.s32 %%v%u, %%v%u, %%v%u;", last, last, last, low);
    } else {
        line(&m->to, "min.s32 %%v%u, %%v%u, %%w; max.s32 %%v%u, 0, %%v%u;", low, index, last, low);
    }
    line(&m->to, "add.s32 %%v%u, %%v%u, %%v%u;", v, v, last);
}

/* Loads, if up to two guards let it, and adds to the sum. */
static void make_guarded(Maker *m)
{
    const unsigned label = m->to.labels++, v = temporary(&m->to), guards = 1 + below(&m->to, 2);
    for (unsigned g = 0; g < guards; g++) {
        const unsigned p = make_condition(m);
        if (chance(&m->to, 50)) {
            line(&m->to, "@!%%p%u bra SKIP%u;", p, label);
        } else {
            line(&m->to, "@%%p%u bra ENTER%u_%u; bra.uni SKIP%u;", p, label, g, label);
            buf_printf(m->to.out, "ENTER%u_%u:\n", label, g);
        }
    }
    line(&m->to, "mad.lo.s32 %%v%u, %%c0, 7, %%x;", v);
    if (chance(&m->to, 40))
        make_clamped(m, v);
    line(&m->to, "and.b32 %%v%u, %%v%u, 63;", v, v);
    line(&m->to, "mul.wide.u32 %%a, %%v%u, 4; add.s64 %%a, %%a, %%table; ld.global.u32 %%v%u, [%%a];", v, v);
    if (chance(&m->to, 60))
        line(&m->to, "mad.lo.s32 %%sum, %%sum, 3, %%v%u;", v);
    else
        line(&m->to, "min.u32 %%least, %%least, %%v%u; max.s32 %%most, %%v%u, %%most;", v, v);
    buf_printf(m->to.out, "SKIP%u:\n", label);
}

static void make_loop_begin(Maker *m, unsigned depth)
{
    line(&m->to, "mov.u32 %%c%u, %%start%u; sub.s32 %%d%u, %%start%u, 5;", depth, depth, depth, depth);
    buf_printf(m->to.out, "LOOP%u:\n", depth);
}

static void make_loop_end(Maker *m, unsigned depth)
{
    const Count *c = &m->counts[depth];
    const unsigned t = temporary(&m->to);
    if (c->is_proportional)
        line(&m->to, "add.s32 %%v%u, %%d%u, %u;", t, depth, c->unroll + 5);
    else
        line(&m->to, "add.s32 %%v%u, %%c%u, %u;", t, depth, c->unroll);
    line(&m->to, "setp.%s.%s %%p%u, %%v%u, %%end%u;", relation_names[c->relation],
         c->is_unsigned && c->relation != 4 ? "u32" : "s32", t, t, depth);
    line(&m->to, "add.s32 %%c%u, %%c%u, %d; add.s32 %%d%u, %%d%u, %d;", depth, depth, (int)c->step, depth, depth,
         (int)c->step);
    line(&m->to, "@%%p%u bra LOOP%u;", t, depth);
}

/* A value that differs by the path to it. */
static void make_meeting(Maker *m)
{
    const unsigned label = m->to.labels++, t = temporary(&m->to);
    line(&m->to, "add.s32 %%meet, %%start1, %d;", (int)below(&m->to, 9) - 4);
    line(&m->to, "and.b32 %%v%u, %%c0, 1; setp.eq.s32 %%p%u, %%v%u, 0;", t, t, t);
    line(&m->to, "@%%p%u bra SKIP%u; add.s32 %%meet, %%start1, %d;", t, label, (int)below(&m->to, 9) - 4);
    buf_printf(m->to.out, "SKIP%u:\n", label);
}

/* The bounds of the loops. */
static void make_bounds(Maker *m)
{
    static const char *const names[] = {"start0", "end0", "start1", "end1"};
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        if (m->has_constants)
            line(&m->to, "mov.u32 %%%s, %u;", names[i], m->scalars[2 + i]);
        else
            line(&m->to, "ld.param.u32 %%%s, [s%u];", names[i], 2 + i);
    }
}

/* The same without loops, as if they had been unrolled. */
static void make_straight(Maker *m)
{
    line(&m->to, "mov.u32 %%c0, %%start0;");
    make_meeting(m);
    for (unsigned i = 2 + below(&m->to, GUARDED_MOST - 1); i--;) {
        make_guarded(m);
        line(&m->to, "add.s32 %%c%u, %%c%u, 1;", i % 2, i % 2);
    }
}

static void make_loops(Maker *m)
{
    const bool has_inner = chance(&m->to, 60);
    make_loop_begin(m, 0);
    make_meeting(m);
    if (chance(&m->to, 50) || !has_inner)
        make_guarded(m);
    if (has_inner) {
        make_loop_begin(m, 1);
        make_guarded(m);
        make_loop_end(m, 1);
    }
    make_loop_end(m, 0);
}

static void make_code(Maker *m)
{
    line(&m->to, "ld.param.u64 %%table, [table]; ld.param.u64 %%all, [sums]; ld.param.u32 %%w, [s0];");
    line(&m->to, "ld.param.u32 %%x, [s1]; mov.u32 %%least, 5000; mov.u32 %%most, 0;");
    make_bounds(m);
    line(&m->to, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(&m->to, "mad.lo.s32 %%i, %%g1, %%g0, %%g2; add.s32 %%x, %%x, %%i; mov.u32 %%sum, %%i;");
    line(&m->to, "mul.wide.u32 %%own, %%i, 4; add.s64 %%own, %%own, %%all; mov.u32 %%c1, %%start1;");
    if (chance(&m->to, 30))
        make_straight(m);
    else
        make_loops(m);
    line(&m->to, "add.s32 %%sum, %%sum, %%least; sub.s32 %%sum, %%sum, %%most;");
    line(&m->to, "st.global.u32 [%%own], %%sum; ret;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    *launch = (Launch){.kernel = "k", .grid = {2, 1, 1}, .block = {THREADS, 1, 1}};
    launch->argument_count = 2 + SCALARS;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, launch->argument_count);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "table", .type = TYPE_U32, .count = 64,
                                            .fill = FILL_UNIFORM, .low = 0, .high = 4000,
                                            .seed = m->to.random.state};
    launch->arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "sums", .type = TYPE_U32,
                                            .count = 2 * THREADS, .fill = FILL_ZERO};
    for (unsigned s = 0; s < SCALARS; s++)
        scalar_argument(arena, &launch->arguments[2 + s], m->scalars[s]);
}

static void interior_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 31}, .out = &code}};
    m.scalars[0] = chance(&m.to, 60) ? 60 + below(&m.to, 60) : any_value(&m);
    m.scalars[1] = any_value(&m);
    for (unsigned c = 0; c < 2; c++) {
        count_choose(&m, &m.counts[c]);
        m.scalars[2 + 2 * c] = m.counts[c].start;
        m.scalars[3 + 2 * c] = m.counts[c].end;
    }
    m.has_constants = chance(&m.to, 30);
    make_code(&m);
    make_launch(&m, arena, launch);
    const unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table, "
                   ".param .u64 sums, .param .u32 s0, .param .u32 s1, .param .u32 s2, .param .u32 s3, "
                   ".param .u32 s4, .param .u32 s5)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%g<3>, %%c<2>, %%d<2>, %%start<2>, %%end<2>;\n", t);
    buf_printf(text, "\t.reg .b32 %%w, %%x, %%i, %%sum, %%meet, %%least, %%most;\n\t.reg .pred %%p<%u>;\n", t);
    buf_puts(text, "\t.reg .b64 %table, %all, %own, %a;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned changed, left, executed, specialized, wrong;
} Check;

/* The scalars that a version is made for: those of this launch, others, or none. */
static KnownParameters known_scalars(Arena *arena, const Function *kernel, const Launch *launch, uint64_t seed)
{
    KnownParameters scalars = launch_scalars(arena, kernel, launch);
    if (seed % 3 != 1)
        return seed % 3 ? (KnownParameters){0} : scalars;
    uint32_t *other = ARENA_NEW(arena, uint32_t);
    KnownParameter *known = ARENA_ARRAY(arena, KnownParameter, scalars.count);
    memcpy(known, scalars.of, scalars.count * sizeof *known);
    *other = 3;
    known[2 + seed / 3 % 4].bytes = other;
    return (KnownParameters){known, scalars.count};
}

/* The kernel coarsened by two or four, with the pass or without; gives what it executes in *instructions. */
static const char *form_check(Arena *arena, const Buf *text, const Launch *launch, uint64_t seed,
                              const EmulatorResult *expected, bool with_pass, Buf *after, uint64_t *instructions)
{
    Module *module = parse_text("random.ptx", buf_text(text), text->length);
    const KernelRequest request = {.coarsen = true, .block = {THREADS, 1, 1},
                                   .known = known_scalars(arena, module_find_function(module, "k"), launch, seed),
                                   .coarsening = {.shape.threads = {seed % 2 ? 2 : 4, 1, 1},
                                                  .stride.kind = seed % 5 < 3 ? STRIDE_UNIT : STRIDE_BLOCK,
                                                  .guards = GUARDS_INTERIOR}};
    return pass_form_check(arena, module, &request, PASS_INTERIOR, with_pass, launch, expected, after, instructions);
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Launch launch;
    Buf text = {0}, after = {0}, plain = {0};
    const EmulatorOptions options = {0};
    uint64_t instructions = 0, before = 0;
    interior_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    const char *message = expected->fault.kind != FAULT_NONE ? fault_text(arena, module, &expected->fault)
                          : form_check(arena, &text, &launch, seed, expected, true, &after, &instructions);
    const bool has_pass = after.length && strstr(buf_text(&after), "%inner");
    check->specialized += after.length && strstr(buf_text(&after), "%as_launched");
    if (has_pass && !message)
        form_check(arena, &text, &launch, seed, expected, false, &plain, &before);
    check->changed += has_pass;
    check->left += !has_pass;
    check->executed += before > instructions;
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, "interior", seed, message, &after, &text);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
    buf_free(&after);
    buf_free(&plain);
}

int main(int count, char **words)
{
    Check check = {0};
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    printf("%u changed, %u left alone, %u wrong; executed %u; for a launch %u\n", check.changed, check.left,
           check.wrong, check.executed, check.specialized);
    return check.wrong != 0;
}
