/* The check pass: a coarsened kernel that is launched with the original's blocks does not run.
 *
 * Changes the body's tuning, or adds blocks before its entry and after its end. The last of the passes.
 *
 * Launches that are not adapted (runtime/) have blocks that are larger by the factor. If the block size is known,
 * .reqntid makes the driver refuse them; otherwise .maxntid refuses those larger than any block can become. Either also
 * tells the assembler how many threads share the registers. If fewer blocks then fit on an SM, of those that it gets,
 * and the kernel is not predicted to be as fast, the kernel checks %ntid itself instead, before anything else, and ends
 * with a message: three instructions, across which no register is live. */
#include "opt/coarsen/internal.h"
#include "opt/common/ends.h"
#include "opt/passes.h"

#include <string.h>

/* That machine code with a call uses at least: on no architecture do fewer let more warps fit. */
enum { REGISTERS_OF_CALLS = 24 };

/* How many of the blocks that an SM gets run at once. */
static unsigned blocks_at_once(const PassContext *context, const Figures *figures)
{
    const LaunchChange change = contract_change(&context->contract);
    const unsigned fit = pass_blocks_on_sm(context, figures, 0);
    const unsigned launched = context->launch_blocks * merged_count(change.spread);
    return launched && launched < fit ? launched : fit;
}

/* True if the form costs what counts. Without an assembler, it is taken not to. */
static bool costs(const PassContext *context, const FunctionForm *form)
{
    const FunctionForm now = pass_form(context, context->body);
    Figures with = {0}, without = {0};
    if (!context->judge || !context->sm)
        return false;
    context->judge->measure(context->judge->context, form, &with);
    context->judge->measure(context->judge->context, &now, &without);
    if (!with.known || !without.known)
        return without.known;
    unsigned fewest = without.registers;
    if (fewest < REGISTERS_OF_CALLS)
        fewest = REGISTERS_OF_CALLS;
    bool fits_less = with.registers > fewest;
    if (block_size_total(&context->block))
        fits_less = blocks_at_once(context, &with) < blocks_at_once(context, &without);
    return figures_spills(&with) > figures_spills(&without) || with.stack > without.stack ||
           (fits_less && pass_is_slower(context, form, &with, &now, &without));
}

/* That a block can have after coarsening. */
static unsigned most_threads(const LaunchContract *contract)
{
    const LaunchChange change = contract_change(contract);
    const unsigned grown = merged_count(change.grown), factor = merged_count(change.block);
    return factor > grown ? BLOCK_MOST_THREADS * grown / factor : BLOCK_MOST_THREADS;
}

/* Threads of the block along a dimension, where the original's is known. */
static unsigned kept_threads(const LaunchContract *contract, unsigned dimension)
{
    const LaunchChange change = contract_change(contract);
    return (unsigned)launch_change_block(&change, dimension, contract->block[dimension]);
}

/* True if the tuning has, or now gets, a directive by which the driver refuses launches. */
static bool declare(PassContext *context)
{
    const LaunchContract *contract = &context->contract;
    Tuning declared = context->body->tuning;
    FunctionForm form = pass_form(context, context->body);
    form.tuning = &declared;
    if (declared.reqntid_count || (!contract->block[0] && declared.maxntid_count))
        return true;
    if (contract->block[0]) {
        for (unsigned d = 0; d < 3; d++)
            declared.reqntid[d] = kept_threads(contract, d);
        declared.reqntid_count = declared.reqntid[2] > 1 ? 3 : declared.reqntid[1] > 1 ? 2 : 1;
        declared.maxntid_count = 0;
    } else {
        declared.maxntid[0] = most_threads(contract);
        declared.maxntid_count = 1;
    }
    if (costs(context, &form))
        return false;
    context->body->tuning = declared;
    return true;
}

