/* Runs a launch of machine code: blocks one after another, the warps of a block in turn, and in each warp the groups of
 * threads that are together. A group runs until its threads wait or exit, or until others must have their turn, for
 * which it may be waiting in a loop. */
#include "machine/internal.h"

enum { MOST_STEPS = 400000000, TURN = 1 << 14 };

/* The offsets in bank 0 of what the driver puts there. */
typedef struct LaunchPlacesOfBank {
    unsigned first_arch;
    uint16_t block, grid, shared_window, local_window, constant_window, stack;
    uint16_t descriptor; /* of global memory, which says nothing about addresses; not filled */
} LaunchPlacesOfBank;

static const LaunchPlacesOfBank bank_places[] = {
    {100, 0x360, 0x370, 0, 0x2f8, 0x120, 0x37c, 0x358},
    {90, 0x0, 0xc, 0, 0x20, 0xd0, 0x28, 0x208},
    {75, 0x0, 0xc, 0x18, 0x20, 0x50, 0x28, 0x118},
};

static void put(uint8_t *bank, unsigned offset, uint64_t value, unsigned bytes)
{
    memcpy(bank + offset, &value, bytes);
}

static const LaunchPlacesOfBank *places_for(const Program *program)
{
    const LaunchPlacesOfBank *places = bank_places;
    while (program->map->code->arch.number < places->first_arch)
        places++;
    return places;
}

/* True if it is known what the word of bank 0 at the offset is. */
static bool is_known_word(const Program *program, uint64_t offset)
{
    const LaunchPlacesOfBank *places = places_for(program);
    return offset >= program->bank0_parameters || offset - places->block < 12 || offset - places->grid < 12 ||
           (places->shared_window && offset - places->shared_window < 8) || offset - places->local_window < 8 ||
           offset - places->constant_window < 8 || offset - places->stack < 4 || offset - places->descriptor < 8;
}

static void refuse_unknown_words(Arena *arena, const Program *program)
{
    for (uint32_t i = 0; i < program->count; i++) {
        Decoded *it = &program->code[i];
        for (unsigned j = 0; j < it->operand_count && !it->problem; j++) {
            const Place *place = &it->operands[j];
            if (place->kind == PLACE_BANK && place->bank == 0 && place->index == ZERO_REGISTER &&
                !is_known_word(program, (uint64_t)place->number))
                it->problem = arena_printf(arena, "what the driver puts at 0x%x of bank 0", (unsigned)place->number);
        }
    }
}

static void fill_bank0(const Program *program, const MachineLaunch *launch)
{
    const LaunchPlacesOfBank *places = places_for(program);
    uint8_t *bank = program->banks[0];
    for (unsigned axis = 0; axis < 3; axis++) {
        put(bank, places->block + 4 * axis, launch->block[axis], 4);
        put(bank, places->grid + 4 * axis, launch->grid[axis], 4);
    }
    if (places->shared_window)
        put(bank, places->shared_window, (uint64_t)SHARED_WINDOW << 32, 8);
    put(bank, places->local_window, (uint64_t)LOCAL_WINDOW << 32, 8);
    put(bank, places->constant_window, (uint64_t)CONSTANT_WINDOW << 32, 8);
    put(bank, places->stack, LOCAL_BYTES, 4);
    memcpy(bank + program->bank0_parameters, launch->parameters, launch->parameter_bytes);
}

/* Threads are left, and all of them wait. */
static void stop_waiting(ThreadBlock *block)
{
    for (unsigned i = 0; i < block->warp_count; i++)
        if (block->warps[i].live) {
            stop(lanes_first(&block->warps[i], block->warps[i].live), MACHINE_UNDECIDED,
                 "threads that wait for one another");
            return;
        }
}

static uint32_t lanes_with_guard(const Warp *warp, const Group *group, const Decoded *it)
{
    uint32_t active = 0;
    if (it->guard_is_uniform)
        return warp->uniform_predicates[it->guard] != it->guard_inverted ? group->lanes : 0;
    EACH_LANE(lane, group->lanes)
    {
        active |= (uint32_t)(warp->threads[lane].predicates[it->guard] != it->guard_inverted) << lane;
    }
    return active;
}

