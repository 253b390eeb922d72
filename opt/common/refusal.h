/* Refusals: the reason why a kernel or a loop is left as it is, as a fact. engine/report/refusal_words.h words it. */
#ifndef PTXOPT_OPT_COMMON_REFUSAL_H
#define PTXOPT_OPT_COMMON_REFUSAL_H

#include "ir/ir.h"

typedef enum RefusalReason {
    REFUSAL_NONE,
#define REFUSAL(id, sentence) REFUSAL_##id,
#define PART(id, words) REFUSAL_PART_##id,
#include "opt/common/refusals.def"
#undef REFUSAL
#undef PART
    REFUSAL_COUNT
} RefusalReason;

/* A word that a sentence of opt/common/refusals.def has in braces. */
typedef struct RefusalOperand {
    enum { REFUSAL_END, REFUSAL_NAME, REFUSAL_NUMBER, REFUSAL_PART } kind;
    union {
        const char *name; /* of a variable, an instruction, an axis ... */
        uint64_t number;
        RefusalReason part; /* REFUSAL_PART_... */
    };
} RefusalOperand;

enum { REFUSAL_OPERANDS = 10 };

typedef struct Refusal {
    RefusalReason reason; /* REFUSAL_NONE: there is no refusal */
    const char *inst;     /* the spelling of the instruction that causes it; NULL: none does */
    RefusalOperand operands[REFUSAL_OPERANDS];
    const struct DemandObjection *demand; /* REFUSAL_DEMAND */
    Span span;                            /* of the instruction; 0,0 if there is none */
    bool has_span;
} Refusal;

static inline RefusalOperand refusal_name(const char *name)
{
    return (RefusalOperand){.kind = REFUSAL_NAME, .name = name};
}

static inline RefusalOperand refusal_number(uint64_t number)
{
    return (RefusalOperand){.kind = REFUSAL_NUMBER, .number = number};
}

static inline RefusalOperand refusal_part(RefusalReason part)
{
    return (RefusalOperand){.kind = REFUSAL_PART, .part = part};
}

/* "x", "y", "z" */
RefusalOperand refusal_axis(unsigned dimension);

/* The operands of a refusal, in the order of its sentence. */
#define REFUSAL_WITH(...) ((const RefusalOperand[REFUSAL_OPERANDS]){__VA_ARGS__})

/* Sets the refusal, with copies of all names in the module's arena; 'inst' and 'operands' may be NULL. */
void refusal_set(Refusal *refusal, const Body *body, const Inst *inst, RefusalReason reason,
                 const RefusalOperand *operands);
static inline bool is_refusal(const Refusal *refusal) { return refusal->reason != REFUSAL_NONE; }
/* The line of the source that the instruction is on; 0: there is none. */
unsigned inst_line(const Body *body, const Inst *inst);

#endif
