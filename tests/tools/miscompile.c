/* miscompile INPUT.ptx OUTPUT.ptx LAUNCH.json
 * miscompile -m [-s STEP] [-v] INPUT.ptx OUTPUT.ptx LAUNCH.json
 *
 * The first form verifies OUTPUT against INPUT as ptxopt -verify does, whatever produced OUTPUT: no output and status 0
 * if they agree, a report and status 5 if they differ, status 1 if that cannot be determined.
 *
 * The second form makes mutants of OUTPUT, each with one change to one instruction, and runs every STEP-th of them
 * against INPUT. A mutant is killed if it is not valid PTX, faults, does not end, or computes different results. For
 * each kind of mutation, prints the numbers of mutants made and killed; with -v also the survivors. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/verify.h"
#include "engine/launch.h"
#include "emulator/emulator.h"
#include "opt/opt.h"
#include "parser/parser.h"

#include "parse_text.h"

typedef enum Kind {
    KIND_DROP,
    KIND_SWAP,
    KIND_GUARD,
    KIND_IMMEDIATE,
    KIND_OPCODE,
    KIND_REGISTER,
    KIND_ORDER,
    KIND_TWICE,
    KIND_COUNT
} Kind;

static const char *const kind_names[KIND_COUNT] = {
    "instruction dropped",    "operands exchanged",  "guard inverted",
    "immediate off by one",   "opcode or type changed", "register of another replica",
    "neighbours exchanged",   "executed twice",
};

typedef struct Mutants {
    Arena *arena; /* for data that all mutants share */
    char **lines;
    unsigned line_count;
    Launch *launch, *launch_output;
    EmulatorOptions options;
    EmulatorResult *expected;
    unsigned step, number;
    bool verbose;
    unsigned made[KIND_COUNT], killed[KIND_COUNT];
} Mutants;

/* An instruction: indented, a letter or a guard first, a semicolon last. */
static bool is_instruction(const char *line)
{
    size_t length = strlen(line);
    const char *at = line + strspn(line, " \t");
    return at > line && length && line[length - 1] == ';' && (islower((unsigned char)*at) || *at == '@');
}

