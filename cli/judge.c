#include "cli/judge.h"

#include <string.h>

#include "emit/emit.h"

/* A text is known by its length and two hashes of 64 bits: a false match would need all three. */
typedef struct TextKey {
    uint64_t length, first, second;
} TextKey;

typedef struct JudgeEntry {
    bool used;
    TextKey key;
    Figures figures;
} JudgeEntry;

static uint64_t hash_bytes(const char *text, size_t length, uint64_t hash)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t hash_words(const char *text, size_t length)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        memcpy(&word, text + i, length - i < 8 ? length - i : 8);
        hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
    }
    return hash;
}

/* The kernel's name counts too: one text can hold several kernels. */
static TextKey key_of(const char *text, size_t length, const char *kernel)
{
    TextKey key = {length, hash_bytes(text, length, UINT64_C(0xcbf29ce484222325)), hash_words(text, length)};
    key.first = hash_bytes(kernel, strlen(kernel), key.first);
    return key;
}

static JudgeEntry *entry_place(JudgeEntry *entries, size_t capacity, const TextKey *key)
{
    size_t place = (size_t)key->first & (capacity - 1);
    while (entries[place].used && memcmp(&entries[place].key, key, sizeof *key) != 0)
        place = (place + 1) & (capacity - 1);
    return &entries[place];
}

static void entries_grow(AssemblerJudge *judge)
{
    size_t capacity = judge->entry_capacity ? 2 * judge->entry_capacity : 256;
    JudgeEntry *entries = ARENA_ARRAY(judge->arena, JudgeEntry, capacity);
    for (size_t i = 0; i < judge->entry_capacity; i++)
        if (judge->entries[i].used)
            *entry_place(entries, capacity, &judge->entries[i].key) = judge->entries[i];
    judge->entries = entries;
    judge->entry_capacity = capacity;
}

Figures figures_of_resources(const Resources *resources)
{
    return (Figures){
        .known = true,
        .registers = resources->registers,
        .barriers = resources->barriers,
        .spill_stores = resources->spill_stores,
        .spill_loads = resources->spill_loads,
        .stack = resources->stack,
        .shared = resources->shared,
        .constant = resources->constant,
        .instructions = resources->instructions,
    };
}

static Figures text_measure(AssemblerJudge *judge, const Buf *text, const char *kernel)
{
    Arena *scratch = arena_new();
    AssemblyRequest request = assembly_request(buf_text(text), text->length);
    Assembly assembly;
    Figures figures = {0};
    request.arch = judge->arch;
    request.opt_level = judge->opt_level;
    request.timeout_ms = judge->timeout_ms;
    bool done = assembler_run(judge->assembler, scratch, &request, &assembly);
    judge->calls++;
    judge->seconds += assembly.seconds;
    const Resources *resources = done ? assembly_find(&assembly, kernel) : NULL;
    if (resources)
        figures = figures_of_resources(resources);
    else if (done)
        figures.message = arena_printf(judge->arena, "%s says nothing of %s", assembler_name(judge->assembler), kernel);
    else
        figures.message = arena_printf(judge->arena, "%s: %s", assembly_failure_word(assembly.failure),
                                       assembly.message ? assembly.message : "no reason given");
    arena_free(scratch);
    return figures;
}

static void form_print(const FunctionForm *form, Buf *text)
{
    if (!form->body || !form->body->ssa) {
        emit_module_with(form->function->module, form, text);
        return;
    }
    FunctionForm printed = *form;
    Body *copy = body_clone(form->body);
    body_from_ssa(copy);
    printed.body = copy;
    emit_module_with(form->function->module, &printed, text);
    body_free(copy);
}

static bool form_measure(void *context, const FunctionForm *form, Figures *out)
{
    AssemblerJudge *judge = context;
    const char *kernel = form->function->name;
    Buf text = {0};
    form_print(form, &text);
    TextKey key = key_of(buf_text(&text), text.length, kernel);
    if (4 * (judge->entry_count + 1) > 3 * judge->entry_capacity)
        entries_grow(judge);
    JudgeEntry *entry = entry_place(judge->entries, judge->entry_capacity, &key);
    if (entry->used) {
        judge->repeats++;
    } else {
        Figures figures = text_measure(judge, &text, kernel);
        *entry = (JudgeEntry){true, key, figures};
        judge->entry_count++;
    }
    *out = entry->figures;
    buf_free(&text);
    return out->known;
}

void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler)
{
    *judge = (AssemblerJudge){.assembler = assembler, .opt_level = 3, .arena = arena};
    judge->judge = (Judge){judge, form_measure};
}
