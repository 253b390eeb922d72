/* Sectors and bank conflicts of an access, derived from the way in which its address depends on the thread's index.
 *
 * The address is decomposed as far as its affine form goes, including through extensions to 64 bits, which are assumed
 * not to wrap here: if one does, a figure is wrong, but nothing else. */
#include "cost/estimate.h"

#include <math.h>
#include <string.h>

enum { BANKS = 32, WORD = 4, WIDEST = 16, DEEPEST = 12, MOST_REGISTERS = 200 };
static const double gathered = 0.75; /* the share of the lanes' sectors that are distinct if an index is unknown */

typedef struct Shape {
    double stride[3];  /* bytes between neighbours along x, y, z */
    bool unknown[3];   /* differs along x, y, z in an unknown way */
    bool gathers[3];   /* because of what it is computed from, not only by unknown distances between lanes */
    uint64_t apart[WARP_THREADS]; /* lanes with different numbers are at an unknown distance */
    bool differs_by_block;
    double pieces[WARP_THREADS]; /* bytes to be added for each lane, where an index is divided into groups */
    double constant;   /* bytes added in total */
    double block_stride; /* bytes between neighbouring blocks along x; 0: none, or unknown */
    double step;       /* bytes that it moves in each iteration of the innermost loop in which it moves; 0: unknown */
    BitSet moves;      /* by Loop.index: loops in which the address changes */
    uint64_t key;      /* a hash of all terms except constants: a sum, so their order does not matter */
    Map *objects;      /* Estimate.objects */
    const Block *block; /* of the access */
    unsigned *registers; /* how many more may be decomposed; shared by the parts of a product */
} Shape;

static void add_register(Estimate *estimate, Shape *shape, RegId reg, double scale, unsigned depth);

typedef enum KeyKind { KEY_REGISTER = 1, KEY_OBJECT, KEY_WINDOW } KeyKind;

static void add_key(Shape *shape, KeyKind kind, uint64_t what, double scale)
{
    uint64_t bits;
    memcpy(&bits, &scale, sizeof bits);
    shape->key += hash_mix(hash_mix(hash_mix(kind, what), bits), kind);
}

/* Special registers and variables are numbered as they are met: their addresses differ from run to run. */
static void add_object_key(Shape *shape, const void *object, int64_t offset, double scale)
{
    if (!map_get(shape->objects, pointer_key(object)))
        map_put(shape->objects, pointer_key(object), shape->objects->count + 1);
    uint64_t number = *map_get(shape->objects, pointer_key(object));
    add_key(shape, KEY_OBJECT, hash_mix(number, (uint64_t)offset), scale);
}

static void add_sreg(Shape *shape, const Sreg *sreg, double scale)
{
    add_object_key(shape, sreg, 0, scale);
    if (sreg->role == SREG_ROLE_TID && sreg->axis <= SREG_AXIS_Z)
        shape->stride[sreg->axis] += scale;
    else if (sreg->role == SREG_ROLE_LANEID)
        shape->stride[0] += scale;
    else if (sreg->dependence == SREG_BLOCK)
        shape->differs_by_block = true;
    if (sreg->role == SREG_ROLE_CTAID && sreg->axis == SREG_AXIS_X)
        shape->block_stride += scale;
}

static void add_terms(Estimate *estimate, Shape *shape, const AffineForm *form, double scale, unsigned depth)
{
    shape->constant += scale * (double)form->constant;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        double coefficient = scale * (double)term->coefficient;
        if (term->base == AFFINE_SREG)
            add_sreg(shape, term->sreg, coefficient);
        else if (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED)
            add_register(estimate, shape, term->reg, coefficient, depth + 1);
        else if (term->base == AFFINE_WINDOW)
            add_key(shape, KEY_WINDOW, (uint64_t)term->offset, coefficient);
        else
            add_object_key(shape, term->object, term->offset, coefficient);
    }
}

