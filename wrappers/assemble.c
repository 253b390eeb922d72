/* One call of ptxas: ptxopt on each input, then the real ptxas, on ptxopt's outputs or, failing that, on the originals.
 * Options that ptxopt found for its outputs go to ptxas with these, never with the originals.
 *
 * nvcc gives ptxas the file that it embeds in the fat binary afterwards. Such a file is rewritten in place, so that the
 * driver's compiler gets the same PTX as ptxas, and is marked by its last line: nvcc may assemble one file for several
 * architectures, and only the first call may change it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "wrappers/wrappers.h"

#define MARK "// Rewritten by ptxopt.\n"

typedef enum State {
    STATE_AS_IS,   /* there was nothing to do */
    STATE_CHANGED, /* 'made' is to be assembled */
    STATE_FAILED   /* 'log' gives the reason, and 'failure' in one line */
} State;

typedef struct Input {
    size_t word;      /* index among those of the command line */
    const char *name; /* as given */
    const char *shown; /* in messages: the file that nvcc compiled it from; or 'name' */
    const char *path; /* a regular file: 'name', or a copy of the text that came through a pipe */
    const char *made; /* by ptxopt */
    Words knobs;      /* the ptxas options for 'made' */
    Flags flags;
    State state;
    const char *failure;
    bool rewritten;   /* in place; 'original' is the former text */
    Source *original;
    Log log;
} Input;

typedef struct Call {
    Arena *arena;
    const Assembling *assembling;
    PtxasLine line;
    const char *folder;
    Input *inputs; /* line.inputs.count of them */
    Buf verbose;   /* what ptxas -v said in its last run, for the build's figures */
} Call;

static void input_fail(Input *input, const char *failure)
{
    input->state = STATE_FAILED;
    input->failure = failure;
}

static bool ends_with_mark(const Source *source)
{
    size_t length = sizeof MARK - 1;
    return source->size >= length && memcmp(source->text + source->size - length, MARK, length) == 0;
}

static bool same_text(const Source *one, const Source *other)
{
    return one->size == other->size && memcmp(one->text, other->text, one->size) == 0;
}

/* Replaces a file by the marked text. NULL, or the reason why that failed. */
static const char *write_marked(Arena *arena, const char *path, const Source *made)
{
    Buf text = {0};
    buf_write(&text, made->text, made->size);
    if (made->size && made->text[made->size - 1] != '\n')
        buf_putc(&text, '\n');
    buf_puts(&text, MARK);
    const char *error = write_file(arena, path, text.data, text.length);
    buf_free(&text);
    return error;
}

/* True for a file that nvcc has made and will embed. Names of its own begin with tmpxft_. */
static bool belongs_to_nvcc(const Assembling *assembling, const char *path)
{
    const char *slash = strrchr(path, '/');
    bool is_temporary = strncmp(slash ? slash + 1 : path, "tmpxft_", 7) == 0;
    for (size_t i = 0; assembling->protected && i < assembling->protected->count; i++)
        if (same_file(assembling->protected->data[i], path))
            return false;
    return is_temporary || assembling->kept;
}

/* The source that nvcc compiled a file from: saxpy.cu, for tmpxft_0000203f_00000000-6_saxpy.ptx, or
 * saxpy.compute_90.ptx, which it was told to keep. NULL if it is neither. */
static const char *source_of(const Assembling *assembling, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found = NULL;
    size_t longest = 0;
    if (strncmp(name, "tmpxft_", 7) == 0)
        for (int i = 0; i < 3 && strchr(name, '_'); i++)
            name = strchr(name, '_') + 1;
    for (size_t i = 0; assembling->sources && i < assembling->sources->count; i++) {
        const char *source = assembling->sources->data[i], *last = strrchr(source, '/');
        const char *base = last ? last + 1 : source, *dot = strrchr(base, '.');
        size_t length = dot ? (size_t)(dot - base) : strlen(base);
        if (length > longest && strncmp(name, base, length) == 0 && name[length] == '.') {
            found = source;
            longest = length;
        }
    }
    return found;
}

/* Copies standard input and pipes, which can be read only once, to regular files. */
static bool make_regular(Call *call, Input *input, size_t number)
{
    struct stat status;
    input->path = input->name;
    if (strcmp(input->name, "-") != 0 && (stat(input->name, &status) != 0 || S_ISREG(status.st_mode)))
        return true;
    const char *error = NULL;
    Source *source = source_read(call->arena, input->name, &error);
    input->path = arena_printf(call->arena, "%s/input-%zu.ptx", call->folder, number);
    if (source)
        error = write_file(call->arena, input->path, source->text, source->size);
    if (error)
        say("error", "cannot read '%s': %s", input->name, error);
    return !error;
}

