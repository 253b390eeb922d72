/* Tiles of threads in flattened grids.
 *
 *     i = %ctaid.x * %ntid.x + %tid.x;   row = i / n;   column = i % n
 *     for (k = 0; k < depth; k++)
 *         sum += a[row * depth + k] * b[k * n + column];
 *
 * A block of 256 threads works on a piece of a row: they read one element of a in a round, and 256 of b. If they are
 * 16 x 16 threads of a tile they read 16 of each; and with 16 blocks merged to one of 4 x 4 such tiles, a thread
 * loads eight elements for its 16 results, not 17. So the threads of the launch change places: with tiles of h rows and
 * w columns, h * w = %ntid.x, and S merged blocks that are s_h x s_w tiles,
 *
 *     group = %ctaid.x / S,  part = %ctaid.x % S,  band = group / (n / (w * s_w))
 *     row    = band * (h * s_h) + part / s_w * h + %tid.x / w
 *     column = group % (n / (w * s_w)) * (w * s_w) + part % s_w * w + %tid.x % w
 *     i      = row * n + column
 *
 * i takes each value below the number of threads once if n is a multiple of w * s_w, and the number of threads one of
 * n * h * s_h. The kernel is in two versions, of which the launch takes this one then, and the other one as it was.
 * Rows may be those of images: i / n is divided by their height m in turn, which then must be a multiple of h * s_h, so
 * that the threads of a group are in one image. Quotients and remainders of i are taken from row and column. Coarsening
 * gives the replicas of a group consecutive blocks, and knows their group and part.
 *
 * That is sound if the number i is all that the kernel learns of a thread's place along x, and if threads do nothing
 * together (flat_index.h). It is done where a loop loads from addresses that depend on the row alone, and others that
 * depend on the column alone.
 *
 * Requires and keeps SSA form. */
#include "opt/common/early.h"
#include "opt/common/ends.h"
#include "opt/common/version.h"
#include "opt/demands.h"
#include "opt/order/flat_index.h"
#include "opt/order/place_code.h"
#include "opt/passes.h"

#include <string.h>

enum {
    MOST_DIVISORS = 4,
    MOST_COPIED = 2048, /* instructions */
    LEAST_THREADS = 64,
    MOST_MERGED = 64,
};

/* The meaning of a register. */
typedef enum Kind {
    KIND_OTHER,
    KIND_ZERO,        /* the sign of the index, and parts of it */
    KIND_INDEX,
    KIND_ROW,         /* i / n */
    KIND_COLUMN,      /* i % n */
    KIND_ROW_START,   /* row * n */
    KIND_IMAGE,       /* row / m */
    KIND_IN_IMAGE,    /* row % m */
    KIND_IMAGE_START, /* image * m */
} Kind;

/* A sum of 32 bits of values of the kinds, each this many times, of which all kinds are sums:
 * KIND_INDEX is a row's start and a column, KIND_IMAGE_START is a row without its place in the image. */
enum { IN_ROW, IN_COLUMN, IN_ROW_START, IN_IN_IMAGE, IN_ALL };

typedef struct PlaceSum {
    bool is_there; /* the value is such a sum */
    int8_t times[IN_ALL];
} PlaceSum;

/* The places on which the address of a load may depend. */
enum { ON_ROW = 1, ON_COLUMN = 2, ON_INDEX = 4 };

/* A divisor: a register, or a number, of which divisions are shifts if it is a power of two. */
typedef struct Size {
    bool is_there;
    ComputeSource is;
} Size;

typedef struct Unflattener {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Values *values;
    FlatIndex flat;
    Size width, height;  /* n and m; no m: there are no images */
    uint8_t *kinds;      /* by RegId: Kind */
    PlaceSum *sums;      /* by RegId */
    uint8_t *depends;    /* by RegId: ON_ROW, ... */
    const KnownParameters *known; /* in the launches that are given; NULL: nothing is */
    unsigned tile[2], merged[2]; /* logarithms of threads, and of blocks, along columns and rows */
} Unflattener;

static Kind kind_of(const Unflattener *u, const ComputeSource *source)
{
    return source->is_constant || source->reg == REG_NONE ? KIND_OTHER
                                                          : (Kind)u->kinds[value_copied_from(u->values, source->reg)];
}

