/* Probes: every spelling of a row, with operands and a kernel. */
#include "tests/oracle/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The targets that rows are tried for, in this order; the last for what newer versions no longer have. */
static const struct {
    const char *target;
    unsigned version;
} targets[] = {{"sm_90", 95}, {"sm_100a", 95}, {"sm_103a", 95}, {"sm_120a", 95}, {"sm_107a", 95}, {"sm_50", 60}};

typedef struct Walk {
    const Form *form;
    const char *target;
    ProbeVisitor *visit;
    void *context;
    Arena *arena;
    Module *modules[COUNT_OF(targets)];
    unsigned choice[MOST_ELEMENTS]; /* of each element; the number of alternatives: left out */
    unsigned count;
} Walk;

bool probe_has(const Probe *probe, const char *mod)
{
    for (unsigned i = 0; i < probe->mod_count; i++)
        if (strcmp(probe->mods[i], mod) == 0)
            return true;
    return false;
}

/* Selections that a video operand is tried with. */
static const char *const selectors_1[] = {"", ".b0", ".h1", ".b3", ".b2", ".h0", ".b1"};
static const char *const selectors_2[] = {"", ".h32", ".h01", ".h13"};
static const char *const selectors_4[] = {"", ".b3210", ".b7046", ".b5274"};
static const char *const masks_1[] = {".b0", ".h1", ".b3", ".h0", ".b2", ".b1"};
static const char *const masks_2[] = {"", ".h0", ".h1", ".h10"};
static const char *const masks_4[] = {"", ".b0", ".b310", ".b3210"};
#define PICK(list, number) list[(number) % COUNT_OF(list)]

enum { VIDEO_VARIANTS = 7 };

static unsigned variant_count(const Form *form)
{
    const Pattern *patterns = form_patterns(form);
    unsigned count = 1;
    for (unsigned i = 0; i < form->pattern_count; i++) {
        unsigned wants = 1;
        switch ((PatternKind)patterns[i].kind) {
        case PATTERN_VIDEO_DST:
        case PATTERN_VIDEO_SRC: wants = VIDEO_VARIANTS; break;
        case PATTERN_INT: wants = form->pattern_count == 5 ? 256 : 8; break; /* lop3's table */
        case PATTERN_PRED: wants = patterns[i].flags & PATTERN_INVERT ? 2 : 1; break;
        case PATTERN_DST_PRED: wants = patterns[i].flags & PATTERN_MAY_PAIR ? 2 : 1; break;
        default: break;
        }
        count = wants > count ? wants : count;
    }
    return count;
}

static bool place_value(const Slot *slot, bool packed_f32, ProbeOperand *operand)
{
    Type type = (Type)slot->type;
    unsigned bits = type_bits(type);
    operand->type = packed_f32 && type == TYPE_B64 ? TYPE_F32X2 : type;
    operand->selector = "";
    /* Registers of the conversions from and to 8 bits are wider, and the result fills them. */
    operand->reg_bits = bits == 8 && slot->wider ? 32 : bits;
    return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
}

static void place_predicate(ProbeOperand *operand)
{
    *operand = (ProbeOperand){.type = TYPE_PRED, .reg_bits = 1, .selector = ""};
}

static bool place_video(const Slot *slot, unsigned variant, unsigned operand_number, ProbeOperand *operand)
{
    bool dest = slot->pattern->kind == PATTERN_VIDEO_DST;
    unsigned pick = variant + (dest ? 0 : 2 * operand_number * (variant != 0));
    *operand = (ProbeOperand){.type = TYPE_B32, .reg_bits = 32};
    switch (slot->count) {
    case 1: operand->selector = dest ? PICK(masks_1, pick) : PICK(selectors_1, pick); break;
    case 2: operand->selector = dest ? PICK(masks_2, pick) : PICK(selectors_2, pick); break;
    default: operand->selector = dest ? PICK(masks_4, pick) : PICK(selectors_4, pick); break;
    }
    return true;
}

/* Every selector list must be reached. */
_Static_assert(COUNT_OF(selectors_1) <= VIDEO_VARIANTS && COUNT_OF(masks_1) <= VIDEO_VARIANTS, "variants of selectors");

