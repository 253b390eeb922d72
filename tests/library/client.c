/* A program of a user of libptxopt: built by suite/library against the installed files, with the shared and the static
 * library.
 *
 * client one FILE NAME=VALUE...    one run; prints the diagnostics, the status, the kernels and the sizes
 * client text FILE NAME=VALUE...   the PTX on standard output
 * client threads N FILE...         N threads, each with every file, options shared: all get the same
 * client memory FILE NAME=VALUE... the run without memory after each allocation in turn; needs --wrap of malloc, calloc
 *                                  and realloc, and -DWRAPPED */
#include <pthread.h>
#include <ptxopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what)
{
    if (!good) {
        printf("not ok client: %s\n", what);
        exit(1);
    }
}

static char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    check(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    check(fread(text, 1, *length, file) == *length, path);
    fclose(file);
    return text;
}

static void print_diagnostic(void *context, const ptxopt_diagnostic *diagnostic)
{
    static const char *const words[] = {"note", "warning", "error"};
    (void)context;
    printf("%s %s %u:%u [%s]\n", words[diagnostic->severity], diagnostic->name ? diagnostic->name : "-",
           diagnostic->line, diagnostic->column, diagnostic->message);
}

/* NULL after a message. */
static ptxopt_options *read_options(char **words)
{
    ptxopt_options *options = ptxopt_options_new();
    for (; options && *words; words++) {
        char *equals = strchr(*words, '=');
        if (equals)
            *equals = 0;
        if (strcmp(*words, "cubin") == 0) {
            ptxopt_options_want_cubin(options, 1);
            continue;
        }
        ptxopt_status status = ptxopt_options_set(options, *words, equals ? equals + 1 : NULL);
        check((status == PTXOPT_DONE) == !ptxopt_options_error(options), "an error has a message");
        if (status != PTXOPT_DONE) {
            printf("option %s: status %d: %s\n", *words, status, ptxopt_options_error(options));
            ptxopt_options_free(options);
            return NULL;
        }
    }
    return options;
}

static int run_one(const char *path, char **words, int only_text)
{
    size_t length, ptx_length, cubin_length;
    ptxopt_options *options = read_options(words);
    if (!options)
        return 1;
    char *text = read_whole(path, &length);
    if (!only_text)
        ptxopt_options_on_diagnostic(options, print_diagnostic, NULL);
    ptxopt_module *module = ptxopt_module_from_text("input", text, length);
    ptxopt_result *result = ptxopt_run(module, options);
    check(result != NULL, "there is a result");
    /* The result does not need the objects that it was made from. */
    ptxopt_module_free(module);
    ptxopt_options_free(options);
    memset(text, 'x', length);
    free(text);
    const char *ptx = ptxopt_result_ptx(result, &ptx_length);
    ptxopt_result_cubin(result, &cubin_length);
    ptxopt_status status = ptxopt_result_status(result);
    check((ptx != NULL) == (status == PTXOPT_DONE || status == PTXOPT_REFUSED), "PTX if, and only if, it is done");
    check(!ptx == !ptxopt_result_assembler_options(result), "options of the assembler beside PTX");
    check(!ptx || (strlen(ptx) == ptx_length && ptxopt_result_contract(result)), "PTX and contract");
    if (only_text) {
        fputs(ptx ? ptx : "", stdout);
    } else {
        printf("status %d ptx %d cubin %d contract %d report %d\n", status, ptx_length > 0, cubin_length > 0,
               ptxopt_result_contract(result) != NULL, ptxopt_result_report(result) != NULL);
        ptxopt_kernel kernel;
        for (size_t i = 0; ptxopt_result_kernel(result, i, &kernel, sizeof kernel); i++)
            printf("kernel %s coarsened %d x%u,y%u,z%u registers %d: %s; known %d,%d\n", kernel.name, kernel.coarsened,
                   kernel.factor[0], kernel.factor[1], kernel.factor[2], kernel.registers_reduced,
                   kernel.refusal ? kernel.refusal : "-", kernel.before.known, kernel.after.known);
        memset(&kernel, 1, sizeof kernel);
        if (ptxopt_result_kernel(result, 0, &kernel, sizeof kernel.name))
            check(kernel.coarsened == 0x01010101, "nothing is written beyond the caller's size");
    }
    ptxopt_result_free(result);
    return 0;
}

