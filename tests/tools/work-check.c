/* Checks that estimates conserve work: a transformation copies code, but what all threads together store, update
 * atomically and compute stays the same, and what they load does not grow.
 *
 *     work-check [-v] [-d FOLDER] [-k KIND] [-w WAY] [-m PERCENT] SEED,COUNT
 *     work-check [-v] [-w WAY] FILE.ptx KERNEL X,Y,Z
 *
 * Transforms random kernels of five kinds (or of one, -k), each in several ways (or in one, -w: "x2", "bx2", "uj3",
 * "x4y2:unit+fast", "x2stage", "vectors"), or the kernel of a file, whose blocks have the size given. Estimates both
 * forms without a launch, and the changed form a second time from its text, which is what "ptxopt cost -estimate" sees.
 * Prints the cases whose sums differ by more than the tolerance below; at the end the numbers of cases, and the means
 * of after over before. -d keeps wrong outputs. Exit status 1 if more cases were wrong than the percentage that -m
 * allows (0): estimates are approximate for loops that are left in several ways, all of which are assumed to be taken
 * equally often. */
#include "jam_kernel.h"
#include "loop_kernel.h"
#include "parse_text.h"
#include "random_kernel.h"
#include "reuse_kernel.h"
#include "seeds.h"
#include "stage_kernel.h"

#include "cost/cost.h"
#include "emit/emit.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sums over all threads of the launch: executions of instructions, or bytes. */
typedef enum Work { WORK_STORED, WORK_ATOMIC, WORK_FLOATING, WORK_LOADED, WORK_KINDS } Work;
static const char *const work_names[] = {"stored", "atomic", "floating", "loaded"};

/* How much of it may be lost, and how much may be created. Work that replicas share is done once; a value that is
 * computed before it is known to be needed is computed more often. */
static const double least[] = {0.98, 0.98, 0.10, 0}, most[] = {1.02, 1.02, 1.05, 1.05};

enum { BLOCKS = 2880 };

typedef struct Totals {
    double sums[WORK_KINDS];
    double alike[WORK_KINDS]; /* of these: done in the same way by all threads, so once where they are merged */
    bool has_tiles;           /* the form's, or that of the form that it is compared with */
    bool has_irreducible;     /* loops with several entries, through which estimates do not follow the flow */
} Totals;

typedef struct Check {
    bool verbose;
    const char *folder, *kind, *way; /* NULL: any */
    unsigned most_wrong;             /* percent */
    unsigned done, refused, wrong;
    double logs[WORK_KINDS]; /* of after over before ... */
    unsigned count[WORK_KINDS];
} Check;

typedef struct Kind {
    const char *name;
    void (*make)(uint64_t seed, Arena *arena, Buf *text, Launch *launch);
    bool minds_block; /* else the blocks do the same work, which merged blocks do once */
} Kind;

static const Kind kinds[] = {
    {"random", random_kernel, true}, {"loop", loop_kernel, false}, {"jam", jam_kernel, false},
    {"reuse", reuse_kernel, true}, {"stage", stage_kernel, true}};

static const char *const ways[] = {
    "x2",    "x4",      "y2",            "x2y2",          "x2:unit", "x4:unit",        "y2:unit",
    "x4:8",  "x2+fast", "x4+sequential", "x2+predicated", "bx2",     "by2",            "bx4:unit+fast",
    "x2bx2", "gx2",     "uj2",           "uj3",           "x2uj2",   "bx3+sequential", "x2y2:unit+fast",
    "stage", "x2stage", "y2stage:unit",  "bx2stage",      "vectors",
};

typedef struct Way {
    KernelRequest request;
    UnrollJam jam;
} Way;