static bool place_operand(Probe *probe, const Slot *slot, unsigned variant)
{
    ProbeOperand *source = &probe->sources[probe->source_count], *dest = &probe->dests[probe->dest_count];
    unsigned flags = slot->pattern->flags;
    bool packed = probe_has(probe, ".f32x2");
    switch ((PatternKind)slot->pattern->kind) {
    case PATTERN_DST:
        if (!place_value(slot, packed, dest))
            return false;
        probe->dest_count++;
        if (flags & (PATTERN_PAIR | PATTERN_MAY_PAIR)) {
            place_predicate(&probe->dests[probe->dest_count++]);
            probe->pair = true;
        }
        return true;
    case PATTERN_DST_PRED:
        place_predicate(dest);
        probe->dest_count++;
        if (flags & PATTERN_PAIR || (flags & PATTERN_MAY_PAIR && variant % 2 == 0)) {
            place_predicate(&probe->dests[probe->dest_count++]);
            probe->pair = true;
        }
        return true;
    case PATTERN_PRED:
        place_predicate(source);
        source->inverted = flags & PATTERN_INVERT && variant % 2;
        probe->source_count++;
        return true;
    case PATTERN_SRC:
        probe->source_count++;
        if (flags & PATTERN_NEGATE)
            source->negated = variant / 4 % 2;
        return place_value(slot, packed, source);
    case PATTERN_DST_LIST:
        probe->dest_count++;
        dest->count = slot->count;
        return place_value(slot, packed, dest);
    case PATTERN_SRC_LIST:
        probe->source_count++;
        source->count = slot->count;
        return place_value(slot, packed, source);
    case PATTERN_INT:
        probe->source_count++;
        *source = (ProbeOperand){.type = TYPE_U32, .reg_bits = 32, .immediate = true, .selector = ""};
        source->value = probe->form->pattern_count == 5 ? variant : (variant * 73 + 0x96) % 256;
        return true;
    case PATTERN_VIDEO_DST: probe->dest_count++; return place_video(slot, variant, 0, dest);
    case PATTERN_VIDEO_SRC:
        place_video(slot, variant, probe->source_count, source);
        if (flags & PATTERN_NEGATE)
            source->negated = (variant >> probe->source_count) % 2;
        probe->source_count++;
        return true;
    default: return false;
    }
}

static void number_words(ProbeOperand *operands, unsigned count, unsigned *words)
{
    for (unsigned i = 0; i < count; i++) {
        if (operands[i].immediate)
            continue;
        operands[i].word = *words;
        *words += (operands[i].count ? operands[i].count : 1) * (operands[i].reg_bits == 128 ? 2 : 1);
    }
}

static bool place_operands(Probe *probe, const FormMatch *match, unsigned variant)
{
    unsigned effects = form_effects(probe->form);
    for (unsigned i = 0; i < probe->form->pattern_count; i++) {
        if (match->slots[i].pattern->flags & PATTERN_OPTIONAL)
            continue;
        if (probe->dest_count + 2 > PROBE_OPERANDS || probe->source_count == PROBE_OPERANDS ||
            !place_operand(probe, &match->slots[i], variant))
            return false;
    }
    number_words(probe->sources, probe->source_count, &probe->input_words);
    number_words(probe->dests, probe->dest_count, &probe->output_words);
    probe->carry_in = effects & EFFECT_CC_READ;
    probe->carry_out = probe_has(probe, ".cc");
    probe->input_words += probe->carry_in;
    probe->output_words += probe->carry_out;
    return probe->input_words <= PROBE_WORDS && probe->output_words <= PROBE_WORDS && probe->output_words;
}

static void name_variant(Probe *probe)
{
    char *at = probe->name + snprintf(probe->name, sizeof probe->name, "%s", probe->spelling);
    for (unsigned side = 0; side < 2; side++) {
        const ProbeOperand *operands = side ? probe->sources : probe->dests;
        for (unsigned i = 0; i < (side ? probe->source_count : probe->dest_count); i++) {
            size_t room = (size_t)(probe->name + sizeof probe->name - at);
            if (operands[i].immediate)
                at += snprintf(at, room, " 0x%llx", (unsigned long long)operands[i].value);
            else if (operands[i].selector[0] || operands[i].negated || operands[i].inverted)
                at += snprintf(at, room, " %s%s%u%s", operands[i].negated ? "-" : operands[i].inverted ? "!" : "",
                               side ? "s" : "d", i, operands[i].selector);
        }
    }
    if (probe->pair)
        snprintf(at, (size_t)(probe->name + sizeof probe->name - at), " d|p");
}

