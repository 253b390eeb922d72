/* The launch contract: its symbol in the module, and its conditions in words. */
#include "opt/coarsen/coarsen.h"

#include <string.h>

enum { CONTRACT_MAGIC = 0x50584f50, CONTRACT_WORDS = 16, CONSTANT_MEMORY = 65536 };

/* Programs that know only the first format must not launch what needs the second, nor those that know only these what
 * needs the third. */
enum { FORMAT_BLOCK = 1, FORMAT_GRID = 2, FORMAT_GROWN = 3 };
enum { TIMES_SHIFT = 16, DIVISOR_MASK = 0xffff }; /* of words for the block and the grid, in the third format */

/* The limits of a block, on every architecture (CUDA Programming Guide, "Compute Capabilities"). */
enum { MOST_ALONG_Z = 64 };
/* Those of a grid along x, and along y and z. */
enum { MOST_BLOCKS = INT32_MAX, MOST_OTHER_BLOCKS = 65535 };

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* The numbers of which 'grown' times is a multiple of 'unit' are the multiples of this. */
static uint64_t unit_before(uint64_t unit, uint64_t grown)
{
    return unit / greatest_common_divisor(unit, grown);
}

/* The shape without ones left out, in which blocks with more threads in place of one have grown, too. */
static Shape shape_of(const LaunchContract *contract)
{
    Shape shape = shape_complete(&contract->shape);
    for (unsigned d = 0; d < 3; d++)
        shape.grown[d] *= shape.refined[d] / shape.spread[d];
    return shape;
}

bool contract_changes_grid(const LaunchContract *contract)
{
    return contract->dynamic_factor > 1 || merges_any(contract->shape.grown) || merges_any(contract->shape.spread) ||
           (contract->shrinks_grid && merges_any(contract->shape.blocks));
}

LaunchChange contract_change(const LaunchContract *contract)
{
    LaunchChange change = {.shared_factor = contract->dynamic_factor};
    change.shared_unit = contract->dynamic_factor > 1 ? CONTRACT_SHARED_UNIT : 0;
    const Shape shape = shape_of(contract);
    for (unsigned d = 0; d < 3; d++) {
        const bool is_refined = shape.refined[d] > 1;
        change.grown[d] = shape.grown[d];
        change.spread[d] = shape.spread[d];
        change.block[d] = shape.threads[d];
        change.grid[d] = (is_refined ? 1 : shape.grown[d]) * (contract->shrinks_grid ? shape.blocks[d] : 1);
        change.merged[d] = !contract->shrinks_grid && contract->stride.kind == STRIDE_UNIT ? shape.blocks[d] : 1;
    }
    return change;
}

bool contract_changes_block(const LaunchContract *contract)
{
    const LaunchChange change = contract_change(contract);
    return merges_any(change.block) || merges_any(change.grown);
}

bool contract_changes_launch(const LaunchContract *contract)
{
    return contract_changes_grid(contract) || contract_changes_block(contract);
}

Name contract_symbol_name(Module *module, Name kernel)
{
    Buf name = {0};
    buf_printf(&name, "__ptxopt_launch_%s", kernel);
    Name symbol = intern(module->names, buf_text(&name));
    buf_free(&name);
    return symbol;
}

/* A divisor, of the block or the grid, and in the third format what multiplies it before that. */
static uint32_t divisor_word(unsigned divisor, unsigned times, bool has_times)
{
    return divisor | (has_times ? times << TIMES_SHIFT : 0);
}

/* Constant memory while it has room for one more contract; a module that fills it must still assemble. */
static Space contract_space(const Module *module)
{
    uint64_t used = 0;
    for (size_t i = 0; i < module->items.count; i++) {
        const Variable *variable = module->items.data[i].variable;
        if (module->items.data[i].kind != ITEM_VARIABLE || variable->space != SPACE_CONST)
            continue;
        uint64_t align = variable->align ? variable->align : type_bits(variable->type) / 8 * variable->vector;
        uint64_t bytes = variable_bytes(variable);
        if (bytes > CONSTANT_MEMORY || align > CONSTANT_MEMORY)
            return SPACE_GLOBAL;
        used += bytes + (align ? (align - used % align) % align : 0);
        if (used > CONSTANT_MEMORY - CONTRACT_WORDS * sizeof(uint32_t))
            return SPACE_GLOBAL;
    }
    return SPACE_CONST;
}

