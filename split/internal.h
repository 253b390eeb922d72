/* The interface between the files of this folder; no other folder includes it.
 *
 * The files in the order of their calls, each calling only those before it: read.c, problem.c; attributes.c, frames.c;
 * symbols.c, strings.c, write.c; merge.c; plan.c; text.c; run.c. */
#ifndef PTXOPT_SPLIT_INTERNAL_H
#define PTXOPT_SPLIT_INTERNAL_H

#include <elf.h>

#include "ir/ir.h"
#include "split/split.h"

/* read.c: the cubin of one part. It may contain anything: what is not as expected is refused. */

#define SHF_MERCURY 0x10000000u /* sections of the second form of code, which are not loaded */
#define NOWHERE UINT32_MAX /* an index of something that the merged cubin does not have */

/* The treatment of a section. */
typedef enum SectionUse {
    USE_TABLE,     /* of names or symbols, written anew */
    USE_OWNED,     /* a kernel's: copied */
    USE_SAME,      /* the same bytes in all parts */
    USE_FIRST,     /* that of the first part */
    USE_LARGEST,   /* no bytes; the most that a part needs */
    USE_COMPATIBLE,/* .nv.compat */
    USE_FRAMES,    /* .debug_frame */
    USE_ATTRIBUTES,/* .nv.info of all functions */
    USE_CALLS,     /* .nv.callgraph */
} SectionUse;

typedef struct PartSection {
    Elf64_Shdr header;
    const char *name;
    const unsigned char *bytes; /* header.sh_size of them; NULL if the file has none */
    const char *owner;          /* the kernel; or NULL */
    bool is_dropped;            /* the merged cubin is not to have the kernel */
    size_t class_length;        /* of the name's part before the owner's */
    SectionUse use;
    uint32_t to; /* index in the merged cubin */
} PartSection;

typedef struct PartSymbol {
    Elf64_Sym symbol;
    const char *name;
    uint32_t to;
} PartSymbol;

/* Cubins for sm_100 and newer have a second form of the code, with symbols of its own. */
enum { SYMBOLS_PLAIN, SYMBOLS_MERCURY, SYMBOLS_COUNT };

typedef struct PartSymbols {
    PartSymbol *symbols;
    size_t count;
    uint32_t section; /* 0: the part has no such table */
} PartSymbols;

typedef struct Part {
    Elf64_Ehdr header;
    PartSection *sections;
    size_t section_count;
    PartSymbols symbols[SYMBOLS_COUNT];
    bool is_layered;     /* constants and code are in different segments: sm_90 and newer */
} Part;

/* NULL, or the reason why it cannot be merged. Everything points into 'bytes'. */
const char *part_read(Arena *arena, const void *bytes, size_t size, Part *part);
/* The section of that name, or NULL. */
const PartSection *part_section(const Part *part, const char *name);
/* Those that a relocation or attribute section refers to; NULL if its link is not a table of symbols. */
const PartSymbols *part_symbols_of(const Part *part, const PartSection *section);
/* The new index of a symbol; NOWHERE if it is not in the merged cubin, or not in the part. */
uint32_t symbol_to(const PartSymbols *symbols, uint64_t index);
bool section_is_relocations(const PartSection *section);

