/* Everything before the first instruction: checks the launch, decodes the code, places and fills memory. */
#include "emulator/run.h"

#define MAX_CLUSTER 16

static const Function *find_entry(const Module *module, const char *name)
{
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body &&
            strcmp(item->function->name, name) == 0)
            return item->function;
    }
    return NULL;
}

static Position cluster_place(const Launch *launch)
{
    return launch->places.cluster.line ? launch->places.cluster : launch->places.grid;
}

static bool cluster_prepare(Emulator *emulator, const Function *entry)
{
    const Tuning *tuning = &entry->tuning;
    const Launch *launch = emulator->launch;
    bool launched = launch->cluster[0] || launch->cluster[1] || launch->cluster[2];
    uint64_t size = 1, blocks = 1;
    emulator->explicit_cluster = launched || tuning->reqnctapercluster_count || tuning->explicitcluster;
    for (unsigned i = 0; i < 3; i++) {
        unsigned wanted = i < tuning->reqnctapercluster_count ? tuning->reqnctapercluster[i] : 1;
        unsigned given = launch->cluster[i] ? launch->cluster[i] : 1;
        if (tuning->reqnctapercluster_count && launched && wanted != given)
            return fault_launch(emulator, cluster_place(launch), entry,
                                "the kernel requires .reqnctapercluster %u along %c, but the launch has %u", wanted,
                                "xyz"[i], given);
        emulator->cluster[i] = tuning->reqnctapercluster_count ? wanted : given;
        if (!emulator->cluster[i] || emulator->cluster[i] > MAX_CLUSTER || (size *= emulator->cluster[i]) > MAX_CLUSTER)
            return fault_launch(emulator, cluster_place(launch), entry, "a cluster must have 1 to %u block%s",
                                MAX_CLUSTER, plural(MAX_CLUSTER));
        /* With .blocksareclusters the grid counts clusters. */
        if (tuning->blocksareclusters && emulator->grid[i] <= UINT32_MAX / emulator->cluster[i])
            emulator->grid[i] *= emulator->cluster[i];
        if (emulator->grid[i] % emulator->cluster[i])
            return fault_launch(emulator, cluster_place(launch), entry,
                                "%u blocks along %c are not a multiple of the cluster's %u", emulator->grid[i],
                                "xyz"[i], emulator -> cluster[i]);
        blocks *= emulator->grid[i];
        if (blocks > UINT32_MAX)
            return fault_launch(emulator, cluster_place(launch), entry, "the grid has 2^32 blocks or more");
    }
    if (tuning->maxclusterrank && size > tuning->maxclusterrank)
        return fault_launch(emulator, cluster_place(launch), entry,
                            "the kernel allows %u block%s per cluster, but the launch has %llu", tuning->maxclusterrank,
                            plural(tuning->maxclusterrank), (unsigned long long)size);
    return true;
}

static bool launch_check(Emulator *emulator, const Function *entry)
{
    const Launch *launch = emulator->launch;
    const Tuning *tuning = &entry->tuning;
    uint64_t threads = 1, blocks = 1;
    for (unsigned i = 0; i < 3; i++) {
        emulator->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
        emulator->block[i] = launch->block[i] ? launch->block[i] : 1;
        threads *= emulator->block[i];
        blocks *= emulator->grid[i];
        if (threads > 1024 || blocks > UINT32_MAX)
            return fault_launch(emulator, launch->places.block, entry,
                                "more than 1024 threads per block, or 2^32 blocks or more");
    }
    emulator->block_threads = (unsigned)threads;
    if (tuning->reqntid_count)
        for (unsigned i = 0; i < 3; i++) {
            unsigned wanted = i < tuning->reqntid_count ? tuning->reqntid[i] : 1;
            if (wanted != emulator->block[i])
                return fault_launch(emulator, launch->places.block, entry,
                                    "the kernel requires .reqntid %u along %c, but the launch has %u", wanted, "xyz"[i],
                                    emulator -> block[i]);
        }
    uint64_t most = 1;
    for (unsigned i = 0; i < tuning->maxntid_count; i++)
        most *= tuning->maxntid[i];
    if (tuning->maxntid_count && threads > most)
        return fault_launch(emulator, launch->places.block, entry,
                            "the kernel allows %llu thread%s per block, but the launch has %u",
                            (unsigned long long)most, plural(most), emulator->block_threads);
    return cluster_prepare(emulator, entry);
}

/* The most registers that a warp of the launch requests; 0: none does. */
static unsigned registers_wanted(const Emulator *emulator)
{
    uint64_t most = 0;
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Body *body = emulator->code_list.data[i]->body;
        for (size_t b = 0; b < body->blocks.count; b++)
            for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
                if (inst->sync == SYNC_REGISTERS && inst_has(inst, MOD_INC) && inst->operands[0].constant->bits > most)
                    most = inst->operands[0].constant->bits;
    }
    return (unsigned)most;
}

/* Sets the registers of each thread at launch as ptxas 13.0 does: as many as the directives allow, or the most that a
 * setmaxnreg.inc requests, if that is less; a thread may need more itself, but then no warp ever waits. Without a
 * limit, setmaxnreg is ignored. */
static void registers_prepare(Emulator *emulator)
{
    emulator->launch_registers = tuning_registers(&emulator->entry->body->tuning, registers_wanted(emulator));
}

bool emulator_prepare(Emulator *emulator)
{
    const Function *entry = find_entry(emulator->module, emulator->launch->kernel);
    if (!entry)
        return fault_launch(emulator, emulator->launch->places.kernel, NULL, "the module has no kernel %s",
                            emulator->launch->kernel);
    if (emulator->module->address_size == 32) /* generic addresses of the emulator need more than 32 bits */
        return fault_static(emulator, FAULT_UNSUPPORTED, entry, NULL, "addresses of 32 bits (.address_size 32)");
    if (!launch_check(emulator, entry) || !emulator_collect(emulator, entry) || !memory_prepare(emulator))
        return false;
    registers_prepare(emulator);
    shared_layout(emulator);
    if (emulator->shared_bytes > UINT32_C(1) << 24)
        return fault_launch(emulator, emulator->launch->places.kernel, entry, "more than 16 MiB of shared memory");
    if (emulator->options.check_races) {
        uint64_t blocks = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2];
        emulator->tick = 1;
        emulator->block_fences = emulator_alloc(emulator, (size_t)blocks, sizeof *emulator->block_fences);
        epochs_prepare(emulator);
    }
    if (emulator->options.count_blocks) {
        EmulatorResult *result = emulator->result;
        const EmulatorResult *primary = emulator->primary ? emulator->primary->result : NULL;
        result->block_count = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2];
        result->blocks = primary ? primary->blocks
                                 : emulator_alloc(emulator, (size_t)result->block_count, sizeof *result->blocks);
    }
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        Code *code = emulator->code_list.data[i];
        if (!code_decode(emulator, code))
            return false;
        if (emulator->options.count_lines || emulator->options.count_instructions)
            code->costs = emulator_alloc(emulator, code->ops.count, sizeof *code->costs);
    }
    return true;
}

Emulator *emulator_new_worker(const Emulator *primary)
{
    Emulator *emulator = emulator_new(primary->module, primary->launch, NULL, &primary->options);
    emulator->result = ARENA_NEW(emulator->arena, EmulatorResult);
    emulator->primary = primary;
    emulator->next_block = primary->next_block;
    emulator->atomics = primary->atomics;
    emulator->can_skip_reads = primary->can_skip_reads;
    require(emulator_prepare(emulator));
    return emulator;
}