/* Reads the options that 'made' is to be assembled with. NULL, or an error message. */
static const char *read_knobs(Arena *arena, const char *path, Words *knobs)
{
    const char *error = NULL;
    Source *text = source_read(arena, path, &error);
    return text ? words_split(arena, text->text, QUOTING_OPTIONS, knobs) : error;
}

/* Runs ptxopt on an input, unless there is nothing to do. */
static void input_transform(Call *call, Input *input, size_t number)
{
    const Assembling *assembling = call->assembling;
    Arena *arena = call->arena;
    bool in_place = assembling->in_place && belongs_to_nvcc(assembling, input->name);
    const char *error = NULL;
    input->flags = assembling->flags ? *assembling->flags : flags_of_environment(arena, input->name);
    if (input->flags.problem) {
        input_fail(input, input->flags.problem);
        return;
    }
    if (input->flags.is_default && call->line.is_debug)
        return;
    if (assembling->in_place && !in_place && input->flags.coarsens) {
        input_fail(input, "your file is never overwritten, but nvcc would embed it beside the coarsened code: "
                          "coarsen it with ptxopt, and pass nvcc the result");
        return;
    }
    if (input->flags.tries_knobs && call->line.inputs.count > 1) {
        input_fail(input, "-knobs is for one input, since options of ptxas apply to all of them");
        return;
    }
    input->original = source_read(arena, input->path, &error);
    if (!input->original || (in_place && ends_with_mark(input->original)))
        return; /* ptxas reports the errors in the file */
    const char *slash = strrchr(input->name, '/');
    input->made = arena_printf(arena, "%s/%zu-%s", call->folder, number, slash ? slash + 1 : input->name);
    const char *knobs = input->flags.tries_knobs ? arena_printf(arena, "%s.options", input->made) : NULL;
    if (assembling->names)
        names_note(arena, assembling->names, input->original);
    Request request = {.flags = &input->flags,
                       .judge = &call->line.judge,
                       .arch = call->line.arch,
                       .ptxas = assembling->ptxas,
                       .source = input->shown != input->name ? input->shown : NULL,
                       .knobs = knobs};
    int status = transform(arena, &request, input->path, input->made, &input->log);
    if (status != 0 && (status != 3 || input->flags.is_strict)) {
        input_fail(input, arena_printf(arena, "ptxopt ended with exit status %d", status));
        return;
    }
    Source *made = source_read(arena, input->made, &error);
    if (made && knobs && (error = read_knobs(arena, knobs, &input->knobs)) != NULL)
        made = NULL;
    if (!made) {
        input_fail(input, arena_printf(arena, "cannot read what ptxopt wrote: %s", error));
        return;
    }
    input->state = same_text(made, input->original) && !input->knobs.count ? STATE_AS_IS : STATE_CHANGED;
    if (input->state == STATE_CHANGED && in_place) {
        error = write_marked(arena, input->path, made);
        input->rewritten = !error;
        if (error)
            input_fail(input, arena_printf(arena, "it cannot be rewritten: %s", error));
    }
}

/* The command of the real ptxas. */
static Words real_command(Call *call, bool originals)
{
    Words command = {0};
    words_add(call->arena, &command, call->assembling->ptxas);
    words_add_all(call->arena, &command, &call->line.words);
    for (size_t i = 0; i < call->line.inputs.count; i++) {
        const Input *input = &call->inputs[i];
        bool is_made = !originals && input->state == STATE_CHANGED && !input->rewritten;
        command.data[1 + input->word] = is_made ? input->made : input->path;
        if (!originals && input->state == STATE_CHANGED)
            words_add_all(call->arena, &command, &input->knobs);
    }
    if (build_stats_wanted())
        words_add(call->arena, &command, "-v");
    return command;
}

