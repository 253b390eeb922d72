/* The interface between the files of this folder; no other folder includes it.
 *
 * In the order of their calls, each file calling only those before it: values.c; the files that execute instructions:
 * integer.c, shift.c, logic.c, float.c, half.c, convert.c, memory.c, access.c, control.c, call.c, warp.c, converge.c,
 * barrier.c; decode.c; pointers.c; image.c; nans.c; run.c; input.c; check.c. */
#ifndef PTXOPT_MACHINE_INTERNAL_H
#define PTXOPT_MACHINE_INTERNAL_H

#include "emulator/semantics/numbers.h"
#include "machine/machine.h"

enum { ZERO_REGISTER = 255, TRUE_PREDICATE = 7, WARP_THREADS = 32, BANKS = 5, MOST_OPERANDS = 12 };
enum { INSTRUCTION_BYTES = 16, JOINS = 16, BARRIERS = 16 };

/* The modifiers. */
typedef enum SuffixId {
#define SUFFIX(id, name) SUFFIX_##id,
#include "machine/suffixes.def"
    SUFFIX_COUNT
} SuffixId;

_Static_assert(SUFFIX_COUNT <= 192, "three words hold the modifiers of an instruction");

typedef enum PlaceKind {
    PLACE_NONE,
    PLACE_REGISTER,
    PLACE_UNIFORM,
    PLACE_PREDICATE,
    PLACE_UNIFORM_PREDICATE,
    PLACE_BANK,    /* c[bank][index + number] */
    PLACE_MEMORY,  /* [register + base + number] */
    PLACE_NUMBER,  /* an integer */
    PLACE_FLOAT,   /* a number that nvdisasm prints in decimal; 'number' has the instruction's 32 bits of it */
    PLACE_SPECIAL, /* 'text' names a special register */
    PLACE_JOIN,    /* B0 to B15, the registers of BSSY and BSYNC */
    PLACE_OTHER,   /* labels, barriers */
} PlaceKind;

typedef enum HalfKind { HALF_BOTH, HALF_LOW, HALF_HIGH } HalfKind;

/* An operand. */
typedef struct Place {
    uint8_t kind;  /* PlaceKind */
    uint8_t index; /* of the register or predicate; in memory and banks, ZERO_REGISTER: none */
    uint8_t base;  /* PLACE_MEMORY: a uniform register, ZERO_REGISTER: none */
    uint8_t bank;
    bool index_is_uniform; /* PLACE_BANK, PLACE_MEMORY */
    bool negated, inverted, absolute; /* -x; ~x or !x; |x| */
    bool wide, narrow;                /* .64; .U32 */
    bool single;                      /* .F32 among operands of 16 bits */
    bool is_sign;                     /* .SIGN: the highest bit of a register, as a predicate */
    uint8_t half;                     /* HalfKind: .H0_H0 and .H1_H1 */
    uint8_t byte;                     /* .B1 to .B3 */
    uint8_t shift;                    /* .X4, .X8, .X16 as a shift */
    int64_t number;
    const char *text; /* PLACE_SPECIAL, PLACE_OTHER: without the signs around a label */
} Place;

typedef struct Thread Thread;
typedef struct Warp Warp;
typedef struct Group Group;
typedef struct Decoded Decoded;

/* How a thread goes on after an instruction, or all for which its guard holds. */
typedef enum Step {
    STEP_ON,      /* the next one follows */
    STEP_JUMPED,  /* the thread's 'at' has been set */
    STEP_EXITED,
    STEP_WAITS,   /* for other threads, as the group's 'wait' says */
    STEP_STOPPED, /* the run is over: MachineEnd says why */
} Step;

typedef Step Execute(Thread *thread, const Decoded *it);
/* Executes an instruction whose result depends on the threads that execute it together: those of 'active', for which
 * its guard holds. */
typedef Step ExecuteGroup(Warp *warp, Group *group, uint32_t active, const Decoded *it);

/* A machine instruction, ready for execution. */
struct Decoded {
    Execute *execute;
    ExecuteGroup *execute_group; /* instead; NULL: each thread executes it alone */
    const char *problem; /* why it cannot be executed; NULL: it can */
    uint64_t suffixes[3];
    uint8_t order[10]; /* the modifiers in the order of the text */
    uint8_t order_count;
    uint8_t operand_count;
    uint8_t guard; /* a predicate register; TRUE_PREDICATE: none */
    bool guard_inverted, guard_is_uniform;
    bool is_approximate; /* MUFU that is not part of an exact PTX instruction */
    bool is_open;        /* its result is the threads that happen to be together */
    bool is_uniform;     /* it writes a uniform register or predicate: a group executes it once */
    Place operands[MOST_OPERANDS];
    uint32_t target;  /* an instruction, or MACHINE_NONE */
    uint32_t section; /* the index that an instruction at address 0 of the same section has */
    bool names_section; /* a label is the function at the beginning of its section */
    uint64_t skipped;   /* LEPC: the bytes between the next instruction and its label */
};

