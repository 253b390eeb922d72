/* The terms of an address, and how the lanes of a warp differ in it. */
#include "cost/address.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 12, MOST_REGISTERS = 200 };

static void add_register(Estimate *estimate, AddressShape *shape, RegId reg, double scale, unsigned depth);

static uint64_t hash_double(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return hash_mix(hash, bits);
}

static uint64_t term_hash(const Term *term)
{
    return hash_mix(hash_double(hash_mix(term->kind, term->what), term->scale), term->kind);
}

static void add_term(AddressShape *shape, TermKind kind, uint64_t what, double scale)
{
    const Term term = {kind, what, scale};
    if (scale == 0)
        return;
    for (unsigned i = 0; i < shape->term_count; i++)
        if (shape->terms[i].kind == kind && shape->terms[i].what == what) {
            shape->terms[i].scale += scale;
            return;
        }
    if (shape->term_count < MOST_TERMS)
        shape->terms[shape->term_count++] = term;
    else
        shape->more_terms += term_hash(&term);
}

/* The term without what leads from a row to another one that the block, or a neighbouring one, has. */
static double between_rows(const AddressShape *shape, const Term *term)
{
    for (unsigned i = 0; i < shape->row_count; i++) {
        const Rows *rows = &shape->rows[i];
        if (rows->kind != term->kind || rows->what != term->what)
            continue;
        const double rest = term->scale - rows->step * floor(term->scale / rows->step);
        double whole = term->scale - rest;
        whole -= rows->share > 0 ? rows->share * floor(whole / rows->share) : 0;
        return rest + rows->extent * trunc(whole / rows->extent);
    }
    return term->scale;
}

uint64_t address_key(const AddressShape *shape)
{
    uint64_t key = shape->more_terms;
    for (unsigned i = 0; i < shape->term_count; i++) {
        Term term = shape->terms[i];
        term.scale = between_rows(shape, &term);
        key += term.scale != 0 ? term_hash(&term) : 0;
    }
    return key;
}

/* Special registers and variables are numbered as they are met: their addresses differ from run to run. */
static void add_object_key(AddressShape *shape, const void *object, int64_t offset, double scale)
{
    if (!map_get(shape->objects, pointer_key(object)))
        map_put(shape->objects, pointer_key(object), shape->objects->count + 1);
    uint64_t number = *map_get(shape->objects, pointer_key(object));
    add_term(shape, TERM_OBJECT, hash_mix(number, (uint64_t)offset), scale);
}

static void add_sreg(const Estimate *estimate, AddressShape *shape, const Sreg *sreg, double scale)
{
    if (sreg->role == SREG_ROLE_NTID && sreg->axis <= SREG_AXIS_Z) {
        shape->constant += scale * estimate->block[sreg->axis];
        return;
    }
    add_object_key(shape, sreg, 0, scale);
    if (sreg->role == SREG_ROLE_TID && sreg->axis <= SREG_AXIS_Z)
        shape->stride[sreg->axis] += scale;
    else if (sreg->role == SREG_ROLE_LANEID)
        shape->stride[0] += scale;
    else if (sreg->dependence == SREG_BLOCK)
        shape->differs_by_block = true;
    if (sreg->role == SREG_ROLE_CTAID && sreg->axis <= SREG_AXIS_Z)
        shape->block_stride[sreg->axis] += scale;
}

static void add_terms(Estimate *estimate, AddressShape *shape, const AffineForm *form, double scale, unsigned depth)
{
    shape->constant += scale * (double)form->constant;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        double coefficient = scale * (double)term->coefficient;
        if (term->base == AFFINE_SREG)
            add_sreg(estimate, shape, term->sreg, coefficient);
        else if (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED)
            add_register(estimate, shape, term->reg, coefficient, depth + 1);
        else if (term->base == AFFINE_WINDOW)
            add_term(shape, TERM_WINDOW, (uint64_t)term->offset, coefficient);
        else
            add_object_key(shape, term->object, term->offset, coefficient);
    }
}

