/* inst_bind finds the form of the instruction table that an instruction has. */
#include "ir/table/internal.h"

#include <string.h>

/* The most frequent operand by far: just a register, of a type that the slot accepts. */
static inline bool fit_plain_register(Binder *binder, const Operand *operand, const Slot *slot)
{
    if (operand->kind != OPERAND_REG || operand->selector || operand->constant || operand->negated || operand->inverted)
        return false;
    RegRef *ref = &binder->inst->refs[operand->ref];
    const Reg *reg = &binder->regs->data[ref->reg];
    if (reg->vector != 1 || !(slot->takes >> reg->type & 1))
        return false;
    ref->role = slot->pattern->kind == PATTERN_DST ? REF_DEF : REF_USE;
    ref->type = slot->type;
    return true;
}

/* Fits the operands. Bit I of 'present' says whether the optional operand I is there. */
static bool fit_operands(Binder *binder, unsigned present)
{
    const FormMatch *match = binder->match;
    unsigned operand = 0, optional = 0;
    for (unsigned i = 0; i < match->form->pattern_count; i++) {
        const Slot *slot = &match->slots[i];
        if (slot->pattern->flags & PATTERN_OPTIONAL && !(present >> optional++ & 1))
            continue;
        if (fit_plain_register(binder, &binder->inst->operands[operand], slot)) {
            binder->progress = ++operand;
            continue;
        }
        binder->operand = operand + 1;
        binder->slot = slot;
        if (!binder_operand(binder, &binder->inst->operands[operand], slot))
            return false;
        binder->progress = ++operand;
    }
    binder->operand = 0;
    return binder->signature->op != OP_CALL || binder_call(binder);
}

static bool fit_form(Binder *binder)
{
    const Form *form = binder->match->form;
    unsigned optional = binder->match->optional_count, given = binder->inst->operand_count;
    binder->progress = 0;
    if (!optional)
        return given == form->pattern_count && fit_operands(binder, 0);
    if (given > form->pattern_count || given + optional < form->pattern_count)
        return false;
    unsigned needed = given + optional - form->pattern_count;
    for (unsigned present = 0; present < 1u << optional; present++)
        if ((unsigned)__builtin_popcount(present) == needed && fit_operands(binder, present))
            return true;
    return false;
}

static const Sreg *read_sreg(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SREG)
            return inst->operands[i].sreg;
    return NULL;
}

/* The row's effects, less those that this spelling lacks. */
static unsigned refine_effects(const Inst *inst, const Form *form)
{
    unsigned effects = form->effects;
    if (effects & EFFECT_CC_WRITE && !inst_has(inst, MOD_CC))
        effects &= ~(unsigned)EFFECT_CC_WRITE;
    /* PTX ISA, "Cache Operators": .cv fetches again what another thread may have written, like a volatile load. */
    if (effects & EFFECT_READ && inst_has(inst, MOD_CV))
        effects |= EFFECT_VOLATILE;
    const Sreg *sreg = read_sreg(inst);
    if (!sreg)
        return effects;
    effects &= ~(unsigned)(EFFECT_PURE | EFFECT_THREAD | EFFECT_VOLATILE);
    switch (sreg->dependence) {
    case SREG_VOLATILE: return effects | EFFECT_VOLATILE | EFFECT_THREAD;
    case SREG_THREAD: return effects | EFFECT_PURE | EFFECT_THREAD;
    default: return effects | EFFECT_PURE;
    }
}

static void report(Diag *diag, Span span, const char *message)
{
    if (diag)
        diag_error(diag, span, "%s", message);
}

static bool bind_guard(const RegVec *regs, Inst *inst, Diag *diag)
{
    if (!inst_is_guarded(inst))
        return true;
    RegRef *ref = &inst->refs[inst->guard];
    const Reg *reg = &regs->data[ref->reg];
    ref->role = REF_USE;
    ref->type = TYPE_PRED;
    if (reg->type == TYPE_PRED && reg->vector == 1)
        return true;
    if (diag)
        diag_error(diag, inst->span, "the guard '%s' is of type .%s, not a predicate", reg->name, type_name(reg->type));
    return false;
}

