/* support: what every other folder stands on: memory, strings, vectors, diagnostics with source spans.
 *
 * Memory: everything lives in an Arena and dies with it.  Only growing buffers (Buf) own heap memory of their own.
 * Errors: a user's mistake goes through a Diag; a broken invariant of ours through bug(), which never returns. */
#ifndef PTXOPT_SUPPORT_H
#define PTXOPT_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* ---- Broken invariants ------------------------------------------------------------------------------------------ */

/* Prints "ptxopt: internal error: MESSAGE (FILE:LINE)" to standard error and aborts. */
_Noreturn void bug_at(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
#define bug(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define require(condition) ((condition) ? (void)0 : bug("broken invariant: %s", #condition))

/* Called when memory runs out or a size would overflow.  The handler must not return; the default one aborts.
 * Set once, by the program, before anything is allocated. */
void set_out_of_memory_handler(void (*handler)(void));
_Noreturn void out_of_memory(void);

/* ---- Arena ------------------------------------------------------------------------------------------------------ */

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena); /* NULL is allowed */
/* Forgets everything that was allocated; some of the memory is kept for what comes next. */
void arena_clear(Arena *arena);
/* size bytes, zeroed, aligned to 16.  Never NULL. */
void *arena_alloc(Arena *arena, size_t size);
/* count * size bytes, zeroed; the product is checked for overflow. */
void *arena_array(Arena *arena, size_t count, size_t size);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
size_t arena_bytes(const Arena *arena); /* bytes taken from the system so far */

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_array((arena), (count), sizeof(type)))

/* ---- Vectors: a typed, arena-backed, growing array -------------------------------------------------------------- */

/* VEC(int) v = {0};  VEC_PUSH(arena, v, 7);  v.data[0], v.count.
 * Growth doubles and leaves the old storage to the arena.  Name the type once (typedef VEC(T) TVec) to pass it
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

/* ---- Bit sets --------------------------------------------------------------------------------------------------- */

typedef struct BitSet {
    uint64_t *words;
    size_t bits;
} BitSet;

BitSet bitset_new(Arena *arena, size_t bits); /* all clear */
static inline bool bitset_has(const BitSet *set, size_t bit) { return set->words[bit / 64] >> (bit % 64) & 1; }
static inline void bitset_add(BitSet *set, size_t bit) { set->words[bit / 64] |= UINT64_C(1) << (bit % 64); }
static inline void bitset_remove(BitSet *set, size_t bit) { set->words[bit / 64] &= ~(UINT64_C(1) << (bit % 64)); }
void bitset_copy(BitSet *to, const BitSet *from);         /* same size */
bool bitset_union(BitSet *to, const BitSet *from);        /* same size; true if 'to' grew */
void bitset_clear(BitSet *set);
size_t bitset_count(const BitSet *set);
/* The lowest member at or above 'from', or SIZE_MAX. */
size_t bitset_next(const BitSet *set, size_t from);

/* ---- Interned strings ------------------------------------------------------------------------------------------- */

/* A NUL-terminated string of which only one copy exists in its Interner: equal names are equal pointers. */
typedef const char *Name;
typedef struct Interner Interner;

Interner *interner_new(Arena *arena);
Name intern(Interner *names, const char *text);
Name intern_n(Interner *names, const char *text, size_t length); /* text holds no NUL */
/* The same for 1 to 8 bytes, of which the first is the lowest of 'bytes', with zeros above the last: much faster. */
Name intern_short(Interner *names, uint64_t bytes, size_t length);
Name intern_find(const Interner *names, const char *text, size_t length); /* NULL if it was never interned */

/* What stands in memory before the text of a name that came from an Interner; behind it stand zeros, up to a multiple
 * of 16 bytes. */
typedef struct NameHead {
    uint32_t hash, length;
    void *slot; /* the parser's, while it runs: what it knows by that name */
} NameHead;
static inline NameHead *name_head(Name name) { return (NameHead *)(uintptr_t)name - 1; }
static inline size_t name_length(Name name) { return name_head(name)->length; }
/* "base", or "base_1", "base_2" ...: the first for which taken(context, name) is false. */
Name intern_unique(Interner *names, const char *base, bool (*taken)(void *context, Name name), void *context);

