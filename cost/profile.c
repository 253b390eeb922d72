/* Building profiles: the instructions of a form, their runs, and the totals over them. */
#include "cost/internal.h"

#include <math.h>

/* Adds a body's instructions. An instruction's inputs are the latest writers of its registers in code order. */
typedef struct Builder {
    ProfileBuilder *profile;
    uint32_t *writer; /* by RegId: its last writer, counted from 1; 0: none yet */
} Builder;

static void add_inputs(Builder *builder, const Inst *inst, InstProfile *profile)
{
    ProfileBuilder *all = builder->profile;
    profile->first_input = all->inputs.count;
    for (unsigned i = 0; i < inst->ref_count; i++) {
        RegId reg = inst->refs[i].reg;
        bool is_read = inst->refs[i].role != REF_DEF || inst_is_guarded(inst);
        if (is_read && builder->writer[reg])
            VEC_PUSH(all->arena, all->inputs, builder->writer[reg] - 1);
    }
    profile->input_count = (unsigned)(all->inputs.count - profile->first_input);
}

static void add_instruction(Builder *builder, const Inst *inst)
{
    ProfileBuilder *all = builder->profile;
    RunProfile *run = &all->runs.data[all->runs.count - 1];
    InstProfile profile = {.unit = inst_unit(inst), .span = inst->span, .loc = inst->loc};
    if (inst->effects & (EFFECT_READ | EFFECT_WRITE))
        profile.spelling = inst_spelling(all->arena, inst);
    add_inputs(builder, inst, &profile);
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (inst->refs[i].role != REF_USE && inst->refs[i].role != REF_TIED)
            builder->writer[inst->refs[i].reg] = (uint32_t)all->instructions.count + 1;
    run->count++;
    VEC_PUSH(all->arena, all->instructions, profile);
    VEC_PUSH(all->arena, all->places, inst);
}

static void begin_run(ProfileBuilder *all)
{
    RunProfile run = {.first = all->instructions.count};
    VEC_PUSH(all->arena, all->runs, run);
}

void profile_add_body(ProfileBuilder *all, const Body *body)
{
    Builder builder = {all, ARENA_ARRAY(all->arena, uint32_t, body->regs.count + 1)};
    for (size_t b = 0; b < body->blocks.count; b++) {
        begin_run(all);
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            add_instruction(&builder, inst);
            if (inst_is_call(inst))
                begin_run(all);
        }
    }
}

double profile_l1_passes(const Profile *profile, double lines)
{
    double sum = 0;
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        if (inst->unit.pipe == PIPE_GLOBAL)
            sum += fmax(inst->wavefronts, inst->lines / lines);
    }
    return sum;
}

/* Adds an instruction's accesses to shared memory, or to global memory, whether or not it names the space. */
static void add_access(Profile *profile, const InstProfile *inst)
{
    if (inst->unit.pipe == PIPE_SHARED) {
        profile->shared_accesses += inst->warps;
        profile->shared_wavefronts += inst->wavefronts > inst->warps ? inst->wavefronts : inst->warps;
    }
    profile->bank_conflicts += inst->bank_conflicts;
    if (inst->unit.pipe != PIPE_GLOBAL)
        return;
    if (inst->unit.is_store) {
        profile->stores += inst->warps;
        profile->store_sectors += inst->sectors;
        profile->store_wavefronts += inst->wavefronts;
    } else {
        profile->loads += inst->warps;
        profile->load_sectors += inst->sectors;
        profile->load_wavefronts += inst->wavefronts;
    }
}

Profile *profile_finish(ProfileBuilder *all)
{
    Profile *profile = ARENA_NEW(all->arena, Profile);
    profile->instructions = all->instructions.data;
    profile->instruction_count = all->instructions.count;
    profile->inputs = all->inputs.data;
    profile->runs = all->runs.data;
    profile->run_count = all->runs.count;
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        profile->warp_instructions += inst->warps;
        profile->thread_instructions += inst->threads;
        profile->pipe[inst->unit.pipe] += inst->warps;
        add_access(profile, inst);
    }
    return profile;
}
