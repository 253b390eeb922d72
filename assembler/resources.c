/* Reads the assembler's log and its cubin, and combines both into one record for each kernel and function.
 *
 * The log is that of `ptxas -v`; nvJitLink and the driver print the same lines with another margin, and their linker
 * adds lines of its own about the linked kernels:
 *     ptxas info    : Compiling entry function 'K' for 'sm_90'
 *     ptxas info    : Function properties for K
 *         32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 19 registers, used 0 barriers, 32 bytes cumulative stack size, 1024 bytes smem
 *     ptxas info    : Compile time = 10.030 ms
 *     info    : Function properties for 'K':
 *     info    : used 26 registers, used 0 barriers, 56 stack, 0 bytes smem, 548 bytes cmem[0], 0 bytes lmem
 * The parts of a "Used" line depend on the version and the architecture. If functions return more than one value, the
 * calling convention is not used ("disabling ABI"): then there is no line about the stack, and the "Used" line has the
 * local memory of variables and spills together.
 *
 * The cubin's figures take precedence, because it is the code that runs; the bytes of spill code are only in the
 * log. */
#include "assembler/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct Record {
    const char *name;
    bool is_entry;  /* the log says so */
    bool has_used;  /* its "Used" line was seen */
    bool has_frame; /* its stack and spill line was seen */
    uint64_t registers, barriers, frame, stack, shared, constant, local, spill_stores, spill_loads;
    const CubinFunction *code;
    double milliseconds;
    uint64_t inner_size, inner_instructions;
} Record;

typedef VEC(Record) RecordVec;

/* Records by name. */
typedef struct Table {
    Arena *arena;
    Interner *names;
    Map positions; /* from names to positions in 'records', counted from 1 */
    RecordVec records;
} Table;

static Table table_new(Arena *arena)
{
    return (Table){.arena = arena, .names = interner_new(arena, 0), .positions = {.arena = arena}};
}

static Record *table_find(const Table *table, const char *name)
{
    Name key = intern_find(table->names, name, strlen(name));
    const uint64_t *position = key ? map_get(&table->positions, pointer_key(key)) : NULL;
    return position ? &table->records.data[*position - 1] : NULL;
}

/* The position of the record with that name; adds one if there is none. */
static size_t table_add(Table *table, const char *name, size_t length)
{
    Name key = intern_n(table->names, name, length);
    const uint64_t *position = map_get(&table->positions, pointer_key(key));
    if (position)
        return *position - 1;
    VEC_PUSH(table->arena, table->records, (Record){.name = key});
    map_put(&table->positions, pointer_key(key), table->records.count);
    return table->records.count - 1;
}

/* Reads a decimal number, saturating; false if there is none. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
    const char *p = *at;
    uint64_t value = 0;
    while (p < end && *p >= '0' && *p <= '9') {
        unsigned digit = (unsigned)(*p++ - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    if (p == *at)
        return false;
    *at = p;
    *number = value;
    return true;
}

static bool take_text(const char **at, const char *end, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(end - *at) < length || memcmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

/* The place after the first 'text' between begin and end; NULL if it is not there. */
static const char *after(const char *begin, const char *end, const char *text)
{
    const char *found = memmem(begin, (size_t)(end - begin), text, strlen(text));
    return found ? found + strlen(text) : NULL;
}

static void keep_larger(uint64_t *kept, uint64_t value)
{
    if (value > *kept)
        *kept = value;
}

/* Reads the bytes of spills. ptxas 13.0 subtracts spills to shared memory from those to local memory, so the number may
 * be negative. */
static bool take_spills(const char **at, const char *end, uint64_t *number)
{
    bool is_negative = take_text(at, end, "-");
    if (!take_number(at, end, number))
        return false;
    if (is_negative)
        *number = 0;
    return true;
}

/* "32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads". A function that was compiled into several kernels
 * has several such lines: the largest figures count. */
static bool read_frame_line(const char *line, const char *end, Record *record)
{
    uint64_t frame, stores, loads;
    while (line < end && (*line < '0' || *line > '9'))
        line++;
    if (!take_number(&line, end, &frame) || !take_text(&line, end, " bytes stack frame, ") ||
        !take_spills(&line, end, &stores) || !take_text(&line, end, " bytes spill stores, ") ||
        !take_spills(&line, end, &loads) || !take_text(&line, end, " bytes spill loads"))
        return false;
    if (record) {
        record->has_frame = true;
        keep_larger(&record->frame, frame);
        keep_larger(&record->spill_stores, stores);
        keep_larger(&record->spill_loads, loads);
    }
    return true;
}

