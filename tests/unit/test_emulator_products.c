/* mma.sync in the shapes with fragments or factors of their own: m8n8k4 of f16, .kind::f8f6f4 and block scaling,
 * against plain loops over matrices taken apart by the formulas of tests/isa/semantics.md. */
#include "emulated.h"

#define LANES 32

typedef struct Product {
    const char *instruction;
    const char *target;
    unsigned a_count, b_count, c_count; /* registers of a fragment */
    bool half_sums;                     /* C and D are f16 pairs */
    const char *tail;                   /* further operands; %r60 and %r61 are the scales of the lane */
    uint32_t a[4][LANES], b[4][LANES], c[8][LANES], scales[2][LANES];
} Product;

static void write_array(Buf *text, const char *name, const uint32_t *values, unsigned count)
{
    buf_printf(text, ".global .align 4 .u32 %s[%u] = {", name, count);
    for (unsigned i = 0; i < count; i++)
        buf_printf(text, "%s%u", i ? ", " : "", values[i]);
    buf_puts(text, "};\n");
}

static void write_loads(Buf *body, const char *array, const char *kind, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_printf(body, "mov.u64 %%rd4, %s; add.u64 %%rd4, %%rd4, %%rd3; ld.global.b32 %%%s%u, [%%rd4+%u];\n", array,
                   kind, first + i, 128 * i);
}

static void write_list(Buf *body, const char *kind, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_printf(body, "%s%%%s%u", i ? ", " : "{", kind, first + i);
    buf_puts(body, "}");
}

/* The registers of D, [register][lane], in the arena. */
static const uint32_t *multiply(Arena *arena, const Product *p)
{
    Buf globals = {0}, body = {0};
    const char *kind = p->half_sums ? "r" : "f";
    unsigned c = p->half_sums ? 20 : 0, d = p->half_sums ? 30 : 8;
    write_array(&globals, "ga", &p->a[0][0], LANES * p->a_count);
    write_array(&globals, "gb", &p->b[0][0], LANES * p->b_count);
    write_array(&globals, "gc", &p->c[0][0], LANES * p->c_count);
    write_array(&globals, "gs", &p->scales[0][0], LANES * 2);
    buf_puts(&body, "mul.wide.u32 %rd3, %r1, 4; mov.b16 %h0, 0; mov.b16 %h1, 1; mov.b16 %h2, 2; mov.b16 %h3, 3;\n");
    write_loads(&body, "ga", "r", 2, p->a_count);
    write_loads(&body, "gb", "r", 10, p->b_count);
    write_loads(&body, "gc", kind, c, p->c_count);
    write_loads(&body, "gs", "r", 60, 2);
    buf_printf(&body, "%s ", p->instruction);
    write_list(&body, kind, d, p->c_count);
    buf_puts(&body, ", ");
    write_list(&body, "r", 2, p->a_count);
    buf_puts(&body, ", ");
    write_list(&body, "r", 10, p->b_count);
    buf_puts(&body, ", ");
    write_list(&body, kind, c, p->c_count);
    buf_printf(&body, "%s;\n", p->tail ? p->tail : "");
    for (unsigned i = 0; i < p->c_count; i++)
        buf_printf(&body, "st.global.b32 [%%rd2+%u], %%%s%u;\n", 128 * i, kind, d + i);
    Emulated kernel = {.target = p->target, .globals = buf_text(&globals), .block = LANES};
    const uint32_t *out = emulated_words(arena, &kernel, buf_text(&body));
    buf_free(&globals);
    buf_free(&body);
    return out;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint16_t half_of(int value)
{
    uint64_t bits = 0, input = bits_of((float)value);
    assert_true(emulator_evaluate("cvt.rn.f16.f32", &input, 1, &bits));
    return (uint16_t)bits;
}

static void put_half(uint32_t regs[][LANES], unsigned lane, unsigned index, int value)
{
    regs[index / 2][lane] |= (uint32_t)half_of(value) << 16 * (index % 2);
}

/* Small integers that differ between places. */
static int value_at(unsigned row, unsigned column, unsigned salt)
{
    return (int)((7 * row + 5 * column + 3 * salt) % 11) - 5;
}

static void four_small_products(void **state)
{
    (void)state;
    for (unsigned layout = 0; layout < 8; layout++) {
        bool a_column = layout & 1, b_row = layout & 2, half_sums = layout & 4;
        Arena *arena = arena_new();
        Product p = {.target = "sm_70",
                     .a_count = 2,
                     .b_count = 2,
                     .c_count = half_sums ? 4 : 8,
                     .half_sums = half_sums,
                     .instruction = arena_printf(arena, "mma.sync.aligned.m8n8k4.%s.%s.%s", a_column ? "col" : "row",
                                                 b_row ? "row" : "col",
                                                 half_sums ? "f16.f16.f16.f16" : "f32.f16.f16.f32")};
        for (unsigned lane = 0; lane < LANES; lane++) {
            unsigned h = lane < 16 ? 0 : 4, q = lane & 3, quad = lane % 16 / 4;
            for (unsigned i = 0; i < 4; i++) {
                put_half(p.a, lane, i, a_column ? value_at(i + h, q, quad) : value_at(q + h, i, quad));
                put_half(p.b, lane, i, b_row ? value_at(q, i + h, quad + 9) : value_at(i, q + h, quad + 9));
            }
            for (unsigned i = 0; i < 8; i++) {
                if (half_sums)
                    put_half(p.c, lane, i, value_at(q + h, i, 40));
                else
                    p.c[i][lane] =
                        bits_of((float)value_at((lane & 1) + (i & 2) + h, (i & 4) + (lane & 2) + (i & 1), 40));
            }
        }
        const uint32_t *out = multiply(arena, &p);
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < 8; i++) {
                unsigned h = lane < 16 ? 0 : 4, quad = lane % 16 / 4;
                unsigned row = half_sums ? (lane & 3) + h : (lane & 1) + (i & 2) + h;
                unsigned column = half_sums ? i : (i & 4) + (lane & 2) + (i & 1);
                int sum = value_at(row, column, 40);
                for (unsigned k = 0; k < 4; k++)
                    sum += value_at(row, k, quad) * value_at(k, column, quad + 9);
                uint32_t got = half_sums ? out[LANES * (i / 2) + lane] >> 16 * (i % 2) & 0xffff : out[LANES * i + lane];
                assert_int_equal(got, half_sums ? half_of(sum) : bits_of((float)sum));
            }
        arena_free(arena);
    }
}

