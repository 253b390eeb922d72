/* Edges: in "if (row < m && col < n) { loop; store }", threads beyond the edge of the data go through the loop as well,
 * in the place of a thread that is not, and store nothing.
 *
 *     if (row >= m || col >= n)           in_y = row < m; in_x = col < n
 *         goto end                        joins = 0 < m && 0 < n && the block's first row < m && its first col < n
 *     loop(row, col)                      if (!(in_y && in_x) && !joins) goto end
 *     c[row * n + col] = sum       ->     row' = in_y ? row : 0; col' = in_x ? col : 0
 * end:                                    loop(row', col')
 *                                         if (!(in_y && in_x)) goto end
 *                                         c[row' * n + col'] = sum
 *                                     end:
 *
 * So all threads of a block go round the loop together, replicas of one thread do too, and staging finds full blocks at
 * the edge of the data as well.
 *
 * The place is that of a thread of the launch: it has the thread's own indices, of thread and block, along each axis on
 * which it is within the data, and 0 along the others. Axes that a condition depends on together are given up
 * together. That thread gets to the guards, as all threads of the launch do, and passes them, because each condition
 * depends either on axes that are kept, and holds, or on axes where all indices are 0, and 'joins' says that it holds
 * there. So what is executed up to the stores is what another thread executes, if
 *   1. what is used of the code before comes from the indices by computation alone;
 *   2. it only computes, and loads from global memory, constants and parameters;
 *   3. neither its addresses nor its branches depend on what it loads, unless nothing writes there: the thread may load
 *      at another time than the one whose place it takes, while that stores. The value is dropped with the rest, as the
 *      thread does not get to the stores. Outside of loops, it does not even load what the kernel may store, as the old
 *      element in "c[i] = alpha * sum + beta * c[i]", which would be a data race: it leaves before, or has 0. In loops,
 *      loads by a pointer by which the kernel stores are refused for the same reason.
 * The block's first indices keep blocks that are beyond the data as a whole, as in a grid that is larger than it need
 * be, from working in vain; they decide only what pays.
 *
 * If blocks are merged later, those that are beyond the grid are at an edge as well: "this block is in the grid" is a
 * condition like the others. */
#include "opt/edges/internal.h"

#include "opt/common/early.h"
#include "opt/passes.h"

bool edges_parts(const Edges *e, RegId predicate, bool passes_if, EdgeTerm parts[EDGE_TERMS_MOST], unsigned *count)
{
    EdgeTerm pending[EDGE_TERMS_MOST] = {{.predicate = predicate, .passes_if = passes_if}};
    unsigned left = 1;
    *count = 0;
    while (left) {
        EdgeTerm term = pending[--left];
        Computation c;
        const Inst *inst = value_inst(e->values, term.predicate);
        const bool is_known = inst && computation_of(e->body, inst, &c) && c.bits == 1;
        bool splits = is_known && (c.op == COMPUTE_NOT || c.op == (term.passes_if ? COMPUTE_AND : COMPUTE_OR)) &&
                      left + c.source_count <= EDGE_TERMS_MOST;
        for (unsigned s = 0; splits && s < c.source_count; s++)
            splits = c.sources[s].reg != REG_NONE;
        for (unsigned s = 0; splits && s < c.source_count; s++)
            pending[left++] = (EdgeTerm){
                c.sources[s].reg, (term.passes_if != (c.op == COMPUTE_NOT)) != c.sources[s].is_inverted, 0};
        if (splits)
            continue;
        term.axes = e->axes[term.predicate];
        if (*count == EDGE_TERMS_MOST)
            return false;
        parts[(*count)++] = term;
    }
    return true;
}

bool edges_is_joint(const EdgeTerm *part)
{
    return __builtin_popcount(part->axes) == 2;
}

/* Whether the branch is the one that leads threads beside a diagonal along with the others. */
static bool is_diagonal(const Edges *e, const Inst *branch, const EdgeTerm *terms, unsigned count)
{
    bool is_joint = false;
    for (unsigned t = 0; t < count; t++)
        is_joint |= edges_is_joint(&terms[t]);
    return is_joint && e->diagonal.end && branch->span.begin == e->diagonal.begin &&
           branch->span.end == e->diagonal.end;
}