/* ---- Growing text buffer ---------------------------------------------------------------------------------------- */

typedef struct Buf {
    char *data; /* NUL-terminated once anything was written; NULL before */
    size_t length, capacity;
} Buf;

void buf_free(Buf *buf);
void buf_clear(Buf *buf);
void buf_reserve(Buf *buf, size_t more); /* room for so many bytes and the NUL */
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
/* An interned name, in pieces of 16 bytes: that is faster than finding out how to copy few bytes. */
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

/* ---- Sources and spans ------------------------------------------------------------------------------------------ */

/* Two for flex, the others for whoever loads several bytes at once. */
enum { SOURCE_PADDING = 16 };

/* Byte offsets into a Source; [begin, end). */
typedef struct Span {
    uint32_t begin, end;
} Span;

typedef struct Source {
    const char *path; /* as the user wrote it; "<stdin>" for standard input */
    char *text;       /* SOURCE_PADDING NULs after the last byte; may hold NULs inside */
    size_t size;      /* bytes, at most SOURCE_LIMIT where it was read from a file */
    struct LineMap *lines;
} Source;

typedef struct Position {
    uint32_t line, column; /* from 1; the column counts bytes */
} Position;

/* Bytes of the largest text that is read: its scanner counts in int. */
#define SOURCE_LIMIT ((size_t)INT32_MAX - 2)

/* Takes a copy of the text.  The source's memory is the arena's, which must outlive it. */
Source *source_from_memory(Arena *arena, const char *path, const char *text, size_t size);
/* Reads a file, or standard input for "-".  NULL on failure, with *error set to a message without the path. */
Source *source_read(Arena *arena, const char *path, const char **error);
/* The line map is built when a position is first asked for: a file without a mistake never needs it. */
Position source_position(const Source *source, uint32_t offset);
size_t source_line_count(const Source *source);
/* Line 'line', from 1, with its line end. */
Span source_line_span(const Source *source, uint32_t line);

/* ---- Files written whole or not at all -------------------------------------------------------------------------- */

/* Writes to a temporary name beside 'path' and renames; a symbolic link stays, and what it leads to is written.  "-" is
 * standard output, and /dev/stdout, /dev/stderr and /dev/fd/N are the descriptors of this program, whatever those lead
 * to.  A path that is not a regular file (a pipe, /dev/null) is written in place.  NULL when done, else a message (in
 * the arena) and nothing was left behind. */
const char *write_file(Arena *arena, const char *path, const void *bytes, size_t length);

/* ---- Diagnostics ------------------------------------------------------------------------------------------------ */

typedef enum Severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR } Severity;

/* A sink for messages about one source.  Each prints as
 *     FILE:LINE:COL: error: MESSAGE
 *     SOURCE LINE
 *         ^~~~
 * After 'error_limit' errors further ones are counted but not printed. */
typedef struct Diag {
    const Source *source; /* may be NULL: then the program's name stands for the position */
    FILE *out;            /* not owned; standard error in the program */
    bool warnings_are_errors;
    bool quiet; /* no warnings, no notes */
    unsigned error_limit;
    unsigned errors, warnings;
} Diag;

void diag_init(Diag *diag, const Source *source, FILE *out);
void diag_report(Diag *diag, Severity severity, Span span, const char *format, ...) PRINTF_LIKE(4, 5);
/* A message about the whole file or run: "PATH: error: ..." or "ptxopt: error: ...". */
void diag_report_plain(Diag *diag, Severity severity, const char *format, ...) PRINTF_LIKE(3, 4);
#define diag_error(diag, span, ...) diag_report((diag), SEVERITY_ERROR, (span), __VA_ARGS__)
#define diag_warning(diag, span, ...) diag_report((diag), SEVERITY_WARNING, (span), __VA_ARGS__)
#define diag_note(diag, span, ...) diag_report((diag), SEVERITY_NOTE, (span), __VA_ARGS__)

/* The candidate closest to 'word' by edit distance if it is close enough to suggest, else NULL. */
const char *closest_word(const char *word, const char *const *candidates, size_t count);

#endif
