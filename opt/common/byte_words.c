/* Vectors of four bytes, as clang loads a char4 by, become words, which join to longer vectors and whose bytes dot
 * products take:
 *
 *     ld.global.v4.u8 {b0, b1, b2, b3}, [p]   ->   ld.global.u32 w, [p]; b0 = w & 255; ...
 *
 * Both need an address that is a multiple of four. */
#include "opt/common/byte_words.h"

enum { WORD_BYTES = 4 };

/* The type of the elements, if the instruction is a plain load of four bytes; TYPE_NONE otherwise. */
static Type byte_type(const Body *body, const Inst *inst, Access *access)
{
    if (!inst_is_plain(inst) || inst_is_guarded(inst) || inst->tied_count || !inst_access(inst, access) ||
        access->kind != ACCESS_LOAD || !access->weak || access->space != SPACE_GLOBAL || access->bytes != WORD_BYTES ||
        inst->ref_count != WORD_BYTES + 1 || address_base(inst, access->address) == REG_NONE)
        return TYPE_NONE;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (!ref_writes(&inst->refs[i]) || type_bits(body->regs.data[inst->refs[i].reg].type) != 16)
            return TYPE_NONE;
    return inst->signature->types[inst->signature->type_count - 1];
}

static void load_word(Body *body, Inst *inst, const Access *access, bool is_signed)
{
    Interner *names = body->module->names;
    RegId word = body_add_reg(body, TYPE_B32, intern(names, "%word"));
    const int64_t offset = address_offset(access->address);
    Inst *load = inst_build(body, access->read_only ? "ld.global.nc.u32" : "ld.global.u32", "da", word,
                            address_base(inst, access->address), offset);
    load->span = inst->span;
    load->loc = inst->loc;
    load->replica = inst->replica;
    inst_insert_before(inst, load);
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        RegId byte = body_add_reg(body, TYPE_B32, intern(names, "%element"));
        const int64_t select = is_signed ? 0x1110 * (8 | i) + i : 0x4440 + i;
        inst_insert_before(inst, inst_build(body, "prmt.b32", "drii", byte, word, (int64_t)0, select));
        inst_insert_before(inst, inst_build(body, "cvt.u16.u32", "dr", inst->refs[i].reg, byte));
    }
    inst_remove(inst);
}

bool body_load_words(Body *body)
{
    bool changed = false;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            Access access;
            next = inst->next;
            const Type type = byte_type(body, inst, &access);
            if (type == TYPE_NONE || type_bits(type) != 8)
                continue;
            load_word(body, inst, &access, type_class(type) == CLASS_SIGNED);
            changed = true;
        }
    return changed;
}