/* Adds a register that cannot be decomposed, times 'scale'. */
static void add_unknown(Estimate *estimate, Shape *shape, RegId reg, double scale)
{
    add_key(shape, KEY_REGISTER, reg, scale);
    for (unsigned i = 0; i < 3; i++)
        if (estimate_differs(estimate, i, reg, shape->block))
            shape->unknown[i] = shape->gathers[i] = true;
    shape->differs_by_block |= estimate_differs(estimate, ALONG_BLOCKS, reg, shape->block);
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Block *block = analyses_values(estimate->analyses)->defs[reg].block;
    for (const Loop *loop = block ? loop_of(loops, block) : NULL; loop; loop = loop->parent)
        bitset_add(&shape->moves, loop->index);
}

/* The bytes by which a phi of a loop's header advances; 0: unknown. */
static double phi_step(const Estimate *estimate, RegId reg)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    if (!def->block || def->inst)
        return 0;
    const Phi *phi = &def->block->phis.data[def->phi];
    for (size_t i = 0; i < phi->args.count; i++) {
        AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[i].reg);
        if (next.term_count == 1 && next.terms[0].reg == reg && next.terms[0].coefficient == 1)
            return (double)next.constant;
    }
    return 0;
}

/* The value with which a loop's phi starts. */
static RegId phi_start(const Estimate *estimate, RegId reg)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block ? loop_of(analyses_loops(estimate->analyses), def->block) : NULL;
    if (!loop || def->inst || loop->header != def->block)
        return REG_NONE;
    const Phi *phi = &def->block->phis.data[def->phi];
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
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = def->block && !def->inst ? &def->block->phis.data[def->phi] : NULL;
    RegId before = REG_NONE;
    unsigned rests = 0;
    for (size_t i = 0; phi && i < phi->args.count; i++) {
        if (continuing_loop(estimate, phi->args.data[i].reg, def->block))
            rests++;
        else
            before = phi->args.data[i].reg;
    }
    return rests && rests + 1 == phi->args.count ? before : REG_NONE;
}

static void add_operand(Estimate *estimate, Shape *shape, const Inst *inst, unsigned index, double scale,
                        unsigned depth)
{
    const Operand *operand = &inst->operands[index];
    if (operand->kind == OPERAND_REG)
        add_register(estimate, shape, operand_reg(inst, operand), scale, depth + 1);
    else if (operand->kind == OPERAND_SREG)
        add_sreg(shape, operand->sreg, scale);
}

/* The lane's place in the block, along x, y and z. */
static void lane_place(const Estimate *estimate, unsigned lane, unsigned place[3])
{
    const unsigned wide = (unsigned)estimate->block[0], high = (unsigned)estimate->block[1];
    place[0] = lane % wide;
    place[1] = lane / wide % high;
    place[2] = lane / wide / high;
}

/* The lane's address, relative to the first one's. */
static double lane_offset(const Estimate *estimate, const Shape *shape, unsigned lane)
{
    unsigned place[3];
    lane_place(estimate, lane, place);
    double offset = shape->pieces[lane];
    for (unsigned i = 0; i < 3; i++)
        offset += shape->stride[i] * place[i];
    return offset;
}

/* For a part of what the shape adds up: loops in which it changes are noted in the whole. */
static Shape part_of(const Shape *shape)
{
    return (Shape){.objects = shape->objects, .moves = shape->moves, .block = shape->block,
                   .registers = shape->registers};
}

/* Adds a factor of a product that is not affine: lanes in which it differs are at an unknown distance. */
static void add_factor(Estimate *estimate, Shape *shape, const Inst *inst, unsigned index, unsigned depth)
{
    RegId factor = operand_reg(inst, &inst->operands[index]);
    if (factor == REG_NONE)
        return;
    Shape part = part_of(shape);
    add_register(estimate, &part, factor, 1, depth + 1);
    add_key(shape, KEY_REGISTER, factor, 0);
    for (unsigned i = 0; i < 3; i++) {
        shape->unknown[i] |= part.unknown[i] || part.stride[i] != 0;
        shape->gathers[i] |= part.gathers[i];
    }
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        const double place = lane_offset(estimate, &part, lane);
        uint64_t bits;
        memcpy(&bits, &place, sizeof bits);
        shape->apart[lane] = hash_mix(hash_mix(shape->apart[lane], part.apart[lane]), bits);
    }
    shape->differs_by_block |= part.differs_by_block;
}

