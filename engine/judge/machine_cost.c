#include "engine/judge/machine_cost.h"

#include <stdlib.h>
#include <string.h>

#include "parser/parser.h"
#include "engine/judge/entries.h"
#include "sass/sass.h"

/* Counts of machine instructions that disagree more than this with those of PTX are not used, because the evidence
 * behind them cannot be right (docs/machine-code.md). */
static const double most_residual = 0.25;

static Pipe class_pipe(SassClass class)
{
    static const Pipe pipes[MACHINE_CLASS_COUNT] = {
        [MACHINE_FP32] = PIPE_FP32,         [MACHINE_COMPARE] = PIPE_INTEGER, [MACHINE_INTEGER] = PIPE_INTEGER,
        [MACHINE_MULTIPLY] = PIPE_MULTIPLY, [MACHINE_FP16] = PIPE_FP32,
        [MACHINE_FP64] = PIPE_FP64,         [MACHINE_SFU] = PIPE_SPECIAL,     [MACHINE_TENSOR] = PIPE_TENSOR,
        [MACHINE_SHARED] = PIPE_SHARED,     [MACHINE_GLOBAL] = PIPE_GLOBAL,   [MACHINE_LOCAL] = PIPE_LOCAL,
        [MACHINE_CONSTANT] = PIPE_CONSTANT, [MACHINE_TEXTURE] = PIPE_GLOBAL,  [MACHINE_WARP] = PIPE_SHARED,
        [MACHINE_CONTROL] = PIPE_CONTROL,   [MACHINE_BARRIER] = PIPE_BARRIER, [MACHINE_MOVE] = PIPE_MOVE,
        [MACHINE_UNIFORM] = PIPE_CONTROL,   [MACHINE_OTHER] = PIPE_MOVE,
    };
    return pipes[class];
}

Function *form_place(Arena *arena, const FunctionForm *form)
{
    Buf text = {0};
    judge_print_form(form, &text);
    Module *module = judge_parse_text(arena, form->function->name, &text);
    buf_free(&text);
    Function *placed = module ? module_find_function(module, form->function->name) : NULL;
    if (placed) { /* which the text does not contain */
        placed->tuning.knobs = form_tuning(form)->knobs;
        placed->tuning.controls = form_tuning(form)->controls;
    }
    return placed;
}

static const PtxCount *ptx_counts(Arena *arena, const Profile *profile)
{
    PtxCount *counts = ARENA_ARRAY(arena, PtxCount, profile->instruction_count + 1);
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        counts[i] = (PtxCount){inst->span, (uint64_t)(inst->warps + 0.5), (uint64_t)(inst->threads + 0.5)};
    }
    return counts;
}

static StepCopy step_copy(SassCopy copy)
{
    static const StepCopy steps[] = {[COPY_NONE] = STEP_NO_COPY, [COPY_BEGIN] = STEP_COPIES,
                                     [COPY_COMMIT] = STEP_COMMITS, [COPY_WAIT] = STEP_WAITS};
    return steps[copy];
}

/* A load of global memory: as in SassStep. */
typedef struct FreshLoad {
    size_t begin; /* of the PTX instruction */
    float fresh, lines;
    float again; /* sectors of an execution that the block has loaded before */
} FreshLoad;

static int compare_begins(const void *a, const void *b)
{
    const size_t x = ((const FreshLoad *)a)->begin, y = ((const FreshLoad *)b)->begin;
    return x < y ? -1 : x > y;
}

/* The loads of global memory, in the order of the text. The sectors of a line are taken to be loaded together. */
static FreshLoad *fresh_loads(Arena *scratch, const Profile *profile, size_t *count)
{
    FreshLoad *loads = ARENA_ARRAY(scratch, FreshLoad, profile->instruction_count + 1);
    *count = 0;
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        if (inst->unit.pipe != PIPE_GLOBAL || inst->unit.is_store || !(inst->sectors > 0) || !(inst->warps > 0))
            continue;
        const double lines = inst->lines / inst->warps, fresh = inst->fresh / inst->sectors * lines;
        loads[(*count)++] = (FreshLoad){inst->span.begin, (float)(fresh < 1 ? fresh : 1), (float)lines,
                                        (float)((inst->sectors - inst->fresh) / inst->warps)};
    }
    qsort(loads, *count, sizeof *loads, compare_begins);
    return loads;
}

static FreshLoad load_of(const FreshLoad *loads, size_t count, const SassMap *map, const SassInstruction *inst)
{
    const FreshLoad unknown = {0, -1, 0, 0};
    if (!count || inst->ptx == MACHINE_NONE || class_pipe((SassClass)inst->class) != PIPE_GLOBAL)
        return unknown;
    const FreshLoad key = {map->lines.insts[inst->ptx]->span.begin, 0, 0, 0};
    const FreshLoad *found = bsearch(&key, loads, count, sizeof *loads, compare_begins);
    return found ? *found : unknown;
}

