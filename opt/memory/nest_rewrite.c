/* The code of a nest: the test of its addresses, the loads of its fields, and where threads read.
 *
 *     setup:   addresses of thread 0 in rounds 0 and 1, and what follows from them
 *     verify:  for all rounds of all tiles: each line of this thread begins where it should, and guards let it pass
 *     gate:    vote; if one disagrees, goto the original loop */
#include "opt/memory/rewrite.h"

enum { BATCH = 8 /* loads before their stores */ };

static void put(Rewrite *w, Block *block, Inst *inst)
{
    (void)w;
    inst_append(block, inst);
}

static RegId multiply_wide(Rewrite *w, RegId narrow, int64_t factor)
{
    RegId wide = rewrite_reg(w, TYPE_B64, "%way");
    put(w, w->setup, inst_build(w->body, "mul.wide.u32", "dri", wide, narrow, factor));
    return wide;
}

static RegId add_wide(Rewrite *w, Block *block, RegId a, RegId b)
{
    RegId sum = rewrite_reg(w, TYPE_B64, "%way");
    put(w, block, inst_build(w->body, "add.s64", "drr", sum, a, b));
    return sum;
}

/* rows * stride, in the setup. */
static RegId rows_of(Rewrite *w, const FieldPlace *place, RegId rows)
{
    RegId wide = rewrite_reg(w, TYPE_B64, "%way"), way = rewrite_reg(w, TYPE_B64, "%way");
    put(w, w->setup, inst_build(w->body, "cvt.u64.u32", "dr", wide, rows));
    put(w, w->setup, inst_build(w->body, "mul.lo.s64", "drr", way, wide, place->stride));
    return way;
}

static RegId constant_rows(Rewrite *w, const FieldPlace *place, int64_t rows)
{
    RegId way = rewrite_reg(w, TYPE_B64, "%way");
    put(w, w->setup, inst_build(w->body, "mul.lo.s64", "dri", way, place->stride, rows));
    return way;
}

static void find_place(Rewrite *w, const Field *field, Slices *once, RegId one, FieldPlace *place)
{
    const Elsewhere first = {{w->zero, w->zero, REG_NONE, w->zero}}, second = {{w->zero, w->zero, REG_NONE, one}};
    RegId next = slices_value(once, &second, field->root), last = rewrite_reg(w, TYPE_B32, "%columns");
    place->base = slices_value(once, &first, field->root);
    place->stride = rewrite_reg(w, TYPE_B64, "%row");
    place->columns = rewrite_reg(w, TYPE_B32, "%columns");
    put(w, w->setup, inst_build(w->body, "sub.s64", "drr", place->stride, next, place->base));
    put(w, w->setup, inst_build(w->body, "cvt.u32.u64", "dr", last, w->inner_last));
    put(w, w->setup, inst_build(w->body, "mad.lo.u32", "drii", place->columns, last, (int64_t)field->step,
                                (int64_t)field->across * (w->s->block.threads[0] - 1) + field->span));
}

/* A value that the verifying loop passes from round to round. */
static RegId carry(Rewrite *w, RegId first, RegId next)
{
    Phi phi = {.dst = body_clone_reg(w->body, first)};
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->setup, first}));
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->verify, next}));
    VEC_PUSH(w->body->arena, w->verify->phis, phi);
    return phi.dst;
}

/* The address at which this thread's first line of the field should begin, in each round. */
static RegId expected_line(Rewrite *w, const Field *field, const FieldPlace *place)
{
    RegId first = place->base;
    if (field->across)
        first = add_wide(w, w->setup, first,
                         multiply_wide(w, rewrite_thread_index(w, INDEX_X), (int64_t)field->across * field->unit));
    if (field->across_y) {
        const RegId row = rewrite_multiple(w, rewrite_thread_index(w, INDEX_Y), field->across_y, w->zero);
        first = add_wide(w, w->setup, first, rows_of(w, place, row));
    }
    RegId next = body_clone_reg(w->body, first), now = carry(w, first, next);
    put(w, w->verify, inst_build(w->body, "add.s64", "drr", next, now, place->stride));
    return now;
}

