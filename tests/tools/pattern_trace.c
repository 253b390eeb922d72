/* A copy of the kernel counts the rounds of its loops, and notes them with the address at each access. */
#include "pattern_trace.h"

#include "parse_text.h"

#include <string.h>

enum {
    RECORDS = 40,      /* of a thread */
    RECORD_BYTES = 32, /* 4 for the number of the access, from 1; 4 for each loop's round; the address */
    ADDRESS = 24,
};
_Static_assert(4 + 4 * TRACE_LOOPS <= ADDRESS, "rounds have room");

typedef struct Tracer {
    Body *body;
    LoopForest *loops;
    RegId rounds[TRACE_LOOPS], place, count;
} Tracer;

static RegId new_reg(Body *body, Type type)
{
    return body_add_reg(body, type, intern(body->module->names, "%trace"));
}

static void place_first(Inst *before, Block *block, Inst *inst)
{
    if (before)
        inst_insert_before(before, inst);
    else
        inst_append(block, inst);
}

/* Finds the place of the thread's records, and gives all rounds their first number. */
static void trace_start(Tracer *tracer, Variable *trace)
{
    Body *body = tracer->body;
    Block *entry = body->blocks.data[0];
    Inst *first = entry->first;
    RegId at = new_reg(body, TYPE_B32), value = new_reg(body, TYPE_B32);
    static const char *const names[][2] = {
        {"%ctaid.z", "%nctaid.y"}, {"%ctaid.y", "%nctaid.x"}, {"%ctaid.x", "%ntid.z"},
        {"%tid.z", "%ntid.y"},     {"%tid.y", "%ntid.x"},     {"%tid.x", NULL},
    };
    place_first(first, entry, inst_build(body, "mov.u32", "di", at, (int64_t)0));
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        place_first(first, entry, inst_build(body, "mov.u32", "ds", value, names[i][0]));
        place_first(first, entry, inst_build(body, "add.u32", "drr", at, at, value));
        if (!names[i][1])
            break;
        place_first(first, entry, inst_build(body, "mov.u32", "ds", value, names[i][1]));
        place_first(first, entry, inst_build(body, "mul.lo.u32", "drr", at, at, value));
    }
    tracer->place = new_reg(body, TYPE_B64);
    tracer->count = new_reg(body, TYPE_B32);
    RegId base = new_reg(body, TYPE_B64);
    place_first(first, entry, inst_build(body, "mov.u64", "dv", base, trace));
    place_first(first, entry,
                inst_build(body, "mad.wide.u32", "drir", tracer->place, at, (int64_t)RECORDS * RECORD_BYTES, base));
    place_first(first, entry, inst_build(body, "mov.u32", "di", tracer->count, (int64_t)0));
    for (unsigned l = 0; l < TRACE_LOOPS; l++) {
        tracer->rounds[l] = new_reg(body, TYPE_B32);
        place_first(first, entry, inst_build(body, "mov.u32", "di", tracer->rounds[l], (int64_t)-1));
    }
}

static void trace_loop(Tracer *tracer, const Loop *loop)
{
    Body *body = tracer->body;
    const RegId round = tracer->rounds[loop->index];
    for (unsigned p = 0; p < loop->header->pred_count; p++) {
        Block *pred = loop->header->preds[p];
        Inst *last = pred->last && inst_is_terminator(pred->last) ? pred->last : NULL;
        if (!loop_contains(tracer->loops, loop, pred))
            place_first(last, pred, inst_build(body, "mov.u32", "di", round, (int64_t)-1));
    }
    place_first(loop->header->first, loop->header, inst_build(body, "add.u32", "dri", round, round, (int64_t)1));
}

static void guarded(Tracer *tracer, Inst *at, RegId predicate, Inst *inst)
{
    inst_set_guard(tracer->body, inst, predicate, false);
    inst_insert_before(at, inst);
}

