/* One launch in the emulator and its results. */
#ifndef PTXOPT_CLI_EMULATION_H
#define PTXOPT_CLI_EMULATION_H

#include "emulator/emulator.h"
#include "cli/commands.h"

typedef struct Emulation {
    const RunOptions *options;
    Arena *arena;
    Diag diag;
    Module *module;
    Launch *launch; /* adapted to the module's launch contract */
    bool has_contract;
    EmulatorResult *result;
    double seconds, processor_seconds; /* of the emulation */
    char *printed; /* by the kernel, for the JSON output */
    size_t printed_size;
} Emulation;

/* True if the buffers that -dump names exist; prints an error if not. */
bool emulation_has_dumps(const Emulation *run);
/* Appended to 'out'. */
void emulation_print_dumps(const Emulation *run, Buf *out);
void emulation_print_text(const Emulation *run, Buf *out);
void emulation_print_json(const Emulation *run, Buf *out);

#endif
