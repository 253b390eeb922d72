/* Decoding of function bodies into ops.
 *
 * Each instruction is decoded once, into ops that point to the functions that execute it; hence decoding is the layer
 * above execution. An instruction without such a function is refused here, before anything runs. */
#ifndef PTXOPT_EMULATOR_DECODE_H
#define PTXOPT_EMULATOR_DECODE_H

#include "emulator/execute/execute.h"

/* Builds the bodies of the entry and of all functions it may call, and lays out their frames. */
bool emulator_collect(Emulator *emulator, const Function *entry);
bool code_decode(Emulator *emulator, Code *code);
/* For each block of a body, the index of its immediate post-dominator, or UINT32_MAX for the exit. */
uint32_t *body_postdominators(Arena *arena, const Body *body);
/* The blocks whose branch decides whether threads reach a barrier, by Block.id (agreements.c). */
BitSet body_agreements(Arena *arena, const Body *body, const uint32_t *postdominators);

/* Finds the registers of the code that must be watched (Code.defined), and the instructions that have one. */
void code_watch_registers(Emulator *emulator, Code *code);
bool code_watches(const Code *code, const Inst *inst);

typedef struct Decoder Decoder;

/* A branch whose target's pc is not known yet. */
typedef struct Fixup {
    uint32_t op, block;
    uint32_t field; /* FIXUP_TARGET, FIXUP_RECONVERGENCE, or FIXUP_TABLE + index */
} Fixup;

struct Decoder {
    Emulator *emulator;
    Code *code;
    Arena *arena;
    const Inst *inst;
    const Signature *signature; /* of inst */
    uint32_t temp; /* next free byte of the frame, for this instruction */
    VEC(uint8_t) constants;
    Map constant_index;
    uint32_t guard;
    bool guard_inverted;
    bool first;
    uint32_t *block_pcs;
    VEC(Fixup) fixups;
    BitSet agreements; /* of a kernel */
    uint32_t *postdominators;
    bool failed;
};

bool decoder_refuse(Decoder *d, const char *format, ...) PRINTF_LIKE(2, 3); /* always false */
Space decoder_space(const Decoder *d); /* the one that the modifiers name; else SPACE_NONE */
Op *decoder_emit(Decoder *d, OpFunction *run);
void decoder_emit_row(Decoder *d, RowFunction *row, uint32_t dest, unsigned dest_bytes, const uint32_t *sources,
                      unsigned count);
void decoder_emit_copy_bytes(Decoder *d, uint32_t dest, unsigned dest_bytes, unsigned dest_offset, uint32_t source,
                             unsigned source_bytes, unsigned source_offset, unsigned bytes);
void decoder_emit_lanes(Decoder *d, OpFunction *run, ScalarFunction *function, uint32_t control, uint32_t dest,
                        unsigned dest_bytes, const uint32_t *sources, const uint8_t *source_bytes, unsigned count);
void decoder_emit_scalar(Decoder *d, ScalarFunction *function, uint32_t control, uint32_t dest, unsigned dest_bytes,
                         const uint32_t *sources, const uint8_t *source_bytes, unsigned count); /* by run_scalar */
RowFunction *decoder_copy_row(unsigned bytes);
uint32_t decoder_temp(Decoder *d, unsigned row_bytes);
uint32_t decoder_constant(Decoder *d, uint64_t bits, unsigned row_bytes);
/* The row of a source operand in the width of the type; NO_ROW with the refusal reported. */
uint32_t decoder_source(Decoder *d, const Operand *operand, Type type);
/* The row of a special register, in the width of its type; NO_ROW with the refusal reported. */
uint32_t decoder_special(Decoder *d, const Sreg *sreg);
uint32_t decoder_register(const Decoder *d, const Operand *operand, unsigned *row_bytes);
/* The place where an op writes a result of the type; decoder_dest_done then widens it if the register is wider. */
typedef struct Dest {
    uint32_t row;  /* NO_ROW: sink */
    uint32_t real; /* the register's row */
    unsigned bytes, real_bytes;
    Type type;
    bool sign;
} Dest;
bool decoder_dest(Decoder *d, const Operand *operand, Type type, bool sign, Dest *dest);
void decoder_dest_done(Decoder *d, const Dest *dest);
/* Emits the computation of the instruction's value from its operands, as operation_select() gave it; 'run' executes it
 * if the operation is by lane. */
bool decoder_emit_operation(Decoder *d, OpFunction *run, const Operation *operation, const Operand *sources);
AtomicKind decoder_atomic(const Decoder *d); /* the one that the modifiers name */
uint32_t decoder_guard_open(Decoder *d);
void decoder_guard_close(Decoder *d, uint32_t at);
bool decoder_address(Decoder *d, const Operand *operand, Space space, MemoryOp *memory);
bool decoder_symbol(Decoder *d, const Symbol *symbol, uint64_t *address, bool *in_frame, Space *space);
enum { FIXUP_TARGET, FIXUP_RECONVERGENCE, FIXUP_TABLE };
void decoder_fixup(Decoder *d, uint32_t op, uint32_t block, uint32_t field);

/* Decodes the decoder's instruction; false if it is refused. Column RUN of the instruction table names these functions:
 * "decode:ld" is decode_ld(). */
typedef bool DecodeFunction(Decoder *d);
DecodeFunction decode_operation, decode_video;
#define SCALAR(form, name)
#define OPERATION(form, name)
#define VIDEO(form, name)
#define DECODE(form, name) DecodeFunction decode_##name;
#include "ir/table/ops_run.inc"
#undef SCALAR
#undef OPERATION
#undef VIDEO
#undef DECODE

#endif
