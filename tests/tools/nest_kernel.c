/* See nest_kernel.h. Thread (x, y) of the grid reads, in round j of the outer loop and round i of the inner one,
 * element row * pitch + cx * x + ci * i + c of each load's buffer, where row is cy * y + cj * j + m, or something that
 * is not as regular: clamped, masked, with every second row moved, or at another distance than its pitch. Guards keep
 * threads from the loops, conditions keep rounds of the outer loop from the inner one, and some loads are made in the
 * first rounds of the inner loop only. */
#include "nest_kernel.h"

#include "kernel_writer.h"

enum { LOADS = 3, MOST_OUTER = 32, MOST_INNER = 12, MEMBERS = 4 };

typedef enum RowKind { ROW_PLAIN, ROW_CLAMPED, ROW_MASKED, ROW_MOVED, ROW_LOADED, ROW_KINDS } RowKind;

typedef struct Load {
    RowKind row;
    unsigned bytes, members, rows; /* members: of a row; rows: one below the other */
    unsigned between;              /* elements from one member to the next */
    unsigned cx, cy, cj, ci, pitch;
    unsigned clamp;   /* the last row of ROW_CLAMPED */
    unsigned below;   /* elements from the first row to the second, if that is counted from the first */
    unsigned rounds;  /* of the inner loop that make the load */
    unsigned added;   /* elements that a parameter adds to the step */
    bool is_below;    /* the second row is counted from the first */
    bool is_constant; /* the pitch is, and not a parameter */
    bool adds;        /* a parameter to the step */
    uint64_t count;   /* elements of the buffer */
} Load;

typedef enum Condition {
    CONDITION_NONE,
    CONDITION_COMMON, /* on a parameter */
    CONDITION_OWN,    /* on the thread's number */
    CONDITION_COLUMN, /* on its x */
    CONDITION_ROUND,  /* on the round */
    CONDITION_ROW,    /* on the thread's y and the round, as at an image's lower edge */
    CONDITIONS
} Condition;

typedef struct Maker {
    Writer to;
    unsigned block[3], grid[3], limits[2];
    unsigned outer, inner, load_count;
    bool has_guard, counts_down, inner_changes, stores;
    Condition condition;
    unsigned bound; /* of the condition */
    Load loads[LOADS];
} Maker;

static unsigned all_along(const Maker *m, unsigned d)
{
    return m->block[d] * m->grid[d];
}

static unsigned threads_along(const Maker *m, unsigned d)
{
    return m->has_guard && m->limits[d] < all_along(m, d) ? m->limits[d] : all_along(m, d);
}

static unsigned choose(Maker *m, const unsigned *values, unsigned count)
{
    return values[below(&m->to, count)];
}

/* The elements that the kernel reads, for the contents of the buffers. */

static bool enters_inner(const Maker *m, unsigned x, unsigned y, unsigned j)
{
    switch (m->condition) {
    case CONDITION_COMMON: return m->outer >= m->bound;
    case CONDITION_OWN: return y * all_along(m, 0) + x != m->bound;
    case CONDITION_COLUMN: return x < m->bound;
    case CONDITION_ROUND: return j != m->bound;
    case CONDITION_ROW: return y + j < m->bound;
    default: return true;
    }
}

static unsigned step_of(const Load *load)
{
    return load->ci + load->added;
}

static uint64_t first_element(const Load *load, unsigned x, unsigned y, unsigned j, unsigned r)
{
    const bool counts = r && load->row == ROW_PLAIN && load->is_below;
    unsigned row = load->cy * y + load->cj * j + (counts ? 0 : r);
    if (load->row == ROW_CLAMPED || load->row == ROW_MASKED) {
        row = load->row == ROW_MASKED ? row & 7 : row;
        row = row < load->clamp ? row : load->clamp;
    }
    return (uint64_t)row * load->pitch + load->cx * x + (counts ? load->below : 0) +
           (load->row == ROW_MOVED ? j & 1 : 0);
}

