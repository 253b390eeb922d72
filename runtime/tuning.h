/* The state of kernels that have forms to choose from, which tuned_forms.c, shapes.c, events.c and tune.c share. */
#ifndef PTXOPT_RUNTIME_TUNING_H
#define PTXOPT_RUNTIME_TUNING_H

#include <pthread.h>

#include "runtime/halving.h"
#include "runtime/runtime.h"

enum { MOST_TUNED = MOST_ARMS - 1, BUCKETS = 64, MOST_PENDING = 32 };
enum { FIXED_WORDS = 9 }; /* the grid, the block, shared memory in two words, and the form's number */
enum { MOST_BLOCKS = 2 }; /* noted of a kernel: a build can only know one that is the only one */
/* How many launches there are for one that is timed, once a form is chosen and at first. */
enum { FIRST_INTERVAL = 64 };

/* $PTXOPT_TUNE */
typedef enum Mode { MODE_UNKNOWN, MODE_OFF, MODE_USE, MODE_LEARN } Mode;

/* A timed launch. */
typedef struct Pending {
    unsigned arm;
    void *events[2];
    unsigned long long context;
} Pending;

/* All that is known about launches with the same numbers on the same device. 'next', 'device' and 'forms' never
 * change. */
typedef struct Shape {
    struct Shape *next;
    int device;
    /* Atomic: */
    int winner;               /* -1: not known */
    bool has_no_times;        /* they cannot be had */
    unsigned since, interval; /* launches since one was timed, and how many that shall be; 0: none is timed */
    /* Under the lock: */
    unsigned repeats;
    Race *race; /* NULL: decided, or there are no times */
    Pending pending[MOST_PENDING];
    unsigned first, pending_count;
    Estimate decided; /* the winner's time when it was decided */
    double share;     /* of the original's time; 0: unknown */
    unsigned timed;
    Arm watched;
    LaunchShape forms[]; /* the launches of the original and of the forms; no threads: such a form is not possible */
} Shape;

typedef struct Tuning {
    uint64_t hash;
    unsigned form_count;
    Contract forms[MOST_TUNED];
    const char *words[MOST_TUNED + 1]; /* of the original, "", and of the forms */
    char *table;
    const char *fixed; /* in it: launches whose forms the build has learned, 'fixed_count' of FIXED_WORDS words each */
    unsigned fixed_count, first; /* the form of all others */
    bool is_fixed;     /* nothing is learned here */
    bool is_preferred; /* nor here: launches take the first form that pays, ... */
    uint32_t when[MOST_TUNED][PTXOPT_FORM_WORDS]; /* ... going by these words */
    int device; /* of a module's kernel */
    Shape *buckets[BUCKETS]; /* atomic */
    unsigned shape_count;
    unsigned blocks[MOST_BLOCKS][3], block_count; /* that launches have had, while they are few */
    pthread_mutex_t lock;
    Contract *contract; /* the kernel's */
    struct Tuning *next;
} Tuning;

/* tuned_forms.c: the forms of a kernel, and all kernels that have some */
Mode tuning_mode(void);
/* Calls the function for each kernel. */
void tuning_each(void (*visit)(Contract *contract, unsigned long long context), unsigned long long context);

/* shapes.c */
/* The shape of a launch, which is made if it is new; NULL: there are too many. */
Shape *tuning_shape(Contract *contract, const LaunchShape *launch);
/* Begins to compare the forms. The caller holds the lock, or has just made the shape. */
void tuning_race(Shape *shape, const Tuning *tuning);

/* events.c: pairs of events, which are kept when they are not in use, each for its context */
bool timing_is_possible(const Driver *driver);
/* Sets a number for the current context. One that is reset gets a new one, where the driver has numbers. */
bool timing_find_context(const Driver *driver, unsigned long long *number);
/* Takes a pair for timing->context; false if all are in use. */
bool timing_take(const Driver *driver, Timing *timing);
void timing_keep(unsigned long long context, void *const events[2]);
/* A pair that does not work is not used again: its context may be gone. */
void timing_lose(void);

#endif