/* Adds the parts of "the predicate has this value". False if one is not known before the first guard. */
static bool add_terms(Edges *e, const EarlyPlace *place, RegId predicate, bool passes_if)
{
    EdgeTerm parts[EDGE_TERMS_MOST];
    unsigned count;
    if (!edges_parts(e, predicate, passes_if, parts, &count) || e->term_count + count > EDGE_TERMS_MOST)
        return false;
    for (unsigned p = 0; p < count; p++) {
        if (parts[p].axes & AXES_UNKNOWN || !value_is_early(place, parts[p].predicate))
            return false;
        e->terms[e->term_count++] = parts[p];
    }
    return true;
}

/* Blocks that are merged later may be beyond the grid, which a condition of its own then says. */
static void add_existence(Edges *e)
{
    for (unsigned d = 0; d < 3; d++) {
        e->exists[d] = REG_NONE;
        if (e->request->shrinks_grid || e->request->blocks[d] < 2)
            continue;
        Block *entry = e->body->blocks.data[0];
        Interner *names = e->body->module->names;
        RegId index = body_add_reg(e->body, TYPE_B32, intern(names, "%ctaid"));
        RegId size = body_add_reg(e->body, TYPE_B32, intern(names, "%nctaid"));
        e->exists[d] = body_add_reg(e->body, TYPE_PRED, intern(names, "%exists"));
        inst_insert_first(entry, inst_build(e->body, "setp.lt.u32", "drr", e->exists[d], index, size));
        inst_insert_first(entry, inst_build(e->body, "mov.u32", "ds", size,
                                            sreg_component(sreg_find("%nctaid"), d)->name));
        inst_insert_first(entry, inst_build(e->body, "mov.u32", "ds", index,
                                            sreg_component(sreg_find("%ctaid"), d)->name));
    }
}

/* The successor of the block that is not 'other'; NULL: there are not two. */
static Block *other_side(const Block *block, const Block *other)
{
    const Inst *branch = block_two_way_branch(block);
    if (!branch || (branch->targets[0] != other && block->fall != other))
        return NULL;
    return branch->targets[0] == other ? block->fall : branch->targets[0];
}

static bool is_only_way(const Block *block, const Block *from)
{
    return block && block->pred_count == 1 && block->preds[0] == from && !block->phis.count;
}

static bool is_computed(const Block *block)
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (!inst_is_branch(inst) && !inst_can_move(inst))
            return false;
    return true;
}

bool edges_find_region(Edges *e)
{
    const Dominance *dominance = e->dominance;
    const uint32_t begin = dominance->enter[e->inside->id], end = dominance->leave[e->inside->id];
    bool has_loop = false;
    for (uint32_t i = begin; i < end; i++) {
        const Block *block = e->body->blocks.data[dominance->order[i]];
        bool leads_on = false;
        has_loop |= loop_headed(e->loops, block) != NULL;
        FOR_EACH_SUCC(block, succ) {
            leads_on = true;
            if (succ != e->outside && !dominance_has(dominance, e->inside, succ))
                return false;
        }
        if (!leads_on || (block->last && inst_is_terminator(block->last) && !inst_is_branch(block->last)))
            return false;
    }
    if (!has_loop)
        return false;
    e->region = bitset_new(e->scratch, e->body->blocks.count);
    for (uint32_t i = begin; i < end; i++)
        bitset_add(&e->region, dominance->order[i]);
    return true;
}

/* The guards from the block on, all of which lead to 'outside' or on. */
static bool find_guards(Edges *e, Block *first, Block *outside)
{
    const EarlyPlace place = {
        .scratch = e->scratch, .body = e->body, .at = first, .values = e->values, .dominance = e->dominance};
    uint8_t axes = 0;
    e->guard_count = e->term_count = 0;
    e->outside = outside;
    for (Block *block = first; block && e->guard_count < EDGE_GUARDS_MOST; block = e->inside) {
        Block *inside = other_side(block, outside);
        if (!is_only_way(inside, block) || inside == outside || (block != first && !is_computed(block)))
            break;
        const Inst *branch = block_two_way_branch(block);
        const bool taken = branch->targets[0] == inside;
        const unsigned before = e->term_count;
        if (!add_terms(e, &place, inst_predicate(branch), taken != branch->guard_inverted))
            break;
        if (is_diagonal(e, branch, e->terms + before, e->term_count - before)) {
            e->term_count = before;
            break;
        }
        e->guards[e->guard_count++] = block;
        e->inside = inside;
    }
    for (unsigned t = 0; t < e->term_count; t++)
        axes |= e->terms[t].axes;
    for (unsigned d = 0; d < 3; d++)
        if (e->exists[d] != REG_NONE && !add_terms(e, &place, e->exists[d], true))
            return false;
    return e->guard_count && axes && !outside->phis.count && edges_find_region(e);
}

