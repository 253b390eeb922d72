/* From which grid on a coarsened form pays, for launches that are decided when they are made. */
#ifndef PTXOPT_ENGINE_CHOOSE_PAYS_H
#define PTXOPT_ENGINE_CHOOSE_PAYS_H

#include "engine/choose/bases.h"

/* The first two words of __ptxopt_pays_KERNEL and __ptxopt_trips_KERNEL, as runtime/ptxopt-launch.h reads them. */
enum { PAYS_MAGIC = 0x59415058, PAYS_FORMAT = 1, TRIPS_MAGIC = 0x50495254, TRIPS_FORMAT = 1, TRIPS_WORDS = 16 };

/* The threads of the original launch, for each SM of the device, from which on the form is predicted to lose nothing,
 * however long loops of unknown length are: a block for each SM at least. 'usual' has the block size that is assumed,
 * and the input's cost there. */
unsigned pays_from(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form);

/* The threads along each axis that a form makes one, as in __ptxopt_pays_KERNEL; 0: none are merged. */
uint32_t pays_factors(const Shape *shape);

/* The same by the value of the parameter that sets the numbers of trips, and, for launches in which it is not known,
 * for whatever value. */
PaysTable pays_by_trips(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form,
                        const TripParameter *parameter);
/* The threads for each SM from which on the form pays whatever the parameter's value is. */
unsigned pays_always(const PaysTable *table);

#endif
