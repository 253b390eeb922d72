/* Text of both forms. */
#ifndef PTXOPT_IR_TEXT_H
#define PTXOPT_IR_TEXT_H

#include "ir/body.h"

/* The listing of the body that -d prints: PTX as far as PTX can express it, phis as comments. */
void body_dump(const Body *body, Buf *out);

/* One instruction with its guard and semicolon, without indentation or line end. 'regs' gives the names of registers;
 * in the body form, a branch names the labels of its target blocks. */
void inst_print(const Inst *inst, const RegVec *regs, Buf *out);
/* "\t.loc 1 2 3\n" */
void loc_print(const Loc *loc, Buf *out);
/* "app.cu:12", or "app.cu:12, inlined at app.cu:40", the outermost last, with the paths that .file gives; NULL if the
 * loc (which may be NULL) names no line. */
const char *loc_place(Arena *arena, const Module *module, const Loc *loc);
/* "app.cu:12", without folders and without where it is inlined; NULL if the loc (which may be NULL) has no file. */
const char *loc_short_place(Arena *arena, const Module *module, const Loc *loc);
/* ".pragma "nounroll";", without line end. */
void pragma_print(const Pragma *pragma, Buf *out);
/* A declaration with its initialiser, without semicolon. */
void variable_print(const Variable *variable, Buf *out);
/* "NAME: .branchtargets A, B;", without line end. */
void table_print(const Table *table, Buf *out);
/* The text before the body or the semicolon: linkage, signature, tuning directives and pragmas. */
void function_print_header(const Function *function, const Tuning *tuning, Buf *out);
/* The text between the braces, declarations first. Without 'locations' no .loc is printed. A body in SSA form is
 * printed with its phis and tied operands as comments. */
void body_print(const Body *body, bool locations, Buf *out);

#endif