/* Whether the line is as many rows after the field's first one as it should be, in round 0 and so in all; and others
 * are. */
static RegId verify_distance(Rewrite *w, Slices *once, const Tile *tile, const FieldPlace *place, RegId holds)
{
    const Elsewhere own = {{REG_NONE, REG_NONE, REG_NONE, w->zero}};
    RegId first = slices_value(once, &own, w->s->fields[tile->field].root);
    RegId begins = slices_value(once, &own, tile->members[0].root), both = rewrite_reg(w, TYPE_PRED, "%lines");
    RegId expected = add_wide(w, w->setup, first, constant_rows(w, place, tile->row));
    put(w, w->setup, inst_build(w->body, "setp.eq.and.s64", "drrr", both, begins, expected, holds));
    return both;
}

/* Whether the line begins there, and all before it did. */
static RegId verify_line(Rewrite *w, Slices *slices, const Tile *tile, const FieldPlace *place, RegId expected,
                         RegId holds)
{
    const Elsewhere own = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}};
    RegId begins = slices_value(slices, &own, tile->members[0].root), both = rewrite_reg(w, TYPE_PRED, "%lines");
    if (tile->row)
        expected = add_wide(w, w->verify, expected, constant_rows(w, place, tile->row));
    put(w, w->verify, inst_build(w->body, "setp.eq.and.s64", "drrr", both, begins, expected, holds));
    return both;
}

static RegId verify_guard(Rewrite *w, Slices *slices, const Guard *guard, RegId holds)
{
    const Elsewhere own = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}};
    RegId passes = slices_value(slices, &own, guard->predicate), both = rewrite_reg(w, TYPE_PRED, "%lines");
    put(w, w->verify, inst_build_conjunction(w->body, both, holds, passes, !guard->passes_if));
    return both;
}

/* The steps of the header's phis for one round. */
static RegId *find_steps(const Staging *s)
{
    const size_t count = s->loop->header->phis.count;
    RegId *steps = ARENA_ARRAY(s->scratch, RegId, count + 1);
    for (size_t p = 0; p < count; p++)
        steps[p] = s->inductions[p].is_found ? s->inductions[p].reg : REG_NONE;
    return steps;
}

static void verify_all(Rewrite *w, Slices *once, const FieldPlace *places, const RegId *steps)
{
    Staging *s = w->s;
    Slices *slices = slices_new(s, w->setup, w->verify, w->verify, steps, 1);
    RegId expected[FIELDS_MOST], all = rewrite_reg(w, TYPE_PRED, "%lines");
    RegId count = rewrite_reg(w, TYPE_B32, "%rounds"), next = rewrite_reg(w, TYPE_B32, "%round");
    RegId more = rewrite_reg(w, TYPE_PRED, "%more"), agreed = rewrite_reg(w, TYPE_PRED, "%together");
    RegId result = rewrite_reg(w, TYPE_PRED, "%lines");
    put(w, w->setup, inst_build(w->body, "mul.lo.u32", "dri", count, w->groups.groups, (int64_t)s->rounds));
    put(w, w->setup, inst_build(w->body, "setp.eq.u32", "drr", all, w->zero, w->zero));
    for (size_t i = 0; i < s->tiles.count; i++)
        if (s->tiles.data[i].is_fixed && s->tiles.data[i].row)
            all = verify_distance(w, once, &s->tiles.data[i], &places[s->tiles.data[i].field], all);
    const RegId round = carry(w, w->zero, next);
    RegId holds = carry(w, all, result);
    for (unsigned f = 0; f < s->field_count; f++)
        expected[f] = expected_line(w, &s->fields[f], &places[f]);
    for (size_t i = 0; i < s->tiles.count; i++) {
        const unsigned f = s->tiles.data[i].field;
        if (s->tiles.data[i].is_fixed && s->tiles.data[i].row)
            continue;
        holds = verify_line(w, slices, &s->tiles.data[i], &places[f], expected[f], holds);
    }
    for (unsigned g = 0; g < s->inner_guard_count; g++)
        holds = verify_guard(w, slices, &s->inner_guards[g], holds);
    put(w, w->verify, inst_build(w->body, "mov.pred", "dr", result, holds));
    put(w, w->verify, inst_build(w->body, "add.u32", "dri", next, round, (int64_t)1));
    put(w, w->verify, inst_build(w->body, "setp.lt.u32", "drr", more, next, count));
    put(w, w->verify, inst_build_branch(w->body, w->verify, more, false));
    block_add_pragma(w->body, w->verify, "nounroll");
    put(w, w->gate, inst_build(w->body, "bar.red.and.pred", "dir", agreed, (int64_t)0, result));
    put(w, w->gate, inst_build_branch(w->body, s->loop->header, agreed, true));
    for (size_t p = 0; p < s->loop->header->phis.count; p++) {
        Phi *phi = &s->loop->header->phis.data[p];
        VEC_PUSH(w->body->arena, phi->args, ((PhiArg){w->gate, loop_start(s->loop, phi)}));
    }
}