/* One part of a "Used" line. */
static void read_used_part(const char *at, const char *end, Record *record, uint64_t *constant)
{
    uint64_t number, more;
    if (!take_text(&at, end, "Used "))
        take_text(&at, end, "used ");
    if (!take_number(&at, end, &number))
        return;
    if (take_text(&at, end, "+") && take_number(&at, end, &more))
        number = number > UINT64_MAX - more ? UINT64_MAX : number + more;
    if (take_text(&at, end, " registers"))
        record->registers = number;
    else if (take_text(&at, end, " barriers"))
        record->barriers = number;
    else if (take_text(&at, end, " bytes cumulative stack size") || take_text(&at, end, " stack"))
        record->stack = number;
    else if (take_text(&at, end, " bytes lmem"))
        record->local = number;
    else if (take_text(&at, end, " bytes smem"))
        record->shared = number;
    else if (take_text(&at, end, " bytes cmem["))
        *constant = *constant > UINT64_MAX - number ? UINT64_MAX : *constant + number;
}

static void read_used_line(const char *at, const char *end, Record *record)
{
    uint64_t constant = 0;
    while (at < end) {
        const char *comma = memmem(at, (size_t)(end - at), ", ", 2);
        read_used_part(at, comma ? comma : end, record, &constant);
        at = comma ? comma + 2 : end;
    }
    record->constant = constant;
    record->has_used = true;
}

#define NO_RECORD SIZE_MAX

/* The records that the next line of the log may be about. */
typedef struct LogState {
    size_t entry;    /* the kernel that is being compiled, until its "Used" line */
    size_t function; /* the last one in a "Function properties" line */
} LogState;

static void read_log_line(const char *line, const char *end, Table *table, LogState *state)
{
    const char *at, *stop;
    if ((at = after(line, end, "Compiling entry function '"))) {
        stop = memmem(at, (size_t)(end - at), "' for '", 7);
        if (!stop || stop == at)
            return;
        state->entry = state->function = table_add(table, at, (size_t)(stop - at));
        table->records.data[state->entry].is_entry = true;
        table->records.data[state->entry].has_used = false;
    } else if ((at = after(line, end, "Function properties for "))) {
        stop = end;
        if (at < end && *at == '\'') {
            at++;
            stop = memchr(at, '\'', (size_t)(end - at));
            state->entry = NO_RECORD; /* a line of the linker: the next lines are not about the kernel being compiled */
        }
        state->function = stop && stop > at ? table_add(table, at, (size_t)(stop - at)) : NO_RECORD;
    } else if ((at = after(line, end, ": Used ")) || (at = after(line, end, ": used "))) {
        size_t about = state->entry != NO_RECORD ? state->entry : state->function;
        if (about != NO_RECORD)
            read_used_line(at - strlen("used "), end, &table->records.data[about]);
        state->entry = NO_RECORD;
    } else if ((at = after(line, end, "Compile time = ")) && state->function != NO_RECORD) {
        table->records.data[state->function].milliseconds = strtod(at, NULL);
    } else if (memmem(line, (size_t)(end - line), " bytes stack frame, ", 20)) {
        read_frame_line(line, end, state->function != NO_RECORD ? &table->records.data[state->function] : NULL);
    }
}

/* Takes the local memory for spills: without the calling convention, it is the only known bound on them. */
static void take_local_as_spills(Table *table)
{
    for (size_t i = 0; i < table->records.count; i++) {
        Record *record = &table->records.data[i];
        if (!record->is_entry || !record->has_used || record->has_frame)
            continue;
        record->has_frame = true;
        record->frame = record->spill_stores = record->spill_loads = record->local;
    }
}

static void read_log(const char *log, Table *table)
{
    LogState state = {NO_RECORD, NO_RECORD};
    bool has_convention = strstr(log, "disabling ABI") == NULL;
    while (*log) {
        size_t length = strcspn(log, "\n");
        size_t text = length;
        while (text > 0 && (log[text - 1] == '\r' || log[text - 1] == ' '))
            text--;
        read_log_line(log, log + text, table, &state);
        log += length + (log[length] == '\n');
    }
    if (!has_convention)
        take_local_as_spills(table);
}

static void match_code(Table *table, const Cubin *cubin)
{
    for (size_t i = 0; i < cubin->count; i++) {
        const CubinFunction *code = &cubin->functions[i];
        if (code->is_inner) {
            Record *record = table_find(table, code->name);
            if (record && !record->is_entry) {
                record->inner_size += code->code_size;
                record->inner_instructions += code->instructions;
            }
        } else {
            size_t at = table_add(table, code->name, strlen(code->name));
            table->records.data[at].code = code;
        }
    }
}

static unsigned clamp(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
}

static Resources merge(const Record *record, const Architecture *architecture)
{
    const CubinFunction *code = record->code;
    Resources r = {.name = record->name,
                   .is_entry = record->is_entry || (code && code->is_entry),
                   .knows_spills = record->has_frame,
                   .milliseconds = record->milliseconds,
                   .registers = clamp(record->registers),
                   .barriers = clamp(record->barriers),
                   .spill_stores = record->spill_stores,
                   .spill_loads = record->spill_loads,
                   .stack = record->stack > record->frame ? record->stack : record->frame,
                   .shared = record->shared,
                   .constant = record->constant,
                   .code_size = record->inner_size,
                   .instructions = record->inner_instructions};
    if (!code)
        return r;
    r.code_size = code->code_size;
    r.instructions = code->instructions;
    if (code->registers != CUBIN_UNKNOWN)
        r.registers = clamp(code->registers);
    memcpy(r.block, code->block, sizeof r.block);
    if (code->barriers != CUBIN_UNKNOWN)
        r.barriers = clamp(code->barriers);
    if (code->stack != CUBIN_UNKNOWN)
        r.stack = code->stack;
    if (code->constant != CUBIN_UNKNOWN)
        r.constant = code->constant;
    if (code->shared != CUBIN_UNKNOWN) {
        uint64_t system = architecture->shared_in_cubin;
        r.shared = code->shared > system ? code->shared - system : 0;
    }
    return r;
}

