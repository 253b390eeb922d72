/* See nest_kernel.h. Thread (x, y) of the grid reads, in round j of the outer loop and round i of the inner one,
 * element row * pitch + cx * x + ci * i + c of each load's buffer, where row is cy * y + cj * j + m, or something that
 * is not as regular: clamped, masked, with every second row moved. Guards keep threads from the loops, and conditions
 * keep rounds of the outer loop from the inner one. */
#include "nest_kernel.h"

#include "kernel_writer.h"

enum { LOADS = 3, MOST_OUTER = 32, MOST_INNER = 12, MEMBERS = 4 };

typedef enum RowKind { ROW_PLAIN, ROW_CLAMPED, ROW_MASKED, ROW_MOVED, ROW_LOADED, ROW_KINDS } RowKind;

typedef struct Load {
    RowKind row;
    unsigned bytes, members, rows; /* members: side by side in a row; rows: one below the other */
    unsigned cx, cy, cj, ci, pitch;
    bool is_below;    /* the second row is counted from the first */
    bool is_constant; /* the pitch is, and not a parameter */
    uint64_t count;   /* elements of the buffer */
} Load;

typedef enum Condition { CONDITION_NONE, CONDITION_COMMON, CONDITION_OWN, CONDITION_ROUND, CONDITIONS } Condition;

typedef struct Maker {
    Writer to;
    unsigned block[3], grid[3], limits[2];
    unsigned outer, inner, load_count;
    bool has_guard, counts_down, inner_changes, stores;
    Condition condition;
    Load loads[LOADS];
} Maker;

static unsigned threads_along(const Maker *m, unsigned d)
{
    const unsigned all = m->block[d] * m->grid[d];
    return m->has_guard && m->limits[d] < all ? m->limits[d] : all;
}

static unsigned choose(Maker *m, const unsigned *values, unsigned count)
{
    return values[below(&m->to, count)];
}

/* The last row that is read, of those that are not clamped. */
static unsigned last_row(const Maker *m, const Load *load)
{
    return load->cy * (threads_along(m, 1) - 1) + load->cj * (m->outer - 1) + load->rows - 1;
}

static void choose_load(Maker *m, Load *load)
{
    static const unsigned across[] = {0, 1, 1, 1, 1, 2, 4}, down[] = {0, 1, 1, 1, 1, 1, 2}, steps[] = {1, 1, 2, 4, 4},
                          bytes[] = {4, 4, 4, 2, 8}, members[] = {1, 1, 2, 4, 4};
    *load = (Load){.row = chance(&m->to, 60) ? ROW_PLAIN : (RowKind)below(&m->to, ROW_KINDS),
                   .bytes = choose(m, bytes, COUNT_OF(bytes)), .members = choose(m, members, COUNT_OF(members)),
                   .rows = 1 + chance(&m->to, 30), .cx = choose(m, across, COUNT_OF(across)),
                   .cy = choose(m, down, COUNT_OF(down)), .cj = chance(&m->to, 85) ? 1 : below(&m->to, 3),
                   .ci = choose(m, steps, COUNT_OF(steps)), .is_constant = chance(&m->to, 40),
                   .is_below = chance(&m->to, 70)};
    const unsigned wide = load->cx * (threads_along(m, 0) - 1) + load->ci * m->inner + load->members;
    load->pitch = chance(&m->to, 90) ? wide + below(&m->to, 4) : below(&m->to, 5);
    load->count = (uint64_t)load->pitch * last_row(m, load) + wide + (load->row == ROW_MOVED);
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
    m->condition = chance(&m->to, 60) ? CONDITION_NONE : (Condition)below(&m->to, CONDITIONS);
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
    line(&m->to, "mad.lo.s32 %%all, %%x1, %%g0, %%x0; mov.u32 %%g1, %%nctaid.y; mov.u32 %%g2, %%ntid.y;");
    line(&m->to, "mul.lo.s32 %%g1, %%g1, %%g2; mul.lo.s32 %%g0, %%g0, %%g1; mov.u32 %%g2, %%tid.z;");
    line(&m->to, "mad.lo.s32 %%all, %%g2, %%g0, %%all; mul.wide.u32 %%result, %%all, 4;");
    line(&m->to, "add.s64 %%result, %%result, %%out;");
}

