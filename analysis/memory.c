/* Memory accesses and effects, pair by pair. */
#include "analysis/ordering.h"
#include "analysis/values.h"

MemoryModel *memory_model_new(Arena *arena, const Body *body, const Affine *affine)
{
    MemoryModel *model = ARENA_NEW(arena, MemoryModel);
    model->body = body;
    model->affine = affine;
    for (size_t i = 0; i < body->blocks.count && !model->late_results; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst && !model->late_results; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count && inst->effects & EFFECT_ASYNC; r++)
                model->late_results |= ref_writes(&inst->refs[r]);
    return model;
}

static void access_find(const MemoryModel *model, const Inst *inst, Ordering *out)
{
    out->reads = inst->effects & EFFECT_READ;
    out->writes = inst->effects & EFFECT_WRITE;
    out->base = REG_NONE;
    if (inst_is_opaque(inst) || !inst_access(inst, &out->access))
        return;
    if (out->access.read_only) {
        out->reads = out->writes = false;
        return;
    }
    out->space = out->access.space;
    const Operand *address = out->access.address;
    if (!address)
        return;
    out->decoded = true;
    if (model->affine) {
        affine_of_address(model->affine, inst, address, &out->address);
        if (out->space == SPACE_NONE && out->address.form.bits)
            out->space = affine_space(&out->address.form);
        return;
    }
    out->base = address_base(inst, address);
}

void ordering_find(const MemoryModel *model, const Inst *inst, Ordering *out)
{
    *out = (Ordering){.base = REG_NONE};
    const Sreg *sreg = inst_sreg(inst);
    uint32_t effects = inst->effects;
    bool synchronises = effects & EFFECT_SYNC || inst->sync != SYNC_NONE;
    bool control = effects & EFFECT_CONTROL;
    bool trap = effects & EFFECT_TRAP && !(effects & (EFFECT_READ | EFFECT_WRITE));
    access_find(model, inst, out);
    out->is_volatile = sreg ? sreg->dependence == SREG_VOLATILE : effects & EFFECT_VOLATILE;
    /* A wait or an allocation: volatile, but neither a read of a register nor a memory access. */
    bool plain_volatile = out->is_volatile && !sreg && !(effects & (EFFECT_READ | EFFECT_WRITE));
    out->full = inst_is_opaque(inst) || inst_is_terminator(inst) || inst->sync == SYNC_GRID ||
                (synchronises && model->late_results);
    out->may_stop = control || trap;
    out->may_fault = effects & EFFECT_TRAP;
    out->fence = synchronises || control || trap || plain_volatile;
    out->ordered = out->fence || out->is_volatile || out->reads || out->writes;
    /* Calls do not preserve the carry flag. */
    out->carry_read = effects & EFFECT_CC_READ;
    out->carry_write = effects & EFFECT_CC_WRITE || control;
}

static bool spaces_meet(Space a, Space b)
{
    if (a == b)
        return true;
    if (a != SPACE_NONE && b != SPACE_NONE)
        return false;
    Space known = a == SPACE_NONE ? b : a;
    return known != SPACE_CONST;
}

/* False for unsized shared arrays, which all start where the sized ones end. An extern variable may be one. */
static bool placed_alone(const Variable *variable)
{
    return variable->space != SPACE_SHARED || (variable_bytes(variable) && variable->linkage != LINKAGE_EXTERN);
}

/* True if the addresses are on variables that are placed apart. */
static bool objects_differ(const Ordering *a, const Ordering *b)
{
    const Variable *from = affine_object(&a->address.form), *to = affine_object(&b->address.form);
    return from && to && from != to && placed_alone(from) && placed_alone(to);
}