/* Calls for each element that a load reads. */
static void each_element(const Maker *m, const Load *load, void (*call)(void *context, uint64_t element), void *context)
{
    for (unsigned y = 0; y < threads_along(m, 1); y++)
        for (unsigned x = 0; x < threads_along(m, 0); x++)
            for (unsigned j = 0; j < m->outer; j++)
                for (unsigned r = 0; r < load->rows && enters_inner(m, x, y, j); r++)
                    for (unsigned i = 0; i < m->inner && i < load->rounds; i++)
                        for (unsigned k = 0; k < load->members; k++)
                            call(context, first_element(load, x, y, j, r) + step_of(load) * i + load->between * k);
}

static void take_last(void *context, uint64_t element)
{
    uint64_t *count = context;
    *count = element >= *count ? element + 1 : *count;
}

typedef struct Marks {
    uint8_t *written;
    unsigned bytes;
} Marks;

static void mark(void *context, uint64_t element)
{
    const Marks *marks = context;
    memset(marks->written + element * marks->bytes, 1, marks->bytes);
}

static void choose_load(Maker *m, Load *load)
{
    static const unsigned across[] = {0, 1, 1, 1, 1, 2, 4}, down[] = {0, 1, 1, 1, 1, 1, 2}, steps[] = {1, 1, 2, 4, 4},
                          bytes[] = {4, 4, 4, 2, 8}, members[] = {1, 1, 2, 4, 4};
    *load = (Load){.row = chance(&m->to, 60) ? ROW_PLAIN : (RowKind)below(&m->to, ROW_KINDS),
                   .bytes = choose(m, bytes, COUNT_OF(bytes)), .members = choose(m, members, COUNT_OF(members)),
                   .rows = 1 + chance(&m->to, 30), .between = 1 + chance(&m->to, 15),
                   .cx = choose(m, across, COUNT_OF(across)), .cy = choose(m, down, COUNT_OF(down)),
                   .cj = chance(&m->to, 85) ? 1 : below(&m->to, 3), .ci = choose(m, steps, COUNT_OF(steps)),
                   .rounds = chance(&m->to, 80) ? MOST_INNER : below(&m->to, m->inner + 1),
                   .is_constant = chance(&m->to, 40), .is_below = chance(&m->to, 70)};
    load->adds = chance(&m->to, 10);
    load->added = load->adds ? below(&m->to, 2) : 0;
    const unsigned wide =
        load->cx * (threads_along(m, 0) - 1) + step_of(load) * m->inner + load->members * load->between;
    const unsigned rows = load->cy * (threads_along(m, 1) - 1) + load->cj * (m->outer - 1) + load->rows;
    load->pitch = chance(&m->to, 90) ? wide + below(&m->to, 4) : below(&m->to, 5);
    load->clamp = load->row == ROW_CLAMPED ? (rows - 1) * 2 / 3 : rows - 1;
    load->below = chance(&m->to, 70) ? load->pitch : below(&m->to, 2 * load->pitch + 1);
    each_element(m, load, take_last, &load->count);
}

static void choose_condition(Maker *m)
{
    const unsigned last = threads_along(m, 1) + m->outer;
    m->condition = chance(&m->to, 50) ? CONDITION_NONE : (Condition)below(&m->to, CONDITIONS);
    switch (m->condition) {
    case CONDITION_COMMON: m->bound = 4; break;
    case CONDITION_OWN: m->bound = below(&m->to, 300); break;
    case CONDITION_COLUMN: m->bound = 1 + below(&m->to, 2 * threads_along(m, 0)); break;
    case CONDITION_ROUND: m->bound = below(&m->to, 60); break;
    case CONDITION_ROW: m->bound = chance(&m->to, 50) ? last : last - below(&m->to, last); break;
    default: break;
    }
}

static void choose_shape(Maker *m)
{
    static const unsigned blocks[][3] = {{16, 16, 1}, {32, 4, 1}, {8, 8, 1}, {5, 3, 1}, {16, 2, 1}, {33, 2, 1},
                                         {4, 4, 2}, {1, 16, 1}, {64, 1, 1}, {8, 4, 1}};
    const unsigned *block = blocks[below(&m->to, COUNT_OF(blocks))];
    for (unsigned d = 0; d < 3; d++) {
        m->block[d] = block[d];
        m->grid[d] = d < 2 ? 1 + below(&m->to, 2) : 1;
    }
    m->outer = 1 + below(&m->to, MOST_OUTER) + (chance(&m->to, 60) ? MOST_OUTER : 0);
    m->inner = 1 + below(&m->to, MOST_INNER);
    m->has_guard = chance(&m->to, 40);
    for (unsigned d = 0; d < 2; d++)
        m->limits[d] = 1 + below(&m->to, m->block[d] * m->grid[d] + m->block[d]);
    m->counts_down = chance(&m->to, 40);
    m->inner_changes = chance(&m->to, 5);
    m->stores = chance(&m->to, 5);
    choose_condition(m);
    m->load_count = 1 + below(&m->to, LOADS);
    for (unsigned l = 0; l < LOADS; l++)
        choose_load(m, &m->loads[l]);
}

