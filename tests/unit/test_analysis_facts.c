/* Facts from branches: that a 32-bit sum does not wrap may be taken from a comparison exactly where every value that
 * passes it stays in range. Each comparison, on both sides of the branch, with either order of its operands, with
 * bounds at and near the ends of the range, is checked against the values near those ends. */
#include "test_analysis.h"

enum { VALUES = 40 };

typedef struct Comparison {
    const char *relation;
    bool is_signed, swapped, jumps;
    uint32_t bound; /* or, in a register, at most this: 'ranges' */
    bool ranges;
    int added;
    bool extends_signed;
} Comparison;

static bool relation_holds(const char *relation, int64_t a, int64_t b)
{
    bool is_less = relation[0] == 'l', is_greater = relation[0] == 'g', has_equal = relation[1] == 'e';
    if (relation[0] == 'e' || relation[0] == 'n')
        return (a == b) == (relation[0] == 'e');
    return (is_less && a < b) || (is_greater && a > b) || (has_equal && a == b);
}

static int64_t extended(uint32_t value, bool is_signed)
{
    return is_signed ? (int64_t)(int32_t)value : (int64_t)value;
}

static bool passes_with(const Comparison *it, uint32_t value, uint32_t bound)
{
    int64_t a = extended(value, it->is_signed), b = extended(bound, it->is_signed);
    return relation_holds(it->relation, it->swapped ? b : a, it->swapped ? a : b) == it->jumps;
}

/* True if the branch may lead to the block with the sum for this value. */
static bool passes(const Comparison *it, uint32_t value)
{
    bool any = passes_with(it, value, it->bound);
    for (uint32_t bound = 0; bound < it->bound && it->ranges && !any; bound++)
        any = passes_with(it, value, bound);
    return any;
}

/* Values around the ends of both ranges and around the bound. */
static unsigned values_near(uint32_t bound, uint32_t *out)
{
    const uint32_t centres[] = {bound, 0, INT32_MAX, UINT32_MAX - 2};
    unsigned count = 0;
    for (size_t c = 0; c < COUNT_OF(centres); c++)
        for (int d = -4; d <= 4; d++)
            out[count++] = centres[c] + (uint32_t)d;
    return count;
}

static bool never_wraps(const Comparison *it, bool *reachable)
{
    uint32_t values[VALUES];
    unsigned count = values_near(it->bound, values);
    bool never = true;
    for (unsigned i = 0; i < count; i++) {
        if (!passes(it, values[i]))
            continue;
        *reachable = true;
        never &= extended(values[i] + (uint32_t)it->added, it->extends_signed) ==
                 extended(values[i], it->extends_signed) + it->added;
    }
    return never;
}

/* True if the sums say that the extended sum is the extended value plus the constant. */
static bool is_known(const Comparison *it)
{
    char text[2048], operands[128], bound[16];
    snprintf(bound, sizeof bound, it->ranges ? "%%r3" : "%d", (int)it->bound);
    snprintf(operands, sizeof operands, "%s, %s", it->swapped ? bound : "%r1", it->swapped ? "%r1" : bound);
    snprintf(
        text, sizeof text,
        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%d<4>;\n.reg .pred %%q;\n"
        "ld.param.u64 %%d1, [p];\nld.global.u32 %%r1, [%%d1];\nld.global.u32 %%r3, [%%d1+4];\n"
        "and.b32 %%r3, %%r3, %u;\nsetp.%s.%c32 %%q, %s;\n@%s%%q bra IN;\nret;\nIN:\n"
        "add.s32 %%r2, %%r1, %d;\ncvt.%s %%d2, %%r1;\ncvt.%s %%d3, %%r2;\nst.global.u64 [%%d1], %%d2;\n"
        "st.global.u64 [%%d1+8], %%d3;\nret;\n}\n",
        it->bound, it->relation, it->is_signed ? 's' : 'u', operands, it->jumps ? "" : "!", it->added,
        it->extends_signed ? "s64.s32" : "u64.u32", it->extends_signed ? "s64.s32" : "u64.u32");
    Body *body = body_parse(text);
    Arena *arena = arena_new();
    Affine *affine = affine_compute(arena, body, NULL, NULL);
    AffineForm from = affine_of_reg(affine, reg_named(body, "%d2")), to = affine_of_reg(affine, reg_named(body, "%d3"));
    from.constant += it->added;
    bool known = affine_compare(&from, 1, &to, 1) == ALIAS_SAME;
    arena_free(arena);
    body_drop(body);
    return known;
}

static void comparison_check(const Comparison *it, unsigned *known, unsigned *missed)
{
    bool reachable = false, never = never_wraps(it, &reachable), claimed = is_known(it);
    if (claimed && !never)
        fail_msg("%s%s.%c32 %d, %s: the sum with %d is not extended %s as it is said to be", it->jumps ? "" : "not ",
                 it->relation, it->is_signed ? 's' : 'u', (int)it->bound, it->swapped ? "swapped" : "as it is",
                 it->added, it->extends_signed ? "with its sign" : "with zeros");
    *known += claimed;
    *missed += reachable && never && !claimed;
}

static void what_a_range_says(void **state)
{
    (void)state;
    static const char *const relations[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    unsigned known = 0, missed = 0;
    for (size_t r = 0; r < COUNT_OF(relations); r++)
        for (int added = -2; added <= 2; added++)
            for (unsigned flags = 0; flags < 32; flags++) {
                const Comparison it = {.relation = relations[r], .is_signed = flags & 1, .swapped = flags & 2,
                                       .jumps = flags & 4, .extends_signed = flags & 8, .added = added,
                                       .bound = flags & 16 ? 7 : 1, .ranges = true};
                if (added)
                    comparison_check(&it, &known, &missed);
            }
    assert_int_equal(missed, 0);
    assert_true(known > 100);
}

static void what_a_comparison_says(void **state)
{
    (void)state;
    static const char *const relations[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    static const uint32_t bounds[] = {0, 1, 2, 7, INT32_MAX - 1, INT32_MAX, (uint32_t)INT32_MIN, UINT32_MAX - 1,
                                      UINT32_MAX};
    unsigned known = 0, missed = 0;
    for (size_t r = 0; r < COUNT_OF(relations); r++)
        for (size_t b = 0; b < COUNT_OF(bounds); b++)
            for (int added = -2; added <= 2; added++)
                for (unsigned flags = 0; flags < 16; flags++) {
                    const Comparison it = {.relation = relations[r], .is_signed = flags & 1, .swapped = flags & 2,
                                           .jumps = flags & 4, .extends_signed = flags & 8, .bound = bounds[b],
                                           .added = added};
                    if (added)
                        comparison_check(&it, &known, &missed);
                }
    assert_int_equal(missed, 0);
    assert_true(known > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_comparison_says), cmocka_unit_test(what_a_range_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