/* Each active thread executes it alone; *exited: those that end. */
static Step execute_alone(Warp *warp, uint32_t active, const Decoded *it, uint32_t *exited)
{
    EACH_LANE(lane, active)
    {
        Thread *thread = &warp->threads[lane];
        const Step step = it->execute(thread, it);
        if (step == STEP_STOPPED)
            return step;
        if (step == STEP_ON)
            thread->at++;
        if (step == STEP_EXITED)
            *exited |= UINT32_C(1) << lane;
    }
    return STEP_ON;
}

/* The uniform register with different values of several threads that an operand reads; ZERO_REGISTER: none. */
static unsigned mixed_of(const Warp *warp, const Place *place)
{
    const bool is_address = place->kind == PLACE_MEMORY || place->kind == PLACE_BANK;
    if ((place->kind == PLACE_UNIFORM || (is_address && place->index_is_uniform)) && warp->mixed[place->index])
        return place->index;
    return place->kind == PLACE_MEMORY && warp->mixed[place->base] ? place->base : ZERO_REGISTER;
}

/* Stops if the instruction reads a uniform register that threads have moved different values to. */
static Step read_mixed(Warp *warp, uint32_t active, const Decoded *it)
{
    const unsigned result = it->is_uniform ? skip_predicates(it, 0) : MOST_OPERANDS;
    for (unsigned i = 0; i < it->operand_count; i++) {
        const unsigned index = i == result ? ZERO_REGISTER : mixed_of(warp, &it->operands[i]);
        if (index == ZERO_REGISTER)
            continue;
        stop(lanes_first(warp, active), MACHINE_WRONG, "%s", warp->mixed[index]);
        warp->block->end->instruction = warp->mixed_at[index];
        return STEP_STOPPED;
    }
    return STEP_ON;
}

static Step execute(Warp *warp, Group *group, const Decoded *it)
{
    const uint32_t active = lanes_with_guard(warp, group, it), first = active & -active;
    uint32_t exited = 0;
    Step step = STEP_ON;
    MachineEnd *end = warp->block->end;
    if (active && it->problem)
        return stop(lanes_first(warp, active), MACHINE_UNDECIDED, "%s", it->problem);
    if (active && warp->has_mixed && read_mixed(warp, active, it) == STEP_STOPPED)
        return STEP_STOPPED;
    if (active && it->is_uniform && group->lanes != warp->live && end->forked == MACHINE_NONE)
        end->forked = lanes_first(warp, active)->at;
    /* For branches that ask whether threads are together, the guard is a part of the question. */
    if (it->execute_group &&
        (active || it->execute_group == execute_branch_apart || it->execute_group == execute_branch_together)) {
        step = it->execute_group(warp, group, active, it);
        if (step == STEP_ON)
            lanes_step(warp, group->lanes);
    } else {
        step = execute_alone(warp, it->is_uniform ? first : active, it, &exited);
        lanes_step(warp, group->lanes & ~(it->is_uniform ? first : active));
    }
    group->lanes &= ~exited;
    warp->live &= ~exited;
    if (step == STEP_WAITS && active != group->lanes) {
        /* The others go on. */
        warp->groups[warp->group_count++] = (Group){.lanes = active, .wait = group->wait};
        *group = (Group){.lanes = group->lanes & ~active};
        lanes_step(warp, group->lanes);
        return STEP_ON;
    }
    return step;
}

/* Keeps in the group those that are at one instruction, and makes groups of the others. */
static void part(Warp *warp, Group *group, uint32_t from)
{
    const bool takes_last = warp->block->launch->order != MACHINE_TAKEN_FIRST;
    uint32_t rest = group->lanes, chosen = 0;
    bool chosen_jumped = false;
    const unsigned before = warp->group_count;
    while (rest) {
        const uint32_t at = lanes_first(warp, rest)->at;
        const bool jumped = at != from + 1;
        uint32_t lanes = lanes_at(warp, rest, at);
        rest &= ~lanes;
        if (!chosen || (jumped != chosen_jumped && jumped != takes_last)) {
            const uint32_t other = chosen;
            chosen = lanes;
            chosen_jumped = jumped;
            lanes = other;
        }
        if (lanes)
            warp->groups[warp->group_count++] = (Group){.lanes = lanes};
    }
    group->lanes = chosen;
    group->is_members &= warp->group_count == before;
}

