/* The functions with which the makers of random kernels write. */
#ifndef PTXOPT_TESTS_KERNEL_WRITER_H
#define PTXOPT_TESTS_KERNEL_WRITER_H

#include "emulator/emulator.h"
#include "support/support.h"

typedef struct Writer {
    Random random;
    Buf *out;
    unsigned labels, temporaries; /* the next number of each */
} Writer;

static inline unsigned below(Writer *writer, unsigned bound)
{
    return (unsigned)(random_next(&writer->random) % bound);
}

static inline bool chance(Writer *writer, unsigned percent)
{
    return below(writer, 100) < percent;
}

static inline unsigned temporary(Writer *writer)
{
    return writer->temporaries++;
}

static inline void line(Writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);
static inline void line(Writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buf_putc(writer->out, '\t');
    buf_vprintf(writer->out, format, arguments);
    buf_putc(writer->out, '\n');
    va_end(arguments);
}

/* A kernel's argument of 32 bits; the arena owns its value. */
static inline void scalar_argument(Arena *arena, LaunchArgument *argument, uint32_t value)
{
    uint32_t *bytes = ARENA_NEW(arena, uint32_t);
    *bytes = value;
    *argument = (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .bytes = bytes, .size = sizeof *bytes};
}

/* Kernels whose threads have words of their own beside a table, which all read: two blocks of OWN_THREADS. */
enum { OWN_WORDS = 64, TABLE_WORDS = 256, OWN_THREADS = 32 };

/* Their launch: k(table, own, n, m). The arena owns the arguments. */
static inline void own_launch(const Writer *writer, Arena *arena, uint32_t n, uint32_t m, Launch *launch)
{
    *launch = (Launch){.kernel = "k", .grid = {2, 1, 1}, .block = {OWN_THREADS, 1, 1}};
    launch->argument_count = 4;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 4);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "table", .type = TYPE_U32,
                                            .count = TABLE_WORDS, .fill = FILL_UNIFORM, .low = 0, .high = 4000,
                                            .seed = writer->random.state};
    launch->arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "own", .type = TYPE_U32,
                                            .count = 2 * OWN_THREADS * OWN_WORDS, .fill = FILL_UNIFORM, .low = 0,
                                            .high = 4000, .seed = writer->random.state + 1};
    scalar_argument(arena, &launch->arguments[2], n);
    scalar_argument(arena, &launch->arguments[3], m);
}

/* Sets %table, %all, %n and %m from the parameters, and %own, the address of the words of thread %x. */
static inline void own_begin(Writer *writer)
{
    line(writer, "ld.param.u64 %%table, [table]; ld.param.u64 %%all, [own];");
    line(writer, "ld.param.u32 %%n, [n]; ld.param.u32 %%m, [m];");
    line(writer, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(writer, "mad.lo.s32 %%x, %%g1, %%g0, %%g2;");
    line(writer, "mul.wide.u32 %%own, %%x, %u;", 4 * OWN_WORDS);
    line(writer, "add.s64 %%own, %%all, %%own;");
}

#endif