/* The values of e2m1 patterns. */
static const float quarter_values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

/* m16n8k32 of bytes: A has row g or g + 8 and column 4t + (i & 3), + 16 from the ninth on; B likewise. */
static void bytes_place(Product *p, uint8_t a[16][32], uint8_t b[32][8])
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned g = lane >> 2, t = lane & 3;
        for (unsigned i = 0; i < 16; i++)
            p->a[i / 4][lane] |= (uint32_t)a[g + (i / 4 % 2 ? 8 : 0)][4 * t + i % 4 + (i >= 8 ? 16 : 0)] << 8 * (i % 4);
        for (unsigned i = 0; i < 8; i++)
            p->b[i / 4][lane] |= (uint32_t)b[4 * t + i % 4 + (i >= 4 ? 16 : 0)][g] << 8 * (i % 4);
    }
}

static void check_sums(const uint32_t *out, float expected[16][8])
{
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(out[LANES * i + lane],
                             bits_of(expected[(lane >> 2) + (i >= 2 ? 8 : 0)][2 * (lane & 3) + (i & 1)]));
}

static void narrow_floats_lie_in_bytes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    uint8_t a[16][32], b[32][8];
    float expected[16][8] = {{0}};
    Product p = {.instruction = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
                 .target = "sm_120a",
                 .a_count = 4,
                 .b_count = 2,
                 .c_count = 4};
    /* e2m1 in bits 2 to 5; e3m2 of 1, 1.25, 1.5 ... 3.5 in bits 0 to 5. */
    for (unsigned m = 0; m < 16; m++)
        for (unsigned k = 0; k < 32; k++)
            a[m][k] = (uint8_t)((3 * m + 5 * k) % 16 << 2);
    for (unsigned k = 0; k < 32; k++)
        for (unsigned n = 0; n < 8; n++)
            b[k][n] = (uint8_t)(0x0c + (k + 2 * n) % 8);
    for (unsigned m = 0; m < 16; m++)
        for (unsigned n = 0; n < 8; n++)
            for (unsigned k = 0; k < 32; k++) {
                unsigned pattern = b[k][n];
                float value = (float)(4 + (pattern & 3)) / 4 * (float)(1 << ((pattern >> 2) - 3));
                expected[m][n] += quarter_values[a[m][k] >> 2] * value;
            }
    bytes_place(&p, a, b);
    check_sums(multiply(arena, &p), expected);
    arena_free(arena);
}