/* With a target, probes are for a driver: of CUDA 13.0 or newer. */
enum { DRIVER_VERSION = 90 };

static Module *walk_module(Walk *walk, unsigned number)
{
    if (!walk->modules[number]) {
        Module *module = module_new(walk->arena, interner_new(walk->arena, 0), NULL);
        module->version = walk->target ? DRIVER_VERSION : targets[number].version;
        module->targets = ARENA_ARRAY(walk->arena, Name, 1);
        module->targets[0] = intern(module->names, walk->target ? walk->target : targets[number].target);
        module->target_count = 1;
        walk->modules[number] = module;
    }
    return walk->modules[number];
}

static const FormMatch *match_form(const Signature *signature, const Form *form)
{
    for (unsigned i = 0; i < signature->match_count; i++)
        if (signature->matches[i].form == form && !signature->matches[i].unavailable)
            return &signature->matches[i];
    return NULL;
}

/* vmad subtracts the product or c, not both. */
static bool negates_all(const Probe *probe)
{
    const ProbeOperand *sources = probe->sources;
    return probe->source_count == 3 && sources[0].negated != sources[1].negated && sources[2].negated;
}

static void visit_spelling(Walk *walk)
{
    Probe plain = {.form = walk->form, .op = (Opcode)walk->form->op};
    const Element *elements = form_elements(walk->form);
    size_t length = (size_t)snprintf(plain.spelling, sizeof plain.spelling, "%s", opcode_name(plain.op));
    for (unsigned i = 0; i < walk->form->element_count; i++) {
        unsigned choice = walk->choice[elements[i].same_as >= 0 ? (unsigned)elements[i].same_as : i];
        if (choice == elements[i].alternative_count)
            continue;
        const Alternative *alternative = &element_alternatives(&elements[i])[choice];
        for (unsigned k = 0; k < alternative->mod_count && plain.mod_count < PROBE_MODS; k++) {
            const char *mod = mod_name(alternative_mods(alternative)[k]);
            plain.mods[plain.mod_count++] = mod;
            length += (size_t)snprintf(plain.spelling + length, sizeof plain.spelling - length, "%s", mod);
        }
    }
    for (unsigned i = 0; i < (walk->target ? 1 : COUNT_OF(targets)); i++) {
        const Signature *signature = signature_parse(walk_module(walk, i), plain.spelling);
        const FormMatch *match = match_form(signature, walk->form);
        if (!match)
            continue;
        plain.target = walk->target ? walk->target : targets[i].target;
        plain.version = walk->modules[i]->version;
        plain.type_count = signature->type_count;
        memcpy(plain.types, signature->types, sizeof plain.types);
        unsigned variants = variant_count(walk->form);
        for (unsigned variant = 0; variant < variants; variant++) {
            Probe probe = plain;
            if (!place_operands(&probe, match, variant))
                return;
            if (negates_all(&probe))
                continue;
            name_variant(&probe);
            walk->visit(&probe, walk->context);
            walk->count++;
        }
        return;
    }
}

/* Counts through all choices, the last element fastest. */
static bool next_choice(Walk *walk)
{
    const Element *elements = form_elements(walk->form);
    for (unsigned i = walk->form->element_count; i-- > 0;) {
        unsigned choices = elements[i].alternative_count + (elements[i].kind == ELEMENT_OPTIONAL);
        if (elements[i].same_as < 0 && ++walk->choice[i] < choices)
            return true;
        walk->choice[i] = 0;
    }
    return false;
}

unsigned probes_visit(const Form *form, const char *target, ProbeVisitor *visit, void *context)
{
    Walk walk = {.form = form, .target = target, .visit = visit, .context = context, .arena = arena_new()};
    do
        visit_spelling(&walk);
    while (next_choice(&walk));
    arena_free(walk.arena);
    return walk.count;
}

static void write_register(Buf *text, const char *prefix, unsigned number, const ProbeOperand *operand)
{
    for (unsigned i = 0; i < (operand->count ? operand->count : 1); i++) {
        if (operand->reg_bits == 1)
            buf_printf(text, ".reg .pred %s%u_%u;\n", prefix, number, i);
        else
            buf_printf(text, ".reg .b%u %s%u_%u;\n", operand->reg_bits, prefix, number, i);
    }
}

