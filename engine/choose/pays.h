/* From which grid on a coarsened form pays, for launches that are decided when they are made. */
#ifndef PTXOPT_ENGINE_CHOOSE_PAYS_H
#define PTXOPT_ENGINE_CHOOSE_PAYS_H

#include "engine/choose/bases.h"

/* The first two words of __ptxopt_pays_KERNEL, as runtime/ptxopt-launch.h reads them. */
enum { PAYS_MAGIC = 0x59415058, PAYS_FORMAT = 1 };

/* The threads of the original launch, for each SM of the device, from which on the form is predicted to lose nothing,
 * however long loops of unknown length are. 0: it never loses. 'usual' has the block size that is assumed, and the
 * input's cost there. */
unsigned pays_from(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form);

#endif
