/* The addresses of accesses, as sums of what they are computed from. */
#ifndef PTXOPT_COST_ADDRESS_H
#define PTXOPT_COST_ADDRESS_H

#include "cost/estimate.h"

enum { MOST_TERMS = 12, MOST_ROWS = 3, MOST_WALKS = 4 };

typedef enum TermKind { TERM_REGISTER = 1, TERM_OBJECT, TERM_WINDOW, TERM_PART } TermKind;

typedef struct Term {
    TermKind kind;
    uint64_t what;
    double scale;
} Term;

/* Multiples of a term to which threads, or the rounds of a loop, come by rows. */
typedef struct Rows {
    TermKind kind;
    uint64_t what;
    double step;   /* between rows */
    double extent; /* those of a block */
    double share;  /* those of it and of blocks that were merged with it: where the next block begins; 0: unknown */
} Rows;

/* A loop that goes along an axis on which neighbouring threads are, as over the taps of a filter: what a round touches
 * has mostly been touched by neighbours before. */
typedef struct Walk {
    unsigned depth; /* of the loop */
    double own;     /* the rounds before the first thread comes to where the second began */
    double grows;   /* what each round after them adds, relative to what the block touches in one */
    bool is_tiled;  /* the next block begins where the threads of this one end */
} Walk;

/* The address of one access, as the lanes of the block's first warp have it. A part of it is one as well. */
typedef struct AddressShape {
    double stride[3];  /* bytes between neighbours along x, y, z */
    bool unknown[3];   /* differs along x, y, z in an unknown way */
    bool gathers[3];   /* because of what it is computed from, not only by unknown distances between lanes */
    uint64_t apart[WARP_THREADS]; /* lanes with different numbers are at an unknown distance */
    bool differs_by_block;
    double pieces[WARP_THREADS]; /* bytes to be added for each lane, where an index is divided into groups */
    double wrap;       /* bytes after which the threads along x begin anew, as lanes do in each warp; 0: they do not */
    double constant;   /* bytes added in total */
    double block_stride[3]; /* bytes between neighbouring blocks along x, y, z; 0: none, or unknown */
    unsigned step_depth; /* of the innermost loop of the access in which the address changes; 0: of none */
    double step;       /* bytes that it moves in each iteration of that loop; NAN: unknown */
    BitSet moves;      /* by Loop.index: loops in which the address changes */
    Term terms[MOST_TERMS]; /* all except constants; none times 0 */
    unsigned term_count;
    uint64_t more_terms; /* a hash of those for which there is no room: a sum, so their order does not matter */
    Rows rows[MOST_ROWS];
    unsigned row_count;
    Walk walks[MOST_WALKS];
    unsigned walk_count;
    Map *objects;      /* Estimate.objects */
    const Block *block; /* of the access */
    unsigned *registers; /* how many more may be followed, while the shape is made; shared by its parts */
} AddressShape;

/* The shape of the address with this affine form, of an access in the block. Terms are followed through what they are
 * computed from, and through extensions to 64 bits, which are assumed not to wrap: if one does, a figure is wrong, but
 * nothing else. */
AddressShape address_shape(Estimate *estimate, const AffineForm *form, const Block *block);

/* The lane's index along x, y and z in the block's first warp. */
void address_lane_place(const Estimate *estimate, unsigned lane, unsigned place[3]);

/* The lane's address, relative to the first one's, in bytes. */
double address_lane_offset(const Estimate *estimate, const AddressShape *shape, unsigned lane);

/* How far the address moves in each iteration of the innermost loop in which it changes, in bytes; 0: unknown. */
double address_step(const AddressShape *shape);

/* A hash of the terms, which is the same for addresses that are a constant, or whole rows, apart. */
uint64_t address_key(const AddressShape *shape);

#endif
