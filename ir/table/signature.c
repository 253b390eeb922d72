/* Signatures: an opcode with its modifiers, matched against the table once for each spelling in a module. */
#include "ir/table/internal.h"

#include <string.h>

typedef struct SignatureEntry {
    Signature signature; /* first: a pointer to it is one to the entry */
    uint32_t hash;
    bool warned;
} SignatureEntry;

typedef struct SignatureTable { /* open addressing; never more than half full */
    SignatureEntry **entries;
    size_t count, capacity;
} SignatureTable;

static uint32_t hash_spelling(Name opcode, const Name *mods, unsigned mod_count)
{
    uint64_t hash = hash_mix(0, (uintptr_t)opcode);
    for (unsigned i = 0; i < mod_count; i++)
        hash = hash_mix(hash, (uintptr_t)mods[i]);
    return (uint32_t)(hash >> 32);
}

static bool same_spelling(const Signature *signature, Name opcode, const Name *mods, unsigned mod_count)
{
    if (signature->opcode != opcode || signature->mod_count != mod_count)
        return false;
    for (unsigned i = 0; i < mod_count; i++)
        if (signature->mods[i].text != mods[i])
            return false;
    return true;
}

static void table_grow(Module *module, SignatureTable *table)
{
    size_t capacity = table->capacity ? 2 * table->capacity : 256;
    SignatureEntry **entries = ARENA_ARRAY(module->arena, SignatureEntry *, capacity);
    for (size_t i = 0; i < table->capacity; i++) {
        if (!table->entries[i])
            continue;
        size_t at = table->entries[i]->hash & (capacity - 1);
        while (entries[at])
            at = (at + 1) & (capacity - 1);
        entries[at] = table->entries[i];
    }
    table->entries = entries;
    table->capacity = capacity;
}

/* Finds the types, the state space and the vector among the modifiers. */
static void signature_decode(Signature *signature)
{
    signature->vector = 1;
    for (unsigned i = 0; i < signature->mod_count; i++) {
        ModId mod = signature->mods[i].id;
        if (mod_type(mod) && signature->type_count < COUNT_OF(signature->types))
            signature->types[signature->type_count++] = mod_type(mod);
        if (mod_space(mod) && signature->space == SPACE_NONE)
            signature->space = mod_space(mod);
        if (mod_vector(mod))
            signature->vector = mod_vector(mod);
    }
}

static const ModId *documented_order(Arena *arena, const Form *form, const int16_t *choice, unsigned count)
{
    ModId *mods = ARENA_ARRAY(arena, ModId, count);
    unsigned filled = 0;
    for (unsigned i = 0; i < form->element_count; i++) {
        if (choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&form_elements(form)[i])[choice[i]];
        for (unsigned j = 0; j < alternative->mod_count && filled < count; j++)
            mods[filled++] = alternative_mods(alternative)[j];
    }
    return mods;
}

/* Forms whose documented order fits come first, then those that fit in another order; each group in the table's
 * order. */
static void signature_match(Module *module, Signature *signature)
{
    unsigned form_count;
    const Form *first = opcode_first_form(signature->op, &form_count);
    VEC(FormMatch) matches = {0};
    unsigned spaces = 0;
    uint64_t mods = 0;
    if (signature->mod_count > MOST_MODS)
        return;
    for (unsigned i = 0; i < signature->mod_count; i++) {
        spaces += mod_space(signature->mods[i].id) != SPACE_NONE;
        mods |= MOD_BIT(signature->mods[i].id);
    }
    for (int ordered = 1; ordered >= 0; ordered--) {
        for (unsigned i = 0; i < form_count; i++) {
            int16_t choice[MOST_ELEMENTS];
            bool known = false;
            for (size_t j = 0; j < matches.count; j++)
                known |= matches.data[j].form == &first[i];
            if (known || (mods & ~first[i].mods) != 0 ||
                !form_match_mods(&first[i], signature->mods, signature->mod_count, ordered, choice))
                continue;
            FormMatch match = {.form = &first[i], .one_space = spaces <= 1};
            match.slots = form_slots(module->arena, &first[i], choice);
            for (unsigned j = 0; j < first[i].pattern_count; j++)
                match.optional_count += !!(form_patterns(&first[i])[j].flags & PATTERN_OPTIONAL);
            match.unavailable = form_unavailable(module, signature, &first[i], choice, &match.removed);
            if (!ordered)
                match.documented = documented_order(module->arena, &first[i], choice, signature->mod_count);
            VEC_PUSH(module->arena, matches, match);
        }
    }
    signature->matches = matches.data;
    signature->match_count = (unsigned)matches.count;
}

