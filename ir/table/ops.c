/* The instruction table's lookups, and signatures: an opcode with its modifiers, matched against the table once for
 * each spelling in a module. */
#include "ir/table/ops_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/table/ops_tables.inc"

/* ---- Lookups ---------------------------------------------------------------------------------------------------- */

/* The names stand in the order of strcmp, from index 1. */
static unsigned find_name(const char *const *names, unsigned count, const char *name)
{
    unsigned low = 1, high = count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        int order = strcmp(name, names[middle]);
        if (!order)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

Opcode opcode_from_name(const char *name)
{
    return (Opcode)find_name(opcode_names, OP_COUNT, name);
}

const char *opcode_name(Opcode op)
{
    return opcode_names[op];
}

ModId mod_from_name(const char *text)
{
    return (ModId)find_name(mod_names, MOD_COUNT, text);
}

const char *mod_name(ModId mod)
{
    return mod_names[mod];
}

static const uint8_t mod_types[MOD_COUNT] = {
#define X(id, spelling, bits, class) [MOD_##id] = TYPE_##id,
    TYPE_LIST(X)
#undef X
};

/* Formats that have no Type: the bits that hold one. */
static const uint8_t packed_types[MOD_COUNT] = {
    [MOD_E4M3] = TYPE_B8,    [MOD_E5M2] = TYPE_B8,    [MOD_E4M3X2] = TYPE_B16,
    [MOD_E5M2X2] = TYPE_B16, [MOD_E4M3X4] = TYPE_B32, [MOD_E5M2X4] = TYPE_B32,
};

static const uint8_t mod_spaces[MOD_COUNT] = {
    [MOD_CONST] = SPACE_CONST,   [MOD_GLOBAL] = SPACE_GLOBAL,     [MOD_LOCAL] = SPACE_LOCAL,
    [MOD_PARAM] = SPACE_PARAM,   [MOD_PARAM_ENTRY] = SPACE_PARAM, [MOD_PARAM_FUNC] = SPACE_PARAM,
    [MOD_SHARED] = SPACE_SHARED, [MOD_SHARED_CTA] = SPACE_SHARED, [MOD_SHARED_CLUSTER] = SPACE_SHARED,
};

static const uint8_t mod_vectors[MOD_COUNT] = {[MOD_V2] = 2, [MOD_V4] = 4, [MOD_V8] = 8};

Type mod_operand_type(ModId mod)
{
    return mod_types[mod] ? mod_types[mod] : packed_types[mod];
}

bool opcode_has(Opcode op, unsigned rules)
{
    return rules_of_opcodes[op] & rules;
}

bool opcode_is_slow(Opcode op)
{
    return opcode_has(op, RULE_SLOW);
}

const Form *opcode_first_form(Opcode op, unsigned *count)
{
    *count = op == OP_UNKNOWN ? 0 : opcode_forms[op + 1] - opcode_forms[op];
    return &forms[op == OP_UNKNOWN ? 0 : opcode_forms[op]];
}

const Element *form_elements(const Form *form)
{
    return &elements[form->elements];
}

const Pattern *form_patterns(const Form *form)
{
    return &patterns[form->patterns];
}

const Alternative *element_alternatives(const Element *element)
{
    return &alternatives[element->alternatives];
}

const ModId *alternative_mods(const Alternative *alternative)
{
    return &mod_pool[alternative->mods];
}

const OrderPair *form_order(const Form *form)
{
    return &order_pairs[form->orders];
}

const TargetRange *target_ranges_at(unsigned first)
{
    return &target_ranges[first];
}

const char *form_id(const Form *form)
{
    return form->id;
}

FormId form_number(const Form *form)
{
    return (FormId)(form - forms);
}

Opcode form_op(const Form *form)
{
    return (Opcode)form->op;
}

bool form_has(const Form *form, ModId mod)
{
    for (unsigned i = 0; i < form->element_count; i++) {
        const Element *element = &form_elements(form)[i];
        const Alternative *alternative = element_alternatives(element);
        for (unsigned m = 0; element->kind == ELEMENT_LITERAL && m < alternative->mod_count; m++)
            if (alternative_mods(alternative)[m] == mod)
                return true;
    }
    return false;
}

Category form_category(const Form *form)
{
    return (Category)form->category;
}

unsigned form_effects(const Form *form)
{
    return form->effects;
}

SyncKind form_sync(const Form *form)
{
    return (SyncKind)form->sync;
}

unsigned form_min_version(const Form *form)
{
    return form->version;
}

bool form_emulated(const Form *form)
{
    return form->emulated;
}

const char *form_note(const Form *form)
{
    return form->note;
}

/* ---- What a match leaves ---------------------------------------------------------------------------------------- */

static ModId chosen_mod(const Form *form, const int16_t *choice, unsigned element, unsigned part)
{
    if (choice[element] < 0)
        return MOD_UNKNOWN;
    const Alternative *alternative = &element_alternatives(&form_elements(form)[element])[choice[element]];
    return part < alternative->mod_count ? alternative_mods(alternative)[part] : MOD_UNKNOWN;
}

static unsigned digits_in(const char *text)
{
    while (*text && !isdigit((unsigned char)*text))
        text++;
    return (unsigned)strtoul(text, NULL, 10);
}

static bool is_layered(ModId geometry)
{
    return geometry == MOD_A1D || geometry == MOD_A2D || geometry == MOD_ACUBE || geometry == MOD_A2DMS;
}

static unsigned coordinate_count(ModId geometry)
{
    switch (geometry) {
    case MOD_1D: return 1;
    case MOD_2D:
    case MOD_A1D: return 2;
    default: return 4;
    }
}

static unsigned offset_count(ModId geometry)
{
    switch (geometry) {
    case MOD_1D:
    case MOD_A1D: return 1;
    case MOD_3D: return 4;
    default: return 2;
    }
}

static unsigned gradient_count(ModId geometry)
{
    switch (geometry) {
    case MOD_1D:
    case MOD_A1D: return 1;
    case MOD_2D:
    case MOD_A2D: return 2;
    default: return 4;
    }
}

static unsigned pattern_count(const Pattern *pattern, ModId mod)
{
    unsigned count = 0;
    switch ((CountFunction)pattern->count_function) {
    case COUNT_CONSTANT: return pattern->count;
    case COUNT_NUMBER: count = digits_in(mod_name(mod)); break;
    case COUNT_N: {
        const char *n = strchr(mod_name(mod), 'n');
        count = n ? digits_in(n) : 0;
        break;
    }
    case COUNT_COORDINATES: count = coordinate_count(mod); break;
    case COUNT_OFFSETS: count = offset_count(mod); break;
    case COUNT_GRADIENTS: count = gradient_count(mod); break;
    case COUNT_IM2COL_OFFSETS: count = digits_in(mod_name(mod)) - 2; break;
    }
    return count * pattern->count_times / pattern->count_over;
}

static Type doubled(Type type)
{
    switch (type) {
    case TYPE_U16: return TYPE_U32;
    case TYPE_S16: return TYPE_S32;
    case TYPE_U32: return TYPE_U64;
    case TYPE_S32: return TYPE_S64;
    default: return type_bits_of_width(2 * type_bits(type));
    }
}

/* A matrix instruction with scale factors: its last operands are lists. */
static bool form_is_scaled(const Form *form)
{
    return form->pattern_count > 1 && form_patterns(form)[form->pattern_count - 1].kind == PATTERN_SRC_LIST &&
           form_patterns(form)[form->pattern_count - 2].kind == PATTERN_SRC;
}

/* Packed formats that the rows write as bits: only untyped registers hold them. */
static bool takes_bits_only(const Form *form, const Pattern *pattern, Type type)
{
    if (pattern->type_element >= 0 || type_class(type) != CLASS_BITS)
        return false;
    return opcode_has(form->op, RULE_PACKED) || (type == TYPE_B64 && opcode_has(form->op, RULE_PACKED_64)) ||
           (type == TYPE_B32 && pattern->kind == PATTERN_SRC_LIST && opcode_has(form->op, RULE_PACKED_SCALED) &&
            form_is_scaled(form));
}

/* Does the row convert to or from a format that ptxas knows only as packed bits: bf16, tf32, 8 and fewer bits? */
static bool form_has_packed(const Form *form)
{
    for (unsigned i = 0; i < form->element_count; i++) {
        const Element *element = &form_elements(form)[i];
        for (unsigned j = 0; j < element->alternative_count; j++) {
            const Alternative *alternative = &element_alternatives(element)[j];
            for (unsigned k = 0; k < alternative->mod_count; k++) {
                ModId mod = alternative_mods(alternative)[k];
                Type type = (Type)mod_types[mod];
                const char *name = mod_name(mod) + 1;
                name += *name == 'u';
                if (type == TYPE_BF16 || type == TYPE_BF16X2 || type == TYPE_TF32 ||
                    (name[0] == 'e' && name[1] >= '0' && name[1] <= '9'))
                    return true;
            }
        }
    }
    return false;
}

/* Loads, stores and conversions take registers wider than their type (PTX ISA, "Operand Size Exceeding Instruction-Type
 * Size"); conversions of packed formats are excepted. */
static bool takes_wider(const Form *form, const Pattern *pattern, Type type)
{
    return opcode_has(form->op, RULE_WIDER) &&
           !(opcode_has(form->op, RULE_PACKED) && (takes_bits_only(form, pattern, type) || form_has_packed(form)));
}

/* Does the instruction spell the type, or does the row know it?  The matrix instructions never mean the type that they
 * spell: it is that of a matrix element. */
static bool spells_type(const Form *form, const int16_t *choice, Type type)
{
    if (opcode_has(form->op, RULE_ELEMENTS))
        return false;
    for (unsigned i = 0; i < form->element_count; i++) {
        if (choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&form_elements(form)[i])[choice[i]];
        for (unsigned j = 0; j < alternative->mod_count; j++)
            if (mod_types[alternative_mods(alternative)[j]] == type)
                return true;
    }
    return false;
}

static const Slot *make_slots(Arena *arena, const Form *form, const int16_t *choice)
{
    Slot *slots = ARENA_ARRAY(arena, Slot, form->pattern_count);
    for (unsigned i = 0; i < form->pattern_count; i++) {
        const Pattern *pattern = &form_patterns(form)[i];
        Type type = (Type)pattern->type;
        if (pattern->type_element >= 0)
            type = mod_operand_type(chosen_mod(form, choice, (unsigned)pattern->type_element, pattern->type_part));
        if (pattern->flags & PATTERN_DOUBLE)
            type = doubled(type);
        ModId geometry = MOD_UNKNOWN;
        if (pattern->count_function != COUNT_CONSTANT)
            geometry = chosen_mod(form, choice, pattern->count_element, pattern->count_part);
        slots[i] = (Slot){.pattern = pattern,
                          .type = (uint8_t)type,
                          .wider = takes_wider(form, pattern, type),
                          .implied = pattern->type_element < 0 && !spells_type(form, choice, type),
                          .bits_only = takes_bits_only(form, pattern, type),
                          .layered = is_layered(geometry),
                          .count = (uint16_t)pattern_count(pattern, geometry)};
        slots[i].takes = slot_takes(&slots[i]);
    }
    return slots;
}

static bool targets_take(unsigned first, unsigned count, Arch arch)
{
    for (unsigned i = first; i < first + count; i++) {
        const TargetRange *range = &target_ranges[i];
        if (range->low <= arch.number && arch.number <= range->high && (!range->suffix || range->suffix == arch.suffix))
            return true;
    }
    return false;
}

static void print_targets(unsigned first, unsigned count, Buf *out)
{
    for (unsigned i = first; i < first + count; i++) {
        const TargetRange *range = &target_ranges[i];
        buf_puts(out, i == first ? "" : i + 1 == first + count ? " or " : ", ");
        buf_printf(out, "sm_%u", range->low);
        if (range->suffix)
            buf_putc(out, range->suffix);
        else if (range->high == 999)
            buf_puts(out, " or later");
        else if (range->high != range->low)
            buf_printf(out, " to sm_%u", range->high);
    }
}

static bool is_removed(const Form *form, unsigned version, unsigned target)
{
    return form->last_version && version > form->last_version && (!form->last_from || target >= form->last_from);
}

/* Why the module's version or target has the form with these choices not; NULL if they have it. */
static const char *find_unavailable(Module *module, const Signature *signature, const Form *form, const int16_t *choice,
                                    bool *removed)
{
    Buf text = {0}, spelling = {0};
    unsigned needed = form->version, targets = form->targets, target_count = form->target_count;
    Arch arch = {0};
    bool known = module->target_count && arch_parse(module->targets[0], &arch);
    known &= module->version <= LATEST_VERSION; /* what newer ones have added to the targets is not known */
    bool refused = known && !targets_take(targets, target_count, arch);
    for (unsigned i = 0; i < form->element_count; i++) {
        if (choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&form_elements(form)[i])[choice[i]];
        if (alternative->version > needed)
            needed = alternative->version;
        if (known && !refused && alternative->target_count &&
            !targets_take(alternative->targets, alternative->target_count, arch)) {
            refused = true;
            targets = alternative->targets;
            target_count = alternative->target_count;
        }
    }
    signature_print(signature, &spelling);
    if (module->version && module->version < needed) {
        buf_printf(&text, "'%s' needs PTX ISA version %u.%u or later, the module has %u.%u", buf_text(&spelling),
                   needed / 10, needed % 10, module->version / 10, module->version % 10);
    } else if (is_removed(form, module->version, arch.number)) {
        buf_printf(&text, "'%s' was removed after PTX ISA version %u.%u", buf_text(&spelling), form->last_version / 10,
                   form->last_version % 10);
        if (form->last_from)
            buf_printf(&text, " for sm_%u and later", form->last_from);
    } else if (refused && !target_count) {
        buf_printf(&text, "'%s' is taken by no assembler", buf_text(&spelling));
    } else if (refused) {
        buf_printf(&text, "'%s' is not supported on target '%s': it needs ", buf_text(&spelling), module->targets[0]);
        print_targets(targets, target_count, &text);
    }
    *removed = is_removed(form, module->version, arch.number);
    const char *result = text.length ? arena_strndup(module->arena, text.data, text.length) : NULL;
    buf_free(&text);
    buf_free(&spelling);
    return result;
}

/* ---- Signatures ------------------------------------------------------------------------------------------------- */

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
    uint64_t hash = (uintptr_t)opcode * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < mod_count; i++)
        hash = (hash ^ hash >> 29 ^ (uintptr_t)mods[i]) * UINT64_C(0x9e3779b97f4a7c15);
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

