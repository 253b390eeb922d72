/* The values of options: factors, strides, block sizes, lists of names. */
#include "options/read.h"

#include "options/kernel_name.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    LARGEST_FACTOR = 1024,
    LONGEST_SEARCH = 1000000,
    LARGEST_BLOCK = 1024,
    LARGEST_BLOCK_Z = 64,
    LARGEST_SHARED = 227 * 1024, /* that a block of any architecture can have */
    LARGEST_REGISTERS = 255,
    LEAST_REGISTERS = 8,
    LARGEST_PRICE = 100
};

void options_fail(Reader *reader, const char *format, ...)
{
    if (reader->error)
        return;
    va_list arguments;
    va_start(arguments, format);
    reader->error = arena_vprintf(reader->arena, format, arguments);
    va_end(arguments);
}

/* Reads decimal digits and moves *at past them.  False if there are none or the number does not fit. */
static bool read_number(const char **at, unsigned *number)
{
    const char *start = *at;
    uint64_t value = 0;
    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (unsigned)(**at - '0');
        if (value > UINT_MAX)
            return false;
        ++*at;
    }
    *number = (unsigned)value;
    return *at > start;
}

static bool whole_number(const char *text, unsigned *number)
{
    return read_number(&text, number) && *text == 0;
}

const char *options_read_file(Reader *reader, OptionId id, const char *name)
{
    /* Usually an unset variable in a script. */
    if (!*name)
        options_fail(reader, "-%s: the file name is empty", options_table()[id].name);
    return name;
}

void options_read_number(Reader *reader, OptionId id, const char *text, unsigned least, unsigned most, unsigned *number)
{
    if (!whole_number(text, number) || *number < least || *number > most)
        options_fail(reader, "-%s %s: expected a number from %u to %u", options_table()[id].name, text, least, most);
}

void options_read_knobs(Reader *reader, const char *text)
{
    reader->options->knobs = true;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        const char *name = arena_strndup(reader->arena, at, length);
        VEC_PUSH(reader->arena, reader->options->knob_files, options_read_file(reader, OPTION_KNOBS, name));
        at += length;
    }
}

void options_read_arch(Reader *reader, const char *text)
{
    Arch arch;
    if (!arch_parse(text, &arch))
        options_fail(reader, "-arch %s: expected an architecture such as sm_90 or sm_100a", text);
    reader->options->arch = text;
}

void options_read_report_format(Reader *reader, const char *text)
{
    Options *options = reader->options;
    options->report_json = strcmp(text, "json") == 0;
    options->report = true;
    if (!options->report_json && strcmp(text, "text") != 0)
        options_fail(reader, "-report-format %s: expected 'text' or 'json'", text);
}

void options_read_level(Reader *reader, const char *text)
{
    reader->options->merges_blocks = strcmp(text, "block") == 0;
    if (!reader->options->merges_blocks && strcmp(text, "thread") != 0)
        options_fail(reader, "-coarsen-level %s: expected 'thread' or 'block'", text);
}

/* Before 6.0, versions differ in the meaning of what they have in common. */
void options_read_ptx_version(Reader *reader, const char *text)
{
    enum { OLDEST_MAJOR = 6 };
    char *end;
    const unsigned long major = strtoul(text, &end, 10);
    const bool is_version = *text >= '0' && *text <= '9' && end[0] == '.' && end[1] >= '0' && end[1] <= '9' && !end[2];
    if (!is_version || major < OLDEST_MAJOR || major > 99)
        options_fail(reader, "-ptx-version %s: expected a version of PTX from %u.0, such as 8.4", text, OLDEST_MAJOR);
    else
        reader->options->ptx_version = (unsigned)major * 10 + (unsigned)(end[1] - '0');
}

void options_read_xptxas(Reader *reader, const char *word)
{
    Options *options = reader->options;
    VEC_PUSH(reader->arena, options->ptxas_options, word);
    /* The list ends with NULL. */
    VEC_PUSH(reader->arena, options->ptxas_options, NULL);
    options->ptxas_options.count--;
}

/* Splits "KERNEL:REST" at the last colon: C++ names contain "::", what follows the kernel has none.  *kernel is NULL
 * without one. */