/* The threads as an array of rows, which load neighbouring elements of a row. */
typedef struct Grid {
    unsigned columns, rows;
    RegId column, row;
    RegId works; /* whether the thread is in it; REG_NONE: all are */
} Grid;

static Grid make_grid(Rewrite *w, const Field *field)
{
    Grid grid = {.columns = 1, .works = REG_NONE};
    while (2 * grid.columns <= w->s->threads && grid.columns < field->columns)
        grid.columns *= 2;
    grid.rows = w->s->threads / grid.columns;
    grid.column = rewrite_reg(w, TYPE_B32, "%column");
    grid.row = rewrite_reg(w, TYPE_B32, "%row");
    rewrite_once(w, inst_build(w->body, "and.b32", "dri", grid.column, w->number, (int64_t)grid.columns - 1));
    rewrite_once(w, inst_build(w->body, "shr.u32", "dri", grid.row, w->number,
                               (int64_t)__builtin_ctz(grid.columns)));
    if (grid.rows * grid.columns < w->s->threads) {
        grid.works = rewrite_reg(w, TYPE_PRED, "%inside");
        rewrite_once(w, inst_build(w->body, "setp.lt.u32", "dri", grid.works, grid.row, (int64_t)grid.rows));
    }
    return grid;
}

static RegId both_of(Rewrite *w, RegId a, RegId b)
{
    if (a == REG_NONE || b == REG_NONE)
        return a == REG_NONE ? b : a;
    RegId both = rewrite_reg(w, TYPE_PRED, "%inside");
    put(w, w->setup, inst_build(w->body, "and.pred", "drr", both, a, b));
    return both;
}

/* Whether column 'chunk' of the thread is one of the first 'count'; 'more' are allowed beyond. */
static RegId column_inside(Rewrite *w, const Grid *grid, unsigned chunk, RegId count, unsigned more)
{
    RegId column = rewrite_reg(w, TYPE_B32, "%column"), inside = rewrite_reg(w, TYPE_PRED, "%inside");
    put(w, w->setup, inst_build(w->body, "add.u32", "dri", column, grid->column,
                                (int64_t)chunk * grid->columns - more));
    put(w, w->setup, inst_build(w->body, "setp.lt.s32", "drr", inside, column, count));
    return inside;
}

/* A part of a field: rows of the grid, of which each thread loads one element. */
typedef struct Part {
    RegId value, address;
    int64_t from, to; /* bytes from the address, and from the thread's first element in shared memory */
    RegId real, inside;
} Part;

typedef VEC(Part) PartVec;

