/* Clusters: their shape, their barrier, and addresses of other blocks' shared memory.  PTX ISA, "Cluster of Cooperative
 * Thread Arrays", barrier.cluster, mapa, getctarank, isspacep. */
#include "emulator/state/state.h"

#define MAX_CLUSTER 16

/* ---- Shape ------------------------------------------------------------------------------------------------------ */

bool cluster_prepare(Machine *machine, const Function *entry)
{
    const Tuning *tuning = &entry->tuning;
    const Launch *launch = machine->launch;
    bool launched = launch->cluster[0] || launch->cluster[1] || launch->cluster[2];
    uint64_t size = 1, blocks = 1;
    machine->explicit_cluster = launched || tuning->reqnctapercluster_count || tuning->explicitcluster;
    for (unsigned i = 0; i < 3; i++) {
        unsigned wanted = i < tuning->reqnctapercluster_count ? tuning->reqnctapercluster[i] : 1;
        unsigned given = launch->cluster[i] ? launch->cluster[i] : 1;
        if (tuning->reqnctapercluster_count && launched && wanted != given)
            return fault_static(machine, FAULT_LAUNCH, entry, NULL,
                                "the kernel demands .reqnctapercluster %u along %c, the launch has %u", wanted,
                                "xyz"[i], given);
        machine->cluster[i] = tuning->reqnctapercluster_count ? wanted : given;
        if (!machine->cluster[i] || machine->cluster[i] > MAX_CLUSTER || (size *= machine->cluster[i]) > MAX_CLUSTER)
            return fault_static(machine, FAULT_LAUNCH, entry, NULL, "a cluster has from 1 to %u blocks", MAX_CLUSTER);
        /* The grid then counts clusters. */
        if (tuning->blocksareclusters && machine->grid[i] <= UINT32_MAX / machine->cluster[i])
            machine->grid[i] *= machine->cluster[i];
        if (machine->grid[i] % machine->cluster[i])
            return fault_static(machine, FAULT_LAUNCH, entry, NULL, "%u blocks along %c make no whole clusters of %u",
                                machine->grid[i], "xyz"[i], machine->cluster[i]);
        blocks *= machine->grid[i];
        if (blocks > UINT32_MAX)
            return fault_static(machine, FAULT_LAUNCH, entry, NULL, "2^32 blocks or more");
    }
    if (tuning->maxclusterrank && size > tuning->maxclusterrank)
        return fault_static(machine, FAULT_LAUNCH, entry, NULL, "the kernel allows %u blocks a cluster, not %llu",
                            tuning->maxclusterrank, (unsigned long long)size);
    return true;
}

/* ---- The barrier ------------------------------------------------------------------------------------------------ */

static bool is_complete(const Cluster *cluster)
{
    bool arrived = false;
    for (unsigned i = 0; i < cluster->count; i++) {
        const BlockState *block = cluster->blocks[i];
        for (unsigned k = 0; block->active && k < block->warp_count; k++) {
            const Warp *warp = &block->warps[k];
            if (warp->live & ~warp->cluster_arrived)
                return false;
            arrived |= warp->cluster_arrived != 0;
        }
    }
    return arrived;
}

static void warp_release(Warp *warp)
{
    bool took = false;
    warp->cluster_arrived = 0;
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *split = warp->blocked[i];
        if (split->wait != WAIT_BARRIER || split->barrier != BARRIER_CLUSTER) {
            i++;
            continue;
        }
        split->pc++;
        split_wake(warp, split);
        warp->idle_steps = 0;
        if (!took)
            clock_take(warp, warp->block->cluster_done);
        took = true;
    }
}

/* All threads that live have arrived: those that wait go on. */
static void complete(Cluster *cluster)
{
    for (unsigned i = 0; i < cluster->count; i++) {
        BlockState *block = cluster->blocks[i];
        if (!block->active)
            continue;
        if (block->cluster_clock) {
            memcpy(block->cluster_done, block->cluster_clock, block->clock_size * sizeof *block->cluster_done);
            block->cluster_done[block->warp_count] = block->machine->tick; /* of the other blocks */
        }
        for (unsigned k = 0; k < block->warp_count; k++)
            warp_release(&block->warps[k]);
    }
}

void cluster_recheck(BlockState *block)
{
    if (is_complete(block->cluster))
        complete(block->cluster);
}

