/* Prototypes: the parameters and return values of functions, entries and .callprototype. */
#include <string.h>

#include "parser/internal.h"

void prototype_begin(PrototypeState *state, Prototype *prototype)
{
    *prototype = (Prototype){.abi_preserve = -1, .abi_preserve_control = -1};
    state->at_hand = prototype;
    state->params.count = 0;
}

bool prototype_is_of_function(const Parser *parser)
{
    return parser->prototypes.at_hand == &parser->function->prototype;
}

static Variable **take_params(Parser *parser, unsigned *count)
{
    PrototypeState *state = &parser->prototypes;
    *count = (unsigned)state->params.count;
    if (*count == 0)
        return NULL;
    Variable **params = ARENA_ARRAY(parser->arena, Variable *, state->params.count);
    memcpy(params, state->params.data, state->params.count * sizeof *params);
    state->params.count = 0;
    return params;
}

void prototype_returns_end(Parser *parser)
{
    Prototype *prototype = parser->prototypes.at_hand;
    prototype->returns = take_params(parser, &prototype->return_count);
    for (unsigned i = 0; i < prototype->return_count; i++) {
        const Variable *result = prototype->returns[i];
        if (result->space == SPACE_PARAM && prototype->return_count > 1) {
            diag_error(parser->diag, result->span, "more than one return value must be in .reg space");
            break;
        }
        if (result->dim_count > 0 && variable_bytes(result) == 0)
            diag_error(parser->diag, result->span, "the size of a return value must be known");
    }
}

void prototype_params_end(Parser *parser)
{
    Prototype *prototype = parser->prototypes.at_hand;
    prototype->params = take_params(parser, &prototype->param_count);
    for (unsigned i = 0; i + 1 < prototype->param_count; i++) {
        const Variable *param = prototype->params[i];
        if (param->dim_count > 0 && param->dims[0] == 0)
            diag_error(parser->diag, param->span, "only the last parameter can be an array of unknown size");
    }
}

uint64_t parameter_alignment(const Variable *variable)
{
    uint64_t natural = type_bits(variable->type) / 8;
    return variable->align ? variable->align : natural ? natural : 1;
}

/* The first property in which two lists of parameters differ; NULL if there is none. */
static const char *list_difference(Variable *const *a, unsigned a_count, Variable *const *b, unsigned b_count)
{
    if (a_count != b_count)
        return "number";
    for (unsigned i = 0; i < a_count; i++) {
        if (a[i]->space != b[i]->space)
            return "state space";
        if (a[i]->type != b[i]->type || a[i]->vector != b[i]->vector)
            return "type";
        if (a[i]->dim_count != b[i]->dim_count || variable_bytes(a[i]) != variable_bytes(b[i]))
            return "size";
        if (parameter_alignment(a[i]) != parameter_alignment(b[i]))
            return "alignment";
    }
    return NULL;
}

void prototype_check(Parser *parser, const Function *function, const Function *earlier, Span span)
{
    const Prototype *a = &function->prototype, *b = &earlier->prototype;
    const char *list = "parameters";
    const char *difference = list_difference(a->params, a->param_count, b->params, b->param_count);
    if (difference == NULL) {
        list = "return values";
        difference = list_difference(a->returns, a->return_count, b->returns, b->return_count);
    }
    if (difference)
        diag_error(parser->diag, span, "'%s': the %s of the %s differs from the earlier declaration", function->name,
                   difference, list);
    else if (a->noreturn != b->noreturn)
        diag_error(parser->diag, span, "'%s' is '.noreturn' in one declaration and not in the other", function->name);
    else
        return;
    diag_note(parser->diag, earlier->span, "it was declared here");
}
