/* Buffers that are dead when the kernel returns ("-dead-on-return", as the attribute of LLVM): nothing reads what it
 * leaves there, and it reaches them by this one parameter. PLDI'10 has a pragma for the same purpose, which names the
 * outputs, so that writes of temporary results to global memory can go (section 3).
 *
 *     part = a + blockIdx.x * n;              part = a + blockIdx.x * n;  kept = 0;
 *     for (s = n / 2; s > 0; s /= 2) {        for (s = n / 2; s > 0; s /= 2) {
 *                                                 next = kept ? kept : min(s, threads, CAPACITY);
 *         if (t < s)                              if (t < s)
 *             part[t] += part[t + s];                 (t < next ? own[t] : part[t]) =
 *                                                         (t < kept ? own[t] : part[t]) +
 *                                                         (t + s < kept ? own[t + s] : part[t + s]);
 *                                                 kept = next;
 *         barrier;                                barrier;
 *     }                                       }
 *     if (t == 0) sum[b] = part[0];           if (t == 0) sum[b] = kept ? own[0] : part[0];
 *
 * One store is the *filling*: thread t writes element t, counted from where thread 0 writes, and all threads below a
 * bound that they have in common execute it at the same time, or none. So when it has been executed for the first time,
 * shared memory has the first elements, up to that bound, and has them from then on: 'kept' says how many, and each
 * access goes by its address to shared or to global memory. Nothing needs to be known about the others.
 *
 * The threads of a block agree on 'kept' wherever one's access could meet another's store, because without a barrier
 * between the two that would be a data race. Other blocks neither see nor change these elements, for the same reason:
 * kernels that could order their accesses, by fences, releases and strong loads, are refused. */
#include "opt/dead/internal.h"
#include "opt/memory/obstacles.h"
#include "opt/passes.h"

#include <string.h>

unsigned dead_buffers_count(const DeadBuffersResult *result)
{
    unsigned count = 0;
    for (unsigned i = 0; i < result->count; i++)
        count += result->buffers[i].done;
    return count;
}

static bool refuse(Dead *d, const Inst *inst, RefusalReason reason)
{
    refusal_set(&d->result->refusal, d->body, inst, reason, NULL);
    return false;
}

/* Refuses kernels in which threads of other blocks could learn what has been written, or with things that keep blocks
 * from having more shared memory. */
static bool check_kernel(Dead *d, uint64_t *shared)
{
    const Obstacle obstacle = kernel_obstacle(d->scratch, d->body, shared);
    if (obstacle.reason)
        return refuse(d, obstacle.inst, obstacle.reason);
    for (size_t b = 0; b < d->body->blocks.count; b++)
        for (const Inst *inst = d->body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_orders_blocks(inst))
                return refuse(d, inst, REFUSAL_DEAD_ORDER);
    return true;
}

static bool names_parameter(const Dead *d, const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        const Operand *item = operand->kind == OPERAND_ADDRESS ? &operand->items[0] : operand;
        if (item->kind == OPERAND_SYMBOL && item->symbol.kind == SYMBOL_VARIABLE &&
            strcmp(item->symbol.variable->name, d->result->parameter) == 0)
            return true;
    }
    return false;
}

static void follow(Dead *d, RegIdVec *pending, RegId reg)
{
    if (bitset_has(&d->derived, reg) || d->body->regs.data[reg].type == TYPE_PRED)
        return;
    bitset_add(&d->derived, reg);
    VEC_PUSH(d->scratch, *pending, reg);
}

static void follow_results(Dead *d, RegIdVec *pending, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            follow(d, pending, inst->refs[r].reg);
}

/* Whether the access is one that can be made in shared memory as well: of a single element of 1 to 8 bytes, in a
 * register. */
static bool is_single(const Access *access, const Inst *inst)
{
    const bool is_plain = access->weak && !access->read_only && !inst->pragma &&
                          (access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE) &&
                          (access->space == SPACE_GLOBAL || access->space == SPACE_NONE);
    const Operand *data = &inst->operands[access->kind == ACCESS_STORE];
    return is_plain && inst->signature->vector <= 1 && inst->signature->type_count == 1 && inst->operand_count == 2 &&
           operand_plain_reg(inst, data) != REG_NONE && access->bytes && access->bytes <= 8;
}

/* Whether the elements of two accesses have one size, and addresses that can be subtracted. */
static bool is_like(const Access *a, const Access *b)
{
    return a->bytes == b->bytes && a->space == b->space;
}