Variable *contract_symbol(Module *module, const LaunchContract *contract)
{
    Name name = contract_symbol_name(module, contract->kernel);
    const LaunchChange change = contract_change(contract);
    const bool is_grown = merges_any(change.grown) || merges_any(change.spread);
    const bool is_grid = contract_changes_grid(contract) || is_grown;
    const uint32_t words[CONTRACT_WORDS] = {
        CONTRACT_MAGIC,
        is_grown  ? FORMAT_GROWN
        : is_grid ? FORMAT_GRID
                  : FORMAT_BLOCK,
        is_grid ? contract->dynamic_factor : 0,
        divisor_word(change.block[0], change.grown[0], is_grown),
        divisor_word(change.block[1], change.grown[1], is_grown),
        divisor_word(change.block[2], change.grown[2], is_grown),
        contract->stride.kind,
        contract->stride.number,
        contract->whole_warps,
        contract->stride_unit,
        contract->block[0],
        contract->block[1],
        contract->block[2],
        is_grid ? divisor_word(change.grid[0], change.spread[0], is_grown) : 0,
        is_grid ? divisor_word(change.grid[1], change.spread[1], is_grown) : 0,
        is_grid ? divisor_word(change.grid[2], change.spread[2], is_grown) : 0,
    };
    Variable *variable = ARENA_NEW(module->arena, Variable);
    variable->name = name;
    variable->space = contract_space(module);
    variable->linkage = LINKAGE_VISIBLE;
    variable->type = TYPE_U32;
    variable->vector = 1;
    variable->align = 4;
    variable->is_array = true;
    variable->dims = ARENA_ARRAY(module->arena, uint64_t, 1);
    variable->dims[0] = CONTRACT_WORDS;
    variable->dim_count = 1;
    variable->const_bank = -1;
    variable->init_count = CONTRACT_WORDS + 2;
    variable->inits = ARENA_ARRAY(module->arena, Init, variable->init_count);
    variable->inits[0].kind = INIT_OPEN;
    for (unsigned i = 0; i < CONTRACT_WORDS; i++) {
        Init *init = &variable->inits[i + 1];
        init->kind = INIT_CONSTANT;
        init->constant = (Constant){.kind = CONSTANT_INT, .bits = words[i]};
    }
    variable->inits[CONTRACT_WORDS + 1].kind = INIT_CLOSE;
    return variable;
}

void contract_add_symbol(Module *module, Variable *symbol)
{
    Item item = {.kind = ITEM_VARIABLE, .variable = symbol};
    VEC_PUSH(module->arena, module->items, item);
}

void contract_remove_symbol(Module *module, const Variable *symbol)
{
    size_t kept = 0;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind != ITEM_VARIABLE || module->items.data[i].variable != symbol)
            module->items.data[kept++] = module->items.data[i];
    module->items.count = kept;
}

static LaunchCondition multiple_of(LaunchFigure figure, unsigned axis, uint64_t number)
{
    return (LaunchCondition){.figure = figure, .axis = axis, .number = number};
}

static LaunchCondition at_most(LaunchFigure figure, unsigned axis, uint64_t number)
{
    return (LaunchCondition){.figure = figure, .axis = axis, .is_limit = true, .number = number};
}

static LaunchCondition exactly(unsigned axis, uint64_t number)
{
    return (LaunchCondition){.figure = LAUNCH_BLOCK_ALONG, .axis = axis, .is_exact = true, .number = number};
}

/* The multiple that the original's threads up to the axis are of a number of threads of the form's block. */
static uint64_t unit_up_to(const Shape *shape, unsigned axis, uint64_t unit)
{
    uint64_t grown = 1;
    for (unsigned d = 0; d <= axis; d++) {
        unit *= shape->threads[d];
        grown *= shape->grown[d];
    }
    return unit_before(unit, grown);
}

/* The most threads that the original's block can have: all of them, or those along z. */
static uint64_t most_of_all(const Shape *shape)
{
    return (uint64_t)BLOCK_MOST_THREADS * merged_count(shape->threads) / merged_count(shape->grown);
}

static uint64_t most_along_z(const Shape *shape)
{
    return (uint64_t)MOST_ALONG_Z * shape->threads[2] / shape->grown[2];
}

