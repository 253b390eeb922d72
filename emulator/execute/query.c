/* txq and suq: PTX ISA, "Texture Instructions", "Surface Instructions". */
#include "emulator/execute/execute.h"

/* OpenCL's numbers, to which PTX ISA, "Texture Instructions: txq", refers. */
static uint32_t channel_data_type(const Image *image)
{
    bool unit = image->shape->read_normalized;
    switch (image->type) {
    case TYPE_S8: return unit ? 0x10d0 : 0x10d7;
    case TYPE_S16: return unit ? 0x10d1 : 0x10d8;
    case TYPE_S32: return 0x10d9;
    case TYPE_U8: return unit ? 0x10d2 : 0x10da;
    case TYPE_U16: return unit ? 0x10d3 : 0x10db;
    case TYPE_U32: return 0x10dc;
    case TYPE_F16: return 0x10dd;
    default: return 0x10de;
    }
}

static uint32_t query(const Image *image, unsigned what)
{
    const LaunchImage *shape = image->shape;
    switch (what) {
    case QUERY_WIDTH: return (uint32_t)shape->width;
    case QUERY_HEIGHT: return (uint32_t)shape->height;
    case QUERY_DEPTH: return (uint32_t)shape->depth;
    case QUERY_CHANNEL_DATA_TYPE: return channel_data_type(image);
    case QUERY_CHANNEL_ORDER: return shape->channels == 1 ? 0x10b0 : shape->channels == 2 ? 0x10b2 : 0x10b5;
    case QUERY_NORMALIZED_COORDS: return shape->normalized;
    case QUERY_ARRAY_SIZE: return (uint32_t)shape->layers;
    case QUERY_NUM_MIPMAP_LEVELS:
    case QUERY_NUM_SAMPLES: return 1;
    case QUERY_FORCE_UNNORMALIZED_COORDS: return !shape->normalized;
    case QUERY_FILTER_MODE: return shape->linear_filter;
    case QUERY_ADDR_MODE_0:
    case QUERY_ADDR_MODE_1:
    case QUERY_ADDR_MODE_2: return shape->address[what - QUERY_ADDR_MODE_0];
    default: return 0; /* memory_layout: pitch linear */
    }
}

Step run_image_query(Exec *x, const Op *op, uint32_t mask)
{
    const ImageOp *image_op = op->image;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t handle = row_get(source_row(x, image_op->handle), 8, lane);
        bool sampler = image_op->query >= QUERY_FORCE_UNNORMALIZED_COORDS && image_op->query <= QUERY_ADDR_MODE_2;
        const Image *image = image_find(x, op, lane, handle, sampler);
        if (!image)
            return STEP_FAULT;
        if (image_op->rows[0] != NO_ROW)
            row_set(x->frame->registers + image_op->rows[0], 4, lane, query(image, image_op->query));
    }
    return STEP_NEXT;
}