typedef struct Work {
    const ptxopt_options *options;
    ptxopt_module **modules;
    char **wanted;
    int count, first;
    int failed;
} Work;

static void *work(void *context)
{
    Work *own = context;
    for (int i = 0; i < own->count; i++) {
        int at = (own->first + i) % own->count;
        ptxopt_result *result = ptxopt_run(own->modules[at], own->options);
        const char *ptx = result ? ptxopt_result_ptx(result, NULL) : NULL;
        if (!ptx || (own->wanted[at] && strcmp(ptx, own->wanted[at]) != 0))
            own->failed = 1;
        else if (!own->wanted[at])
            own->wanted[at] = strdup(ptx);
        ptxopt_result_free(result);
    }
    return NULL;
}

static int run_threads(int threads, char **paths)
{
    enum { MOST = 64 };
    char *texts[MOST], *wanted[MOST] = {NULL};
    ptxopt_module *modules[MOST];
    pthread_t ids[MOST];
    Work works[MOST];
    int count = 0;
    ptxopt_options *options = ptxopt_options_new();
    ptxopt_options_set(options, "assembler", "none");
    ptxopt_options_set(options, "coarsen", "2");
    ptxopt_options_set(options, "q", NULL);
    for (; paths[count] && count < MOST; count++) {
        size_t length;
        texts[count] = read_whole(paths[count], &length);
        modules[count] = ptxopt_module_from_text(paths[count], texts[count], length);
    }
    Work first = {options, modules, wanted, count, 0, 0};
    work(&first);
    check(!first.failed, "alone");
    for (int i = 0; i < threads && i < MOST; i++) {
        works[i] = (Work){options, modules, wanted, count, i, 0};
        pthread_create(&ids[i], NULL, work, &works[i]);
    }
    for (int i = 0; i < threads && i < MOST; i++) {
        pthread_join(ids[i], NULL);
        check(!works[i].failed, "in a thread");
    }
    for (int i = 0; i < count; i++) {
        ptxopt_module_free(modules[i]);
        free(texts[i]);
        free(wanted[i]);
    }
    ptxopt_options_free(options);
    return 0;
}

#ifdef WRAPPED
static long left = -1; /* allocations that succeed; -1: all */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);

static int granted(void)
{
    if (left > 0)
        left--;
    return left != 0;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return granted() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return granted() ? __real_realloc(memory, size) : NULL;
}

static int run_without_memory(const char *path, char **words)
{
    size_t length;
    char *text = read_whole(path, &length);
    long failures = 0;
    for (long allowed = 1;; allowed++) {
        char *copies[16];
        int count = 0;
        for (; words[count]; count++)
            copies[count] = strdup(words[count]);
        copies[count] = NULL;
        ptxopt_options *options = read_options(copies);
        ptxopt_module *module = ptxopt_module_from_text("input", text, length);
        left = allowed;
        ptxopt_result *result = ptxopt_run(module, options);
        int all = left > 0;
        left = -1;
        ptxopt_status status = result ? ptxopt_result_status(result) : PTXOPT_NO_MEMORY;
        if (status != PTXOPT_DONE && status != PTXOPT_NO_MEMORY)
            printf("allocation %ld: status %d\n", allowed, status);
        check(status == PTXOPT_DONE || (!all && status == PTXOPT_NO_MEMORY), "done, or out of memory");
        failures += status == PTXOPT_NO_MEMORY;
        ptxopt_result_free(result);
        ptxopt_module_free(module);
        ptxopt_options_free(options);
        while (count > 0)
            free(copies[--count]);
        if (all)
            break;
    }
    free(text);
    check(failures > 10, "memory runs out at some places");
    printf("%ld times out of memory\n", failures);
    return 0;
}
#endif

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "one") == 0)
        return run_one(argv[2], argv + 3, 0);
    if (argc > 2 && strcmp(argv[1], "text") == 0)
        return run_one(argv[2], argv + 3, 1);
    if (argc > 3 && strcmp(argv[1], "threads") == 0)
        return run_threads(atoi(argv[2]), argv + 3);
#ifdef WRAPPED
    if (argc > 2 && strcmp(argv[1], "memory") == 0)
        return run_without_memory(argv[2], argv + 3);
#endif
    printf("%s\n", ptxopt_version());
    return argc > 1;
}