/* Whether the two are the same, a parameter that is loaded twice for instance. */
static bool is_same(const Unflattener *u, const ComputeSource *a, const ComputeSource *b)
{
    if (a->is_constant || b->is_constant)
        return a->is_constant && b->is_constant && (uint32_t)a->constant == (uint32_t)b->constant;
    if (a->reg == REG_NONE || b->reg == REG_NONE)
        return false;
    const Affine *affine = analyses_affine(u->analyses);
    const AffineForm of_a = affine_of_reg(affine, a->reg), of_b = affine_of_reg(affine, b->reg);
    AffineForm distance;
    return value_copied_from(u->values, a->reg) == value_copied_from(u->values, b->reg) ||
           (of_a.bits && affine_add(u->scratch, &of_a, &of_b, -1, &distance) && !distance.term_count &&
            !distance.constant);
}

static bool is_size(const Unflattener *u, const ComputeSource *source, const Size *size)
{
    return size->is_there && is_same(u, source, &size->is);
}

/* The other factor, if the value is a product with the first one. */
static Size other_factor(const Unflattener *u, const ComputeSource *product, const ComputeSource *first)
{
    Computation c;
    const bool are_numbers = product->is_constant && first->is_constant;
    if (are_numbers && first->constant > 1 && product->constant > first->constant &&
        product->constant % first->constant == 0)
        return (Size){true, {.is_constant = true, .reg = REG_NONE, .constant = product->constant / first->constant}};
    const bool is_reg = !product->is_constant && product->reg != REG_NONE;
    const RegId from = is_reg ? value_copied_from(u->values, product->reg) : REG_NONE;
    if (from != REG_NONE && computation_matches(u->body, value_inst(u->values, from), COMPUTE_MUL, 32, "xx", &c))
        for (unsigned i = 0; i < 2; i++)
            if (is_same(u, &c.sources[i], first))
                return (Size){true, c.sources[1 - i]};
    return (Size){false};
}

static bool is_common(const Unflattener *u, const ComputeSource *source)
{
    return source->is_constant ? (uint32_t)source->constant != 0
                               : source->reg != REG_NONE && value_is_common(u->scratch, u->values, source->reg);
}

static bool computes(const Unflattener *u, const Inst *inst, Computation *c)
{
    return inst_is_plain(inst) && computation_of(u->body, inst, c) && c->bits == 32 && c->reg_bits == 32 &&
           !c->saturates;
}

/* Whether the number of 32 bits leaves out the last bits of another one. */
static bool is_mask(uint64_t number)
{
    const uint32_t size = -(uint32_t)number;
    return size > 1 && size < UINT32_MAX / 2 && !(size & (size - 1));
}

/* Whether it divides a value of this kind by what all threads have in common. */
static bool divides(const Unflattener *u, const Inst *inst, Kind dividend, Computation *c)
{
    if (!computes(u, inst, c))
        return false;
    if (c->op == COMPUTE_AND && c->sources[1].is_constant && is_mask(c->sources[1].constant)) {
        c->op = COMPUTE_DIV;
        c->sources[1].constant = -(uint32_t)c->sources[1].constant;
    }
    computation_take_division(c);
    return (c->op == COMPUTE_DIV || c->op == COMPUTE_REM) && kind_of(u, &c->sources[0]) == dividend &&
           is_common(u, &c->sources[1]);
}

/* The different divisors of values of this kind. */
static unsigned find_divisors(const Unflattener *u, Kind dividend, ComputeSource divisors[MOST_DIVISORS])
{
    unsigned count = 0;
    for (size_t b = 0; b < u->body->blocks.count; b++)
        for (const Inst *inst = u->body->blocks.data[b]->first; inst; inst = inst->next) {
            Computation c;
            bool is_new = count < MOST_DIVISORS && divides(u, inst, dividend, &c);
            for (unsigned d = 0; d < count && is_new; d++)
                is_new = !is_same(u, &divisors[d], &c.sources[1]);
            if (is_new)
                divisors[count++] = c.sources[1];
        }
    return count;
}

/* Takes a divisor of the index for n that is not the product of another one and something; m is the other factor of a
 * divisor n * m, if there is one. */
