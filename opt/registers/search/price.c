#include "opt/registers/search/search.h"

const char *price_objection(Search *search, const Prediction *before, const Prediction *after, const Figures *figures)
{
    const Policy policy = {.idle = threshold(THRESHOLD_IDLE_LONGER),
                           .time = threshold(THRESHOLD_TIME_ALIKE),
                           .path = threshold(THRESHOLD_PATH_ALIKE)};
    const JudgedForm form = {.prediction = after}, input = {.prediction = before};
    Arena *arena = search->passes.arena;
    double longer = growth_in_all(after, before);
    switch (policy_judge(&policy, &form, &input)) {
    case VERDICT_IDLE:
        return arena_printf(arena,
                            "a form with %u register%s is not worth it: an SM holds %u warp%s as before, and it "
                            "executes %.2f times the instructions",
                            figures->registers, plural(figures->registers), after->warps, plural(after->warps), longer);
    case VERDICT_SLOWER:
        return arena_printf(arena,
                            "a form with %u register%s is not worth it: with %u warp%s on an SM instead of "
                            "%u, and %.2f times the instructions, the kernel is predicted to be slower (%.3fx)",
                            figures->registers, plural(figures->registers), after->warps, plural(after->warps),
                            before->warps, longer, before->cycles / after->cycles);
    case VERDICT_LONGER_PATH:
        return arena_printf(arena,
                            "a form with %u register%s is not worth it: a warp takes %.2f times as long, and an SM "
                            "holds %u warp%s instead of %u",
                            figures->registers, plural(figures->registers), after->path / before->path, after->warps,
                            plural(after->warps), before->warps);
    default: return NULL;
    }
}
