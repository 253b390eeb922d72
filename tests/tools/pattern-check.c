/* Checks access patterns against the addresses that threads really access.
 *
 *     pattern-check [-v] SEED,COUNT
 *     pattern-check [-v] FILE.ptx LAUNCH.json
 *
 * A copy of the kernel notes each access to global memory as it runs in the emulator: its thread, the rounds of the
 * loops around it, and its address. With these are compared what the pattern says of the differences between any two
 * executions, the sectors of each warp, the threads and blocks that share what they access, and the bytes that blocks
 * touch in some rounds. Prints the errors, and at the end how much was compared: a check of nothing would find nothing.
 * -v prints the patterns. */
#include "nest_kernel.h"
#include "pattern_trace.h"
#include "random_kernel.h"
#include "row_kernel.h"
#include "seeds.h"
#include "stage_kernel.h"

#include "analysis/analysis.h"
#include "emulator/emulator.h"
#include "engine/launch.h"
#include "ir/ir.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 4, /* for what a block touches */
    WARP = 32,
    WRONG_MOST = 10, /* lines printed for a kernel */
};

typedef struct Sums {
    unsigned kernels, wrong, accesses, resolved, grouped, rests;
    uint64_t distances, sectors, shared, extents, groups, overlaps;
} Sums;

typedef struct Check {
    bool verbose;
    Sums sums;
    /* The kernel that is being checked. */
    Arena *arena;
    const char *name;
    Launch launch;
    unsigned block_count, threads;
    Patterns *patterns;
    RecordVec records;
    unsigned wrong;
} Check;

static unsigned count_of(const unsigned extent[3])
{
    return (extent[0] ? extent[0] : 1) * (extent[1] ? extent[1] : 1) * (extent[2] ? extent[2] : 1);
}

static void complain(Check *check, const AccessPattern *access, const char *what, int64_t expected, int64_t observed)
{
    if (check->wrong++ >= WRONG_MOST)
        return;
    Buf sum = {0};
    pattern_print(check->patterns, &access->address, &sum);
    printf("%s: WRONG: line %u, %s: %s: predicted %lld, observed %lld\n", check->name,
           source_position(check->patterns->body->module->source, access->inst->span.begin).line, buf_text(&sum), what,
           (long long)expected, (long long)observed);
    buf_free(&sum);
}

static PatternPlaces place_of(const Check *check, const Record *record)
{
    const unsigned *grid = check->launch.grid;
    return (PatternPlaces){.block = {record->block % grid[0], record->block / grid[0] % grid[1],
                                     record->block / grid[0] / grid[1]},
                           .first = record->thread, .count = 1, .round = record->rounds};
}

static bool same_execution(const Record *a, const Record *b)
{
    return a->block == b->block && a->nth == b->nth && !memcmp(a->rounds, b->rounds, sizeof a->rounds);
}

enum { INDICES = PATTERN_LOOPS + TRACE_LOOPS };

/* The slopes of an access in all indices. */
typedef struct Slopes {
    bool known[INDICES]; /* and a number */
    int64_t each[INDICES];
} Slopes;

static Slopes find_slopes(Check *check, const AccessPattern *access)
{
    Slopes slopes = {.known = {false}};
    for (unsigned i = 0; i < PATTERN_LOOPS + check->patterns->loops->loop_count; i++) {
        PatternSum slope;
        PatternMask unknown;
        const Block *at = access->inst->block;
        if (!access->address.known || !pattern_slope(check->arena, check->patterns, &access->address, at, i, &slope))
            continue;
        const PatternMask depends = pattern_depends(check->patterns, &slope, at, &unknown) & ~PATTERN_BLOCKS;
        if (depends)
            complain(check, access, "what a slope differs with", 0, (int64_t)depends);
        slopes.known[i] = pattern_is_number(&slope);
        slopes.each[i] = slopes.known[i] ? slope.constant : 0;
    }
    return slopes;
}

static void find_indices(const Check *check, const Record *record, int64_t indices[INDICES])
{
    const unsigned *block = check->launch.block, *grid = check->launch.grid;
    indices[PATTERN_X] = record->thread % block[0];
    indices[PATTERN_Y] = record->thread / block[0] % block[1];
    indices[PATTERN_Z] = record->thread / block[0] / block[1];
    indices[PATTERN_BLOCK_X] = record->block % grid[0];
    indices[PATTERN_BLOCK_Y] = record->block / grid[0] % grid[1];
    indices[PATTERN_BLOCK_Z] = record->block / grid[0] / grid[1];
    memcpy(indices + PATTERN_LOOPS, record->rounds, sizeof record->rounds);
}

