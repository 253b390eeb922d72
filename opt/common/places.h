/* The places where a value is used, in layout order: they decide whether it stays in a register until then. */
#ifndef PTXOPT_OPT_COMMON_PLACES_H
#define PTXOPT_OPT_COMMON_PLACES_H

#include "analysis/analysis.h"

enum { USES_MOST = 512 }; /* a value with more uses has no points, and is left alone */

/* A use, or a place at the end of a block where a phi reads. */
typedef struct Point {
    uint32_t block;
    uint32_t position; /* in layout order; the end of a block is its terminator's, or one after its last */
    const ValueUse *use;
} Point;

typedef struct Places {
    Body *body;
    const Values *values;
    uint32_t distance;     /* instructions of a block between two uses that separate them */
    uint32_t *begin, *end; /* by Block.id: positions [begin, end) */
    uint32_t total;
    Point *points; /* of the value asked about last, by position */
} Places;

/* Numbers the instructions by position, in Inst.id. The body must be in SSA form, and stay unchanged as long as the
 * result is asked; instructions that are added get no number. */
void places_number(Places *places, Arena *arena, Body *body, const Values *values, uint32_t distance);
/* The points of a value; how many there are. */
uint32_t places_collect(Places *places, RegId value);
/* The position of the instruction that defines the value, or of the top of the block of its phi. */
uint32_t places_definition(const Places *places, const ValueDef *def);
/* [*first, result): the points that stay with the definition: those that follow it, or one another, closely. */
uint32_t places_near_end(const Places *places, const ValueDef *def, uint32_t count, uint32_t *first);
/* The end of the points of one block that follow point 'from', or one another, closely. */
uint32_t places_cluster_end(const Places *places, uint32_t from, uint32_t count);

/* Inserts the instruction before the use. */
void place_inst(Body *body, const Point *point, Inst *inst);
/* Makes the use read another register. */
void use_set(const ValueUse *use, RegId reg);

#endif
