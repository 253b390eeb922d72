/* Finds the kernels in a file or a folder. */
#include <errno.h>
#include <fts.h>
#include <sys/stat.h>

#include "images/images.h"
#include "sass/sass.h"
#include "stats/internal.h"

static bool fail(const char *file, const char *message)
{
    fprintf(stderr, "ptxopt: error: %s: %s\n", file, message);
    return false;
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
        if (!add_image(stats, request, image_place(stats->arena, source->path, image), image))
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

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Links are not followed. */
static bool add_folder(Stats *stats, const StatsRequest *request, const char *path)
{
    char *const roots[] = {arena_strndup(stats->arena, path, strlen(path)), NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_entries);
    bool done = walk || fail(path, strerror(errno));
    for (const FTSENT *entry; done && (entry = fts_read(walk)) != NULL;) {
        const char *name = arena_strndup(stats->arena, entry->fts_path, entry->fts_pathlen);
        if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR)
            done = fail(name, strerror(entry->fts_errno));
        else if (entry->fts_info == FTS_F && is_of_interest(name))
            done = add_file(stats, request, name);
    }
    if (walk)
        fts_close(walk);
    return done;
}

bool stats_collect(Stats *stats, const StatsRequest *request, const char *path)
{
    struct stat state;
    if (stat(path, &state) == 0 && S_ISDIR(state.st_mode))
        return add_folder(stats, request, path);
    return add_file(stats, request, path);
}
