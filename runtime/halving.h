/* Which of several forms is the fastest, by successive halving: all run, those that are likely slower drop out, and the
 * rest run more often. The original is arm 0. Nothing here knows about launches. */
#ifndef PTXOPT_RUNTIME_HALVING_H
#define PTXOPT_RUNTIME_HALVING_H

#include <stdbool.h>
#include <stdint.h>

/* Arms: the original, and the most forms that -tune adds. Samples: of one arm; the race ends before it has more. */
enum { MOST_ARMS = 16, MOST_SAMPLES = 40 };

typedef struct Arm {
    bool is_out;
    unsigned issued;   /* timed launches that were begun */
    unsigned received; /* whose times are known; that of the first, which may load code, does not count */
    unsigned count;
    float samples[MOST_SAMPLES]; /* milliseconds, a round each */
} Arm;

typedef struct Race {
    unsigned arm_count;
    unsigned quota; /* of timed launches that each arm shall have for now */
    unsigned left;  /* of the timed launches of the whole race */
    unsigned lost;  /* whose times could not be had */
    int leader;     /* the fastest arm when times were last compared; -1: not yet */
    int winner;     /* -1: it goes on */
    Arm arms[MOST_ARMS];
} Race;

/* A mean, and what is uncertain about it. */
typedef struct Estimate {
    unsigned count;
    double mean, variance; /* of one sample */
} Estimate;

/* How sure a comparison must be: the probability of the times if the forms are equally fast. */
typedef enum Certainty { CERTAIN_FIFTH, CERTAIN_TWENTIETH, CERTAIN_HUNDREDTH, CERTAINTY_COUNT } Certainty;

/* halving.c */
void race_begin(Race *race, unsigned arm_count);
/* Takes an arm out, because its form cannot be launched. The original stays. */
void race_drop(Race *race, unsigned arm);
/* The arm whose launch is to be timed now, which is taken as begun; -1: none until more times are known. Rounds are in
 * orders that change, so that no arm gains by its place. */
int race_next(Race *race);
/* Adds the time of a launch that was begun; one that is not positive is lost. */
void race_add(Race *race, unsigned arm, float milliseconds);

/* compare.c */
/* Times of arms and rounds, fitted: the logarithms' part of each arm, of which only differences mean anything. */
typedef struct Fit {
    unsigned counts[MOST_ARMS]; /* of its times; 0: nothing is known */
    double arms[MOST_ARMS];
    double variance, freedom;   /* of what is left of one time */
} Fit;

typedef struct Comparison {
    Fit by_round, by_pair;    /* of single rounds, and of two with opposite orders */
    Estimate raw[MOST_ARMS];  /* as if all launches had the same work */
} Comparison;

void race_compare(const Race *race, Comparison *comparison);
/* True if the second arm is slower than the first. */
bool arm_is_slower(const Comparison *comparison, unsigned fast, unsigned slow, Certainty certainty);
/* The time of an arm over that of another. */
double arm_share(const Comparison *comparison, unsigned arm, unsigned other);
Estimate arm_estimate(const Arm *arm);
/* True if the second is slower than the first, by Welch's test. */
bool is_slower(const Estimate *fast, const Estimate *slow, Certainty certainty);

#endif
