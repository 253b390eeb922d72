/* Threads that change places, where neighbours read neighbouring elements and store them rows apart, or the other way.
 *
 *     i = %ctaid.x * %ntid.x + %tid.x;   c = i / s % channels;   x = i % s
 *     out[... x * channels + c] = in[i]
 *
 * Threads s apart store to neighbours, but no two of them are in one warp. The pass lets thread i of the launch do the
 * work of thread p(i), with N = 32 / (bytes of an element) and r = i % (s * N):
 *
 *     tile = r / (N * N), column = r % N, row = r / N % N        p = i - r + row * s + tile * N + column
 *
 * so N neighbours read or store together, and N such rows as well, a sector of 32 bytes on either side. Beyond the
 * columns that are a multiple of N, column after column changes places in the same way, and threads that are in no
 * whole group of s * N stay where they are: p takes each value below the number of threads once. So the launch does the
 * same work, whatever s is. It is guessed from divisions of the thread's index, and computed where the kernel begins,
 * from values that all threads have in common.
 *
 * That is sound if the number i is all that the kernel learns of a thread's place along x, and if threads do nothing
 * together: no shared memory, barrier, atomic, or instruction of a warp. Launches of 2^31 threads or more along x, and
 * those of fewer than s * N, keep their places.
 *
 * Requires and keeps SSA form. */
#include "opt/common/early.h"
#include "opt/common/ends.h"
#include "opt/demands.h"
#include "opt/order/exchanging.h"
#include "opt/passes.h"

/* Whether the register holds this component of a special register. */
static bool reads_x(const Exchanger *e, RegId reg, unsigned role)
{
    const RegId from = reg == REG_NONE ? REG_NONE : value_copied_from(e->values, reg);
    const Inst *inst = from == REG_NONE ? NULL : value_inst(e->values, from);
    return inst && inst_is_plain(inst) && inst_index_axis(inst, role) == 0;
}

static bool is_block_start(const Exchanger *e, RegId a, RegId b)
{
    return (reads_x(e, a, SREG_ROLE_CTAID) && reads_x(e, b, SREG_ROLE_NTID)) ||
           (reads_x(e, b, SREG_ROLE_CTAID) && reads_x(e, a, SREG_ROLE_NTID));
}

/* Whether the instruction computes the index: by one multiply-add, or by an addition to a product. */
static bool is_index(const Exchanger *e, const Inst *inst)
{
    Computation c, product;
    if (computation_matches(e->body, inst, COMPUTE_MAD, 32, "rrr", &c))
        return c.sources[0].bits == 32 && is_block_start(e, c.sources[0].reg, c.sources[1].reg) &&
               reads_x(e, c.sources[2].reg, SREG_ROLE_TID);
    if (!computation_matches(e->body, inst, COMPUTE_ADD, 32, "rr", &c) || c.saturates)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (reads_x(e, c.sources[i].reg, SREG_ROLE_TID) &&
            computation_matches(e->body, value_inst(e->values, c.sources[1 - i].reg), COMPUTE_MUL, 32, "rr",
                                &product) &&
            product.sources[0].bits == 32 && is_block_start(e, product.sources[0].reg, product.sources[1].reg))
            return true;
    return false;
}

/* Whether nothing but the index is computed from the register. */
static bool is_only_for_index(const Exchanger *e, RegId reg, unsigned depth)
{
    const ValueUse *uses = value_uses(e->values, reg);
    for (uint32_t i = 0; i < value_use_count(e->values, reg); i++) {
        const Inst *inst = uses[i].inst;
        if (inst == e->index)
            continue;
        const RegId result = inst && inst_is_computation(inst) ? inst_result(inst) : REG_NONE;
        if (result == REG_NONE || depth == MOST_DEPTH || !is_only_for_index(e, result, depth + 1))
            return false;
    }
    return true;
}

static bool check_sreg(const Exchanger *e, const Inst *inst, const Sreg *sreg)
{
    const bool is_place = sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_CTAID;
    if (!is_place && sreg->role != SREG_ROLE_NTID && sreg->role != SREG_ROLE_NCTAID)
        return false;
    const unsigned axis = inst_index_axis(inst, sreg->role);
    return axis < 3 && (!is_place || axis || is_only_for_index(e, inst_result(inst), 0));
}