/* Adds an access whose address comes from the parameter, by this reference. */
static bool add_access(Dead *d, Inst *inst, const Access *access, uint32_t ref)
{
    const bool is_address = access->address && access->address->items[0].kind == OPERAND_REG &&
                            access->address->items[0].ref == ref;
    if (!is_address)
        return refuse(d, inst, REFUSAL_DEAD_ESCAPES);
    if (!is_single(access, inst) || (d->accesses.count && !is_like(access, &d->accesses.data[0].access)))
        return refuse(d, inst, REFUSAL_DEAD_ACCESS);
    VEC_PUSH(d->scratch, d->accesses, ((DeadAccess){.inst = inst, .access = *access}));
    return true;
}

/* Follows what is computed from the register; false if it is more than addresses of such accesses. */
static bool follow_uses(Dead *d, RegIdVec *pending, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(d->values, reg); u++) {
        const ValueUse *use = &value_uses(d->values, reg)[u];
        Access access;
        if (!use->inst)
            follow(d, pending, use->block->phis.data[use->index].dst);
        else if (inst_is_computation(use->inst))
            follow_results(d, pending, use->inst);
        else if (!inst_access(use->inst, &access))
            return refuse(d, use->inst, REFUSAL_DEAD_ESCAPES);
        else if (use->inst->refs[use->index].role == REF_TIED)
            follow_results(d, pending, use->inst);
        else if (!add_access(d, use->inst, &access, use->index))
            return false;
    }
    return true;
}

/* Finds all accesses to the buffer. */
static bool find_accesses(Dead *d)
{
    RegIdVec pending = {0};
    d->derived = bitset_new(d->scratch, d->values->reg_count);
    for (size_t b = 0; b < d->body->blocks.count; b++)
        for (const Inst *inst = d->body->blocks.data[b]->first; inst; inst = inst->next) {
            ParameterPart part;
            if (!names_parameter(d, inst))
                continue;
            if (!inst_loads_parameter(inst, &part))
                return refuse(d, inst, REFUSAL_DEAD_ESCAPES);
            follow_results(d, &pending, inst);
        }
    while (pending.count)
        if (!follow_uses(d, &pending, VEC_POP(pending)))
            return false;
    return d->accesses.count || refuse(d, NULL, REFUSAL_DEAD_UNUSED);
}

/* Whether the threads of a block have the base in common, and can compute it where the kernel begins. */
static bool term_is_common(const Dead *d, const AffineTerm *term)
{
    switch (term->base) {
    case AFFINE_VALUE:
    case AFFINE_SIGNED: return value_is_common(d->scratch, d->values, term->reg);
    case AFFINE_SREG: return sreg_is_common(term->sreg);
    default: return true;
    }
}

/* Whether the sum is 'factor' * %tid.x and terms that the threads of a block have in common; with 'index' (NULL: not
 * allowed), the former may be a multiple of a register instead, which is then set. */
static bool counts_threads(const Dead *d, const AffineForm *form, int64_t factor, const AffineTerm **index)
{
    unsigned found = 0;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        const bool is_thread = term->base == AFFINE_SREG && term->sreg->role == SREG_ROLE_TID &&
                               term->sreg->axis == SREG_AXIS_X;
        const bool is_index = index && (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) &&
                              !term_is_common(d, term);
        if (!is_thread && !is_index && !term_is_common(d, term))
            return false;
        if (!is_thread && !is_index)
            continue;
        found++;
        if (term->coefficient != factor)
            return false;
        if (is_index)
            *index = term;
    }
    return found == 1;
}

static bool terms_are_common(const Dead *d, const AffineForm *form)
{
    for (unsigned t = 0; t < form->term_count; t++)
        if (!term_is_common(d, &form->terms[t]))
            return false;
    return true;
}

/* The part of the register's sum that is not a product of terms in common: of %ctaid.x * %ntid.x + %tid.x, the last. */
static const AffineForm *sum_beside_product(const Dead *d, RegId reg)
{
    const Affine *affine = analyses_affine(d->analyses);
    const AffineForm *form = &affine->forms[reg];
    const AffineTerm *term = form->terms;
    const bool is_value = form->term_count == 1 && term->base == AFFINE_VALUE && term->coefficient == 1;
    const AffineFactors *factors = is_value && affine_knows(affine, term->reg) ? affine->factors[term->reg] : NULL;
    return factors && terms_are_common(d, &factors->forms[0]) && terms_are_common(d, &factors->forms[1])
               ? &factors->forms[2]
               : form;
}

/* Whether the register, of 32 bits, is %tid.x and terms in common, and its value in a thread with index 0 can be
 * computed where the kernel begins. */