/* The decoded view of the modifiers. */
static void signature_decode(Signature *signature)
{
    signature->vector = 1;
    for (unsigned i = 0; i < signature->mod_count; i++) {
        ModId mod = signature->mods[i].id;
        if (mod_types[mod] && signature->type_count < COUNT_OF(signature->types))
            signature->types[signature->type_count++] = (Type)mod_types[mod];
        if (mod_spaces[mod] && signature->space == SPACE_NONE)
            signature->space = (Space)mod_spaces[mod];
        if (mod_vectors[mod])
            signature->vector = mod_vectors[mod];
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

/* Forms that the documented order fits come first, then those that another order fits; each group in table order. */
static void signature_match(Module *module, Signature *signature)
{
    unsigned form_count;
    const Form *first = opcode_first_form(signature->op, &form_count);
    VEC(FormMatch) matches = {0};
    unsigned spaces = 0;
    if (signature->mod_count > MOST_MODS)
        return;
    for (unsigned i = 0; i < signature->mod_count; i++)
        spaces += mod_spaces[signature->mods[i].id] != SPACE_NONE;
    for (int ordered = 1; ordered >= 0; ordered--) {
        for (unsigned i = 0; i < form_count; i++) {
            int16_t choice[MOST_ELEMENTS];
            if (!form_match_mods(&first[i], signature->mods, signature->mod_count, ordered, choice))
                continue;
            bool known = false;
            for (size_t j = 0; j < matches.count; j++)
                known |= matches.data[j].form == &first[i];
            if (known)
                continue;
            FormMatch match = {.form = &first[i], .one_space = spaces <= 1};
            match.slots = make_slots(module->arena, &first[i], choice);
            for (unsigned j = 0; j < first[i].pattern_count; j++)
                match.optional_count += !!(form_patterns(&first[i])[j].flags & PATTERN_OPTIONAL);
            match.unavailable = find_unavailable(module, signature, &first[i], choice, &match.removed);
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

bool signature_has(const Signature *signature, ModId mod)
{
    for (unsigned i = 0; i < signature->mod_count; i++)
        if (signature->mods[i].id == mod)
            return true;
    return false;
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

void signature_print_documented(const Signature *signature, const Form *form, Buf *out)
{
    const ModId *documented = NULL;
    for (unsigned i = 0; i < signature->match_count && form; i++)
        if (signature->matches[i].form == form)
            documented = signature->matches[i].documented;
    if (!documented) {
        signature_print(signature, out);
        return;
    }
    buf_puts(out, signature->opcode);
    for (unsigned i = 0; i < signature->mod_count; i++)
        buf_puts(out, mod_name(documented[i]));
}

void signature_print(const Signature *signature, Buf *out)
{
    buf_name(out, signature->spelling);
}
