/* The bytes that sets of executions touch: the address of each execution as a number, for each sum that is not one. */
#include "analysis/patterns/internal.h"

#include <stdlib.h>
#include <string.h>

/* A product of bases that are not indices; addresses that differ in a multiple of one are apart. */
typedef struct Unit {
    uint16_t factors[PATTERN_FACTORS];
} Unit;

/* The terms of an address, taken apart: coefficient * indices * unit. */
typedef struct Taken {
    const Patterns *patterns;
    const AccessPattern *access;
    Arena *scratch;
    unsigned count, unit_count;
    Unit units[PATTERN_TERMS]; /* [0]: none, of a number */
    struct TakenTerm {
        int64_t coefficient;
        unsigned unit;
        uint8_t index_count;
        int indices[PATTERN_FACTORS];
    } terms[2 * PATTERN_TERMS]; /* of the address, and then of the distance in its group */
    unsigned address_count;     /* of them, those of the address */
    int64_t distance;           /* a number that is added to it */
} Taken;

typedef struct Point {
    const int64_t *units; /* the multiples of each */
    unsigned unit_count;
    int64_t at;
} Point;

typedef VEC(Point) PointVec;

static unsigned unit_number(Taken *taken, const Unit *unit)
{
    unsigned i = 0;
    while (i < taken->unit_count && memcmp(&taken->units[i], unit, sizeof *unit))
        i++;
    if (i == taken->unit_count)
        taken->units[taken->unit_count++] = *unit;
    return i;
}

static void take_term(Taken *taken, const PatternTerm *term)
{
    const Patterns *patterns = taken->patterns;
    struct TakenTerm *own = &taken->terms[taken->count++];
    Unit unit = {{0}};
    unsigned count = 0;
    *own = (struct TakenTerm){.coefficient = term->coefficient};
    for (unsigned f = 0; f < PATTERN_FACTORS && term->factors[f]; f++) {
        const int index =
            pattern_index(patterns, &patterns->bases.data[term->factors[f]], taken->access->inst->block);
        if (index >= 0)
            own->indices[own->index_count++] = index;
        else
            unit.factors[count++] = term->factors[f];
    }
    own->unit = unit_number(taken, &unit);
}

/* False if the sums have too many terms. */
static bool take(const Patterns *patterns, const AccessPattern *access, bool is_group, Arena *scratch, Taken *out)
{
    const PatternSum *distance = &access->group.distance;
    *out = (Taken){.patterns = patterns, .access = access, .scratch = scratch, .unit_count = 1};
    if (!access->address.known)
        return false;
    for (unsigned t = 0; t < access->address.term_count; t++)
        take_term(out, &access->address.terms[t]);
    out->address_count = out->count;
    if (!is_group || !distance->known)
        return true;
    for (unsigned t = 0; t < distance->term_count && out->unit_count < PATTERN_TERMS; t++)
        take_term(out, &distance->terms[t]);
    out->distance = distance->constant;
    return out->unit_count < PATTERN_TERMS;
}

/* The address of one execution. 'indices': by the number of each index; 'member': of the group. */
static Point point_of(const Taken *taken, const int64_t *indices, int64_t member)
{
    int64_t *units = ARENA_ARRAY(taken->scratch, int64_t, taken->unit_count);
    units[0] = taken->access->address.constant + member * taken->distance;
    for (unsigned t = 0; t < taken->count; t++) {
        const struct TakenTerm *term = &taken->terms[t];
        int64_t value = term->coefficient * (t < taken->address_count ? 1 : member);
        for (unsigned i = 0; i < term->index_count; i++)
            value *= indices[term->indices[i]];
        units[term->unit] += value;
    }
    return (Point){units + 1, taken->unit_count - 1, units[0]};
}

static int compare_units(const Point *a, const Point *b)
{
    for (unsigned i = 0; i < a->unit_count; i++)
        if (a->units[i] != b->units[i])
            return a->units[i] < b->units[i] ? -1 : 1;
    return 0;
}