static void blocks_are_scaled(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    /* e5m2 of 1 and 2 (0x3c, 0x40); byte 1 of lanes 2 and 3 of a group scales its rows, byte 2 of lane 3 its column. */
    uint8_t a[16][32], b[32][8];
    float expected[16][8] = {{0}};
    Product p = {.instruction = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2."
                                "e5m2.f32.ue8m0",
                 .target = "sm_120a",
                 .a_count = 4,
                 .b_count = 2,
                 .c_count = 4,
                 .tail = ", %r60, {%h1, %h1}, %r61, {%h2, %h3}"};
    for (unsigned m = 0; m < 16; m++)
        for (unsigned k = 0; k < 32; k++)
            a[m][k] = (m + k) % 3 ? 0x3c : 0x40;
    for (unsigned k = 0; k < 32; k++)
        for (unsigned n = 0; n < 8; n++)
            b[k][n] = (k * n) % 5 ? 0x40 : 0xbc;
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned t = lane & 3, g = lane >> 2;
        p.scales[0][lane] = t == 2 ? (127 + g) << 8 : t == 3 ? (127 + g - 4) << 8 : 0x77777777;
        p.scales[1][lane] = t == 3 ? (127 - g) << 16 : 0x66666666;
    }
    for (unsigned m = 0; m < 16; m++)
        for (unsigned n = 0; n < 8; n++) {
            float row = m < 8 ? (float)(1 << m) : (float)(1 << (m - 8)) / 16, column = 1 / (float)(1 << n);
            for (unsigned k = 0; k < 32; k++)
                expected[m][n] += (a[m][k] == 0x40 ? 2.0f : 1.0f) * row * (b[k][n] == 0x40 ? 2.0f : -1.0f) * column;
        }
    bytes_place(&p, a, b);
    check_sums(multiply(arena, &p), expected);
    arena_free(arena);
}

/* m16n8k64 of four bits: row g for i in 0-7, 16-23, else g + 8; column 8t + (i & 7), + 32 from the 17th on. */
static void four_factors_a_row(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    unsigned a[16][64], b[64][8];
    float expected[16][8] = {{0}};
    Product p = {.instruction = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1."
                                "e2m1.f32.ue4m3",
                 .target = "sm_120a",
                 .a_count = 4,
                 .b_count = 2,
                 .c_count = 4,
                 .tail = ", %r60, {%h0, %h0}, %r61, {%h0, %h1}"};
    for (unsigned m = 0; m < 16; m++)
        for (unsigned k = 0; k < 64; k++)
            a[m][k] = (m + 3 * k) % 16;
    for (unsigned k = 0; k < 64; k++)
        for (unsigned n = 0; n < 8; n++)
            b[k][n] = (5 * k + n) % 16;
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned g = lane >> 2, t = lane & 3;
        for (unsigned i = 0; i < 32; i++)
            p.a[i / 8][lane] |= a[g + (i / 8 % 2 ? 8 : 0)][8 * t + i % 8 + (i >= 16 ? 32 : 0)] << 4 * (i % 8);
        for (unsigned i = 0; i < 16; i++)
            p.b[i / 8][lane] |= b[8 * t + i % 8 + (i >= 8 ? 32 : 0)][g] << 4 * (i % 8);
        /* 1, 2, 4, 1 for rows up to 7, twice that below; 0.5, 1, 1, 1 for columns; ue4m3 of 1 is 0x38. */
        p.scales[0][lane] = t == 0 ? 0x38484038 : t == 1 ? 0x40504840 : 0;
        p.scales[1][lane] = t == 1 ? 0x38383830 : 0;
    }
    static const float rows[4] = {1, 2, 4, 1}, columns[4] = {0.5f, 1, 1, 1};
    for (unsigned m = 0; m < 16; m++)
        for (unsigned n = 0; n < 8; n++)
            for (unsigned k = 0; k < 64; k++)
                expected[m][n] += quarter_values[a[m][k]] * quarter_values[b[k][n]] * rows[k / 16] * (m < 8 ? 1 : 2) *
                                  columns[k / 16];
    check_sums(multiply(arena, &p), expected);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_small_products),
        cmocka_unit_test(narrow_floats_lie_in_bytes),
        cmocka_unit_test(blocks_are_scaled),
        cmocka_unit_test(four_factors_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