static void make_coordinates(Maker *m)
{
    for (unsigned d = 0; d < 2; d++) {
        line(&m->to, "mov.u32 %%g0, %%ntid.%c; mov.u32 %%g1, %%ctaid.%c; mov.u32 %%g2, %%tid.%c;", "xy"[d], "xy"[d],
             "xy"[d]);
        line(&m->to, "mad.lo.s32 %%x%u, %%g1, %%g0, %%g2;", d);
    }
    line(&m->to, "mov.u32 %%g0, %%nctaid.x; mov.u32 %%g1, %%ntid.x; mul.lo.s32 %%g0, %%g0, %%g1;");
    line(&m->to, "mad.lo.s32 %%number, %%x1, %%g0, %%x0; mov.u32 %%g1, %%nctaid.y; mov.u32 %%g2, %%ntid.y;");
    line(&m->to, "mul.lo.s32 %%g1, %%g1, %%g2; mul.lo.s32 %%g0, %%g0, %%g1; mov.u32 %%g2, %%tid.z;");
    line(&m->to, "mad.lo.s32 %%all, %%g2, %%g0, %%number; mul.wide.u32 %%result, %%all, 4;");
    line(&m->to, "add.s64 %%result, %%result, %%out;");
}

/* %g0: the row. */
static void make_row(Maker *m, const Load *load, unsigned r)
{
    line(&m->to, "mad.lo.s32 %%g0, %%x1, %u, %u; mad.lo.s32 %%g0, %%j, %u, %%g0;", load->cy, r, load->cj);
    switch (load->row) {
    case ROW_CLAMPED: line(&m->to, "min.s32 %%g0, %%g0, %u;", load->clamp); break;
    case ROW_MASKED: line(&m->to, "and.b32 %%g0, %%g0, 7; min.s32 %%g0, %%g0, %u;", load->clamp); break;
    default: break;
    }
}

/* %pointerL_R: the first element that the thread reads in a round. */
static void make_pointer(Maker *m, unsigned l, unsigned r)
{
    const Load *load = &m->loads[l];
    if (r && load->row == ROW_PLAIN && load->is_below) {
        line(&m->to, "mul.wide.s32 %%w, %%%s%u, %u; add.s64 %%pointer%u_%u, %%pointer%u_0, %%w;",
             load->below == load->pitch ? "pitch" : "below", l, load->bytes, l, r, l);
        return;
    }
    make_row(m, load, r);
    if (load->is_constant)
        line(&m->to, "mul.lo.s32 %%g1, %%g0, %u;", load->pitch);
    else
        line(&m->to, "mul.lo.s32 %%g1, %%g0, %%pitch%u;", l);
    line(&m->to, "mad.lo.s32 %%g1, %%x0, %u, %%g1;", load->cx);
    if (load->row == ROW_MOVED)
        line(&m->to, "and.b32 %%g2, %%j, 1; add.s32 %%g1, %%g1, %%g2;");
    if (load->row == ROW_LOADED)
        line(&m->to, "ld.global.u32 %%g2, [%%zeros]; add.s32 %%g1, %%g1, %%g2;");
    line(&m->to, "mul.wide.s32 %%pointer%u_%u, %%g1, %u; add.s64 %%pointer%u_%u, %%pointer%u_%u, %%buffer%u;", l, r,
         load->bytes, l, r, l, r, l);
}

