/* See loop_kernel.h. Each thread has 256 bytes of its own. Its loop updates one to three cells there in every
 * iteration, some of them twice, with others between, and walks over other bytes: by constants, by a row of the launch
 * that is extended with or without its sign, by an index of 32 bits, which may wrap, or so far that only one iteration
 * accesses anything. Counters start, step and end in all ways, some with a number of the launch added or subtracted,
 * round their trip counts up, and go back from several blocks. The loop is simulated first, so that a walk meets a
 * cell in its first iteration, in its last one, or stays just outside. */
#include "loop_kernel.h"

#include "kernel_writer.h"

enum { OWN = 256, THREADS = 16, MOST_ROUNDS = 24, MOST_LONG_ROUNDS = 2000, MOST_CELLS = 3, MOST_WALKS = 3 };

typedef enum Compare { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL, COMPARE_COUNT } Compare;

typedef enum Addend { NO_ADDEND, ADD_ROW, SUBTRACT_ROW } Addend;

typedef struct Counter {
    int32_t start, bound, step;
    Compare compare;      /* the counter with the bound */
    bool is_signed, stays; /* stays: another iteration follows if the comparison holds */
    bool is_old;          /* the counter is compared before the step is added */
    int32_t offset;       /* added for the comparison only, as is ... */
    Addend addend;        /* ... the launch's row */
    int32_t row;
    bool skips;           /* every other iteration goes back without a test */
    bool is_long;         /* for walks that get far */
    unsigned rounds;
} Counter;

typedef struct Walk {
    int64_t step;
    bool by_row, row_is_signed; /* the step is the launch's row, in bytes */
    unsigned bytes, start;      /* the place in the first iteration, if 'only' is 0 */
    unsigned only;              /* the iteration that accesses anything, from 1; 0: all do */
    bool stores;
    bool by_index, index_is_signed, index_has_row; /* the place is a base and a multiple of an index of 32 bits ... */
    uint32_t index, scale; /* ... which begins here, and is multiplied by this; the launch's row may be a part of it */
    bool ahead; /* the pointer moves before the cells are updated */
    bool late;  /* the access comes after them */
} Walk;

typedef struct Maker {
    Writer to;
    Counter counter;
    bool is_simple; /* one cell and one walk: the result depends only on whether they meet */
    unsigned cells, cell_bytes[MOST_CELLS], cell_places[MOST_CELLS];
    bool cell_at_slot[MOST_CELLS], has_two_updates[MOST_CELLS];
    unsigned walks;
    Walk walk[MOST_WALKS];
    unsigned shift; /* of the slot, in bytes */
    int32_t row;
} Maker;

static bool compare_holds(const Counter *counter, int32_t value)
{
    bool less = counter->is_signed ? value < counter->bound : (uint32_t)value < (uint32_t)counter->bound;
    switch (counter->compare) {
    case LESS: return less;
    case GREATER_EQUAL: return !less;
    case EQUAL: return value == counter->bound;
    case UNEQUAL: return value != counter->bound;
    case LESS_EQUAL: return less || value == counter->bound;
    default: return !less && value != counter->bound;
    }
}

static uint32_t counter_added(const Counter *counter)
{
    const uint32_t row = (uint32_t)counter->row;
    return counter->addend == ADD_ROW ? row : counter->addend == SUBTRACT_ROW ? 0 - row : 0;
}

/* Simulates the loop. False if it makes more iterations than wanted. */
static bool counter_run(Counter *counter)
{
    uint32_t value = (uint32_t)counter->start;
    unsigned most = counter->is_long ? MOST_LONG_ROUNDS : MOST_ROUNDS;
    for (counter->rounds = 1; counter->rounds <= most; counter->rounds++) {
        uint32_t next = value + (uint32_t)counter->step;
        uint32_t compared = (counter->is_old ? value : next) + (uint32_t)counter->offset + counter_added(counter);
        if ((!counter->skips || counter->rounds % 2 == 0) &&
            compare_holds(counter, (int32_t)compared) != counter->stays)
            return true;
        value = next;
    }
    return false;
}

/* One of the comparisons from which the trip count can be computed. */
static void counter_compare_usually(Maker *m)
{
    Counter *counter = &m->counter;
    static const Compare stays[2][2] = {{LESS, UNEQUAL}, {GREATER, UNEQUAL}};
    static const Compare ends[2][2] = {{GREATER_EQUAL, EQUAL}, {LESS_EQUAL, EQUAL}};
    counter->compare = (counter->stays ? stays : ends)[counter->step < 0][chance(&m->to, 30)];
    counter->is_signed = true;
}

