/* Assembles a module in parts, with a time limit for each kernel. */
#include <stdlib.h>
#include <string.h>

#include "split/internal.h"

enum {
    PARTS_PER_CORE = 4,     /* so that the last parts to end are short */
    LEAST_PART = 64 * 1024, /* bytes of kernels; ptxas needs about as long for them as for starting */
    MOST_PARTS = 4096,
};

typedef struct Piece { /* a part, and its run */
    const uint32_t *kernels; /* in Plan.kernels */
    size_t count;
    PartText text;
    Arena *arena;
    Assembly assembly;
    unsigned level; /* 3, or that of the limit */
} Piece;

typedef VEC(Piece) PieceVec;

typedef struct Split {
    Assembler *assembler;
    Arena *arena;
    const SplitRequest *request;
    Assembly *result;
    SplitReport *report;
    Plan plan;
    PieceVec pieces;
    VEC(SplitLate) late;
    VEC(Arena *) arenas;
} Split;

static AssemblyRequest request_for(const Split *split, const char *ptx, size_t size, unsigned level)
{
    const SplitRequest *request = split->request;
    AssemblyRequest made = request->request;
    made.ptx = ptx;
    made.size = size;
    made.want_cubin = true;
    if (level < 3)
        made.opt_level = (int)level < made.opt_level ? (int)level : made.opt_level;
    else if (request->limit.seconds)
        made.timeout_ms = request->limit.seconds * 1000;
    return made;
}

static bool is_late(const Split *split, const Assembly *assembly, unsigned level)
{
    return assembly->failure == ASSEMBLY_TIMED_OUT && split->request->limit.seconds && level == 3;
}

/* The module as it is; at the lower level if it takes too long. */
static bool run_whole(Split *split, const char *reason)
{
    split->report->whole = reason;
    split->report->parts = 1;
    const AssemblyRequest *asked = &split->request->request;
    AssemblyRequest request = request_for(split, asked->ptx, asked->size, 3);
    request.want_cubin = asked->want_cubin;
    bool done = assembler_run(split->assembler, split->arena, &request, split->result);
    if (!is_late(split, split->result, 3))
        return done;
    request = request_for(split, asked->ptx, asked->size, split->request->limit.level);
    request.want_cubin = asked->want_cubin;
    done = assembler_run(split->assembler, split->arena, &request, split->result);
    split->report->late = ARENA_NEW(split->arena, SplitLate);
    *split->report->late = (SplitLate){NULL, split->result->seconds};
    split->report->late_count = done;
    return done;
}

static size_t kernel_size(const Plan *plan, uint32_t kernel)
{
    const PlanFunction *function = &plan->functions[kernel];
    return function->end - function->begin;
}

/* Kernels from the last to the first, as ptxas puts them into a cubin; neighbours share a part until it is large
 * enough. */
static void make_pieces(Split *split)
{
    Plan *plan = &split->plan;
    const size_t count = plan->kernel_count;
    uint32_t *order = ARENA_ARRAY(split->arena, uint32_t, count);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        order[i] = plan->kernels[count - 1 - i];
        total += kernel_size(plan, order[i]);
    }
    const bool is_auto = split->request->parts == SPLIT_AUTO;
    const size_t most = is_auto ? assembler_width() * PARTS_PER_CORE : (size_t)split->request->parts;
    size_t enough = most ? divide_up(total, most) : total;
    if (is_auto && enough < LEAST_PART)
        enough = LEAST_PART;
    for (size_t begin = 0, end; begin < count; begin = end) {
        size_t size = 0;
        for (end = begin; end < count && (end == begin || size + kernel_size(plan, order[end]) <= enough); end++)
            size += kernel_size(plan, order[end]);
        VEC_PUSH(split->arena, split->pieces,
                 (Piece){.kernels = &order[begin], .count = end - begin, .level = 3});
    }
}

static void piece_open(Split *split, Piece *piece)
{
    piece->arena = arena_new();
    VEC_PUSH(split->arena, split->arenas, piece->arena);
    part_text_make(piece->arena, &split->plan, piece->kernels, piece->count, &piece->text);
}

/* Assembles these pieces, in this order. */
static void run_pieces(Split *split, Piece **pieces, size_t count)
{
    AssemblyRequest *requests = ARENA_ARRAY(split->arena, AssemblyRequest, count);
    Arena **arenas = ARENA_ARRAY(split->arena, Arena *, count);
    Assembly *results = ARENA_ARRAY(split->arena, Assembly, count);
    for (size_t i = 0; i < count; i++) {
        Piece *piece = pieces[i];
        if (!piece->arena)
            piece_open(split, piece);
        arenas[i] = piece->arena;
        requests[i] = request_for(split, buf_text(&piece->text.text), piece->text.text.length, piece->level);
        requests[i].many_cores = false;
    }
    assembler_run_many(split->assembler, requests, arenas, results, (unsigned)count);
    for (size_t i = 0; i < count; i++)
        pieces[i]->assembly = results[i];
}