/* Whether threads that execute it do nothing together, and learn nothing of their place beside the index. */
static bool check_inst(const Exchanger *e, const Inst *inst)
{
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst) || inst->sync != SYNC_NONE || inst_names_shared(inst))
        return false;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg)
        return check_sreg(e, inst, sreg);
    if (!inst_access(inst, &access))
        return !(inst->effects & (EFFECT_READ | EFFECT_WRITE | EFFECT_TRAP | EFFECT_THREAD | EFFECT_VOLATILE |
                                  EFFECT_ASYNC | EFFECT_STACK));
    return access.space != SPACE_SHARED &&
           (access.read_only ||
            (access.weak && access.address && (access.kind == ACCESS_LOAD || access.kind == ACCESS_STORE)));
}

static bool may_exchange(const Exchanger *e)
{
    for (size_t b = 0; b < e->body->blocks.count; b++)
        for (const Inst *inst = e->body->blocks.data[b]->first; inst; inst = inst->next)
            if (!check_inst(e, inst))
                return false;
    return true;
}

static bool find_index(Exchanger *e)
{
    for (size_t b = 0; b < e->body->blocks.count; b++)
        for (Inst *inst = e->body->blocks.data[b]->first; inst; inst = inst->next)
            if (is_index(e, inst)) {
                e->index = inst;
                e->reg = inst_result(inst);
                return true;
            }
    return false;
}

typedef struct Entry {
    Body *body;
    Block *block;
} Entry;

/* A new register, and its instruction at the end of the entry. */
static RegId new_place(const Entry *entry)
{
    return body_add_reg(entry->body, TYPE_B32, intern(entry->body->module->names, "%place"));
}

static RegId put_inst(const Entry *entry, RegId result, Inst *inst)
{
    inst_append(entry->block, inst);
    return result;
}

/* a 'op' b, a constant */
static RegId put(const Entry *entry, const char *op, RegId a, int64_t b)
{
    const RegId result = new_place(entry);
    return put_inst(entry, result, inst_build(entry->body, op, "dri", result, a, b));
}

static RegId put_regs(const Entry *entry, const char *op, RegId a, RegId b)
{
    const RegId result = new_place(entry);
    return put_inst(entry, result, inst_build(entry->body, op, "drr", result, a, b));
}

/* a * b + c */
static RegId put_mad(const Entry *entry, RegId a, RegId b, RegId c)
{
    const RegId result = new_place(entry);
    return put_inst(entry, result, inst_build(entry->body, "mad.lo.u32", "drrr", result, a, b, c));
}

static RegId put_read(const Entry *entry, const char *sreg)
{
    const RegId result = new_place(entry);
    return put_inst(entry, result, inst_build(entry->body, "mov.u32", "ds", result, sreg));
}

static RegId put_test(const Entry *entry, const char *op, RegId a, RegId b, RegId also)
{
    const RegId result = body_add_reg(entry->body, TYPE_PRED, intern(entry->body->module->names, "%fits"));
    return put_inst(entry, result,
                    also == REG_NONE ? inst_build(entry->body, op, "drr", result, a, b)
                                     : inst_build(entry->body, op, "drrr", result, a, b, also));
}

static RegId put_choice(const Entry *entry, RegId a, RegId b, RegId first)
{
    const RegId result = new_place(entry);
    return put_inst(entry, result, inst_build(entry->body, "selp.b32", "drrr", result, a, b, first));
}

/* The number of threads along x; 0: 2^31 or more. */
static RegId put_threads(const Entry *entry, RegId size)
{
    const RegId grid = put_read(entry, "%nctaid.x"), high = put_regs(entry, "mul.hi.u32", grid, size);
    const RegId low = put_regs(entry, "mul.lo.u32", grid, size), top = put(entry, "shr.u32", low, 31);
    const RegId beyond = put_regs(entry, "or.b32", high, top), none = put(entry, "and.b32", beyond, 0);
    RegId fits = put_test(entry, "setp.eq.u32", beyond, none, REG_NONE);
    return put_choice(entry, low, none, fits);
}

