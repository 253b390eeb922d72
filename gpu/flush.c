#include "gpu/gpu.h"

enum { UNKNOWN_CACHE = 64 << 20, MOST_BLOCKS = 1024, SWEEP_THREADS = 256, BYTES_READ = 16, LEAST_READS = 8 };

/* Reads 'count' pieces of 16 bytes, which are 0. */
static const char sweep_text[] = ".version 6.3\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry sweep(.param .u64 data, .param .u32 count)\n"
                                 "{\n"
                                 ".reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n"
                                 "ld.param.u64 %rd1, [data];\n"
                                 "ld.param.u32 %r1, [count];\n"
                                 "mov.u32 %r2, %ctaid.x;\n"
                                 "mov.u32 %r3, %ntid.x;\n"
                                 "mov.u32 %r4, %tid.x;\n"
                                 "mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                                 "mov.u32 %r6, %nctaid.x;\n"
                                 "mul.lo.u32 %r7, %r6, %r3;\n"
                                 "mov.u32 %r8, 0;\n"
                                 "again:\n"
                                 "setp.ge.u32 %p1, %r5, %r1;\n"
                                 "@%p1 bra done;\n"
                                 "mul.wide.u32 %rd2, %r5, 16;\n"
                                 "add.s64 %rd3, %rd1, %rd2;\n"
                                 "ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%rd3];\n"
                                 "or.b32 %r8, %r8, %r9;\n"
                                 "or.b32 %r8, %r8, %r12;\n"
                                 "add.u32 %r5, %r5, %r7;\n"
                                 "bra again;\n"
                                 "done:\n"
                                 "setp.eq.u32 %p2, %r8, 0;\n"
                                 "@%p2 bra leave;\n"
                                 "st.global.u32 [%rd1], %r8;\n" /* so that the loads are not removed */
                                 "leave:\n"
                                 "ret;\n"
                                 "}\n";

int gpu_flush_open(const GpuDriver *driver, GpuFlush *flush)
{
    *flush = (GpuFlush){.bytes = 2 * (driver->cache_bytes ? driver->cache_bytes : UNKNOWN_CACHE)};
    int error = driver->memory_alloc(&flush->data, flush->bytes);
    error = error ? error : driver->module_load(&flush->module, sweep_text, 0, NULL, NULL);
    return error ? error : driver->module_function(&flush->sweep, flush->module, "sweep");
}

int gpu_flush_run(const GpuDriver *driver, const GpuFlush *flush)
{
    DevicePointer data = flush->data;
    unsigned count = (unsigned)(flush->bytes / BYTES_READ), blocks = count / SWEEP_THREADS / LEAST_READS + 1;
    blocks = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    void *parameters[] = {&data, &count};
    int error = driver->fill(data, 0, flush->bytes, NULL);
    return error ? error
                 : driver->launch(flush->sweep, blocks, 1, 1, SWEEP_THREADS, 1, 1, 0, NULL, parameters, NULL);
}

void gpu_flush_close(const GpuDriver *driver, GpuFlush *flush)
{
    if (flush->module)
        driver->module_unload(flush->module);
    if (flush->data)
        driver->memory_free(flush->data);
    *flush = (GpuFlush){0};
}
