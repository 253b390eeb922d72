/* -verify: input and output run in the emulator, and all memory is compared. */
#include "engine/verify.h"

#include <string.h>

#include "engine/kernel_find.h"
#include "engine/launch.h"

typedef struct Verifier {
    Arena *arena;
    const Module *input, *output;
    Launch *launch, *launch_output;
    EmulatorOptions options; /* with the checks that the input passes */
    EmulatorResult *expected, *actual;
    Verification *result;
} Verifier;

static bool not_done(Verifier *verifier, const char *message)
{
    verifier->result->outcome = VERIFY_NOT_DONE;
    verifier->result->message = message;
    return false;
}

/* The text of a line of the source, without surrounding blanks. */
static const char *source_line(Arena *arena, const Source *source, unsigned line)
{
    size_t at = 0;
    while (line > 1 && at < source->size)
        line -= source->text[at++] == '\n';
    while (at < source->size && (source->text[at] == ' ' || source->text[at] == '\t'))
        at++;
    size_t end = at;
    while (end < source->size && source->text[end] != '\n')
        end++;
    while (end > at && strchr(" \t\r", source->text[end - 1]))
        end--;
    return line == 1 ? arena_strndup(arena, source->text + at, end - at) : NULL;
}

static void set_fault(Verifier *verifier, const EmulatorResult *run, const Module *module)
{
    Verification *result = verifier->result;
    result->fault = &run->fault;
    result->fault_in_output = module == verifier->output;
    result->message = fault_text(verifier->arena, module, &run->fault);
    if (result->fault_in_output && run->fault.position.line)
        result->fault_line = source_line(verifier->arena, module->source, run->fault.position.line);
}

/* Drops the check for a fault that the input itself has: the output may have it too. False if there is no such check.
 */
static bool weaken(Verifier *verifier, const EmulatorFault *fault)
{
    EmulatorOptions *options = &verifier->options;
    bool *check = fault->kind == FAULT_RACE        ? &options->check_races
                  : fault->kind == FAULT_UNWRITTEN ? &options->check_unwritten
                  : fault->kind == FAULT_UNDEFINED ? &options->check_registers
                  : fault->kind == FAULT_SHUFFLE   ? &options->check_registers
                  : fault->kind == FAULT_DIVISION  ? &options->check_division
                                                   : NULL;
    if (!check || !*check)
        return false;
    *check = false;
    const char *text = fault_text(verifier->arena, verifier->input, fault), *before = verifier->result->weakened;
    verifier->result->weakened = before ? arena_printf(verifier->arena, "%s; %s", before, text) : text;
    return true;
}

static bool run_input(Verifier *verifier)
{
    verifier->options = (EmulatorOptions){
        .check_races = true,
        .check_unwritten = true,
        .check_registers = true,
        .check_division = true,
        .count_memory = true,
    };
    do {
        verifier->options.jobs = verifier->options.check_races ? launch_jobs(verifier->launch, 0) : 1;
        verifier->expected = emulator_run(verifier->arena, verifier->input, verifier->launch, &verifier->options);
    } while (verifier->expected->fault.kind != FAULT_NONE && weaken(verifier, &verifier->expected->fault));
    verifier->result->counters[0] = verifier->expected->counters;
    if (verifier->expected->fault.kind == FAULT_NONE)
        return true;
    set_fault(verifier, verifier->expected, verifier->input);
    return not_done(verifier, verifier->result->message);
}

/* Code that threads execute for others may divide by zero, where the input looks first. No device traps, and if the
 * quotient were used, the results would differ. */
static bool run_output(Verifier *verifier)
{
    Verification *result = verifier->result;
    verifier->actual = emulator_run(verifier->arena, verifier->output, verifier->launch_output, &verifier->options);
    if (verifier->actual->fault.kind == FAULT_DIVISION) {
        verifier->options.check_division = false;
        verifier->actual =
            emulator_run(verifier->arena, verifier->output, verifier->launch_output, &verifier->options);
    }
    result->counters[1] = verifier->actual->counters;
    if (verifier->actual->fault.kind == FAULT_NONE)
        return true;
    set_fault(verifier, verifier->actual, verifier->output);
    if (verifier->actual->fault.kind == FAULT_UNSUPPORTED)
        return not_done(verifier, result->message);
    result->outcome = VERIFY_DIFFERENT;
    return false;
}

