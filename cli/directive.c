#include "cli/directive.h"

#include <string.h>

#include "cli/options_read.h"

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

static void read_words(Arena *arena, char *text, Directive *directive)
{
    char *rest = text;
    const char *word = next_word(&rest);
    if (!word || strcmp(word, "coarsen") != 0) {
        directive->error = "expected 'coarsen'";
        return;
    }
    word = next_word(&rest);
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
    equal &= memcmp(a->coarsen.factor, b->coarsen.factor, sizeof a->coarsen.factor) == 0;
    equal &= memcmp(a->coarsen.merged, b->coarsen.merged, sizeof a->coarsen.merged) == 0;
    return equal && (!a->stride_given ||
                     (a->stride.kind == b->stride.kind &&
                      (a->stride.kind != STRIDE_NUMBER || a->stride.number == b->stride.number)));
}

Directive directive_find(Arena *arena, const Function *kernel)
{
    const char *text = kernel->module->source->text;
    const char *end = text + kernel->braces.end;
    Directive found = {0};
    for (const char *at = text + kernel->braces.begin; at < end && !found.error;) {
        const char *after = skip_quoted(at, end);
        if ((size_t)(after - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0) {
            Directive one = {.span = {(uint32_t)(at - text), (uint32_t)(after - text)}};
            one.span.end -= after[-1] == '\n';
            const char *words = at + sizeof mark - 1;
            read_words(arena, arena_strndup(arena, words, one.span.end - (uint32_t)(words - text)), &one);
            if (found.span.end && !one.error && !same(&found, &one))
                one.error = "another directive of the kernel says something else";
            found = one;
        }
        at = after > at ? after : at + 1;
    }
    return found;
}
