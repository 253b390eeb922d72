/* The hash by which a kernel is known in the store of learned launches. */
#include <string.h>

#include "analysis/analysis.h"
#include "engine/run_steps.h"

/* The hash of a function's text without the lines of the source. */
static uint64_t text_hash(const char *at, const char *end, uint64_t hash)
{
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end ? line_end + 1 : end, *word = at;
        while (word < next && (*word == ' ' || *word == '\t'))
            word++;
        if (next - word < 4 || memcmp(word, ".loc", 4) != 0)
            hash = hash_fnv(at, (size_t)(next - at), hash);
        at = next;
    }
    return hash;
}

/* It is that of the version of this program, the architecture, and the texts of the kernel and of what it may call, so
 * that equal kernels of two programs share what is learned about them. */
uint64_t kernel_content_hash(const Run *run, const Function *kernel)
{
    const char *text = run->report.source->text;
    const FunctionVec functions = functions_called(run->arena, kernel);
    uint64_t hash = hash_fnv(PTXOPT_VERSION, sizeof PTXOPT_VERSION, HASH_START);
    hash = hash_fnv(run->arch, strlen(run->arch), hash);
    for (size_t f = 0; f < functions.count; f++)
        hash = text_hash(text + functions.data[f]->text.begin, text + functions.data[f]->text.end, hash);
    return hash;
}
