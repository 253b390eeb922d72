/* Recognizes files that are easily mistaken for PTX, so that a message can name their kind: binaries by their magic
 * numbers, other languages by beginnings that PTX cannot have. */
#include <stdio.h>
#include <string.h>

#include "engine/input.h"

enum {
    ELF_HEADER = 20, /* bytes up to and including e_machine */
    EM_CUDA = 190,
};

static bool begins(const Source *source, size_t offset, const char *text, size_t length)
{
    return source->size - offset >= length && memcmp(source->text + offset, text, length) == 0;
}

#define BEGINS(offset, text) begins(source, offset, text, sizeof(text) - 1)

static const char *binary_kind(const Source *source)
{
    if (BEGINS(0, "\x7F" "ELF")) {
        bool is_cuda = source->size >= ELF_HEADER && (unsigned char)source->text[18] == EM_CUDA;
        return is_cuda ? "a cubin; PTX cannot be recovered from it"
                       : "an ELF file; 'cuobjdump -ptx' extracts the PTX that it may contain";
    }
    if (BEGINS(0, "\x50\xED\x55\xBA") || BEGINS(0, "\xB1\x43\x62\x46"))
        return "a fat binary; 'cuobjdump -ptx' extracts the PTX that it may contain";
    if (BEGINS(0, "BC\xC0\xDE") || BEGINS(0, "\xDE\xC0\x17\x0B"))
        return "LLVM bitcode; compile it with 'llc -march=nvptx64'";
    return NULL;
}

/* The offset of the first byte that is neither blank nor in a comment. */
static size_t skip_comments(const Source *source)
{
    const char *at = source->text, *end = at + source->size;
    for (;;) {
        at += strspn(at, " \t\n\r\f\x1A");
        const char *after = NULL;
        if (at[0] == '/' && at[1] == '/')
            after = memchr(at, '\n', (size_t)(end - at));
        else if (at[0] == '/' && at[1] == '*')
            after = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
        if (!after)
            return (size_t)(at - source->text);
        at = after + (*after == '*' ? 2 : 1);
    }
}

static bool contains(const Source *source, const char *word)
{
    return memmem(source->text, source->size, word, strlen(word)) != NULL;
}

/* The language of the text, if it is not PTX, which begins with a directive, or with a line marker before it. */
static const char *language(const Source *source)
{
    size_t offset = skip_comments(source);
    if (offset == source->size || BEGINS(offset, "."))
        return NULL;
    if (BEGINS(offset, "; ModuleID") || BEGINS(offset, "source_filename =") || BEGINS(offset, "target datalayout") ||
        BEGINS(offset, "target triple") || BEGINS(offset, "define ") || BEGINS(offset, "declare "))
        return "LLVM IR; compile it with 'llc -march=nvptx64'";
    if (!contains(source, ".version") && (contains(source, "__global__") || contains(source, "__device__")))
        return "CUDA source code; compile it with 'nvcc -ptx'";
    return NULL;
}

bool input_is_ptx(Source *source, FILE *messages)
{
    const char *kind = binary_kind(source);
    if (!kind)
        kind = language(source);
    if (kind) {
        fprintf(messages, "ptxopt: error: '%s' is not PTX but %s\n", source->path, kind);
        return false;
    }
    if (source->size && source->text[source->size - 1] == 0)
        source->size--;
    return true;
}

Source *input_read(Arena *arena, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    if (!source) {
        fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", path, error);
        return NULL;
    }
    return input_is_ptx(source, stderr) ? source : NULL;
}