static int compare_points(const void *a, const void *b)
{
    const Point *x = a, *y = b;
    const int order = compare_units(x, y);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* The executions of an access, sorted by their addresses. False if these are unknown. */
static bool find_points(const Patterns *patterns, const AccessPattern *access, const PatternPlaces *places,
                        Arena *scratch, PointVec *points)
{
    const AccessPattern *first = places->is_group ? access->group.first : access;
    const unsigned members = places->is_group ? access->group.count : 1;
    const bool is_split = members > 1 && places->loop == access->loop;
    const uint64_t rounds = !places->loop ? 1 : is_split ? divide_up(places->rounds, members) : places->rounds;
    const unsigned *block = patterns->launch.block;
    Taken taken;
    const PatternMask together = PATTERN_THREADS | (places->loop ? pattern_loop_bit(places->loop) : 0);
    if (!block[0] || access->unknown & together ||
        !take(patterns, first, places->is_group, scratch, &taken))
        return false;
    const uint32_t loop_count = patterns->loops->loop_count;
    int64_t *indices = ARENA_ARRAY(scratch, int64_t, PATTERN_LOOPS + loop_count + 1);
    for (uint32_t l = 0; l < loop_count; l++)
        indices[PATTERN_LOOPS + l] = places->round ? places->round[l] : 0;
    for (unsigned d = 0; d < 3; d++)
        indices[PATTERN_BLOCK_X + d] = places->block[d];
    for (unsigned t = places->first; t < places->first + places->count; t++) {
        indices[PATTERN_X] = t % block[0];
        indices[PATTERN_Y] = t / block[0] % block[1];
        indices[PATTERN_Z] = t / block[0] / block[1];
        for (uint64_t r = 0; r < rounds; r++) {
            if (places->loop)
                indices[PATTERN_LOOPS + places->loop->index] = (int64_t)r;
            for (unsigned m = 0; m < members && (!is_split || r * members + m < places->rounds); m++)
                VEC_PUSH(scratch, *points, point_of(&taken, indices, m));
        }
    }
    if (points->count)
        qsort(points->data, points->count, sizeof *points->data, compare_points);
    return true;
}

static int64_t sector_of(int64_t at)
{
    return at >= 0 ? at / PATTERN_SECTOR : -((-at + PATTERN_SECTOR - 1) / PATTERN_SECTOR);
}

/* Ends a piece of this many bytes. */
static void end_piece(PatternExtent *extent, int64_t bytes)
{
    extent->piece = !extent->pieces || extent->piece == (uint64_t)bytes ? (uint64_t)bytes : 0;
    extent->pieces++;
}

PatternExtent pattern_extent(const Patterns *patterns, const AccessPattern *access, const PatternPlaces *places)
{
    Arena *scratch = arena_new();
    PointVec points = {0};
    PatternExtent extent = {.known = find_points(patterns, access, places, scratch, &points), .reads = points.count};
    const int64_t size = access->bytes ? access->bytes : 1;
    int64_t begin = 0, end = 0, sector = 0; /* of the piece, and the first sector after it */
    for (size_t i = 0; i < points.count; i++) {
        const Point *point = &points.data[i];
        const bool is_apart = i && compare_units(point, point - 1);
        const int64_t last = sector_of(point->at + size - 1) + 1;
        if (!i || is_apart || point->at > end) {
            if (i)
                end_piece(&extent, end - begin);
            begin = end = point->at;
        }
        if (!i || is_apart || sector < sector_of(point->at))
            sector = sector_of(point->at);
        extent.bytes += point->at + size > end ? (uint64_t)(point->at + size - end) : 0;
        extent.sectors += last > sector ? (uint64_t)(last - sector) : 0;
        end = point->at + size > end ? point->at + size : end;
        sector = last > sector ? last : sector;
    }
    if (points.count)
        end_piece(&extent, end - begin);
    arena_free(scratch);
    return extent;
}

bool pattern_overlap(const Patterns *patterns, const AccessPattern *access, const PatternPlaces *a,
                     const PatternPlaces *b, uint64_t *bytes)
{
    Arena *scratch = arena_new();
    PointVec left = {0}, right = {0};
    const bool known = !(access->unknown & PATTERN_BLOCKS) && find_points(patterns, access, a, scratch, &left) &&
                       find_points(patterns, access, b, scratch, &right);
    const int64_t size = access->bytes ? access->bytes : 1;
    size_t k = 0;
    *bytes = 0;
    /* Each byte of the left set, once, that is in the right one. */
    for (size_t i = 0; known && i < left.count; i++) {
        const Point *point = &left.data[i];
        const bool has_before = i && !compare_units(point, point - 1);
        int64_t from = has_before && point[-1].at + size > point->at ? point[-1].at + size : point->at;
        while (k < right.count && (compare_units(&right.data[k], point) < 0 ||
                                   (!compare_units(&right.data[k], point) && right.data[k].at + size <= from)))
            k++;
        for (size_t n = k; n < right.count && !compare_units(&right.data[n], point); n++) {
            const int64_t begin = right.data[n].at > from ? right.data[n].at : from;
            const int64_t other = right.data[n].at + size, mine = point->at + size;
            const int64_t end = other < mine ? other : mine;
            if (right.data[n].at >= mine)
                break;
            if (end > begin)
                *bytes += (uint64_t)(end - begin);
            from = end > from ? end : from;
        }
    }
    arena_free(scratch);
    return known;
}

static unsigned block_threads(const Patterns *patterns)
{
    const unsigned *block = patterns->launch.block;
    return block[0] * block[1] * block[2];
}

/* The innermost loop around the access whose rounds change its address; NULL: there is none. */
static const Loop *moving_loop(const AccessPattern *access)
{
    const Loop *loop = access->loop;
    while (loop && !(access->depends & ~access->unknown & pattern_loop_bit(loop)))
        loop = loop->parent;
    return loop;
}

enum { WARP = 32 };

/* Sums over the first warp's executions in the first rounds; false if they are unknown. */
static bool sum_warp(const Patterns *patterns, const AccessPattern *access, double *sectors, double *least)
{
    const Loop *loop = moving_loop(access);
    const unsigned threads = block_threads(patterns), rounds = loop ? PATTERN_ROUNDS : 1;
    Arena *scratch = arena_new();
    int64_t *round = ARENA_ARRAY(scratch, int64_t, patterns->loops->loop_count + 1);
    bool known = true;
    *sectors = *least = 0;
    for (unsigned r = 0; r < rounds && known; r++) {
        const PatternPlaces places = {.count = threads < WARP ? threads : WARP, .round = round};
        if (loop)
            round[loop->index] = r;
        const PatternExtent extent = pattern_extent(patterns, access, &places);
        known = extent.known;
        *sectors += (double)extent.sectors / rounds;
        *least += (double)divide_up(extent.bytes, PATTERN_SECTOR) / rounds;
    }
    arena_free(scratch);
    return known;
}

double pattern_warp_sectors(const Patterns *patterns, const AccessPattern *access)
{
    double sectors, least;
    return sum_warp(patterns, access, &sectors, &least) ? sectors : -1;
}

bool pattern_is_coalesced(const Patterns *patterns, const AccessPattern *access)
{
    double sectors, least;
    return sum_warp(patterns, access, &sectors, &least) && sectors <= least;
}
