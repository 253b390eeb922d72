/* The words for what the register search decided. */
#include "engine/report/verdicts.h"

static unsigned line_of(const DemandObjection *objection, Span span)
{
    const Source *source = objection->module->source;
    return source ? source_position(source, span.begin).line : 0;
}

/* "'setmaxnreg.inc.sync.aligned.u32' on line 13" */
static void place_print(const DemandObjection *objection, Buf *out)
{
    Arena *scratch = arena_new();
    buf_printf(out, "'%s' on line %u", inst_spelling(scratch, objection->inst),
               line_of(objection, objection->inst->span));
    arena_free(scratch);
}

static void residency_print(const DemandObjection *objection, Buf *out)
{
    const ResidencyChange *change = &objection->change;
    buf_printf(out, "an SM would hold %u blocks of %u %sthreads instead of %u, and ", change->after, change->threads,
               objection->is_coarse ? "original " : "", change->before);
    if (objection->kind == DEMAND_CLUSTERS) {
        buf_puts(out, "its clusters need their blocks on SMs at the same time");
    } else if (objection->kind == DEMAND_LOOP) {
        buf_printf(out, "a loop may wait for another of them, through the read on line %u",
                   line_of(objection, objection->read));
    } else {
        place_print(objection, out);
        buf_puts(out, objection->kind == DEMAND_BLOCKS
                          ? " may wait for another block, which then must be on an SM, too"
                          : " may wait for tensor memory that other blocks of the SM have");
    }
}

void demand_print(const DemandObjection *objection, Buf *out)
{
    switch (objection->kind) {
    case DEMAND_MET: break;
    case DEMAND_POOL_IGNORED:
        place_print(objection, out);
        buf_puts(out, " has no effect, because no directive limits the registers at launch; with a limit, it could "
                      "wait forever for registers that the block does not have");
        break;
    case DEMAND_POOL_FIXED:
        place_print(objection, out);
        buf_printf(out, " sets %u registers for each thread, out of those that the block is launched with; if it were "
                        "launched with fewer than %u, a warp could wait for them forever",
                   objection->pool_most, objection->before);
        break;
    case DEMAND_POOL:
        buf_printf(out, "with %u registers at launch instead of %u, ", objection->registers, objection->before);
        place_print(objection, out);
        buf_puts(out, " could wait forever for registers that the block does not have");
        break;
    case DEMAND_CLUSTERS:
    case DEMAND_BLOCKS:
    case DEMAND_LOOP:
    case DEMAND_TENSOR: residency_print(objection, out); break;
    }
}

void unknown_figures_print(const Figures *figures, const char *without_reason, Buf *out)
{
    if (figures->unmet)
        demand_print(figures->unmet, out);
    else
        buf_puts(out, figures->message ? figures->message : without_reason);
}

static void registers_print(unsigned registers, Buf *out)
{
    buf_printf(out, "%u register%s", registers, plural(registers));
}

static void bytes_print(uint64_t bytes, Buf *out)
{
    buf_printf(out, "%llu byte%s", (unsigned long long)bytes, plural(bytes));
}

/* Why a form is not worth its price, against the input. */
static void price_objection_print(const Objection *objection, Buf *out)
{
    const Prediction *after = &objection->form, *before = &objection->than;
    const double longer = growth_in_all(after, before);
    buf_puts(out, "a form with ");
    registers_print(objection->registers, out);
    buf_puts(out, " is not worth it: ");
    switch (objection->verdict) {
    case VERDICT_IDLE:
        buf_printf(out, "an SM holds %u warp%s as before, and it executes %.2f times the instructions", after->warps,
                   plural(after->warps), longer);
        break;
    case VERDICT_SLOWER:
        buf_printf(out, "with %u warp%s on an SM instead of %u, and %.2f times the instructions, the kernel is "
                        "predicted to be slower (%.3fx)",
                   after->warps, plural(after->warps), before->warps, longer, before->cycles / after->cycles);
        break;
    default:
        require(objection->verdict == VERDICT_LONGER_PATH);
        buf_printf(out, "a warp takes %.2f times as long, and an SM holds %u warp%s instead of %u",
                   after->path / before->path, after->warps, plural(after->warps), before->warps);
    }
}

