/* -ptx-version: the module as one of an older PTX version, for drivers and assemblers that cannot read the newer one.
 *
 * Only the words after .version and .target change, before the module is parsed; the parser then reports whatever the
 * older version does not have, with its place. */
#include <stdlib.h>
#include <string.h>

#include "engine/run_steps.h"

static const char *skip_comment(const char *at)
{
    const bool is_line = at[1] == '/';
    const char *end = strstr(at + 2, is_line ? "\n" : "*/");
    return end ? end + (is_line ? 1 : 2) : at + strlen(at);
}

/* The next word of the header, or the end of the text. */
static const char *skip_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n\f");
        if (at[0] != '/' || (at[1] != '/' && at[1] != '*'))
            return at;
        at = skip_comment(at);
    }
}

static size_t word_length(const char *at) { return strcspn(at, " \t\r\n\f,;/"); }

/* The word after a directive, if the text goes on with that; else NULL. */
static const char *after_directive(const char *at, const char *directive)
{
    const size_t length = strlen(directive);
    return strncmp(at, directive, length) == 0 && word_length(at) == length ? skip_blanks(at + length) : NULL;
}

/* Times 10; 0 if the word is no version. */
static unsigned read_version(const char *at)
{
    char *end;
    const unsigned long major = strtoul(at, &end, 10);
    const unsigned minor = *end == '.' ? (unsigned)(end[1] - '0') : 10;
    return minor < 10 && major < 100 ? (unsigned)major * 10 + minor : 0;
}

/* The newest architecture up to 'arch' whose target with this suffix the version has; for 'f', of the same family. 0:
 * none. */
static unsigned older_target(Arch arch, char suffix, unsigned version)
{
    size_t count;
    unsigned found = 0;
    const Architecture *list = architecture_list(&count);
    for (size_t i = 0; i < count && list[i].number <= arch.number; i++) {
        const unsigned since = architecture_version(&list[i], suffix);
        if (since && since <= version && (suffix != 'f' || list[i].number / 10 == arch.number / 10))
            found = list[i].number;
    }
    return found;
}

/* The target as the version has it: itself; or else an older one of its family, if its suffix allows what only they
 * have; or else any older one. */
static const char *lower_target(Arena *arena, const char *word, size_t length, unsigned version)
{
    const char *target = arena_strndup(arena, word, length);
    Arch arch;
    if (!arch_parse(target, &arch))
        return target;
    const Architecture *architecture = architecture_find(arch.number);
    const unsigned needed = architecture ? architecture_version(architecture, arch.suffix) : 0;
    if (needed && needed <= version)
        return target;
    const unsigned relative = arch.suffix ? older_target(arch, 'f', version) : 0;
    const unsigned older = relative ? relative : older_target(arch, 0, version);
    return older ? arena_printf(arena, "sm_%u%s", older, relative ? "f" : "") : target;
}

/* The text with one word of it replaced. */
typedef struct Edit {
    const char *begin, *end, *text;
} Edit;

static Source *apply(Arena *arena, const Source *source, const Edit *edits, size_t count)
{
    Buf text = {0};
    const char *at = source->text;
    for (size_t i = 0; i < count; i++) {
        buf_write(&text, at, (size_t)(edits[i].begin - at));
        buf_puts(&text, edits[i].text);
        at = edits[i].end;
    }
    buf_write(&text, at, (size_t)(source->text + source->size - at));
    Source *result = source_from_memory(arena, source->path, text.data, text.length);
    result->compiled_file = source->compiled_file;
    buf_free(&text);
    return result;
}

void lower_version(Run *run)
{
    const unsigned wanted = run->options->ptx_version;
    const char *version = after_directive(skip_blanks(run->source->text), ".version");
    Edit edits[2];
    size_t count = 0;
    if (!wanted || !version || read_version(version) <= wanted)
        return;
    const char *version_end = version + word_length(version);
    edits[count++] = (Edit){version, version_end, arena_printf(run->arena, "%u.%u", wanted / 10, wanted % 10)};
    const char *target = after_directive(skip_blanks(version_end), ".target");
    if (target)
        edits[count++] = (Edit){target, target + word_length(target),
                                lower_target(run->arena, target, word_length(target), wanted)};
    run->source = apply(run->arena, run->source, edits, count);
}