/* The address of a text in global memory, as the device's functions take it. */
static RegId put_text(Body *body, Block *block, const char *name, const char *text)
{
    Arena *arena = body->module->arena;
    size_t length = strlen(text) + 1;
    uint64_t *numbers = ARENA_ARRAY(arena, uint64_t, length);
    for (size_t i = 0; i < length; i++)
        numbers[i] = (unsigned char)text[i];
    Variable *variable = body_add_array(body, name, SPACE_GLOBAL, length, 1);
    variable->inits = ARENA_ARRAY(arena, Init, 3);
    variable->init_count = 3;
    variable->inits[0].kind = INIT_OPEN;
    variable->inits[1] = (Init){.kind = INIT_NUMBERS, .numbers = numbers, .number_count = (unsigned)length};
    variable->inits[2].kind = INIT_CLOSE;
    const Name base = intern(body->module->names, "%check");
    RegId place = body_add_reg(body, TYPE_B64, base), address = body_add_reg(body, TYPE_B64, base);
    inst_append(block, inst_build(body, "mov.u64", "dv", place, variable));
    inst_append(block, inst_build(body, "cvta.global.u64", "dr", address, place));
    return address;
}

/* void __assertfail(message, file, line, function, bytes of a character), as CUDA's headers declare it. NULL: the
 * module has another function of that name, or declares it too late. */
static Function *assertion(Body *body)
{
    static const Type types[] = {TYPE_B64, TYPE_B64, TYPE_B32, TYPE_B64, TYPE_B64};
    Module *module = body->module;
    Arena *arena = module->arena;
    Function *function = module_find_function(module, "__assertfail");
    if (function) {
        bool fits = !function->is_entry && function->prototype.param_count == COUNT_OF(types) &&
                    function->span.begin < body->function->span.begin;
        return fits ? function : NULL;
    }
    function = ARENA_NEW(arena, Function);
    function->module = module;
    function->name = intern(module->names, "__assertfail");
    function->linkage = LINKAGE_EXTERN;
    function->prototype.param_count = COUNT_OF(types);
    function->prototype.params = ARENA_ARRAY(arena, Variable *, COUNT_OF(types));
    function->prototype.abi_preserve = function->prototype.abi_preserve_control = -1;
    for (unsigned i = 0; i < COUNT_OF(types); i++) {
        Variable *parameter = ARENA_NEW(arena, Variable);
        *parameter = (Variable){
            .name = intern(module->names, arena_printf(arena, "parameter_%u", i)),
            .space = SPACE_PARAM,
            .type = types[i],
            .vector = 1,
            .is_parameter = true,
            .function = function,
            .const_bank = -1,
        };
        function->prototype.params[i] = parameter;
    }
    VEC_PUSH(body->arena, body->declared, function);
    return function;
}

static RegId put_constant(Body *body, Block *block, Type type, int64_t value)
{
    RegId reg = body_add_reg(body, type, intern(body->module->names, "%check"));
    inst_append(block, inst_build(body, type == TYPE_B64 ? "mov.u64" : "mov.u32", "di", reg, value));
    return reg;
}

/* A special register's value, joined with those before it (REG_NONE: there are none). */
static RegId put_joined(Body *body, Block *block, const char *opcode, RegId before, const char *name)
{
    Name base = intern(body->module->names, "%check");
    RegId value = body_add_reg(body, TYPE_B32, base);
    inst_append(block, inst_build(body, "mov.u32", "ds", value, name));
    if (before == REG_NONE)
        return value;
    RegId joined = body_add_reg(body, TYPE_B32, base);
    inst_append(block, inst_build(body, opcode, "drr", joined, before, value));
    return joined;
}

/* A predicate that is true if the block has the wrong size, by the dimension that tells, or by all. */
static RegId put_condition(Body *body, Block *entry, const LaunchContract *contract)
{
    static const char *const names[] = {"%ntid.x", "%ntid.y", "%ntid.z"};
    Name base = intern(body->module->names, "%check");
    RegId wrong = body_add_reg(body, TYPE_PRED, base), threads = REG_NONE;
    unsigned d = 0;
    while (d < 2 && kept_threads(contract, d) == contract->block[d])
        d++;
    if (contract->block[d]) {
        threads = put_joined(body, entry, NULL, REG_NONE, names[d]);
        inst_append(entry, inst_build(body, "setp.ne.u32", "dri", wrong, threads,
                                      (int64_t)kept_threads(contract, d)));
        return wrong;
    }
    for (d = 0; d < 3; d++)
        threads = put_joined(body, entry, "mul.lo.u32", threads, names[d]);
    inst_append(entry, inst_build(body, "setp.gt.u32", "dri", wrong, threads,
                                  (int64_t)most_threads(contract)));
    return wrong;
}