static bool find_width(Unflattener *u)
{
    ComputeSource divisors[MOST_DIVISORS];
    const unsigned count = find_divisors(u, KIND_INDEX, divisors);
    for (unsigned d = 0; d < count; d++) {
        bool is_product = false;
        for (unsigned other = 0; other < count; other++)
            is_product |= other != d && other_factor(u, &divisors[d], &divisors[other]).is_there;
        if (!is_product && !u->width.is_there)
            u->width = (Size){true, divisors[d]};
    }
    for (unsigned d = 0; d < count && u->width.is_there; d++) {
        const Size factor = other_factor(u, &divisors[d], &u->width.is);
        u->height = factor.is_there && is_common(u, &factor.is) ? factor : u->height;
    }
    return u->width.is_there;
}

static Kind quotient_kind(const Unflattener *u, const Computation *c, Kind dividend)
{
    const ComputeSource *by = &c->sources[1];
    if (dividend == KIND_ROW)
        return is_size(u, by, &u->height) ? KIND_IMAGE : KIND_OTHER;
    if (dividend != KIND_INDEX)
        return KIND_OTHER;
    if (is_size(u, by, &u->width))
        return KIND_ROW;
    const Size factor = other_factor(u, by, &u->width.is);
    return factor.is_there && is_size(u, &factor.is, &u->height) ? KIND_IMAGE : KIND_OTHER;
}

static Kind remainder_kind(const Unflattener *u, const Computation *c, Kind dividend)
{
    if (dividend == KIND_INDEX)
        return is_size(u, &c->sources[1], &u->width) ? KIND_COLUMN : KIND_OTHER;
    return dividend == KIND_ROW && is_size(u, &c->sources[1], &u->height) ? KIND_IN_IMAGE : KIND_OTHER;
}

static Kind product_kind(const Unflattener *u, const Computation *c)
{
    for (unsigned i = 0; i < 2; i++) {
        if (kind_of(u, &c->sources[i]) == KIND_ROW && is_size(u, &c->sources[1 - i], &u->width))
            return KIND_ROW_START;
        if (kind_of(u, &c->sources[i]) == KIND_IMAGE && is_size(u, &c->sources[1 - i], &u->height))
            return KIND_IMAGE_START;
    }
    return KIND_OTHER;
}

/* Whether the index or row less its last bits is what a division by this number and a product make of it. */
static Kind masked_kind(const Unflattener *u, const Computation *c, Kind of)
{
    if (!c->sources[1].is_constant)
        return KIND_OTHER;
    const uint32_t mask = (uint32_t)c->sources[1].constant;
    const ComputeSource size = {.is_constant = true, .reg = REG_NONE, .constant = -mask};
    return of == KIND_INDEX && is_size(u, &size, &u->width)   ? KIND_ROW_START
           : of == KIND_ROW && is_size(u, &size, &u->height) ? KIND_IMAGE_START
                                                             : KIND_OTHER;
}

static const PlaceSum kind_sums[KIND_IMAGE_START + 1] = {
    [KIND_ZERO] = {true, {0}},
    [KIND_INDEX] = {true, {[IN_ROW_START] = 1, [IN_COLUMN] = 1}},
    [KIND_ROW] = {true, {[IN_ROW] = 1}},
    [KIND_COLUMN] = {true, {[IN_COLUMN] = 1}},
    [KIND_ROW_START] = {true, {[IN_ROW_START] = 1}},
    [KIND_IN_IMAGE] = {true, {[IN_IN_IMAGE] = 1}},
    [KIND_IMAGE_START] = {true, {[IN_ROW] = 1, [IN_IN_IMAGE] = -1}},
};

