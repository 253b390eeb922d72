/* sass: the machine code of a kernel, the PTX instruction that each machine instruction comes from, and the executions
 * of each. docs/machine-code.md describes the methods and their errors.
 *
 * Everything is computed from the arguments and returned in the arena. The machine code of sm_75 and later is decoded
 * here; nvdisasm is needed only for text, live registers and opcodes that the table lacks. */
#ifndef PTXOPT_SASS_H
#define PTXOPT_SASS_H

#include "assembler/assembler.h"
#include "ir/ir.h"

/* The unit that executes an instruction, as sass/opcodes.def says. */
typedef enum SassClass {
    MACHINE_FP32,
    MACHINE_COMPARE, /* comparisons and selections of FP32 */
    MACHINE_INTEGER,
    MACHINE_MULTIPLY, /* integer products, on the pipe of FP32 */
    MACHINE_FP16,
    MACHINE_FP64,
    MACHINE_SFU, /* MUFU, conversions, bit counts */
    MACHINE_TENSOR,
    MACHINE_SHARED,
    MACHINE_GLOBAL,   /* generic accesses too */
    MACHINE_LOCAL,    /* spills, and the kernel's own local memory */
    MACHINE_CONSTANT, /* loads of constants; operands in a constant bank are not instructions */
    MACHINE_TEXTURE,  /* surfaces too */
    MACHINE_WARP,     /* shuffles, votes */
    MACHINE_CONTROL,
    MACHINE_BARRIER, /* barriers, fences, waits for asynchronous copies */
    MACHINE_MOVE,
    MACHINE_UNIFORM, /* the datapath that computes one value for the whole warp */
    MACHINE_OTHER,
    MACHINE_CLASS_COUNT
} SassClass;

/* "fp32", "integer" ... */
const char *sass_class_name(SassClass class);

/* The instruction that follows an instruction. */
typedef enum SassFlow {
    MACHINE_NEXT,     /* the next one */
    MACHINE_BRANCH,   /* its target, and the next one if it is conditional */
    MACHINE_INDIRECT, /* one of a table of targets */
    MACHINE_CALL,     /* a function, and then the next one */
    MACHINE_RETURN,
    MACHINE_EXIT
} SassFlow;

/* The part of an instruction in copies from global to shared memory (cp.async). */
typedef enum SassCopy {
    COPY_NONE,
    COPY_BEGIN,  /* LDGSTS */
    COPY_COMMIT, /* LDGDEPBAR: those since the last time are a group */
    COPY_WAIT,   /* DEPBAR: until no more than 'left' groups are on their way */
} SassCopy;

#define MACHINE_NONE UINT32_MAX

/* Indices are into the arrays of SassCode. */
typedef struct SassInstruction {
    const char *mnemonic; /* "IMAD.WIDE"; most modifiers are left out. "?" if the opcode is not known */
    const char *text;     /* as nvdisasm prints it, with guard and operands; NULL unless asked for */
    uint64_t encoding[2]; /* its bits, the lower ones first */
    uint32_t address;     /* bytes from the start of its section, as in a disassembly */
    uint32_t block;
    uint32_t target; /* of a branch, or the first instruction of the called function; MACHINE_NONE if there is none or
                        it is not known */
    uint32_t ptx;    /* the PTX instruction it comes from, an index into PtxLines; MACHINE_NONE if not known */
    uint16_t code;   /* the low 12 bits: opcode and form */
    uint16_t live;   /* registers that hold values here; 0 unless asked for */
    uint8_t class;   /* SassClass */
    uint8_t flow;    /* SassFlow */
    bool conditional; /* control may also continue with the next instruction, or the instruction may do nothing */
    uint8_t guard;    /* predicate register 0..6; 7: none */
    bool guard_inverted;
    uint8_t bytes; /* the bytes that a thread loads or stores; 0: not a plain load or store */
    uint8_t copy;  /* SassCopy */
    uint8_t left;  /* COPY_WAIT */
    /* The control word. */
    uint8_t stall;         /* cycles until the next instruction of the warp may issue */
    bool yield;            /* the scheduler prefers another warp next */
    uint8_t write_barrier; /* the scoreboard that is released when the result is written; 7: none */
    uint8_t read_barrier;  /* ... when the operands are read; 7: none */
    uint8_t wait;          /* mask of the scoreboards 0..5 that it waits for */
} SassInstruction;

