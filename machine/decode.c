/* Decodes the text of machine instructions, as nvdisasm prints it: "@!P0 IADD3.X R5, P1, R3.reuse, ~c[0x0][0x164], RZ,
 * P0, !PT". Numbers in decimal are floating point, whose bits come from the instruction itself. */
#include "machine/internal.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct MachineRow {
    const char *name;
    Execute *execute;
    ExecuteGroup *execute_group;
    const char *suffixes; /* between spaces; "*": any */
} MachineRow;

static const MachineRow rows[] = {
#define MACHINE(name, function, suffixes) {name, execute_##function, NULL, " " suffixes " "},
#define TOGETHER(name, function, suffixes) {name, execute_nothing, execute_##function, " " suffixes " "},
#include "machine/opcodes.def"
};

static const char *const suffix_names[] = {
#define SUFFIX(id, name) name,
#include "machine/suffixes.def"
};

/* The text that is left, and the instruction so far. */
typedef struct Reader {
    Arena *arena;
    const char *at;
    Decoded *it;
    const SassInstruction *machine;
} Reader;

static void fail(Reader *reader, const char *what, const char *text, size_t length)
{
    if (!reader->it->problem)
        reader->it->problem = arena_printf(reader->arena, "%s '%.*s'", what, (int)length, text);
}

