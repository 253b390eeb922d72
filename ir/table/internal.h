/* The data and functions that the files of ir/table share: the compiled rows of ops.def, the matches of a signature,
 * and the binding of instructions to them. */
#ifndef PTXOPT_OPS_INTERNAL_H
#define PTXOPT_OPS_INTERNAL_H

#include "ir/internal.h"
#include "target/target.h"

/* The newest .version of which the table has all instructions, times 10. In a module of a newer version, an instruction
 * that the table rejects becomes opaque instead of an error. */
enum { COVERED_VERSION = 95 };

/* One choice of a group of modifiers: a run of mod_pool. 'version' and the targets are 0 if the row's own
 * are enough. */
typedef struct Alternative {
    uint16_t mods;
    uint8_t mod_count;
    uint8_t version; /* times 10 */
    uint16_t targets;
    uint8_t target_count;
} Alternative;

typedef enum ElementKind { ELEMENT_LITERAL, ELEMENT_ONE, ELEMENT_OPTIONAL } ElementKind;

typedef struct Element {
    uint8_t kind;
    int8_t same_as; /* the earlier element that must make the same choice; -1: none */
    uint16_t alternatives;
    uint16_t alternative_count;
} Element;

/* 'suffix' 0: the numbers low to high with any suffix; else exactly low with that suffix. */
typedef struct TargetRange {
    uint16_t low, high;
    char suffix;
} TargetRange;

typedef struct OrderPair { /* element 'before' stays before element 'after' */
    uint8_t before, after;
} OrderPair;

typedef enum PatternKind {
    PATTERN_DST,             /* R */
    PATTERN_SRC,             /* r, x */
    PATTERN_SINK_ONLY,       /* _ */
    PATTERN_DST_PRED,        /* P */
    PATTERN_PRED,            /* p, !p */
    PATTERN_DST_LIST,        /* V */
    PATTERN_SRC_LIST,        /* v */
    PATTERN_INT,             /* i */
    PATTERN_ADDRESS,         /* m, mu */
    PATTERN_HANDLE,          /* mtex, msmp, msurf */
    PATTERN_TENSOR,          /* tm, tma, tms, tme, tmes */
    PATTERN_ENDPOINT,        /* e */
    PATTERN_TEXTURE,         /* tx */
    PATTERN_TEXTURE_SAMPLER, /* ts */
    PATTERN_SURFACE,         /* su */
    PATTERN_VIDEO_DST,       /* R1!, R2, R4 */
    PATTERN_VIDEO_SRC,       /* r1, r2, r4 */
    PATTERN_VARIABLE,        /* S */
    PATTERN_FUNCTION,        /* F */
    PATTERN_KERNEL,          /* K */
    PATTERN_LABEL,           /* L */
    PATTERN_SREG,            /* sreg */
    PATTERN_RESULTS,         /* O */
    PATTERN_ARGUMENTS,       /* A */
} PatternKind;

enum PatternFlag {
    PATTERN_IMMEDIATE = 1 << 0, /* or an immediate */
    PATTERN_SINK = 1 << 1,      /* or "_" */
    PATTERN_DOUBLE = 1 << 2,    /* twice the type's width */
    PATTERN_NEGATE = 1 << 3,
    PATTERN_INVERT = 1 << 4,
    PATTERN_PAIR = 1 << 5,     /* "|P" follows */
    PATTERN_MAY_PAIR = 1 << 6, /* "[|P]" */
    PATTERN_OPTIONAL = 1 << 7,
    PATTERN_SCALAR = 1 << 8,   /* one unbraced coordinate */
    PATTERN_UNIFIED = 1 << 9,  /* ".unified" follows the address */
    PATTERN_NEAR = 1 << 10,     /* points to shared memory: 32-bit address registers are enough */
    PATTERN_SELECTED = 1 << 11, /* the selector is mandatory */
    PATTERN_TENSOR_MEMORY = 1 << 12,
    PATTERN_PAIR_SINK = 1 << 13, /* "_" may follow the "|" */
    PATTERN_OVERRIDE = 1 << 14,  /* another base address follows the tensor map */
    PATTERN_SIZES = 1 << 15,     /* and other sizes and strides */
    PATTERN_FABRIC = 1 << 16     /* the address is an endpoint's and an offset */
};

typedef enum CountFunction {
    COUNT_CONSTANT,
    COUNT_NUMBER, /* the digits of ".v4", ".x16", ".3d" */
    COUNT_N,      /* the n of ".m64n8k16" */
    COUNT_COORDINATES,
    COUNT_DIMENSIONS, /* offsets and gradients: as coordinates, without layer and sample */
    COUNT_IM2COL_OFFSETS,
} CountFunction;

typedef enum RangeKind {
    RANGE_ANY,
    RANGE_INTERVAL,
    RANGE_VALUES,
    RANGE_POWER_OF_TWO,
    RANGE_ONES, /* 0xffffffff */
    RANGE_FRACTION,
    RANGE_F32_BITS, /* no integer */
} RangeKind;