/* The result of an addition or a subtraction, if both of its operands are such sums. */
static PlaceSum computed_sum(const Unflattener *u, const Inst *inst)
{
    Computation c;
    if (!computes(u, inst, &c) || (c.op != COMPUTE_ADD && c.op != COMPUTE_SUB) || c.sources[0].reg == REG_NONE ||
        c.sources[1].reg == REG_NONE)
        return (PlaceSum){false};
    const PlaceSum *a = &u->sums[value_copied_from(u->values, c.sources[0].reg)];
    const PlaceSum *b = &u->sums[value_copied_from(u->values, c.sources[1].reg)];
    PlaceSum sum = {a->is_there && b->is_there, {0}};
    for (unsigned i = 0; i < IN_ALL && sum.is_there; i++) {
        const int times = a->times[i] + (c.op == COMPUTE_ADD ? b->times[i] : -b->times[i]);
        sum.is_there = times >= -2 && times <= 2;
        sum.times[i] = (int8_t)times;
    }
    return sum;
}

static Kind sum_kind(const PlaceSum *sum)
{
    for (unsigned k = KIND_ZERO; k <= KIND_IMAGE_START && sum->is_there; k++)
        if (kind_sums[k].is_there && !memcmp(kind_sums[k].times, sum->times, sizeof sum->times))
            return (Kind)k;
    return KIND_OTHER;
}

/* A row is where its image starts, and its place in it. */
static uint8_t sum_depends(const PlaceSum *sum)
{
    const bool on_row = sum->times[IN_ROW] + sum->times[IN_IN_IMAGE] || sum->times[IN_ROW_START];
    return (uint8_t)((on_row ? ON_ROW : 0) | (sum->times[IN_COLUMN] ? ON_COLUMN : 0));
}

/* Signed division by a power of two adds something to numbers below zero, to which the index does not belong. */
static Kind shifted_kind(const Computation *c, Kind of)
{
    const bool is_sign = c->sources[1].is_constant && c->sources[1].constant == 31 &&
                         (of == KIND_INDEX || of == KIND_ROW);
    return c->op == COMPUTE_SHIFT_RIGHT && (of == KIND_ZERO || is_sign) ? KIND_ZERO : KIND_OTHER;
}

static Kind computed_kind(const Unflattener *u, const Inst *inst)
{
    Computation c;
    if (inst == u->flat.inst)
        return KIND_INDEX;
    if (!computes(u, inst, &c))
        return KIND_OTHER;
    const Kind first = kind_of(u, &c.sources[0]);
    if (c.op == COMPUTE_AND && masked_kind(u, &c, first) != KIND_OTHER)
        return masked_kind(u, &c, first);
    if (shifted_kind(&c, first) != KIND_OTHER)
        return KIND_ZERO;
    computation_take_division(&c);
    switch (c.op) {
    case COMPUTE_DIV: return quotient_kind(u, &c, first);
    case COMPUTE_REM: return remainder_kind(u, &c, first);
    case COMPUTE_MUL: return product_kind(u, &c);
    default: return KIND_OTHER;
    }
}

static uint8_t kind_depends(Kind kind, uint8_t otherwise)
{
    switch (kind) {
    case KIND_INDEX: return ON_INDEX;
    case KIND_ROW:
    case KIND_ROW_START:
    case KIND_IN_IMAGE: return ON_ROW;
    case KIND_COLUMN: return ON_COLUMN;
    case KIND_ZERO:
    case KIND_IMAGE:
    case KIND_IMAGE_START: return 0;
    default: return otherwise;
    }
}

static void set_inst(const Unflattener *u, const Inst *inst)
{
    uint8_t depends = 0;
    Kind kind = computed_kind(u, inst);
    const PlaceSum sum = kind == KIND_OTHER ? computed_sum(u, inst) : kind_sums[kind];
    if (kind == KIND_OTHER)
        kind = sum_kind(&sum);
    for (unsigned r = 0; r < inst->ref_count && inst_is_computation(inst); r++)
        if (ref_reads(&inst->refs[r]))
            depends |= u->depends[inst->refs[r].reg];
    if (sum.is_there)
        depends = sum_depends(&sum);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r])) {
            u->kinds[inst->refs[r].reg] = (uint8_t)kind;
            u->sums[inst->refs[r].reg] = sum;
            u->depends[inst->refs[r].reg] |= kind_depends(kind, depends);
        }
}

