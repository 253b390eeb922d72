/* ir: PTX modules, in two forms that share one instruction type.
 *
 *   parsed form   Module -> Item -> Function -> flat list of Stmt.  Built by the parser, printed back as it stood.
 *   body form     Function -> Body -> Block -> Inst, optionally in SSA form.  Built by body_build from the parsed form;
 *                 passes work on it.  A function with a Body is printed from the Body, one without from its statements.
 *
 * An instruction's operand trees are immutable and shared by all its clones; what differs between clones are the
 * registers, and those live in one flat array, Inst.refs.  An operand of kind OPERAND_REG holds an index into that
 * array.  So a pass that renames registers walks refs and never looks at a tree.
 *
 * Memory: everything belongs to an arena: the module's for the parsed form, the Body's own for the body form. */
#ifndef PTXOPT_IR_H
#define PTXOPT_IR_H

#include "ir/dominance.h"
#include "support/support.h"

/* Generated from ir/table/ops.def: the enums Opcode (OP_UNKNOWN = 0, OP_ADD ...), ModId (MOD_UNKNOWN = 0 ...) and
 * FormId (FORM_ADD_INT ...). */
#include "ir/table/ops_enum.h"

typedef struct Module Module;
typedef struct Function Function;
typedef struct Variable Variable;
typedef struct Body Body;
typedef struct Block Block;
typedef struct Inst Inst;
typedef struct Operand Operand;

/* ==== Types and state spaces ====================================================================================== */

typedef enum TypeClass {
    CLASS_NONE, CLASS_PRED, CLASS_BITS, CLASS_UNSIGNED, CLASS_SIGNED, CLASS_FLOAT, CLASS_OPAQUE
} TypeClass;

/* X(ENUM, spelling without the dot, bits, class): the fundamental and packed types of the PTX ISA, chapter "Types". */
#define TYPE_LIST(X)                                                                                                   \
    X(PRED, "pred", 1, PRED)                                                                                           \
    X(B8, "b8", 8, BITS)                                                                                               \
    X(B16, "b16", 16, BITS)                                                                                            \
    X(B32, "b32", 32, BITS)                                                                                            \
    X(B64, "b64", 64, BITS)                                                                                            \
    X(B128, "b128", 128, BITS)                                                                                         \
    X(U8, "u8", 8, UNSIGNED)                                                                                           \
    X(U16, "u16", 16, UNSIGNED)                                                                                        \
    X(U32, "u32", 32, UNSIGNED)                                                                                        \
    X(U64, "u64", 64, UNSIGNED)                                                                                        \
    X(S8, "s8", 8, SIGNED)                                                                                             \
    X(S16, "s16", 16, SIGNED)                                                                                          \
    X(S32, "s32", 32, SIGNED)                                                                                          \
    X(S64, "s64", 64, SIGNED)                                                                                          \
    X(F16, "f16", 16, FLOAT)                                                                                           \
    X(F16X2, "f16x2", 32, FLOAT)                                                                                       \
    X(BF16, "bf16", 16, FLOAT)                                                                                         \
    X(BF16X2, "bf16x2", 32, FLOAT)                                                                                     \
    X(TF32, "tf32", 32, FLOAT)                                                                                         \
    X(F32, "f32", 32, FLOAT)                                                                                           \
    X(F32X2, "f32x2", 64, FLOAT)                                                                                       \
    X(F64, "f64", 64, FLOAT)                                                                                           \
    X(U16X2, "u16x2", 32, UNSIGNED)                                                                                    \
    X(S16X2, "s16x2", 32, SIGNED)                                                                                      \
    X(TEXREF, "texref", 64, OPAQUE)                                                                                    \
    X(SAMPLERREF, "samplerref", 64, OPAQUE)                                                                            \
    X(SURFREF, "surfref", 64, OPAQUE)

typedef enum Type {
    TYPE_NONE,
#define X(id, spelling, bits, class) TYPE_##id,
    TYPE_LIST(X)
#undef X
        TYPE_COUNT
} Type;

const char *type_name(Type type); /* "u32", no dot; "" for TYPE_NONE */
unsigned type_bits(Type type);
TypeClass type_class(Type type);
Type type_from_name(const char *name); /* without the dot; TYPE_NONE if it is none */
Type type_bits_of_width(unsigned bits); /* 32 -> TYPE_B32 */
/* How many 32-bit registers a value takes (b64 2, b128 4, predicates 0, narrower than 32 bits 1). */
unsigned type_registers(Type type);

