/* The PTX and the launches of the microkernels. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrate/internal.h"

static const Micro micros[] = {
#define MICROKERNEL(name, ...) {#name, __VA_ARGS__},
#include "calibrate/kernels.def"
};

enum { RESULT_WORDS = 1024, WORD = 4, WORDS_OF_THREAD = 4 };

/* Prints a line of a kernel's code with its copies' numbers: see calibrate/kernels.def. */
static void print_copy(const char *line, size_t length, unsigned copy, Buf *out)
{
    for (size_t i = 0; i < length; i++) {
        unsigned long factor = 1;
        if (line[i] != '#') {
            buf_write(out, &line[i], 1);
            continue;
        }
        if (line[i + 1] == '(') {
            char *end;
            factor = strtoul(&line[i + 2], &end, 10);
            i = (size_t)(end - line);
        }
        buf_printf(out, "%lu", copy * factor);
    }
}

static void print_code(const Micro *micro, const char *text, Buf *out)
{
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        const unsigned copies = memchr(line, '#', length) ? micro->copies : 1;
        for (unsigned copy = 0; copy < copies; copy++)
            print_copy(line, length, copy, out);
        line += length;
    }
}

static void print_kernel(const Micro *micro, Buf *out)
{
    const char *name = micro->name;
    buf_printf(out, "\n.visible .entry %s(.param .u64 %s_data, .param .u64 %s_results, .param .u32 %s_rounds, "
                    ".param .u32 %s_words)\n{\n", name, name, name, name, name);
    buf_puts(out, ".reg .pred %p<4>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<50>;\n.reg .f64 %d<32>;\n");
    if (micro->shared)
        buf_printf(out, ".shared .align 16 .b8 %s_tile[%u];\nmov.u32 %%r8, %s_tile;\n", name, micro->shared, name);
    buf_printf(out, "ld.param.u64 %%rd0, [%s_data];\ncvta.to.global.u64 %%rd0, %%rd0;\n"
                    "ld.param.u64 %%rd1, [%s_results];\ncvta.to.global.u64 %%rd1, %%rd1;\n"
                    "ld.param.u32 %%r0, [%s_rounds];\nld.param.u32 %%r7, [%s_words];\n", name, name, name, name);
    buf_puts(out, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %nctaid.x;\n"
                  "mad.lo.u32 %r5, %r2, %r3, %r1;\nmul.lo.u32 %r6, %r3, %r4;\n"
                  "mul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd2, %rd0, %rd2;\n");
    print_code(micro, micro->setup, out);
    buf_printf(out, "%s_round:\n", name);
    print_code(micro, micro->body, out);
    buf_printf(out, "sub.u32 %%r0, %%r0, 1;\nsetp.ne.u32 %%p0, %%r0, 0;\n@%%p0 bra %s_round;\n", name);
    print_code(micro, micro->end, out);
    buf_puts(out, "setp.eq.u32 %p1, %r63, 0x12345678;\n@%p1 st.global.u32 [%rd1], %r63;\nret;\n}\n");
}

static uint64_t data_words(const Micro *micro, const Device *device)
{
    uint64_t cache = 1 << 18;
    while (2.0 * (double)cache <= device->l2_size)
        cache *= 2;
    switch (micro->data) {
    case DATA_SMALL: return (64 << 10) / WORD;
    case DATA_MEGABYTES: return (2 << 20) / WORD;
    case DATA_IN_L2: return cache / 4 / WORD;
    case DATA_BEYOND_L2: return cache * 4 / WORD;
    }
    bug("microkernel %s: data %d", micro->name, (int)micro->data);
}

static LaunchArgument buffer(const char *name, uint64_t words, unsigned first)
{
    return (LaunchArgument){.kind = ARGUMENT_BUFFER,
                            .name = name,
                            .type = TYPE_U32,
                            .count = words,
                            .fill = first ? FILL_IOTA : FILL_ZERO,
                            .low = first,
                            .step = 1};
}

static LaunchArgument scalar(Arena *arena, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    return (LaunchArgument){.kind = ARGUMENT_SCALAR,
                            .type = TYPE_U32,
                            .count = 1,
                            .bytes = memcpy(arena_alloc(arena, sizeof word), &word, sizeof word),
                            .size = sizeof word};
}