Step cluster_arrive(Exec *x, const Op *op, uint32_t mask)
{
    uint32_t again = mask & x->warp->cluster_arrived;
    if (again)
        return fault_at(x, op, (unsigned)__builtin_ctz(again), FAULT_BARRIER,
                        "the thread arrives at the cluster's barrier a second time before it waits");
    x->warp->cluster_arrived |= mask;
    x->machine->result->counters.barriers++;
    clock_join(x, x->block->cluster_clock);
    if (x->warp->clocks)
        x->warp->clocks[x->warp->index]++;
    if (!op->barrier.relaxed)
        order_fence(x, FENCE_DEVICE);
    if (op->barrier.aligned)
        partners_arrive(x, op, BARRIER_CLUSTER);
    x->split->pc++;
    cluster_recheck(x->block);
    return STEP_JUMP;
}

Step cluster_wait(Exec *x, uint32_t mask)
{
    if (mask & x->warp->cluster_arrived) {
        x->split->barrier = BARRIER_CLUSTER;
        split_block(x, WAIT_BARRIER);
        return STEP_SWITCH;
    }
    clock_take(x->warp, x->block->cluster_done);
    return STEP_NEXT;
}

void cluster_publish(Exec *x, const Translation *at, uint32_t mask)
{
    if (!x->machine->block_fences)
        return;
    EACH_ACTIVE(lane, mask)
    {
        if (at->region[lane] && at->region[lane] != &x->block->shared) {
            order_fence(x, FENCE_DEVICE);
            return;
        }
    }
}

/* ---- Addresses -------------------------------------------------------------------------------------------------- */

#define RANK_FIELD (UINT64_C(0xff) << SHARED_RANK_SHIFT)

/* mapa d, a, b: a in block b of the cluster. */
static uint64_t scalar_mapa(const uint64_t *s, uint32_t control)
{
    uint64_t rank = s[1] < 0xfe ? s[1] + 1 : 0xff; /* a rank that there is none of stays one */
    (void)control;
    return (s[0] & ~RANK_FIELD) | rank << SHARED_RANK_SHIFT;
}

/* getctarank d, a; s[1]: the own rank. */
static uint64_t scalar_rank(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    (void)control;
    return rank ? rank - 1 : s[1];
}

/* isspacep p, a; s[1]: the window, s[2]: the own rank.  Global memory is what lies in no window. */
static uint64_t scalar_in_window(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    if (!s[1])
        return s[0] >= GLOBAL_BASE;
    return s[0] >> 44 == s[1] >> 44 && (!CONTROL_KIND(control) || !rank || rank == s[2] + 1);
}

#define OWN_RANK SOURCE(BANK_SPECIAL, SPECIAL_CLUSTER_CTARANK *SPECIAL_ROW_BYTES)

static bool emit_scalar(Decoder *d, ScalarFunction *function, uint32_t control, Type dest_type, const uint32_t *rows,
                        const uint8_t *bytes, unsigned count)
{
    Dest dest;
    for (unsigned i = 0; i < count; i++)
        if (rows[i] == NO_ROW)
            return false;
    if (!decoder_dest(d, &d->inst->operands[0], dest_type, false, &dest))
        return false;
    decoder_emit_scalar(d, function, control, dest.row, dest.bytes, rows, bytes, count);
    decoder_dest_done(d, &dest);
    return true;
}

bool decode_mapa(Decoder *d)
{
    Type type = d->signature->types[0];
    uint32_t rows[2] = {decoder_source(d, &d->inst->operands[1], type), NO_ROW};
    uint8_t bytes[2] = {(uint8_t)type_row_bytes(type), 4};
    if (rows[0] != NO_ROW)
        rows[1] = decoder_source(d, &d->inst->operands[2], TYPE_U32);
    return emit_scalar(d, scalar_mapa, 0, type, rows, bytes, 2);
}

bool decode_rank(Decoder *d)
{
    Type type = d->signature->types[0];
    uint32_t rows[2] = {decoder_source(d, &d->inst->operands[1], type), OWN_RANK};
    uint8_t bytes[2] = {(uint8_t)type_row_bytes(type), 4};
    return emit_scalar(d, scalar_rank, 0, TYPE_U32, rows, bytes, 2);
}

bool decode_isspacep(Decoder *d)
{
    uint32_t rows[3] = {decoder_source(d, &d->inst->operands[1], TYPE_U64),
                        decoder_constant(d, window_of(decoder_space(d)), 8), OWN_RANK};
    static const uint8_t bytes[3] = {8, 8, 4};
    /* Without more .shared is the block's own. */
    bool own = decoder_space(d) == SPACE_SHARED && !inst_has(d->inst, MOD_SHARED_CLUSTER);
    return emit_scalar(d, scalar_in_window, (uint32_t)own << CONTROL_KIND_SHIFT, TYPE_PRED, rows, bytes, 3);
}
