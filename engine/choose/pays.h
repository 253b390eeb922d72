/* From which grid on a coarsened form pays, for launches that are decided when they are made. */
#ifndef PTXOPT_ENGINE_CHOOSE_PAYS_H
#define PTXOPT_ENGINE_CHOOSE_PAYS_H

#include "engine/choose/bases.h"

/* The first two words of __ptxopt_pays_KERNEL and __ptxopt_trips_KERNEL, as runtime/ptxopt-launch.h reads them. */
enum { PAYS_MAGIC = 0x59415058, PAYS_FORMAT = 1, TRIPS_MAGIC = 0x50495254, TRIPS_FORMAT = 1, TRIPS_WORDS = 16 };
/* In the table of several forms, each has the words of the former, those of the latter, the least and the most threads
 * of a block, and the most threads of a launch for each SM, with a word to spare. */
enum { PAYS_WORDS = 4, LIMIT_WORDS = 4 };

/* The grids that are asked about, of 1, 2, 4, ... blocks for each SM and of few, and the numbers of trips. */
enum { PAYS_GRIDS = 7, PAYS_FEW = PAYS_GRIDS, PAYS_TRIPS = PAYS_POINTS, PAYS_REMAINDERS = PAYS_TRIPS };
/* A form's speedups over the input; 0: not asked for yet, below 0: unknown. */
typedef struct PaysSpeedups {
    double of[PAYS_GRIDS + 1][PAYS_TRIPS + 1];
} PaysSpeedups;

/* How launches are asked about, and what is known about them. */
typedef struct PaysBasis {
    AssemblerJudge *judge;
    const Basis *usual; /* has the block size that is assumed, and the input's cost there */
    const FunctionForm *input;
    const TripParameter *parameter;   /* that sets the numbers of trips; NULL: none does */
    KnownParameters remainders;       /* its value where unrolled loops are passed by; none: they are not unrolled */
    Risk risk;                        /* at which a form must lose nothing in few blocks */
    bool is_whole;                    /* no block has threads on both sides of a bounds check */
    MeasuredForm rivals[MOST_PREFERRED]; /* forms that the launches run otherwise, if they pay */
    unsigned rival_count;
    FormCost before[PAYS_GRIDS + 1][PAYS_TRIPS + 1]; /* of the input, once known */
    PaysSpeedups speedups[MOST_PREFERRED + 1]; /* of the rivals, and of the form that is asked about */
} PaysBasis;

/* The launches in which the form is predicted to lose nothing, neither against the original nor against its rivals:
 * grids of a block for each SM at least, however long loops of unknown length are, or by the value of the parameter. */
FormPays form_pays(PaysBasis *basis, const MeasuredForm *form);
/* The same for a form that merges threads for grids of few blocks, and of more as long as it loses nothing. */
FormPays form_pays_in_few(PaysBasis *basis, const MeasuredForm *form);
/* The threads along each axis that a form makes one, as in __ptxopt_pays_KERNEL; 0: none are merged. */
uint32_t pays_factors(const Shape *shape);
/* Makes the form that was asked about last a rival of those that follow. */
void pays_add_rival(PaysBasis *basis, const MeasuredForm *form);
/* The forms that follow have no rivals but those added later. */
void pays_forget_rivals(PaysBasis *basis);
/* False if the form pays in no launch that was asked about. */
bool pays_ever(const FormPays *pays);
/* False if the form pays in no grid that was asked about, or for less than half of the parameter's values. */
bool pays_often(const FormPays *pays, const PaysBasis *basis);

/* The words of __ptxopt_trips_KERNEL. */
void trips_set(uint32_t words[TRIPS_WORDS], const PaysTable *table);

#endif
