/* The interface between the files of this folder; no other folder includes it.
 *
 * In the order of their calls, each file calling only those before it: decode.c; blocks.c; code.c; ranges.c;
 * disassemble.c; lines.c, dwarf.c, line_table.c; map.c; ptx_counts.c; loops.c; tally.c; ptx_loops.c; evidence.c;
 * program.c; execute.c; list.c. */
#ifndef PTXOPT_SASS_INTERNAL_H
#define PTXOPT_SASS_INTERNAL_H

#include "sass/sass.h"

/* The beginning of the names of functions that the assembler adds. */
#define HELPER_PREFIX "$__internal_"

enum { MACHINE_BYTES = 16, NO_PREDICATE = 7, NO_SCOREBOARD = 7 };

/* decode.c */

/* Decodes 16 bytes at 'address'. Fills everything except block, target, ptx and the facts that only nvdisasm tells.
 * *destination is the target address of a direct branch or call; INT64_MAX if it is neither. False if the opcode is not
 * in the table. */
bool sass_decode(Arch arch, const unsigned char *bytes, uint32_t address, SassInstruction *instruction,
                    int64_t *destination);
/* Sets class, flow and name of an opcode by its name in nvdisasm. False if no row has that name. */
bool sass_name_lookup(const char *name, size_t length, SassInstruction *instruction);

/* blocks.c */

/* The targets of an indirect branch, as the cubin lists them. */
typedef struct BranchTable {
    uint32_t instruction;
    uint32_t *targets; /* instructions */
    uint32_t count;
} BranchTable;

/* Divides the instructions of the functions into blocks and links them. */
void sass_blocks(Arena *arena, SassCode *code, const BranchTable *tables, size_t table_count);

/* ranges.c */

enum { RANGE_ROWS = 4, RANGE_WIDTH = 2048 };

/* A column of nvdisasm's table of life ranges. */
typedef struct RangeColumn {
    bool is_register; /* else blanks or a count */
    uint8_t file;     /* SassFile */
    uint8_t number;
} RangeColumn;

/* The heading of the table of a section. Starts as zeros. */
typedef struct RangeHeading {
    RangeColumn columns[RANGE_WIDTH];
    uint32_t counts[SASS_FILE_COUNT]; /* of the widest table so far */
    const char *rows[RANGE_ROWS];     /* of the text, the last ones; NULL: none */
    size_t lengths[RANGE_ROWS];
} RangeHeading;

/* True if the line ends a heading. */
bool range_heading_take(RangeHeading *heading, const char *line);
/* Ranges for the code, wide enough for every table of nvdisasm's text; all registers are free. */
SassRanges *ranges_new(Arena *arena, const SassCode *code, const char *printed);
/* Leaves the registers out that only other kernels of the text use, once the states of all rows have been taken. */
void ranges_trim(SassRanges *ranges, uint32_t rows);
/* Takes the states of an instruction from its line. */
void ranges_take(SassRanges *ranges, const RangeHeading *heading, uint32_t instruction, const char *line);

/* line_table.c */

/* Sets the 'ptx' of the instructions from the line table of a cubin with the same code, made from ptx_numbered() text
 * of 'line_count' instructions. NULL when done, else a message in the arena. */
const char *line_table_read(Arena *arena, const void *cubin, size_t size, SassCode *code, uint32_t line_count);
/* The name of the source file that the numbered copy states. */
#define NUMBERED_FILE "ptxopt-numbered"

/* code.c */

/* True if both cubins have the same code sections. */
bool same_code(Arena *arena, const void *a, size_t a_size, const void *b, size_t b_size);

/* ptx_counts.c */

/* The counts of one PTX instruction. */
typedef struct PtxExecution {
    double warps;   /* executions by warps */
    double threads; /* executions by threads, whether or not its guard holds */
    double taken;   /* those of 'threads' for which its guard holds */
    bool known;     /* false: the number of threads is not known */
    uint32_t run;   /* the number of the first instruction of its run, a stretch without labels and branches */
} PtxExecution;

