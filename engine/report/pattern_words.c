#include "engine/report/pattern_words.h"

#include "engine/report/json.h"
#include "engine/report/refusal_words.h"

typedef struct Writer {
    Arena *arena;
    const KernelPatterns *kernel;
    const Patterns *patterns;
    Buf *out;
} Writer;

static unsigned line_of(const Writer *w, Span span)
{
    return span.end ? source_position(w->patterns->body->module->source, span.begin).line : 0;
}

/* The line of the first instruction of the loop. */
static unsigned loop_line(const Writer *w, const Loop *loop)
{
    for (const Inst *inst = loop->header->first; inst; inst = inst->next)
        if (inst->span.end)
            return line_of(w, inst->span);
    return 0;
}

/* The loops around the access in whose rounds its address changes, the innermost first. */
static const Loop *next_moving(const AccessPattern *access, const Loop *loop)
{
    while (loop && !(access->depends & pattern_loop_bit(loop)))
        loop = loop->parent;
    return loop;
}

/* All executions by the first block in the first rounds of the loop. */
static PatternPlaces block_places(const Writer *w, const AccessPattern *access, const Loop *loop)
{
    const unsigned *block = w->kernel->block;
    return (PatternPlaces){.count = block[0] * block[1] * block[2], .loop = loop, .rounds = PATTERN_ROUNDS,
                           .is_group = loop == access->loop};
}

static PatternExtent block_extent(const Writer *w, const AccessPattern *access, const Loop *loop)
{
    const PatternPlaces places = block_places(w, access, loop);
    return pattern_extent(w->patterns, access, &places);
}

/* The bytes that the block shares with the next one along an axis, of all that it touches in the first rounds of a
 * loop. */
typedef struct Overlap {
    uint64_t bytes;
    const Loop *loop; /* that with whose rounds it shares the most; NULL: the address is the same in all rounds */
} Overlap;

/* False if it is unknown. */
static bool block_overlap(const Writer *w, const AccessPattern *access, unsigned axis, Overlap *out)
{
    const Loop *loop = next_moving(access, access->loop);
    *out = (Overlap){0, loop};
    do {
        const PatternPlaces here = block_places(w, access, loop);
        PatternPlaces there = here;
        uint64_t bytes;
        there.block[axis] = 1;
        if (!pattern_overlap(w->patterns, access, &here, &there, &bytes))
            return false;
        if (bytes > out->bytes)
            *out = (Overlap){bytes, loop};
        loop = loop ? next_moving(access, loop->parent) : NULL;
    } while (loop);
    return true;
}

/* Whether there are, or may be, neighbours along the axis. */
static bool has_neighbours(const Writer *w, unsigned axis)
{
    const unsigned blocks = w->patterns->launch.grid[axis];
    return blocks ? blocks > 1 : w->kernel->reads_block[axis];
}

/* ": the same for 16 threads along x and 4 along y" */
static void print_same(const Writer *w, const AccessPattern *access)
{
    bool any = false;
    if (!(access->depends & PATTERN_THREADS)) {
        buf_puts(w->out, " the same for all threads of the block;");
        return;
    }
    for (unsigned axis = 0; axis < 3; axis++) {
        const unsigned same = pattern_same(w->patterns, access, axis);
        if (same < 2)
            continue;
        if (any)
            buf_printf(w->out, " and %u along %c", same, "xyz"[axis]);
        else
            buf_printf(w->out, " the same for %u threads along %c", same, "xyz"[axis]);
        any = true;
    }
    buf_puts(w->out, any ? ";" : "");
}

/* Whether all that is added to a pointer is known, so that it is known where sectors begin. */
static bool is_placed(const Writer *w, const AccessPattern *access)
{
    unsigned bases = 0;
    for (unsigned t = 0; t < access->address.term_count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && access->address.terms[t].factors[f]; f++) {
            const PatternBaseKind kind = w->patterns->bases.data[access->address.terms[t].factors[f]].kind;
            bases += kind != PATTERN_BASE_SREG && kind != PATTERN_BASE_ROUND;
        }
    return bases < 2;
}

/* "2 sectors a warp" */
static void print_sectors(const Writer *w, const AccessPattern *access)
{
    const double sectors = pattern_warp_sectors(w->patterns, access);
    buf_printf(w->out, "%s %.4g sector%s a warp", is_placed(w, access) ? "" : " about", sectors,
               sectors == 1 ? "" : "s");
    if (pattern_is_coalesced(w->patterns, access))
        buf_puts(w->out, ", coalesced");
}

