/* coarsen-check [-a PTXAS] [-t FOLDER] [-c CONFIG[,CONFIG...]] [-v] [-d] [-e] [-p] FILE.ptx LAUNCH.json...
 * coarsen-check ... -r SEED,COUNT
 *
 * Coarsens the kernel of each launch in several ways and compares each result with the original in the emulator: the
 * buffers must be equal byte by byte. Each result goes through the verifier, out of SSA form, through text and the
 * parser and, with -a, the assembler. With -r the kernels are random (tests/tools/random_kernel.c), one for each seed.
 *
 * A CONFIG gives a factor for each coarsened dimension of x, y and z, the stride, and the form of guards: x2, x4y2,
 * x2:unit, y2:16, x4+fast, y2:unit+sequential. After "b", blocks are merged: bx2, bx3y2:unit;
 * x2bx2 does both. With "g" instead, the grid shrinks, and is skipped where the factor does not divide it.
 *
 * With -p sinking, rematerialization and scheduling follow. With -e every kernel of the file is run under its launch;
 * with "-" for a launch they are not run, and the block's size is not known.
 *
 * Prints for each case "FILE KERNEL CONFIG: done", "refused: REASON (line N)" or "WRONG: WHAT"; without -v, random
 * kernels give only the wrong cases and a summary. -d keeps the changed text of wrong cases in the folder. Exit
 * status 1 if a case was wrong. */
#include "emit/emit.h"
#include "emulator/emulator.h"
#include "engine/report/refusal_words.h"
#include "opt/opt.h"
#include "opt/registers/moves/schedule.h"
#include "parser/parser.h"
#include "parse_text.h"
#include "one_pass.h"
#include "random_kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Settings {
    const char *assembler; /* NULL: none */
    const char *folder;    /* for texts */
    const char *configs;   /* NULL: all that fit */
    bool verbose, keep;
    bool pressed; /* the register passes follow */
    bool every; /* all kernels of a file under its launch */
} Settings;

typedef struct Config {
    Shape shape;
    bool shrinks_grid;
    Stride stride;
    GuardForm guards;
    char name[40];
} Config;

typedef struct Counts {
    unsigned done, refused, wrong;
} Counts;

typedef struct Case {
    const Settings *settings;
    const char *file;
    Arena *arena;
    Module *module;
    Launch *launch;
    EmulatorResult *expected;
    EmulatorOptions options; /* the checks that the original passes */
    Counts *counts;
    bool quiet;
} Case;

static bool config_parse(const char *text, Config *config)
{
    *config = (Config){.shape = shape_complete(&(Shape){.threads = {1}})};
    snprintf(config->name, sizeof config->name, "%s", text);
    char *at = config->name;
    char *form = strchr(at, '+');
    if (form && !guard_form_read(form + 1, &config->guards))
        return false;
    config->shrinks_grid = strchr(at, 'g') != NULL;
    static const char letters[] = "xyz";
    unsigned *factor = config->shape.threads;
    while (*at && *at != ':' && *at != '+') {
        if (*at == 'b' || *at == 'g') {
            factor = config->shape.blocks;
            at++;
        }
        const char *letter = strchr(letters, *at);
        if (!letter)
            return false;
        factor[letter - letters] = (unsigned)strtoul(at + 1, &at, 10);
    }
    if (strncmp(at, ":unit", 5) == 0)
        config->stride.kind = STRIDE_UNIT;
    else if (*at == ':') {
        config->stride = (Stride){STRIDE_NUMBER, (unsigned)strtoul(at + 1, NULL, 10)};
        return config->stride.number != 0;
    }
    const Shape complete = shape_complete(&config->shape);
    return memcmp(&complete, &config->shape, sizeof complete) == 0; /* no factor is 0 */
}

static bool config_fits(const Config *config, const Launch *launch)
{
    const unsigned *threads = config->shape.threads, *blocks = config->shape.blocks;
    for (unsigned d = 0; d < 3 && config->shrinks_grid; d++)
        if ((launch->grid[d] ? launch->grid[d] : 1) % blocks[d])
            return false;
    if (shape_is_of_blocks(&config->shape))
        return true;
    for (unsigned d = 0; d < 3; d++) {
        unsigned size = launch->block[d] ? launch->block[d] : 1;
        if (!launch->grid[0])
            continue;
        if (size < threads[d])
            return false;
        if (threads[d] > 1 && config->stride.kind == STRIDE_NUMBER &&
            divide_up(size, threads[d]) % config->stride.number)
            return false;
    }
    return true;
}