/* The same for the fewest registers at a price. */
static void fewest_objection_print(const Objection *objection, Buf *out)
{
    const Prediction *after = &objection->form, *before = &objection->than;
    const char *does = "execute", *what;
    double growth;
    switch (objection->verdict) {
    case VERDICT_TOO_LONG:
        growth = (double)objection->instructions / (double)objection->instructions_before;
        does = "need", what = "more instructions, at a cost that is unknown";
        break;
    case VERDICT_SLOWER:
        growth = after->cycles / before->cycles;
        does = "take", what = "longer";
        break;
    case VERDICT_LONGER_PATH:
        growth = path_growth(after, before);
        does = "let each warp wait", what = "longer";
        break;
    case VERDICT_LONGER_LOOPS:
        growth = growth_in_loops(after, before);
        what = "more instructions in loops";
        break;
    default:
        require(objection->verdict == VERDICT_LONGER);
        growth = growth_in_all(after, before);
        what = "more instructions";
    }
    registers_print(objection->registers, out);
    buf_printf(out, " would %s %.1f%% %s", does, 100 * (growth - 1), what);
}

/* Boundaries. */

/* The same for more registers than the input has. */
static void raise_objection_print(const RegistersBoundary *boundary, Buf *out)
{
    const Objection *objection = &boundary->objection;
    switch (objection->verdict) {
    case VERDICT_UNKNOWN: buf_puts(out, "its time is unknown"); break;
    case VERDICT_LONGER_PATH:
        buf_printf(out, "with %u a warp takes %.2f times as long", boundary->figures.registers,
                   objection->form.path / objection->than.path);
        break;
    default:
        require(objection->verdict == VERDICT_NO_GAIN);
        buf_printf(out, "with %u nothing is gained: it is predicted %.3fx", boundary->figures.registers,
                   boundary->speedup);
    }
}

static uint64_t more_spills(const Figures *before, const Figures *after)
{
    return figures_spills(after) > figures_spills(before) ? figures_spills(after) - figures_spills(before) : 0;
}

static bool has_price(const Figures *before, const Figures *after)
{
    return more_spills(before, after) || after->instructions != before->instructions;
}

/* "6 more instructions", "8 bytes of spills and 6 fewer instructions". */
static void price_print(const Figures *before, const Figures *after, Buf *out)
{
    const uint64_t spills = more_spills(before, after), were = before->instructions, are = after->instructions;
    if (spills) {
        bytes_print(spills, out);
        buf_puts(out, are != were ? " of spills and " : " of spills");
    }
    if (are > were)
        buf_printf(out, "%llu more instruction%s", (unsigned long long)(are - were), plural(are - were));
    else if (are < were)
        buf_printf(out, "%llu fewer instruction%s", (unsigned long long)(were - are), plural(were - are));
}

static void fits_print(const RegistersBoundary *boundary, const Figures *before, Buf *out)
{
    if (has_price(before, &boundary->figures))
        price_print(before, &boundary->figures, out);
    else
        buf_puts(out, "no more instructions");
    if (boundary->speedup > 0)
        buf_printf(out, ", predicted %.3fx", boundary->speedup);
}

void boundary_print(const RegistersBoundary *boundary, const Figures *before, Buf *out)
{
    const Figures *after = &boundary->figures;
    const unsigned long long spills = figures_spills(after);
    switch (boundary->verdict) {
    case BOUNDARY_NOT_TRIED: buf_puts(out, "not tried"); break;
    case BOUNDARY_REJECTED:
        buf_printf(out, "the input cannot be used %s: ", boundary->is_raise ? "with .minnctapersm" : "under the cap");
        unknown_figures_print(after, "it does not assemble", out);
        break;
    case BOUNDARY_MISSED: buf_printf(out, "not reached: %u registers at best", after->registers); break;
    case BOUNDARY_EXCEEDED: buf_printf(out, "the assembler takes %u", after->registers); break;
    case BOUNDARY_UNUSED: buf_puts(out, "the assembler has no use for more"); break;
    case BOUNDARY_SPILLS_MORE:
        buf_puts(out, "the assembler spills ");
        bytes_print(more_spills(before, after), out);
        buf_puts(out, " then");
        break;
    case BOUNDARY_OBJECTED:
        if (boundary->is_raise)
            raise_objection_print(boundary, out);
        else
            price_objection_print(&boundary->objection, out);
        break;
    case BOUNDARY_NO_GAIN: buf_printf(out, "nothing is gained: it is predicted %.3fx", boundary->speedup); break;
    case BOUNDARY_HOPELESS:
        buf_printf(out, "the cap alone costs %llu byte%s of spills, and even at no cost the warps are predicted to "
                        "give only %.3fx",
                   spills, plural(spills), boundary->potential);
        break;
    case BOUNDARY_SPILLS: buf_printf(out, "it costs %llu byte%s of spills at best", spills, plural(spills)); break;
    case BOUNDARY_TOO_LONG: buf_puts(out, "the code grows too much"); break;
    case BOUNDARY_FITS: fits_print(boundary, before, out); break;
    }
}

