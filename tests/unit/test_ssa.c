/* SSA in and out: shapes by example, and random programs whose behaviour must survive copy propagation in SSA form,
 * which makes live ranges overlap and so provokes the lost-copy and the swap problem. */
#include "parsed.h"

#include <stdlib.h>
#include <time.h>

static const Phi *only_phi(const Block *block)
{
    assert_int_equal(block->phis.count, 1);
    return &block->phis.data[0];
}

static size_t phi_count(const Body *body)
{
    size_t count = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        count += body->blocks.data[i]->phis.count;
    return count;
}

static void to_ssa(Body *body)
{
    body_to_ssa(body);
    body_verify(body, "body_to_ssa");
}

static void from_ssa(Body *body)
{
    body_from_ssa(body);
    body_verify(body, "body_from_ssa");
}

static void test_diamond(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k(.param .u32 n) {\n.reg .pred %p1; .reg .u32 %r<5>;\n"
                                        "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra B;\n"
                                        "mov.u32 %r2, 1;\nmov.u32 %r4, 1;\nbra C;\n"
                                        "B:\nmov.u32 %r2, 2;\nmov.u32 %r4, 2;\nC:\nadd.u32 %r3, %r2, 1;\nret;\n}\n");
    Body *body = body_from(module);
    Buf before = {0}, after = {0};
    body_print(body, true, &before);
    to_ssa(body);
    const Phi *phi = only_phi(block_labelled(body, "C")); /* %r4 is dead there: pruned */
    assert_int_equal(phi->args.count, 2);
    assert_int_not_equal(phi->args.data[0].reg, phi->args.data[1].reg);
    RegId origin = reg_named(body, "%r2");
    assert_int_equal(body->regs.data[phi->dst].origin, origin);
    assert_int_equal(body->regs.data[phi->args.data[0].reg].origin, origin);
    from_ssa(body);
    body_print(body, true, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    buf_free(&before);
    buf_free(&after);
    release(module);
}

/* A register that a pass writes in the entry and in one branch within a loop. */
static void test_split_variable(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k(.param .u32 n, .param .u64 out) {\n.reg .pred %p<4>;\n"
                                        ".reg .u32 %r<5>; .reg .u64 %d1;\nld.param.u32 %r1, [n];\n"
                                        "ld.param.u64 %d1, [out];\nL:\nsetp.gt.u32 %p1, %r1, 9;\n@%p1 bra J;\n"
                                        "W:\nadd.u32 %r3, %r1, 1;\nJ:\nsub.u32 %r1, %r1, 1;\n"
                                        "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra L;\nE:\nsetp.gt.u32 %p3, %r1, 5;\n"
                                        "@%p3 bra D;\nmov.u32 %r4, 1;\nD:\nret;\n}\n");
    Body *body = body_from(module);
    to_ssa(body);
    const size_t before = phi_count(body);
    const RegId variable = body_add_reg(body, TYPE_U32, intern(module->names, "%v"));
    Block *entry = body->blocks.data[0], *join = block_labelled(body, "D");
    inst_insert_first(entry, inst_build(body, "mov.u32", "di", variable, (int64_t)1));
    inst_insert_first(block_labelled(body, "W"), inst_build(body, "mov.u32", "di", variable, (int64_t)2));
    inst_insert_first(join, inst_build(body, "st.global.u32", "ar", reg_named(body, "%d1"), (int64_t)0, variable));
    body_split_variable(body, variable);
    body_verify(body, "body_split_variable");
    /* The loop and the end of the if within it have phis; the join after the loop has none. */
    assert_int_equal(phi_count(body), before + 2);
    assert_int_equal(join->phis.count, 0);
    assert_int_equal(join->first->refs[1].reg, VEC_LAST(block_labelled(body, "J")->phis).dst);
    from_ssa(body);
    release(module);
}

static void test_guarded_definition(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k(.param .u32 n) {\n.reg .pred %p1; .reg .u32 %r<5>;\n"
                                        "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n"
                                        "@%p1 mov.u32 %r2, 1;\n@!%p1 mov.u32 %r2, 2;\nadd.u32 %r3, %r2, 1;\nret;\n}\n");
    Body *body = body_from(module);
    Buf before = {0}, after = {0};
    body_print(body, true, &before);
    to_ssa(body);
    const Inst *first = body->blocks.data[0]->first->next->next, *second = first->next;
    assert_int_equal(first->tied_count, 1);
    const RegRef *tied = &second->refs[second->ref_count - 1];
    assert_int_equal(tied->role, REF_TIED);
    assert_int_equal(tied->type, TYPE_NONE);
    assert_int_equal(tied->reg, first->refs[0].reg);
    assert_int_equal(second->refs[tied->partner].role, REF_DEF);
    /* The first keeps a value that was never written: its id is the register's own. */
    assert_int_equal(first->refs[first->ref_count - 1].reg, reg_named(body, "%r2"));
    body_dump(body, &after);
    assert_true(buf_has(&after, " keeps "));
    from_ssa(body);
    buf_clear(&after);
    body_print(body, true, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    buf_free(&before);
    buf_free(&after);
    release(module);
}

static void test_updated_operand(void **state)
{
    (void)state;
    Module *module = module_from(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 n) {\n"
        ".reg .f32 %f<4>; .reg .u64 %rd<3>;\n"
        "ld.param.u64 %rd1, [n];\nmov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\nst.global.f32 [%rd1], %f0;\nret;\n}\n");
    Body *body = body_from(module);
    const Inst *update = block_labelled(body, "x") ? NULL : body->blocks.data[0]->last->prev->prev->prev;
    assert_int_equal(update->refs[0].role, REF_BOTH);
    to_ssa(body);
    assert_int_equal(update->tied_count, 4);
    assert_int_equal(update->refs[update->ref_count - 4].type, TYPE_F32);
    from_ssa(body);
    assert_int_equal(update->tied_count, 0);
    assert_int_equal(update->refs[0].role, REF_BOTH);
    assert_string_equal(body->regs.data[update->refs[0].reg].name, "%f0");
    release(module);
}

static void test_loop_and_undefined(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".visible .entry k() {\n.reg .pred %p1; .reg .u32 %r<4>;\n"
                           "mov.u32 %r1, 0;\n"
                           "LOOP:\nadd.u32 %r1, %r1, 1;\nadd.u32 %r2, %r2, %r1;\nsetp.lt.u32 %p1, %r1, 9;\n"
                           "@%p1 bra LOOP;\nadd.u32 %r3, %r1, %r2;\nret;\n}\n");
    Body *body = body_from(module);
    Buf before = {0}, after = {0};
    body_print(body, true, &before);
    to_ssa(body);
    assert_int_equal(block_labelled(body, "LOOP")->phis.count, 2);
    body_dump(body, &after);
    assert_true(buf_has(&after, "= phi ["));
    from_ssa(body);
    buf_clear(&after);
    body_print(body, true, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    buf_free(&before);
    buf_free(&after);
    release(module);
}

static bool is_copy(const Body *body, const Inst *inst)
{
    if (inst->guard != REF_NONE || inst->ref_count != 2)
        return false;
    return inst_op(inst) == OP_MOV || (inst_op(inst) == OP_CVT && body->regs.data[inst->refs[0].reg].type == TYPE_B8);
}

/* Propagates the copies of SSA form, each with a chance of 'odds' in 100. */
static void propagate_copies(Body *body, unsigned odds)
{
    RegId *to = calloc(body->regs.count, sizeof *to);
    assert_non_null(to);
    for (size_t i = 0; i < body->regs.count; i++)
        to[i] = (RegId)i;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (is_copy(body, inst) && (unsigned)(rand() % 100) < odds)
                to[inst->refs[0].reg] = inst->refs[1].reg;
    for (size_t i = 0; i < body->regs.count; i++)
        while (to[to[i]] != to[i])
            to[i] = to[to[i]];
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (size_t i = 0; i < body->blocks.data[b]->phis.count; i++)
            for (size_t j = 0; j < body->blocks.data[b]->phis.data[i].args.count; j++) {
                PhiArg *arg = &body->blocks.data[b]->phis.data[i].args.data[j];
                arg->reg = to[arg->reg];
            }
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role != REF_DEF)
                    inst->refs[i].reg = to[inst->refs[i].reg];
    }
    free(to);
    body_verify(body, "propagate_copies");
}