static Name spelling_intern(Module *module, const Signature *signature)
{
    Buf text = {0};
    buf_puts(&text, signature->opcode);
    for (unsigned i = 0; i < signature->mod_count; i++)
        buf_puts(&text, signature->mods[i].text);
    Name spelling = intern_n(module->names, buf_text(&text), text.length);
    buf_free(&text);
    return spelling;
}

const Signature *signature_intern(Module *module, Name opcode, const Name *mods, unsigned mod_count)
{
    SignatureTable *table = module->signatures;
    if (!table)
        module->signatures = table = ARENA_NEW(module->arena, SignatureTable);
    if (2 * table->count >= table->capacity)
        table_grow(module, table);
    uint32_t hash = hash_spelling(opcode, mods, mod_count);
    size_t at = hash & (table->capacity - 1);
    for (; table->entries[at]; at = (at + 1) & (table->capacity - 1))
        if (table->entries[at]->hash == hash && same_spelling(&table->entries[at]->signature, opcode, mods, mod_count))
            return &table->entries[at]->signature;

    SignatureEntry *entry = ARENA_NEW(module->arena, SignatureEntry);
    Signature *signature = &entry->signature;
    entry->hash = hash;
    signature->op = opcode_from_name(opcode);
    signature->opcode = opcode;
    signature->mods = ARENA_ARRAY(module->arena, Mod, mod_count);
    signature->mod_count = mod_count;
    for (unsigned i = 0; i < mod_count; i++)
        signature->mods[i] = (Mod){mod_from_name(mods[i]), mods[i]};
    signature->spelling = spelling_intern(module, signature);
    signature_decode(signature);
    signature_match(module, signature);
    table->entries[at] = entry;
    table->count++;
    return signature;
}

const Signature *signature_parse(Module *module, const char *text)
{
    size_t length = strcspn(text, ".");
    Name opcode = intern_n(module->names, text, length);
    VEC(Name) mods = {0};
    for (text += length; *text; text += length) {
        length = 1 + strcspn(text + 1, ".");
        VEC_PUSH(module->arena, mods, intern_n(module->names, text, length));
    }
    return signature_intern(module, opcode, mods.data, (unsigned)mods.count);
}

const Form *signature_form(const Signature *signature, unsigned index)
{
    return signature->matches[index].form;
}

static Type slot_type(const Slot *slot)
{
    switch (slot->pattern->kind) {
    case PATTERN_PRED:
    case PATTERN_DST_PRED: return TYPE_PRED;
    case PATTERN_INT: return TYPE_B32;
    default: return (Type)slot->type;
    }
}

unsigned signature_operand_types(const Signature *signature, const Form *form, Type *types, unsigned capacity)
{
    unsigned match = 0;
    while (signature->matches[match].form != form)
        match++;
    for (unsigned i = 0; i < form->pattern_count && i < capacity; i++)
        types[i] = slot_type(&signature->matches[match].slots[i]);
    return form->pattern_count;
}

bool signature_first_warning(Module *module, const Signature *signature)
{
    Name mods[MOST_MODS];
    SignatureTable *table = module->signatures;
    if (signature->mod_count > MOST_MODS)
        return true;
    for (unsigned i = 0; i < signature->mod_count; i++)
        mods[i] = signature->mods[i].text;
    uint32_t hash = hash_spelling(signature->opcode, mods, signature->mod_count);
    for (size_t at = hash & (table->capacity - 1); table->entries[at]; at = (at + 1) & (table->capacity - 1)) {
        if (&table->entries[at]->signature != signature)
            continue;
        bool first = !table->entries[at]->warned;
        table->entries[at]->warned = true;
        return first;
    }
    return true;
}
