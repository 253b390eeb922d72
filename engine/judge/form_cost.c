#include "engine/judge/form_cost.h"

#include <string.h>

#include "engine/launch.h"

/* Without a launch, this many original blocks for each place that the device has for blocks. */
enum { ESTIMATED_WAVES = 8 };

CostBasis cost_basis(Arena *arena, const SmLimits *sm, const Device *device, const Launch *launch,
                     const unsigned block[3], uint64_t dynamic_shared)
{
    CostBasis basis = {.arena = arena, .sm = sm, .device = *device, .launch = launch,
                       .dynamic_shared = dynamic_shared};
    memcpy(basis.block, launch ? launch->block : block, sizeof basis.block);
    if (launch) {
        basis.blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
        basis.dynamic_shared = launch->dynamic_shared;
        basis.jobs = launch_jobs(launch, 0);
        basis.samples = true;
    }
    return basis;
}

void basis_set_jobs(CostBasis *basis, const FormCost *input)
{
    if (basis->launch && input->known)
        basis->jobs = launch_jobs(basis->launch, input->profile->warp_instructions);
}

static Profile *make_profile(const CostBasis *basis, const FunctionForm *form, const LaunchChange *change,
                             const char **error)
{
    if (basis->launch) {
        const CountOptions count = {.jobs = basis->jobs, .samples = basis->samples, .poll = basis->poll};
        return profile_count(basis->arena, form, basis->launch, change, &count, error);
    }
    unsigned threads = basis->block[0] * basis->block[1] * basis->block[2];
    double places = basis->device.multiprocessors * sm_occupancy(basis->sm, threads, 0, 0).blocks;
    const AssumedLaunch launch = {
        .block = {basis->block[0], basis->block[1], basis->block[2]},
        .blocks = basis->blocks > 0 ? basis->blocks : places * ESTIMATED_WAVES,
        .trips = basis->trips,
        .at_edge = basis->at_edge,
        .splits_warps = basis->splits_warps,
        .known = basis->known,
    };
    return profile_estimate(basis->arena, form, &launch, change, error);
}

Time form_time(const CostBasis *basis, const FormCost *cost)
{
    const SmUse use = {cost->figures.registers, cost->figures.stack,
                       cost->figures.shared + launch_change_shared(&cost->change, basis->dynamic_shared)};
    return time_predict(cost->profile, basis->sm, &basis->device, &use);
}

FormCost form_cost(const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change)
{
    FormCost cost = {.figures = *figures};
    if (change)
        cost.change = *change;
    cost.profile = make_profile(basis, form, change, &cost.error);
    if (!cost.profile)
        return cost;
    cost.time = form_time(basis, &cost);
    cost.known = cost.time.known;
    if (!cost.known)
        cost.error = "an SM cannot hold one of its blocks";
    return cost;
}

CountedPart counted_part(const CostBasis *basis, const FormCost *input)
{
    const Profile *profile = input->profile;
    CountedPart part = {.is_counted = basis->launch != NULL};
    if (part.is_counted && profile) {
        part.blocks = profile->blocks;
        part.ran = profile->sampled_blocks > 0 ? profile->sampled_blocks : profile->blocks;
        part.error = profile->sample_error;
    }
    return part;
}

double cost_speedup(const FormCost *before, const FormCost *after)
{
    return before->time.cycles / after->time.cycles;
}

/* How much of a resource is used, before and after. */
typedef struct Use {
    double before, after;
} Use;

static Use resource_use(const FormCost *before, const FormCost *after, Resource resource)
{
    const Profile *x = before->profile, *y = after->profile;
    switch (resource) {
    case RESOURCE_SHARED: return (Use){x->shared_wavefronts, y->shared_wavefronts};
    case RESOURCE_L1: return (Use){x->load_sectors + x->store_sectors, y->load_sectors + y->store_sectors};
    case RESOURCE_DRAM: return (Use){before->time.dram_sectors, after->time.dram_sectors};
    case RESOURCE_ISSUE: return (Use){profile_executed(x), profile_executed(y)};
    case RESOURCE_LAUNCH: return (Use){x->blocks, y->blocks};
    default: return (Use){before->time.demand[resource], after->time.demand[resource]};
    }
}

/* The resource whose change explains the most: weighted by how busy it is. RESOURCE_COUNT: none changes. */
static Resource cause_of(const FormCost *before, const FormCost *after, bool is_faster)
{
    Resource cause = RESOURCE_COUNT;
    double most = 0;
    for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
        double change = before->time.demand[i] - after->time.demand[i];
        double weight = is_faster ? before->time.demand[i] : after->time.demand[i];
        double score = (is_faster ? change : -change) * weight;
        if (score > most) {
            most = score;
            cause = (Resource)i;
        }
    }
    return cause;
}

/* True if exposed latency is due to fewer warps, and not to more instructions. */
static bool loses_warps(const FormCost *before, const FormCost *after)
{
    double warps = (double)before->time.resident_warps / after->time.resident_warps;
    double executed = profile_executed(before->profile);
    return warps > 1 && (!(executed > 0) || warps >= profile_executed(after->profile) / executed);
}

Interval cost_interval(const FormCost *before, const FormCost *after)
{
    const TimedWork x = {before->profile, &before->time}, y = {after->profile, &after->time};
    return interval_of(&x, &y);
}

CostVerdict cost_verdict(const FormCost *before, const FormCost *after)
{
    const Time *x = &before->time, *y = &after->time;
    const double speedup = cost_speedup(before, after);
    const Interval interval = cost_interval(before, after);
    const bool is_faster = speedup >= 1;
    const Resource resource = cause_of(before, after, is_faster);
    if (!is_faster && resource == RESOURCE_LATENCY && loses_warps(before, after))
        return (CostVerdict){speedup, CAUSE_WARPS, resource, x->resident_warps, y->resident_warps, interval};
    if (!is_faster && y->busiest > threshold(THRESHOLD_CROWDED) * x->busiest)
        return (CostVerdict){speedup, CAUSE_CROWDING, resource, x->busiest, y->busiest, interval};
    if (resource == RESOURCE_COUNT)
        return (CostVerdict){.speedup = speedup, .interval = interval};
    const Use use = resource_use(before, after, resource);
    const CostCause cause = use.before > 0 ? CAUSE_RESOURCE : CAUSE_NONE;
    return (CostVerdict){speedup, cause, resource, use.before, use.after, interval};
}

double sure_speedup(const CostVerdict *verdict, Risk risk)
{
    switch (risk) {
    case RISK_LOW: return verdict->interval.low;
    case RISK_NORMAL: return verdict->interval.cautious;
    default: return verdict->speedup;
    }
}

double cost_sectors(const FormCost *before, const FormCost *after)
{
    double sectors = before->profile->load_sectors + before->profile->store_sectors;
    return sectors > 0 ? (after->profile->load_sectors + after->profile->store_sectors) / sectors : 1;
}