static bool bind_opaque(Module *module, Inst *inst, Diag *diag)
{
    inst->form = NULL;
    inst->effects = EFFECTS_OPAQUE;
    inst->sync = SYNC_OTHER;
    for (unsigned i = 0; i < inst->ref_count; i++) {
        if (i == inst->guard)
            continue;
        inst->refs[i].role = REF_BOTH;
        inst->refs[i].type = TYPE_NONE;
    }
    if (!diag || !signature_first_warning(module, inst->signature))
        return true;
    const char *names[OP_COUNT];
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++)
        names[op - 1] = opcode_name((Opcode)op);
    const char *closest = closest_word(inst->signature->opcode, names, OP_COUNT - 1);
    if (closest)
        diag_warning(diag, inst->span, "unknown instruction '%s', kept as written; did you mean '%s'?",
                     inst->signature->opcode, closest);
    else
        diag_warning(diag, inst->span, "unknown instruction '%s', kept as written", inst->signature->opcode);
    return true;
}

/* "'add.f32' needs 3 operands, got 2" */
static void explain_count(const Inst *inst, Buf *out)
{
    const Signature *signature = inst->signature;
    unsigned least = UINT32_MAX, most = 0;
    for (unsigned i = 0; i < signature->match_count; i++) {
        const Form *form = signature->matches[i].form;
        unsigned low = form->pattern_count - signature->matches[i].optional_count;
        least = low < least ? low : least;
        most = form->pattern_count > most ? form->pattern_count : most;
    }
    buf_puts(out, "'");
    signature_print(signature, out);
    if (least == most)
        buf_printf(out, "' needs %u operand%s, got %u", most, most == 1 ? "" : "s", inst->operand_count);
    else
        buf_printf(out, "' needs %u to %u operand%s, got %u", least, most, plural(most), inst->operand_count);
}

/* True if the operand is of the kind that the pattern requires: the message is then about the operand and not about the
 * choice of form. */
static bool same_sort(const Operand *operand, const Pattern *pattern)
{
    switch (operand->kind) {
    case OPERAND_REG: return pattern->kind == PATTERN_DST || pattern->kind == PATTERN_SRC;
    case OPERAND_SREG: return pattern->kind == PATTERN_SREG;
    case OPERAND_CONSTANT:
        return pattern->kind == PATTERN_INT || (pattern->kind == PATTERN_SRC && pattern->flags & PATTERN_IMMEDIATE);
    case OPERAND_SYMBOL:
        return pattern->kind == PATTERN_VARIABLE || pattern->kind == PATTERN_FUNCTION || pattern->kind == PATTERN_LABEL;
    case OPERAND_VECTOR: return pattern->kind == PATTERN_DST_LIST || pattern->kind == PATTERN_SRC_LIST;
    default: return false;
    }
}

/* Explains why no form accepts the operands, going by the form that got furthest. Returns the place of the error. */
static Span explain_operands(const Binder *tried, Buf *best)
{
    Inst *inst = tried->inst;
    Buf why = {0};
    Span where = inst->span;
    unsigned best_score = 0;
    for (unsigned i = 0; i < inst->signature->match_count; i++) {
        Binder binder = *tried;
        binder.match = &inst->signature->matches[i];
        binder.why = &why;
        binder.operand = 0;
        buf_clear(&why);
        fit_form(&binder);
        unsigned score = 2 * binder.progress;
        if (binder.operand && binder.slot)
            score += same_sort(&inst->operands[binder.operand - 1], binder.slot->pattern);
        if (!why.length || (best->length && score <= best_score))
            continue;
        buf_clear(best);
        buf_puts(best, buf_text(&why));
        where = binder.where;
        best_score = score;
    }
    if (!best->length)
        explain_count(inst, best);
    buf_free(&why);
    return where;
}

static void explain_unavailable(const FormMatch *match, const Inst *inst, Diag *diag)
{
    Buf why = {0};
    buf_printf(&why, "%s", match->unavailable);
    if (match->removed) {
        size_t length = why.length;
        buf_puts(&why, "; ");
        signature_explain(inst->signature, false, &why);
        if (why.length == length + 2)
            why.data[length] = 0;
    }
    report(diag, inst->span, buf_text(&why));
    buf_free(&why);
}

