/* The instruction table as other folders see it: opcodes, modifiers, forms and special registers. */
#ifndef PTXOPT_IR_TABLE_H
#define PTXOPT_IR_TABLE_H

#include "ir/types.h"

/* Generated from ir/table/ops.def: the enums Opcode (OP_UNKNOWN = 0, OP_ADD ...), ModId (MOD_UNKNOWN = 0 ...) and
 * FormId (FORM_ADD_INT ...). */
#include "ir/table/ops_enum.h"

/* The effects of an instruction beyond writing its destinations. They are table data; passes use these and keep no
 * lists of opcodes. */
typedef enum Effect {
    EFFECT_PURE = 1 << 0,     /* the result depends on the operands only */
    EFFECT_READ = 1 << 1,     /* reads memory */
    EFFECT_WRITE = 1 << 2,    /* writes memory */
    EFFECT_SYNC = 1 << 3,     /* see SyncKind: no memory effect moves across it, and it is not made conditional */
    EFFECT_CONTROL = 1 << 4,  /* branches, returns, calls */
    EFFECT_TRAP = 1 << 5,     /* may fault: not executed speculatively */
    EFFECT_THREAD = 1 << 6,   /* differs between threads with equal operands */
    EFFECT_VOLATILE = 1 << 7, /* executed exactly as often as written */
    EFFECT_ASYNC = 1 << 8,    /* completes later */
    EFFECT_HINT = 1 << 9,     /* no architectural effect */
    EFFECT_CC_READ = 1 << 10, /* reads the carry flag CC.CF */
    EFFECT_CC_WRITE = 1 << 11,
    EFFECT_STACK = 1 << 12, /* reads or changes the stack pointer */
} Effect;
/* An opaque instruction: everything that forbids moving, merging or cloning. */
#define EFFECTS_OPAQUE (EFFECT_READ | EFFECT_WRITE | EFFECT_SYNC | EFFECT_TRAP | EFFECT_THREAD | EFFECT_VOLATILE)

/* The kind of synchronisation that EFFECT_SYNC means. */
typedef enum SyncKind {
    SYNC_NONE,
    SYNC_BLOCK_BARRIER,   /* bar.sync, barrier.sync */
    SYNC_BLOCK_COUNT,     /* bar.arrive, bar.red, barrier.arrive, barrier.red: count or combine the block's threads */
    SYNC_CLUSTER_BARRIER, /* barrier.cluster */
    SYNC_WARP,            /* a warp, whole or by its mask: shfl.sync, vote.sync, bar.warp, ldmatrix, mma ... */
    SYNC_CONVERGED,       /* the threads of a warp that run together: activemask; shfl and vote without .sync */
    SYNC_WARPGROUP,       /* four warps: wgmma */
    SYNC_FENCE,           /* membar, fence */
    SYNC_STRONG,          /* atom, red, relaxed, acquire, release, volatile-like strong accesses */
    SYNC_MBARRIER,
    SYNC_ASYNC_GROUP, /* cp.async.commit_group, wait_group ... */
    SYNC_GRID,        /* griddepcontrol: waits for other grids */
    SYNC_REGISTERS,   /* setmaxnreg: waits for registers that other warps of the block release */
    SYNC_OTHER,       /* tcgen05 ...: never transformed */
} SyncKind;

typedef enum Category {
    CATEGORY_INT, CATEGORY_FLOAT, CATEGORY_HALF, CATEGORY_BF16, CATEGORY_COMPARE, CATEGORY_LOGIC, CATEGORY_MOVE,
    CATEGORY_MEMORY, CATEGORY_ATOMIC, CATEGORY_SYNC, CATEGORY_CONTROL, CATEGORY_TEXTURE, CATEGORY_SURFACE,
    CATEGORY_VIDEO, CATEGORY_SIMD_VIDEO, CATEGORY_WMMA, CATEGORY_MMA, CATEGORY_WGMMA, CATEGORY_TCGEN05,
    CATEGORY_ASYNC_COPY, CATEGORY_MISC,
    CATEGORY_COUNT
} Category;

/* One row of ops.def, parsed at build time. Its layout is private to ir/table; passes use only these functions. */
typedef struct Form Form;
const char *form_name(const Form *form);         /* "add.int" */
Opcode form_op(const Form *form);
bool form_has(const Form *form, ModId mod);    /* every spelling of the form has the modifier */
Category form_category(const Form *form);
unsigned form_effects(const Form *form);       /* Effect bits, the union over the row's alternatives */
SyncKind form_sync(const Form *form);
unsigned form_min_version(const Form *form);   /* PTX version times 10: 78 for 7.8 */
FormId form_id(const Form *form);
bool form_emulated(const Form *form);          /* the row names the function that executes it */
const char *form_note(const Form *form);       /* its description, in words */

typedef struct Mod {
    ModId id;  /* MOD_UNKNOWN for one the table does not know */
    Name text; /* with its dot: ".rn", ".shared::cta" */
} Mod;

/* A form that the modifiers match, with the chosen alternatives. */
typedef struct FormMatch FormMatch;

/* An opcode with its modifiers as written, interned per module: equal spellings share one Signature, and each is
 * matched against the table once. */
