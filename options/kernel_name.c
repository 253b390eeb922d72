#include "options/kernel_name.h"

#include <fnmatch.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* The readable form of a mangled name can be exponentially longer. */
enum { LONGEST_MANGLED = 4096, LONGEST_DEMANGLED = 16384 };

typedef struct Demangling {
    Buf text;
    jmp_buf too_long;
} Demangling;

static void append(const char *piece, size_t length, void *opaque)
{
    Demangling *demangling = opaque;
    if (demangling->text.length + length > LONGEST_DEMANGLED)
        longjmp(demangling->too_long, 1);
    buf_write(&demangling->text, piece, length);
}

/* The demangler allocates on the stack only, so it may be left at any time. */
static bool demangle(const char *mangled, int options, Demangling *demangling)
{
    if (setjmp(demangling->too_long))
        return false;
    return cplus_demangle_v3_callback(mangled, options, append, demangling);
}

const char *kernel_name_demangled(Arena *arena, const char *mangled, bool parameters)
{
    if (strncmp(mangled, "_Z", 2) != 0 || strlen(mangled) > LONGEST_MANGLED)
        return NULL;
    Demangling demangling = {0};
    int options = DMGL_ANSI | DMGL_RET_DROP | (parameters ? DMGL_PARAMS : 0);
    const char *text = NULL;
    if (demangle(mangled, options, &demangling))
        text = arena_strndup(arena, buf_text(&demangling.text), demangling.text.length);
    buf_free(&demangling.text);
    return text;
}

static bool matches(const char *written, const char *name)
{
    return name && (strcmp(written, name) == 0 || (strpbrk(written, "*?[") && fnmatch(written, name, 0) == 0));
}

bool kernel_name_matches(const char *written, const char *mangled)
{
    if (matches(written, mangled))
        return true;
    Arena *scratch = arena_new();
    bool found = matches(written, kernel_name_demangled(scratch, mangled, false)) ||
                 matches(written, kernel_name_demangled(scratch, mangled, true));
    arena_free(scratch);
    return found;
}

const char *kernel_name_end(const char *list)
{
    unsigned depth = 0;
    const char *at = list;
    for (; *at && (depth || *at != ','); at++) {
        depth += strchr("<([", *at) != NULL;
        depth -= depth && strchr(">)]", *at);
    }
    return depth ? list + strcspn(list, ",") : at;
}
