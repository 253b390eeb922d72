/* ptxsmith [-n STATEMENTS] [-s PART=SHARE,...] SEED FOLDER
 *
 * Writes a random program and its launch to FOLDER/SEED.ptx and FOLDER/SEED.launch.json. The parts are value, memory,
 * flow, together and idiom (tests/generate/generate.h). */
#include "generate.h"

#include <stdlib.h>
#include <unistd.h>

static int usage(void)
{
    fprintf(stderr, "usage: ptxsmith [-n STATEMENTS] [-s PART=SHARE,...] SEED FOLDER\n");
    return 2;
}

static bool write_text(Arena *arena, const char *folder, const char *seed, const char *end, const Buf *text)
{
    const char *error =
        write_file(arena, arena_printf(arena, "%s/%s%s", folder, seed, end), buf_text(text), text->length);
    if (error)
        fprintf(stderr, "ptxsmith: %s\n", error);
    return !error;
}

int main(int count, char **words)
{
    GenerateKnobs knobs = {0};
    for (int option; (option = getopt(count, words, "n:s:")) != -1;) {
        if (option == 'n')
            knobs.size = (unsigned)strtoul(optarg, NULL, 10);
        else if (option != 's' || !generate_read_shares(optarg, &knobs))
            return usage();
    }
    if (count - optind != 2)
        return usage();
    Arena *arena = arena_new();
    Buf ptx = {0}, launch = {0};
    const char *seed = words[optind], *folder = words[optind + 1];
    generate_program(strtoull(seed, NULL, 10), &knobs, &ptx, &launch);
    bool written =
        write_text(arena, folder, seed, ".ptx", &ptx) && write_text(arena, folder, seed, ".launch.json", &launch);
    buf_free(&ptx);
    buf_free(&launch);
    arena_free(arena);
    return !written;
}