/* Instructions that are executed together. Calls end a block; its successor is where the call returns to. */
typedef struct SassBlock {
    uint32_t first, count; /* instructions */
    uint32_t function;
    uint32_t *successors;
    uint32_t successor_count;
    bool exits;      /* threads may leave the function from here: EXIT or RET */
    uint32_t callee; /* the block that a call enters; MACHINE_NONE if it is not a call, or an indirect one */
} SassBlock;

typedef struct SassFunction {
    const char *name;    /* the kernel's, a function's, or that of a helper such as a division */
    const char *section; /* of the cubin */
    uint32_t first, count;
} SassFunction;

/* Registers by their kind, in the order in which nvdisasm lists them. */
typedef enum SassFile {
    FILE_GENERAL,
    FILE_PREDICATE,
    FILE_UNIFORM,
    FILE_UNIFORM_PREDICATE,
    SASS_FILE_COUNT
} SassFile;

/* The state of a register at an instruction: Nugteren et al., "Analyzing CUDA's Compiler through the Visualization of
 * Decoded GPU Binaries" (SCOPES 2010), figure 6. */
typedef enum SassState {
    REGISTER_FREE,
    REGISTER_OCCUPIED, /* it keeps a value that is read later */
    REGISTER_READ,
    REGISTER_WRITTEN,
    REGISTER_BOTH,
} SassState;

/* The life ranges of the registers. */
typedef struct SassRanges {
    uint32_t counts[SASS_FILE_COUNT];  /* of each file, the registers up to the highest that is used */
    uint8_t *states[SASS_FILE_COUNT];  /* SassState: instruction * count + register */
    uint16_t *live[SASS_FILE_COUNT];   /* by instruction: the registers that are not free */
} SassRanges;

typedef struct SassCode {
    Arch arch;
    SassInstruction *instructions; /* the kernel's, then those of the functions it may call; without padding */
    uint32_t count;
    SassBlock *blocks; /* in the order of their addresses; the first is the kernel's entry */
    uint32_t block_count;
    SassFunction *functions; /* the kernel is the first */
    uint32_t function_count;
    uint32_t unknown; /* the number of instructions with an unknown opcode */
    const SassRanges *ranges; /* NULL unless asked for */
} SassCode;

/* The code of a kernel and of the functions it may call, decoded. NULL with *error in the arena if the cubin cannot be
 * read or has no such kernel, or the architecture is older than sm_75. */
SassCode *sass_code_read(Arena *arena, const void *cubin, size_t size, const char *kernel, const char **error);

/* The architecture that a cubin is for; its number is 0 if the file is not a cubin. */
Arch sass_arch(Arena *arena, const void *cubin, size_t size);

/* A line of a source file. */
typedef struct SassPlace {
    const char *file; /* its path; NULL: unknown */
    uint32_t line;
} SassPlace;

/* The source lines of the instructions, by the line table that the cubin has if it was compiled with lines (nvcc
 * -lineinfo, or -G); for code that was inlined, those of the inlined function. In the arena; NULL: there is none. */
const SassPlace *sass_places(Arena *arena, const void *cubin, size_t size, const SassCode *code);

/* Instructions in the code, however often they are executed. */
typedef struct SassTally {
    uint32_t local;        /* loads and stores of local memory: spills, and the kernel's own */
    uint32_t looped_local; /* those of them in loops */
} SassTally;

SassTally sass_tally(Arena *arena, const SassCode *code);

/* The facts about registers that nvdisasm is asked for, beside the text. */
typedef enum SassLife {
    LIFE_NONE,
    LIFE_COUNTS, /* SassInstruction.live */
    LIFE_RANGES, /* also SassCode.ranges */
} SassLife;

/* Adds nvdisasm's text to the instructions, names those that are not known, and adds what is asked for about live
 * registers. NULL if done, else a message in the arena. */
const char *sass_code_disassemble(Arena *arena, SassCode *code, const Disassembler *disassembler,
                                  const void *cubin, size_t size, SassLife life);
/* The two halves of it: what nvdisasm prints, in the arena, or NULL with *message; and what it says of the code. */
const char *sass_listing(Arena *arena, const Disassembler *disassembler, const void *cubin, size_t size, SassLife life,
                         const char **message);
void sass_code_take_listing(Arena *arena, SassCode *code, const char *listing, SassLife life);

/* The PTX instructions of a module in the order of its text, numbered from 0. */
typedef struct PtxLines {
    const Inst **insts;
    const Function **functions; /* of each instruction */
    uint32_t count;
} PtxLines;