/* "; 16 rows of 64 bytes a block in 16 rounds" */
static void print_extent(const Writer *w, const AccessPattern *access, const Loop *loop, bool is_only)
{
    const PatternExtent extent = block_extent(w, access, loop);
    if (!extent.known)
        return;
    if (extent.pieces == 1)
        buf_printf(w->out, "; %llu bytes a block", (unsigned long long)extent.bytes);
    else if (extent.piece)
        buf_printf(w->out, "; %llu rows of %llu bytes a block", (unsigned long long)extent.pieces,
                   (unsigned long long)extent.piece);
    else
        buf_printf(w->out, "; %llu bytes a block, in %llu pieces", (unsigned long long)extent.bytes,
                   (unsigned long long)extent.pieces);
    if (loop)
        buf_printf(w->out, " in %u rounds", PATTERN_ROUNDS);
    if (loop && !is_only)
        buf_printf(w->out, " of the loop on line %u", loop_line(w, loop));
}

static void print_extents(const Writer *w, const AccessPattern *access)
{
    const Loop *first = next_moving(access, access->loop);
    const bool is_only = !first || !next_moving(access, first->parent);
    print_extent(w, access, first, is_only);
    for (const Loop *loop = first ? next_moving(access, first->parent) : NULL; loop;
         loop = next_moving(access, loop->parent))
        print_extent(w, access, loop, false);
}

static void print_blocks(const Writer *w, const AccessPattern *access)
{
    const Loop *first = next_moving(access, access->loop);
    const bool is_only = !first || !next_moving(access, first->parent);
    for (unsigned axis = 0; axis < 2; axis++) {
        Overlap overlap;
        if (!has_neighbours(w, axis))
            continue;
        if (!(access->depends >> (PATTERN_BLOCK_X + axis) & 1)) {
            buf_printf(w->out, "; the same in all blocks along %c", "xy"[axis]);
        } else if (access->unknown >> (PATTERN_BLOCK_X + axis) & 1) {
            buf_printf(w->out, "; elsewhere in other blocks along %c, not known how far", "xy"[axis]);
        } else if (block_overlap(w, access, axis, &overlap) && overlap.bytes) {
            buf_printf(w->out, "; %llu bytes also in the next block along %c", (unsigned long long)overlap.bytes,
                       "xy"[axis]);
            if (!is_only)
                buf_printf(w->out, " in these rounds of the loop on line %u", loop_line(w, overlap.loop));
        }
    }
}

/* The value because of which an address is not known in all threads and rounds. */
static void print_unresolved(const Writer *w, const AccessPattern *access)
{
    buf_puts(w->out, " unresolved");
    for (unsigned t = 0; t < access->address.term_count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && access->address.terms[t].factors[f]; f++) {
            const PatternBase *base = &w->patterns->bases.data[access->address.terms[t].factors[f]];
            const bool is_value = base->kind == PATTERN_BASE_VALUE || base->kind == PATTERN_BASE_JOIN;
            if (!is_value || !(base->depends & access->unknown & ~PATTERN_BLOCKS))
                continue;
            const Inst *inst = value_inst(analyses_values(w->kernel->analyses), base->reg);
            buf_printf(w->out, ": by %s", body_reg_name(w->patterns->body, base->reg));
            if (inst)
                buf_printf(w->out, ", of %s on line %u", inst_spelling(w->arena, inst), line_of(w, inst->span));
            else
                buf_puts(w->out, ", which differs by the path taken");
            return;
        }
}

/* The outcome of staging for the loads of a group. */
typedef struct StagedGroup {
    bool done;
    uint64_t bytes, sectors_before, sectors_after;
    const Refusal *refusal; /* not done; may be none */
} StagedGroup;

