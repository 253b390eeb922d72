/* What the grammar (ptx.y) and the files of the parser share.
 *
 * Grammar actions call the functions below in the order of the text.  What is being put together (an instruction, a
 * declaration, an initialiser) is collected in the Parser and copied into the module's arena at its exact size when
 * it is complete; the scratch arena dies with the parse.  After an error the module is thrown away, so that from
 * then on a function need not leave anything meaningful behind, only nothing that a later one would trip over. */
#ifndef PTXOPT_PARSER_INTERNAL_H
#define PTXOPT_PARSER_INTERNAL_H

#include "ir/ir.h"
#include "lexer/lexer.h"
#include "parser/parser.h"

/* ---- Constants --------------------------------------------------------------------------------------------------- */

/* A constant expression while it is being evaluated. */
typedef struct ConstantValue {
    uint64_t bits;
    uint8_t kind; /* ConstantKind */
    bool is_unsigned;
    bool parenthesised; /* the whole of it stands in parentheses */
    bool bad;           /* an error in it has been reported */
} ConstantValue;

/* ---- Scopes ------------------------------------------------------------------------------------------------------ */

typedef enum BindingKind {
    BINDING_REGISTER,
    BINDING_VARIABLE,
    BINDING_FUNCTION,
    BINDING_LABEL,
    BINDING_TABLE,
    BINDING_BAD, /* an unknown name that has been reported: further uses are silent */
} BindingKind;

typedef struct NameEntry NameEntry;

/* What a name means in one scope. */
typedef struct Binding {
    NameEntry *entry;
    struct Binding *hidden;     /* the same name's meaning in an outer scope */
    struct Binding *scope_next; /* the scope's other bindings */
    uint32_t depth;
    BindingKind kind;
    bool aliased; /* FUNCTION: .alias defines it */
    Span span;
    union {
        struct {
            RegId reg; /* REG_NONE until it is used */
            Type type;
            uint8_t vector;
        };
        Variable *variable;
        Function *function;
        Label *label;
        Table *table;
    };
} Binding;

/* A range PREFIX<count> of registers. */
typedef struct RangeBinding {
    NameEntry *entry;
    struct RangeBinding *hidden;
    struct RangeBinding *scope_next;
    uint32_t depth;
    uint64_t count;
    Type type;
    uint8_t vector;
    Span span;
} RangeBinding;

typedef struct PendingLabel PendingLabel;

/* All that is known by one name; NameHead.slot leads to it. */
struct NameEntry {
    Name name;
    NameEntry *next; /* in the order in which names were met */
    Binding *top;
    RangeBinding *range; /* of which this name is the prefix */
    NameEntry *prefix;   /* of the range that this name was found in last, and its number there; NULL: in none so far */
    uint64_t number;
    PendingLabel *uses;  /* latest first */
    const Signature *signature; /* of the instruction that is spelled so; NULL: not looked for yet */
    /* The special register NAME, or NAME SELECTOR, that was found last. */
    const Sreg *sreg;
    Name sreg_selector;
    /* The lowest number N, and the scope, for which PREFIX N was declared by itself: a later range may not cover it. */
    uint32_t exact_depth;
    uint32_t exact_serial; /* of the scope */
    uint64_t exact_number;
};

typedef struct Scope {
    Binding *bindings;
    RangeBinding *ranges;
    uint32_t range_depth; /* the depth of the innermost scope, up to this one, that declares ranges; 0: none */
    uint32_t position;    /* uses of labels with this number or a higher one lie in this scope */
    Span open;            /* its brace */
} Scope;

typedef struct ScopeTable {
    NameEntry *entries, **last_entry;
    bool has_digit_prefix; /* some range's prefix ended with a digit: "%r1<5>" */
    VEC(Scope) scopes;  /* scopes.data[0] is the module */
    uint32_t position;
    VEC(NameEntry *) used_labels; /* names with uses that wait for a label, some of them more than once */
    PendingLabel *free_pending; /* for use again */
    Binding *free_bindings;
} ScopeTable;