/* Runs a module again to find the thread that writes the element last. */
static void find_writer(Verifier *verifier, const Module *module, const Launch *launch, unsigned side)
{
    Verification *result = verifier->result;
    EmulatorOptions options = {
        .watch = result->difference.buffer,
        .watch_offset = result->difference.index * result->difference.bytes,
        .watch_bytes = result->difference.bytes,
    };
    result->writers[side] = emulator_run(verifier->arena, module, launch, &options)->writer;
    result->written_sources[side] = loc_place(verifier->arena, module, result->writers[side].loc);
    if (result->writers[side].found)
        result->written_lines[side] =
            source_line(verifier->arena, module->source, result->writers[side].position.line);
}

static void compare(Verifier *verifier)
{
    Verification *result = verifier->result;
    EmulatorDifference *difference = &result->difference;
    if (!results_differ(verifier->launch, verifier->expected, verifier->actual, result->tolerance, difference))
        return;
    result->outcome = VERIFY_DIFFERENT;
    result->has_difference = true;
    Buf text = {0};
    buf_printf(&text, "%s[%llu] is ", difference->buffer, (unsigned long long)difference->index);
    element_print(difference->type, difference->actual, &text);
    buf_puts(&text, ", but ");
    element_print(difference->type, difference->expected, &text);
    buf_puts(&text, " in the input");
    result->message = arena_strndup(verifier->arena, buf_text(&text), text.length);
    buf_free(&text);
    find_writer(verifier, verifier->input, verifier->launch, 0);
    find_writer(verifier, verifier->output, verifier->launch_output, 1);
}

static const Freedom *freedom_of(const Freedoms *freedoms, const char *kernel)
{
    for (size_t i = 0; freedoms && i < freedoms->count; i++)
        if (strcmp(freedoms->of[i].kernel, kernel) == 0)
            return &freedoms->of[i];
    return NULL;
}

static void set_tolerance(const Launch *launch, const Freedom *freedom, Verification *result)
{
    result->tolerance = launch->tolerance;
    result->is_reordered = launch->tolerance.kind == TOLERANCE_EXACT && freedom && freedom->reorders;
    if (result->is_reordered && launch->reference_tolerance.kind == TOLERANCE_CLOSE)
        result->tolerance = launch->reference_tolerance;
    else if (result->is_reordered)
        result->tolerance = (Tolerance){TOLERANCE_CLOSE, REORDERED_RELATIVE, REORDERED_ABSOLUTE, true};
}

static void ignore_dead(Verifier *verifier, Launch *launch, const Freedom *freedom)
{
    const Function *kernel = module_find_function(verifier->input, launch->kernel);
    for (unsigned i = 0; freedom && freedom->dead && i < freedom->dead->count; i++)
        if (freedom->dead->buffers[i].done)
            launch_ignore_parameter(verifier->arena, kernel, launch, freedom->dead->buffers[i].parameter);
}