/* Notes that the operand, if it is an index of the threads and what all of them have in common, is divided into groups:
 * 'scale' bytes are for each group, or each place in one. The strides say what would be if each neighbour moved on. */
static void add_piece(Estimate *estimate, Shape *shape, const Inst *inst, double scale, double size, bool is_place,
                      unsigned depth)
{
    Shape index = part_of(shape);
    if (size <= 1)
        return;
    add_operand(estimate, &index, inst, 1, 1, depth);
    if (index.unknown[0] || index.unknown[1] || index.unknown[2])
        return;
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        const double at = lane_offset(estimate, &index, lane), group = floor(at / size);
        shape->pieces[lane] += is_place ? -scale * group * size : scale * (group - at / size);
    }
}

/* Adds the contribution of a right shift, which divides by 'parts'. If thread blocks have been merged
 * (opt/coarsen/index.c), only one of those whose indices the shift makes equal works, so the next one to work is as far
 * away as neighbours were. */
static void add_shifted(Estimate *estimate, Shape *shape, const Inst *inst, double scale, double parts, unsigned depth)
{
    double before = shape->block_stride;
    add_piece(estimate, shape, inst, scale, parts, false, depth);
    add_operand(estimate, shape, inst, 1, scale / parts, depth);
    shape->block_stride = before + (shape->block_stride - before) * parts;
}

/* True if the operand is the same for the threads of a block. */
static bool is_same_for_threads(Estimate *estimate, const Shape *shape, const Inst *inst, const Operand *operand)
{
    RegId reg = operand_reg(inst, operand);
    for (unsigned i = 0; reg != REG_NONE && i < 3; i++)
        if (estimate_differs(estimate, i, reg, shape->block))
            return false;
    return reg != REG_NONE || operand->kind == OPERAND_CONSTANT;
}

/* Adds a quotient, or its remainder. A divisor that is not known, but the same for all, is taken to be large:
 * neighbours have one quotient. */
static bool add_division(Estimate *estimate, Shape *shape, const Inst *inst, double scale, unsigned depth)
{
    const Operand *divisor = &inst->operands[2];
    const bool is_known = divisor->kind == OPERAND_CONSTANT, is_place = inst_op(inst) == OP_REM;
    if (!is_same_for_threads(estimate, shape, inst, divisor))
        return false;
    const double parts = is_known ? (double)divisor->constant->bits : INFINITY;
    if (parts == 0)
        return false;
    if (is_known)
        add_piece(estimate, shape, inst, scale, parts, is_place, depth);
    add_operand(estimate, shape, inst, 1, is_place ? scale : scale / parts, depth);
    return true;
}

