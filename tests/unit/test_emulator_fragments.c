/* mma.sync and wmma in every dense shape and type against plain loops. The fragments of mma.sync are those of
 * tests/isa/semantics.md, written down chunk by chunk. */
#include "emulated.h"

#define LANES 32

typedef enum Element { F16, BF16, TF32, E4M3, E5M2, S8, U8, S4, U4, B1, F64 } Element;

static const struct {
    const char *name;
    unsigned bits;
} elements[] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8}, {"s8", 8},
                {"u8", 8},   {"s4", 4},    {"u4", 4},    {"b1", 1},   {"f64", 64}};

/* Small numbers that differ between places and that every format can represent. */
static int value_at(Element element, unsigned row, unsigned column, unsigned salt)
{
    int value = (int)((7 * row + 5 * column + 3 * salt + row * column % 5) % 9);
    if (element == B1)
        return value & 1;
    return element == U8 || element == U4 ? value : value - 4;
}

static uint64_t encode(Element element, int value)
{
    static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44, 0x48}, e5m2[] = {0, 0x3c, 0x40, 0x42, 0x44};
    float number = (float)value;
    double wide = value;
    uint64_t input = 0, bits = 0;
    unsigned magnitude = (unsigned)(value < 0 ? -value : value);
    switch (element) {
    case F16:
    case BF16:
        memcpy(&input, &number, sizeof number);
        assert_true(emulator_evaluate(element == F16 ? "cvt.rn.f16.f32" : "cvt.rn.bf16.f32", &input, 1, &bits));
        return bits;
    case TF32: memcpy(&bits, &number, sizeof number); return bits;
    case F64: memcpy(&bits, &wide, sizeof wide); return bits;
    case E4M3: return e4m3[magnitude] | (value < 0 ? 0x80 : 0);
    case E5M2: return e5m2[magnitude] | (value < 0 ? 0x80 : 0);
    default: return (uint64_t)value & ((UINT64_C(1) << elements[element].bits) - 1);
    }
}

static int product_of(Element element, bool is_and, int a, int b)
{
    return element == B1 ? (is_and ? a & b : a ^ b) : a * b;
}

/* A register holds 'unit' elements that are consecutive in k. Those of lane 4g + t begin at column unit * t of the
 * chunk whose start the table gives, in rows from g on. B has no rows in the table. */
typedef struct Shape {
    Element element;
    unsigned m, k;
    unsigned a_count, a_chunks[8][2]; /* row, column */
    unsigned b_count, b_chunks[4];
    const char *tail; /* of the instruction */
} Shape;

