/* Broken invariants, arenas, vectors. */
#ifndef PTXOPT_SUPPORT_MEMORY_H
#define PTXOPT_SUPPORT_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* The smallest multiple of 'align' that is not below 'value'; 'value' itself if 'align' is 0. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

/* The quotient rounded up; 'by' is not 0. */
static inline uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

/* Prints "ptxopt: internal error: MESSAGE (FILE:LINE)" to standard error and aborts. */
_Noreturn void bug_at(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
#define bug(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define require(condition) ((condition) ? (void)0 : bug("broken invariant: %s", #condition))

/* Called when memory runs out or a size would overflow. The handler must not return; the default one aborts.
 * Set once, by the program, before anything is allocated. */
void set_out_of_memory_handler(void (*handler)(void));
_Noreturn void out_of_memory(void);

/* For a library, which must not end the process that it is part of. */
typedef enum GuardEnd { GUARD_DONE, GUARD_NO_MEMORY, GUARD_BUG } GuardEnd;

/* Calls function(context). If memory runs out meanwhile in this thread, or bug() is called, the function is left at
 * that point: cleanup(context) is called, and the arenas that the function made are freed; what it had in growing
 * buffers is lost. With GUARD_BUG, *message is what went wrong; the caller frees it, and it may be NULL. Not to be
 * nested. */
GuardEnd guard_run(void (*function)(void *context), void (*cleanup)(void *context), void *context, char **message);
/* True if this thread is in such a function. */
bool guard_active(void);
/* In a new child process: it must not continue where the parent's guard would. */
void guard_forget(void);

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena); /* NULL is allowed */
/* Forgets everything that was allocated; some of the memory is kept for what comes next. */
void arena_clear(Arena *arena);
/* size bytes, zeroed, aligned to 16. Never NULL. */
void *arena_alloc(Arena *arena, size_t size);
/* count * size bytes, zeroed; the product is checked for overflow. */
void *arena_array(Arena *arena, size_t count, size_t size);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(Arena *arena, const char *format, va_list arguments) PRINTF_LIKE(2, 0);
size_t arena_bytes(const Arena *arena); /* bytes taken from the system so far; tests bound them */

enum { HUGE_PAGE = 2 << 20 }; /* bytes */
/* A zeroed mapping that begins where a huge page can: malloc's begin anywhere, so that one of 2 MiB has room for none.
 * NULL: out of memory. */
void *memory_map(size_t size);
void memory_unmap(void *piece, size_t size); /* of the size that it was made with */
/* Advises the system to back a large piece of memory with huge pages: a new piece then costs a fraction of the page
 * faults. All pages that the piece touches are advised, not only those within whole huge pages, so that neighbouring
 * pieces are one mapping to the system and realloc can move them without copying. */
void memory_want_huge_pages(void *piece, size_t size);
/* Has the system provide the pages of a piece, which are about to be written, all at once. */
void memory_prefault(void *piece, size_t size);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_array((arena), (count), sizeof(type)))

/* VEC(int) v = {0};  VEC_PUSH(arena, v, 7);  v.data[0], v.count.
 * Growth doubles and leaves the old storage to the arena. Name the type once (typedef VEC(T) TVec) to pass it
 * around. */
#define VEC(type)                                                                                                      \
    struct {                                                                                                           \
        type *data;                                                                                                    \
        size_t count, capacity;                                                                                        \
    }
#define VEC_PUSH(arena, vec, ...)                                                                                      \
    do {                                                                                                               \
        if ((vec).count == (vec).capacity)                                                                             \
            (vec).data = vec_grow((arena), (vec).data, (vec).count, &(vec).capacity, sizeof *(vec).data);              \
        (vec).data[(vec).count++] = (__VA_ARGS__);                                                                     \
    } while (0)
#define VEC_POP(vec) ((vec).data[--(vec).count])
#define VEC_LAST(vec) ((vec).data[(vec).count - 1])
void *vec_grow(Arena *arena, void *data, size_t count, size_t *capacity, size_t element_size);

#endif