/* Sets the kinds, and what values depend on. A second round brings what phis of loops depend on to all of a loop. */
static void find_kinds(const Unflattener *u)
{
    const Dominance *dominance = analyses_dominance(u->analyses);
    memset(u->depends, 0, u->body->regs.count * sizeof *u->depends);
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t i = 0; i < dominance->order_count; i++) {
            const Block *block = u->body->blocks.data[dominance->order[i]];
            for (size_t p = 0; p < block->phis.count; p++)
                for (size_t a = 0; a < block->phis.data[p].args.count; a++)
                    u->depends[block->phis.data[p].dst] |= u->depends[block->phis.data[p].args.data[a].reg];
            for (const Inst *inst = block->first; inst; inst = inst->next)
                set_inst(u, inst);
        }
}

/* Whether a loop loads what threads of a row have in common, and what those of a column have. */
static bool may_pay(const Unflattener *u)
{
    const LoopForest *loops = analyses_loops(u->analyses);
    unsigned found = 0;
    for (size_t b = 0; b < u->body->blocks.count; b++) {
        const Block *block = u->body->blocks.data[b];
        for (const Inst *inst = loop_of(loops, block) ? block->first : NULL; inst; inst = inst->next) {
            Access access;
            const RegId base = inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.address
                                   ? address_base(inst, access.address)
                                   : REG_NONE;
            if (base != REG_NONE && access_is_global(analyses_affine(u->analyses), inst, &access))
                found |= 1U << u->depends[base];
        }
    }
    return found & 1U << ON_ROW && found & 1U << ON_COLUMN;
}

/* Whether the launch's blocks, and groups of them, can be tiles. */
static bool may_be_tiles(const BlockSize *block, unsigned merged)
{
    const unsigned threads = block->threads[0];
    return block->threads[1] == 1 && block->threads[2] == 1 && threads >= LEAST_THREADS && !(threads & (threads - 1)) &&
           merged && merged <= MOST_MERGED && !(merged & (merged - 1));
}

/* Whether the size is a multiple of 2^bits in the launches that are given, or unknown. */
static bool is_multiple(const Unflattener *u, const Size *size, unsigned bits)
{
    const RegId reg = size->is_there ? size->is.reg : REG_NONE;
    const Inst *inst = reg == REG_NONE ? NULL : value_inst(u->values, value_copied_from(u->values, reg));
    ParameterPart part;
    uint64_t value;
    if (size->is_there && size->is.is_constant)
        return !(size->is.constant & ((UINT64_C(1) << bits) - 1));
    return !inst || !u->known || !inst_loads_parameter(inst, &part) ||
           !known_parameter_value(u->known, part.variable, (uint64_t)part.offset, part.bytes, &value) ||
           !(value & ((UINT64_C(1) << bits) - 1));
}

/* Splits 2^bits things into two sides, as square as they can be for 'off' 0, and less so from one to the next; false if
 * they cannot be split so. */
static bool set_side(unsigned sides[2], unsigned bits, unsigned off)
{
    const unsigned half = (bits + 1) / 2, side = off % 2 ? half - (off + 1) / 2 : half + off / 2;
    if (side > bits)
        return false;
    sides[0] = side;
    sides[1] = bits - side;
    return true;
}

/* Chooses tiles, and groups of them, that fit in what is known of the sizes: as square as they can be. */
static bool find_tiles(Unflattener *u, unsigned threads, unsigned merged)
{
    enum { OFF = 5 };
    for (unsigned off = 0; off < OFF; off++)
        for (unsigned group = 0; group < OFF; group++)
            if (set_side(u->tile, (unsigned)__builtin_ctz(threads), off) &&
                set_side(u->merged, (unsigned)__builtin_ctz(merged), group) &&
                is_multiple(u, &u->width, u->tile[0] + u->merged[0]) &&
                is_multiple(u, &u->height, u->tile[1] + u->merged[1]))
                return true;
    return false;
}

/* A multiple of 2^bits, and 'also'. */
static RegId put_multiple(const PlaceCode *code, RegId number, unsigned bits, RegId also)
{
    const RegId rest = place_number(code, "and.b32", number, (INT64_C(1) << bits) - 1);
    return place_compare(code, "setp.eq.and.u32", rest, 0, also);
}

/* The same of a number above 0. */
static RegId put_size(const PlaceCode *code, RegId number, unsigned bits, RegId also)
{
    return put_multiple(code, number, bits, place_compare(code, "setp.gt.and.s32", number, 0, also));
}