static bool way_read(const char *text, const char *loop, Way *way)
{
    const char *at = text;
    CoarsenRequest *coarsening = &way->request.coarsening;
    *way = (Way){.request.coarsening.shape = {{1, 1, 1}, {1, 1, 1}}};
    unsigned *factors = coarsening->shape.threads;
    while (*at && *at != ':' && *at != '+') {
        char *end = NULL;
        if (strncmp(at, "stage", 5) == 0) {
            way->request.staging.wanted = true;
            at += 5;
            continue;
        }
        if (strncmp(at, "vectors", 7) == 0) {
            way->request.vectors = true;
            at += 7;
            continue;
        }
        if (strncmp(at, "uj", 2) == 0) {
            way->jam = (UnrollJam){loop, (unsigned)strtoul(at + 2, &end, 10)};
            way->request.jams = &way->jam;
            way->request.jam_count = 1;
        } else if (*at == 'b' || *at == 'g') {
            coarsening->shrinks_grid = *at++ == 'g';
            factors = coarsening->shape.blocks;
            continue;
        } else {
            factors[*at - 'x'] = (unsigned)strtoul(at + 1, &end, 10);
            way->request.coarsen = true;
        }
        at = end;
    }
    if (strncmp(at, ":unit", 5) == 0)
        coarsening->stride.kind = STRIDE_UNIT;
    else if (*at == ':')
        coarsening->stride = (Stride){STRIDE_NUMBER, (unsigned)strtoul(at + 1, NULL, 10)};
    const char *form = strchr(at, '+');
    return !form || guard_form_read(form + 1, &coarsening->guards);
}

/* The kind of work that the instruction does, and how much at each execution; 0: none. With tiles, accesses to shared
 * memory are those of the tiles, too, and do not count. */
static double work_kind(const Inst *inst, Pipe pipe, bool has_tiles, Work *kind)
{
    Access access;
    *kind = WORK_FLOATING;
    if (!inst_access(inst, &access))
        return pipe == PIPE_FP32 || pipe == PIPE_FP64;
    if (access.space == SPACE_LOCAL || access.space == SPACE_PARAM || (has_tiles && access.space == SPACE_SHARED))
        return 0;
    *kind = access.kind == ACCESS_LOAD ? WORK_LOADED : access.kind == ACCESS_STORE ? WORK_STORED : WORK_ATOMIC;
    return *kind == WORK_ATOMIC ? 1 : access.bytes;
}

static void add_work(const Inst *inst, const InstProfile *profile, bool is_alike, Totals *totals)
{
    Work kind;
    const double work = work_kind(inst, profile->unit.pipe, totals->has_tiles, &kind) * profile->threads;
    totals->sums[kind] += work;
    totals->alike[kind] += is_alike ? work : 0;
}

/* True if merged threads, or merged blocks, do the same. */
static bool is_alike(Analyses *analyses, const Inst *inst, const Way *way)
{
    const VarianceOptions by_block = {.blocks = true};
    const CoarsenRequest *request = &way->request.coarsening;
    const bool by_blocks = merges_any(request->shape.blocks);
    Access access;
    /* Merged blocks may have a shared variable in common. */
    bool alike = by_blocks && inst_access(inst, &access) && access.space == SPACE_SHARED;
    for (unsigned d = 0; d < 3; d++) {
        alike |= request->shape.threads[d] > 1 && !variance_inst(analyses_variance(analyses, d, NULL), inst);
        alike |= request->shape.blocks[d] > 1 && !variance_inst(analyses_variance(analyses, d, &by_block), inst);
    }
    return alike;
}

/* The work of the form, and of an input (is_input) also what merging does once; false if it has no body form. */
static bool work_of(const FunctionForm *form, const unsigned block[3], const LaunchChange *change, const Way *way,
                    bool is_input, Totals *totals)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    const AssumedLaunch launch = {.block = {block[0], block[1], block[2]}, .blocks = BLOCKS};
    const Profile *profile = profile_estimate(arena, form, &launch, change, &error);
    Body *body = form->body ? body_clone(form->body) : body_build((Function *)form->function, &error);
    *totals = (Totals){.has_tiles = way->request.staging.wanted};
    if (profile && !body->ssa)
        body_to_ssa(body);
    Analyses *analyses = profile ? analyses_new(body) : NULL;
    size_t i = 0;
    for (size_t b = 0; profile && b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            add_work(inst, &profile->instructions[i++], is_input && is_alike(analyses, inst, way), totals);
    require(!profile || i == profile->instruction_count);
    totals->has_irreducible = profile && analyses_loops(analyses)->has_irreducible;
    analyses_free(analyses);
    body_free(body);
    arena_free(arena);
    return profile != NULL;
}

