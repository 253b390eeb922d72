/* The same PTX with the other NaNs that it may compute. neg and abs of a NaN give "an unspecified NaN" (PTX ISA,
 * "Floating Point Instructions: neg, abs"): the emulator gives the canonical one, machine code often changes the sign
 * alone, as IEEE 754 has it. So do xor and and:
 *
 *     neg.f32 d, a;    becomes    xor.b32 d, a, 0x80000000;
 *     abs.f32 d, a;    becomes    and.b32 d, a, 0x7fffffff;
 *
 * Those with .ftz stay, since they change more than NaNs. */
#include "machine/internal.h"
#include "parser/parser.h"

#include <stdio.h>
#include <string.h>

typedef struct SignChange {
    const char *spelling, *logic, *mask;
} SignChange;

static const SignChange sign_changes[] = {
    {"neg.f16", "xor.b16", "0x8000"},
    {"neg.bf16", "xor.b16", "0x8000"},
    {"neg.f16x2", "xor.b32", "0x80008000"},
    {"neg.bf16x2", "xor.b32", "0x80008000"},
    {"neg.f32", "xor.b32", "0x80000000"},
    {"neg.f64", "xor.b64", "0x8000000000000000"},
    {"abs.f16", "and.b16", "0x7fff"},
    {"abs.bf16", "and.b16", "0x7fff"},
    {"abs.f16x2", "and.b32", "0x7fff7fff"},
    {"abs.bf16x2", "and.b32", "0x7fff7fff"},
    {"abs.f32", "and.b32", "0x7fffffff"},
    {"abs.f64", "and.b64", "0x7fffffffffffffff"},
};

static const SignChange *sign_change(const Inst *inst)
{
    for (size_t i = 0; i < COUNT_OF(sign_changes); i++)
        if (strcmp(sign_changes[i].spelling, inst->signature->spelling) == 0 &&
            inst->operands[1].kind == OPERAND_REG)
            return &sign_changes[i];
    return NULL;
}

/* The end of the statement's operands, its semicolon. */
static const char *operands_end(const Source *source, const char *from)
{
    const char *end = memchr(from, ';', (size_t)(source->text + source->size - from));
    return end ? end : from;
}

const Module *module_with_kept_nans(Arena *arena, const Module *module, const PtxLines *lines)
{
    const Source *source = module->source;
    const char *at = source->text;
    Buf text = {0};
    bool changed = false;
    for (uint32_t i = 0; i < lines->count; i++) {
        const SignChange *change = sign_change(lines->insts[i]);
        const char *opcode = change ? strstr(source->text + lines->insts[i]->span.begin, change->spelling) : NULL;
        if (!opcode || opcode < at)
            continue;
        const char *operands = opcode + strlen(change->spelling), *end = operands_end(source, operands);
        buf_write(&text, at, (size_t)(opcode - at));
        buf_printf(&text, "%s", change->logic);
        buf_write(&text, operands, (size_t)(end - operands));
        buf_printf(&text, ", %s", change->mask);
        at = end;
        changed = true;
    }
    Module *variant = NULL;
    if (changed) {
        buf_write(&text, at, (size_t)(source->text + source->size - at));
        const char *copy = arena_strndup(arena, text.data, text.length);
        const Source *copied = source_from_memory(arena, source->path, copy, text.length);
        Diag diag;
        diag_init(&diag, copied, stderr);
        diag.quiet = true;
        variant = parse_module(arena, copied, &diag);
    }
    buf_free(&text);
    return variant;
}