/* Whether the launch's threads can be tiles, at the end of the block. */
static RegId put_test(const Unflattener *u, const PlaceCode *code, unsigned threads, RegId width, RegId height)
{
    const unsigned of_width = u->tile[0] + u->merged[0], of_height = u->tile[1] + u->merged[1];
    const unsigned of_group = u->merged[0] + u->merged[1], of_block = u->tile[0] + u->tile[1];
    const RegId size = place_read(code, "%ntid.x"), grid = place_read(code, "%nctaid.x");
    RegId holds = place_compare(code, "setp.eq.u32", size, threads, REG_NONE);
    holds = place_compare(code, "setp.lt.and.u32", grid, INT64_C(1) << 31 >> of_block, holds);
    holds = put_multiple(code, grid, of_group, holds);
    holds = put_size(code, width, of_width, holds);
    if (height != REG_NONE)
        holds = put_size(code, height, of_height, holds);
    /* the width may be 0 */
    const RegId across = place_number(code, "max.u32", place_number(code, "shr.u32", width, of_width), 1);
    const RegId left = place_regs(code, "rem.u32", place_number(code, "shr.u32", grid, of_group), across);
    return place_compare(code, "setp.eq.and.u32", left, 0, holds);
}

/* The registers that hold values of each kind in the version with tiles. */
typedef struct PlaceValues {
    RegId of[KIND_IMAGE_START + 1];
} PlaceValues;

/* a << by, plus b */
static RegId put_scaled(const PlaceCode *code, RegId a, unsigned by, RegId b)
{
    return place_regs(code, "add.u32", place_number(code, "shl.b32", a, by), b);
}

static PlaceValues put_places(const Unflattener *u, const PlaceCode *code, RegId width, RegId height)
{
    const unsigned of_width = u->tile[0] + u->merged[0], of_height = u->tile[1] + u->merged[1];
    const unsigned of_group = u->merged[0] + u->merged[1];
    const RegId block = place_read(code, "%ctaid.x"), thread = place_read(code, "%tid.x");
    const RegId group = place_number(code, "shr.u32", block, of_group);
    const RegId part = place_number(code, "and.b32", block, (INT64_C(1) << of_group) - 1);
    const RegId across = place_number(code, "shr.u32", width, of_width);
    const RegId band = place_regs(code, "div.u32", group, across);
    const RegId tile = place_regs(code, "sub.u32", group, place_regs(code, "mul.lo.u32", band, across));
    const RegId part_row = place_number(code, "shr.u32", part, u->merged[0]);
    const RegId part_column = place_number(code, "and.b32", part, (INT64_C(1) << u->merged[0]) - 1);
    const RegId own_row = put_scaled(code, part_row, u->tile[1], place_number(code, "shr.u32", thread, u->tile[0]));
    const RegId own_column = put_scaled(code, part_column, u->tile[0],
                                        place_number(code, "and.b32", thread, (INT64_C(1) << u->tile[0]) - 1));
    const RegId top = place_number(code, "shl.b32", band, of_height);
    PlaceValues places;
    places.of[KIND_ROW] = place_regs(code, "add.u32", top, own_row);
    places.of[KIND_COLUMN] = put_scaled(code, tile, of_width, own_column);
    places.of[KIND_ROW_START] = place_regs(code, "mul.lo.u32", places.of[KIND_ROW], width);
    places.of[KIND_INDEX] = place_regs(code, "add.u32", places.of[KIND_ROW_START], places.of[KIND_COLUMN]);
    if (height == REG_NONE)
        return places;
    const RegId image = place_regs(code, "div.u32", top, height);
    const RegId start = place_regs(code, "mul.lo.u32", image, height);
    places.of[KIND_IMAGE] = image;
    places.of[KIND_IMAGE_START] = start;
    places.of[KIND_IN_IMAGE] = place_regs(code, "add.u32", place_regs(code, "sub.u32", top, start), own_row);
    return places;
}

/* Whether rows of one image have the sum in common, though it is computed from a row; then it is put together from
 * where the image starts, and the rest. */
