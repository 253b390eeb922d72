/* Decoded code.
 *
 * A function is decoded once into a flat array of Ops over a frame layout: every register has a row (see lanes.h) at a
 * fixed offset in the frame. */
#ifndef PTXOPT_EMULATOR_OP_H
#define PTXOPT_EMULATOR_OP_H

#include "emulator/emulator.h"
#include "emulator/semantics/semantics.h"

typedef struct Emulator Emulator;
typedef struct Frame Frame;
typedef struct Code Code;
typedef struct Op Op;
typedef struct Exec Exec;
typedef struct AccessShape AccessShape;

/* A source row is named by a bank and a byte offset in the bank. */
enum { BANK_FRAME, BANK_CONSTANTS, BANK_SPECIAL, BANK_COUNT };
#define SOURCE_SHIFT 30
#define SOURCE(bank, offset) ((uint32_t)(bank) << SOURCE_SHIFT | (uint32_t)(offset))
#define NO_ROW UINT32_MAX
#define PC_EXIT UINT32_MAX

/* Rows of the special bank. */
enum {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_LANEID,
    SPECIAL_WARPID,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_MASK_EQ,
    SPECIAL_MASK_LE,
    SPECIAL_MASK_LT,
    SPECIAL_MASK_GE,
    SPECIAL_MASK_GT,
    SPECIAL_CLUSTERID_X,
    SPECIAL_CLUSTERID_Y,
    SPECIAL_CLUSTERID_Z,
    SPECIAL_CLUSTER_CTAID_X,
    SPECIAL_CLUSTER_CTAID_Y,
    SPECIAL_CLUSTER_CTAID_Z,
    SPECIAL_CLUSTER_CTARANK,
    SPECIAL_COUNT
};
#define SPECIAL_ROW_BYTES (LANES * 4)

typedef enum Step {
    STEP_NEXT,   /* continue with the next op */
    STEP_JUMP,   /* the op set the split's pc */
    STEP_SWITCH, /* the split ended, is waiting, or changed its frame or lanes */
    STEP_FAULT,
} Step;

typedef Step OpFunction(Exec *x, const Op *op, uint32_t mask);

typedef enum AtomicKind {
    ATOMIC_NONE,
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS,
} AtomicKind;

#define MAX_ELEMENTS 8
typedef struct MemoryOp {
    Space space;   /* SPACE_NONE: generic */
    bool in_frame; /* a variable of the frame: the address is relative to its local base */
    bool strong;   /* does not race with other strong accesses */
    uint8_t releases; /* the FenceScope that a strong write implies */
    bool sign;     /* loads sign-extend */
    bool simple; /* all lanes may be done at once: not in a frame, and its size is a power of two */
    AccessShape *shape; /* of the last such access; NULL: neither checked nor counted */
    uint8_t element_bytes, count;
    AtomicKind atomic;
    Type type;
    uint32_t address; /* source row */
    uint8_t address_bytes;
    int64_t offset;
    uint32_t elements[MAX_ELEMENTS]; /* destination offsets of a load or atomic (NO_ROW: sink), sources of a store */
    uint8_t row_bytes[MAX_ELEMENTS];
    uint32_t operands[MAX_ELEMENTS]; /* atomics: the first operand of each element */
    uint32_t compare;                /* source row of the value that cas stores */
} MemoryOp;

typedef struct CallOp {
    const Function *callee; /* NULL: an indirect call through 'target' */
    uint32_t target;        /* source row of the address */
    const Prototype *prototype;
    struct CallCopy {
        uint32_t source, bytes; /* row of a register or constant; NO_ROW: at 'local' in the caller's frame */
        uint64_t local, size;
    } * arguments, *results;
    unsigned argument_count, result_count;
} CallOp;

struct Op {
    RowFunction *row; /* a whole-row operation; else 'run' */
    OpFunction *run;
    uint32_t dest; /* frame offset */
    uint32_t sources[MAX_SOURCES];
    uint32_t guard; /* frame offset of the predicate; NO_ROW: none */
    bool guard_inverted;
    bool first; /* the first op of its instruction */
    bool watched; /* first, and a register of the instruction may be read before it is written (track_registers) */
    bool skips; /* branches around a guarded instruction; 'guard' is then inverted */
    uint8_t dest_bytes;
    uint8_t source_bytes[MAX_SOURCES];
    uint8_t source_count;
    uint8_t category;
    union {
        struct {
            ScalarFunction *function;
            uint32_t control;
            RowFunction *compare; /* setp */
            uint32_t dest_false;  /* setp p|q: the second predicate */
            uint8_t combine;
        } scalar;
        struct {
            uint32_t target, fall, reconvergence;
            uint32_t agreement; /* its number, from 1, if the block's threads must agree; else 0 */
        } branch;
        struct {
            uint32_t *targets, count, reconvergence;
        } table;
        struct {
            uint32_t kind, members, dest_predicate, mode, control;
            bool is_float;
            bool members_differ; /* they may differ between lanes; a run_reconverge op follows */
            const struct MatrixOp *matrix;
        } warp; /* collectives */
        struct {
            uint32_t kind, id, count, predicate;
            bool has_count, aligned;
            bool cluster, cluster_wait; /* barrier.cluster.arrive and .wait */
            bool relaxed;               /* does not publish writes */
        } barrier;
        struct {
            uint32_t registers; /* of each thread */
            bool increases;
        } pool;
        struct {
            uint32_t dest_offset, source_offset, bytes;
        } copy;
        struct {
            uint32_t kind;
            const MemoryOp *memory; /* the object; NULL: pending_count */
        } mbarrier;
        const MemoryOp *memory;
        const CallOp *call;
        const struct CopyAsync *copy_async;
        const struct CopyBulk *copy_bulk;
        const struct ImageOp *image;
        uint64_t value;
    };
    const Inst *inst; /* NULL: inserted by the decoder */
};

typedef struct OpCosts {
    uint64_t sectors, lines, wavefronts, bank_conflicts, divergent_branches;
    uint64_t fresh; /* with count_reuse: sectors that the block loads here for the first time */
} OpCosts;

typedef struct LocalPlace {
    uint64_t offset, bytes;
} LocalPlace;

struct Code {
    const Function *function;
    Body *body;
    bool own_body;
    bool is_entry;
    VEC(Op) ops;
    uint64_t *executed, *threads; /* per op */
    OpCosts *costs;               /* per op; NULL: not counted */
    uint32_t *registers;          /* RegId to frame offset */
    uint32_t *defined; /* for each register 0 if it may be read before it is written, else all ones; NULL: none may */
    uint32_t frame_bytes, temps_begin;
    uint32_t stack_row; /* frame offset of the lanes' stack pointers, 8 bytes each; NO_ROW: none */
    uint8_t *constants; /* BANK_CONSTANTS */
    Map locals; /* Variable to offset in the frame's local memory */
    uint64_t local_bytes;
    VEC(LocalPlace) local_places;
    uint8_t *local_owner; /* for each byte, its variable's number modulo 255, plus 1; 0: a gap */
    uint64_t *formals, *formal_bytes, *returns, *return_bytes; /* offsets in local memory */
    unsigned formal_count, return_count;
    uint32_t agreement_count;
    Frame *free_frames;
};

#endif