typedef enum Space {
    SPACE_NONE, /* in an Access: generic */
    SPACE_REG,
    SPACE_CONST,
    SPACE_GLOBAL,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_SHARED,
    SPACE_TEX, /* only before PTX 1.5 */
    SPACE_COUNT
} Space;
const char *space_name(Space space); /* "global" */

typedef enum Linkage { LINKAGE_NONE, LINKAGE_EXTERN, LINKAGE_VISIBLE, LINKAGE_WEAK, LINKAGE_COMMON } Linkage;

/* ==== The instruction table ======================================================================================= */

/* What an instruction does beyond writing its destinations.  Table data; passes ask these and keep no opcode lists. */
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
} Effect;
/* An opaque instruction: everything that forbids moving, merging or cloning. */
#define EFFECTS_OPAQUE (EFFECT_READ | EFFECT_WRITE | EFFECT_SYNC | EFFECT_TRAP | EFFECT_THREAD | EFFECT_VOLATILE)

/* What kind of synchronisation EFFECT_SYNC stands for. */
typedef enum SyncKind {
    SYNC_NONE,
    SYNC_BLOCK_BARRIER,   /* bar, barrier, barrier.cta, bar.red ... */
    SYNC_CLUSTER_BARRIER, /* barrier.cluster */
    SYNC_WARP,            /* shfl, vote, match, activemask, redux, elect, bar.warp, ldmatrix, mma, wmma, wgmma ... */
    SYNC_FENCE,           /* membar, fence */
    SYNC_STRONG,          /* atom, red, relaxed, acquire, release, volatile-like strong accesses */
    SYNC_MBARRIER,
    SYNC_ASYNC_GROUP, /* cp.async.commit_group, wait_group ... */
    SYNC_OTHER,       /* setmaxnreg, griddepcontrol, tcgen05 ...: never touched */
} SyncKind;

typedef enum Category {
    CATEGORY_INT, CATEGORY_FLOAT, CATEGORY_HALF, CATEGORY_BF16, CATEGORY_COMPARE, CATEGORY_LOGIC, CATEGORY_MOVE,
    CATEGORY_MEMORY, CATEGORY_ATOMIC, CATEGORY_SYNC, CATEGORY_CONTROL, CATEGORY_TEXTURE, CATEGORY_SURFACE,
    CATEGORY_VIDEO, CATEGORY_SIMD_VIDEO, CATEGORY_WMMA, CATEGORY_MMA, CATEGORY_WGMMA, CATEGORY_TCGEN05,
    CATEGORY_ASYNC_COPY, CATEGORY_MISC,
    CATEGORY_COUNT
} Category;

/* One row of ops.def, with its notation taken apart at build time.  The layout is ops.c's business; passes use
 * only these. */
typedef struct Form Form;
const char *form_id(const Form *form);         /* "add.int" */
Category form_category(const Form *form);
unsigned form_effects(const Form *form);       /* Effect bits, the union over the row's alternatives */
SyncKind form_sync(const Form *form);
unsigned form_min_version(const Form *form);   /* PTX version times 10: 78 for 7.8 */
FormId form_number(const Form *form);
bool form_emulated(const Form *form);          /* the row names what executes it */
const char *form_note(const Form *form);       /* what it does, in words */

typedef struct Mod {
    ModId id;  /* MOD_UNKNOWN for one the table does not know */
    Name text; /* with its dot: ".rn", ".shared::cta" */
} Mod;

/* An opcode with its modifiers as written, interned per module: equal spellings share one Signature, and the match
 * against the table is done once for each. */
typedef struct FormMatch FormMatch; /* a form whose modifiers fit, with the chosen alternatives (ir/table/ops.c) */
typedef struct Signature {
    Opcode op; /* OP_UNKNOWN: the table does not know the opcode */
    Name opcode;
    Name spelling; /* the opcode with its modifiers: "ld.global.f32" */
    Mod *mods; /* in written order */
    unsigned mod_count;
    const FormMatch *matches; /* every form whose modifiers fit; none: opaque */
    unsigned match_count;
    Type types[4]; /* the type modifiers in written order */
    unsigned type_count;
    Space space; /* the state-space modifier; SPACE_NONE if there is none (generic) */
    unsigned vector; /* .v2 .v4 .v8; else 1 */
} Signature;

