/* The only place that says whether one form of a kernel is worth taking instead of another.
 *
 * A form is kept if it needs fewer registers above the target, then fewer spilled bytes, then fewer instructions
 * (search_compare in opt/registers/search/search.h), and if it does not cost more than the caller's policy allows: in
 * predicted time, in the time that one warp waits, in executed instructions. The limits of all policies are in
 * opt/thresholds.def. */
#ifndef PTXOPT_OPT_POLICY_H
#define PTXOPT_OPT_POLICY_H

#include "opt/judge.h"

typedef enum Threshold {
#define THRESHOLD(id, value, reason) THRESHOLD_##id,
#include "opt/thresholds.def"
#undef THRESHOLD
    THRESHOLD_COUNT
} Threshold;

/* Its value, a factor. */
double threshold(Threshold id);

typedef enum Verdict {
    VERDICT_TAKE,
    VERDICT_UNKNOWN,      /* no time is predicted, and the policy wants one */
    VERDICT_TOO_LONG,     /* the code grows too much, and no time is predicted */
    VERDICT_IDLE,         /* more instructions are executed, and an SM holds no more warps */
    VERDICT_SLOWER,       /* by predicted time */
    VERDICT_LONGER_PATH,  /* each warp waits longer for what it loads */
    VERDICT_LONGER_LOOPS, /* more instructions are executed in loops */
    VERDICT_LONGER,       /* and in all */
    VERDICT_MORE_WORDS,   /* more words move between registers and memory */
    VERDICT_MORE_SPILLS,  /* more bytes are spilled */
    VERDICT_NO_GAIN,      /* the predicted speedup is too small */
} Verdict;

/* How many times as much a form may cost as the other one; 0: that is not asked. In the order in which it is judged. */
typedef struct Policy {
    bool needs_time;  /* a form whose time cannot be compared is not taken */
    double code;      /* machine instructions of the code, where times cannot be compared */
    double idle;      /* executed instructions, where an SM holds no more warps */
    double time;      /* predicted */
    double path;      /* cycles of one warp alone, for each warp on an SM */
    double loops;     /* executed instructions in loops */
    double executed;  /* executed instructions */
    double words;     /* loads and stores of shared memory and of spilled registers */
    double gain;      /* the least speedup that is predicted; below 1, what may be lost */
} Policy;

typedef struct JudgedForm {
    const Figures *figures; /* NULL: the policy asks for nothing that is in them */
    const Prediction *prediction;
} JudgedForm;

/* Why a form is not worth taking, with the figures of both forms that the reason is about. */
typedef struct Objection {
    Verdict verdict; /* VERDICT_TAKE: it is worth taking */
    unsigned registers;
    uint64_t instructions, instructions_before; /* of machine code */
    Prediction form, than;
} Objection;
/* Judges a form; both have figures. */
Objection policy_objection(const Policy *policy, const JudgedForm *form, const JudgedForm *than);
static inline bool objects(const Objection *objection) { return objection->verdict != VERDICT_TAKE; }

/* The same for policies about predictions only: whether the form is worth taking. */
bool policy_accepts(const Policy *policy, const Prediction *form, const Prediction *than);

/* The same for a predicted speedup, and for spills: VERDICT_TAKE, or VERDICT_NO_GAIN and VERDICT_MORE_SPILLS. */
Verdict speedup_judge(double speedup, Threshold least);
Verdict spills_judge(const Figures *form, const Figures *than);

/* How likely a form may turn out to be slower. */
typedef enum Risk {
    RISK_NORMAL, /* one form of its kind in eight; in five, if its time is estimated */
    RISK_LOW,    /* one in twenty */
    RISK_HIGH,   /* what is predicted is taken for granted */
} Risk;

/* The predicted speedup of a coarsened form, and what makes it doubtful. */
typedef struct Promise {
    double speedup;
    double sure;      /* the speedup to rely on, at the risk that the user takes */
    bool is_uneven;   /* threads make different numbers of trips */
    bool is_narrow;   /* its blocks have less than a warp */
    bool is_product;  /* threads and blocks are merged, and each has to pay for itself */
    bool fits_seldom; /* many launches run the original */
} Promise;

/* True if the form is worth taking, where the input gains 'alone' from another number of registers: it is predicted to
 * gain, and can be relied on not to lose. */
bool promise_suffices(const Promise *promise, double alone);
/* True if that is only because it cannot be relied on. */
bool promise_is_unsure(const Promise *promise, double alone);
/* The speedup to rank forms by. */
double promise_worth(const Promise *promise);
/* True if a form of this worth is about as fast as the best one. */
bool promise_is_alike(double worth, double best);

/* True if both are known and of one kind, machine code or PTX. */
bool predictions_compare(const Prediction *a, const Prediction *b);
/* True if a predicted time is longer than another. Those within THRESHOLD_TIME_ALIKE are equal, and verdicts call that
 * no difference. */
bool time_is_longer(double time, double than);
/* How much longer one of two forms with the same launch lets each warp on an SM wait, as a factor; 1: not known.
 * Forms that wait longer are slower although the model says that another resource binds: the fewer loads are in flight,
 * the less of the bandwidth is used (docs/registers.md, "What a form costs"). */
double path_growth(const Prediction *form, const Prediction *than);
/* How many times the instructions are executed; 1 if the other form executes none. */
double growth_in_all(const Prediction *form, const Prediction *than);
/* How many times the instructions are executed in loops; where only this form has a loop, nothing is known except all
 * instructions. */
double growth_in_loops(const Prediction *form, const Prediction *than);

#endif
