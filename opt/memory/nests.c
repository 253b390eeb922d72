/* Nests: a loop inside of another reads lines, of which each round of the outer one, and each thread along y, has one,
 * as the rows of an image in a convolution.
 *
 *     for (j = 0; j < n; j++)                          the threads test that row y + j begins where it is expected to
 *         for (i = 0; i < m; i++)                      for (j = 0; j + 32 <= n; j += 32) {
 *             s += a[(y + j) * pitch + x + i]   ->         barrier; the block loads rows j .. j + Y + 30; barrier
 *                  * b[j * m + i];                         for (k = 0; k < 32; k++)
 *                                                              for (i = 0; i < m; i++)
 *                                                                  s += tile[y + k][x + i] * own[k][i];
 *                                                      }
 *
 * The outer loop is the one that is staged, by the same rules, and what it reads inside of the inner loop is staged for
 * several of its rounds at once. The pointers of the inner loop begin, in each round of the outer one, at an address
 * that other threads can compute, and advance by a constant. Which rows these are is guessed from the code: row
 * across_y * y + j + m for the m-th of the thread's lines. Before the first tile, each thread compares all its
 * addresses, in all rounds of the outer loop, with those that follow from the guess and from two addresses of thread 0;
 * the threads vote on that, and on whether all of them get to the inner loop in all rounds. So nothing is assumed about
 * the arithmetic: each element of a tile has been computed as an address by a thread that reads it. */
#include "opt/memory/internal.h"
#include "opt/memory/obstacles.h"

#include <stdlib.h>

enum {
    ROWS_OF_DEPTH = 32,  /* rounds of the outer loop, for rows of STAGE_DEPTH bytes */
    ROUNDS_MOST = 32,
    BYTES_MOST = 24576,  /* of all fields */
    LOADS_MOST = 128,    /* of a thread, for a tile */
    ACROSS_MOST = 16,
    SECTOR = 32, /* bytes */
};

/* Whether control gets from a block to another in one round of the loop. */
static bool reaches(const Staging *s, const Block *from, const Block *to)
{
    BitSet seen = bitset_new(s->scratch, s->body->blocks.count);
    VEC(const Block *) pending = {0};
    VEC_PUSH(s->scratch, pending, from);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        if (block == to)
            return true;
        if (bitset_has(&seen, block->id))
            continue;
        bitset_add(&seen, block->id);
        FOR_EACH_SUCC(block, succ)
            if (succ != s->loop->header && loop_contains(s->loops, s->loop, succ))
                VEC_PUSH(s->scratch, pending, succ);
    }
    return false;
}

/* The branch at the block's end as a guard of the inner loop, if one side does not lead there. False if some threads
 * may then get past the loop in another way. */
static bool add_inner_guard(Staging *s, const Block *block)
{
    const Block *to = s->inner->preheader;
    const Inst *branch = block_two_way_branch(block);
    bool all = true, any = false;
    if (block == to)
        return true;
    FOR_EACH_SUCC(block, succ) {
        const bool leads = succ != s->loop->header && loop_contains(s->loops, s->loop, succ) && reaches(s, succ, to);
        all &= leads;
        any |= leads;
    }
    if (all || !any)
        return true;
    if (!branch || s->inner_guard_count == GUARDS_MOST || !dominance_has(s->dominance, block, to) ||
        !s->patterns[inst_predicate(branch)].is_resolved)
        return false;
    const bool by_taken = branch->targets[0] != s->loop->header && reaches(s, branch->targets[0], to);
    s->inner_guards[s->inner_guard_count++] =
        (Guard){block, inst_predicate(branch), by_taken != branch->guard_inverted};
    return true;
}

static bool find_inner_guards(Staging *s)
{
    s->inner_guard_count = 0;
    for (uint32_t b = 0; b < s->loop->block_count; b++)
        if (!loop_contains(s->loops, s->inner, s->loop->blocks[b]) && !add_inner_guard(s, s->loop->blocks[b]))
            return false;
    return true;
}

static bool is_outside(const Staging *s, RegId reg)
{
    const ValueDef *def = &s->values->defs[reg];
    return def->block && !loop_contains(s->loops, s->loop, def->block) && !variance_reg(s->variance, reg);
}