/* mods[i] with its leading dot.  Never NULL: an unknown spelling gives a Signature without matches. */
const Signature *signature_intern(Module *module, Name opcode, const Name *mods, unsigned mod_count);
/* From text such as "mad.lo.s32". */
const Signature *signature_parse(Module *module, const char *text);
bool signature_has(const Signature *signature, ModId mod);
Opcode opcode_from_name(const char *name); /* OP_UNKNOWN if there is none */
const char *opcode_name(Opcode op);
const char *mod_name(ModId mod); /* with its dot */
ModId mod_from_name(const char *text); /* with its dot; MOD_UNKNOWN if there is none */

/* Special registers: ir/table/sregs.def, from special-registers.tsv. */
typedef enum SregDependence { SREG_THREAD, SREG_BLOCK, SREG_LAUNCH, SREG_CONSTANT, SREG_VOLATILE } SregDependence;
typedef struct Sreg {
    const char *name;     /* "%tid.x", "%tid" (the whole vector), "%laneid", "%clock64" */
    unsigned vector;      /* 4 for a whole vector, else 1 */
    SregDependence dependence;
    Type type;            /* of one element: TYPE_U32, TYPE_U64 or TYPE_PRED */
    unsigned min_version; /* times 10 */
    unsigned min_sm;
} Sreg;
const Sreg *sreg_find(const char *name); /* NULL if it is none */
/* The special register whose name is closest to this one, if it is close; else NULL. */
const char *sreg_closest(const char *name);

/* ==== Constants =================================================================================================== */

typedef enum ConstantKind { CONSTANT_INT, CONSTANT_F32, CONSTANT_F64, CONSTANT_DECIMAL } ConstantKind;

/* A constant expression, evaluated.  CONSTANT_F32 is a 0f literal (bits: 32), CONSTANT_F64 a 0d literal,
 * CONSTANT_DECIMAL a decimal floating-point expression (bits: its double). */
typedef struct Constant {
    ConstantKind kind;
    bool is_unsigned; /* CONSTANT_INT: of type .u64 rather than .s64 */
    uint64_t bits;
    Name spelling; /* as written, blanks normalised; NULL for constants that a pass made */
} Constant;

/* ==== Symbols ===================================================================================================== */

typedef struct Label {
    Name name;
    Span span;
    struct Stmt *stmt; /* its STMT_LABEL; NULL while it was only used */
} Label;

typedef enum TableKind { TABLE_BRANCH_TARGETS, TABLE_CALL_TARGETS, TABLE_CALL_PROTOTYPE } TableKind;

typedef struct Prototype { /* ".callprototype", and the signature part of functions */
    Variable **returns;
    unsigned return_count;
    Variable **params;
    unsigned param_count;
    bool noreturn;
    int abi_preserve, abi_preserve_control; /* -1: not given */
} Prototype;

typedef struct Table { /* LABEL: .branchtargets / .calltargets / .callprototype */
    TableKind kind;
    Name name;
    Span span;
    Label **labels;       /* branch targets */
    Function **functions; /* call targets */
    unsigned count;
    Prototype prototype;
} Table;

typedef enum SymbolKind { SYMBOL_VARIABLE, SYMBOL_FUNCTION, SYMBOL_LABEL, SYMBOL_TABLE } SymbolKind;

typedef struct Symbol {
    SymbolKind kind;
    union {
        Variable *variable;
        Function *function;
        Label *label;
        Table *table;
    };
} Symbol;
Name symbol_name(const Symbol *symbol);

/* An initialiser, flat so that nesting costs no recursion: INIT_OPEN and INIT_CLOSE bracket a list. */
typedef enum InitKind {
    INIT_OPEN, INIT_CLOSE, INIT_CONSTANT, INIT_SYMBOL,
    INIT_FIELD, /* name = value, for texref and friends */
} InitKind;
typedef struct Init {
    uint8_t kind;      /* InitKind */
    bool generic;      /* INIT_SYMBOL: generic(SYMBOL) */
    bool masked;       /* INIT_SYMBOL: 0xff00(SYMBOL) */
    uint8_t mask_byte; /* the byte that the mask selects: 1 for 0xff00 */
    Constant constant; /* INIT_CONSTANT; INIT_SYMBOL: the offset; INIT_FIELD: a number, unless 'word' is set */
    union {
        Symbol symbol;          /* INIT_SYMBOL */
        struct {
            Name field, word; /* INIT_FIELD: "addr_mode_0", "wrap" */
        };
    };
} Init;

