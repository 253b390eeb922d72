/* The interface between the files of this folder; no other folder includes it. For the rows, view.c calls machine.c, or
 * ptx.c, which calls columns.c; and then values.c, which calls flow.c. All call rows.c. side.c, on top, reads the input
 * and calls view.c. text.c and page.c print what they and compare.c have found; report.c calls page.c. */
#ifndef PTXOPT_VIEW_INTERNAL_H
#define PTXOPT_VIEW_INTERNAL_H

#include "view/view.h"

/* rows.c */
SassState view_state(const View *view, SassFile file, uint32_t row, uint32_t reg);
/* The character that stands for a state. */
char view_state_char(SassState state);
/* General registers that are live at the row, as nvdisasm counts them. */
unsigned view_live(const View *view, uint32_t row);
/* True if the rows are those of PTX. */
bool view_is_ptx(const View *view);
/* The name of the register that a PTX instruction writes first; NULL if it writes none. */
const char *view_written_name(const Inst *inst, const RegVec *regs);
/* Prints the address of a row, or of PTX its line. */
void view_print_address(const View *view, uint32_t row, Buf *out);

/* machine.c, ptx.c */
/* The rows of machine code, or of PTX. Sets *error if there are none that can be shown, else NULL. */
ViewCode view_machine_code(Arena *arena, const ViewSource *source, const char **error);
ViewCode view_ptx_code(Arena *arena, const ViewSource *source, const char **error);

/* columns.c */
/* The rows of a value, as far as its columns depend on them. */
typedef struct ValueRows {
    uint32_t reg;         /* the PTX register whose value it is, below the number of values */
    SassFile file;        /* where its columns are; SASS_FILE_COUNT: it has none */
    uint32_t width;       /* columns */
    uint32_t first, last; /* rows; none if last < first */
    bool is_new;          /* its first row writes it, and does not read it */
    bool ends;            /* its last row only reads it */
} ValueRows;
/* Finds the first column of each value of a file, in the order of their first rows, so that no two have the same one at
 * once; a value that begins where another ends may take over its columns. Values of one register have the same column
 * where that is free, and other values the lowest. Returns the number of columns. */
uint32_t view_assign_columns(const ValueRows *values, size_t count, SassFile file, uint32_t *columns);

/* page.c */
/* The place in a page where its data belongs. */
#define PAGE_DATA "@DATA@"
/* The data of a kernel's page, except "limits": those of all architectures. */
struct json_t *sides_json(const View *before, const View *view);
struct json_t *limits_json(void);
/* Prints the lines of a page, with the data in its place; as they are, if 'data' is NULL. */
void print_page(const char *const *lines, size_t count, const struct json_t *data, Buf *out);
/* A kernel's page without its data. */
void print_template(Buf *out);

/* compare.c */
/* The character that stands for a change. */
char view_change_char(ViewChange change);

/* flow.c */
typedef struct ViewFlow ViewFlow;
ViewFlow *view_flow_new(Arena *arena, const View *view);
/* The row whose result a register has before a row, whichever way control came there; MACHINE_NONE if there are
 * several, or if it may be written by a call, or is not known. */
uint32_t view_reaching_write(ViewFlow *flow, SassFile file, uint32_t reg, uint32_t row);

/* values.c */
void view_find_values(Arena *arena, View *view);

/* advice.c */
/* "compute again" */
const char *view_remedy_name(ViewRemedy remedy);
/* The registers that are allocated as a sum. */
void view_print_gap(const View *view, Buf *out);
/* "%rd11 (k.cu:12)", or "R12" if the PTX register is unknown. */
void view_print_value(const View *view, const ViewValue *value, Buf *out);

#endif
