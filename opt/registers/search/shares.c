/* The shares of the register pool: launch count and immediates of setmaxnreg, chosen together.
 *
 * A kernel that changes its registers keeps those that it is launched with, so nothing else can help it if it spills.
 * But the block may have registers that no warpgroup uses, and those that release theirs may keep too few or too many:
 * ptxas allots registers after a setmaxnreg by its immediate. Forms with other immediates, all .dec alike and all .inc
 * alike, are assembled; .inc gets what the model of the pool (opt/pool.h) can serve, in every order and for every block
 * that a launch may have, without a block less on an SM. A form is taken if it spills less. Then the other passes look
 * for a form of it that spills less still. */
#include "opt/passes.h"
#include "opt/pool.h"
#include "opt/registers/search/search.h"

enum { FORMS_MOST = 8, LAUNCH_MOST = 255 };

/* The pool of each block that a launch may have. */
typedef struct Pools {
    unsigned count;
    Pool pools[POOL_GROUPS];
} Pools;

/* Other numbers for a kernel. */
typedef struct Shares {
    unsigned released, requested; /* registers after each .dec, and each .inc */
    unsigned maxnreg;             /* 0: the kernel has none */
} Shares;

static bool is_simple(const Pool *pool)
{
    for (unsigned g = 0; g < pool->group_count; g++)
        if (pool->groups[g].step_count > 1)
            return false;
    return pool->open == POOL_KNOWN;
}

/* False if it is not known for each block what is executed in it. */
static bool pools_find(const Search *search, Pools *pools)
{
    BlockSize block = search->passes.block;
    const unsigned most = block_size_total(&block);
    *pools = (Pools){.count = 0};
    if (!most || most > BLOCK_MOST_THREADS)
        return false;
    if (block.origin != BLOCK_BOUNDED) {
        pools->pools[pools->count++] = pool_find(search->passes.kernel, &block);
    } else if (block.threads[1] > 1 || block.threads[2] > 1) {
        return false;
    } else {
        for (unsigned threads = WARPGROUP_THREADS; threads <= most; threads += WARPGROUP_THREADS) {
            block.threads[0] = threads;
            pools->pools[pools->count++] = pool_find(search->passes.kernel, &block);
        }
    }
    for (unsigned i = 0; i < pools->count; i++)
        if (!is_simple(&pools->pools[i]))
            return false;
    return true;
}

static bool has_step(const Pools *pools, Span span)
{
    for (unsigned i = 0; i < pools->count; i++)
        for (unsigned g = 0; g < pools->pools[i].group_count; g++)
            if (pools->pools[i].groups[g].step_count && pools->pools[i].groups[g].steps[0].span.begin == span.begin)
                return true;
    return false;
}

/* The numbers of the input; false if they differ among each other, or there is a setmaxnreg that no warpgroup
 * executes. */
static bool shares_read(const Pools *pools, const Body *body, Shares *shares)
{
    *shares = (Shares){.maxnreg = body->tuning.maxnreg};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            if (inst_is_opaque(inst) || inst->sync != SYNC_REGISTERS)
                continue;
            if (!has_step(pools, inst->span) || inst_is_guarded(inst))
                return false;
            const unsigned registers = (unsigned)inst->operands[0].constant->bits;
            unsigned *share = setmaxnreg_increases(inst) ? &shares->requested : &shares->released;
            if (*share && *share != registers)
                return false;
            *share = registers;
        }
    return shares->released && shares->requested;
}

/* True if no warpgroup ever waits forever, launched with this many registers for each thread. */
static bool are_served(const Pools *pools, const Shares *shares, unsigned launch)
{
    for (unsigned i = 0; i < pools->count; i++) {
        Pool pool = pools->pools[i];
        for (unsigned g = 0; g < pool.group_count; g++)
            for (unsigned s = 0; s < pool.groups[g].step_count; s++) {
                PoolStep *step = &pool.groups[g].steps[s];
                step->registers = step->increases ? shares->requested : shares->released;
            }
        if (pool_serve(&pool, (unsigned)align_up(launch, POOL_UNIT)).verdict != POOL_SERVED)
            return false;
    }
    return true;
}

/* Gives .inc as many registers as the pool can serve; false if it can serve none. */
static bool request_most(const Pools *pools, const Body *input, Shares *shares)
{
    Tuning tuning = input->tuning;
    tuning.maxnreg = shares->maxnreg;
    for (shares->requested = POOL_MOST; shares->requested > POOL_LEAST; shares->requested -= POOL_UNIT)
        if (are_served(pools, shares, tuning_registers(&tuning, shares->requested)))
            return true;
    return false;
}

/* The greatest .maxnreg with which an SM holds as many blocks. */
static unsigned raised_limit(const Search *search, unsigned limit)
{
    const Residency residency = {.sm = search->passes.sm,
                                 .block = search->passes.block,
                                 .dynamic_shared = search->request->dynamic_shared};
    Figures before = search->result->before, after = before;
    ResidencyChange change;
    for (unsigned most = LAUNCH_MOST; most > limit; most = most / POOL_UNIT * POOL_UNIT - (most % POOL_UNIT ? 0 : 8)) {
        after.registers = most;
        if (!residency_falls(&residency, &before, &after, &change))
            return most;
    }
    return limit;
}

