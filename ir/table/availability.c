/* Which PTX versions and targets have a form, and the message for those that do not. */
#include "ir/table/internal.h"

static bool targets_take(unsigned first, unsigned count, Arch arch)
{
    for (unsigned i = first; i < first + count; i++) {
        const TargetRange *range = target_ranges_at(i);
        if (range->low <= arch.number && arch.number <= range->high && (!range->suffix || range->suffix == arch.suffix))
            return true;
    }
    return false;
}

static void print_targets(unsigned first, unsigned count, Buf *out)
{
    for (unsigned i = first; i < first + count; i++) {
        const TargetRange *range = target_ranges_at(i);
        buf_puts(out, i == first ? "" : i + 1 == first + count ? " or " : ", ");
        buf_printf(out, "sm_%u", range->low);
        if (range->suffix)
            buf_putc(out, range->suffix);
        else if (range->high == 999)
            buf_puts(out, " or later");
        else if (range->high != range->low)
            buf_printf(out, " to sm_%u", range->high);
    }
}

void form_print_lowest_target(const Form *form, Buf *out)
{
    const TargetRange *lowest = NULL;
    for (unsigned i = form->targets; i < (unsigned)form->targets + form->target_count; i++)
        if (!lowest || target_ranges_at(i)->low < lowest->low)
            lowest = target_ranges_at(i);
    if (!lowest) {
        buf_puts(out, "none");
        return;
    }
    buf_printf(out, "sm_%u", lowest->low);
    if (lowest->suffix)
        buf_putc(out, lowest->suffix);
}

static bool is_removed(const Form *form, unsigned version, unsigned target)
{
    return form->last_version && version > form->last_version && (!form->last_from || target >= form->last_from);
}

const char *form_unavailable(Module *module, const Signature *signature, const Form *form, const int16_t *choice,
                             bool *removed)
{
    Buf text = {0}, spelling = {0};
    unsigned needed = form->version, targets = form->targets, target_count = form->target_count;
    Arch arch = {0};
    bool known = module->target_count && arch_parse(module->targets[0], &arch);
    known &= module->version <= COVERED_VERSION; /* newer versions may have added targets */
    bool refused = known && !targets_take(targets, target_count, arch);
    for (unsigned i = 0; i < form->element_count; i++) {
        if (choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&form_elements(form)[i])[choice[i]];
        if (alternative->version > needed)
            needed = alternative->version;
        if (known && !refused && alternative->target_count &&
            !targets_take(alternative->targets, alternative->target_count, arch)) {
            refused = true;
            targets = alternative->targets;
            target_count = alternative->target_count;
        }
    }
    signature_print(signature, &spelling);
    if (module->version && module->version < needed) {
        buf_printf(&text, "'%s' needs PTX ISA version %u.%u or later, the module has %u.%u", buf_text(&spelling),
                   needed / 10, needed % 10, module->version / 10, module->version % 10);
    } else if (is_removed(form, module->version, arch.number)) {
        buf_printf(&text, "'%s' was removed after PTX ISA version %u.%u", buf_text(&spelling), form->last_version / 10,
                   form->last_version % 10);
        if (form->last_from)
            buf_printf(&text, " for sm_%u and later", form->last_from);
    } else if (refused && !target_count) {
        buf_printf(&text, "no assembler accepts '%s'", buf_text(&spelling));
    } else if (refused) {
        buf_printf(&text, "'%s' is not supported on target '%s': it needs ", buf_text(&spelling), module->targets[0]);
        print_targets(targets, target_count, &text);
    }
    *removed = is_removed(form, module->version, arch.number);
    const char *result = text.length ? arena_strndup(module->arena, text.data, text.length) : NULL;
    buf_free(&text);
    buf_free(&spelling);
    return result;
}