/* False if it did not look at them. */
static bool staged_group(const Writer *w, const AccessPattern *access, StagedGroup *out)
{
    const StagedLoop *loop = kernel_patterns_loop(w->kernel, access);
    *out = (StagedGroup){.refusal = loop ? &loop->refusal : &w->kernel->staged.refusal};
    if (!w->kernel->has_staging || access->kind != ACCESS_LOAD || !access->loop)
        return false;
    for (size_t i = 0; i < w->patterns->access_count; i++) {
        const AccessPattern *member = &w->patterns->accesses[i];
        const bool is_member = member->group.first == access->group.first;
        const StagedLoad *load = is_member ? kernel_patterns_load(w->kernel, member->inst) : NULL;
        if (!load)
            continue;
        /* The loads of a nest have one array in common. */
        out->bytes = load->sectors_before || load->bytes > out->bytes
                         ? load->bytes + (load->sectors_before ? out->bytes : 0)
                         : out->bytes;
        out->done |= load->done;
        out->sectors_before += load->sectors_before;
        out->sectors_after += load->sectors_after;
        if (is_refusal(&load->refusal))
            out->refusal = &load->refusal;
    }
    return out->done || is_refusal(out->refusal);
}

static void print_staging(const Writer *w, const AccessPattern *access)
{
    StagedGroup group;
    if (!staged_group(w, access, &group))
        return;
    if (!group.done) {
        buf_puts(w->out, "; cannot be staged: ");
        refusal_print(group.refusal, w->out);
        return;
    }
    buf_printf(w->out, "; can be staged in %llu bytes", (unsigned long long)group.bytes);
    if (group.sectors_before)
        buf_printf(w->out, ", where %llu sectors become %llu", (unsigned long long)group.sectors_before,
                   (unsigned long long)group.sectors_after);
}

static void print_loop(const Writer *w, const AccessPattern *access)
{
    if (access->group.count > 1)
        buf_printf(w->out, ", %u rounds unrolled", access->group.count);
    const PatternRest *rest = access->loop ? &w->patterns->rests[access->loop->index] : NULL;
    if (rest && rest->of)
        buf_printf(w->out, rest->rounds > 1 ? ", in the remainder of the loop on line %u"
                                            : ", in a loop that continues the one on line %u",
                   loop_line(w, rest->of));
}

static void print_access(const Writer *w, const AccessPattern *access, unsigned indent)
{
    buf_printf(w->out, "%*sline %u", (int)indent, "", line_of(w, access->inst->span));
    cuda_line_print(access->inst->loc, w->out);
    buf_printf(w->out, ": %s", inst_spelling(w->arena, access->inst));
    if (access->address.known) {
        buf_puts(w->out, " [");
        pattern_print(w->patterns, &access->address, w->out);
        buf_puts(w->out, "]");
    }
    print_loop(w, access);
    buf_puts(w->out, ":");
    if (access->class == PATTERN_UNRESOLVED)
        print_unresolved(w, access);
    if (access->class == PATTERN_UNRESOLVED && !(access->unknown & PATTERN_THREADS) && access->address.known) {
        buf_puts(w->out, ";");
        print_same(w, access);
        print_sectors(w, access);
    } else if (access->class != PATTERN_UNRESOLVED) {
        print_same(w, access);
        print_sectors(w, access);
        print_extents(w, access);
        print_blocks(w, access);
    }
    print_staging(w, access);
    buf_puts(w->out, "\n");
}

static Writer writer_new(Arena *arena, const KernelPatterns *kernel, Buf *out)
{
    return (Writer){arena, kernel, kernel->patterns, out};
}

void patterns_print(Arena *arena, const KernelPatterns *kernel, unsigned indent, Buf *out)
{
    const Writer w = writer_new(arena, kernel, out);
    if (!kernel->patterns || !kernel->patterns->access_count)
        return;
    buf_printf(out, "%*saccess patterns, in blocks of %u x %u x %u threads%s:\n", (int)indent, "", kernel->block[0],
               kernel->block[1], kernel->block[2], kernel->is_block_assumed ? ", which is assumed" : "");
    for (size_t i = 0; i < kernel->patterns->access_count; i++)
        if (kernel->patterns->accesses[i].group.first == &kernel->patterns->accesses[i])
            print_access(&w, &kernel->patterns->accesses[i], indent + 2);
}

void patterns_print_input(Function *kernel, const BlockSize *block, unsigned indent, Buf *out)
{
    Arena *scratch = arena_new();
    KernelPatterns patterns = kernel_patterns(scratch, kernel, NULL, block, NULL);
    patterns_print(scratch, &patterns, indent, out);
    kernel_patterns_free(&patterns);
    arena_free(scratch);
}