/* Movs whose result nothing reads. */
static void remove_dead_moves(Body *body)
{
    bool *read = calloc(body->regs.count, sizeof *read);
    assert_non_null(read);
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (size_t i = 0; i < body->blocks.data[b]->phis.count; i++)
            for (size_t j = 0; j < body->blocks.data[b]->phis.data[i].args.count; j++)
                read[body->blocks.data[b]->phis.data[i].args.data[j].reg] = true;
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role != REF_DEF)
                    read[inst->refs[i].reg] = true;
    }
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            if (is_copy(body, inst) && !read[inst->refs[0].reg])
                inst_remove(inst);
        }
    free(read);
}

static void test_swap(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k() {\n.reg .pred %p1; .reg .u32 %r<6>;\n"
                                        "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r4, 0;\n"
                                        "LOOP:\nmov.u32 %r3, %r1;\nmov.u32 %r1, %r2;\nmov.u32 %r2, %r3;\n"
                                        "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 9;\n@%p1 bra LOOP;\n"
                                        "add.u32 %r5, %r1, %r2;\nret;\n}\n");
    Body *body = body_from(module);
    to_ssa(body);
    propagate_copies(body, 100);
    remove_dead_moves(body);
    from_ssa(body);
    unsigned moves = 0;
    for (const Inst *inst = block_labelled(body, "LOOP")->first; inst; inst = inst->next)
        moves += inst_op(inst) == OP_MOV;
    assert_int_equal(moves, 3); /* a swap takes exactly three */
    release(module);
}

