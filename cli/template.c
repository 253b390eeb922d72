#include "cli/template.h"

#include "opt/opt.h"

enum { TEMPLATE_ELEMENTS = 1024, TEMPLATE_THREADS = 128 };

static void print_image(const char *kind, const char *type, unsigned index, Buf *out)
{
    buf_printf(out, "{\"%s\": \"p%u\", \"type\": \"%s\", \"width\": 64, \"init\": \"zero\"}", kind, index, type);
}

static void print_pointer(unsigned index, Buf *out)
{
    buf_printf(out, "{\"buffer\": \"p%u\", \"type\": \"f32\", \"count\": %d, \"init\": \"zero\"}", index,
               TEMPLATE_ELEMENTS);
}

/* A structure is an array of bytes. */
static void print_array(const Variable *param, Buf *out)
{
    uint64_t count = variable_bytes(param) * 8 / type_bits(param->type);
    const char *type = type_name(param->type);
    buf_printf(out, "{\"scalar\": \"%s\", \"value\": [", type);
    for (uint64_t i = 0; i < count; i++)
        buf_puts(out, i ? ", 0" : "0");
    buf_puts(out, "]}");
}

static void print_argument(const Variable *param, unsigned index, Buf *out)
{
    switch (param->type) {
    case TYPE_TEXREF: print_image("texture", "f32", index, out); return;
    case TYPE_SURFREF: print_image("surface", "u32", index, out); return;
    case TYPE_SAMPLERREF: buf_printf(out, "{\"sampler\": \"p%u\"}", index); return;
    default: break;
    }
    if (param->is_array)
        print_array(param, out);
    else if (type_bits(param->type) == 64 && type_class(param->type) != CLASS_FLOAT)
        print_pointer(index, out);
    else
        buf_printf(out, "{\"scalar\": \"%s\", \"value\": 0}", type_name(param->type));
}

void launch_template(const Function *kernel, Buf *out)
{
    const unsigned none[3] = {0};
    BlockSize block = block_size_resolve(&kernel->tuning, none);
    if (!block.threads[0])
        block.threads[0] = TEMPLATE_THREADS;
    buf_printf(out, "{\n    \"kernel\": \"%s\",\n    \"grid\": [1, 1, 1],\n", kernel->name);
    buf_printf(out, "    \"block\": [%u, %u, %u],\n",
               block.threads[0], block.threads[1] ? block.threads[1] : 1, block.threads[2] ? block.threads[2] : 1);
    buf_puts(out, "    \"dynamic_shared\": 0,\n    \"args\": [");
    const Prototype *prototype = &kernel->prototype;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        buf_puts(out, i ? ",\n        " : "\n        ");
        print_argument(prototype->params[i], i, out);
    }
    buf_puts(out, prototype->param_count ? "\n    ]\n}\n" : "]\n}\n");
}