/* The driver's own figures for the module that it loaded, which is the code that would run. */
static void apply_attributes(const char *attributes, const Table *table, Assembly *result)
{
    while (*attributes) {
        const char *end = attributes + strcspn(attributes, "\n"), *at = attributes;
        uint64_t number[4];
        size_t count = 0;
        while (count < 4 && take_number(&at, end, &number[count]) && take_text(&at, end, " "))
            count++;
        for (size_t i = 0; count == 4 && i < result->resource_count; i++) {
            Resources *r = &result->resources[i];
            if (strlen(r->name) != (size_t)(end - at) || memcmp(r->name, at, (size_t)(end - at)) != 0)
                continue;
            const Record *record = table_find(table, r->name);
            r->registers = clamp(number[0]);
            r->stack = number[1];
            if (!record || !record->code || record->code->shared == CUBIN_UNKNOWN)
                r->shared = number[2];
            if (!record || !record->code || record->code->constant == CUBIN_UNKNOWN)
                r->constant = number[3];
            break;
        }
        attributes = *end ? end + 1 : end;
    }
}

const char *resources_read(Arena *arena, Arch arch, const char *log, const char *attributes, const Cubin *cubin,
                           Assembly *result)
{
    const Architecture *architecture = architecture_find(arch.number);
    require(architecture);
    Table table = table_new(arena);
    read_log(log, &table);
    match_code(&table, cubin);
    result->resources = ARENA_ARRAY(arena, Resources, table.records.count);
    const char *problem = NULL;
    /* Kernels in the cubin's order, then its functions, then functions that were compiled into kernels. */
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < (round < 2 ? cubin->count : table.records.count); i++) {
            const Record *record = round < 2 ? table_find(&table, cubin->functions[i].name) : &table.records.data[i];
            if (round < 2 && (cubin->functions[i].is_inner || record->code != &cubin->functions[i]))
                continue;
            if (round < 2 ? record->code->is_entry != (round == 0) : record->code != NULL)
                continue;
            Resources r = merge(record, architecture);
            if (r.is_entry && !record->code && !problem)
                problem = arena_printf(arena, "the cubin has no code for kernel '%s'", r.name);
            if (r.is_entry && !record->has_frame && !problem)
                problem = arena_printf(arena, "the log has no spill figures for kernel '%s'", r.name);
            result->resources[result->resource_count++] = r;
        }
    }
    apply_attributes(attributes, &table, result);
    for (size_t i = 0; i < result->resource_count && !problem; i++)
        if (result->resources[i].is_entry && result->resources[i].registers == 0)
            problem = arena_printf(arena, "neither the log nor the cubin has the registers of kernel '%s'",
                                   result->resources[i].name);
    return problem;
}

bool assembly_read(Arena *arena, const char *arch, const void *bytes, size_t size, const char *log, Assembly *result)
{
    Cubin cubin = {0};
    Arch wanted;
    *result = (Assembly){.failure = ASSEMBLY_UNREADABLE, .log = ""};
    if (!arch_parse(arch, &wanted) || !architecture_find(wanted.number) || cubin_read(arena, bytes, size, &cubin))
        return false;
    resources_read(arena, wanted, log ? log : "", "", &cubin, result); /* it fails only for want of a log */
    for (size_t i = 0; i < result->resource_count; i++)
        if (result->resources[i].is_entry && !result->resources[i].registers)
            return false;
    result->failure = ASSEMBLY_DONE;
    return true;
}

/* "error   :", "fatal   :" and the like: the word, spaces, a colon. */
static bool has_label(const char *line, const char *end, const char *word)
{
    const char *at = after(line, end, word);
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == ':';
}

const char *log_first_error(Arena *arena, const char *log, unsigned *line)
{
    static const char *const words[] = {"error", "fatal", "ERROR"};
    const char *best = NULL, *best_end = NULL;
    size_t best_rank = COUNT_OF(words);
    *line = 0;
    for (const char *at = log; *at && best_rank > 0;) {
        const char *end = at + strcspn(at, "\n");
        for (size_t rank = 0; rank < best_rank; rank++) {
            if (has_label(at, end, words[rank]) || (rank == 2 && after(at, end, "ERROR "))) {
                best = at;
                best_end = end;
                best_rank = rank;
            }
        }
        at = *end ? end + 1 : end;
    }
    if (!best)
        return NULL;
    uint64_t number;
    const char *at = after(best, best_end, " line ");
    if (at && take_number(&at, best_end, &number))
        *line = clamp(number);
    return arena_strndup(arena, best, (size_t)(best_end - best));
}