/* Adds a register that cannot be decomposed, times 'scale'. */
static void add_unknown(Estimate *estimate, AddressShape *shape, RegId reg, double scale)
{
    add_term(shape, TERM_REGISTER, reg, scale);
    for (unsigned i = 0; i < 3; i++)
        if (estimate_differs(estimate, i, reg, shape->block))
            shape->unknown[i] = shape->gathers[i] = true;
    shape->differs_by_block |= estimate_differs(estimate, ALONG_BLOCKS, reg, shape->block);
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Block *block = analyses_values(estimate->analyses)->defs[reg].block;
    for (const Loop *loop = block ? loop_of(loops, block) : NULL; loop; loop = loop->parent)
        bitset_add(&shape->moves, loop->index);
}

/* The phi that makes the register; NULL: something else does. */
static const Phi *phi_of(const Estimate *estimate, RegId reg)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    return def->block && !def->inst ? &def->block->phis.data[def->phi] : NULL;
}

/* The bytes by which a phi of a loop's header advances; NAN: unknown. */
static double phi_step(const Estimate *estimate, RegId reg)
{
    const Phi *phi = phi_of(estimate, reg);
    for (size_t i = 0; phi && i < phi->args.count; i++) {
        AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[i].reg);
        if (next.term_count == 1 && next.terms[0].reg == reg && next.terms[0].coefficient == 1)
            return (double)next.constant;
    }
    return NAN;
}

double address_step(const AddressShape *shape)
{
    return isnan(shape->step) ? 0 : fabs(shape->step);
}

/* Notes that the address moves by 'step' bytes in a loop of this depth. */
static void add_step(AddressShape *shape, unsigned depth, double step)
{
    if (depth > shape->step_depth) {
        shape->step_depth = depth;
        shape->step = 0;
    }
    shape->step += depth == shape->step_depth ? step : 0;
}

/* The value with which a loop's phi starts. */
static RegId phi_start(const Estimate *estimate, RegId reg)
{
    const Phi *phi = phi_of(estimate, reg);
    const Block *block = analyses_values(estimate->analyses)->defs[reg].block;
    const Loop *loop = phi ? loop_headed(analyses_loops(estimate->analyses), block) : NULL;
    if (!loop)
        return REG_NONE;
    for (size_t i = 0; i < phi->args.count; i++)
        if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            return phi->args.data[i].reg;
    return REG_NONE;
}

/* The loop from which the value comes into the block, if it continues another loop; NULL: none. */
static const Loop *continuing_loop(const Estimate *estimate, RegId reg, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Block *made = analyses_values(estimate->analyses)->defs[reg].block;
    const Loop *loop = made ? loop_of(loops, made) : NULL;
    return loop && !loop_contains(loops, loop, block) && estimate_continued(estimate, loop) ? loop : NULL;
}

/* The value before a continuing loop, which few threads reach, for a phi that joins it with the loop's values.
 * REG_NONE: the phi joins others. */
static RegId phi_before_rest(const Estimate *estimate, RegId reg)
{
    const Phi *phi = phi_of(estimate, reg);
    const Block *block = analyses_values(estimate->analyses)->defs[reg].block;
    RegId before = REG_NONE;
    unsigned rests = 0;
    for (size_t i = 0; phi && i < phi->args.count; i++) {
        if (continuing_loop(estimate, phi->args.data[i].reg, block))
            rests++;
        else
            before = phi->args.data[i].reg;
    }
    return rests && rests + 1 == phi->args.count ? before : REG_NONE;
}

static void add_operand(Estimate *estimate, AddressShape *shape, const Inst *inst, unsigned index, double scale,
                        unsigned depth)
{
    const Operand *operand = &inst->operands[index];
    if (operand->kind == OPERAND_REG)
        add_register(estimate, shape, operand_reg(inst, operand), scale, depth + 1);
    else if (operand->kind == OPERAND_SREG)
        add_sreg(estimate, shape, operand->sreg, scale);
}

void address_lane_place(const Estimate *estimate, unsigned lane, unsigned place[3])
{
    const unsigned wide = (unsigned)estimate->block[0], high = (unsigned)estimate->block[1];
    place[0] = lane % wide;
    place[1] = lane / wide % high;
    place[2] = lane / wide / high;
}