/* Runs the real ptxas: in parts, if there is one input and its options say so. */
static int run_real(Call *call, Words *command, Log *log)
{
    buf_clear(&call->verbose);
    const Input *input = &call->inputs[0];
    const bool splits = call->line.inputs.count == 1 && splitting_wanted(&input->flags.split, &call->line);
    const char *path = command->data[1 + input->word];
    const Splitting splitting = {.option = &input->flags.split,
                                 .line = &call->line,
                                 .ptxas = call->assembling->ptxas,
                                 .input = path,
                                 .knobs = path == input->made || input->rewritten ? &input->knobs : &(Words){0}};
    const int status = splits ? split_ptxas(&splitting, log) : run_command(call->arena, command, log);
    if (splits && !build_stats_wanted() && !call->line.is_verbose) {
        Buf dropped = {0};
        build_stats_take(call->arena, log, &dropped);
        buf_free(&dropped);
    }
    if (build_stats_wanted() && !call->line.is_verbose)
        build_stats_take(call->arena, log, &call->verbose);
    else if (build_stats_wanted())
        buf_write(&call->verbose, buf_text(&log->errors), log->errors.length);
    return status;
}

static void replace_all(Buf *text, const char *old, const char *new)
{
    Buf result = {0};
    const char *at = buf_text(text), *end = at + text->length;
    for (const char *found; (found = memmem(at, (size_t)(end - at), old, strlen(old))); at = found + strlen(old)) {
        buf_write(&result, at, (size_t)(found - at));
        buf_puts(&result, new);
    }
    buf_write(&result, at, (size_t)(end - at));
    buf_free(text);
    *text = result;
}

/* Messages name files as the user does. */
static void name_inputs(Call *call, Log *log)
{
    for (size_t i = 0; i < call->line.inputs.count; i++) {
        const Input *input = &call->inputs[i];
        if (input->made && log->errors.length)
            replace_all(&log->errors, input->made, input->name);
        if (input->path != input->name && log->errors.length)
            replace_all(&log->errors, input->path, input->name);
    }
}

static void print_logs(Call *call, State state)
{
    for (size_t i = 0; i < call->line.inputs.count; i++)
        if (call->inputs[i].state == state) {
            name_inputs(call, &call->inputs[i].log);
            log_print(&call->inputs[i].log);
        }
}

/* Restores the files that were rewritten in place. */
static void restore(Call *call)
{
    for (size_t i = 0; i < call->line.inputs.count; i++) {
        const Input *input = &call->inputs[i];
        const char *error = NULL;
        if (input->rewritten)
            error = write_file(call->arena, input->path, input->original->text, input->original->size);
        if (error)
            say("error", "cannot restore '%s': %s", input->path, error);
    }
}

/* Runs the real ptxas on the originals, and prints warnings only if it finds no errors itself. 'tries': only its status
 * and errors are wanted. */
static int assemble_originals(Call *call, bool tries)
{
    Words command = real_command(call, true);
    Log log = {0};
    int status = run_real(call, &command, &log);
    name_inputs(call, &log);
    if (status == 0 && tries) {
        log_free(&log);
        return 0;
    }
    if (status == 0)
        print_logs(call, STATE_FAILED);
    for (size_t i = 0; status == 0 && i < call->line.inputs.count; i++)
        if (call->inputs[i].state == STATE_FAILED)
            say("warning", "%s is assembled unchanged: %s", call->inputs[i].shown, call->inputs[i].failure);
    log_print(&log);
    return status;
}

static bool any_in_state(const Call *call, State state)
{
    bool any = false;
    for (size_t i = 0; i < call->line.inputs.count; i++)
        any |= call->inputs[i].state == state;
    return any;
}

/* A failure that must end the build, or NULL. */
static const Input *find_failure(const Call *call)
{
    for (size_t i = 0; i < call->line.inputs.count; i++)
        if (call->inputs[i].state == STATE_FAILED && call->inputs[i].flags.is_strict)
            return &call->inputs[i];
    return NULL;
}

/* Explains why nothing is assembled, unless ptxas rejects the originals too: then its own messages explain it. Returns
 * the exit status. */
static int fail(Call *call, const Input *input, int status)
{
    struct stat file;
    restore(call);
    int status_of_originals = assemble_originals(call, true);
    if (status_of_originals)
        return status_of_originals;
    if (stat(call->line.output, &file) == 0 && S_ISREG(file.st_mode))
        remove(call->line.output);
    print_logs(call, STATE_FAILED);
    say("error", "%s: %s%s", input->shown, input->failure,
        !input->flags.coarsens           ? " (PTXOPT_STRICT)"
        : input->flags.launches_adapted ? "; the original is not used instead, because launches are adapted"
                                        : "");
    return status;
}