static void counter_make(Maker *m)
{
    Counter *counter = &m->counter;
    bool usual = chance(&m->to, 75), edge = chance(&m->to, 15);
    counter->is_long = chance(&m->to, 5);
    do {
        int32_t size = 1 << below(&m->to, 5);
        counter->step = chance(&m->to, 40) ? -size : size;
        counter->start = chance(&m->to, 80) ? (int32_t)below(&m->to, 40) - 20 : (int32_t)random_next(&m->to.random);
        if (edge)
            counter->start = (int32_t)(INT32_MAX - 30u + below(&m->to, 60));
        int32_t rounds = (int32_t)(counter->is_long ? 900 + below(&m->to, 1000) : below(&m->to, 20));
        int32_t way = rounds * counter->step + (int32_t)below(&m->to, 3) - 1;
        counter->bound = (int32_t)((uint32_t)counter->start + (uint32_t)way);
        counter->compare = below(&m->to, COMPARE_COUNT);
        counter->is_signed = chance(&m->to, 70);
        counter->stays = chance(&m->to, 60);
        if (usual)
            counter_compare_usually(m);
        counter->is_old = chance(&m->to, 30);
        counter->offset = chance(&m->to, 15) ? (int32_t)below(&m->to, 60) - 30 : 0;
        counter->row = m->row;
        counter->addend = chance(&m->to, 80) ? NO_ADDEND : chance(&m->to, 50) ? ADD_ROW : SUBTRACT_ROW;
        counter->bound = (int32_t)((uint32_t)counter->bound + counter_added(counter));
        counter->skips = chance(&m->to, 10);
    } while (!counter_run(counter));
}

static bool fits(int64_t place, unsigned bytes)
{
    return place >= 0 && place + bytes <= OWN && place % bytes == 0;
}

static unsigned cell_place(const Maker *m, unsigned cell)
{
    return m->cell_places[cell] + (m->cell_at_slot[cell] ? m->shift : 0);
}

/* One to three cells; others often overlap the first, or are beside it. */
static void cells_make(Maker *m)
{
    m->cells = m->is_simple ? 1 : 1 + below(&m->to, MOST_CELLS);
    for (unsigned c = 0; c < m->cells; c++) {
        unsigned bytes = chance(&m->to, 60) ? 4 : 8;
        m->cell_bytes[c] = bytes;
        m->cell_at_slot[c] = chance(&m->to, 50);
        m->has_two_updates[c] = chance(&m->to, 25);
        int64_t place;
        do {
            place = bytes * below(&m->to, OWN / bytes);
            if (c && chance(&m->to, 70))
                place = (int64_t)cell_place(m, 0) + 4 * ((int64_t)below(&m->to, 3) - 1);
            place -= m->cell_at_slot[c] ? m->shift : 0;
            m->cell_places[c] = (unsigned)place;
        } while (place < 0 || !fits(cell_place(m, c), bytes));
    }
}

/* Chooses where the index begins: it wraps in no iteration, or, if only one accesses anything, in those up to that. */
static void walk_choose_index(Maker *m, Walk *walk)
{
    const int32_t step = (int32_t)(walk->step / walk->scale);
    walk->index_is_signed = chance(&m->to, 70);
    walk->index_has_row = chance(&m->to, 30);
    walk->index = 10000 + below(&m->to, 100);
    if (!walk->only || chance(&m->to, 20))
        return;
    if (chance(&m->to, 60))
        walk->only = m->counter.rounds;
    const uint32_t past = chance(&m->to, 50) ? walk->only - 1 : below(&m->to, walk->only); /* the first one to wrap */
    const uint32_t low = walk->index_is_signed ? (uint32_t)INT32_MAX + 1 : 0;
    walk->index = (step < 0 ? low - 1 : low) - (uint32_t)step * past;
}