/* Whether the counter of the inner loop starts with a value that is there before the outer one, or a constant. */
static bool starts_early(Staging *s)
{
    const AffineForm *form = &analyses_affine(s->analyses)->forms[s->inner_trips.counter.start];
    s->inner_starts_fixed = form->bits == s->inner_trips.counter.bits && !form->term_count;
    s->inner_start = form->constant;
    return s->inner_starts_fixed || is_outside(s, s->inner_trips.counter.start);
}

/* The only loop inside that is often executed; its rounds are the same in all rounds of the outer one, and in all
 * threads. */
static bool find_inner(Staging *s)
{
    const Loop *inner = NULL;
    for (uint32_t i = s->loop->index + 1; i < s->loop->end; i++) {
        const Loop *loop = &s->loops->loops[i];
        if (loop->header->is_cold)
            continue;
        if (inner || loop->parent != s->loop || loop->end != i + 1)
            return false;
        inner = loop;
    }
    s->inner = inner;
    if (!inner || !inner->preheader || inner->latch_count != 1 || !loop_contains(s->loops, s->loop, inner->preheader) ||
        !trip_count_find(inner, s->loops, s->analyses, &s->inner_trips))
        return false;
    s->inner_trips.counter.start = value_copied_from(s->values, s->inner_trips.counter.start);
    s->inner_trips.bound = value_copied_from(s->values, s->inner_trips.bound);
    s->inner_trips.counter.addend = value_copied_from(s->values, s->inner_trips.counter.addend);
    return s->inner_trips.exiting == inner->latches[0] && starts_early(s) &&
           (s->inner_trips.bound == REG_NONE || is_outside(s, s->inner_trips.bound)) &&
           (s->inner_trips.counter.addend == REG_NONE || is_outside(s, s->inner_trips.counter.addend));
}

/* The phi of the inner loop that the address is, plus a constant; NULL: it is not one that advances by a constant. */
static const Phi *find_root(const Staging *s, RegId base, int64_t *constant, int64_t *step)
{
    const AffineForm *form = &analyses_affine(s->analyses)->forms[base];
    AffineTerm terms[AFFINE_TERMS];
    AffineForm by;
    if (form->bits != 64 || form->term_count != 1 || form->terms[0].base != AFFINE_VALUE ||
        form->terms[0].coefficient != 1)
        return NULL;
    const RegId root = form->terms[0].reg;
    const ValueDef *def = &s->values->defs[root];
    if (def->block != s->inner->header || def->inst || type_bits(s->body->regs.data[root].type) != 64)
        return NULL;
    const Phi *phi = &def->block->phis.data[def->phi];
    if (!loop_step(s->inner, phi, analyses_affine(s->analyses), terms, &by) || by.term_count || by.bits != 64)
        return NULL;
    *constant = form->constant;
    *step = by.constant;
    return phi;
}

/* A load of one element, executed in every round of the inner loop, from a line. */
static bool member_find(const Staging *s, Inst *inst, Member *out)
{
    Access access;
    int64_t constant, step;
    if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.address || !access.weak ||
        !inst_is_plain(inst) || inst->pragma || !access_is_global(analyses_affine(s->analyses), inst, &access) ||
        !dominance_has(s->dominance, inst->block, s->inner->latches[0]) || inst->operand_count != 2)
        return false;
    *out = (Member){.inst = inst, .base = address_base(inst, access.address), .count = 1, .bytes = access.bytes,
                    .type = inst->signature->types[0]};
    const RegId reg = operand_plain_reg(inst, &inst->operands[0]);
    if (reg == REG_NONE || out->base == REG_NONE || inst->signature->vector > 1)
        return false;
    out->bits = type_bits(s->body->regs.data[reg].type);
    const Phi *phi = find_root(s, out->base, &constant, &step);
    if (!phi || out->bits < 16 || out->bits > 64 || s->body->regs.data[reg].vector > 1)
        return false;
    out->root = loop_start(s->inner, phi);
    out->from_root = constant + address_offset(access.address);
    out->pattern = s->patterns[out->root];
    out->pattern.slope[INDEX_ROUND] = step; /* of the inner loop */
    return out->pattern.is_resolved && !(out->pattern.depends >> INDEX_Z & 1);
}

