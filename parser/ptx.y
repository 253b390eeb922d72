/* The grammar of PTX modules. It knows directives but no opcode: an instruction is a name with dotted modifiers and
 * operands, which the instruction table checks.
 *
 * Nested scopes, parentheses and initial values are kept on bison's own stack, which grows on the heap up to
 * YYMAXDEPTH. */
%require "3.8"
%define api.pure full
%define api.prefix {ptx_}
%define api.token.prefix {T_}
%define api.value.type {Value}
%define api.location.type {Span}
%define parse.error custom
%define lr.default-reduction consistent
/* Counted by bison, and read by nothing: clang warns. */
%initial-action { (void)yynerrs; }
%locations
%expect 0
%param { Parser *parser }

%code requires {
#include "parser/internal.h"
}

%code {
#define YYMAXDEPTH 2000000
#define YYLLOC_DEFAULT(current, rhs, n)                                                                                \
    do {                                                                                                               \
        if (n) {                                                                                                       \
            (current).begin = YYRHSLOC(rhs, 1).begin;                                                                  \
            (current).end = YYRHSLOC(rhs, n).end;                                                                      \
        } else {                                                                                                       \
            (current).begin = (current).end = YYRHSLOC(rhs, 0).end;                                                    \
        }                                                                                                              \
    } while (0)

/* The scanner does not know the grammar and numbers its tokens itself. */
#define X(name, text) _Static_assert((int)T_##name == (int)TOKEN_##name, #name);
TOKEN_LIST(X)
#undef X
_Static_assert((int)T_TYPE == (int)TOKEN_FIRST_WORD, "the scanner's tokens end where the words begin");

static int ptx_lex(Value *value, Span *span, Parser *parser)
{
    return token_next(parser, value, span);
}

/* Bison calls this only when its stack is exhausted. */
static void ptx_error(const Span *span, Parser *parser, const char *message)
{
    (void)message;
    diag_error(parser->diag, *span, "this is nested too deeply");
}
}

/* The scanner's tokens, in the order of TOKEN_LIST. */
%token <token>
    IDENTIFIER "a name"
    QUALIFIED "an instruction"
    SINK "'_'"
    WARP_SIZE "'WARP_SZ'"
    INTEGER "an integer"
    DECIMAL "a floating-point number"
    F32_BITS "a 0f literal"
    F64_BITS "a 0d literal"
    STRING "a string"
    DOTTED "a modifier"
    SHIFT_LEFT "'<<'"
    SHIFT_RIGHT "'>>'"
    LESS_EQUAL "'<='"
    GREATER_EQUAL "'>='"
    EQUAL "'=='"
    NOT_EQUAL "'!='"
    AND "'&&'"
    OR "'||'"
    SECTION "'.section'"
    SECTION_NAME "a section name"
    SECTION_BODY "a section's body"
    DWARF_LINE "an @@DWARF line"
    INSTRUCTION "a whole instruction"
    LABEL "a label"

/* The words of the table in word.c. */
%token <token>
    TYPE "a type"
    SPACE "a state space"
    REG "'.reg'"
    VECTOR "a vector size"
    LINKAGE "a linkage"
    VERSION "'.version'"
    TARGET "'.target'"
    ADDRESS_SIZE "'.address_size'"
    ENTRY "'.entry'"
    FUNC "'.func'"
    FILE_INDEX "'.file'"
    LOC "'.loc'"
    PRAGMA "'.pragma'"
    ALIAS "'.alias'"
    ALIGN "'.align'"
    ATTRIBUTE "'.attribute'"
    PTR "'.ptr'"
    BRANCHTARGETS "'.branchtargets'"
    CALLTARGETS "'.calltargets'"
    CALLPROTOTYPE "'.callprototype'"
    LIMIT "a limit"
    SHAPE "a shape"
    FLAG "a flag"
    NORETURN "'.noreturn'"
    ABI "'.abi_preserve'"

/* Made by token.c and recovery.c: the end of a list in braces, and the place where parsing resumes. */
%token
    ITEMS_CLOSE "'}' of a list"
    SYNC "a new beginning"

%type <constant> expression
%type <count> items several address_items

%right '?' ':'
%left OR
%left AND
%left '|'
%left '^'
%left '&'
%left EQUAL NOT_EQUAL
%left '<' '>' LESS_EQUAL GREATER_EQUAL
%left SHIFT_LEFT SHIFT_RIGHT
%left '+' '-'
%left '*' '/' '%'
%precedence UNARY

