/* The interface between the files of the emulated driver's graphs. */
#ifndef PTXOPT_EMULATED_GRAPH_H
#define PTXOPT_EMULATED_GRAPH_H

#include "emulated/driver.h"

/* The former work of a node, because the program may still have the addresses of its arguments. */
typedef struct Replaced {
    Work work;
    struct Replaced *next;
} Replaced;

struct Node {
    Work work; /* owns the arguments of a kernel */
    Graph *graph;
    Node **needs;
    size_t need_count;
    Node *of; /* of a clone or an instance: the node it was made from */
    bool is_disabled, is_done;
    Replaced *replaced;
    Node *next;
};

struct Graph {
    Node *first, *last;
    unsigned long long flags;
};

/* Gives the node a copy of the work. */
void node_set(Node *node, const Work *work);
/* The node of a clone or an instance that was made from 'node'; NULL: none. */
Node *made_from(const Graph *copy, const Node *node);

#endif