struct Variable {
    Name name; /* NULL for "_" in a prototype */
    Span span;
    Space space; /* SPACE_REG only for register parameters of functions */
    Linkage linkage;
    Type type;
    unsigned vector;  /* 1, 2, 4 */
    uint64_t align;   /* bytes; 0: not given */
    bool is_array;
    uint64_t *dims; /* 0 for an unsized dimension */
    unsigned dim_count;
    Init *inits;
    unsigned init_count;
    bool is_parameter;
    bool is_ptr; /* .ptr of an entry parameter */
    Space ptr_space;
    uint64_t ptr_align;
    bool managed;
    bool unified;
    uint64_t unified_id[2];
    Function *function; /* NULL at module scope */
    uint32_t reg;       /* SPACE_REG: its RegId in the function */
    int const_bank;     /* .const[N]; -1: none */
};
uint64_t variable_bytes(const Variable *variable); /* size of the whole variable; 0 when unsized */

/* ==== Operands ==================================================================================================== */

typedef enum OperandKind {
    OPERAND_REG,       /* ref; with 'constant' set: REG+CONST */
    OPERAND_SREG,      /* sreg */
    OPERAND_CONSTANT,  /* constant */
    OPERAND_SYMBOL,    /* a variable's address, a function, a label, a table; with 'constant' set: SYMBOL+CONST */
    OPERAND_SINK,      /* _ */
    OPERAND_VECTOR,    /* { items } */
    OPERAND_PAIR,      /* items[0] | items[1] */
    OPERAND_ADDRESS,   /* [ items[0] + constant ]; items[0] is REG, SYMBOL or CONSTANT */
    OPERAND_COMPOSITE, /* [ items... ] of textures, surfaces, tensors */
    OPERAND_LIST,      /* ( items ) of a call */
} OperandKind;

#define REF_NONE UINT16_MAX

/* Small, for it is what a module is made of: about three for each instruction. */
struct Operand {
    OperandKind kind : 8;
    bool negated : 1;  /* -REG (vmad), and WARP-level etc. where the table allows */
    bool inverted : 1; /* !PRED */
    bool indexed : 1;  /* ADDRESS written VAR[...]; for a constant index 'constant' is already in bytes */
    bool unified : 1;  /* [addr].unified */
    uint16_t ref;      /* REG: index into Inst.refs */
    uint16_t item_count;
    Span span;
    Name selector;      /* ".x", ".b0", ".h10", ".b3210"; NULL */
    Constant *constant; /* NULL if there is none */
    union {
        const Sreg *sreg; /* SREG */
        Symbol symbol;    /* SYMBOL */
        Operand *items;   /* item_count of them; where that is 0, this is not to be read */
    };
};

/* ==== Registers and references ==================================================================================== */

typedef uint32_t RegId;
#define REG_NONE UINT32_MAX

typedef struct Reg {
    Name name;       /* unique within a Body; within a parsed Function scopes may repeat it */
    Type type;       /* as declared */
    uint8_t vector;  /* 1, 2, 4 */
    RegId origin;    /* in SSA: the register this value is a version of; else itself */
    Span span;       /* of the declaration */
} Reg;

typedef enum RefRole {
    REF_USE,
    REF_DEF,
    REF_BOTH, /* read and written by one operand (wgmma accumulators, one element of a vector register); never in SSA */
    REF_TIED, /* SSA only: the old value that a guarded or updated DEF keeps; 'partner' is the DEF's index.  'type' is
               * TYPE_NONE where only the guard keeps it, the access's type where the instruction reads it (REF_BOTH) */
} RefRole;

typedef struct RegRef {
    RegId reg;
    uint8_t role;     /* RefRole */
    uint8_t type;     /* Type in which the instruction accesses it; TYPE_NONE when opaque */
    uint16_t partner; /* TIED: index of the DEF; DEF in SSA: index of its TIED or REF_NONE */
} RegRef;

/* A .loc directive, and what of .pragma stands before an instruction. */
typedef struct Loc {
    uint32_t file, line, column;
    bool inlined; /* ", function_name SYM+N, inlined_at F L C" */
    Name function_name;
    uint64_t function_offset;
    uint32_t at_file, at_line, at_column;
} Loc;

typedef struct Pragma {
    Name *strings; /* without the quotes */
    unsigned count;
} Pragma;

