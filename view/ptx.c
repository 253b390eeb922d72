/* The rows of PTX, with the values that take registers in machine code as the register model of reports has them
 * (analysis/lowered/lowered.h), so that the curve is the pressure that reports print. */
#include "view/internal.h"

#include <ctype.h>
#include <string.h>

typedef struct Ptx {
    Arena *arena, *scratch;
    const ViewSource *source;
    const Body *body;
    const Lowered *lowered;
    ViewRow *rows;
    uint32_t count;
    PointerMap numbers;   /* by instruction: its row + 1 */
    BitSet lowered_rows;  /* that leave something in machine code */
    ValueRows *values;    /* by value */
    uint32_t *columns;    /* by value: its first one */
    uint32_t *lasts;      /* by value: the last row after which it is needed, + 1 */
    SassRanges *ranges;   /* its states are NULL while rows of values are found */
} Ptx;

static uint32_t row_of(const Ptx *ptx, const Inst *inst)
{
    const uintptr_t number = (uintptr_t)pointer_map_get(&ptx->numbers, inst);
    require(number);
    return (uint32_t)(number - 1);
}

/* The text of an instruction as it was written, on one line. */
static const char *source_text(const Ptx *ptx, const Inst *inst)
{
    Buf text = {0};
    if (inst->span.begin == inst->span.end)
        inst_print(inst, &ptx->body->regs, &text);
    for (size_t at = inst->span.begin; at < inst->span.end; at++) {
        const char c = ptx->source->module->source->text[at];
        const bool blank = isspace((unsigned char)c), after_blank = text.length && text.data[text.length - 1] == ' ';
        if (!blank || !after_blank)
            buf_putc(&text, blank ? ' ' : c);
    }
    return buf_take(ptx->arena, &text);
}

/* True if the instruction has a parameter, a constant or a special register as its only operand. */
static bool is_reload(const Inst *inst)
{
    Access access;
    if (inst_access(inst, &access))
        return access.kind == ACCESS_LOAD && (access.space == SPACE_PARAM || access.space == SPACE_CONST);
    const OperandKind kind = inst->operand_count == 2 ? inst->operands[1].kind : OPERAND_REG;
    return kind == OPERAND_SREG || kind == OPERAND_CONSTANT || kind == OPERAND_SYMBOL;
}

static ViewRemedy remedy_of(const Inst *inst)
{
    return !inst_is_plain(inst)         ? REMEDY_STORE
           : is_reload(inst)            ? REMEDY_RELOAD
           : inst->effects & EFFECT_PURE ? REMEDY_RECOMPUTE
                                        : REMEDY_STORE;
}

static void add_rows(Ptx *ptx, SassBlock *blocks)
{
    const Body *body = ptx->body;
    ptx->rows = ARENA_ARRAY(ptx->arena, ViewRow, body_inst_count(body) + 1);
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        VEC(uint32_t) successors = {0};
        FOR_EACH_SUCC(block, succ)
            VEC_PUSH(ptx->arena, successors, succ->id);
        blocks[b] = (SassBlock){.first = ptx->count, .callee = MACHINE_NONE};
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            ptx->rows[ptx->count] = (ViewRow){.text = source_text(ptx, inst),
                                              .block = (uint32_t)b,
                                              .target = MACHINE_NONE,
                                              .flow = inst_is_branch(inst) ? MACHINE_BRANCH : MACHINE_NEXT,
                                              .conditional = inst_is_guarded(inst),
                                              .remedy = remedy_of(inst),
                                              .loc = inst->loc};
            if (inst->span.begin < inst->span.end)
                ptx->rows[ptx->count].line = source_position(ptx->source->module->source, inst->span.begin).line;
            ptx->rows[ptx->count].address = ptx->rows[ptx->count].line;
            pointer_map_put(&ptx->numbers, inst, (const void *)(uintptr_t)++ptx->count);
        }
        blocks[b].count = ptx->count - blocks[b].first;
        blocks[b].successors = successors.data;
        blocks[b].successor_count = (uint32_t)successors.count;
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Inst *last = body->blocks.data[b]->last;
        if (last && inst_is_branch(last) && last->target_count == 1)
            ptx->rows[row_of(ptx, last)].target = blocks[last->targets[0]->id].first;
    }
}

