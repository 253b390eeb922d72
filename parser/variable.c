/* Declarations of variables. */
#include <string.h>

#include "parser/internal.h"

/* A variable NAME<count> becomes 'count' variables, up to this limit. */
#define VARIABLE_RANGE_LIMIT 65536

Variable *variable_new(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    const Declarator *declarator = &parser->decl.declarator;
    Variable *variable = ARENA_NEW(parser->arena, Variable);
    variable->name = name;
    variable->span = span;
    variable->space = decl->space;
    variable->linkage = decl->linkage;
    variable->type = decl->type;
    variable->vector = decl->vector;
    variable->align = decl->align;
    variable->is_array = declarator->dims.count > 0;
    variable->dim_count = (unsigned)declarator->dims.count;
    if (variable->is_array) {
        variable->dims = ARENA_ARRAY(parser->arena, uint64_t, declarator->dims.count);
        memcpy(variable->dims, declarator->dims.data, declarator->dims.count * sizeof *variable->dims);
    }
    variable->managed = decl->managed;
    variable->unified = decl->unified;
    variable->unified_id[0] = decl->unified_id[0];
    variable->unified_id[1] = decl->unified_id[1];
    variable->function = parser->function;
    variable->reg = REG_NONE;
    variable->const_bank = decl->const_bank;
    return variable;
}

bool variable_check_size(Parser *parser, const Variable *variable)
{
    uint64_t bytes = type_bits(variable->type) / 8 * variable->vector;
    for (unsigned i = 0; i < variable->dim_count; i++) {
        if (variable->dims[i] && __builtin_mul_overflow(bytes, variable->dims[i], &bytes))
            bytes = UINT64_MAX;
        if (bytes > INT64_MAX) {
            diag_error(parser->diag, variable->span, "'%s' is too large", variable->name);
            return false;
        }
    }
    return true;
}

static bool check_opaque(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    if (type_class(decl->type) != CLASS_OPAQUE)
        return true;
    if (decl->space != SPACE_GLOBAL || parser->in_body) {
        diag_error(parser->diag, span,
                   "'%s': textures, samplers and surfaces must be .global and declared at module scope", name);
        return false;
    }
    if (decl->type == TYPE_SAMPLERREF && !parser->header.texmode_independent) {
        diag_error(parser->diag, decl->type_span, "samplers need .target option texmode_independent");
        return false;
    }
    return true;
}

bool variable_check_space(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Diag *diag = parser->diag;
    bool module_scope = !parser->in_body;
    /* Without the ABI of PTX 3.0, threads had .local variables that all functions could name. */
    bool old_local = decl->space == SPACE_LOCAL && parser->module->version < 30;
    if (module_scope && !old_local &&
        (decl->space == SPACE_REG || decl->space == SPACE_LOCAL || decl->space == SPACE_PARAM)) {
        diag_error(diag, decl->space_span, "a .%s variable must be declared in a function, not at module scope",
                   space_name(decl->space));
        return false;
    }
    if (decl->space == SPACE_TEX && (parser->module->version >= 15 || !module_scope)) {
        diag_error(diag, decl->space_span, "'.tex' was removed in PTX 1.5; declare a .global .texref at module scope");
        return false;
    }
    if (decl->space == SPACE_TEX && decl->type != TYPE_U32 && decl->type != TYPE_U64) {
        diag_error(diag, decl->type_span, "a .tex variable must have type .u32 or .u64");
        return false;
    }
    if (decl->const_bank >= 0 &&
        (parser->module->version >= 22 || decl->space != SPACE_CONST || decl->const_bank > 10)) {
        diag_error(diag, decl->space_span, "only .const variables can be in a bank (0 to 10), and only before PTX 2.2");
        return false;
    }
    if (decl->linkage == LINKAGE_COMMON && decl->space != SPACE_GLOBAL) {
        diag_error(diag, decl->linkage_span, "a .common variable must be in .global space");
        return false;
    }
    if ((decl->managed || decl->unified) && decl->space != SPACE_GLOBAL) {
        diag_error(diag, decl->attribute_span, "'%s': attributes are for .global variables", name);
        return false;
    }
    if (type_class(decl->type) == CLASS_PRED && decl->space != SPACE_REG) {
        diag_error(diag, span, "predicate '%s' must be a register", name);
        return false;
    }
    if (decl->space == SPACE_PARAM && (decl->vector > 1 || decl->type == TYPE_F16X2)) {
        diag_error(diag, span, "'%s': a parameter must have a scalar type or be an array", name);
        return false;
    }
    if (decl->space == SPACE_PARAM && decl->align > MOST_PARAMETER_ALIGN) {
        diag_error(diag, span, "'%s': the alignment of a parameter cannot exceed %d", name, MOST_PARAMETER_ALIGN);
        return false;
    }
    return check_opaque(parser, name, span);
}

