/* Memory that each replica has to itself: local variables, and with merged blocks, shared ones.
 *
 * A copy of a variable is another place, so an address must come from the variable itself: one that is only a number
 * would lead all replicas to one place. A value that is loaded, or returned by a call, may be an address that was kept
 * there. More shared memory than a block can have is refused; dynamic.c handles shared memory whose size the launch
 * gives.
 *
 * Requires SSA form and values. Changes nothing. */
#include "opt/coarsen/internal.h"

/* True if a result of the instruction may be the address of a private variable, whatever it is made from. */
static bool may_make_address(const Coarsening *c, const Inst *inst)
{
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst) || coarsening_uses_private(c, inst))
        return true;
    return inst->effects & EFFECT_READ && !(inst_access(inst, &access) && access.read_only);
}

typedef struct Derivation {
    Coarsening *c;
    BitSet regs;
    VEC(RegId) pending;
} Derivation;

static void derive(Derivation *d, RegId reg)
{
    if (reg == REG_NONE || bitset_has(&d->regs, reg))
        return;
    bitset_add(&d->regs, reg);
    VEC_PUSH(d->c->scratch, d->pending, reg);
}

static void derive_results(Derivation *d, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            derive(d, inst->refs[r].reg);
}

/* The registers that may hold an address of a private variable, or something made from one. */
static BitSet find_addresses(Coarsening *c)
{
    const Values *values = analyses_values(c->facts.analyses);
    Derivation d = {.c = c, .regs = bitset_new(c->scratch, c->body->regs.count)};
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (may_make_address(c, inst))
                derive_results(&d, inst);
    while (d.pending.count) {
        RegId reg = VEC_POP(d.pending);
        for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
            const ValueUse *use = &value_uses(values, reg)[u];
            if (use->inst)
                derive_results(&d, use->inst);
            else
                derive(&d, use->block->phis.data[use->index].dst);
        }
    }
    return d.regs;
}

static bool is_own(const BitSet *addresses, const Inst *inst, const Operand *address)
{
    if (!address || address->kind != OPERAND_ADDRESS || !address->item_count)
        return true;
    RegId base = address_base(inst, address);
    return base == REG_NONE ? address->items[0].kind == OPERAND_SYMBOL : bitset_has(addresses, base);
}

static bool check_address(Coarsening *c, const BitSet *addresses, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access))
        return true;
    if (access.space == SPACE_LOCAL && !is_own(addresses, inst, access.address))
        return coarsening_refuse(c, inst, REFUSAL_LOCAL_ADDRESS);
    if (!c->step.merges_blocks || inst_is_opaque(inst))
        return true;
    const Operand *address = access.space == SPACE_SHARED ? access.address : NULL;
    Category category = form_category(inst->form);
    /* Matrices and asynchronous copies name shared memory first. */
    bool other = access.kind == ACCESS_OTHER && category != CATEGORY_TEXTURE && category != CATEGORY_SURFACE;
    for (unsigned i = 0; other && !address && i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_ADDRESS)
            address = &inst->operands[i];
    return is_own(addresses, inst, address) ||
           coarsening_refuse(c, inst, REFUSAL_SHARED_ADDRESS);
}

/* Static shared memory of a block, on every architecture (CUDA Programming Guide, "Compute Capabilities"). */
enum { MOST_SHARED = 49152 };

bool coarsening_check_shared(Coarsening *c)
{
    uint64_t bytes = 0;
    PointerMap seen = {.arena = c->scratch};
    for (size_t b = 0; b < c->body->blocks.count && c->step.merges_blocks; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++) {
                Variable *variable = operand_shared_variable(&inst->operands[i]);
                if (!variable || pointer_map_get(&seen, variable) || coarsening_is_dynamic(variable))
                    continue;
                bool is_private = coarsening_is_private(c, variable);
                if (is_private && variable->linkage == LINKAGE_EXTERN)
                    return coarsening_refuse_with(c, inst, REFUSAL_SHARED_ELSEWHERE,
                                                  REFUSAL_WITH(refusal_name(variable->name)));
                pointer_map_put(&seen, variable, variable);
                bytes += variable_bytes(variable) * (is_private ? c->step.factor : 1);
            }
    return bytes <= MOST_SHARED ||
           coarsening_refuse_with(c, NULL, REFUSAL_SHARED_BYTES,
                                  REFUSAL_WITH(refusal_number(bytes), refusal_number(MOST_SHARED)));
}

/* A .local variable of the module (before PTX 3.0) belongs to a thread, but is not declared in the kernel, where each
 * replica would get its own. */
static const Variable *module_local(const Module *module)
{
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE && module->items.data[i].variable->space == SPACE_LOCAL)
            return module->items.data[i].variable;
    return NULL;
}

bool coarsening_check_private(Coarsening *c)
{
    const Variable *shared = module_local(c->body->module);
    if (shared)
        return coarsening_refuse_with(c, NULL, REFUSAL_LOCAL_OF_MODULE, REFUSAL_WITH(refusal_name(shared->name)));
    BitSet addresses = find_addresses(c);
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (!check_address(c, &addresses, inst))
                return false;
    return true;
}