/* The most blocks that the original's grid can have where it is multiplied. */
static uint64_t most_blocks(const LaunchChange *change, unsigned axis)
{
    return (axis ? MOST_OTHER_BLOCKS : MOST_BLOCKS) / change->spread[axis];
}

/* Those on the block. */
static unsigned block_conditions(const LaunchContract *contract, LaunchCondition *out)
{
    const Shape shape = shape_of(contract);
    const unsigned *factor = shape.threads, *grown = shape.grown, *block = contract->block;
    unsigned count = 0, lowest = 3;
    if (!merges_any(factor) && !merges_any(grown) && !merges_any(shape.spread))
        return 0;
    if (block[0] && block[1] && block[2]) {
        out[0] = (LaunchCondition){
            .figure = LAUNCH_BLOCK, .is_exact = true, .block = {block[0], block[1], block[2]}};
        return 1;
    }
    for (unsigned d = 0; d < 3; d++) {
        if (factor[d] == 1 && shape.spread[d] == 1)
            continue;
        if (lowest == 3)
            lowest = d;
        if (d == 0 && contract->whole_warps)
            continue; /* the condition on warps says more */
        const uint64_t unit = unit_before((uint64_t)factor[d] * contract->stride_unit, grown[d]);
        if (block[d])
            out[count++] = exactly(d, block[d]);
        else if (unit > 1)
            out[count++] = multiple_of(LAUNCH_BLOCK_ALONG, d, unit);
    }
    /* With the conditions above it holds for the dimensions after the lowest as well. */
    if (contract->whole_warps && lowest < 3)
        out[count++] = multiple_of(LAUNCH_BLOCK_UP_TO, lowest, unit_up_to(&shape, lowest, 32));
    if (merged_count(grown) > merged_count(factor))
        out[count++] = at_most(LAUNCH_BLOCK_UP_TO, 2, most_of_all(&shape));
    if (grown[2] > factor[2])
        out[count++] = at_most(LAUNCH_BLOCK_ALONG, 2, most_along_z(&shape));
    return count;
}

unsigned contract_conditions(const LaunchContract *contract, LaunchCondition out[CONTRACT_CONDITIONS])
{
    const LaunchChange change = contract_change(contract);
    unsigned count = block_conditions(contract, out);
    for (unsigned d = 0; d < 3; d++) {
        if (change.grid[d] > 1)
            out[count++] = multiple_of(LAUNCH_GRID_ALONG, d, change.grid[d]);
        if (change.spread[d] > 1)
            out[count++] = at_most(LAUNCH_GRID_ALONG, d, most_blocks(&change, d));
    }
    return count;
}

/* The words of the symbol's initializer, which compilers write as bytes. False if it has more, or anything but
 * numbers. */
static bool contract_words(const Variable *variable, uint32_t words[CONTRACT_WORDS])
{
    const bool is_bytes = type_bits(variable->type) == 8;
    unsigned count = 0, most = is_bytes ? 4 * CONTRACT_WORDS : CONTRACT_WORDS;
    memset(words, 0, CONTRACT_WORDS * sizeof *words);
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (init->kind == INIT_OPEN || init->kind == INIT_CLOSE)
            continue;
        bool is_run = init->kind == INIT_NUMBERS;
        unsigned more = is_run ? init->number_count : 1;
        if ((!is_run && init->kind != INIT_CONSTANT) || more > most - count)
            return false;
        for (unsigned k = 0; k < more; k++, count++) {
            uint32_t number = (uint32_t)(is_run ? init->numbers[k] : init->constant.bits);
            words[is_bytes ? count / 4 : count] |= is_bytes ? (number & 0xff) << count % 4 * 8 : number;
        }
    }
    return true;
}