/* Explanations of what the search came to. */

/* "28 registers, 2752 bytes spilled (40 under the cap alone)" */
static void found_print(const RegistersResult *result, Buf *out)
{
    const Figures *found = &result->explanation.found, *capped = &result->capped;
    registers_print(found->registers, out);
    if (!figures_spills(found)) {
        buf_puts(out, ", nothing spilled");
        return;
    }
    buf_puts(out, ", ");
    bytes_print(figures_spills(found), out);
    buf_puts(out, " spilled");
    if (capped->known && figures_spills(capped) != figures_spills(found))
        buf_printf(out, " (%llu under the cap alone)", (unsigned long long)figures_spills(capped));
}

static const char *obstacle_text(SharedObstacle obstacle)
{
    switch (obstacle) {
    case SHARED_FREE: break;
    case SHARED_BLOCK_UNKNOWN: return "the block size is not known (-block)";
    case SHARED_OPAQUE: return "an instruction is unknown";
    case SHARED_CALLS: return "it calls functions";
    case SHARED_ASYNCHRONOUS: return "registers are written asynchronously";
    case SHARED_ASKED_FOR: return "it asks how much shared memory it has";
    case SHARED_AT_LAUNCH: return "how much is left is only known at launch (-dynamic-shared)";
    }
    return "";
}

/* "; 65 registers are needed at the head of the loop on line 87 ...", and why spills cannot go to shared memory. */
static void obstacles_print(const RegistersExplanation *explanation, const Source *source, Buf *out)
{
    const RegistersNeeded *needed = &explanation->needed;
    if (needed->registers) {
        buf_puts(out, "; ");
        registers_print(needed->registers, out);
        buf_printf(out, " are needed at the %s", needed->is_loop ? "head of the loop" : "barrier");
        if (needed->span.end > needed->span.begin)
            buf_printf(out, " on line %u", source_position(source, needed->span.begin).line);
        buf_puts(out, ", however code is ordered or recomputed");
    }
    if (explanation->obstacle != SHARED_FREE)
        buf_printf(out, "; no value can go to shared memory: %s", obstacle_text(explanation->obstacle));
}

/* Why only a form with too many instructions reaches the target. */
static void dropped_print(const RegistersExplanation *explanation, Buf *out)
{
    const Figures *dropped = &explanation->other;
    buf_puts(out, "; a form with ");
    registers_print(dropped->registers, out);
    buf_puts(out, " and ");
    bytes_print(figures_spills(dropped), out);
    buf_printf(out, " spilled was found, but not used, because it has %llu instruction%s and more than %llu would be "
                    "over 1/16 more than the kernel has without a search",
               (unsigned long long)dropped->instructions, plural(dropped->instructions),
               (unsigned long long)explanation->most_instructions);
}

static void assemblies_print(unsigned assemblies, Buf *out)
{
    buf_printf(out, "%u %s", assemblies, plural_of(assemblies, "assembly", "assemblies"));
}

/* The outcome for a fixed target for which forms were found. */
static void target_print(const RegistersResult *result, const Source *source, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    found_print(result, out);
    if (explanation->outcome == REGISTERS_DROPPED) {
        dropped_print(explanation, out);
    } else if (explanation->outcome == REGISTERS_MISSED) {
        buf_printf(out, "; no form with %u was found in ", result->target);
        assemblies_print(explanation->assemblies, out);
        if (result->target < LOWEST_CAP)
            buf_puts(out, "; assemblers accept no cap below 24");
    }
    obstacles_print(explanation, source, out);
    if (objects(&explanation->objection)) {
        buf_puts(out, ", although ");
        price_objection_print(&explanation->objection, out);
    }
}

