/* The interface between the files of this folder; no other folder includes it.
 *
 * In the order of their calls, each file calling only those before it: values.c; the files that execute instructions:
 * integer.c, shift.c, logic.c, float.c, half.c, convert.c, memory.c, access.c, control.c; decode.c; image.c; run.c;
 * input.c; check.c; report.c. */
#ifndef PTXOPT_MACHINE_INTERNAL_H
#define PTXOPT_MACHINE_INTERNAL_H

#include "emulator/semantics/numbers.h"
#include "machine/machine.h"

enum { ZERO_REGISTER = 255, TRUE_PREDICATE = 7, WARP_THREADS = 32, BANKS = 5, MOST_OPERANDS = 12 };
enum { INSTRUCTION_BYTES = 16 };

/* The modifiers. */
typedef enum SuffixId {
#define SUFFIX(id, name) SUFFIX_##id,
#include "machine/suffixes.def"
    SUFFIX_COUNT
} SuffixId;

_Static_assert(SUFFIX_COUNT <= 128, "two words hold the modifiers of an instruction");

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
    uint8_t half;                     /* HalfKind: .H0_H0 and .H1_H1 */
    uint8_t byte;                     /* .B1 to .B3 */
    uint8_t shift;                    /* .X4, .X8, .X16 as a shift */
    int64_t number;
    const char *text;
} Place;

typedef struct Thread Thread;
typedef struct Decoded Decoded;

/* How a thread goes on after an instruction. */
typedef enum Step {
    STEP_ON,      /* the next one follows */
    STEP_JUMPED,  /* the thread's 'at' has been set */
    STEP_EXITED,
    STEP_BARRIER, /* the thread waits for those of its block */
    STEP_STOPPED, /* the run is over: MachineEnd says why */
} Step;

typedef Step Execute(Thread *thread, const Decoded *it);

/* A machine instruction, ready for execution. */
struct Decoded {
    Execute *execute;
    const char *problem; /* why it cannot be executed; NULL: it can */
    uint64_t suffixes[2];
    uint8_t order[10]; /* the modifiers in the order of the text */
    uint8_t order_count;
    uint8_t operand_count;
    uint8_t guard; /* a predicate register; TRUE_PREDICATE: none */
    bool guard_inverted, guard_is_uniform;
    bool is_approximate; /* MUFU that is not part of an exact PTX instruction */
    Place operands[MOST_OPERANDS];
    uint32_t target;  /* an instruction, or MACHINE_NONE */
    uint32_t section; /* the index that an instruction at address 0 of the same section has */
};

/* A kernel's code, and the contents of its constant banks. */
typedef struct Program {
    const SassMap *map;
    Decoded *code;
    uint32_t count;
    uint8_t *banks[BANKS];
    size_t bank_sizes[BANKS];
    uint64_t bank0_parameters; /* the offset of the kernel's parameters in bank 0 */
} Program;

typedef struct ThreadBlock ThreadBlock;

/* A thread of the kernel. Uniform registers are kept for each thread: all threads that execute an instruction of the
 * uniform datapath compute the same. */
struct Thread {
    uint32_t registers[256], uniform[256];
    bool predicates[8], uniform_predicates[8];
    ThreadBlock *block;
    uint32_t at;      /* the instruction */
    uint64_t path;    /* a hash of the jumps so far: threads that it is the same for have come here together */
    unsigned id[3];
    unsigned index;   /* in the block */
    bool exited, waits;
    uint8_t *local;   /* NULL: not used yet */
};

/* A piece of memory, the same for all threads. */
typedef struct MachineRegion {
    uint64_t address, size;
    uint8_t *bytes;
    uint32_t *writers; /* by byte: the instruction that wrote it last; MACHINE_NONE: none */
} MachineRegion;

enum { MOVED_VALUES = 1 << 12 };

/* A value that a thread of a warp moved to a uniform register; 'thread' is its index in the block, and one more. */
typedef struct MovedValue {
    uint64_t path;
    uint32_t at, value;
    unsigned thread;
} MovedValue;

struct ThreadBlock {
    const Program *program;
    const MachineLaunch *launch;
    unsigned id[3];
    uint8_t *shared;
    uint64_t shared_size;
    MachineRegion *regions;
    size_t region_count;
    MachineEnd *end;
    Arena *arena;
    MovedValue *moved; /* a hash table; the first of a warp at each place of each path */
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
/* ANDs, ORs or XORs a comparison's result with operand 'with', as the instruction's modifiers say, and sets its two
 * predicates, the first operands. */
void set_comparison(Thread *thread, const Decoded *it, bool result, const Place *with);
/* The rounding that the modifiers state; to nearest without any. */
Rounding rounding_of(const Decoded *it);

/* float.c: a comparison by the modifiers, also of the other formats. */
bool float_compare(const Decoded *it, double a, double b);

/* memory.c */

/* The bytes of generic or global memory at an address; NULL after stop(). */
uint8_t *memory_global(Thread *thread, uint64_t address, unsigned bytes, bool stores);
uint8_t *memory_shared(Thread *thread, uint64_t address, unsigned bytes);
uint8_t *memory_local(Thread *thread, uint64_t address, unsigned bytes);

/* The windows of generic addresses: upper halves of 64 bits. */
enum { SHARED_WINDOW = 0x7f10, LOCAL_WINDOW = 0x7f20, UNKNOWN_WINDOW = 0x7f30 };
/* Local memory of a thread, in bytes, and the offset at which static shared memory starts. */
enum { LOCAL_BYTES = 1 << 14, SHARED_RESERVED = 0x400 };

/* Instructions, by the functions that machine/opcodes.def names. */
#define MACHINE(name, function, suffixes) Execute execute_##function;
#include "machine/opcodes.def"

/* decode.c */

Decoded *machine_decode(Arena *arena, const SassCode *code);

/* image.c */

/* The constant banks of a kernel; false with *problem if they cannot be filled. */
bool image_read(Arena *arena, Program *program, const MachineRequest *request, const char **problem);

#endif
