#include "cli/judge.h"

#include <string.h>

#include "cli/machine_cost.h"
#include "emit/emit.h"

/* A text is identified by its length and two 64-bit hashes; a false match would need all three. */
typedef struct TextKey {
    uint64_t length, first, second;
} TextKey;

typedef struct JudgeEntry {
    TextKey key;
    Figures figures;
    struct JudgeEntry *next; /* with the same hash */
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

/* Includes the kernel's name, since one text can hold several kernels. */
static TextKey key_of(const char *text, size_t length, const char *kernel)
{
    TextKey key = {length, hash_bytes(text, length, UINT64_C(0xcbf29ce484222325)), hash_words(text, length)};
    key.first = hash_bytes(kernel, strlen(kernel), key.first);
    return key;
}

/* Never 0, which no key of a map may be. */
static uint64_t key_hash(const TextKey *key)
{
    return hash_mix(key->first, key->second) | 1;
}

static JudgeEntry *entry_find(const AssemblerJudge *judge, const TextKey *key)
{
    const uint64_t *found = map_get(&judge->entries, key_hash(key));
    JudgeEntry *entry = found ? (JudgeEntry *)(uintptr_t)*found : NULL;
    while (entry && memcmp(&entry->key, key, sizeof *key) != 0)
        entry = entry->next;
    return entry;
}

static void entry_add(AssemblerJudge *judge, const TextKey *key, const Figures *figures)
{
    const uint64_t *others = map_get(&judge->entries, key_hash(key));
    JudgeEntry *entry = ARENA_NEW(judge->arena, JudgeEntry);
    *entry = (JudgeEntry){*key, *figures, others ? (JudgeEntry *)(uintptr_t)*others : NULL};
    map_put(&judge->entries, key_hash(key), pointer_key(entry));
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
        figures.message =
            arena_printf(judge->arena, "%s reports no figures for %s", assembler_name(judge->assembler), kernel);
    else
        figures.broke = assembly_broke(assembly.failure);
    if (!done)
        figures.message = arena_printf(judge->arena, "%s: %s", assembly_failure_word(assembly.failure),
                                       assembly.message ? assembly.message : "no reason given");
    arena_free(scratch);
    return figures;
}

void judge_print_form(const FunctionForm *form, Buf *text)
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
    judge_print_form(form, &text);
    TextKey key = key_of(buf_text(&text), text.length, kernel);
    const JudgeEntry *entry = entry_find(judge, &key);
    if (entry) {
        judge->repeats++;
        *out = entry->figures;
    } else {
        *out = text_measure(judge, &text, kernel);
        entry_add(judge, &key, out);
    }
    buf_free(&text);
    return out->known;
}

static Prediction form_predict(void *context, const FunctionForm *form, const Figures *figures,
                               const unsigned factor[3])
{
    AssemblerJudge *judge = context;
    if (!judge->basis)
        return (Prediction){0};
    FormCost cost = machine_cost(judge, judge->basis, form, figures, factor, NULL);
    if (!cost.known)
        return (Prediction){0};
    return (Prediction){true, cost.profile->machine != NULL, cost.time.cycles, profile_executed(cost.profile),
                        cost.time.resident_warps};
}

void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler)
{
    *judge = (AssemblerJudge){.assembler = assembler, .opt_level = 3, .arena = arena, .entries = {.arena = arena}};
    judge->judge = (Judge){.context = judge, .measure = form_measure, .predict = form_predict};
}
