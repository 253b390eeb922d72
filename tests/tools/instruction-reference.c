/* Prints docs/instructions.md: the rows of the instruction table, in words. */
#include <stdio.h>
#include <string.h>

#include "engine/report/refusal_words.h"
#include "ir/internal.h"
#include "ir/ir.h"
#include "ir/table/internal.h"
#include "opt/coarsen/coarsen.h"

static const char *const titles[CATEGORY_COUNT] = {
    [CATEGORY_INT] = "Integers",
    [CATEGORY_FLOAT] = "Floating point",
    [CATEGORY_HALF] = "Half precision",
    [CATEGORY_BF16] = "Bfloat16",
    [CATEGORY_COMPARE] = "Comparison",
    [CATEGORY_LOGIC] = "Logic and shifts",
    [CATEGORY_MOVE] = "Moves and conversions",
    [CATEGORY_MEMORY] = "Memory",
    [CATEGORY_ATOMIC] = "Atomics and reductions",
    [CATEGORY_SYNC] = "Synchronization",
    [CATEGORY_CONTROL] = "Control flow",
    [CATEGORY_TEXTURE] = "Textures",
    [CATEGORY_SURFACE] = "Surfaces",
    [CATEGORY_VIDEO] = "Video",
    [CATEGORY_SIMD_VIDEO] = "SIMD video",
    [CATEGORY_WMMA] = "Matrices: wmma",
    [CATEGORY_MMA] = "Matrices: mma",
    [CATEGORY_WGMMA] = "Matrices: wgmma",
    [CATEGORY_TCGEN05] = "Matrices: tcgen05",
    [CATEGORY_ASYNC_COPY] = "Asynchronous copies",
    [CATEGORY_MISC] = "Others",
};

/* Calls 'print' for the forms of a category, or of all if it is CATEGORY_COUNT. */
static unsigned each_form(Category category, void (*print)(const Form *form))
{
    unsigned found = 0;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++) {
            if (category != CATEGORY_COUNT && form_category(form) != category)
                continue;
            found++;
            if (print)
                print(form);
        }
    }
    return found;
}

/* "cloned", "kept once" ... */
static const char *rule_text(CoarsenRule rule)
{
    switch (rule) {
    case COARSEN_IF_VARIANT: return "cloned if variant";
    case COARSEN_CLONED: return "cloned";
    case COARSEN_ONCE: return "kept once";
    case COARSEN_COMBINED: return "combined";
    case COARSEN_WHOLE_WARPS: return "whole warps";
    case COARSEN_REWRITTEN: return "rewritten";
    case COARSEN_BY_REGISTER: return "by register";
    case COARSEN_BY_CALLEE: return "by callee";
    case COARSEN_REFUSED: return "refused";
    }
    bug("no coarsening rule %d", (int)rule);
}

/* The reason for a refusal, without the instruction that is its subject. */
static const char *reason_text(RefusalReason reason)
{
    static const char subject[] = "'{what}' ";
    const char *sentence = refusal_sentence(reason);
    require(strncmp(sentence, subject, strlen(subject)) == 0);
    return sentence + strlen(subject);
}

static void print_form(const Form *form)
{
    Buf target = {0};
    unsigned version = form_min_version(form);
    CoarsenTreatment treatment = coarsen_treatment(form);
    const bool is_refused = treatment.rule == COARSEN_REFUSED;
    form_print_lowest_target(form, &target);
    printf("| `%s` | %u.%u | %s | %s%s%s | %s | ", form_name(form), version / 10, version % 10, buf_text(&target),
           rule_text(treatment.rule), is_refused ? ": " : "", is_refused ? reason_text(treatment.reason) : "",
           form_emulated(form) ? "yes" : "no");
    for (const char *p = form_note(form); *p; p++)
        printf(*p == '|' ? "\\|" : "%c", *p);
    printf(" |\n");
    buf_free(&target);
}

int main(void)
{
    printf("# Instructions\n\n"
           "ptxopt parses, checks and prints every form of every PTX instruction: the %u forms below. The page is\n"
           "generated from the instruction table, `ir/table/ops.def`, by `make docs/instructions.md`.\n\n"
           "Version and target are the lowest that have the form; a target with a suffix is one of several. Some\n"
           "alternatives of a form need more. \"Coarsened\" says what coarsening does with the instruction, as far\n"
           "as the table alone decides it: *cloned* for each replica, *cloned if variant* (if its operands or the\n"
           "paths to it differ between replicas, else kept once), *kept once*, *whole warps* (cloned if variant,\n"
           "and the launch must keep warps whole), *by register* and *by callee* (it depends on the special\n"
           "register or the function), or *refused*. \"Emulated\" says whether `ptxopt run` and `-verify` execute\n"
           "it.\n",
           each_form(CATEGORY_COUNT, NULL));
    for (unsigned category = 0; category < CATEGORY_COUNT; category++) {
        if (!each_form((Category)category, NULL))
            continue;
        printf("\n## %s\n\n", titles[category]);
        printf("| form | version | target | coarsened | emulated | |\n| --- | --- | --- | --- | --- | --- |\n");
        each_form((Category)category, print_form);
    }
    return 0;
}
