/* "ptxopt stats" and "ptxopt diff": the figures of all kernels of a build, and those that differ from another build. */
#include "cli/commands.h"
#include "engine/engine.h"

static void print_warnings(const StatsOptions *options, const Stats *stats, const StatsFailures *failures)
{
    for (size_t i = 0; i < stats->bounds.count && !options->request.quiet; i++) {
        Buf sentence = {0};
        stats_print_bound(stats->arena, &stats->bounds.data[i], &sentence);
        fprintf(stderr, "%s:%u: warning: %s\n", stats->bounds.data[i].file, stats->bounds.data[i].line,
                buf_text(&sentence));
        buf_free(&sentence);
    }
    for (size_t i = 0; i < failures->count; i++)
        fprintf(stderr, "ptxopt: error: %s: %s: %s\n", failures->data[i].row->file,
                stats_name_shown(stats->arena, failures->data[i].row->kernel), failures->data[i].reason);
}

static void check(const StatsOptions *options, Arena *arena, const StatsPair *pair, StatsFailures *failures)
{
    for (size_t i = 0; i < options->conditions.count; i++)
        stats_condition_check(arena, options->conditions.data[i], pair, failures);
}

/* Writes the table, and says what failed. */
static ExitStatus finish(const StatsOptions *options, const Stats *stats, const StatsFailures *failures, Buf *out)
{
    const CommandOutput output = {.file = options->output};
    const int status = command_write(stats->arena, &output, out);
    buf_free(out);
    if (status)
        return (ExitStatus)status;
    if (options->format != STATS_GITHUB)
        print_warnings(options, stats, failures);
    return failures->count ? EXIT_DIFFERENT : EXIT_DONE;
}

static bool collect(const StatsOptions *options, const char *file, Stats *stats)
{
    const size_t before = stats->rows.count;
    if (!stats_collect(stats, &options->request, file))
        return false;
    if (stats->rows.count > before)
        return true;
    fprintf(stderr, "ptxopt: error: %s: there is no kernel in it\n", file);
    return false;
}

/* Reads the launch files, once for all kernels; false after a message. */
static bool read_launch_files(StatsOptions *options, Arena *arena)
{
    const char *error = NULL;
    const Launch **launches = ARENA_ARRAY(arena, const Launch *, options->launches.count);
    for (size_t i = 0; i < options->launches.count && !error; i++)
        launches[i] = launch_read(arena, options->launches.data[i], &error);
    options->request.launches = launches;
    options->request.launch_count = options->launches.count;
    if (error)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return !error;
}

static ExitStatus print_stats(const StatsOptions *options, Stats *stats)
{
    StatsFailures failures = {0};
    Buf out = {0};
    for (size_t i = 0; i < options->files.count; i++)
        if (!collect(options, options->files.data[i], stats))
            return EXIT_INPUT;
    for (size_t i = 0; i < stats->rows.count; i++)
        check(options, stats->arena, &(StatsPair){NULL, &stats->rows.data[i]}, &failures);
    switch (options->format) {
    case STATS_TEXT: stats_print_text(stats, &out); break;
    case STATS_TSV: stats_print_tsv(stats, &out); break;
    case STATS_JSON: stats_print_json(stats, &out); break;
    case STATS_GITHUB: stats_print_github(stats->arena, &failures, stats, &out); break;
    }
    return finish(options, stats, &failures, &out);
}

static ExitStatus print_diff(const StatsOptions *options, Stats *base, Stats *now)
{
    StatsFailures failures = {0};
    StatsDiff diff;
    Buf out = {0};
    if (!collect(options, options->files.data[0], base) || !collect(options, options->files.data[1], now))
        return EXIT_INPUT;
    stats_match(base, now, &diff);
    for (size_t i = 0; i < diff.pairs.count; i++)
        check(options, now->arena, &diff.pairs.data[i], &failures);
    switch (options->format) {
    case STATS_TEXT: stats_print_diff(&diff, options->lists_all, &out); break;
    case STATS_TSV: stats_print_diff_tsv(&diff, &out); break;
    case STATS_JSON: stats_print_diff_json(&diff, &out); break;
    case STATS_GITHUB: stats_print_github(now->arena, &failures, now, &out); break;
    }
    return finish(options, now, &failures, &out);
}

int main_stats(Arena *arena, int argc, char **argv)
{
    StatsOptions options;
    const char *error;
    const OptionsOutcome outcome = stats_options_parse(arena, argc, argv, &options, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "stats", stats_options_help(arena), error);
    return read_launch_files(&options, arena) ? (int)print_stats(&options, &(Stats){.arena = arena}) : EXIT_INPUT;
}

int main_diff(Arena *arena, int argc, char **argv)
{
    StatsOptions options;
    const char *error;
    const OptionsOutcome outcome = diff_options_parse(arena, argc, argv, &options, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "diff", diff_options_help(arena), error);
    return read_launch_files(&options, arena)
               ? (int)print_diff(&options, &(Stats){.arena = arena}, &(Stats){.arena = arena})
               : EXIT_INPUT;
}
