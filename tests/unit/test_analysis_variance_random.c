/* Replica variance on random code: values that it calls uniform must be equal in all threads that compute them.
 *
 * Random flow graphs, some irreducible or endless, are filled with integer code on a few registers, some of it guarded.
 * Each thread's run is traced. Outside blocks under variant control, the traces must match block by block, and so must
 * the values of uniform registers defined there. */
#include "test_analysis.h"

enum { BLOCKS = 9, REGS = 5, THREADS = 6, STEPS = 160 };

static void instruction_add(Random *random, Buf *text)
{
    static const char *const operations[] = {"add.u32", "sub.u32", "and.b32", "xor.b32", "min.u32", "mul.lo.u32"};
    if (random_below(random, 4) == 0)
        buf_printf(text, "@%s%%p%u ", random_below(random, 2) ? "!" : "", random_below(random, 2));
    switch (random_below(random, 10)) {
    case 8:
    case 9:
        buf_printf(text, "mov.u32 %%r%u, %%r%u;\n", random_below(random, REGS), random_below(random, REGS));
        break;
    case 0:
        if (random_below(random, 2))
            buf_printf(text, "mov.u32 %%r%u, %%tid.x;\n", random_below(random, REGS));
        else
            buf_printf(text, "mov.u32 %%r%u, %u;\n", random_below(random, REGS), random_below(random, 9));
        break;
    case 1:
    case 2:
        buf_printf(text, "setp.%s.u32 %%p%u, %%r%u, %%r%u;\n", random_below(random, 2) ? "lt" : "ne",
                   random_below(random, 2), random_below(random, REGS), random_below(random, REGS));
        break;
    case 3:
        buf_printf(text, "setp.gt.u32 %%p%u, %%r%u, %u;\n", random_below(random, 2), random_below(random, REGS),
                   random_below(random, 6));
        break;
    case 4:
        buf_printf(text, "selp.u32 %%r%u, %%r%u, %%r%u, %%p%u;\n", random_below(random, REGS),
                   random_below(random, REGS), random_below(random, REGS), random_below(random, 2));
        break;
    default:
        buf_printf(text, "%s %%r%u, %%r%u, %%r%u;\n", operations[random_below(random, COUNT_OF(operations))],
                   random_below(random, REGS), random_below(random, REGS), random_below(random, REGS));
        break;
    }
}

static void program_make(Random *random, Buf *text)
{
    unsigned blocks = 3 + random_below(random, BLOCKS - 2);
    buf_puts(text, ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<2>; .reg .u64 %d;\n");
    buf_printf(text, ".reg .u32 %%r<%u>;\n", REGS);
    buf_puts(text, "mov.u32 %r0, %tid.x;\n");
    for (unsigned i = 1; i < REGS; i++)
        buf_printf(text, "mov.u32 %%r%u, %u;\n", i, random_below(random, 20));
    buf_printf(text, "setp.gt.u32 %%p0, %%r%u, 3; setp.gt.u32 %%p1, %%r1, 3;\n", random_below(random, 3));
    for (unsigned i = 0; i < blocks; i++) {
        buf_printf(text, "B%u:\n", i);
        for (unsigned n = random_below(random, 4); n > 0; n--)
            instruction_add(random, text);
        switch (random_below(random, 6)) {
        case 0: break;
        case 1: buf_printf(text, "bra B%u;\n", random_below(random, blocks)); break;
        case 2:
            if (random_below(random, 3) == 0) {
                buf_printf(text, "@%%p%u ret;\n", random_below(random, 2));
                break;
            }
            /* fall through */
        default:
            buf_printf(text, "@%s%%p%u bra B%u;\n", random_below(random, 2) ? "!" : "", random_below(random, 2),
                       random_below(random, blocks));
            break;
        }
    }
    /* Everything is read at the end, so that phis are needed. */
    buf_puts(text, "ld.param.u64 %d, [p];\n");
    for (unsigned i = 0; i < REGS; i++)
        buf_printf(text, "st.global.u32 [%%d+%u], %%r%u;\n", i * 4, i);
    buf_puts(text, "ret;\n}\n");
}

/* Replaces uses of unguarded copies by the copies' sources, as passes do: phis then merge values defined before the
 * paths diverge. */
static void copies_propagate(Body *body)
{
    Arena *arena = arena_new();
    RegId *source = ARENA_ARRAY(arena, RegId, body->regs.count);
    for (RegId reg = 0; reg < body->regs.count; reg++)
        source[reg] = reg;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (inst_op(inst) == OP_MOV && inst->operands[1].kind == OPERAND_REG && inst->guard == REF_NONE)
                source[inst->refs[0].reg] = inst->refs[1].reg;
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
                RegId *reg = &block->phis.data[p].args.data[a].reg;
                while (source[*reg] != *reg)
                    *reg = source[*reg];
            }
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                while (inst->refs[r].role != REF_DEF && source[inst->refs[r].reg] != inst->refs[r].reg)
                    inst->refs[r].reg = source[inst->refs[r].reg];
    }
    arena_free(arena);
    body_verify(body, "copies");
}

typedef struct Run {
    const Body *body;
    uint32_t tid;
    uint32_t *values; /* by RegId */
    VEC(const Block *) trace;
    VEC(uint32_t *) snapshots; /* the values at the end of each block of the trace */
} Run;

static uint32_t operand_value(const Run *run, const Inst *inst, unsigned index)
{
    const Operand *operand = &inst->operands[index];
    switch (operand->kind) {
    case OPERAND_REG: return run->values[inst->refs[operand->ref].reg];
    case OPERAND_CONSTANT: return (uint32_t)operand->constant->bits;
    case OPERAND_SREG: return run->tid;
    default: return 0;
    }
}

