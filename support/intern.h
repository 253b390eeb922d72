/* Interned strings. */
#ifndef PTXOPT_SUPPORT_INTERN_H
#define PTXOPT_SUPPORT_INTERN_H

#include "support/map.h"

/* A NUL-terminated string of which only one copy exists in its Interner: equal names are equal pointers. */
typedef const char *Name;
typedef struct Interner Interner;

enum { NAME_NEIGHBOURS = 8 }; /* slots of a cache line */

/* With room for 'expected' names; it grows when there are more. */
Interner *interner_new(Arena *arena, size_t expected);
Name intern(Interner *names, const char *text);
Name intern_n(Interner *names, const char *text, size_t length); /* text holds no NUL */
/* The same with the text's hash: from 0, hash_mix of each eight bytes, the first lowest, then name_hash_end. */
Name intern_hashed(Interner *names, const char *text, size_t length, uint32_t hash);
/* The same for 1 to 7 bytes, of which the first is the lowest of 'bytes', with zeros above the last: much faster. */
Name intern_short(Interner *names, uint64_t bytes, size_t length);
Name intern_find(const Interner *names, const char *text, size_t length); /* NULL if it was never interned */

/* The hash of a text whose last 1 to 7 bytes are 'bytes', with zeros above them. Names that differ in the lowest bits
 * of their last character get neighbouring hashes: %r16 and %r17 are used together, so they share a cache line. */
static inline uint32_t name_hash_end(uint64_t hash, uint64_t bytes)
{
    unsigned last = 56 - ((unsigned)__builtin_clzll(bytes) & ~7u);
    uint64_t low = bytes >> last & (NAME_NEIGHBOURS - 1);
    return ((uint32_t)hash_mix(hash, bytes ^ low << last) & ~(uint32_t)(NAME_NEIGHBOURS - 1)) | (uint32_t)low;
}

/* Precedes the text of an interned name in memory; zeros follow the text, up to a multiple of 16 bytes. */
typedef struct NameHead {
    uint32_t hash, length;
    void *slot; /* the parser's, while it runs: what it has bound to the name */
} NameHead;
static inline NameHead *name_head(Name name) { return (NameHead *)(uintptr_t)name - 1; }
static inline size_t name_length(Name name) { return name_head(name)->length; }

#endif
