/* Finds the kernels in a file or a folder. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "images/images.h"
#include "sass/sass.h"
#include "stats/internal.h"

static bool fail(const char *file, const char *message)
{
    fprintf(stderr, "ptxopt: error: %s: %s\n", file, message);
    return false;
}

static const char *image_file(Arena *arena, const char *file, const Image *image)
{
    return image->member ? arena_printf(arena, "%s(%s)", file, image->member) : file;
}

/* True if some image is machine code. PTX beside it is for other devices, and is passed over. */
static bool has_cubin(const ImageVec *images)
{
    for (size_t i = 0; i < images->count; i++)
        if (images->data[i].kind == IMAGE_CUBIN)
            return true;
    return false;
}

static bool add_image(Stats *stats, const StatsRequest *request, const char *file, const Image *image)
{
    const char *error = NULL;
    size_t size;
    /* Names of kernels are copied, so that the unpacked image need not stay. */
    Arena *scratch = arena_new();
    const char *bytes = image_unpack(scratch, image, &size, &error);
    bool done = bytes || fail(file, error);
    if (done && image->kind == IMAGE_CUBIN)
        done = stats_add_cubin(stats, request, file, bytes, size, NULL) || fail(file, "a cubin in it is damaged");
    else if (done)
        done = stats_add_module(stats, request, source_from_memory(stats->arena, file, bytes, size));
    arena_free(scratch);
    return done;
}

static bool add_images(Stats *stats, const StatsRequest *request, const Source *source)
{
    ImageVec images = {0};
    const char *error = images_read(stats->arena, source->text, source->size, &images);
    const bool only_cubins = has_cubin(&images);
    for (size_t i = 0; !error && i < images.count; i++) {
        const Image *image = &images.data[i];
        if (image->kind == IMAGE_OTHER || (only_cubins && image->kind == IMAGE_PTX))
            continue;
        if (!add_image(stats, request, image_file(stats->arena, source->path, image), image))
            return false;
    }
    return error ? fail(source->path, error) : true;
}

static bool add_source(Stats *stats, const StatsRequest *request, Source *source)
{
    if (images_inside(source->text, source->size))
        return add_images(stats, request, source);
    if (sass_arch(stats->arena, source->text, source->size).number)
        return stats_add_cubin(stats, request, source->path, source->text, source->size, NULL) ||
               fail(source->path, "it is not a cubin that can be read");
    if (stats_is_table(source)) {
        const char *error = stats_read_table(stats, source);
        if (error)
            fprintf(stderr, "ptxopt: error: %s\n", error);
        return !error;
    }
    return stats_add_module(stats, request, source);
}

static bool add_file(Stats *stats, const StatsRequest *request, const char *path)
{
    const char *error = NULL;
    const size_t before = stats->rows.count;
    Source *source = source_read(stats->arena, path, &error);
    if (!source)
        return fail(path, error);
    if (!add_source(stats, request, source))
        return false;
    stats->files += stats->rows.count > before;
    return true;
}

/* True if a file in a folder may have kernels: PTX by its name, others by how they begin. */
static bool is_of_interest(const char *path)
{
    char head[8] = {0};
    if (text_ends_with(path, ".ptx"))
        return true;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    const size_t size = fread(head, 1, sizeof head, file);
    fclose(file);
    return size == sizeof head && (memcmp(head, "\177ELF", 4) == 0 || images_inside(head, size));
}

typedef VEC(const char *) Paths;

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* nftw() has no argument for its caller. */
static _Thread_local struct {
    Arena *arena;
    Paths paths;
} walk;

static int visit(const char *path, const struct stat *state, int kind, struct FTW *position)
{
    (void)position;
    if (kind == FTW_F && S_ISREG(state->st_mode) && is_of_interest(path))
        VEC_PUSH(walk.arena, walk.paths, arena_strndup(walk.arena, path, strlen(path)));
    return 0;
}

static bool add_folder(Stats *stats, const StatsRequest *request, const char *path)
{
    enum { OPEN_FOLDERS = 16 };
    walk.arena = stats->arena;
    walk.paths = (Paths){0};
    if (nftw(path, visit, OPEN_FOLDERS, FTW_PHYS) != 0)
        return fail(path, strerror(errno));
    const Paths paths = walk.paths;
    if (paths.count)
        qsort(paths.data, paths.count, sizeof *paths.data, compare_paths);
    for (size_t i = 0; i < paths.count; i++)
        if (!add_file(stats, request, paths.data[i]))
            return false;
    return true;
}

bool stats_collect(Stats *stats, const StatsRequest *request, const char *path)
{
    struct stat state;
    if (stat(path, &state) == 0 && S_ISDIR(state.st_mode))
        return add_folder(stats, request, path);
    return add_file(stats, request, path);
}
