/* Compares target/ with NVIDIA's own occupancy calculation, cuda_occupancy.h of the CUDA toolkit.
 *
 *     compare_occupancy            compares every machine over block sizes, register counts and shared sizes, and the
 *                                  limits that the header knows; prints the suite's `ok` and `not ok` lines
 *     compare_occupancy --golden   prints NVIDIA's answers for a sample of the cases, for machines without the toolkit:
 *                                  tests/machine/occupancy.tsv, made by `make inputs`
 *
 * The header takes the device's properties from its caller, so these come from the table under test; blocks per SM,
 * shared-memory sizes, registers per thread, allocation units and partitions are its own. */
#include <cuda_occupancy.h>

#include "target/target.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static cudaOccDeviceProp properties_of(const Architecture *architecture)
{
    const SmLimits *sm = &architecture->limits;
    return (cudaOccDeviceProp){
        .computeMajor = (int)architecture->number / 10,
        .computeMinor = (int)architecture->number % 10,
        .maxThreadsPerBlock = (int)sm->threads_per_block,
        .maxThreadsPerMultiprocessor = (int)sm->threads_per_sm,
        .regsPerBlock = (int)sm->registers_per_block,
        .regsPerMultiprocessor = (int)sm->registers_per_sm,
        .warpSize = (int)sm->warp_size,
        .sharedMemPerBlock = sm->shared_per_block,
        .sharedMemPerMultiprocessor = sm->shared_per_sm,
        .numSms = 1,
        .sharedMemPerBlockOptin = sm->shared_per_block_opt_in,
        .reservedSharedMemPerBlock = sm->shared_reserved,
    };
}

/* Everything past the first 1000 bytes is dynamic, as it must be above 48 KiB. False if the header refuses. */
static bool reference(const Architecture *architecture, unsigned threads, unsigned registers, unsigned shared,
                      cudaOccResult *result)
{
    cudaOccDeviceProp properties = properties_of(architecture);
    unsigned fixed = shared < 1000 ? shared : 1000;
    cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = INT_MAX,
        .numRegs = (int)registers,
        .sharedSizeBytes = fixed,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = shared - fixed,
        .numBlockBarriers = 1,
    };
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    return cudaOccMaxActiveBlocksPerMultiprocessor(result, &properties, &attributes, &state, (int)threads,
                                                   shared - fixed) == CUDA_OCC_SUCCESS;
}

static unsigned limits_of(const cudaOccResult *result)
{
    unsigned factors = result->limitingFactors;
    return (factors & OCC_LIMIT_WARPS ? LIMIT_WARPS : 0) | (factors & OCC_LIMIT_BLOCKS ? LIMIT_BLOCKS : 0) |
           (factors & OCC_LIMIT_REGISTERS ? LIMIT_REGISTERS : 0) |
           (factors & OCC_LIMIT_SHARED_MEMORY ? LIMIT_SHARED : 0);
}

static const unsigned block_sizes[] = {1,   31,  32,  33,  48,  64,  96,  100, 128, 160, 192, 224, 225, 256, 270,
                                       288, 320, 352, 384, 416, 448, 480, 512, 544, 576, 608, 640, 672, 704, 736,
                                       768, 800, 832, 864, 896, 928, 960, 992, 1023, 1024, 1025, 2048};
static const unsigned shared_sizes[] = {0,     1,     127,   128,   129,   512,    1000,   1024,   2048,   3000,
                                        4096,  6144,  7168,  8192,  10000, 12288,  16384,  20000,  24576,  32768,
                                        33000, 40000, 49151, 49152, 49153, 50000,  65536,  65537,  98304,  101376,
                                        101377, 102400, 131072, 163840, 166912, 166913, 200000, 232448, 232449, 300000};

static bool compare_calculation(const Architecture *architecture)
{
    const SmLimits *sm = &architecture->limits;
    unsigned long wrong = 0;
    for (size_t b = 0; b < sizeof block_sizes / sizeof *block_sizes; b++) {
        for (unsigned registers = 0; registers <= 255; registers++) {
            for (size_t s = 0; s < sizeof shared_sizes / sizeof *shared_sizes; s++) {
                unsigned threads = block_sizes[b], shared = shared_sizes[s];
                cudaOccResult expected = {0};
                Occupancy got = sm_occupancy(sm, threads, registers, shared);
                bool fits = reference(architecture, threads, registers, shared, &expected);
                unsigned blocks = fits ? (unsigned)expected.activeBlocksPerMultiprocessor : 0;
                bool same = got.blocks == blocks && (!fits || got.limits == limits_of(&expected));
                if (blocks > 0)
                    same = same && got.registers_allocated == (unsigned)expected.allocatedRegistersPerBlock &&
                           got.shared_allocated == expected.allocatedSharedMemPerBlock;
                if (!same && wrong++ < 5)
                    printf("sm_%u: %u threads, %u registers, %u bytes: %u blocks (limits %u), NVIDIA %u (%u)\n",
                           architecture->number, threads, registers, shared, got.blocks, got.limits, blocks,
                           limits_of(&expected));
            }
        }
    }
    return wrong == 0;
}

