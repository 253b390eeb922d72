/* See count_kernel.h. Each array of counters has an operation and a kind of index: a loaded byte, masked or unmasked
 * words, nothing at all (a sum), the thread's own number, or that of its block besides. Only what a thread has to
 * itself is loaded and stored as well, or, in grids of one block, what a barrier has ordered. */
#include "count_kernel.h"

#include "kernel_writer.h"

enum { ARRAYS = 3, KEYS = 509, MOST_ROUNDS = 6, MOST_STEPS = 4, OPERATIONS = 12 };

typedef enum IndexKind {
    INDEX_BYTE,   /* 0 to 255 */
    INDEX_MASKED, /* 0 to 63 */
    INDEX_WIDE,   /* 0 to 1499, as far as one knows anything */
    INDEX_NONE,
    INDEX_OWN,    /* two counters of each thread */
    INDEX_BLOCK,  /* masked, in the block's part */
    INDEX_KINDS
} IndexKind;

typedef struct Array {
    const char *op, *type;
    Type element;
    unsigned bytes;
    IndexKind kind;
    unsigned shift;     /* elements before the first */
    unsigned fixed;     /* INDEX_NONE: its element */
    unsigned least;     /* INDEX_MASKED: the least index, below 0 */
    bool is_generic;    /* by a generic address */
    uint64_t count;
} Array;

typedef enum Exit { EXIT_NONE, EXIT_EARLY, EXIT_GUARDED, EXIT_AROUND, EXITS } Exit;

typedef struct Maker {
    Writer to;
    unsigned block[3], grid[3];
    unsigned threads, blocks, limit, rounds, array_count;
    bool is_aliased; /* the second array is the first */
    bool has_barrier, gathers, has_vote, has_fence;
    const char *cached; /* how keys are loaded: "" or ".nc" */
    Exit exit;
    Array arrays[ARRAYS];
} Maker;

/* same: the operation of all arrays; -1: one of its own. */
static void choose_array(Maker *m, Array *array, int same)
{
    static const struct {
        const char *op, *type;
        Type element;
    } operations[OPERATIONS] = {{"add", "u32", TYPE_U32}, {"add", "u32", TYPE_U32}, {"add", "s32", TYPE_S32},
                                {"add", "u64", TYPE_U64}, {"and", "b32", TYPE_U32}, {"or", "b64", TYPE_U64},
                                {"xor", "b32", TYPE_U32}, {"min", "s32", TYPE_S32}, {"max", "u32", TYPE_U32},
                                {"min", "u64", TYPE_U64}, {"max", "s64", TYPE_S64}, {"max", "s32", TYPE_S32}};
    static const unsigned counts[] = {[INDEX_BYTE] = 256, [INDEX_MASKED] = 64, [INDEX_WIDE] = 1500, [INDEX_NONE] = 40};
    const unsigned which = same >= 0 ? (unsigned)same : below(&m->to, OPERATIONS);
    *array = (Array){.op = operations[which].op, .type = operations[which].type, .element = operations[which].element,
                     .kind = (IndexKind)below(&m->to, INDEX_KINDS), .shift = below(&m->to, 3),
                     .fixed = below(&m->to, 40), .least = 5 * below(&m->to, 2), .is_generic = chance(&m->to, 20)};
    array->bytes = array->type[1] == '6' ? 8 : 4;
    array->count = array->kind == INDEX_OWN     ? 2 * (uint64_t)m->threads * m->blocks
                   : array->kind == INDEX_BLOCK ? 64 * (uint64_t)m->blocks
                                                : counts[array->kind];
    array->count += array->shift + array->least + 1;
}