static const char *opcode_at(const char *line)
{
    const char *at = line + strspn(line, " \t");
    if (*at == '@') {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    return at;
}

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* An instruction that reads or writes memory, or waits. */
static bool is_ordered(const char *line)
{
    static const char *const words[] = {"ld.global", "ld.shared", "st.", "atom", "red.", "bar", "ld.local", "membar"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (starts(opcode_at(line), words[i]))
            return true;
    return false;
}

/* True if the output with line 'at' replaced behaves differently; 'second' replaces the next line unless NULL. */
static bool is_killed(Mutants *mutants, unsigned at, const char *replaced, const char *second)
{
    Buf text = {0};
    for (unsigned i = 0; i < mutants->line_count; i++)
        buf_printf(&text, "%s\n", i == at ? replaced : second && i == at + 1 ? second : mutants->lines[i]);
    Module *module = parse_text("mutant.ptx", buf_text(&text), text.length);
    buf_free(&text);
    if (!module)
        return true;
    Arena *arena = arena_new();
    EmulatorResult *result = emulator_run(arena, module, mutants->launch_output, &mutants->options);
    EmulatorDifference difference;
    bool killed = result->fault.kind != FAULT_NONE || results_differ(mutants->launch, mutants->expected, result,
                                                                     mutants->launch->tolerance, &difference);
    arena_free(arena);
    arena_free(module->arena);
    return killed;
}

static void try_mutant(Mutants *mutants, Kind kind, unsigned at, const char *replaced, const char *second)
{
    if (mutants->number++ % mutants->step)
        return;
    mutants->made[kind]++;
    if (is_killed(mutants, at, replaced, second)) {
        mutants->killed[kind]++;
        return;
    }
    if (mutants->verbose)
        printf("survives: %s: line %u: %s -> %s\n", kind_names[kind], at + 1,
               mutants->lines[at] + strspn(mutants->lines[at], " \t"), replaced + strspn(replaced, " \t"));
}

/* The line with the 'length' characters at 'from' replaced. */
static char *splice(Mutants *mutants, const char *line, const char *from, size_t length, const char *by)
{
    return arena_printf(mutants->arena, "%.*s%s%s", (int)(from - line), line, by, from + length);
}

static void mutate_guard(Mutants *mutants, unsigned at)
{
    const char *line = mutants->lines[at], *guard = strchr(line, '@');
    if (!guard)
        return;
    bool inverted = guard[1] == '!';
    try_mutant(mutants, KIND_GUARD, at, splice(mutants, line, guard, 1 + inverted, inverted ? "@" : "@!"), NULL);
}

/* Swaps the last two operands if their order matters. */
static void mutate_operands(Mutants *mutants, unsigned at)
{
    static const char *const commutative[] = {"add", "mul", "mad", "fma", "and", "or", "xor", "min", "max", "mov",
                                              "ld",  "st",  "bra", "bar", "cvt", "atom", "red", "set", "call"};
    const char *line = mutants->lines[at], *opcode = opcode_at(line);
    for (size_t i = 0; i < COUNT_OF(commutative); i++)
        if (starts(opcode, commutative[i]) && !starts(opcode, "setp.l") && !starts(opcode, "setp.g"))
            return;
    const char *last = strrchr(line, ','), *before = NULL;
    for (const char *comma = strchr(line, ','); comma && comma < last; comma = strchr(comma + 1, ','))
        before = comma;
    if (!before)
        return;
    char *swapped = arena_printf(mutants->arena, "%.*s,%.*s,%.*s;", (int)(before - line), line,
                                 (int)(strlen(last + 1) - 1), last + 1, (int)(last - before - 1), before + 1);
    try_mutant(mutants, KIND_SWAP, at, swapped, NULL);
}

static void mutate_immediates(Mutants *mutants, unsigned at)
{
    const char *line = mutants->lines[at];
    if (strchr(line, '"') || starts(opcode_at(line), "bra"))
        return;
    for (const char *p = opcode_at(line) + strcspn(opcode_at(line), " \t"); *p; p++) {
        bool first = isdigit((unsigned char)*p) && (strchr(" +,", p[-1]) || (p[-1] == '-' && strchr(" +,", p[-2])));
        if (!first)
            continue;
        char *end, by[32];
        long long value = strtoll(p, &end, 0);
        if (p[0] == '0' && (p[1] == 'f' || p[1] == 'd')) {
            end = (char *)p + 2 + strspn(p + 2, "0123456789abcdefABCDEF");
            snprintf(by, sizeof by, "0%c%.*s%c", p[1], (int)(end - p - 3), p + 2, end[-1] == '0' ? '1' : '0');
        } else {
            snprintf(by, sizeof by, "%lld", value + 1);
        }
        try_mutant(mutants, KIND_IMMEDIATE, at, splice(mutants, line, p, (size_t)(end - p), by), NULL);
        p = end - 1;
    }
}

static void mutate_opcode(Mutants *mutants, unsigned at)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"add.", "sub."},    {"sub.", "add."},   {"shl.b", "shr.b"}, {"shr.", "shl.b"}, {"and.", "or."},
        {"or.", "and."},     {"xor.", "or."},    {"min.", "max."},   {"max.", "min."},  {".rn.f32", ".rz.f32"},
        {".lt.", ".le."},    {".le.", ".lt."},   {".gt.", ".ge."},   {".ge.", ".gt."},  {".eq.", ".ne."},
        {".ne.", ".eq."},    {".s32", ".u32"},   {".u32", ".s32"},   {".s64", ".u64"},  {".wide.s32", ".wide.u32"},
        {".wide.u32", ".wide.s32"}, {"atom.global.add", "atom.global.exch"}, {"mad.lo", "mad.hi"}, {"mul.lo", "mul.hi"},
    };
    const char *line = mutants->lines[at], *opcode = opcode_at(line);
    size_t length = strcspn(opcode, " \t");
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const char *found = strstr(opcode, changes[i].from);
        bool whole_word = changes[i].from[0] != '.';
        /* Signedness makes no difference to these. */
        bool same =
            strstr(changes[i].from, "32") && !strstr(changes[i].from, "wide") && !strstr(changes[i].from, "rn") &&
            (starts(opcode, "add") || starts(opcode, "sub") || starts(opcode, "mov") || starts(opcode, "ld") ||
             starts(opcode, "st") || starts(opcode, "mul") || starts(opcode, "mad") || starts(opcode, "cvt.s64") ||
             starts(opcode, "setp.eq") || starts(opcode, "setp.ne") || strstr(opcode, ".add.") != NULL);
        same |= strcmp(changes[i].from, ".s64") == 0 && !starts(opcode, "set") && !starts(opcode, "shr");
        if (!found || found >= opcode + length || (whole_word && found != opcode) || same)
            continue;
        try_mutant(mutants, KIND_OPCODE, at, splice(mutants, line, found, strlen(changes[i].from), changes[i].to),
                   NULL);
    }
}

