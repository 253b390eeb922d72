#include "engine/report/contract_words.h"

/* "block.x * block.y" */
static const char *figure_text(const LaunchCondition *condition)
{
    static const char *const along[3] = {"block.x", "block.y", "block.z"};
    static const char *const up_to[3] = {"block.x", "block.x * block.y", "block.x * block.y * block.z"};
    static const char *const grid[3] = {"grid.x", "grid.y", "grid.z"};
    switch (condition->figure) {
    case LAUNCH_BLOCK: return "the block";
    case LAUNCH_BLOCK_ALONG: return along[condition->axis];
    case LAUNCH_BLOCK_UP_TO: return up_to[condition->axis];
    case LAUNCH_GRID_ALONG: return grid[condition->axis];
    }
    bug("no figure of a launch %d", (int)condition->figure);
}

const char *condition_text(Arena *arena, const LaunchCondition *condition)
{
    const char *figure = figure_text(condition);
    const unsigned *block = condition->block;
    if (condition->figure == LAUNCH_BLOCK)
        return arena_printf(arena, "%s is %u,%u,%u", figure, block[0], block[1], block[2]);
    const char *format = condition->is_exact   ? "%s is %llu"
                         : condition->is_limit ? "%s is at most %llu"
                                               : "%s is a multiple of %llu";
    return arena_printf(arena, format, figure, (unsigned long long)condition->number);
}

const char *unmet_text(Arena *arena, const LaunchUnmet *unmet)
{
    const LaunchCondition *condition = &unmet->condition;
    const char *format = condition->is_exact   ? "%s is %llu; the contract is for %llu only"
                         : condition->is_limit ? "%s is %llu, more than %llu"
                                               : "%s is %llu, not a multiple of %llu";
    return arena_printf(arena, format, figure_text(condition), (unsigned long long)unmet->found,
                        (unsigned long long)condition->number);
}

const char *contract_error_text(Arena *arena, ContractState state, const char *kernel)
{
    const char *symbol = arena_printf(arena, "__ptxopt_launch_%s", kernel);
    switch (state) {
    case CONTRACT_NONE:
    case CONTRACT_FOUND: return NULL;
    case CONTRACT_OTHER_SYMBOL: return arena_printf(arena, "%s is not a launch contract", symbol);
    case CONTRACT_FORMAT:
        return arena_printf(arena, "the launch contract %s has a format that this program does not know", symbol);
    case CONTRACT_ZERO: return arena_printf(arena, "the launch contract %s has the factor 0", symbol);
    }
    bug("no state of a contract %d", (int)state);
}
