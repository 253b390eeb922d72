/* Source texts with line maps, and files that are written whole or not at all. */
#ifndef PTXOPT_SUPPORT_SOURCE_H
#define PTXOPT_SUPPORT_SOURCE_H

#include "support/memory.h"

/* Two for flex, the others for code that loads several bytes at once. */
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
    unsigned compiled_file; /* positions are those in this file of its .loc directives (compiled.c); or 0 */
} Source;

typedef struct Position {
    uint32_t line, column; /* from 1; the column counts bytes */
} Position;

/* Bytes of the largest text that is read: its scanner counts in int. */
#define SOURCE_LIMIT ((size_t)INT32_MAX - 2)

/* Takes a copy of the text. The source's memory is the arena's, which must outlive it. */
Source *source_from_memory(Arena *arena, const char *path, const char *text, size_t size);
/* Reads a file, or standard input for "-". NULL on failure, with *error set to a message without the path. */
Source *source_read(Arena *arena, const char *path, const char **error);
/* The line map is built when a position is first asked for: a file without a mistake never needs it. */
Position source_position(const Source *source, uint32_t offset);
/* The same in the text itself, whatever it was compiled from. */
Position source_text_position(const Source *source, uint32_t offset);
/* The source was compiled from the file of that name, which messages are to name: with its lines, where the source has
 * them, or else as "PTX of NAME". */
void source_compiled_from(Arena *arena, Source *source, const char *name);
/* The place that an offset was compiled from; false if it is not known. */
bool compiled_position(const Source *source, uint32_t offset, Position *position);
/* Line 'line', from 1, with its line end. */
Span source_line_span(const Source *source, uint32_t line);

/* Writes to a temporary name beside 'path' and renames; a symbolic link stays, and its target is written. "-" is
 * standard output, and /dev/stdout, /dev/stderr and /dev/fd/N are the descriptors of this program, wherever they
 * lead. A path that is not a regular file (a pipe, /dev/null) is written in place. NULL when done, else a message
 * in the arena, and no file is left over. */
const char *write_file(Arena *arena, const char *path, const void *bytes, size_t length);

#endif
