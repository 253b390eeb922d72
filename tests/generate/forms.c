#include "forms.h"

#include "opt/passes.h"

#include <string.h>

static bool percent(Random *random, unsigned chance)
{
    return random_below(random, 100) < chance;
}

static void add(Form *form, const char *name, const char *value)
{
    require(form->count < FORM_OPTIONS_MOST);
    form->options[form->count++] = (struct FormOption){name, value};
}

/* A random factor for a dimension of this size: at most that, and a divisor if it must be one. */
static unsigned random_factor(Random *random, unsigned size, bool divides)
{
    static const unsigned factors[] = {2, 2, 2, 3, 4, 4, 5, 8, 16};
    unsigned factor = factors[random_below(random, COUNT_OF(factors))];
    return factor > size || (divides && size % factor) ? 1 : factor;
}

/* "gx2": blocks grow along one or more dimensions, mostly by what divides the grid; NULL: they do not. 'rest': what is
 * launched then. */
static const char *random_growth(Arena *arena, Random *random, const FormLaunch *launch, FormLaunch *rest)
{
    const char *shape = NULL;
    *rest = *launch;
    for (unsigned d = 0; d < 3; d++) {
        const unsigned factor = percent(random, 50) ? 1 : random_factor(random, launch->grid[d], percent(random, 95));
        if (factor == 1)
            continue;
        shape = arena_printf(arena, "%s%sg%c%u", shape ? shape : "", shape ? "," : "", "xyz"[d], factor);
        rest->grid[d] /= factor;
        rest->block[d] *= factor;
    }
    return shape;
}

/* "x2,by4": up to two dimensions of the block, the grid, or both, perhaps after blocks have grown; NULL: none that fits
 * was found. */
static const char *random_shape(Arena *arena, Random *random, const FormLaunch *given, bool divides, bool shrinks)
{
    const char *shape = NULL;
    FormLaunch launch = *given;
    if (percent(random, 35))
        shape = random_growth(arena, random, given, &launch);
    unsigned kind = random_below(random, shape ? 4 : 3); /* threads, blocks, both; neither */
    for (unsigned i = 0; i < 6 && kind < 3; i++) {
        bool blocks = i >= 3;
        if (kind == (blocks ? 0u : 1u) || percent(random, 40))
            continue;
        /* Blocks that are left over exit, unless the grid shrinks. */
        unsigned factor = blocks ? random_factor(random, shrinks ? launch.grid[i - 3] : 4, shrinks)
                                 : random_factor(random, launch.block[i], divides);
        if (factor > 1)
            shape = arena_printf(arena, "%s%s%s%c%u", shape ? shape : "", shape ? "," : "", blocks ? "b" : "",
                                 "xyz"[i % 3], factor);
    }
    return shape;
}

static void add_coarsening(Arena *arena, Random *random, Form *form, const FormLaunch *launch, bool block_is_known)
{
    static const char *const strides[] = {"unit", "block", "block", "16", "8"};
    static const char *const guards[] = {"sequential", "fast", "predicated", "interior"};
    static const char *const growths[] = {"1", "2", "16", "100"};
    bool shrinks = percent(random, 15);
    const char *shape = random_shape(arena, random, launch, !block_is_known, shrinks);
    if (!shape)
        return;
    add(form, "coarsen", shape);
    if (percent(random, 40))
        add(form, "stride", strides[random_below(random, strchr(shape, 'b') ? 3 : COUNT_OF(strides))]);
    if (percent(random, 40))
        add(form, "coarsen-guards", guards[random_below(random, COUNT_OF(guards))]);
    if (percent(random, 30))
        add(form, "coarsen-growth", growths[random_below(random, COUNT_OF(growths))]);
    if (shrinks && strchr(shape, 'b'))
        add(form, "coarsen-grid", "shrink");
    if (percent(random, 20))
        add(form, "keep-original", NULL);
}

