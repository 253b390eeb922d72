/* Functions and entries: their headers, their declarations, and the ends of their bodies. */
#include <string.h>

#include "parser/internal.h"

/* The most bytes of parameters that an entry can have. */
#define ENTRY_PARAMETER_LIMIT 0x7FFC

void function_begin(Parser *parser, bool is_entry, Span span)
{
    Function *function = ARENA_NEW(parser->arena, Function);
    function->module = parser->module;
    function->linkage = parser->decl.linkage;
    function->is_entry = is_entry;
    function->span = span;
    function->text.begin = function->linkage ? parser->decl.linkage_span.begin : span.begin;
    if (function->linkage == LINKAGE_COMMON)
        diag_error(parser->diag, parser->decl.linkage_span, "'.common' is for variables");
    parser->decl.open = false;
    parser->recovery.lost_in_function = false;
    parser->function = function;
    parser->body.cta_group = 0;
    prototype_begin(&parser->prototypes, &function->prototype);
    directives_begin(&parser->directives);
}

void function_attributes(Parser *parser)
{
    const Declaration *decl = &parser->decl;
    if (decl->managed)
        diag_error(parser->diag, decl->attribute_span, "'.managed' is for variables");
    parser->function->unified = decl->unified;
    parser->function->unified_id[0] = decl->unified_id[0];
    parser->function->unified_id[1] = decl->unified_id[1];
}

void function_name(Parser *parser, Name name, Span span)
{
    parser->function->name = name;
    parser->function->span = span;
}

RegId function_new_register(Parser *parser, Binding *binding)
{
    RegVec *regs = &parser->function->regs;
    binding->reg = (RegId)regs->count;
    VEC_PUSH(parser->scratch, *regs,
             (Reg){.name = binding->entry->name,
                   .type = binding->type,
                   .vector = binding->vector,
                   .origin = binding->reg,
                   .span = binding->span});
    return binding->reg;
}

static void merge(Parser *parser, Binding *binding, Function *function)
{
    Function *earlier = binding->function;
    const char *mistake = NULL;
    if (earlier->is_entry != function->is_entry)
        mistake = "is declared both as an entry and as a function";
    else if (earlier->has_body)
        mistake = "is already defined";
    else if (earlier->linkage == LINKAGE_EXTERN && function->has_body)
        mistake = "was declared .extern and cannot be defined here";
    else if (function->linkage != LINKAGE_NONE && function->linkage != earlier->linkage)
        mistake = "was declared with a different linkage";
    if (mistake) {
        diag_error(parser->diag, function->span, "'%s' %s", function->name, mistake);
        diag_note(parser->diag, earlier->span, "it was declared here");
        return;
    }
    prototype_check(parser, function, earlier, function->span);
    binding->function = function;
}

static void enter_name(Parser *parser, Function *function)
{
    Binding *binding = scope_find_global(function->name);
    if (binding && binding->kind == BINDING_FUNCTION) {
        merge(parser, binding, function);
        return;
    }
    binding = scope_declare(&parser->scopes, function->name, function->span, BINDING_FUNCTION);
    if (binding)
        binding->function = function;
}

static void check_entry_parameters(Parser *parser)
{
    const Prototype *prototype = &parser->function->prototype;
    uint64_t offset = 0;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        uint64_t align = parameter_alignment(prototype->params[i]);
        offset = align_up(offset, align) + variable_bytes(prototype->params[i]);
        if (offset > ENTRY_PARAMETER_LIMIT) {
            diag_error(parser->diag, prototype->params[i]->span,
                       "the parameters of an entry cannot be larger than %d bytes in total", ENTRY_PARAMETER_LIMIT);
            return;
        }
    }
}

static void declare_formal(Parser *parser, Variable *variable)
{
    variable->function = parser->function;
    if (variable->name == NULL)
        return;
    if (!parser->function->is_entry && variable->align > MOST_PARAMETER_ALIGN)
        diag_error(parser->diag, variable->span, "'%s': the alignment of a parameter cannot exceed %d", variable->name,
                   MOST_PARAMETER_ALIGN);
    bool is_register = variable->space == SPACE_REG;
    Binding *binding = scope_declare(&parser->scopes, variable->name, variable->span,
                                     is_register ? BINDING_REGISTER : BINDING_VARIABLE);
    if (binding == NULL)
        return;
    if (is_register) {
        binding->reg = REG_NONE;
        binding->type = variable->type;
        binding->vector = (uint8_t)variable->vector;
        variable->reg = function_register(parser, binding);
    } else {
        binding->variable = variable;
    }
}