static size_t register_length(const char *at)
{
    size_t length = 1;
    while (isalnum((unsigned char)at[length]) || strchr("_$%", at[length] ? at[length] : ' '))
        length++;
    return length;
}

static bool is_declared(const Mutants *mutants, const char *name)
{
    size_t length = strlen(name);
    for (unsigned i = 0; i < mutants->line_count; i++) {
        const char *at = strstr(mutants->lines[i], ".reg");
        for (at = at ? strstr(at, name) : NULL; at; at = strstr(at + 1, name))
            if (strchr(",;<", at[length]))
                return true;
    }
    return false;
}

/* Replaces a source register by that of the original or of the first clone. */
static void mutate_registers(Mutants *mutants, unsigned at)
{
    const char *line = mutants->lines[at];
    const char *p = opcode_at(line);
    p += strcspn(p, " \t");
    const char *first_comma = strchr(p, ',');
    bool stores = starts(opcode_at(line), "st.") || starts(opcode_at(line), "red");
    for (; *p; p++) {
        if (*p != '%')
            continue;
        size_t length = register_length(p);
        const char *suffix = memchr(p, '_', length);
        const char *other = suffix ? arena_printf(mutants->arena, "%.*s", (int)(suffix - p), p)
                                   : arena_printf(mutants->arena, "%.*s_1", (int)length, p);
        bool read = stores || (first_comma && p > first_comma);
        bool numbered = suffix && isdigit((unsigned char)suffix[-1]);
        if (read && (numbered || is_declared(mutants, other)))
            try_mutant(mutants, KIND_REGISTER, at, splice(mutants, line, p, length, other), NULL);
        p += length - 1;
    }
}

static void mutate_line(Mutants *mutants, unsigned at)
{
    const char *line = mutants->lines[at];
    const char *next = at + 1 < mutants->line_count ? mutants->lines[at + 1] : "";
    if (!is_instruction(line))
        return;
    try_mutant(mutants, KIND_DROP, at, "", NULL);
    mutate_guard(mutants, at);
    mutate_operands(mutants, at);
    mutate_immediates(mutants, at);
    mutate_opcode(mutants, at);
    mutate_registers(mutants, at);
    /* Two loads may run in either order. */
    bool loads = starts(opcode_at(line), "ld.") && starts(opcode_at(next), "ld.");
    if (is_ordered(line) && is_instruction(next) && is_ordered(next) && !loads)
        try_mutant(mutants, KIND_ORDER, at, next, line);
    if (starts(opcode_at(line), "atom") || starts(opcode_at(line), "red."))
        try_mutant(mutants, KIND_TWICE, at, arena_printf(mutants->arena, "%s%s", line, line), NULL);
}