static void trace_access(Tracer *tracer, Inst *inst, const Access *access, unsigned number)
{
    Body *body = tracer->body;
    const RegId base = address_base(inst, access->address), notes = new_reg(body, TYPE_PRED);
    RegId id = new_reg(body, TYPE_B32);
    inst_insert_before(inst, inst_build(body, "setp.lt.u32", "dri", notes, tracer->count, (int64_t)RECORDS));
    if (inst_is_guarded(inst)) {
        RegId own = new_reg(body, TYPE_PRED);
        inst_insert_before(inst, inst_build(body, inst->guard_inverted ? "not.pred" : "mov.pred", "dr", own,
                                            inst_predicate(inst)));
        inst_insert_before(inst, inst_build(body, "and.pred", "drr", notes, notes, own));
    }
    inst_insert_before(inst, inst_build(body, "mov.u32", "di", id, (int64_t)number + 1));
    guarded(tracer, inst, notes, inst_build(body, "st.global.u32", "ar", tracer->place, (int64_t)0, id));
    for (unsigned l = 0; l < TRACE_LOOPS; l++)
        guarded(tracer, inst, notes,
                inst_build(body, "st.global.u32", "ar", tracer->place, (int64_t)4 + 4 * l, tracer->rounds[l]));
    guarded(tracer, inst, notes, inst_build(body, "st.global.u64", "ar", tracer->place, (int64_t)ADDRESS, base));
    guarded(tracer, inst, notes,
            inst_build(body, "add.s64", "dri", tracer->place, tracer->place, (int64_t)RECORD_BYTES));
    guarded(tracer, inst, notes, inst_build(body, "add.u32", "dri", tracer->count, tracer->count, (int64_t)1));
}

/* The number of the access; its count if the pattern has none, or it cannot be noted. */
static unsigned access_number(const Patterns *patterns, const Inst *inst, const Access *access)
{
    size_t i = 0;
    while (i < patterns->access_count && patterns->accesses[i].inst->span.begin != inst->span.begin)
        i++;
    const RegId base = address_base(inst, access->address);
    return base == REG_NONE || access->space == SPACE_NONE ? (unsigned)patterns->access_count : (unsigned)i;
}

Body *trace_body(Function *kernel, const Patterns *patterns, Variable *trace)
{
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    if (!body)
        return NULL;
    Tracer tracer = {.body = body, .loops = loops_compute(body->arena, dominance_compute(body->arena, body))};
    if (tracer.loops->loop_count > TRACE_LOOPS || tracer.loops->loop_count != patterns->loops->loop_count) {
        body_free(body);
        return NULL;
    }
    trace_start(&tracer, trace);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_is_opaque(inst) || !inst->span.end || !inst_access(inst, &access) || !access.address)
                continue;
            const unsigned number = access_number(patterns, inst, &access);
            if (number < patterns->access_count)
                trace_access(&tracer, inst, &access, number);
        }
    for (uint32_t l = 0; l < tracer.loops->loop_count; l++)
        trace_loop(&tracer, &tracer.loops->loops[l]);
    return body;
}

/* Reads the notes of one thread. */
static void read_thread(Arena *arena, const Patterns *patterns, Record thread, const uint8_t *from, RecordVec *records)
{
    const size_t first = records->count;
    for (unsigned r = 0; r < RECORDS; r++, from += RECORD_BYTES) {
        uint32_t words[1 + TRACE_LOOPS];
        Record record = thread;
        Access access;
        memcpy(words, from, sizeof words);
        memcpy(&record.address, from + ADDRESS, sizeof record.address);
        if (!words[0])
            return;
        record.access = words[0] - 1;
        const Inst *inst = patterns->accesses[record.access].inst;
        inst_access(inst, &access);
        record.address += access.address->constant ? (int64_t)access.address->constant->bits : 0;
        for (unsigned l = 0; l < patterns->loops->loop_count; l++)
            if (loop_contains(patterns->loops, &patterns->loops->loops[l], inst->block))
                record.rounds[l] = (int32_t)words[1 + l];
        for (size_t i = first; i < records->count; i++)
            record.nth += records->data[i].access == record.access &&
                          !memcmp(records->data[i].rounds, record.rounds, sizeof record.rounds);
        VEC_PUSH(arena, *records, record);
    }
}

RecordVec trace_read(Arena *arena, const Patterns *patterns, unsigned blocks, unsigned threads, const uint8_t *trace)
{
    RecordVec records = {0};
    for (unsigned t = 0; t < blocks * threads; t++)
        read_thread(arena, patterns, (Record){.block = t / threads, .thread = t % threads},
                    trace + (uint64_t)t * RECORDS * RECORD_BYTES, &records);
    return records;
}

Module *trace_parse(const char *name, const Buf *text)
{
    Buf own = {0};
    const char *header = strstr(buf_text(text), ".address_size");
    const char *end = header ? strchr(header, '\n') : NULL;
    if (!end)
        return NULL;
    buf_write(&own, buf_text(text), (size_t)(end - buf_text(text)));
    /* On the same line, so that the lines of the file keep their numbers. */
    buf_printf(&own, " .global .align 8 .b8 " TRACE_VARIABLE "[%u];", TRACE_THREADS * RECORDS * RECORD_BYTES);
    buf_write(&own, end, text->length - (size_t)(end - buf_text(text)));
    Module *module = parse_text(name, buf_text(&own), own.length);
    buf_free(&own);
    return module;
}
