/* The table of devices, and machine files that change it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "target/target.h"

static const Device devices[] = {
#define DEVICE(name_, sm_, sms_, mhz_, fp32_, integer_, special_, fp64_, tensor_, alu_, sfu_, shared_, l1_, l2_,       \
               dram_, l1_kib_, l1_bytes_, l2_mib_, l2_bytes_, dram_bytes_, fitted_)                                    \
    {.name = name_,                                                                                                    \
     .architecture = sm_,                                                                                              \
     .multiprocessors = sms_,                                                                                          \
     .clock_mhz = mhz_,                                                                                                \
     .schedulers = 4,                                                                                                  \
     .fp32 = fp32_,                                                                                                    \
     .integer = integer_,                                                                                              \
     .special = special_,                                                                                              \
     .fp64 = fp64_,                                                                                                    \
     .tensor = tensor_,                                                                                                \
     .shared_bytes = 128,                                                                                              \
     .alu_latency = alu_,                                                                                              \
     .special_latency = sfu_,                                                                                          \
     .shared_latency = shared_,                                                                                        \
     .l1_latency = l1_,                                                                                                \
     .l2_latency = l2_,                                                                                                \
     .dram_latency = dram_,                                                                                            \
     .l1_size = l1_kib_ * 1024.0,                                                                                      \
     .l1_bytes = l1_bytes_,                                                                                            \
     .l1_lines = 3,                                                                                                    \
     .l2_size = l2_mib_ * 1048576.0,                                                                                   \
     .l2_bytes = l2_bytes_,                                                                                            \
     .store_passes = 1.7,                                                                                              \
     .merge_passes = 3.5,                                                                                              \
     .dram_bytes = dram_bytes_,                                                                                        \
     .blocks_per_cycle = 0.84,                                                                                         \
     .block_start = 350,                                                                                               \
     .launch_cycles = 500,                                                                                             \
     .is_fitted = fitted_},
#include "target/devices.def"
#undef DEVICE
};

enum { DEVICES = sizeof devices / sizeof devices[0] };

const Device *device_for(unsigned architecture)
{
    const Device *found = &devices[0];
    for (size_t i = 0; i < DEVICES; i++)
        if (devices[i].architecture <= architecture)
            found = &devices[i];
    return found;
}

typedef struct Field {
    const char *name;
    size_t offset;
} Field;

static const Field fields[] = {
#define FIELD(name) {#name, offsetof(Device, name)}
    FIELD(multiprocessors), FIELD(clock_mhz),       FIELD(schedulers),     FIELD(fp32),       FIELD(integer),
    FIELD(special),         FIELD(fp64),            FIELD(tensor),         FIELD(shared_bytes), FIELD(alu_latency),
    FIELD(special_latency), FIELD(shared_latency),  FIELD(l1_latency),     FIELD(l2_latency), FIELD(dram_latency),
    FIELD(l1_size),         FIELD(l1_bytes),        FIELD(l2_size),        FIELD(l2_bytes),   FIELD(dram_bytes),
    FIELD(blocks_per_cycle), FIELD(launch_cycles),  FIELD(l1_lines),       FIELD(store_passes), FIELD(merge_passes),
    FIELD(block_start),     FIELD(store_wait),
#undef FIELD
};

/* True if products that differ in the member only are alike to the model. */
static bool is_of_product(const char *name)
{
    return strcmp(name, "multiprocessors") == 0 || strcmp(name, "clock_mhz") == 0;
}

static bool may_be_zero(const char *name)
{
    static const char *const names[] = {"launch_cycles", "merge_passes", "block_start", "store_wait"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Sets one member of a machine file; false if there is none of that name or the value is not a positive number. */
static bool set_field(Device *device, const char *name, const json_t *value)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].name, name) == 0) {
            double number = json_number_value(value);
            memcpy((char *)device + fields[i].offset, &number, sizeof number);
            device->is_fitted &= is_of_product(name);
            return json_is_number(value) && (number > 0 || (number == 0 && may_be_zero(name)));
        }
    return false;
}

void device_slice(Device *device, double count)
{
    double share = count / device->multiprocessors;
    device->multiprocessors = count;
    device->l2_size *= share;
    device->l2_bytes *= share;
    device->dram_bytes *= share;
    device->blocks_per_cycle *= share;
}

static bool set_fields(Arena *arena, Device *device, json_t *root, const char *path, const char **error)
{
    const char *key;
    json_t *value;
    double slice = 0;
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "name") == 0 && json_is_string(value))
            device->name = arena_strndup(arena, json_string_value(value), strlen(json_string_value(value)));
        else if (strcmp(key, "slice") == 0 && json_is_number(value) && json_number_value(value) >= 1)
            slice = json_number_value(value);
        else if (!set_field(device, key, value)) {
            *error = arena_printf(
                arena, "%s: \"%s\" is not a member with a positive number (docs/formats.md lists them)", path, key);
            return false;
        }
    }
    if (slice > 0)
        device_slice(device, slice);
    return true;
}

bool device_read(Arena *arena, const char *path, Device *device, const char **error)
{
    json_t *root = json_file_read(arena, path, error);
    if (!json_is_object(root)) {
        if (root)
            *error = arena_printf(arena, "%s: expected a JSON object", path);
        json_decref(root);
        return false;
    }
    bool fine = set_fields(arena, device, root, path, error);
    json_decref(root);
    return fine;
}