static bool guard_holds(const Run *run, const Inst *inst)
{
    return inst->guard == REF_NONE || (run->values[inst->refs[inst->guard].reg] != 0) != inst->guard_inverted;
}

static void inst_run(Run *run, const Inst *inst)
{
    if (inst->operand_count < 2 || inst->operands[0].kind != OPERAND_REG)
        return;
    uint32_t a = operand_value(run, inst, 1), b = inst->operand_count > 2 ? operand_value(run, inst, 2) : 0, value = a;
    switch (inst_op(inst)) {
    case OP_ADD: value = a + b; break;
    case OP_SUB: value = a - b; break;
    case OP_AND: value = a & b; break;
    case OP_XOR: value = a ^ b; break;
    case OP_MIN: value = a < b ? a : b; break;
    case OP_MUL: value = a * b; break;
    case OP_SELP: value = operand_value(run, inst, 3) ? a : b; break;
    case OP_SETP:
        value = inst_has(inst, MOD_LT) ? a < b : inst_has(inst, MOD_NE) ? a != b : a > b;
        break;
    default: break;
    }
    const RegRef *result = &inst->refs[inst->operands[0].ref];
    if (!guard_holds(run, inst))
        value = run->values[inst->refs[result->partner].reg];
    run->values[result->reg] = value;
}

static const Block *block_run(Run *run, const Block *block, const Block *from, Arena *arena)
{
    uint32_t *arrived = ARENA_ARRAY(arena, uint32_t, block->phis.count);
    for (size_t p = 0; p < block->phis.count; p++)
        for (size_t a = 0; a < block->phis.data[p].args.count; a++)
            if (block->phis.data[p].args.data[a].pred == from)
                arrived[p] = run->values[block->phis.data[p].args.data[a].reg];
    for (size_t p = 0; p < block->phis.count; p++)
        run->values[block->phis.data[p].dst] = arrived[p];
    const Block *next = block->fall;
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (!inst_is_terminator(inst))
            inst_run(run, inst);
        else if (guard_holds(run, inst))
            next = inst->target_count ? inst->targets[0] : NULL;
    }
    return next;
}

static void thread_run(Run *run, Arena *arena)
{
    const Block *block = run->body->blocks.data[0], *from = NULL;
    run->values = ARENA_ARRAY(arena, uint32_t, run->body->regs.count);
    for (unsigned step = 0; step < STEPS && block; step++) {
        const Block *next = block_run(run, block, from, arena);
        uint32_t *snapshot = ARENA_ARRAY(arena, uint32_t, run->body->regs.count);
        memcpy(snapshot, run->values, run->body->regs.count * sizeof *snapshot);
        VEC_PUSH(arena, run->trace, block);
        VEC_PUSH(arena, run->snapshots, snapshot);
        from = block;
        block = next;
    }
}

/* The next entry of the trace, at or after 'at', that is not under variant control. */
static size_t uniform_place(const Run *run, const Variance *variance, size_t at)
{
    while (at < run->trace.count && variance_block(variance, run->trace.data[at]))
        at++;
    return at;
}

static void values_compare(const Variance *variance, const Block *block, const uint32_t *a, const uint32_t *b)
{
    for (size_t p = 0; p < block->phis.count; p++) {
        RegId dst = block->phis.data[p].dst;
        assert_true(variance_reg(variance, dst) || a[dst] == b[dst]);
    }
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++) {
            RegId reg = inst->refs[r].reg;
            /* Operands too: values defined elsewhere must be equal where they are read. */
            assert_true(variance_reg(variance, reg) || a[reg] == b[reg]);
        }
}

/* Returns the number of uniform values compared. */
static unsigned runs_compare(const Variance *variance, const Run *a, const Run *b)
{
    unsigned uniform = 0;
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        i = uniform_place(a, variance, i);
        j = uniform_place(b, variance, j);
        bool a_ends = i >= a->trace.count, b_ends = j >= b->trace.count;
        if (a_ends || b_ends) {
            /* One may end before the other only if it was cut short. */
            assert_true(!a_ends || b_ends || a->trace.count == STEPS);
            assert_true(!b_ends || a_ends || b->trace.count == STEPS);
            return uniform;
        }
        assert_ptr_equal(a->trace.data[i], b->trace.data[j]);
        values_compare(variance, a->trace.data[i], a->snapshots.data[i], b->snapshots.data[j]);
        uniform++;
    }
}

static void test_random_code(void **state)
{
    (void)state;
    Random random = {7};
    unsigned uniform = 0, variant_blocks = 0, irreducible = 0;
    for (unsigned round = 0; round < 1200; round++) {
        Buf text = {0};
        program_make(&random, &text);
        Body *body = body_parse(text.data);
        if (round % 2)
            copies_propagate(body);
        Arena *arena = arena_new();
        Variance *variance = variance_compute(arena, body, NULL, VARIANCE_X, NULL);
        irreducible += loops_compute(arena, dominance_compute(arena, body))->has_irreducible;
        variant_blocks += bitset_count(&variance->blocks);
        Run runs[THREADS] = {0};
        for (unsigned t = 0; t < THREADS; t++) {
            runs[t] = (Run){.body = body, .tid = t * t};
            thread_run(&runs[t], arena);
            if (t)
                uniform += runs_compare(variance, &runs[0], &runs[t]);
        }
        arena_free(arena);
        body_drop(body);
        buf_free(&text);
    }
    /* The test is meaningless without enough of each. */
    assert_true(uniform > 10000 && variant_blocks > 1000 && irreducible > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_code)};
    return cmocka_run_group_tests_name("analysis_variance_random", tests, NULL, NULL);
}
