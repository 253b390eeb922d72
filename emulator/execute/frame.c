/* Frames: the registers and local memory of one call of a function by a warp. */
#include "emulator/execute/execute.h"

static void stack_reset(Frame *frame)
{
    uint64_t *pointers = (uint64_t *)(frame->registers + frame->code->stack_row);
    for (unsigned lane = 0; lane < LANES; lane++)
        pointers[lane] = frame->local_base + frame->code->local_bytes;
}

Frame *frame_new(Emulator *emulator, Code *code, Frame *parent)
{
    Frame *frame = code->free_frames;
    if (frame) {
        code->free_frames = frame->next_free;
        memset(frame->registers, 0, code->frame_bytes);
        if (code->local_bytes)
            memset(frame->local, 0, (size_t)code->local_bytes * LANES);
        if (frame->local_written)
            memset(frame->local_written, 0, (size_t)code->local_bytes * LANES);
        if (frame->defined)
            memcpy(frame->defined, code->defined, code->body->regs.count * sizeof *frame->defined);
    } else {
        frame = ARENA_NEW(emulator->arena, Frame);
        frame->code = code;
        uint8_t *memory = emulator_alloc(emulator, (size_t)code->frame_bytes + 64, 1);
        frame->registers = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
        frame->local = emulator_alloc(emulator, (size_t)code->local_bytes, LANES);
        if (emulator->options.check_unwritten)
            frame->local_written = emulator_alloc(emulator, (size_t)code->local_bytes, LANES);
        if (code->defined) {
            frame->defined = emulator_alloc(emulator, code->body->regs.count, sizeof *frame->defined);
            memcpy(frame->defined, code->defined, code->body->regs.count * sizeof *frame->defined);
        }
    }
    frame->parent = parent;
    frame->carry = 0;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->local_base = parent ? align_up(parent->local_base + parent->code->local_bytes, 16) : 0;
    if (code->stack_row != NO_ROW)
        stack_reset(frame);
    return frame;
}

void frame_free(Frame *frame)
{
    frame->next_free = frame->code->free_frames;
    frame->code->free_frames = frame;
}
