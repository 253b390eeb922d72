/* Barriers that flags guard, under conditions that differ between threads: random code of branches and loops,
 * coarsened, must compute the same with all outcomes of the flags. Conditions that decide on a barrier that can
 * be reached hold for all threads or for none, as CUDA requires; one that differs always decides on other code. */
#include "coarsened.h"

#include "emulator/emulator.h"
#include "support/random.h"

enum { FLAGS = 4, OUTCOMES = 1 << FLAGS, ALL_OUTCOMES = (1 << OUTCOMES) - 1 };
enum { THREADS = 64, DEEPEST = 3, PROGRAMS = 1500 };

typedef struct Maker {
    Random random;
    Buf text;
    unsigned labels, loops;
    unsigned quiet;      /* parts that are being made without barriers */
    uint32_t reaching;   /* the outcomes with which a barrier can be reached */
    bool flags_are_late; /* they are computed where they are tested */
} Maker;

static bool chance(Maker *m, unsigned percent)
{
    return random_below(&m->random, 100) < percent;
}

/* The outcomes in which the flag is set. */
static uint32_t outcomes_of(unsigned flag)
{
    uint32_t set = 0;
    for (uint32_t outcome = 0; outcome < OUTCOMES; outcome++)
        set |= (outcome >> flag & 1) << outcome;
    return set;
}

static void flag_compute(Maker *m, unsigned flag)
{
    buf_printf(&m->text, "\tand.b32 %%x, %%flags, %u;\n\tsetp.%s.u32 %%f%u, %%x, 0;\n", 1u << flag,
               flag % 2 ? "eq" : "ne", flag);
}

static void part_make(Maker *m, uint32_t outcomes, unsigned depth);

/* Either side of a branch, by a condition or by its negation. */
static void branch_make(Maker *m, const char *condition, uint32_t yes, uint32_t no, unsigned depth)
{
    unsigned label = m->labels++;
    bool negated = chance(m, 50), has_other = chance(m, 40);
    buf_printf(&m->text, "\t@%s%s bra OTHER%u;\n", negated ? "!" : "", condition, label);
    part_make(m, negated ? yes : no, depth + 1);
    if (has_other)
        buf_printf(&m->text, "\tbra END%u;\n", label);
    buf_printf(&m->text, "OTHER%u:\n", label);
    if (has_other)
        part_make(m, negated ? no : yes, depth + 1);
    buf_printf(&m->text, "END%u:\n", label);
}

static void flag_branch(Maker *m, uint32_t outcomes, unsigned depth)
{
    unsigned flag = random_below(&m->random, FLAGS);
    uint32_t set = flag % 2 ? ~outcomes_of(flag) : outcomes_of(flag);
    char condition[8];
    snprintf(condition, sizeof condition, "%%f%u", flag);
    if (m->flags_are_late)
        flag_compute(m, flag);
    branch_make(m, condition, outcomes & set, outcomes & ~set, depth);
}

/* At most two rounds, which the second condition may end. */
static void loop_make(Maker *m, uint32_t outcomes, unsigned depth)
{
    unsigned loop = m->loops++;
    buf_printf(&m->text, "\tmov.u32 %%i%u, 0;\nLOOP%u:\n", loop, loop);
    part_make(m, outcomes, depth + 1);
    buf_printf(&m->text, "\tadd.u32 %%i%u, %%i%u, 1;\n\tsetp.lt.u32 %%c, %%i%u, 2;\n", loop, loop, loop);
    if (chance(m, 70))
        buf_printf(&m->text, "\tand.pred %%c, %%c, %s;\n", chance(m, 50) ? "%first" : "%second");
    buf_printf(&m->text, "\t@%%c bra LOOP%u;\n", loop);
}

/* The condition of a flag, and the outcomes in which it holds; or one that differs between threads. */
static const char *condition_choose(Maker *m, uint32_t *set)
{
    static const char *const names[] = {"%f0", "%f1", "%f2", "%f3", "%first", "%second"};
    unsigned which = random_below(&m->random, COUNT_OF(names));
    *set = which >= FLAGS ? ALL_OUTCOMES : which % 2 ? ~outcomes_of(which) : outcomes_of(which);
    if (which < FLAGS && m->flags_are_late)
        flag_compute(m, which);
    return names[which];
}

/* A side of the second branch is a side of the first one, too: a part with another way in. */
static void tail_make(Maker *m, uint32_t outcomes, unsigned depth)
{
    unsigned label = m->labels++;
    uint32_t set;
    const char *condition = condition_choose(m, &set);
    buf_printf(&m->text, "\t@%s bra OTHER%u;\n", condition, label);
    part_make(m, outcomes, depth + 1);
    condition = condition_choose(m, &set);
    buf_printf(&m->text, "\t@%s bra TAIL%u;\n", condition, label);
    part_make(m, outcomes, depth + 1);
    buf_printf(&m->text, "\tbra END%u;\nOTHER%u:\n", label, label);
    part_make(m, outcomes, depth + 1);
    buf_printf(&m->text, "TAIL%u:\n", label);
    part_make(m, outcomes, depth + 1);
    buf_printf(&m->text, "END%u:\n", label);
}

