#include "engine/report/pool.h"

#include "engine/report/json.h"

PoolReport pool_report(Function *kernel, const BlockSize *block, bool limit_is_given)
{
    const Demands demands = demands_find(kernel);
    if (!demands.pool)
        return (PoolReport){.exists = false};
    PoolReport report = {.exists = true, .is_ignored = !demands.pool_is_given && !limit_is_given,
                         .span = demands.pool->span};
    report.pool = pool_find(kernel, block);
    report.launch = tuning_registers(&kernel->tuning, pool_most(&report.pool));
    if (report.pool.open == POOL_KNOWN && !report.launch)
        report.pool.open = POOL_NO_LAUNCH;
    if (report.pool.open == POOL_KNOWN)
        report.outcome = pool_serve(&report.pool, report.launch);
    return report;
}

static const char *open_words(PoolOpen open)
{
    switch (open) {
    case POOL_KNOWN: break;
    case POOL_NO_BODY: return "the kernel cannot be analysed";
    case POOL_NO_BLOCK: return "the block size is not known (-block)";
    case POOL_PART_OF_GROUP: return "a block does not consist of whole warpgroups";
    case POOL_PATHS: return "%tid does not decide which warpgroups execute it";
    case POOL_LOOP: return "it is in a loop";
    case POOL_GUARD: return "%tid does not decide its guard";
    case POOL_CALLED: return "it is in a function that the kernel calls";
    case POOL_NO_LAUNCH: return "an option of the assembler limits the registers at launch";
    case POOL_MANY: return "a warpgroup executes too many";
    }
    return "";
}

/* "; warpgroups 1 to 2: 240 (line 30)" */
static void groups_print(const Report *report, const Pool *pool, Buf *out)
{
    for (unsigned g = 0, end; g < pool->group_count; g = end) {
        const PoolGroup *group = &pool->groups[g];
        for (end = g + 1; end < pool->group_count && pool_groups_match(group, &pool->groups[end]);)
            end++;
        if (end == g + 1)
            buf_printf(out, "; warpgroup %u:", g);
        else
            buf_printf(out, "; warpgroups %u to %u:", g, end - 1);
        for (unsigned i = 0; i < group->step_count; i++)
            buf_printf(out, "%s %u (line %u)", i ? ", then" : "", group->steps[i].registers,
                       report_line(report, group->steps[i].span));
        if (!group->step_count)
            buf_puts(out, " unchanged");
    }
}

static void outcome_print(const PoolOutcome *outcome, Buf *out)
{
    switch (outcome->verdict) {
    case POOL_SERVED:
        buf_printf(out, "; all are served, %u left for each thread of one warpgroup", outcome->left);
        break;
    case POOL_MAY_STICK: buf_printf(out, "; warpgroup %u can wait forever", outcome->group); break;
    case POOL_STUCK: buf_printf(out, "; warpgroup %u waits forever", outcome->group); break;
    case POOL_TOO_FEW: buf_printf(out, "; warpgroup %u has too few to release", outcome->group); break;
    case POOL_NOT_TRIED: buf_puts(out, "; too many orders to follow"); break;
    }
}

void pool_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const PoolReport *self = &kernel->pool;
    if (!self->exists)
        return;
    buf_puts(out, "  register pool: ");
    if (self->is_ignored) {
        buf_puts(out, "ptxas ignores setmaxnreg, because no directive limits the registers at launch (C7508)");
    } else if (self->pool.open != POOL_KNOWN) {
        const Span place = self->pool.place.end ? self->pool.place : self->span;
        buf_printf(out, "not known: line %u: %s", report_line(report, place), open_words(self->pool.open));
    } else {
        buf_printf(out, "%u registers for each of %u threads at launch", self->launch, self->pool.threads);
        groups_print(report, &self->pool, out);
        outcome_print(&self->outcome, out);
    }
    buf_puts(out, "\n");
}

static const char *outcome_name(const PoolReport *self)
{
    static const char *const names[] = {[POOL_SERVED] = "served", [POOL_MAY_STICK] = "may wait forever",
                                        [POOL_STUCK] = "waits forever", [POOL_TOO_FEW] = "releases too many",
                                        [POOL_NOT_TRIED] = "unknown"};
    return self->is_ignored                   ? "ignored"
           : self->pool.open != POOL_KNOWN ? "unknown"
                                              : names[self->outcome.verdict];
}

json_t *pool_json(const Report *report, const KernelReport *kernel)
{
    const PoolReport *self = &kernel->pool;
    if (!self->exists)
        return json_null();
    const bool known = !self->is_ignored && self->pool.open == POOL_KNOWN;
    json_t *value = json_object(), *groups = json_array();
    json_object_set_new(value, "outcome", json_string(outcome_name(self)));
    json_object_set_new(value, "reason",
                        self->pool.open == POOL_KNOWN ? json_null() : json_string(open_words(self->pool.open)));
    json_object_set_new(value, "line",
                        json_line(report_line(report, self->pool.place.end ? self->pool.place : self->span)));
    json_object_set_new(value, "launch", known ? json_integer(self->launch) : json_null());
    for (unsigned g = 0; known && g < self->pool.group_count; g++) {
        json_t *steps = json_array();
        for (unsigned i = 0; i < self->pool.groups[g].step_count; i++) {
            const PoolStep *step = &self->pool.groups[g].steps[i];
            json_t *one = json_object();
            json_object_set_new(one, "line", json_line(report_line(report, step->span)));
            json_object_set_new(one, "registers", json_integer(step->registers));
            json_object_set_new(one, "increases", json_boolean(step->increases));
            json_array_append_new(steps, one);
        }
        json_array_append_new(groups, steps);
    }
    json_object_set_new(value, "warpgroups", groups);
    return value;
}

void pool_warn(Diag *diag, const Function *kernel, const PoolReport *pool)
{
    const PoolOutcome *outcome = &pool->outcome;
    if (!pool->exists)
        return;
    if (pool->is_ignored) {
        diag_warning(diag, pool->span, "ptxas ignores setmaxnreg (C7508): neither .maxnreg nor .minnctapersm with a "
                     "block size says how many registers kernel '%s' is launched with", kernel->name);
        return;
    }
    if (pool->pool.open != POOL_KNOWN)
        return;
    switch (outcome->verdict) {
    case POOL_SERVED:
    case POOL_NOT_TRIED: break;
    case POOL_TOO_FEW:
        diag_warning(diag, outcome->step.span, "warpgroup %u is to keep %u registers for each thread, but has only %u "
                     "of the %u that kernel '%s' is launched with", outcome->group, outcome->step.registers,
                     outcome->has, pool->launch, kernel->name);
        break;
    case POOL_MAY_STICK:
    case POOL_STUCK:
        diag_warning(diag, outcome->step.span,
                     "warpgroup %u %s forever for %u registers for each thread: it has %u, and of a block of %u "
                     "threads launched with %u each, %u are left for each thread of a warpgroup", outcome->group,
                     outcome->verdict == POOL_STUCK ? "waits" : "can wait", outcome->step.registers, outcome->has,
                     pool->pool.threads, pool->launch, outcome->left);
    }
}