static Alias address_compare(const MemoryModel *model, const Ordering *a, const Ordering *b)
{
    if (!model->affine) {
        if (a->base == REG_NONE || a->base != b->base || a->version != b->version)
            return ALIAS_UNKNOWN;
        const Constant *x = a->access.address->constant, *y = b->access.address->constant;
        if ((x && x->kind != CONSTANT_INT) || (y && y->kind != CONSTANT_INT))
            return ALIAS_UNKNOWN;
        AffineForm from = {32, 0, (int32_t)(x ? x->bits : 0), NULL}, to = {32, 0, (int32_t)(y ? y->bits : 0), NULL};
        return affine_compare(&from, a->access.bytes, &to, b->access.bytes);
    }
    const AffineForm *x = &a->address.form, *y = &b->address.form;
    if (objects_differ(a, b))
        return ALIAS_NONE;
    return affine_compare(x, a->access.bytes, y, b->access.bytes);
}

static bool is_global(const Access *access)
{
    return access->space == SPACE_NONE || access->space == SPACE_GLOBAL;
}

bool accesses_have_same_terms(const Access *a, const Access *b)
{
    return a->space == b->space || (is_global(a) && is_global(b));
}

/* True if the state spaces of the two accesses show that they do not touch the same writable memory. */
static bool spaces_differ(const Ordering *a, const Ordering *b)
{
    return !(a->reads || a->writes) || !(b->reads || b->writes) || !spaces_meet(a->space, b->space);
}

Alias ordering_alias(const MemoryModel *model, const Ordering *a, const Ordering *b)
{
    if (spaces_differ(a, b))
        return ALIAS_NONE;
    if (!a->decoded || !b->decoded)
        return ALIAS_UNKNOWN;
    return accesses_have_same_terms(&a->access, &b->access) ? address_compare(model, a, b) : ALIAS_UNKNOWN;
}

/* True if the two have to stay in order for a reason other than registers. */
static bool ordering_keeps(const MemoryModel *model, const Ordering *a, const Ordering *b)
{
    if (a->full || b->full)
        return true;
    if ((a->fence && b->ordered) || (b->fence && a->ordered))
        return true;
    if ((a->may_stop && b->may_fault) || (b->may_stop && a->may_fault))
        return true;
    if (a->is_volatile && b->is_volatile)
        return true;
    if ((a->carry_write && (b->carry_read || b->carry_write)) || (a->carry_read && b->carry_write))
        return true;
    return (a->writes || b->writes) && ordering_alias(model, a, b) != ALIAS_NONE;
}

static bool registers_clash(const Inst *first, const Inst *second)
{
    for (unsigned i = 0; i < first->ref_count; i++)
        for (unsigned j = 0; j < second->ref_count; j++) {
            const RegRef *a = &first->refs[i], *b = &second->refs[j];
            if (a->reg == b->reg && a->reg != REG_NONE && (ref_writes(a) || ref_writes(b)))
                return true;
        }
    return false;
}

bool insts_may_swap(const MemoryModel *model, const Inst *first, const Inst *second)
{
    if (registers_clash(first, second))
        return false;
    Ordering x, y;
    ordering_find(model, first, &x);
    ordering_find(model, second, &y);
    return !ordering_keeps(model, &x, &y);
}

bool accesses_apart(const MemoryModel *model, const Inst *a, const Inst *b)
{
    Ordering x, y;
    ordering_find(model, a, &x);
    ordering_find(model, b, &y);
    return ordering_alias(model, &x, &y) == ALIAS_NONE;
}

/* Whether the address is one place, whoever computes it and whenever. */
static bool is_fixed(const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count; i++)
        if (form->terms[i].base != AFFINE_PARAM && form->terms[i].base != AFFINE_SYMBOL &&
            form->terms[i].base != AFFINE_WINDOW)
            return false;
    return form->bits == 64;
}

static bool places_differ(const Ordering *x, const Ordering *y)
{
    return is_fixed(&x->address.form) && is_fixed(&y->address.form) &&
           affine_compare(&x->address.form, x->access.bytes, &y->address.form, y->access.bytes) == ALIAS_NONE;
}

bool accesses_apart_always(const MemoryModel *model, const Inst *a, const Inst *b)
{
    Ordering x, y;
    ordering_find(model, a, &x);
    ordering_find(model, b, &y);
    return spaces_differ(&x, &y) ||
           (model->affine && x.decoded && y.decoded && accesses_have_same_terms(&x.access, &y.access) &&
            (objects_differ(&x, &y) || places_differ(&x, &y)));
}
