#include "engine/judge/entries.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The most bytes of machine code that are kept, for predictions. */
static const size_t most_kept = (size_t)64 << 20;

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

/* A hash of everything besides the text that determines an assembler's figures: the assembler itself and its
 * options. */
static uint64_t hash_setting(const AssemblerJudge *judge)
{
    Buf setting = {0};
    static const char figures[] = "2"; /* increment this when the meaning of the stored figures changes */
    const char *path = assembler_path(judge->assembler);
    struct stat file = {0};
    if (stat(path, &file) != 0)
        memset(&file, 0, sizeof file);
    buf_printf(&setting, "%s %s %s %s %lld %lld %s -O%d", figures, assembler_name(judge->assembler),
               assembler_version(judge->assembler), path, (long long)file.st_size, (long long)file.st_mtime,
               judge->arch ? judge->arch : assembler_arch(judge->assembler), judge->opt_level);
    uint64_t hash = hash_fnv(buf_text(&setting), setting.length, HASH_START);
    for (const char *const *word = assembler_options(judge->assembler); word && *word; word++)
        hash = assembler_option_hash(*word, hash);
    buf_free(&setting);
    return hash;
}

TextKey text_key_of(AssemblerJudge *judge, const char *text, size_t length, const char *kernel, const Tuning *tuning)
{
    if (!judge->setting)
        judge->setting = hash_setting(judge) | 1;
    TextKey key = {length, hash_fnv(text, length, judge->setting), hash_words(text, length)};
    key.first = hash_fnv(kernel, strlen(kernel), key.first);
    Arena *scratch = arena_new();
    for (const char *const *word = knobs_words(scratch, tuning->knobs, tuning->controls); word && *word; word++)
        key.first = assembler_option_hash(*word, key.first);
    arena_free(scratch);
    return key;
}

/* A hash that is never 0, which a map does not allow as a key. */
static uint64_t key_hash(const TextKey *key)
{
    return hash_mix(key->first, key->second) | 1;
}

JudgeEntry *judge_entry_find(const AssemblerJudge *judge, const TextKey *key)
{
    const uint64_t *found = map_get(&judge->entries, key_hash(key));
    JudgeEntry *entry = found ? (JudgeEntry *)(uintptr_t)*found : NULL;
    while (entry && memcmp(&entry->key, key, sizeof *key) != 0)
        entry = entry->next;
    return entry;
}

JudgeEntry *judge_entry_add(AssemblerJudge *judge, const TextKey *key, const Figures *figures)
{
    const uint64_t *others = map_get(&judge->entries, key_hash(key));
    JudgeEntry *entry = ARENA_NEW(judge->arena, JudgeEntry);
    *entry = (JudgeEntry){
        .key = *key, .figures = *figures, .next = others ? (JudgeEntry *)(uintptr_t)*others : NULL};
    map_put(&judge->entries, key_hash(key), pointer_key(entry));
    return entry;
}

void judge_entry_keep_cubin(AssemblerJudge *judge, JudgeEntry *entry, const Assembly *assembly, bool is_numbered)
{
    const bool keeps_code = judge->basis || judge->keeps_code;
    if (!keeps_code || !assembly->cubin || assembly->cubin_size > most_kept - judge->kept_bytes)
        return;
    void *cubin = malloc(assembly->cubin_size);
    if (!cubin)
        return;
    memcpy(cubin, assembly->cubin, assembly->cubin_size);
    if (entry->cubin) {
        judge->kept_bytes -= entry->cubin_size;
        free(entry->cubin);
    } else {
        entry->older = judge->kept;
        judge->kept = entry;
    }
    entry->cubin = cubin;
    entry->cubin_size = assembly->cubin_size;
    entry->is_numbered = is_numbered;
    judge->kept_bytes += entry->cubin_size;
}

JudgeCubin assembler_judge_cubin(AssemblerJudge *judge, const Source *text, const Function *kernel)
{
    const TextKey key = text_key_of(judge, text->text, text->size, kernel->name, &kernel->tuning);
    const JudgeEntry *entry = judge_entry_find(judge, &key);
    if (!entry || !entry->cubin)
        return (JudgeCubin){0};
    return (JudgeCubin){entry->cubin, entry->cubin_size, entry->is_numbered};
}