struct Inst {
    Inst *prev, *next; /* within its Block */
    Block *block;
    const Signature *signature;
    const Form *form; /* NULL: opaque */
    Operand *operands;
    RegRef *refs; /* operand references in operand order, then the guard if there is one, then the TIED ones */
    Block **targets; /* body form: bra 1, brx.idx several */
    const Loc *loc;
    const Pragma *pragma; /* body form: printed before it; NULL */
    Span span;
    uint32_t id;         /* scratch for passes */
    uint32_t effects;    /* Effect bits of this very instruction */
    uint16_t ref_count;  /* all of refs */
    uint16_t tied_count; /* the last of them */
    uint16_t guard;      /* index into refs, or REF_NONE */
    uint16_t operand_count;
    uint16_t target_count;
    bool guard_inverted;
    uint8_t sync; /* SyncKind */
};

static inline bool inst_has(const Inst *inst, ModId mod) { return signature_has(inst->signature, mod); }
static inline Opcode inst_op(const Inst *inst) { return inst->signature->op; }
static inline bool inst_is_opaque(const Inst *inst) { return inst->form == NULL; }
/* "ld.global.f32", for messages; in the arena. */
const char *inst_spelling(Arena *arena, const Inst *inst);

/* Chooses the form that fits signature and operands, sets form, effects, sync and the role and type of every ref (refs
 * arrive with 'reg' set and the guard known; 'module' gives registers' types through function->regs).  An unknown
 * opcode makes the instruction opaque and warns, once per spelling; modifiers or operands that fit no form are
 * errors.  False if an error was reported. */
bool inst_bind(Module *module, Function *function, Inst *inst, Diag *diag);

/* A memory access, decoded. */
typedef enum AccessKind { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC, ACCESS_OTHER } AccessKind;
typedef struct Access {
    AccessKind kind;
    Space space;          /* SPACE_NONE: generic */
    const Operand *address; /* OPERAND_ADDRESS; NULL for ACCESS_OTHER */
    unsigned bytes;       /* in all; 0: unknown */
    bool weak;            /* a plain access: neither volatile, nor atomic, nor relaxed/acquire/release */
    bool read_only;       /* .const, entry parameters, ld.global.nc, textures: nothing in the kernel writes there */
} Access;
/* False if the instruction touches no memory.  ld, st, atom, red and their kin are decoded; anything else that reads
 * or writes memory is ACCESS_OTHER with address NULL. */
bool inst_access(const Inst *inst, Access *access);

/* ==== Parsed form ================================================================================================= */

typedef struct RegDecl { /* one .reg statement */
    Type type;
    unsigned vector;
    uint64_t align; /* 0: not given */
    struct RegDeclItem {
        Name name;
        bool is_range;  /* NAME<count> */
        uint64_t count;
    } *items;
    unsigned item_count;
} RegDecl;

typedef enum StmtKind {
    STMT_INST, STMT_LABEL, STMT_OPEN, STMT_CLOSE, /* a nested scope */
    STMT_REGISTERS, STMT_VARIABLE, STMT_LOC, STMT_PRAGMA, STMT_TABLE
} StmtKind;

typedef struct Stmt {
    StmtKind kind;
    Span span;
    union {
        Inst *inst;
        Label *label;
        RegDecl *registers;
        Variable *variable;
        Loc *loc;
        Pragma *pragma;
        Table *table;
    };
} Stmt;

typedef VEC(Stmt) StmtVec;
typedef VEC(Reg) RegVec;

/* Performance-tuning directives of an entry; 0 or count 0: not given. */
typedef struct Tuning {
    unsigned maxnreg;
    unsigned maxntid[3], maxntid_count; /* how many numbers were written; those not written are 1 */
    unsigned reqntid[3], reqntid_count;
    unsigned minnctapersm, maxnctapersm;
    unsigned reqnctapercluster[3], reqnctapercluster_count;
    unsigned maxclusterrank;
    bool explicitcluster, blocksareclusters;
} Tuning;

