/* Checks minima and maxima that replicas have in common: chains of random shape over values around each thread's, of
 * integers and of floating-point numbers with zeros of both signs and those that are not numbers, are coarsened and
 * compared in the emulator with the originals, bit by bit. The values are loaded, or all joined from two ways.
 *
 *     minima-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels execute fewer of these operations. -v names the seeds; -d keeps
 * wrong outputs. */
#include "kernel_writer.h"
#include "parse_text.h"
#include "pass_form.h"
#include "seeds.h"

#include "opt/opt.h"
#include "support/support.h"

#include <stdio.h>

enum { VALUES = 24, CHAINS_MOST = 3, WINDOW_MOST = 12 };

static const char *const operations[] = {
    "min.s32", "max.u32", "min.f32", "max.f32", "max.ftz.f32", "min.NaN.f32", "max.NaN.f32",
};

/* The bits that are kept of a random word, and those that are set: signs and exponents alone, or infinities and what is
 * not a number. */
static const uint32_t kept[] = {UINT32_MAX, 0xff800000, 0x81800000, 0xff800003};
static const uint32_t set[] = {0, 0, 0, 0x7f800000};

/* A chain over a window of the values, the next operand on either side, or two chains taken together. */
static void make_chain(Writer *to, unsigned chain, const char *operation)
{
    const unsigned first = below(to, VALUES - WINDOW_MOST), size = 2 + below(to, WINDOW_MOST - 1);
    unsigned last = first;
    bool is_value = true;
    for (unsigned i = 1; i < size; i++) {
        const unsigned t = temporary(to), other = chance(to, 80) ? first + i : first + below(to, size);
        if (chance(to, 50))
            line(to, "%s %%t%u, %%%c%u, %%v%u;", operation, t, is_value ? 'v' : 't', last, other);
        else
            line(to, "%s %%t%u, %%v%u, %%%c%u;", operation, t, other, is_value ? 'v' : 't', last);
        last = t;
        is_value = false;
        if (chance(to, 5))
            line(to, "st.global.b32 [%%own+%u], %%t%u;", 4 * (CHAINS_MOST + chain), t);
    }
    line(to, "st.global.b32 [%%own+%u], %%t%u;", 4 * chain, last);
}

static void minima_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Writer to = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 77}, .out = &code};
    const char *operation = operations[below(&to, COUNT_OF(operations))];
    const unsigned bits = below(&to, COUNT_OF(kept)), chains = 1 + below(&to, CHAINS_MOST);
    const bool is_float = strchr(operation, 'f') != NULL;
    own_begin(&to);
    line(&to, "mul.wide.u32 %%a, %%x, 4; add.s64 %%a, %%a, %%table;");
    for (unsigned v = 0; v < VALUES; v++) {
        line(&to, "ld.global.u32 %%w%u, [%%a+%u]; mul.lo.u32 %%w%u, %%w%u, 2654435769;", v, 4 * v, v, v);
        line(&to, "and.b32 %%w%u, %%w%u, %u; or.b32 %%w%u, %%w%u, %u; mov.b32 %%v%u, %%w%u;", v, v, kept[bits], v, v,
             set[bits], v, v);
    }
    if (seed % 4 == 1) {
        line(&to, "setp.eq.u32 %%none, %%n, 0; @%%none bra JOIN;");
        for (unsigned v = 0; v < VALUES; v++)
            line(&to, "mov.b32 %%v%u, %%w%u;", v, VALUES - 1 - v);
        buf_puts(&code, "JOIN:\n");
    }
    for (unsigned c = 0; c < chains; c++)
        make_chain(&to, c, operation);
    line(&to, "ret;");
    own_launch(&to, arena, 0, 0, launch);
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table, "
                   ".param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%w<%u>, %%g<3>, %%x, %%n, %%m;\n", VALUES);
    buf_printf(text, "\t.reg .%s %%v<%u>, %%t<%u>;\n", is_float ? "f32" : "b32", VALUES, to.temporaries + 1);
    buf_puts(text, "\t.reg .b64 %table, %all, %own, %a;\n\t.reg .pred %none;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned fewer, others, wrong;
} Check;

/* The kernel coarsened, with the pass or without; gives what it executes in *instructions. */
static const char *form_check(Arena *arena, const Buf *text, const Launch *launch, uint64_t seed,
                              const EmulatorResult *expected, bool with_pass, Buf *after, uint64_t *instructions)
{
    const KernelRequest request = {.coarsen = true, .block = {OWN_THREADS, 1, 1},
                                   .coarsening = {.shape.threads = {2u << seed % 3, 1, 1}, .stride.kind = STRIDE_UNIT}};
    Module *module = parse_text("random.ptx", buf_text(text), text->length);
    return pass_form_check(arena, module, &request, PASS_MINIMA, with_pass, launch, expected, after, instructions);
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Launch launch;
    Buf text = {0}, after = {0}, plain = {0};
    const EmulatorOptions options = {0};
    uint64_t with = 0, without = 0;
    minima_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    const char *message = expected->fault.kind != FAULT_NONE
                              ? fault_text(arena, module, &expected->fault)
                              : form_check(arena, &text, &launch, seed, expected, true, &after, &with);
    if (!message)
        form_check(arena, &text, &launch, seed, expected, false, &plain, &without);
    check->fewer += with < without;
    check->others += with >= without;
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, "minima", seed, message, &after, &text);
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
    printf("%u with fewer operations, %u others, %u wrong\n", check.fewer, check.others, check.wrong);
    return check.wrong != 0;
}