static const char *const all_configs =
    "x2,x4,x8,y2,y4,z2,x2y2,x2y2z2,x2:unit,x4:unit,y2:unit,x2y2:unit,x2:16,x4:8,x2:32,y2:2,x2y2:4,"
    "x4+fast,x2y2+fast,y2:unit+fast,x4+sequential,"
    "x2+predicated,x2y2:unit+predicated,"
    "bx2,bx3,bx4:unit+fast,by2,bx2y2+sequential,bx3y2+fast,bx2y2z2,"
    "x2bx2,x2y2by2:unit,y2bx3+fast,x2bx2y2:16,"
    "gx2,gy2:unit,gx2y2+fast,x2gx2,gx3+sequential,"
    "x3,x5:unit,y3+fast,x3y3+sequential,x16+fast";

static const char *assemble(const Case *it, const Buf *text)
{
    const Settings *settings = it->settings;
    char *path = arena_printf(it->arena, "%s/assemble.%d.ptx", settings->folder, (int)getpid());
    const char *error = write_file(it->arena, path, buf_text(text), text->length);
    if (error)
        return error;
    char target[32];
    snprintf(target, sizeof target, "%s", it->module->target_count ? it->module->targets[0] : "sm_75");
    char *command = arena_printf(it->arena, "'%s' -arch %s -o /dev/null '%s' >'%s.log' 2>&1", settings->assembler,
                                 target, path, path);
    int status = system(command);
    if (status == 0) {
        unlink(path);
        unlink(arena_printf(it->arena, "%s.log", path));
        return NULL;
    }
    return arena_printf(it->arena, "the assembler rejects it, see %s.log", path);
}

/* Returns what is wrong with the changed text, or NULL. */
static const char *judge(const Case *it, const Buf *text, const LaunchContract *contract)
{
    Module *changed = parse_text("changed.ptx", buf_text(text), text->length);
    if (!changed)
        return "the output does not parse";
    const char *message = NULL;
    if (it->expected) {
        const LaunchChange change = contract_change(contract);
        Launch *launch = launch_changed(it->arena, it->launch, &change);
        EmulatorResult *actual = emulator_run(it->arena, changed, launch, &it->options);
        if (actual->fault.kind != FAULT_NONE)
            message = fault_text(it->arena, changed, &actual->fault);
        else
            message =
                emulator_difference(it->arena, it->launch, it->expected, actual, (Tolerance){.kind = TOLERANCE_EXACT});
    }
    arena_free(changed->arena);
    if (!message && it->settings->assembler)
        message = assemble(it, text);
    return message;
}

static void say(const Case *it, const Config *config, const char *what)
{
    printf("%s %s %s: %s\n", it->file, it->launch->kernel, config->name, what);
}

/* Runs the passes that move and recompute instructions as a search might; any number is a valid 'choice'. */
static void press(const Case *it, Body *body, uint64_t choice)
{
    one_sink(body, (SinkMode)(choice % 3), choice / 3 % 2);
    body_verify(body, "sinking");
    RematerializeRequest request = {
        .limit = 6, .cost = 4, .distance = 2, .opaque = choice / 6 % 2, .ignore_pressure = choice / 12 % 2};
    RematerializeCandidate *values;
    uint32_t count = one_candidates(it->arena, body, &request, &values);
    one_rematerialize(body, &request, values, count < 20 ? count : 20);
    body_verify(body, "rematerialization");
    one_schedule(body, &schedule_rules[choice / 24 % schedule_rule_count]);
    body_verify(body, "scheduling");
}

/* Inlines calls where all that need it can be. */
static Body *inlined(Body *body, bool merges_blocks)
{
    Body *copy = body_clone(body);
    bool done = inline_calls(copy, merges_blocks);
    body_free(done ? body : copy);
    return done ? copy : body;
}