/* The limits that the header itself defines. From 7.0 on it lists the sizes of an SM's shared memory: the table's size
 * must be the last of them. */
static bool compare_limits(const Architecture *architecture)
{
    const SmLimits *sm = &architecture->limits;
    cudaOccDeviceProp properties = properties_of(architecture);
    int blocks, register_unit, shared_unit, registers, partitions;
    if (cudaOccMaxBlocksPerMultiprocessor(&blocks, &properties) != CUDA_OCC_SUCCESS ||
        cudaOccRegAllocationGranularity(&register_unit, &properties) != CUDA_OCC_SUCCESS ||
        cudaOccSMemAllocationGranularity(&shared_unit, &properties) != CUDA_OCC_SUCCESS ||
        cudaOccRegAllocationMaxPerThread(&registers, &properties) != CUDA_OCC_SUCCESS ||
        cudaOccSubPartitionsPerMultiprocessor(&partitions, &properties) != CUDA_OCC_SUCCESS)
        return false;
    bool same = (unsigned)blocks == sm->blocks_per_sm && (unsigned)register_unit == sm->register_unit &&
                (unsigned)shared_unit == sm->shared_unit && (unsigned)partitions == sm->partitions &&
                (unsigned)registers >= sm->registers_per_thread;
    if (architecture->number >= 70) {
        size_t largest = sm->shared_per_sm, beyond = sm->shared_per_sm + 1;
        same = same && cudaOccAlignUpShmemSizeVoltaPlus(&largest, &properties) == CUDA_OCC_SUCCESS &&
               largest == sm->shared_per_sm &&
               cudaOccAlignUpShmemSizeVoltaPlus(&beyond, &properties) != CUDA_OCC_SUCCESS;
    }
    return same;
}

/* False if the architecture is newer than the header, which from 7.0 on lists the sizes of each one's shared memory. */
static bool header_knows(const Architecture *architecture)
{
    cudaOccDeviceProp properties = properties_of(architecture);
    size_t size = 1024;
    return architecture->number < 70 ||
           cudaOccAlignUpShmemSizeVoltaPlus(&size, &properties) != CUDA_OCC_ERROR_UNKNOWN_DEVICE;
}

static void print_golden(const Architecture *architecture)
{
    static const unsigned threads[] = {32, 64, 96, 128, 192, 256, 270, 384, 512, 768, 1024};
    static const unsigned registers[] = {16, 24, 32, 33, 40, 41, 56, 64, 72, 80, 96, 128, 129, 168, 255};
    static const unsigned shared[] = {0, 4096, 49152, 65536, 102400};
    /* All sizes and counts are combined only if shared memory does not matter; the rest is sampled in steps that share
     * no factor with the lists' lengths. */
    size_t step = 0;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        for (size_t r = 0; r < sizeof registers / sizeof *registers; r++) {
            size_t s = step++ % 7;
            if (step % 2 != 0)
                continue;
            unsigned bytes = s < sizeof shared / sizeof *shared ? shared[s] : 0;
            cudaOccResult result = {0};
            if (!reference(architecture, threads[t], registers[r], bytes, &result))
                continue;
            printf("%u\t%u\t%u\t%u\t%d\t%u\n", architecture->number, threads[t], registers[r], bytes,
                   result.activeBlocksPerMultiprocessor, limits_of(&result));
        }
    }
}

int main(int argc, char **argv)
{
    size_t count;
    const Architecture *architectures = architecture_list(&count);
    if (argc == 2 && strcmp(argv[1], "--golden") == 0) {
        printf("# arch\tthreads\tregisters\tshared\tblocks\tlimits: 1 warps, 2 blocks, 4 registers, 8 shared\n");
        printf("# made by tests/machine/compare_occupancy.c with the cuda_occupancy.h that knows machines up to "
               "%d.%d\n", __CUDA_OCC_MAJOR__, __CUDA_OCC_MINOR__);
        for (size_t i = 0; i < count; i++)
            if (architecture_limits(&architectures[i]))
                print_golden(&architectures[i]);
        return 0;
    }
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        if (!architecture_limits(&architectures[i]))
            continue;
        if (!header_knows(&architectures[i])) {
            printf("skip occupancy of sm_%u: this cuda_occupancy.h does not know it\n", architectures[i].number);
            continue;
        }
        bool limits = compare_limits(&architectures[i]);
        bool calculation = compare_calculation(&architectures[i]);
        printf("%s limits of sm_%u\n", limits ? "ok" : "not ok", architectures[i].number);
        printf("%s occupancy of sm_%u\n", calculation ? "ok" : "not ok", architectures[i].number);
        good = good && limits && calculation;
    }
    return good ? 0 : 1;
}
