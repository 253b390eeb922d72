/* The words for the steps of the register search. */
#include "engine/report/verdicts.h"

static const char *sink_text(MoveKind kind)
{
    switch (kind) {
    case MOVE_SINK_LOADS: return "sink where it saves registers, including loads";
    case MOVE_SINK_COPIES: return "sink copies to each using block";
    case MOVE_SINK_ALL: return "sink everything, including loads";
    default: return "sink where it saves registers";
    }
}

static void knobs_print(const Move *move, Buf *out)
{
    Arena *scratch = arena_new();
    buf_printf(out, "%s%s%s", knobs_text(scratch, move->knobs, move->controls), move->of_input ? " for the input" : "",
               move->is_slower ? ", predicted to be slower" : "");
    arena_free(scratch);
}

static void kind_print(const Move *move, Buf *out)
{
    const unsigned count = move->count;
    switch (move->kind) {
    case MOVE_CAP: buf_printf(out, ".maxnreg %u", count); break;
    case MOVE_CAP_UNSPILLED: buf_printf(out, "without spills: .maxnreg %u", count); break;
    case MOVE_TARGET: buf_printf(out, "target %u", count); break;
    case MOVE_FEWEST: buf_printf(out, "the fewest so far: %u", count); break;
    case MOVE_BLOCK: buf_printf(out, ".maxntid %u", count); break;
    case MOVE_POOL: buf_printf(out, "setmaxnreg: .dec %u, .inc %u", move->released, count); break;
    case MOVE_ONE_BASE: buf_puts(out, "addresses from one base"); break;
    case MOVE_DISTANCES: buf_printf(out, "%u pointer%s by uniform distances", count, plural(count)); break;
    case MOVE_SHIFTS: buf_printf(out, "%u offset%s shifted", count, plural(count)); break;
    case MOVE_PACK:
        buf_printf(out, "%u small values in %u register%s", count, move->words, plural(move->words));
        break;
    case MOVE_RECOMPUTE:
        buf_printf(out, "recompute across places: %u instruction%s (%u)", count, plural(count), move->worth);
        break;
    case MOVE_ORDER: buf_printf(out, "schedule: %s", move->rule); break;
    case MOVE_ORDER_BLOCK: buf_printf(out, "schedule one block: %s", move->rule); break;
    case MOVE_ORDER_EXACT:
        buf_printf(out, "schedule: fewest registers (%u block%s changed, %u below the rules', %u proved)", count,
                   plural(count), move->lowered, move->proved);
        break;
    case MOVE_WEIGHTS: buf_puts(out, "schedule with random weights"); break;
    case MOVE_WEIGHTS_BLOCK: buf_puts(out, "schedule one block with random weights"); break;
    case MOVE_ORDER_RANDOM: buf_puts(out, "change an order at random"); break;
    case MOVE_SINK:
    case MOVE_SINK_LOADS:
    case MOVE_SINK_COPIES:
    case MOVE_SINK_ALL: buf_printf(out, "%s: %u", sink_text(move->kind), count); break;
    case MOVE_HOIST: buf_printf(out, "hoist where it saves registers: %u", count); break;
    case MOVE_REMATERIALIZE: buf_printf(out, "rematerialize %u value%s", count, plural(count)); break;
    case MOVE_OPAQUE: buf_printf(out, "rematerialize %u value%s from opaque copies", count, plural(count)); break;
    case MOVE_NOUNROLL: buf_printf(out, "%u loop%s not unrolled", count, plural(count)); break;
    case MOVE_KNOBS: knobs_print(move, out); break;
    case MOVE_SPILLS: buf_puts(out, "spills in shared memory"); break;
    case MOVE_DEMOTE:
        buf_printf(out, "%u value%s in %u slot%s of shared memory", count, plural(count), move->slots,
                   plural(move->slots));
        break;
    }
}

void move_print(const Move *move, Buf *out)
{
    kind_print(move, out);
    if (move->is_compared)
        buf_printf(out, " (%u block%s on an SM instead of %u, predicted %.3fx)", move->blocks, plural(move->blocks),
                   move->blocks_before, move->speedup);
    if (move->is_objected)
        buf_puts(out, ", not worth its price");
}

void step_print(const RegistersStep *step, Buf *out)
{
    const Figures *figures = &step->figures;
    move_print(&step->move, out);
    buf_printf(out, ": %u register%s, %llu byte%s spilled, %llu instruction%s", figures->registers,
               plural(figures->registers), (unsigned long long)figures_spills(figures), plural(figures_spills(figures)),
               (unsigned long long)figures->instructions, plural(figures->instructions));
}