typedef struct Pattern {
    const char *name;
    uint8_t kind; /* PatternKind */
    uint32_t flags;
    int8_t type_element; /* -1: 'type' */
    uint8_t type_part;
    uint8_t type;
    uint8_t count_function, count, count_element, count_part, count_times, count_over;
    uint8_t range, value_count;
    int32_t values[4]; /* RANGE_INTERVAL: low, high, step */
} Pattern;

Opcode opcode_from_name(const char *name); /* OP_UNKNOWN if there is none */
ModId mod_from_name(const char *text);     /* with its dot; MOD_UNKNOWN if there is none */

/* Exceptions in what the operands of an opcode may be; the head of ops.def explains them. */
enum OpcodeRule {
    RULE_ACCESS = 1 << 0,
    RULE_FAR_32 = 1 << 1,
    RULE_ADDRESS_32 = 1 << 2,
    RULE_GENERIC_32 = 1 << 3,
    RULE_GENERIC_64 = 1 << 4,
    RULE_ANY_SPACE = 1 << 5,
    RULE_SHARED_SPACE = 1 << 6,
    RULE_GLOBAL_SPACE = 1 << 7,
    RULE_OWN_SPACE = 1 << 8,
    RULE_SHARED_VARIABLE = 1 << 9,
    RULE_INDEXED = 1 << 10,
    RULE_WIDER = 1 << 11,
    RULE_PACKED = 1 << 12,
    RULE_PACKED_64 = 1 << 13,
    RULE_PACKED_SCALED = 1 << 14,
    RULE_ELEMENTS = 1 << 15,
    RULE_EXACT_LIST = 1 << 16,
    RULE_EXACT_FRAGMENT = 1 << 17,
    RULE_BRACES = 1 << 18,
    RULE_BRACES_BITS = 1 << 19,
    RULE_BRACES_SCALED = 1 << 20,
    RULE_SPECIAL = 1 << 21,
    RULE_UNPACK = 1 << 22,
    RULE_ACCUMULATES = 1 << 23,
    RULE_SLOW = 1 << 24,
    RULE_ALIGNED = 1 << 25,
    RULE_SFU = 1 << 26,
};

typedef enum OrderKind { ORDER_ANY, ORDER_FIXED } OrderKind;

/* A bit of a set of modifiers. Some modifiers share one, so only the absence of a modifier is certain. */
#define MOD_BIT(mod) (UINT64_C(1) << (mod) % 64)

struct Form {
    const char *id;
    uint16_t op;
    uint8_t category, sync;
    bool guarded, emulated;
    uint16_t effects;
    uint16_t elements, patterns, orders;
    uint8_t element_count, pattern_count, order_count, order;
    uint8_t version, last_version; /* last_version 0: no end */
    uint16_t last_from;            /* the end applies from this target number on */
    uint16_t targets;
    uint8_t target_count;
    uint64_t mods; /* MOD_BIT() of each modifier that it may have */
    const char *note;
};

/* True if the opcode has one of the rules. */
bool opcode_has(Opcode op, unsigned rules);

/* Parts of the tables. */
const Form *opcode_first_form(Opcode op, unsigned *count);
const Element *form_elements(const Form *form);
const Pattern *form_patterns(const Form *form);
const Alternative *element_alternatives(const Element *element);
const ModId *alternative_mods(const Alternative *alternative);
const OrderPair *form_order(const Form *form);
const TargetRange *target_ranges_at(unsigned first);
/* The Type, state space or vector length that a modifier names; TYPE_NONE, SPACE_NONE or 0 if it names none. */
Type mod_type(ModId mod);
Space mod_space(ModId mod);
unsigned mod_vector(ModId mod);
/* As mod_type, but packed formats without a Type of their own give the bits that hold them. */
Type mod_operand_type(ModId mod);

enum { MOST_ELEMENTS = 32, MOST_MODS = 32, MOST_ALTERNATIVE_MODS = 8 };

/* An operand pattern with the chosen alternatives filled in. */
typedef struct Slot {
    const Pattern *pattern;
    uint8_t type;   /* Type; of one element of a list */
    bool wider;     /* a wider register is allowed */
    bool implied;   /* the type is not among the modifiers */
    bool bits_only; /* untyped registers only (packed formats) */
    bool layered;   /* the first coordinate is an integer layer */
    uint16_t count; /* list elements, coordinates; video: 1, 2, 4 */
    uint32_t takes; /* bit T: a plain register of Type T fits, without any other check */
} Slot;

struct FormMatch {
    const Form *form;
    const Slot *slots;       /* one for each of the form's patterns */
    const ModId *documented; /* the signature's modifiers in documented order; NULL if written in that order */
    const char *unavailable; /* why the module's version or target does not have it; or NULL */
    bool removed;            /* only older versions have it */
    uint8_t optional_count;  /* of the form's patterns */
    bool one_space;          /* at most one modifier is a state space, which is then that of every address */
};

/* Fits modifiers to a form: in documented order if 'ordered', else in any order that the row allows. choice[i] is the
 * alternative of element i, or -1. 'mods' must hold at most MOST_MODS. */