/* A kernel's code, and the contents of its constant banks. */
typedef struct Program {
    const SassMap *map;
    Decoded *code;
    uint32_t count;
    uint8_t *banks[BANKS];
    size_t bank_sizes[BANKS];
    uint64_t bank0_parameters; /* the offset of the kernel's parameters in bank 0 */
    const Module *module;
    const uint8_t **initial; /* by memory, for the first ones: the cubin's data of a variable with addresses of
                              * functions; NULL: it is not such a variable */
    size_t initial_count;
} Program;

typedef struct ThreadBlock ThreadBlock;

/* A thread of the kernel. */
struct Thread {
    uint32_t registers[256];
    bool predicates[8];
    Warp *warp;
    ThreadBlock *block;
    uint32_t at; /* the instruction */
    unsigned id[3];
    unsigned index;            /* in the block */
    uint32_t joins[JOINS];     /* B0 to B15: the lanes that BSYNC joins again */
    uint32_t members;          /* WAIT_WARP: the lanes that it waits for; */
    uint8_t join;              /* WAIT_JOIN: the number of the register */
    uint32_t before;           /* the lanes that it was together with before a collective instruction */
    uint32_t reduced;          /* what the last barrier that combines gave; */
    bool counted;              /* it is a count */
    uint8_t *local;            /* NULL: not used yet */
};

/* Why a group does not run. */
typedef enum WaitKind {
    WAIT_NONE,
    WAIT_JOIN,    /* BSYNC: the other threads of the mask in a register */
    WAIT_WARP,    /* WARPSYNC: those of a mask */
    WAIT_ARRIVAL, /* BAR: all others of the warp, which arrives at the barrier with them */
    WAIT_BLOCK,   /* BAR: the warp has arrived */
} WaitKind;

/* Threads of a warp that are together: they execute each instruction at the same time. */
struct Group {
    uint32_t lanes;
    uint8_t wait;    /* WaitKind */
    bool is_members; /* they are the members of a mask that nothing else is together with */
};

/* 'groups' are disjoint, and all live threads are in one. */
struct Warp {
    ThreadBlock *block;
    Thread *threads; /* by lane */
    uint32_t live;   /* the lanes that have not exited */
    uint32_t uniform[256];
    bool uniform_predicates[8];
    const char *mixed[256]; /* by uniform register: how threads have moved different values to it; NULL: they did not */
    uint32_t mixed_at[256]; /* the instruction that did */
    bool has_mixed;         /* one of them may be mixed */
    Group groups[WARP_THREADS];
    unsigned group_count;
};

/* A barrier of the block, from one completion to the next. */
typedef struct Barrier {
    unsigned warps;   /* that have arrived, and which */
    uint32_t arrived;
    unsigned wanted; /* threads; 0: all of the block */
    unsigned votes;  /* threads whose predicate held */
    unsigned voters;
} Barrier;

/* A piece of memory, the same for all threads. */
typedef struct MachineRegion {
    uint64_t address, size;
    uint8_t *bytes;
    uint32_t *writers; /* by byte: the instruction that wrote it last; MACHINE_NONE: none */
} MachineRegion;

struct ThreadBlock {
    const Program *program;
    const MachineLaunch *launch;
    unsigned id[3];
    uint8_t *shared;
    uint64_t shared_size;
    MachineRegion *regions;
    size_t region_count;
    uint64_t *heap_used; /* bytes */
    MachineEnd *end;
    Arena *arena;
    Warp *warps;
    unsigned warp_count;
    Barrier barriers[BARRIERS];
};

static inline bool has(const Decoded *it, SuffixId suffix)
{
    return it->suffixes[suffix / 64] >> (suffix % 64) & 1;
}

/* values.c: operands. */