static void load_part(Rewrite *w, const Field *field, Part *part)
{
    const RegId like = operand_plain_reg(field->like, &field->like->operands[0]);
    const char *spelling = arena_printf(w->s->scratch, "ld.global.%s", type_name(field->type));
    RegId zero = REG_NONE;
    part->value = body_clone_reg(w->body, like);
    if (part->inside != part->real) {
        zero = body_clone_reg(w->body, like);
        put(w, w->top, inst_build(w->body, rewrite_move(w->body->regs.data[like].type), "di", zero, (int64_t)0));
    }
    Inst *load = inst_build(w->body, spelling, "da", part->value, part->address, part->from);
    put(w, w->top, load);
    if (part->real != REG_NONE)
        inst_guard(w->body, load, part->real, false, zero);
}

static void store_part(Rewrite *w, const Field *field, const Part *part, RegId place)
{
    Inst *store = shared_access(w, true, field->type, &part->value, 1, place, part->to);
    put(w, w->top, store);
    if (part->inside != REG_NONE)
        inst_set_guard(w->body, store, part->inside, false);
}

static void flush_parts(Rewrite *w, const Field *field, PartVec *parts, RegId place)
{
    for (size_t i = 0; i < parts->count; i++)
        load_part(w, field, &parts->data[i]);
    for (size_t i = 0; i < parts->count; i++)
        store_part(w, field, &parts->data[i], place);
    parts->count = 0;
}

/* The address of the thread's first element of the tile, which advances from tile to tile. */
static RegId tile_address(Rewrite *w, const Field *field, const FieldPlace *place, const Grid *grid)
{
    RegId first = add_wide(w, w->setup, place->base, rows_of(w, place, grid->row));
    first = add_wide(w, w->setup, first, multiply_wide(w, grid->column, field->unit));
    Phi phi = {.dst = body_clone_reg(w->body, first)};
    RegId next = body_clone_reg(w->body, first);
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->gate, first}));
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->tail, next}));
    VEC_PUSH(w->body->arena, w->top->phis, phi);
    put(w, w->tail, inst_build(w->body, "add.s64", "drr", next, phi.dst, constant_rows(w, place, w->s->rounds)));
    return phi.dst;
}

static RegId rows_inside(Rewrite *w, const Grid *grid, uint32_t rows)
{
    RegId inside = rewrite_reg(w, TYPE_PRED, "%inside");
    put(w, w->setup, inst_build(w->body, "setp.lt.u32", "dri", inside, grid->row, (int64_t)rows));
    return inside;
}

static void fill_field(Rewrite *w, const Field *field, const FieldPlace *place)
{
    const Grid grid = make_grid(w, field);
    const unsigned chunks = (unsigned)divide_up(field->columns, grid.columns);
    RegId *real = ARENA_ARRAY(w->s->scratch, RegId, chunks), *inside = ARENA_ARRAY(w->s->scratch, RegId, chunks);
    RegId address = tile_address(w, field, place, &grid), advance = constant_rows(w, place, grid.rows);
    RegId at = rewrite_multiple(w, grid.row, field->pitch * field->unit, w->base);
    at = rewrite_multiple(w, grid.column, field->unit, at);
    PartVec parts = {0};
    for (unsigned c = 0; c < chunks; c++) {
        real[c] = both_of(w, column_inside(w, &grid, c, place->columns, 0), grid.works);
        inside[c] = real[c];
        if (field->pad)
            inside[c] = both_of(w, column_inside(w, &grid, c, place->columns, field->pad), grid.works);
    }
    for (uint32_t r = 0; r < field->rows; r += grid.rows) {
        const RegId rows = r + grid.rows > field->rows ? rows_inside(w, &grid, field->rows - r) : REG_NONE;
        for (unsigned c = 0; c < chunks; c++) {
            Part part = {.address = address, .from = field->start + (int64_t)c * grid.columns * field->unit,
                         .to = field->offset + (int64_t)r * field->pitch * field->unit +
                               (int64_t)c * grid.columns * field->unit};
            part.real = both_of(w, real[c], rows);
            part.inside = inside[c] == real[c] ? part.real : both_of(w, inside[c], rows);
            VEC_PUSH(w->s->scratch, parts, part);
            if (parts.count == BATCH)
                flush_parts(w, field, &parts, at);
        }
        if (r + grid.rows < field->rows)
            address = add_wide(w, w->top, address, advance);
    }
    flush_parts(w, field, &parts, at);
}