static Body *form_make(const Body *input, const Shares *shares)
{
    Body *body = body_clone(input);
    body->tuning.maxnreg = shares->maxnreg;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            if (inst_is_opaque(inst) || inst->sync != SYNC_REGISTERS)
                continue;
            const bool increases = setmaxnreg_increases(inst);
            Inst *other = inst_build(
                body, increases ? "setmaxnreg.inc.sync.aligned.u32" : "setmaxnreg.dec.sync.aligned.u32", "i",
                (int64_t)(increases ? shares->requested : shares->released));
            other->span = inst->span;
            other->loc = inst->loc;
            inst_insert_before(inst, other);
            inst_remove(inst);
        }
    return body;
}

/* The numbers to try, the input's .dec first, then from the lowest up. */
static unsigned shares_list(const Search *search, const Pools *pools, const Body *input, const Shares *own,
                            Shares list[FORMS_MOST])
{
    unsigned count = 0;
    const unsigned limit = own->maxnreg ? raised_limit(search, own->maxnreg) : 0;
    for (unsigned i = 0, released = own->released; count < FORMS_MOST && released <= POOL_MOST; i++) {
        Shares shares = {.released = released, .maxnreg = limit};
        released = i ? released + POOL_UNIT : POOL_LEAST;
        if ((i && shares.released == own->released) || !request_most(pools, input, &shares))
            continue;
        if (shares.released != own->released || shares.requested != own->requested || shares.maxnreg != own->maxnreg)
            list[count++] = shares;
    }
    return count;
}

static bool is_better(const Figures *a, const Figures *b)
{
    return figures_spills(a) != figures_spills(b) ? figures_spills(a) < figures_spills(b)
                                                  : a->instructions < b->instructions;
}

/* Assembles the forms; the best one that spills less than the input becomes the search's best. */
static bool forms_try(Search *search, const Pools *pools, const Body *input, const Shares *list, unsigned count,
                      Budget budget, Shares *chosen)
{
    const Figures *before = &search->result->before;
    Proposals proposals = proposals_new(search, budget, count);
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        Body *body = form_make(input, &list[i]);
        proposals_add(search, &proposals, body);
        body_free(body);
    }
    for (unsigned i = 0; i < count && !budget_is_spent(search, budget); i++) {
        Body *body = form_make(input, &list[i]);
        search->record.tried[PASS_BOUNDS]++;
        const Figures figures = search_measure(search, body);
        const bool pays = search_accepts(search, &figures) && are_served(pools, &list[i], figures.registers) &&
                          is_better(&figures, found ? &search->best.figures : before) &&
                          figures_spills(&figures) < figures_spills(before);
        search_record(search, PASS_BOUNDS, (Move){.kind = MOVE_POOL, .count = list[i].requested,
                                                  .released = list[i].released}, body, &figures, pays);
        if (pays) {
            search_set_best(search, body, &figures);
            *chosen = list[i];
            found = true;
        } else {
            body_free(body);
        }
        if (found && !figures_spills(&search->best.figures))
            break;
    }
    return found;
}

static bool is_dear(Search *search, const SearchForm *form)
{
    const Objection objection = time_objection(search, form->body, &form->figures);
    return objects(&objection);
}

/* Lets the passes look for forms of the best one that spill less still, and returns to it, or to one that they came
 * through, if the form that they found is not worth its price. */
static void passes_run(Search *search, Budget budget)
{
    SearchForm chosen = {.body = body_clone(search->best.body), .figures = search->best.figures};
    search_propose(search, budget);
    if (search->request->spill || !is_dear(search, &search->best)) {
        search_form_free(&chosen);
        return;
    }
    SearchForm dear = search_take_best(search), current = search_mark(search);
    const bool is_worth_it =
        figures_spills(&current.figures) < figures_spills(&chosen.figures) && !is_dear(search, &current);
    search_form_free(&dear);
    search_form_free(is_worth_it ? &chosen : &current);
    search_put_best(search, is_worth_it ? current : chosen);
}

bool shares_choose(Search *search, const Body *input, PassContext *context, Budget budget)
{
    RegistersResult *result = search->result;
    Pools pools;
    Shares own, list[FORMS_MOST], chosen;
    if (result->explanation.demand.kind != DEMAND_POOL_FIXED || !figures_spills(&result->before) ||
        !pass_is_enabled(search->passes.options, PASS_BOUNDS) || !pools_find(search, &pools) ||
        !shares_read(&pools, input, &own))
        return false;
    search->target = (SearchTarget){
        .registers = LAUNCH_MOST,
        .most_instructions = result->before.instructions + result->before.instructions / 16 + 4,
    };
    /* The model of the pool says what may be launched; other demands stay. */
    const Inst *pool = search->demands.pool;
    search->demands.pool = NULL;
    const unsigned count = shares_list(search, &pools, input, &own, list);
    const bool found = forms_try(search, &pools, input, list, count, budget, &chosen);
    search->demands.pool = pool;
    if (!found)
        return false;
    if (!search->request->spill && is_dear(search, &search->best)) {
        SearchForm dear = search_take_best(search);
        search_form_free(&dear);
        return false;
    }
    result->explanation.outcome = REGISTERS_SHARES;
    result->explanation.shares[0] = own.released;
    result->explanation.shares[1] = own.requested;
    result->explanation.shares[2] = chosen.released;
    result->explanation.shares[3] = chosen.requested;
    /* From here on, no form is launched with other registers than the one that was chosen. */
    search->launched = search->best.figures;
    search->demands.pool_most = chosen.requested;
    search->target.registers = search->launched.registers;
    search->target.needs_no_spills = true;
    passes_run(search, budget);
    best_take(search, context);
    result->explanation.found = result->after;
    return true;
}