static const Shape shapes[] = {
    {F16, 16, 8, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {F16, 16, 16, 4, {{0, 0}, {8, 0}, {0, 8}, {8, 8}}, 2, {0, 8}, NULL},
    {BF16, 16, 8, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {BF16, 16, 16, 4, {{0, 0}, {8, 0}, {0, 8}, {8, 8}}, 2, {0, 8}, NULL},
    {TF32, 16, 4, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {TF32, 16, 8, 4, {{0, 0}, {8, 0}, {0, 4}, {8, 4}}, 2, {0, 4}, NULL},
    {E4M3, 16, 16, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {E5M2, 16, 32, 4, {{0, 0}, {8, 0}, {0, 16}, {8, 16}}, 2, {0, 16}, NULL},
    {S8, 8, 16, 1, {{0, 0}}, 1, {0}, NULL},
    {U8, 16, 16, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {S8, 16, 32, 4, {{0, 0}, {8, 0}, {0, 16}, {8, 16}}, 2, {0, 16}, NULL},
    {S4, 8, 32, 1, {{0, 0}}, 1, {0}, NULL},
    {U4, 16, 32, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {S4, 16, 64, 4, {{0, 0}, {8, 0}, {0, 32}, {8, 32}}, 2, {0, 32}, NULL},
    {B1, 8, 128, 1, {{0, 0}}, 1, {0}, ".xor.popc"},
    {B1, 16, 128, 2, {{0, 0}, {8, 0}}, 1, {0}, ".and.popc"},
    {B1, 16, 256, 4, {{0, 0}, {8, 0}, {0, 128}, {8, 128}}, 2, {0, 128}, ".xor.popc"},
    {F64, 8, 4, 1, {{0, 0}}, 1, {0}, NULL},
    {F64, 16, 4, 2, {{0, 0}, {8, 0}}, 1, {0}, NULL},
    {F64, 16, 8, 4, {{0, 0}, {8, 0}, {0, 4}, {8, 4}}, 2, {0, 4}, NULL},
    {F64,
     16,
     16,
     8,
     {{0, 0}, {8, 0}, {0, 4}, {8, 4}, {0, 8}, {8, 8}, {0, 12}, {8, 12}},
     4,
     {0, 4, 8, 12},
     NULL},
};

static void write_array(Buf *text, const char *name, const uint64_t *values, unsigned count)
{
    buf_printf(text, ".global .align 16 .u64 %s[%u] = {", name, count);
    for (unsigned i = 0; i < count; i++)
        buf_printf(text, "%s0x%llx", i ? ", " : "", (unsigned long long)values[i]);
    buf_puts(text, "};\n");
}

static void write_list(Buf *body, const char *kind, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_printf(body, "%s%%%s%u", i ? ", " : "{", kind, first + i);
    buf_puts(body, "}");
}

/* Cells of 8 bytes a lane and register, loaded with the type of the fragment's registers. */
static void write_loads(Buf *body, const char *array, const char *type, const char *kind, unsigned first,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_printf(body, "mov.u64 %%rd4, %s; add.u64 %%rd4, %%rd4, %%rd3; ld.global.%s %%%s%u, [%%rd4+%u];\n", array,
                   type, kind, first + i, 256 * i);
}

static void check_mma(const Shape *shape)
{
    Arena *arena = arena_new();
    Buf globals = {0}, body = {0};
    Element element = shape->element;
    bool wide = element == F64, integer = element >= S8 && element <= B1;
    unsigned bits = elements[element].bits, unit = wide ? 1 : 32 / bits, sums = shape->m / 4;
    uint64_t a[8][LANES] = {{0}}, b[4][LANES] = {{0}}, c[4][LANES];
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned g = lane >> 2, t = lane & 3;
        for (unsigned r = 0; r < shape->a_count; r++)
            for (unsigned i = 0; i < unit; i++)
                a[r][lane] |= encode(element, value_at(element, g + shape->a_chunks[r][0],
                                                       shape->a_chunks[r][1] + unit * t + i, 1))
                              << bits * i % 64;
        for (unsigned r = 0; r < shape->b_count; r++)
            for (unsigned i = 0; i < unit; i++)
                b[r][lane] |= encode(element, value_at(element, shape->b_chunks[r] + unit * t + i, g, 2))
                              << bits * i % 64;
        for (unsigned r = 0; r < sums; r++) {
            int value = value_at(S8, g + (r >= 2 ? 8 : 0), 2 * t + (r & 1), 3);
            c[r][lane] = integer ? (uint32_t)value : encode(wide ? F64 : TF32, value);
        }
    }
    write_array(&globals, "ga", &a[0][0], LANES * shape->a_count);
    write_array(&globals, "gb", &b[0][0], LANES * shape->b_count);
    write_array(&globals, "gc", &c[0][0], LANES * sums);
    const char *type = wide ? "b64" : "b32", *kind = wide ? "d" : "r", *sum_kind = wide ? "d" : integer ? "r" : "f";
    const char *sum_type = wide ? "f64" : integer ? "s32" : "f32";
    buf_puts(&body, "mul.wide.u32 %rd3, %r1, 8;\n");
    write_loads(&body, "ga", type, kind, 2, shape->a_count);
    write_loads(&body, "gb", type, kind, 10, shape->b_count);
    write_loads(&body, "gc", type, sum_kind, wide ? 14 : integer ? 20 : 0, sums);
    unsigned first_c = wide ? 14 : integer ? 20 : 0, first_d = wide ? 20 : integer ? 30 : 8;
    buf_printf(&body, "mma.sync.aligned.m%un8k%u.row.col.%s.%s.%s.%s%s ", shape->m, shape->k, sum_type,
               elements[element].name, elements[element].name, sum_type, shape->tail ? shape->tail : "");
    write_list(&body, sum_kind, first_d, sums);
    buf_puts(&body, ", ");
    write_list(&body, kind, 2, shape->a_count);
    buf_puts(&body, ", ");
    write_list(&body, kind, 10, shape->b_count);
    buf_puts(&body, ", ");
    write_list(&body, sum_kind, first_c, sums);
    buf_puts(&body, ";\nadd.u64 %rd5, %rd1, %rd3;\n");
    for (unsigned i = 0; i < sums; i++)
        buf_printf(&body, "st.global.%s [%%rd5+%u], %%%s%u;\n", type, 256 * i, sum_kind, first_d + i);
    Emulated kernel = {.globals = buf_text(&globals), .block = LANES};
    const uint64_t *out = (const uint64_t *)emulated_words(arena, &kernel, buf_text(&body));
    buf_free(&globals);
    buf_free(&body);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < sums; i++) {
            unsigned row = (lane >> 2) + (i >= 2 ? 8 : 0), column = 2 * (lane & 3) + (i & 1);
            int sum = value_at(S8, row, column, 3);
            for (unsigned k = 0; k < shape->k; k++)
                sum += product_of(element, shape->tail && shape->tail[1] == 'a', value_at(element, row, k, 1),
                                  value_at(element, k, column, 2));
            uint64_t expected = integer ? (uint32_t)sum : encode(wide ? F64 : TF32, sum);
            if (out[LANES * i + lane] != expected)
                fail_msg("m%un8k%u of %s: element %u of lane %u is 0x%llx, not 0x%llx", shape->m, shape->k,
                         elements[element].name, i, lane, (unsigned long long)out[LANES * i + lane],
                         (unsigned long long)expected);
        }
    arena_free(arena);
}

static void products_of_every_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_mma(&shapes[i]);
}

typedef struct Wmma {
    Element element;
    unsigned m, n, k, a_count, b_count, c_count;
} Wmma;

static const Wmma wmmas[] = {
    {F16, 16, 16, 16, 8, 8, 8},  {F16, 8, 32, 16, 8, 8, 8},   {F16, 32, 8, 16, 8, 8, 8},   {BF16, 16, 16, 16, 4, 4, 8},
    {BF16, 8, 32, 16, 2, 8, 8},  {TF32, 16, 16, 8, 4, 4, 8},  {S8, 16, 16, 16, 2, 2, 8},
    {U8, 8, 32, 16, 1, 4, 8},    {S8, 32, 8, 16, 4, 1, 8},    {S4, 8, 8, 32, 1, 1, 2},     {U4, 8, 8, 32, 1, 1, 2},
    {B1, 8, 8, 128, 1, 1, 2},    {F64, 8, 8, 4, 1, 1, 2},
};

/* A matrix in memory, row by row or column by column, with a stride. */
static void write_matrix(Buf *text, const char *name, Element element, unsigned rows, unsigned columns, bool by_rows,
                         unsigned stride, unsigned salt)
{
    uint64_t cells[1024] = {0};
    unsigned bits = elements[element].bits, lines = by_rows ? rows : columns;
    for (unsigned row = 0; row < rows; row++)
        for (unsigned column = 0; column < columns; column++) {
            unsigned at = (by_rows ? row * stride + column : column * stride + row) * bits;
            cells[at / 64] |= encode(element, value_at(element, row, column, salt)) << at % 64;
        }
    write_array(text, name, cells, (lines * stride * bits + 63) / 64);
}

static void check_wmma(const Wmma *shape, bool a_rows, bool b_rows, bool d_rows)
{
    Arena *arena = arena_new();
    Buf globals = {0}, body = {0};
    Element element = shape->element;
    bool wide = element == F64, integer = element >= S8 && element <= B1, sub_byte = elements[element].bits < 8;
    const char *kind = wide ? "d" : "r", *sum_kind = wide ? "d" : integer ? "r" : "f", *name = elements[element].name;
    const char *sum_type = wide ? "f64" : integer ? "s32" : "f32", *layouts[] = {"col", "row"};
    const char *size = arena_printf(arena, "m%un%uk%u", shape->m, shape->n, shape->k);
    /* Strides larger than the matrix; those of sub-byte types are multiples of 32 or 128 elements. */
    unsigned pad = sub_byte ? shape->k : 16, a_stride = (a_rows ? shape->k : shape->m) + pad;
    unsigned b_stride = (b_rows ? shape->n : shape->k) + pad, d_stride = d_rows ? shape->n : shape->m;
    unsigned first_c = wide ? 10 : 0, first_d = wide ? 12 : 8;
    if (integer) {
        first_c = 20;
        first_d = 30;
    }
    write_matrix(&globals, "ga", element, shape->m, shape->k, a_rows, a_stride, 1);
    write_matrix(&globals, "gb", element, shape->k, shape->n, b_rows, b_stride, 2);
    buf_printf(&body, "mov.u64 %%rd3, ga; mov.u64 %%rd4, gb; mov.u32 %%r50, %u;\n", b_stride);
    buf_printf(&body, "wmma.load.a.sync.aligned.%s.%s.global.%s ", layouts[a_rows], size, name);
    write_list(&body, kind, 2, shape->a_count);
    buf_printf(&body, ", [%%rd3], %u;\nwmma.load.b.sync.aligned.%s.%s.global.%s ", a_stride, layouts[b_rows], size,
               name);
    write_list(&body, kind, wide ? 4 : 10, shape->b_count);
    buf_puts(&body, ", [%rd4], %r50;\n");
    for (unsigned i = 0; i < shape->c_count; i++)
        buf_printf(&body, "mov.%s %%%s%u, %s;\n", wide ? "f64" : integer ? "u32" : "f32", sum_kind, first_c + i,
                   wide      ? "0d4008000000000000"
                   : integer ? "3"
                             : "0f40400000");
    buf_printf(&body, "wmma.mma%s.sync.aligned.%s.%s.%s.%s", element == B1 ? ".xor.popc" : "", layouts[a_rows],
               layouts[b_rows], size, sum_type);
    if (element != F16)
        buf_printf(&body, ".%s.%s", name, name);
    buf_printf(&body, ".%s ", sum_type);
    write_list(&body, sum_kind, first_d, shape->c_count);
    buf_puts(&body, ", ");
    write_list(&body, kind, 2, shape->a_count);
    buf_puts(&body, ", ");
    write_list(&body, kind, wide ? 4 : 10, shape->b_count);
    buf_puts(&body, ", ");
    write_list(&body, sum_kind, first_c, shape->c_count);
    buf_printf(&body, ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%rd1], ", layouts[d_rows], size, sum_type);
    write_list(&body, sum_kind, first_d, shape->c_count);
    buf_puts(&body, ";\n");
    Emulated kernel = {.globals = buf_text(&globals), .block = LANES};
    const uint32_t *out = emulated_words(arena, &kernel, buf_text(&body));
    for (unsigned row = 0; row < shape->m; row++)
        for (unsigned column = 0; column < shape->n; column++) {
            unsigned at = d_rows ? row * d_stride + column : column * d_stride + row;
            int sum = 3;
            for (unsigned k = 0; k < shape->k; k++)
                sum += product_of(element, false, value_at(element, row, k, 1), value_at(element, k, column, 2));
            uint64_t got = wide ? ((const uint64_t *)out)[at] : out[at];
            if (got != (integer ? (uint32_t)sum : encode(wide ? F64 : TF32, sum)))
                fail_msg("%s of %s by %s and %s: row %u, column %u is 0x%llx, not %d", size, name, layouts[a_rows],
                         layouts[b_rows], row, column, (unsigned long long)got, sum);
        }
    buf_free(&globals);
    buf_free(&body);
    arena_free(arena);
}

static void wmma_of_every_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wmmas / sizeof *wmmas; i++)
        for (unsigned layout = 0; layout < 8; layout++) {
            bool sub_byte = elements[wmmas[i].element].bits < 8;
            if (!sub_byte || (layout & 3) == 1)
                check_wmma(&wmmas[i], layout & 1, layout & 2, layout & 4);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_shape),
        cmocka_unit_test(wmma_of_every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
