/* One instruction alone. */
#include "emulator/emulator.h"
#include "emulator/semantics/semantics.h"

#define MAX_MODIFIERS 16

/* "mad.lo.s32" -> the opcode and ".lo", ".s32", in 'storage'. */
static Opcode split_spelling(const char *spelling, char storage[256], const char *mods[MAX_MODIFIERS], unsigned *count)
{
    char *out = storage, *end = storage + 256;
    char opcode[32];
    size_t length = strcspn(spelling, ".");
    *count = 0;
    if (length >= sizeof opcode)
        return OP_UNKNOWN;
    memcpy(opcode, spelling, length);
    opcode[length] = 0;
    for (const char *at = spelling + length; *at;) {
        size_t size = 1 + strcspn(at + 1, ".");
        if (*count == MAX_MODIFIERS || (size_t)(end - out) < size + 1)
            return OP_UNKNOWN;
        memcpy(out, at, size);
        out[size] = 0;
        mods[(*count)++] = out;
        out += size + 1;
        at += size;
    }
    return opcode_from_name(opcode);
}

static uint64_t row_element(const void *row, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, row, bytes ? bytes : 4);
    return bytes ? value : value & 1;
}

bool emulator_evaluate(const char *spelling, const uint64_t *inputs, unsigned count, uint64_t *result)
{
    char storage[256];
    const char *texts[MAX_MODIFIERS] = {0};
    unsigned text_count;
    Opcode opcode = split_spelling(spelling, storage, texts, &text_count);
    Modifiers mods = modifiers_make(texts, text_count);
    Operation operation;
    BoolKind combine = BOOL_NONE;

    if (count > MAX_SOURCES)
        return false;
    if (opcode == OP_SETP) {
        if (!comparison_select(&operation, &mods, &combine) || count != (combine == BOOL_NONE ? 2u : 3u))
            return false;
    } else if (!operation_select(&operation, opcode, &mods, count)) {
        return false;
    }

    uint64_t value;
    if (operation.row) {
        _Alignas(64) uint64_t rows[MAX_SOURCES + 1][LANES] = {0};
        const void *sources[MAX_SOURCES];
        for (unsigned i = 0; i < operation.source_count; i++) {
            memcpy(rows[i], &inputs[i], sizeof inputs[i]);
            sources[i] = rows[i];
        }
        operation.row(rows[MAX_SOURCES], sources);
        value = row_element(rows[MAX_SOURCES], operation.dest == TYPE_PRED ? 1 : type_row_bytes(operation.dest));
    } else {
        uint64_t sources[MAX_SOURCES] = {0};
        for (unsigned i = 0; i < operation.source_count; i++)
            sources[i] = operation.sources[i] == TYPE_PRED
                             ? inputs[i] != 0
                             : inputs[i] & width_mask(8 * type_row_bytes(operation.sources[i]));
        value = operation.scalar(sources, operation.control);
    }
    if (opcode == OP_SETP && combine != BOOL_NONE) {
        bool with = inputs[2] != 0;
        value = combine == BOOL_AND ? value && with : combine == BOOL_OR ? value || with : (value != 0) != with;
    }
    *result = value;
    return true;
}
