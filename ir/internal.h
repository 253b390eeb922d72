/* What the files of ir/ that handle the body form share and nobody else sees. */
#ifndef PTXOPT_IR_INTERNAL_H
#define PTXOPT_IR_INTERNAL_H

#include "ir/ir.h"

/* ---- Names ------------------------------------------------------------------------------------------------------ */

struct BodyNames *body_names_new(Body *body);
struct BodyNames *body_names_clone(const Body *body, Arena *arena);
bool body_name_taken(const Body *body, Name name);
void body_name_take(Body *body, Name name);

/* ---- Building blocks of the editing functions -------------------------------------------------------------------- */

/* A block that is not in the layout yet. */
Block *block_new(Body *body);
/* A copy of the instruction that shares nothing but what is immutable; targets are copied as they are. */
Inst *inst_copy(Arena *arena, const Inst *inst);

/* Binds an instruction whose operands have changed so that another form fits; a bug() if none does. */
void inst_bind_again(Body *body, Inst *inst);

/* The tree with every symbol that 'map' knows replaced, in the arena; the tree itself if there is none.  'map' goes
 * from Variable and Table pointers to their replacements. */
Operand *operands_substitute(Arena *arena, Operand *operands, unsigned count, const PointerMap *map);

/* ---- Vectors of registers ---------------------------------------------------------------------------------------- */

/* The elements of vector registers while a body is built (ir/body/body_scalars.c). */
typedef struct Elements {
    Arena *scratch;
    const RegVec *parsed; /* the function's registers */
    RegId *rest;          /* by these: the body's register for element 1, behind which the others follow; NULL: no
                           * vector registers at all */
} Elements;

/* Gives the body, whose registers are still the function's, a register for each element, but for those in 'whole' (an
 * empty set: none), which the body does not name. */
void elements_declare(Elements *elements, Body *body, const BitSet *whole, Arena *scratch);
/* The body's register for an element of a vector register, or for element 0 of any other. */
RegId elements_register(const Elements *elements, RegId parsed, unsigned element);
/* Makes an instruction that names vector registers name their elements.  NULL, or why that cannot be. */
const char *elements_replace(const Elements *elements, Body *body, Inst *inst);

/* "mov.v4.u32 {...}, %tid": one read for each element that is wanted, appended to the block. */
bool inst_reads_special_vector(const Inst *inst);
void special_vector_split(Body *body, Block *block, const Inst *inst);

/* ---- Parameters and results in registers ------------------------------------------------------------------------- */

typedef struct Formals {
    bool has_params, has_results; /* in registers */
    /* By the function's registers: the parameter or result that it is, or the variable that stands for it in lists of
     * arguments; NULL for all others.  'variables' is NULL if there are none such at all. */
    Variable **variables;
    uint8_t *wrong_side; /* the operand of a mov, from 1, where a parameter (1) or result (2) does not stand alone in a
                          * copy; 0: what calls pass stands on both sides */
    BitSet used;         /* those that an instruction names */
    BitSet copied;       /* those of 'variables' that stand alone in copies and lists, as the body form has them */
} Formals;

/* NULL, or why the body form cannot have them. */
const char *formals_find(Formals *formals, const Function *function, Arena *scratch);
static inline bool formals_is_copied(const Formals *formals, RegId reg)
{
    return reg < formals->copied.bits && bitset_has(&formals->copied, reg);
}
/* Makes a copy to or from a formal name it as the body form does; false if it is none, or one among other uses. */
bool formals_rename(const Formals *formals, Body *body, Inst *inst);
/* Appends the copies of what comes in, and of what goes out. */
void formals_enter(const Formals *formals, Body *body, const Elements *elements, Block *block);
void formals_leave(const Formals *formals, Body *body, const Elements *elements, Block *block);
/* Lets a call pass variables in the place of vector registers: appends the copies of arguments, which come before it,
 * and gives in 'results' the copies behind it. */
typedef VEC(Inst *) InstVec;
void call_vectors_replace(const Formals *formals, Body *body, const Elements *elements, Block *block, Inst *call,
                          InstVec *results);
/* Numbers registers, and orders the variables that stand for vector registers, as the listing names them first. */
void body_order(Body *body);
/* A mov of 'count' registers to themselves, as "{a, b}, {a, b}" where they are several; bound.  Its operands and refs
 * belong to it alone, those written first. */
Inst *inst_build_copy(Body *body, const char *spelling, const RegId *regs, unsigned count);

/* The flow graph of the body.  With 'virtual_exit' node count-1 stands for the exit; see Dominance for the edges it
 * gets.  The arrays are in 'arena'. */
FlowGraph flow_graph_build(Arena *arena, const Body *body, bool virtual_exit);

/* ---- Text ------------------------------------------------------------------------------------------------------- */

/* How the body form names what the parsed form names by labels. */
typedef struct InstNames {
    const Reg *regs;
    size_t reg_count;
    const PointerMap *blocks; /* Block to Name; NULL: Block.label, or the label in the operand */
    Name table;               /* of this brx.idx; NULL: as in the operand */
} InstNames;

void inst_print_named(const Inst *inst, const InstNames *names, Buf *out);
/* ops.c: "ld.global.f32", with its modifiers as they were written, or in the order in which the form is documented.
 */
void signature_print(const Signature *signature, Buf *out);
void signature_print_documented(const Signature *signature, const Form *form, Buf *out);

/* Where the listing opens and closes a scope for .param variables (ir/text/call_scopes.c). */
typedef struct CallScope {
    VEC(const Variable *) variables;
} CallScope;

typedef struct CallScopes {
    PointerMap opens, closes; /* Inst to CallScope: before the one, behind the other */
    PointerMap variables;     /* Variable to its CallScope */
} CallScopes;

/* Block ids must be up to date. */
void call_scopes_find(CallScopes *scopes, Arena *arena, const Body *body);

#endif
