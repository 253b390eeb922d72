/* Fits the operands of video instructions: registers with byte and half-word selectors. */
#include "ir/table/internal.h"

static bool all_digits(const char *text, unsigned count, char highest)
{
    for (unsigned i = 0; i < count; i++)
        if (text[i] < '0' || text[i] > highest)
            return false;
    return !text[count];
}

/* Lane masks name each lane at most once, the highest first: ".h10", ".b310". */
static bool is_mask(const char *text, char highest)
{
    if (!*text)
        return false;
    for (char limit = (char)(highest + 1); *text; limit = *text++)
        if (*text < '0' || *text >= limit)
            return false;
    return true;
}

static bool selector_fits(const char *selector, unsigned lanes, bool mask)
{
    char letter = selector[0] == '.' ? selector[1] : 0;
    if (!letter)
        return false;
    const char *rest = selector + 2;
    if (lanes == 1)
        return (letter == 'b' && all_digits(rest, 1, '3')) || (letter == 'h' && all_digits(rest, 1, '1'));
    if (mask)
        return lanes == 2 ? letter == 'h' && is_mask(rest, '1') : letter == 'b' && is_mask(rest, '3');
    return lanes == 2 ? letter == 'h' && all_digits(rest, 2, '3') : letter == 'b' && all_digits(rest, 4, '7');
}

bool binder_video(Binder *binder, Operand *operand, const Slot *slot)
{
    bool destination = slot->pattern->kind == PATTERN_VIDEO_DST;
    if (operand->kind == OPERAND_CONSTANT && !destination && slot->count == 1)
        return binder_constant(binder, operand, TYPE_U32);
    if (operand->kind != OPERAND_REG || operand->constant)
        return binder_refuse(binder, operand->span, "a 32-bit register is expected, not %s", operand_describe(operand));
    Name selector = operand->selector;
    if (binder_reg(binder, operand)->vector > 1)
        return binder_no_element(binder, operand) && binder_slot_register(binder, operand, TYPE_U32, slot, REF_USE);
    if (!selector && slot->pattern->flags & PATTERN_SELECTED)
        return binder_refuse(binder, operand->span, "a selector such as '.b0' or '.h1' must follow the destination");
    if (selector && !selector_fits(selector, slot->count, destination))
        return binder_refuse(binder, operand->span, "'%s' is not a selector of this instruction", selector);
    Operand plain = *operand;
    plain.selector = NULL;
    return binder_slot_register(binder, &plain, TYPE_U32, slot, destination ? REF_DEF : REF_USE);
}
