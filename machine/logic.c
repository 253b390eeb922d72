/* Logic, selection, moves, and predicates. */
#include "machine/internal.h"

/* A function of three bits by its table: bit 4a + 2b + c is the result. */
static uint32_t look_up(unsigned table, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result = 0;
    for (unsigned row = 0; row < 8; row++)
        if (table >> row & 1)
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}

/* LOP3.LUT [p,] d, a, b, c, table, with: p is whether a bit of the result is set, or 'with'. */
Step execute_logic(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 0);
    const Place *d = &it->operands[first];
    if (first > 1 || first + 6 != it->operand_count)
        return stop(thread, MACHINE_UNDECIDED, "this form of a logical operation");
    const uint32_t result = look_up((unsigned)d[4].number, integer32(thread, d + 1), integer32(thread, d + 2),
                                    integer32(thread, d + 3));
    const bool with = predicate(thread, d + 5);
    if (first)
        set_predicate(thread, &it->operands[0], has(it, SUFFIX_PAND) ? result && with : result || with);
    set32(thread, d, result);
    return STEP_ON;
}

/* A predicate, or the sign of a register. */
static bool bit_of(const Thread *thread, const Place *place)
{
    return place->is_sign ? raw32(thread, place) >> 31 != place->inverted : predicate(thread, place);
}

/* PLOP3.LUT p, q, a, b, c, table, table */
Step execute_logic_of_predicates(Thread *thread, const Decoded *it)
{
    bool bits[3];
    for (unsigned i = 0; i < 3; i++) {
        const Place *place = &it->operands[2 + i];
        if (it->operand_count != 7 || place->is_sign == is_predicate(place))
            return stop(thread, MACHINE_UNDECIDED, "this form of a logical operation");
        bits[i] = bit_of(thread, place);
    }
    for (unsigned i = 0; i < 2; i++)
        set_predicate(thread, &it->operands[i],
                      it->operands[5 + i].number >> (4 * bits[0] + 2 * bits[1] + bits[2]) & 1);
    return STEP_ON;
}

Step execute_select(Thread *thread, const Decoded *it)
{
    const Place *chosen = &it->operands[predicate(thread, &it->operands[3]) ? 1 : 2];
    if (has(it, SUFFIX_64))
        set64(thread, &it->operands[0], integer64(thread, chosen));
    else
        set32(thread, &it->operands[0], integer32(thread, chosen));
    return STEP_ON;
}

/* FSEL: a sign may be changed, nothing else. */
Step execute_select_float(Thread *thread, const Decoded *it)
{
    uint32_t value = float32(thread, &it->operands[predicate(thread, &it->operands[3]) ? 1 : 2]);
    set32(thread, &it->operands[0], has(it, SUFFIX_FTZ) ? format_flush(&FORMAT_F32, value) : value);
    return STEP_ON;
}

Step execute_move(Thread *thread, const Decoded *it)
{
    if (has(it, SUFFIX_64))
        set64(thread, &it->operands[0], raw64(thread, &it->operands[1]));
    else
        set32(thread, &it->operands[0], raw32(thread, &it->operands[1]));
    return STEP_ON;
}

/* P2R d, PR, a, mask: a, with predicates in place of the mask's bits. */
Step execute_take_predicates(Thread *thread, const Decoded *it)
{
    const bool *from = it->operands[0].kind == PLACE_UNIFORM ? thread->warp->uniform_predicates : thread->predicates;
    const uint32_t mask = raw32(thread, &it->operands[3]) & 0x7f;
    uint32_t bits = 0;
    for (unsigned i = 0; i < TRUE_PREDICATE; i++)
        bits |= (uint32_t)from[i] << i;
    set32(thread, &it->operands[0], (raw32(thread, &it->operands[2]) & ~mask) | (bits & mask));
    return STEP_ON;
}

