/* The body form: Function -> Body -> Block -> Inst, optionally in SSA form. Built by body_build from the parsed form;
 * passes work on it. A function is printed from its Body if it has one, else from its statements. */
#ifndef PTXOPT_IR_BODY_H
#define PTXOPT_IR_BODY_H

#include "ir/parsed.h"

typedef struct PhiArg {
    Block *pred;
    RegId reg;
} PhiArg;

typedef struct Phi {
    RegId dst;
    VEC(PhiArg) args; /* one for each distinct predecessor */
} Phi;

/* Straight-line code; control leaves only at the end: by the last instruction's targets, to 'fall', or out of the
 * function. A guarded branch, return or exit therefore ends its block. */
struct Block {
    uint32_t id;    /* its index in Body.blocks: layout order; kept by body_renumber */
    Name label;     /* the source's first label that is branched to, else its first; NULL: printed only if needed */
    Inst *first, *last;
    Block *fall;    /* where control goes when the last instruction does not branch; NULL: never */
    Block **preds;  /* distinct; kept by body_update_preds */
    unsigned pred_count;
    VEC(Phi) phis;  /* SSA only */
    VEC(const Pragma *) pragmas; /* printed after the label */
    bool is_cold;    /* the slow side of a test: taken if replicas part (opt/coarsen/fast.c), or if an assumption does
                      * not hold (opt/common/version.c) */
    bool is_never;   /* reached only by a wrong launch (opt/coarsen/check.c) */
    VEC(Name) marks; /* with .target debug: all labels of this place, which sections may name, in the source's order */
};

struct Body {
    Function *function;
    Module *module;
    Arena *arena; /* the body's own */
    RegVec regs;
    VEC(Block *) blocks; /* layout order; blocks.data[0] is the entry and has no predecessors */
    VEC(Variable *) variables; /* .local, .shared, .param ... declared in the body, with unique names */
    VEC(Table *) tables; /* call targets and prototypes; branch tables are made anew from Inst.targets */
    VEC(Name) end_marks; /* like Block.marks, after the last instruction */
    VEC(Function *) declared; /* external functions that it calls and the module does not declare */
    Tuning tuning; /* starts as the function's; what is printed */
    struct BodyNames *names; /* ir/body/names.c: every name that is taken in the body */
    bool ssa;
};

/* The name of the register that this one is a version of, from which names of new registers are derived. */
static inline Name body_reg_name(const Body *body, RegId reg)
{
    return body->regs.data[body->regs.data[reg].origin].name;
}

/* Runs the statement for every successor, for some perhaps twice. */
#define FOR_EACH_SUCC(block, succ)                                                                                     \
    for (unsigned succ##_i = 0, succ##_n = (block)->last ? (block)->last->target_count : 0; succ##_i <= succ##_n;      \
         succ##_i++)                                                                                                   \
        for (Block *succ = succ##_i < succ##_n ? (block)->last->targets[succ##_i] : (block)->fall; succ; succ = NULL)

/* Builds the body form from the statements: nested scopes are flattened (clashing names get a suffix), unreachable
 * blocks are left out, and guarded instructions keep their guards. Vector registers are split ("%v.x" is "%v_x"), and
 * so are reads of whole special registers; parameters and results in registers are copied at the entry and before
 * returns, by instructions that name them as symbols. Not in SSA form. NULL, with *reason set, if the body form cannot
 * express the function (for example, a branch table that does not name a label). The caller owns the body;
 * function->body is not set. */
Body *body_build(Function *function, const char **reason);
void body_free(Body *body);
/* A deep copy with an arena of its own; operand trees, variables and names stay shared with the module. */
Body *body_clone(const Body *body);
/* The instructions of all blocks. */
size_t body_inst_count(const Body *body);
/* The blocks that control reaches, in reverse postorder, in an array in 'arena'. O(B + E), without recursion. */
Block **body_reverse_postorder(Arena *arena, const Body *body, size_t *count);
/* Makes the function print from 'body' (which it then owns), or, with NULL, from its statements again. */
void function_set_body(Function *function, Body *body);

/* A form that a function could take, to be printed without changing the module. */
typedef struct FunctionForm {
    const Function *function;
    const Body *body;      /* NULL: the function's statements */
    const Tuning *tuning;  /* NULL: the body's, or without a body the function's */
    const Variable *added; /* a variable that the form adds at the end of the module; NULL: none */
} FunctionForm;

/* The tuning that a form is printed with. */
static inline const Tuning *form_tuning(const FunctionForm *form)
{
    return form->tuning ? form->tuning : form->body ? &form->body->tuning : &form->function->tuning;
}

/* SSA in (pruned; Cytron et al. 1991 over dominance frontiers) and out (Boissinot et al. 2009: copies, then
 * coalescing by congruence classes; the registers' original names survive where live ranges allow). A register read
 * before any write keeps its own RegId as an undefined value. */
void body_to_ssa(Body *body);
void body_from_ssa(Body *body);
/* Restores SSA form after a pass has written one register at several places, without guards, the first of them in the
 * entry: phis bring the versions to where it is read. Ids and predecessors must be current. */
void body_split_variable(Body *body, RegId variable);

/* Checks everything this header promises: links, edges, preds, phis, single definitions, dominance of uses, types of
 * refs, ties. A violation is a bug(); 'after' names the pass that ran last. */
void body_verify(const Body *body, const char *after);
/* True if the instruction ends its block: a branch, ret or exit, guarded or not. */
bool inst_is_terminator(const Inst *inst);
bool inst_is_call(const Inst *inst);
/* True if something in the body may wait for other grids: inst_may_await(). */
bool body_may_await(const Body *body);
bool inst_is_branch(const Inst *inst);     /* bra or brx.idx, which have targets */
bool inst_falls_through(const Inst *inst); /* control may continue after it: not an unguarded branch, ret or exit */
/* A name derived from 'base' ("base", "base_1" ...) that is not yet taken in the body; it is now. */
Name body_unique_name(Body *body, const char *base);

#endif
