/* Runs a launch of machine code: blocks one after another, the threads of a block in turn, each until it exits or
 * waits at a barrier. */
#include "machine/internal.h"

enum { MOST_STEPS = 400000000 };

/* The offsets in bank 0 of what the driver puts there. */
typedef struct LaunchPlacesOfBank {
    unsigned first_arch;
    uint16_t block, grid, shared_window, local_window, stack;
} LaunchPlacesOfBank;

static const LaunchPlacesOfBank bank_places[] = {
    {100, 0x360, 0x370, 0, 0x2f8, 0x37c},
    {90, 0x0, 0xc, 0, 0x20, 0x28},
    {75, 0x0, 0xc, 0x18, 0x20, 0x28},
};

static void put(uint8_t *bank, unsigned offset, uint64_t value, unsigned bytes)
{
    memcpy(bank + offset, &value, bytes);
}

static void fill_bank0(const Program *program, const MachineLaunch *launch)
{
    const LaunchPlacesOfBank *places = bank_places;
    uint8_t *bank = program->banks[0];
    while (program->map->code->arch.number < places->first_arch)
        places++;
    for (unsigned axis = 0; axis < 3; axis++) {
        put(bank, places->block + 4 * axis, launch->block[axis], 4);
        put(bank, places->grid + 4 * axis, launch->grid[axis], 4);
    }
    if (places->shared_window)
        put(bank, places->shared_window, (uint64_t)SHARED_WINDOW << 32, 8);
    put(bank, places->local_window, (uint64_t)LOCAL_WINDOW << 32, 8);
    put(bank, places->stack, LOCAL_BYTES, 4);
    memcpy(bank + program->bank0_parameters, launch->parameters, launch->parameter_bytes);
}

static bool guard_holds(const Thread *thread, const Decoded *it)
{
    const bool *predicates = it->guard_is_uniform ? thread->uniform_predicates : thread->predicates;
    return predicates[it->guard] != it->guard_inverted;
}

/* Runs a thread until it exits, waits or must stop. */
static Step run_thread(Thread *thread)
{
    const Program *program = thread->block->program;
    MachineEnd *end = thread->block->end;
    for (;;) {
        if (thread->at >= program->count)
            return stop(thread, MACHINE_UNDECIDED, "the end of the code");
        if (end->steps++ == MOST_STEPS)
            return stop(thread, MACHINE_UNDECIDED, "too many instructions are executed");
        const Decoded *it = &program->code[thread->at];
        const uint32_t from = thread->at;
        Step step = STEP_ON;
        if (guard_holds(thread, it))
            step = it->problem ? stop(thread, MACHINE_UNDECIDED, "%s", it->problem) : it->execute(thread, it);
        if (step == STEP_ON || step == STEP_BARRIER)
            thread->at++;
        else if (step == STEP_JUMPED)
            thread->path = (thread->path ^ ((uint64_t)from << 32 | thread->at)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        if (step != STEP_ON && step != STEP_JUMPED)
            return step;
    }
}

static void thread_start(Thread *thread, ThreadBlock *block, unsigned index)
{
    const unsigned *size = block->launch->block;
    *thread = (Thread){.block = block, .index = index, .local = thread->local};
    thread->predicates[TRUE_PREDICATE] = thread->uniform_predicates[TRUE_PREDICATE] = true;
    thread->id[0] = index % size[0];
    thread->id[1] = index / size[0] % size[1];
    thread->id[2] = index / size[0] / size[1];
}

/* Runs all threads up to the next barrier; false if the run is over, or if no thread is left. */
static bool run_interval(Thread *threads, unsigned count)
{
    bool any_waits = false;
    for (unsigned i = 0; i < count; i++) {
        if (threads[i].exited)
            continue;
        const Step step = run_thread(&threads[i]);
        if (step == STEP_STOPPED)
            return false;
        threads[i].exited = step == STEP_EXITED;
        any_waits |= step == STEP_BARRIER;
    }
    return any_waits;
}

static void run_block(ThreadBlock *block, Thread *threads, unsigned count)
{
    memset(block->shared, POISON_BYTE, block->shared_size);
    memset(block->moved, 0, MOVED_VALUES * sizeof *block->moved);
    for (unsigned i = 0; i < count; i++)
        thread_start(&threads[i], block, i);
    while (run_interval(threads, count))
        ;
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
    *end = (MachineEnd){.instruction = MACHINE_NONE, .approximate = MACHINE_NONE, .ordered = MACHINE_NONE};
    ThreadBlock block = {.program = program, .launch = launch, .end = end, .arena = arena,
                   .shared = arena_alloc(arena, SHARED_BYTES), .shared_size = SHARED_BYTES,
                   .regions = make_regions(arena, launch, end), .region_count = launch->memory_count};
    block.moved = ARENA_ARRAY(arena, MovedValue, MOVED_VALUES);
    const unsigned count = launch->block[0] * launch->block[1] * launch->block[2];
    Thread *threads = ARENA_ARRAY(arena, Thread, count);
    memset(threads, 0, count * sizeof *threads);
    fill_bank0(program, launch);
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    for (uint64_t i = 0; i < blocks && end->kind == MACHINE_DONE; i++) {
        block.id[0] = (unsigned)(i % launch->grid[0]);
        block.id[1] = (unsigned)(i / launch->grid[0] % launch->grid[1]);
        block.id[2] = (unsigned)(i / launch->grid[0] / launch->grid[1]);
        run_block(&block, threads, count);
    }
    return end;
}

/* True unless the PTX instruction that a machine instruction comes from has exact results, whatever MUFU gives. */
static bool is_approximate(const SassMap *map, uint32_t instruction)
{
    static const char *const words[] = {".approx", ".full", "sin.", "cos.", "ex2.", "lg2.", "tanh.", "rsqrt."};
    const SassInstruction *machine = &map->code->instructions[instruction];
    if (machine->ptx == MACHINE_NONE)
        return true;
    const Span span = map->lines.insts[machine->ptx]->span;
    const char *text = map->source->text + span.begin;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (memmem(text, span.end - span.begin, words[i], strlen(words[i])))
            return true;
    return false;
}

Program *machine_load(Arena *arena, const MachineRequest *request, const char **problem)
{
    Program *program = ARENA_NEW(arena, Program);
    *problem = NULL;
    *program = (Program){.map = request->map,
                         .code = machine_decode(arena, request->map->code),
                         .count = request->map->code->count};
    for (uint32_t i = 0; i < program->count; i++)
        program->code[i].is_approximate = is_approximate(request->map, i);
    return image_read(arena, program, request, problem) ? program : NULL;
}
