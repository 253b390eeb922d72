/* The check at the end of every run that the report, its JSON, the launch contract and the exit status say of each
 * kernel what is true of the written PTX. */
#include <ctype.h>
#include <string.h>

#include "engine/report/json.h"
#include "engine/run_steps.h"

/* The names after this are those of kernels with a launch contract. */
static const char marker[] = "__ptxopt_launch_";

static bool is_kernel_refused_by_name(const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    bool is_refused = (result->coarsening == OUTCOME_REFUSED &&
                       (kernel->request.coarsen_named || kernel->request.refining_named)) ||
                       (result->ordering == OUTCOME_REFUSED && kernel->request.order_named) ||
                      (result->registers == OUTCOME_REFUSED && kernel->request.registers_named);
    for (unsigned i = 0; i < kernel->loop_directive_count; i++)
        is_refused |= kernel->loop_directives[i].error != NULL;
    for (unsigned i = 0; i < kernel->jams_named; i++)
        is_refused |= !result->jams[i].done;
    for (unsigned i = 0; i < result->dead.count; i++)
        is_refused |= !result->dead.buffers[i].done;
    return is_refused;
}

bool is_refused_by_name(const Run *run)
{
    for (size_t i = 0; i < run->report.kernel_count; i++)
        if (is_kernel_refused_by_name(&run->report.kernels[i]))
            return true;
    return false;
}

static bool has_contract(const KernelResult *result)
{
    return result->coarsening == OUTCOME_DONE && contract_changes_launch(&result->contract);
}

/* The contracts' symbols in the text. */
static PointerMap find_symbols(const Run *run, const char *text, size_t size)
{
    PointerMap symbols = {.arena = run->arena};
    const char *end = text + size, *at = text;
    while ((at = memmem(at, (size_t)(end - at), marker, sizeof marker - 1)) != NULL) {
        const char *begin = at;
        while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '$'))
            at++;
        Name name = intern_n(run->module->names, begin, (size_t)(at - begin));
        pointer_map_put(&symbols, name, name);
    }
    return symbols;
}

/* Checks the contracts' symbols in the text; those that the input already mentions may be anywhere. */
static void check_text(const Run *run, const Products *products)
{
    const Source *source = run->report.source;
    /* If the text is the input itself, nothing in it is new. */
    const size_t length = products->ptx == source->text ? 0 : products->ptx_length;
    const PointerMap symbols = find_symbols(run, products->ptx, length);
    const bool is_new = symbols.count && !memmem(source->text, source->size, marker, sizeof marker - 1);
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        const KernelResult *result = &run->report.kernels[i].result;
        const bool is_due = has_contract(result);
        if (!is_due && !symbols.count)
            continue;
        Name symbol = contract_symbol_name(run->module, result->kernel->name);
        const bool is_there = pointer_map_get(&symbols, symbol) != NULL;
        if (is_due ? !is_there : is_there && is_new)
            bug("kernel '%s' is %s, but its launch contract is %s the output", result->kernel->name,
                is_due ? "coarsened" : "not coarsened", is_there ? "in" : "not in");
    }
}

static json_t *read_json(const Buf *text)
{
    json_t *value = json_loadb(text->data, text->length, 0, NULL);
    require(value != NULL);
    return value;
}

static void check_name(const json_t *entry, const char *kernel)
{
    json_t *name = json_text(kernel);
    require(json_equal(json_object_get(entry, "kernel"), name));
    json_decref(name);
}

/* Checks that -launch-out lists the kernels with contracts, in order, and the forms beside them. */
static void check_contracts(const Run *run, const Buf *text)
{
    json_t *root = read_json(text), *kernels = json_object_get(root, "kernels");
    size_t found = 0;
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        const KernelReport *kernel = &run->report.kernels[i];
        if (has_contract(&kernel->result))
            check_name(json_array_get(kernels, found++), kernel->result.kernel->name);
        for (unsigned k = 0; k < kernel->form_count; k++)
            if (kernel->forms[k].has_contract && contract_changes_launch(&kernel->forms[k].contract))
                check_name(json_array_get(kernels, found++), kernel->forms[k].contract.kernel);
    }
    require(json_array_size(kernels) == found);
    json_decref(root);
}

/* Checks that the report's outcomes are those of the results. */
static void check_report(const Run *run, const Buf *text)
{
    json_t *root = read_json(text), *kernels = json_object_get(root, "kernels");
    require(json_array_size(kernels) == run->report.kernel_count);
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        const KernelResult *result = &run->report.kernels[i].result;
        const json_t *entry = json_array_get(kernels, i);
        const char *outcome = json_string_value(json_object_get(json_object_get(entry, "coarsening"), "outcome"));
        check_name(entry, result->kernel->name);
        require((strcmp(outcome, "done") == 0) == (result->coarsening == OUTCOME_DONE));
        require((strcmp(outcome, "refused") == 0) == (result->coarsening == OUTCOME_REFUSED));
    }
    json_decref(root);
}

void check_products(const Run *run, const Products *products)
{
    const Options *options = run->options;
    for (size_t i = 0; i < run->report.kernel_count; i++)
        kernel_check(&run->report.kernels[i].result, &run->report.kernels[i].tuning);
    check_text(run, products);
    if (options->launch_out)
        check_contracts(run, &products->launch);
    if (options->report && options->report_json)
        check_report(run, &products->report);
}