static bool split_kernel(Reader *reader, const char *option, const char *text, const char **kernel, const char **rest)
{
    const char *colon = strrchr(text, ':');
    *kernel = NULL;
    *rest = text;
    if (!colon)
        return true;
    if (colon == text) {
        options_fail(reader, "%s %s: no kernel before the ':'", option, text);
        return false;
    }
    *kernel = arena_strndup(reader->arena, text, (size_t)(colon - text));
    *rest = colon + 1;
    return true;
}

/* Reads "[b|g][x|y|z]N" into the factor that it names, and moves *at past it. */
static const char *read_factor(Arena *arena, const char **at, CoarsenOption *option)
{
    static const char *const axes[3][3] = {{"x", "y", "z"}, {"bx", "by", "bz"}, {"gx", "gy", "gz"}};
    unsigned *const places[3] = {option->shape.threads, option->shape.blocks, option->shape.grown};
    const unsigned kind = **at == 'b' ? 1 : **at == 'g' ? 2 : 0;
    unsigned dimension = 0, factor;
    *at += kind > 0;
    if (**at >= 'x' && **at <= 'z')
        dimension = (unsigned)(*(*at)++ - 'x');
    if (!read_number(at, &factor) || (**at && **at != ','))
        return "expected a factor (2, x2, x2,y2, bx2, gx2) or 'auto'";
    if (factor < 1 || factor > LARGEST_FACTOR)
        return arena_printf(arena, "the factor is %u, but must be from 1 (not coarsened) to %d", factor,
                            LARGEST_FACTOR);
    unsigned *place = &places[kind][dimension];
    if (*place)
        return arena_printf(arena, "a factor for %s is given twice", axes[kind][dimension]);
    *place = factor;
    return NULL;
}

const char *coarsen_factors_read(Arena *arena, const char *text, CoarsenOption *option)
{
    if (strcmp(text, "auto") == 0) {
        option->is_auto = true;
        text = "1";
    }
    option->shape = (Shape){0};
    for (const char *at = text;; at++) {
        const char *error = read_factor(arena, &at, option);
        if (error)
            return error;
        if (!*at)
            break;
    }
    option->shape = shape_complete(&option->shape);
    if (merged_count(option->shape.threads) > LARGEST_FACTOR)
        return arena_printf(arena, "a block has at most %d threads, so the product of the factors cannot be larger",
                            LARGEST_FACTOR);
    if (merged_count(option->shape.blocks) > LARGEST_FACTOR)
        return arena_printf(arena, "at most %d blocks can be merged", LARGEST_FACTOR);
    if (merged_count(option->shape.grown) > LARGEST_FACTOR)
        return arena_printf(arena, "a block has at most %d threads, so no more blocks can become one", LARGEST_FACTOR);
    return NULL;
}

void options_read_coarsen(Reader *reader, const char *text)
{
    CoarsenOption option = {.shape = {{1, 1, 1}, {1, 1, 1}}};
    const char *at;
    if (!split_kernel(reader, "-coarsen", text, &option.kernel, &at))
        return;
    option.is_source = strcmp(at, "source") == 0;
    const char *error = option.is_source ? NULL : coarsen_factors_read(reader->arena, at, &option);
    if (option.is_source && option.kernel)
        error = "'source' is about all kernels";
    if (error)
        options_fail(reader, "-coarsen %s: %s", text, error);
    else
        VEC_PUSH(reader->arena, reader->options->coarsen, option);
}

bool stride_read(const char *text, Stride *stride)
{
    *stride = (Stride){.kind = STRIDE_BLOCK};
    if (strcmp(text, "block") == 0)
        return true;
    stride->kind = STRIDE_UNIT;
    if (strcmp(text, "unit") == 0)
        return true;
    stride->kind = STRIDE_NUMBER;
    return whole_number(text, &stride->number) && stride->number >= 1 && stride->number <= LARGEST_BLOCK;
}

void options_read_stride(Reader *reader, const char *text)
{
    if (!stride_read(text, &reader->options->stride))
        options_fail(reader, "-stride %s: expected 'block', 'unit' or a number of threads from 1 to %d", text,
                     LARGEST_BLOCK);
}

/* 'text' may be NULL. */
void options_read_tune(Reader *reader, const char *text)
{
    enum { USUAL_FORMS = 4, FEWEST_FORMS = 2, MOST_FORMS = 16 };
    reader->options->tuned_forms = USUAL_FORMS;
    if (text)
        options_read_number(reader, OPTION_TUNE, text, FEWEST_FORMS, MOST_FORMS, &reader->options->tuned_forms);
}

