/* The functions of libdw that reading a line table needs, under their names there without "dwarf_". */
#ifndef PTXOPT_SASS_DWARF_H
#define PTXOPT_SASS_DWARF_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#define DWARF_FUNCTIONS(ROW)                                                                                           \
    ROW(begin_elf)                                                                                                     \
    ROW(end)                                                                                                           \
    ROW(errmsg)                                                                                                        \
    ROW(lineaddr)                                                                                                      \
    ROW(lineendsequence)                                                                                               \
    ROW(lineno)                                                                                                        \
    ROW(linesrc)                                                                                                       \
    ROW(next_lines)                                                                                                    \
    ROW(onesrcline)

typedef struct DwarfFunctions {
#define MEMBER(name) __typeof__(dwarf_##name) *name;
    DWARF_FUNCTIONS(MEMBER)
#undef MEMBER
} DwarfFunctions;

/* Loads libdw, once. NULL if that fails; *error then says why, else it is NULL. The functions and the text stay. */
const DwarfFunctions *dwarf_functions(const char **error);

#endif