/* Runs a group until its threads exit or wait, or its turn is *over; then it and those that have parted from it are
 * among the warp's groups. */
static Step run_group(Warp *warp, Group group, bool *over)
{
    const Program *program = warp->block->program;
    MachineEnd *end = warp->block->end;
    Step step = STEP_ON;
    for (unsigned steps = 0; steps < TURN && group.lanes && step != STEP_WAITS; steps++) {
        Thread *first = lanes_first(warp, group.lanes);
        const uint32_t from = first->at;
        if (from >= program->count)
            return stop(first, MACHINE_UNDECIDED, "the end of the code");
        if (end->steps >= MOST_STEPS)
            return stop(first, MACHINE_UNDECIDED, "too many instructions are executed");
        end->steps += (unsigned)__builtin_popcount(group.lanes);
        step = execute(warp, &group, &program->code[from]);
        if (step == STEP_STOPPED)
            return step;
        if (step != STEP_WAITS)
            part(warp, &group, from);
    }
    *over = group.lanes && step != STEP_WAITS;
    if (group.lanes)
        warp->groups[warp->group_count++] = group;
    return STEP_ON;
}

/* Takes out the group that runs next: the last that parted from another one, so that it gets to where the others
 * wait. */
static bool take_group(Warp *warp, Group *group)
{
    for (unsigned i = warp->group_count; i-- > 0;) {
        if (warp->groups[i].wait)
            continue;
        *group = warp->groups[i];
        memmove(&warp->groups[i], &warp->groups[i + 1], (warp->group_count - i - 1) * sizeof *group);
        warp->group_count--;
        return true;
    }
    return false;
}

/* Lets each group of the warp run for a turn, or until it waits. */
static Step run_warp(Warp *warp, bool *ran)
{
    for (unsigned turns = 0; turns < 2 * WARP_THREADS; turns++) {
        Group group;
        bool over = false;
        warp_release(warp);
        if (!take_group(warp, &group))
            return STEP_ON;
        *ran = true;
        if (run_group(warp, group, &over) == STEP_STOPPED)
            return STEP_STOPPED;
        if (over) {
            /* The others go first. */
            const Group last = warp->groups[warp->group_count - 1];
            memmove(&warp->groups[1], &warp->groups[0], (warp->group_count - 1) * sizeof last);
            warp->groups[0] = last;
        }
    }
    return STEP_ON;
}

static void warp_start(Warp *warp, ThreadBlock *block, Thread *threads, unsigned count)
{
    *warp = (Warp){.block = block, .threads = threads, .group_count = 1,
                   .live = count == WARP_THREADS ? UINT32_MAX : (UINT32_C(1) << count) - 1};
    warp->uniform_predicates[TRUE_PREDICATE] = true;
    warp->groups[0].lanes = warp->live;
}

static void thread_start(Thread *thread, Warp *warp, unsigned index)
{
    const unsigned *size = warp->block->launch->block;
    *thread = (Thread){.block = warp->block, .warp = warp, .index = index, .local = thread->local};
    thread->predicates[TRUE_PREDICATE] = true;
    thread->id[0] = index % size[0];
    thread->id[1] = index / size[0] % size[1];
    thread->id[2] = index / size[0] / size[1];
}

static void run_block(ThreadBlock *block, Thread *threads, unsigned count)
{
    bool goes_on = true;
    memset(block->shared, POISON_BYTE, block->shared_size);
    memset(block->barriers, 0, sizeof block->barriers);
    for (unsigned i = 0; i < block->warp_count; i++) {
        const unsigned first = i * WARP_THREADS;
        warp_start(&block->warps[i], block, &threads[first],
                   count - first < WARP_THREADS ? count - first : WARP_THREADS);
    }
    for (unsigned i = 0; i < count; i++)
        thread_start(&threads[i], &block->warps[i / WARP_THREADS], i);
    while (goes_on) {
        uint32_t live = 0;
        goes_on = false;
        for (unsigned i = 0; i < block->warp_count; i++) {
            if (run_warp(&block->warps[i], &goes_on) == STEP_STOPPED)
                return;
            live |= block->warps[i].live;
        }
        block_release(block);
        if (live && !goes_on)
            stop_waiting(block);
    }
}