bool jam_factor_read(const char *text, unsigned *factor)
{
    return whole_number(text, factor) && *factor >= 2 && *factor <= UNROLL_JAM_MOST;
}

void options_read_jam(Reader *reader, const char *text)
{
    JamOption option = {.is_source = strcmp(text, "source") == 0, .is_auto = strcmp(text, "auto") == 0};
    const char *colon = strrchr(text, ':');
    if (!option.is_source && !option.is_auto) {
        if (!colon || colon == text || !jam_factor_read(colon + 1, &option.factor)) {
            options_fail(reader, "-uj %s: expected LABEL:N, with the label that the loop begins with and N from 2 to "
                                 "%d iterations, 'source' or 'auto'", text, UNROLL_JAM_MOST);
            return;
        }
        option.loop = arena_strndup(reader->arena, text, (size_t)(colon - text));
    }
    for (size_t i = 0; i < reader->options->jams.count; i++) {
        const char *other = reader->options->jams.data[i].loop;
        if (option.loop && other && strcmp(option.loop, other) == 0)
            options_fail(reader, "-uj names the loop at %s twice", option.loop);
    }
    VEC_PUSH(reader->arena, reader->options->jams, option);
}

void options_read_grid(Reader *reader, const char *text)
{
    reader->options->shrinks_grid = strcmp(text, "shrink") == 0;
    if (!reader->options->shrinks_grid && strcmp(text, "keep") != 0)
        options_fail(reader, "-coarsen-grid %s: expected 'keep' or 'shrink'", text);
}

void options_read_guards(Reader *reader, const char *text)
{
    if (!guard_form_read(text, &reader->options->guards))
        options_fail(reader, "-coarsen-guards %s: expected 'auto', 'sequential', 'fast', 'predicated' or "
                             "'interior'", text);
}

void options_read_risk(Reader *reader, const char *text)
{
    static const char *const words[] = {[RISK_NORMAL] = "normal", [RISK_LOW] = "low", [RISK_HIGH] = "high"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(text, words[i]) == 0) {
            reader->options->risk = (Risk)i;
            return;
        }
    options_fail(reader, "-risk %s: expected 'low', 'normal' or 'high'", text);
}

void options_read_search(Reader *reader, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (text[0] < '0' || text[0] > '9' || *end || !(seconds <= LONGEST_SEARCH))
        options_fail(reader, "-search %s: expected seconds, from 0 to %d", text, LONGEST_SEARCH);
    reader->options->search = seconds;
}

/* The word in "fewest", "fewest:P" or "KERNEL:fewest:P", in which the last colon does not end a kernel; NULL: another
 * value. */
static const char *fewest_word(const char *text)
{
    const char *found = NULL;
    for (const char *at = strstr(text, "fewest"); at; at = strstr(at + 1, "fewest")) {
        const char *rest = at + strlen("fewest");
        if ((at == text || at[-1] == ':') && (!*rest || (*rest == ':' && !strchr(rest + 1, ':'))))
            found = at;
    }
    return found;
}

/* "fewest:P", or without P: 0. */
static void read_fewest(Reader *reader, const char *text, const char *word, RegistersOption *option)
{
    const char *price = strchr(word, ':');
    char *end = NULL;
    option->goal = GOAL_FEWEST;
    if (word > text)
        option->kernel = arena_strndup(reader->arena, text, (size_t)(word - text) - 1);
    if (!price)
        return;
    option->price = strtod(price + 1, &end);
    if (price[1] < '0' || price[1] > '9' || *end || !(option->price <= LARGEST_PRICE))
        options_fail(reader, "-target-regs %s: after 'fewest:', expected percent of the time, from 0 to %d", text,
                     LARGEST_PRICE);
}

void options_read_target_regs(Reader *reader, const char *text)
{
    RegistersOption option = {0};
    const char *at, *fewest = fewest_word(text);
    if (fewest && fewest != text + 1) {
        read_fewest(reader, text, fewest, &option);
        VEC_PUSH(reader->arena, reader->options->registers, option);
        return;
    }
    if (!split_kernel(reader, "-target-regs", text, &option.kernel, &at))
        return;
    if (strcmp(at, "auto") == 0)
        option.goal = GOAL_AUTO;
    else if (!whole_number(at, &option.target) || option.target < LEAST_REGISTERS ||
             option.target > LARGEST_REGISTERS) {
        options_fail(
            reader,
            "-target-regs %s: expected a number of registers from %d to %d, 'auto' or 'fewest', optionally after "
            "'KERNEL:'", text, LEAST_REGISTERS, LARGEST_REGISTERS);
        return;
    }
    VEC_PUSH(reader->arena, reader->options->registers, option);
}

