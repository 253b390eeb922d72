/* Replaces libFuzzer if the compiler has none: the same mutator, without coverage.
 *
 *     HARNESS [-runs=N] [-seed=N] [-max_len=N] [-max_total_time=SECONDS] [-artifact_prefix=PATH] FILE-OR-FOLDER...
 *
 * Runs every file unchanged; -runs (or a time) adds that many mutated files, the same ones for the same seed. Writes
 * each input to PATHcurrent before it runs and removes it afterwards if nothing went wrong. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

typedef struct Input {
    uint8_t *data;
    size_t size;
} Input;

typedef struct Driver {
    Arena *arena;
    VEC(Input) inputs;
    unsigned long long runs, executed;
    uint64_t seed;
    size_t limit;
    double seconds;
    const char *prefix;
} Driver;

static Random byte_random = {1};

/* Changes a few bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit)
{
    for (size_t changes = 1 + random_below(&byte_random, 4); changes > 0; changes--) {
        size_t at = size ? random_below(&byte_random, size) : 0;
        switch (random_below(&byte_random, 4)) {
        case 0:
            if (size < limit) {
                memmove(data + at + 1, data + at, size - at);
                data[at] = (uint8_t)random_next(&byte_random);
                size++;
            }
            break;
        case 1:
            if (size > 1)
                memmove(data + at, data + at + 1, --size - at);
            break;
        case 2:
            if (size)
                data[at] ^= (uint8_t)(1u << random_below(&byte_random, 8));
            break;
        default:
            if (size)
                data[at] = (uint8_t)random_next(&byte_random);
            break;
        }
    }
    return size;
}

static void file_add(Driver *driver, const char *path)
{
    const char *error;
    Source *source = source_read(driver->arena, path, &error);
    if (!source) {
        fprintf(stderr, "%s: %s\n", path, error);
        exit(2);
    }
    Input input = {(uint8_t *)arena_strndup(driver->arena, source->text, source->size), source->size};
    VEC_PUSH(driver->arena, driver->inputs, input);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void path_add(Driver *driver, const char *path)
{
    struct stat status;
    DIR *folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? opendir(path) : NULL;
    if (!folder) {
        file_add(driver, path);
        return;
    }
    VEC(char *) names = {0};
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            VEC_PUSH(driver->arena, names, arena_printf(driver->arena, "%s/%s", path, entry->d_name));
    closedir(folder);
    if (names.count)
        qsort(names.data, names.count, sizeof *names.data, by_name);
    for (size_t i = 0; i < names.count; i++)
        file_add(driver, names.data[i]);
}

static void input_run(Driver *driver, const uint8_t *data, size_t size)
{
    char *path = arena_printf(driver->arena, "%scurrent", driver->prefix);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        fprintf(stderr, "cannot write %s\n", path);
    close(file);
    LLVMFuzzerTestOneInput(data, size);
    unlink(path);
    driver->executed++;
}

static void inputs_change(Driver *driver)
{
    Random random = {driver->seed};
    uint8_t *data = arena_alloc(driver->arena, driver->limit);
    double end = seconds_now() + driver->seconds;
    byte_random.state = driver->seed;
    for (unsigned long long i = 0; driver->seconds > 0 ? seconds_now() < end : i < driver->runs; i++) {
        const Input *input = &driver->inputs.data[random_below(&random, driver->inputs.count)];
        const Input *other = &driver->inputs.data[random_below(&random, driver->inputs.count)];
        size_t size = input->size < driver->limit ? input->size : driver->limit;
        memcpy(data, input->data, size);
        if (!random_below(&random, 4))
            size = LLVMFuzzerCustomCrossOver(input->data, size, other->data, other->size, data, driver->limit,
                                             (unsigned)random_next(&random));
        size = LLVMFuzzerCustomMutator(data, size, driver->limit, (unsigned)random_next(&random));
        input_run(driver, data, size);
    }
}

static const char *option_value(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 ? word + length : NULL;
}

int main(int argc, char **argv)
{
    Driver driver = {.arena = arena_new(), .seed = 1, .limit = 4096, .prefix = "fuzz-"};
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        const char *value;
        if ((value = option_value(argv[i], "-runs=")))
            driver.runs = strtoull(value, NULL, 10);
        else if ((value = option_value(argv[i], "-seed=")))
            driver.seed = strtoull(value, NULL, 10);
        else if ((value = option_value(argv[i], "-max_len=")))
            driver.limit = strtoull(value, NULL, 10);
        else if ((value = option_value(argv[i], "-max_total_time=")))
            driver.seconds = strtod(value, NULL);
        else if ((value = option_value(argv[i], "-artifact_prefix=")))
            driver.prefix = value;
        else if (argv[i][0] != '-')
            path_add(&driver, argv[i]);
    }
    for (size_t i = 0; i < driver.inputs.count; i++)
        input_run(&driver, driver.inputs.data[i].data, driver.inputs.data[i].size);
    if (driver.inputs.count && driver.limit)
        inputs_change(&driver);
    fprintf(stderr, "Done %llu runs\n", driver.executed);
    arena_free(driver.arena);
    return 0;
}