/* 'merges': replicas or iterations become one, which shares arithmetic; 'speculates': and does some in any case. */
static bool is_conserved(Check *check, const Totals *before, const Totals *after, const char *name, bool merges,
                         bool speculates)
{
    bool good = true;
    for (unsigned k = 0; k < WORK_KINDS; k++) {
        const double x = before->sums[k], y = after->sums[k];
        if (x <= 0 && y <= 0)
            continue;
        const double ratio = x > 0 ? y / x : INFINITY;
        if (speculates && k == WORK_FLOATING)
            continue;
        const double lost = x > 0 ? before->alike[k] / x : 0;
        const double lowest = k == WORK_FLOATING && !merges ? least[WORK_STORED] : least[k] * (1 - lost);
        if (!(ratio >= lowest && ratio <= most[k])) {
            printf("%s: WRONG: %s: %.4g times\n", name, work_names[k], ratio);
            good = false;
        }
        if (ratio > 0 && isfinite(ratio)) {
            check->logs[k] += log(ratio);
            check->count[k]++;
        }
    }
    return good;
}

/* The changed form, estimated as it is in memory and as it is written. */
static void compare(Check *check, Arena *arena, const KernelResult *result, const Way *way, const unsigned block[3],
                    const char *name, Buf *text)
{
    Totals before, after, written;
    const LaunchChange change = kernel_launch_change(result);
    const FunctionForm input = {.function = result->kernel}, output = kernel_form(result);
    /* Elsewhere, arithmetic that a condition guards may be done in any case. */
    const bool merges = way->request.coarsen || way->request.jam_count || way->request.vectors;
    const bool speculates = merges && !strstr(name, "sequential");
    if (!work_of(&input, block, NULL, way, true, &before) || !work_of(&output, block, &change, way, false, &after))
        return;
    if (before.has_irreducible)
        return;
    emit_module(result->kernel->module, text);
    Module *module = parse_text("changed.ptx", buf_text(text), text->length);
    require(module);
    const FunctionForm parsed = {.function = module_find_function(module, result->kernel->name)};
    if (!work_of(&parsed, block, &change, way, false, &written))
        return;
    const bool good = is_conserved(check, &before, &after, name, merges, speculates);
    const char *of_text = arena_printf(arena, "%s, text", name);
    check->wrong += !is_conserved(check, &before, &written, of_text, merges, speculates) || !good;
    arena_free(module->arena);
}

/* The name of a loop of the kernel that can be jammed: LOOP, if it has that. */
static const char *loop_name(Arena *arena, Function *kernel)
{
    const char **labels;
    const unsigned count = unroll_jam_loops(arena, kernel, &labels);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(labels[i], "LOOP") == 0)
            return labels[i];
    return count ? labels[0] : NULL;
}