/* The loads of one block of machine code that are of the same PTX instruction as this one, itself among them. */
static unsigned copies_of(const SassCode *code, const SassBlock *block, const SassInstruction *load)
{
    unsigned copies = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        const SassInstruction *other = &code->instructions[block->first + i];
        copies += other->ptx == load->ptx && other->class == load->class;
    }
    return copies;
}

/* SassProfile.rounds: the harmonic mean. */
static double rounds_together(const SassMap *map, const SassExecutions *executions, const FreshLoad *loads,
                              size_t count)
{
    const SassCode *code = map->code;
    double all = 0, apart = 0;
    for (uint32_t b = 0; b < code->block_count; b++) {
        const SassBlock *block = &code->blocks[b];
        for (uint32_t i = 0; i < block->count; i++) {
            const SassInstruction *inst = &code->instructions[block->first + i];
            const double again = executions->block_warps[b] * (double)load_of(loads, count, map, inst).again;
            if (again > 0) {
                all += again;
                apart += again / copies_of(code, block, inst);
            }
        }
    }
    return apart > 0 ? all / apart : 1;
}

static void add_runs(const SassMap *map, const SassExecutions *executions, const Profile *profile, SassProfile *sm,
                     Arena *arena, Arena *scratch)
{
    const SassCode *code = map->code;
    size_t load_count;
    const FreshLoad *loads = fresh_loads(scratch, profile, &load_count);
    SassStep *steps = ARENA_ARRAY(arena, SassStep, code->count + 1);
    SassRun *runs = ARENA_ARRAY(arena, SassRun, code->block_count + 1);
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *from = &code->instructions[i];
        const FreshLoad load = load_of(loads, load_count, map, from);
        steps[i] = (SassStep){from->stall, from->wait, from->write_barrier, from->read_barrier,
                                 (uint8_t)class_pipe((SassClass)from->class),
                                 (uint8_t)step_copy((SassCopy)from->copy), from->left,
                                 load.fresh, load.lines};
    }
    for (uint32_t b = 0; b < code->block_count; b++)
        runs[b] = (SassRun){steps + code->blocks[b].first, code->blocks[b].count, executions->block_warps[b],
                            executions->before[b] == MACHINE_NONE ? SIZE_MAX : executions->before[b]};
    sm->rounds = rounds_together(map, executions, loads, load_count);
    sm->runs = runs;
    sm->run_count = code->block_count;
}

const SassExecutions *machine_executions(Arena *arena, const SassMap *map, const Profile *profile)
{
    if (!map->mapped)
        return NULL;
    SassExecutions *executions = sass_execute(arena, map, ptx_counts(arena, profile), profile->instruction_count);
    return executions->residual > most_residual ? NULL : executions;
}

static SassMap *map_form(AssemblerJudge *judge, Arena *arena, const Function *placed, const Disassembler *disassembler)
{
    const char *error;
    const JudgeCubin made = assembler_judge_cubin(judge, placed->module->source, placed);
    SassRequest request = {.assembler = judge->assembler,
                           .module = placed->module,
                           .kernel = placed->name,
                           .assembly = assembly_request(NULL, 0),
                           .cubin = made.data,
                           .cubin_size = made.size,
                           .numbered = made.is_numbered ? made.data : NULL,
                           .numbered_size = made.is_numbered ? made.size : 0,
                           .disassembler = disassembler,
                           .life = disassembler ? LIFE_COUNTS : LIFE_NONE};
    request.assembly.options = knobs_words(arena, placed->tuning.knobs, placed->tuning.controls);
    request.assembly.arch = judge->arch;
    request.assembly.opt_level = judge->opt_level;
    request.assembly.timeout_ms = judge->timeout_ms;
    return sass_map(arena, &request, &error);
}

SassMap *machine_map(AssemblerJudge *judge, Arena *arena, const Function *placed)
{
    return map_form(judge, arena, placed, NULL);
}

const SassExecutions *profile_add_machine(Arena *arena, Arena *scratch, const SassMap *map, Profile *profile)
{
    const SassExecutions *executions = machine_executions(scratch, map, profile);
    if (!executions)
        return NULL;
    SassProfile *sm = ARENA_NEW(arena, SassProfile);
    sm->instructions = executions->total;
    sm->looped = executions->looped;
    sm->spills = executions->spills;
    sm->shared_spills = executions->shared_spills;
    sm->residual = executions->residual;
    for (unsigned class = 0; class < MACHINE_CLASS_COUNT; class++)
        sm->pipe[class_pipe((SassClass)class)] += executions->by_class[class];
    add_runs(map, executions, profile, sm, arena, scratch);
    profile->sm = sm;
    return executions;
}

static Profile *profile_of_own(const CostBasis *basis, FormCost *cost)
{
    Profile *own = ARENA_NEW(basis->arena, Profile);
    *own = *cost->profile;
    cost->profile = own;
    return own;
}

/* The counts of a form in a launch. */
typedef struct CountedForm {
    TextKey key;
    const Launch *launch;
    LaunchChange change;
    Profile *profile;
    struct CountedForm *older;
} CountedForm;