static void write_load(Buf *text, unsigned number, const ProbeOperand *operand)
{
    for (unsigned i = 0; i < (operand->count ? operand->count : 1); i++) {
        unsigned offset = 8 * (operand->word + i * (operand->reg_bits == 128 ? 2 : 1));
        if (operand->reg_bits == 1)
            buf_printf(text, "ld.global.b64 %%w0, [%%in+%u]; setp.ne.u64 %%s%u_%u, %%w0, 0;\n", offset, number, i);
        else if (operand->reg_bits == 128)
            buf_printf(text, "ld.global.v2.b64 {%%w0, %%w1}, [%%in+%u]; mov.b128 %%s%u_%u, {%%w0, %%w1};\n", offset,
                       number, i);
        else
            buf_printf(text, "ld.global.b%u %%s%u_%u, [%%in+%u];\n", operand->reg_bits, number, i, offset);
    }
}

static void write_store(Buf *text, unsigned number, const ProbeOperand *operand)
{
    for (unsigned i = 0; i < (operand->count ? operand->count : 1); i++) {
        unsigned offset = 8 * (operand->word + i * (operand->reg_bits == 128 ? 2 : 1));
        if (operand->reg_bits == 1)
            buf_printf(text, "selp.b64 %%w0, 1, 0, %%d%u_%u; st.global.b64 [%%out+%u], %%w0;\n", number, i, offset);
        else if (operand->reg_bits == 128)
            buf_printf(text, "mov.b128 {%%w0, %%w1}, %%d%u_%u; st.global.v2.b64 [%%out+%u], {%%w0, %%w1};\n", number, i,
                       offset);
        else
            buf_printf(text, "st.global.b%u [%%out+%u], %%d%u_%u;\n", operand->reg_bits, offset, number, i);
    }
}

static void write_operand(Buf *text, const char *prefix, unsigned number, const ProbeOperand *operand)
{
    if (operand->immediate) {
        buf_printf(text, "%lld", (long long)operand->value);
        return;
    }
    buf_printf(text, "%s", operand->inverted ? "!" : operand->negated ? "-" : "");
    if (operand->count)
        buf_puts(text, "{");
    for (unsigned i = 0; i < (operand->count ? operand->count : 1); i++)
        buf_printf(text, "%s%s%u_%u%s", i ? ", " : "", prefix, number, i, operand->selector);
    if (operand->count)
        buf_puts(text, "}");
}

void probe_write_kernel(const Probe *probe, Buf *text)
{
    buf_printf(text, "// %s\n.version %u.%u\n.target %s\n%s", probe->name, probe->version / 10, probe->version % 10,
               probe->target, probe->version >= 23 ? ".address_size 64\n" : "");
    buf_puts(text, probe->version >= 20 ? ".visible .entry" : ".entry");
    buf_puts(text, " probe(.param .u64 in, .param .u64 out, .param .u32 count)\n{\n"
                   ".reg .b64 %in, %out, %w0, %w1;\n.reg .b32 %i, %n, %b;\n.reg .pred %outside;\n");
    for (unsigned i = 0; i < probe->source_count; i++)
        if (!probe->sources[i].immediate)
            write_register(text, "%s", i, &probe->sources[i]);
    for (unsigned i = 0; i < probe->dest_count; i++)
        write_register(text, "%d", i, &probe->dests[i]);
    buf_puts(text, "mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %i;\n"
                   "ld.param.u32 %n, [count]; setp.ge.u32 %outside, %i, %n; @%outside bra done;\n");
    buf_printf(text,
               "ld.param.u64 %%in, [in]; mad.wide.u32 %%in, %%i, %u, %%in;\n"
               "ld.param.u64 %%out, [out]; mad.wide.u32 %%out, %%i, %u, %%out;\n",
               8 * probe->input_words, 8 * probe->output_words);
    for (unsigned i = 0; i < probe->source_count; i++)
        if (!probe->sources[i].immediate)
            write_load(text, i, &probe->sources[i]);
    /* The flag is set by adding all ones to 0 or 1. */
    if (probe->carry_in)
        buf_printf(text, "ld.global.b32 %%n, [%%in+%u]; add.cc.u32 %%n, %%n, 0xffffffff;\n",
                   8 * (probe->input_words - 1));
    buf_printf(text, "%s ", probe->spelling);
    for (unsigned i = 0; i < probe->dest_count; i++) {
        buf_puts(text, i == 0 ? "" : "|");
        write_operand(text, "%d", i, &probe->dests[i]);
    }
    for (unsigned i = 0; i < probe->source_count; i++) {
        buf_puts(text, ", ");
        write_operand(text, "%s", i, &probe->sources[i]);
    }
    buf_puts(text, ";\n");
    if (probe->carry_out)
        buf_printf(text, "addc.u32 %%n, 0, 0; st.global.b32 [%%out+%u], %%n;\n", 8 * (probe->output_words - 1));
    for (unsigned i = 0; i < probe->dest_count; i++)
        write_store(text, i, &probe->dests[i]);
    buf_puts(text, "done: ret;\n}\n");
}

