/* Declarations of registers. */
#include <string.h>

#include "parser/internal.h"

#define REGISTER_RANGE_LIMIT UINT32_MAX

void register_declare(Parser *parser, Name name, Span span)
{
    Declaration *decl = &parser->decl;
    Declarator *declarator = &parser->decl.declarator;
    VEC_PUSH(parser->scratch, decl->items,
             (struct RegDeclItem){.name = name, .is_range = declarator->is_range, .count = declarator->range});
    if (declarator->dims.count > 0) {
        diag_error(parser->diag, span, "'%s': there are no arrays of registers; write '%s<N>' for N registers", name,
                   name);
        scope_declare(&parser->scopes, name, span, BINDING_BAD);
        return;
    }
    if (declarator->has_init) {
        diag_error(parser->diag, declarator->init_span, "'%s': a register cannot have an initial value", name);
        scope_declare(&parser->scopes, name, span, BINDING_BAD);
        return;
    }
    if (declarator->is_range && declarator->range > REGISTER_RANGE_LIMIT) {
        diag_error(parser->diag, declarator->range_span, "this range is too large");
        parser->recovery.lost_in_function = true;
        return;
    }
    if (declarator->is_range) {
        scope_declare_range(&parser->scopes, name, declarator->range, decl->type, decl->vector, span);
        return;
    }
    Binding *binding = scope_declare(&parser->scopes, name, span, BINDING_REGISTER);
    if (binding) {
        binding->reg = REG_NONE;
        binding->type = decl->type;
        binding->vector = (uint8_t)decl->vector;
    }
}

void register_statement(Parser *parser, Span span)
{
    const Declaration *decl = &parser->decl;
    if (decl->items.count == 0) /* none of its names was valid */
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