static bool is_index(const Dead *d, RegId reg)
{
    const AffineForm *form = sum_beside_product(d, reg);
    return form->bits == 32 && type_bits(d->body->regs.data[reg].type) == 32 && counts_threads(d, form, 1, NULL) &&
           value_has_x_alone(d->scratch, d->values, reg);
}

/* A bound of the threads that execute the filling, from the predicate that has this value in them. */
static bool find_bound(const Dead *d, RegId predicate, bool passes_if, FillBound *out)
{
    const Inst *inst = value_inst(d->values, predicate);
    Computation c;
    if (!inst || !computation_of(d->body, inst, &c) || !computation_is_comparison(&c, 32))
        return false;
    const Relation relation = passes_if ? c.relation : relation_negated(c.relation);
    const bool is_swapped = relation == RELATION_GREATER;
    const ComputeSource *index = &c.sources[is_swapped], *bound = &c.sources[!is_swapped];
    if ((relation != RELATION_LESS && !is_swapped) || index->reg == REG_NONE || index->reg_bits != 32 ||
        !is_index(d, index->reg) || (!bound->is_constant && bound->reg == REG_NONE))
        return false;
    if (!bound->is_constant && (bound->reg_bits != 32 || variance_reg(d->variance, bound->reg)))
        return false;
    *out = (FillBound){.index = index->reg, .is_signed = c.is_signed,
                       .bound = bound->is_constant ? REG_NONE : bound->reg,
                       .constant = c.is_signed ? (int32_t)bound->constant : (int64_t)(uint32_t)bound->constant};
    const AffineForm *form = &analyses_affine(d->analyses)->forms[index->reg];
    out->is_thread = form->term_count == 1 && !form->constant && form->terms->base == AFFINE_SREG;
    return true;
}

/* The only block that leads to this one, by a branch which not all threads take alike; NULL: there is none. */
static Block *deciding_block(const Block *block)
{
    Block *pred = block->pred_count == 1 ? block->preds[0] : NULL;
    const Inst *branch = pred ? block_two_way_branch(pred) : NULL;
    return branch ? pred : NULL;
}

/* Finds out which threads execute the store: *f->bounds. */
static bool find_threads(const Dead *d, Filling *f, Inst *store)
{
    Block *block = store->block;
    f->before = store;
    if (variance_block(d->variance, block)) {
        Block *decider = inst_is_guarded(store) ? NULL : deciding_block(block);
        if (!decider || variance_block(d->variance, decider))
            return false;
        const Inst *branch = decider->last;
        const bool branches_here = branch->targets[0] == block;
        f->before = decider->last;
        return find_bound(d, inst_predicate(branch), branches_here != branch->guard_inverted,
                          &f->bounds[f->bound_count++]);
    }
    return !inst_is_guarded(store) ||
           (variance_reg(d->variance, inst_predicate(store)) &&
            find_bound(d, inst_predicate(store), !store->guard_inverted, &f->bounds[f->bound_count++]));
}

/* Adds that the 32-bit index, of which the address is made, does not wrap. */
static bool add_range(const Dead *d, Filling *f, const AffineTerm *index)
{
    const bool is_signed = index->base == AFFINE_SIGNED;
    if (type_bits(d->body->regs.data[index->reg].type) != 32 || !is_index(d, index->reg))
        return false;
    f->bounds[f->bound_count++] = (FillBound){.index = index->reg, .is_signed = is_signed, .bound = REG_NONE,
                                              .constant = is_signed ? INT64_C(1) << 31 : INT64_C(1) << 32};
    return true;
}

/* Whether the access can be the filling; sets d->filling. */
static bool is_filling(Dead *d, const DeadAccess *store)
{
    Filling f = {.store = store->inst};
    AffineAddress address;
    const AffineTerm *index = NULL;
    const RegId base = address_base(store->inst, store->access.address);
    if (store->access.kind != ACCESS_STORE)
        return false;
    affine_of_address(analyses_affine(d->analyses), store->inst, store->access.address, &address);
    if (address.form.bits != 64 || !counts_threads(d, &address.form, store->access.bytes, &index) ||
        !value_has_x_alone(d->scratch, d->values, base) || !find_threads(d, &f, store->inst) ||
        (index && !add_range(d, &f, index)))
        return false;
    f.has_index = index != NULL;
    d->filling = f;
    return true;
}

static bool find_filling(Dead *d)
{
    for (size_t i = 0; i < d->accesses.count; i++)
        if (is_filling(d, &d->accesses.data[i]))
            return true;
    return refuse(d, d->accesses.data[0].inst, REFUSAL_DEAD_FILLING);
}

