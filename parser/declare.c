/* Declarations of registers, variables and parameters; PTX ISA, chapter "State Spaces, Types, and Variables". */
#include <string.h>

#include "parser/internal.h"

/* A variable NAME<count> outside .reg becomes 'count' variables; no more than this. */
#define VARIABLE_RANGE_LIMIT 65536
#define REGISTER_RANGE_LIMIT UINT32_MAX

void declaration_begin(Parser *parser, Span span)
{
    Declaration *decl = &parser->decl;
    Declaration fresh = {.span = span, .vector = 1, .const_bank = -1, .open = true};
    fresh.dims = decl->dims;
    fresh.items = decl->items;
    *decl = fresh;
    decl->items.count = 0;
}

void declaration_linkage(Parser *parser, Linkage linkage, Span span)
{
    parser->decl.linkage = linkage;
    parser->decl.linkage_span = span;
}

void declaration_align(Parser *parser, uint64_t bytes, Span span)
{
    if (bytes == 0 || (bytes & (bytes - 1)) != 0) {
        diag_error(parser->diag, span, "an alignment is a power of two");
        bytes = 1;
    }
    Declaration *decl = &parser->decl;
    if (decl->is_ptr)
        decl->ptr_align = bytes;
    else
        decl->align = bytes;
}

void declaration_late_align(Parser *parser, uint64_t bytes, Span span)
{
    if (parser->prototype == &parser->function->prototype && !parser->function->is_entry)
        diag_error(parser->diag, span, "the alignment of a function's parameter stands before its type");
    else
        declaration_align(parser, bytes, span);
}

void declaration_attribute(Parser *parser, Name name, unsigned numbers, uint64_t first, uint64_t second, Span span)
{
    Declaration *decl = &parser->decl;
    decl->attribute_span = span;
    if (strcmp(name, ".managed") == 0 && numbers == 0) {
        decl->managed = true;
        header_require(parser, span, "'.managed'", 40, 30);
    } else if (strcmp(name, ".unified") == 0 && numbers == 2) {
        decl->unified = true;
        decl->unified_id[0] = first;
        decl->unified_id[1] = second;
        header_require(parser, span, "'.unified'", 80, 90);
    } else {
        diag_error(parser->diag, span, "the attributes are .managed and .unified(NUMBER, NUMBER)");
    }
}

void declaration_dim(Parser *parser, uint64_t size, bool given, Span span)
{
    Declaration *decl = &parser->decl;
    if (!given && decl->dims.count > 0)
        diag_error(parser->diag, span, "only the first dimension may be left open");
    decl->dims_span = span;
    VEC_PUSH(parser->scratch, decl->dims, size);
}

void declaration_ptr(Parser *parser, Span span)
{
    parser->decl.is_ptr = true;
    parser->decl.ptr_span = span;
}