void function_header_end(Parser *parser, bool has_body, Span open)
{
    Function *function = parser->function;
    function->has_body = has_body;
    directives_check(&parser->directives, parser->diag);
    if (function->is_entry)
        check_entry_parameters(parser);
    if (has_body && function->linkage == LINKAGE_EXTERN)
        diag_error(parser->diag, function->span, "'%s' is .extern and cannot be defined here", function->name);
    enter_name(parser, function);
    directives_move_pragmas(&parser->directives, function, parser->arena);
    function->text.end = open.end;
    if (!has_body)
        return;
    parser->decl.open = false;
    parser->in_body = true;
    function->braces.begin = open.begin;
    const ParseOptions *options = parser->options;
    function->is_text = options->keeps && !options->keeps(options->context, function);
    parser->body.stmts.count = 0;
    parser->locations.last = NULL;
    /* The registers grow in the scratch arena, in storage that the next function reuses. */
    function->regs = parser->body.regs;
    function->regs.count = 0;
    scope_push(&parser->scopes, open);
    for (unsigned i = 0; i < function->prototype.return_count; i++)
        declare_formal(parser, function->prototype.returns[i]);
    for (unsigned i = 0; i < function->prototype.param_count; i++)
        declare_formal(parser, function->prototype.params[i]);
    if (function->is_text)
        parser->arena = parser->body_arena;
}

void function_declared(Parser *parser)
{
    module_add_item(parser, ITEM_FUNCTION, parser->function->span)->function = parser->function;
    parser->function = NULL;
}

/* Copies a vector into the module's arena at its exact size. */
#define KEEP(vector)                                                                                                   \
    do {                                                                                                               \
        void *copy = NULL;                                                                                             \
        if ((vector).count > 0) {                                                                                      \
            copy = arena_array(parser->arena, (vector).count, sizeof *(vector).data);                                  \
            memcpy(copy, (vector).data, (vector).count * sizeof *(vector).data);                                       \
        }                                                                                                              \
        (vector).data = copy;                                                                                          \
        (vector).capacity = (vector).count;                                                                            \
    } while (0)

/* Labels can point to their statements now that the statements have their final addresses. */
static void link_labels(Function *function)
{
    for (size_t i = 0; i < function->stmts.count; i++) {
        Stmt *stmt = &function->stmts.data[i];
        if (stmt->kind == STMT_LABEL)
            stmt->label->stmt = stmt;
    }
}

static void leave_body(Parser *parser)
{
    parser->in_body = false;
    if (!parser->function->is_text)
        return;
    parser->arena = parser->module_arena;
    parser->locations.last = NULL;
    memset(parser->constants.slots, 0, sizeof parser->constants.slots);
    arena_clear(parser->body_arena);
}

void function_end(Parser *parser, Span close)
{
    Function *function = parser->function;
    scope_resolve_labels(&parser->scopes);
    while (scope_depth(&parser->scopes) > 0)
        scope_pop(&parser->scopes);
    function->end = close;
    function->text.end = function->braces.end = close.end;
    parser->body.regs = function->regs;
    if (function->is_text) {
        function->regs = (RegVec){0};
    } else {
        function->stmts = parser->body.stmts;
        KEEP(function->stmts);
        KEEP(function->regs);
        link_labels(function);
    }
    leave_body(parser);
    function_declared(parser);
}

void function_abandon(Parser *parser)
{
    Function *function = parser->function;
    if (parser->in_body)
        parser->body.regs = function->regs;
    scope_forget_labels(&parser->scopes);
    while (scope_depth(&parser->scopes) > 0)
        scope_pop(&parser->scopes);
    if (function->name && scope_find_global(function->name) == NULL)
        scope_declare(&parser->scopes, function->name, function->span, BINDING_BAD);
    leave_body(parser);
    parser->function = NULL;
}