static void check_config(const Case *it, const Config *config, bool clean)
{
    Function *kernel = module_find_function(it->module, it->launch->kernel);
    const Shape *shape = &config->shape;
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    if (!body) {
        say(it, config, arena_printf(it->arena, "refused: %s", reason));
        it->counts->refused++;
        return;
    }
    body = inlined(body, merges_any(shape->blocks));
    body_to_ssa(body);
    body_verify(body, "SSA");
    CoarsenRequest request = {.shape = *shape,
                              .shrinks_grid = config->shrinks_grid,
                              .stride = config->stride,
                              .guards = config->guards,
                              .growth = 8};
    unsigned given[3];
    for (unsigned d = 0; d < 3; d++)
        given[d] = it->launch->block[d] || !it->launch->grid[0] ? it->launch->block[d] : 1;
    request.block = block_size_resolve(&body->tuning, given);
    LaunchContract contract;
    Refusal refusal;
    if (!coarsen_body(body, &request, &contract, &refusal, NULL)) {
        unsigned line = refusal.has_span ? source_position(it->module->source, refusal.span.begin).line : 0;
        if (!it->quiet && clean)
            say(it, config, arena_printf(it->arena, "refused: %s (line %u)", refusal_text(it->arena, &refusal), line));
        it->counts->refused++;
        body_free(body);
        return;
    }
    body_verify(body, "coarsening");
    if (clean) {
        one_merge(body);
        body_verify(body, "merging");
        one_dead_code(body);
        body_verify(body, "dead code");
    }
    const unsigned *first = shape_is_of_blocks(shape) ? shape->blocks : shape->threads;
    if (it->settings->pressed)
        press(it, body,
              (it->launch->argument_count ? it->launch->arguments[0].seed : 0) + first[0] * 7 + first[1] +
                  config->stride.number);
    body_from_ssa(body);
    body_verify(body, "out of SSA");
    function_set_body(kernel, body);
    Buf text = {0};
    emit_module(it->module, &text);
    const char *message = judge(it, &text, &contract);
    function_set_body(kernel, NULL);
    if (message) {
        if (it->settings->keep) {
            char *path =
                arena_printf(it->arena, "%s/wrong.%s.%s.ptx", it->settings->folder, it->launch->kernel, config->name);
            write_file(it->arena, path, buf_text(&text), text.length);
        }
        say(it, config, arena_printf(it->arena, "WRONG%s: %s", clean ? "" : " before clean-up", message));
        it->counts->wrong++;
    } else {
        if (!it->quiet && clean)
            say(it, config, "done");
        it->counts->done++;
    }
    buf_free(&text);
}

/* All configurations, or every 'step'-th from 'first' on. */
static void check_configs(const Case *it, const char *configs, unsigned first, unsigned step, bool raw)
{
    char *list = arena_printf(it->arena, "%s", configs), *rest = NULL;
    unsigned number = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        Config config;
        if (!config_parse(word, &config)) {
            printf("not a configuration: %s\n", word);
            it->counts->wrong++;
            continue;
        }
        if (!config_fits(&config, it->launch))
            continue;
        if (number++ % step != first % step)
            continue;
        check_config(it, &config, true);
        if (raw)
            check_config(it, &config, false);
    }
}

/* Finds the checks that the original passes; the changed kernel must pass them too. */
static void run_original(Case *it)
{
    for (unsigned checks = 4; checks-- > 0;) {
        it->options = (EmulatorOptions){.check_races = checks & 1, .check_registers = checks & 2};
        it->expected = emulator_run(it->arena, it->module, it->launch, &it->options);
        if (it->expected->fault.kind == FAULT_NONE)
            return;
    }
    printf("%s %s: WRONG: the original fails: %s\n", it->file, it->launch->kernel,
           fault_text(it->arena, it->module, &it->expected->fault));
    it->counts->wrong++;
    it->expected = NULL;
}

static void check_kernel(Case *it)
{
    const Settings *settings = it->settings;
    if (it->launch->grid[0])
        run_original(it);
    if (it->expected || !it->launch->grid[0])
        check_configs(it, settings->configs ? settings->configs : all_configs, 0, 1, false);
}

static void check_file(const Settings *settings, const char *file, const char *launch, Counts *counts)
{
    Case it = {.settings = settings, .file = file, .arena = arena_new(), .counts = counts};
    const char *error = NULL;
    Source *source = source_read(it.arena, file, &error);
    bool runs = strcmp(launch, "-") != 0;
    it.launch = runs ? launch_read(it.arena, launch, &error) : ARENA_NEW(it.arena, Launch);
    it.module = source ? parse_text(file, source->text, source->size) : NULL;
    if (!it.module || !it.launch) {
        printf("%s: WRONG: %s\n", file, error ? error : "it does not parse");
        counts->wrong++;
    } else if (runs && !settings->every)
        check_kernel(&it);
    else
        for (size_t i = 0; i < it.module->items.count; i++) {
            const Item *item = &it.module->items.data[i];
            if (item->kind != ITEM_FUNCTION || !item->function->is_entry || !item->function->has_body)
                continue;
            it.launch->kernel = item->function->name;
            check_kernel(&it);
        }
    if (it.module)
        arena_free(it.module->arena);
    arena_free(it.arena);
}

