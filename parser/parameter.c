/* Parameters and return values of entries, functions and prototypes. */
#include "parser/internal.h"

static bool check_parameter(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    const Declarator *declarator = &parser->decl.declarator;
    Diag *diag = parser->diag;
    const char *shown = name ? name : "_";
    bool of_function = prototype_is_of_function(parser);
    bool is_entry = of_function && parser->function->is_entry;
    if (is_entry && decl->space != SPACE_PARAM) {
        diag_error(diag, decl->space_span, "entry parameter '%s' must be in .param space", shown);
        return false;
    }
    if (decl->space != SPACE_PARAM && decl->space != SPACE_REG) {
        diag_error(diag, decl->space_span, "parameter '%s' must be in .param or .reg space", shown);
        return false;
    }
    bool is_function = of_function && !is_entry;
    if (decl->is_ptr && is_function) {
        diag_error(diag, decl->ptr_span, "'.ptr' is for parameters of entries");
        return false;
    }
    if (name == NULL && is_function) {
        diag_error(diag, span, "a parameter of a function needs a name");
        return false;
    }
    if (decl->is_ptr && !header_require(parser, decl->ptr_span, "'.ptr'", 22, 0))
        return false;
    if (!declaration_check_type(parser))
        return false;
    if (type_class(decl->type) == CLASS_OPAQUE) {
        if (!is_entry || declarator->dims.count > 0)
            diag_error(diag, span, "'%s': only an entry can have texture, sampler and surface parameters", shown);
        return is_entry && declarator->dims.count == 0;
    }
    if (type_class(decl->type) == CLASS_PRED && decl->space != SPACE_REG) {
        diag_error(diag, span, "predicate '%s' must be a register", shown);
        return false;
    }
    if (decl->space == SPACE_REG && declarator->dims.count > 0) {
        diag_error(diag, declarator->dims_span, "'%s': there are no arrays of registers", shown);
        return false;
    }
    if (decl->space == SPACE_PARAM && (decl->vector > 1 || decl->type == TYPE_F16X2)) {
        diag_error(diag, span, "'%s': a parameter must have a scalar type or be an array", shown);
        return false;
    }
    if (declarator->dims.count > 1) {
        diag_error(diag, declarator->dims_span, "'%s': a parameter can have only one dimension", shown);
        return false;
    }
    for (size_t i = 0; i < declarator->dims.count; i++) {
        if (declarator->dims.data[i] == 0 && is_entry) {
            diag_error(diag, declarator->dims_span, "the size of entry parameter '%s' is not known", shown);
            return false;
        }
    }
    return true;
}

void parameter_declare(Parser *parser, Name name, Span span)
{
    const Declaration *decl = &parser->decl;
    Variable *variable = variable_new(parser, name, span);
    variable->is_parameter = true;
    variable->is_ptr = decl->is_ptr;
    variable->ptr_space = decl->ptr_space;
    variable->ptr_align = decl->ptr_align;
    variable->linkage = LINKAGE_NONE;
    if (check_parameter(parser, name, span))
        variable_check_size(parser, variable);
    VEC_PUSH(parser->scratch, parser->prototypes.params, variable);
}