static bool take(Reader *reader, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static void skip_blanks(Reader *reader)
{
    reader->at += strspn(reader->at, " \t");
}

/* The row with the name, whose length is given. */
static const MachineRow *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

static bool row_allows(const MachineRow *row, const char *suffix, size_t length)
{
    const char *list = row->suffixes;
    if (list[1] == '*')
        return true;
    for (const char *word = list; (word += strspn(word, " "), *word); word += strcspn(word, " "))
        if (strcspn(word, " ") == length && strncmp(word, suffix, length) == 0)
            return true;
    return false;
}

static void add_suffix(Reader *reader, const MachineRow *row, const char *name, size_t length)
{
    Decoded *it = reader->it;
    if (!row_allows(row, name, length)) {
        fail(reader, "the modifier", name - 1, length + 1);
        return;
    }
    for (unsigned id = 0; id < SUFFIX_COUNT; id++)
        if (strlen(suffix_names[id]) == length && strncmp(suffix_names[id], name, length) == 0) {
            it->suffixes[id / 64] |= UINT64_C(1) << (id % 64);
            if (it->order_count < COUNT_OF(it->order))
                it->order[it->order_count++] = (uint8_t)id;
        }
}

/* The name up to the first dot, or to the second if the table has that. */
static void read_name(Reader *reader)
{
    const char *name = reader->at;
    const size_t whole = strcspn(name, " ("), first = strcspn(name, ". ");
    const size_t second = name[first] == '.' ? first + 1 + strcspn(name + first + 1, ". ") : first;
    const MachineRow *row = find_row(name, second);
    reader->at += whole;
    if (!row)
        row = find_row(name, first);
    if (!row) {
        fail(reader, "the instruction", name, whole);
        return;
    }
    reader->it->execute = row->execute;
    reader->it->execute_group = row->execute_group;
    for (size_t at = first; at < whole; at += 1 + strcspn(name + at + 1, ". "))
        add_suffix(reader, row, name + at + 1, strcspn(name + at + 1, ". "));
}

static void read_guard(Reader *reader)
{
    Decoded *it = reader->it;
    it->guard = TRUE_PREDICATE;
    if (!take(reader, "@"))
        return;
    it->guard_inverted = take(reader, "!");
    it->guard_is_uniform = take(reader, "U");
    if (!take(reader, "P"))
        fail(reader, "the guard", reader->at, strcspn(reader->at, " "));
    it->guard = *reader->at == 'T' ? TRUE_PREDICATE : (uint8_t)((*reader->at - '0') & 7);
    reader->at++;
    skip_blanks(reader);
}

/* The number of a register, 'R' or 'UR' having been read. */
static bool read_index(Reader *reader, uint8_t *index)
{
    if (take(reader, "Z")) {
        *index = ZERO_REGISTER;
        return true;
    }
    if (!isdigit((unsigned char)*reader->at))
        return false;
    char *end;
    const unsigned long number = strtoul(reader->at, &end, 10);
    *index = (uint8_t)number;
    reader->at = end;
    return number < ZERO_REGISTER;
}

/* A register's or predicate's name; false, with nothing read, if it is not one. */
static bool read_register(Reader *reader, Place *place)
{
    const char *begin = reader->at;
    const bool uniform = take(reader, "U");
    if (take(reader, "R") && read_index(reader, &place->index)) {
        place->kind = uniform ? PLACE_UNIFORM : PLACE_REGISTER;
        return true;
    }
    reader->at = begin + uniform;
    if (take(reader, "P") && (*reader->at == 'T' || (*reader->at >= '0' && *reader->at <= '6')) &&
        !isalnum((unsigned char)reader->at[1])) {
        place->kind = uniform ? PLACE_UNIFORM_PREDICATE : PLACE_PREDICATE;
        place->index = *reader->at == 'T' ? TRUE_PREDICATE : (uint8_t)(*reader->at - '0');
        reader->at++;
        return true;
    }
    reader->at = begin;
    return false;
}

static bool read_number(Reader *reader, int64_t *number)
{
    const char *begin = reader->at;
    const bool negative = take(reader, "-");
    if (!take(reader, "0x")) {
        reader->at = begin;
        return false;
    }
    char *end;
    const uint64_t magnitude = strtoull(reader->at, &end, 16);
    reader->at = end;
    *number = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

/* The modifiers of an operand. */
static void read_place_suffixes(Reader *reader, Place *place)
{
    while (*reader->at == '.') {
        const char *name = reader->at;
        const size_t length = 1 + strcspn(name + 1, ".,|]+ ");
        if (take(reader, ".reuse"))
            continue;
        if (take(reader, ".64"))
            place->wide = true;
        else if (take(reader, ".U32"))
            place->narrow = true;
        else if (take(reader, ".F32"))
            place->single = true;
        else if (take(reader, ".SIGN"))
            place->is_sign = true;
        else if (take(reader, ".H0_H0"))
            place->half = HALF_LOW;
        else if (take(reader, ".H1_H1"))
            place->half = HALF_HIGH;
        else if (take(reader, ".H0"))
            place->half = HALF_LOW;
        else if (take(reader, ".H1"))
            place->half = HALF_HIGH;
        else if (strncmp(name, ".B", 2) == 0 && name[2] >= '0' && name[2] <= '3' && length == 3)
            place->byte = (uint8_t)(name[2] - '0');
        else if (take(reader, ".X4"))
            place->shift = 2;
        else if (take(reader, ".X8"))
            place->shift = 3;
        else if (take(reader, ".X16"))
            place->shift = 4;
        else
            fail(reader, "the operand modifier", name, length);
        reader->at = name + length;
    }
}

/* "c[0x0][R2+0x10]", 'c' having been read. */
static void read_bank(Reader *reader, Place *place)
{
    int64_t bank = 0;
    Place index = {.index = ZERO_REGISTER};
    place->kind = PLACE_BANK;
    if (!take(reader, "[") || !read_number(reader, &bank) || !(take(reader, "][") || take(reader, "] [")) ||
        bank < 0 || bank >= BANKS) {
        fail(reader, "the constant", reader->at, strcspn(reader->at, " ,"));
        return;
    }
    place->bank = (uint8_t)bank;
    if (read_register(reader, &index))
        take(reader, "+");
    place->index = index.index;
    place->index_is_uniform = index.kind == PLACE_UNIFORM;
    read_number(reader, &place->number);
    if (!take(reader, "]"))
        fail(reader, "the constant", reader->at, strcspn(reader->at, " ,"));
}

/* A part of an address: registers and a number between plus signs. */
static bool read_address_part(Reader *reader, Place *place, bool *has_index)
{
    Place part = {0};
    if (!read_register(reader, &part))
        return read_number(reader, &place->number);
    read_place_suffixes(reader, &part);
    if (part.kind == PLACE_UNIFORM && *has_index) {
        place->base = part.index;
        return true;
    }
    place->index = part.index;
    place->index_is_uniform = part.kind == PLACE_UNIFORM;
    place->wide = part.wide;
    place->narrow = part.narrow;
    place->shift = part.shift;
    *has_index = true;
    return part.kind == PLACE_REGISTER || part.kind == PLACE_UNIFORM;
}

/* "[R2.64+UR4+0x8]" or "desc[UR4][R2.64+0x8]"; the descriptor says nothing about the address. */
static void read_memory(Reader *reader, Place *place)
{
    const char *begin = reader->at;
    bool has_index = false;
    place->kind = PLACE_MEMORY;
    place->index = place->base = ZERO_REGISTER;
    if (take(reader, "desc["))
        reader->at += strcspn(reader->at, "]") + 1;
    if (!take(reader, "[")) {
        fail(reader, "the address", begin, strcspn(begin, " ,"));
        return;
    }
    do {
        if (!read_address_part(reader, place, &has_index))
            break;
    } while (take(reader, "+"));
    if (!take(reader, "]"))
        fail(reader, "the address", begin, strcspn(begin, " ,"));
}

/* Floating point in decimal, "+INF" or "-QNAN". */
static bool read_decimal(Reader *reader, Place *place)
{
    const size_t length = strspn(reader->at, "+-0123456789.eEINFQSA");
    if (!length || !strpbrk("+-0123456789", (char[]){*reader->at, 0}))
        return false;
    place->kind = PLACE_FLOAT;
    place->number = (int64_t)(reader->machine->encoding[0] >> 32);
    reader->at += length;
    return true;
}

/* "B0" to "B15" */
static bool read_join(Reader *reader, Place *place)
{
    const char *name = reader->at;
    const size_t digits = name[0] == 'B' ? strspn(name + 1, "0123456789") : 0;
    if (digits < 1 || digits > 2 || (name[1 + digits] && !strchr(", ", name[1 + digits])))
        return false;
    const unsigned long number = strtoul(name + 1, NULL, 10);
    if (number >= JOINS)
        return false;
    place->kind = PLACE_JOIN;
    place->index = (uint8_t)number;
    reader->at += 1 + digits;
    return true;
}

/* Numbers, constants, registers and labels, after signs. */
static void read_plain(Reader *reader, Place *place)
{
    if (read_register(reader, place) || (place->kind = PLACE_NUMBER, read_number(reader, &place->number)))
        return;
    place->kind = PLACE_NONE;
    if (*reader->at == '[' || strncmp(reader->at, "desc[", 5) == 0) {
        read_memory(reader, place);
    } else if (take(reader, "c")) {
        read_bank(reader, place);
    } else if (read_join(reader, place)) {
        return;
    } else if (strncmp(reader->at, "SR", 2) == 0) {
        const size_t length = strcspn(reader->at, ", ");
        place->kind = PLACE_SPECIAL;
        place->text = arena_strndup(reader->arena, reader->at, length);
        reader->at += length;
    } else {
        /* A label, "`(name)"; a relocation, "32@lo((k + .L_x_0@srel))", has blanks. */
        const char *begin = reader->at;
        const size_t length = strcspn(begin, strncmp(begin, "32@", 3) == 0 ? "," : ", ");
        const bool is_label = length > 3 && begin[0] == '`';
        place->kind = PLACE_OTHER;
        place->text = arena_strndup(reader->arena, begin + 2 * is_label, length - 3 * is_label);
        reader->at += length;
    }
}

static void read_place(Reader *reader, Place *place)
{
    const char *begin = reader->at;
    if (!strpbrk("0", (char[]){begin[begin[0] == '-'], 0}) || strncmp(begin + (begin[0] == '-'), "0x", 2) != 0)
        if (read_decimal(reader, place) && (*reader->at == ',' || *reader->at == ' ' || !*reader->at))
            return;
    reader->at = begin;
    *place = (Place){0};
    if (read_number(reader, &place->number)) {
        place->kind = PLACE_NUMBER;
        return;
    }
    place->negated = take(reader, "-");
    place->inverted = take(reader, "~") || take(reader, "!");
    place->absolute = take(reader, "|");
    read_plain(reader, place);
    if (place->absolute && *reader->at == '.')
        read_place_suffixes(reader, place);
    if (place->absolute && !take(reader, "|"))
        fail(reader, "the operand", begin, strcspn(begin, ","));
    read_place_suffixes(reader, place);
    if (place->kind == PLACE_OTHER && (place->negated || place->inverted || place->absolute))
        fail(reader, "the operand", begin, strcspn(begin, ","));
    if (place->negated && place->kind == PLACE_NUMBER)
        fail(reader, "the operand", begin, strcspn(begin, ","));
}

/* Two floating-point numbers in a row are the halves of one. */
static void add_place(Reader *reader, const Place *place)
{
    Decoded *it = reader->it;
    if (place->kind == PLACE_FLOAT && it->operand_count && it->operands[it->operand_count - 1].kind == PLACE_FLOAT)
        return;
    if (it->operand_count == MOST_OPERANDS)
        fail(reader, "too many operands:", reader->at, strlen(reader->at));
    else
        it->operands[it->operand_count++] = *place;
}

/* True if the instruction takes operands that are not values: labels, or the names of all predicates. */
static bool takes_labels(const Decoded *it)
{
    static Execute *const functions[] = {
        execute_nothing,        execute_branch,          execute_call,
        execute_call_absolute,  execute_take_address,    execute_return,
        execute_return_absolute, execute_branch_indirect, execute_take_predicates,
        execute_give_predicates,
    };
    static ExecuteGroup *const group_functions[] = {execute_branch_apart, execute_branch_together,
                                                    execute_branch_alike, execute_join_set, execute_warp_sync};
    for (size_t i = 0; i < COUNT_OF(functions) && !it->execute_group; i++)
        if (it->execute == functions[i])
            return true;
    for (size_t i = 0; i < COUNT_OF(group_functions); i++)
        if (it->execute_group == group_functions[i])
            return true;
    return false;
}

/* True if a result, which comes first, is in a uniform register or predicate. */
static bool writes_uniform(const Decoded *it)
{
    static ExecuteGroup *const functions[] = {execute_vote, execute_reduce, execute_elect, execute_move_to_uniform,
                                              execute_special_to_uniform};
    const Place *first = &it->operands[0];
    bool can = !it->execute_group && it->execute != execute_branch && it->execute != execute_exit &&
               it->execute != execute_branch_indirect && it->execute != execute_nothing;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        can |= it->execute_group == functions[i];
    if (it->execute_group && is_predicate(first))
        first++;
    return can && it->operand_count && (first->kind == PLACE_UNIFORM || first->kind == PLACE_UNIFORM_PREDICATE);
}

static bool takes_joins(const Decoded *it)
{
    return it->execute_group == execute_join_set || it->execute_group == execute_join ||
           it->execute_group == execute_join_leave || it->execute == execute_move_join;
}

/* Operands of a kind that the instruction does not take. */
static void refuse_operands(Reader *reader)
{
    const char *text = reader->machine->text;
    for (unsigned i = 0; i < reader->it->operand_count; i++) {
        const PlaceKind kind = reader->it->operands[i].kind;
        if ((kind == PLACE_OTHER && !takes_labels(reader->it)) || (kind == PLACE_JOIN && !takes_joins(reader->it)) ||
            (reader->it->operands[i].is_sign && reader->it->execute != execute_logic_of_predicates))
            fail(reader, "an operand of", text, strlen(text));
    }
}

static void decode(Arena *arena, const SassInstruction *machine, Decoded *it)
{
    Reader reader = {arena, machine->text, it, machine};
    *it = (Decoded){.target = machine->target, .execute = execute_nothing};
    if (!machine->text) {
        it->problem = "an instruction that nvdisasm does not print";
        return;
    }
    read_guard(&reader);
    read_name(&reader);
    skip_blanks(&reader);
    while (*reader.at && *reader.at != '(' && !it->problem) {
        Place place = {0};
        read_place(&reader, &place);
        add_place(&reader, &place);
        skip_blanks(&reader);
        take(&reader, ",");
        skip_blanks(&reader);
    }
    refuse_operands(&reader);
    it->is_uniform = writes_uniform(it);
}

/* True if the last operand is the name of the function at the beginning of the instruction's section. */
static bool names_section(const SassCode *code, const Decoded *it)
{
    const char *name = it->operand_count ? it->operands[it->operand_count - 1].text : NULL;
    for (uint32_t i = 0; name && i < code->function_count; i++)
        if (code->functions[i].first == it->section)
            return strcmp(code->functions[i].name, name) == 0;
    return false;
}

Decoded *machine_decode(Arena *arena, const SassCode *code)
{
    Decoded *decoded = ARENA_ARRAY(arena, Decoded, code->count + 1);
    for (uint32_t i = 0; i < code->count; i++) {
        decode(arena, &code->instructions[i], &decoded[i]);
        /* Functions of one section follow one another. */
        decoded[i].section = i - code->instructions[i].address / INSTRUCTION_BYTES;
        decoded[i].names_section = names_section(code, &decoded[i]);
        decoded[i].skipped = code->instructions[i].encoding[0] >> 24;
    }
    return decoded;
}
