/* The words that the pages of the report use for factors, trials, guards and strides. */
#include "engine/report/report.h"

const char *factor_text(const unsigned factor[3], char text[32])
{
    size_t length = 0;
    for (unsigned i = 0; i < 3; i++)
        if (factor[i] > 1)
            length +=
                (size_t)snprintf(text + length, 32 - length, "%s%c%u", length ? "," : "", "xyz"[i], factor[i] % 100000);
    return length ? text : "none";
}

const char *level_text(CoarsenLevel level)
{
    return level == LEVEL_BLOCK ? " blocks of the grid" : "";
}

const char *trial_text(const CoarsenTrial *trial, char text[TRIAL_TEXT])
{
    char factor[32], merged[32];
    bool is_product = has_factor(trial->merged);
    snprintf(text, TRIAL_TEXT, "%s%s%s%s", factor_text(trial->factor, factor), is_product ? " and " : "",
             is_product ? factor_text(trial->merged, merged) : "",
             level_text(is_product ? LEVEL_BLOCK : trial->level));
    return text;
}

const char *guards_text(const CoarsenTrial *trial)
{
    return trial->guards == GUARDS_SEQUENTIAL ? ", sequential guards" : "";
}

const char *stride_text(const Stride *stride, char text[16])
{
    if (stride->kind == STRIDE_NUMBER)
        snprintf(text, 16, "%u", stride->number);
    else
        snprintf(text, 16, "%s", stride->kind == STRIDE_UNIT ? "unit" : "block");
    return text;
}
