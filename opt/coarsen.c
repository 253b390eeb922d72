/* Thread coarsening: the order of its steps.
 *
 * After Magni, Dubach and O'Boyle (SC'13, section 4: divergence analysis, replication of divergent instructions and
 * regions, stride) and Unkule, Shaltz and Qasem (CC'12: legality, several dimensions).
 *
 * Requires SSA form.  Keeps SSA form, barriers, uniform branches and loops.  Breaks the launch: the contract says how.
 *
 * Several dimensions are coarsened one after the other: what is coarse along x is a kernel like any other.  For each:
 *   1. exits are led to one block, and the index is read in one place;
 *   2. variance says which values differ between replicas (analysis/variance.h);
 *   3. blocks under variant control are closed to regions with one way in and one way out;
 *   4. what cannot be shown sound is refused;
 *   5. variant instructions are cloned in place, regions whole. */
#include "opt/coarsen.h"

#include "opt/coarsen_internal.h"

#include <string.h>

bool coarsening_refuse(Coarsening *c, const Inst *inst, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    Arena *arena = c->body->module->arena;
    c->refusal->reason = arena_strndup(arena, buf_text(&text), text.length);
    c->refusal->has_span = inst != NULL && inst->span.end > 0;
    c->refusal->span = inst ? inst->span : (Span){0, 0};
    buf_free(&text);
    return false;
}

/* ---- Exits ------------------------------------------------------------------------------------------------------- */

static bool leaves(const Inst *inst)
{
    return inst_is_terminator(inst) && inst->target_count == 0;
}

/* Every ret and exit of the kernel becomes a branch to one block, so that every region has a block where it ends.  In
 * an entry function ret and exit mean the same. */
static void unify_exits(Body *body)
{
    Block *last = VEC_LAST(body->blocks);
    Block *exit = body_add_block(body, last);
    Inst *ret = NULL;
    size_t count = body->blocks.count - 1;
    for (size_t i = 0; i < count; i++) {
        Block *block = body->blocks.data[i];
        Inst *inst = block->last;
        if (inst && leaves(inst)) {
            if (!ret && inst->guard == REF_NONE) {
                ret = inst_clone(body, inst);
                exit->label = block->first == inst ? block->label : NULL;
            }
            RegId predicate = inst->guard == REF_NONE ? REG_NONE : inst->refs[inst->guard].reg;
            bool inverted = inst->guard_inverted;
            Inst *branch = NULL;
            if (predicate != REG_NONE) {
                branch = inst_build_branch(body, exit, predicate, inverted);
                branch->span = inst->span;
                branch->loc = inst->loc;
            }
            inst_remove(inst);
            if (branch)
                inst_append(block, branch);
            else
                block->fall = exit;
        } else if (!block->fall && (!inst || inst_falls_through(inst)))
            block->fall = exit;
        if (exit->label && block->label == exit->label)
            block->label = NULL;
    }
    inst_append(exit, ret ? ret : inst_build(body, "ret", ""));
    body_update_preds(body);
}

/* Puts an empty block before an entry that ends in a branch table: a region that needs its several ways has a head. */
static void separate_entry(Body *body)
{
    Block *entry = body->blocks.data[0];
    if (!entry->last || entry->last->target_count < 2)
        return;
    Block *first = body_add_block(body, NULL);
    memmove(body->blocks.data + 1, body->blocks.data, (body->blocks.count - 1) * sizeof *body->blocks.data);
    body->blocks.data[0] = first;
    first->fall = entry;
    body_renumber(body);
    body_update_preds(body);
}

/* ---- One place that reads the index ------------------------------------------------------------------------------ */

static const char *const index_names[3] = {"%tid.x", "%tid.y", "%tid.z"};
static const char *const size_names[3] = {"%ntid.x", "%ntid.y", "%ntid.z"};

static const Sreg *sreg_read(const Inst *inst, const char *name)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_SREG && strcmp(operand->sreg->name, name) == 0)
            return operand->sreg;
    }
    return NULL;
}

/* Moves all reads of a special register to one "mov.u32" before 'first'; NULL if nothing reads it. */
static Inst *gather_reads(Body *body, const char *name, const char *reg_name)
{
    Inst *read = NULL;
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const Sreg *sreg = inst == read ? NULL : sreg_read(inst, name);
            if (!sreg)
                continue;
            if (!read) {
                RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, reg_name));
                read = inst_build(body, "mov.u32", "ds", reg, name);
                Block *entry = body->blocks.data[0];
                if (entry->first)
                    inst_insert_before(entry->first, read);
                else
                    inst_append(entry, read);
            }
            inst_replace_special(body, inst, sreg, read->refs[0].reg);
        }
    }
    return read;
}

/* ---- One dimension ----------------------------------------------------------------------------------------------- */

static bool coarsen_dimension(Body *body, unsigned dimension, unsigned factor, Stride stride, LaunchContract *contract,
                              Refusal *refusal)
{
    Arena *scratch = arena_new();
    Coarsening c = {.body = body,
                    .scratch = scratch,
                    .dimension = dimension,
                    .factor = factor,
                    .stride = stride,
                    .refusal = refusal};
    bool done = coarsening_check_instructions(&c);
    if (done) {
        c.index_read = gather_reads(body, index_names[dimension], "%tid_read");
        /* Replicas count in original threads: what the kernel reads as the block's size is factor times the new
         * size. */
        Inst *size_read = gather_reads(body, size_names[dimension], "%ntid_read");
        if (size_read) {
            RegId original = size_read->refs[0].reg;
            RegId size = body_add_reg(body, TYPE_B32, intern(body->module->names, "%ntid_coarse"));
            size_read->refs[0].reg = size;
            inst_insert_after(size_read, inst_build(body, "mul.lo.u32", "dri", original, size, (int64_t)factor));
        }
        body_update_preds(body);
        c.analyses = analyses_new(body);
        c.dominance = analyses_dominance(c.analyses);
        c.postdominance = analyses_postdominance(c.analyses);
        c.loops = analyses_loops(c.analyses);
        VarianceOptions options = {.lane_uniform = c.needs_whole_warps, .merge_loads = coarsening_loads_merge(&c)};
        c.variance = analyses_variance(c.analyses, dimension, &options);
        done = coarsening_find_regions(&c) && coarsening_check_regions(&c);
    }
    if (done) {
        coarsening_clone(&c);
        contract->whole_warps |= c.needs_whole_warps;
    }
    analyses_free(c.analyses);
    arena_free(scratch);
    return done;
}

