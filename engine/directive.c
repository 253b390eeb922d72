#include "engine/directive.h"

#include <string.h>

#include "options/options.h"

static const char mark[] = "// ptxopt:";

/* The end of the comment or string that begins here; 'at' itself if none does. */
static const char *skip_quoted(const char *at, const char *end)
{
    const char *close = NULL;
    size_t length = 1;
    if (*at == '"') {
        close = memchr(at + 1, '"', (size_t)(end - at - 1));
    } else if (end - at > 1 && at[0] == '/' && at[1] == '*') {
        length = 2;
        close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
    } else if (end - at > 1 && at[0] == '/' && at[1] == '/') {
        close = memchr(at, '\n', (size_t)(end - at));
    } else {
        return at;
    }
    return close ? close + length : end;
}

/* Cuts the next word off a directive; NULL at its end. */
static const char *next_word(char **rest)
{
    static const char blanks[] = " \t\r";
    char *word = *rest + strspn(*rest, blanks);
    size_t length = strcspn(word, blanks);
    *rest = word + length + (word[length] != 0);
    word[length] = 0;
    return length ? word : NULL;
}

static void read_coarsen(Arena *arena, char *rest, Directive *directive)
{
    const char *word = next_word(&rest);
    directive->error = coarsen_factors_read(arena, word ? word : "", &directive->coarsen);
    word = directive->error ? NULL : next_word(&rest);
    if (word && strcmp(word, "stride") == 0) {
        word = next_word(&rest);
        directive->stride_given = true;
        if (!word || !stride_read(word, &directive->stride))
            directive->error = "after 'stride', expected 'block', 'unit' or a number of threads";
        word = directive->error ? NULL : next_word(&rest);
    }
    if (word)
        directive->error = arena_printf(arena, "expected nothing more, or 'stride', instead of '%s'", word);
}

static bool same(const Directive *a, const Directive *b)
{
    bool equal = a->coarsen.is_auto == b->coarsen.is_auto && a->stride_given == b->stride_given;
    equal &= shape_is_equal(&a->coarsen.shape, &b->coarsen.shape);
    return equal && (!a->stride_given ||
                     (a->stride.kind == b->stride.kind &&
                      (a->stride.kind != STRIDE_NUMBER || a->stride.number == b->stride.number)));
}

/* A comment that begins with the mark, cut into words. */
typedef struct Comment {
    Span span;
    const char *first; /* NULL: no word */
    char *rest;
} Comment;

/* The next such comment of the kernel from *at on, which is moved past it; false if there is none. */
static bool comment_next(Arena *arena, const Function *kernel, const char **at, Comment *out)
{
    const char *text = kernel->module->source->text, *end = text + kernel->braces.end;
    while (*at < end) {
        const char *begin = *at, *after = skip_quoted(begin, end);
        *at = after > begin ? after : begin + 1;
        if ((size_t)(after - begin) < sizeof mark - 1 || memcmp(begin, mark, sizeof mark - 1) != 0)
            continue;
        out->span = (Span){(uint32_t)(begin - text), (uint32_t)(after - text)};
        out->span.end -= after[-1] == '\n';
        const char *words = begin + sizeof mark - 1;
        out->rest = arena_strndup(arena, words, out->span.end - (uint32_t)(words - text));
        out->first = next_word(&out->rest);
        return true;
    }
    return false;
}

static const char *braces_begin(const Function *kernel)
{
    return kernel->module->source->text + kernel->braces.begin;
}

static bool is_word(const char *word, const char *wanted)
{
    return word && strcmp(word, wanted) == 0;
}

Directive directive_find(Arena *arena, const Function *kernel)
{
    Directive found = {0};
    Comment comment;
    for (const char *at = braces_begin(kernel); !found.error && comment_next(arena, kernel, &at, &comment);) {
        Directive one = {.span = comment.span};
        if (is_word(comment.first, "uj"))
            continue;
        if (is_word(comment.first, "coarsen"))
            read_coarsen(arena, comment.rest, &one);
        else
            one.error = "expected 'coarsen' or 'uj'";
        if (found.span.end && !one.error && !same(&found, &one))
            one.error = "another directive of the kernel says something else";
        found = one;
    }
    return found;
}

static void read_loop(Function *kernel, char *rest, LoopDirective *one)
{
    const char *word = next_word(&rest);
    one->jam.loop = unroll_jam_loop_at(kernel, one->span.begin);
    if (!word || !jam_factor_read(word, &one->jam.factor) || next_word(&rest))
        one->error = "after 'uj', expected a number of iterations from 2 to 16";
    else if (!one->jam.loop)
        one->error = "it is in no loop";
}

unsigned directive_loops(Arena *arena, Function *kernel, LoopDirective **out)
{
    VEC(LoopDirective) found = {0};
    Comment comment;
    for (const char *at = braces_begin(kernel); comment_next(arena, kernel, &at, &comment);) {
        LoopDirective one = {.span = comment.span};
        bool is_known = false;
        if (!is_word(comment.first, "uj"))
            continue;
        read_loop(kernel, comment.rest, &one);
        for (size_t i = 0; i < found.count && !one.error; i++) {
            const LoopDirective *other = &found.data[i];
            if (other->error || strcmp(other->jam.loop, one.jam.loop) != 0)
                continue;
            is_known = other->jam.factor == one.jam.factor;
            if (!is_known)
                one.error = "another directive of the loop says something else";
        }
        if (!is_known)
            VEC_PUSH(arena, found, one);
    }
    *out = found.data;
    return (unsigned)found.count;
}