const char *block_read(Arena *arena, const char *text, const char *at, unsigned threads[3])
{
    uint64_t total = 1;
    memcpy(threads, (const unsigned[3]){1, 1, 1}, 3 * sizeof *threads);
    for (unsigned dimension = 0;; dimension++) {
        if (dimension == 3 || !read_number(&at, &threads[dimension]) || (*at && *at != ','))
            return arena_printf(arena, "-block %s: expected X or X,Y or X,Y,Z threads, optionally after 'KERNEL:'",
                                text);
        unsigned largest = dimension == 2 ? LARGEST_BLOCK_Z : LARGEST_BLOCK;
        if (threads[dimension] < 1 || threads[dimension] > largest)
            return arena_printf(arena, "-block %s: a block has from 1 to %u threads along %c", text, largest,
                                "xyz"[dimension]);
        total *= threads[dimension];
        if (*at++ == 0)
            break;
    }
    return total <= LARGEST_BLOCK ? NULL
                                  : arena_printf(arena, "-block %s: that is %llu threads, but a block has at most %d",
                                                 text, (unsigned long long)total, LARGEST_BLOCK);
}

void options_read_block(Reader *reader, const char *text)
{
    BlockOption option = {0};
    const char *at;
    if (!split_kernel(reader, "-block", text, &option.kernel, &at))
        return;
    const char *error = block_read(reader->arena, text, at, option.threads);
    if (error)
        options_fail(reader, "%s", error);
    else
        VEC_PUSH(reader->arena, reader->options->blocks, option);
}

bool refine_threads_read(const char *text, RefineRequest *refining)
{
    unsigned threads;
    if (!read_number(&text, &threads) || (*text && strcmp(text, ",apart") != 0) || threads < 2 ||
        threads > REFINE_MOST || threads & (threads - 1))
        return false;
    refining->threads = threads;
    refining->is_apart = *text;
    return true;
}

void options_read_refine(Reader *reader, const char *text)
{
    RefineRequest refining = {0};
    RefineOption option = {0};
    const char *at;
    if (!split_kernel(reader, "-refine", text, &option.kernel, &at))
        return;
    option.is_auto = strcmp(at, "auto") == 0;
    const bool is_right = option.is_auto || refine_threads_read(at, &refining);
    option.threads = refining.threads;
    option.is_apart = refining.is_apart;
    if (!is_right)
        options_fail(reader, "-refine %s: expected auto, or 2, 4, 8, 16 or %d and perhaps ',apart', optionally after "
                     "'KERNEL:'", text, REFINE_MOST);
    else
        VEC_PUSH(reader->arena, reader->options->refine, option);
}

void options_read_shared(Reader *reader, const char *text)
{
    SharedOption option = {0};
    const char *at;
    if (!split_kernel(reader, "-dynamic-shared", text, &option.kernel, &at))
        return;
    if (!whole_number(at, &option.bytes) || option.bytes > LARGEST_SHARED) {
        options_fail(reader, "-dynamic-shared %s: expected a number of bytes, up to %d, optionally after 'KERNEL:'",
                     text, LARGEST_SHARED);
        return;
    }
    VEC_PUSH(reader->arena, reader->options->dynamic_shared, option);
}

const char *arch_choice_read(Arena *arena, const char *word, const char **arch)
{
    Arch parsed;
    if (!arch_parse(word, &parsed))
        return arena_printf(arena, "-arch %s: expected an architecture such as sm_90", word);
    *arch = word;
    return NULL;
}

const char *arch_list_read(Arena *arena, const char *words, PathList *archs)
{
    char *rest = arena_printf(arena, "%s", words);
    for (const char *word, *arch; (word = strsep(&rest, ",")) != NULL;) {
        const char *error = arch_choice_read(arena, word, &arch);
        if (error)
            return error;
        VEC_PUSH(arena, *archs, arch);
    }
    return NULL;
}