/* ---- The parser -------------------------------------------------------------------------------------------------- */

typedef union Value {
    TokenValue token;
    ConstantValue constant;
    unsigned count;
    Name name;
} Value;

/* The directives that the word table folds into one token each. */
typedef enum DirectiveWord {
    DIRECTIVE_MAXNREG,
    DIRECTIVE_MINNCTAPERSM,
    DIRECTIVE_MAXNCTAPERSM,
    DIRECTIVE_MAXCLUSTERRANK,
    DIRECTIVE_MAXNTID,
    DIRECTIVE_REQNTID,
    DIRECTIVE_REQNCTAPERCLUSTER,
    DIRECTIVE_EXPLICITCLUSTER,
    DIRECTIVE_BLOCKSARECLUSTERS,
    DIRECTIVE_NORETURN,
    DIRECTIVE_ABI_PRESERVE,
    DIRECTIVE_ABI_PRESERVE_CONTROL,
    DIRECTIVE_COUNT
} DirectiveWord;

/* The specifiers of the declaration being read. */
typedef struct Declaration {
    Span span;
    Linkage linkage;
    Span linkage_span;
    Space space;
    Span space_span;
    int const_bank;
    uint64_t align;
    Span align_span;
    unsigned vector;
    Type type;
    Span type_span;
    bool is_ptr;
    Span ptr_span;
    Space ptr_space;
    uint64_t ptr_align;
    bool managed, unified;
    Span attribute_span;
    uint64_t unified_id[2];
    /* of the declarator at hand */
    Span range_span;
    bool is_range;
    uint64_t range;
    VEC(uint64_t) dims;
    Span dims_span;
    bool has_init;
    Span init_span;
    bool open;     /* its end has not been read */
    bool reported; /* what is wrong with all names of the declaration */
    VEC(struct RegDeclItem) items; /* of a .reg statement */
} Declaration;

typedef struct Token {
    int kind;
    TokenValue value;
    Span span;
} Token;

typedef VEC(Operand) OperandVec;
typedef VEC(RegRef) RefVec;
typedef VEC(Name) NameVec;
typedef VEC(Init) InitVec;
typedef VEC(Variable *) VariableVec;

typedef struct Parser {
    Module *module;
    const ParseOptions *options;
    Arena *arena; /* of what is being read: one of the next two */
    Arena *module_arena;
    Arena *body_arena; /* for the body of a function that is not kept; emptied behind it */
    Arena *loose_arena; /* for an instruction of such a function; emptied behind it */
    Arena *inst_arena;  /* of the instruction that is being read */
    Arena *scratch; /* dies with the parse */
    Interner *names;
    const Source *source;
    Diag *diag;
    Lexer *lexer;
    ScopeTable scope_table;

    /* header */
    bool has_target;
    unsigned sm; /* the highest of the targets */
    bool texmode_independent, texmode_unified;
    Span debug_span; /* of the target option 'debug'; empty if there is none */
    bool has_section;
    struct FileIndex *files;    /* of .file, uthash */
    struct Location *locations; /* of .loc, uthash */

    /* tokens: see recover.c */
    int last_kind; /* what the grammar got last */
    Span last_span;
    const Value *last_value; /* bison's own copy */
    unsigned loc_tokens; /* so many tokens, up to the last, are ".loc" and integers */
    uint32_t last_error; /* where the last syntax error ends */
    PlainInst plain; /* of the last INSTRUCTION */
    Token queue[2]; /* to be delivered before anything else */
    unsigned queued;
    unsigned closers;       /* '}' to be delivered even before those */
    unsigned implied_close; /* how many of them the text did not hold */
    unsigned items_depth;   /* unclosed '{' of operands and initialisers */
    unsigned skip_depth;    /* unclosed '{' in text that is being skipped at module scope */
    bool skipping;
    bool skip_to_item;      /* what is being skipped are statements at module scope: a ';' or '}' is not their end */
    bool drop_semicolon;    /* the next token, if it is one */
    bool lost_in_function;  /* a declaration that could not be read: an unknown name may be one of its */
    bool lost_in_module;

    /* the declaration at hand */
    Declaration decl;
    InitVec inits;
    VEC(Span) init_spans;
    bool init_bad; /* an error in it has been reported */

    /* the function at hand */
    Function *function; /* NULL at module scope */
    int cta_group;      /* 1 or 2: the .cta_group of its instructions; 0: none so far */
    bool in_body;
    bool function_bad; /* not worth entering into the module */
    StmtVec stmts;
    RegVec regs;
    VEC(Pragma) pragmas;
    VariableVec params;
    Prototype *prototype; /* where parameters go: the function's or a .callprototype's */
    Span directive_spans[DIRECTIVE_COUNT]; /* empty: not given */

    /* the instruction at hand */
    Span opcode_span;
    Name opcode;
    NameVec mods;
    const Signature *signature;
    OperandVec operands;
    RefVec refs;
    bool bad;          /* an error in it has been reported */
    bool is_branch, is_call, uses_tables;
    bool uses_labels; /* an operand may name a label that is not yet defined */
    bool guarded, guard_inverted;
    RegId guard;
    Span guard_span;
    VEC(uint64_t) numbers;   /* of a directive */
    NameVec strings;         /* of a .pragma; the targets */
    VEC(Token) table_names;  /* of .branchtargets and .calltargets */
    Prototype table_prototype;

    Constant *constants[256]; /* a cache, by spelling */
    const Loc *last_loc;
} Parser;

