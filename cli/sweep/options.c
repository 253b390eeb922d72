/* The command line of "ptxopt sweep". */
#include "cli/sweep/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/commands.h"

/* The most threads along z: CUDA Programming Guide, "Compute Capabilities". */
enum { LARGEST_FACTOR = 32, MOST_ALONG_Z = 64 };

typedef enum SweepOptionId {
#define OPTION(id, ...) SWEEP_OPTION_##id,
#include "cli/sweep/options.def"
} SweepOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/sweep/options.def"
    {0},
};

const OptionRow *sweep_options_table(void)
{
    return rows;
}

/* Reads one word of a list; false if it is none. */
typedef bool ReadWord(Arena *arena, const char *word, SweepRequest *request);

/* Reads a list whose words are separated by commas; 'expected' says what they are. */
static const char *read_list(Arena *arena, const char *option, const char *value, ReadWord *read, const char *expected,
                             SweepRequest *request)
{
    char *rest = arena_printf(arena, "%s", value);
    for (const char *word; (word = strsep(&rest, ",")) != NULL;)
        if (!read(arena, word, request))
            return arena_printf(arena, "-%s %s: '%s' is not %s", option, value, word, expected);
    return NULL;
}

static bool read_factor(Arena *arena, const char *word, SweepRequest *request)
{
    uint64_t factor;
    if (!read_number(word, LARGEST_FACTOR, &factor))
        return false;
    VEC_PUSH(arena, request->factors, (unsigned)factor);
    return true;
}

static bool read_dimension(Arena *arena, const char *word, SweepRequest *request)
{
    const SweepDimension of_blocks = {.of_blocks = *word == 'b'};
    const char *axis = word + of_blocks.of_blocks;
    if (*axis < 'x' || *axis > 'z' || axis[1])
        return false;
    VEC_PUSH(arena, request->dimensions, ((SweepDimension){of_blocks.of_blocks, (unsigned)(*axis - 'x')}));
    return true;
}

static bool read_stride(Arena *arena, const char *word, SweepRequest *request)
{
    Stride stride;
    if (!stride_read(word, &stride))
        return false;
    VEC_PUSH(arena, request->strides, stride);
    return true;
}

/* "usual", or numbers with "x" between them. */
static bool read_block(Arena *arena, const char *word, SweepRequest *request)
{
    SweepBlock block = {{1, 1, 1}};
    uint64_t threads = 1;
    char *rest = arena_printf(arena, "%s", word);
    if (strcmp(word, "usual") == 0)
        return request->usual_blocks = true;
    for (unsigned i = 0; rest; i++) {
        uint64_t along;
        if (i == 3 || !read_number(strsep(&rest, "x"), BLOCK_MOST_THREADS, &along))
            return false;
        block.threads[i] = (unsigned)along;
        threads *= along;
    }
    if (threads > BLOCK_MOST_THREADS || block.threads[2] > MOST_ALONG_Z)
        return false;
    VEC_PUSH(arena, request->blocks, block);
    return true;
}

static const char *read_factors(Arena *arena, const char *value, SweepRequest *options)
{
    return read_list(arena, "factors", value, read_factor, "a number from 1 to 32", options);
}

static const char *read_dimensions(Arena *arena, const char *value, SweepRequest *options)
{
    return read_list(arena, "dims", value, read_dimension, "x, y, z, bx, by or bz", options);
}

static const char *read_strides(Arena *arena, const char *value, SweepRequest *options)
{
    return read_list(arena, "strides", value, read_stride, "'block', 'unit' or a number", options);
}

static const char *read_blocks(Arena *arena, const char *value, SweepRequest *options)
{
    return read_list(arena, "block-sizes", value, read_block, "'usual' or a size such as 128 or 32x8", options);
}

static const char *read_archs(Arena *arena, const char *value, SweepRequest *options)
{
    return arch_list_read(arena, value, &options->archs);
}

static const char *read_output(Arena *arena, const char *value, SweepRequest *options)
{
    CommandOutput output = {0};
    const char *error = command_read_file(arena, value, &output);
    options->output = output.file;
    return error;
}

const char *sweep_request_assembler(Arena *arena, const char *value, SweepRequest *options)
{
    bool none = false;
    const char *error = assembler_choice_read(arena, value, &none, &options->assembler);
    return !error && none ? "-assembler none: a sweep is about what the assembler makes" : error;
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    SweepRequest *options = result;
    switch ((SweepOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case SWEEP_OPTION_##id: { action; break; }
#include "cli/sweep/options.def"
    }
    return NULL;
}

const char *sweep_request_files(Arena *arena, const CommandFiles *files, SweepRequest *request)
{
    unsigned inputs = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (text_ends_with(files->data[i], ".json")) {
            VEC_PUSH(arena, request->launches, files->data[i]);
        } else {
            request->input = files->data[i];
            inputs++;
        }
    }
    return inputs == 1 && request->launches.count
               ? NULL
               : "expected FILE.ptx and LAUNCH.json, or several of these, one for each kernel";
}

const char *sweep_request_complete(Arena *arena, SweepRequest *request)
{
    const char *error = NULL;
    if (!request->factors.count)
        error = read_factors(arena, "2,4,8,16,32", request);
    if (!error && !request->strides.count)
        error = read_strides(arena, "block,unit,2,4,8,16,32", request);
    if (!error && !request->blocks.count)
        request->usual_blocks = true;
    return error;
}

OptionsOutcome sweep_options_parse(Arena *arena, int argc, char *const *argv, SweepRequest *request,
                                   const char **error)
{
    const CommandLine line = {"sweep", rows, read_option, request};
    CommandFiles files;
    *request = (SweepRequest){0};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    *error = sweep_request_files(arena, &files, request);
    if (!*error)
        *error = sweep_request_complete(arena, request);
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}