static MachineRegion *make_regions(Arena *arena, const MachineLaunch *launch, MachineEnd *end)
{
    MachineRegion *regions = ARENA_ARRAY(arena, MachineRegion, launch->memory_count + 1);
    end->writers = ARENA_ARRAY(arena, uint32_t *, launch->memory_count + 1);
    for (size_t i = 0; i < launch->memory_count; i++) {
        const EmulatorMemory *memory = &launch->memories[i];
        uint32_t *writers = arena_array(arena, memory->size + 1, sizeof *writers);
        memset(writers, 0xff, memory->size * sizeof *writers);
        end->writers[i] = writers;
        regions[i] = (MachineRegion){memory->address, memory->size, memory->bytes, writers};
    }
    return regions;
}

MachineEnd *machine_run(Arena *arena, const Program *program, const MachineLaunch *launch)
{
    enum { SHARED_BYTES = 1 << 18 };
    MachineEnd *end = ARENA_NEW(arena, MachineEnd);
    *end = (MachineEnd){.instruction = MACHINE_NONE, .approximate = MACHINE_NONE, .ordered = MACHINE_NONE,
                        .open = MACHINE_NONE, .forked = MACHINE_NONE};
    uint64_t heap_used = 0;
    ThreadBlock block = {.program = program, .launch = launch, .end = end, .arena = arena, .heap_used = &heap_used,
                   .shared = arena_alloc(arena, SHARED_BYTES), .shared_size = SHARED_BYTES,
                   .regions = make_regions(arena, launch, end), .region_count = launch->memory_count};
    const unsigned count = launch->block[0] * launch->block[1] * launch->block[2];
    block.warp_count = (count + WARP_THREADS - 1) / WARP_THREADS;
    block.warps = ARENA_ARRAY(arena, Warp, block.warp_count);
    Thread *threads = ARENA_ARRAY(arena, Thread, count);
    memset(threads, 0, count * sizeof *threads);
    Pointers *pointers = pointers_enter(arena, program, launch);
    fill_bank0(program, launch);
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    for (uint64_t i = 0; i < blocks && end->kind == MACHINE_DONE; i++) {
        block.id[0] = (unsigned)(i % launch->grid[0]);
        block.id[1] = (unsigned)(i / launch->grid[0] % launch->grid[1]);
        block.id[2] = (unsigned)(i / launch->grid[0] / launch->grid[1]);
        run_block(&block, threads, count);
    }
    pointers_leave(pointers);
    return end;
}

/* True if the PTX instruction that a machine instruction comes from has one of the words, or is not known. */
static bool may_be(const SassMap *map, uint32_t instruction, const char *const *words, size_t count)
{
    const SassInstruction *machine = &map->code->instructions[instruction];
    if (machine->ptx == MACHINE_NONE)
        return true;
    const Span span = map->lines.insts[machine->ptx]->span;
    const char *text = map->source->text + span.begin;
    for (size_t i = 0; i < count; i++)
        if (memmem(text, span.end - span.begin, words[i], strlen(words[i])))
            return true;
    return false;
}

Program *machine_load(Arena *arena, const MachineRequest *request, const char **problem)
{
    /* Other instructions have exact results, whatever MUFU gives, and votes that do not say which threads are there. */
    static const char *const inexact[] = {".approx", ".full", "sin.", "cos.", "ex2.", "lg2.", "tanh.", "rsqrt."};
    static const char *const open[] = {"activemask."};
    Program *program = ARENA_NEW(arena, Program);
    *problem = NULL;
    *program = (Program){.map = request->map,
                         .module = request->module,
                         .code = machine_decode(arena, request->map->code),
                         .count = request->map->code->count};
    for (uint32_t i = 0; i < program->count; i++) {
        program->code[i].is_approximate = may_be(request->map, i, inexact, COUNT_OF(inexact));
        program->code[i].is_open = may_be(request->map, i, open, COUNT_OF(open));
    }
    if (!image_read(arena, program, request, problem))
        return NULL;
    refuse_unknown_words(arena, program);
    return program;
}
