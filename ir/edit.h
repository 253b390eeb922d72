/* Editing of the body form. */
#ifndef PTXOPT_IR_EDIT_H
#define PTXOPT_IR_EDIT_H

#include "ir/body.h"

void body_renumber(Body *body);      /* ids by layout order */
void body_update_preds(Body *body);  /* from 'fall' and the targets; also drops phi arguments of vanished
                                      * predecessors */
void body_remove_unreachable(Body *body);
/* A new block after 'after' in the layout (NULL: at the end), without label or edges. */
Block *body_add_block(Body *body, Block *after);
/* Adds a pragma, which belongs to the module because copies of the body share it. */
void block_add_pragma(Body *body, Block *block, const char *text);
RegId body_add_reg(Body *body, Type type, Name base); /* a new register named after 'base', made unique */
/* A new array of bytes in the body's function. It belongs to the module, because copies of the body share it. Its name
 * is derived from 'base'. */
Variable *body_add_array(Body *body, const char *base, Space space, uint64_t bytes, unsigned align);
RegId body_clone_reg(Body *body, RegId reg); /* same type and origin; the name is derived from the original's */
void inst_append(Block *block, Inst *inst);
void inst_insert_first(Block *block, Inst *inst);
void inst_insert_before(Inst *position, Inst *inst);
void inst_insert_after(Inst *position, Inst *inst);
void inst_remove(Inst *inst); /* takes it out of its block */
/* A copy with refs and targets of its own, not in any block; operand trees are shared. */
Inst *inst_clone(Body *body, const Inst *inst);
/* A copy that reads names[r] in place of each register r, and writes new registers, which become the names of those
 * that the instruction writes; not in any block. 'names' is indexed by RegId. */
Inst *inst_clone_renamed(Body *body, const Inst *inst, RegId *names);
/* A new instruction, bound; not in any block. 'operands' has one letter for each: d REG written, r REG read, !
 * predicate REG read inverted, i constant (int64_t), s special register (const char *), v variable's address
 * (Variable *), a address [REG+offset] (RegId, int64_t), p address [variable+offset] (Variable *, int64_t), f the bits
 * of a 0f literal (uint32_t), e those of a 0d literal (uint64_t). inst_build(body, "mad.lo.s32", "drri", d, a, b,
 * (int64_t)4). */
Inst *inst_build(Body *body, const char *spelling, const char *operands, ...);
/* A load or store of a vector, bound; not in any block: inst_build_vector(body, "ld.global.v2.f32", false, regs, 2,
 * base, 8) is "ld.global.v2.f32 {regs[0], regs[1]}, [base+8]". */
Inst *inst_build_vector(Body *body, const char *spelling, bool is_store, const RegId *regs, unsigned count, RegId base,
                        int64_t offset);
/* A call of the function, which returns nothing, with values of registers; not in any block. */
Inst *inst_build_call(Body *body, Function *callee, const RegId *arguments, unsigned count);
/* A branch to the block, guarded unless the predicate is REG_NONE; not in any block. */
Inst *inst_build_branch(Body *body, Block *target, RegId predicate, bool inverted);
/* result = condition && predicate, or && !predicate if it is inverted; the condition REG_NONE always holds. Not in any
 * block. */
Inst *inst_build_conjunction(Body *body, RegId result, RegId condition, RegId predicate, bool inverted);
/* Guards an unguarded instruction in non-SSA form or one without definitions. */
void inst_set_guard(Body *body, Inst *inst, RegId predicate, bool inverted);
/* Guards an unguarded instruction in SSA form. If the guard is false, its result is 'old'; with REG_NONE, and with
 * several results, the results are undefined then. */
void inst_guard(Body *body, Inst *inst, RegId predicate, bool inverted, RegId old);
/* Makes a guarded instruction in SSA form an unguarded one. False, with nothing changed, if it reads an old value for
 * another reason than its guard. */
bool inst_unguard(Inst *inst);
/* Makes the instruction name another variable: its trees are copied, and its refs stay. */
void inst_replace_symbol(Body *body, Inst *inst, const Variable *from, Variable *to);
/* Makes the instruction, a mov or cvt, read a 32-bit register instead of the special register. */
void inst_replace_special(Body *body, Inst *inst, const Sreg *sreg, RegId reg);
/* The same of all instructions of the body that read it. */
void body_replace_special(Body *body, const Sreg *sreg, RegId reg);
/* Makes the instruction read a register, which holds the variable's address, instead of naming the variable. */
void inst_replace_variable(Body *body, Inst *inst, const Variable *variable, RegId reg);
/* Makes the instruction read a register as its operand 'index', which must be a constant or a register that it
 * reads. */
void inst_replace_operand(Body *body, Inst *inst, unsigned index, RegId reg);
bool inst_uses(const Inst *inst, RegId reg);

#endif