/* R2P PR, a, mask: the predicates that the mask names. */
Step execute_give_predicates(Thread *thread, const Decoded *it)
{
    bool *to = it->operands[1].kind == PLACE_UNIFORM ? thread->warp->uniform_predicates : thread->predicates;
    const uint32_t bits = raw32(thread, &it->operands[1]) >> 8 * it->operands[1].byte;
    const uint32_t mask = raw32(thread, &it->operands[2]);
    for (unsigned i = 0; i < TRUE_PREDICATE; i++)
        if (mask >> i & 1)
            to[i] = bits >> i & 1;
    return STEP_ON;
}

typedef struct SpecialRegister {
    const char *name;
    uint8_t group, axis;
} SpecialRegister;

enum { SPECIAL_ZERO, SPECIAL_THREAD, SPECIAL_BLOCK, SPECIAL_LANE, SPECIAL_BEFORE, SPECIAL_UPTO, SPECIAL_AFTER,
       SPECIAL_FROM, SPECIAL_SELF, SPECIAL_SHARED };

static const SpecialRegister special_registers[] = {
    {"SRZ", SPECIAL_ZERO, 0},          {"SR_TID.X", SPECIAL_THREAD, 0},   {"SR_TID.Y", SPECIAL_THREAD, 1},
    {"SR_TID.Z", SPECIAL_THREAD, 2},   {"SR_CTAID.X", SPECIAL_BLOCK, 0},  {"SR_CTAID.Y", SPECIAL_BLOCK, 1},
    {"SR_CTAID.Z", SPECIAL_BLOCK, 2},  {"SR_LANEID", SPECIAL_LANE, 0},    {"SR_LTMASK", SPECIAL_BEFORE, 0},
    {"SR_LEMASK", SPECIAL_UPTO, 0},    {"SR_GTMASK", SPECIAL_AFTER, 0},   {"SR_GEMASK", SPECIAL_FROM, 0},
    {"SR_EQMASK", SPECIAL_SELF, 0},    {"SR_SWINHI", SPECIAL_SHARED, 0},  {"SR_CgaCtaId", SPECIAL_ZERO, 0},
    {"SR_LMEMHIOFF", SPECIAL_ZERO, 0}, /* what the stack pointer must not fall below */
};

static uint32_t value_of(const Thread *thread, const SpecialRegister *special)
{
    const unsigned lane = thread->index % WARP_THREADS;
    const uint32_t before = (UINT32_C(1) << lane) - 1, self = UINT32_C(1) << lane;
    switch (special->group) {
    case SPECIAL_THREAD: return thread->id[special->axis];
    case SPECIAL_BLOCK: return thread->block->id[special->axis];
    case SPECIAL_LANE: return lane;
    case SPECIAL_BEFORE: return before;
    case SPECIAL_UPTO: return before | self;
    case SPECIAL_AFTER: return ~(before | self);
    case SPECIAL_FROM: return ~before;
    case SPECIAL_SELF: return self;
    case SPECIAL_SHARED: return SHARED_WINDOW;
    default: return 0;
    }
}

bool special_value(const Thread *thread, const char *name, uint32_t *value)
{
    for (size_t i = 0; i < COUNT_OF(special_registers); i++)
        if (strcmp(special_registers[i].name, name) == 0) {
            *value = value_of(thread, &special_registers[i]);
            return true;
        }
    return false;
}

/* S2R and CS2R; the latter gives 64 bits, of which only zero is known. */
Step execute_special(Thread *thread, const Decoded *it)
{
    uint32_t value;
    if (!special_value(thread, it->operands[1].text, &value))
        return stop(thread, MACHINE_UNDECIDED, "the value of %s", it->operands[1].text);
    set32(thread, &it->operands[0], value);
    return STEP_ON;
}

Step execute_special_pair(Thread *thread, const Decoded *it)
{
    if (strcmp(it->operands[1].text, "SRZ") != 0)
        return stop(thread, MACHINE_UNDECIDED, "the value of %s", it->operands[1].text);
    if (has(it, SUFFIX_32))
        set32(thread, &it->operands[0], 0);
    else
        set64(thread, &it->operands[0], 0);
    return STEP_ON;
}