BitSet edges_sources(const Edges *e, Block *to)
{
    BitSet sources = bitset_new(e->scratch, e->body->blocks.count);
    VEC(Block *) pending = {0};
    VEC_PUSH(e->scratch, pending, to);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        for (unsigned p = 0; p < block->pred_count; p++)
            if (!bitset_has(&sources, block->preds[p]->id)) {
                bitset_add(&sources, block->preds[p]->id);
                VEC_PUSH(e->scratch, pending, block->preds[p]);
            }
    }
    return sources;
}

/* Whether all threads of the launch get to the guard, or none: what comes before may end threads, or send them
 * elsewhere, that others take the place of. */
static bool is_reached_by_all(const Edges *e, Block *guard)
{
    const Dominance *postdominance = analyses_postdominance(e->analyses);
    const BitSet sources = edges_sources(e, guard);
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        const Inst *branch = block_two_way_branch(block);
        if (bitset_has(&sources, block->id) && !dominance_has(postdominance, guard, block) &&
            !(branch && !e->axes[inst_predicate(branch)]))
            return false;
    }
    return true;
}

const Inst *edges_find_end(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_is_opaque(inst) || inst_is_call(inst))
                return inst;
    return NULL;
}

static bool find_first_guard(Edges *e)
{
    const Inst *end = edges_find_end(e->body);
    if (end)
        return edges_refuse(e, end, REFUSAL_STAGE_CALL);
    for (uint32_t i = 0; e->loops->loop_count && i < e->dominance->order_count; i++) {
        Block *block = e->body->blocks.data[e->dominance->order[i]];
        const Inst *branch = block_two_way_branch(block);
        if (!branch || loop_of(e->loops, block))
            continue;
        if ((find_guards(e, block, branch->targets[0]) || find_guards(e, block, block->fall)) &&
            is_reached_by_all(e, block))
            return true;
    }
    return edges_refuse(e, NULL, REFUSAL_EDGES_NONE);
}

static void find_groups(Edges *e)
{
    memset(e->groups, 0, sizeof e->groups);
    for (unsigned t = 0; t < e->term_count; t++)
        for (unsigned d = 0; d < 3; d++)
            if (e->terms[t].axes & 1 << d)
                e->groups[d] |= e->terms[t].axes;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned d = 0; d < 3; d++)
            for (unsigned other = 0; other < 3; other++)
                if (e->groups[d] & 1 << other)
                    e->groups[d] |= e->groups[other];
}

static bool has_effect(const Inst *inst)
{
    const unsigned may_trap = inst->effects & (EFFECT_PURE | EFFECT_READ) ? EFFECT_TRAP : 0;
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_THREAD | EFFECT_HINT | EFFECT_CC_READ |
                              EFFECT_CC_WRITE | may_trap;
    return !inst_is_branch(inst) && (inst->effects & ~harmless || inst->sync != SYNC_NONE);
}

/* The pointer that the address of the access begins at; none if several may be it. */
static EdgePointer pointer_of(const Edges *e, const Inst *inst)
{
    const Patterns *patterns = analyses_patterns(e->analyses);
    Access access;
    const bool has_address = inst_access(inst, &access) && access.address;
    const RegId reg = has_address ? address_base(inst, access.address) : REG_NONE;
    const PatternSum *sum = reg != REG_NONE ? &patterns->sums[reg] : NULL;
    EdgePointer pointer = {0};
    for (unsigned t = 0; sum && sum->known && t < sum->term_count; t++) {
        const PatternTerm *term = &sum->terms[t];
        const PatternBase *base = &patterns->bases.data[term->factors[0]];
        if (term->coefficient != 1 || term->factors[1] || base->kind != PATTERN_BASE_PARAM)
            continue;
        if (pointer.parameter)
            return (EdgePointer){0};
        pointer = (EdgePointer){base->object, base->offset};
    }
    return pointer;
}

