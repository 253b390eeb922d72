#include "engine/report/defects.h"

#include "engine/report/json.h"

void defects_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const DefectList *list = &kernel->result.defects;
    for (size_t i = 0; i < list->items.count; i++) {
        const DefectNote *note = &list->items.data[i];
        buf_printf(out, "  %s: ", note->is_fixed ? "rewritten for the assembler" : "known defect of the assembler");
        if (note->span.end)
            buf_printf(out, "line %u: ", report_line(report, note->span));
        buf_printf(out, "%s\n", defect_table[note->id].words);
    }
}

json_t *defects_json(const Report *report, const KernelReport *kernel)
{
    const DefectList *list = &kernel->result.defects;
    json_t *notes = json_array();
    for (size_t i = 0; i < list->items.count; i++) {
        const DefectNote *note = &list->items.data[i];
        json_t *value = json_object();
        json_object_set_new(value, "defect", json_string(defect_table[note->id].name));
        json_object_set_new(value, "line", json_line(report_line(report, note->span)));
        json_object_set_new(value, "fixed", json_boolean(note->is_fixed));
        json_array_append_new(notes, value);
    }
    return notes;
}

void defects_warn(Diag *diag, const KernelResult *result, const char *assembler)
{
    for (size_t i = 0; i < result->defects.items.count; i++) {
        const DefectNote *note = &result->defects.items.data[i];
        if (!note->is_fixed)
            diag_warning(diag, note->span.end ? note->span : result->kernel->span,
                         "%s is known to assemble this wrongly: %s (-fix-defects rewrites it)", assembler,
                         defect_table[note->id].words);
    }
}
