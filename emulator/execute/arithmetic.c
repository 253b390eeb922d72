/* Arithmetic that is done lane by lane rather than on whole rows. */
#include "emulator/execute/execute.h"

Step run_scalar(Exec *x, const Op *op, uint32_t mask)
{
    const void *rows[MAX_SOURCES];
    void *dest = x->frame->registers + op->dest;
    uint64_t values[MAX_SOURCES] = {0};
    for (unsigned i = 0; i < op->source_count; i++)
        rows[i] = source_row(x, op->sources[i]);
    EACH_ACTIVE(lane, mask)
    {
        for (unsigned i = 0; i < op->source_count; i++)
            values[i] = row_get(rows[i], op->source_bytes[i], lane);
        row_set(dest, op->dest_bytes, lane, op->scalar.function(values, op->scalar.control));
    }
    return STEP_NEXT;
}

/* Integer div and rem that report division by zero. */
Step run_divide(Exec *x, const Op *op, uint32_t mask)
{
    const void *divisors = source_row(x, op->sources[1]);
    EACH_ACTIVE(lane, mask)
    {
        if (!row_get(divisors, op->source_bytes[1], lane))
            return fault_at(x, op, lane, FAULT_DIVISION, "%s", "");
    }
    return run_scalar(x, op, mask);
}

static void predicate_set(Exec *x, uint32_t row, uint32_t mask, uint32_t value)
{
    uint32_t *predicate = (uint32_t *)(x->frame->registers + row);
    *predicate = (*predicate & ~mask) | (value & mask);
}

static uint32_t combine_masks(uint8_t combine, uint32_t a, uint32_t b)
{
    switch (combine) {
    case BOOL_AND: return a & b;
    case BOOL_OR: return a | b;
    case BOOL_XOR: return a ^ b;
    default: return a;
    }
}

Step run_setp(Exec *x, const Op *op, uint32_t mask)
{
    const void *rows[2] = {source_row(x, op->sources[0]), source_row(x, op->sources[1])};
    uint32_t truth = 0, other;
    if (op->scalar.compare) {
        _Alignas(32) uint8_t bytes[LANES];
        op->scalar.compare(bytes, rows);
        truth = row_mask(bytes);
        other = ~truth;
    } else {
        /* f16x2 writes the lower half's result to the first predicate and the upper half's to the second. */
        bool pair = op->scalar.control & CONTROL_PAIR;
        other = pair ? 0 : ALL_LANES;
        EACH_ACTIVE(lane, mask)
        {
            uint64_t values[2] = {row_get(rows[0], op->source_bytes[0], lane),
                                  row_get(rows[1], op->source_bytes[1], lane)};
            uint64_t result = op->scalar.function(values, op->scalar.control);
            truth |= (uint32_t)(result & 1) << lane;
            if (pair)
                other |= (uint32_t)(result >> 1 & 1) << lane;
        }
        if (!pair)
            other = ~truth;
    }
    uint32_t with = op->scalar.combine != BOOL_NONE ? source_mask(x, op->sources[2]) : 0;
    if (op->dest != NO_ROW)
        predicate_set(x, op->dest, mask, combine_masks(op->scalar.combine, truth, with));
    if (op->scalar.dest_false != NO_ROW)
        predicate_set(x, op->scalar.dest_false, mask, combine_masks(op->scalar.combine, other, with));
    return STEP_NEXT;
}

/* lop3.BoolOp: the predicate is (d != 0) op q. Sources: d, q. */
Step run_lop3_predicate(Exec *x, const Op *op, uint32_t mask)
{
    const uint32_t *value = source_row(x, op->sources[0]);
    uint32_t truth = 0;
    EACH_ACTIVE(lane, mask)
    {
        truth |= (uint32_t)(value[lane] != 0) << lane;
    }
    predicate_set(x, op->dest, mask, combine_masks(op->scalar.combine, truth, source_mask(x, op->sources[1])));
    return STEP_NEXT;
}

/* Instructions with the carry flag. Kind: bits 0-2 are the operation, bit 3: reads the flag, bit 4: writes it.
 * A subtraction adds the complement, and its flag is the carry of that sum: 1 where nothing was borrowed. */
Step run_carry(Exec *x, const Op *op, uint32_t mask)
{
    unsigned kind = CONTROL_KIND(op->scalar.control), width = op->scalar.control & CONTROL_WIDTH;
    unsigned sum_kind = kind & ~(CARRY_READS | CARRY_WRITES);
    bool multiplies = sum_kind == CARRY_MAD_LO || sum_kind == CARRY_MAD_HI;
    void *dest = x->frame->registers + op->dest;
    uint32_t carry_out = 0;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t s[3] = {0};
        for (unsigned i = 0; i < op->source_count; i++)
            s[i] = row_get(source_row(x, op->sources[i]), op->source_bytes[i], lane);
        uint64_t a = s[0], b = s[1];
        if (multiplies) {
            b = s[2];
            a = sum_kind == CARRY_MAD_LO ? (s[0] * s[1]) & width_mask(width) : scalar_mul_hi(s, op->scalar.control);
        }
        if (sum_kind == CARRY_SUB)
            b = ~b & width_mask(width);
        unsigned flag = kind & CARRY_READS ? x->frame->carry >> lane & 1 : sum_kind == CARRY_SUB;
        unsigned __int128 sum = (unsigned __int128)a + b + flag;
        carry_out |= (uint32_t)(sum >> width & 1) << lane;
        row_set(dest, op->dest_bytes, lane, (uint64_t)sum & width_mask(width));
    }
    if (kind & CARRY_WRITES)
        x->frame->carry = (x->frame->carry & ~mask) | carry_out;
    return STEP_NEXT;
}

/* Copies some bytes of each element, for packing, unpacking and 128-bit moves. */
Step run_copy_bytes(Exec *x, const Op *op, uint32_t mask)
{
    uint8_t *dest = x->frame->registers + op->dest + op->copy.dest_offset;
    const uint8_t *source = (const uint8_t *)source_row(x, op->sources[0]) + op->copy.source_offset;
    EACH_ACTIVE(lane, mask)
    {
        memcpy(dest + lane * op->dest_bytes, source + lane * op->source_bytes[0], op->copy.bytes);
    }
    return STEP_NEXT;
}

/* %clock and similar registers: the warp instructions that the launch has executed so far, shifted right by 'value'. */
Step run_clock(Exec *x, const Op *op, uint32_t mask)
{
    uint64_t now = x->emulator->steps + x->steps;
    x->emulator->effects++; /* reading it again gives another value */
    EACH_ACTIVE(lane, mask)
    {
        row_set(x->frame->registers + op->dest, op->dest_bytes, lane, now >> op->value);
    }
    return STEP_NEXT;
}