/* A module of a newer PTX version may use instructions that the table does not have: they are kept, with one
 * warning. */
static bool bind_newer(Module *module, Inst *inst, Diag *diag, const char *why)
{
    Buf spelling = {0};
    bool first = diag && signature_first_warning(module, inst->signature);
    bind_opaque(module, inst, NULL);
    signature_print(inst->signature, &spelling);
    if (first)
        diag_warning(diag, inst->span, "this form of '%s' is unknown (%s); kept as written", buf_text(&spelling),
                     why);
    buf_free(&spelling);
    return true;
}

/* False unless the module may use instructions that the table does not have. */
static bool refuse_operands(Module *module, const Binder *tried, Diag *diag)
{
    bool newer = module->version > COVERED_VERSION;
    Buf why = {0};
    if (diag || newer) {
        Span where = explain_operands(tried, &why);
        if (newer)
            bind_newer(module, tried->inst, diag, buf_text(&why));
        else
            report(diag, where, buf_text(&why));
    }
    buf_free(&why);
    return newer;
}

/* Removes the braces of "{%r1}", which ptxas accepts instead of "%r1" in loads, stores and untyped mov, and around
 * the scales and metadata of a block-scaled mma. False if there are none. */
static bool braces_remove(Inst *inst)
{
    Opcode op = inst_op(inst);
    bool scaled = opcode_has(op, RULE_BRACES_SCALED) && signature_has(inst->signature, MOD_BLOCK_SCALE);
    bool untyped = inst->signature->type_count == 1 && type_class(inst->signature->types[0]) == CLASS_BITS;
    if (inst->signature->vector != 1 ||
        !(opcode_has(op, RULE_BRACES) || scaled ||
          (opcode_has(op, RULE_BRACES_BITS) && untyped && inst->operand_count == 2)))
        return false;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        Operand *operand = &inst->operands[i];
        if (operand->kind != OPERAND_VECTOR || operand->item_count != 1)
            continue;
        if (opcode_has(op, RULE_BRACES_BITS) && inst->operands[1 - i].kind == OPERAND_VECTOR)
            return false;
        if (scaled && operand->items[0].kind != OPERAND_REG)
            return false;
        *operand = operand->items[0];
        return true;
    }
    return false;
}

bool inst_bind(Module *module, Function *function, Inst *inst, Diag *diag)
{
    const Signature *signature = inst->signature;
    if (!bind_guard(&function->regs, inst, diag))
        return false;
    if (signature->op == OP_UNKNOWN)
        return bind_opaque(module, inst, diag);
    if (!signature->match_count) {
        Buf why = {0};
        signature_explain(signature, true, &why);
        bool newer = module->version > COVERED_VERSION && bind_newer(module, inst, diag, buf_text(&why));
        if (!newer)
            report(diag, inst->span, buf_text(&why));
        buf_free(&why);
        return newer;
    }
    Binder binder = {.module = module, .regs = &function->regs, .inst = inst, .signature = signature};
    const FormMatch *unavailable = NULL;
    for (unsigned i = 0; i < signature->match_count; i++) {
        binder.match = &signature->matches[i];
        if (!fit_form(&binder))
            continue;
        if (binder.match->unavailable) {
            unavailable = unavailable ? unavailable : binder.match;
            continue;
        }
        const Form *form = binder.match->form;
        inst->form = form;
        inst->effects = refine_effects(inst, form);
        inst->sync = form->sync;
        if (inst_is_guarded(inst) && !form->guarded) {
            if (diag)
                diag_error(diag, inst->span, "'%s%s' cannot be predicated", signature->opcode,
                           signature->mod_count ? signature->mods[0].text : "");
            return false;
        }
        return true;
    }
    if (!unavailable && braces_remove(inst))
        return inst_bind(module, function, inst, diag);
    if (unavailable)
        explain_unavailable(unavailable, inst, diag);
    else
        return refuse_operands(module, &binder, diag);
    return false;
}

const char *inst_spelling(Arena *arena, const Inst *inst)
{
    Buf text = {0};
    signature_print(inst->signature, &text);
    return buf_take(arena, &text);
}