static void check_way(Check *check, Module *module, const char *name, const char *of, const unsigned block[3],
                      const char *text, uint64_t seed, const Buf *original)
{
    Arena *arena = arena_new();
    Function *kernel = module_find_function(module, name);
    Way way;
    PipelineOptions options = {.no_figures = true};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = i != PASS_ACCUMULATOR && i != PASS_FORWARD;
    const char *loop = strstr(text, "uj") ? loop_name(arena, kernel) : NULL;
    if (!way_read(text, loop, &way) || (way.request.jam_count && !loop)) {
        arena_free(arena);
        return;
    }
    memcpy(way.request.block, block, sizeof way.request.block);
    KernelResult result = {0};
    pipeline_run(arena, kernel, &way.request, &options, &result);
    const bool is_done = (!way.request.coarsen || result.coarsening == OUTCOME_DONE) &&
                         (!way.request.jam_count || kernel_is_jammed(&result)) &&
                         (!way.request.staging.wanted || stage_count(&result.staged) > 0) &&
                         (!way.request.vectors || result.vectors == OUTCOME_DONE);
    if (is_done) {
        Buf printed = {0};
        const unsigned wrong = check->wrong;
        const KernelResult kept = result;
        kernel_install(&result);
        compare(check, arena, &kept, &way, block, arena_printf(arena, "%s %s", of, text), &printed);
        function_set_body(kernel, NULL);
        if (check->wrong > wrong)
            keep_wrong(arena, check->folder, arena_printf(arena, "%s.%s", of, text), seed, &printed, original);
        buf_free(&printed);
        check->done++;
    } else {
        check->refused++;
        kernel_discard(&result);
    }
    arena_free(arena);
}

static bool merges_blocks(const char *way)
{
    return strstr(way, "bx") || strstr(way, "by") || strchr(way, 'g');
}

static void check_ways(Check *check, const char *name, const char *of, const unsigned block[3], uint64_t seed,
                       const Buf *text, const Kind *kind)
{
    for (unsigned i = 0; i < COUNT_OF(ways); i++) {
        if (kind ? !kind->minds_block && merges_blocks(ways[i]) : block[1] == 1 && strcmp(ways[i], "by2") == 0)
            continue;
        if (check->way ? strcmp(check->way, ways[i]) != 0 : kind && (i + seed) % 4 != 0)
            continue;
        Module *module = parse_text("before.ptx", buf_text(text), text->length); /* each way in a fresh one */
        require(module);
        check_way(check, module, name, of, block, ways[i], seed, text);
        arena_free(module->arena);
    }
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    for (unsigned i = 0; i < COUNT_OF(kinds); i++) {
        if (check->kind && strcmp(check->kind, kinds[i].name) != 0)
            continue;
        Arena *arena = arena_new();
        Buf text = {0};
        Launch launch = {0};
        kinds[i].make(seed, arena, &text, &launch);
        unsigned block[3];
        for (unsigned d = 0; d < 3; d++)
            block[d] = launch.block[d] ? launch.block[d] : 1;
        check_ways(check, "k", arena_printf(arena, "%s.%llu", kinds[i].name, (unsigned long long)seed), block, seed,
                   &text, &kinds[i]);
        buf_free(&text);
        arena_free(arena);
    }
}

static int check_file(Check *check, char **words)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    unsigned block[3] = {1, 1, 1};
    const Source *source = source_read(arena, words[0], &error);
    if (!source || sscanf(words[2], "%u,%u,%u", &block[0], &block[1], &block[2]) < 1)
        return 2;
    Buf text = {0};
    buf_printf(&text, "%.*s", (int)source->size, source->text);
    check_ways(check, words[1], words[1], block, 0, &text, NULL);
    buf_free(&text);
    arena_free(arena);
    return 0;
}

int main(int count, char **words)
{
    Check check = {0};
    int option, status = 0;
    while ((option = getopt(count, words, "vd:k:w:m:")) != -1) {
        switch (option) {
        case 'v': check.verbose = true; break;
        case 'd': check.folder = optarg; break;
        case 'k': check.kind = optarg; break;
        case 'w': check.way = optarg; break;
        case 'm': check.most_wrong = (unsigned)strtoul(optarg, NULL, 10); break;
        default: return 2;
        }
    }
    if (optind + 3 == count)
        status = check_file(&check, words + optind);
    else if (optind + 1 == count)
        each_seed(words[optind], check.verbose, check_seed, &check);
    else
        return 2;
    printf("%u done, %u refused, %u wrong", check.done, check.refused, check.wrong);
    for (unsigned k = 0; k < WORK_KINDS; k++)
        if (check.count[k])
            printf("; %s %.3f", work_names[k], exp(check.logs[k] / check.count[k]));
    printf("\n");
    return status ? status : check.wrong * 100 > check.most_wrong * check.done;
}
