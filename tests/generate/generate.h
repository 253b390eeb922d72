/* generate: random PTX programs that use all that the passes touch, each with a launch.
 *
 * A program is well typed, ends, has no data races and reads nothing that was not written; ptxas accepts it. A seed
 * gives the same program for ever, as long as the generator does not change. values.def lists the computations,
 * memory.c accesses memory, flow.c makes control flow, together.c is where threads meet, idioms.c has loops as people
 * write them, program.c puts them between a beginning and an end. maker.h is their interface. */
#ifndef PTXOPT_TESTS_GENERATE_H
#define PTXOPT_TESTS_GENERATE_H

#include "support/support.h"

/* The kinds of statements whose share can be chosen. */
typedef enum Part { PART_VALUE, PART_MEMORY, PART_FLOW, PART_TOGETHER, PART_IDIOM, PART_COUNT } Part;

typedef struct GenerateKnobs {
    unsigned size;              /* statements, roughly; 0: random, 4 to 40 */
    unsigned share[PART_COUNT]; /* weights; all 0: random ones */
} GenerateKnobs;

/* "value=3,memory=2": the parts that are not named get 0. False if it is not a list of parts. */
bool generate_read_shares(const char *text, GenerateKnobs *knobs);

/* Writes the program, whose kernel is named "k", and its launch file. */
void generate_program(uint64_t seed, const GenerateKnobs *knobs, Buf *ptx, Buf *launch);

#endif