const char *assembler_choice_read(Arena *arena, const char *word, bool *none, AssemblerKind *kind)
{
    const char *words[ASSEMBLER_KIND_COUNT + 1] = {[ASSEMBLER_KIND_COUNT] = "none"};
    *none = strcmp(word, "none") == 0;
    if (*none || assembler_kind_parse(word, kind))
        return NULL;
    for (AssemblerKind i = 0; i < ASSEMBLER_KIND_COUNT; i++)
        words[i] = assembler_kind_word(i);
    const char *closest = closest_word(word, words, COUNT_OF(words));
    Buf expected = {0};
    assembler_choice_print(&expected, ", ", " or ");
    const char *error = arena_printf(arena, "-assembler %s: expected %s%s%s%s", word, buf_text(&expected),
                                     closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
    buf_free(&expected);
    return error;
}

void options_read_assembler(Reader *reader, const char *word)
{
    Options *options = reader->options;
    const char *error =
        assembler_choice_read(reader->arena, word, &options->assembler_none, &options->assembler);
    if (error)
        options_fail(reader, "%s", error);
}

static const Pass *find_pass(const char *name)
{
    for (unsigned i = 0; i < pass_count; i++)
        if (strcmp(pass_table[i].name, name) == 0)
            return &pass_table[i];
    return NULL;
}

static void fail_pass(Reader *reader, const char *option, const char *text, const char *name)
{
    const char *names[PASSES_MOST];
    Buf all = {0};
    for (unsigned i = 0; i < pass_count; i++) {
        names[i] = pass_table[i].name;
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    const char *closest = closest_word(name, names, pass_count);
    if (closest)
        options_fail(reader, "%s %s: no pass is called '%s'; did you mean '%s'?", option, text, name, closest);
    else
        options_fail(reader, "%s %s: no pass is called '%s'; the passes are %s", option, text, name, buf_text(&all));
    buf_free(&all);
}

/* The next of the words that commas separate, or NULL at the end; *at goes past it. */
static const char *next_word(Arena *arena, const char **at)
{
    if (!*at)
        return NULL;
    size_t length = strcspn(*at, ",");
    const char *word = arena_strndup(arena, *at, length);
    *at = (*at)[length] ? *at + length + 1 : NULL;
    return word;
}

unsigned async_buffers_read(const char *word)
{
    enum { LEAST = 2 };
    if (strncmp(word, "async", 5) != 0)
        return 0;
    const unsigned buffers = word[5] ? (unsigned)(word[5] - '0') : LEAST;
    return word[5] && (word[6] || buffers < LEAST || buffers > STAGE_BUFFERS) ? 0 : buffers;
}

/* "edges", "stage", "prefetch", "async", "rows", "counters", "vectors" or several; false if a word is none of them. */
static bool read_memory_list(Reader *reader, const char *at, MemoryOption *option)
{
    const char *word;
    while ((word = next_word(reader->arena, &at)) != NULL) {
        const bool stages = strcmp(word, "stage") == 0, vectors = strcmp(word, "vectors") == 0;
        const bool counts = strcmp(word, "counters") == 0, edges = strcmp(word, "edges") == 0;
        const bool prefetches = strcmp(word, "prefetch") == 0, rows = strcmp(word, "rows") == 0;
        const unsigned buffers = async_buffers_read(word);
        option->vectors_first |= (stages || prefetches || rows || buffers) && option->vectors && !option->stages;
        option->prefetches |= prefetches;
        option->edges |= edges;
        option->rows |= rows;
        option->stages |= stages || prefetches || rows || buffers;
        option->buffers = buffers ? buffers : option->buffers;
        option->counts |= counts;
        option->vectors |= vectors;
        if (!stages && !counts && !vectors && !edges && !prefetches && !rows && !buffers)
            return false;
    }
    return true;
}

void options_read_memory(Reader *reader, const char *text)
{
    MemoryOption option = {.kernel = NULL};
    const char *at;
    if (!split_kernel(reader, "-memory", text, &option.kernel, &at))
        return;
    option.is_auto = strcmp(at, "auto") == 0;
    if (!option.is_auto && strcmp(at, "off") != 0 && !read_memory_list(reader, at, &option))
        options_fail(reader,
                     "-memory %s: expected 'auto', 'off', or a list of 'edges', 'stage', 'prefetch', 'async', "
                     "'rows', 'counters' and 'vectors'", text);
    else
        VEC_PUSH(reader->arena, reader->options->memory, option);
}

void options_read_dead(Reader *reader, const char *text)
{
    DeadOption option = {.parameter = NULL};
    const char *at;
    if (!split_kernel(reader, "-dead-on-return", text, &option.kernel, &at))
        return;
    if (!*at || (option.kernel && !whole_number(at, &option.number))) {
        options_fail(reader, "-dead-on-return %s: expected a parameter's name, or KERNEL:N with its number, from 0",
                     *text ? text : "''");
        return;
    }
    if (!option.kernel)
        option.parameter = at;
    VEC_PUSH(reader->arena, reader->options->dead, option);
}

/* The word in "groups:N" or "KERNEL:groups:N", in which the last colon does not end a kernel; NULL: another value. */
static const char *groups_word(const char *text)
{
    static const char word[] = "groups:";
    const size_t length = sizeof word - 1;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon + 1 - text) < length || strncmp(colon + 1 - length, word, length) != 0)
        return NULL;
    const char *at = colon + 1 - length;
    const bool is_kernel = colon[1] && (colon[1] < '0' || colon[1] > '9'); /* of that name, as in "groups:off" */
    return (at == text && !is_kernel) || (at > text + 1 && at[-1] == ':') ? at : NULL;
}

