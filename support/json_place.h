/* The places of the values of a JSON text: jansson, which reads it, does not say. */
#ifndef PTXOPT_SUPPORT_JSON_PLACE_H
#define PTXOPT_SUPPORT_JSON_PLACE_H

#include "support/source.h"

/* One step from a value into it. */
typedef struct JsonStep {
    const char *key; /* the member of an object; NULL: an element of an array */
    unsigned index;  /* that element, from 0 */
} JsonStep;

/* The place of the value that the steps lead to, or, with 'of_key', of the key that the last of them names.
 * If one of them leads nowhere, the place of the last value before it. Lines and columns from 1. The
 * text is JSON that was read without an error. */
Position json_place(const char *text, size_t size, const JsonStep *steps, unsigned count, bool of_key);

#endif
