/* Runs a probe's kernel in the emulator. A file of its own, because the oracle itself shares nothing with it. */
#include "tests/oracle/emulate.h"

#include "parser/parser.h"

EmulatorResult *probe_emulate(Arena *arena, const Probe *probe, const Buf *text, uint64_t *inputs, unsigned count,
                              Module **module)
{
    Diag diag;
    Source *source = source_from_memory(arena, probe->name, buf_text(text), text->length);
    diag_init(&diag, source, stderr);
    *module = parse_module(arena, source, &diag);
    if (!*module)
        return NULL;
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER,
         .name = "in",
         .type = TYPE_U64,
         .count = (uint64_t)count * probe->input_words,
         .fill = FILL_BYTES,
         .bytes = inputs,
         .size = 8 * (uint64_t)count * probe->input_words},
        {.kind = ARGUMENT_BUFFER,
         .name = "out",
         .type = TYPE_U64,
         .count = (uint64_t)count * probe->output_words,
         .fill = FILL_ZERO},
        {.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .count = 1, .bytes = &count, .size = sizeof count},
    };
    Launch launch = {.kernel = "probe",
                     .grid = {count / PROBE_BLOCK, 1, 1},
                     .block = {PROBE_BLOCK, 1, 1},
                     .arguments = arguments,
                     .argument_count = COUNT_OF(arguments)};
    return emulator_run(arena, *module, &launch, NULL);
}