/* Adds the operands that the instruction adds up; false if it does something else. */
static bool add_definition(Estimate *estimate, Shape *shape, const Inst *inst, double scale, unsigned depth)
{
    const Operand *last = &inst->operands[inst->operand_count - 1];
    switch (inst_op(inst)) {
    case OP_MAD:
    case OP_MUL:
        add_factor(estimate, shape, inst, 1, depth);
        add_factor(estimate, shape, inst, 2, depth);
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
        if (last->kind == OPERAND_CONSTANT && !(last->constant->bits & (last->constant->bits + 1)))
            add_piece(estimate, shape, inst, scale, (double)last->constant->bits + 1, true, depth);
        add_operand(estimate, shape, inst, 1, scale, depth);
        return last->kind == OPERAND_CONSTANT;
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

static void add_register(Estimate *estimate, Shape *shape, RegId reg, double scale, unsigned depth)
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
        if (!inst || depth >= DEEPEST || !add_definition(estimate, shape, inst, scale, depth))
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
    shape->step = fabs(phi_step(estimate, reg) * scale);
    add_register(estimate, shape, start, scale, depth + 1);
}

/* The number of lanes of the first warp that the block fills. */
static unsigned warp_lanes(const Estimate *estimate)
{
    double threads = estimate->block[0] * estimate->block[1] * estimate->block[2];
    return threads < WARP_THREADS ? (unsigned)threads : WARP_THREADS;
}

/* Lanes of one group are as far apart as the strides say. */
static uint64_t lane_group(const Estimate *estimate, const Shape *shape, unsigned lane)
{
    unsigned place[3];
    lane_place(estimate, lane, place);
    uint64_t group = shape->apart[lane];
    for (unsigned i = 0; i < 3; i++)
        group = shape->gathers[i] ? hash_mix(group, place[i]) : group;
    return group;
}

/* A piece of memory that a lane touches. */
typedef struct Touched {
    uint64_t group;
    int64_t piece;
} Touched;

static bool insert(Touched *set, unsigned *count, Touched one)
{
    for (unsigned i = 0; i < *count; i++)
        if (set[i].group == one.group && set[i].piece == one.piece)
            return false;
    set[(*count)++] = one;
    return true;
}

/* The pieces of 'size' bytes that the lanes touch, if the first one's address is aligned. Lanes at an unknown distance
 * share none, unless it comes from an index that is unknown. */
static double pieces_of(const Estimate *estimate, const Shape *shape, double bytes, double size)
{
    Touched pieces[WARP_THREADS * 4];
    unsigned count = 0, lanes = warp_lanes(estimate);
    double last = bytes < 4 * size ? bytes - 1 : 4 * size - 1, aligned = fmin(bytes, WIDEST);
    for (unsigned lane = 0; lane < lanes; lane++) {
        double at = floor(lane_offset(estimate, shape, lane) / aligned) * aligned;
        const uint64_t group = lane_group(estimate, shape, lane);
        for (int64_t piece = (int64_t)floor(at / size); piece <= (int64_t)floor((at + last) / size); piece++)
            if (count < COUNT_OF(pieces))
                insert(pieces, &count, (Touched){group, piece});
    }
    return shape->gathers[0] ? ceil(count * gathered) : count;
}

/* The extra cycles, for lanes that access different words of the same bank. Lanes with wide accesses take turns. */
static double conflicts_of(const Estimate *estimate, const Shape *shape, double bytes)
{
    unsigned lanes = warp_lanes(estimate);
    Touched groups[WARP_THREADS];
    unsigned group_count = 0;
    for (unsigned lane = 0; lane < lanes; lane++)
        insert(groups, &group_count, (Touched){lane_group(estimate, shape, lane), 0});
    if (group_count > 1) /* of 32 random words, the fullest bank has about three */
        return 2.0 * (group_count - 1) / (WARP_THREADS - 1);
    unsigned words = bytes > WORD ? (unsigned)(bytes / WORD) : 1, conflicts = 0;
    unsigned together = BANKS / words ? BANKS / words : 1;
    for (unsigned first = 0; first < lanes; first += together) {
        Touched seen[BANKS];
        unsigned count = 0, fullest = 0, used[BANKS] = {0};
        for (unsigned lane = first; lane < lanes && lane < first + together; lane++) {
            int64_t word = (int64_t)floor(lane_offset(estimate, shape, lane) / WORD);
            unsigned bank = (unsigned)word % BANKS;
            if (insert(seen, &count, (Touched){0, word}) && ++used[bank] > fullest)
                fullest = used[bank];
        }
        conflicts += fullest > 1 ? fullest - 1 : 0;
    }
    return conflicts;
}

/* The sectors that a warp of a working (not surplus) block touches for the first time, over all executions of the
 * access. */
static double distinct_of(const Estimate *estimate, const Shape *shape, const Inst *inst, double sectors)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    double executions = estimate->flow[inst->block->id].warps / estimate->present[inst->block->id];
    for (const Loop *loop = loop_of(loops, inst->block); loop; loop = loop->parent)
        if (!bitset_has(&shape->moves, loop->index))
            executions /= estimate->trips[loop->index];
    bool creeps = shape->step > 0 && shape->step < SECTOR_BYTES;
    return sectors * (creeps ? 1 + (executions - 1) * shape->step / SECTOR_BYTES : executions);
}

/* The sector to which the constant of an address leads, relative to those that other threads or other iterations of the
 * loop touch with another constant: addresses meet if they are a multiple of that distance apart. 0 if they are dense,
 * or if the places are unknown. */