static Launch make_launch(Arena *arena, const Micro *micro, const Device *device)
{
    const uint64_t words = data_words(micro, device), half = words / 2; /* a half is only loaded */
    uint64_t blocks = micro->blocks == ONE_BLOCK    ? 1
                      : micro->blocks == A_WORD     ? half / micro->threads
                      : micro->blocks == FOUR_WORDS ? half / micro->threads / WORDS_OF_THREAD
                                                    : (uint64_t)micro->blocks * (uint64_t)device->multiprocessors;
    const uint64_t in_round = blocks * micro->threads * WORDS_OF_THREAD * micro->copies;
    const uint64_t all = words / in_round ? words / in_round : 1;
    Launch launch = {.kernel = micro->name,
                     .grid = {(unsigned)blocks, 1, 1},
                     .block = {micro->threads, 1, 1},
                     .argument_count = 4,
                     .arguments = ARENA_ARRAY(arena, LaunchArgument, 4)};
    launch.arguments[0] = buffer("data", words, micro->first);
    launch.arguments[1] = buffer("results", RESULT_WORDS, 0);
    launch.arguments[2] = scalar(arena, micro->rounds == ALL_DATA ? all : (uint64_t)micro->rounds);
    launch.arguments[3] = scalar(arena, words);
    return launch;
}

void kernels_make(Calibration *calibration)
{
    Buf text = {0};
    Arch arch = {0};
    arch_parse(calibration->arch, &arch);
    const unsigned version = architecture_version(architecture_find(arch.number), 0);
    enum { LEAST_VERSION = 70 }; /* that has all instructions of the kernels */
    const unsigned used = version > LEAST_VERSION ? version : LEAST_VERSION;
    buf_printf(&text, ".version %u.%u\n.target %s\n.address_size 64\n", used / 10, used % 10, calibration->arch);
    for (size_t i = 0; i < COUNT_OF(micros); i++) {
        const Micro *micro = &micros[i];
        if (arch.number < micro->least)
            continue;
        print_kernel(micro, &text);
        const CalibrateKernel kernel = {.micro = micro,
                                        .launch = make_launch(calibration->arena, micro, &calibration->start)};
        VEC_PUSH(calibration->arena, calibration->kernels, kernel);
    }
    calibration->source = source_from_memory(calibration->arena, "calibrate.ptx", buf_text(&text), text.length);
    buf_free(&text);
}

/* The launch file of a kernel (docs/formats.md). */
static void print_launch(const Launch *launch, Buf *out)
{
    json_t *root = json_object(), *arguments = json_array();
    json_object_set_new(root, "kernel", json_text(launch->kernel));
    json_object_set_new(root, "grid", json_triple(launch->grid));
    json_object_set_new(root, "block", json_triple(launch->block));
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        json_t *row = json_object();
        if (argument->kind == ARGUMENT_BUFFER) {
            json_object_set_new(row, "buffer", json_text(argument->name));
            json_object_set_new(row, "type", json_string("u32"));
            json_object_set_new(row, "count", json_integer((json_int_t)argument->count));
            json_object_set_new(row, "init", json_string(argument->fill == FILL_IOTA ? "iota" : "zero"));
            if (argument->fill == FILL_IOTA) {
                json_object_set_new(row, "start", json_integer((json_int_t)argument->low));
                json_object_set_new(row, "step", json_integer((json_int_t)argument->step));
            }
        } else {
            uint32_t value;
            memcpy(&value, argument->bytes, sizeof value);
            json_object_set_new(row, "scalar", json_string("u32"));
            json_object_set_new(row, "value", json_integer(value));
        }
        json_array_append_new(arguments, row);
    }
    json_object_set_new(root, "args", arguments);
    json_print(root, out);
}

const char *kernels_write(const Calibration *calibration, const char *folder)
{
    Arena *arena = calibration->arena;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return arena_printf(arena, "cannot make %s: %s", folder, strerror(errno));
    const size_t count = calibration->kernels.count;
    Buf *texts = ARENA_ARRAY(arena, Buf, count + 1);
    Output *outputs = ARENA_ARRAY(arena, Output, count + 1);
    for (size_t i = 0; i < count; i++) {
        const CalibrateKernel *kernel = &calibration->kernels.data[i];
        print_launch(&kernel->launch, &texts[i]);
        outputs[i] = (Output){arena_printf(arena, "%s/%s.launch.json", folder, kernel->micro->name), texts[i].data,
                              texts[i].length};
    }
    outputs[count] =
        (Output){arena_printf(arena, "%s/calibrate.ptx", folder), calibration->source->text, calibration->source->size};
    const char *error = outputs_write(arena, outputs, count + 1);
    for (size_t i = 0; i < count; i++)
        buf_free(&texts[i]);
    return error;
}
