/* The functions that a kernel may reach, and the layout of their frames. */
#include "emulator/decode/decode.h"

#define LOCAL_GAP 64 /* bytes between two arrays of a frame */

/* The bytes of a variable in a frame. A predicate, which only calls can pass, has one byte. */
static uint64_t frame_bytes(const Variable *variable)
{
    return variable->type == TYPE_PRED ? 1 : variable_bytes(variable);
}

static uint64_t local_place(Emulator *emulator, Code *code, const Variable *variable)
{
    /* A gap between arrays keeps an access that leaves one from reaching the next. */
    uint64_t gap = variable->space == SPACE_LOCAL && code->local_bytes ? LOCAL_GAP : 0;
    uint64_t at = align_up(code->local_bytes + gap, variable_align(variable));
    map_put(&code->locals, pointer_key(variable), at);
    code->local_bytes = at + frame_bytes(variable);
    LocalPlace place = {at, frame_bytes(variable)};
    VEC_PUSH(emulator->arena, code->local_places, place);
    return at;
}

/* Records the owner of each byte of the frame's local memory. */
static void local_owners(Emulator *emulator, Code *code)
{
    code->local_owner = emulator_alloc(emulator, (size_t)code->local_bytes, 1);
    for (size_t i = 0; i < code->local_places.count; i++)
        memset(code->local_owner + code->local_places.data[i].offset, (int)(i % 255 + 1),
               (size_t)code->local_places.data[i].bytes);
    /* The area of alloca has one owner. */
    if (code->stack_row != NO_ROW)
        memset(code->local_owner + code->local_bytes - STACK_BYTES, (int)(code->local_places.count % 255 + 1),
               STACK_BYTES);
}

static void formals_place(Emulator *emulator, Code *code, Variable *const *variables, unsigned count, uint64_t **places,
                          uint64_t **sizes)
{
    *places = ARENA_ARRAY(emulator->arena, uint64_t, count);
    *sizes = ARENA_ARRAY(emulator->arena, uint64_t, count);
    for (unsigned i = 0; i < count; i++) {
        (*places)[i] = local_place(emulator, code, variables[i]);
        (*sizes)[i] = frame_bytes(variables[i]);
    }
}

static bool moves_stack(const Body *body)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (inst->effects & EFFECT_STACK)
                return true;
    return false;
}

static void frame_layout(Emulator *emulator, Code *code)
{
    const Body *body = code->body;
    const Prototype *prototype = &code->function->prototype;
    code->registers = ARENA_ARRAY(emulator->arena, uint32_t, body->regs.count);
    for (size_t i = 0; i < body->regs.count; i++) {
        unsigned bytes = type_row_bytes(body->regs.data[i].type);
        code->registers[i] = code->frame_bytes;
        code->frame_bytes += bytes ? LANES * bytes : 64;
    }
    code->temps_begin = code->frame_bytes;
    code->formal_count = prototype->param_count;
    code->return_count = prototype->return_count;
    if (!code->is_entry) {
        formals_place(emulator, code, prototype->params, prototype->param_count, &code->formals, &code->formal_bytes);
        formals_place(emulator, code, prototype->returns, prototype->return_count, &code->returns, &code->return_bytes);
    }
    for (size_t i = 0; i < body->variables.count; i++) {
        const Variable *variable = body->variables.data[i];
        if (variable->space == SPACE_LOCAL || variable->space == SPACE_PARAM || variable->space == SPACE_REG)
            local_place(emulator, code, variable);
    }
    code->local_bytes = align_up(code->local_bytes, 16);
    code->stack_row = NO_ROW;
    if (moves_stack(body)) {
        code->stack_row = code->frame_bytes;
        code->frame_bytes += LANES * 8;
        code->temps_begin = code->frame_bytes;
        code->local_bytes += STACK_BYTES;
    }
}

