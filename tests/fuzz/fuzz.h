/* fuzz: shared by the harnesses, the mutator and the driver. docs/fuzzing.md says how to run them. */
#ifndef PTXOPT_FUZZ_H
#define PTXOPT_FUZZ_H

#include "ir/ir.h"
#include "support/support.h"

typedef struct Harness {
    const char *name;
    void (*run)(const char *text, size_t size);
    bool is_json;         /* its input is a launch file, not PTX */
    double seconds;       /* of processor time that any input may take */
    double byte_seconds;  /* and more for each byte of it */
} Harness;

extern const Harness harnesses[];
extern const size_t harness_count;

void harness_lexer(const char *text, size_t size);
void harness_parser(const char *text, size_t size);
void harness_text(const char *text, size_t size);
void harness_body(const char *text, size_t size);
void harness_passes(const char *text, size_t size);
void harness_meaning(const char *text, size_t size);
void harness_launch(const char *text, size_t size);

/* The functions that libFuzzer calls, or the driver without it. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t limit, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

/* Prints which property the input breaks, and aborts. */
_Noreturn void property_broken(const char *format, ...) PRINTF_LIKE(1, 2);

/* Parses, messages dropped. NULL if the text is refused; the module owns its arena. Checks that a text is refused
 * exactly if errors were counted, and that the module's size is bounded by a multiple of its text. */
Module *text_parse(const char *name, const char *text, size_t size);
void module_discard(Module *module); /* with the bodies of its functions; NULL is allowed */
/* Printed text must be accepted; 'what' names the text in the message. */
Module *printed_parse(const char *what, const Buf *text);
void texts_compare(const char *what, const Buf *expected, const Buf *actual);

/* The first difference between two modules, ignoring places in the text, as a message in the arena; NULL: none. */
const char *module_difference(Arena *arena, const Module *a, const Module *b);

typedef enum WordClass { WORD_OPCODE, WORD_MODIFIER, WORD_DIRECTIVE, WORD_REGISTER, WORD_NUMBER, WORD_LINE, WORD_JSON,
                         WORD_CLASSES } WordClass;
/* The words of a class: opcodes, modifiers and special registers from the tables of ir/. */
const char *const *words_of(WordClass class, size_t *count);

#endif
