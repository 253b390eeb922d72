/* ldmatrix, stmatrix, movmatrix, mma.sync and wmma: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
 *
 * A product is computed on whole matrices gathered from the fragments of all lanes. Products are exact; sums are
 * computed in double precision in the order of k, one of those that PTX allows, and rounded once. */
#include "emulator/execute/execute.h"

#include <math.h>

#define MAX_M 32
#define MAX_N 32
#define MAX_K 256

unsigned element_bits(ElementType type)
{
    switch (type) {
    case ELEMENT_F64: return 64;
    case ELEMENT_F32:
    case ELEMENT_TF32:
    case ELEMENT_S32: return 32;
    case ELEMENT_F16:
    case ELEMENT_BF16: return 16;
    case ELEMENT_S4:
    case ELEMENT_U4:
    case ELEMENT_E2M1: return 4;
    case ELEMENT_E3M2:
    case ELEMENT_E2M3: return 6;
    case ELEMENT_B1: return 1;
    default: return 8;
    }
}

static double element_decode(ElementType type, uint64_t bits)
{
    switch (type) {
    case ELEMENT_F64: return double_from_bits(bits);
    case ELEMENT_F32: return float_from_bits((uint32_t)bits);
    case ELEMENT_TF32: return float_from_bits((uint32_t)bits & ~UINT32_C(0x1fff));
    case ELEMENT_F16: return format_decode(&FORMAT_F16, (uint32_t)bits);
    case ELEMENT_BF16: return format_decode(&FORMAT_BF16, (uint32_t)bits);
    case ELEMENT_E4M3: return format_decode(&FORMAT_E4M3, (uint32_t)bits);
    case ELEMENT_E5M2: return format_decode(&FORMAT_E5M2, (uint32_t)bits);
    case ELEMENT_E3M2: return format_decode(&FORMAT_E3M2, (uint32_t)bits & 0x3f);
    case ELEMENT_E2M3: return format_decode(&FORMAT_E2M3, (uint32_t)bits & 0x3f);
    case ELEMENT_E2M1: return format_decode(&FORMAT_E2M1, (uint32_t)bits & 15);
    case ELEMENT_S8:
    case ELEMENT_S4:
    case ELEMENT_S32: return (double)sign_extend(bits, element_bits(type));
    default: return (double)bits;
    }
}

static uint64_t element_encode(ElementType type, double value)
{
    switch (type) {
    case ELEMENT_F64: return double_bits(value);
    case ELEMENT_F16: return format_encode(&FORMAT_F16, value, ROUND_NEAREST_EVEN, false);
    default: return format_encode(&FORMAT_F32, value, ROUND_NEAREST_EVEN, false);
    }
}

/* Elements a lane holds of a fragment. */
static unsigned fragment_elements(const Fragment *fragment)
{
    return fragment->count * 8 * fragment->row_bytes / fragment->bits;
}

static uint64_t fragment_get(Exec *x, const Fragment *fragment, unsigned lane, unsigned index)
{
    unsigned bits = fragment->bits, each = 8 * fragment->row_bytes / bits;
    uint64_t word = row_get(source_row(x, fragment->rows[index / each]), fragment->row_bytes, lane);
    return word >> (bits * (index % each)) & width_mask(bits);
}

static void fragment_set(Exec *x, const Fragment *fragment, unsigned lane, unsigned index, uint64_t value)
{
    unsigned bits = fragment->bits, each = 8 * fragment->row_bytes / bits, shift = bits * (index % each);
    if (fragment->rows[index / each] == NO_ROW)
        return;
    uint8_t *row = x->frame->registers + fragment->rows[index / each];
    uint64_t word = row_get(row, fragment->row_bytes, lane);
    row_set(row, fragment->row_bytes, lane,
            (word & ~(width_mask(bits) << shift)) | (value & width_mask(bits)) << shift);
}

typedef struct Place {
    unsigned row, column;
} Place;

/* mma fragments. For lane 4g + t, register r, and e elements in a register: A has row g (+ 8 for odd r, where there
 * are 16 rows) and columns t*e ..., 4e further for each next pair of registers; B likewise with rows and columns
 * exchanged; C and D have pairs. */
static Place mma_place(const MatrixOp *matrix, const Fragment *fragment, char role, unsigned lane, unsigned index)
{
    unsigned group = lane >> 2, thread = lane & 3;
    unsigned each = 8 * fragment->row_bytes / fragment->bits;
    unsigned reg = index / each, sub = index % each;
    bool tall = matrix->m == 16;
    if (role == 'a')
        return (Place){group + (tall ? 8 * (reg & 1) : 0), thread * each + sub + 4 * each * (tall ? reg >> 1 : reg)};
    if (role == 'b')
        return (Place){thread * each + sub + 4 * each * reg, group};
    return (Place){group + 8 * (index >> 1), 2 * thread + (index & 1)};
}

