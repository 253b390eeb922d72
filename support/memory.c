#include "support/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 16,
    FIRST_CHUNK = 4096,
    LARGEST_CHUNK = 64 << 20,
    PAGE = 4096,
    WINDOW = 64 << 10, /* what is prefaulted of a chunk at a time */
};

static void (*out_of_memory_handler)(void);

/* Per thread: where to resume after an abort. */
typedef struct Guard {
    jmp_buf place;
    GuardEnd end;
    Arena *arenas; /* made since then, and not freed */
    char *message;
} Guard;

static _Thread_local Guard *guard;

void bug_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    if (guard) {
        char *message = NULL;
        va_start(arguments, format);
        if (vasprintf(&message, format, arguments) < 0 ||
            asprintf(&guard->message, "%s (%s:%d)", message, file, line) < 0)
            guard->message = NULL;
        va_end(arguments);
        free(message);
        guard->end = GUARD_BUG;
        longjmp(guard->place, 1);
    }
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
    if (guard) {
        guard->end = GUARD_NO_MEMORY;
        longjmp(guard->place, 1);
    }
    if (out_of_memory_handler)
        out_of_memory_handler();
    bug("out of memory");
}

/* Chunks of HUGE_PAGE bytes or more are mappings of their own, smaller ones come from malloc. */
typedef struct Chunk {
    struct Chunk *next;
    size_t size; /* of the whole chunk */
} Chunk;

struct Arena {
    Chunk *chunks;
    Chunk *current; /* the one being filled; NULL: none yet */
    char *at, *end; /* the prefaulted part that is left of it */
    char *chunk_end;
    size_t next_size;
    size_t bytes;
    Guard *guard;           /* that lists it; or NULL */
    Arena *next, *previous; /* in that list */
};

_Static_assert(sizeof(Chunk) % ALIGNMENT == 0, "what follows a chunk's head is aligned");

Arena *arena_new(void)
{
    Arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        out_of_memory();
    arena->next_size = FIRST_CHUNK;
    arena->bytes = sizeof *arena;
    if (guard) {
        arena->guard = guard;
        arena->next = guard->arenas;
        if (arena->next)
            arena->next->previous = arena;
        guard->arenas = arena;
    }
    return arena;
}

static void leave_list(Arena *arena)
{
    if (!arena->guard)
        return;
    if (arena->previous)
        arena->previous->next = arena->next;
    else
        arena->guard->arenas = arena->next;
    if (arena->next)
        arena->next->previous = arena->previous;
    arena->guard = NULL;
    arena->next = arena->previous = NULL;
}

void *memory_map(size_t size)
{
    size_t mapped = align_up(size, PAGE) + HUGE_PAGE;
    char *begin = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED)
        return NULL;
    char *piece = (char *)align_up((uintptr_t)begin, HUGE_PAGE), *end = piece + align_up(size, PAGE);
    if (piece > begin)
        munmap(begin, (size_t)(piece - begin));
    munmap(end, (size_t)(begin + mapped - end));
    memory_want_huge_pages(piece, size);
    return piece;
}

void memory_unmap(void *piece, size_t size)
{
    munmap(piece, align_up(size, PAGE));
}

/* Zeroed. */
static Chunk *chunk_new(size_t size)
{
    Chunk *chunk = size < HUGE_PAGE ? calloc(1, size) : memory_map(size);
    if (!chunk)
        out_of_memory();
    chunk->size = size;
    return chunk;
}

static void chunk_free(Chunk *chunk)
{
    if (chunk->size < HUGE_PAGE)
        free(chunk);
    else
        memory_unmap(chunk, chunk->size);
}

/* All but 'kept', which may be NULL. */
static void free_chunks(Arena *arena, const Chunk *kept)
{
    for (Chunk *chunk = arena->chunks; chunk;) {
        Chunk *next = chunk->next;
        if (chunk != kept) {
            arena->bytes -= chunk->size;
            chunk_free(chunk);
        }
        chunk = next;
    }
}

void arena_free(Arena *arena)
{
    if (!arena)
        return;
    leave_list(arena);
    free_chunks(arena, NULL);
    free(arena);
}

GuardEnd guard_run(void (*function)(void *context), void (*cleanup)(void *context), void *context, char **message)
{
    Guard own = {.end = GUARD_DONE};
    require(!guard);
    guard = &own;
    if (setjmp(own.place) == 0)
        function(context);
    guard = NULL;
    if (own.end != GUARD_DONE)
        cleanup(context);
    while (own.arenas) {
        Arena *arena = own.arenas;
        leave_list(arena);
        if (own.end != GUARD_DONE)
            arena_free(arena);
    }
    *message = own.message;
    return own.end;
}

bool guard_active(void)
{
    return guard != NULL;
}

void guard_forget(void)
{
    guard = NULL;
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

void memory_want_huge_pages(void *piece, size_t size)
{
    uintptr_t begin = (uintptr_t)piece / PAGE * PAGE, end = align_up((uintptr_t)piece + size, PAGE);
    if (size >= HUGE_PAGE)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

/* A page fault for each page would cost as much as filling it. Systems that do not know the advice ignore it. */
void memory_prefault(void *piece, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t begin = align_up((uintptr_t)piece, PAGE), end = ((uintptr_t)piece + size) / PAGE * PAGE;
    if (end > begin + PAGE)
        madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#endif
}

static Chunk *add_chunk(Arena *arena, size_t payload)
{
    if (payload > SIZE_MAX / 2)
        out_of_memory();
    Chunk *chunk = chunk_new(sizeof(Chunk) + payload);
    arena->bytes += chunk->size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

/* Makes room in the current chunk. */
static bool extend_window(Arena *arena, size_t size)
{
    if (size > (size_t)(arena->chunk_end - arena->at))
        return false;
    size_t left = (size_t)(arena->chunk_end - arena->end), more = left;
    size_t missing = size - (size_t)(arena->end - arena->at);
    if (more > missing + WINDOW)
        more = missing + WINDOW;
    memory_prefault(arena->end, more);
    arena->end += more;
    return true;
}

static void *alloc_slowly(Arena *arena, size_t size)
{
    if (!extend_window(arena, size)) {
        if (size > arena->next_size / 4) /* a chunk of its own; the current one continues to be filled */
            return add_chunk(arena, size) + 1;
        arena->current = add_chunk(arena, arena->next_size - sizeof(Chunk));
        arena->at = arena->end = (char *)(arena->current + 1);
        arena->chunk_end = (char *)arena->current + arena->next_size;
        if (arena->next_size < LARGEST_CHUNK)
            arena->next_size *= 2;
        extend_window(arena, size);
    }
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

void *arena_alloc(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        out_of_memory();
    size = align_up(size, ALIGNMENT);
    if (size == 0)
        size = ALIGNMENT;
    if (size <= (size_t)(arena->end - arena->at)) {
        void *memory = arena->at;
        arena->at += size;
        return memory;
    }
    return alloc_slowly(arena, size);
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

char *arena_vprintf(Arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    require(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
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
