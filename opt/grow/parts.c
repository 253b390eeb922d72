/* Shared memory of blocks that grow: each original block has its own part.
 *
 * A variable is replaced by one with room for all parts, and its address by that of the thread's part, wherever code
 * names it. Parts of dynamic shared memory are those of merged blocks (opt/coarsen/dynamic.c): S bytes apart, where
 *
 *     S = %dynamic_smem_size / blocks, rounded down to CONTRACT_SHARED_UNIT
 *
 * Keeps SSA form. */
#include "opt/common/quotient.h"
#include "opt/common/variable_address.h"
#include "opt/grow/internal.h"

/* Each part begins at a multiple of the variable's alignment, which is at least its element's size, and of this. */
enum { LEAST_ALIGNMENT = 16 };

/* The variable that the operand names and that is to be split; NULL: none. */
static Variable *split_variable(const Operand *operand)
{
    Variable *variable = operand_shared_variable(operand);
    return variable && !coarsening_is_dynamic(variable) ? variable : NULL;
}

bool grow_check_shared(Grow *g)
{
    Coarsening *c = &g->c;
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++) {
                const Variable *variable = split_variable(&inst->operands[i]);
                if (variable && !variable_is_replaceable(inst, &inst->operands[i]))
                    return coarsening_refuse_with(c, inst, REFUSAL_GROWN_NAMED,
                                                  REFUSAL_WITH(refusal_name(variable->name)));
            }
    return true;
}

static unsigned alignment_of(const Variable *variable)
{
    const unsigned least = type_bits(variable->type) / 8 * variable->vector;
    unsigned align = variable->align > least ? variable->align : least;
    return align > LEAST_ALIGNMENT ? align : LEAST_ALIGNMENT;
}

static void put(Inst **place, Inst *inst)
{
    inst_insert_after(*place, inst);
    *place = inst;
}

static RegId add_reg(Grow *g, const char *name)
{
    return body_add_reg(g->c.body, TYPE_B32, intern(g->c.body->module->names, name));
}

/* Which of the original blocks the thread is from, counted along all axes. */
static RegId put_number(Grow *g, Inst **place)
{
    RegId number = REG_NONE;
    for (unsigned d = 3; d-- > 0;) {
        const GrowAxis *axis = &g->axes[d];
        if (axis->by == 1)
            continue;
        RegId next = axis->part;
        if (number != REG_NONE) {
            next = add_reg(g, "%part_number");
            put(place, inst_build(g->c.body, "mad.lo.u32", "drir", next, number, (int64_t)axis->by, axis->part));
        }
        number = next;
    }
    return number;
}

/* A variable with the parts of all. */
static Variable *add_parts(Grow *g, const Variable *variable, uint64_t distance)
{
    return body_add_array(g->c.body, variable->name, SPACE_SHARED, distance * g->total, alignment_of(variable));
}

typedef struct Part {
    const Variable *variable, *made; /* 'made' has room for all parts of the variable */
    RegId address;
} Part;

typedef VEC(Part) Parts;

static RegId address_of(Grow *g, Parts *parts, const Variable *variable, Inst **place, RegId number)
{
    Body *body = g->c.body;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].variable == variable)
            return parts->data[i].address;
    const uint64_t align = alignment_of(variable);
    const uint64_t distance = divide_up(variable_bytes(variable), align) * align;
    RegId first = add_reg(g, "%parts"), address = add_reg(g, "%part_address");
    Variable *made = add_parts(g, variable, distance);
    put(place, inst_build(body, "mov.u32", "dv", first, made));
    put(place, inst_build(body, "mad.lo.u32", "drir", address, number, (int64_t)distance, first));
    VEC_PUSH(g->c.scratch, *parts, ((Part){variable, made, address}));
    return address;
}

static bool is_made(const Parts *parts, const Variable *variable)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].made == variable)
            return true;
    return false;
}

static bool is_split(const Parts *parts, const Variable *variable)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->data[i].variable == variable)
            return true;
    return false;
}

/* The kernel no longer declares the variables that nothing names now. */
static void drop_variables(Body *body, const Parts *parts)
{
    size_t kept = 0;
    for (size_t i = 0; i < body->variables.count; i++)
        if (!is_split(parts, body->variables.data[i]))
            body->variables.data[kept++] = body->variables.data[i];
    body->variables.count = kept;
}

/* Moves the reads of the dynamic arrays' addresses after 'place', and adds the distance of the thread's part. */
static void split_dynamic(Grow *g, Inst **place, RegId number)
{
    Body *body = g->c.body;
    RegId bytes = add_reg(g, "%dynamic_part"), each = add_reg(g, "%dynamic_part");
    RegId distance = add_reg(g, "%dynamic_part");
    put(place, inst_build(body, "mov.u32", "ds", bytes, "%dynamic_smem_size"));
    *place = inst_insert_quotient(body, *place, each, bytes, g->total);
    put(place, inst_build(body, "and.b32", "dri", distance, each, -(int64_t)CONTRACT_SHARED_UNIT));
    for (size_t i = 0; i < g->c.dynamic.reads.count; i++) {
        Inst *read = g->c.dynamic.reads.data[i];
        RegId address = read->refs[0].reg, first = add_reg(g, "%dynamic_parts");
        inst_remove(read);
        read->refs[0].reg = first;
        put(place, read);
        put(place, inst_build(body, "mad.lo.u32", "drrr", address, number, distance, first));
    }
}

void grow_split_shared(Grow *g, Inst *place)
{
    Body *body = g->c.body;
    Parts parts = {0};
    const RegId number = put_number(g, &place);
    if (g->c.dynamic.reads.count)
        split_dynamic(g, &place, number);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            for (unsigned i = 0; i < inst->operand_count; i++) {
                const Variable *variable = split_variable(&inst->operands[i]);
                if (variable && !is_made(&parts, variable))
                    variable_replace(body, inst, i, variable, address_of(g, &parts, variable, &place, number));
            }
        }
    drop_variables(body, &parts);
}