/* The body that the function runs from; NULL: it runs from one made from its statements. */
static Body *given_body(const Emulator *emulator, const Function *function)
{
    const EmulatorOptions *options = &emulator->options;
    for (unsigned i = 0; i < options->form_count; i++)
        if (options->forms[i].function == function && options->forms[i].body)
            return (Body *)options->forms[i].body;
    return function->body && !function->body->ssa ? function->body : NULL;
}

static bool code_add(Emulator *emulator, const Function *function)
{
    if (code_get(emulator, function) || !function->has_body)
        return true;
    Code *code = ARENA_NEW(emulator->arena, Code);
    const char *reason = NULL;
    code->function = function;
    code->is_entry = function->is_entry;
    code->locals.arena = emulator->arena;
    code->body = given_body(emulator, function);
    if (!code->body) {
        code->body = body_build((Function *)function, &reason);
        code->own_body = true;
    }
    if (!code->body)
        return fault_static(emulator, FAULT_UNSUPPORTED, function, NULL, "function %s: %s", function->name, reason);
    pointer_map_put(&emulator->codes, function, code);
    VEC_PUSH(emulator->arena, emulator->code_list, code);
    /* no kernel has 2^26 bytes of registers per warp */
    if (code->body->regs.count > UINT32_C(1) << 19)
        return fault_static(emulator, FAULT_UNSUPPORTED, function, NULL, "function %s: too many registers",
                            function->name);
    frame_layout(emulator, code);
    if (code->local_bytes > UINT32_C(1) << 24)
        return fault_static(emulator, FAULT_UNSUPPORTED, function, NULL, "function %s: too much local memory",
                            function->name);
    local_owners(emulator, code);
    return true;
}

static bool operand_collect(Emulator *emulator, const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_FUNCTION &&
        !code_add(emulator, function_resolve(emulator, operand->symbol.function)))
        return false;
    for (unsigned i = 0; i < operand->item_count; i++)
        for (unsigned k = 0; k < operand->items[i].item_count + 1u; k++) {
            const Operand *item = k ? &operand->items[i].items[k - 1] : &operand->items[i];
            if (item->kind == OPERAND_SYMBOL && item->symbol.kind == SYMBOL_FUNCTION &&
                !code_add(emulator, function_resolve(emulator, item->symbol.function)))
                return false;
        }
    return true;
}

/* An earlier kernel can have left the address of any function in the device's memory. */
static bool functions_collect(Emulator *emulator)
{
    const Module *module = emulator->module;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION && !module->items.data[i].function->is_entry &&
            !code_add(emulator, function_resolve(emulator, module->items.data[i].function)))
            return false;
    return true;
}

/* Functions whose addresses are in module variables. Only an indirect call can reach them. */
static bool initialisers_collect(Emulator *emulator)
{
    const Module *module = emulator->module;
    if (emulator->launch->device)
        return functions_collect(emulator);
    for (size_t i = 0; i < module->items.count; i++) {
        if (module->items.data[i].kind != ITEM_VARIABLE)
            continue;
        const Variable *variable = module->items.data[i].variable;
        for (unsigned k = 0; k < variable->init_count; k++)
            if (variable->inits[k].kind == INIT_SYMBOL && variable->inits[k].symbol.kind == SYMBOL_FUNCTION &&
                !code_add(emulator, function_resolve(emulator, variable->inits[k].symbol.function)))
                return false;
    }
    return true;
}

bool emulator_collect(Emulator *emulator, const Function *entry)
{
    if (!code_add(emulator, entry))
        return false;
    emulator->entry = emulator->code_list.data[0];
    bool indirect = false;
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Body *body = emulator->code_list.data[i]->body;
        for (size_t b = 0; b < body->blocks.count; b++)
            for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
                for (unsigned k = 0; k < inst->operand_count; k++)
                    if (!operand_collect(emulator, &inst->operands[k]))
                        return false;
                if (inst_is_call(inst) && !indirect) {
                    const Operand *target = &inst->operands[inst->operands[0].kind == OPERAND_LIST];
                    indirect = target->kind == OPERAND_REG;
                    if (indirect && !initialisers_collect(emulator))
                        return false;
                }
            }
    }
    return true;
}