/* How the access finds its element, whose distance from the first one is this sum of bytes. */
static ElementWay find_way(const Dead *d, const DeadAccess *access, const AffineForm *distance, RegId *index)
{
    const AffineTerm *term = distance->terms;
    int64_t low, high;
    const bool is_number =
        distance->term_count == 1 && !distance->constant && term->coefficient == access->access.bytes;
    const bool is_value = is_number && (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED);
    if (is_value && type_bits(d->body->regs.data[term->reg].type) == 32 &&
        value_is_available(d->values, d->dominance, term->reg, access->inst)) {
        *index = term->reg;
        return ELEMENT_INDEX;
    }
    return affine_bounds(distance, &low, &high) && low >= 0 && high <= UINT32_MAX ? ELEMENT_NEAR : ELEMENT_ANYWHERE;
}

/* The sum without the thread's index: if it is the filling's address, that of the first element. */
static AffineForm without_thread(const Dead *d, const AffineForm *form)
{
    AffineTerm *terms = ARENA_ARRAY(d->scratch, AffineTerm, form->term_count + 1);
    AffineForm first = *form;
    first.terms = terms;
    first.term_count = 0;
    for (unsigned t = 0; t < form->term_count; t++)
        if (form->terms[t].base != AFFINE_SREG || sreg_is_common(form->terms[t].sreg))
            terms[first.term_count++] = form->terms[t];
    return first;
}

/* Whether the sum is a constant multiple of the element's size, small enough to be added to an index. */
static bool is_offset(const DeadAccess *access, const AffineForm *distance)
{
    const int64_t most = INT64_C(1) << 30;
    return !distance->term_count && distance->constant % access->access.bytes == 0 && distance->constant > -most &&
           distance->constant < most;
}

static void find_ways(Dead *d)
{
    const Affine *affine = analyses_affine(d->analyses);
    Access filling;
    AffineAddress own, address;
    require(inst_access(d->filling.store, &filling));
    affine_of_address(affine, d->filling.store, filling.address, &own);
    const AffineForm first = without_thread(d, &own.form);
    for (size_t i = 0; i < d->accesses.count; i++) {
        DeadAccess *access = &d->accesses.data[i];
        AffineForm distance;
        affine_of_address(affine, access->inst, access->access.address, &address);
        if (address.form.bits != 64)
            continue;
        if (affine_add(d->scratch, &address.form, &own.form, -1, &distance) && is_offset(access, &distance)) {
            access->way = ELEMENT_THREAD;
            access->offset = distance.constant / (int64_t)access->access.bytes;
        } else if (!d->filling.has_index && affine_add(d->scratch, &address.form, &first, -1, &distance)) {
            access->way = find_way(d, access, &distance, &access->index);
        }
    }
}

/* One element for each thread along x. */
static bool find_room(Dead *d, const BlockSize *block, uint64_t shared)
{
    const unsigned bytes = d->accesses.data[0].access.bytes;
    const uint64_t left = shared < SHARED_MOST ? SHARED_MOST - shared : 0;
    d->elements = block->threads[0] ? block->threads[0] : BLOCK_MOST_THREADS;
    if (d->elements > left / bytes)
        d->elements = (unsigned)(left / bytes);
    return d->elements || refuse(d, NULL, REFUSAL_DEAD_ROOM);
}

static bool keep_in_shared(PassContext *context, Dead *d)
{
    uint64_t shared = context->dead_dynamic_shared;
    if (!check_kernel(d, &shared) || !find_accesses(d) || !find_filling(d) ||
        !find_room(d, &context->block, shared))
        return false;
    find_ways(d);
    dead_rewrite(d);
    d->result->done = true;
    d->result->element = d->accesses.data[0].access.bytes;
    d->result->elements = d->elements;
    d->result->accesses = (unsigned)d->accesses.count;
    d->result->span = d->filling.store->span;
    return true;
}

bool pass_dead_buffers(PassContext *context)
{
    for (unsigned i = 0; i < context->dead.count; i++) {
        Arena *scratch = arena_new();
        Dead d = {.body = context->body, .scratch = scratch, .analyses = context->analyses,
                  .values = analyses_values(context->analyses),
                  .dominance = analyses_dominance(context->analyses), .result = &context->dead.buffers[i]};
        d.result->refusal = (Refusal){.reason = REFUSAL_NONE};
        d.variance = variance_compute(scratch, d.body, analyses_postdominance(d.analyses), VARIANCE_ANY,
                                      &(VarianceOptions){0});
        if (keep_in_shared(context, &d))
            analyses_invalidate(context->analyses, ANALYSES_ALL);
        arena_free(scratch);
    }
    return dead_buffers_count(&context->dead) > 0;
}
