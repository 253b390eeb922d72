#include "opt/defects/defects.h"

#include <limits.h>
#include <stdio.h>

#include "target/target.h"

const Defect defect_table[DEFECT_COUNT] = {
#define DEFECT(id, name, first, fixed, targets, words) {name, first, fixed, words},
#include "opt/defects/defects.def"
};

unsigned defect_version(const char *text)
{
    unsigned major, minor;
    return sscanf(text, "%u.%u", &major, &minor) == 2 && minor < 100 ? major * 100 + minor : 0;
}

static bool has_target(DefectId id, unsigned arch)
{
    switch (id) {
#define DEFECT(id, name, first, fixed, targets, words) case DEFECT_##id: return targets;
#include "opt/defects/defects.def"
    case DEFECT_COUNT: break;
    }
    return false;
}

static bool has_newer_target(DefectId id, unsigned arch)
{
    size_t count;
    const Architecture *list = architecture_list(&count);
    for (size_t i = 0; arch && i < count; i++)
        if (list[i].number > arch && has_target(id, list[i].number))
            return true;
    return false;
}

bool defect_applies(DefectId id, const DefectRequest *request)
{
    const Defect *defect = &defect_table[id];
    const bool is_old = !request->version || (request->version >= defect->first && request->version < defect->fixed);
    return is_old && (has_target(id, request->arch) || (request->or_newer && has_newer_target(id, request->arch)));
}
