/* The files of compiler controls that -knobs lets the register search try: those that it names, and those in folders
 * that it names, as far as the assembler accepts them. */
#include "engine/run_steps.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 64 };

#define EXTENSION ".acf"

typedef struct Finding {
    Run *run;
    VEC(const char *) files;
    const char *last; /* the last message */
} Finding;

static void skip(Finding *finding, const char *message)
{
    if (!finding->last || strcmp(finding->last, message) != 0)
        diag_report_plain(&finding->run->diag, SEVERITY_WARNING, "-knobs skips compiler controls: %s", message);
    finding->last = message;
}

/* The options that are found are one text, with spaces between them. */
static bool can_be_word(const char *path)
{
    return !path[strcspn(path, " \t\n\"'\\")];
}

static void add_file(Finding *finding, const char *path)
{
    Arena *arena = finding->run->arena;
    const char *absolute;
    const char *message = assembler_try_controls(finding->run->assembler, path, &absolute);
    if (!message && !can_be_word(absolute))
        message = arena_printf(arena, "%s: there is a space or a quotation mark in the name", absolute);
    if (!message && finding->files.count == MOST_FILES)
        message = arena_printf(arena, "there are more than %d files", MOST_FILES);
    if (message)
        skip(finding, message);
    else
        VEC_PUSH(arena, finding->files, arena_printf(arena, "%s", absolute));
}

static int has_extension(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), end = sizeof EXTENSION - 1;
    return length > end && strcmp(entry->d_name + length - end, EXTENSION) == 0;
}

/* The files of a folder in the order of their names; false if it is not one. */
static bool add_folder(Finding *finding, const char *path)
{
    struct dirent **entries;
    const int count = scandir(path, &entries, has_extension, alphasort);
    if (count < 0)
        return false;
    if (!count)
        skip(finding, arena_printf(finding->run->arena, "%s has no file whose name ends in " EXTENSION, path));
    for (int i = 0; i < count; i++) {
        add_file(finding, arena_printf(finding->run->arena, "%s/%s", path, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return true;
}

void find_controls(Run *run)
{
    const Options *options = run->options;
    Finding finding = {.run = run};
    if (options->knob_files.count && (options->controls || knobs_set_controls(options->ptxas_options.data)))
        skip(&finding, "the command line has a file for all forms");
    else
        for (size_t i = 0; i < options->knob_files.count; i++)
            if (!add_folder(&finding, options->knob_files.data[i]))
                add_file(&finding, options->knob_files.data[i]);
    VEC_PUSH(run->arena, finding.files, NULL);
    run->controls = finding.files.data;
}
