/* A register that is written at several places, in a body that is in SSA form otherwise: phis go to all blocks where
 * paths meet, and those to which only one version comes are taken away again. */
#include "ir/internal.h"

typedef struct Split {
    Body *body;
    RegId variable;
    RegId *at_end; /* by Block.id: the version at the end of the block; REG_NONE: none is made in it */
    RegId *at_top; /* by Block.id, where paths meet: the version at the top; REG_NONE: the predecessor's */
    bool *has_phi; /* by Block.id: a phi makes that one */
} Split;

static RegId version_at_top(const Split *s, const Block *block)
{
    for (;;) {
        if (s->at_top[block->id] != REG_NONE)
            return s->at_top[block->id];
        require(block->pred_count == 1);
        block = block->preds[0];
        if (s->at_end[block->id] != REG_NONE)
            return s->at_end[block->id];
    }
}

static RegId version_at_end(const Split *s, const Block *block)
{
    return s->at_end[block->id] != REG_NONE ? s->at_end[block->id] : version_at_top(s, block);
}

/* Gives each definition a register of its own, which is read until the next one in the block. */
static void rename_in_block(const Split *s, Block *block)
{
    RegId version = REG_NONE;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        for (unsigned r = 0; r < inst->ref_count && version != REG_NONE; r++)
            if (inst->refs[r].reg == s->variable && inst->refs[r].role == REF_USE)
                inst->refs[r].reg = version;
        for (unsigned r = 0; r < inst->ref_count; r++) {
            RegRef *ref = &inst->refs[r];
            if (ref->reg != s->variable || ref->role == REF_USE)
                continue;
            require(!inst_is_guarded(inst) && ref->role == REF_DEF);
            ref->reg = version = body_clone_reg(s->body, s->variable);
        }
    }
    s->at_end[block->id] = version;
    s->has_phi[block->id] = block->pred_count > 1;
    s->at_top[block->id] = block->pred_count > 1 ? body_clone_reg(s->body, s->variable) : REG_NONE;
}

/* The only version that comes to the block, apart from its own phi's; REG_NONE: there are several. */
static RegId only_version(const Split *s, const Block *block)
{
    RegId only = REG_NONE;
    for (unsigned p = 0; p < block->pred_count; p++) {
        const RegId version = version_at_end(s, block->preds[p]);
        if (version == s->at_top[block->id] || version == only)
            continue;
        if (only != REG_NONE)
            return REG_NONE;
        only = version;
    }
    return only;
}

/* Takes away the phis that merge nothing. */
static void drop_phis(const Split *s)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t b = 0; b < s->body->blocks.count; b++) {
            const RegId phi = s->at_top[b];
            const RegId only = s->has_phi[b] ? only_version(s, s->body->blocks.data[b]) : REG_NONE;
            if (only == REG_NONE)
                continue;
            s->has_phi[b] = false;
            changed = true;
            for (size_t other = 0; other < s->body->blocks.count; other++)
                if (s->at_top[other] == phi)
                    s->at_top[other] = only;
        }
    }
}

/* The block still reads the variable only where the version at its top is meant. */
static void rename_from_top(const Split *s, Block *block)
{
    for (Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (inst->refs[r].reg == s->variable)
                inst->refs[r].reg = version_at_top(s, block);
}

static void add_phi(const Split *s, Block *block)
{
    Phi phi = {.dst = s->at_top[block->id]};
    for (unsigned p = 0; p < block->pred_count; p++)
        VEC_PUSH(s->body->arena, phi.args, ((PhiArg){block->preds[p], version_at_end(s, block->preds[p])}));
    VEC_PUSH(s->body->arena, block->phis, phi);
}

void body_split_variable(Body *body, RegId variable)
{
    Arena *scratch = arena_new();
    const Split split = {.body = body, .variable = variable,
                         .at_end = ARENA_ARRAY(scratch, RegId, body->blocks.count),
                         .at_top = ARENA_ARRAY(scratch, RegId, body->blocks.count),
                         .has_phi = ARENA_ARRAY(scratch, bool, body->blocks.count)};
    require(body->ssa && !body->blocks.data[0]->pred_count);
    for (size_t b = 0; b < body->blocks.count; b++)
        rename_in_block(&split, body->blocks.data[b]);
    drop_phis(&split);
    for (size_t b = 0; b < body->blocks.count; b++)
        rename_from_top(&split, body->blocks.data[b]);
    for (size_t b = 0; b < body->blocks.count; b++)
        if (split.has_phi[b])
            add_phi(&split, body->blocks.data[b]);
    arena_free(scratch);
}
