/* Evaluates one instruction on given operands, without a launch. */
#include "emulator/emulator.h"
#include "emulator/semantics/semantics.h"

static uint64_t row_element(const void *row, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, row, bytes ? bytes : 4);
    return bytes ? value : value & 1;
}

/* Selects the operation of the first row that fits and has 'count' operands. */
static bool select(const char *spelling, unsigned count, Operation *operation)
{
    Arena *arena = arena_new();
    const Signature *signature = signature_parse(module_new(arena, interner_new(arena, 0), NULL), spelling);
    bool found = false;
    for (unsigned i = 0; i < signature->match_count && !found; i++) {
        bool known = true;
        if (signature->op == OP_SETP)
            *operation = comparison_select(signature);
        else
            known = operation_select(operation, signature, signature_form(signature, i));
        found = known && operation->source_count == count;
    }
    arena_free(arena);
    return found;
}

bool emulator_evaluate(const char *spelling, const uint64_t *inputs, unsigned count, uint64_t *result)
{
    Operation operation;
    if (count > MAX_SOURCES || !select(spelling, count, &operation))
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
    if (operation.combine != BOOL_NONE) {
        bool with = inputs[2] != 0;
        value = operation.combine == BOOL_AND  ? value && with
                : operation.combine == BOOL_OR ? value || with
                                               : (value != 0) != with;
    }
    *result = value;
    return true;
}
