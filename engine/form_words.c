#include "engine/form_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernel_find.h"
#include "engine/report/report.h"
#include "options/options.h"

static const char stride_word[] = "stride=", guards_word[] = "guards=", grid_word[] = "grid=shrink",
                  refine_word[] = "refine=", depth_word[] = "depth=", unroll_word[] = "unroll",
                  rows_word[] = "rows", single_word[] = "before-vectors", jam_word[] = "uj=", given_word[] = "given=",
                  extent_word[] = "extent=";

/* Writing. */

static void print_word(Buf *out, const char *word)
{
    buf_printf(out, "%s%s", out->length ? " " : "", word);
}

static void print_factors(const unsigned factor[3], const char *prefix, Buf *out)
{
    for (unsigned d = 0; d < 3; d++)
        if (factor[d] > 1)
            buf_printf(out, "%s%s%c%u", out->length ? "," : "", prefix, "xyz"[d], factor[d]);
}

static void print_coarsening(const CoarsenRequest *coarsening, Buf *out)
{
    char stride[16];
    print_factors(coarsening->shape.grown, "g", out);
    print_factors(coarsening->shape.threads, "", out);
    print_factors(coarsening->shape.blocks, "b", out);
    if (coarsening->stride.kind != STRIDE_BLOCK)
        buf_printf(out, " %s%s", stride_word, stride_text(&coarsening->stride, stride));
    if (coarsening->guards != GUARDS_AUTO)
        buf_printf(out, " %s%s", guards_word, guard_form_name(coarsening->guards));
    if (coarsening->shrinks_grid && merges_any(coarsening->shape.blocks))
        print_word(out, grid_word);
}

/* The scalars that short loops of a form are straight code for. */
static void print_given(const KernelRequest *request, Buf *out)
{
    if (!request->coarsen || request->coarsening.guards != GUARDS_INTERIOR)
        return;
    for (unsigned i = 0; i < request->known.count; i++) {
        const KnownParameter *known = &request->known.of[i];
        uint64_t value = 0;
        if (known->size > sizeof value)
            continue;
        memcpy(&value, known->bytes, known->size);
        buf_printf(out, " %s%s:%" PRIu64, given_word, known->variable->name, value);
    }
}

/* The sizes of arrays, which say how many counters there are. */
static void print_extents(const KnownExtents *extents, Buf *out)
{
    for (unsigned i = 0; i < extents->count; i++)
        buf_printf(out, " %s%s:%" PRIu64, extent_word, extents->of[i].variable->name, extents->of[i].bytes);
}

static void print_refinement(const RefineRequest *refining, Buf *out)
{
    buf_printf(out, "%s%u%s", refine_word, refining->threads, refining->is_apart ? ",apart" : "");
    if (refining->reassociates)
        print_word(out, FORM_REASSOCIATE_WORD);
}

static void print_staging(const StageRequest *staging, Buf *out)
{
    print_word(out, staging->buffers ? "async" : staging->prefetches ? "prefetch" : "stage");
    if (staging->buffers)
        buf_printf(out, "%u", staging->buffers);
    if (staging->depth)
        buf_printf(out, " %s%u", depth_word, staging->depth);
    if (staging->holds_rows)
        print_word(out, rows_word);
    if (staging->unrolls)
        print_word(out, unroll_word);
    if (staging->before_vectors)
        print_word(out, single_word);
}

const char *form_words_text(Arena *arena, const KernelRequest *request)
{
    Buf out = {0};
    if (request->coarsen)
        print_coarsening(&request->coarsening, &out);
    else if (request->refining.threads)
        print_refinement(&request->refining, &out);
    print_given(request, &out);
    if (request->edges)
        print_word(&out, "edges");
    if (request->vectors && request->vectors_first)
        print_word(&out, "vectors");
    if (request->staging.wanted)
        print_staging(&request->staging, &out);
    if (request->counters) {
        print_word(&out, "counters");
        print_extents(&request->extents, &out);
    }
    if (request->counters && request->reassociates && !(request->refining.threads && request->refining.reassociates))
        print_word(&out, FORM_REASSOCIATE_WORD);
    if (request->vectors && !request->vectors_first)
        print_word(&out, "vectors");
    for (unsigned i = 0; i < request->jam_count; i++)
        buf_printf(&out, "%s%s%s:%u", out.length ? " " : "", jam_word, request->jams[i].loop, request->jams[i].factor);
    return buf_take(arena, &out);
}

/* Reading. */

