/* Reading lines: in each round a thread reads a *window* of elements, which moves on by a step. Those that it shares
 * with the window before stay in registers, and only the others are read, in chunks that are aligned in all threads and
 * rounds. */
#include "opt/memory/rewrite.h"

enum { CARRIED_MOST = 24 /* elements in registers */ };

typedef struct Window {
    Rewrite *w;
    const Tile *tile;
    const ReadAddress *address;
    Inst *place;    /* the first of the loads in the body */
    RegId like;     /* a register for an element */
    unsigned width; /* elements, a multiple of the chunk */
    unsigned kept;  /* the first of them, which the window before had, too */
    RegId *elements;
} Window;

/* Reads the elements from 'begin' to 'end', before 'place', or where the loop begins. */
static void read_chunks(const Window *window, RegId *elements, unsigned begin, unsigned end, RegId address, Inst *place)
{
    const Tile *tile = window->tile;
    Rewrite *w = window->w;
    for (unsigned e = begin; e < end; e += tile->chunk) {
        for (unsigned k = e; k < e + tile->chunk; k++)
            elements[k] = body_clone_reg(w->body, window->like);
        Inst *load = rewrite_read(w, window->place, tile->members[0].type, elements + e, tile->chunk, address,
                                  tile->offset + (int64_t)(e * tile->unit));
        Inst *last = w->reading_start->last;
        if (place)
            inst_insert_before(place, load);
        else if (last && inst_is_terminator(last))
            inst_insert_before(last, load);
        else
            inst_append(w->reading_start, load);
    }
}

/* The elements that stay in registers pass through phis of the loop. */
static void carry(const Window *window, const RegId *firsts)
{
    Rewrite *w = window->w;
    Arena *arena = w->body->arena;
    for (unsigned e = 0; e < window->kept; e++) {
        Phi phi = {.dst = window->elements[e]};
        VEC_PUSH(arena, phi.args, ((PhiArg){w->reading_start, firsts[e]}));
        VEC_PUSH(arena, phi.args, ((PhiArg){w->reading_end, window->elements[e + window->tile->step]}));
        VEC_PUSH(arena, w->reading->phis, phi);
    }
}

/* The member's results are elements of the window. */
static void replace_member(const Window *window, const Member *member, Inst *copy)
{
    RegId regs[UNIT_MEMBERS_MOST];
    const unsigned count = rewrite_results(copy, regs);
    const unsigned first = (unsigned)((member->from_root - window->tile->start) / window->tile->unit);
    for (unsigned i = 0; i < count; i++) {
        const char *spelling = rewrite_move(window->w->body->regs.data[regs[i]].type);
        inst_insert_before(copy, inst_build(window->w->body, spelling, "dr", regs[i], window->elements[first + i]));
    }
    inst_remove(copy);
}

static Inst *first_place(const Tile *tile, Inst *const *copies)
{
    unsigned first = 0;
    for (unsigned m = 1; m < tile->member_count; m++)
        if (tile->members[m].inst->id < tile->members[first].inst->id)
            first = m;
    return copies[first];
}

void rewrite_line(Rewrite *w, const Tile *tile, Inst *const *copies, const ReadAddress *address)
{
    RegId regs[UNIT_MEMBERS_MOST];
    Window window = {.w = w, .tile = tile, .address = address, .width = tile->span + tile->pad};
    window.place = first_place(tile, copies);
    rewrite_results(copies[0], regs);
    window.like = regs[0];
    window.kept = window.width > tile->step ? window.width - tile->step : 0;
    if (window.kept > CARRIED_MOST)
        window.kept = 0;
    window.elements = ARENA_ARRAY(w->s->scratch, RegId, window.width);
    RegId *firsts = ARENA_ARRAY(w->s->scratch, RegId, window.width);
    read_chunks(&window, firsts, 0, window.kept, address->first, NULL);
    for (unsigned e = 0; e < window.kept; e++)
        window.elements[e] = body_clone_reg(w->body, window.like);
    read_chunks(&window, window.elements, window.kept, window.width, address->now, window.place);
    carry(&window, firsts);
    for (unsigned m = 0; m < tile->member_count; m++)
        replace_member(&window, &tile->members[m], copies[m]);
}