/* ptx.y, generated: 0 parsed to the end, 1 given up. */
int ptx_parse(Parser *parser);

/* ---- recover.c: between scanner and grammar ---- */
int ptx_next_token(Parser *parser, Value *value, Span *span);
/* Reports a syntax error at the last token, and prepares to go on behind it.  'expected' holds the grammar's names
 * of the tokens that could have stood there. */
void parser_syntax_error(Parser *parser, Span span, const char *const *expected, size_t count);
/* Called by the grammar's error rules once what stood at the error is behind: in a body, and at module scope, where a
 * function that was begun is dropped. */
void parser_recovered(Parser *parser);
void parser_recovered_item(Parser *parser);
extern const Word parser_words[];
extern const size_t parser_word_count;

/* ---- header.c ---- */
void header_version(Parser *parser, Span number);
void header_target(Parser *parser, Name name, Span span);
void header_target_end(Parser *parser);
void header_address_size(Parser *parser, uint64_t bits, Span span);
/* Reports a feature that needs a newer .version or .target; 'minimum_sm' 0: none. */
bool header_require(Parser *parser, Span span, const char *feature, unsigned version, unsigned minimum_sm);

/* ---- scope.c ---- */
void scope_table_init(Parser *parser);
/* The name's entry, made at its first use. */
NameEntry *scope_entry(Parser *parser, Name name);
void scope_push(Parser *parser, Span open);
void scope_pop(Parser *parser);
static inline uint32_t scope_depth(const Parser *parser)
{
    return (uint32_t)parser->scope_table.scopes.count - 1;
}
/* Looks for the name, which 'binding' (NULL: nothing) is the innermost meaning of, in the ranges of nearer scopes. */
Binding *scope_find_in_ranges(Parser *parser, Name name, Binding *binding);
/* NULL if the name means nothing here; special registers are no bindings. */
static inline Binding *scope_find(Parser *parser, Name name)
{
    const NameEntry *entry = name_head(name)->slot;
    Binding *binding = entry ? entry->top : NULL;
    if (VEC_LAST(parser->scope_table.scopes).range_depth <= (binding ? binding->depth : 0))
        return binding;
    return scope_find_in_ranges(parser, name, binding);
}
/* Binds a name in the innermost scope.  NULL, reported, if the scope already has it. */
Binding *scope_declare(Parser *parser, Name name, Span span, BindingKind kind);
/* What the name means at module scope, hidden or not. */
Binding *scope_find_global(Name name);
bool scope_declare_range(Parser *parser, Name prefix, uint64_t count, Type type, unsigned vector, Span span);
/* The register's number in the function; made at its first use. */
RegId scope_new_register(Parser *parser, Binding *binding);
static inline RegId scope_register(Parser *parser, Binding *binding)
{
    return binding->reg == REG_NONE ? scope_new_register(parser, binding) : binding->reg;
}
/* Reports an unknown name with the closest known one, once for each name. */
void scope_report_unknown(Parser *parser, Name name, Span span, const char *what);
/* A use of the label 'name', whose Label goes to *place once it is known which of that name is meant; until then
 * *place, or a new one if that is NULL, stands for it. */