static uint64_t sector_between_threads(const Estimate *estimate, const Shape *shape)
{
    double row = fabs(shape->stride[0]) * estimate->block[0], apart = fabs(shape->stride[0]);
    double constant = shape->constant;
    int64_t rows = 0;
    for (unsigned k = 3; k-- > 1;)
        if (!shape->unknown[k] && fabs(shape->stride[k]) > row)
            constant -= shape->stride[k] * round(constant / shape->stride[k]);
    if (row > 0 && shape->stride[1] != 0 && fabs(constant) > row) {
        rows = (int64_t)round(constant / row);
        constant = 0;
    }
    double step = fabs(shape->step), share = fabs(shape->block_stride);
    bool moves = bitset_next(&shape->moves, 0) != SIZE_MAX, is_alone = !shape->differs_by_block && !moves;
    /* The pieces that the threads touch one after the other of what a block, or a round of a loop, moves on by. */
    const double whole = share > row ? share : moves && step > row ? step : 0;
    if (row > 0 && (whole > 0 || is_alone || (moves && step == 0))) {
        constant -= whole > 0 ? whole * floor(constant / whole) : 0;
        rows = (int64_t)hash_mix((uint64_t)rows, (uint64_t)(int64_t)floor(constant / row));
        constant -= row * floor(constant / row);
    }
    if (shape->unknown[0] || (apart > 0 && apart <= SECTOR_BYTES))
        return (uint64_t)rows;
    if (moves && step <= SECTOR_BYTES)
        return (uint64_t)rows;
    if (moves && (apart == 0 || step < apart))
        apart = step;
    if (apart > 0)
        constant -= apart * floor(constant / apart);
    return hash_mix((uint64_t)rows, (uint64_t)(int64_t)floor(constant / SECTOR_BYTES));
}

/* True if a load or store that touches the same sectors has been estimated; remembers this one. */
static bool is_neighbour(Estimate *estimate, uint64_t key)
{
    if (map_get(&estimate->seen, key | 1))
        return true;
    map_put(&estimate->seen, key | 1, 1);
    return false;
}

AccessShape estimate_access(Estimate *estimate, const Inst *inst, const Access *access)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    AffineAddress address;
    Shape shape = {.moves = bitset_new(estimate->arena, loops->loop_count + 1),
                   .objects = &estimate->objects,
                   .block = inst->block,
                   .registers = &(unsigned){MOST_REGISTERS}};
    double bytes = access->bytes ? access->bytes : WORD;
    affine_of_address(analyses_affine(estimate->analyses), inst, access->address, &address);
    if (address.form.bits)
        add_terms(estimate, &shape, &address.form, 1, 0);
    else
        shape.unknown[0] = shape.differs_by_block = true;
    double sectors = pieces_of(estimate, &shape, bytes, SECTOR_BYTES);
    double distinct = distinct_of(estimate, &shape, inst, sectors);
    double conflicts = conflicts_of(estimate, &shape, bytes);
    bool differs_by_warp = shape.unknown[0] || shape.unknown[1] || shape.unknown[2] || shape.stride[1] != 0 ||
                           shape.stride[2] != 0 || (shape.stride[0] != 0 && estimate->block[0] > WARP_THREADS);
    uint64_t key = hash_mix(shape.key, access->kind == ACCESS_LOAD);
    key = hash_mix(key, sector_between_threads(estimate, &shape));
    const bool is_slow = bitset_has(&estimate->slow, inst->block->id);
    const bool is_repeated = is_slow || (address.form.bits && is_neighbour(estimate, key));
    return (AccessShape){
        .sectors = sectors,
        .lines = pieces_of(estimate, &shape, bytes, LINE_BYTES),
        .wavefronts = ceil((bytes > WORD ? bytes / WORD : 1) * warp_lanes(estimate) / WARP_THREADS) + conflicts,
        .bank_conflicts = conflicts,
        .distinct = is_repeated ? 0 : distinct * (differs_by_warp ? estimate_warps(estimate) : 1),
        .differs_by_block = shape.differs_by_block,
    };
}