/* The walk's step, of a kind that compilers use. */
static void walk_step(Maker *m, Walk *walk)
{
    static const int64_t far[] = {INT64_C(1) << 34, -(INT64_C(1) << 34), -(INT64_C(1) << 32), (INT64_C(1) << 37) - 8,
                                  8 - (INT64_C(1) << 37)};
    walk->by_row = chance(&m->to, 30);
    walk->row_is_signed = chance(&m->to, 60);
    if (walk->by_index)
        walk->step = walk->scale * (int64_t)(1 + below(&m->to, 3)) * (chance(&m->to, 40) ? -1 : 1);
    else if (walk->by_row)
        walk->step = walk->row_is_signed ? 4 * (int64_t)m->row : 4 * (int64_t)(uint32_t)m->row;
    else if (walk->only)
        walk->step = far[below(&m->to, COUNT_OF(far))];
    else
        walk->step = ((int64_t)below(&m->to, 7) - 3) * walk->bytes;
}

/* The index in an iteration, from 0, extended to 64 bits. */
static int64_t walk_index(const Walk *walk, unsigned iteration)
{
    const uint32_t index = walk->index + (uint32_t)(walk->step / walk->scale) * iteration;
    return walk->index_is_signed ? (int32_t)index : (int64_t)index;
}

/* Begins such that the walk meets the first cell in the first iteration, the last one or another, or just misses it. */
static bool walk_start(Maker *m, Walk *walk)
{
    unsigned last = m->counter.rounds - 1;
    unsigned at = chance(&m->to, 40) ? last : chance(&m->to, 40) ? 0 : below(&m->to, last + 1);
    int64_t target = (int64_t)cell_place(m, below(&m->to, m->cells)) + walk->bytes * ((int64_t)below(&m->to, 5) - 2);
    if (walk->only)
        at = walk->only - 1;
    int64_t start = target - walk->step * at;
    walk->start = (unsigned)start;
    if (walk->only) {
        walk->start = (unsigned)target;
        return fits(target, walk->bytes);
    }
    return walk->step % walk->bytes == 0 && fits(start, walk->bytes) && fits(start + walk->step * last, walk->bytes);
}

static void walks_make(Maker *m)
{
    static const unsigned widths[] = {4, 4, 4, 8, 1};
    unsigned tries = 0;
    m->walks = m->is_simple ? 1 : below(&m->to, 1 + MOST_WALKS);
    for (unsigned w = 0; w < m->walks; w++) {
        Walk *walk = &m->walk[w];
        do {
            *walk = (Walk){.bytes = widths[below(&m->to, COUNT_OF(widths))], .stores = chance(&m->to, 30)};
            if (chance(&m->to, m->counter.is_long ? 90 : 25))
                walk->only = 1 + (chance(&m->to, 70) ? 0 : below(&m->to, m->counter.rounds));
            walk->ahead = chance(&m->to, 30) && !walk->only;
            walk->late = chance(&m->to, 40);
            walk->by_index = chance(&m->to, 25);
            walk->scale = chance(&m->to, 70) ? walk->bytes : 1;
            walk_step(m, walk);
            if (walk->by_index)
                walk_choose_index(m, walk);
        } while (!walk_start(m, walk) && ++tries < 1000);
        if (tries == 1000)
            *walk = (Walk){.bytes = 4};
    }
}

static void cell_write(Maker *m, unsigned c)
{
    const char *base = m->cell_at_slot[c] ? "%slot" : "%own";
    unsigned bits = 8 * m->cell_bytes[c];
    static const char *const words[MOST_CELLS] = {"t0", "t1", "t2"};
    const char *reg = bits == 32 ? "t" : "d";
    bool fresh = chance(&m->to, 20);
    if (!fresh)
        line(&m->to, "ld.global.u%u %%%s%u, [%s+%u];", bits, reg, c, base, m->cell_places[c]);
    if (bits == 32) {
        line(&m->to, "mad.lo.u32 %%t%u, %%%s, 3, %%v;", c, fresh ? "i" : words[c]);
    } else {
        line(&m->to, "cvt.u64.u32 %%e%u, %%v;", c);
        line(&m->to, "mad.lo.u64 %%d%u, %%%s%u, 5, %%e%u;", c, fresh ? "e" : "d", c, c);
    }
    line(&m->to, "st.global.u%u [%s+%u], %%%s%u;", bits, base, m->cell_places[c], reg, c);
}

/* All cells once, then those that are updated twice, as in an unrolled loop. */
static void cells_write(Maker *m)
{
    for (unsigned c = 0; c < m->cells; c++)
        cell_write(m, c);
    for (unsigned c = 0; c < m->cells; c++)
        if (m->has_two_updates[c])
            cell_write(m, c);
}