void scope_use_label(Parser *parser, Name name, Span span, Label **place);
void scope_define_label(Parser *parser, Label *label);
/* At the end of a function: reports labels that were never defined. */
void scope_resolve_labels(Parser *parser);
void scope_forget_labels(Parser *parser);

/* ---- constant.c ---- */
ConstantValue constant_integer(uint64_t bits, bool is_unsigned);
ConstantValue constant_literal(ConstantKind kind, uint64_t bits);
ConstantValue constant_unary(Parser *parser, int operation, ConstantValue operand, Span span);
ConstantValue constant_binary(Parser *parser, int operation, ConstantValue left, ConstantValue right, Span span);
ConstantValue constant_select(Parser *parser, ConstantValue condition, ConstantValue left, ConstantValue right,
                              Span span);
ConstantValue constant_cast(Parser *parser, Type type, ConstantValue operand, Span span);
/* The constant with its spelling, by value, which is for one that nothing shares; a spelling that printing the value
 * gives is left out. */
Constant constant_value(Parser *parser, ConstantValue value, Span span);
/* The constant with its spelling; 'span' is its text. */
Constant *constant_new(Parser *parser, ConstantValue value, Span span);
/* Reports a value that is no integer. */
bool constant_is_integer(Parser *parser, ConstantValue value, Span span);

/* Bytes that a function's parameter may be aligned to. */
#define MOST_PARAMETER_ALIGN 128

/* ---- declare.c ---- */
void declaration_begin(Parser *parser, Span span);
void declaration_linkage(Parser *parser, Linkage linkage, Span span);
void declaration_align(Parser *parser, uint64_t bytes, Span span);
/* ".align" between the type and the name of a parameter. */
void declaration_late_align(Parser *parser, uint64_t bytes, Span span);
void declaration_attribute(Parser *parser, Name name, unsigned numbers, uint64_t first, uint64_t second, Span span);
void declaration_dim(Parser *parser, uint64_t size, bool given, Span span);
void declaration_ptr(Parser *parser, Span span);
void declarator_begin(Parser *parser);
void declare_name(Parser *parser, Name name, Span span);
void declaration_end(Parser *parser, Span span);
/* A parameter in an entry's, a function's or a prototype's list; 'name' NULL for '_'. */
void declare_parameter(Parser *parser, Name name, Span span);

/* ---- initializer.c ---- */
void init_push_constant(Parser *parser, ConstantValue value, Span span);
void init_push_symbol(Parser *parser, Name name, Span span, const ConstantValue *offset, Span offset_span);
void init_push_call(Parser *parser, Name function, Span function_span, Name name, Span span,
                    const ConstantValue *offset, Span offset_span);
void init_mask_last(Parser *parser, uint64_t mask, Span span);
void init_push_field(Parser *parser, Name field, Span span, Name word, Span word_span, const ConstantValue *value);
void init_open(Parser *parser, Span span);
void init_close(Parser *parser, Span span);
void init_begin(Parser *parser);
/* Checks the initialiser against the variable's type and size, sizes a first [] by it, and moves it to the variable. */
void init_finish(Parser *parser, Variable *variable, Span span);