/* The counts of all PTX instructions, by number. */
PtxExecution *ptx_executions(Arena *arena, const PtxLines *lines, const Function *kernel, const PtxCount *counts,
                             size_t count, PtxExecution *start);

/* loops.c */

/* The loops that the blocks of machine code are in. Only reachable blocks are in any. */
typedef struct SassLoops {
    bool *reached;    /* from the kernel's entry, or from a function's */
    bool *is_header;  /* of a loop */
    uint32_t *around; /* the header of the innermost loop around a block, or of the next loop around a header's;
                         MACHINE_NONE: there is none */
    uint32_t *first_in, *in; /* predecessors of block b: in[first_in[b]] to in[first_in[b + 1] - 1] */
} SassLoops;

SassLoops sass_loops(Arena *arena, const SassCode *code);
/* The header of the innermost loop that a block is in, which may be the block itself; MACHINE_NONE: in none. */
uint32_t sass_loop_of(const SassLoops *loops, uint32_t block);
/* True if the block is in the loop of that header, or in a loop inside it. */
bool sass_loop_contains(const SassLoops *loops, uint32_t header, uint32_t block);

/* ptx_loops.c */

/* A natural loop of a PTX function. */
typedef struct PtxLoop {
    uint32_t parent; /* the smallest loop that contains it; MACHINE_NONE: none */
    double trips;    /* executions of its header per entry; 0: not known */
} PtxLoop;

typedef struct PtxLoops {
    PtxLoop *loops; /* a loop comes before those inside it */
    uint32_t count;
    uint32_t *innermost; /* of each instruction, by number; MACHINE_NONE: in no loop */
} PtxLoops;

PtxLoops ptx_loops(Arena *arena, const PtxLines *lines, const PtxExecution *executions);
/* True if the instruction is in the loop, or in a loop inside it. */
bool ptx_loop_contains(const PtxLoops *loops, uint32_t loop, uint32_t number);

/* evidence.c */

/* Copies of a PTX instruction in one block. */
typedef struct Share {
    uint32_t block;
    double copies;
} Share;

/* A statement about the executions of blocks: those of the copies add up to the threads of a PTX instruction. */
typedef struct Evidence {
    uint32_t ptx;
    Share *shares;
    uint32_t share_count;
    double threads;
    double weight;    /* the weight of the statement */
    bool may_exceed;  /* the copies are guarded: they may be executed more often */
} Evidence;

typedef VEC(Evidence) EvidenceVec;

/* 'reached' says which blocks can be executed at all. */
/* True if a machine instruction says anything about the PTX instruction that it comes from. */
bool is_evidence(const SassInstruction *machine, const Inst *inst);
/* Orders by shares; 0 if both name the same blocks with equally many copies in each. */
int shares_compare(const Evidence *a, const Evidence *b);
EvidenceVec evidence_collect(Arena *arena, const SassMap *map, const PtxExecution *executions,
                             const bool *reached);

/* program.c: linear programs. */

typedef struct Term {
    uint32_t row;
    double factor;
} Term;

typedef VEC(Term) TermVec;

/* A linear program: minimise the sum of cost * variable such that each row's terms add up to its value and no variable
 * is negative. All costs must be positive, and each row must have two variables of its own, with factors 1 and -1: then
 * there is a solution, and the rows are independent. */
typedef struct LinearProgram {
    Arena *arena;
    VEC(double) values;   /* of the rows */
    VEC(double) costs;    /* of the variables */
    VEC(TermVec) columns; /* their terms */
} LinearProgram;

uint32_t program_row(LinearProgram *program, double value);
uint32_t program_variable(LinearProgram *program, double cost);
void program_term(LinearProgram *program, uint32_t row, uint32_t variable, double factor);
/* The values of the variables, in the program's arena. */
double *program_solve(const LinearProgram *program);

#endif