static void cap_is_faster_print(const RegistersResult *result, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    found_print(result, out);
    buf_puts(out, "; a form with ");
    bytes_print(figures_spills(&explanation->other), out);
    buf_printf(out, " spilled was found, but not used: it is predicted to be slower (%.3fx)", explanation->speedup);
}

/* Why a target is not reached, although a form that spills more does. */
static void unspilled_print(const RegistersExplanation *explanation, const Source *source, Buf *out)
{
    if (objects(&explanation->objection)) {
        price_objection_print(&explanation->objection, out);
    } else if (explanation->outcome == REGISTERS_UNSPILLED) {
        registers_print(explanation->found.registers, out);
        buf_puts(out, ", the fewest found without more spills");
    } else {
        buf_puts(out, "no count below the input's was found without more spills");
    }
    buf_puts(out, "; ");
    registers_print(explanation->other.registers, out);
    buf_puts(out, " would cost ");
    bytes_print(figures_spills(&explanation->other), out);
    buf_puts(out, " of spills (-spill allows them)");
    obstacles_print(explanation, source, out);
}

/* "256 threads per block (assumed: use -block)" */
static void threads_print(const RegistersExplanation *explanation, Buf *out)
{
    static const char *const notes[] = {
        [THREADS_KNOWN] = "",
        [THREADS_LAUNCHED] = " (in the launch)",
        [THREADS_ASSUMED] = " (assumed: use -block)",
        [THREADS_BOUNDED] = " (the most that .maxntid allows)",
    };
    buf_printf(out, "%u thread%s per block%s", explanation->threads, plural(explanation->threads),
               notes[explanation->origin]);
}

static void taken_print(const RegistersResult *result, const RegistersBoundary *boundary, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    const Figures *before = &result->before, *after = &boundary->figures;
    registers_print(after->registers, out);
    buf_puts(out, ": with ");
    threads_print(explanation, out);
    if (boundary->is_raise && boundary->blocks != explanation->now.blocks)
        buf_printf(out, " an SM gets %u block%s at launch, and could hold %u with %u registers", explanation->launched,
                   plural(explanation->launched), boundary->blocks, boundary->registers);
    else
        buf_printf(out, " an SM holds %u block%s", boundary->blocks, plural(boundary->blocks));
    if (!boundary->is_raise) {
        buf_printf(out, " instead of %u", explanation->now.blocks);
    } else if (boundary->blocks == explanation->now.blocks) {
        buf_puts(out, ", as it does with ");
        registers_print(before->registers, out);
    }
    if (has_price(before, after)) {
        buf_puts(out, ", for ");
        price_print(before, after, out);
    }
    if (boundary->speedup > 0)
        buf_printf(out, "; predicted %.3fx", boundary->speedup);
}

/* Why no boundary is taken; the first may be one with more registers. */
static void no_gain_print(const RegistersResult *result, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    const RegistersBoundary *first = result->boundaries;
    const Figures *before = &result->before;
    const bool has_raise = result->boundary_count && first->is_raise;
    if (explanation->outcome == REGISTERS_NO_BOUNDARY) {
        buf_puts(out, "with ");
        threads_print(explanation, out);
        buf_printf(out, " an SM holds %u block%s, limited by %s; using fewer than ", explanation->now.blocks,
                   plural(explanation->now.blocks), occupancy_limits_name(explanation->now.limits));
        registers_print(before->registers, out);
        buf_puts(out, " would not add one");
    } else {
        const RegistersBoundary *next = first + has_raise;
        buf_puts(out, "the next boundary, ");
        registers_print(next->registers, out);
        buf_puts(out, " with ");
        threads_print(explanation, out);
        buf_puts(out, ", is not used: ");
        boundary_print(next, before, out);
        buf_puts(out, result->boundary_count - has_raise > 1 ? "; lower ones are not, either" : "");
    }
    if (has_raise) {
        buf_printf(out, "; the %u that are free are not used: ", first->registers);
        boundary_print(first, before, out);
    }
}