void options_read_block_order(Reader *reader, const char *text)
{
    OrderOption option = {.kernel = NULL};
    const char *at = text, *groups = groups_word(text);
    bool fits = true;
    if (groups) {
        if (groups > text)
            option.kernel = arena_strndup(reader->arena, text, (size_t)(groups - text) - 1);
        option.order.kind = GRID_ORDER_GROUPS;
        fits = whole_number(strchr(groups, ':') + 1, &option.order.rows) && option.order.rows >= GRID_ORDER_LEAST &&
               option.order.rows <= GRID_ORDER_MOST;
    } else if (!split_kernel(reader, "-block-order", text, &option.kernel, &at)) {
        return;
    } else if (strcmp(at, "diagonal") == 0) {
        option.order.kind = GRID_ORDER_DIAGONAL;
    } else if (strcmp(at, "auto") == 0) {
        options_fail(reader, "-block-order %s: no order is chosen, because predicted times do not depend on it", text);
        return;
    } else {
        fits = strcmp(at, "off") == 0;
    }
    if (!fits)
        options_fail(reader, "-block-order %s: expected 'off', 'diagonal', or 'groups:N' with %d to %d rows", text,
                     GRID_ORDER_LEAST, GRID_ORDER_MOST);
    else
        VEC_PUSH(reader->arena, reader->options->block_orders, option);
}

void options_read_passes(Reader *reader, const char *text)
{
    const char *at = text, *word;
    while ((word = next_word(reader->arena, &at)) != NULL) {
        bool off = *word == '-';
        const Pass *pass = find_pass(word + off);
        if (!pass) {
            fail_pass(reader, "-p", text, word + off);
            return;
        }
        reader->options->passes.enabled[pass - pass_table] = !off;
    }
}

/* A pass's name, or its place in the table, from 1. */
void options_read_stop_after(Reader *reader, const char *text)
{
    unsigned number;
    const Pass *pass = find_pass(text);
    if (whole_number(text, &number) && number >= 1 && number <= pass_count)
        pass = &pass_table[number - 1];
    if (!pass) {
        fail_pass(reader, "-stop-after", text, text);
        return;
    }
    for (unsigned i = (unsigned)(pass - pass_table) + 1; i < pass_count; i++)
        reader->options->passes.enabled[i] = false;
}

void options_read_dumps(Reader *reader, const char *text)
{
    bool *dumped = reader->options->passes.dumped;
    const char *at = text, *word;
    while ((word = next_word(reader->arena, &at)) != NULL) {
        bool is_all = strcmp(word, "all") == 0;
        const Pass *pass = find_pass(word);
        if (!pass && !is_all) {
            fail_pass(reader, "-d", text, word);
            return;
        }
        for (unsigned i = 0; i < pass_count; i++)
            dumped[i] |= is_all || pass == &pass_table[i];
    }
}

void options_read_entries(Reader *reader, const char *text)
{
    for (const char *at = text;;) {
        size_t length = (size_t)(kernel_name_end(at) - at);
        if (!length) {
            options_fail(reader, "-entry %s: expected NAME or NAME,NAME...", *text ? text : "''");
            return;
        }
        VEC_PUSH(reader->arena, reader->options->entries, arena_strndup(reader->arena, at, length));
        at += length;
        if (*at++ == 0)
            return;
    }
}
