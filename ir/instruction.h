/* Instructions and what they name: constants, symbols, variables, operands, registers.
 *
 * An instruction's operand trees are immutable and shared by all its clones. Registers, which differ between clones,
 * are in one flat array, Inst.refs; an operand of kind OPERAND_REG holds an index into it. So a pass that renames
 * registers walks refs and never looks at a tree. */
#ifndef PTXOPT_IR_INSTRUCTION_H
#define PTXOPT_IR_INSTRUCTION_H

#include "ir/table.h"

typedef enum ConstantKind { CONSTANT_INT, CONSTANT_F32, CONSTANT_F64, CONSTANT_DECIMAL } ConstantKind;

/* A constant expression, evaluated. CONSTANT_F32 is a 0f literal (bits: 32), CONSTANT_F64 a 0d literal,
 * CONSTANT_DECIMAL a decimal floating-point expression (bits: its double). */
typedef struct Constant {
    ConstantKind kind;
    bool is_unsigned; /* CONSTANT_INT: of type .u64 rather than .s64 */
    uint64_t bits;
    Name spelling; /* as written, blanks normalised; NULL for constants that a pass made */
} Constant;

typedef struct Label {
    Name name;
    Span span;
    struct Stmt *stmt; /* its STMT_LABEL; NULL until it is defined */
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

/* The index of the parameter, from 0; param_count: it is none of these. */
static inline unsigned prototype_param_index(const Prototype *prototype, const Variable *parameter)
{
    unsigned index = 0;
    while (index < prototype->param_count && prototype->params[index] != parameter)
        index++;
    return index;
}

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
    INIT_OPEN, INIT_CLOSE,
    INIT_NUMBERS,  /* a run of decimal integers without a sign: tables have millions */
    INIT_CONSTANT, /* any other number */
    INIT_SYMBOL,
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
            const uint64_t *numbers; /* INIT_NUMBERS */
            unsigned number_count;
        };
        struct {
            Name field, word; /* INIT_FIELD: "addr_mode_0", "wrap" */
        };
    };
} Init;

struct Variable {
    Name name; /* NULL for "_" in a prototype */
    Span span;
    Space space; /* SPACE_REG only for functions' parameters in registers */
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

/* Kept small, because a module has about three for each instruction. */
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
        Operand *items;   /* item_count of them; not to be read if that is 0 */
    };
};

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
    REF_BOTH, /* read and written by the same operand (wgmma accumulators, one element of a vector register); never in
               * SSA */
    REF_TIED, /* SSA only: the old value that a guarded or updated DEF keeps; 'partner' is the DEF's index. 'type' is
               * TYPE_NONE where only the guard keeps it, the access's type where the instruction reads it (REF_BOTH) */
} RefRole;

typedef struct RegRef {
    RegId reg;
    uint8_t role;     /* RefRole */
    uint8_t type;     /* Type in which the instruction accesses it; TYPE_NONE when opaque */
    uint16_t partner; /* TIED: index of the DEF; DEF in SSA: index of its TIED or REF_NONE */
} RegRef;

/* A .loc directive. */
typedef struct Loc {
    uint32_t file, line, column;
    bool inlined; /* ", function_name SYM+N, inlined_at F L C" */
    Name function_name;
    uint64_t function_offset;
    uint32_t at_file, at_line, at_column;
    const struct Loc *at; /* the last .loc before it that names the place it is inlined at; NULL in a function whose
                           * body is not kept */
} Loc;

typedef struct Pragma {
    Name *strings; /* without the quotes */
    unsigned count;
} Pragma;

/* The pragma with which ptxas spills to shared memory (PTX 9.0). */
#define SMEM_SPILLING "enable_smem_spilling"

/* The code that a pragma in a body applies to. */
typedef enum PragmaScope {
    PRAGMA_LOAD,     /* the next load: "used_bytes_mask" */
    PRAGMA_FUNCTION, /* SMEM_SPILLING */
    PRAGMA_BLOCK,    /* the block that follows: "nounroll", "frequency", and all unknown ones */
} PragmaScope;
PragmaScope pragma_scope(const char *text);

struct Inst {
    Inst *prev, *next; /* within its Block */
    Block *block;
    const Signature *signature;
    const Form *form; /* NULL: opaque */
    Operand *operands;
    RegRef *refs; /* those of operands in operand order, then the guard's if there is one, then the TIED ones */
    Block **targets; /* body form: bra 1, brx.idx several */
    const Loc *loc;
    const Pragma *pragma; /* body form: printed before it; NULL */
    Span span;
    uint32_t id;         /* scratch for passes */
    uint32_t replica;    /* coarsening: the number of the original thread that it works for; of several, the first */
    uint32_t effects;    /* Effect bits of this very instruction */
    uint16_t ref_count;  /* all of refs */
    uint16_t tied_count; /* how many of them, the last ones, are TIED */
    uint16_t guard;      /* index into refs, or REF_NONE */
    uint16_t operand_count;
    uint16_t target_count;
    bool guard_inverted;
    bool block_agrees; /* coarsening: a branch that all threads of a block take alike, which the edges do not show */
    uint8_t sync; /* SyncKind */
};

static inline bool inst_has(const Inst *inst, ModId mod) { return signature_has(inst->signature, mod); }
static inline Opcode inst_op(const Inst *inst) { return inst->signature->op; }
static inline bool inst_is_opaque(const Inst *inst) { return inst->form == NULL; }
/* "ld.global.f32", for messages; in the arena. */
const char *inst_spelling(Arena *arena, const Inst *inst);

/* Chooses the form that fits signature and operands, sets form, effects, sync and the role and type of every ref (refs
 * arrive with 'reg' set and the guard known; function->regs gives the registers' types). An unknown opcode makes the
 * instruction opaque and warns, once per spelling; modifiers or operands that fit no form are errors. False if an error
 * was reported. */
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
    bool awaited;         /* read-only, but grids that the kernel waits for may write there before the wait ends; not
                           * set for .const and parameters */
} Access;
/* False if the instruction touches no memory. ld, st, atom, red and their kin are decoded; anything else that reads
 * or writes memory is ACCESS_OTHER with address NULL. */
bool inst_access(const Inst *inst, Access *access);
/* Whether the access orders others, or is one that the whole system sees. */
bool inst_is_ordered(const Inst *inst);
/* Whether the instruction updates memory without a result (red), and orders no other access. */
bool inst_is_relaxed_red(const Inst *inst);
/* Whether two reductions without results (inst_is_relaxed_red) may be executed in any order on the same address; and
 * whether nothing can tell which one was executed, because both do the same with the same constant. */
bool reds_commute(const Inst *a, const Inst *b);
bool reds_are_alike(const Inst *a, const Inst *b);
/* True if the instruction may wait for other grids, as griddepcontrol does, and so change what Access.awaited loads
 * read. */
bool inst_may_await(const Inst *inst);

#endif
