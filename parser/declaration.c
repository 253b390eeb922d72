/* The specifiers and declarators of declarations; PTX ISA, chapter "State Spaces, Types, and Variables". */
#include <string.h>

#include "parser/internal.h"

void declaration_begin(Declaration *decl)
{
    Declaration fresh = {.vector = 1, .const_bank = -1, .open = true};
    fresh.declarator.dims = decl->declarator.dims;
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
        diag_error(parser->diag, span, "an alignment must be a power of two");
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
    if (prototype_is_of_function(parser) && !parser->function->is_entry)
        diag_error(parser->diag, span, "the alignment of a function's parameter must precede its type");
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
        diag_error(parser->diag, span, "unknown attribute; expected .managed or .unified(NUMBER, NUMBER)");
    }
}

void declaration_dim(Parser *parser, uint64_t size, bool given, Span span)
{
    Declarator *declarator = &parser->decl.declarator;
    if (!given && declarator->dims.count > 0)
        diag_error(parser->diag, span, "only the first dimension can be left open");
    declarator->dims_span = span;
    VEC_PUSH(parser->scratch, declarator->dims, size);
}

void declaration_ptr(Parser *parser, Span span)
{
    parser->decl.is_ptr = true;
    parser->decl.ptr_span = span;
}

void declarator_begin(Parser *parser, Name name)
{
    Declarator *declarator = &parser->decl.declarator;
    declarator->name = name;
    declarator->dims.count = 0;
    declarator->is_range = false;
    declarator->has_init = false;
    init_begin(&parser->init);
}

void declarator_range(Declarator *declarator, uint64_t count, Span span)
{
    declarator->is_range = true;
    declarator->range = count;
    declarator->range_span = span;
}

void declarator_init(Declarator *declarator, Span span)
{
    declarator->has_init = true;
    declarator->init_span = span;
}

bool declaration_check_type(Parser *parser)
{
    const Declaration *decl = &parser->decl;
    const char *instead = NULL;
    switch (decl->type) {
    case TYPE_BF16: instead = "b16"; break;
    case TYPE_BF16X2:
    case TYPE_U16X2:
    case TYPE_S16X2:
    case TYPE_U8X4:
    case TYPE_S8X4:
    case TYPE_TF32: instead = "b32"; break;
    case TYPE_F32X2: instead = "b64"; break;
    default: break;
    }
    if (instead) {
        diag_error(parser->diag, decl->type_span, "a declaration cannot have type .%s; use .%s", type_name(decl->type),
                   instead);
        return false;
    }
    if (decl->vector > 1 && (type_class(decl->type) == CLASS_PRED || type_class(decl->type) == CLASS_OPAQUE)) {
        diag_error(parser->diag, decl->type_span, "there are no vectors of type .%s", type_name(decl->type));
        return false;
    }
    if (decl->vector > 1 && decl->vector * type_bits(decl->type) > 128) {
        diag_error(parser->diag, decl->type_span, "a vector cannot be larger than 128 bits");
        return false;
    }
    /* ptxas accepts arrays of .b128 in every version. */
    if (decl->type == TYPE_B128 && decl->declarator.dims.count == 0)
        return header_require(parser, decl->type_span, "'.b128'", 83, 70);
    if (decl->type == TYPE_F16 || decl->type == TYPE_F16X2)
        return header_require(parser, decl->type_span, "'.f16'", 42, 53);
    return true;
}

void declarator_end(Parser *parser, Span span)
{
    Name name = parser->decl.declarator.name;
    if (parser->decl.reported || !declaration_check_type(parser) || !variable_check_space(parser, name, span)) {
        parser->decl.reported = true;
        parser->recovery.lost_in_function |= parser->decl.declarator.is_range;
        scope_declare(&parser->scopes, name, span, BINDING_BAD);
    } else if (parser->decl.space == SPACE_REG) {
        register_declare(parser, name, span);
    } else {
        variable_declare(parser, name, span);
    }
}

void declaration_end(Parser *parser, Span span)
{
    parser->decl.open = false;
    /* ptxas accepts a declaration without names; it has no effect. */
    if (parser->decl.space == SPACE_REG && parser->in_body && parser->decl.items.count > 0)
        register_statement(parser, span);
}
