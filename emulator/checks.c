/* The checks that have names. */
#include <string.h>

#include "emulator/emulator.h"

bool emulator_read_checks(const char *text, EmulatorOptions *options)
{
    struct {
        const char *name;
        bool *set;
    } const checks[] = {
        {"races", &options->check_races},
        {"unwritten", &options->check_unwritten},
        {"registers", &options->check_registers},
        {"division", &options->check_division},
    };
    const bool all = strcmp(text, "all") == 0;
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        *checks[i].set = all;
    if (all || strcmp(text, "none") == 0)
        return true;
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < COUNT_OF(checks) && (strlen(checks[i].name) != length || memcmp(checks[i].name, text, length) != 0))
            i++;
        if (i == COUNT_OF(checks))
            return false;
        *checks[i].set = true;
        text += length;
        if (!*text)
            return true;
    }
}