/* The distance that follows from the slopes; false if it does not. */
static bool distance_of(const Check *check, const Slopes *slopes, const Record *from, const Record *to,
                        int64_t *distance)
{
    int64_t a[INDICES], b[INDICES];
    find_indices(check, from, a);
    find_indices(check, to, b);
    *distance = 0;
    for (unsigned i = 0; i < INDICES; i++) {
        if (a[i] != b[i] && !slopes->known[i])
            return false;
        *distance += slopes->each[i] * (b[i] - a[i]);
    }
    return true;
}

/* The differences between each execution and the first one that they are known for. */
static void check_distances(Check *check, unsigned number)
{
    enum { MOST = 64 };
    const AccessPattern *access = &check->patterns->accesses[number];
    const Slopes slopes = find_slopes(check, access);
    const Record *references[MOST];
    unsigned count = 0;
    for (size_t i = 0; access->address.known && i < check->records.count; i++) {
        const Record *record = &check->records.data[i];
        bool found = false;
        for (unsigned k = 0; record->access == number && k < count && !found; k++) {
            int64_t distance;
            found = distance_of(check, &slopes, references[k], record, &distance);
            if (found && distance != record->address - references[k]->address)
                complain(check, access, "distance", distance, record->address - references[k]->address);
            check->sums.distances += found;
        }
        if (record->access == number && !found && count < MOST)
            references[count++] = record;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef VEC(int64_t) NumberVec;

static void sort_distinct(NumberVec *numbers)
{
    size_t kept = 0;
    if (numbers->count)
        qsort(numbers->data, numbers->count, sizeof *numbers->data, compare_numbers);
    for (size_t i = 0; i < numbers->count; i++)
        if (!kept || numbers->data[kept - 1] != numbers->data[i])
            numbers->data[kept++] = numbers->data[i];
    numbers->count = kept;
}

/* Whether sums that are not numbers are those of buffers only, which are whole sectors. */
static bool is_based(const Check *check, const AccessPattern *access)
{
    unsigned bases = 0;
    for (unsigned t = 0; t < access->address.term_count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && access->address.terms[t].factors[f]; f++) {
            const PatternBase *base = &check->patterns->bases.data[access->address.terms[t].factors[f]];
            if (base->kind == PATTERN_BASE_VALUE || base->kind == PATTERN_BASE_JOIN)
                return false;
            bases += base->kind == PATTERN_BASE_PARAM;
        }
    return bases <= 1;
}

/* The sectors of a warp whose first lane the record is of. */
static void check_warp(Check *check, const Record *first)
{
    const AccessPattern *access = &check->patterns->accesses[first->access];
    const unsigned lanes = check->threads - first->thread < WARP ? check->threads - first->thread : WARP;
    PatternPlaces places = place_of(check, first);
    NumberVec sectors = {0};
    unsigned found = 0;
    for (const Record *record = first; record < check->records.data + check->records.count &&
                                       record->block == first->block && record->thread < first->thread + lanes;
         record++)
        if (record->access == first->access && same_execution(record, first)) {
            found++;
            for (int64_t b = 0; b < (int64_t)access->bytes; b++)
                VEC_PUSH(check->arena, sectors, (record->address + b) / PATTERN_SECTOR);
        }
    places.count = lanes;
    const PatternExtent extent = pattern_extent(check->patterns, access, &places);
    if (found != lanes || !extent.known || !is_based(check, access))
        return;
    sort_distinct(&sectors);
    check->sums.sectors++;
    if (extent.sectors != sectors.count)
        complain(check, access, "sectors of a warp", (int64_t)extent.sectors, (int64_t)sectors.count);
}

/* Whether all threads that differ along the axis only have the same address. */
static void check_same(Check *check, unsigned number, unsigned axis)
{
    const AccessPattern *access = &check->patterns->accesses[number];
    const unsigned *block = check->launch.block;
    const unsigned apart = axis == 0 ? 1 : axis == 1 ? block[0] : block[0] * block[1];
    unsigned compared = 0, equal = 0;
    for (size_t i = 0; i < check->records.count; i++) {
        const Record *a = &check->records.data[i];
        if (a->access != number || a->thread / apart % block[axis] == block[axis] - 1)
            continue;
        for (size_t k = i + 1; k < check->records.count && check->records.data[k].block == a->block &&
                               check->records.data[k].thread <= a->thread + apart;
             k++) {
            const Record *b = &check->records.data[k];
            if (b->thread != a->thread + apart || b->access != number || !same_execution(a, b))
                continue;
            compared++;
            equal += a->address == b->address;
        }
    }
    if (!compared || access->class == PATTERN_UNRESOLVED)
        return;
    const bool is_same = pattern_same(check->patterns, access, axis) == block[axis];
    check->sums.shared++;
    if (is_same != (equal == compared))
        complain(check, access, axis == 0 ? "the same along x" : axis == 1 ? "the same along y" : "the same along z",
                 is_same, equal == compared);
}

/* The bytes that a block touches in the first rounds of a loop, in the first round of all others; false if some of its
 * threads or rounds are missing. */
static bool touched(Check *check, const AccessPattern *access, unsigned block, const Loop *loop, unsigned rounds,
                    bool is_group, NumberVec *bytes)
{
    const unsigned members = is_group ? access->group.count : 1;
    const unsigned trips = is_group && loop == access->loop ? (rounds + members - 1) / members : rounds;
    unsigned found = 0, wanted = 0;
    for (unsigned number = 0; number < check->patterns->access_count; number++) {
        const AccessPattern *other = &check->patterns->accesses[number];
        if (is_group ? other->group.first != access->group.first : other != access)
            continue;
        wanted += check->threads * trips;
        for (size_t i = 0; i < check->records.count; i++) {
            const Record *record = &check->records.data[i];
            bool is_in = record->access == number && record->block == block && !record->nth;
            for (unsigned l = 0; l < TRACE_LOOPS; l++)
                is_in &= loop && l == loop->index ? record->rounds[l] < (int64_t)trips : !record->rounds[l];
            found += is_in;
            for (int64_t b = 0; is_in && b < (int64_t)access->bytes; b++)
                VEC_PUSH(check->arena, *bytes, record->address + b);
        }
    }
    sort_distinct(bytes);
    return found == wanted;
}

static void check_extent(Check *check, const AccessPattern *access, unsigned block, bool is_group)
{
    const Record where = {.block = block};
    PatternPlaces places = place_of(check, &where);
    NumberVec bytes = {0};
    const unsigned members = is_group ? access->group.count : 1;
    unsigned rounds = access->loop ? (ROUNDS + members - 1) / members * members : 1;
    while (rounds && !touched(check, access, block, access->loop, rounds, is_group, &bytes)) {
        bytes.count = 0;
        rounds = rounds > members ? rounds - members : 0;
    }
    places.count = check->threads;
    places.loop = access->loop;
    places.rounds = rounds;
    places.is_group = is_group;
    const PatternExtent extent = pattern_extent(check->patterns, access, &places);
    if (!rounds || !extent.known || !is_based(check, access))
        return;
    int64_t pieces = 0, piece = 0, begin = 0;
    bool equal = true;
    for (size_t i = 0; i < bytes.count; i++) {
        if (!i || bytes.data[i] != bytes.data[i - 1] + 1) {
            pieces++;
            begin = bytes.data[i];
        }
        if (i + 1 == bytes.count || bytes.data[i + 1] != bytes.data[i] + 1) {
            equal &= pieces == 1 || piece == bytes.data[i] + 1 - begin;
            piece = bytes.data[i] + 1 - begin;
        }
    }
    check->sums.extents++;
    check->sums.groups += is_group;
    if (extent.bytes != bytes.count)
        complain(check, access, "bytes of a block", (int64_t)extent.bytes, (int64_t)bytes.count);
    if ((int64_t)extent.pieces != pieces)
        complain(check, access, "pieces", (int64_t)extent.pieces, pieces);
    if ((int64_t)extent.piece != (equal ? piece : 0))
        complain(check, access, "bytes of a piece", (int64_t)extent.piece, equal ? piece : 0);
}

static void check_overlap(Check *check, const AccessPattern *access, unsigned axis)
{
    const unsigned *grid = check->launch.grid;
    const Record here = {.block = 0}, there = {.block = axis ? grid[0] : 1};
    PatternPlaces a = place_of(check, &here), b = place_of(check, &there);
    NumberVec first = {0}, second = {0};
    uint64_t bytes;
    if (grid[axis] < 2 || !touched(check, access, here.block, access->loop, 1, false, &first) ||
        !touched(check, access, there.block, access->loop, 1, false, &second))
        return;
    a.count = b.count = check->threads;
    a.loop = b.loop = access->loop;
    a.rounds = b.rounds = 1;
    if (!pattern_overlap(check->patterns, access, &a, &b, &bytes) || !is_based(check, access))
        return;
    uint64_t common = 0;
    for (size_t i = 0, k = 0; i < first.count; i++) {
        while (k < second.count && second.data[k] < first.data[i])
            k++;
        common += k < second.count && second.data[k] == first.data[i];
    }
    check->sums.overlaps++;
    if (bytes != common)
        complain(check, access, axis ? "bytes that blocks along y share" : "bytes that blocks along x share",
                 (int64_t)bytes, (int64_t)common);
}

static void compare(Check *check)
{
    for (unsigned number = 0; number < check->patterns->access_count; number++) {
        const AccessPattern *access = &check->patterns->accesses[number];
        check->sums.accesses++;
        check->sums.resolved += access->class != PATTERN_UNRESOLVED;
        check->sums.grouped += access->group.count > 1;
        check_distances(check, number);
        for (unsigned axis = 0; axis < 3; axis++)
            check_same(check, number, axis);
        for (unsigned block = 0; block < check->block_count && block < 3; block++) {
            check_extent(check, access, block, false);
            if (access->group.count > 1 && access->group.first == access)
                check_extent(check, access, block, true);
        }
        check_overlap(check, access, 0);
        check_overlap(check, access, 1);
    }
    for (size_t i = 0; i < check->records.count; i++)
        if (check->records.data[i].thread % WARP == 0)
            check_warp(check, &check->records.data[i]);
    for (uint32_t l = 0; l < check->patterns->loops->loop_count; l++)
        check->sums.rests += check->patterns->rests[l].rounds > 1;
}

static void print_patterns(const Check *check)
{
    static const char *const classes[] = {"constant", "thread", "loop", "unresolved"};
    for (size_t i = 0; i < check->patterns->access_count; i++) {
        const AccessPattern *access = &check->patterns->accesses[i];
        Buf sum = {0};
        pattern_print(check->patterns, &access->address, &sum);
        printf("  line %u: %s: %s; group of %u; %g sectors\n",
               source_position(check->patterns->body->module->source, access->inst->span.begin).line,
               classes[access->class], access->address.known ? buf_text(&sum) : "unknown", access->group.count,
               pattern_warp_sectors(check->patterns, access));
        buf_free(&sum);
    }
    for (uint32_t l = 0; l < check->patterns->loops->loop_count; l++)
        if (check->patterns->rests[l].of)
            printf("  loop %u: the rest of loop %u, %lld rounds of it\n", l, check->patterns->rests[l].of->index,
                   (long long)check->patterns->rests[l].rounds);
}

/* The launch as far as patterns know it: its shape and its scalar arguments. */
static PatternLaunch known_launch(const Check *check, const Function *kernel)
{
    PatternLaunch known = {.parameters = launch_scalars(check->arena, kernel, &check->launch)};
    memcpy(known.block, check->launch.block, sizeof known.block);
    memcpy(known.grid, check->launch.grid, sizeof known.grid);
    return known;
}

/* The launch with few blocks, whose threads have room for their notes. */
static void shrink(Check *check, const Launch *launch)
{
    check->launch = *launch;
    check->launch.check_count = 0;
    for (unsigned d = 0; d < 3; d++) {
        const unsigned most = d < 2 ? 3 : 2;
        unsigned *grid = &check->launch.grid[d], *block = &check->launch.block[d];
        *block = *block ? *block : 1;
        *grid = *grid > most ? most : *grid ? *grid : 1;
    }
    check->threads = count_of(check->launch.block);
    for (unsigned d = 3; d-- && count_of(check->launch.grid) * check->threads > TRACE_THREADS;)
        check->launch.grid[d] = check->launch.grid[d] > 2 ? 2 : check->launch.grid[d];
    for (unsigned d = 3; d-- && count_of(check->launch.grid) * check->threads > TRACE_THREADS;)
        check->launch.grid[d] = 1;
    check->block_count = count_of(check->launch.grid);
}

static void check_kernel(Check *check, Function *kernel, Variable *trace)
{
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    if (!body)
        return;
    body_to_ssa(body);
    const Dominance *dominance = dominance_compute(check->arena, body);
    const PatternRequest request = {.body = body, .dominance = dominance,
                                    .loops = loops_compute(check->arena, dominance),
                                    .values = values_compute(check->arena, body),
                                    .affine = affine_compute(check->arena, body, dominance, NULL),
                                    .launch = known_launch(check, kernel)};
    check->patterns = patterns_compute(check->arena, &request);
    check->records = (RecordVec){0};
    check->wrong = 0;
    if (check->verbose)
        print_patterns(check);
    Body *traced = trace_body(kernel, check->patterns, trace);
    if (traced) {
        const FunctionForm form = {.function = kernel, .body = traced};
        const EmulatorOptions options = {.forms = &form, .form_count = 1, .max_steps = 4000000};
        const EmulatorResult *result = emulator_run(check->arena, kernel->module, &check->launch, &options);
        const EmulatorBuffer *buffer = emulator_buffer(result, TRACE_VARIABLE);
        if (check->verbose && result->fault.kind != FAULT_NONE)
            printf("  %s\n", fault_text(check->arena, kernel->module, &result->fault));
        if (buffer) {
            check->records =
                trace_read(check->arena, check->patterns, check->block_count, check->threads, buffer->bytes);
            check->sums.kernels++;
            compare(check);
        }
        body_free(traced);
    }
    check->sums.wrong += check->wrong;
    body_free(body);
}

static void check_text(Check *check, const char *name, const Buf *text, const Launch *launch)
{
    Module *module = trace_parse(name, text);
    check->name = name;
    shrink(check, launch);
    Function *kernel = module ? module_find_function(module, launch->kernel) : NULL;
    if (kernel && count_of(check->launch.grid) * check->threads <= TRACE_THREADS)
        check_kernel(check, kernel, module_find_variable(module, TRACE_VARIABLE));
    if (module)
        arena_free(module->arena);
}

static void check_seed(void *context, uint64_t seed)
{
    static void (*const kernels[])(uint64_t, Arena *, Buf *, Launch *) = {stage_kernel, nest_kernel, row_kernel,
                                                                          random_kernel};
    Check *check = context;
    Buf text = {0};
    Launch launch;
    check->arena = arena_new();
    kernels[seed % COUNT_OF(kernels)](seed, check->arena, &text, &launch);
    check_text(check, arena_printf(check->arena, "seed %llu", (unsigned long long)seed), &text, &launch);
    arena_free(check->arena);
    buf_free(&text);
}

static void check_file(Check *check, const char *path, const char *launch_path)
{
    Buf text = {0};
    const char *error = NULL;
    check->arena = arena_new();
    const Source *source = source_read(check->arena, path, &error);
    const Launch *launch = source ? launch_read(check->arena, launch_path, &error) : NULL;
    if (launch) {
        buf_write(&text, source->text, source->size);
        check_text(check, path, &text, launch);
    } else {
        printf("%s: WRONG: %s\n", path, error);
        check->sums.wrong++;
    }
    buf_free(&text);
    arena_free(check->arena);
}

int main(int count, char **words)
{
    Check check = {.verbose = count > 1 && !strcmp(words[1], "-v")};
    words += check.verbose;
    count -= check.verbose;
    if (count == 2)
        each_seed(words[1], check.verbose, check_seed, &check);
    else if (count == 3)
        check_file(&check, words[1], words[2]);
    else
        return 2;
    const Sums *sums = &check.sums;
    printf("%u kernels, %u wrong; accesses %u, resolved %u, grouped %u, remainders %u; distances %llu, sectors %llu, "
           "shared %llu, extents %llu, of groups %llu, overlaps %llu\n",
           sums->kernels, sums->wrong, sums->accesses, sums->resolved, sums->grouped, sums->rests,
           (unsigned long long)sums->distances, (unsigned long long)sums->sectors, (unsigned long long)sums->shared,
           (unsigned long long)sums->extents, (unsigned long long)sums->groups, (unsigned long long)sums->overlaps);
    return sums->wrong != 0;
}
