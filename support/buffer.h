/* A growing text buffer. */
#ifndef PTXOPT_SUPPORT_BUFFER_H
#define PTXOPT_SUPPORT_BUFFER_H

#include <string.h>

#include "support/intern.h"

typedef struct Buf {
    char *data; /* NUL-terminated once anything was written; NULL before */
    size_t length, capacity;
} Buf;

void buf_free(Buf *buf);
void buf_clear(Buf *buf);
void buf_reserve(Buf *buf, size_t more); /* room for 'more' bytes and the NUL */
static inline void buf_write(Buf *buf, const void *bytes, size_t length)
{
    if (length >= buf->capacity - buf->length)
        buf_reserve(buf, length);
    if (length)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = 0;
}
static inline void buf_puts(Buf *buf, const char *text) { buf_write(buf, text, strlen(text)); }
void buf_printf(Buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(Buf *buf, const char *format, va_list arguments);
static inline void buf_putc(Buf *buf, char c) { buf_write(buf, &c, 1); }
/* Appends an interned name, in pieces of 16 bytes: faster than choosing how to copy a few bytes. */
static inline void buf_name(Buf *buf, Name name)
{
    size_t length = name_length(name);
    if (buf->capacity - buf->length < length + 16)
        buf_reserve(buf, length + 16);
    for (size_t i = 0; i <= length; i += 16)
        memcpy(buf->data + buf->length + i, name + i, 16);
    buf->length += length;
}
void buf_unsigned(Buf *buf, uint64_t number); /* in decimal */
const char *buf_text(const Buf *buf); /* never NULL */
/* Its text in the arena; the buffer is freed. */
char *buf_take(Arena *arena, Buf *buf);

/* True if the text ends with the tail. */
bool text_ends_with(const char *text, const char *tail);

#endif