/* ---- Block sizes ------------------------------------------------------------------------------------------------- */

static unsigned round_up_division(unsigned a, unsigned b)
{
    return a / b + (a % b != 0);
}

/* The contract's block, if its size is exact; false if the factor does not divide it. */
static bool settle_block(const CoarsenRequest *request, LaunchContract *contract, Coarsening *c)
{
    const BlockSize block = block_size_exact(&request->block);
    for (unsigned d = 0; d < 3; d++) {
        contract->block[d] = block.threads[d];
        unsigned factor = request->factor[d], size = contract->block[d];
        if (factor > 1 && size && size % factor)
            return coarsening_refuse(c, NULL, "the factor %u does not divide the block's %u threads along %c", factor,
                                     size, "xyz"[d]);
        if (factor > 1 && size && contract->stride_unit > 1 && size / factor % contract->stride_unit)
            return coarsening_refuse(c, NULL,
                                     "the stride %u does not divide the %u threads that remain of the block along %c",
                                     contract->stride_unit, size / factor, "xyz"[d]);
    }
    return true;
}

static void shrink_tuning(Tuning *tuning, const unsigned factor[3])
{
    unsigned product = factor[0] * factor[1] * factor[2];
    for (unsigned d = 0; d < 3; d++) {
        if (d < tuning->reqntid_count)
            tuning->reqntid[d] /= factor[d];
    }
    /* .maxntid bounds the number of threads of a block, however they lie. */
    if (tuning->maxntid_count) {
        bool each = true;
        for (unsigned d = 0; d < 3; d++)
            each &= factor[d] == 1 || (d < tuning->maxntid_count && tuning->maxntid[d] % factor[d] == 0);
        if (each)
            for (unsigned d = 0; d < tuning->maxntid_count; d++)
                tuning->maxntid[d] /= factor[d];
        else {
            unsigned threads = 1;
            for (unsigned d = 0; d < tuning->maxntid_count; d++)
                threads *= tuning->maxntid[d];
            tuning->maxntid[0] = round_up_division(threads, product);
            tuning->maxntid_count = 1;
        }
    }
}

/* Is there a block within .maxntid whose merged threads are whole warps apart? */
static bool a_block_keeps_warps(const CoarsenRequest *request, Coarsening *c)
{
    const Tuning *tuning = &c->body->tuning;
    uint64_t most = 1, least = 32;
    for (unsigned d = 0; d < 3; d++) {
        most *= d < tuning->maxntid_count ? tuning->maxntid[d] : 1;
        least *= request->factor[d];
    }
    if (tuning->maxntid_count && most < least)
        return coarsening_refuse(c, NULL,
                                 "the kernel has instructions that whole warps execute, which takes blocks of %llu "
                                 "threads or more at this factor, and .maxntid allows %llu",
                                 (unsigned long long)least, (unsigned long long)most);
    return true;
}

/* Whole warps: see LaunchContract.  False if the known block size breaks them. */
static bool settle_warps(const CoarsenRequest *request, const LaunchContract *contract, Coarsening *c)
{
    unsigned threads = 1;
    for (unsigned d = 0; d < 3; d++) {
        if (!contract->block[d])
            return a_block_keeps_warps(request, c);
        threads *= contract->block[d] / request->factor[d];
        if (request->factor[d] > 1 && threads % 32)
            return coarsening_refuse(c, NULL,
                                     "the kernel has instructions that whole warps execute, and a factor of %u along "
                                     "%c would split its warps",
                                     request->factor[d], "xyz"[d]);
    }
    return true;
}

bool coarsen_body(Body *body, const CoarsenRequest *request, LaunchContract *contract, Refusal *refusal)
{
    require(body->ssa);
    *contract = (LaunchContract){.kernel = body->function->name, .stride = request->stride, .stride_unit = 1};
    *refusal = (Refusal){0};
    Coarsening c = {.body = body, .refusal = refusal};
    if (!body->function->is_entry)
        return coarsening_refuse(&c, NULL, "it is no kernel");
    if (body->function->name[0] == '%')
        return coarsening_refuse(&c, NULL, "the symbol of its launch contract would have '%%' inside its name");
    if (request->stride.kind == STRIDE_NUMBER)
        contract->stride_unit = request->stride.number;
    memcpy(contract->factor, request->factor, sizeof contract->factor);
    if (!settle_block(request, contract, &c))
        return false;
    unify_exits(body);
    separate_entry(body);
    for (unsigned d = 0; d < 3; d++)
        if (request->factor[d] > 1 &&
            !coarsen_dimension(body, d, request->factor[d], request->stride, contract, refusal))
            return false;
    if (contract->whole_warps && !settle_warps(request, contract, &c))
        return false;
    shrink_tuning(&body->tuning, request->factor);
    return true;
}
