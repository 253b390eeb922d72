/* The departures, measured on an H100 with sm_90a. The first entry that matches a kernel counts. */
#include "tests/gpu/departures.h"

#include <fnmatch.h>
#include <string.h>

/* bfe, bfi: the ISA uses the lower eight bits of the position and the length, the last two operands. */
static bool has_wide_field(const Probe *probe, const uint64_t *in)
{
    return in[probe->source_count - 2] > 255 || in[probe->source_count - 1] > 255;
}

static bool has_least_offset(const Probe *probe, const uint64_t *in)
{
    (void)probe;
    return in[2] == 0x80000000;
}

static bool has_subnormal_f32(const Probe *probe, const uint64_t *in)
{
    (void)probe;
    return spec_is_subnormal(&specs[SPEC_F32], in[0]);
}

static bool has_top_bit(uint64_t word)
{
    return word >> 31 & 1;
}

static bool has_large_c(const Probe *probe, const uint64_t *in)
{
    (void)probe;
    return has_top_bit(in[2]);
}

/* A whole u32 operand of vmad that is negative as an s32. c is one if nothing is signed or negated. */
static bool has_large_factor(const Probe *probe, const uint64_t *in)
{
    bool all_unsigned = probe->sources[0].negated == probe->sources[1].negated && !probe->sources[2].negated;
    for (unsigned i = 0; i < 2; i++) {
        bool is_signed = type_is_signed(probe->types[1 + i]);
        all_unsigned &= !is_signed;
        if (!is_signed && !probe->sources[i].selector[0] && has_top_bit(in[i]))
            return true;
    }
    return all_unsigned && has_top_bit(in[2]);
}

static bool exceeds(const Probe *probe, const uint64_t *in, __int128 least, __int128 most)
{
    __int128 value;
    return answer_video_exact(probe, in, &value) && (value < least || value > most);
}

static bool exceeds_u32(const Probe *probe, const uint64_t *in)
{
    return exceeds(probe, in, 0, UINT32_MAX);
}

static bool exceeds_s32(const Probe *probe, const uint64_t *in)
{
    return exceeds(probe, in, INT32_MIN, INT32_MAX);
}

/* True if signed and unsigned comparisons of the result with c differ. */
static bool signs_matter(const Probe *probe, const uint64_t *in)
{
    return has_top_bit(in[2]) || exceeds(probe, in, 0, INT32_MAX);
}

/* A result that .sat clamps to the part of d that it is merged into, or a negative one. */
static bool leaves_part(const Probe *probe, const uint64_t *in)
{
    unsigned bits = probe->dests[0].selector[1] == 'b' ? 8 : 16;
    return exceeds(probe, in, 0, ((__int128)1 << (bits - type_is_signed(probe->types[0]))) - 1);
}

static const char upper_half[] = "a merge into .h1 takes the upper half of the intermediate result";
static const char part_clamp[] = ".sat to a part clamps negative numbers to the largest one, and shifts wrap";
static const char lost_overflow[] = ".sat to u32 ignores the carry out of 32 bits";
static const char signed_second[] = ".min and .max of u32 compare as s32";
static const char short_second[] = ".min and .max use only the lower 32 bits of the intermediate result";
static const char signed_factor[] = "u32 operands count as s32 with .sat, .shr7 and .shr15";

const Departure departures[] = {
    {"bfe", "bfe.?64", has_wide_field, "positions and lengths above 255 are not taken modulo 256"},
    {"bfi", "bfi.b64", has_wide_field, "positions and lengths above 255 are not taken modulo 256"},
    {"fns", NULL, has_least_offset, "the offset -2^31 gives 0, as if bit 0 were found"},
    {"madc.16", "madc.hi.*", NULL, "of the product only the sign is added"},
    {"cvt.f16.f32", "cvt.r[mp].ftz.*", has_subnormal_f32, "subnormal operands are not flushed"},
    {"vabsdiff.merge", "* d0.h1*", NULL, upper_half},
    {"vadd.merge", "* d0.h1*", NULL, upper_half},
    {"vadd.merge", "*.sat*", leaves_part, part_clamp},
    {"vm[ai][nx].merge", "* d0.h1*", NULL, upper_half},
    {"vm[ai][nx].merge", "*.sat*", leaves_part, part_clamp},
    {"vset.merge", "* d0.h1*", NULL, upper_half},
    {"vsh[lr].merge", "* d0.h1*", NULL, upper_half},
    {"vsh[lr].merge", "*.sat*", leaves_part, part_clamp},
    {"vsub.merge", "* d0.h1*", NULL, upper_half},
    {"vsub.merge", "*.sat*", leaves_part, part_clamp},
    {"vset.op2", "vset*.s32.*.m[ai][nx]*", has_large_c, "c is compared as s32 if a or b is signed"},
    {"vadd.op2", "vadd.u32.*m[ai][nx]*", signs_matter, signed_second},
    {"vsub.op2", "vsub.u32.*m[ai][nx]*", signs_matter, signed_second},
    {"vshl.op2", "vshl.u32.*m[ai][nx]*", signs_matter, signed_second},
    {"vshr.op2", "vshr.u32.u32.u32.sat.*m[ai][nx]*", signs_matter, signed_second},
    {"vadd.op2", "vadd.s32.?32.?32.m[ai][nx]*", exceeds_s32, short_second},
    {"vsub.op2", "vsub.s32.?32.?32.m[ai][nx]*", exceeds_s32, short_second},
    {"vshl.op2", "vshl.s32.?32.?32.[cw]*m[ai][nx]*", exceeds_s32, short_second},
    {"vadd*", "vadd.u32.u32.*.sat*", exceeds_u32, lost_overflow},
    {"vadd*", "vadd.u32.s32.u32.sat*", exceeds_u32, lost_overflow},
    {"vsub*", "vsub.u32.u32.s32.sat*", exceeds_u32, lost_overflow},
    {"vabsdiff*", "vabsdiff.u32.*.sat*", exceeds_u32, lost_overflow},
    {"vmad*", "*.s[ah]*", has_large_factor, signed_factor},
};

const unsigned departure_count = COUNT_OF(departures);
_Static_assert(COUNT_OF(departures) <= MOST_DEPARTURES, "too many departures");

const Departure *departure_of(const Probe *probe)
{
    for (const Departure *entry = departures; entry < departures + departure_count; entry++)
        if (fnmatch(entry->rows, form_name(probe->form), 0) == 0 &&
            (!entry->kernels || fnmatch(entry->kernels, probe->name, 0) == 0))
            return entry;
    return NULL;
}

bool departure_concerns(const Departure *departure, const Probe *probe, const uint64_t *in)
{
    return !departure->concerns || departure->concerns(probe, in);
}