%%

module:
    header module_items                 { module_end(parser); }
;

header:
    version target address_size
;

version:
    VERSION DECIMAL                     { header_version(parser, @2); }
;

target:
    TARGET target_words                 { header_target_end(parser); }
;

target_words:
    target_word
|   target_words ',' target_word
;

target_word:
    IDENTIFIER                          { header_target(parser, $1.name, @1); }
;

address_size:
    %empty
|   ADDRESS_SIZE INTEGER                { header_address_size(parser, $2.bits, @2); }
;

module_items:
    %empty
|   module_items item
;

item:
    function
|   linkage variable ';'                { declaration_end(parser, @$); }
|   FILE_INDEX INTEGER STRING           { module_file(parser, &(Token){0, $2, @2}, $3.name, 0, 0, 0, @$); }
|   FILE_INDEX INTEGER STRING ',' INTEGER
                                        { module_file(parser, &(Token){0, $2, @2}, $3.name, 1, $5.bits, 0, @$); }
|   FILE_INDEX INTEGER STRING ',' INTEGER ',' INTEGER
                                        { module_file(parser, &(Token){0, $2, @2}, $3.name, 2, $5.bits, $7.bits, @$); }
|   SECTION SECTION_NAME SECTION_BODY   { module_section(parser, $2.name, @3, @$); }
|   pragma                              { module_pragma(parser, @$); }
|   ALIAS IDENTIFIER ',' IDENTIFIER ';' { module_alias(parser, &(Token){0, $2, @2}, &(Token){0, $4, @4}, @$); }
|   DWARF_LINE                          { module_dwarf_line(parser, @1); }
|   error ';'                           { recovery_end_item(parser); yyerrok; }
|   error '}'                           { recovery_end_item(parser); yyerrok; }
|   error SYNC                          { recovery_end_item(parser); yyerrok; }
;

linkage:
    %empty                              { declaration_begin(&parser->decl); }
|   LINKAGE                             { declaration_begin(&parser->decl);
                                          declaration_linkage(parser, (Linkage)$1.word, @1); }
;

pragma:
    PRAGMA strings ';'
;

strings:
    STRING                              { parser->lists.strings.count = 0;
                                          VEC_PUSH(parser->scratch, parser->lists.strings, $1.name); }
|   strings ',' STRING                  { VEC_PUSH(parser->scratch, parser->lists.strings, $3.name); }
;

variable:
    qualifiers storage qualifiers vector type declarators
|   qualifiers storage qualifiers vector type
;

qualifiers:
    %empty
|   qualifiers ALIGN INTEGER            { declaration_align(parser, $3.bits, @3); }
|   qualifiers ATTRIBUTE '(' attributes ')'
;

attributes:
    attribute
|   attributes ',' attribute
;

attribute:
    DOTTED                              { declaration_attribute(parser, $1.name, 0, 0, 0, @1); }
|   DOTTED '(' INTEGER ',' INTEGER ')'  { declaration_attribute(parser, $1.name, 2, $3.bits, $5.bits, @$); }
;

storage:
    SPACE                               { parser->decl.space = (Space)$1.word; parser->decl.space_span = @1; }
|   SPACE '[' INTEGER ']'               { parser->decl.space = (Space)$1.word; parser->decl.space_span = @$;
                                          parser->decl.const_bank = $3.bits > 10 ? 11 : (int)$3.bits; }
|   REG                                 { parser->decl.space = SPACE_REG; parser->decl.space_span = @1; }
;

vector:
    %empty
|   VECTOR                              { parser->decl.vector = (unsigned)$1.word; }
;

type:
    TYPE                                { parser->decl.type = (Type)$1.word; parser->decl.type_span = @1; }
;

declarators:
    declarator
|   declarators ',' declarator
;

declarator:
    declarator_name range dims initializer
                                        { declarator_end(parser, @1); }
;

declarator_name:
    IDENTIFIER                          { declarator_begin(parser, $1.name); }
;

range:
    %empty
|   '<' INTEGER '>'                     { declarator_range(&parser->decl.declarator, $2.bits, @$); }
|   '<' WARP_SIZE '>'                   { declarator_range(&parser->decl.declarator, 32, @$); }
;

