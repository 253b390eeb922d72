/* What the files of ir/ that handle the body form share and nobody else sees. */
#ifndef PTXOPT_IR_INTERNAL_H
#define PTXOPT_IR_INTERNAL_H

#include "ir/ir.h"

/* ---- Pointer maps ----------------------------------------------------------------------------------------------- */

/* From pointers to pointers, by open addressing; all zero but for the arena is an empty map. */
typedef struct PointerMap {
    Arena *arena;
    const void **keys;
    void **values;
    size_t count, capacity;
} PointerMap;

void pointer_map_put(PointerMap *map, const void *key, void *value);
void *pointer_map_get(const PointerMap *map, const void *key); /* NULL if there is none */

/* ---- Names ------------------------------------------------------------------------------------------------------ */

struct BodyNames *body_names_new(Body *body);
struct BodyNames *body_names_clone(const Body *body, Arena *arena);
bool body_name_taken(const Body *body, Name name);
void body_name_take(Body *body, Name name);

/* ---- Building blocks of the editing functions -------------------------------------------------------------------- */

/* A block that is not in the layout yet. */
Block *block_new(Body *body);
/* A copy of the instruction that shares nothing but what is immutable; targets are copied as they are. */
Inst *inst_copy(Arena *arena, const Inst *inst);

/* The tree with every symbol that 'map' knows replaced, in the arena; the tree itself if there is none.  'map' goes
 * from Variable and Table pointers to their replacements. */
Operand *operands_substitute(Arena *arena, Operand *operands, unsigned count, const PointerMap *map);

/* ---- Dominators ------------------------------------------------------------------------------------------------- */

/* Lengauer and Tarjan: "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979).  Everything is indexed by
 * Block.id, which must be the layout index, and preds must be up to date.  Blocks that the entry does not reach have
 * order UINT32_MAX. */
typedef struct Dominators {
    uint32_t count;                       /* reachable blocks */
    uint32_t *order;                      /* position in reverse postorder */
    uint32_t *blocks;                     /* reverse postorder: ids */
    uint32_t *idom;                       /* id of the immediate dominator; the entry's own for the entry */
    uint32_t *enter, *leave;              /* preorder intervals of the dominator tree */
    uint32_t *first_child, *next_sibling; /* the dominator tree, by id; UINT32_MAX ends */
} Dominators;

void dominators_compute(Dominators *dominators, Arena *arena, const Body *body);
static inline bool dominators_reach(const Dominators *d, uint32_t block)
{
    return d->order[block] != UINT32_MAX;
}
/* Whether a dominates b, or is b. */
static inline bool dominates(const Dominators *d, uint32_t a, uint32_t b)
{
    return d->enter[a] <= d->enter[b] && d->leave[b] <= d->leave[a];
}

/* ---- Text ------------------------------------------------------------------------------------------------------- */

/* How the body form names what the parsed form names by labels. */
typedef struct InstNames {
    const Reg *regs;
    size_t reg_count;
    const PointerMap *blocks; /* Block to Name; NULL: Block.label, or the label in the operand */
    Name table;               /* of this brx.idx; NULL: as in the operand */
} InstNames;

void inst_print_named(const Inst *inst, const InstNames *names, Buf *out);
/* ir/ops.c: "ld.global.f32", with its modifiers as they were written, or in the order in which the form is documented.
 */
void signature_print(const Signature *signature, Buf *out);
void signature_print_documented(const Signature *signature, const Form *form, Buf *out);

/* Where the listing opens and closes a scope for .param variables (ir/call_scopes.c). */
typedef struct CallScope {
    VEC(const Variable *) variables;
} CallScope;

typedef struct CallScopes {
    PointerMap opens, closes; /* Inst to CallScope: before the one, behind the other */
    PointerMap variables;     /* Variable to its CallScope */
} CallScopes;

/* Block ids must be up to date. */
void call_scopes_find(CallScopes *scopes, Arena *arena, const Body *body);

#endif
