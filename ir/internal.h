/* Shared by the files of ir/ that handle the body form; other folders must not include it. */
#ifndef PTXOPT_IR_INTERNAL_H
#define PTXOPT_IR_INTERNAL_H

#include "ir/ir.h"

/* The names already used in a body (ir/body/names.c). They belong to the body's arena, or to 'arena'. */
struct BodyNames *body_names_new(Body *body);
struct BodyNames *body_names_clone(const Body *body, Arena *arena);
bool body_name_taken(const Body *body, Name name);
void body_name_take(Body *body, Name name);

/* A block that is not in the layout yet. */
Block *block_new(Body *body);
/* A copy of the instruction that shares only immutable parts with it; its targets are the same blocks. */
Inst *inst_copy(Arena *arena, const Inst *inst);

/* Binds an instruction again after its operands changed and it matches another form; a bug() if it matches none. */
void inst_bind_again(Body *body, Inst *inst);

/* A copy of the operands, in the arena, with every symbol in 'map' replaced; the operands themselves if they use no
 * symbol in 'map'. 'map' goes from Variable and Table pointers to their replacements. */
Operand *operands_substitute(Arena *arena, Operand *operands, unsigned count, const PointerMap *map);

/* A bound mov of 'count' registers to themselves, written "{a, b}, {a, b}" if there are several. It shares no operands
 * or refs with other instructions; the refs that it writes come first. */
Inst *inst_build_copy(Body *body, const char *spelling, const RegId *regs, unsigned count);

/* The flow graph of the body. With 'virtual_exit', node count-1 is the exit; see Dominance for its edges. The arrays
 * are in 'arena'. */
FlowGraph flow_graph_build(Arena *arena, const Body *body, bool virtual_exit);

/* "ld.global.f32": the modifiers as written, or in the order that the form documents (ir/table/spelling.c). */
void signature_print(const Signature *signature, Buf *out);
void signature_print_documented(const Signature *signature, const Form *form, Buf *out);

#endif