/* Sets the files and the widths of all values, and their registers. */
static void set_widths(Ptx *ptx)
{
    const Body *body = ptx->body;
    ptx->values = ARENA_ARRAY(ptx->scratch, ValueRows, ptx->lowered->reg_count + 1);
    ptx->columns = ARENA_ARRAY(ptx->scratch, uint32_t, ptx->lowered->reg_count + 1);
    ptx->lasts = ARENA_ARRAY(ptx->scratch, uint32_t, ptx->lowered->reg_count + 1);
    for (uint32_t reg = 0; reg < ptx->lowered->reg_count; reg++) {
        const bool is_own = reg < body->regs.count;
        const uint32_t width = ptx->lowered->width[reg];
        const bool is_predicate = is_own && type_class(body->regs.data[reg].type) == CLASS_PRED;
        ptx->values[reg] = (ValueRows){.reg = is_own ? body->regs.data[reg].origin : reg,
                                       .file = width          ? FILE_GENERAL
                                               : is_predicate ? FILE_PREDICATE
                                                              : SASS_FILE_COUNT,
                                       .width = width ? width : is_predicate,
                                       .first = UINT32_MAX};
    }
}

static void note_row(Ptx *ptx, RegId reg, uint32_t row, SassState state)
{
    ValueRows *value = &ptx->values[reg];
    if (row < value->first) {
        value->first = row;
        value->is_new = false;
    }
    if (row > value->last)
        value->last = row;
    if (row == value->first && state != REGISTER_OCCUPIED)
        value->is_new = state == REGISTER_WRITTEN;
    if (state != REGISTER_READ && row + 1 > ptx->lasts[reg])
        ptx->lasts[reg] = row + 1;
}

static void draw_state(Ptx *ptx, RegId reg, uint32_t row, SassState state)
{
    const SassFile file = ptx->values[reg].file;
    uint8_t *states = ptx->ranges->states[file] + (size_t)row * ptx->ranges->counts[file] + ptx->columns[reg];
    for (uint32_t w = 0; w < ptx->values[reg].width; w++) {
        const SassState before = (SassState)states[w];
        if (before == REGISTER_FREE || before == REGISTER_OCCUPIED)
            states[w] = (uint8_t)state;
        else if (state != REGISTER_OCCUPIED && state != before)
            states[w] = REGISTER_BOTH;
    }
}

/* Takes down that a value has a state in a row. */
static void add_state(Ptx *ptx, RegId reg, uint32_t row, SassState state)
{
    if (ptx->values[reg].file == SASS_FILE_COUNT)
        return;
    if (ptx->ranges->states[FILE_GENERAL])
        draw_state(ptx, reg, row, state);
    else
        note_row(ptx, reg, row, state);
}

/* The values that are live at a place of a region, on the way from its end to its top. */
typedef struct LiveValues {
    RegSet set;
    uint32_t counts[SASS_FILE_COUNT]; /* registers */
} LiveValues;

static void add_live(const Ptx *ptx, LiveValues *live, RegId reg)
{
    const ValueRows *value = &ptx->values[reg];
    if (value->file != SASS_FILE_COUNT && regset_add(&live->set, reg))
        live->counts[value->file] += value->width;
}

static void remove_live(const Ptx *ptx, LiveValues *live, RegId reg)
{
    if (regset_remove(&live->set, reg))
        live->counts[ptx->values[reg].file] -= ptx->values[reg].width;
}

/* Counts the values as live in a row, and 'more' registers of the first file. */
static void count_live(const Ptx *ptx, const LiveValues *live, uint32_t row, uint32_t more)
{
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++) {
        const uint32_t count = live->counts[file] + (file == FILE_GENERAL ? more : 0);
        if (count > ptx->ranges->live[file][row])
            ptx->ranges->live[file][row] = (uint16_t)count;
    }
}