static int assemble_made(Call *call)
{
    Words command = real_command(call, false);
    Log log = {0};
    int status = run_real(call, &command, &log);
    name_inputs(call, &log);
    if (status == 0) {
        print_logs(call, STATE_CHANGED);
        print_logs(call, STATE_FAILED);
        for (size_t i = 0; i < call->line.inputs.count; i++)
            if (call->inputs[i].state == STATE_FAILED)
                say("warning", "%s is assembled unchanged: %s", call->inputs[i].shown, call->inputs[i].failure);
        log_print(&log);
        return 0;
    }
    for (size_t i = 0; i < call->line.inputs.count; i++)
        if (call->inputs[i].state == STATE_CHANGED) {
            input_fail(&call->inputs[i], "ptxas rejects what ptxopt made of it");
            buf_write(&call->inputs[i].log.errors, buf_text(&log.errors), log.errors.length);
            log_free(&log); /* printed once */
        }
    log_free(&log);
    const Input *failure = find_failure(call);
    if (failure)
        return fail(call, failure, status);
    restore(call);
    return assemble_originals(call, false);
}

static int assemble_in_folder(Call *call)
{
    size_t count = call->line.inputs.count;
    call->inputs = ARENA_ARRAY(call->arena, Input, count);
    for (size_t i = 0; i < count; i++) {
        Input *input = &call->inputs[i];
        input->word = call->line.inputs.data[i];
        input->name = call->line.words.data[input->word];
        const char *source = source_of(call->assembling, input->name);
        input->shown = source ? source : input->name;
        if (!make_regular(call, input, i))
            return 1;
    }
    for (size_t i = 0; i < count; i++)
        input_transform(call, &call->inputs[i], i);
    const Input *failure = find_failure(call);
    if (failure)
        return fail(call, failure, 1);
    print_logs(call, STATE_AS_IS);
    return any_in_state(call, STATE_CHANGED) ? assemble_made(call) : assemble_originals(call, false);
}

int assemble_plainly(Arena *arena, const Assembling *assembling)
{
    Words command = {0};
    words_add(arena, &command, assembling->ptxas);
    words_add_all(arena, &command, &assembling->words);
    return replace_with(arena, &command);
}

/* True if there is code to improve. Code for link-time optimization is made later; PTX that is only checked is not
 * kept, unless nvcc embeds it. */
static bool has_work(const Assembling *assembling, const PtxasLine *line)
{
    bool is_late = line->arch && strncmp(line->arch, "lto_", 4) == 0;
    bool is_virtual = line->arch && strncmp(line->arch, "compute_", 8) == 0;
    return !line->only_asks && line->inputs.count && !is_late && (!is_virtual || assembling->in_place);
}

int assemble(Arena *arena, const Assembling *assembling)
{
    Call call = {.arena = arena, .assembling = assembling};
    const char *error = ptxas_line_parse(arena, &assembling->words, &call.line);
    if (error || !has_work(assembling, &call.line))
        return assemble_plainly(arena, assembling);
    call.folder = folder_make(arena, &error);
    if (!call.folder) {
        Flags flags = assembling->flags ? *assembling->flags : flags_of_environment(arena, NULL);
        say(flags.is_strict ? "error" : "warning", "ptxopt is not run: %s", error);
        return flags.is_strict ? 1 : assemble_plainly(arena, assembling);
    }
    int status = assemble_in_folder(&call);
    if (status == 0 && build_stats_wanted())
        build_stats_add(arena, call.inputs[0].shown, call.line.output, &call.verbose);
    for (size_t i = 0; i < call.line.inputs.count; i++)
        log_free(&call.inputs[i].log); /* logs that were not to be shown */
    buf_free(&call.verbose);
    folder_remove();
    return status;
}

int rewrite(Arena *arena, const Request *request, const char *path)
{
    Log log = {0};
    const char *error = NULL, *folder = folder_make(arena, &error);
    int status = 1;
    if (folder) {
        const char *made = arena_printf(arena, "%s/made.ptx", folder);
        status = transform(arena, request, path, made, &log);
        bool is_done = status == 0 || (status == 3 && !request->flags->is_strict);
        Source *text = is_done ? source_read(arena, made, &error) : NULL;
        if (text)
            error = write_file(arena, path, text->text, text->size);
        else if (!is_done)
            error = arena_printf(arena, "ptxopt ended with exit status %d", status);
    }
    log_print(&log);
    folder_remove();
    if (error)
        say(request->flags->is_strict ? "error" : "warning", "%s is not changed: %s", path, error);
    return error && request->flags->is_strict ? 1 : 0;
}
