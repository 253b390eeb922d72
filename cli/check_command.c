/* "ptxopt check": whether the machine code of kernels computes what their PTX says. */
#include "cli/command_line.h"
#include "engine/engine.h"
#include "machine/machine.h"
#include "parser/parser.h"

#include <string.h>

typedef struct CheckOptions {
    const char *input;
    VEC(const char *) architectures; /* none: the PTX's own */
    bool levels[4];
    const char *kernel, *launch, *output;
    uint64_t inputs, seed;
    bool quiet;
} CheckOptions;

typedef enum CheckOptionId {
#define OPTION(id, ...) CHECK_##id,
#include "cli/options_check.def"
} CheckOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/options_check.def"
    {0},
};

const OptionRow *check_options_table(void) { return rows; }

const char *check_options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text, command_usage(arena, "check"));
    buf_puts(&text,
             "\nCompares the machine code that ptxas makes of each kernel with its PTX: the emulator runs the PTX,\n"
             "an interpreter the machine code, and both must leave the same memory. 'equal' is about the inputs\n"
             "that were tried, 'different' is shown with an input, and 'not decided' with the reason.\n\n");
    option_rows_print_help(rows, &text);
    buf_puts(&text, "\nExit status: 0 all are equal; 1 a file is wrong, or ptxas or nvdisasm is missing; 2 the usage\n"
                    "is wrong; 5 a kernel is different; 6 none is, but some are not decided.\n");
    const char *help = arena_strndup(arena, buf_text(&text), text.length);
    buf_free(&text);
    return help;
}

static const char *read_architectures(Arena *arena, const char *value, CheckOptions *options)
{
    for (const char *word = value; *word; word += strcspn(word, ","), word += *word == ',') {
        const char *arch;
        const char *error = arch_choice_read(arena, arena_strndup(arena, word, strcspn(word, ",")), &arch);
        if (error)
            return error;
        VEC_PUSH(arena, options->architectures, arch);
    }
    return options->architectures.count ? NULL : "-arch: expected architectures";
}