static bool check_init(Parser *parser, Name name)
{
    const Declaration *decl = &parser->decl;
    const Declarator *declarator = &parser->decl.declarator;
    if (!declarator->has_init)
        return true;
    if (decl->space != SPACE_GLOBAL && decl->space != SPACE_CONST) {
        diag_error(parser->diag, declarator->init_span,
                   "'%s': only .global and .const variables can have an initial value", name);
        return false;
    }
    if (decl->linkage == LINKAGE_EXTERN) {
        diag_error(parser->diag, declarator->init_span, "'%s': an .extern variable cannot have an initial value", name);
        return false;
    }
    return true;
}

/* Only an .extern array, or one whose size the initial value determines, can be unsized. */
static bool check_complete(Parser *parser, const Variable *variable)
{
    for (unsigned i = 0; i < variable->dim_count; i++) {
        if (variable->dims[i] == 0 && variable->linkage != LINKAGE_EXTERN) {
            diag_error(parser->diag, variable->span, "the size of '%s' is not known", variable->name);
            return false;
        }
    }
    return variable_check_size(parser, variable);
}

static bool same_shape(const Variable *a, const Variable *b)
{
    if (a->space != b->space || a->type != b->type || a->vector != b->vector || a->dim_count != b->dim_count)
        return false;
    for (unsigned i = 0; i < a->dim_count; i++) {
        if (a->dims[i] != b->dims[i] && a->dims[i] != 0 && b->dims[i] != 0)
            return false;
    }
    return true;
}

/* A second declaration at module scope is allowed if one of the two is .extern and they agree. */
static bool redeclare(Parser *parser, Binding *earlier, Variable *variable)
{
    Variable *other = earlier->variable;
    bool is_extern = variable->linkage == LINKAGE_EXTERN, was_extern = other->linkage == LINKAGE_EXTERN;
    if (!is_extern && !was_extern)
        return false;
    if (!same_shape(variable, other)) {
        diag_error(parser->diag, variable->span, "'%s' was declared differently", variable->name);
        diag_note(parser->diag, other->span, "it was declared here");
    } else if (variable->linkage == LINKAGE_NONE || other->linkage == LINKAGE_NONE) {
        diag_error(parser->diag, variable->span, "'%s' is .extern in one declaration and has no linkage in the other",
                   variable->name);
        diag_note(parser->diag, other->span, "it was declared here");
    } else if (!is_extern) {
        earlier->variable = variable;
    }
    return true;
}

static void enter_variable(Parser *parser, Variable *variable)
{
    if (parser->in_body) {
        Binding *binding = scope_declare(&parser->scopes, variable->name, variable->span, BINDING_VARIABLE);
        if (binding)
            binding->variable = variable;
        statement_add(parser, (Stmt){.kind = STMT_VARIABLE, .span = variable->span, .variable = variable});
        return;
    }
    Binding *earlier = scope_find_global(variable->name);
    if (earlier == NULL || earlier->kind != BINDING_VARIABLE || !redeclare(parser, earlier, variable)) {
        Binding *binding = scope_declare(&parser->scopes, variable->name, variable->span, BINDING_VARIABLE);
        if (binding)
            binding->variable = variable;
    }
    module_add_item(parser, ITEM_VARIABLE, variable->span)->variable = variable;
}

void variable_declare(Parser *parser, Name name, Span span)
{
    Declarator *declarator = &parser->decl.declarator;
    if (declarator->is_range && declarator->range > VARIABLE_RANGE_LIMIT) {
        diag_error(parser->diag, declarator->range_span, "this range is too large");
        return;
    }
    Variable *variable = variable_new(parser, name, span);
    if (check_init(parser, name) && declarator->has_init)
        init_finish(parser, variable, declarator->init_span);
    bool good = check_complete(parser, variable);
    if (!declarator->is_range) {
        /* A variable that has been reported is entered nevertheless, so that its uses are not reported too. */
        enter_variable(parser, variable);
        return;
    }
    for (uint64_t i = 0; i < declarator->range && good; i++) {
        Variable *element = ARENA_NEW(parser->arena, Variable);
        *element = *variable;
        element->name = intern(parser->names, arena_printf(parser->scratch, "%s%llu", name, (unsigned long long)i));
        enter_variable(parser, element);
    }
}