enum { MOST_CORNERS = 48, MOST_CROSSED = 896, RANDOM_TUPLES = 192, BOUNDARY_TUPLES = 128 };

static void add_corner(uint64_t *corners, unsigned *count, uint64_t value)
{
    for (unsigned i = 0; i < *count; i++)
        if (corners[i] == value)
            return;
    if (*count < MOST_CORNERS)
        corners[(*count)++] = value;
}

static void float_corners(const Spec *spec, uint64_t *corners, unsigned *count)
{
    int mantissa = spec->mantissa_bits;
    uint64_t sign = UINT64_C(1) << (mantissa + spec->exponent_bits), one_ulp = 1;
    uint64_t infinity = ((UINT64_C(1) << spec->exponent_bits) - 1) << mantissa;
    uint64_t one = ((UINT64_C(1) << (spec->exponent_bits - 1)) - 1) << mantissa, step = UINT64_C(1) << mantissa;
    const uint64_t positive[] = {
        0,
        one,
        one + one_ulp,                           /* above one */
        one - one_ulp,                           /* below */
        one + step / 2,                          /* 1.5 */
        one + step + step / 2,                   /* 3 */
        spec->largest,
        infinity,
        1,                                       /* the least subnormal */
        step - 1,                                /* the greatest */
        step,                                    /* the least normal */
        one - (uint64_t)(mantissa + 1) * step,   /* half an ulp of one */
        one - (uint64_t)(mantissa + 1) * step + 1,
        infinity + step / 2,                     /* NaNs with payloads */
        infinity + 1,
        spec->nan,
        one - step + 3,
        spec->largest - (uint64_t)mantissa * step, /* half an ulp of the largest */
        one + 31 * step,
        step / 2,
        2 * one - step,                          /* the reciprocal of the least normal */
        2 * one - step + 1,
        2 * one - step - 1,
    };
    for (unsigned i = 0; i < COUNT_OF(positive); i++) {
        add_corner(corners, count, positive[i] & (sign - 1));
        add_corner(corners, count, (positive[i] & (sign - 1)) | sign);
    }
}

static void integer_corners(unsigned bits, uint64_t *corners, unsigned *count)
{
    static const uint64_t small[] = {0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256};
    uint64_t all = low_bits(UINT64_MAX, bits), top = UINT64_C(1) << (bits - 1);
    const uint64_t large[] = {all,     all - 1,     top,       top - 1,  top + 1,
                              all / 3, all / 3 * 2, all / 255, all - 31, all - 255};
    for (unsigned i = 0; i < COUNT_OF(large); i++)
        add_corner(corners, count, large[i]);
    for (unsigned i = 0; i < COUNT_OF(small); i++)
        add_corner(corners, count, low_bits(small[i], bits));
    if (bits >= 32) {
        add_corner(corners, count, 0x7fff);
        add_corner(corners, count, 0xffff);
        add_corner(corners, count, 0x8000);
        add_corner(corners, count, 0x10000);
        add_corner(corners, count, 0x800000);
        add_corner(corners, count, 0xffffff);
    }
    if (bits == 64) {
        add_corner(corners, count, UINT64_C(0xffffffff));
        add_corner(corners, count, UINT64_C(0x100000000));
        add_corner(corners, count, UINT64_C(0x80000000));
    }
}