static void choose_shape(Maker *m)
{
    static const unsigned blocks[][3] = {{32, 1, 1}, {64, 1, 1}, {16, 4, 1}, {5, 3, 1}, {33, 1, 1}, {4, 4, 2},
                                         {1, 1, 1}, {96, 1, 1}, {2, 3, 5}, {128, 1, 1}};
    const bool is_small = chance(&m->to, 20);
    const unsigned *block = is_small ? blocks[0] : blocks[below(&m->to, COUNT_OF(blocks))];
    m->threads = m->blocks = 1;
    for (unsigned d = 0; d < 3; d++) {
        m->block[d] = block[d];
        m->grid[d] = d < 2 && !is_small ? 1 + below(&m->to, 3) : 1;
        m->threads *= m->block[d];
        m->blocks *= m->grid[d];
    }
    m->rounds = below(&m->to, MOST_ROUNDS);
    m->exit = (Exit)below(&m->to, EXITS);
    m->limit = 1 + below(&m->to, 2 * m->threads * m->blocks);
    m->has_barrier = chance(&m->to, 20);
    m->gathers = m->blocks == 1 && chance(&m->to, 40) && m->exit == EXIT_NONE;
    m->cached = chance(&m->to, 50) ? ".nc" : "";
    m->has_vote = chance(&m->to, 10);
    m->has_fence = chance(&m->to, 5);
    m->array_count = 1 + below(&m->to, ARRAYS);
    const int same = chance(&m->to, 75) ? (int)below(&m->to, OPERATIONS) : -1;
    for (unsigned a = 0; a < ARRAYS; a++)
        choose_array(m, &m->arrays[a], same);
    m->is_aliased = m->arrays[0].kind == INDEX_OWN && m->array_count > 1 && chance(&m->to, 50);
    if (m->is_aliased) {
        const Array first = m->arrays[0];
        m->arrays[1].kind = INDEX_OWN;
        m->arrays[1].count = first.count;
        m->arrays[1].shift = first.shift;
        if (m->arrays[1].bytes != first.bytes)
            m->arrays[1] = first;
        if (first.bytes == 4 && chance(&m->to, 30)) {
            m->arrays[0].op = m->arrays[1].op = "max";
            m->arrays[0].type = "u32";
            m->arrays[1].type = "s32";
        }
    }
}

/* %t: the thread in its block; %all: in the grid; %b: the block. */
static void make_coordinates(Maker *m)
{
    line(&m->to, "mov.u32 %%t, %%tid.x; mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%tid.y;");
    line(&m->to, "mad.lo.u32 %%t, %%g1, %%g0, %%t;");
    line(&m->to, "mov.u32 %%g2, %%ntid.y; mul.lo.u32 %%g0, %%g0, %%g2; mov.u32 %%g1, %%tid.z;");
    line(&m->to, "mad.lo.u32 %%t, %%g1, %%g0, %%t; mov.u32 %%g2, %%ntid.z; mul.lo.u32 %%g0, %%g0, %%g2;");
    line(&m->to, "mov.u32 %%b, %%ctaid.x; mov.u32 %%g1, %%nctaid.x; mov.u32 %%g2, %%ctaid.y;");
    line(&m->to, "mad.lo.u32 %%b, %%g2, %%g1, %%b; mad.lo.u32 %%all, %%b, %%g0, %%t;");
}

