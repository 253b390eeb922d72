/* Words for matching instructions: what a rewrite rule asks of one before it changes it, and the registers that it then
 * works with. analysis/evaluate/evaluate.h answers what an instruction computes, however it is spelled.
 *
 * 'index' counts the operands as they are written: of "add.s32 d, a, b", the destination is 0, and the sources are 1
 * and 2. Only the functions that say so look at guards. */
#ifndef PTXOPT_IR_MATCH_H
#define PTXOPT_IR_MATCH_H

#include "ir/body.h"

/* True if the reference reads, or writes, its register. */
static inline bool ref_reads(const RegRef *ref) { return ref->reg != REG_NONE && ref->role != REF_DEF; }
static inline bool ref_writes(const RegRef *ref)
{
    return ref->reg != REG_NONE && (ref->role == REF_DEF || ref->role == REF_BOTH);
}

/* True if a predicate decides on its execution: "@p" or "@!p" (guard_inverted). */
static inline bool inst_is_guarded(const Inst *inst) { return inst->guard != REF_NONE; }
/* The predicate that guards it, inverted or not; REG_NONE if it is unguarded. */
static inline RegId inst_predicate(const Inst *inst)
{
    return inst_is_guarded(inst) ? inst->refs[inst->guard].reg : REG_NONE;
}
/* True if the same predicate decides on both in the same way, or none does on either. */
static inline bool insts_guarded_alike(const Inst *a, const Inst *b)
{
    return inst_predicate(a) == inst_predicate(b) && a->guard_inverted == b->guard_inverted;
}
/* True if the table knows it, nothing guards it, and it keeps no part of an old value: wherever control comes to it, it
 * does what its form says and replaces its results as a whole.  It may have any effects. */
static inline bool inst_is_plain(const Inst *inst)
{
    return !inst_is_opaque(inst) && !inst_is_guarded(inst) && !inst->tied_count;
}

/* The reference of an operand of the instruction, or of an item of one, which is a register. */
static inline RegRef *operand_ref(const Inst *inst, const Operand *operand)
{
    require(operand->kind == OPERAND_REG);
    return &inst->refs[operand->ref];
}
/* The register that the operand, or item, names: also in "-r", "!p", "r.b0" and "r+4".  REG_NONE if it names none, or
 * several in a list. */
static inline RegId operand_reg(const Inst *inst, const Operand *operand)
{
    return operand->kind == OPERAND_REG ? inst->refs[operand->ref].reg : REG_NONE;
}
/* The same of an operand that is a register and nothing else: REG_NONE also for "-r", "!p", "r.b0" and "r+4". */
static inline RegId operand_plain_reg(const Inst *inst, const Operand *operand)
{
    bool is_changed = operand->negated || operand->inverted || operand->selector || operand->constant;
    return is_changed ? REG_NONE : operand_reg(inst, operand);
}
/* The operand of this index as a plain register; REG_NONE also if there are fewer operands. */
static inline RegId inst_reg(const Inst *inst, unsigned index)
{
    return index < inst->operand_count ? operand_plain_reg(inst, &inst->operands[index]) : REG_NONE;
}
/* True if the operand is an integer constant; *bits, all 64 of them, whatever the width at which it is read. */
static inline bool operand_is_integer(const Operand *operand, uint64_t *bits)
{
    if (operand->kind != OPERAND_CONSTANT || operand->constant->kind != CONSTANT_INT)
        return false;
    *bits = operand->constant->bits;
    return true;
}
/* The register from which an address counts: r in [r] and [r+4].  REG_NONE if it is anything else, as in [variable+4],
 * [variable[r]] and [16], not an address, or NULL. */
RegId address_base(const Inst *inst, const Operand *address);
/* The constant that the address adds to what it counts from: 4 in [r+4]; 0 if there is none. */
static inline int64_t address_offset(const Operand *address)
{
    return address->constant ? (int64_t)address->constant->bits : 0;
}

/* The variable in shared memory that the operand names, or NULL. None names two. */
Variable *operand_shared_variable(const Operand *operand);
/* True if any of its operands names one. */
bool inst_names_shared(const Inst *inst);

/* Equal apart from registers, which are in the refs. */
bool operand_equal(const Operand *a, const Operand *b);

/* The only register that it writes, in whichever operand, guarded or not; REG_NONE if there is none or are several. */
RegId inst_result(const Inst *inst);
/* The same, if it is the first operand and written as a whole: d of "add.s32 d, a, b", and not of "mov.b64 {d, _}, a",
 * "shfl.sync.up.b32 d|p, ..." and "vadd.u32.u32.u32 d.b0, ...". */
RegId inst_destination(const Inst *inst);

/* True if the second instruction is further down the block of the first. O(distance), or of the rest of the block. */
bool inst_comes_before(const Inst *first, const Inst *second);

/* The special register that it reads; NULL if it reads none. An instruction that the table
 * knows reads one at most; of another one it is the first. */
const Sreg *inst_sreg(const Inst *inst);
/* The function that a call names; NULL if it is an indirect call, or no call. */
Function *inst_callee(const Inst *inst);

/* The axis (0 to 2) of which the instruction, a mov or cvt, reads the component of the special register in this role
 * (SREG_ROLE_TID ...), and nothing else; 3: none. */
unsigned inst_index_axis(const Inst *inst, unsigned role);

/* True for a branch or exit, guarded or to one of several targets, that all threads of a warp are said to take alike
 * (.uni). */
bool inst_is_taken_alike(const Inst *inst);

/* The phi's argument from the predecessor; REG_NONE: it has none. */
RegId phi_argument(const Phi *phi, const Block *pred);

/* The branch in which the block ends, if that is a two-way branch: guarded, to one target, which differs from the block
 * that follows (fall).  NULL otherwise: also for a guarded return. */
Inst *block_two_way_branch(const Block *block);

#endif