static inline bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static inline uint32_t read_32(const unsigned char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The merged cubin. */
typedef struct MergedSection {
    const char *name;
    const Part *part;            /* the first part that has it */
    const PartSection *section;  /* there */
    Buf bytes;
    uint64_t size; /* of sections without bytes */
    uint64_t offset;
    uint32_t name_at; /* in the table of strings */
} MergedSection;

typedef struct MergedSymbol {
    Elf64_Sym symbol; /* st_name is set when written */
    const char *name;
} MergedSymbol;

typedef VEC(MergedSymbol) MergedSymbolVec;

typedef struct Merge {
    Arena *arena;
    Part *parts;
    size_t part_count;
    MergedSection *sections; /* [0] is the empty one */
    size_t section_count;
    MergedSymbolVec symbols[SYMBOLS_COUNT];
    size_t globals[SYMBOLS_COUNT]; /* the first global function */
    const char *problem;           /* the first that was found; or NULL */
} Merge;

/* problem.c: notes it, unless there is one already. */
void merge_fail(Merge *merge, const char *format, ...) PRINTF_LIKE(2, 3);

/* attributes.c: .nv.info and .nv.callgraph. */

/* A kernel's attributes, with new symbols. */
void attributes_copy(Merge *merge, const Part *part, const PartSection *section, Buf *to);
/* Those of all functions, of all parts. */
void attributes_merge(Merge *merge, const char *name, Buf *to);
void calls_merge(Merge *merge, const char *name, Buf *to);
/* .nv.compat: as compatible as the least of its parts. */
void compatibility_merge(Merge *merge, const char *name, Buf *to);

/* frames.c: relocations, and .debug_frame. */

/* A section's relocations. */
void relocations_copy(Merge *merge, const Part *part, const PartSection *section, Buf *to);
/* The frames of all parts, and the relocations of that name for them. */
void frames_merge(Merge *merge, const char *name, const char *relocations, Buf *frames, Buf *to);

/* symbols.c */

/* Fills in merge->symbols, and the new indices of the parts' symbols. */
void symbols_merge(Merge *merge);

/* Copies of NVIDIA's own functions in kernels are numbered: $__internal_3_$__cuda_sm20_div_s64. The name with the next
 * number, if it is one of these; else the name. */
const char *internal_name(Arena *arena, const char *name, unsigned *number);

/* strings.c */

typedef struct Strings {
    Buf text;
    Map known;
} Strings;

/* The strings of the parts' tables of that name. */
void strings_merge(Merge *merge, const char *name, Strings *strings);
/* The place of a string, which is added if it is not there yet. */
uint32_t strings_add(Strings *strings, const char *string);

/* write.c */

void merged_write(Merge *merge, Buf *file);

/* merge.c */

typedef struct CubinPart {
    const void *bytes;
    size_t size;
} CubinPart;

/* Kernels whose names begin like this are not to be in the merged cubin (text.c). */
#define ANCHOR "__ptxopt_split_anchor_"

/* One cubin of several, whose modules have the same variables and different kernels. Kernels are in the order of the
 * parts. Returns NULL, or the reason why it is not possible. */
const char *cubins_merge(Arena *arena, const CubinPart *parts, size_t count, Buf *file);

/* plan.c: the kernels of a module, and what each needs. */

typedef VEC(uint32_t) IndexVec;

typedef struct PlanFunction {
    const Function *function; /* with a body */
    uint32_t begin, end;      /* its text */
    IndexVec needs;           /* other functions of the plan */
    IndexVec outside;         /* of Plan.outside */
    IndexVec introduces;      /* kernels: those of Plan.outside that no kernel after it in the module uses */
} PlanFunction;

typedef struct Plan {
    const Source *source;
    Module *module;
    PlanFunction *functions;
    size_t count;
    const Function **outside; /* functions that are declared only */
    size_t outside_count;
    uint32_t *kernels;  /* indices of functions */
    size_t kernel_count;
} Plan;

/* NULL, or the reason why the module is to be assembled whole. */
const char *plan_make(Arena *arena, const char *ptx, size_t size, Plan *plan);
/* Adds the functions that are needed by those in the set; used[i]: Plan.outside[i] is. */
void plan_close(Arena *arena, const Plan *plan, BitSet *functions, bool *used);

/* text.c: the PTX of a part. */

typedef struct LineStep {
    uint32_t line, original;
} LineStep;

typedef struct PartText {
    Buf text;
    VEC(LineStep) lines; /* from that line of the text on */
} PartText;

void part_text_make(Arena *arena, const Plan *plan, const uint32_t *kernels, size_t count, PartText *part);
unsigned part_text_line(const PartText *part, unsigned line);

#endif