/* %at: the address of the counter, less a constant that is returned; 'second': of the thread's two. */
static unsigned make_address(Maker *m, unsigned a, bool second)
{
    const Array *array = &m->arrays[a];
    unsigned constant = array->shift * array->bytes;
    switch (array->kind) {
    case INDEX_BYTE:
        line(&m->to, "ld.global%s.u8 %%h, [%%key];", m->cached);
        if (chance(&m->to, 50))
            line(&m->to, "shr.u16 %%h, %%h, %u;", below(&m->to, 6));
        line(&m->to, "mul.wide.u16 %%g0, %%h, 1;");
        line(&m->to, "mul.wide.u32 %%way, %%g0, %u;", array->bytes);
        break;
    case INDEX_MASKED:
        line(&m->to, "ld.global%s.u32 %%g0, [%%key]; and.b32 %%g0, %%g0, 63; add.s32 %%g0, %%g0, -%u;", m->cached,
             array->least);
        constant += array->least * array->bytes;
        line(&m->to, "mul.wide.s32 %%way, %%g0, %u;", array->bytes);
        break;
    case INDEX_WIDE:
        line(&m->to, "ld.global%s.u32 %%g0, [%%key]; ld.param.u32 %%g1, [wide]; rem.u32 %%g0, %%g0, %%g1;",
             m->cached);
        line(&m->to, "cvt.u64.u32 %%way, %%g0; shl.b64 %%way, %%way, %u;", array->bytes == 8 ? 3 : 2);
        break;
    case INDEX_OWN:
        line(&m->to, m->threads * m->blocks > 32 ? "mov.u32 %%g0, %%all;" : "and.b32 %%g0, %%all, 31;");
        line(&m->to, "mul.wide.u32 %%way, %%g0, %u;", 2 * array->bytes);
        constant += second * array->bytes;
        break;
    case INDEX_BLOCK:
        line(&m->to, "ld.global%s.u32 %%g0, [%%key]; and.b32 %%g0, %%g0, 63;", m->cached);
        line(&m->to, "mul.wide.u32 %%way, %%g0, %u;", array->bytes);
        line(&m->to, "mul.wide.u32 %%part, %%b, %u; add.s64 %%way, %%way, %%part;", 64 * array->bytes);
        break;
    default:
        line(&m->to, "mov.u64 %%at, %%array%u;", a);
        return constant + array->fixed * array->bytes;
    }
    line(&m->to, "add.s64 %%at, %%array%u, %%way;", a);
    return constant;
}

static void make_update(Maker *m, unsigned a)
{
    const Array *array = &m->arrays[a];
    const bool second = chance(&m->to, 50), is_atom = chance(&m->to, 50), is_constant = chance(&m->to, 30);
    const char *const guards[] = {"", "@%odd ", "@!%odd "};
    const char *guard = guards[below(&m->to, 3)];
    const unsigned constant = make_address(m, a, second);
    const char *space = array->is_generic ? "" : ".global";
    char value[16];
    snprintf(value, sizeof value, is_constant ? "%u" : array->bytes == 8 ? "%%w0" : "%%sum", below(&m->to, 100));
    line(&m->to, "cvt.u64.u32 %%w0, %%sum; and.b32 %%g1, %%sum, 4; setp.eq.u32 %%odd, %%g1, 0;");
    if (array->is_generic)
        line(&m->to, "add.s64 %%at, %%at, %u; cvta.global.u64 %%at, %%at;", constant);
    if (is_atom)
        line(&m->to, "%satom%s.%s.%s %%%s, [%%at+%u], %s;", guard, space, array->op, array->type,
             array->bytes == 8 ? "w1" : "g2", array->is_generic ? 0 : constant, value);
    else
        line(&m->to, "%sred%s.%s.%s [%%at+%u], %s;", guard, space, array->op, array->type,
             array->is_generic ? 0 : constant, value);
    if (is_atom && !array->is_generic && array->kind == INDEX_OWN && chance(&m->to, 30))
        line(&m->to, "%smad.lo.u32 %%sum, %%sum, 3, %%g2;", array->bytes == 8 ? "cvt.u32.u64 %g2, %w1; " : "");
}

/* Reads or replaces one of the thread's own two counters, or both. */
static void make_own(Maker *m, unsigned a)
{
    const Array *array = &m->arrays[a];
    const bool is_wide = array->bytes == 8, second = chance(&m->to, 50);
    const unsigned constant = make_address(m, a, second), first = array->shift * array->bytes;
    switch (below(&m->to, 4)) {
    case 0:
        line(&m->to, is_wide ? "st.global.u64 [%%at+%u], %%w0;" : "st.global.u32 [%%at+%u], %%all;", constant);
        break;
    case 1:
        line(&m->to, "and.b32 %%g1, %%sum, 8; setp.eq.u32 %%odd, %%g1, 0; mov.u32 %%v0, 3; mov.u64 %%w0, 4;");
        line(&m->to, is_wide ? "@%%odd ld.global.u64 %%w0, [%%at+%u]; cvt.u32.u64 %%v0, %%w0;"
                             : "@%%odd ld.global.u32 %%v0, [%%at+%u];", constant);
        line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v0;");
        break;
    case 2:
        line(&m->to, "ld.global.u16 %%h, [%%at+%u]; cvt.u32.u16 %%v0, %%h; mad.lo.u32 %%sum, %%sum, 13, %%v0;",
             constant + 2 * below(&m->to, array->bytes / 2));
        break;
    default:
        line(&m->to, "ld.global.u32 %%v0, [%%at+%u]; mad.lo.u32 %%sum, %%sum, 13, %%v0;", first);
        line(&m->to, "ld.global.u32 %%v0, [%%at+%u]; mad.lo.u32 %%sum, %%sum, 13, %%v0;", first + array->bytes);
    }
}