static int compare_members(const void *a, const void *b)
{
    const Member *x = a, *y = b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    if (x->from_root != y->from_root)
        return x->from_root < y->from_root ? -1 : 1;
    return (x->inst->id > y->inst->id) - (x->inst->id < y->inst->id);
}

/* The number of members from the first on that read one line without a gap, with its end in bytes from the root. */
static unsigned find_line(const MemberVec *members, size_t first, int64_t *end)
{
    const Member *start = &members->data[first];
    unsigned count = 0;
    *end = start->from_root;
    for (size_t i = first; i < members->count && count < MEMBERS_MOST; i++, count++) {
        const Member *member = &members->data[i];
        if (member->root != start->root || member->type != start->type || member->bits != start->bits ||
            member->inst->block != start->inst->block || member->from_root > *end ||
            (member->from_root - start->from_root) % start->bytes)
            break;
        *end = member->from_root + member->bytes > *end ? member->from_root + member->bytes : *end;
    }
    return count;
}

/* Whether the threads of a row read all elements of its line. */
static bool is_line(const Staging *s, const Member *start, int64_t span)
{
    const int64_t bytes = start->bytes, step = start->pattern.slope[INDEX_ROUND];
    const int64_t across = start->pattern.slope[INDEX_X];
    return !(start->pattern.unknown >> INDEX_X & 1) && across >= 0 && step > 0 && across % bytes == 0 &&
           step % bytes == 0 && across <= span && across <= ACROSS_MOST * bytes &&
           step <= across * (s->block.threads[0] - 1) + span;
}

/* The root's growth with the index, in bytes or, if that is not known, in multiples of its pattern's scale; 0: nothing
 * is known. */
static int64_t row_slope(const Pattern *pattern, Index index)
{
    if (!(pattern->unknown >> index & 1))
        return pattern->slope[index];
    return pattern->is_scaled && !pattern->is_mixed ? pattern->scaled[index] : 0;
}

