/* ex2, lg2, sin, cos and tanh of doubles that are values of f32 or a narrower format. */
#ifndef PTXOPT_EMULATOR_APPROXIMATE_H
#define PTXOPT_EMULATOR_APPROXIMATE_H

#include "emulator/semantics/numbers.h"

double approximate_sin(double x);
double approximate_cos(double x);
double approximate_ex2(double x);
double approximate_lg2(double x);
double approximate_tanh(double x);

#endif