static int larger_first(const void *one, const void *other)
{
    const Piece *a = *(Piece *const *)one, *b = *(Piece *const *)other;
    return a->text.text.length < b->text.text.length ? 1 : -(a->text.text.length > b->text.text.length);
}

/* Assembles all pieces, the largest first. */
static void run_all(Split *split)
{
    const size_t count = split->pieces.count;
    Piece **pieces = ARENA_ARRAY(split->arena, Piece *, count);
    for (size_t i = 0; i < count; i++) {
        pieces[i] = &split->pieces.data[i];
        piece_open(split, pieces[i]);
    }
    qsort(pieces, count, sizeof *pieces, larger_first);
    run_pieces(split, pieces, count);
}

/* Splits those that took too long into their kernels, and assembles the kernels that still do at the lower level. */
static void run_late(Split *split)
{
    PieceVec before = split->pieces;
    split->pieces = (PieceVec){0};
    for (size_t i = 0; i < before.count; i++) {
        Piece *piece = &before.data[i];
        const bool late = is_late(split, &piece->assembly, piece->level);
        for (size_t k = 0; late && piece->count > 1 && k < piece->count; k++)
            VEC_PUSH(split->arena, split->pieces, (Piece){.kernels = &piece->kernels[k], .count = 1, .level = 3});
        if (!late || piece->count == 1)
            VEC_PUSH(split->arena, split->pieces, *piece);
        else
            buf_free(&piece->text.text);
    }
    Piece **again = ARENA_ARRAY(split->arena, Piece *, split->pieces.count);
    size_t count = 0;
    for (size_t i = 0; i < split->pieces.count; i++)
        if (!split->pieces.data[i].arena)
            again[count++] = &split->pieces.data[i];
    run_pieces(split, again, count);
    count = 0;
    for (size_t i = 0; i < split->pieces.count; i++) {
        Piece *piece = &split->pieces.data[i];
        if (!is_late(split, &piece->assembly, piece->level))
            continue;
        piece->level = split->request->limit.level;
        again[count++] = piece;
    }
    run_pieces(split, again, count);
    for (size_t i = 0; i < count; i++)
        VEC_PUSH(split->arena, split->late,
                 (SplitLate){split->plan.functions[again[i]->kernels[0]].function->name, again[i]->assembly.seconds});
}

/* Copies a log with the lines of the module in place of those of the part: "input.ptx, line 12; error ...". */
static const char *log_original(Arena *arena, const PartText *part, const char *log)
{
    static const char mark[] = ", line ";
    Buf text = {0};
    for (const char *found; (found = strstr(log, mark)); ) {
        const char *number = found + sizeof mark - 1;
        const size_t digits = strspn(number, "0123456789");
        buf_write(&text, log, (size_t)(number - log));
        if (digits && digits < 10)
            buf_printf(&text, "%u", part_text_line(part, (unsigned)strtoul(number, NULL, 10)));
        log = digits && digits < 10 ? number + digits : number;
    }
    buf_puts(&text, log);
    return buf_take(arena, &text);
}

/* The result of a part that failed is that of the module. */
static bool fail_with(Split *split, const Piece *piece)
{
    Assembly *result = split->result;
    const Assembly *of_part = &piece->assembly;
    *result = (Assembly){.failure = of_part->failure, .seconds = of_part->seconds};
    result->error_line = of_part->error_line ? part_text_line(&piece->text, of_part->error_line) : 0;
    result->log = log_original(split->arena, &piece->text, of_part->log);
    const char *message = of_part->message ? log_original(split->arena, &piece->text, of_part->message) : NULL;
    const char *kernel = split->plan.functions[piece->kernels[0]].function->name;
    result->message = assembly_broke(of_part->failure) && piece->count == 1
                          ? arena_printf(split->arena, "%s (kernel '%s')", message, kernel)
                          : message;
    return false;
}

/* True if the line is a warning that is in the map, which then has it: parts share functions. */
static bool is_repeated(Map *seen, const char *line)
{
    if (!strstr(line, "warning"))
        return false;
    const uint64_t key = hash_fnv(line, strlen(line), HASH_START) | 1;
    const bool repeated = map_get(seen, key);
    map_put(seen, key, 1);
    return repeated;
}

/* The logs of all parts; what several of them say of the module is said once. */
static const char *join_logs(Split *split)
{
    Buf text = {0};
    Map seen = {.arena = split->arena};
    for (size_t i = 0; i < split->pieces.count; i++) {
        const Piece *piece = &split->pieces.data[i];
        const char *log = log_original(split->arena, &piece->text, piece->assembly.log);
        bool in_anchor = false;
        while (*log) {
            const size_t length = strcspn(log, "\n"), whole = length + (log[length] == '\n');
            const char *line = arena_strndup(split->arena, log, length);
            if (strstr(line, "Compiling entry function '"))
                in_anchor = strstr(line, "'" ANCHOR) != NULL;
            const bool is_of_module = strstr(line, " bytes gmem") != NULL;
            if (!in_anchor && !(is_of_module && i > 0) && !is_repeated(&seen, line))
                buf_write(&text, log, whole);
            log += whole;
        }
    }
    return buf_take(split->arena, &text);
}