typedef struct Signature {
    Opcode op; /* OP_UNKNOWN: the table does not know the opcode */
    Name opcode;
    Name spelling; /* the opcode with its modifiers: "ld.global.f32" */
    Mod *mods; /* in written order */
    unsigned mod_count;
    const FormMatch *matches; /* every form that the modifiers match; none: opaque */
    unsigned match_count;
    Type types[4]; /* the type modifiers in written order */
    unsigned type_count;
    Space space; /* the state-space modifier; SPACE_NONE if there is none (generic) */
    unsigned vector; /* .v2 .v4 .v8; else 1 */
} Signature;

/* mods[i] has its leading dot. Never NULL: an unknown spelling gives a Signature without matches. */
const Signature *signature_intern(Module *module, Name opcode, const Name *mods, unsigned mod_count);
/* From text such as "mad.lo.s32". */
const Signature *signature_parse(Module *module, const char *text);
bool signature_has(const Signature *signature, ModId mod);
/* True if all threads of a warp must execute it together. */
bool signature_is_aligned(const Signature *signature);
const Form *signature_form(const Signature *signature, unsigned index); /* of the index-th match */
/* The types of a form's operands, in order, as the signature's modifiers fix them; returns how many. An immediate
 * without a type has TYPE_B32, a list the type of its elements. */
unsigned signature_operand_types(const Signature *signature, const Form *form, Type *types, unsigned capacity);
const char *opcode_name(Opcode op);
bool opcode_is_special_function(Opcode op); /* computed by the special function units: roots, sines, divisions ... */
bool opcode_is_slow(Opcode op); /* needs a loop or a call in machine code: divisions, roots ... */
const char *mod_name(ModId mod); /* with its dot */

/* The shape of a texture or surface that a modifier such as ".a2d" states. */
typedef struct Geometry {
    ModId mod;
    unsigned dimensions; /* coordinates within a layer */
    bool layered;        /* the first coordinate is the number of the layer */
    bool cube, samples;  /* the last coordinate is the number of the sample */
} Geometry;

const Geometry *geometry_of(ModId mod); /* NULL if it names none */

/* Special registers: ir/table/sregs.def, from special-registers.tsv. */
typedef enum SregDependence { SREG_THREAD, SREG_BLOCK, SREG_LAUNCH, SREG_CONSTANT, SREG_VOLATILE } SregDependence;
enum {
    SREG_ROLE_OTHER,
    SREG_ROLE_TID,
    SREG_ROLE_NTID,
    SREG_ROLE_CTAID,
    SREG_ROLE_NCTAID,
    SREG_ROLE_CLUSTERID,
    SREG_ROLE_NCLUSTERID,
    SREG_ROLE_CLUSTER_CTAID,
    SREG_ROLE_CLUSTER_NCTAID,
    SREG_ROLE_CLUSTER_CTARANK,
    SREG_ROLE_CLUSTER_NCTARANK,
    SREG_ROLE_IS_EXPLICIT_CLUSTER,
    SREG_ROLE_LANEID,
    SREG_ROLE_LANEMASK_EQ,
    SREG_ROLE_LANEMASK_LE,
    SREG_ROLE_LANEMASK_LT,
    SREG_ROLE_LANEMASK_GE,
    SREG_ROLE_LANEMASK_GT,
    SREG_ROLE_WARPID,
    SREG_ROLE_NWARPID,
    SREG_ROLE_NSMID,
    SREG_ROLE_GRIDID,
    SREG_ROLE_CLOCK,
    SREG_ROLE_CLOCK_HI,
    SREG_ROLE_CLOCK64,
    SREG_ROLE_GLOBALTIMER,
    SREG_ROLE_GLOBALTIMER_LO,
    SREG_ROLE_GLOBALTIMER_HI,
    SREG_ROLE_TOTAL_SMEM_SIZE,
    SREG_ROLE_AGGR_SMEM_SIZE,
    SREG_ROLE_DYNAMIC_SMEM_SIZE,
};
enum { SREG_AXIS_X, SREG_AXIS_Y, SREG_AXIS_Z, SREG_AXIS_W, SREG_AXIS_ALL, SREG_AXIS_NONE };
typedef struct Sreg {
    const char *name;     /* "%tid.x", "%tid" (the whole vector), "%laneid", "%clock64" */
    unsigned vector;      /* 4 for a whole vector, else 1 */
    uint8_t role;         /* SREG_ROLE_TID ... */
    uint8_t axis;         /* SREG_AXIS_X ...; ALL for a whole vector, NONE if it is not of a vector */
    SregDependence dependence;
    Type type;            /* of one element: TYPE_U32, TYPE_U64 or TYPE_PRED */
    unsigned min_version; /* times 10 */
    unsigned min_sm;
} Sreg;
const Sreg *sreg_find(const char *name); /* NULL if it is not one */
/* A component (0 to 3) of a whole vector. */
const Sreg *sreg_component(const Sreg *vector, unsigned axis);
/* The special register whose name is closest to this one; NULL if none is close. */
const char *sreg_closest(const char *name);

#endif
