/* The page about a run: view/report.html with the facts of each kernel, and the data of its own page, as JSON. */
#include "view/internal.h"

#include <string.h>

#include "engine/engine.h"

static const char *const page[] = {
#include "view/report.inc" /* made of view/report.html */
};

/* The member of a member; NULL if there is none. */
static const json_t *find(const json_t *object, const char *name, const char *member)
{
    return json_object_get(json_object_get(object, name), member);
}

static void add_sentence(json_t *list, const json_t *text)
{
    if (json_is_string(text) && json_string_length(text))
        json_array_append(list, (json_t *)text);
}

/* The report's sentences about what was done, or not; first about the times, if they are known. */
static json_t *said_json(const json_t *report)
{
    json_t *said = json_array();
    add_sentence(said, find(report, "cost", "verdict"));
    add_sentence(said, find(report, "coarsening", "auto"));
    add_sentence(said, find(report, "unroll_jam", "auto"));
    add_sentence(said, find(report, "registers", "explanation"));
    return said;
}

static const json_t *registers_of(const json_t *report, const char *form)
{
    return json_object_get(find(report, form, "figures"), "registers");
}

static bool is_done(const json_t *part)
{
    const char *outcome = json_string_value(json_object_get(part, "outcome"));
    return outcome && strcmp(outcome, "done") == 0;
}

/* True if the run changed the kernel. */
static bool is_changed(const json_t *report)
{
    static const char *const parts[] = {"coarsening", "registers", "counters", "vectors"};
    static const char *const lists[] = {"unroll_jam", "memory"};
    bool changed = false;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        changed |= is_done(json_object_get(report, parts[i]));
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const json_t *loops = find(report, lists[i], "loops");
        for (size_t l = 0; l < json_array_size(loops); l++)
            changed |= is_done(json_array_get(loops, l));
    }
    return changed;
}

static void set_borrowed(json_t *object, const char *name, const json_t *value)
{
    if (value && !json_is_null(value))
        json_object_set(object, name, (json_t *)value);
}

static json_t *outcome_json(const ViewOutcome *outcome)
{
    json_t *kernel = json_object(), *registers = json_array();
    const json_t *cost = json_object_get(outcome->report, "cost");
    const json_t *before = registers_of(outcome->report, "before"), *after = registers_of(outcome->report, "after");
    const char *demangled = json_string_value(json_object_get(outcome->report, "demangled"));
    json_object_set_new(kernel, "name", json_text(demangled ? demangled : outcome->kernel));
    json_object_set_new(kernel, "file", json_text(outcome->file));
    json_object_set_new(kernel, "changed", json_boolean(is_changed(outcome->report)));
    json_object_set_new(kernel, "said", said_json(outcome->report));
    json_array_append_new(registers, json_integer(json_integer_value(before)));
    json_array_append_new(registers, json_integer(json_integer_value(after)));
    json_object_set_new(kernel, "registers", registers);
    set_borrowed(kernel, "cost", cost);
    set_borrowed(kernel, "speedup", json_object_get(cost, "speedup"));
    if (outcome->after)
        json_object_set_new(kernel, "page", sides_json(outcome->before, outcome->after));
    return kernel;
}

void view_print_report(const ViewOutcome *outcomes, size_t count, const char *title, Buf *out)
{
    json_t *data = json_object(), *kernels = json_array();
    size_t files = 0;
    Buf template = {0};
    print_template(&template);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(kernels, outcome_json(&outcomes[i]));
        files += !i || strcmp(outcomes[i].file, outcomes[i - 1].file) != 0;
    }
    json_object_set_new(data, "title", json_text(title));
    json_object_set_new(data, "files", json_integer((json_int_t)files));
    json_object_set_new(data, "kernels", kernels);
    json_object_set_new(data, "limits", limits_json());
    json_object_set_new(data, "template", json_text(buf_text(&template)));
    print_page(page, COUNT_OF(page), data, out);
    json_decref(data);
    buf_free(&template);
}
