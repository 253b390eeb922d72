/* The configurations of a sweep: dimensions and block sizes of a kernel, and the forms to be measured. */
#include <stdlib.h>

#include "sweep/internal.h"

/* Blocks that are usual: powers of two that divide the threads, so that kernels without a guard are right, too; of a
 * warp at least, and along several axes of no less than this along each. */
enum { LEAST_THREADS = 32, LEAST_ALONG = 4 };
/* The most threads of a block along z (CUDA Programming Guide, "Compute Capabilities"). */
enum { MOST_ALONG_Z = 64 };

static bool is_usual(const SweepKernel *kernel, const unsigned block[3])
{
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool divides = block[2] <= MOST_ALONG_Z;
    for (unsigned i = 0; i < 3; i++)
        divides &= kernel->launch->threads[i] % block[i] == 0;
    return divides && threads >= LEAST_THREADS && threads <= BLOCK_MOST_THREADS;
}

static void add_block(Sweep *sweep, SweepKernel *kernel, const unsigned block[3])
{
    for (size_t i = 0; i < kernel->launches.count; i++)
        if (memcmp(kernel->launches.data[i]->block, block, sizeof kernel->launches.data[i]->block) == 0)
            return;
    VEC_PUSH(sweep->arena, kernel->launches, launch_with_block(sweep->arena, kernel->launch, block));
}

/* Adds powers of two along the axes, with the others as they are. */
static void add_usual_blocks(Sweep *sweep, SweepKernel *kernel, const bool axes[3])
{
    const unsigned along = (unsigned)axes[0] + axes[1] + axes[2];
    const unsigned least = along > 1 ? LEAST_ALONG : LEAST_THREADS;
    unsigned first[3], last[3], block[3];
    for (unsigned i = 0; i < 3; i++) {
        first[i] = axes[i] ? least : kernel->launch->block[i];
        last[i] = axes[i] ? BLOCK_MOST_THREADS : kernel->launch->block[i];
    }
    for (block[2] = first[2]; block[2] <= last[2]; block[2] *= 2)
        for (block[1] = first[1]; block[1] <= last[1]; block[1] *= 2)
            for (block[0] = first[0]; block[0] <= last[0]; block[0] *= 2)
                if (is_usual(kernel, block))
                    add_block(sweep, kernel, block);
}

/* A kernel that reads the index of a thread or of a block along an axis can be coarsened along it. */
static void set_dimensions(Sweep *sweep, SweepKernel *kernel, const bool threads[3])
{
    bool blocks[3] = {false};
    kernel_axes(kernel->kernel, SREG_ROLE_CTAID, blocks);
    for (unsigned level = 0; level < 2; level++)
        for (unsigned axis = 0; axis < 3; axis++) {
            const SweepDimension dimension = {level == 1, axis};
            if (dimension.of_blocks ? blocks[axis] : threads[axis])
                VEC_PUSH(sweep->arena, kernel->dimensions, dimension);
        }
}

void sweep_kernel_space(Sweep *sweep, SweepKernel *kernel)
{
    const SweepRequest *request = sweep->request;
    bool threads[3] = {false};
    kernel_axes(kernel->kernel, SREG_ROLE_TID, threads);
    VEC_PUSH(sweep->arena, kernel->launches, kernel->launch);
    if (!kernel->launch->threads[0] && request->blocks.count)
        fprintf(stderr, "ptxopt: note: %s does not say how many \"threads\" it needs, so its block stays\n",
                kernel->path);
    for (size_t i = 0; kernel->launch->threads[0] && i < request->blocks.count; i++)
        add_block(sweep, kernel, request->blocks.data[i].threads);
    if (kernel->launch->threads[0] && request->usual_blocks)
        add_usual_blocks(sweep, kernel, threads);
    for (size_t i = 0; i < request->dimensions.count; i++)
        VEC_PUSH(sweep->arena, kernel->dimensions, request->dimensions.data[i]);
    if (!request->dimensions.count)
        set_dimensions(sweep, kernel, threads);
}

SweepRow sweep_row_of(const SweepForm *form, const Launch *launch, const SweepTarget *target)
{
    SweepRow row = sweep_row_new();
    row.kernel = form->kernel->kernel->name;
    row.launch = form->kernel->path;
    row.arch = target->run.arch;
    memcpy(row.block, launch->block, sizeof row.block);
    row.dimension = form->dimension;
    row.factor = form->factor;
    row.stride = form->stride;
    row.inputs = hash_mix(target->inputs, form->kernel->inputs);
    return row;
}

/* True if the sorted table has this configuration, made of the same inputs. The row that every original has is by
 * PTX. */
static bool has_row(const SweepTable *table, const SweepRow *row)
{
    size_t first = 0, end = table->rows.count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = sweep_row_compare(row, &table->rows.data[middle]);
        if (!order)
            return table->rows.data[middle].inputs == row->inputs;
        *(order < 0 ? &end : &first) = order < 0 ? middle : middle + 1;
    }
    return false;
}

static bool is_known(const Sweep *sweep, const SweepForm *form)
{
    for (size_t i = 0; i < form->kernel->launches.count; i++)
        for (size_t k = 0; k < sweep->target_count; k++) {
            const SweepRow row = sweep_row_of(form, form->kernel->launches.data[i], &sweep->targets[k]);
            if (!has_row(&sweep->table, &row))
                return false;
        }
    return true;
}

void sweep_drop_known(Sweep *sweep)
{
    size_t kept = 0;
    sweep_settle(&sweep->table);
    sweep->row_count = 0;
    for (size_t i = 0; i < sweep->forms.count; i++) {
        const SweepForm form = sweep->forms.data[i];
        if (is_known(sweep, &form))
            continue;
        sweep->forms.data[kept++] = form;
        sweep->row_count += form.kernel->launches.count * sweep->target_count;
    }
    sweep->forms.count = kept;
}

static void add_factor(Sweep *sweep, const SweepForm *like)
{
    SweepForm form = *like;
    for (size_t i = 0; i < sweep->request->strides.count; i++) {
        form.stride = sweep->request->strides.data[i];
        VEC_PUSH(sweep->arena, sweep->forms, form);
        if (form.dimension.of_blocks) /* strides mean nothing to merged blocks */
            return;
    }
}

void sweep_list_forms(Sweep *sweep)
{
    const SweepRequest *request = sweep->request;
    for (size_t i = 0; i < sweep->kernels.count; i++) {
        const SweepKernel *kernel = &sweep->kernels.data[i];
        VEC_PUSH(sweep->arena, sweep->forms, ((SweepForm){.kernel = kernel, .factor = 1}));
        for (size_t d = 0; d < kernel->dimensions.count; d++)
            for (size_t f = 0; f < request->factors.count; f++)
                if (request->factors.data[f] > 1)
                    add_factor(sweep, &(SweepForm){.kernel = kernel,
                                                   .dimension = kernel->dimensions.data[d],
                                                   .factor = request->factors.data[f]});
    }
}