/* A row after which the values are live. */
static void add_live_row(Ptx *ptx, const LiveValues *live, uint32_t row, uint32_t more)
{
    for (uint32_t i = 0; i < live->set.count; i++)
        add_state(ptx, live->set.members[i], row, REGISTER_OCCUPIED);
    count_live(ptx, live, row, more);
}

/* True of the first row of a region. */
static bool is_top(const Ptx *ptx, uint32_t row)
{
    const uint32_t block = ptx->rows[row].block;
    return !ptx->lowered->blocks[block].merged && (!row || ptx->rows[row - 1].block != block);
}

/* The same for the rows from 'row' on that leave nothing in machine code, up to the next region. */
static void add_idle_rows(Ptx *ptx, const LiveValues *live, uint32_t row)
{
    for (uint32_t idle = row; idle < ptx->count && !bitset_has(&ptx->lowered_rows, idle); idle++) {
        if (idle > row && is_top(ptx, idle))
            return;
        add_live_row(ptx, live, idle, 0);
    }
}

static void add_inst(Ptx *ptx, LiveValues *live, const LoweredInst *inst, uint32_t row)
{
    uint32_t unread = 0;
    for (unsigned w = 0; w < inst->write_count; w++)
        unread += regset_has(&live->set, inst->writes[w]) ? 0 : ptx->lowered->width[inst->writes[w]];
    add_live_row(ptx, live, row, unread);
    for (unsigned w = 0; w < inst->write_count; w++) {
        add_state(ptx, inst->writes[w], row, REGISTER_WRITTEN);
        remove_live(ptx, live, inst->writes[w]);
    }
    for (unsigned r = 0; r < inst->read_count; r++) {
        add_state(ptx, inst->reads[r], row, REGISTER_READ);
        add_live(ptx, live, inst->reads[r]);
    }
}

/* Goes through the rows of a region, from its end. The model's own instructions, such as loads of addresses, belong to
 * the row of the next one. */
static void add_region(Ptx *ptx, LiveValues *live, const LoweredBlock *region, const SassBlock *blocks)
{
    const uint32_t top = blocks[region->block->id].first;
    uint32_t row = blocks[region->last->id].first + blocks[region->last->id].count;
    row -= row > top;
    regset_clear(&live->set);
    memset(live->counts, 0, sizeof live->counts);
    for (uint32_t i = 0; i < region->out_count; i++)
        add_live(ptx, live, region->out[i]);
    for (uint32_t i = region->count; i-- > 0;) {
        if (region->insts[i].inst) {
            row = row_of(ptx, region->insts[i].inst);
            if (row + 1 < ptx->count && !is_top(ptx, row + 1))
                add_idle_rows(ptx, live, row + 1);
        }
        add_inst(ptx, live, &region->insts[i], row);
    }
    if (blocks[region->block->id].count)
        add_idle_rows(ptx, live, top);
    if (region->count)
        count_live(ptx, live, row, 0);
}

static void add_states(Ptx *ptx, const SassBlock *blocks)
{
    LiveValues live = {.set = regset_new(ptx->scratch, ptx->lowered->reg_count + 1)};
    for (size_t b = 0; b < ptx->body->blocks.count; b++)
        if (!ptx->lowered->blocks[b].merged)
            add_region(ptx, &live, &ptx->lowered->blocks[b], blocks);
}

static const ViewLife *make_lives(const Ptx *ptx, uint32_t *count)
{
    VEC(ViewLife) lives = {0};
    for (uint32_t reg = 0; reg < ptx->lowered->reg_count; reg++) {
        const ValueRows *value = &ptx->values[reg];
        if (value->file == SASS_FILE_COUNT || value->first > value->last)
            continue;
        const char *name = reg < ptx->body->regs.count ? body_reg_name(ptx->body, reg) : NULL;
        VEC_PUSH(ptx->arena, lives,
                 ((ViewLife){name, value->file, ptx->columns[reg], value->width, value->first, value->last}));
    }
    *count = (uint32_t)lives.count;
    return lives.data;
}

