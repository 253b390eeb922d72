/* The body in SSA form. Loads of parameters by an address in a register, as clang has them of structures, name the
 * parameter then, so that all passes see which one they load. */
#include "opt/passes.h"

/* Whether the instruction loads from an address in a register in parameter space. */
static bool loads_by_register(const Inst *inst)
{
    Access access;
    return inst_is_plain(inst) && inst_access(inst, &access) && access.kind == ACCESS_LOAD &&
           access.space == SPACE_PARAM && access.address && inst->operand_count == 2 && inst->signature->vector <= 1 &&
           operand_plain_reg(inst, &inst->operands[0]) != REG_NONE && address_base(inst, access.address) != REG_NONE &&
           !inst->pragma;
}

static bool has_load_by_register(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (loads_by_register(inst))
                return true;
    return false;
}

/* The same load of the kernel's parameter, by its name; NULL: the address is something else. */
static Inst *named_load(Arena *scratch, Body *body, const Affine *affine, const Inst *inst)
{
    Access access;
    AffineAddress address;
    ParameterPart part;
    require(inst_access(inst, &access));
    affine_of_address(affine, inst, access.address, &address);
    const AffineTerm *term = address.form.term_count == 1 ? &address.form.terms[0] : NULL;
    if (!term || term->base != AFFINE_SYMBOL || term->coefficient != 1 || term->variable->space != SPACE_PARAM ||
        address.form.constant < 0)
        return NULL;
    Inst *own = inst_build(body, inst_spelling(scratch, inst), "dp", operand_plain_reg(inst, &inst->operands[0]),
                           term->variable, address.form.constant);
    own->span = inst->span;
    own->loc = inst->loc;
    return inst_loads_parameter(own, &part) ? own : NULL;
}

static void name_parameters(Body *body)
{
    Arena *scratch = arena_new();
    const Affine *affine = affine_compute(scratch, body, NULL, NULL);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            Inst *own = loads_by_register(inst) ? named_load(scratch, body, affine, inst) : NULL;
            if (!own)
                continue;
            inst_insert_before(inst, own);
            inst_remove(inst);
        }
    arena_free(scratch);
}

bool pass_ssa(PassContext *context)
{
    body_to_ssa(context->body);
    if (has_load_by_register(context->body))
        name_parameters(context->body);
    return true;
}
