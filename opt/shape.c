#include "opt/shape.h"

static unsigned at_least_one(unsigned merged)
{
    return merged ? merged : 1;
}

unsigned merged_count(const unsigned merged[3])
{
    return at_least_one(merged[0]) * at_least_one(merged[1]) * at_least_one(merged[2]);
}

bool merges_any(const unsigned merged[3])
{
    return merged[0] > 1 || merged[1] > 1 || merged[2] > 1;
}

unsigned shape_replicas(const Shape *shape)
{
    return merged_count(shape->threads) * merged_count(shape->blocks);
}

bool shape_is_identity(const Shape *shape)
{
    return !shape_merges(shape) && !merges_any(shape->grown) && !merges_any(shape->refined);
}

bool shape_merges(const Shape *shape)
{
    return merges_any(shape->threads) || merges_any(shape->blocks);
}

bool shape_is_of_blocks(const Shape *shape)
{
    return merges_any(shape->blocks) && !merges_any(shape->threads) && !merges_any(shape->grown);
}

bool shape_is_within(const Shape *part, const Shape *whole)
{
    bool is_within = true;
    for (unsigned d = 0; d < 3; d++)
        is_within &= at_least_one(part->threads[d]) <= at_least_one(whole->threads[d]) &&
                     at_least_one(part->blocks[d]) <= at_least_one(whole->blocks[d]) &&
                     at_least_one(part->grown[d]) <= at_least_one(whole->grown[d]) &&
                     at_least_one(part->refined[d]) <= at_least_one(whole->refined[d]) &&
                     at_least_one(part->spread[d]) <= at_least_one(whole->spread[d]);
    return is_within;
}

bool shape_is_equal(const Shape *a, const Shape *b)
{
    return shape_is_within(a, b) && shape_is_within(b, a);
}

Shape shape_complete(const Shape *shape)
{
    Shape complete;
    for (unsigned d = 0; d < 3; d++) {
        complete.threads[d] = at_least_one(shape->threads[d]);
        complete.blocks[d] = at_least_one(shape->blocks[d]);
        complete.grown[d] = at_least_one(shape->grown[d]);
        complete.refined[d] = at_least_one(shape->refined[d]);
        complete.spread[d] = at_least_one(shape->spread[d]);
    }
    return complete;
}
