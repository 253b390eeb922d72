/* A version of the kernel for the values of parameters that a launch has.
 *
 *     for (d = -r; d <= r; d++)          if (r == 2)
 *         sum += in[x + d]          ->       for (d = -2; d <= 2; d++)
 *                                                sum += in[x + d]
 *                                        else
 *                                            the kernel as it was
 *
 * Only parameters that set the rounds of short loops (rounds.h) are taken as known: these loops can then become
 * straight code (short_loops.c). All threads of a launch take the same version, so either may wait at barriers. */
#include "opt/common/cleanup.h"
#include "opt/common/preheader.h"
#include "opt/loops/rounds.h"
#include "opt/common/version.h"
#include "opt/passes.h"

enum { MOST_COPIED = 2048 }; /* instructions */

/* The parameters on which the rounds of short loops depend, and whether they are passed by, as those of which compilers
 * have unrolled more rounds than there are. */
static void find_parameters(Arena *scratch, const PassContext *context, AssumedParameters *assumed)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    for (uint32_t l = 0; l < loops->loop_count; l++)
        if (!short_loop_rounds(scratch, &loops->loops[l], context->analyses, context->body, assumed))
            skipped_loop_find(&loops->loops[l], context->analyses, context->body, assumed);
}

static bool may_copy(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_is_opaque(inst) || inst_is_call(inst))
                return false;
    return body_inst_count(body) <= MOST_COPIED;
}

/* Whether the instruction loads exactly this part. */
static bool loads_part(const Inst *inst, const ParameterPart *part)
{
    ParameterPart loaded;
    return inst_loads_parameter(inst, &loaded) && parameter_part_equal(&loaded, part) && !inst_is_guarded(inst) &&
           inst->signature->vector <= 1;
}

/* A load of the part in the body; NULL: there is none. */
static Inst *find_load(const Body *body, const ParameterPart *part)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (loads_part(inst, part))
                return inst;
    return NULL;
}

/* Puts a comparison of the parameter with its value before 'at'; the predicate that all of them hold. */
static RegId put_test(Body *body, Inst *at, const Inst *load, int64_t value, RegId holds)
{
    const RegId both = body_add_reg(body, TYPE_PRED, "%as_launched");
    const RegId loaded = body_clone_reg(body, operand_plain_reg(load, &load->operands[0]));
    const unsigned bits = type_bits(body->regs.data[loaded].type);
    Inst *own = inst_clone(body, load);
    own->refs[own->operands[0].ref].reg = loaded;
    inst_insert_before(at, own);
    const char *test = bits == 64 ? "setp.eq.s64" : "setp.eq.s32";
    const char *more = bits == 64 ? "setp.eq.and.s64" : "setp.eq.and.s32";
    inst_insert_before(at, holds == REG_NONE ? inst_build(body, test, "dri", both, loaded, value)
                                             : inst_build(body, more, "drir", both, loaded, value, holds));
    return both;
}

/* Makes the loads of the part in the version, which is not cold and comes after the test, the value. */
static void put_value(Body *body, const ParameterPart *part, int64_t value)
{
    for (size_t b = 1; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst && !body->blocks.data[b]->is_cold; inst = next) {
            next = inst->next;
            if (loads_part(inst, part))
                inst_become_constant(body, inst, operand_plain_reg(inst, &inst->operands[0]), value);
        }
}

/* Drops the parameters whose value no load of a whole register has. */
static void drop_others(const Body *body, AssumedParameters *assumed)
{
    for (unsigned i = assumed->count; i--;) {
        const Inst *load = find_load(body, &assumed->parts[i]);
        const RegId reg = load ? operand_plain_reg(load, &load->operands[0]) : REG_NONE;
        const unsigned bits = reg == REG_NONE ? 0 : type_bits(body->regs.data[reg].type);
        if (bits >= 32 && bits == assumed->parts[i].bytes * 8)
            continue;
        assumed->count--;
        assumed->parts[i] = assumed->parts[assumed->count];
        assumed->values[i] = assumed->values[assumed->count];
    }
}

bool pass_specialize(PassContext *context)
{
    Body *body = context->body;
    if (!context->known || !context->known->count || !may_copy(body))
        return false;
    loops_add_preheaders(body, context->analyses);
    loops_remove_empty_latches(body, context->analyses);
    loops_add_outer_preheaders(body, context->analyses);
    Arena *scratch = arena_new();
    AssumedParameters assumed = {.known = context->known};
    find_parameters(scratch, context, &assumed);
    arena_free(scratch);
    drop_others(body, &assumed);
    Inst *at = body->blocks.data[0]->first;
    if (!assumed.count || !at)
        return false;
    RegId holds = REG_NONE;
    for (unsigned i = 0; i < assumed.count; i++)
        holds = put_test(body, at, find_load(body, &assumed.parts[i]), assumed_number(&assumed, i), holds);
    body_version(body, body->blocks.data[0], at, holds);
    for (unsigned i = 0; i < assumed.count; i++)
        put_value(body, &assumed.parts[i], assumed_number(&assumed, i));
    for (size_t b = 0; b < body->blocks.count; b++)
        body->blocks.data[b]->is_cold = false; /* another launch is as good */
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    fold_constants(body, context->analyses);
    context->assumed = assumed;
    return true;
}