static const char *read_levels(Arena *arena, const char *value, CheckOptions *options)
{
    for (const char *at = value; *at; at += at[1] == ',' ? 2 : 1) {
        if (*at < '0' || *at > '3' || (at[1] && at[1] != ','))
            return arena_printf(arena, "-opt-level %s: expected levels from 0 to 3, such as '0,3'", value);
        options->levels[*at - '0'] = true;
    }
    return NULL;
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    CheckOptions *options = result;
    switch ((CheckOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case CHECK_##id: { action; break; }
#include "cli/options_check.def"
    }
    return NULL;
}

static OptionsOutcome parse(Arena *arena, int argc, char *const *argv, CheckOptions *options, const char **error)
{
    const CommandLine line = {"check", rows, read_option, options};
    CommandFiles files;
    *options = (CheckOptions){.inputs = 16, .seed = 1};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (files.count != 1) {
        *error = "expected a PTX file";
        return OPTIONS_WRONG;
    }
    options->input = files.data[0];
    if (!memchr(options->levels, true, sizeof options->levels))
        options->levels[3] = true;
    return OPTIONS_RUN;
}

typedef struct Checking {
    const CheckOptions *options;
    Arena *arena;
    Diag diag;
    Module *module;
    const Launch *launch;
    const Disassembler *disassembler;
    Buf out;
    unsigned verdicts[CHECK_UNDECIDED + 1]; /* how many kernels have each */
} Checking;

static bool fail(const char *message)
{
    fprintf(stderr, "ptxopt: error: %s\n", message);
    return false;
}

static bool read_inputs(Checking *checking)
{
    const CheckOptions *options = checking->options;
    const char *error = NULL;
    Source *source = input_read(checking->arena, options->input);
    if (!source)
        return false;
    diag_init(&checking->diag, source, stderr);
    checking->diag.quiet = options->quiet;
    checking->module = parse_module(checking->arena, source, &checking->diag);
    if (!checking->module)
        return false;
    if (options->launch) {
        checking->launch = launch_read(checking->arena, options->launch, &error);
        if (checking->launch)
            error = launch_kernel_missing(checking->arena, checking->module, checking->launch);
    }
    checking->disassembler = error ? NULL : disassembler_find(checking->arena, &error);
    return error ? fail(error) : true;
}

/* True if the kernel is asked for. */
static bool is_wanted(const Checking *checking, const Function *kernel)
{
    const CheckOptions *options = checking->options;
    if (checking->launch && strcmp(checking->launch->kernel, kernel->name) != 0)
        return false;
    return kernel->is_entry && (!options->kernel || kernel_name_matches(options->kernel, kernel->name));
}

static void check_one(Checking *checking, CheckRequest *request, const Function *kernel)
{
    request->kernel = kernel->name;
    const CheckResult *result = check_kernel(checking->arena, request);
    checking->verdicts[result->verdict]++;
    request->known = result->map;
    if (!checking->options->quiet || result->verdict != CHECK_EQUAL)
        check_print(request, result, checking->options->input, &checking->out);
}

static void check_level(Checking *checking, Assembler *assembler, int level)
{
    CheckRequest request = {.assembler = assembler,
                            .disassembler = checking->disassembler,
                            .module = checking->module,
                            .opt_level = level,
                            .inputs = (unsigned)checking->options->inputs,
                            .seed = checking->options->seed,
                            .launch = checking->launch};
    for (size_t i = 0; i < checking->module->items.count; i++)
        if (checking->module->items.data[i].kind == ITEM_FUNCTION &&
            is_wanted(checking, checking->module->items.data[i].function))
            check_one(checking, &request, checking->module->items.data[i].function);
}

static bool check_arch(Checking *checking, const char *arch)
{
    const char *error;
    Assembler *assembler = assembler_open(checking->arena, ASSEMBLER_PTXAS, arch, &error);
    if (!assembler)
        return fail(error);
    for (int level = 0; level < 4; level++)
        if (checking->options->levels[level])
            check_level(checking, assembler, level);
    assembler_close(assembler);
    return true;
}

/* The architecture that the module is for, as it is assembled. */
static const char *own_arch(Arena *arena, const Module *module)
{
    Arch target = arch_assembled((Arch){0});
    for (unsigned i = 0; i < module->target_count; i++)
        arch_parse(module->targets[i], &target);
    return arena_printf(arena, "%s", arch_names(arch_assembled(target)).real);
}

static bool check_all(Checking *checking)
{
    const CheckOptions *options = checking->options;
    bool done = true;
    if (!options->architectures.count)
        return check_arch(checking, own_arch(checking->arena, checking->module));
    for (size_t i = 0; i < options->architectures.count && done; i++)
        done = check_arch(checking, options->architectures.data[i]);
    return done;
}

static ExitStatus finish(Checking *checking)
{
    const CommandOutput output = {.file = checking->options->output};
    const unsigned *verdicts = checking->verdicts;
    if (!verdicts[CHECK_EQUAL] && !verdicts[CHECK_DIFFERENT] && !verdicts[CHECK_UNDECIDED]) {
        fail(checking->options->kernel ? "the module has no such kernel" : "the module has no kernel");
        return EXIT_INPUT;
    }
    const int status = command_write(checking->arena, &output, &checking->out);
    if (status)
        return (ExitStatus)status;
    return verdicts[CHECK_DIFFERENT]   ? EXIT_DIFFERENT
           : verdicts[CHECK_UNDECIDED] ? EXIT_UNVERIFIED
                                       : EXIT_DONE;
}

int main_check(Arena *arena, int argc, char **argv)
{
    CheckOptions options;
    Checking checking = {.options = &options, .arena = arena};
    const char *error;
    const OptionsOutcome outcome = parse(arena, argc, argv, &options, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "check", check_options_help(arena), error);
    const bool done = read_inputs(&checking) && check_all(&checking);
    const ExitStatus status = done ? finish(&checking) : EXIT_INPUT;
    buf_free(&checking.out);
    return status;
}