/* %g0: the row. */
static void make_row(Maker *m, const Load *load, unsigned r)
{
    line(&m->to, "mad.lo.s32 %%g0, %%x1, %u, %u; mad.lo.s32 %%g0, %%j, %u, %%g0;", load->cy, r, load->cj);
    switch (load->row) {
    case ROW_CLAMPED: line(&m->to, "min.s32 %%g0, %%g0, %u;", last_row(m, load) * 2 / 3); break;
    case ROW_MASKED: line(&m->to, "and.b32 %%g0, %%g0, 7; min.s32 %%g0, %%g0, %u;", last_row(m, load)); break;
    default: break;
    }
}

/* %pointerL_R: the first element that the thread reads in a round. */
static void make_pointer(Maker *m, unsigned l, unsigned r)
{
    const Load *load = &m->loads[l];
    if (r && load->row == ROW_PLAIN && load->is_below) {
        line(&m->to, "mul.wide.s32 %%w, %%pitch%u, %u; add.s64 %%pointer%u_%u, %%pointer%u_0, %%w;", l, load->bytes, l,
             r, l);
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

static void make_loads(Maker *m, unsigned l)
{
    const Load *load = &m->loads[l];
    for (unsigned r = 0; r < load->rows; r++) {
        for (unsigned k = 0; k < load->members; k++) {
            if (load->bytes == 8)
                line(&m->to, "ld.global.u64 %%w, [%%pointer%u_%u+%u]; cvt.u32.u64 %%v, %%w;", l, r, k * 8);
            else if (load->bytes == 2)
                line(&m->to, "ld.global.u16 %%h, [%%pointer%u_%u+%u]; cvt.u32.u16 %%v, %%h;", l, r, k * 2);
            else
                line(&m->to, "ld.global.u32 %%v, [%%pointer%u_%u+%u];", l, r, k * 4);
            line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v;");
        }
        line(&m->to, "add.s64 %%pointer%u_%u, %%pointer%u_%u, %u;", l, r, l, r, load->ci * load->bytes);
    }
}

static void make_condition(Maker *m)
{
    switch (m->condition) {
    case CONDITION_COMMON: line(&m->to, "setp.lt.u32 %%p, %%outer, 4; @%%p bra NEXT;"); break;
    case CONDITION_OWN: line(&m->to, "setp.eq.u32 %%p, %%all, %u; @%%p bra NEXT;", below(&m->to, 300)); break;
    case CONDITION_ROUND: line(&m->to, "setp.eq.u32 %%p, %%j, %u; @%%p bra NEXT;", below(&m->to, 60)); break;
    default: break;
    }
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
        line(&m->to, "ld.param.u64 %%buffer%u, [buffer%u]; ld.param.u32 %%pitch%u, [pitch%u];", l, l, l, l);
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
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 2 * LOADS + 6);
    for (unsigned l = 0; l < LOADS; l++)
        launch->arguments[count++] = (LaunchArgument){
            .kind = ARGUMENT_BUFFER, .name = arena_printf(arena, "buffer%u", l), .type = types[m->loads[l].bytes],
            .count = m->loads[l].count, .fill = FILL_UNIFORM, .low = 0, .high = 250, .seed = m->to.random.state + l};
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
    buf_puts(text, ")\n{\n");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, "\t.reg .b64 %%pointer%u_<2>;\n", l);
    buf_printf(text, "\t.reg .b64 %%buffer<%d>, %%w, %%out, %%zeros, %%result;\n", LOADS);
    buf_printf(text, "\t.reg .b32 %%pitch<%d>;\n", LOADS);
    buf_puts(text, "\t.reg .b32 %g<3>, %x<2>, %limit<2>, %v, %sum, %i, %j, %end, %outer, %inner, %all;\n"
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