/* s, the product of the divisors. */
static RegId put_distance(const Exchanger *e, const Entry *entry)
{
    const EarlyPlace place = {.scratch = e->scratch, .body = e->body, .at = entry->block, .values = e->values};
    RegId distance = new_place(entry);
    put_inst(entry, distance, inst_build(e->body, "mov.u32", "di", distance, (int64_t)(e->divisor.constant + 0.5)));
    for (unsigned i = 0; i < e->divisor.count; i++)
        distance = put_regs(entry, "mul.lo.u32", distance, value_hoist(&place, e->divisor.regs[i]));
    return distance;
}

/* The place of thread r of a group, in it: 'shift' is the logarithm of N. */
static RegId put_place(const Entry *entry, RegId r, RegId distance, unsigned shift)
{
    const int64_t side = 1 << shift;
    const RegId whole = put(entry, "and.b32", distance, -side), end = put(entry, "shl.b32", whole, shift);
    const RegId tile = put(entry, "shr.u32", r, 2 * shift), first = put(entry, "shl.b32", tile, shift);
    const RegId column = put_regs(entry, "or.b32", first, put(entry, "and.b32", r, side - 1));
    const RegId row = put(entry, "and.b32", put(entry, "shr.u32", r, shift), side - 1);
    const RegId left = put_regs(entry, "sub.u32", r, end);
    const RegId left_column = put_regs(entry, "add.u32", whole, put(entry, "shr.u32", left, shift));
    const RegId left_row = put(entry, "and.b32", left, side - 1);
    const RegId in_tile = put_test(entry, "setp.lt.u32", r, end, REG_NONE);
    return put_mad(entry, put_choice(entry, row, left_row, in_tile), distance,
                   put_choice(entry, column, left_column, in_tile));
}

static void exchange(Exchanger *e)
{
    const Entry entry = {e->body, body_add_entry(e->body)};
    const unsigned shift = (unsigned)__builtin_ctz(SECTOR / e->bytes);
    const RegId size = put_read(&entry, "%ntid.x"), block = put_read(&entry, "%ctaid.x");
    const RegId thread = put_read(&entry, "%tid.x"), own = put_mad(&entry, block, size, thread);
    const RegId threads = put_threads(&entry, size), guess = put_distance(e, &entry);
    const RegId most = put(&entry, "shr.u32", threads, shift), one = put(&entry, "max.u32", most, 1);
    /* 0 < s <= threads / N */
    const RegId fits = put_test(&entry, "setp.le.u32", put(&entry, "add.u32", guess, -1),
                                put(&entry, "add.u32", one, -1), REG_NONE);
    const RegId distance = put_choice(&entry, guess, one, fits);
    const RegId group = put(&entry, "shl.b32", distance, shift);
    const RegId before = put_regs(&entry, "mul.lo.u32", put_regs(&entry, "div.u32", own, group), group);
    const RegId r = put_regs(&entry, "sub.u32", own, before);
    const RegId place = put_regs(&entry, "add.u32", before, put_place(&entry, r, distance, shift));
    const RegId is_whole = put_test(&entry, "setp.le.and.u32", put_regs(&entry, "add.u32", before, group), threads,
                                    fits);
    const RegId chosen = put_choice(&entry, place, own, is_whole);
    inst_insert_before(e->index, inst_build(e->body, "mov.b32", "dr", e->reg, chosen));
    inst_remove(e->index);
}

bool pass_exchange(PassContext *context)
{
    Exchanger e = {.scratch = arena_new(), .body = context->body, .analyses = context->analyses,
                   .values = analyses_values(context->analyses), .affine = analyses_affine(context->analyses),
                   .known = context->known};
    const bool found = find_index(&e) && exchange_guess(&e) && !demands_find(context->kernel).has_clusters &&
                       may_exchange(&e);
    if (found) {
        context->exchange = (Exchange){.done = true, .side = SECTOR / e.bytes, .span = e.span};
        exchange(&e);
    }
    arena_free(e.scratch);
    return found;
}