bool form_match_mods(const Form *form, const Mod *mods, unsigned count, bool ordered, int16_t *choice);

/* The operand patterns of a form with the chosen alternatives filled in. */
const Slot *form_slots(Arena *arena, const Form *form, const int16_t *choice);
/* The reason why the module's version or target does not have the form with these choices, or NULL; 'removed': only
 * older versions have it. */
const char *form_unavailable(Module *module, const Signature *signature, const Form *form, const int16_t *choice,
                             bool *removed);
/* "sm_80", or "none" if no assembler accepts the form. */
void form_print_lowest_target(const Form *form, Buf *out);

/* Appends the reason why no form accepts the signature's modifiers, a sentence without a full stop; appends nothing if
 * there is no form to compare with. With 'legacy', forms that only old versions have count too. */
void signature_explain(const Signature *signature, bool legacy, Buf *out);
/* True only the first time it is called for a signature. */
bool signature_first_warning(Module *module, const Signature *signature);

/* The instruction types that may read the register. */
typedef enum SregReads { SREG_EXACT, SREG_HALF, SREG_ANY_WIDTH } SregReads;
SregReads sreg_reads(const Sreg *sreg);

/* An instruction being fitted to one match. 'why' describes what does not fit, unless it is NULL. */
typedef struct Binder {
    const Module *module;
    const RegVec *regs;
    Inst *inst;
    const Signature *signature;
    const FormMatch *match;
    Buf *why;
    Span where;        /* of what does not fit */
    unsigned progress; /* operands that fitted */
    unsigned operand;  /* the one being fitted, from 1; 0: none */
    const Slot *slot;  /* the slot that it is fitted to */
} Binder;

/* Describes what does not fit; always false. */
bool binder_refuse(Binder *binder, Span where, const char *format, ...) PRINTF_LIKE(3, 4);
/* Fits an operand and sets the role and type of its references. */
bool binder_operand(Binder *binder, Operand *operand, const Slot *slot);
/* Fits a register that the instruction reads as the type (TYPE_NONE: any), and sets its reference. */
bool binder_register(Binder *binder, Operand *operand, Type type, RefRole role);
/* Refuses an element of a vector register, which ptxas's grammar does not allow everywhere. */
bool binder_no_element(Binder *binder, const Operand *operand);
/* The element that ".y" or ".g" selects, or 4. */
unsigned element_index(const char *selector);
/* Fits an address. */
bool binder_address(Binder *binder, Operand *operand, const Slot *slot);
/* True if an address may name the variable, which must be in the space (SPACE_NONE: in generic space). */
bool binder_variable_space(Binder *binder, const Operand *operand, Space space);
/* These fit the name of a function, or of a kernel if 'entry' is set; the label of a branch or of a table; and a
 * variable whose address is taken. */
bool binder_function(Binder *binder, const Operand *operand, bool entry);
bool binder_label(Binder *binder, const Operand *operand);
bool binder_variable(Binder *binder, Operand *operand);
/* Fits a variable whose address is converted: it must be in the space of the conversion. */
bool binder_own_space(Binder *binder, const Operand *operand);
/* "a register": a word for the operand, for messages. */
const char *operand_describe(const Operand *operand);
/* Slot.takes of a slot whose other fields are set. */
uint32_t slot_takes(const Slot *slot);
/* Fits a constant to a type, and to the range of a pattern. */
bool binder_constant(Binder *binder, const Operand *operand, Type type);
bool binder_range(Binder *binder, const Operand *operand, const Pattern *pattern);
/* As binder_register, by the rules of the slot, which may be NULL. */
bool binder_slot_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role);
/* Fits a register declared .v2 or .v4 that replaces a list. */
bool binder_vector_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role);
/* Fits a register in a list; 'first' is the first of the list, or NULL; 'mixed': the list has more than one type. */
bool binder_element(Binder *binder, Operand *item, Type type, const Slot *slot, RefRole role, const Reg *first,
                    bool mixed);
bool binder_list_is_mixed(const Binder *binder, const Operand *list);
static inline const Reg *binder_reg(const Binder *binder, const Operand *operand)
{
    return &binder->regs->data[binder->inst->refs[operand->ref].reg];
}
/* Fits a texture, sampler, surface or tensor map: a 64-bit register or a variable of that type (TYPE_NONE: any). */
bool binder_handle(Binder *binder, Operand *operand, Type type);
/* Fits handles with coordinates. */
bool binder_composite(Binder *binder, Operand *operand, const Slot *slot);
/* Fits an endpoint of the fabric with its offsets. */
bool binder_endpoint(Binder *binder, Operand *operand, const Slot *slot);
bool binder_video(Binder *binder, Operand *operand, const Slot *slot);
/* The first function in the initializer of a jump table that an indirect call may name as its targets, or NULL. */
const Function *variable_first_function(const Variable *variable);
/* Fits the lists of a call to the callee's prototype, if it is known. */
bool binder_call(Binder *binder);

#endif