/* Makes one cubin of the parts. NULL, or the reason why the module must be assembled whole. */
static const char *merge_pieces(Split *split)
{
    const size_t count = split->pieces.count;
    CubinPart *parts = ARENA_ARRAY(split->arena, CubinPart, count);
    for (size_t i = 0; i < count; i++) {
        const Piece *piece = &split->pieces.data[i];
        parts[i] = (CubinPart){piece->assembly.cubin, piece->assembly.cubin_size};
        if (piece->assembly.relocatable)
            return "it needs functions of other modules";
    }
    Buf file = {0};
    const char *problem = cubins_merge(split->arena, parts, count, &file);
    if (problem)
        return problem;
    const AssemblyRequest *request = &split->request->request;
    const char *arch = request->arch ? request->arch : assembler_arch(split->assembler);
    Assembly *result = split->result;
    const size_t size = file.length;
    const void *cubin = buf_take(split->arena, &file);
    const char *log = join_logs(split);
    if (!assembly_read(split->arena, arch, cubin, size, log, result))
        return "the merged cubin cannot be read";
    result->log = log;
    result->cubin = request->want_cubin ? cubin : NULL;
    result->cubin_size = request->want_cubin ? size : 0;
    return NULL;
}

static const Piece *find_failure(const Split *split)
{
    for (size_t i = 0; i < split->pieces.count; i++)
        if (split->pieces.data[i].assembly.failure != ASSEMBLY_DONE)
            return &split->pieces.data[i];
    return NULL;
}

/* NULL when *done is set; else the reason why the module must be assembled whole. */
static const char *run_parts(Split *split, bool *done)
{
    const double start = seconds_now();
    run_all(split);
    if (split->request->limit.seconds)
        run_late(split);
    split->report->parts = (unsigned)split->pieces.count;
    const Piece *failure = find_failure(split);
    *done = !failure;
    if (failure)
        return fail_with(split, failure), NULL;
    const char *reason = merge_pieces(split);
    split->report->late = split->late.data;
    split->report->late_count = (unsigned)split->late.count;
    split->result->seconds = seconds_now() - start;
    return reason;
}

static const char *run_split(Split *split, bool *done)
{
    const AssemblyRequest *request = &split->request->request;
    *done = false;
    if (strcmp(assembler_name(split->assembler), "ptxas") != 0)
        return "only ptxas can assemble parts";
    if (request->line_info)
        return "it is assembled with line information";
    if (request->syntax_only)
        return "it is only checked";
    const char *reason = plan_make(split->arena, request->ptx, request->size, &split->plan);
    if (reason)
        return reason;
    if (split->plan.kernel_count > 1)
        make_pieces(split);
    if (split->pieces.count < 2)
        return "";
    if (split->pieces.count > MOST_PARTS)
        return "it has too many kernels";
    return run_parts(split, done);
}

bool split_run(Assembler *assembler, Arena *arena, const SplitRequest *request, Assembly *result, SplitReport *report)
{
    Split split = {.assembler = assembler, .arena = arena, .request = request, .result = result, .report = report};
    *report = (SplitReport){.parts = 1};
    bool done = false;
    const char *reason = request->parts == SPLIT_NOT ? "" : run_split(&split, &done);
    for (size_t i = 0; i < split.pieces.count; i++)
        buf_free(&split.pieces.data[i].text.text);
    if (reason)
        *report = (SplitReport){0};
    if (reason)
        done = run_whole(&split, *reason ? reason : NULL);
    for (size_t i = 0; i < split.arenas.count; i++)
        arena_free(split.arenas.data[i]);
    return done;
}

void split_notes(const SplitReport *report, const SplitLimit *limit, const Assembly *assembly, const char *prefix,
                 Buf *text)
{
    if (report->whole)
        buf_printf(text, "%s: note: the module is assembled whole: %s\n", prefix, report->whole);
    for (unsigned i = 0; i < report->late_count; i++) {
        const SplitLate *late = &report->late[i];
        const Resources *resources = late->kernel ? assembly_find(assembly, late->kernel) : NULL;
        buf_printf(text, "%s: note: ", prefix);
        if (late->kernel)
            buf_printf(text, "kernel '%s'", late->kernel);
        else
            buf_puts(text, "the module");
        buf_printf(text, " was not assembled within %u s; at -O%u it took %.1f s", limit->seconds, limit->level,
                   late->seconds);
        if (resources)
            buf_printf(text, ": %u registers, %llu bytes of spills, %llu instructions", resources->registers,
                       (unsigned long long)(resources->spill_stores + resources->spill_loads),
                       (unsigned long long)resources->instructions);
        buf_putc(text, '\n');
    }
}