static void role_shape(const MatrixOp *matrix, char role, unsigned *rows, unsigned *columns)
{
    *rows = role == 'b' ? matrix->k : matrix->m;
    *columns = role == 'a' ? matrix->k : matrix->n;
}

/* wmma fragments are opaque to programs. Here lane l holds elements l*n ... of the matrix in row order, starting over
 * if the lanes have room for more elements than there are. */
static Place wmma_place(const MatrixOp *matrix, const Fragment *fragment, char role, unsigned lane, unsigned index)
{
    unsigned rows, columns;
    role_shape(matrix, role, &rows, &columns);
    unsigned at = (lane * fragment_elements(fragment) + index) % (rows * columns);
    return (Place){at / columns, at % columns};
}

/* m8n8k4 of f16: eight lanes, four in each half of the warp, hold a product of their own. */
static Place quarter_place(const MatrixOp *matrix, const Fragment *fragment, char role, unsigned lane, unsigned index)
{
    unsigned half = lane < LANES / 2 ? 0 : 4, own = lane & 3;
    if (role == 'a')
        return matrix->a_column ? (Place){index + half, own} : (Place){own + half, index};
    if (role == 'b')
        return matrix->b_row ? (Place){own, index + half} : (Place){index, own + half};
    if (fragment->bits == 16)
        return (Place){own + half, index};
    return (Place){(lane & 1) + (index & 2) + half, (index & 4) + (lane & 2) + (index & 1)};
}

static Place fragment_place(const MatrixOp *matrix, const Fragment *fragment, char role, unsigned lane, unsigned index)
{
    if (matrix->quarters)
        return quarter_place(matrix, fragment, role, lane, index);
    return matrix->kind == MATRIX_MMA ? mma_place(matrix, fragment, role, lane, index)
                                      : wmma_place(matrix, fragment, role, lane, index);
}

static uint64_t integer_sum(const MatrixOp *matrix, const double *a, const double *b, int64_t sum)
{
    for (unsigned k = 0; k < matrix->k; k++) {
        int64_t x = (int64_t)a[k], y = (int64_t)b[k];
        sum += matrix->a.type == ELEMENT_B1 ? (matrix->is_and ? x & y : x ^ y) : x * y;
    }
    if (matrix->saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint64_t)sum & UINT32_MAX;
}

static uint64_t float_sum(const MatrixOp *matrix, const double *a, const double *b, double sum)
{
    for (unsigned k = 0; k < matrix->k; k++)
        sum = matrix->d.type == ELEMENT_F64 ? fma_double(a[k], b[k], sum, matrix->rounding) : sum + a[k] * b[k];
    if (matrix->saturates && fabs(sum) > 0x1.fffffep127)
        sum = copysign(0x1.fffffep127, sum);
    return sum == sum                      ? element_encode(matrix->d.type, sum)
           : matrix->d.type == ELEMENT_F64 ? F64_NAN
           : matrix->d.type == ELEMENT_F16 ? 0x7fff
                                           : F32_NAN;
}

/* B is kept by columns, so that both factors of a sum are contiguous. */
struct ProductCells {
    double a[MAX_M][MAX_K], b[MAX_N][MAX_K];
    uint64_t c[MAX_M][MAX_N], d[MAX_M][MAX_N];
};

/* An element of A or B as a number; .kind::f8f6f4 keeps e2m1 in the middle of a byte. */
static double factor(Exec *x, const Fragment *fragment, unsigned lane, unsigned index)
{
    uint64_t bits = fragment_get(x, fragment, lane, index);
    if (fragment->type == ELEMENT_E2M1 && fragment->bits == 8)
        bits >>= 2;
    return element_decode(fragment->type, bits);
}

static void gather_lane(Exec *x, const MatrixOp *matrix, struct ProductCells *p, unsigned lane)
{
    for (unsigned i = 0; i < fragment_elements(&matrix->a); i++) {
        Place at = fragment_place(matrix, &matrix->a, 'a', lane, i);
        p->a[at.row][at.column] = factor(x, &matrix->a, lane, i);
    }
    for (unsigned i = 0; i < fragment_elements(&matrix->b); i++) {
        Place at = fragment_place(matrix, &matrix->b, 'b', lane, i);
        p->b[at.column][at.row] = factor(x, &matrix->b, lane, i);
    }
    for (unsigned i = 0; i < fragment_elements(&matrix->c); i++) {
        Place at = fragment_place(matrix, &matrix->c, 'c', lane, i);
        p->c[at.row][at.column] = fragment_get(x, &matrix->c, lane, i);
    }
}