/* A predicate that is true except in the first thread of the grid. */
static RegId put_is_other(Body *body, Block *block)
{
    static const char *const names[] = {"%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"};
    Name base = intern(body->module->names, "%check");
    RegId any = REG_NONE, other = body_add_reg(body, TYPE_PRED, base);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        any = put_joined(body, block, "or.b32", any, names[i]);
    inst_append(block, inst_build(body, "setp.ne.u32", "dri", other, any, (int64_t)0));
    return other;
}

static const char *message(Arena *arena, const LaunchContract *contract)
{
    const unsigned *block = contract->block;
    if (block[0])
        return arena_printf(arena, "launched by its launch contract, with blocks of %u,%u,%u threads and not %u,%u,%u",
                            kept_threads(contract, 0), kept_threads(contract, 1), kept_threads(contract, 2), block[0],
                            block[1], block[2]);
    return arena_printf(arena, "launched by its launch contract, with blocks of at most %u thread%s",
                        most_threads(contract), plural(most_threads(contract)));
}

/* All threads exit, but the first, which fails the assertion. */
static bool add_check(PassContext *context)
{
    Body *body = body_clone(context->body);
    Function *callee = assertion(body);
    if (!callee || body->module->address_size != 64) {
        body_free(body);
        return false;
    }
    Block *entry = body_add_entry(body), *wrong = body_add_block(body, NULL), *first = body_add_block(body, NULL),
          *last = body_add_block(body, NULL);
    wrong->is_cold = wrong->is_never = true;
    wrong->fall = first;
    first->fall = last;
    RegId is_wrong = put_condition(body, entry, &context->contract), is_other = put_is_other(body, wrong);
    inst_append(entry, inst_build_branch(body, wrong, is_wrong, false));
    inst_append(wrong, inst_build_branch(body, last, is_other, false));
    const RegId arguments[] = {
        put_text(body, first, "check_message", message(context->arena, &context->contract)),
        put_text(body, first, "check_file", "ptxopt"),
        put_constant(body, first, TYPE_B32, 0),
        put_text(body, first, "check_kernel", body->function->name),
        put_constant(body, first, TYPE_B64, 1),
    };
    inst_append(first, inst_build_call(body, callee, arguments, COUNT_OF(arguments)));
    inst_append(last, inst_build(body, "ret", ""));
    body_renumber(body);
    body_update_preds(body);
    FunctionForm form = pass_form(context, body);
    if (costs(context, &form)) {
        body_free(body);
        return false;
    }
    pass_set_body(context, body);
    return true;
}

/* The effect of the tuning's directive. */
static Unadapted directive_effect(const Tuning *tuning)
{
    unsigned most = 1;
    if (tuning->reqntid_count)
        return (Unadapted){.effect = UNADAPTED_REFUSED};
    for (unsigned d = 0; d < tuning->maxntid_count; d++)
        most *= tuning->maxntid[d];
    return (Unadapted){UNADAPTED_LARGER_REFUSED, most};
}

/* True if the block of a launch says whether it has been adapted: blocks that have grown and are divided may end up
 * with as many threads as before, and of a block of unknown size only a bound can be checked. */
static bool block_tells(const LaunchContract *contract)
{
    bool tells = !contract->block[0] && most_threads(contract) < BLOCK_MOST_THREADS;
    for (unsigned d = 0; d < 3 && contract->block[0]; d++)
        tells |= kept_threads(contract, d) != contract->block[d];
    return tells;
}

bool pass_check(PassContext *context)
{
    if (!block_tells(&context->contract))
        return false;
    const Tuning before = context->body->tuning;
    /* A block of unknown size that is not smaller than the original's tells nothing. */
    if (!context->contract.block[0] && most_threads(&context->contract) == BLOCK_MOST_THREADS)
        return false;
    if (declare(context)) {
        context->unadapted = directive_effect(&context->body->tuning);
        return memcmp(&before, &context->body->tuning, sizeof before) != 0;
    }
    if (!add_check(context))
        return false;
    const LaunchContract *contract = &context->contract;
    context->unadapted = contract->block[0]
                             ? (Unadapted){.effect = UNADAPTED_STOPPED}
                             : (Unadapted){UNADAPTED_LARGER_STOPPED, most_threads(contract)};
    return true;
}