static void make_member(Maker *m, unsigned l, unsigned r, unsigned k)
{
    const Load *load = &m->loads[l];
    const unsigned at = k * load->between * load->bytes;
    if (load->bytes == 8)
        line(&m->to, "ld.global.u64 %%w, [%%pointer%u_%u+%u]; cvt.u32.u64 %%v, %%w;", l, r, at);
    else if (load->bytes == 2)
        line(&m->to, "ld.global.u16 %%h, [%%pointer%u_%u+%u]; cvt.u32.u16 %%v, %%h;", l, r, at);
    else
        line(&m->to, "ld.global.u32 %%v, [%%pointer%u_%u+%u];", l, r, at);
    line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v;");
}

static void make_loads(Maker *m, unsigned l)
{
    const Load *load = &m->loads[l];
    for (unsigned r = 0; r < load->rows; r++) {
        if (load->rounds < MOST_INNER && m->counts_down)
            line(&m->to, "sub.s32 %%g0, %%inner, %%i; setp.ge.u32 %%p, %%g0, %u; @%%p bra SKIP%u_%u;", load->rounds, l,
                 r);
        else if (load->rounds < MOST_INNER)
            line(&m->to, "setp.ge.u32 %%p, %%i, %u; @%%p bra SKIP%u_%u;", load->rounds, l, r);
        for (unsigned k = 0; k < load->members; k++)
            make_member(m, l, r, k);
        buf_printf(m->to.out, "SKIP%u_%u:\n", l, r);
        line(&m->to, "add.s64 %%pointer%u_%u, %%pointer%u_%u, %u;", l, r, l, r, load->ci * load->bytes);
        if (load->adds)
            line(&m->to, "mul.wide.u32 %%w, %%added%u, %u; add.s64 %%pointer%u_%u, %%pointer%u_%u, %%w;", l,
                 load->bytes, l, r, l, r);
    }
}

static void make_condition(Maker *m)
{
    static const char *const tests[CONDITIONS] = {
        [CONDITION_COMMON] = "setp.lt.u32 %%p, %%outer, %u;", [CONDITION_OWN] = "setp.eq.u32 %%p, %%number, %u;",
        [CONDITION_COLUMN] = "setp.ge.u32 %%p, %%x0, %u;",    [CONDITION_ROUND] = "setp.eq.u32 %%p, %%j, %u;",
        [CONDITION_ROW] = "add.u32 %%g0, %%x1, %%j; setp.ge.u32 %%p, %%g0, %u;",
    };
    if (m->condition == CONDITION_NONE)
        return;
    line(&m->to, tests[m->condition], m->bound);
    line(&m->to, "@%%p bra NEXT;");
}

static void make_nest(Maker *m)
{
    line(&m->to, "mov.u32 %%j, 0;");
    buf_puts(m->to.out, "OUTER:\n");
    for (unsigned l = 0; l < m->load_count; l++)
        for (unsigned r = 0; r < m->loads[l].rows; r++)
            make_pointer(m, l, r);
    make_condition(m);
    line(&m->to, m->counts_down ? "mov.u32 %%i, %%inner;" : "mov.u32 %%i, 0;");
    if (m->inner_changes)
        line(&m->to, "and.b32 %%g0, %%j, 1; max.u32 %%end, %%g0, %%inner; min.u32 %%end, %%end, %%inner;");
    else
        line(&m->to, "mov.u32 %%end, %%inner;");
    buf_puts(m->to.out, "INNER:\n");
    for (unsigned l = 0; l < m->load_count; l++)
        make_loads(m, l);
    if (m->counts_down)
        line(&m->to, "add.s32 %%i, %%i, -1; setp.ne.s32 %%p, %%i, 0; @%%p bra INNER;");
    else
        line(&m->to, "add.s32 %%i, %%i, 1; setp.lt.s32 %%p, %%i, %%end; @%%p bra INNER;");
    buf_puts(m->to.out, "NEXT:\n");
    if (m->stores)
        line(&m->to, "st.global.u32 [%%result], %%sum;");
    line(&m->to, "add.u32 %%sum, %%sum, %%j; add.s32 %%j, %%j, 1; setp.lt.s32 %%p, %%j, %%outer; @%%p bra OUTER;");
}