/* The bits of an operand as they are, and as an integer, with its sign or complement applied. */
uint32_t raw32(const Thread *thread, const Place *place);
uint64_t raw64(const Thread *thread, const Place *place);
uint32_t integer32(const Thread *thread, const Place *place);
uint64_t integer64(const Thread *thread, const Place *place);
/* A floating-point number, with |x| and -x applied. */
uint32_t float32(const Thread *thread, const Place *place);
uint64_t float64(const Thread *thread, const Place *place);
bool predicate(const Thread *thread, const Place *place);
void set32(Thread *thread, const Place *place, uint32_t value);
void set64(Thread *thread, const Place *place, uint64_t value);
void set_predicate(Thread *thread, const Place *place, bool value);
/* Ends the run without a verdict. */
Step stop(Thread *thread, MachineEndKind kind, const char *format, ...) PRINTF_LIKE(3, 4);
static inline bool is_predicate(const Place *place)
{
    return place->kind == PLACE_PREDICATE || place->kind == PLACE_UNIFORM_PREDICATE;
}
/* The number of the first operand after 'from' that is not a predicate. */
unsigned skip_predicates(const Decoded *it, unsigned from);
/* ANDs, ORs or XORs a comparison's result with a predicate, as the instruction's modifiers say. */
bool combine(const Decoded *it, bool result, bool with);
/* The same with operand 'with', and sets the comparison's two predicates, the first operands. */
void set_comparison(Thread *thread, const Decoded *it, bool result, const Place *with);
/* The rounding that the modifiers state; to nearest without any. */
Rounding rounding_of(const Decoded *it);

/* float.c: a comparison by the modifiers, also of the other formats. */
bool float_compare(const Decoded *it, double a, double b);

/* memory.c */

/* The bytes of generic or global memory at an address; NULL after stop(). */
uint8_t *memory_global(Thread *thread, uint64_t address, unsigned bytes, bool stores);
uint8_t *memory_shared(Thread *thread, uint64_t address, unsigned bytes);
/* True if a generic address is one of the memory that there is. */
bool memory_has(const Thread *thread, uint64_t address);
uint8_t *memory_local(Thread *thread, uint64_t address, unsigned bytes);

/* The windows of generic addresses: upper halves of 64 bits. */
enum { SHARED_WINDOW = 0x7f10, LOCAL_WINDOW = 0x7f20, UNKNOWN_WINDOW = 0x7f30, CODE_WINDOW = 0x7f40,
       DRIVER_WINDOW = 0x7f50, CONSTANT_WINDOW = 0x7f60 };
/* Local memory of a thread, in bytes, and the offset at which static shared memory starts. */
enum { LOCAL_BYTES = 1 << 14, SHARED_RESERVED = 0x400 };

/* nans.c: the module in which neg and abs of floats change the sign of a NaN and nothing else, which PTX leaves open;
 * 'lines' are its instructions. It and its source are in the arena. NULL: it has no such instruction. */
const Module *module_with_kept_nans(Arena *arena, const Module *module, const PtxLines *lines);

/* Instructions, by the functions that machine/opcodes.def names. */
#define MACHINE(name, function, suffixes) Execute execute_##function;
#define TOGETHER(name, function, suffixes) ExecuteGroup execute_##function;
#include "machine/opcodes.def"

/* The value of a special register; false if it is not known. */
bool special_value(const Thread *thread, const char *name, uint32_t *value);

static inline Thread *lanes_first(const Warp *warp, uint32_t lanes)
{
    return &warp->threads[__builtin_ctz(lanes)];
}

/* converge.c, barrier.c: lets waiting groups of the warp go on that have everything that they wait for. */
void warp_release(Warp *warp);
void block_release(ThreadBlock *block);
/* converge.c: the next instruction for all of them; those of them that are at an instruction. */
void lanes_step(const Warp *warp, uint32_t lanes);
uint32_t lanes_at(const Warp *warp, uint32_t lanes, uint32_t at);

#define EACH_LANE(lane, mask)                                                                                          \
    for (uint32_t left_##lane = (mask), lane; left_##lane && (lane = (uint32_t)__builtin_ctz(left_##lane), true);      \
         left_##lane &= left_##lane - 1)

/* pointers.c */

typedef struct Pointers Pointers;
/* Puts the machine code's addresses of functions into the variables of a launch that have the emulator's; the result
 * is in the arena. */
Pointers *pointers_enter(Arena *arena, const Program *program, const MachineLaunch *launch);
/* Puts the emulator's back where they have not been overwritten. */
void pointers_leave(const Pointers *pointers);
/* True if the initial value of a variable has addresses of functions. */
bool variable_has_functions(const Variable *variable);

/* call.c: the address of an instruction, and of a function of the driver; 0: there is none of the name. */
uint64_t code_address(uint32_t instruction);
uint64_t driver_function_address(const char *name);

/* decode.c */

Decoded *machine_decode(Arena *arena, const SassCode *code);

/* image.c */

/* The constant banks of a kernel; false with *problem if they cannot be filled. */
bool image_read(Arena *arena, Program *program, const MachineRequest *request, const char **problem);

#endif