static void walk_write(Maker *m, unsigned w)
{
    const Walk *walk = &m->walk[w];
    if (walk->only) {
        line(&m->to, "setp.eq.u32 %%p%u, %%round, %u;", w, walk->only - 1);
        line(&m->to, "@!%%p%u bra PAST%u;", w, w);
    }
    const char *reg = walk->bytes == 8 ? "%wide" : "%t9";
    if (walk->by_index) {
        if (walk->index_has_row)
            line(&m->to, "add.s32 %%t7, %%k%u, %%row;", w);
        else
            line(&m->to, "mov.u32 %%t7, %%k%u;", w);
        line(&m->to, "mul.wide.%c32 %%a%u, %%t7, %u;", walk->index_is_signed ? 's' : 'u', w, walk->scale);
        line(&m->to, "add.s64 %%a%u, %%a%u, %%base%u;", w, w, w);
    }
    if (walk->stores) {
        if (walk->bytes == 8)
            line(&m->to, "cvt.u64.u32 %%wide, %%v;");
        line(&m->to, "st.global.u%u [%%a%u], %s;", 8 * walk->bytes, w, walk->bytes == 8 ? reg : "%v");
    } else {
        line(&m->to, "ld.global.u%u %s, [%%a%u];", 8 * walk->bytes, reg, w);
        if (walk->bytes == 8)
            line(&m->to, "cvt.u32.u64 %%t9, %%wide;");
        line(&m->to, "mad.lo.u32 %%v, %%v, 7, %%t9;");
    }
    if (walk->only)
        buf_printf(m->to.out, "PAST%u:\n", w);
}

static void walks_write(Maker *m, bool late)
{
    for (unsigned w = 0; w < m->walks; w++)
        if (m->walk[w].late == late)
            walk_write(m, w);
}

static void walk_advance(Maker *m, unsigned w)
{
    const Walk *walk = &m->walk[w];
    if (walk->by_index)
        line(&m->to, "add.s32 %%k%u, %%k%u, %lld;", w, w, (long long)(walk->step / walk->scale));
    else if (!walk->by_row)
        line(&m->to, "add.s64 %%a%u, %%a%u, %lld;", w, w, (long long)walk->step);
    else if (chance(&m->to, 50))
        line(&m->to, "mad.wide.%c32 %%a%u, %%row, 4, %%a%u;", walk->row_is_signed ? 's' : 'u', w, w);
    else
        line(&m->to, "add.s64 %%a%u, %%a%u, %%%s;", w, w, walk->row_is_signed ? "srow" : "urow");
}

/* The counter's next value, the test, and the branch back. */
static void counter_write(Maker *m)
{
    static const char *const names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    static const char *const swapped[] = {"gt", "ge", "lt", "le", "eq", "ne"};
    const Counter *counter = &m->counter;
    const char *value = counter->is_old ? "%old" : "%i";
    char sign = counter->is_signed ? 's' : 'u';
    if (counter->offset) {
        line(&m->to, "add.s32 %%t9, %s, %d;", value, counter->offset);
        value = "%t9";
    }
    if (counter->addend != NO_ADDEND) {
        const bool turns = counter->addend == ADD_ROW && chance(&m->to, 50);
        line(&m->to, "%s.s32 %%t8, %s, %s;", counter->addend == ADD_ROW ? "add" : "sub", turns ? "%row" : value,
             turns ? value : "%row");
        value = "%t8";
    }
    if (chance(&m->to, 70))
        line(&m->to, "setp.%s.%c32 %%p8, %s, %%bound;", names[counter->compare], sign, value);
    else
        line(&m->to, "setp.%s.%c32 %%p8, %%bound, %s;", swapped[counter->compare], sign, value);
    if (chance(&m->to, 50)) {
        line(&m->to, "@%s%%p8 bra LOOP;", counter->stays ? "" : "!");
    } else {
        line(&m->to, "@%s%%p8 bra DONE;", counter->stays ? "!" : "");
        line(&m->to, "bra LOOP;");
    }
    buf_puts(m->to.out, "DONE:\n");
}