double address_lane_offset(const Estimate *estimate, const AddressShape *shape, unsigned lane)
{
    unsigned place[3];
    address_lane_place(estimate, lane, place);
    double offset = shape->pieces[lane];
    for (unsigned i = 0; i < 3; i++)
        offset += shape->stride[i] * place[i];
    return offset;
}

/* For a part of what the shape adds up: loops in which it changes are noted in the whole. */
static AddressShape part_of(const AddressShape *shape)
{
    return (AddressShape){.objects = shape->objects, .moves = shape->moves, .block = shape->block,
                          .registers = shape->registers};
}

/* Adds what a factor of a product says of the lanes: those in which it differs are at an unknown distance. */
static void add_factor(const Estimate *estimate, AddressShape *shape, const AddressShape *factor)
{
    for (unsigned i = 0; i < 3; i++) {
        shape->unknown[i] |= factor->unknown[i] || factor->stride[i] != 0;
        shape->gathers[i] |= factor->gathers[i];
    }
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        const uint64_t apart = hash_mix(shape->apart[lane], factor->apart[lane]);
        shape->apart[lane] = hash_double(apart, address_lane_offset(estimate, factor, lane));
    }
    shape->differs_by_block |= factor->differs_by_block;
}

/* True if it is one value for all that the launch executes. */
static bool is_uniform(const AddressShape *factor)
{
    bool is_same = !factor->more_terms && !factor->differs_by_block && !factor->step_depth;
    for (unsigned i = 0; i < 3; i++)
        is_same &= !factor->unknown[i] && factor->stride[i] == 0;
    return is_same;
}

static bool is_constant(const AddressShape *factor)
{
    return is_uniform(factor) && !factor->term_count;
}

/* True if it is an unknown number by which rows may be apart. */
static bool is_pitch(const AddressShape *factor)
{
    return is_uniform(factor) && factor->term_count == 1 && factor->terms[0].scale == 1 && factor->constant == 0;
}

static void add_scaled_rows(AddressShape *shape, const Rows *rows, double scale)
{
    if (scale * rows->step > 0 && shape->row_count < MOST_ROWS)
        shape->rows[shape->row_count++] =
            (Rows){rows->kind, rows->what, scale * rows->step, scale * rows->extent, scale * rows->share};
}

/* Notes the loop in which 'index' changes as one that goes along 'threads' of the block that are 'distance' apart;
 * 'by_block': how far the next block is. Dense threads leave nothing between them to rounds of smaller steps. */
static void add_walk(AddressShape *shape, const AddressShape *index, double distance, double threads, double by_block,
                     bool is_dense)
{
    const double rounds = distance / address_step(index); /* from one thread to the next */
    if (!(address_step(index) > 0) || !(distance > 0) || threads < 2 || shape->walk_count == MOST_WALKS)
        return;
    const double own = is_dense ? 1 : fmax(rounds, 1);
    shape->walks[shape->walk_count++] = (Walk){.depth = index->step_depth,
                                               .own = own,
                                               .grows = fmin(own / rounds / threads, 1),
                                               .is_tiled = by_block == distance * threads};
}

/* Adds the terms of 'scale' bytes times an index times the pitch of what it numbers. */
static void add_rows(const Estimate *estimate, AddressShape *shape, const AddressShape *index, const Term *pitch,
                     double scale)
{
    Rows rows = {.kind = pitch->kind, .what = pitch->what};
    double last = 0;
    for (unsigned i = 0; i < 3; i++) {
        const double stride = fabs(index->stride[i]), share = fabs(index->block_stride[i]);
        rows.step = stride > 0 && (rows.step == 0 || stride < rows.step) ? stride : rows.step;
        rows.share = share > 0 && (rows.share == 0 || share < rows.share) ? share : rows.share;
        last += stride * (estimate->block[i] - 1);
    }
    if (rows.step == 0)
        rows.step = address_step(index);
    rows.extent = last + rows.step;
    add_walk(shape, index, rows.step, rows.extent / rows.step, rows.share, false);
    add_term(shape, TERM_PART, hash_mix(hash_mix(address_key(index), pitch->kind), pitch->what), scale);
    add_term(shape, pitch->kind, pitch->what, scale * index->constant);
    add_scaled_rows(shape, &rows, fabs(scale));
}

