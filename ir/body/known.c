#include "ir/known.h"

#include "ir/instruction.h"

#include <string.h>

bool known_parameter_value(const KnownParameters *known, const Variable *parameter, uint64_t offset, uint64_t size,
                           uint64_t *value)
{
    for (unsigned i = 0; i < known->count; i++) {
        const KnownParameter *of = &known->of[i];
        if (strcmp(of->variable->name, parameter->name) != 0 || offset > of->size || size > of->size - offset)
            continue;
        *value = 0;
        memcpy(value, (const char *)of->bytes + offset, size);
        return true;
    }
    return false;
}