static unsigned operand_corners(const ProbeOperand *operand, uint64_t *corners)
{
    unsigned count = 0, bits = operand->reg_bits > 64 ? 64 : operand->reg_bits;
    const Spec *spec = spec_of_type(operand->type);
    if (bits == 1) {
        add_corner(corners, &count, 0);
        add_corner(corners, &count, 1);
    } else if (spec) {
        float_corners(spec, corners, &count);
        /* Packed: beside a random neighbour, in both halves. */
        unsigned part = spec_bits(spec);
        Random random = {7};
        for (unsigned i = 0; part < bits && i < count; i++)
            corners[i] = i % 2 ? corners[i] << part | low_bits(random_next(&random), part)
                               : corners[i] | corners[random_next(&random) % count] << part;
    } else {
        integer_corners(bits, corners, &count);
    }
    return count;
}

/* A random pattern; the low bits of a float are often those of a tie or next to one, and exponents often lie near each
 * other. */
static uint64_t random_value(const ProbeOperand *operand, Random *random)
{
    unsigned bits = operand->reg_bits > 64 ? 64 : operand->reg_bits;
    uint64_t value = low_bits(random_next(random), bits), how = random_next(random);
    const Spec *spec = spec_of_type(operand->type);
    if (bits == 1)
        return value & 1;
    if (!spec) {
        if (how % 4 == 0)
            value >>= how / 4 % bits;
        return value;
    }
    unsigned part = spec_bits(spec);
    uint64_t result = 0;
    for (unsigned shift = 0; shift < bits; shift += part) {
        uint64_t element = low_bits(value >> shift, part);
        unsigned cut = 1 + (unsigned)(random_next(random) % (uint64_t)spec->mantissa_bits);
        uint64_t half = UINT64_C(1) << (cut - 1), mask = half * 2 - 1;
        how = random_next(random);
        if (how % 2)
            element = (element & ~mask) | (how % 8 == 1 ? half : how % 8 == 3 ? half - 1 : how % 8 == 5 ? half + 1 : 0);
        if (how / 8 % 2) { /* near one */
            uint64_t near = how / 16 % 2 ? how / 32 % 9 - 4 : how / 32 % 27 - 13;
            uint64_t exponent = (UINT64_C(1) << (spec->exponent_bits - 1)) - 1 + near;
            uint64_t field = ((UINT64_C(1) << spec->exponent_bits) - 1) << spec->mantissa_bits;
            element = (element & ~field) | (exponent << spec->mantissa_bits & field);
        }
        result |= element << shift;
    }
    return result;
}

static void set_part(uint64_t *word, unsigned shift, const Spec *spec, double value)
{
    uint64_t field = low_bits(UINT64_MAX, spec_bits(spec)) << shift;
    mpfr_t exact;
    if (!isfinite(value))
        return;
    mpfr_init2(exact, 64);
    mpfr_set_d(exact, value, MPFR_RNDN);
    *word = (*word & ~field) | exact_round(exact, spec, MODE_EVEN, true) << shift;
    mpfr_clear(exact);
}

/* A number of the format where what happens to results changes, or next to it by fractions of its last place. */
static double boundary(const Spec *spec, Random *random)
{
    double least = ldexp(1, 2 - (1 << (spec->exponent_bits - 1)));
    const double places[] = {least, least, spec_decode(spec, spec->largest), 1, ldexp(least, -spec->mantissa_bits)};
    uint64_t bits = random_next(random);
    int quarters = (int)(bits / 64 % 9) - 4;
    double value = places[bits % COUNT_OF(places)] * (1 + ldexp(quarters, -spec->mantissa_bits - 2));
    return bits / 8 % 2 ? value : -value;
}