dims:
    %empty
|   dims_given
;

dims_given:
    '[' INTEGER ']'                     { declaration_dim(parser, $2.bits, true, @$); }
|   '[' ']'                             { declaration_dim(parser, 0, false, @$); }
|   dims_given '[' INTEGER ']'          { declaration_dim(parser, $3.bits, true, @$); }
;

initializer:
    %empty
|   '=' init                            { declarator_init(&parser->decl.declarator, @2); }
;

init:
    expression                          { init_push_constant(parser, $1, @1); }
|   init_symbol
|   INTEGER '(' init_symbol ')'         { init_mask_last(parser, $1.bits, @1); }
|   init_open init_list init_close
|   init_open init_close
;

init_open:
    '{'                                 { parser->tokens.items_depth++;
                                          parser->tokens.in_values = true;
                                          init_open(parser, @1); }
;

init_close:
    ITEMS_CLOSE                         { init_close(parser, @1); }
;

init_list:
    init_element
|   init_list ',' init_element
;

init_element:
    init
|   IDENTIFIER '=' IDENTIFIER           { init_push_field(parser, $1.name, @1, $3.name, @3, NULL); }
|   IDENTIFIER '=' expression           { init_push_field(parser, $1.name, @1, NULL, @3, &$3); }
;

init_symbol:
    IDENTIFIER                          { init_push_symbol(parser, $1.name, @1, NULL, @1); }
|   IDENTIFIER '+' expression           { init_push_symbol(parser, $1.name, @1, &$3, @3); }
|   IDENTIFIER '(' IDENTIFIER ')'       { init_push_call(parser, $1.name, @1, $3.name, @3, NULL, @3); }
|   IDENTIFIER '(' IDENTIFIER ')' '+' expression
                                        { init_push_call(parser, $1.name, @1, $3.name, @3, &$6, @6); }
;

function:
    function_header ';'                 { function_header_end(parser, false, @2); function_declared(parser); }
|   function_header body_open statements '}'
                                        { function_end(parser, @4); }
|   function_header body_open statements error '}'
                                        { recovery_end(parser); yyerrok; function_end(parser, @5); }
;

body_open:
    '{'                                 { function_header_end(parser, true, @1); }
;

function_header:
    entry_start function_name parameters directives
|   func_start attribute_opt returns function_name parameters directives
;

entry_start:
    linkage ENTRY                       { function_begin(parser, true, @2); }
;

func_start:
    linkage FUNC                        { function_begin(parser, false, @2); }
;

attribute_opt:
    %empty
|   ATTRIBUTE '(' attributes ')'        { function_attributes(parser); }
;

function_name:
    IDENTIFIER                          { function_name(parser, $1.name, @1); }
;

returns:
    %empty                              { prototype_returns_end(parser); }
|   '(' ')'                             { prototype_returns_end(parser); }
|   '(' parameter_list ')'              { prototype_returns_end(parser); }
;

parameters:
    %empty                              { prototype_params_end(parser); }
|   '(' ')'                             { prototype_params_end(parser); }
|   '(' parameter_list ')'              { prototype_params_end(parser); }
;

parameter_list:
    parameter
|   parameter_list ',' parameter
;

parameter:
    parameter_start qualifiers vector type pointer IDENTIFIER dims
                                        { parameter_declare(parser, $6.name, @6); }
|   parameter_start qualifiers vector type pointer SINK dims
                                        { parameter_declare(parser, NULL, @6); }
;

parameter_start:
    parameter_clear storage
;

parameter_clear:
    %empty                              { declaration_begin(&parser->decl);
                                          declarator_begin(parser, NULL); }
;

pointer:
    %empty
|   ALIGN INTEGER                       { declaration_late_align(parser, $2.bits, @$); }
|   PTR pointer_space                   { declaration_ptr(parser, @1); }
|   PTR pointer_space ALIGN INTEGER     { declaration_ptr(parser, @1); declaration_align(parser, $4.bits, @4); }
;

pointer_space:
    %empty                              { parser->decl.ptr_space = SPACE_NONE; }
|   SPACE                               { parser->decl.ptr_space = (Space)$1.word; }
;

directives:
    %empty
|   directives directive
;

directive:
    LIMIT INTEGER                       { parser->lists.numbers.count = 0;
                                          VEC_PUSH(parser->scratch, parser->lists.numbers, $2.bits);
                                          directive_add(parser, (DirectiveWord)$1.word, @$); }
