/* Special registers: per-thread rows, clocks, and constants of the launch. */
#include "emulator/decode/decode.h"

_Static_assert(SPECIAL_TID_Z == SPECIAL_TID_X + SREG_AXIS_Z && SPECIAL_CTAID_Z == SPECIAL_CTAID_X + SREG_AXIS_Z &&
                   SPECIAL_CLUSTERID_Z == SPECIAL_CLUSTERID_X + SREG_AXIS_Z &&
                   SPECIAL_CLUSTER_CTAID_Z == SPECIAL_CLUSTER_CTAID_X + SREG_AXIS_Z,
               "the rows of a vector are in the order of the axes");

/* The row in BANK_SPECIAL that has the register's values; SPECIAL_COUNT if none has. */
static unsigned special_row(const Sreg *sreg)
{
    bool is_axis = sreg->axis <= SREG_AXIS_Z;
    switch (sreg->role) {
    case SREG_ROLE_TID: return is_axis ? SPECIAL_TID_X + sreg->axis : SPECIAL_COUNT;
    case SREG_ROLE_CTAID: return is_axis ? SPECIAL_CTAID_X + sreg->axis : SPECIAL_COUNT;
    case SREG_ROLE_CLUSTERID: return is_axis ? SPECIAL_CLUSTERID_X + sreg->axis : SPECIAL_COUNT;
    case SREG_ROLE_CLUSTER_CTAID: return is_axis ? SPECIAL_CLUSTER_CTAID_X + sreg->axis : SPECIAL_COUNT;
    case SREG_ROLE_CLUSTER_CTARANK: return SPECIAL_CLUSTER_CTARANK;
    case SREG_ROLE_LANEID: return SPECIAL_LANEID;
    case SREG_ROLE_WARPID: return SPECIAL_WARPID;
    case SREG_ROLE_LANEMASK_EQ: return SPECIAL_MASK_EQ;
    case SREG_ROLE_LANEMASK_LE: return SPECIAL_MASK_LE;
    case SREG_ROLE_LANEMASK_LT: return SPECIAL_MASK_LT;
    case SREG_ROLE_LANEMASK_GE: return SPECIAL_MASK_GE;
    case SREG_ROLE_LANEMASK_GT: return SPECIAL_MASK_GT;
    default: return SPECIAL_COUNT;
    }
}

static bool is_clock(const Sreg *sreg, unsigned *shift)
{
    switch (sreg->role) {
    case SREG_ROLE_CLOCK:
    case SREG_ROLE_CLOCK64:
    case SREG_ROLE_GLOBALTIMER:
    case SREG_ROLE_GLOBALTIMER_LO: *shift = 0; return true;
    case SREG_ROLE_CLOCK_HI:
    case SREG_ROLE_GLOBALTIMER_HI: *shift = 32; return true;
    default: return false;
    }
}

/* CUDA passes the address of a cooperative grid's workspace in %envreg1 (the high word) and %envreg2. */
static uint64_t environment_register(const Emulator *m, const Sreg *sreg)
{
    uint64_t workspace = m->launch->device ? m->launch->device->grid_workspace : 0;
    return strcmp(sreg->name, "%envreg1") == 0   ? workspace >> 32
           : strcmp(sreg->name, "%envreg2") == 0 ? (uint32_t)workspace
                                                 : 0;
}

/* The value of a register that is the same for all threads of a launch. */
static bool launch_constant(const Emulator *m, const Sreg *sreg, uint64_t *value)
{
    unsigned axis = sreg->axis;
    bool is_axis = axis <= SREG_AXIS_Z;
    *value = 0;
    switch (sreg->role) {
    case SREG_ROLE_TID:
    case SREG_ROLE_CTAID:
    case SREG_ROLE_CLUSTERID:
    case SREG_ROLE_CLUSTER_CTAID: return true; /* the fourth component */
    case SREG_ROLE_NTID: *value = is_axis ? m->block[axis] : 0; return true;
    case SREG_ROLE_NCTAID: *value = is_axis ? m->grid[axis] : 0; return true;
    case SREG_ROLE_NCLUSTERID: *value = is_axis ? m->grid[axis] / m->cluster[axis] : 0; return true;
    case SREG_ROLE_CLUSTER_NCTAID: *value = is_axis ? m->cluster[axis] : 0; return true;
    case SREG_ROLE_CLUSTER_NCTARANK: *value = m->cluster[0] * m->cluster[1] * m->cluster[2]; return true;
    case SREG_ROLE_IS_EXPLICIT_CLUSTER: *value = m->explicit_cluster; return true;
    case SREG_ROLE_NWARPID: *value = divide_up(m->block_threads, LANES); return true;
    case SREG_ROLE_NSMID:
    case SREG_ROLE_GRIDID: *value = 1; return true;
    case SREG_ROLE_TOTAL_SMEM_SIZE:
    case SREG_ROLE_AGGR_SMEM_SIZE: *value = m->shared_bytes; return true;
    case SREG_ROLE_DYNAMIC_SMEM_SIZE: *value = m->launch->dynamic_shared; return true;
    case SREG_ROLE_OTHER: *value = environment_register(m, sreg); return true;
    default: return false;
    }
}

uint32_t decoder_special(Decoder *d, const Sreg *sreg)
{
    unsigned row = special_row(sreg), row_bytes = type_row_bytes(sreg->type), shift;
    if (row != SPECIAL_COUNT)
        return SOURCE(BANK_SPECIAL, row * SPECIAL_ROW_BYTES);
    if (is_clock(sreg, &shift)) {
        uint32_t temp = decoder_temp(d, row_bytes);
        Op *op = decoder_emit(d, run_clock);
        op->dest = temp;
        op->dest_bytes = (uint8_t)row_bytes;
        op->value = shift;
        return SOURCE(BANK_FRAME, temp);
    }
    uint64_t value;
    if (launch_constant(d->emulator, sreg, &value))
        return decoder_constant(d, value, row_bytes);
    decoder_refuse(d, "the special register %s", sreg->name);
    return NO_ROW;
}