static void make_code(Maker *m)
{
    for (unsigned l = 0; l < LOADS; l++)
        line(&m->to, "ld.param.u64 %%buffer%u, [buffer%u]; ld.param.u32 %%pitch%u, [pitch%u]; "
             "ld.param.u32 %%below%u, [below%u]; ld.param.u32 %%added%u, [added%u];", l, l, l, l, l, l, l, l);
    line(&m->to, "ld.param.u64 %%out, [out]; ld.param.u64 %%zeros, [zeros]; ld.param.u32 %%outer, [outer];");
    line(&m->to, "ld.param.u32 %%inner, [inner]; ld.param.u32 %%limit0, [limit0]; ld.param.u32 %%limit1, [limit1];");
    line(&m->to, "mov.u32 %%sum, 1;");
    make_coordinates(m);
    if (m->has_guard) {
        line(&m->to, "setp.ge.s32 %%p, %%x0, %%limit0; setp.ge.or.s32 %%p, %%x1, %%limit1, %%p;");
        line(&m->to, "@%%p bra %s;", chance(&m->to, 50) ? "LEAVE" : "AFTER");
    }
    make_nest(m);
    buf_puts(m->to.out, "AFTER:\n");
    line(&m->to, "st.global.u32 [%%result], %%sum;");
    buf_puts(m->to.out, "LEAVE:\n");
    line(&m->to, "ret;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    static const Type types[] = {[2] = TYPE_U16, [4] = TYPE_U32, [8] = TYPE_U64};
    unsigned count = 0;
    *launch = (Launch){.kernel = "k"};
    memcpy(launch->grid, m->grid, sizeof m->grid);
    memcpy(launch->block, m->block, sizeof m->block);
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 4 * LOADS + 6);
    for (unsigned l = 0; l < LOADS; l++) {
        const Load *load = &m->loads[l];
        const Marks marks = {ARENA_ARRAY(arena, uint8_t, load->count * load->bytes + 1), load->bytes};
        each_element(m, load, mark, (void *)&marks);
        launch->arguments[count++] = (LaunchArgument){
            .kind = ARGUMENT_BUFFER, .name = arena_printf(arena, "buffer%u", l), .type = types[load->bytes],
            .count = load->count, .fill = FILL_UNIFORM, .low = 0, .high = 250, .seed = m->to.random.state + l,
            .written = marks.written};
    }
    launch->arguments[count++] = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .fill = FILL_ZERO,
        .count = (uint64_t)m->block[0] * m->grid[0] * m->block[1] * m->grid[1] * m->block[2]};
    launch->arguments[count++] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "zeros", .type = TYPE_U32,
                                                  .fill = FILL_ZERO, .count = 1};
    scalar_argument(arena, &launch->arguments[count++], m->outer);
    scalar_argument(arena, &launch->arguments[count++], m->inner);
    for (unsigned d = 0; d < 2; d++)
        scalar_argument(arena, &launch->arguments[count++], m->limits[d]);
    for (unsigned l = 0; l < LOADS; l++)
        scalar_argument(arena, &launch->arguments[count++], m->loads[l].pitch);
    for (unsigned l = 0; l < LOADS; l++)
        scalar_argument(arena, &launch->arguments[count++], m->loads[l].below);
    for (unsigned l = 0; l < LOADS; l++)
        scalar_argument(arena, &launch->arguments[count++], m->loads[l].added);
    launch->argument_count = count;
}

static void print_head(Buf *text)
{
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ".param .u64 buffer%u, ", l);
    buf_puts(text, ".param .u64 out, .param .u64 zeros, .param .u32 outer, .param .u32 inner, .param .u32 limit0, "
                   ".param .u32 limit1");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ", .param .u32 pitch%u", l);
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ", .param .u32 below%u", l);
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ", .param .u32 added%u", l);
    buf_puts(text, ")\n{\n");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, "\t.reg .b64 %%pointer%u_<2>;\n", l);
    buf_printf(text, "\t.reg .b64 %%buffer<%d>, %%w, %%out, %%zeros, %%result;\n", LOADS);
    buf_printf(text, "\t.reg .b32 %%pitch<%d>, %%below<%d>, %%added<%d>;\n", LOADS, LOADS, LOADS);
    buf_puts(text, "\t.reg .b32 %g<3>, %x<2>, %limit<2>, %v, %sum, %i, %j, %end, %outer, %inner, %all, %number;\n"
                   "\t.reg .b16 %h;\n\t.reg .pred %p;\n");
}

void nest_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 55}, .out = &code}};
    choose_shape(&m);
    make_launch(&m, arena, launch);
    make_code(&m);
    print_head(text);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
