/* Rows of a thread's own, which several of its loops read, in shared memory.
 *
 *     for (i = 0; i < n; i++)                    for (first = 0; first < threads; first += m) {
 *         most = max(most, row[i]);                  the block copies rows first .. first + m - 1 to shared memory
 *     for (i = 0; i < n; i++)             ->         if (first <= thread && thread < first + m)
 *         sum += row[i] = exp(row[i] - most);            the loops, on the copy
 *     for (i = 0; i < n; i++)                        the block stores these rows
 *         row[i] /= sum;                         }
 *
 * Tiles of rows (stage.c) are too short for what a later loop reads again, so each loop reads all rows from memory, and
 * all threads of an SM together have far more of them than caches hold. Here, a block works on a few rows at a time, as
 * a whole, and memory moves each once (PLDI'10, section 3.3, of a block's threads in turns).
 *
 * The code from a place that all threads of the block reach, or none after it has ended, up to the end of the kernel is
 * executed by the threads in turns. It must not synchronize, so other threads may be at any place meanwhile, and what
 * they do is not seen, since that would be a data race. As tests at the place show (sweeps.h),
 *
 * - some of the loops, one after the other, load a range of bytes, each byte once: this is the row, so no other byte is
 *   copied. All other accesses of it, by constants that parameters show to be the same array, are inside;
 * - rows of other arrays are as long, at a distance that all threads share, if several loops read them or store them;
 * - what is stored to a row is all of it. Or all of another range of this length is stored, in loops after which one of
 *   the rows is not read, each element after the one of that row in whose place in shared memory it is then; and the
 *   two do not overlap, or are the same. Later loops may load it from there, and store it again;
 * - rows, and what is stored so, are apart from each other if one of them is stored;
 * - all other loads, of what the kernel may write, are outside of what is stored, and other stores outside of all of
 *   it.
 *
 * Loops may load more or less of a row under conditions, if nothing writes it: what is outside stays where it is. A row
 * may then be shorter in some threads than what is stored in its place.
 *
 * Rows are copied before the thread's first access, and stored after its last one, which changes nothing for any access
 * that is outside. Elsewhere, the code as it was is executed. */
#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/demands.h"
#include "opt/memory/held/internal.h"
#include "opt/memory/obstacles.h"
#include "opt/passes.h"
#include "target/target.h"

enum {
    MOST_COPIED = 4096, /* instructions of the rest of the kernel */
    MOST_SWEEPS = 16,
    MOST_TRIED = 16,    /* arrays */
    MOST_THREADS = 1024,
    LEAST_VERSION = 70,
    LEAST_ARCH = 80,
};

static bool is_plain_access(const Inst *inst, Access *access)
{
    return inst_is_plain(inst) && inst->sync == SYNC_NONE && inst_access(inst, access) && access->weak &&
           (access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE) && access->space != SPACE_SHARED &&
           access->space != SPACE_LOCAL;
}

/* Whether the kernel does nothing that other threads of the block take part in, or could wait for. */
static bool is_alone(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_is_opaque(inst) || (!inst_is_computation(inst) && !inst_is_terminator(inst) &&
                                         !is_plain_access(inst, &access)))
                return false;
        }
    return true;
}

static bool is_suitable(Arena *scratch, const PassContext *context)
{
    const Body *body = context->body;
    const Module *module = body->module;
    const unsigned *threads = context->block.threads;
    Arch arch;
    uint64_t shared = 0;
    if (kernel_obstacle(scratch, body, &shared).reason || shared || demands_find(body->function).waits)
        return false;
    return block_size_total(&context->block) && threads[0] % HELD_LANES == 0 && threads[0] <= MOST_THREADS &&
           threads[1] == 1 && threads[2] == 1 && module->version >= LEAST_VERSION && module->target_count &&
           arch_parse(module->targets[0], &arch) && arch.number >= LEAST_ARCH && is_alone(body);
}

/* Whether the block only ends the thread. */
static bool is_end(const Block *block)
{
    return !block->phis.count && block->first && block->first == block->last && inst_is_terminator(block->last) &&
           !inst_is_branch(block->last) && !inst_is_guarded(block->last);
}

static bool is_region(const Holding *h, const Block *block)
{
    return block != h->plan.at && dominance_has(h->s.dominance, h->plan.at, block);
}

static const Sweep *sweep_headed(const Holding *h, const Block *header)
{
    for (size_t i = 0; i < h->s.all.count; i++)
        if (h->s.all.data[i].loop->header == header)
            return &h->s.all.data[i];
    return NULL;
}

/* Whether the block's paths lead to others of the region, or end the thread. */
static bool leads_on(const Holding *h, const Block *block)
{
    const Inst *last = block->last && inst_is_terminator(block->last) ? block->last : NULL;
    if (last && !inst_is_branch(last))
        return !inst_is_guarded(last);
    FOR_EACH_SUCC(block, succ)
        if (!is_region(h, succ) && !is_end(succ))
            return false;
    return block->fall || last;
}

