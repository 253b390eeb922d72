/* The copies that coalescing could not remove, as moves. Those at one place happen in parallel, so they are ordered
 * such that no register is overwritten before it is read; a cycle goes through a spare register (Boissinot et al. 2009,
 * algorithm 1). */
#include "ir/ssa/destruct.h"

typedef struct Writer {
    Leaver *leaver;
    RegId *place;  /* by register: where its old contents are now */
    RegId *source; /* by register: what it is to receive; REG_NONE */
    bool *done;
    VEC(RegId) ready, todo;
    Block *block;
    Inst *before; /* NULL: at the end of the block */
} Writer;

static const char *move_spelling(Type type)
{
    switch (type_bits(type)) {
    case 1: return "mov.pred";
    case 8: return "cvt.u8.u8"; /* there is no 8-bit mov */
    case 16: return "mov.b16";
    case 64: return "mov.b64";
    case 128: return "mov.b128";
    default: return "mov.b32";
    }
}

static void move_write(Writer *w, RegId dst, RegId src)
{
    Body *body = w->leaver->body;
    Inst *move = inst_build(body, move_spelling(body->regs.data[dst].type), "dr", dst, src);
    const Inst *neighbour = w->before ? w->before : w->block->last;
    move->loc = neighbour ? neighbour->loc : NULL;
    if (w->before)
        inst_insert_before(w->before, move);
    else
        inst_append(w->block, move);
}

static void ready_drain(Writer *w)
{
    while (w->ready.count) {
        RegId dst = VEC_POP(w->ready);
        RegId origin = w->source[dst], now = w->place[origin];
        move_write(w, dst, now);
        w->done[dst] = true;
        w->place[origin] = dst;
        if (now == origin && w->source[origin] != REG_NONE && !w->done[origin])
            VEC_PUSH(w->leaver->scratch, w->ready, origin);
    }
}

/* copies[0 .. count) are at one place. */
static void place_write(Writer *w, const Copy *copies, size_t count, const RegId *chosen)
{
    Arena *scratch = w->leaver->scratch;
    w->ready.count = w->todo.count = 0;
    for (size_t i = 0; i < count; i++) {
        RegId dst = chosen[copies[i].dst], src = chosen[copies[i].src];
        if (dst == src || w->source[dst] != REG_NONE) /* values that share a register are equal, so one copy serves
                                                       * both */
            continue;
        w->source[dst] = src;
        w->place[src] = src;
        VEC_PUSH(scratch, w->todo, dst);
    }
    size_t total = w->todo.count;
    for (size_t i = 0; i < total; i++)
        if (w->place[w->todo.data[i]] == REG_NONE) /* not read */
            VEC_PUSH(scratch, w->ready, w->todo.data[i]);
    ready_drain(w);
    for (size_t i = 0; i < total; i++) {
        RegId dst = w->todo.data[i];
        if (w->done[dst])
            continue;
        Body *body = w->leaver->body;
        RegId spare = body_add_reg(body, body->regs.data[dst].type, body->regs.data[dst].name);
        move_write(w, spare, dst);
        w->place[dst] = spare;
        VEC_PUSH(scratch, w->ready, dst);
        ready_drain(w);
    }
    for (size_t i = 0; i < total; i++) {
        RegId dst = w->todo.data[i];
        w->place[w->source[dst]] = REG_NONE;
        w->source[dst] = REG_NONE;
        w->done[dst] = false;
    }
}

void copies_write(Leaver *leaver, const RegId *chosen)
{
    size_t registers = leaver->body->regs.count; /* spare registers come later and are never a source */
    Writer w = {.leaver = leaver};
    w.place = ARENA_ARRAY(leaver->scratch, RegId, registers);
    w.source = ARENA_ARRAY(leaver->scratch, RegId, registers);
    w.done = ARENA_ARRAY(leaver->scratch, bool, registers);
    for (size_t i = 0; i < registers; i++)
        w.place[i] = w.source[i] = REG_NONE;
    size_t next = 0;
    for (size_t b = 0; b < leaver->body->blocks.count && next < leaver->copies.count; b++) {
        w.block = leaver->body->blocks.data[b];
        uint32_t position = POSITION_FIRST;
        Inst *inst = w.block->first;
        while (next < leaver->copies.count && leaver->copies.data[next].block == b) {
            const Copy *first = &leaver->copies.data[next];
            size_t count = 1;
            while (next + count < leaver->copies.count && first[count].block == b &&
                   first[count].position == first->position)
                count++;
            for (; inst && position < first->position; position += 2)
                inst = inst->next;
            w.before = inst;
            place_write(&w, first, count, chosen);
            next += count;
        }
    }
}