/* Moves the operands of one element so that the exact result is at such a place; false if there are none for it. */
static bool move_element(const Probe *probe, uint64_t *tuple, unsigned shift, Random *random)
{
    const Spec *spec = spec_of_type(probe->sources[0].type), *to = spec_of_type(probe->dests[0].type);
    if (!spec || !to || (probe->op != OP_CVT && spec != to))
        return false;
    for (unsigned i = 1; i < probe->source_count; i++)
        if (spec_of_type(probe->sources[i].type) != spec)
            return false;
    double target = boundary(to, random), a = spec_decode(spec, low_bits(tuple[0] >> shift, spec_bits(spec)));
    double b = probe->source_count > 1 ? spec_decode(spec, low_bits(tuple[1] >> shift, spec_bits(spec))) : 0;
    switch (probe->op) {
    case OP_CVT: set_part(&tuple[0], shift, spec, target); return true;
    case OP_RCP: set_part(&tuple[0], shift, spec, 1 / target); return true;
    case OP_SQRT: set_part(&tuple[0], shift, spec, target * target); return true;
    case OP_DIV: set_part(&tuple[0], shift, spec, target * b); return true;
    case OP_ADD: set_part(&tuple[1], shift, spec, target - a); return true;
    case OP_SUB: set_part(&tuple[1], shift, spec, a - target); return true;
    case OP_MUL: set_part(&tuple[1], shift, spec, target / a); return true;
    case OP_MAD:
    case OP_FMA:
        if (random_next(random) % 4) { /* a sum with a product that is less than its last place, or not much more */
            set_part(&tuple[2], shift, spec, target);
            target = ldexp(target, -spec->mantissa_bits - (int)(random_next(random) % 6));
            target = random_next(random) % 2 ? target : -target;
        }
        set_part(&tuple[1], shift, spec, target / a);
        return true;
    default: return false;
    }
}

static bool move_to_boundary(const Probe *probe, uint64_t *tuple, Random *random)
{
    const ProbeOperand *operand = &probe->sources[0];
    const Spec *spec = spec_of_type(operand->type);
    bool moved = spec != NULL && !operand->count && operand->reg_bits <= 64;
    for (unsigned shift = 0; moved && shift < operand->reg_bits; shift += spec_bits(spec))
        moved = move_element(probe, tuple, shift, random);
    return moved;
}

/* The operand that each input word belongs to; NULL: the carry flag. */
static const ProbeOperand *word_operand(const Probe *probe, unsigned word)
{
    const ProbeOperand *found = NULL;
    for (unsigned i = 0; i < probe->source_count; i++)
        if (!probe->sources[i].immediate && probe->sources[i].word <= word)
            found = &probe->sources[i];
    return probe->carry_in && word == probe->input_words - 1 ? NULL : found;
}

uint64_t *probe_inputs(const Probe *probe, Arena *arena, unsigned *tuples)
{
    uint64_t corners[PROBE_WORDS][MOST_CORNERS], combinations = 1;
    Random random = {1};
    unsigned counts[PROBE_WORDS], words = probe->input_words;
    static const ProbeOperand flag = {.type = TYPE_PRED, .reg_bits = 1};
    for (const char *at = probe->name; *at; at++)
        random.state = random.state * 31 + (unsigned char)*at;
    for (unsigned i = 0; i < words; i++) {
        const ProbeOperand *operand = word_operand(probe, i);
        counts[i] = operand_corners(operand ? operand : &flag, corners[i]);
        if (combinations <= MOST_CROSSED)
            combinations *= counts[i];
    }
    if (probe_has(probe, ".oob"))
        for (unsigned i = 0; i < words; i++)
            corners[i][0] = low_bits(UINT64_C(0xfff77ff7), probe->sources[0].reg_bits); /* the mark, in both halves */
    unsigned crossed = combinations < MOST_CROSSED ? (unsigned)combinations : MOST_CROSSED;
    uint64_t ignored[PROBE_WORDS] = {0};
    Random unused = {1};
    unsigned boundaries = move_to_boundary(probe, ignored, &unused) ? BOUNDARY_TUPLES : 0;
    unsigned count = (crossed + RANDOM_TUPLES + boundaries + 63) / 64 * 64;
    uint64_t *inputs = ARENA_ARRAY(arena, uint64_t, (size_t)count * words);
    for (unsigned t = 0; t < count; t++) {
        uint64_t number = t;
        for (unsigned i = 0; i < words; i++) {
            const ProbeOperand *operand = word_operand(probe, i);
            uint64_t *value = &inputs[(size_t)t * words + i];
            if (t < crossed && combinations <= MOST_CROSSED) {
                *value = corners[i][number % counts[i]];
                number /= counts[i];
            } else if (t < crossed) {
                *value = corners[i][random_next(&random) % counts[i]];
            } else if (random_next(&random) % 8 == 0) {
                *value = corners[i][random_next(&random) % counts[i]];
            } else {
                *value = random_value(operand ? operand : &flag, &random);
            }
        }
        if (t >= count - boundaries)
            move_to_boundary(probe, &inputs[(size_t)t * words], &random);
    }
    *tuples = count;
    return inputs;
}