/* Whether the term is the same in all rounds. */
static bool is_fixed(const Staging *s, const AffineTerm *term)
{
    return (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || is_outside(s, term->reg);
}

/* The rows between two roots, by the difference of their sums; -1: not known. Says whether it is the same in all
 * rounds. */
static int64_t rows_between(const Staging *s, RegId first, RegId other, bool *fixed)
{
    const Affine *affine = analyses_affine(s->analyses);
    const AffineForm *a = &affine->forms[first], *b = &affine->forms[other];
    const Pattern *pattern = &s->patterns[first];
    const int64_t slope = row_slope(pattern, INDEX_ROUND);
    int64_t apart = b->constant - a->constant;
    unsigned matched = 0, odd = 0;
    *fixed = true;
    if (!slope || a->bits != 64 || b->bits != 64)
        return -1;
    for (unsigned i = 0; i < b->term_count; i++) {
        bool found = false;
        for (unsigned k = 0; k < a->term_count; k++)
            found |= affine_base_equal(&a->terms[k], &b->terms[i]) &&
                     a->terms[k].coefficient == b->terms[i].coefficient;
        matched += found;
        odd += !found;
        if (!found) {
            apart = b->terms[i].coefficient;
            *fixed = is_fixed(s, &b->terms[i]);
        }
    }
    if (matched != a->term_count || odd > 1 || (odd && b->constant != a->constant) || apart % slope || apart < 0)
        return -1;
    return apart / slope;
}

/* The field of a new line, or a new one; NULL: there are too many. */
static Field *find_field(Staging *s, const Field *wanted, unsigned *row, bool *fixed)
{
    for (unsigned f = 0; f < s->field_count; f++) {
        Field *field = &s->fields[f];
        const int64_t rows = rows_between(s, field->root, wanted->root, fixed);
        if (field->across == wanted->across && field->step == wanted->step && field->span == wanted->span &&
            field->start == wanted->start && field->across_y == wanted->across_y && field->type == wanted->type &&
            rows >= 0 && rows <= ROUNDS_MOST / 2) {
            *row = (unsigned)rows;
            field->last = *row > field->last ? *row : field->last;
            return field;
        }
    }
    *row = 0;
    *fixed = false;
    if (s->field_count == FIELDS_MOST)
        return NULL;
    s->fields[s->field_count] = *wanted;
    return &s->fields[s->field_count++];
}

static void add_line(Staging *s, const MemberVec *members, size_t first, unsigned count, int64_t end)
{
    const Member *start = &members->data[first];
    const int64_t slope = row_slope(&start->pattern, INDEX_Y);
    const int64_t round = row_slope(&s->patterns[start->root], INDEX_ROUND);
    const bool along_y = start->pattern.depends >> INDEX_Y & 1;
    Tile tile = {.member_count = count, .dim_count = 1};
    if (along_y && (!round || slope % round || slope / round < 0 || slope / round > ACROSS_MOST))
        return;
    for (unsigned m = 0; m < count; m++)
        tile.members[m] = members->data[first + m];
    line_make(&tile, end);
    const Field wanted = {.root = start->root, .across_y = along_y ? (unsigned)(slope / round) : 0,
                          .across = tile.across, .step = tile.step, .span = tile.span, .chunk = tile.chunk,
                          .pad = tile.pad, .unit = tile.unit, .start = tile.start, .like = start->inst,
                          .type = start->type};
    const Field *field = find_field(s, &wanted, &tile.row, &tile.is_fixed);
    if (!field)
        return;
    tile.field = (unsigned)(field - s->fields);
    VEC_PUSH(s->scratch, s->tiles, tile);
}

static void find_lines(Staging *s)
{
    MemberVec members = {0};
    for (uint32_t b = 0; b < s->inner->block_count; b++)
        for (Inst *inst = s->inner->blocks[b]->first; inst; inst = inst->next) {
            Member member;
            if (member_find(s, inst, &member))
                VEC_PUSH(s->scratch, members, member);
        }
    if (members.count)
        qsort(members.data, members.count, sizeof *members.data, compare_members);
    for (size_t i = 0; i < members.count;) {
        int64_t end;
        const unsigned count = find_line(&members, i, &end);
        if (is_line(s, &members.data[i], end - members.data[i].from_root))
            add_line(s, &members, i, count, end);
        i += count;
    }
}

/* The most words of one bank that lanes which the hardware serves together read, summed over a warp, for rows of this
 * many elements. */
static unsigned bank_turns(const Staging *s, const Field *field, uint32_t pitch)
{
    const unsigned words = field->chunk * field->unit / sizeof(uint32_t), each = words > 1 ? words : 1;
    const unsigned together = LANES / each, lanes = s->threads < LANES ? s->threads : LANES;
    unsigned turns = 0;
    for (unsigned begin = 0; begin < lanes; begin += together) {
        uint32_t seen[LANES][LANES];
        unsigned counts[LANES] = {0}, most = 0;
        for (unsigned k = 0; k < together * each && begin + k / each < lanes; k++) {
            const unsigned lane = begin + k / each, x = lane % s->block.threads[0], y = lane / s->block.threads[0];
            const uint32_t element = y * field->across_y * pitch + x * field->across;
            const uint32_t word = element * field->unit / (uint32_t)sizeof(uint32_t) + k % each;
            unsigned i = 0;
            while (i < counts[word % LANES] && seen[word % LANES][i] != word)
                i++;
            if (i < counts[word % LANES])
                continue;
            seen[word % LANES][counts[word % LANES]++] = word;
            most = counts[word % LANES] > most ? counts[word % LANES] : most;
        }
        turns += most;
    }
    return turns;
}

/* Elements of a row, so that chunks are aligned and the lanes of a warp are in different banks. */
static uint32_t field_pitch(const Staging *s, const Field *field)
{
    const uint32_t aligned = UNIT_MOST / field->unit, columns = (field->columns + aligned - 1) / aligned * aligned;
    uint32_t best = columns;
    for (uint32_t pitch = columns; pitch < columns + LANES; pitch += aligned)
        if (bank_turns(s, field, pitch) < bank_turns(s, field, best))
            best = pitch;
    return best;
}

static bool place_fields(Staging *s)
{
    uint64_t bytes = 0, used = s->shared + s->request->dynamic_shared, loads = 0;
    for (unsigned f = 0; f < s->field_count; f++) {
        Field *field = &s->fields[f];
        field->rows = field->across_y * (s->block.threads[1] - 1) + field->last + s->rounds;
        field->columns = field->across * (s->block.threads[0] - 1) + field->span +
                         field->step * (s->inner_rounds - 1) + field->pad;
        field->pitch = field_pitch(s, field);
        field->offset = (uint32_t)bytes;
        field->bytes = (field->rows * field->pitch * field->unit + UNIT_MOST - 1) / UNIT_MOST * UNIT_MOST;
        bytes += field->bytes;
        loads += divide_up((uint64_t)field->rows * field->columns, s->threads);
        /* Else there would be rows that no thread reads. */
        if (field->across_y > s->rounds || field->last > s->rounds)
            return false;
    }
    s->bytes = (uint32_t)bytes;
    return bytes <= BYTES_MOST && used + bytes <= SHARED_MOST && loads <= LOADS_MOST;
}

/* Rows as long as the depth says, and as many rounds of the outer loop. */
static bool choose_rounds(Staging *s)
{
    const unsigned depth = s->request->depth ? s->request->depth : STAGE_DEPTH;
    unsigned most = 1;
    for (unsigned f = 0; f < s->field_count; f++) {
        const unsigned rounds = depth / (s->fields[f].step * s->fields[f].unit);
        most = rounds > most ? rounds : most;
    }
    s->inner_rounds = most;
    s->rounds = ROWS_OF_DEPTH * depth / STAGE_DEPTH;
    s->rounds = s->rounds < ROUNDS_MOST ? s->rounds : ROUNDS_MOST;
    while (s->rounds > 2 && !place_fields(s))
        s->rounds /= 2;
    return s->rounds > 2 && place_fields(s);
}

/* The rounds of the inner loop that follow one another: its loads become few. */
static unsigned choose_factor(const Staging *s)
{
    unsigned count = 0;
    if (!s->request->unrolls || !loop_can_unroll(s, s->inner))
        return 1;
    for (const Inst *inst = s->inner->header->first; inst; inst = inst->next)
        count++;
    for (size_t i = 0; i < s->tiles.count; i++)
        count -= s->tiles.data[i].member_count;
    return unroll_factor(s->inner_rounds, count);
}

/* Whether a field has more than one row of each thread, or more threads than rows: else nothing is shared. */
static bool is_shared(const Staging *s)
{
    bool shared = false;
    for (unsigned f = 0; f < s->field_count; f++) {
        const Field *field = &s->fields[f];
        shared |= field->across_y && field->across && (uint64_t)field->rows * field->columns * 2 <
                  (uint64_t)s->threads * s->rounds * s->inner_rounds * field->step;
    }
    return shared;
}

/* The sectors of a field, if its rows have no gaps. */
static uint64_t field_sectors(const Field *field)
{
    return divide_up((uint64_t)field->rows * field->columns * field->unit, SECTOR);
}

/* Replicas of a load are one in the report. */
static void report_member(Staging *s, const Field *field, const Inst *inst)
{
    const uint64_t reads = (uint64_t)s->threads * s->rounds * s->inner_rounds * field->step;
    for (size_t i = 0; i < s->report->loads.count; i++)
        if (s->report->loads.data[i].span.begin == inst->span.begin)
            return;
    VEC_PUSH(s->body->module->arena, s->report->loads,
             ((StagedLoad){.span = inst->span, .loc = inst->loc, .done = true, .bytes = field->bytes,
                           .is_resolved = true, .same_x = field->across ? 1 : s->block.threads[0],
                           .same_y = field->across_y ? 1 : s->block.threads[1], .sectors_after = field_sectors(field),
                           .sharers = (unsigned)(reads / ((uint64_t)field->rows * field->columns))}));
}

static void report_fields(Staging *s)
{
    for (size_t i = 0; i < s->tiles.count; i++)
        for (unsigned m = 0; m < s->tiles.data[i].member_count; m++)
            report_member(s, &s->fields[s->tiles.data[i].field], s->tiles.data[i].members[m].inst);
    s->report->rounds = s->rounds;
    s->report->shared = s->bytes;
    s->report->is_nest = true;
}

bool nest_find(Staging *s)
{
    if (s->block.threads[2] > 1 || !find_inner(s) || !find_inner_guards(s))
        return false;
    find_lines(s);
    if (!s->tiles.count || !choose_rounds(s) || !is_shared(s) ||
        trip_count_bound(&s->trips, analyses_affine(s->analyses)) < s->rounds)
        return false;
    s->inner_factor = choose_factor(s);
    report_fields(s);
    return true;
}
