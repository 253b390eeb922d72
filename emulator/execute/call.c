/* Calls of device functions. */
#include "emulator/execute/execute.h"

#define MAX_CALL_DEPTH 512

/* Reads one lane's value from a register row with 'bytes' bytes for each lane, or with one bit if that is 0. */
static void value_get(const void *row, unsigned bytes, unsigned lane, void *value, uint64_t size)
{
    if (bytes)
        memcpy(value, (const uint8_t *)row + lane * bytes, (size_t)size);
    else
        *(uint8_t *)value = *(const uint32_t *)row >> lane & 1;
}

static void value_set(void *row, unsigned bytes, unsigned lane, const uint8_t *value, uint64_t size)
{
    uint32_t *bits = row;
    if (bytes) {
        memset((uint8_t *)row + lane * bytes, 0, bytes);
        memcpy((uint8_t *)row + lane * bytes, value, (size_t)size);
    } else {
        *bits = (*bits & ~(UINT32_C(1) << lane)) | (uint32_t)(*value & 1) << lane;
    }
}

static void copy_in(Exec *x, const struct CallCopy *copy, Frame *callee, uint64_t place, uint64_t capacity,
                    uint32_t mask)
{
    uint64_t size = copy->size < capacity ? copy->size : capacity;
    const Frame *caller = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t at = lane * callee->code->local_bytes + place;
        if (copy->source == NO_ROW)
            memcpy(callee->local + at, caller->local + lane * caller->code->local_bytes + copy->local, (size_t)size);
        else
            value_get(source_row(x, copy->source), copy->bytes, lane, callee->local + at, size);
        if (callee->local_written)
            memset(callee->local_written + at, 1, (size_t)size);
    }
}

void call_copy_out(Exec *x, const struct CallCopy *copy, const uint8_t *from, unsigned lane, uint64_t capacity)
{
    uint64_t size = copy->size < capacity ? copy->size : capacity;
    Frame *caller = x->frame;
    if (copy->source == NO_ROW) {
        uint64_t at = lane * caller->code->local_bytes + copy->local;
        memcpy(caller->local + at, from, (size_t)size);
        if (caller->local_written)
            memset(caller->local_written + at, 1, (size_t)size);
    } else {
        value_set(caller->registers + copy->source, copy->bytes, lane, from, size);
    }
}

static Step call_code(Exec *x, const Op *op, Code *code, uint32_t mask)
{
    const CallOp *call = op->call;
    Split *split = x->split;
    if (x->frame->depth >= MAX_CALL_DEPTH)
        return fault_at(x, op, (unsigned)__builtin_ctz(mask), FAULT_CALL, "calls are nested more than %u deep",
                        MAX_CALL_DEPTH);
    Frame *frame = frame_new(x->emulator, code, x->frame);
    for (unsigned i = 0; i < call->argument_count && i < code->formal_count; i++)
        copy_in(x, &call->arguments[i], frame, code->formals[i], code->formal_bytes[i], mask);
    x->emulator->result->counters.calls++;
    split->pc++;
    warp_drop(x->warp, split);
    split->wait = WAIT_CHILDREN;
    split->callee = frame;
    warp_push(x->warp, split_new(x->emulator, split, frame, 0, mask, PC_EXIT));
    return STEP_SWITCH;
}

Step run_call(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    if (call->callee)
        return call_code(x, op, code_get(x->emulator, call->callee), mask);

    /* Lanes that call another function than the first do so in their own split and reconverge after the results. */
    const void *targets = source_row(x, call->target);
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint64_t address = row_get(targets, 8, first);
    uint32_t same = 0;
    EACH_ACTIVE(lane, mask)
    {
        same |= (uint32_t)(row_get(targets, 8, lane) == address) << lane;
    }
    const Function *function = function_at(x->emulator, address);
    Code *code = function ? code_get(x->emulator, function_resolve(x->emulator, function)) : NULL;
    if (!code || code->is_entry)
        return fault_at(x, op, first, FAULT_CALL, "0x%llx is not the address of a function",
                        (unsigned long long)address);
    if (same != mask) {
        uint32_t pcs[2] = {x->split->pc, x->split->pc}, masks[2] = {same, mask & ~same};
        return split_diverge(x, pcs, masks, 2, x->split->pc + 2);
    }
    return call_code(x, op, code, mask);
}

Step run_call_results(Exec *x, const Op *op, uint32_t mask)
{
    const CallOp *call = op->call;
    Frame *callee = x->split->callee;
    for (unsigned i = 0; i < call->result_count && i < callee->code->return_count; i++)
        EACH_ACTIVE(lane, mask)
        {
            call_copy_out(x, &call->results[i],
                          callee->local + lane * callee->code->local_bytes + callee->code->returns[i], lane,
                          callee->code->return_bytes[i]);
        }
    frame_free(callee);
    x->split->callee = NULL;
    return STEP_NEXT;
}

/* Parameters and results declared as registers. */
Step run_parameter_read(Exec *x, const Op *op, uint32_t mask)
{
    const Frame *frame = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        value_set(frame->registers + op->dest, op->dest_bytes, lane,
                  frame->local + lane * frame->code->local_bytes + op->copy.source_offset, op->copy.bytes);
    }
    return STEP_NEXT;
}

Step run_result_write(Exec *x, const Op *op, uint32_t mask)
{
    const Frame *frame = x->frame;
    EACH_ACTIVE(lane, mask)
    {
        value_get(source_row(x, op->sources[0]), op->source_bytes[0], lane,
                  frame->local + lane * frame->code->local_bytes + op->copy.dest_offset, op->copy.bytes);
    }
    return STEP_NEXT;
}