static bool run_original(Mutants *mutants, const Module *input, const Module *output, const char *path)
{
    const char *error = NULL;
    bool has_contract;
    Launch *launch = launch_read(mutants->arena, path, &error);
    mutants->launch = launch ? launch_by_contract(mutants->arena, input, launch, &has_contract, &error) : NULL;
    mutants->launch_output = launch ? launch_by_contract(mutants->arena, output, launch, &has_contract, &error) : NULL;
    if (!mutants->launch || !mutants->launch_output) {
        fprintf(stderr, "miscompile: %s\n", error);
        return false;
    }
    for (unsigned checks = 8; checks-- > 0;) {
        mutants->options =
            (EmulatorOptions){.check_races = checks & 1, .check_registers = checks & 2, .check_unwritten = checks & 4};
        mutants->expected = emulator_run(mutants->arena, input, mutants->launch, &mutants->options);
        if (mutants->expected->fault.kind == FAULT_NONE)
            break;
    }
    /* A run that takes this much longer is assumed not to end. */
    uint64_t steps = mutants->expected->counters.warp_instructions;
    mutants->options.max_steps = 8 * steps + 10000;
    mutants->options.hang_steps = 2 * steps + 10000;
    return mutants->expected->fault.kind == FAULT_NONE;
}

static int mutate_all(Mutants *mutants, const Module *input, const Module *output, const char *launch)
{
    const char *text = output->source->text;
    if (!run_original(mutants, input, output, launch))
        return 1;
    VEC(char *) lines = {0};
    for (const char *at = text; at < text + output->source->size;) {
        const char *end = memchr(at, '\n', (size_t)(text + output->source->size - at));
        end = end ? end : text + output->source->size;
        VEC_PUSH(mutants->arena, lines, arena_strndup(mutants->arena, at, (size_t)(end - at)));
        at = end + 1;
    }
    mutants->lines = lines.data;
    mutants->line_count = (unsigned)lines.count;
    if (is_killed(mutants, mutants->line_count, "", NULL)) {
        fprintf(stderr, "miscompile: the output is wrong as it is\n");
        return 1;
    }
    /* only the launched kernel's text, because only that runs */
    const char *entry = arena_printf(mutants->arena, ".entry %s(", mutants->launch->kernel);
    bool inside = false;
    for (unsigned i = 0; i < mutants->line_count; i++) {
        inside |= strstr(mutants->lines[i], entry) != NULL;
        inside &= mutants->lines[i][0] != '}';
        if (inside)
            mutate_line(mutants, i);
    }
    unsigned made = 0, killed = 0;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        if (mutants->made[kind])
            printf("%-28s %4u of %4u killed\n", kind_names[kind], mutants->killed[kind], mutants->made[kind]);
        made += mutants->made[kind];
        killed += mutants->killed[kind];
    }
    printf("%u of %u mutants killed\n", killed, made);
    return 0;
}

int main(int count, char **words)
{
    Mutants mutants = {.step = 1};
    bool mutate = false;
    int option;
    while ((option = getopt(count, words, "ms:v")) != -1) {
        switch (option) {
        case 'm': mutate = true; break;
        case 's': mutants.step = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'v': mutants.verbose = true; break;
        default: optind = count; break;
        }
    }
    if (count - optind != 3 || mutants.step == 0) {
        fprintf(stderr, "usage: miscompile [-m [-s STEP] [-v]] INPUT.ptx OUTPUT.ptx LAUNCH.json\n");
        return 2;
    }
    Module *input = parse_file("miscompile", words[optind]), *output = parse_file("miscompile", words[optind + 1]);
    if (!input || !output)
        return 2;
    mutants.arena = arena_new();
    int status;
    if (mutate) {
        status = mutate_all(&mutants, input, output, words[optind + 2]);
    } else {
        Verification verification;
        verify_launch(mutants.arena, input, output, words[optind + 2], NULL, &verification);
        verification_print(&verification, input, stderr);
        status = verification.outcome == VERIFY_EQUAL ? 0 : verification.outcome == VERIFY_DIFFERENT ? 5 : 1;
    }
    arena_free(mutants.arena);
    arena_free(input->arena);
    arena_free(output->arena);
    return status;
}