|   SHAPE numbers                       { directive_add(parser, (DirectiveWord)$1.word, @$); }
|   FLAG                                { directive_add(parser, (DirectiveWord)$1.word, @$); }
|   prototype_attribute
|   pragma                              { directive_add_pragma(parser, @$); }
;

numbers:
    number
|   number ',' next_number
|   number ',' next_number ',' next_number
;

number:
    INTEGER                             { parser->lists.numbers.count = 0;
                                          VEC_PUSH(parser->scratch, parser->lists.numbers, $1.bits); }
;

next_number:
    INTEGER                             { VEC_PUSH(parser->scratch, parser->lists.numbers, $1.bits); }
;

prototype_attribute:
    NORETURN                            { directive_add_attribute(parser, (DirectiveWord)$1.word, @$); }
|   ABI INTEGER                         { parser->lists.numbers.count = 0;
                                          VEC_PUSH(parser->scratch, parser->lists.numbers, $2.bits);
                                          directive_add_attribute(parser, (DirectiveWord)$1.word, @$); }
;

statements:
    %empty
|   statements statement
;

statement:
    INSTRUCTION                         { @$.end = instruction_plain(parser, @1); }
|   head ';'                            { instruction_end(parser, @$); }
|   head operands ';'                   { instruction_end(parser, @$); }
|   label                               { statement_label(parser, $<name>1, @1); }
|   label BRANCHTARGETS names ';'       { statement_table(parser, TABLE_BRANCH_TARGETS, $<name>1, @1, @$); }
|   label CALLTARGETS names ';'         { statement_table(parser, TABLE_CALL_TARGETS, $<name>1, @1, @$); }
|   label prototype ';'                 { statement_table(parser, TABLE_CALL_PROTOTYPE, $<name>1, @1, @$); }
|   scope_open statements '}'           { statement_add(parser, (Stmt){.kind = STMT_CLOSE, .span = @3});
                                          scope_pop(&parser->scopes); }
|   scope_open statements error '}'     { recovery_end(parser); yyerrok;
                                          statement_add(parser, (Stmt){.kind = STMT_CLOSE, .span = @4});
                                          scope_pop(&parser->scopes); }
|   local_variable ';'                  { declaration_end(parser, @$); }
|   LOC INTEGER INTEGER INTEGER         { location_add(parser, (uint64_t[]){$2.bits, $3.bits, $4.bits}, @$); }
|   LOC INTEGER INTEGER INTEGER ',' IDENTIFIER IDENTIFIER loc_offset ',' IDENTIFIER INTEGER INTEGER INTEGER
                                        { location_add_inlined(parser, (uint64_t[]){$2.bits, $3.bits, $4.bits},
                                              (Token[]){{0, $6, @6}, {0, $7, @7}, {0, $10, @10}}, $<token>8.bits,
                                              (uint64_t[]){$11.bits, $12.bits, $13.bits}, @$); }
|   pragma                              { statement_pragma(parser, @$); }
|   error ';'                           { recovery_end(parser); yyerrok; }
|   error SYNC                          { recovery_end(parser); yyerrok; }
;

loc_offset:
    %empty                              { $<token>$.bits = 0; }
|   '+' INTEGER                         { $<token>$ = $2; }
;

label:
    IDENTIFIER ':'                      { $<name>$ = $1.name; }
|   LABEL                               { $<name>$ = $1.name; }
;

scope_open:
    '{'                                 { statement_add(parser, (Stmt){.kind = STMT_OPEN, .span = @1});
                                          scope_push(&parser->scopes, @1); }
;

local_variable:
    local_start storage qualifiers vector type declarators
|   local_start storage qualifiers vector type
;

local_start:
    %empty                              { declaration_begin(&parser->decl); }
;

names:
    IDENTIFIER                          { parser->lists.names.count = 0;
                                          VEC_PUSH(parser->scratch, parser->lists.names, (Token){0, $1, @1}); }
|   names ',' IDENTIFIER                { VEC_PUSH(parser->scratch, parser->lists.names, (Token){0, $3, @3}); }
;

prototype:
    prototype_start returns SINK parameters prototype_attributes
;

prototype_start:
    CALLPROTOTYPE                       { prototype_begin(&parser->prototypes, &parser->prototypes.of_table); }