/* ---- function.c ---- */
void function_begin(Parser *parser, bool is_entry, Span span);
void function_name(Parser *parser, Name name, Span span);
void function_returns_end(Parser *parser);
void function_params_end(Parser *parser);
void function_directive(Parser *parser, DirectiveWord word, Span span);
void function_pragma(Parser *parser, Span span);
void function_header_end(Parser *parser, bool has_body, Span open);
void function_end(Parser *parser, Span close);
void function_abandon(Parser *parser);
void function_declared(Parser *parser);
void function_attributes(Parser *parser);
void prototype_begin(Parser *parser);
void prototype_attribute(Parser *parser, DirectiveWord word, Span span);
/* Reports, at 'span', parameters or return values in which the two functions differ. */
void prototype_check(Parser *parser, const Function *function, const Function *earlier, Span span);
/* The alignment of a parameter in memory: the one given, else that of its type. */
uint64_t parameter_alignment(const Variable *variable);

/* ---- module.c ---- */
void module_file(Parser *parser, const Token *index, Name path, unsigned stamps, uint64_t time, uint64_t size,
                 Span span);
void module_section(Parser *parser, Name name, Span body, Span span);
void module_pragma(Parser *parser, Span span);
void module_alias(Parser *parser, const Token *alias, const Token *aliasee, Span span);
void module_dwarf_line(Parser *parser, Span span);
void module_end(Parser *parser);
void module_free_tables(Parser *parser);
/* A pragma of the strings collected last. */
Pragma *pragma_new(Parser *parser);
Item *module_add_item(Parser *parser, ItemKind kind, Span span);

/* ---- statement.c ---- */
void statement_add(Parser *parser, Stmt stmt);
void statement_guard(Parser *parser, Name name, bool inverted, Span span);
/* An opcode, with or without modifiers ("add.s32"); those that stand apart are in Parser.mods when its signature is
 * looked for. */
void statement_begin(Parser *parser, Name opcode, Span span);
void statement_signature(Parser *parser);
void statement_end(Parser *parser, Span span);
/* All of that for Parser.plain, which stands at 'span', and for those plain instructions that follow it; the end of the
 * last. */
uint32_t statement_plain(Parser *parser, Span span);
void statement_label(Parser *parser, Name name, Span span);
void statement_table(Parser *parser, TableKind kind, Name name, Span name_span, Span span);
void statement_loc(Parser *parser, const uint64_t *place, Span span);
void statement_loc_inlined(Parser *parser, const uint64_t *place, const Token *words, uint64_t offset,
                           const uint64_t *at, Span span);
void statement_pragma(Parser *parser, Span span);
void statement_free_tables(Parser *parser);

/* ---- operand.c: each pushes one operand or folds the last ones into one ---- */
void operand_reference(Parser *parser, Name name, Span name_span, Name selector, Span span);
/* "v.x": a name with its selector. */
void operand_qualified(Parser *parser, Name name, Span span);
void operand_sum(Parser *parser, Name name, Span name_span, ConstantValue offset, Span offset_span, Span span);
void operand_constant(Parser *parser, ConstantValue value, Span span);
void operand_sink(Parser *parser, Span span);
void operand_negate(Parser *parser, Span span);
void operand_invert(Parser *parser, Span span);
void operand_fold(Parser *parser, OperandKind kind, unsigned count, Span span);
void operand_bracketed(Parser *parser, unsigned count, Span span);
void operand_unified(Parser *parser, Name word, Span span);
void operand_indexed(Parser *parser, Name name, Span name_span, bool has_register, const ConstantValue *offset,
                     Span offset_span, Span span);

void operand_plain(Parser *parser, const PlainOperand *plain);

/* ---- call.c ---- */
/* Checks what the instruction table cannot say about calls, branches and the staging of call parameters.  False if
 * an error was reported. */
bool control_check(Parser *parser, const Inst *inst);

#endif