static void check_seed(const Settings *settings, uint64_t seed, Counts *counts)
{
    Case it = {.settings = settings, .arena = arena_new(), .counts = counts, .quiet = !settings->verbose};
    Launch launch;
    Buf text = {0};
    random_kernel(seed, it.arena, &text, &launch);
    it.launch = &launch;
    it.file = arena_printf(it.arena, "seed %llu", (unsigned long long)seed);
    if (settings->keep && settings->verbose)
        write_file(it.arena, arena_printf(it.arena, "%s/seed.%llu.ptx", settings->folder, (unsigned long long)seed),
                   buf_text(&text), text.length);
    it.module = parse_text("random.ptx", buf_text(&text), text.length);
    if (!it.module) {
        printf("%s: WRONG: it does not parse\n", it.file);
        counts->wrong++;
    } else {
        run_original(&it);
        if (it.expected && settings->configs)
            check_configs(&it, settings->configs, 0, 1, true);
        else if (it.expected)
            check_configs(&it, all_configs, (unsigned)seed, 4, seed % 2);
        arena_free(it.module->arena);
    }
    buf_free(&text);
    arena_free(it.arena);
}

/* Each case runs in a process of its own: a broken invariant ends only that one. */

typedef struct Job {
    const char *file, *launch; /* NULL: seeds */
    uint64_t seed, count;
} Job;

static Counts run_job(const Settings *settings, const Job *job)
{
    Counts counts = {0};
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        return (Counts){.wrong = 1};
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (job->file)
            check_file(settings, job->file, job->launch, &counts);
        else
            for (uint64_t i = 0; i < job->count; i++)
                check_seed(settings, job->seed + i, &counts);
        fflush(stdout);
        _exit(write(ends[1], &counts, sizeof counts) == (ssize_t)sizeof counts ? 0 : 1);
    }
    close(ends[1]);
    bool told = child > 0 && read(ends[0], &counts, sizeof counts) == (ssize_t)sizeof counts;
    close(ends[0]);
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    if (told && status == 0)
        return counts;
    if (!job->file && job->count > 1) { /* bisect to find the seed */
        Counts sum = {0};
        for (uint64_t half = 0; half < 2; half++) {
            Job part = {.seed = job->seed + half * (job->count / 2),
                        .count = half ? job->count - job->count / 2 : job->count / 2};
            Counts some = run_job(settings, &part);
            sum.done += some.done;
            sum.refused += some.refused;
            sum.wrong += some.wrong;
        }
        return sum;
    }
    if (job->file)
        printf("%s: WRONG: the checker died\n", job->file);
    else
        printf("seed %llu: WRONG: the checker died\n", (unsigned long long)job->seed);
    return (Counts){.wrong = 1};
}

static int usage(void)
{
    fprintf(stderr,
            "usage: coarsen-check [-a PTXAS] [-t FOLDER] [-c CONFIGS] [-v] [-d] [-e] [-p] FILE.ptx LAUNCH.json ...\n"
            "       coarsen-check ... -r SEED,COUNT\n");
    return 2;
}

int main(int count, char **words)
{
    Settings settings = {.folder = "/tmp"};
    Job seeds = {0};
    int option;
    while ((option = getopt(count, words, "a:t:c:r:vdep")) != -1) {
        switch (option) {
        case 'a': settings.assembler = optarg; break;
        case 't': settings.folder = optarg; break;
        case 'c': settings.configs = optarg; break;
        case 'v': settings.verbose = true; break;
        case 'p': settings.pressed = true; break;
        case 'e': settings.every = true; break;
        case 'd': settings.keep = true; break;
        case 'r': {
            char *rest;
            seeds.seed = strtoull(optarg, &rest, 10);
            seeds.count = *rest == ',' ? strtoull(rest + 1, NULL, 10) : 1;
            break;
        }
        default: return usage();
        }
    }
    if ((count - optind) % 2 != 0 || (count == optind && !seeds.count))
        return usage();
    Counts sum = {0};
    for (int i = optind; i < count || seeds.count; i += 2) {
        enum { CHUNK = 32 };
        Job job = {0};
        if (i < count) {
            job.file = words[i];
            job.launch = words[i + 1];
        } else {
            job.seed = seeds.seed;
            job.count = seeds.count < CHUNK ? seeds.count : CHUNK;
            seeds.seed += job.count;
            seeds.count -= job.count;
        }
        Counts some = run_job(&settings, &job);
        sum.done += some.done;
        sum.refused += some.refused;
        sum.wrong += some.wrong;
    }
    printf("%u done, %u refused, %u wrong\n", sum.done, sum.refused, sum.wrong);
    return sum.wrong != 0;
}