/* ue8m0 is a power of two, ue4m3 an e4m3 without its sign. */
static double scale_decode(const Scale *scale, uint32_t bits)
{
    if (scale->is_ue4m3)
        return format_decode(&FORMAT_E4M3, bits & 0x7f);
    return bits == 0xff ? (double)NAN : ldexp(1, (int)bits - 127);
}

/* The factors of one row (column): byte 'byte' of the data of the lane that gives them, and the bytes after it. */
static void scale_line(Exec *x, const Scale *scale, double *line, unsigned k, unsigned lane)
{
    uint32_t data = (uint32_t)row_get(source_row(x, scale->data), 4, lane);
    unsigned first = (unsigned)row_get(source_row(x, scale->byte), 2, lane) & 3;
    for (unsigned i = 0; i < k; i++)
        line[i] *= scale_decode(scale, data >> 8 * ((first + i / (k / scale->vector)) & 3) & 0xff);
}

/* Rows g and g + 8 of A have theirs from two lanes of group g, column g of B from one: those that 'thread' names. */
static void scale_factors(Exec *x, const MatrixOp *matrix, struct ProductCells *p)
{
    for (unsigned group = 0; group < 8; group++) {
        unsigned pair = (unsigned)row_get(source_row(x, matrix->a_scale.thread), 2, 4 * group) & 1;
        unsigned one = (unsigned)row_get(source_row(x, matrix->b_scale.thread), 2, 4 * group) & 3;
        scale_line(x, &matrix->a_scale, p->a[group], matrix->k, 4 * group + 2 * pair);
        scale_line(x, &matrix->a_scale, p->a[group + 8], matrix->k, 4 * group + 2 * pair + 1);
        scale_line(x, &matrix->b_scale, p->b[group], matrix->k, 4 * group + one);
    }
}

/* One product by the lanes of the mask. */
static void product_lanes(Exec *x, const MatrixOp *matrix, struct ProductCells *p, uint32_t lanes)
{
    EACH_ACTIVE(lane, lanes)
    {
        gather_lane(x, matrix, p, lane);
    }
    if (matrix->a_scale.vector)
        scale_factors(x, matrix, p);
    for (unsigned m = 0; m < matrix->m; m++)
        for (unsigned n = 0; n < matrix->n; n++) {
            double start = element_decode(matrix->c.type, p->c[m][n]);
            p->d[m][n] = matrix->d.type == ELEMENT_S32 ? integer_sum(matrix, p->a[m], p->b[n], (int64_t)start)
                                                       : float_sum(matrix, p->a[m], p->b[n], start);
        }
    EACH_ACTIVE(lane, lanes)
    {
        for (unsigned i = 0; i < fragment_elements(&matrix->d); i++) {
            Place at = fragment_place(matrix, &matrix->d, 'd', lane, i);
            fragment_set(x, &matrix->d, lane, i, p->d[at.row][at.column]);
        }
    }
}

static void product_execute(Exec *x, const MatrixOp *matrix)
{
    if (!x->emulator->product)
        x->emulator->product = emulator_alloc(x->emulator, 1, sizeof *x->emulator->product);
    for (unsigned i = 0; matrix->quarters && i < 4; i++)
        product_lanes(x, matrix, x->emulator->product, 0x000f000fu << 4 * i);
    if (!matrix->quarters)
        product_lanes(x, matrix, x->emulator->product, ALL_LANES);
}

/* Matrix j's row r is at the address that lane 8j + r gives; lane 4g + t has elements 2t, 2t + 1 of row g, or of column
 * g. */