/* Finds the states of all values, twice: first their rows, then, with columns, their states. */
static void make_ranges(Ptx *ptx, const SassBlock *blocks)
{
    SassRanges *ranges = ptx->ranges = ARENA_NEW(ptx->arena, SassRanges);
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++)
        ranges->live[file] = ARENA_ARRAY(ptx->arena, uint16_t, ptx->count + 1);
    ptx->lowered_rows = bitset_new(ptx->scratch, ptx->count + 1);
    for (size_t b = 0; b < ptx->body->blocks.count; b++)
        for (uint32_t i = 0; i < ptx->lowered->blocks[b].count; i++)
            if (ptx->lowered->blocks[b].insts[i].inst)
                bitset_add(&ptx->lowered_rows, row_of(ptx, ptx->lowered->blocks[b].insts[i].inst));
    add_states(ptx, blocks);
    for (size_t reg = 0; reg < ptx->lowered->reg_count; reg++)
        ptx->values[reg].ends = ptx->lasts[reg] <= ptx->values[reg].last;
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++) {
        ranges->counts[file] =
            view_assign_columns(ptx->values, ptx->lowered->reg_count, (SassFile)file, ptx->columns);
        ranges->states[file] = (uint8_t *)ARENA_ARRAY(ptx->arena, char, (size_t)ptx->count * ranges->counts[file] + 1);
    }
    add_states(ptx, blocks);
}

static void set_executions(const Ptx *ptx)
{
    const Profile *profile = ptx->source->profile;
    PointerMap counts = {.arena = ptx->scratch};
    for (size_t i = 0; profile && i < profile->instruction_count; i++)
        pointer_map_put(&counts, (const void *)(uintptr_t)(profile->instructions[i].span.begin + 1),
                        &profile->instructions[i]);
    for (size_t b = 0; profile && b < ptx->body->blocks.count; b++)
        for (const Inst *inst = ptx->body->blocks.data[b]->first; inst; inst = inst->next) {
            const InstProfile *found = pointer_map_get(&counts, (const void *)(uintptr_t)(inst->span.begin + 1));
            ptx->rows[row_of(ptx, inst)].executions = found ? found->warps : 0;
        }
}

static uint64_t shared_bytes(const Variable *variable)
{
    return variable->space == SPACE_SHARED ? variable_bytes(variable) : 0;
}

/* The shared variables of the kernel and of its module. */
static uint64_t count_shared(const Body *body)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < body->module->items.count; i++)
        if (body->module->items.data[i].kind == ITEM_VARIABLE)
            bytes += shared_bytes(body->module->items.data[i].variable);
    for (size_t i = 0; i < body->variables.count; i++)
        bytes += shared_bytes(body->variables.data[i]);
    return bytes;
}

ViewCode view_ptx_code(Arena *arena, const ViewSource *source, const char **error)
{
    Body *body = body_build(source->function, error);
    if (!body)
        return (ViewCode){0};
    *error = NULL;
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    Ptx ptx = {.arena = arena, .scratch = arena_new(), .source = source, .body = body};
    ptx.numbers.arena = ptx.scratch;
    ptx.lowered = lowered_compute(ptx.scratch, body, analyses_values(analyses),
                                  source->sm ? source->sm->loads_parameters : LOADS_NOWHERE, LOWERED_CLOSELY);
    SassBlock *blocks = ARENA_ARRAY(arena, SassBlock, body->blocks.count);
    ViewCode code = {.blocks = blocks, .block_count = (uint32_t)body->blocks.count};
    add_rows(&ptx, blocks);
    set_widths(&ptx);
    make_ranges(&ptx, blocks);
    set_executions(&ptx);
    code.rows = ptx.rows;
    code.count = ptx.count;
    code.ranges = ptx.ranges;
    code.registers = kernel_estimate(ptx.scratch, source->function, NULL, source->sm).registers;
    code.shared = count_shared(body);
    code.lives = make_lives(&ptx, &code.life_count);
    if (!code.count)
        *error = "the kernel has no instructions";
    arena_free(ptx.scratch);
    analyses_free(analyses);
    body_free(body);
    return code;
}