static void make_step(Maker *m)
{
    const unsigned a = below(&m->to, m->array_count);
    line(&m->to, "mad.lo.u32 %%g0, %%all, 7, %%round; mad.lo.u32 %%g0, %%g0, %u, %%sum; rem.u32 %%g0, %%g0, %u;",
         1 + below(&m->to, 50), KEYS);
    line(&m->to, "mul.wide.u32 %%key, %%g0, 4; add.s64 %%key, %%key, %%keys;");
    if (m->arrays[a].kind == INDEX_OWN && chance(&m->to, 50))
        make_own(m, a);
    else
        make_update(m, a);
    if (chance(&m->to, 50))
        line(&m->to, "mad.lo.u32 %%sum, %%sum, 5, %%all;");
}

/* Threads read what the one after them has stored, unless that has exited. */
static void make_exchange(Maker *m)
{
    line(&m->to, "mov.u32 %%g0, mine; mad.lo.u32 %%g1, %%t, 4, %%g0; st.shared.u32 [%%g1], %%sum; bar.sync 0;");
    line(&m->to, "add.u32 %%g0, %%all, 1; setp.lt.u32 %%p, %%g0, %%limit; add.u32 %%g0, %%t, 1;");
    line(&m->to, "setp.lt.and.u32 %%p, %%g0, %u, %%p; @%%p ld.shared.u32 %%sum, [%%g1+4]; bar.sync 0;", m->threads);
}

static void make_loop(Maker *m)
{
    const unsigned steps = 1 + below(&m->to, MOST_STEPS);
    line(&m->to, "mov.u32 %%round, 0;");
    buf_puts(m->to.out, "LOOP:\n");
    for (unsigned s = 0; s < steps; s++) {
        const unsigned label = m->to.labels++;
        const bool skips = chance(&m->to, 25);
        if (skips)
            line(&m->to, "and.b32 %%g0, %%sum, 3; setp.eq.u32 %%p, %%g0, 1; @%%p bra SKIP%u;", label);
        make_step(m);
        if (skips)
            buf_printf(m->to.out, "SKIP%u:\n", label);
    }
    if (m->has_barrier && m->exit != EXIT_AROUND && chance(&m->to, 50))
        make_exchange(m);
    if (m->has_vote)
        line(&m->to, "activemask.b32 %%g0; vote.sync.ballot.b32 %%g1, 1, %%g0;");
    if (m->has_fence)
        line(&m->to, "membar.gl;");
    line(&m->to, "add.u32 %%round, %%round, 1; ld.param.u32 %%g1, [rounds]; setp.lt.u32 %%p, %%round, %%g1;");
    line(&m->to, "@%%p bra LOOP;");
}

/* In one block, after all updates. */
static void make_gather(Maker *m)
{
    line(&m->to, "bar.sync 0;");
    for (unsigned a = 0; a < m->array_count; a++) {
        line(&m->to, "mul.lo.u32 %%g0, %%t, 3; rem.u32 %%g0, %%g0, %u; mul.wide.u32 %%way, %%g0, 4;",
             (unsigned)m->arrays[a].count);
        line(&m->to, "add.s64 %%at, %%array%u, %%way; ld.global.u32 %%v0, [%%at];", a);
        line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v0;");
    }
}

