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

#endif