/* Sums of floating-point numbers stay as they are, so that results are the same. */
static void add_refinement(Arena *arena, Random *random, Form *form)
{
    const unsigned threads = 2u << random_below(random, 5);
    add(form, "refine", arena_printf(arena, "%u%s", threads, percent(random, 30) ? ",apart" : ""));
    if (percent(random, 20))
        add(form, "keep-original", NULL);
}

/* A label of the text that begins a loop, as the generator names them; NULL: there is none. */
static const char *random_loop(Arena *arena, Random *random, const char *ptx)
{
    const char *found = NULL;
    unsigned count = 0;
    for (const char *at = ptx; at; at = strchr(at + 1, '\n')) {
        const char *line = at + (*at == '\n');
        const bool is_label = *line == 'H' || *line == 'L';
        size_t length = is_label ? 1 + strspn(line + 1, "0123456789") : 0;
        if (length > 1 && line[length] == ':' && random_below(random, ++count) == 0)
            found = arena_printf(arena, "%.*s:%u", (int)length, line, 2 + random_below(random, 3));
    }
    return found;
}

/* "-decide,-forward": passes that are switched off. */
static const char *random_passes(Arena *arena, Random *random)
{
    const char *list = NULL;
    for (unsigned i = 1 + random_below(random, 3); i > 0; i--) {
        const Pass *pass = &pass_table[random_below(random, pass_count)];
        if (!pass->is_fixed)
            list = list ? arena_printf(arena, "%s,-%s", list, pass->name) : arena_printf(arena, "-%s", pass->name);
    }
    return list;
}

static void add_registers(Arena *arena, Random *random, Form *form)
{
    add(form, "target-regs", percent(random, 30) ? "fewest" : arena_printf(arena, "%u", 12 + random_below(random, 40)));
    if (percent(random, 40))
        add(form, "spill", NULL);
    add(form, "search", "2");
    form->assembles = true;
}

Form form_random(Arena *arena, Random *random, const char *ptx, const FormLaunch *launch, bool assembler)
{
    static const char *const memory[] = {"stage", "vectors", "stage,vectors", "counters", "stage,vectors,counters",
                                         "edges", "edges,stage", "prefetch", "vectors,stage", "async",
                                         "vectors,async3", "edges,vectors,prefetch,counters", "rows",
                                         "vectors,rows"};
    static const char *const orders[] = {"diagonal", "groups:2", "groups:3", "groups:4", "groups:5"};
    Form form = {0};
    bool block_is_known = percent(random, 70);
    if (percent(random, 65))
        add_coarsening(arena, random, &form, launch, block_is_known);
    if (!form.count && percent(random, 40))
        add_refinement(arena, random, &form);
    if (percent(random, 35))
        add(&form, "memory", memory[random_below(random, COUNT_OF(memory))]);
    if (percent(random, 15))
        add(&form, "block-order", orders[random_below(random, COUNT_OF(orders))]);
    const char *loop = percent(random, 25) ? random_loop(arena, random, ptx) : NULL;
    if (loop)
        add(&form, "uj", loop);
    if (block_is_known)
        add(&form, "block", arena_printf(arena, "%u,%u,%u", launch->block[0], launch->block[1], launch->block[2]));
    const char *passes = percent(random, 30) ? random_passes(arena, random) : NULL;
    if (passes)
        add(&form, "p", passes);
    if (percent(random, 20))
        add(&form, "fix-defects", NULL);
    if (percent(random, 10))
        add(&form, "canonical", NULL);
    if (assembler && percent(random, 15))
        add_registers(arena, random, &form);
    form.assembles = form.assembles || (assembler && percent(random, 10));
    return form;
}

const char *form_words(Arena *arena, const Form *form)
{
    const char *words = "";
    for (unsigned i = 0; i < form->count; i++) {
        const struct FormOption *option = &form->options[i];
        words = arena_printf(arena, "%s%s-%s%s%s", words, i ? " " : "", option->name, option->value ? " " : "",
                             option->value ? option->value : "");
    }
    return form->assembles ? words : arena_printf(arena, "%s%s-assembler none", words, *words ? " " : "");
}
