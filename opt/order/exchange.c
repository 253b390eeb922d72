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
#include "opt/order/place_code.h"
#include "opt/passes.h"

/* The number of threads along x; 0: 2^31 or more. */
static RegId put_threads(const PlaceCode *entry, RegId size)
{
    const RegId grid = place_read(entry, "%nctaid.x"), high = place_regs(entry, "mul.hi.u32", grid, size);
    const RegId low = place_regs(entry, "mul.lo.u32", grid, size), top = place_number(entry, "shr.u32", low, 31);
    const RegId beyond = place_regs(entry, "or.b32", high, top), none = place_number(entry, "and.b32", beyond, 0);
    RegId fits = place_test(entry, "setp.eq.u32", beyond, none, REG_NONE);
    return place_choice(entry, low, none, fits);
}

/* s, the product of the divisors. */
static RegId put_distance(const Exchanger *e, const PlaceCode *entry)
{
    const EarlyPlace place = {.scratch = e->scratch, .body = e->body, .at = entry->block, .values = e->values};
    RegId distance = place_reg(entry);
    place_put(entry, distance, inst_build(e->body, "mov.u32", "di", distance, (int64_t)(e->divisor.constant + 0.5)));
    for (unsigned i = 0; i < e->divisor.count; i++)
        distance = place_regs(entry, "mul.lo.u32", distance, value_hoist(&place, e->divisor.regs[i]));
    return distance;
}

/* The place of thread r of a group, in it: 'shift' is the logarithm of N. */
static RegId put_place(const PlaceCode *entry, RegId r, RegId distance, unsigned shift)
{
    const int64_t side = 1 << shift;
    const RegId whole = place_number(entry, "and.b32", distance, -side);
    const RegId end = place_number(entry, "shl.b32", whole, shift), tile = place_number(entry, "shr.u32", r, 2 * shift);
    const RegId first = place_number(entry, "shl.b32", tile, shift);
    const RegId column = place_regs(entry, "or.b32", first, place_number(entry, "and.b32", r, side - 1));
    const RegId row = place_number(entry, "and.b32", place_number(entry, "shr.u32", r, shift), side - 1);
    const RegId left = place_regs(entry, "sub.u32", r, end);
    const RegId left_column = place_regs(entry, "add.u32", whole, place_number(entry, "shr.u32", left, shift));
    const RegId left_row = place_number(entry, "and.b32", left, side - 1);
    const RegId in_tile = place_test(entry, "setp.lt.u32", r, end, REG_NONE);
    return place_mad(entry, place_choice(entry, row, left_row, in_tile), distance,
                   place_choice(entry, column, left_column, in_tile));
}

static void exchange(Exchanger *e)
{
    const PlaceCode entry = {e->body, body_add_entry(e->body)};
    const unsigned shift = (unsigned)__builtin_ctz(SECTOR / e->bytes);
    const RegId size = place_read(&entry, "%ntid.x"), block = place_read(&entry, "%ctaid.x");
    const RegId thread = place_read(&entry, "%tid.x"), own = place_mad(&entry, block, size, thread);
    const RegId threads = put_threads(&entry, size), guess = put_distance(e, &entry);
    const RegId most = place_number(&entry, "shr.u32", threads, shift), one = place_number(&entry, "max.u32", most, 1);
    /* 0 < s <= threads / N */
    const RegId fits = place_test(&entry, "setp.le.u32", place_number(&entry, "add.u32", guess, -1),
                                place_number(&entry, "add.u32", one, -1), REG_NONE);
    const RegId distance = place_choice(&entry, guess, one, fits);
    const RegId group = place_number(&entry, "shl.b32", distance, shift);
    const RegId before = place_regs(&entry, "mul.lo.u32", place_regs(&entry, "div.u32", own, group), group);
    const RegId r = place_regs(&entry, "sub.u32", own, before);
    const RegId place = place_regs(&entry, "add.u32", before, put_place(&entry, r, distance, shift));
    const RegId is_whole = place_test(&entry, "setp.le.and.u32", place_regs(&entry, "add.u32", before, group), threads,
                                    fits);
    const RegId chosen = place_choice(&entry, place, own, is_whole);
    inst_insert_before(e->flat.inst, inst_build(e->body, "mov.b32", "dr", e->flat.reg, chosen));
    inst_remove(e->flat.inst);
}

bool pass_exchange(PassContext *context)
{
    Exchanger e = {.scratch = arena_new(), .body = context->body, .analyses = context->analyses,
                   .values = analyses_values(context->analyses), .affine = analyses_affine(context->analyses),
                   .known = context->known};
    const bool found = flat_index_find(e.body, e.values, &e.flat) && exchange_guess(&e) &&
                       !demands_find(context->kernel).has_clusters && flat_index_is_all(&e.flat);
    if (found) {
        context->exchange = (Exchange){.done = true, .side = SECTOR / e.bytes, .span = e.span};
        exchange(&e);
    }
    arena_free(e.scratch);
    return found;
}