PtxLines ptx_lines(Arena *arena, const Module *module);
/* A copy of the module's text in which a line directive before each instruction gives its number; line directives and
 * debugging sections of the original are left out. In the arena. */
const char *ptx_numbered(Arena *arena, const Module *module, const PtxLines *lines, size_t *size);

typedef struct SassRequest {
    Assembler *assembler;
    const Module *module;      /* parsed; its source is assembled */
    const char *kernel;
    AssemblyRequest assembly;  /* options of the assembler; ptx, size, want_cubin and line_info are set here */
    const void *cubin;         /* the assembler's result for the module with the same options, if available: the */
    size_t cubin_size;         /* 'cubin' of a SassMap of another kernel, for example. NULL: it is assembled here */
    const void *numbered;      /* the same for the numbered copy, SassMap.numbered */
    size_t numbered_size;
    const Disassembler *disassembler; /* adds text, if it works; NULL: none */
    const char *listing;              /* what it printed for the same cubin and 'life'; NULL: it is run here */
    SassLife life;                    /* needs a disassembler */
    bool omits_lines; /* no PTX instructions are wanted: the numbered copy is neither made nor read */
} SassRequest;

typedef struct SassMap {
    SassCode *code;
    const Function *kernel;
    const Source *source; /* of the PTX */
    PtxLines lines;
    bool mapped;           /* the numbered copy assembles to the same code, so the instructions' 'ptx' are set */
    const char *unmapped;  /* the reason why not; NULL if mapped */
    const char *no_text;   /* the reason why the disassembler added no text; NULL if it did or was not asked */
    const char *listing;   /* what the disassembler printed for the whole cubin; NULL: it was not asked */
    uint32_t mapped_count; /* instructions that have a PTX instruction */
    const void *cubin; /* of the module; in the arena unless it came with the request */
    size_t cubin_size;
    const void *numbered; /* of the numbered copy; NULL if that cannot be assembled */
    size_t numbered_size;
    double seconds; /* in total, and those of them in the assembler */
    double assembler_seconds;
} SassMap;

/* NULL, or what is missing on this machine, so that no instruction's PTX can be found. */
const char *sass_lines_missing(void);

/* Assembles the module, reads the kernel's code and finds the PTX instruction of each machine instruction. NULL with
 * *error in the arena if there is no code to read. */
SassMap *sass_map(Arena *arena, const SassRequest *request, const char **error);

/* True if a machine instruction stores or loads a register in local or shared memory, which the PTX instruction that it
 * comes from, if any (NULL: none), does not access. */
bool sass_is_spill(const SassInstruction *machine, const Inst *inst);

/* The executions of a PTX instruction, over all warps. */
typedef struct PtxCount {
    Span span;        /* of the instruction, in the module that was mapped */
    uint64_t warps;   /* warp instructions, whatever the guard says */
    uint64_t threads; /* threads for which the guard held */
} PtxCount;

/* The executions of each part of the machine code, summed over the warps of the launch. */
typedef struct SassExecutions {
    double *block_warps;   /* by block: its executions by warps */
    double *block_threads; /* by block: its executions by threads */
    uint32_t *before;      /* by block: the one that warps most often come from; MACHINE_NONE: none */
    double warps;          /* the warps that start the kernel */
    double total;          /* warp instructions */
    double looped;         /* those of them in loops, and in functions, which loops may call */
    double by_class[MACHINE_CLASS_COUNT];
    double spills;         /* loads and stores of local memory that the PTX does not contain */
    double bytes_spilled;  /* by threads */
    double shared_spills;  /* loads and stores of shared memory that the PTX does not contain */
    double residual; /* the disagreement of the counts: the weighted mean of |executed - PTX count| over the weighted
                      * mean of the PTX counts; 0 is perfect */
    double evidence; /* the share of executed instructions in blocks whose count follows from PTX counts of their own */
} SassExecutions;

/* Distributes the counts over the code (docs/machine-code.md). Instructions that were not executed may be left out.
 * Without a mapping all counts are 0. */
SassExecutions *sass_execute(Arena *arena, const SassMap *map, const PtxCount *counts, size_t count);

/* Appends the code to *out: address, executions, PTX line, class, stall cycles, scoreboards and text of each
 * instruction, with a gap between blocks. 'executions' may be NULL. */
void sass_list(const SassMap *map, const SassExecutions *executions, Buf *out);

#endif
