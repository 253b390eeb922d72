/* The instruction table: names, and the contents of the rows of ops.def. */
#include "ir/table/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/table/ops_tables.inc"

/* The names are sorted by strcmp and start at index 1. */
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

Type mod_type(ModId mod)
{
    return (Type)mod_types[mod];
}

Type mod_operand_type(ModId mod)
{
    return mod_types[mod] ? mod_types[mod] : packed_types[mod];
}

Space mod_space(ModId mod)
{
    return (Space)mod_spaces[mod];
}

unsigned mod_vector(ModId mod)
{
    return mod_vectors[mod];
}

bool opcode_has(Opcode op, unsigned rules)
{
    return rules_of_opcodes[op] & rules;
}

bool opcode_is_slow(Opcode op)
{
    return opcode_has(op, RULE_SLOW);
}

bool opcode_is_special_function(Opcode op)
{
    return opcode_has(op, RULE_SFU);
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

const char *form_name(const Form *form)
{
    return form->id;
}

FormId form_id(const Form *form)
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
