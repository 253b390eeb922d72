/* Unroll-and-jam: several iterations of a loop side by side. */
#ifndef PTXOPT_OPT_JAM_UNROLL_JAM_H
#define PTXOPT_OPT_JAM_UNROLL_JAM_H

#include "ir/ir.h"
#include "opt/common/refusal.h"

enum { UNROLL_JAM_MOST = 16 };

/* A loop, by the label that it begins with, and how many of its iterations are executed together. */
typedef struct UnrollJam {
    const char *loop;
    unsigned factor; /* 2 .. UNROLL_JAM_MOST */
} UnrollJam;

/* The outcome of one. */
typedef struct UnrollJamResult {
    UnrollJam jam;
    bool done;
    Refusal refusal; /* not done */
} UnrollJamResult;

/* Executes 'factor' iterations of the loop together: what differs between them is copied for each, next to its
 * original, and loops inside it, branches and what is the same in all are executed once for all (Callahan, Carr and
 * Kennedy, PLDI'90; Unkule, Shaltz and Qasem, CC'12, section 5.2, Fig. 7). The loop itself stays beside that, for the
 * iterations that are left over, unless the number of iterations is known and the factor divides it.
 *
 * 'body' is in SSA form and stays so; blocks and edges change. Every value and every byte of memory is what it would
 * be: floating-point operations keep their order. False if that cannot be shown: *refusal is then set (text in the
 * module's arena), and the body is in an unspecified state, so the caller works on a clone. */
bool unroll_and_jam(Body *body, const UnrollJam *jam, Refusal *refusal);

/* The same of the loop with this header, with shorter tests of whether all iterations follow. Gives the header of the
 * new loop, in which the test is made; NULL if refused: the body then computes what it did, in blocks and edges that
 * may have changed. */
Block *loop_unroll_jam(Body *body, Block *header, unsigned factor, Refusal *refusal);

/* The labels of the kernel's loops, those that contain others first; the array is in 'arena', the labels belong to the
 * module. None if the body form cannot express the kernel. */
unsigned unroll_jam_loops(Arena *arena, Function *kernel, const char ***labels);
/* The label of the innermost loop around a place of the kernel's text; NULL if none is around it. */
const char *unroll_jam_loop_at(Function *kernel, uint32_t place);

#endif