static void make_code(Maker *m)
{
    line(&m->to, "ld.param.u64 %%keys, [keys]; ld.param.u64 %%out, [out]; ld.param.u32 %%limit, [limit];");
    for (unsigned a = 0; a < ARRAYS; a++)
        line(&m->to, "ld.param.u64 %%array%u, [array%u];", a, a);
    if (m->is_aliased)
        line(&m->to, "mov.u64 %%array1, %%array0;");
    make_coordinates(m);
    line(&m->to, "mov.u64 %%w0, 7; mov.u64 %%w1, 0; mov.u32 %%g2, 0;");
    line(&m->to, "mov.u32 %%sum, %%all; setp.ge.u32 %%out_of, %%all, %%limit;");
    if (m->has_barrier)
        line(&m->to, "bar.sync 0;");
    if (m->exit == EXIT_EARLY)
        line(&m->to, "@%%out_of bra LEAVE;");
    else if (m->exit == EXIT_GUARDED)
        line(&m->to, "@%%out_of %s;", chance(&m->to, 50) ? "ret" : "exit");
    else if (m->exit == EXIT_AROUND)
        line(&m->to, "@%%out_of bra AFTER;");
    make_loop(m);
    if (m->exit == EXIT_AROUND)
        buf_puts(m->to.out, "AFTER:\n");
    if (m->gathers)
        make_gather(m);
    line(&m->to, "mul.wide.u32 %%way, %%all, 4; add.s64 %%way, %%way, %%out;");
    /* A store after a barrier could be to a counter, for all the code says. */
    line(&m->to, m->has_barrier && *m->cached ? "red.global.add.u32 [%%way], %%sum;" : "st.global.u32 [%%way], %%sum;");
    if (m->exit == EXIT_EARLY) {
        line(&m->to, "ret;");
        buf_puts(m->to.out, "LEAVE:\n");
    }
    line(&m->to, "ret;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    unsigned count = 0;
    *launch = (Launch){.kernel = "k"};
    memcpy(launch->grid, m->grid, sizeof m->grid);
    memcpy(launch->block, m->block, sizeof m->block);
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, ARRAYS + 5);
    launch->arguments[count++] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "keys", .type = TYPE_U32,
                                                  .count = KEYS, .fill = FILL_UNIFORM, .low = 0, .high = 1 << 20,
                                                  .seed = m->to.random.state};
    for (unsigned a = 0; a < ARRAYS; a++)
        launch->arguments[count++] = (LaunchArgument){
            .kind = ARGUMENT_BUFFER, .name = arena_printf(arena, "array%u", a), .type = m->arrays[a].element,
            .count = m->arrays[a].count, .fill = FILL_UNIFORM, .low = 0, .high = 1000, .seed = m->to.random.state + a};
    launch->arguments[count++] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32,
                                                  .fill = FILL_ZERO, .count = (uint64_t)m->threads * m->blocks};
    scalar_argument(arena, &launch->arguments[count++], m->limit);
    scalar_argument(arena, &launch->arguments[count++], m->rounds);
    scalar_argument(arena, &launch->arguments[count++], 1500);
    launch->argument_count = count;
}

static void print_head(Buf *text)
{
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 keys, ");
    for (unsigned a = 0; a < ARRAYS; a++)
        buf_printf(text, ".param .u64 array%u, ", a);
    buf_puts(text, ".param .u64 out, .param .u32 limit, .param .u32 rounds, .param .u32 wide)\n{\n");
    buf_puts(text, "\t.shared .align 4 .b8 mine[512];\n");
    buf_printf(text, "\t.reg .b64 %%array<%d>, %%keys, %%key, %%out, %%at, %%way, %%part, %%w<2>;\n", ARRAYS);
    buf_puts(text, "\t.reg .b32 %g<3>, %v<1>, %t, %b, %all, %sum, %round, %limit;\n\t.reg .b16 %h;\n"
                   "\t.reg .pred %odd, %p, %out_of;\n");
}

void count_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 99}, .out = &code}};
    choose_shape(&m);
    make_launch(&m, arena, launch);
    make_code(&m);
    print_head(text);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
