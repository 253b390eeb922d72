/* Vectors of four bytes as words. */
#ifndef PTXOPT_OPT_COMMON_BYTE_WORDS_H
#define PTXOPT_OPT_COMMON_BYTE_WORDS_H

#include "ir/ir.h"

/* Makes loads of four bytes as a vector loads of a word; true if there are any. Keeps SSA form. */
bool body_load_words(Body *body);

#endif