struct Function {
    Module *module;
    Name name;
    Span span;
    Span text;  /* in the source, from its linkage to its closing brace; empty for a declaration */
    Span braces; /* the last part of it: the body with its braces */
    Linkage linkage;
    bool is_entry;
    bool has_body; /* false: a declaration */
    bool unified;  /* .attribute(.unified(a, b)) */
    uint64_t unified_id[2];
    Prototype prototype;
    Tuning tuning;
    VEC(Pragma) pragmas; /* between the header and the body */
    bool is_text;        /* the body was read and checked, but not kept: no statements, no registers */
    bool is_retuned;     /* 'tuning' is no longer what the source says */
    StmtVec stmts;       /* without the outer braces */
    Span end;            /* of the closing brace */
    RegVec regs;         /* every register used, one entry for each declared name and scope; RegId indexes it */
    Body *body;          /* non-NULL once a pass has taken the function over */
    Function *definition; /* of a declaration: the function defined later, or NULL */
};

typedef enum ItemKind {
    ITEM_VARIABLE, ITEM_FUNCTION, ITEM_FILE, ITEM_SECTION, ITEM_PRAGMA, ITEM_ALIAS, ITEM_VERBATIM
} ItemKind;

typedef struct Item {
    ItemKind kind;
    Span span;
    union {
        Variable *variable;
        Function *function;
        struct {
            uint32_t index;
            Name path;
            bool has_stamp;
            uint64_t timestamp, size;
        } file;
        struct {
            Name name; /* ".debug_info" */
            Name text; /* what stands between the braces, line by line as written */
        } section;
        Pragma *pragma;
        struct {
            Function *alias, *aliasee;
        } alias;
        Name verbatim; /* an @@DWARF line */
    };
} Item;

/* The newest .version whose instructions the table holds; times 10.  In modules of a newer one, what the table does not
 * take is opaque instead of wrong. */
enum { LATEST_VERSION = 90 };

struct Module {
    Arena *arena; /* owns the module */
    Interner *names;
    const Source *source;
    unsigned version;       /* times 10: 90 for 9.0 */
    Name *targets;          /* "sm_90a", "debug", "texmode_independent" ... as written */
    unsigned target_count;
    unsigned address_size; /* 0: not given */
    VEC(Item) items;
    struct SignatureTable *signatures; /* ir/table/ops.c */
    struct ScopeTable *globals;        /* the parser's: names at module scope */
};

/* Whether the module is made for debugging (.target debug): its sections name labels of the code. */
bool module_is_debug(const Module *module);
/* An empty module that owns 'arena'. */
Module *module_new(Arena *arena, Interner *names, const Source *source);
/* The definition if there is one, else a declaration, else NULL. */
Function *module_find_function(const Module *module, const char *name);
Variable *module_find_variable(const Module *module, const char *name);

/* ==== Body form =================================================================================================== */

typedef struct PhiArg {
    Block *pred;
    RegId reg;
} PhiArg;

typedef struct Phi {
    RegId dst;
    VEC(PhiArg) args; /* one for each distinct predecessor */
} Phi;

/* Straight-line code; control leaves at the end only: by the last instruction's targets, to 'fall', or out of the
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
    VEC(Name) end_marks; /* like Block.marks, behind the last instruction */
    Tuning tuning; /* starts as the function's; what is printed */
    struct BodyNames *names; /* ir/body/body_names.c: every name that is taken in the body */
    bool ssa;
};

/* Builds the body form from the statements: nested scopes are flattened (clashing names get a suffix), unreachable
 * blocks are kept out, guarded instructions keep their guards.  Vector registers are taken apart ("%v.x" is "%v_x"),
 * and so are reads of whole special registers; parameters and results in registers are copied at the entry and before
 * returns, by instructions that name them as symbols.  Not in SSA.  NULL, with *reason set, for what the body form
 * cannot say (a branch table that names no label ...).  function->body is not set. */
Body *body_build(Function *function, const char **reason);
void body_free(Body *body);
/* A deep copy with an arena of its own; operand trees, variables and names stay shared with the module. */
Body *body_clone(const Body *body);
/* Makes the function print from 'body' (which it then owns), or, with NULL, from its statements again. */
void function_set_body(Function *function, Body *body);

/* A form that a function could take, to be printed without changing the module. */
typedef struct FunctionForm {
    const Function *function;
    const Body *body;     /* NULL: the function's statements */
    const Tuning *tuning; /* NULL: the body's, or without a body the function's */
    const Variable *added; /* a variable that the form adds to the end of the module; NULL: none */
} FunctionForm;

/* SSA in (pruned; Cytron et al. 1991 over dominance frontiers) and out (Boissinot et al. 2009: copies, then
 * coalescing by congruence classes; the registers' original names survive where live ranges allow).  A register read
 * before any write keeps its own RegId as an undefined value. */