/* The text after the '=' of a word; NULL: it is another word. */
static const char *value_of(const char *word, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

static bool follow_depth(const char *value, StageRequest *staging)
{
    for (unsigned depth = STAGE_DEPTH_LEAST; depth <= STAGE_DEPTH_MOST; depth *= 2) {
        char text[16];
        snprintf(text, sizeof text, "%u", depth);
        if (strcmp(value, text) == 0)
            staging->depth = depth;
    }
    return staging->wanted && staging->depth;
}

static bool follow_jam(Arena *arena, const Function *kernel, const char *value, KernelRequest *request)
{
    const char *colon = strrchr(value, ':');
    UnrollJam *jams = ARENA_ARRAY(arena, UnrollJam, request->jam_count + 1);
    if (!colon)
        return false;
    UnrollJam *jam = &jams[request->jam_count];
    if (request->jam_count)
        memcpy(jams, request->jams, request->jam_count * sizeof *jams);
    jam->loop = arena_strndup(arena, value, (size_t)(colon - value));
    request->jams = jams;
    request->jam_count++;
    return kernel_has_label(kernel, jam->loop) && jam_factor_read(colon + 1, &jam->factor);
}

/* The parameter in "NAME:NUMBER"; NULL: there is none, or the number is not one. */
static const Variable *read_parameter(const Function *kernel, const char *value, unsigned long long *number)
{
    const char *colon = strrchr(value, ':');
    char *end;
    if (!colon || colon[1] < '0' || colon[1] > '9')
        return NULL;
    errno = 0;
    *number = strtoull(colon + 1, &end, 10);
    for (unsigned p = 0; p < kernel->prototype.param_count && !errno && !*end; p++) {
        const Variable *variable = kernel->prototype.params[p];
        const size_t length = strlen(variable->name);
        if (length == (size_t)(colon - value) && memcmp(variable->name, value, length) == 0)
            return variable;
    }
    return NULL;
}

static bool follow_given(Arena *arena, const Function *kernel, const char *value, KernelRequest *request)
{
    unsigned long long number;
    const Variable *variable = read_parameter(kernel, value, &number);
    KnownParameter *known = ARENA_ARRAY(arena, KnownParameter, request->known.count + 1);
    if (!variable || variable_bytes(variable) > sizeof(uint64_t))
        return false;
    if (request->known.count)
        memcpy(known, request->known.of, request->known.count * sizeof *known);
    known[request->known.count] = known_parameter(arena, variable, number);
    request->known = (KnownParameters){known, request->known.count + 1};
    return true;
}

static bool follow_extent(Arena *arena, const Function *kernel, const char *value, KernelRequest *request)
{
    unsigned long long number;
    const Variable *variable = read_parameter(kernel, value, &number);
    KnownExtent *known = ARENA_ARRAY(arena, KnownExtent, request->extents.count + 1);
    if (!variable)
        return false;
    if (request->extents.count)
        memcpy(known, request->extents.of, request->extents.count * sizeof *known);
    known[request->extents.count] = (KnownExtent){variable, number};
    request->extents = (KnownExtents){known, request->extents.count + 1};
    return true;
}

static void follow_staging(const char *word, KernelRequest *request)
{
    request->vectors_first = request->vectors;
    request->staging.buffers = async_buffers_read(word);
    request->staging.prefetches = *word == 'p';
    request->staging.wanted = true;
}

static bool follow_factors(Arena *arena, const char *word, KernelRequest *request)
{
    CoarsenOption shape = {0};
    if (coarsen_factors_read(arena, word, &shape) || shape.is_auto)
        return false;
    request->coarsen = !shape_is_identity(&shape.shape);
    request->coarsening.shape = shape.shape;
    return true;
}

/* Adds one word; false if it is not known. */
static bool follow_word(Arena *arena, const Function *kernel, const char *word, KernelRequest *request)
{
    const char *value;
    if ((value = value_of(word, stride_word)) != NULL)
        return stride_read(value, &request->coarsening.stride);
    if ((value = value_of(word, guards_word)) != NULL)
        return guard_form_read(value, &request->coarsening.guards);
    if ((value = value_of(word, given_word)) != NULL)
        return follow_given(arena, kernel, value, request);
    if ((value = value_of(word, extent_word)) != NULL)
        return follow_extent(arena, kernel, value, request);
    if (strcmp(word, grid_word) == 0)
        return request->coarsening.shrinks_grid = true;
    if ((value = value_of(word, refine_word)) != NULL)
        return refine_threads_read(value, &request->refining);
    if (strcmp(word, FORM_REASSOCIATE_WORD) == 0)
        return request->reassociates = request->refining.reassociates = true;
    if ((value = value_of(word, FORM_BLOCK_WORD)) != NULL)
        return !block_read(arena, word, value, request->block);
    if (strcmp(word, "edges") == 0)
        return request->edges = true;
    if (strcmp(word, "stage") == 0 || strcmp(word, "prefetch") == 0 || async_buffers_read(word)) {
        follow_staging(word, request);
        return true;
    }
    if ((value = value_of(word, depth_word)) != NULL)
        return follow_depth(value, &request->staging);
    if (strcmp(word, rows_word) == 0)
        return request->staging.holds_rows = true;
    if (strcmp(word, unroll_word) == 0)
        return request->staging.unrolls = true;
    if (strcmp(word, single_word) == 0)
        return request->staging.before_vectors = true;
    if (strcmp(word, "counters") == 0)
        return request->counters = true;
    if (strcmp(word, "vectors") == 0)
        return request->vectors = true;
    if ((value = value_of(word, jam_word)) != NULL)
        return follow_jam(arena, kernel, value, request);
    return follow_factors(arena, word, request);
}

void form_words_clear(KernelRequest *request)
{
    request->staging = (StageRequest){0};
    request->refining = (RefineRequest){0};
    request->coarsen = request->edges = request->counters = request->vectors = request->vectors_first = false;
    request->coarsening.shape = (Shape){.threads = {1, 1, 1}, .blocks = {1, 1, 1}};
    request->coarsening.stride = (Stride){.kind = STRIDE_BLOCK};
    request->coarsening.guards = GUARDS_AUTO;
    request->coarsening.shrinks_grid = false;
    request->jams = NULL;
    request->jam_count = 0;
    request->known = (KnownParameters){0};
    request->extents = (KnownExtents){0};
}

bool form_words_follow(Arena *arena, const Function *kernel, const char *words, KernelRequest *request)
{
    while (*words) {
        const size_t length = strcspn(words, " ");
        if (!follow_word(arena, kernel, arena_strndup(arena, words, length), request))
            return false;
        words += length + strspn(words + length, " ");
    }
    return !(request->coarsen && request->refining.threads);
}

bool form_words_have(const char *words, const char *word)
{
    const size_t length = strlen(word);
    bool found = false;
    while (*words && !found) {
        found = strncmp(words, word, length) == 0 && (word[length - 1] == '=' || strchr(" ", words[length]));
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    return found;
}
