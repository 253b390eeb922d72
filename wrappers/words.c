/* Lists of words: splitting, quoting, and the files of options that ptxas and nvcc read. */
#include <ctype.h>

#include "wrappers/wrappers.h"

enum { DEEPEST_FILE = 20 };

void words_add(Arena *arena, Words *words, const char *word)
{
    VEC_PUSH(arena, *words, word);
}

void words_add_all(Arena *arena, Words *words, const Words *more)
{
    for (size_t i = 0; i < more->count; i++)
        words_add(arena, words, more->data[i]);
}

char **words_argv(Arena *arena, Words *words)
{
    words_add(arena, words, NULL);
    words->count--;
    return (char **)words->data;
}

/* Reads one word from **at into 'word'. False at the end of the text, or with *error set. */
static bool word_read(const char **at, Quoting quoting, Buf *word, const char **error)
{
    const char *c = *at;
    while (isspace((unsigned char)*c))
        c++;
    bool found = *c != 0;
    char quote = 0;
    buf_clear(word);
    for (; *c && (quote || !isspace((unsigned char)*c)); c++) {
        bool quotes = *c == '"' || (*c == '\'' && quoting == QUOTING_SHELL);
        if (quote && *c == quote)
            quote = 0;
        else if (!quote && quotes)
            quote = *c;
        else if (*c == '\\' && quote != '\'' && c[1])
            buf_putc(word, *++c);
        else
            buf_putc(word, *c);
    }
    if (quote)
        *error = quote == '"' ? "a \" is not closed" : "a ' is not closed";
    *at = c;
    return found && !quote;
}

const char *words_split(Arena *arena, const char *text, Quoting quoting, Words *words)
{
    Buf word = {0};
    const char *error = NULL;
    while (word_read(&text, quoting, &word, &error))
        words_add(arena, words, arena_strndup(arena, buf_text(&word), word.length));
    buf_free(&word);
    return error;
}

const char *word_quoted(Arena *arena, const char *word)
{
    Buf text = {0};
    buf_putc(&text, '\'');
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            buf_puts(&text, "'\\''");
        else
            buf_putc(&text, *c);
    }
    buf_putc(&text, '\'');
    return buf_take(arena, &text);
}

const char *word_option(const char *word, const char *name)
{
    size_t length = strlen(name);
    if (word[0] != '-')
        return NULL;
    word += word[1] == '-' ? 2 : 1;
    if (strncmp(word, name, length) != 0 || (word[length] && word[length] != '='))
        return NULL;
    return word[length] ? word + length + 1 : word + length;
}

bool word_is_one_of(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (word_option(word, names[i]))
            return true;
    return false;
}

static const char *expand(Arena *arena, const Words *words, unsigned depth, Words *all, bool *expanded);

/* FILE[,FILE...] */
static const char *expand_files(Arena *arena, const char *files, unsigned depth, Words *all, bool *expanded)
{
    while (*files) {
        size_t length = strcspn(files, ",");
        const char *name = arena_strndup(arena, files, length), *error = NULL;
        Source *source = depth < DEEPEST_FILE ? source_read(arena, name, &error) : NULL;
        Words inner = {0};
        if (!source)
            return arena_printf(arena, "options file '%s': %s", name, error ? error : "files include each other");
        error = words_split(arena, source->text, QUOTING_OPTIONS, &inner);
        if (error)
            return arena_printf(arena, "options file '%s': %s", name, error);
        error = expand(arena, &inner, depth + 1, all, expanded);
        if (error)
            return error;
        files += length + (files[length] == ',');
    }
    return NULL;
}

static const char *expand(Arena *arena, const Words *words, unsigned depth, Words *all, bool *expanded)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *files = word_option(words->data[i], "optf");
        if (!files)
            files = word_option(words->data[i], "options-file");
        if (!files) {
            words_add(arena, all, words->data[i]);
            continue;
        }
        if (!*files && i + 1 < words->count)
            files = words->data[++i];
        *expanded = true;
        const char *error = expand_files(arena, files, depth, all, expanded);
        if (error)
            return error;
    }
    return NULL;
}

const char *words_expand_files(Arena *arena, const Words *words, Words *all, bool *expanded)
{
    *expanded = false;
    return expand(arena, words, 0, all, expanded);
}