static void chosen_print(const RegistersResult *result, Buf *out)
{
    for (unsigned i = 0; i < result->boundary_count; i++)
        if (result->boundaries[i].is_chosen)
            taken_print(result, &result->boundaries[i], out);
}

static void fewest_print(const RegistersResult *result, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    registers_print(explanation->found.registers, out);
    buf_printf(out, " instead of %u", result->before.registers);
    if (explanation->speedup > 0)
        buf_printf(out, ", predicted %.3fx, with %.3f times the instructions", explanation->speedup,
                   explanation->growth);
    if (objects(&explanation->objection)) {
        buf_puts(out, "; ");
        fewest_objection_print(&explanation->objection, out);
    }
}

static void shares_print(const RegistersResult *result, Buf *out)
{
    const unsigned *shares = result->explanation.shares;
    const unsigned before = result->before.registers, after = result->after.registers;
    buf_printf(out, "setmaxnreg.dec to %u and .inc to %u instead of %u and %u", shares[2], shares[3], shares[0],
               shares[1]);
    if (after != before)
        buf_printf(out, ", launched with %u instead of %u", after, before);
    buf_puts(out, ": ");
    bytes_print(figures_spills(&result->after), out);
    buf_printf(out, " spilled instead of %llu", (unsigned long long)figures_spills(&result->before));
}

static void outcome_print(const RegistersResult *result, const Source *source, Buf *out)
{
    const RegistersExplanation *explanation = &result->explanation;
    switch (explanation->outcome) {
    case REGISTERS_NOTHING: break;
    case REGISTERS_NOT_ASSEMBLED:
        buf_puts(out, "the input does not assemble: ");
        unknown_figures_print(&result->before, "no reason given", out);
        break;
    case REGISTERS_FIXED:
    case REGISTERS_CUT: demand_print(&explanation->demand, out); break;
    case REGISTERS_SHARES:
        shares_print(result, out);
        break;
    case REGISTERS_FITS:
        buf_puts(out, "the input fits with ");
        registers_print(result->before.registers, out);
        break;
    case REGISTERS_CAP_REJECTED:
        buf_puts(out, "the input cannot be used under the cap: ");
        unknown_figures_print(&result->capped, "no reason given", out);
        break;
    case REGISTERS_REACHED:
    case REGISTERS_DROPPED:
    case REGISTERS_MISSED: target_print(result, source, out); break;
    case REGISTERS_CAP_IS_FASTER: cap_is_faster_print(result, out); break;
    case REGISTERS_OBJECTED: price_objection_print(&explanation->objection, out); break;
    case REGISTERS_CAP_ALONE:
        price_objection_print(&explanation->objection, out);
        buf_printf(out, "; the cap alone gives %u", explanation->found.registers);
        break;
    case REGISTERS_UNSPILLED:
    case REGISTERS_NO_LOWER: unspilled_print(explanation, source, out); break;
    case REGISTERS_NO_BOUNDARY:
    case REGISTERS_NO_GAIN: no_gain_print(result, out); break;
    case REGISTERS_BOUNDARY: chosen_print(result, out); break;
    case REGISTERS_FEWEST: fewest_print(result, out); break;
    case REGISTERS_TOO_DEAR: fewest_objection_print(&explanation->objection, out); break;
    case REGISTERS_NONE_FEWER:
        buf_printf(out, "no form with fewer than %u was found in ", result->before.registers);
        assemblies_print(explanation->assemblies, out);
        break;
    }
}

void explanation_print(const RegistersResult *result, const Source *source, Buf *out)
{
    outcome_print(result, source, out);
    if (!result->explanation.moves_spills)
        return;
    buf_puts(out, result->explanation.outcome == REGISTERS_NOTHING ? "nothing else changes; of " : "; of ");
    bytes_print(figures_spills(&result->before), out);
    buf_printf(out, " that it spills itself, %llu are left: the others are in shared memory",
               (unsigned long long)figures_spills(&result->after));
}

bool has_explanation(const RegistersResult *result)
{
    return result->explanation.outcome != REGISTERS_NOTHING || result->explanation.moves_spills;
}
