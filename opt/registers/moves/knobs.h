/* Options of the assembler that the register search may try, and that PTX cannot say. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_KNOBS_H
#define PTXOPT_OPT_REGISTERS_MOVES_KNOBS_H

#include "ir/ir.h"

/* Documented options of ptxas that leave what the code computes as it is, each with one value: knobs.c has the table.
 * Sets of them have these bits, as in Tuning.knobs. */
typedef enum KnobId {
    KNOB_LEVEL_1,
    KNOB_FAST_COMPILE,
    KNOB_USAGE_LOW,
    KNOB_USAGE_HIGH,
    KNOB_COUNT
} KnobId;

/* The additional assemblies for each knob that the search may try: two forms with it, a second round, and
 * predictions. */
enum { KNOB_EFFORT = 4 };

/* The files of controls in a list that NULL ends; 0 for NULL. */
unsigned controls_count(const char *const *controls);

#define KNOBS_ALL ((1u << KNOB_COUNT) - 1)

/* The words for ptxas, "--NAME=VALUE" each, for knobs and a file of compiler controls (NULL: none); the list ends with
 * NULL. NULL if there are none. */
const char *const *knobs_words(Arena *arena, unsigned knobs, const char *controls);
/* The knobs and the file of controls of the form that a kernel has now. */
unsigned knobs_of(const Function *kernel);
const char *controls_of(const Function *kernel);
/* The words in one text, with spaces between them. */
const char *knobs_text(Arena *arena, unsigned knobs, const char *controls);
/* The knobs that these words for ptxas leave open: an option that the user has set is not tried. An options file could
 * set any. The list ends with NULL, or is NULL. */
unsigned knobs_open(const char *const *words);
/* True if they may set a file of compiler controls. */
bool knobs_set_controls(const char *const *words);

#endif
