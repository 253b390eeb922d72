/* Vector registers, split into their elements.
 *
 * A register declared .v2 or .v4 is one register for each element in the body form: "%v.y" becomes "%v_y", and "%v"
 * as a whole operand becomes "{%v_x, %v_y}", which every instruction accepts instead. A vector register in an
 * argument list stays whole, because PTX allows no braces there: see ir/body/formals.c. */
#include "ir/body/build.h"
#include "ir/table/internal.h"

#include <string.h>

static const char element_letters[] = "xyzw";

void elements_declare(Elements *elements, Body *body, const BitSet *whole, Arena *scratch)
{
    size_t count = body->regs.count;
    elements->scratch = scratch;
    elements->parsed = &body->function->regs;
    for (size_t i = 0; i < count; i++) {
        unsigned vector = body->regs.data[i].vector;
        if (vector <= 1 || (i < whole->bits && bitset_has(whole, i)))
            continue;
        if (!elements->rest)
            elements->rest = ARENA_ARRAY(scratch, RegId, count);
        elements->rest[i] = (RegId)body->regs.count;
        for (unsigned e = 0; e < vector; e++) {
            Reg reg = body->regs.data[i];
            reg.vector = 1;
            reg.name = intern(body->module->names,
                              arena_printf(scratch, "%s_%c", elements->parsed->data[i].name, element_letters[e]));
            if (e == 0) {
                body->regs.data[i] = reg;
                continue;
            }
            reg.origin = (RegId)body->regs.count;
            VEC_PUSH(body->arena, body->regs, reg);
        }
    }
}

RegId elements_register(const Elements *elements, RegId parsed, unsigned element)
{
    return element ? elements->rest[parsed] + element - 1 : parsed;
}

typedef struct Rewriter {
    const Elements *elements;
    Arena *trees;
    const Inst *from;
    RegRef *refs;
    unsigned count;
    bool failed;
} Rewriter;

static void register_put(Rewriter *rewriter, Operand *operand, RegRef ref)
{
    operand->ref = (uint16_t)rewriter->count;
    rewriter->refs[rewriter->count++] = ref;
}

/* Recursion follows the shape of operand trees, which the grammar bounds. */
static void operand_rewrite(Rewriter *rewriter, Operand *operand)
{
    if (operand->kind != OPERAND_REG) {
        if (!operand->item_count)
            return;
        Operand *items = ARENA_ARRAY(rewriter->trees, Operand, operand->item_count);
        memcpy(items, operand->items, operand->item_count * sizeof *items);
        operand->items = items;
        for (unsigned i = 0; i < operand->item_count; i++)
            operand_rewrite(rewriter, &items[i]);
        return;
    }
    const Elements *elements = rewriter->elements;
    RegRef ref = rewriter->from->refs[operand->ref];
    RegId vector = ref.reg;
    unsigned width = elements->parsed->data[vector].vector;
    if (width <= 1) {
        register_put(rewriter, operand, ref);
        return;
    }
    if (operand->selector) {
        unsigned element = element_index(operand->selector);
        if (element >= width) {
            rewriter->failed = true;
            return;
        }
        ref.reg = elements_register(elements, vector, element);
        /* Writing one element leaves the others unchanged. */
        if (ref.role == REF_BOTH && rewriter->from->form)
            ref.role = REF_DEF;
        operand->selector = NULL;
        register_put(rewriter, operand, ref);
        return;
    }
    Operand plain = *operand;
    operand->kind = OPERAND_VECTOR;
    operand->ref = REF_NONE;
    operand->item_count = (uint16_t)width;
    operand->items = ARENA_ARRAY(rewriter->trees, Operand, width);
    for (unsigned e = 0; e < width; e++) {
        operand->items[e] = plain;
        ref.reg = elements_register(elements, vector, e);
        register_put(rewriter, &operand->items[e], ref);
    }
}

const char *elements_replace(const Elements *elements, Body *body, Inst *inst)
{
    size_t count = 0;
    bool found = false;
    for (unsigned i = 0; elements->rest && i < inst->ref_count; i++) {
        unsigned width = elements->parsed->data[inst->refs[i].reg].vector;
        found |= width > 1;
        count += width;
    }
    if (!found)
        return NULL;
    require(!inst->tied_count);
    if (count >= REF_NONE)
        return "an instruction of more than 65534 registers";
    Arena *trees = body->module->arena; /* operand trees outlive the body: clones share them */
    Inst from = *inst;
    Rewriter rewriter = {.elements = elements, .trees = trees, .from = &from};
    rewriter.refs = ARENA_ARRAY(body->arena, RegRef, count);
    inst->operands = ARENA_ARRAY(trees, Operand, inst->operand_count);
    memcpy(inst->operands, from.operands, inst->operand_count * sizeof *inst->operands);
    for (unsigned i = 0; i < inst->operand_count; i++)
        operand_rewrite(&rewriter, &inst->operands[i]);
    if (rewriter.failed)
        return arena_printf(body->module->arena,
                            "the unknown instruction '%s', which selects a part of a vector register",
                            inst->signature->opcode);
    if (inst_is_guarded(inst)) {
        rewriter.refs[rewriter.count] = from.refs[from.guard];
        inst->guard = (uint16_t)rewriter.count++;
    }
    inst->refs = rewriter.refs;
    inst->ref_count = (uint16_t)rewriter.count;
    return NULL;
}

bool inst_reads_special_vector(const Inst *inst)
{
    return inst_op(inst) == OP_MOV && inst->form && inst->operand_count == 2 &&
           inst->operands[1].kind == OPERAND_SREG && inst->operands[1].sreg->vector > 1 &&
           inst->operands[0].kind == OPERAND_VECTOR;
}

/* "mov.v4.u32 {%r1, %r2, _, _}, %tid" is two reads; ptxas does not have vector reads of them either. */
void special_vector_split(Body *body, Block *block, const Inst *inst)
{
    Arena *arena = body->module->arena;
    const Operand *list = &inst->operands[0];
    Type type = inst->signature->types[0];
    const Pragma *pragma = inst->pragma;
    for (unsigned i = 0; i < list->item_count && i < 4; i++) {
        RegId reg = operand_reg(inst, &list->items[i]);
        if (reg == REG_NONE)
            continue;
        bool is_float = type_class(body->regs.data[reg].type) == CLASS_FLOAT;
        const char *spelling =
            arena_printf(arena, "mov.%s", type_name(is_float ? type_bits_of_width(type_bits(type)) : type));
        Inst *read = inst_build(body, spelling, "ds", reg, sreg_component(inst->operands[1].sreg, i)->name);
        if (inst_is_guarded(inst))
            inst_set_guard(body, read, inst_predicate(inst), inst->guard_inverted);
        read->loc = inst->loc;
        read->span = inst->span;
        read->pragma = pragma;
        pragma = NULL;
        inst_append(block, read);
    }
}
