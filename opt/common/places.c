/* Positions of definitions and uses. Requires SSA form; changes only the scratch numbers of instructions. */
#include "opt/common/places.h"

#include <stdlib.h>

void places_number(Places *places, Arena *arena, Body *body, const Values *values, uint32_t distance)
{
    *places = (Places){.body = body, .values = values, .distance = distance};
    places->begin = ARENA_ARRAY(arena, uint32_t, body->blocks.count);
    places->end = ARENA_ARRAY(arena, uint32_t, body->blocks.count);
    places->points = ARENA_ARRAY(arena, Point, USES_MOST);
    for (size_t i = 0; i < body->blocks.count; i++) {
        places->begin[i] = places->total;
        for (Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            inst->id = places->total++;
        places->end[i] = places->total;
    }
}

static int compare_points(const void *a, const void *b)
{
    const Point *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

uint32_t places_collect(Places *places, RegId value)
{
    uint32_t count = value_use_count(places->values, value);
    const ValueUse *uses = value_uses(places->values, value);
    if (count > USES_MOST)
        return 0;
    for (uint32_t u = 0; u < count; u++) {
        const Block *block = uses[u].block;
        uint32_t position;
        if (uses[u].inst) {
            position = uses[u].inst->id;
        } else {
            block = block->phis.data[uses[u].index].args.data[uses[u].arg].pred;
            position = places->end[block->id] - (block->last && inst_is_terminator(block->last));
        }
        places->points[u] = (Point){block->id, position, &uses[u]};
    }
    qsort(places->points, count, sizeof *places->points, compare_points);
    return count;
}

uint32_t places_definition(const Places *places, const ValueDef *def)
{
    return def->inst ? def->inst->id : places->begin[def->block->id];
}

uint32_t places_near_end(const Places *places, const ValueDef *def, uint32_t count, uint32_t *first)
{
    uint32_t last = places_definition(places, def), i = 0;
    while (i < count && places->points[i].block < def->block->id)
        i++;
    *first = i;
    while (i < count && places->points[i].block == def->block->id &&
           places->points[i].position <= last + places->distance)
        last = places->points[i++].position;
    return i;
}

uint32_t places_cluster_end(const Places *places, uint32_t from, uint32_t count)
{
    uint32_t i = from + 1;
    while (i < count && places->points[i].block == places->points[from].block &&
           places->points[i].position <= places->points[i - 1].position + places->distance)
        i++;
    return i;
}

void place_inst(Body *body, const Point *point, Inst *inst)
{
    Block *block = body->blocks.data[point->block];
    if (point->use->inst)
        inst_insert_before(point->use->inst, inst);
    else if (block->last && inst_is_terminator(block->last))
        inst_insert_before(block->last, inst);
    else
        inst_append(block, inst);
}

void use_set(const ValueUse *use, RegId reg)
{
    if (use->inst)
        use->inst->refs[use->index].reg = reg;
    else
        use->block->phis.data[use->index].args.data[use->arg].reg = reg;
}