static void loop_write(Maker *m)
{
    bool late_cells = m->counter.skips && chance(&m->to, 60); /* which not all iterations reach */
    line(&m->to, "mov.u32 %%i, %%start; mov.u32 %%round, 0; mov.u32 %%v, %%x;");
    for (unsigned w = 0; w < m->walks; w++) {
        const Walk *walk = &m->walk[w];
        if (walk->by_index) {
            const int64_t way = walk->scale * walk_index(walk, walk->only ? walk->only - 1 : 0);
            const uint32_t added = walk->index_has_row ? (uint32_t)m->row : 0;
            const uint32_t first = walk->index - added - (walk->ahead ? (uint32_t)(walk->step / walk->scale) : 0);
            line(&m->to, "mov.u32 %%k%u, %u; add.s64 %%base%u, %%own, %lld;", w, first, w,
                 (long long)(walk->start - way));
            continue;
        }
        uint64_t back = walk->only ? (uint64_t)walk->step * (walk->only - 1)
                                   : walk->ahead ? (uint64_t)walk->step : 0;
        line(&m->to, "add.s64 %%a%u, %%own, %lld;", w, (long long)(walk->start - back));
    }
    buf_puts(m->to.out, "LOOP:\n");
    line(&m->to, "mov.u32 %%old, %%i; add.s32 %%i, %%i, %d;", m->counter.step);
    for (unsigned w = 0; w < m->walks; w++)
        if (m->walk[w].ahead)
            walk_advance(m, w);
    walks_write(m, false);
    if (!late_cells)
        cells_write(m);
    walks_write(m, true);
    for (unsigned w = 0; w < m->walks; w++)
        if (!m->walk[w].ahead)
            walk_advance(m, w);
    line(&m->to, "add.u32 %%round, %%round, 1;");
    if (m->counter.skips) {
        line(&m->to, "and.b32 %%t8, %%round, 1; setp.ne.u32 %%p9, %%t8, 0; @%%p9 bra LOOP;");
        if (late_cells)
            cells_write(m);
    }
    counter_write(m);
}

static void launch_make(const Maker *m, Arena *arena, Launch *launch)
{
    *launch = (Launch){.kernel = "k", .block = {THREADS, 1, 1}, .argument_count = 5};
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch->arguments[0] =
        (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = THREADS * (OWN / 4 + 4),
                         .fill = FILL_UNIFORM, .low = 0, .high = 4000, .seed = m->to.random.state};
    scalar_argument(arena, &launch->arguments[1], (uint32_t)m->counter.start);
    scalar_argument(arena, &launch->arguments[2], (uint32_t)m->counter.bound);
    scalar_argument(arena, &launch->arguments[3], (uint32_t)m->row);
    scalar_argument(arena, &launch->arguments[4], m->shift);
}

void loop_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 19}, .out = text}};
    m.shift = 8 * below(&m.to, 8);
    m.row = (int32_t)below(&m.to, 9) - 4;
    m.is_simple = chance(&m.to, 60);
    counter_make(&m);
    cells_make(&m);
    walks_make(&m);
    launch_make(&m, arena, launch);
    buf_puts(text,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 out, .param .u32 start, .param .u32 bound, .param .u32 row, "
             ".param .u32 shift)\n{\n\t.reg .b32 %x, %i, %old, %v, %round, %start, %bound, %row, %shift;\n"
             "\t.reg .b32 %t<10>, %k<3>;\n\t.reg .pred %p<10>;\n"
             "\t.reg .b64 %out, %own, %slot, %srow, %urow, %wide, %a<3>, %base<3>, %d<3>, %e<3>;\n");
    line(&m.to, "ld.param.u64 %%out, [out]; ld.param.u32 %%start, [start]; ld.param.u32 %%bound, [bound];");
    line(&m.to, "ld.param.u32 %%row, [row]; ld.param.u32 %%shift, [shift]; mov.u32 %%x, %%tid.x;");
    line(&m.to, "mad.wide.u32 %%own, %%x, %u, %%out; cvt.u64.u32 %%slot, %%shift;", OWN);
    line(&m.to, "add.s64 %%slot, %%slot, %%own;");
    line(&m.to, "mul.wide.s32 %%srow, %%row, 4; mul.wide.u32 %%urow, %%row, 4;");
    loop_write(&m);
    line(&m.to, "mad.wide.u32 %%own, %%x, 16, %%out;");
    line(&m.to, "st.global.v2.u32 [%%own+%u], {%%v, %%i};", THREADS * OWN);
    line(&m.to, "st.global.u32 [%%own+%u], %%round;", THREADS * OWN + 8);
    line(&m.to, "ret;");
    buf_puts(text, "}\n");
}