static void step_make(Maker *m, uint32_t outcomes, unsigned depth)
{
    unsigned kind = random_below(&m->random, depth < DEEPEST ? 11 : 4);
    if (kind < 2 || (kind < 4 && m->quiet)) {
        buf_printf(&m->text, "\tmad.lo.u32 %%v, %%v, 3, %u;\n", 1 + random_below(&m->random, 9));
    } else if (kind < 4) {
        m->reaching |= outcomes;
        if (chance(m, 20)) {
            buf_puts(&m->text, "\tbar.warp.sync -1;\n\tadd.u32 %v, %v, 1;\n");
            return;
        }
        buf_puts(&m->text, "\tst.shared.u32 [%own], %v;\n\tbar.sync 0;\n\tld.shared.u32 %x, [%next];\n"
                           "\tmad.lo.u32 %v, %v, 5, %x;\n\tbar.sync 0;\n");
    } else if (kind < 8) {
        flag_branch(m, outcomes, depth);
    } else if (kind < 9 && chance(m, 50)) {
        m->quiet++;
        branch_make(m, "%low", outcomes, outcomes, depth);
        m->quiet--;
    } else if (kind < 9) {
        branch_make(m, chance(m, 50) ? "%first" : "%second", outcomes, outcomes, depth);
    } else if (kind < 10) {
        loop_make(m, outcomes, depth);
    } else if (chance(m, 70)) {
        tail_make(m, outcomes, depth);
    } else {
        uint32_t set;
        const char *condition = condition_choose(m, &set);
        buf_printf(&m->text, "\t@%s bra EXIT;\n", condition);
    }
}

static void part_make(Maker *m, uint32_t outcomes, unsigned depth)
{
    for (unsigned steps = 1 + random_below(&m->random, 3); steps > 0; steps--)
        step_make(m, outcomes, depth);
}

static void program_make(Maker *m)
{
    buf_puts(&m->text,
             HEADER ".visible .entry k(.param .u64 out, .param .u32 first, .param .u32 second, .param .u32 flags)\n"
                    "{\n\t.reg .pred %f<4>, %first, %second, %low, %c;\n"
                    "\t.reg .b32 %t, %v, %x, %flags, %own, %next, %i<64>;\n\t.reg .b64 %a, %d;\n"
                    "\t.shared .align 4 .b8 tile[256];\n\tld.param.u64 %a, [out];\n\tld.param.u32 %flags, [flags];\n"
                    "\tmov.u32 %t, %tid.x;\n\tmov.u32 %v, %t;\n\tmov.u32 %x, tile;\n\tmad.lo.u32 %own, %t, 4, %x;\n"
                    "\txor.b32 %next, %t, 37;\n\tmad.lo.u32 %next, %next, 4, %x;\n"
                    "\tsetp.lt.u32 %low, %t, 21;\n"
                    "\tld.param.u32 %x, [first];\n\tsetp.lt.u32 %first, %t, %x;\n"
                    "\tld.param.u32 %x, [second];\n\tsetp.lt.u32 %second, %t, %x;\n");
    m->flags_are_late = chance(m, 30);
    for (unsigned flag = 0; flag < FLAGS && !m->flags_are_late; flag++)
        flag_compute(m, flag);
    branch_make(m, "%first", ALL_OUTCOMES, ALL_OUTCOMES, 0);
    buf_puts(&m->text, "\tmad.wide.u32 %d, %t, 4, %a;\n\tst.global.u32 [%d], %v;\nEXIT:\n\tret;\n}\n");
}

static void outcome_check(const Maker *m, const Module *original, const Module *changed, const LaunchChange *change,
                          const uint32_t scalars[3])
{
    LaunchArgument arguments[4] = {
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = THREADS, .fill = FILL_ZERO}};
    for (unsigned i = 0; i < 3; i++)
        arguments[1 + i] = (LaunchArgument){.kind = ARGUMENT_SCALAR, .bytes = &scalars[i], .size = sizeof scalars[i]};
    const Launch launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .arguments = arguments,
                           .argument_count = COUNT_OF(arguments)};
    const EmulatorOptions options = {0};
    Arena *arena = arena_new();
    const EmulatorComparison *comparison = emulator_compare(arena, original, changed, "k", &launch, change, &options);
    if (!comparison->equal)
        fail_msg("%u, %u, flags %x: %s\n%s", scalars[0], scalars[1], scalars[2], comparison->message,
                 m->text.data);
    arena_free(arena);
}

/* False if the program is refused. */
static bool program_check(uint64_t seed)
{
    static const uint32_t all_or_none[] = {0, THREADS, 0, THREADS}, any[] = {0, THREADS, 21, 40};
    Maker m = {.random = {seed}};
    program_make(&m);
    buf_text(&m.text);
    Module *original = module_from(m.text.data), *changed = module_from(m.text.data);
    Body *body = body_from(changed);
    const CoarsenRequest request = {.shape = {.threads = {seed % 2 ? 2 : 4, 1, 1}},
                                    .guards = GUARDS_SEQUENTIAL,
                                    .block = block_size_resolve(&body->tuning, (const unsigned[3]){THREADS, 1, 1})};
    LaunchContract contract;
    Refusal refusal;
    body_to_ssa(body);
    bool is_done = coarsen_body(body, &request, &contract, &refusal, NULL);
    if (is_done) {
        const LaunchChange change = contract_change(&contract);
        body_verify(body, "coarsening");
        body_from_ssa(body);
        for (uint32_t outcome = 0; outcome < OUTCOMES; outcome++) {
            const uint32_t *counts = m.reaching >> outcome & 1 ? all_or_none : any;
            for (unsigned i = 0; i < 4; i++)
                outcome_check(&m, original, changed, &change,
                              (const uint32_t[]){counts[i], counts[random_below(&m.random, 4)], outcome});
        }
    }
    release(changed);
    arena_free(original->arena);
    buf_free(&m.text);
    return is_done;
}

static void random_parts_compute_the_same(void **state)
{
    (void)state;
    unsigned done = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        done += program_check(seed);
    print_message("%u of %u are coarsened\n", done, PROGRAMS);
    assert_true(done > PROGRAMS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_parts_compute_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