void body_to_ssa(Body *body);
void body_from_ssa(Body *body);

/* Checks everything this header promises: links, edges, preds, phis, single definitions, dominance of uses, types of
 * refs, ties.  A violation is a bug(); 'after' names the pass that ran last. */
void body_verify(const Body *body, const char *after);
/* Successors: fall first, then the distinct targets.  Returns how many; at most 'capacity' are written. */
unsigned block_succs(const Block *block, Block **out, unsigned capacity);
/* Whether the instruction ends its block: a branch, ret or exit, guarded or not. */
bool inst_is_terminator(const Inst *inst);
bool inst_is_call(const Inst *inst);
bool inst_is_branch(const Inst *inst);     /* bra or brx.idx: what has targets */
bool inst_falls_through(const Inst *inst); /* control may go on behind it: not an unguarded branch, ret or exit */
/* A name derived from 'base' ("base", "base_1" ...) that nothing in the body bears; it is taken from now on. */
Name body_unique_name(Body *body, const char *base);

/* -- editing -- */
void body_renumber(Body *body);      /* ids by layout order */
void body_update_preds(Body *body);  /* from fall and targets; also drops phi arguments of vanished predecessors */
void body_remove_unreachable(Body *body);
/* Placed after 'after' in the layout (NULL: at the end); no label, no edges. */
Block *body_add_block(Body *body, Block *after);
RegId body_add_reg(Body *body, Type type, Name base); /* a new register named after 'base', made unique */
RegId body_clone_reg(Body *body, RegId reg); /* same type and origin; the name is derived from the original's */
void inst_append(Block *block, Inst *inst);
void inst_insert_before(Inst *position, Inst *inst);
void inst_insert_after(Inst *position, Inst *inst);
void inst_remove(Inst *inst); /* from its block */
/* A copy with refs and targets of its own, not in any block; operand trees are shared. */
Inst *inst_clone(Body *body, const Inst *inst);
/* A new instruction, bound; not in any block.  'operands' has one letter for each: d REG written, r REG read, !
 * predicate REG read inverted, i constant (int64_t), s special register (const char *), v variable's address
 * (Variable *), a address [REG+offset] (RegId, int64_t), f the bits of a 0f literal (uint32_t), e those of a 0d literal
 * (uint64_t).  inst_build(body, "mad.lo.s32", "drri", d, a, b, (int64_t)4). */
Inst *inst_build(Body *body, const char *spelling, const char *operands, ...);
/* A branch to the block, guarded unless the predicate is REG_NONE; not in any block. */
Inst *inst_build_branch(Body *body, Block *target, RegId predicate, bool inverted);
/* Guards an unguarded instruction in non-SSA form or one without definitions. */
void inst_set_guard(Body *body, Inst *inst, RegId predicate, bool inverted);
/* Lets the instruction name another variable: its trees are copied, its refs stay. */
void inst_replace_symbol(Body *body, Inst *inst, const Variable *from, Variable *to);
/* Lets the instruction, a mov or cvt, read a 32-bit register instead of the special register. */
void inst_replace_special(Body *body, Inst *inst, const Sreg *sreg, RegId reg);
bool inst_uses(const Inst *inst, RegId reg);

/* The listing of the body that -d prints: PTX where PTX can say it, phis as comments. */
void body_dump(const Body *body, Buf *out);

/* ==== Text ======================================================================================================== */

/* One instruction with its guard and semicolon, no indentation, no line end.  Registers are named by 'regs'; a branch
 * of the body form by the labels of its target blocks. */
void inst_print(const Inst *inst, const RegVec *regs, Buf *out);
/* "\t.loc 1 2 3\n" */
void loc_print(const Loc *loc, Buf *out);
/* ".pragma "nounroll";", no line end. */
void pragma_print(const Pragma *pragma, Buf *out);
/* A declaration with its initialiser, no semicolon. */
void variable_print(const Variable *variable, Buf *out);
/* "NAME: .branchtargets A, B;", no line end. */
void table_print(const Table *table, Buf *out);
/* What stands before the body or the semicolon: linkage, signature, tuning directives and pragmas. */
void function_print_header(const Function *function, const Tuning *tuning, Buf *out);
/* What stands between the braces, declarations first.  Without 'locations' no .loc is printed.  A body in SSA form is
 * printed with its phis and tied operands as comments. */
void body_print(const Body *body, bool locations, Buf *out);

#endif