/* Patterns take time, so this is done only where there is a region. */
static void find_stores(Edges *e)
{
    if (e->knows_stores)
        return;
    e->knows_stores = true;
    for (size_t b = 0; b < e->body->blocks.count; b++)
        for (const Inst *inst = e->body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_access(inst, &access) && access.kind != ACCESS_LOAD)
                VEC_PUSH(e->scratch, e->stores, ((EdgeStore){inst, pointer_of(e, inst)}));
        }
}

/* Whether the instruction loads from global memory what the kernel may store; in loops, where that is left to chance,
 * only what it stores by the same pointer. */
static bool loads_stored(const Edges *e, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || access.space != SPACE_GLOBAL || access.read_only)
        return false;
    const bool in_loop = loop_of(e->loops, inst->block) != NULL;
    const EdgePointer pointer = in_loop ? pointer_of(e, inst) : (EdgePointer){0};
    for (size_t i = 0; i < e->stores.count && (pointer.parameter || !in_loop); i++) {
        const EdgePointer *stored = &e->stores.data[i].pointer;
        const bool is_same = stored->parameter == pointer.parameter && stored->offset == pointer.offset;
        if ((!in_loop || is_same) &&
            !accesses_apart_always(analyses_memory(e->analyses), inst, e->stores.data[i].inst))
            return true;
    }
    return false;
}

/* The last place that is before all effects, outside of loops, and before loads of its block that belong to them. */
bool edges_find_last(Edges *e)
{
    e->last = NULL;
    e->effect = NULL;
    find_stores(e);
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        Block *block = e->body->blocks.data[b];
        bool has = false;
        for (const Inst *inst = block->first; inst && bitset_has(&e->region, block->id) && !has; inst = inst->next)
            has = has_effect(inst);
        if (has)
            e->last = e->last ? dominance_common(e->dominance, e->last, block) : block;
    }
    if (!e->last)
        return edges_refuse(e, NULL, REFUSAL_EDGES_NONE);
    const bool in_loop = loop_of(e->loops, e->last) != NULL;
    for (Inst *inst = e->last->first; inst && !e->effect; inst = inst->next)
        e->effect = has_effect(inst) || (!in_loop && loads_stored(e, inst)) ? inst : NULL;
    if (!in_loop)
        return true;
    return edges_refuse(e, e->effect, e->effect ? REFUSAL_EDGES_LOOP : REFUSAL_EDGES_NONE);
}

bool edges_is_before(const Edges *e, const Block *block, const Inst *inst)
{
    if (block != e->last)
        return !e->last || !dominance_has(e->dominance, e->last, block);
    for (const Inst *at = e->effect; at; at = at->next)
        if (at == inst)
            return false;
    return true;
}

/* Whether a thread may execute the instruction in the place of another. */
static bool check_inst(Edges *e, const Inst *inst)
{
    Access access;
    const Sreg *sreg = inst_sreg(inst);
    if (inst_is_branch(inst))
        return inst->target_count == 1 || edges_refuse(e, inst, REFUSAL_EDGES_INST);
    if (sreg && edges_axis(inst) == 3 && sreg->dependence != SREG_LAUNCH && sreg->dependence != SREG_CONSTANT)
        return edges_refuse(e, inst, REFUSAL_EDGES_INST);
    if (inst_is_opaque(inst) || inst->tied_count || has_effect(inst))
        return edges_refuse(e, inst, REFUSAL_EDGES_INST);
    if (!inst_access(inst, &access))
        return true;
    if (access.kind != ACCESS_LOAD || !access.weak || !access.address ||
        (access.space != SPACE_GLOBAL && access.space != SPACE_CONST && access.space != SPACE_PARAM))
        return edges_refuse(e, inst, REFUSAL_EDGES_INST);
    return true;
}

/* Whether values from memory that may change decide if the instruction is executed, or what it reads. */
static bool depends_on(const Inst *inst, const BitSet *loaded)
{
    Access access;
    const RegId predicate = inst_predicate(inst);
    const bool accesses = inst_access(inst, &access);
    if (predicate != REG_NONE && bitset_has(loaded, predicate))
        return true;
    for (unsigned r = 0; accesses && r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && bitset_has(loaded, inst->refs[r].reg))
            return true;
    return false;
}

