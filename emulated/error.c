/* Names and texts of the driver's errors. */
#include <stddef.h>

#include "emulated/driver.h"

typedef struct ErrorRow {
    int number;
    const char *name, *text;
} ErrorRow;

#define ERROR(number, runtime_name, driver_name, text) {number, driver_name, text},
static const ErrorRow errors[] = {
#include "emulated/errors.def"
};
#undef ERROR

static const ErrorRow *error_find(int number)
{
    for (size_t i = 0; i < COUNT_OF(errors); i++)
        if (errors[i].number == number && errors[i].name)
            return &errors[i];
    return NULL;
}

int cuGetErrorName(int error, const char **name)
{
    const ErrorRow *row = error_find(error);
    *name = row ? row->name : NULL;
    return row ? DONE : INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text)
{
    const ErrorRow *row = error_find(error);
    *text = row ? row->text : NULL;
    return row ? DONE : INVALID_VALUE;
}