static Step eights_execute(Exec *x, const Op *op, const MatrixOp *matrix)
{
    const Fragment *fragment = matrix->kind == MATRIX_LDMATRIX ? &matrix->d : &matrix->a;
    uint32_t givers = fragment->count >= 4 ? ALL_LANES : (1u << (8 * fragment->count)) - 1;
    Translation at;
    AccessMode mode = matrix->kind == MATRIX_LDMATRIX ? MODE_LOAD : MODE_STORE;
    if (!access_addresses(x, op, &matrix->memory, givers, &at) ||
        !access_translate(x, op, givers, 16, mode, false, &at))
        return STEP_FAULT;
    EmulatorCounters *counters = &x->emulator->result->counters;
    *(mode == MODE_LOAD ? &counters->loads[SPACE_SHARED] : &counters->stores[SPACE_SHARED]) += 1;
    if (x->emulator->options.count_memory)
        count_access(x, givers, 16, mode, &at);
    if (x->emulator->tracks_memory && !track_access(x, op, givers, 16, mode, NULL, &at, NULL, 0))
        return STEP_FAULT;
    for (unsigned j = 0; j < fragment->count; j++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < 2; i++) {
                unsigned row = lane >> 2, column = 2 * (lane & 3) + i;
                uint8_t *cell =
                    matrix->transposed ? at.host[8 * j + column] + 2 * row : at.host[8 * j + row] + 2 * column;
                uint16_t value = 0;
                if (mode == MODE_LOAD) {
                    memcpy(&value, cell, 2);
                    fragment_set(x, fragment, lane, 2 * j + i, value);
                } else {
                    value = (uint16_t)fragment_get(x, fragment, lane, 2 * j + i);
                    memcpy(cell, &value, 2);
                }
            }
    if (mode == MODE_STORE)
        effect_note(x);
    return STEP_NEXT;
}

static void transpose_execute(Exec *x, const MatrixOp *matrix)
{
    uint64_t cells[8][8];
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 2; i++)
            cells[lane >> 2][2 * (lane & 3) + i] = fragment_get(x, &matrix->a, lane, i);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 2; i++)
            fragment_set(x, &matrix->d, lane, i, cells[2 * (lane & 3) + i][lane >> 2]);
}

static Step wmma_memory(Exec *x, const Op *op, const MatrixOp *matrix)
{
    bool loads = matrix->kind == MATRIX_WMMA_LOAD;
    const Fragment *fragment = loads ? &matrix->d : &matrix->a;
    unsigned rows, columns, bits = element_bits(fragment->type), bytes = bits < 8 ? 1 : bits / 8;
    Translation base, at;
    role_shape(matrix, matrix->role, &rows, &columns);
    if (!access_addresses(x, op, &matrix->memory, ALL_LANES, &base))
        return STEP_FAULT;
    EmulatorCounters *counters = &x->emulator->result->counters;
    AccessMode mode = loads ? MODE_LOAD : MODE_STORE;
    for (unsigned i = 0; i < fragment_elements(fragment); i++) {
        uint64_t values[LANES];
        unsigned shifts[LANES];
        for (unsigned lane = 0; lane < LANES; lane++) {
            Place place = wmma_place(matrix, fragment, matrix->role, lane, i);
            uint64_t stride = matrix->column_major ? rows : columns;
            if (matrix->stride != NO_ROW)
                stride = row_get(source_row(x, matrix->stride), 4, lane);
            uint64_t element =
                matrix->column_major ? place.column * stride + place.row : place.row * stride + place.column;
            at.address[lane] = base.address[lane] + element * bits / 8;
            shifts[lane] = bits < 8 ? (unsigned)(element * bits % 8) : 0;
            if (!loads)
                values[lane] = fragment_get(x, fragment, lane, i);
        }
        if (!access_translate(x, op, ALL_LANES, bytes, mode, false, &at))
            return STEP_FAULT;
        if (i == 0) {
            Space space = at.region[0] ? at.region[0]->space : SPACE_LOCAL;
            *(loads ? &counters->loads[space] : &counters->stores[space]) += 1;
        }
        if (x->emulator->options.count_memory)
            count_access(x, ALL_LANES, bytes, mode, &at);
        if (x->emulator->tracks_memory &&
            !track_access(x, op, ALL_LANES, bytes, mode, NULL, &at, loads ? NULL : values, 8))
            return STEP_FAULT;
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t value = 0;
            if (loads) {
                memcpy(&value, at.host[lane], bytes);
                fragment_set(x, fragment, lane, i, value >> shifts[lane]);
            } else {
                memcpy(at.host[lane], &values[lane], bytes);
            }
        }
    }
    if (!loads)
        effect_note(x);
    return STEP_NEXT;
}

Step matrix_execute(Exec *x, const Op *op, uint32_t mask)
{
    const MatrixOp *matrix = op->warp.matrix;
    if (mask != ALL_LANES)
        return fault_at(x, op, (unsigned)__builtin_ctz(~mask), FAULT_WARP_SYNC, "only lanes 0x%08x take part", mask);
    switch (matrix->kind) {
    case MATRIX_LDMATRIX:
    case MATRIX_STMATRIX: return eights_execute(x, op, matrix);
    case MATRIX_MOVMATRIX: transpose_execute(x, matrix); return STEP_NEXT;
    case MATRIX_WMMA_LOAD:
    case MATRIX_WMMA_STORE: return wmma_memory(x, op, matrix);
    default: product_execute(x, matrix); return STEP_NEXT;
    }
}