static bool mark(BitSet *loaded, RegId reg)
{
    const bool is_new = !bitset_has(loaded, reg);
    bitset_add(loaded, reg);
    return is_new;
}

/* Adds what the instruction makes of values from memory that may change; true if that is new. */
static bool mark_results(const Edges *e, BitSet *loaded, const Inst *inst)
{
    Access access;
    bool is_loaded = inst_access(inst, &access) && (!access.read_only || (access.awaited && e->awaits));
    bool is_new = false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        is_loaded |= ref_reads(&inst->refs[r]) && bitset_has(loaded, inst->refs[r].reg);
    for (unsigned r = 0; is_loaded && r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            is_new |= mark(loaded, inst->refs[r].reg);
    return is_new;
}

static bool mark_phis(BitSet *loaded, const Block *block)
{
    bool is_new = false;
    for (size_t p = 0; p < block->phis.count; p++)
        for (size_t a = 0; a < block->phis.data[p].args.count; a++)
            if (bitset_has(loaded, block->phis.data[p].args.data[a].reg))
                is_new |= mark(loaded, block->phis.data[p].dst);
    return is_new;
}

/* The values of the region that come from memory that may change. */
static BitSet find_loaded(const Edges *e)
{
    BitSet loaded = bitset_new(e->scratch, e->values->reg_count);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (size_t b = 0; b < e->body->blocks.count; b++) {
            const Block *block = e->body->blocks.data[b];
            if (!bitset_has(&e->region, block->id))
                continue;
            is_new |= mark_phis(&loaded, block);
            for (const Inst *inst = block->first; inst; inst = inst->next)
                is_new |= mark_results(e, &loaded, inst);
        }
    }
    return loaded;
}

bool edges_check_region(Edges *e)
{
    const BitSet loaded = find_loaded(e);
    bool has_loop = false;
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        if (!bitset_has(&e->region, block->id))
            continue;
        has_loop |= loop_headed(e->loops, block) && edges_is_before(e, block, block->first);
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (!edges_is_before(e, block, inst))
                continue;
            if (!check_inst(e, inst))
                return false;
            if (depends_on(inst, &loaded))
                return edges_refuse(e, inst, REFUSAL_EDGES_DATA);
            if (!loads_stored(e, inst))
                continue;
            if (loop_of(e->loops, block))
                return edges_refuse(e, inst, REFUSAL_EDGES_STORED);
            if (inst_is_guarded(inst) || inst_destination(inst) == REG_NONE)
                return edges_refuse(e, inst, REFUSAL_EDGES_INST);
            VEC_PUSH(e->scratch, e->stored, (Inst *)inst);
        }
    }
    return has_loop || edges_refuse(e, NULL, REFUSAL_EDGES_NONE);
}

/* Whether the rest of the kernel, too, may be executed by blocks that are beyond the grid. */
static bool is_rest_harmless(const Edges *e)
{
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        if (bitset_has(&e->region, block->id))
            continue;
        if (loop_of(e->loops, block))
            return false;
        for (const Inst *inst = block->first; inst; inst = inst->next)
            if (!inst_is_terminator(inst) && !inst_can_move(inst))
                return false;
    }
    return true;
}

void edges_find_facts(Edges *e, Analyses *analyses, Arena *scratch)
{
    e->scratch = scratch;
    e->analyses = analyses;
    e->dominance = analyses_dominance(analyses);
    e->loops = analyses_loops(analyses);
    e->values = analyses_values(analyses);
    e->awaits = body_may_await(e->body);
    edges_find_axes(e);
}

bool pass_edges(PassContext *context)
{
    Arena *scratch = arena_new();
    context->edges = (EdgesResult){.span = {0, 0}};
    edges_split_conditions(context->body, analyses_loops(context->analyses), analyses_values(context->analyses));
    Edges e = {.body = context->body, .request = &context->edges_request, .result = &context->edges,
               .diagonal = context->diagonal};
    add_existence(&e);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    edges_find_facts(&e, context->analyses, scratch);
    bool done = find_first_guard(&e);
    if (done) {
        context->edges.span = e.guards[0]->last->span;
        find_groups(&e);
        context->edges.has_all = is_rest_harmless(&e);
        done = edges_find_last(&e) && edges_check_region(&e) && edges_rewrite(&e);
    }
    arena_free(scratch);
    return done;
}