static bool is_of_image(const PlaceSum *sum)
{
    return sum->is_there && sum->times[IN_ROW] == 1 && sum->times[IN_IN_IMAGE] == -1 && !sum->times[IN_ROW_START] &&
           sum->times[IN_COLUMN] == 1;
}

/* Takes the values of the kinds from the places, in the blocks that are not of the other version. */
static void take_places(const Unflattener *u, const PlaceValues *places, const Block *head)
{
    for (size_t b = 0; b < u->body->blocks.count; b++) {
        Block *block = u->body->blocks.data[b];
        for (Inst *inst = block == head || block->is_cold ? NULL : block->first, *next; inst; inst = next) {
            next = inst->next;
            const RegId result = inst_is_plain(inst) ? inst_destination(inst) : REG_NONE;
            const Kind kind = result == REG_NONE || result >= u->values->reg_count ? KIND_OTHER
                                                                                   : (Kind)u->kinds[result];
            const bool is_known = kind != KIND_OTHER && kind != KIND_ZERO;
            if (is_known)
                inst_insert_before(inst, inst_build(u->body, "mov.b32", "dr", result, places->of[kind]));
            else if (result != REG_NONE && result < u->values->reg_count && is_of_image(&u->sums[result]))
                inst_insert_before(inst, inst_build(u->body, "add.s32", "drr", result, places->of[KIND_IMAGE_START],
                                                    places->of[KIND_COLUMN]));
            else
                continue;
            inst_remove(inst);
        }
    }
}

/* The size where the kernel begins; REG_NONE: there is none. */
static RegId put_divisor(const EarlyPlace *place, const PlaceCode *code, const Size *size)
{
    if (!size->is_there)
        return REG_NONE;
    if (!size->is.is_constant)
        return value_hoist(place, size->is.reg);
    const RegId number = place_reg(code);
    return place_put(code, number, inst_build(code->body, "mov.u32", "di", number, (int64_t)size->is.constant));
}

static void make_tiles(Unflattener *u, unsigned threads)
{
    Block *entry = body_add_entry(u->body);
    const EarlyPlace place = {.scratch = u->scratch, .body = u->body, .at = entry, .values = u->values};
    const PlaceCode tests = {u->body, entry};
    const RegId width = put_divisor(&place, &tests, &u->width), height = put_divisor(&place, &tests, &u->height);
    const RegId holds = put_test(u, &tests, threads, width, height);
    Block *head = body_version(u->body, entry, NULL, holds);
    const PlaceCode code = {u->body, head};
    const PlaceValues places = put_places(u, &code, width, height);
    take_places(u, &places, head);
}

/* Finds the sizes, and whether tiles pay. */
static bool find_rows(Unflattener *u)
{
    ComputeSource heights[MOST_DIVISORS];
    u->kinds = ARENA_ARRAY(u->scratch, uint8_t, u->body->regs.count);
    u->depends = ARENA_ARRAY(u->scratch, uint8_t, u->body->regs.count);
    u->sums = ARENA_ARRAY(u->scratch, PlaceSum, u->body->regs.count);
    find_kinds(u); /* the index, also where something is added to it if it were negative */
    if (!find_width(u))
        return false;
    find_kinds(u);
    if (!u->height.is_there && find_divisors(u, KIND_ROW, heights)) {
        u->height = (Size){true, heights[0]};
        find_kinds(u);
    }
    return may_pay(u);
}

bool pass_unflatten(PassContext *context)
{
    Body *body = context->body;
    const BlockSize *block = &context->block;
    Unflattener u = {.scratch = arena_new(), .body = body, .analyses = context->analyses,
                     .values = analyses_values(context->analyses), .known = context->known};
    const bool done = may_be_tiles(block, context->flat_merged) && body_inst_count(body) <= MOST_COPIED &&
                      !body_has_cold(body) && !demands_find(context->kernel).has_clusters &&
                      flat_index_find(body, u.values, &u.flat) && flat_index_is_all(&u.flat) && find_rows(&u) &&
                      find_tiles(&u, block->threads[0], context->flat_merged);
    if (done) {
        context->unflattened = (Unflattened){true, 1U << u.tile[0], 1U << u.tile[1], u.flat.inst->span};
        make_tiles(&u, block->threads[0]);
    }
    arena_free(u.scratch);
    return done;
}
