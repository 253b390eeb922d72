/* The command line of "ptxopt run". */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

enum {
    OPTION_DUMP = 256,
    OPTION_OUTPUT,
    OPTION_REPORT_FORMAT,
    OPTION_CHECK,
    OPTION_BLOCKS,
    OPTION_STEPS,
    OPTION_JOBS,
    OPTION_LINES,
    OPTION_NO_SECTORS,
    OPTION_TIME,
    OPTION_QUIET,
    OPTION_TEMPLATE,
    OPTION_VERSION,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"dump", required_argument, NULL, OPTION_DUMP},
    {"o", required_argument, NULL, OPTION_OUTPUT},
    {"report-format", required_argument, NULL, OPTION_REPORT_FORMAT},
    {"check", required_argument, NULL, OPTION_CHECK},
    {"resident", required_argument, NULL, OPTION_BLOCKS},
    {"max-steps", required_argument, NULL, OPTION_STEPS},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"lines", no_argument, NULL, OPTION_LINES},
    {"no-sectors", no_argument, NULL, OPTION_NO_SECTORS},
    {"time", no_argument, NULL, OPTION_TIME},
    {"template", no_argument, NULL, OPTION_TEMPLATE},
    {"q", no_argument, NULL, OPTION_QUIET},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* "all", "none", or some of the four names, separated by commas. */
static bool read_checks(const char *text, EmulatorOptions *machine)
{
    bool all = strcmp(text, "all") == 0, none = strcmp(text, "none") == 0;
    machine->check_races = machine->check_unwritten = machine->check_registers = machine->check_division = all;
    for (const char *at = text; !all && !none;) {
        size_t length = strcspn(at, ",");
        if (length == 5 && strncmp(at, "races", length) == 0)
            machine->check_races = true;
        else if (length == 9 && strncmp(at, "unwritten", length) == 0)
            machine->check_unwritten = true;
        else if (length == 9 && strncmp(at, "registers", length) == 0)
            machine->check_registers = true;
        else if (length == 8 && strncmp(at, "division", length) == 0)
            machine->check_division = true;
        else
            return false;
        at += length;
        if (*at++ == 0)
            break;
    }
    return true;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && *number && *number <= most;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

static const char *read_option(Arena *arena, int id, const char *value, RunOptions *options)
{
    uint64_t number;
    switch (id) {
    case OPTION_DUMP: VEC_PUSH(arena, options->dumps, value); break;
    case OPTION_OUTPUT:
        if (!*value)
            return "-o: the file name is empty";
        options->output = value;
        break;
    case OPTION_REPORT_FORMAT:
        options->report_json = strcmp(value, "json") == 0;
        if (!options->report_json && strcmp(value, "text") != 0)
            return arena_printf(arena, "-report-format %s: expected 'text' or 'json'", value);
        break;
    case OPTION_CHECK:
        if (!read_checks(value, &options->machine))
            return arena_printf(arena, "-check %s: expected all, none or some of "
                                       "races,unwritten,registers,division", value);
        break;
    case OPTION_BLOCKS:
        if (!read_number(value, 1024, &number))
            return arena_printf(arena, "-resident %s: expected a number of blocks from 1 to 1024", value);
        options->machine.resident_blocks = (unsigned)number;
        break;
    case OPTION_STEPS:
        if (!read_number(value, UINT64_MAX, &number))
            return arena_printf(arena, "-max-steps %s: expected a number of instructions", value);
        options->machine.max_steps = number;
        break;
    case OPTION_JOBS:
        if (!read_number(value, 1024, &number))
            return arena_printf(arena, "-jobs %s: expected a number of cores from 1 to 1024", value);
        options->jobs = (unsigned)number;
        break;
    case OPTION_LINES: options->machine.count_lines = true; break;
    case OPTION_NO_SECTORS: options->machine.count_memory = false; break;
    case OPTION_TIME: options->timed = true; break;
    case OPTION_QUIET: options->quiet = true; break;
    case OPTION_TEMPLATE: options->template = ""; break;
    }
    return NULL;
}

OptionsOutcome run_options_parse(Arena *arena, int argc, char *const *argv, RunOptions *options, const char **error)
{
    *options = (RunOptions){0};
    options->machine.count_memory = true;
    read_checks("all", &options->machine);
    *error = NULL;
    VEC(const char *) files = {0};
    /* getopt may reorder its argv; "run" is where it expects the program's name. */
    char **words = ARENA_ARRAY(arena, char *, (size_t)argc + 1);
    memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    argc--;
    optind = 0;
    opterr = 0;
    for (int id; !*error && (id = getopt_long_only(argc, words, "-:", long_options, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, files, optarg); break;
        case '?':
            *error = arena_printf(arena, "unknown option '%s'; run -help lists them all", words[optind - 1]);
            break;
        case ':': *error = arena_printf(arena, "option '%s' needs a value", words[optind - 1]); break;
        case OPTION_HELP: return OPTIONS_HELP;
        case OPTION_VERSION: return OPTIONS_VERSION;
        default: *error = read_option(arena, id, optarg, options); break;
        }
    }
    for (int i = optind; !*error && i < argc; i++)
        VEC_PUSH(arena, files, words[i]);
    if (!*error && files.count != 2)
        *error = options->template ? "-template: expected FILE.ptx KERNEL" : "expected two files, FILE.ptx LAUNCH.json";
    if (*error)
        return OPTIONS_WRONG;
    if (options->template) {
        bool turned = ends_with(files.data[1], ".ptx") && !ends_with(files.data[0], ".ptx");
        options->input = files.data[turned];
        options->template = files.data[!turned];
        return OPTIONS_RUN;
    }
    /* The files may come in either order: their names tell them apart. */
    bool swapped = ends_with(files.data[0], ".json") && !ends_with(files.data[1], ".json");
    options->input = files.data[swapped];
    options->launch = files.data[!swapped];
    return OPTIONS_RUN;
}
