/* make_ops, which compiles ir/table/ops.def while the program is built. It reads the table (read.c) into rows, parses
 * their modifiers (modifiers.c) and operands (operands.c), and prints them as C (main.c) in the types of
 * ir/table/internal.h. An error in the table stops the build with its file and line. */
#ifndef PTXOPT_TABLE_GENERATOR_H
#define PTXOPT_TABLE_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* text.c: nothing is ever freed, since the program runs for an instant. */

typedef struct Place {
    const char *file;
    int line; /* 0: the file as a whole */
} Place;

_Noreturn void fail(Place place, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Stops the program if an allocation failed. */
void *must(void *memory);
char *copy_n(const char *text, size_t length);
char *copy(const char *text);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct List {
    char **items;
    size_t count, capacity;
} List;

size_t list_add(List *list, char *item);
/* The index of an item, or -1. */
long list_find(const List *list, const char *item);
void list_sort(List *list);
/* As list_find, in a sorted list. */
long list_search(const List *list, const char *item);
List split(const char *text, char separator);

/* A table of the output, collected as lines of text. */
typedef struct Output {
    char *text;
    size_t length, capacity, rows;
} Output;

void output_add(Output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* read.c */

enum { MOST_ELEMENTS = 32, MOST_ALTERNATIVES = 128 };

typedef enum ElementKind { LITERAL, ONE, OPTIONAL } ElementKind;

/* One choice of an element: its modifiers and what they need beyond the row's own minimum. */
typedef struct Choice {
    char *text; /* ".relaxed.cta" */
    List mods;
    int version;         /* 0: the row's */
    const char *targets; /* NULL: the row's */
} Choice;

typedef struct RowElement {
    ElementKind kind;
    char slot;   /* 0: none */
    int same_as; /* the earlier element with the same slot, or -1 */
    Choice *choices;
    size_t choice_count;
    bool tied; /* stays after the element before it */
} RowElement;

typedef struct Row {
    Place place;
    char *id, *opcode, *operands, *category, *effects, *sync;
    char *since, *until, *run, *note;
    bool guarded, fixed;
    RowElement elements[MOST_ELEMENTS];
    int element_count;
    int front; /* the first elements that stay before all others, in order */
} Row;

typedef struct Rows {
    Row **items;
    size_t count, capacity;
    List ruled, rules; /* opcodes, and the rules of each: "ACCESS | INDEXED" */
} Rows;

/* The rows of the table, with the notes of the second file. */
Rows read_rows(const char *table_path, const char *notes_path);

/* names.c */

typedef struct Names {
    List opcodes, mods, ids; /* opcodes and mods sorted, ids in the order of the forms */
} Names;

Names collect_names(const Rows *rows);
/* "OP_ADD", "MOD_SHARED_CTA". If two names differ only in case, the one with capitals keeps its spelling. */
char *enum_name(const char *prefix, const char *text, const List *names);
void print_enum(const char *type, const char *prefix, const List *names);

/* modifiers.c */

/* The modifiers of ".a.b::c"; anything else is malformed. */
List split_mods(Place place, const char *text);
/* Parses the modifiers of a row: "(.lo|.hi)/<T:.u16|.u32>". */
void parse_elements(Row *row, const char *text);
/* True if the modifier names a data type; the order of data types carries meaning. */
bool is_type_name(const char *mod);

/* "8.6" -> 86 */
int parse_version(Place place, const char *text, const char **end);
/* "sm_90a" -> 90 and 'a' */
int parse_target(Place place, const char *text, char *suffix, const char **end);

/* Tables that the forms share; each list of modifiers, alternatives and targets is in them once. */
typedef struct Tables {
    const Names *names;
    Output mod_pool, alternatives, elements, patterns, targets, orders;
    struct Pool {
        List keys;
        size_t *starts, *counts;
    } runs, lists, ranges;
} Tables;

void emit_targets(Tables *tables, Place place, const char *text, size_t *first, size_t *count);
void emit_elements(Tables *tables, const Row *row);
/* "MOD_BIT(MOD_LO) | MOD_BIT(MOD_U32)": all that a row may have. */
char *mod_set(const Tables *tables, const Row *row);
void emit_order(Tables *tables, const Row *row, size_t *first, size_t *count);

/* operands.c */

/* Emits the patterns of a row's operands and returns how many there are. */
size_t emit_patterns(Tables *tables, const Row *row);

#endif
