/* Vectors of neighbouring loads and stores. */
#ifndef PTXOPT_OPT_REPLICAS_VECTORIZE_H
#define PTXOPT_OPT_REPLICAS_VECTORIZE_H

#include "analysis/analysis.h"

/* How many accesses vectors could save in the body, in SSA form, whatever their alignment takes. */
unsigned vectors_count(Body *body, Analyses *analyses);

#endif
