/* The parsed form: Module -> Item -> Function -> flat list of Stmt. Built by the parser, printed back as written. */
#ifndef PTXOPT_IR_PARSED_H
#define PTXOPT_IR_PARSED_H

#include "ir/instruction.h"

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
    const char *controls; /* a file of compiler controls that this form is meant for, which outlives it; NULL: none */
    unsigned knobs; /* assembler options, which no directive can express, that this form is meant for: bits of
                     * opt/registers/moves/knobs.h */
    unsigned maxnreg;
    unsigned maxntid[3], maxntid_count; /* the numbers written; those not written are 1 */
    unsigned reqntid[3], reqntid_count;
    unsigned minnctapersm, maxnctapersm;
    unsigned reqnctapercluster[3], reqnctapercluster_count;
    unsigned maxclusterrank;
    bool explicitcluster, blocksareclusters;
} Tuning;
/* The registers of each thread at launch, as ptxas 13.0 chooses them for a kernel with setmaxnreg, on an SM with 65536:
 * what the directives allow, or the most that a setmaxnreg.inc requests, if that is less. 0: it ignores setmaxnreg
 * (C7508). 'most': the most that one requests; 0: none does. */
unsigned tuning_registers(const Tuning *tuning, unsigned most);

struct Function {
    Module *module;
    Name name;
    Span span;
    Span text;  /* in the source, from its linkage to its closing brace or, of a declaration, its ';' */
    Span braces; /* the body with its braces, the last part of 'span' */
    Linkage linkage;
    bool is_entry;
    bool has_body; /* false: a declaration */
    bool unified;  /* .attribute(.unified(a, b)) */
    uint64_t unified_id[2];
    Prototype prototype;
    Tuning tuning;
    VEC(Pragma) pragmas; /* between the header and the body */
    bool is_text;        /* the body was checked but not stored: no statements, no registers */
    bool is_retuned;     /* a pass has changed 'tuning' */
    StmtVec stmts;       /* without the outer braces */
    Span end;            /* of the closing brace */
    RegVec regs;         /* every register used, one entry for each name and scope; RegId indexes it */
    Body *body;          /* the body form; NULL until the function is converted to it */
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
            Name text; /* the text between the braces, line by line as written */
        } section;
        Pragma *pragma;
        struct {
            Function *alias, *aliasee;
        } alias;
        Name verbatim; /* an @@DWARF line */
    };
} Item;

/* The newest .version that is known, with its targets, times 10. */
enum { LATEST_VERSION = 95 };

struct Module {
    Arena *arena; /* owns the module */
    Interner *names;
    const Source *source;
    unsigned version;       /* times 10: 90 for 9.0 */
    Name *targets;          /* "sm_90a", "debug", "texmode_independent" ... as written */
    unsigned target_count;
    unsigned address_size; /* 0: not given */
    VEC(Item) items;
    struct SignatureTable *signatures; /* ir/table/signature.c */
    struct ScopeTable *globals;        /* the parser's: names at module scope */
};

/* True if registers of 32 bits may hold global and generic addresses. Before PTX 2.3, which brought .address_size, a
 * module does not say which size its addresses have. */
static inline bool module_allows_32_bit_addresses(const Module *module)
{
    return module->address_size ? module->address_size == 32 : module->version < 23;
}
/* True if the module is made for debugging (.target debug), so that its sections name labels in the code. */
bool module_is_debug(const Module *module);
/* An empty module that owns 'arena'. */
Module *module_new(Arena *arena, Interner *names, const Source *source);
/* The definition if there is one, else a declaration, else NULL. */
Function *module_find_function(const Module *module, const char *name);
Variable *module_find_variable(const Module *module, const char *name);

#endif