;

prototype_attributes:
    %empty
|   prototype_attributes prototype_attribute
;

/* The most frequent text has the shortest path through the grammar: an opcode with its modifiers directly after it is
 * one token, and a register alone is an operand without further reductions. */
head:
    QUALIFIED                           { instruction_begin(&parser->inst, $1.name, @1);
                                          instruction_signature(parser); }
|   IDENTIFIER                          { instruction_begin(&parser->inst, $1.name, @1);
                                          instruction_signature(parser); }
|   opcode modifiers                    { instruction_signature(parser); }
|   guard QUALIFIED                     { instruction_begin(&parser->inst, $2.name, @2);
                                          instruction_signature(parser); }
|   guard IDENTIFIER                    { instruction_begin(&parser->inst, $2.name, @2);
                                          instruction_signature(parser); }
|   guard opcode modifiers              { instruction_signature(parser); }
;

guard:
    '@' IDENTIFIER                      { instruction_guard(parser, $2.name, false, @2); }
|   '@' '!' IDENTIFIER                  { instruction_guard(parser, $3.name, true, @3); }
;

opcode:
    IDENTIFIER                          { instruction_begin(&parser->inst, $1.name, @1); }
|   QUALIFIED                           { instruction_begin(&parser->inst, $1.name, @1); }
;

modifiers:
    modifier
|   modifiers modifier
;

