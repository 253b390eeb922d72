/* The kernels that one call of nvcc compiles, and those that its options name. Each call of ptxas is a process of its
 * own, so kernels are noted in a file, one name on each line, and misspelt ones are found when nvcc is done. */
#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "options/options.h"
#include "wrappers/wrappers.h"

void names_of_ptx(Arena *arena, const Source *ptx, Words *kernels)
{
    const char *end = ptx->text + ptx->size;
    for (const char *at = ptx->text; (at = memmem(at, (size_t)(end - at), ".entry", 6)) != NULL;) {
        for (at += 6; at < end && isspace((unsigned char)*at); at++)
            ;
        const char *name = at;
        while (at < end && (isalnum((unsigned char)*at) || strchr("_$%", *at)))
            at++;
        if (at > name)
            words_add(arena, kernels, arena_strndup(arena, name, (size_t)(at - name)));
    }
}

/* Writes the names in one piece, because nvcc may run several calls of ptxas at once. */
void names_note(Arena *arena, const char *path, const Source *ptx)
{
    Words kernels = {0};
    Buf text = {0};
    names_of_ptx(arena, ptx, &kernels);
    for (size_t i = 0; i < kernels.count; i++)
        buf_printf(&text, "%s\n", kernels.data[i]);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0 && text.length && write(file, text.data, text.length) < 0)
        say("warning", "cannot write '%s': misspelt names of kernels are not noticed", path);
    if (file >= 0)
        close(file);
    buf_free(&text);
}

void names_read(Arena *arena, const char *path, Words *kernels)
{
    const char *error = NULL;
    Source *text = access(path, F_OK) == 0 ? source_read(arena, path, &error) : NULL;
    if (text)
        words_split(arena, text->text, QUOTING_OPTIONS, kernels);
}

typedef struct Named {
    const char *option, *kernel;
} Named;

typedef VEC(Named) NamedKernels;

static void add_named(Arena *arena, NamedKernels *named, const char *option, const char *kernel)
{
    if (kernel)
        VEC_PUSH(arena, *named, ((Named){option, kernel}));
}

/* The kernels that options name; none with -missing-ok. */
static NamedKernels find_named(Arena *arena, const Words *flags)
{
    NamedKernels named = {0};
    Words line = {0};
    Options options;
    const char *error = NULL;
    words_add(arena, &line, "ptxopt");
    words_add_all(arena, &line, flags);
    words_add(arena, &line, "--");
    words_add(arena, &line, "input.ptx");
    if (options_parse(arena, (int)line.count, words_argv(arena, &line), &options, &error) != OPTIONS_RUN ||
        options.missing_ok)
        return named;
    for (size_t i = 0; i < options.entries.count; i++)
        add_named(arena, &named, "-entry", options.entries.data[i]);
    for (size_t i = 0; i < options.coarsen.count; i++)
        add_named(arena, &named, "-coarsen", options.coarsen.data[i].kernel);
    for (size_t i = 0; i < options.registers.count; i++)
        add_named(arena, &named, "-target-regs", options.registers.data[i].kernel);
    for (size_t i = 0; i < options.memory.count; i++)
        add_named(arena, &named, "-memory", options.memory.data[i].kernel);
    for (size_t i = 0; i < options.refine.count; i++)
        add_named(arena, &named, "-refine", options.refine.data[i].kernel);
    for (size_t i = 0; i < options.block_orders.count; i++)
        add_named(arena, &named, "-block-order", options.block_orders.data[i].kernel);
    for (size_t i = 0; i < options.dead.count; i++)
        add_named(arena, &named, "-dead-on-return", options.dead.data[i].kernel);
    for (size_t i = 0; i < options.blocks.count; i++)
        add_named(arena, &named, "-block", options.blocks.data[i].kernel);
    for (size_t i = 0; i < options.dynamic_shared.count; i++)
        add_named(arena, &named, "-dynamic-shared", options.dynamic_shared.data[i].kernel);
    return named;
}

bool names_are_given(Arena *arena, const Words *flags)
{
    return find_named(arena, flags).count > 0;
}

/* The name as people write it: without the parameters. */
static const char *readable(Arena *arena, const char *kernel)
{
    const char *name = kernel_name_demangled(arena, kernel, false);
    return name ? name : kernel;
}

/* "; did you mean 'saxpy'?", or a list of the kernels */
static const char *hint(Arena *arena, const char *name, const Words *kernels)
{
    Words names = {0};
    for (size_t i = 0; i < kernels->count; i++)
        words_add(arena, &names, readable(arena, kernels->data[i]));
    const char *closest = closest_word(name, names.data, names.count);
    return words_hint(arena, closest, "there is", names.data, names.count);
}

bool names_check(Arena *arena, const Words *flags, const Words *kernels, const char *label, const char *of)
{
    const NamedKernels named = find_named(arena, flags);
    bool all = true;
    for (size_t i = 0; i < named.count && kernels->count; i++) {
        bool found = false;
        for (size_t k = 0; k < kernels->count && !found; k++)
            found = kernel_name_matches(named.data[i].kernel, kernels->data[k]);
        if (!found)
            say(label, "%s: %s has no kernel '%s'%s", named.data[i].option, of, named.data[i].kernel,
                hint(arena, named.data[i].kernel, kernels));
        all &= found;
    }
    return all;
}