/* Adds a part, times 'scale'. */
static void add_part(AddressShape *shape, const AddressShape *part, double scale)
{
    for (unsigned i = 0; i < 3; i++) {
        shape->stride[i] += scale * part->stride[i];
        shape->block_stride[i] += scale * part->block_stride[i];
        shape->unknown[i] |= part->unknown[i];
        shape->gathers[i] |= part->gathers[i];
    }
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        shape->pieces[lane] += scale * part->pieces[lane];
        shape->apart[lane] = part->apart[lane] ? hash_mix(shape->apart[lane], part->apart[lane]) : shape->apart[lane];
    }
    shape->differs_by_block |= part->differs_by_block;
    shape->wrap = part->wrap > 0 ? fabs(scale) * part->wrap : shape->wrap;
    shape->constant += scale * part->constant;
    add_step(shape, part->step_depth, scale * part->step);
    for (unsigned i = 0; i < part->row_count; i++)
        add_scaled_rows(shape, &part->rows[i], fabs(scale));
    for (unsigned i = 0; i < part->walk_count && shape->walk_count < MOST_WALKS; i++)
        shape->walks[shape->walk_count++] = part->walks[i];
    add_term(shape, TERM_PART, address_key(part), scale);
}

/* Adds 'scale' bytes times a product that is not affine. */
static void add_product(Estimate *estimate, AddressShape *shape, const Inst *inst, double scale, unsigned depth)
{
    AddressShape factors[2];
    const RegId regs[2] = {operand_reg(inst, &inst->operands[1]), operand_reg(inst, &inst->operands[2])};
    for (unsigned i = 0; i < 2; i++) {
        factors[i] = part_of(shape);
        if (regs[i] != REG_NONE)
            add_register(estimate, &factors[i], regs[i], 1, depth + 1);
    }
    for (unsigned i = 0; i < 2; i++)
        if (is_constant(&factors[i]) && regs[0] != REG_NONE && regs[1] != REG_NONE) {
            add_part(shape, &factors[1 - i], scale * factors[i].constant);
            return;
        }
    add_factor(estimate, shape, &factors[0]);
    add_factor(estimate, shape, &factors[1]);
    if (is_pitch(&factors[1]))
        add_rows(estimate, shape, &factors[0], &factors[1].terms[0], scale);
    else if (is_pitch(&factors[0]))
        add_rows(estimate, shape, &factors[1], &factors[0].terms[0], scale);
    else
        add_term(shape, TERM_PART, hash_mix(regs[0], regs[1]), scale);
}

/* Adds the operand that an instruction divides by 'size' into groups: 'scale' bytes are for each group, or each place
 * in one. If the groups of the lanes are unknown, each neighbour is taken to move on. */
static void add_grouped(Estimate *estimate, AddressShape *shape, const Inst *inst, double scale, double size,
                        bool is_place, unsigned depth)
{
    AddressShape index = part_of(shape);
    add_operand(estimate, &index, inst, 1, 1, depth);
    const bool is_known = size > 1 && isfinite(size) && !index.unknown[0] && !index.unknown[1] && !index.unknown[2];
    if (is_known && is_place && index.stride[0] != 0)
        index.wrap = size;
    for (unsigned lane = 0; is_known && lane < WARP_THREADS; lane++) {
        const double at = address_lane_offset(estimate, &index, lane), group = floor(at / size);
        shape->pieces[lane] += is_place ? -scale * group * size : scale * (group - at / size);
    }
    add_part(shape, &index, is_place ? scale : scale / size);
}

/* Adds the contribution of a right shift, which divides by 'parts'. If thread blocks have been merged
 * (opt/coarsen/index.c), only one of those whose indices the shift makes equal works, so the next one to work is as far
 * away as neighbours were. */
