/* Arenas, vectors, bit sets and growing buffers. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 4096, LARGEST_CHUNK = 64 << 20, HUGE_PAGE = 2 << 20, PAGE = 4096 };

static void (*out_of_memory_handler)(void);

void bug_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    fputs("ptxopt: internal error: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (%s:%d)\n", file, line);
    abort();
}

void set_out_of_memory_handler(void (*handler)(void))
{
    out_of_memory_handler = handler;
}

void out_of_memory(void)
{
    if (out_of_memory_handler)
        out_of_memory_handler();
    bug("out of memory");
}

typedef struct Chunk {
    struct Chunk *next;
    size_t size; /* of the whole chunk */
} Chunk;

struct Arena {
    Chunk *chunks;
    Chunk *current; /* the one being filled; NULL: none yet */
    char *at, *end;
    size_t next_size;
    size_t bytes;
};

_Static_assert(sizeof(Chunk) % ALIGNMENT == 0, "what follows a chunk's head is aligned");

Arena *arena_new(void)
{
    Arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        out_of_memory();
    arena->next_size = FIRST_CHUNK;
    arena->bytes = sizeof *arena;
    return arena;
}

/* All but 'kept', which may be NULL. */
static void free_chunks(Arena *arena, const Chunk *kept)
{
    for (Chunk *chunk = arena->chunks; chunk;) {
        Chunk *next = chunk->next;
        if (chunk != kept) {
            arena->bytes -= chunk->size;
            free(chunk);
        }
        chunk = next;
    }
}

void arena_free(Arena *arena)
{
    if (!arena)
        return;
    free_chunks(arena, NULL);
    free(arena);
}

void arena_clear(Arena *arena)
{
    Chunk *kept = arena->current;
    free_chunks(arena, kept);
    arena->chunks = kept;
    if (!kept)
        return;
    kept->next = NULL;
    char *first = (char *)(kept + 1);
    memset(first, 0, (size_t)(arena->at - first));
    arena->at = first;
}

/* Large pieces of memory come from the system in pages that it has zeroed; in huge ones, where it has them, a new piece
 * costs a fraction of the page faults.  The advice is for all of its pages, not only for those that lie in whole huge
 * ones: then neighbours are one piece to the system, and realloc can move it without copying. */
static void want_huge_pages(void *piece, size_t size)
{
    uintptr_t begin = (uintptr_t)piece / PAGE * PAGE, end = ((uintptr_t)piece + size + PAGE - 1) / PAGE * PAGE;
    if (size >= HUGE_PAGE)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static Chunk *add_chunk(Arena *arena, size_t payload)
{
    if (payload > SIZE_MAX - sizeof(Chunk))
        out_of_memory();
    Chunk *chunk = calloc(1, sizeof(Chunk) + payload);
    if (!chunk)
        out_of_memory();
    chunk->size = sizeof(Chunk) + payload;
    want_huge_pages(chunk, chunk->size);
    arena->bytes += chunk->size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *arena_alloc(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        out_of_memory();
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size == 0)
        size = ALIGNMENT;
    if (size <= (size_t)(arena->end - arena->at)) {
        void *memory = arena->at;
        arena->at += size;
        return memory;
    }
    if (size > arena->next_size / 4) /* a chunk of its own; the current one goes on being filled */
        return add_chunk(arena, size) + 1;
    arena->current = add_chunk(arena, arena->next_size);
    arena->at = (char *)(arena->current + 1);
    arena->end = arena->at + arena->next_size;
    if (arena->next_size < LARGEST_CHUNK)
        arena->next_size *= 2;
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

void *arena_array(Arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    return arena_alloc(arena, bytes);
}

char *arena_strndup(Arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        out_of_memory();
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    require(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t arena_bytes(const Arena *arena)
{
    return arena->bytes;
}

void *vec_grow(Arena *arena, void *data, size_t count, size_t *capacity, size_t element_size)
{
    size_t larger = *capacity ? *capacity * 2 : 8;
    if (larger < *capacity)
        out_of_memory();
    void *grown = arena_array(arena, larger, element_size);
    if (count)
        memcpy(grown, data, count * element_size);
    *capacity = larger;
    return grown;
}

static size_t word_count(const BitSet *set)
{
    return (set->bits + 63) / 64;
}

BitSet bitset_new(Arena *arena, size_t bits)
{
    BitSet set = {NULL, bits};
    set.words = ARENA_ARRAY(arena, uint64_t, word_count(&set));
    return set;
}

void bitset_copy(BitSet *to, const BitSet *from)
{
    require(to->bits == from->bits);
    memcpy(to->words, from->words, word_count(from) * sizeof *from->words);
}

bool bitset_union(BitSet *to, const BitSet *from)
{
    require(to->bits == from->bits);
    uint64_t grown = 0;
    for (size_t i = 0; i < word_count(from); i++) {
        grown |= from->words[i] & ~to->words[i];
        to->words[i] |= from->words[i];
    }
    return grown != 0;
}

void bitset_clear(BitSet *set)
{
    memset(set->words, 0, word_count(set) * sizeof *set->words);
}

size_t bitset_count(const BitSet *set)
{
    size_t count = 0;
    for (size_t i = 0; i < word_count(set); i++)
        count += (size_t)__builtin_popcountll(set->words[i]);
    return count;
}

size_t bitset_next(const BitSet *set, size_t from)
{
    if (from >= set->bits)
        return SIZE_MAX;
    size_t i = from / 64;
    uint64_t word = set->words[i] & ~UINT64_C(0) << (from % 64);
    for (;;) {
        if (word)
            return i * 64 + (size_t)__builtin_ctzll(word);
        if (++i == word_count(set))
            return SIZE_MAX;
        word = set->words[i];
    }
}

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
    want_huge_pages(data, capacity);
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
