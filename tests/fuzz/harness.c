/* Chooses the harness, limits its time, and checks the properties that all of them share. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emit/emit.h"
#include "parser/parser.h"

#include "fuzz.h"

/* Sanitizers and coverage make the program about ten times slower; the bounds allow another factor of ten for slow
 * machines. */
const Harness harnesses[] = {
    {"lexer", harness_lexer, false, 1, 20e-6},
    {"parser", harness_parser, false, 1, 50e-6},
    {"text", harness_text, false, 2, 200e-6},
    {"body", harness_body, false, 3, 500e-6},
    {"passes", harness_passes, false, 5, 2e-3},
    {"meaning", harness_meaning, false, 10, 2e-3},
    {"launch", harness_launch, true, 2, 50e-6},
};
const size_t harness_count = COUNT_OF(harnesses);

static const Harness *chosen;

void property_broken(const char *format, ...)
{
    va_list arguments;
    fputs("fuzz: property broken: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

/* The harness is the last part of the program's name: build/fuzz/parser is a link to build/fuzz/fuzz. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    const char *name = strrchr((*argv)[0], '/');
    name = name ? name + 1 : (*argv)[0];
    for (size_t i = 0; i < harness_count; i++)
        if (strcmp(harnesses[i].name, name) == 0)
            chosen = &harnesses[i];
    if (chosen)
        return 0;
    fprintf(stderr, "fuzz: run this by the name of a harness:");
    for (size_t i = 0; i < harness_count; i++)
        fprintf(stderr, " %s", harnesses[i].name);
    fputc('\n', stderr);
    exit(2);
}

static double seconds_used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double begin = seconds_used(), limit = chosen->seconds + chosen->byte_seconds * (double)size;
    chosen->run((const char *)data, size);
    double used = seconds_used() - begin;
    if (used > limit)
        property_broken("%s took %.2f s for %zu bytes, and %.2f s is the bound", chosen->name, used, size, limit);
    return 0;
}

enum { MODULE_BASE = 1 << 20, MODULE_BYTES_PER_BYTE = 1000 };

Module *text_parse(const char *name, const char *text, size_t size)
{
    static FILE *nowhere; /* opened once for all inputs */
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    Arena *arena = arena_new();
    Source *source = source_from_memory(arena, name, text, size);
    Diag diag;
    diag_init(&diag, source, nowhere);
    Module *module = parse_module(arena, source, &diag);
    if (!module != (diag.errors > 0))
        property_broken("%s: %s with %u errors", name, module ? "accepted" : "refused", diag.errors);
    if (arena_bytes(arena) > MODULE_BASE + size * MODULE_BYTES_PER_BYTE)
        property_broken("%s: %zu bytes of memory for %zu bytes of text", name, arena_bytes(arena), size);
    if (!module)
        arena_free(arena);
    return module;
}

void module_discard(Module *module)
{
    if (!module)
        return;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION)
            function_set_body(module->items.data[i].function, NULL);
    arena_free(module->arena);
}

Module *printed_parse(const char *what, const Buf *text)
{
    Module *module = text_parse(what, buf_text(text), text->length);
    if (module)
        return module;
    /* Again, to print the messages. */
    Arena *arena = arena_new();
    Diag diag;
    diag_init(&diag, source_from_memory(arena, what, buf_text(text), text->length), stderr);
    parse_module(arena, diag.source, &diag);
    fprintf(stderr, "%s\n", buf_text(text));
    property_broken("the %s is refused", what);
}

void texts_compare(const char *what, const Buf *expected, const Buf *actual)
{
    const char *a = buf_text(expected), *b = buf_text(actual);
    if (expected->length == actual->length && memcmp(a, b, expected->length) == 0)
        return;
    size_t begin = 0, line = 1;
    for (size_t i = 0; i < expected->length && i < actual->length && a[i] == b[i]; i++)
        if (a[i] == '\n') {
            line++;
            begin = i + 1;
        }
    property_broken("%s: line %zu differs: '%.*s' became '%.*s'", what, line, (int)strcspn(a + begin, "\n"), a + begin,
                    (int)strcspn(b + begin, "\n"), b + begin);
}