modifier:
    DOTTED                              { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
|   TYPE                                { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
|   SPACE                               { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
|   VECTOR                              { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
|   LINKAGE                             { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
|   ALIAS                               { VEC_PUSH(parser->scratch, parser->inst.mods, $1.name); }
;

operands:
    operand
|   operands ',' operand
;

operand:
    IDENTIFIER                          { operand_reference(parser, $1.name, @1, NULL, @1); }
|   IDENTIFIER DOTTED                   { operand_reference(parser, $1.name, @1, $2.name, @$); }
|   QUALIFIED                           { operand_qualified(parser, $1.name, @1); }
|   SINK                                { operand_sink(&parser->inst, @1); }
|   braced
|   primary '|' primary                 { operand_fold(parser, OPERAND_PAIR, 2, @$); }
|   IDENTIFIER '+' expression           { operand_sum(parser, $1.name, @1, $3, @3, @$); }
|   '-' reference                       { operand_negate(parser, @$); }
|   '!' reference                       { operand_invert(parser, @$); }
|   expression                          { operand_constant(parser, $1, @1); }
|   address
|   address DOTTED                      { operand_unified(parser, $2.name, @2); }
|   IDENTIFIER '[' expression ']'       { operand_indexed(parser, $1.name, @1, false, &$3, @3, @$); }
|   IDENTIFIER '[' reference ']'        { operand_indexed(parser, $1.name, @1, true, NULL, @3, @$); }
|   IDENTIFIER '[' reference '+' expression ']'
                                        { operand_indexed(parser, $1.name, @1, true, &$5, @5, @$); }
|   '(' ')'                             { operand_fold(parser, OPERAND_LIST, 0, @$); }
|   '(' single_item ')'                 { operand_fold(parser, OPERAND_LIST, 1, @$); }
|   '(' several ')'                     { operand_fold(parser, OPERAND_LIST, $2, @$); }
;

primary:
    reference
|   SINK                                { operand_sink(&parser->inst, @1); }
|   braced
;

braced:
    vector_open items ITEMS_CLOSE       { operand_fold(parser, OPERAND_VECTOR, $2, @$); }
;

reference:
    IDENTIFIER                          { operand_reference(parser, $1.name, @1, NULL, @1); }
|   IDENTIFIER DOTTED                   { operand_reference(parser, $1.name, @1, $2.name, @$); }
|   QUALIFIED                           { operand_qualified(parser, $1.name, @1); }
;

vector_open:
    '{'                                 { parser->tokens.items_depth++; }
;

items:
    any_item                            { $$ = 1; }
|   items ',' any_item                  { $$ = $1 + 1; }
;

/* "(5)" is an expression, which instruction_end turns into a list where a call needs one. */
several:
    any_item ',' any_item               { $$ = 2; }
|   several ',' any_item                { $$ = $1 + 1; }
;

any_item:
    single_item
|   expression                          { operand_constant(parser, $1, @1); }
;

single_item:
    reference
|   SINK                                { operand_sink(&parser->inst, @1); }
;

address:
    '[' address_items ']'               { operand_bracketed(parser, $2, @$); }
;

address_items:
    address_item                        { $$ = 1; }
|   address_items ',' address_item      { $$ = $1 + 1; }
;

address_item:
    reference
|   SINK                                { operand_sink(&parser->inst, @1); }
|   braced
|   IDENTIFIER '+' expression           { operand_sum(parser, $1.name, @1, $3, @3, @$); }
|   expression                          { operand_constant(parser, $1, @1); }
;

expression:
    INTEGER                             { $$ = constant_integer($1.bits, $1.is_unsigned); }
|   WARP_SIZE                           { $$ = constant_integer(32, false); }
|   DECIMAL                             { $$ = constant_literal(CONSTANT_DECIMAL, $1.bits); }
|   F32_BITS                            { $$ = constant_literal(CONSTANT_F32, $1.bits); }
|   F64_BITS                            { $$ = constant_literal(CONSTANT_F64, $1.bits); }
|   '(' expression ')'                  { $$ = $2; $$.parenthesised = true; }
|   '(' TYPE ')' expression %prec UNARY { $$ = constant_cast(parser->diag, (Type)$2.word, $4, @$); }
|   '+' expression %prec UNARY          { $$ = constant_unary(parser->diag, '+', $2, @$); }
|   '-' expression %prec UNARY          { $$ = constant_unary(parser->diag, '-', $2, @$); }
|   '!' expression %prec UNARY          { $$ = constant_unary(parser->diag, '!', $2, @$); }
|   '~' expression %prec UNARY          { $$ = constant_unary(parser->diag, '~', $2, @$); }
|   expression '*' expression           { $$ = constant_binary(parser->diag, '*', $1, $3, @$); }
|   expression '/' expression           { $$ = constant_binary(parser->diag, '/', $1, $3, @$); }
|   expression '%' expression           { $$ = constant_binary(parser->diag, '%', $1, $3, @$); }
|   expression '+' expression           { $$ = constant_binary(parser->diag, '+', $1, $3, @$); }
|   expression '-' expression           { $$ = constant_binary(parser->diag, '-', $1, $3, @$); }
|   expression SHIFT_LEFT expression    { $$ = constant_binary(parser->diag, T_SHIFT_LEFT, $1, $3, @$); }
|   expression SHIFT_RIGHT expression   { $$ = constant_binary(parser->diag, T_SHIFT_RIGHT, $1, $3, @$); }
|   expression '<' expression           { $$ = constant_binary(parser->diag, '<', $1, $3, @$); }
|   expression '>' expression           { $$ = constant_binary(parser->diag, '>', $1, $3, @$); }
|   expression LESS_EQUAL expression    { $$ = constant_binary(parser->diag, T_LESS_EQUAL, $1, $3, @$); }
|   expression GREATER_EQUAL expression { $$ = constant_binary(parser->diag, T_GREATER_EQUAL, $1, $3, @$); }
|   expression EQUAL expression         { $$ = constant_binary(parser->diag, T_EQUAL, $1, $3, @$); }
|   expression NOT_EQUAL expression     { $$ = constant_binary(parser->diag, T_NOT_EQUAL, $1, $3, @$); }
|   expression '&' expression           { $$ = constant_binary(parser->diag, '&', $1, $3, @$); }
|   expression '^' expression           { $$ = constant_binary(parser->diag, '^', $1, $3, @$); }
|   expression '|' expression           { $$ = constant_binary(parser->diag, '|', $1, $3, @$); }
|   expression AND expression           { $$ = constant_binary(parser->diag, T_AND, $1, $3, @$); }
|   expression OR expression            { $$ = constant_binary(parser->diag, T_OR, $1, $3, @$); }
|   expression '?' expression ':' expression
                                        { $$ = constant_select(parser->diag, $1, $3, $5, @$); }
;

%%

static int yyreport_syntax_error(const yypcontext_t *context, Parser *parser)
{
    yysymbol_kind_t symbols[YYNTOKENS];
    const char *names[YYNTOKENS];
    int count = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    for (int i = 0; i < count; i++)
        names[i] = yysymbol_name(symbols[i]);
    parser_syntax_error(parser, *yypcontext_location(context), names, (size_t)(count > 0 ? count : 0));
    return 0;
}