static ContractState contract_read(const Module *module, const char *kernel, const Variable *variable,
                                   LaunchContract *contract)
{
    uint32_t words[CONTRACT_WORDS];
    if (!contract_words(variable, words) || words[0] != CONTRACT_MAGIC)
        return CONTRACT_OTHER_SYMBOL;
    const bool is_grown = words[1] == FORMAT_GROWN, is_grid = words[1] == FORMAT_GRID || is_grown;
    if (!is_grid && (words[1] != FORMAT_BLOCK || words[2] != 0))
        return CONTRACT_FORMAT;
    const Function *function = module_find_function(module, kernel);
    *contract = (LaunchContract){
        .kernel = function ? function->name : NULL,
        .shrinks_grid = is_grid,
        .stride = {(StrideKind)words[6], words[7]},
        .whole_warps = words[8] != 0,
        .stride_unit = words[9] ? words[9] : 1,
        .block = {words[10], words[11], words[12]},
        .dynamic_factor = is_grid ? words[2] : 1,
    };
    for (unsigned d = 0; d < 3; d++) {
        const uint32_t block_word = words[3 + d], grid_word = is_grid ? words[13 + d] : 1;
        const unsigned times = is_grown ? block_word >> TIMES_SHIFT : 1;
        const unsigned spread = is_grown ? grid_word >> TIMES_SHIFT : 1;
        const unsigned grid = is_grown ? grid_word & DIVISOR_MASK : grid_word;
        /* The grid of larger blocks is divided by what the block is multiplied by. */
        const unsigned grown = grid > 1 ? times : 1;
        contract->shape.threads[d] = is_grown ? block_word & DIVISOR_MASK : block_word;
        contract->shape.grown[d] = grown;
        contract->shape.refined[d] = (grid > 1 ? 1 : times) * spread;
        contract->shape.spread[d] = spread;
        if (!contract->shape.threads[d] || !times || !spread || !grid || !contract->dynamic_factor)
            return CONTRACT_ZERO;
        if (grid % grown || (grid > 1 && spread > 1))
            return CONTRACT_OTHER_SYMBOL;
        contract->shape.blocks[d] = grid / grown;
    }
    return CONTRACT_FOUND;
}

ContractState contract_find(const Module *module, const char *kernel, LaunchContract *contract)
{
    Arena *scratch = arena_new();
    const Variable *variable =
        module_find_variable(module, arena_printf(scratch, "__ptxopt_launch_%s", kernel));
    arena_free(scratch);
    return variable ? contract_read(module, kernel, variable, contract) : CONTRACT_NONE;
}

static bool fails(LaunchUnmet *unmet, LaunchCondition condition, uint64_t found)
{
    *unmet = (LaunchUnmet){condition, found};
    return false;
}

bool contract_is_met(const LaunchContract *contract, const unsigned block[3], const unsigned grid[3],
                     LaunchUnmet *unmet)
{
    const LaunchChange change = contract_change(contract);
    const Shape shape = shape_of(contract);
    uint64_t kept = 1, all = 1;
    for (unsigned d = 0; d < 3; d++) {
        const uint64_t size = block[d] ? block[d] : 1, blocks = grid && grid[d] ? grid[d] : 1;
        const uint64_t unit = unit_before((uint64_t)change.block[d] * contract->stride_unit, shape.grown[d]);
        kept *= divide_up(size * shape.grown[d], change.block[d]);
        all *= size;
        if (grid && blocks % change.grid[d])
            return fails(unmet, multiple_of(LAUNCH_GRID_ALONG, d, change.grid[d]), blocks);
        if (grid && change.spread[d] > 1 && blocks > most_blocks(&change, d))
            return fails(unmet, at_most(LAUNCH_GRID_ALONG, d, most_blocks(&change, d)), blocks);
        if (contract->block[d] && size != contract->block[d])
            return fails(unmet, exactly(d, contract->block[d]), size);
        if (change.block[d] == 1 && change.spread[d] == 1)
            continue;
        if (!contract->block[d] && size % unit)
            return fails(unmet, multiple_of(LAUNCH_BLOCK_ALONG, d, unit), size);
        if (contract->whole_warps && kept % 32)
            return fails(unmet, multiple_of(LAUNCH_BLOCK_UP_TO, d, unit_up_to(&shape, d, 32)), all);
    }
    if (!merges_any(shape.grown))
        return true;
    if (kept > BLOCK_MOST_THREADS)
        return fails(unmet, at_most(LAUNCH_BLOCK_UP_TO, 2, most_of_all(&shape)), all);
    const uint64_t along_z = block[2] ? block[2] : 1;
    if (divide_up(along_z * shape.grown[2], shape.threads[2]) > MOST_ALONG_Z)
        return fails(unmet, at_most(LAUNCH_BLOCK_ALONG, 2, most_along_z(&shape)), along_z);
    return true;
}
