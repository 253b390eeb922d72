/* The cache of analyses of one body, and its invalidation. */
#include "analysis/analysis.h"

/* Results that become wrong together live in one arena. */
typedef enum Layer {
    LAYER_FLOW,   /* depends on blocks and edges */
    LAYER_VALUES, /* and on instructions; nothing that is cached depends on their order within a block */
    LAYER_COUNT,
} Layer;

struct Analyses {
    Arena *own; /* holds this */
    const Body *body;
    Arena *arenas[LAYER_COUNT];
    const Dominance *dominance, *postdominance;
    const LoopForest *loops;
    const Values *values;
    const Liveness *liveness;
    const Affine *affine;
    const Patterns *patterns;
    const MemoryModel *memory;
    const Variance *variance[VARIANCE_ANY + 1];
};

/* Returns a result, which is computed on the first request, in the arena of its layer. */
#define CACHED(field, layer, compute)                                                                                  \
    do {                                                                                                               \
        if (!analyses->field) {                                                                                        \
            Arena *arena = layer_arena(analyses, (layer));                                                             \
            analyses->field = (compute);                                                                               \
        }                                                                                                              \
        return analyses->field;                                                                                        \
    } while (0)

Analyses *analyses_new(const Body *body)
{
    Arena *arena = arena_new();
    Analyses *analyses = ARENA_NEW(arena, Analyses);
    analyses->body = body;
    analyses->own = arena;
    return analyses;
}

static Arena *layer_arena(Analyses *analyses, Layer layer)
{
    if (!analyses->arenas[layer])
        analyses->arenas[layer] = arena_new();
    return analyses->arenas[layer];
}

static void layer_drop(Analyses *analyses, Layer layer)
{
    arena_free(analyses->arenas[layer]);
    analyses->arenas[layer] = NULL;
}

void analyses_free(Analyses *analyses)
{
    if (!analyses)
        return;
    for (unsigned i = 0; i < LAYER_COUNT; i++)
        layer_drop(analyses, (Layer)i);
    arena_free(analyses->own);
}

void analyses_invalidate(Analyses *analyses, unsigned change)
{
    if (change & ANALYSES_FLOW) {
        analyses->dominance = analyses->postdominance = NULL;
        analyses->loops = NULL;
        layer_drop(analyses, LAYER_FLOW);
        change |= ANALYSES_INSTRUCTIONS;
    }
    if (change & ANALYSES_INSTRUCTIONS) {
        analyses->values = NULL;
        analyses->liveness = NULL;
        analyses->affine = NULL;
        analyses->patterns = NULL;
        analyses->memory = NULL;
        for (unsigned i = 0; i <= VARIANCE_ANY; i++)
            analyses->variance[i] = NULL;
        layer_drop(analyses, LAYER_VALUES);
    }
}

const Dominance *analyses_dominance(Analyses *analyses)
{
    CACHED(dominance, LAYER_FLOW, dominance_compute(arena, analyses->body));
}

const Dominance *analyses_postdominance(Analyses *analyses)
{
    CACHED(postdominance, LAYER_FLOW, postdominance_compute(arena, analyses->body));
}

const LoopForest *analyses_loops(Analyses *analyses)
{
    CACHED(loops, LAYER_FLOW, loops_compute(arena, analyses_dominance(analyses)));
}

const Values *analyses_values(Analyses *analyses)
{
    CACHED(values, LAYER_VALUES, values_compute(arena, analyses->body));
}

const Liveness *analyses_liveness(Analyses *analyses)
{
    CACHED(liveness, LAYER_VALUES, liveness_compute(arena, analyses->body));
}

const Affine *analyses_affine(Analyses *analyses)
{
    CACHED(affine, LAYER_VALUES, affine_compute(arena, analyses->body, analyses_dominance(analyses), NULL));
}

static Patterns *find_patterns(Analyses *analyses, Arena *arena)
{
    const PatternRequest request = {.body = analyses->body,
                                    .dominance = analyses_dominance(analyses),
                                    .loops = analyses_loops(analyses),
                                    .values = analyses_values(analyses),
                                    .affine = analyses_affine(analyses),
                                    .only_sums = true,
                                    .through_selects = true};
    return patterns_compute(arena, &request);
}

const Patterns *analyses_patterns(Analyses *analyses)
{
    CACHED(patterns, LAYER_VALUES, find_patterns(analyses, arena));
}

const MemoryModel *analyses_memory(Analyses *analyses)
{
    CACHED(memory, LAYER_VALUES,
           memory_model_new(arena, analyses->body, analyses->body->ssa ? analyses_affine(analyses) : NULL));
}

const Variance *analyses_variance(Analyses *analyses, unsigned dimension, const VarianceOptions *options)
{
    require(dimension <= VARIANCE_ANY);
    VarianceOptions wanted = options ? *options : (VarianceOptions){0};
    const Variance *have = analyses->variance[dimension];
    if (have && have->options.lane_uniform == wanted.lane_uniform &&
        have->options.merge_loads == wanted.merge_loads && have->options.unmerged == wanted.unmerged &&
        have->options.common == wanted.common && have->options.differing == wanted.differing &&
        have->options.blocks == wanted.blocks && have->options.agreed == wanted.agreed &&
        have->options.uniform_branches == wanted.uniform_branches)
        return have;
    return analyses->variance[dimension] =
               variance_compute(layer_arena(analyses, LAYER_VALUES), analyses->body,
                                analyses_postdominance(analyses), dimension, &wanted);
}