/* Finds the place, in front of all sweeps. */
static bool find_place(Holding *h)
{
    const Sweeps *s = &h->s;
    const Block *at = s->all.count ? s->all.data[0].loop->preheader : NULL;
    for (size_t i = 1; i < s->all.count && at; i++)
        at = dominance_common(s->dominance, at, s->all.data[i].loop->preheader);
    if (!at || at->is_cold || loop_of(s->loops, at) || s->all.count > MOST_SWEEPS)
        return false;
    h->plan.at = s->body->blocks.data[at->id];
    for (size_t b = 0; b < s->body->blocks.count; b++) {
        const Block *block = s->body->blocks.data[b];
        if (block != at && !is_region(h, block))
            continue;
        const Loop *loop = loop_of(s->loops, block);
        if (!leads_on(h, block) || (loop && !sweep_headed(h, loop->header)) ||
            bitset_has(&s->loops->irreducible, block->id))
            return false;
    }
    return true;
}

/* The accesses of the region that are executed once, except loads of what nothing writes; false if an address is not
 * understood. */
static bool find_singles(Holding *h)
{
    const Sweeps *s = &h->s;
    for (size_t b = 0; b < s->body->blocks.count; b++) {
        const Block *block = s->body->blocks.data[b];
        if (!is_region(h, block) || loop_of(s->loops, block))
            continue;
        for (Inst *inst = block->first; inst; inst = inst->next) {
            Access access;
            AffineAddress address;
            if (!inst_access(inst, &access) || access.space == SPACE_PARAM || access.space == SPACE_CONST ||
                (access.kind == ACCESS_LOAD && access.read_only && !access.awaited))
                continue;
            if (!access_is_global(s->affine, inst, &access) || !access.address || !access.bytes)
                return false;
            affine_of_address(s->affine, inst, access.address, &address);
            const Single single = {inst, address_base(inst, access.address), address_offset(access.address),
                                   access.bytes, address.form, access.kind == ACCESS_STORE};
            if (single.base == REG_NONE || address.form.bits != 64)
                return false;
            VEC_PUSH(s->scratch, h->singles, single);
        }
    }
    return true;
}

/* Holds the rows, if one of the groups of loops that load the first one takes all of it. */
static bool hold_found(Holding *h)
{
    Sweeps *s = &h->s;
    const size_t held = h->plan.accesses.count;
    HeldRow *row = &h->rows[0];
    s->place = sum_place_new(s->body, h->plan.at, s->analyses);
    Inst *before = sum_place_end(&s->place);
    for (unsigned groups = VEC_LAST(row->loads).group + 1; groups-- > 0;) {
        row->group = groups;
        h->plan.accesses.count = held;
        if (!held_group_fills(&row->loads, groups))
            continue;
        if (held_test_build(h)) {
            const Inst *first = h->plan.accesses.data[0].inst;
            h->context->holds = (HeldRows){.accesses = (unsigned)h->plan.accesses.count, .rows = h->row_count,
                                           .varies = h->plan.varies,
                                           .bytes = h->plan.bytes, .span = first->span};
            held_rewrite(&h->plan, &s->place);
            h->context->holds.array = h->plan.array;
            return true;
        }
        sum_place_undo(&s->place, before);
    }
    return false;
}

/* Holds the row that the sweep loads first, and others beside it, as far as they can be shown to be rows. */
static bool hold_row(Holding *h, const AffineForm *at)
{
    if (held_rows_find(h, at, true) && hold_found(h))
        return true;
    return h->row_count > 1 && held_rows_find(h, at, false) && hold_found(h);
}

/* Tries the arrays that sweeps load, in their order. */
static bool hold_any(Holding *h)
{
    const Sweeps *s = &h->s;
    VEC(const AffineForm *) tried = {0};
    for (size_t i = 0; i < s->all.count; i++)
        for (size_t k = 0; k < s->all.data[i].loads.count && tried.count < MOST_TRIED; k++) {
            const AffineForm *row = &s->all.data[i].loads.data[k].start;
            bool is_new = true;
            for (size_t t = 0; t < tried.count; t++)
                is_new &= !held_is_row_address(h, row, tried.data[t]);
            if (!is_new)
                continue;
            VEC_PUSH(s->scratch, tried, row);
            if (hold_row(h, row))
                return true;
        }
    return false;
}

bool pass_held_rows(PassContext *context)
{
    Arena *scratch = arena_new();
    if (!is_suitable(scratch, context)) {
        arena_free(scratch);
        return false;
    }
    Holding h = {.s = {.scratch = scratch, .body = context->body, .analyses = context->analyses, .takes_all = true,
                       .takes_branches = true, .never_waits = true},
                 .context = context};
    loops_add_preheaders(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    sweeps_find(&h.s);
    h.plan.body = context->body;
    h.plan.bytes = context->held_bytes ? context->held_bytes : HELD_BYTES;
    h.plan.threads = context->block.threads[0];
    h.plan.tests_block = context->block.origin != BLOCK_REQUIRED;
    const bool done = find_place(&h) && find_singles(&h) &&
                      body_may_version(context->body, h.s.dominance, h.plan.at, h.plan.at->first, MOST_COPIED) &&
                      hold_any(&h);
    arena_free(scratch);
    return done;
}