void nest_test(Rewrite *w)
{
    Staging *s = w->s;
    RegId one = rewrite_reg(w, TYPE_B32, "%one");
    const RegId *steps = find_steps(s);
    rewrite_once(w, inst_build(w->body, "mov.u32", "di", one, (int64_t)1));
    Slices *once = slices_new(s, w->setup, w->setup, NULL, steps, 1);
    FieldPlace *places = w->fields = ARENA_ARRAY(s->scratch, FieldPlace, s->field_count);
    for (unsigned f = 0; f < s->field_count; f++)
        find_place(w, &s->fields[f], once, one, &places[f]);
    verify_all(w, once, places, steps);
}

void nest_fill(Rewrite *w)
{
    w->number = rewrite_thread_number(w);
    put(w, w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    for (unsigned f = 0; f < w->s->field_count; f++)
        fill_field(w, &w->s->fields[f], &w->fields[f]);
    put(w, w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
}

/* The value in the round of the inner loop, which begins with 'first'. */
static RegId inner_counter(Rewrite *w, RegId first, uint32_t step)
{
    Phi phi = {.dst = rewrite_reg(w, TYPE_B32, "%round")};
    RegId next = rewrite_reg(w, TYPE_B32, "%round");
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->reading_start, first}));
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->reading_end, next}));
    VEC_PUSH(w->body->arena, w->reading->phis, phi);
    inst_insert_before(w->reading_end->last, inst_build(w->body, "add.u32", "dri", next, phi.dst, (int64_t)step));
    return phi.dst;
}

static ReadAddress field_address(Rewrite *w, const Field *field)
{
    RegId first = w->base;
    if (field->across)
        first = rewrite_multiple(w, rewrite_thread_index(w, INDEX_X), field->across * field->unit, first);
    if (field->across_y)
        first = rewrite_multiple(w, rewrite_thread_index(w, INDEX_Y), field->across_y * field->pitch * field->unit,
                                 first);
    const RegId round = rewrite_counter(w, first, field->pitch * field->unit);
    return (ReadAddress){round, inner_counter(w, round, field->step * field->unit)};
}

/* The threads have verified that all rounds pass the guards. */
static void drop_guards(Rewrite *w)
{
    for (unsigned g = 0; g < w->s->inner_guard_count; g++) {
        const Guard *guard = &w->s->inner_guards[g];
        Block *copy = versions_block(&w->versions, w->s->body->blocks.data[guard->block->id]);
        if (guard->passes_if != copy->last->guard_inverted)
            copy->fall = copy->last->targets[0];
        inst_remove(copy->last);
    }
}

void nest_read(Rewrite *w)
{
    Staging *s = w->s;
    ReadAddress addresses[FIELDS_MOST];
    Inst **copies = ARENA_ARRAY(s->scratch, Inst *, s->tiles.count * MEMBERS_MOST);
    for (size_t i = 0; i < s->tiles.count; i++)
        for (unsigned m = 0; m < s->tiles.data[i].member_count; m++)
            copies[i * MEMBERS_MOST + m] = rewrite_copy_of(w, s->tiles.data[i].members[m].inst);
    for (unsigned f = 0; f < s->field_count; f++)
        addresses[f] = field_address(w, &s->fields[f]);
    for (size_t i = 0; i < s->tiles.count; i++) {
        Tile *tile = &s->tiles.data[i];
        const Field *field = &s->fields[tile->field];
        tile->offset = field->offset + tile->row * field->pitch * field->unit;
        rewrite_line(w, tile, &copies[i * MEMBERS_MOST], &addresses[tile->field]);
    }
    drop_guards(w);
}
