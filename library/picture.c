/* Pictures of the registers of machine code. */
#include <stdlib.h>
#include <string.h>

#include "library/internal.h"
#include "view/view.h"

struct ptxopt_picture {
    Arena *arena;
    ptxopt_status status;
    Buf text, page;
};

/* A picture in progress: of one form of a kernel, or of two. */
typedef struct Drawing {
    const ptxopt_module *modules[2]; /* the second one may be NULL */
    const ptxopt_options *options;
    ptxopt_picture *picture;
    ViewSide sides[2];
    FILE *messages;
} Drawing;

/* The parts of the options that are about a picture. */
static ViewRequest request_of(const Options *options, FILE *messages)
{
    ViewRequest request = {
        .kernel = options->entries.count ? options->entries.data[0] : NULL,
        .launch = options->launches.count ? options->launches.data[options->launches.count - 1] : NULL,
        .run = {.arch = options->arch,
                .assembler = options->assembler,
                .assembler_given = option_given(options, OPTION_ASSEMBLER),
                .assembler_none = options->assembler_none,
                .quiet = options->quiet,
                .python_folders = options->python_folders,
                .messages = messages}};
    const char *kernel = request.kernel ? request.kernel : "";
    const BlockOption *block = options_block_for(options, kernel);
    const SharedOption *shared = options_shared_for(options, kernel);
    if (block)
        memcpy(request.block, block->threads, sizeof request.block);
    if (shared)
        request.dynamic_shared = shared->bytes;
    return request;
}

static bool read_side(Drawing *drawing, unsigned i)
{
    static const char *const no_options[] = {NULL};
    Arena *arena = drawing->picture->arena;
    const ViewRequest request = request_of(&drawing->options->options, drawing->messages);
    return view_side_read_text(&drawing->sides[i], arena, &request, module_source(arena, drawing->modules[i]),
                               no_options);
}

static void draw(void *context)
{
    Drawing *drawing = context;
    ptxopt_picture *picture = drawing->picture;
    const unsigned last = drawing->modules[1] != NULL;
    picture->arena = arena_new();
    picture->status = PTXOPT_INPUT;
    for (unsigned i = 0; i <= last; i++)
        if (!read_side(drawing, i))
            return;
    const View *before = last ? drawing->sides[0].view : NULL, *view = drawing->sides[last].view;
    view_print_text(before, view, &(ViewStyle){0}, &picture->text);
    view_print_page(before, view, &picture->page);
    picture->status = PTXOPT_DONE;
}

static void forget(void *context)
{
    const Drawing *drawing = context;
    drawing->picture->arena = NULL;
}

static void free_texts(ptxopt_picture *picture)
{
    buf_free(&picture->text);
    buf_free(&picture->page);
}

ptxopt_picture *ptxopt_view(const ptxopt_module *module, const ptxopt_module *after, const ptxopt_options *options)
{
    char *bug = NULL, *messages = NULL;
    size_t length = 0;
    Drawing drawing = {.modules = {module, after},
                       .options = options,
                       .picture = calloc(1, sizeof(ptxopt_picture)),
                       .messages = open_memstream(&messages, &length)};
    if (!drawing.picture || !drawing.messages) {
        free(drawing.picture);
        return NULL;
    }
    const GuardEnd end = guard_run(draw, forget, &drawing, &bug);
    if (end != GUARD_DONE)
        drawing.picture->status = guard_status(end);
    for (unsigned i = 0; i < COUNT_OF(drawing.sides) && end == GUARD_DONE; i++)
        run_close(&drawing.sides[i].run);
    if (drawing.picture->status != PTXOPT_DONE)
        free_texts(drawing.picture);
    fclose(drawing.messages);
    if (messages && options->function)
        diagnostics_report(messages, module->name, options->function, options->context);
    free(messages);
    free(bug);
    return drawing.picture;
}

void ptxopt_picture_free(ptxopt_picture *picture)
{
    if (!picture)
        return;
    free_texts(picture);
    arena_free(picture->arena);
    free(picture);
}

ptxopt_status ptxopt_picture_status(const ptxopt_picture *picture)
{
    return picture->status;
}

const char *ptxopt_picture_text(const ptxopt_picture *picture)
{
    return picture->status == PTXOPT_DONE ? buf_text(&picture->text) : NULL;
}

const char *ptxopt_picture_page(const ptxopt_picture *picture)
{
    return picture->status == PTXOPT_DONE ? buf_text(&picture->page) : NULL;
}