static void add_shifted(Estimate *estimate, AddressShape *shape, const Inst *inst, double scale, double parts,
                        unsigned depth)
{
    const double before = shape->block_stride[0];
    add_grouped(estimate, shape, inst, scale, parts, false, depth);
    shape->block_stride[0] = before + (shape->block_stride[0] - before) * parts;
}

/* True if the operand is the same for the threads of a block. */
static bool is_same_for_threads(Estimate *estimate, const AddressShape *shape, const Inst *inst, const Operand *operand)
{
    RegId reg = operand_reg(inst, operand);
    for (unsigned i = 0; reg != REG_NONE && i < 3; i++)
        if (estimate_differs(estimate, i, reg, shape->block))
            return false;
    return reg != REG_NONE || operand->kind == OPERAND_CONSTANT;
}

/* Adds a quotient, or its remainder. A divisor that is not known, but the same for all, is taken to be large:
 * neighbours have one quotient. */
static bool add_division(Estimate *estimate, AddressShape *shape, const Inst *inst, double scale, unsigned depth)
{
    const Operand *divisor = &inst->operands[2];
    if (!is_same_for_threads(estimate, shape, inst, divisor))
        return false;
    const double parts = divisor->kind == OPERAND_CONSTANT ? (double)divisor->constant->bits : INFINITY;
    if (parts == 0)
        return false;
    add_grouped(estimate, shape, inst, scale, parts, inst_op(inst) == OP_REM, depth);
    return true;
}

/* Adds the operands that the instruction adds up; false if it does something else. */
static bool add_definition(Estimate *estimate, AddressShape *shape, const Inst *inst, double scale, unsigned depth)
{
    const Operand *last = &inst->operands[inst->operand_count - 1];
    switch (inst_op(inst)) {
    case OP_MAD:
    case OP_MUL:
        add_product(estimate, shape, inst, scale, depth);
        if (inst->operand_count > 3)
            add_operand(estimate, shape, inst, 3, scale, depth);
        return true;
    case OP_ADD:
        add_operand(estimate, shape, inst, 1, scale, depth);
        add_operand(estimate, shape, inst, 2, scale, depth);
        return true;
    case OP_CVT:
    case OP_CVTA:
    case OP_MOV: add_operand(estimate, shape, inst, 1, scale, depth); return true;
    case OP_MIN: /* an index kept within bounds, which it mostly is anyway */
    case OP_MAX:
    case OP_SELP:
        add_operand(estimate, shape, inst, 1, scale, depth);
        return true;
    case OP_AND: /* keeps the low bits, which is where neighbours differ */
        if (last->kind != OPERAND_CONSTANT)
            return false;
        if (last->constant->bits & (last->constant->bits + 1))
            add_operand(estimate, shape, inst, 1, scale, depth);
        else
            add_grouped(estimate, shape, inst, scale, (double)last->constant->bits + 1, true, depth);
        return true;
    case OP_DIV:
    case OP_REM: return add_division(estimate, shape, inst, scale, depth);
    case OP_SHR:
        if (last->kind != OPERAND_CONSTANT || last->constant->bits > 31)
            return false;
        add_shifted(estimate, shape, inst, scale, (double)(UINT32_C(1) << last->constant->bits), depth);
        return true;
    default: return false;
    }
}

/* True if the lanes are at the same distances from each other. */
static bool is_same_for_lanes(const Estimate *estimate, const AddressShape *a, const AddressShape *b)
{
    for (unsigned lane = 0; lane < WARP_THREADS; lane++)
        if (a->apart[lane] != b->apart[lane] ||
            address_lane_offset(estimate, a, lane) != address_lane_offset(estimate, b, lane))
            return false;
    return !memcmp(a->stride, b->stride, sizeof a->stride);
}

/* Adds a phi of a join whose arguments differ by what all lanes have in common, as where a loop begins after the first
 * rounds of another: most lanes of a warp take the same path. Joins of the same values are taken to be the same, as in
 * several loops over the same data. False if something else makes the register, or lanes differ in more. */
