/* Evaluates one instruction on given operands, without a machine. */
#include "emulator/emulator.h"
#include "emulator/semantics/semantics.h"

static uint64_t row_element(const void *row, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, row, bytes ? bytes : 4);
    return bytes ? value : value & 1;
}

/* The signature belongs to the arena. */
static const Signature *parse_spelling(Arena *arena, const char *spelling)
{
    return signature_parse(module_new(arena, interner_new(arena), NULL), spelling);
}

static bool select(const char *spelling, unsigned count, Operation *operation, BoolKind *combine)
{
    Arena *arena = arena_new();
    const Signature *signature = parse_spelling(arena, spelling);
    bool known;
    *combine = BOOL_NONE;
    if (signature->op == OP_SETP)
        known = comparison_select(operation, signature, combine) && count == (*combine == BOOL_NONE ? 2u : 3u);
    else
        known = operation_select(operation, signature, count);
    arena_free(arena);
    return known;
}

bool emulator_evaluate(const char *spelling, const uint64_t *inputs, unsigned count, uint64_t *result)
{
    Operation operation;
    BoolKind combine;
    if (count > MAX_SOURCES || !select(spelling, count, &operation, &combine))
        return false;

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
    if (operation.dest == TYPE_PRED && combine != BOOL_NONE) {
        bool with = inputs[2] != 0;
        value = combine == BOOL_AND ? value && with : combine == BOOL_OR ? value || with : (value != 0) != with;
    }
    *result = value;
    return true;
}