/* 'form': of the output, in place of the kernel; NULL: the kernel. */
static void verify(Arena *arena, const Module *input, const Module *output, const char *path, const char *form,
                   const Freedoms *freedoms, Verification *result)
{
    *result = (Verification){.path = path, .outcome = VERIFY_EQUAL};
    Verifier verifier = {.arena = arena, .input = input, .output = output, .result = result};
    const char *error;
    Launch *launch = launch_read(arena, path, &error);
    if (!launch) {
        not_done(&verifier, error);
        return;
    }
    result->kernel = launch->kernel;
    const Freedom *freedom = freedom_of(freedoms, launch->kernel);
    set_tolerance(launch, freedom, result);
    if ((error = launch_kernel_missing(arena, input, launch)) != NULL) {
        not_done(&verifier, error);
        return;
    }
    ignore_dead(&verifier, launch, freedom);
    bool has_contract;
    /* An input that is already coarsened is launched by its own contract. */
    verifier.launch = launch_by_contract(arena, input, launch, &has_contract, &error);
    if (form)
        result->kernel = launch->kernel = form;
    if (verifier.launch)
        verifier.launch_output = launch_by_contract(arena, output, launch, &has_contract, &error);
    if (verifier.launch && !verifier.launch_output && form) {
        result->original_because = error; /* the kernel, which another verification is about */
        return;
    }
    if (verifier.launch && !verifier.launch_output)
        verifier.launch_output = launch_of_original(arena, output, launch, &result->original_because);
    if (!verifier.launch_output) {
        not_done(&verifier, error);
        return;
    }
    memcpy(result->grid[0], verifier.launch->grid, sizeof result->grid[0]);
    memcpy(result->block[0], verifier.launch->block, sizeof result->block[0]);
    memcpy(result->grid[1], verifier.launch_output->grid, sizeof result->grid[1]);
    memcpy(result->block[1], verifier.launch_output->block, sizeof result->block[1]);
    if (run_input(&verifier) && run_output(&verifier))
        compare(&verifier);
}

void verify_launch(Arena *arena, const Module *input, const Module *output, const char *path,
                   const Freedoms *freedoms, Verification *result)
{
    verify(arena, input, output, path, NULL, freedoms, result);
}

bool verify_form(Arena *arena, const Module *input, const Module *output, const char *path, unsigned number,
                 const Freedoms *freedoms, Verification *result)
{
    const char *error;
    const Launch *launch = launch_read(arena, path, &error);
    const char *form = launch ? arena_printf(arena, "%s" FORM_SUFFIX "%u", launch->kernel, number) : NULL;
    const bool is_there = form && module_find_function(output, form);
    if (is_there)
        verify(arena, input, output, path, form, freedoms, result);
    return is_there;
}

static void print_writer(const Verification *verification, const Module *input, unsigned side, FILE *out)
{
    const EmulatorWriter *writer = &verification->writers[side];
    const char *where = side ? "output" : "input";
    if (!writer->found) {
        fprintf(out, "ptxopt: note: in the %s, nothing writes it\n", where);
        return;
    }
    fprintf(out, "ptxopt: note: in the %s, thread %u,%u,%u of block %u,%u,%u writes it, ", where, writer->thread[0],
            writer->thread[1], writer->thread[2], writer->block[0], writer->block[1], writer->block[2]);
    if (side)
        fprintf(out, "line %u of the output", writer->position.line);
    else
        fprintf(out, "%s:%u", input->source->path, writer->position.line);
    if (verification->written_lines[side])
        fprintf(out, ": %s", verification->written_lines[side]);
    if (verification->written_sources[side])
        fprintf(out, " (from %s)", verification->written_sources[side]);
    fputc('\n', out);
}

void verification_print(const Verification *verification, const Module *input, FILE *out)
{
    const char *kernel = verification->kernel ? verification->kernel : "?";
    switch (verification->outcome) {
    case VERIFY_EQUAL: return;
    case VERIFY_NOT_DONE:
        if (!verification->kernel || !verification->fault)
            fprintf(out, "ptxopt: error: -verify %s: %s\n", verification->path, verification->message);
        else
            fprintf(out, "ptxopt: error: -verify %s: kernel '%s' cannot be verified: %s\n", verification->path, kernel,
                    verification->message);
        return;
    case VERIFY_DIFFERENT:
        if (!verification->has_difference) {
            fprintf(out, "ptxopt: error: -verify %s: kernel '%s' has a fault that the input does not have: %s\n",
                    verification->path, kernel, verification->message);
            if (verification->fault_line)
                fprintf(out, "ptxopt: note: line %u of the output is: %s\n", verification->fault->position.line,
                        verification->fault_line);
            return;
        }
        fprintf(out, "ptxopt: error: -verify %s: kernel '%s' computes a different result: %s\n", verification->path,
                kernel, verification->message);
        print_writer(verification, input, 0, out);
        print_writer(verification, input, 1, out);
        return;
    }
}
