/* The options with which a random program is changed. */
#ifndef PTXOPT_TESTS_GENERATE_FORMS_H
#define PTXOPT_TESTS_GENERATE_FORMS_H

#include "support/support.h"

enum { FORM_OPTIONS_MOST = 16 };

/* Options of the program as ptxopt_options_set() takes them. */
typedef struct Form {
    struct FormOption {
        const char *name, *value; /* value: NULL if it has none */
    } options[FORM_OPTIONS_MOST];
    unsigned count;
    bool assembles; /* the options need an assembler */
} Form;

/* The original's launch. */
typedef struct FormLaunch {
    unsigned grid[3], block[3]; /* blocks, threads */
} FormLaunch;

/* A random form of the kernel "k" in the text; most fit the launch. 'assembler': forms may need one. The texts are in
 * the arena. */
Form form_random(Arena *arena, Random *random, const char *ptx, const FormLaunch *launch, bool assembler);
/* "-coarsen x2 -p -decide" */
const char *form_words(Arena *arena, const Form *form);

#endif
