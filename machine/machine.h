/* machine: executes the machine code of a kernel, and compares what it computes with what the emulator computes from
 * the PTX that it was made from. docs/check.md says what a verdict means.
 *
 * The operands come from nvdisasm's text, everything else from sass/. The threads of a warp run in groups of those that
 * are together. Instructions that the table does not have end the run without a verdict. */
#ifndef PTXOPT_MACHINE_H
#define PTXOPT_MACHINE_H

#include "emulator/emulator.h"
#include "sass/sass.h"

typedef enum CheckVerdict {
    CHECK_EQUAL,     /* the same memory for all inputs */
    CHECK_DIFFERENT, /* for at least one input */
    CHECK_UNDECIDED,
} CheckVerdict;

typedef struct CheckRequest {
    Assembler *assembler; /* ptxas; the architecture is the one it was opened for */
    const Disassembler *disassembler;
    const Module *module;
    const char *kernel;
    int opt_level;
    unsigned inputs;      /* to try, at least 1; one if there is a launch */
    uint64_t seed;
    const Launch *launch; /* NULL: random ones */
    const SassMap *known; /* of another kernel of the module by the same assembler and level; NULL: none. Only its
                           * cubins and its listing are used */
} CheckRequest;

/* A byte of memory that differs after a run; or an access of the machine code that must not be. */
typedef struct CheckDifference {
    unsigned input;       /* the number of the input, from 0 */
    const char *launch;   /* the input: a launch file that repeats it for the emulator; NULL if there is a launch */
    const char *memory;   /* the parameter, buffer or variable */
    uint64_t offset;      /* of the four bytes, or fewer at the end, that differ */
    uint32_t expected, actual;
    uint32_t line;        /* of the PTX instruction that wrote there last; 0: none did */
    uint32_t instruction; /* of the machine code that did; MACHINE_NONE: none */
    const char *message;  /* what the machine code did instead of finishing; NULL: memory differs */
} CheckDifference;

typedef struct CheckResult {
    const char *kernel;
    const Function *function;
    CheckVerdict verdict;
    unsigned equal;       /* inputs with the same memory */
    unsigned tried;       /* inputs for which the PTX ran without a fault */
    const char *reason;   /* CHECK_UNDECIDED: why; never NULL then */
    uint32_t reason_line; /* of the PTX; 0: not known */
    uint32_t reason_instruction; /* of the machine code; MACHINE_NONE: not about one */
    CheckDifference difference;
    SassMap *map; /* NULL: there is none */
} CheckResult;

/* Checks one kernel. Everything is in the arena. */
CheckResult *check_kernel(Arena *arena, const CheckRequest *request);

/* Appends the result as text, a line and its details. 'file' is the name of the PTX file. */
void check_print(const CheckRequest *request, const CheckResult *result, const char *file, Buf *out);

/* The internals, for tests. */

/* The order in which groups of threads of a warp run that are not together. Each runs until it waits: ptxas relies on
 * it that they do not take turns at each instruction. */
typedef enum MachineOrder {
    MACHINE_TAKEN_LAST,  /* at a branch, those that do not take it go first */
    MACHINE_TAKEN_FIRST, /* ... those that do. Also, they are apart wherever it is not known whether they are */
    MACHINE_ORDERS
} MachineOrder;

/* A launch of machine code. */
typedef struct MachineLaunch {
    unsigned grid[3], block[3];
    uint64_t dynamic_shared;
    const uint8_t *parameters;
    size_t parameter_bytes;
    const EmulatorMemory *memories; /* changed by the run */
    size_t memory_count;
    uint64_t heap, heap_size; /* of malloc, in one of the memories; 0: there is none */
    MachineOrder order;
} MachineLaunch;

typedef enum MachineEndKind {
    MACHINE_DONE,
    MACHINE_UNDECIDED, /* the interpreter cannot go on */
    MACHINE_WRONG,     /* the code did something that it must not do */
} MachineEndKind;

typedef struct MachineEnd {
    MachineEndKind kind;
    const char *message;      /* unless done */
    uint32_t instruction;     /* where; MACHINE_NONE: nowhere */
    uint32_t approximate;     /* the first executed whose result is only near that of hardware; MACHINE_NONE */
    uint32_t ordered;         /* the first whose result depends on the order of threads; MACHINE_NONE */
    uint32_t open;            /* the first whose result depends on which threads are together, if that is not known */
    uint32_t forked; /* the first that wrote a uniform register while live threads of the warp were elsewhere */
    uint64_t steps;           /* of threads */
    uint32_t **writers;       /* by memory and byte: the instruction that wrote it last; MACHINE_NONE: none did */
} MachineEnd;

/* A kernel's code and constants. NULL with *problem, in the arena, if they cannot be read. Symbols are looked up among
 * the memories' variables, by name. */
typedef struct MachineRequest {
    const SassMap *map; /* with nvdisasm's text */
    const char *kernel;
    const Module *module;
    const EmulatorMemory *memories;
    size_t memory_count;
    const Launch *launch; /* its symbols fill constant memory; NULL: none */
} MachineRequest;

struct Program;
struct Program *machine_load(Arena *arena, const MachineRequest *request, const char **problem);
MachineEnd *machine_run(Arena *arena, const struct Program *program, const MachineLaunch *launch);

#endif