static bool add_join(Estimate *estimate, AddressShape *shape, RegId reg, double scale, unsigned depth)
{
    const Phi *phi = phi_of(estimate, reg);
    AddressShape first = part_of(shape);
    uint64_t joined = 0;
    if (!phi)
        return false;
    for (size_t i = 0; i < phi->args.count; i++) {
        AddressShape part = part_of(shape);
        add_register(estimate, &part, phi->args.data[i].reg, 1, depth + 1);
        if (part.unknown[0] || part.unknown[1] || part.unknown[2] || (i && !is_same_for_lanes(estimate, &first, &part)))
            return false;
        if (!i)
            first = part;
        first.differs_by_block |= part.differs_by_block;
        joined = hash_double(hash_mix(joined, address_key(&part)), part.constant);
    }
    for (unsigned i = 0; i < 3; i++)
        if (first.stride[i] == 0 && estimate_differs(estimate, i, reg, shape->block))
            return false;
    first.terms[0] = (Term){TERM_PART, joined, 1};
    first.term_count = 1;
    add_part(shape, &first, scale);
    return true;
}

static void add_register(Estimate *estimate, AddressShape *shape, RegId reg, double scale, unsigned depth)
{
    AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    bool is_itself = form.term_count == 1 && form.terms[0].reg == reg &&
                     (form.terms[0].base == AFFINE_VALUE || form.terms[0].base == AFFINE_SIGNED);
    if (form.bits && !is_itself && depth < DEEPEST) {
        add_terms(estimate, shape, &form, scale, depth);
        return;
    }
    if (*shape->registers == 0) {
        add_unknown(estimate, shape, reg, scale);
        return;
    }
    --*shape->registers;
    RegId start = phi_start(estimate, reg), before = phi_before_rest(estimate, reg);
    if (before != REG_NONE && depth < DEEPEST) {
        add_register(estimate, shape, before, scale, depth + 1);
        return;
    }
    if (start == REG_NONE || depth >= DEEPEST) {
        const Inst *inst = value_inst(analyses_values(estimate->analyses), reg);
        if (depth >= DEEPEST || !(inst ? add_definition(estimate, shape, inst, scale, depth)
                                       : add_join(estimate, shape, reg, scale, depth)))
            add_unknown(estimate, shape, reg, scale);
        return;
    }
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Loop *loop = loop_of(loops, analyses_values(estimate->analyses)->defs[reg].block);
    const LoopExits *exits = &estimate->exits[loop->index];
    if (!loop_contains(loops, loop, shape->block) && (exits->uneven || !exits->counted)) {
        add_unknown(estimate, shape, reg, scale); /* each thread leaves with another value */
        return;
    }
    bitset_add(&shape->moves, loop->index);
    if (loop_contains(loops, loop, shape->block))
        add_step(shape, loop->depth, phi_step(estimate, reg) * scale);
    add_register(estimate, shape, start, scale, depth + 1);
}

/* Notes the axes of the block along which the innermost loop goes in which the address changes. */
static void add_axes(const Estimate *estimate, AddressShape *shape)
{
    for (unsigned i = 0; i < 3; i++) {
        const double apart = fabs(shape->stride[i]);
        const double most = i == 0 && shape->wrap > 0 ? shape->wrap / apart : INFINITY;
        const bool is_dense = i == 0 && apart <= SECTOR_BYTES, is_axis = fmod(address_step(shape), apart) == 0;
        if (!shape->unknown[i] && (is_dense || is_axis))
            add_walk(shape, shape, apart, fmin(estimate->block[i], most), fabs(shape->block_stride[i]), is_dense);
    }
}

AddressShape address_shape(Estimate *estimate, const AffineForm *form, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    unsigned registers = MOST_REGISTERS;
    AddressShape shape = {.moves = bitset_new(estimate->arena, loops->loop_count + 1),
                          .objects = &estimate->objects,
                          .block = block,
                          .registers = &registers};
    if (form->bits)
        add_terms(estimate, &shape, form, 1, 0);
    else
        shape.unknown[0] = shape.differs_by_block = true;
    shape.registers = NULL;
    add_axes(estimate, &shape);
    return shape;
}
