#include "opt/demands.h"

#include "analysis/analysis.h"

/* The registers that any of the kernel's instructions reads; of other functions, whose results may be in registers,
 * all. */
static BitSet find_read_registers(Arena *scratch, const Function *function)
{
    BitSet read = bitset_new(scratch, function->regs.count);
    for (RegId reg = 0; !function->is_entry && reg < function->regs.count; reg++)
        bitset_add(&read, reg);
    for (size_t i = 0; i < function->stmts.count; i++) {
        const Inst *inst = function->stmts.data[i].kind == STMT_INST ? function->stmts.data[i].inst : NULL;
        for (unsigned r = 0; inst && r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]))
                bitset_add(&read, inst->refs[r].reg);
    }
    return read;
}

/* True if it is an atomic operation whose result nothing reads, so that nothing can wait for what it finds. */
static bool is_update(const BitSet *read, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != ACCESS_ATOMIC)
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && bitset_has(read, inst->refs[r].reg))
            return false;
    return true;
}

/* True if it reads memory that another block may write at the same time, and orders that. */
static bool observes_blocks(const BitSet *read, const Inst *inst)
{
    Access access;
    bool strong = inst->sync == SYNC_STRONG || inst->sync == SYNC_MBARRIER || inst->effects & EFFECT_VOLATILE;
    if (!strong || !(inst->effects & EFFECT_READ) || inst->sync == SYNC_GRID || is_update(read, inst))
        return false;
    return !inst_access(inst, &access) || access.space != SPACE_SHARED; /* no strong one accesses local memory */
}

static bool is_about_clusters(const Inst *inst)
{
    return inst->sync == SYNC_CLUSTER_BARRIER || inst_op(inst) == OP_MAPA;
}

bool setmaxnreg_increases(const Inst *inst)
{
    return inst_has(inst, MOD_INC);
}

/* Indirect calls may call functions of other modules, too: in those, assemblers ignore setmaxnreg ("to maintain
 * compatibility across compilation units"). */
static void visit_inst(Demands *demands, const BitSet *read, const Inst *inst)
{
    if (inst_is_opaque(inst))
        return; /* assemblers know no such instruction, so there is no form that could be measured */
    if (inst->sync == SYNC_REGISTERS) {
        unsigned registers = (unsigned)inst->operands[0].constant->bits;
        if (!demands->pool || registers > demands->pool_most) {
            demands->pool = inst;
            demands->pool_most = registers;
        }
    }
    if (!demands->tensor && inst_op(inst) == OP_TCGEN05 && inst_has(inst, MOD_ALLOC))
        demands->tensor = inst;
    if (!demands->waits && observes_blocks(read, inst))
        demands->waits = inst;
    demands->has_clusters |= is_about_clusters(inst);
}

/* As ptxas 13.0 does: .minnctapersm alone says nothing. */
static bool limits_registers(const Tuning *tuning)
{
    return tuning->maxnreg || (tuning->minnctapersm && (tuning->maxntid_count || tuning->reqntid_count));
}

Demands demands_find(const Function *kernel)
{
    const Tuning *tuning = &kernel->tuning;
    Arena *scratch = arena_new();
    const FunctionVec functions = functions_called(scratch, kernel);
    Demands demands = {
        .module = kernel->module,
        .pool_is_given = limits_registers(tuning),
        .has_clusters = tuning->reqnctapercluster_count || tuning->maxclusterrank || tuning->explicitcluster ||
                        tuning->blocksareclusters,
    };
    for (size_t f = 0; f < functions.count; f++) {
        const BitSet read = find_read_registers(scratch, functions.data[f]);
        for (size_t i = 0; i < functions.data[f]->stmts.count; i++)
            if (functions.data[f]->stmts.data[i].kind == STMT_INST)
                visit_inst(&demands, &read, functions.data[f]->stmts.data[i].inst);
    }
    arena_free(scratch);
    return demands;
}

/* With no fewer at launch than any setmaxnreg names, no warp ever needs registers of others, and none lets go of more
 * than it has. */
unsigned demands_fewest_registers(const Demands *demands, const Figures *input)
{
    if (!demands->pool)
        return 0;
    bool fits = demands->pool_is_given && demands->pool_most < input->registers;
    return fits ? demands->pool_most : input->registers;
}

DemandObjection demands_fix_registers(const Demands *demands, const Figures *input)
{
    if (!demands->pool || demands_fewest_registers(demands, input) < input->registers)
        return (DemandObjection){.kind = DEMAND_MET};
    return (DemandObjection){.kind = demands->pool_is_given ? DEMAND_POOL_FIXED : DEMAND_POOL_IGNORED,
                             .module = demands->module,
                             .inst = demands->pool,
                             .before = input->registers,
                             .pool_most = demands->pool_most};
}

/* The objection to the change of the number of blocks on an SM. */
static DemandObjection residency_objection(const Demands *demands, const Residency *residency, const Figures *input,
                                           const Figures *form)
{
    DemandObjection objection = {.module = demands->module};
    if ((demands->waits || demands->has_clusters) && residency_falls(residency, input, form, &objection.change)) {
        objection.kind = demands->has_clusters ? DEMAND_CLUSTERS : DEMAND_BLOCKS;
        objection.inst = demands->has_clusters ? NULL : demands->waits;
    } else if (demands->tensor && residency_rises(residency, input, form, &objection.change)) {
        objection.kind = DEMAND_TENSOR;
        objection.inst = demands->tensor;
    }
    return objection;
}

DemandObjection demands_objection(const Demands *demands, const Residency *residency, const Figures *input,
                                  const Figures *form)
{
    bool is_same = form->registers == input->registers;
    if (demands->pool && !is_same &&
        (form->registers > input->registers || form->registers < demands_fewest_registers(demands, input)))
        return (DemandObjection){.kind = DEMAND_POOL,
                                 .module = demands->module,
                                 .inst = demands->pool,
                                 .registers = form->registers,
                                 .before = input->registers};
    return residency_objection(demands, residency, input, form);
}

const DemandObjection *demand_copy(Arena *arena, const DemandObjection *objection)
{
    DemandObjection *copy = arena_alloc(arena, sizeof *copy);
    *copy = *objection;
    return copy;
}