static void test_lost_copy(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".visible .entry k() {\n.reg .pred %p1; .reg .u32 %r<6>;\n"
                           "mov.u32 %r1, 1;\n"
                           "LOOP:\nmov.u32 %r2, %r1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra LOOP;\n"
                           "add.u32 %r3, %r2, 1;\nret;\n}\n");
    Body *body = body_from(module);
    to_ssa(body);
    propagate_copies(body, 100);
    remove_dead_moves(body);
    from_ssa(body);
    unsigned moves = 0;
    for (const Inst *inst = block_labelled(body, "LOOP")->first; inst; inst = inst->next)
        moves += inst_op(inst) == OP_MOV;
    assert_int_equal(moves, 1);
    release(module);
}

/* The moves that replace phis exist for every type of register; one loop swaps two of each. */
static void test_moves_of_every_type(void **state)
{
    (void)state;
    static const struct {
        const char *type, *move;
    } types[] = {{"pred", "mov.pred"}, {"b8", "cvt.u8.u8"}, {"s16", "mov.s16"},   {"f16", "mov.b16"},
                 {"b32", "mov.b32"},   {"f32", "mov.f32"},  {"f16x2", "mov.b32"}, {"u64", "mov.u64"},
                 {"f64", "mov.f64"},   {"b128", "mov.b128"}};
    Buf text = {0};
    buf_puts(&text,
             ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .pred %q; .reg .u32 %n;\n");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        buf_printf(&text, ".reg .%s %%a%zu, %%b%zu, %%c%zu;\n", types[i].type, i, i, i);
    buf_puts(&text, "mov.u32 %n, 0;\n");
    for (size_t i = 0; i < COUNT_OF(types); i++) /* two copies, not the same value, of a register that was never
                                                  * written */
        buf_printf(&text, "%s %%a%zu, %%c%zu;\n@%%q %s %%b%zu, %%c%zu;\n", types[i].move, i, i, types[i].move, i, i);
    buf_puts(&text, "LOOP:\n");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        buf_printf(&text, "%s %%c%zu, %%a%zu;\n%s %%a%zu, %%b%zu;\n%s %%b%zu, %%c%zu;\n", types[i].move, i, i,
                   types[i].move, i, i, types[i].move, i, i);
    buf_puts(&text, "add.u32 %n, %n, 1;\nsetp.lt.u32 %q, %n, 9;\n@%q bra LOOP;\nret;\n}\n");
    Module *module = module_from(buf_text(&text));
    Body *body = body_from(module);
    to_ssa(body);
    propagate_copies(body, 100);
    remove_dead_moves(body);
    from_ssa(body);
    buf_clear(&text);
    body_print(body, true, &text);
    assert_true(buf_has(&text, "cvt.u8.u8 %"));
    assert_true(buf_has(&text, "mov.pred %"));
    assert_true(buf_has(&text, "mov.b16 %"));
    assert_true(buf_has(&text, "mov.b128 %"));
    buf_free(&text);
    release(module);
}

enum { REGISTERS = 6, BLOCKS = 9, STEPS = 400 };

static void random_program(Buf *out)
{
    buf_puts(out, HEADER ".visible .entry k() {\n.reg .pred %p<3>; .reg .u32 %r<10>; .reg .u32 %n;\nmov.u32 %n, 0;\n"
                         "setp.eq.u32 %p0, %n, 0;\nsetp.ne.u32 %p1, %n, 0;\nsetp.ne.u32 %p2, %n, 0;\n");
    for (int i = 0; i < REGISTERS; i++)
        buf_printf(out, "mov.u32 %%r%d, %d;\n", i, rand() % 8);
    for (int b = 0; b < BLOCKS; b++) {
        buf_printf(out, "L%d:\n", b);
        for (int n = rand() % 6; n >= 0; n--) {
            int d = rand() % REGISTERS, a = rand() % REGISTERS, c = rand() % REGISTERS;
            switch (rand() % 9) {
            case 0:
            case 1:
            case 2: buf_printf(out, "mov.u32 %%r%d, %%r%d;\n", d, a); break;
            case 3: buf_printf(out, "mov.u32 %%r%d, %d;\n", d, rand() % 8); break;
            case 4: buf_printf(out, "add.u32 %%r%d, %%r%d, %%r%d;\n", d, a, c); break;
            case 5: buf_printf(out, "setp.lt.u32 %%p%d, %%r%d, %%r%d;\n", rand() % 3, a, c); break;
            case 6: buf_printf(out, "@%s%%p%d mov.u32 %%r%d, %%r%d;\n", rand() % 2 ? "!" : "", rand() % 3, d, a); break;
            case 7: buf_printf(out, "@%%p%d add.u32 %%r%d, %%r%d, 1;\n", rand() % 3, d, a); break;
            default: buf_printf(out, "st.local.u32 [0], %%r%d;\n", a); break;
            }
        }
        /* One counter bounds every run. */
        buf_printf(out, "add.u32 %%n, %%n, 1;\n");
        switch (rand() % 5) {
        case 0: buf_printf(out, "bra L%d;\n", rand() % BLOCKS); break;
        case 1:
        case 2: buf_printf(out, "@%%p%d bra L%d;\n", rand() % 3, rand() % BLOCKS); break;
        case 3:
            buf_printf(out, "@!%%p%d bra L%d;\n@%%p%d bra L%d;\n", rand() % 3, rand() % BLOCKS, rand() % 3,
                       rand() % BLOCKS);
            break;
        default: break;
        }
    }
    for (int i = 0; i < REGISTERS; i++)
        buf_printf(out, "st.local.u32 [0], %%r%d;\n", i);
    buf_puts(out, "ret;\n}\n");
}

typedef struct Machine {
    uint32_t *values;
    Buf trace;
    unsigned steps;
} Machine;

static uint32_t source_value(const Machine *machine, const Inst *inst, unsigned operand)
{
    const Operand *tree = &inst->operands[operand];
    return tree->kind == OPERAND_REG ? machine->values[inst->refs[tree->ref].reg] : (uint32_t)tree->constant->bits;
}

static void execute(Machine *machine, const Inst *inst)
{
    for (unsigned i = 0; i < inst->tied_count; i++) { /* SSA form: the old value, which the guard may keep */
        const RegRef *tied = &inst->refs[inst->ref_count - inst->tied_count + i];
        machine->values[inst->refs[tied->partner].reg] = machine->values[tied->reg];
    }
    if (inst->guard != REF_NONE && !machine->values[inst->refs[inst->guard].reg] == !inst->guard_inverted)
        return;
    uint32_t result;
    switch (inst_op(inst)) {
    case OP_MOV: result = source_value(machine, inst, 1); break;
    case OP_ADD: result = source_value(machine, inst, 1) + source_value(machine, inst, 2); break;
    case OP_SETP:
        result = source_value(machine, inst, 1) < source_value(machine, inst, 2);
        if (inst_has(inst, MOD_EQ))
            result = source_value(machine, inst, 1) == source_value(machine, inst, 2);
        if (inst_has(inst, MOD_NE))
            result = source_value(machine, inst, 1) != source_value(machine, inst, 2);
        break;
    case OP_ST: buf_printf(&machine->trace, "%u ", source_value(machine, inst, 1)); return;
    default: return;
    }
    machine->values[inst->refs[inst->operands[0].ref].reg] = result;
}

static bool branch_taken(const Machine *machine, const Inst *inst)
{
    return inst && inst->target_count &&
           (inst->guard == REF_NONE || (machine->values[inst->refs[inst->guard].reg] != 0) != inst->guard_inverted);
}

static void enter(Machine *machine, const Block *block, const Block *from)
{
    uint32_t values[64];
    assert_true(block->phis.count <= COUNT_OF(values));
    for (size_t i = 0; i < block->phis.count; i++)
        for (size_t j = 0; j < block->phis.data[i].args.count; j++)
            if (block->phis.data[i].args.data[j].pred == from)
                values[i] = machine->values[block->phis.data[i].args.data[j].reg];
    for (size_t i = 0; i < block->phis.count; i++)
        machine->values[block->phis.data[i].dst] = values[i];
}

/* The program's stores, until it ends or has entered STEPS of the source's blocks. */
static char *run(const Body *body)
{
    Machine machine = {.values = calloc(body->regs.count, sizeof *machine.values)};
    assert_non_null(machine.values);
    const Block *block = body->blocks.data[0];
    while (block && machine.steps < STEPS) {
        machine.steps += block->label != NULL;
        for (const Inst *inst = block->first; inst; inst = inst->next)
            execute(&machine, inst);
        const Block *next = branch_taken(&machine, block->last) ? block->last->targets[0] : block->fall;
        if (next)
            enter(&machine, next, block);
        block = next;
    }
    free(machine.values);
    char *trace = strdup(buf_text(&machine.trace));
    buf_free(&machine.trace);
    return trace;
}

static void test_random_programs(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 1500; round++) {
        Buf text = {0}, before = {0}, after = {0};
        random_program(&text);
        Module *module = module_from(buf_text(&text));
        Body *body = body_from(module);
        char *expected = run(body);
        body_print(body, false, &before);
        to_ssa(body);
        char *in_ssa = run(body);
        assert_string_equal(expected, in_ssa);
        Body *clone = body_clone(body);
        from_ssa(clone);
        body_print(clone, false, &after);
        if (strcmp(buf_text(&before), buf_text(&after)) != 0)
            print_message("%s\n%s\n", buf_text(&before), buf_text(&after));
        assert_string_equal(buf_text(&before), buf_text(&after)); /* nothing was done, so nothing has changed */
        body_free(clone);
        propagate_copies(body, (unsigned)(round % 3 + 1) * 33);
        if (round % 2)
            remove_dead_moves(body);
        from_ssa(body);
        char *got = run(body);
        if (strcmp(expected, got) != 0)
            print_message("round %d\n%s\n", round, buf_text(&text));
        assert_string_equal(expected, got);
        to_ssa(body); /* and once more */
        propagate_copies(body, 50);
        from_ssa(body);
        free(got);
        got = run(body);
        assert_string_equal(expected, got);
        free(expected);
        free(in_ssa);
        free(got);
        buf_free(&text);
        buf_free(&before);
        buf_free(&after);
        release(module);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A register that block 'block' uses: each is live and redefined over about two hundred blocks. */
static int register_near(int block)
{
    return block / 10 + rand() % 20;
}

/* 100,000 instructions in 10,000 blocks: loops, branches, and a thousand registers that are redefined many times. */
static void test_large_body(void **state)
{
    (void)state;
    Buf text = {0}, before = {0}, after = {0};
    srand(2);
    buf_puts(&text, HEADER ".visible .entry k() {\n.reg .pred %p<8>; .reg .u32 %r<1020>;\n");
    for (int b = 0; b < 10000; b++) {
        buf_printf(&text, "L%d:\n", b);
        for (int n = 0; n < 8; n++)
            buf_printf(&text, "add.u32 %%r%d, %%r%d, %%r%d;\n", register_near(b), register_near(b), register_near(b));
        buf_printf(&text, "setp.lt.u32 %%p%d, %%r%d, %%r%d;\n", b % 8, register_near(b), register_near(b));
        int to = b + rand() % 40 - 20;
        buf_printf(&text, "@%%p%d bra L%d;\n", b % 8, to < 0 ? 0 : to > 9999 ? 9999 : to);
    }
    buf_puts(&text, "ret;\n}\n");
    Module *module = module_from(buf_text(&text));
    double begin = seconds();
    Body *body = body_from(module);
    body_print(body, false, &before);
    double built = seconds();
    to_ssa(body);
    double in = seconds();
    Body *clone = body_clone(body);
    from_ssa(body);
    double out = seconds();
    body_print(body, false, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    size_t phis = phi_count(clone);
    double prepared = seconds();
    for (size_t b = 0; b < clone->blocks.count; b++) /* origins differ: no name returns at once */
        for (size_t i = 0; i < clone->blocks.data[b]->phis.count; i++)
            clone->regs.data[clone->blocks.data[b]->phis.data[i].dst].origin = clone->blocks.data[b]->phis.data[i].dst;
    body_from_ssa(clone);
    double harder = seconds();
    print_message(
        "# 100000 instructions, %zu phis: build %.2f s, in %.2f s, out %.2f s, out with foreign copies %.2f s\n", phis,
        built - begin, in - built, out - in, harder - prepared);
    assert_true(harder - begin < 60);
    body_free(clone);
    buf_free(&text);
    buf_free(&before);
    buf_free(&after);
    release(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_split_variable),
        cmocka_unit_test(test_guarded_definition),
        cmocka_unit_test(test_updated_operand),
        cmocka_unit_test(test_loop_and_undefined),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_lost_copy),
        cmocka_unit_test(test_moves_of_every_type),
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_large_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