static json_t *extents_json(const Writer *w, const AccessPattern *access)
{
    json_t *array = json_array();
    const Loop *loop = next_moving(access, access->loop);
    do {
        const PatternExtent extent = block_extent(w, access, loop);
        json_t *value = json_object();
        if (!extent.known) {
            json_decref(value);
            break;
        }
        json_object_set_new(value, "loop_line", loop ? json_line(loop_line(w, loop)) : json_null());
        json_object_set_new(value, "rounds", json_integer(loop ? PATTERN_ROUNDS : 1));
        json_set_number(value, "bytes", extent.bytes);
        json_set_number(value, "sectors", extent.sectors);
        json_set_number(value, "pieces", extent.pieces);
        json_object_set_new(value, "piece_bytes", extent.piece ? json_integer((json_int_t)extent.piece) : json_null());
        json_array_append_new(array, value);
        loop = loop ? next_moving(access, loop->parent) : NULL;
    } while (loop);
    return array;
}

/* The bytes in common with the next block along the axis; null: unknown. */
static json_t *overlap_json(const Writer *w, const AccessPattern *access, unsigned axis)
{
    Overlap overlap;
    return block_overlap(w, access, axis, &overlap) ? json_integer((json_int_t)overlap.bytes) : json_null();
}

static json_t *staging_of_json(const Writer *w, const AccessPattern *access)
{
    StagedGroup group;
    if (!staged_group(w, access, &group))
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "possible", json_boolean(group.done));
    json_object_set_new(value, "reason", group.done ? json_null() : json_refusal(group.refusal));
    json_object_set_new(value, "bytes", group.done ? json_integer((json_int_t)group.bytes) : json_null());
    json_set_number(value, "sectors_before", group.sectors_before);
    json_set_number(value, "sectors_after", group.sectors_after);
    return value;
}

static json_t *access_json(const Writer *w, const AccessPattern *access)
{
    static const char *const classes[] = {[PATTERN_CONSTANT] = "constant", [PATTERN_THREAD] = "thread",
                                          [PATTERN_LOOP] = "loop", [PATTERN_UNRESOLVED] = "unresolved"};
    json_t *value = json_object();
    const double sectors = pattern_warp_sectors(w->patterns, access);
    const PatternRest *rest = access->loop ? &w->patterns->rests[access->loop->index] : NULL;
    Buf sum = {0};
    pattern_print(w->patterns, &access->address, &sum);
    json_object_set_new(value, "class", json_string(classes[access->class]));
    json_object_set_new(value, "address", access->address.known ? json_text(buf_text(&sum)) : json_null());
    json_object_set_new(value, "loop_line", access->loop ? json_line(loop_line(w, access->loop)) : json_null());
    json_object_set_new(value, "rest_of_line", rest && rest->of ? json_line(loop_line(w, rest->of)) : json_null());
    json_object_set_new(value, "unrolled", json_integer(access->group.count));
    json_object_set_new(value, "first_line", json_line(line_of(w, access->group.first->inst->span)));
    json_object_set_new(value, "same_along_x", json_integer(pattern_same(w->patterns, access, 0)));
    json_object_set_new(value, "same_along_y", json_integer(pattern_same(w->patterns, access, 1)));
    json_object_set_new(value, "same_along_z", json_integer(pattern_same(w->patterns, access, 2)));
    json_object_set_new(value, "sectors", sectors < 0 ? json_null() : json_real(sectors));
    json_object_set_new(value, "coalesced",
                        sectors < 0 ? json_null() : json_boolean(pattern_is_coalesced(w->patterns, access)));
    json_object_set_new(value, "touched", extents_json(w, access));
    json_object_set_new(value, "next_block_x_bytes", overlap_json(w, access, 0));
    json_object_set_new(value, "next_block_y_bytes", overlap_json(w, access, 1));
    json_object_set_new(value, "staging", staging_of_json(w, access));
    buf_free(&sum);
    return value;
}

json_t *pattern_json(Arena *arena, const KernelPatterns *kernel, Span span)
{
    const Writer w = writer_new(arena, kernel, NULL);
    for (size_t i = 0; kernel->patterns && i < kernel->patterns->access_count; i++)
        if (kernel->patterns->accesses[i].inst->span.begin == span.begin)
            return access_json(&w, &kernel->patterns->accesses[i]);
    return json_null();
}
