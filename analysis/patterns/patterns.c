/* The patterns of accesses: what their sums say about threads, blocks and rounds. */
#include "analysis/patterns/internal.h"

/* The value of the base in the launch; false if it is not known. */
static bool launch_value(const PatternLaunch *launch, const PatternBase *base, int64_t *value)
{
    const Sreg *sreg = base->kind == PATTERN_BASE_SREG ? base->object : NULL;
    if (sreg && sreg->axis <= SREG_AXIS_Z && (sreg->role == SREG_ROLE_NTID || sreg->role == SREG_ROLE_NCTAID)) {
        *value = (sreg->role == SREG_ROLE_NTID ? launch->block : launch->grid)[sreg->axis];
        return *value != 0;
    }
    uint64_t bits;
    if (base->kind != PATTERN_BASE_PARAM ||
        !known_parameter_value(&launch->parameters, base->object, (uint64_t)base->offset, base->reg / 8, &bits))
        return false;
    *value = base->reg == 32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
    return true;
}

/* The sum with what is known of the launch. */
static PatternSum bound_sum(Arena *arena, const Patterns *patterns, const PatternSum *sum)
{
    Terms result = terms_of_constant(sum->constant);
    for (unsigned t = 0; t < sum->term_count; t++) {
        PatternTerm rest = {.coefficient = sum->terms[t].coefficient};
        unsigned count = 0;
        for (unsigned f = 0; f < PATTERN_FACTORS && sum->terms[t].factors[f]; f++) {
            const uint16_t factor = sum->terms[t].factors[f];
            int64_t value;
            if (launch_value(&patterns->launch, &patterns->bases.data[factor], &value))
                rest.coefficient *= value;
            else
                rest.factors[count++] = factor;
        }
        if (count)
            terms_add_term(&result, &rest, 1);
        else
            result.constant += rest.coefficient;
    }
    result.known &= sum->known;
    return terms_store(arena, &result);
}

/* The indices that have one value only. */
static PatternMask single_indices(const PatternLaunch *launch)
{
    PatternMask mask = 0;
    for (unsigned i = 0; i < 3; i++)
        mask |= (PatternMask)(launch->block[i] == 1) << (PATTERN_X + i) |
                (PatternMask)(launch->grid[i] == 1) << (PATTERN_BLOCK_X + i);
    return mask;
}

static PatternClass class_of(const AccessPattern *access)
{
    if (!access->address.known || access->unknown & ~PATTERN_BLOCKS)
        return PATTERN_UNRESOLVED;
    if (access->depends & ~(PATTERN_BLOCKS | PATTERN_THREADS))
        return PATTERN_LOOP;
    return access->depends & PATTERN_THREADS ? PATTERN_THREAD : PATTERN_CONSTANT;
}

static void set_access(Finder *finder, AccessPattern *out, const Inst *inst, const Access *access)
{
    Patterns *patterns = finder->patterns;
    const PatternMask many = ~single_indices(&patterns->launch);
    const PatternSum address = pattern_is_lost(patterns->loops, inst->block) ? (PatternSum){0}
                                   : pattern_address(finder, inst, access->address);
    *out = (AccessPattern){.inst = inst, .kind = access->kind, .bytes = access->bytes,
                           .loop = loop_of(patterns->loops, inst->block)};
    out->address = bound_sum(finder->arena, patterns, &address);
    out->depends = pattern_depends(patterns, &out->address, inst->block, &out->unknown) & many;
    out->unknown &= many;
    out->class = class_of(out);
    out->group = (PatternGroup){.first = out, .count = 1};
}

static void find_accesses(Finder *finder)
{
    Patterns *patterns = finder->patterns;
    const Body *body = finder->request->body;
    for (unsigned pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (size_t b = 0; b < body->blocks.count; b++)
            for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
                Access access;
                if (inst_is_opaque(inst) || !inst_access(inst, &access) || !access.address ||
                    !access_is_global(finder->request->affine, inst, &access))
                    continue;
                if (pass)
                    set_access(finder, &patterns->accesses[count], inst, &access);
                count++;
            }
        if (!pass)
            patterns->accesses = ARENA_ARRAY(finder->arena, AccessPattern, count + 1);
        patterns->access_count = count;
    }
}

Patterns *patterns_compute(Arena *arena, const PatternRequest *request)
{
    Patterns *patterns = ARENA_NEW(arena, Patterns);
    Arena *scratch = arena_new();
    Finder finder = {.arena = arena, .scratch = scratch, .request = request, .patterns = patterns};
    require(request->body->ssa);
    patterns->body = request->body;
    patterns->loops = request->loops;
    patterns->launch = request->launch;
    patterns->exits = ARENA_ARRAY(arena, PatternMask, request->loops->loop_count + 1);
    patterns->rests = ARENA_ARRAY(arena, PatternRest, request->loops->loop_count + 1);
    VEC_PUSH(arena, patterns->bases, ((PatternBase){.kind = PATTERN_BASE_VALUE, .reg = REG_NONE}));
    patterns_find_depends(&finder);
    patterns_find_sums(&finder);
    if (!request->only_sums) {
        find_accesses(&finder);
        patterns_find_groups(arena, patterns);
        patterns_find_rests(patterns);
    }
    arena_free(scratch);
    return patterns;
}

unsigned pattern_same(const Patterns *patterns, const AccessPattern *access, unsigned axis)
{
    const unsigned threads = patterns->launch.block[axis] ? patterns->launch.block[axis] : 1;
    return access->address.known && !(access->depends >> (PATTERN_X + axis) & 1) ? threads : 1;
}