void declarator_begin(Parser *parser)
{
    Declaration *decl = &parser->decl;
    decl->dims.count = 0;
    decl->is_range = false;
    decl->has_init = false;
    init_begin(parser);
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

/* What the type of a register, variable or parameter may be at all. */
static bool check_type(Parser *parser)
{
    const Declaration *decl = &parser->decl;
    const char *instead = NULL;
    switch (decl->type) {
    case TYPE_BF16: instead = "b16"; break;
    case TYPE_BF16X2:
    case TYPE_U16X2:
    case TYPE_S16X2:
    case TYPE_TF32: instead = "b32"; break;
    case TYPE_F32X2: instead = "b64"; break;
    default: break;
    }
    if (instead) {
        diag_error(parser->diag, decl->type_span, "nothing is declared of type .%s; use .%s", type_name(decl->type),
                   instead);
        return false;
    }
    if (decl->vector > 1 && (type_class(decl->type) == CLASS_PRED || type_class(decl->type) == CLASS_OPAQUE)) {
        diag_error(parser->diag, decl->type_span, "there are no vectors of type .%s", type_name(decl->type));
        return false;
    }
    if (decl->vector > 1 && decl->vector * type_bits(decl->type) > 128) {
        diag_error(parser->diag, decl->type_span, "a vector has at most 128 bits");
        return false;
    }
    if (decl->type == TYPE_B128)
        return header_require(parser, decl->type_span, "'.b128'", 83, 70);
    if (decl->type == TYPE_F16 || decl->type == TYPE_F16X2)
        return header_require(parser, decl->type_span, "'.f16'", 42, 53);
    return true;
}

static bool check_opaque(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    if (type_class(decl->type) != CLASS_OPAQUE)
        return true;
    if (decl->space != SPACE_GLOBAL || parser->in_body) {
        diag_error(parser->diag, span, "'%s': textures, samplers and surfaces are declared .global at module scope",
                   name);
        return false;
    }
    if (decl->type == TYPE_SAMPLERREF && !parser->texmode_independent) {
        diag_error(parser->diag, decl->type_span, "samplers need .target option texmode_independent");
        return false;
    }
    return true;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

static void declare_register(Parser *parser, Name name, Span span)
{
    Declaration *decl = &parser->decl;
    VEC_PUSH(parser->scratch, decl->items,
             (struct RegDeclItem){.name = name, .is_range = decl->is_range, .count = decl->range});
    if (decl->dims.count > 0) {
        diag_error(parser->diag, span, "'%s': registers form no arrays; write '%s<N>' for N registers", name, name);
        scope_declare(parser, name, span, BINDING_BAD);
        return;
    }
    if (decl->has_init) {
        diag_error(parser->diag, decl->init_span, "'%s': a register has no initial value", name);
        scope_declare(parser, name, span, BINDING_BAD);
        return;
    }
    if (decl->is_range && decl->range > REGISTER_RANGE_LIMIT) {
        diag_error(parser->diag, decl->range_span, "this range is too large");
        parser->lost_in_function = true;
        return;
    }
    if (decl->is_range) {
        scope_declare_range(parser, name, decl->range, decl->type, decl->vector, span);
        return;
    }
    Binding *binding = scope_declare(parser, name, span, BINDING_REGISTER);
    if (binding) {
        binding->reg = REG_NONE;
        binding->type = decl->type;
        binding->vector = (uint8_t)decl->vector;
    }
}

static void register_statement(Parser *parser, Span span)
{
    const Declaration *decl = &parser->decl;
    if (decl->items.count == 0) /* no name in it was good */
        return;
    RegDecl *registers = ARENA_NEW(parser->arena, RegDecl);
    registers->type = decl->type;
    registers->vector = decl->vector;
    registers->align = decl->align;
    registers->item_count = (unsigned)decl->items.count;
    registers->items = ARENA_ARRAY(parser->arena, struct RegDeclItem, decl->items.count);
    memcpy(registers->items, decl->items.data, decl->items.count * sizeof *registers->items);
    statement_add(parser, (Stmt){.kind = STMT_REGISTERS, .span = span, .registers = registers});
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static Variable *variable_new(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Variable *variable = ARENA_NEW(parser->arena, Variable);
    variable->name = name;
    variable->span = span;
    variable->space = decl->space;
    variable->linkage = decl->linkage;
    variable->type = decl->type;
    variable->vector = decl->vector;
    variable->align = decl->align;
    variable->is_array = decl->dims.count > 0;
    variable->dim_count = (unsigned)decl->dims.count;
    if (variable->is_array) {
        variable->dims = ARENA_ARRAY(parser->arena, uint64_t, decl->dims.count);
        memcpy(variable->dims, decl->dims.data, decl->dims.count * sizeof *variable->dims);
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

/* False, reported, if the variable's size has more than 63 bits. */
static bool check_size(Parser *parser, const Variable *variable)
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

/* What the state space allows. */
static bool check_space(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Diag *diag = parser->diag;
    bool module_scope = !parser->in_body;
    if (module_scope && (decl->space == SPACE_REG || decl->space == SPACE_LOCAL || decl->space == SPACE_PARAM)) {
        diag_error(diag, decl->space_span, "a .%s variable is declared in a function, not at module scope",
                   space_name(decl->space));
        return false;
    }
    if (decl->space == SPACE_TEX && (parser->module->version >= 15 || !module_scope)) {
        diag_error(diag, decl->space_span, "'.tex' is gone since PTX 1.5: declare a .global .texref at module scope");
        return false;
    }
    if (decl->const_bank >= 0 &&
        (parser->module->version >= 22 || decl->space != SPACE_CONST || decl->const_bank > 10)) {
        diag_error(diag, decl->space_span, "only .const has banks, 0 to 10, and only before PTX 2.2");
        return false;
    }
    if (decl->linkage == LINKAGE_COMMON && decl->space != SPACE_GLOBAL) {
        diag_error(diag, decl->linkage_span, "a .common variable is declared in .global space");
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
        diag_error(diag, span, "'%s': a parameter has a scalar type or is an array", name);
        return false;
    }
    if (decl->space == SPACE_PARAM && decl->align > MOST_PARAMETER_ALIGN) {
        diag_error(diag, span, "'%s': the alignment of a parameter is at most %d", name, MOST_PARAMETER_ALIGN);
        return false;
    }
    return check_opaque(parser, name, span);
}

static bool check_init(Parser *parser, Name name)
{
    const Declaration *decl = &parser->decl;
    if (!decl->has_init)
        return true;
    if (decl->space != SPACE_GLOBAL && decl->space != SPACE_CONST) {
        diag_error(parser->diag, decl->init_span, "'%s': only .global and .const variables have an initial value",
                   name);
        return false;
    }
    if (decl->linkage == LINKAGE_EXTERN) {
        diag_error(parser->diag, decl->init_span, "'%s': an .extern variable has no initial value", name);
        return false;
    }
    return true;
}

/* Unsized arrays are for .extern variables and those that their initialiser sizes. */
static bool check_complete(Parser *parser, const Variable *variable)
{
    for (unsigned i = 0; i < variable->dim_count; i++) {
        if (variable->dims[i] == 0 && variable->linkage != LINKAGE_EXTERN) {
            diag_error(parser->diag, variable->span, "the size of '%s' is not known", variable->name);
            return false;
        }
    }
    return check_size(parser, variable);
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
        diag_error(parser->diag, variable->span, "'%s' is .extern and cannot be a variable of this module alone",
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
        Binding *binding = scope_declare(parser, variable->name, variable->span, BINDING_VARIABLE);
        if (binding)
            binding->variable = variable;
        statement_add(parser, (Stmt){.kind = STMT_VARIABLE, .span = variable->span, .variable = variable});
        return;
    }
    Binding *earlier = scope_find_global(variable->name);
    if (earlier == NULL || earlier->kind != BINDING_VARIABLE || !redeclare(parser, earlier, variable)) {
        Binding *binding = scope_declare(parser, variable->name, variable->span, BINDING_VARIABLE);
        if (binding)
            binding->variable = variable;
    }
    module_add_item(parser, ITEM_VARIABLE, variable->span)->variable = variable;
}

static void declare_variable(Parser *parser, Name name, Span span)
{
    Declaration *decl = &parser->decl;
    if (decl->is_range && decl->range > VARIABLE_RANGE_LIMIT) {
        diag_error(parser->diag, decl->range_span, "this range is too large");
        return;
    }
    Variable *variable = variable_new(parser, name, span);
    if (check_init(parser, name) && decl->has_init)
        init_finish(parser, variable, decl->init_span);
    bool good = check_complete(parser, variable);
    if (!decl->is_range) {
        /* A variable that has been reported is entered all the same, so that its uses are not reported too. */
        enter_variable(parser, variable);
        return;
    }
    for (uint64_t i = 0; i < decl->range && good; i++) {
        Variable *element = ARENA_NEW(parser->arena, Variable);
        *element = *variable;
        element->name = intern(parser->names, arena_printf(parser->scratch, "%s%llu", name, (unsigned long long)i));
        enter_variable(parser, element);
    }
}

void declare_name(Parser *parser, Name name, Span span)
{
    if (parser->decl.reported || !check_type(parser) || !check_space(parser, name, span)) {
        parser->decl.reported = true;
        parser->lost_in_function |= parser->decl.is_range;
        scope_declare(parser, name, span, BINDING_BAD);
    } else if (parser->decl.space == SPACE_REG) {
        declare_register(parser, name, span);
    } else {
        declare_variable(parser, name, span);
    }
}

void declaration_end(Parser *parser, Span span)
{
    parser->decl.open = false;
    /* ptxas takes a declaration of nothing; it leaves nothing. */
    if (parser->decl.space == SPACE_REG && parser->in_body && parser->decl.items.count > 0)
        register_statement(parser, span);
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

static bool check_parameter(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Diag *diag = parser->diag;
    const char *shown = name ? name : "_";
    bool is_entry = parser->prototype == &parser->function->prototype && parser->function->is_entry;
    if (is_entry && decl->space != SPACE_PARAM) {
        diag_error(diag, decl->space_span, "entry parameter '%s' must be in .param space", shown);
        return false;
    }
    if (decl->space != SPACE_PARAM && decl->space != SPACE_REG) {
        diag_error(diag, decl->space_span, "parameter '%s' must be in .param or .reg space", shown);
        return false;
    }
    bool is_function = parser->prototype == &parser->function->prototype && !is_entry;
    if (decl->is_ptr && is_function) {
        diag_error(diag, decl->ptr_span, "'.ptr' is for parameters of entries");
        return false;
    }
    if (name == NULL && is_function) {
        diag_error(diag, span, "a parameter of a function has a name");
        return false;
    }
    if (decl->is_ptr && !header_require(parser, decl->ptr_span, "'.ptr'", 22, 0))
        return false;
    if (!check_type(parser))
        return false;
    if (type_class(decl->type) == CLASS_OPAQUE) {
        if (!is_entry || decl->dims.count > 0)
            diag_error(diag, span, "'%s': only an entry takes textures, samplers and surfaces", shown);
        return is_entry && decl->dims.count == 0;
    }
    if (type_class(decl->type) == CLASS_PRED && decl->space != SPACE_REG) {
        diag_error(diag, span, "predicate '%s' must be a register", shown);
        return false;
    }
    if (decl->space == SPACE_REG && decl->dims.count > 0) {
        diag_error(diag, decl->dims_span, "'%s': registers form no arrays", shown);
        return false;
    }
    if (decl->space == SPACE_PARAM && (decl->vector > 1 || decl->type == TYPE_F16X2)) {
        diag_error(diag, span, "'%s': a parameter has a scalar type or is an array", shown);
        return false;
    }
    if (decl->dims.count > 1) {
        diag_error(diag, decl->dims_span, "'%s': a parameter has at most one dimension", shown);
        return false;
    }
    for (size_t i = 0; i < decl->dims.count; i++) {
        if (decl->dims.data[i] == 0 && is_entry) {
            diag_error(diag, decl->dims_span, "the size of entry parameter '%s' is not known", shown);
            return false;
        }
    }
    return true;
}

void declare_parameter(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Variable *variable = variable_new(parser, name, span);
    variable->is_parameter = true;
    variable->is_ptr = decl->is_ptr;
    variable->ptr_space = decl->ptr_space;
    variable->ptr_align = decl->ptr_align;
    variable->linkage = LINKAGE_NONE;
    if (!check_parameter(parser, name, span) || !check_size(parser, variable))
        parser->function_bad = true;
    VEC_PUSH(parser->scratch, parser->params, variable);
}
