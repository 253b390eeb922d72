#include "support/buffer.h"

#include <stdio.h>
#include <stdlib.h>

void buf_free(Buf *buf)
{
    free(buf->data);
    *buf = (Buf){0};
}

void buf_clear(Buf *buf)
{
    buf->length = 0;
    if (buf->data)
        buf->data[0] = 0;
}

void buf_reserve(Buf *buf, size_t more)
{
    if (more > SIZE_MAX / 4 - buf->length)
        out_of_memory();
    size_t needed = buf->length + more + 1;
    if (needed <= buf->capacity)
        return;
    size_t capacity = buf->capacity ? buf->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buf->data, capacity);
    if (!data)
        out_of_memory();
    buf->data = data;
    buf->capacity = capacity;
    memory_want_huge_pages(data, capacity);
}

void buf_unsigned(Buf *buf, uint64_t number)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    buf_write(buf, first, (size_t)(digits + sizeof digits - first));
}

void buf_vprintf(Buf *buf, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    /* Nearly always there is room. */
    buf_reserve(buf, 64);
    size_t room = buf->capacity - buf->length;
    int length = vsnprintf(buf->data + buf->length, room, format, arguments);
    require(length >= 0);
    if ((size_t)length >= room) {
        buf_reserve(buf, (size_t)length);
        vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    buf->length += (size_t)length;
}

void buf_printf(Buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(buf, format, arguments);
    va_end(arguments);
}

const char *buf_text(const Buf *buf)
{
    return buf->data ? buf->data : "";
}

char *buf_take(Arena *arena, Buf *buf)
{
    char *text = arena_strndup(arena, buf_text(buf), buf->length);
    buf_free(buf);
    return text;
}

bool text_ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}