static CountedForm *counted_find(const AssemblerJudge *judge, const CountedForm *wanted)
{
    CountedForm *found = judge->counted;
    while (found && (found->launch != wanted->launch || memcmp(&found->key, &wanted->key, sizeof found->key) != 0 ||
                     memcmp(&found->change, &wanted->change, sizeof found->change) != 0))
        found = found->older;
    return found;
}

/* The cost of a placed form by PTX instructions, except that a profile that was counted before may have those of
 * machine code. */
static FormCost placed_cost(AssemblerJudge *judge, const CostBasis *basis, const Function *placed,
                            const Figures *figures, const LaunchChange *change)
{
    const FunctionForm form = {.function = placed};
    const Source *text = placed->module->source;
    if (!basis->launch)
        return form_cost(basis, &form, figures, change);
    CountedForm wanted = {.launch = basis->launch};
    wanted.key = text_key_of(judge, text->text, text->size, placed->name, &placed->tuning);
    if (change)
        wanted.change = *change;
    const CountedForm *found = counted_find(judge, &wanted);
    FormCost cost = {.figures = *figures, .change = wanted.change};
    if (!found) {
        cost = form_cost(basis, &form, figures, change);
        if (!cost.profile)
            return cost;
        wanted.profile = cost.profile;
        CountedForm *added = ARENA_NEW(judge->arena, CountedForm);
        *added = wanted;
        added->older = judge->counted;
        judge->counted = added;
        return cost;
    }
    cost.profile = found->profile;
    cost.time = form_time(basis, &cost);
    cost.known = cost.time.known;
    return cost;
}

/* Adds the executed machine instructions to the profile; false if the machine code is not mapped to PTX. */
static bool add_machine(AssemblerJudge *judge, Arena *scratch, const Function *kernel, Profile *profile, Arena *arena,
                        Buf *listing)
{
    const char *no_text = NULL;
    const Disassembler *disassembler = listing ? disassembler_find(scratch, &no_text) : NULL;
    const SassMap *map = map_form(judge, scratch, kernel, disassembler);
    const SassExecutions *executions = map ? profile_add_machine(arena, scratch, map, profile) : NULL;
    if (executions && listing && (no_text || map->no_text))
        buf_printf(listing, "(without operands and live registers: %s)\n", no_text ? no_text : map->no_text);
    if (executions && listing)
        sass_list(map, executions, listing);
    return executions != NULL;
}

void costs_align(const CostBasis *basis, FormCost *before, FormCost *after)
{
    if (!before->known || !after->known)
        return;
    FormCost *mapped = before->profile->sm ? before : after;
    if (!before->profile->sm != !after->profile->sm)
        profile_of_own(basis, mapped)->sm = NULL;
    profile_keep_data(before->profile, profile_of_own(basis, after));
    before->time = form_time(basis, before);
    after->time = form_time(basis, after);
    /* The dependences of PTX are not those of the code that the assembler orders: by them, nothing is gained. */
    if (before->lacks_machine || after->lacks_machine)
        time_raise_latency(&after->time, &basis->device, before->time.demand[RESOURCE_LATENCY]);
}

void cost_keep_footprint(const CostBasis *basis, const FormCost *before, FormCost *after)
{
    if (!before->known || !after->known || !(after->profile->sampled_blocks > 0))
        return;
    Profile *own = profile_of_own(basis, after);
    own->load_footprint = before->profile->load_footprint;
    own->store_footprint = before->profile->store_footprint;
    own->unread_footprint = before->profile->unread_footprint;
}

FormCost text_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change)
{
    if (!judge || !judge->assembler || !basis->launch)
        return form_cost(basis, form, figures, change);
    Arena *scratch = arena_new();
    const Function *placed = form_place(scratch, form);
    FormCost cost = {0};
    if (placed)
        cost = placed_cost(judge, basis, placed, figures, change);
    if (cost.known && cost.profile->sm) {
        profile_of_own(basis, &cost)->sm = NULL;
        cost.time = form_time(basis, &cost);
    }
    arena_free(scratch);
    return cost.known ? cost : form_cost(basis, form, figures, change);
}

FormCost machine_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                      const LaunchChange *change, Buf *listing)
{
    if (!judge || !judge->assembler)
        return form_cost(basis, form, figures, change);
    Arena *scratch = arena_new();
    const Function *placed = form_place(scratch, form);
    FormCost cost = {0};
    if (placed) {
        cost = placed_cost(judge, basis, placed, figures, change);
        const bool is_added = cost.known && cost.profile->sm && !listing;
        if (cost.known && !is_added && add_machine(judge, scratch, placed, cost.profile, basis->arena, listing))
            cost.time = form_time(basis, &cost);
        cost.lacks_machine = cost.known && !cost.profile->sm;
    }
    arena_free(scratch);
    return cost.known ? cost : form_cost(basis, form, figures, change);
}
