/* Prints the number of registers that no order and no recomputation of arithmetic can avoid
 * (opt/registers/search/needed.h).
 *
 *     registers-needed FILE.ptx...
 *
 * For each kernel: the file, its name, and the most registers that it needs at one barrier or loop head. */
#include "parse_text.h"

#include "opt/registers/search/needed.h"

static void kernel_print(const char *path, Function *kernel)
{
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    if (!body) {
        printf("%s: %s: %s\n", path, kernel->name, reason);
        return;
    }
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    printf("%s %s %u\n", path, kernel->name, registers_needed(body, analyses).registers);
    analyses_free(analyses);
    body_free(body);
}

int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        Module *module = parse_file("registers-needed", words[i]);
        for (size_t k = 0; module && k < module->items.count; k++) {
            const Item *item = &module->items.data[k];
            if (item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body)
                kernel_print(words[i], item->function);
        }
        if (!module)
            return 1;
        arena_free(module->arena);
    }
    return 0;
}
