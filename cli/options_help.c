/* The texts of -help. */
#include "cli/commands.h"
#include "options/options.h"

enum { REMARK_COLUMN = 45 };

static void print_command(const Command *command, Buf *out)
{
    size_t start = out->length;
    buf_printf(out, "       ptxopt %s %s", command->name, command->arguments);
    size_t width = out->length - start;
    if (*command->remark)
        buf_printf(out, "%*s%s", width < REMARK_COLUMN ? (int)(REMARK_COLUMN - width) : 1, "", command->remark);
    buf_putc(out, '\n');
}

const char *options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text, "Usage: ptxopt [options] FILE.ptx        '-' reads standard input\n");
    for (const Command *command = commands; command->name; command++)
        print_command(command, &text);
    buf_puts(&text,
             "\n"
             "Reads PTX, makes each thread do the work of several (thread coarsening), lowers the\n"
             "number of registers that a thread needs, as measured by NVIDIA's assembler, and writes PTX.\n"
             "PTX goes to standard output unless -o or -cubin is given; messages go to standard error.\n");
    options_print_help(&text);
    buf_puts(&text,
             "\n"
             "Options start with one dash or two; their value follows a space or '='.\n"
             "\n"
             "Passes\n");
    for (unsigned i = 0; i < pass_count; i++)
        buf_printf(&text, "  %-16s %s\n", pass_table[i].name, pass_table[i].description);
    buf_puts(&text, "\n"
                    "Exit status: 0 done; 1 the input is wrong or a file cannot be read or written; 2 the\n"
                    "usage is wrong; 3 something requested by kernel name was refused, or -target-regs\n"
                    "has no assembler (the PTX is written, with that kernel unchanged); 4 the assembler\n"
                    "rejected the output; 5 -verify found a difference; 6 -verify could not run the kernel\n"
                    "(with 4, 5 and 6 nothing is written).\n"
                    "\n"
                    "'ptxopt run -help' describes the emulator, 'ptxopt cost -help' how times are predicted.\n");
    return buf_take(arena, &text);
}

/* The parts of a command's help. */
typedef struct CommandHelp {
    const char *name;
    const char *usage;  /* more lines of usage; "": none */
    const char *about;
    const char *notes;  /* between the options and the exit statuses; "": none */
    const char *status; /* "Exit status: ..." */
} CommandHelp;

static const char *command_help(Arena *arena, const CommandHelp *help, const OptionRow *rows)
{
    Buf text = {0};
    buf_printf(&text, "%s%s\n%s\n", command_usage(arena, help->name), help->usage, help->about);
    option_rows_print_help(rows, &text);
    buf_printf(&text, "%s\n%s", help->notes, help->status);
    return buf_take(arena, &text);
}

const char *run_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "run",
        .usage = "       ptxopt run -template [-o LAUNCH.json] FILE.ptx KERNEL\n",
        .about = "Runs the kernel that the launch file names in the emulator, which needs no GPU, and prints\n"
                 "the first elements and checksums of its buffers and its counters. A coarsened kernel is\n"
                 "launched by the contract in its module, so the launch file is that of the original\n"
                 "kernel. What the kernel prints goes to standard output.\n",
        .notes = "",
        .status = "Exit status: 0 the kernel ran; 1 a file is wrong, or the launch does not fit the kernel; 2\n"
                  "the usage is wrong; 5 the kernel did something forbidden, such as an access out of\n"
                  "bounds; 6 it has an instruction that the emulator does not execute.\n",
    };
    return command_help(arena, &help, run_options_table());
}

const char *cost_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "cost",
        .usage = "",
        .about = "Predicts how long the launch takes on a device, and what limits it. The emulator counts what\n"
                 "the kernel executes, the assembler gives its registers, and the model of docs/time.md turns\n"
                 "both into time. A coarsened kernel is launched by the contract in its module, so the launch\n"
                 "file is that of the original kernel; figures are per original thread.\n",
        .notes = "",
        .status = "Exit status: 0 done; 1 a file is wrong; 2 the usage is wrong; 6 the emulator cannot run the\n"
                  "kernel, or an SM cannot hold one of its blocks.\n",
    };
    return command_help(arena, &help, cost_options_table());
}

const char *view_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "view",
        .usage = "",
        .about = "Shows the machine code of a kernel with the state of each register at each instruction, the\n"
                 "place where most are live, the values that are only kept there, and the registers that must\n"
                 "be saved until one more block fits on an SM. Machine code is taken from cubins, fat binaries,\n"
                 "objects, archives and programs; it has no PTX lines. Where nvdisasm or an assembler is missing,\n"
                 "the PTX is shown. Options after '--' are those of a run of ptxopt: the kernel is shown before\n"
                 "and after it, with what moved, came and went marked.\n",
        .notes = "",
        .status = "Exit status: 0 done; 1 a file is wrong, or nvdisasm is missing for machine code; 2 the\n"
                  "usage is wrong.\n",
    };
    return command_help(arena, &help, view_options_table());
}

const char *stats_options_help(Arena *arena)
{
    Buf figures = {0};
    buf_puts(&figures, "\nFigures, as in tables and conditions\n");
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        buf_printf(&figures, "  %-16s %s\n", stats_columns[column].name, stats_columns[column].help);
    const CommandHelp help = {
        .name = "stats",
        .usage = "",
        .about = "Prints what the assembler made of each kernel: of PTX, which is assembled for it; of cubins; of\n"
                 "objects, archives, libraries and programs with device code; of all of these in a folder; and of\n"
                 "tables that it wrote before. Bytes of spills are known for PTX, and for kernels without local\n"
                 "memory; builds by ptxopt-nvcc and ptxopt-ptxas add them to the table that PTXOPT_STATS names.\n",
        .notes = buf_take(arena, &figures),
        .status = "Exit status: 0 done; 1 a file is wrong, or the assembler is missing or rejects it; 2 the usage\n"
                  "is wrong; 5 a condition of -fail-if holds for some kernel.\n",
    };
    return command_help(arena, &help, stats_options_table());
}

const char *diff_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "diff",
        .usage = "",
        .about = "Compares the kernels of two builds, each a table of 'ptxopt stats', a file or a folder. Kernels\n"
                 "are matched by name and architecture. Prints those that were helped or hurt, added or removed,\n"
                 "and how each figure changed in all of them. 'ptxopt stats -help' explains the figures.\n",
        .notes = "",
        .status = "Exit status: 0 done; 1 a file is wrong; 2 the usage is wrong; 5 a condition of -fail-if holds\n"
                  "for some kernel of NEW.\n",
    };
    return command_help(arena, &help, diff_options_table());
}

const char *emulate_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "emulate",
        .usage = "",
        .about = "Runs a CUDA program without a GPU: the emulated driver and runtime are in front of\n"
                 "NVIDIA's, and each kernel that it launches is checked. The program must be linked with the\n"
                 "shared runtime (nvcc -cudart shared), or use the driver only. Faults are printed with the\n"
                 "line of the source, if it was compiled with -lineinfo, and end the kernel, as on a device.\n",
        .notes = "",
        .status = "Exit status: 5, or -fault-status, if a kernel had a fault; 1 the program cannot be run; 2\n"
                  "the usage is wrong; 6 the program has NVIDIA's own runtime, or a kernel that the emulator\n"
                  "cannot execute; otherwise the program's, or 128 and the number of the signal that ended it.\n",
    };
    return command_help(arena, &help, emulate_options_table());
}

const char *check_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "check",
        .usage = "",
        .about = "Compares the machine code that ptxas makes of each kernel with its PTX: the emulator runs the PTX,\n"
                 "an interpreter the machine code, and both must leave the same memory. 'equal' is about the inputs\n"
                 "that were tried, 'different' is shown with an input, and 'not decided' with the reason.\n",
        .notes = "",
        .status = "Exit status: 0 all are equal; 1 a file is wrong, or ptxas or nvdisasm is missing; 2 the usage\n"
                  "is wrong; 5 a kernel is different; 6 none is, but some are not decided.\n",
    };
    return command_help(arena, &help, check_options_table());
}

const char *sweep_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "sweep",
        .usage = "",
        .about = "Predicts the time of every configuration of coarsening: what is merged, how much of it, the stride\n"
                 "and the size of the block. Writes a table with a row for each configuration and architecture: its\n"
                 "status, registers, counters for each original thread, time, and speedup over the original with\n"
                 "the block size that is best for it. An interrupt ends a sweep, and -o continues it.\n",
        .notes = "",
        .status = "Exit status: 0 done, or interrupted; 1 a file is wrong, or the assembler is missing; 2 the usage\n"
                  "is wrong.\n",
    };
    return command_help(arena, &help, sweep_options_table());
}

const char *calibrate_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "calibrate",
        .usage = "",
        .about = "Fits the figures of a device, with which times are predicted, to the times of short kernels that\n"
                 "its GPU runs, each of which depends on one of them. Prints each figure, and how far predicted and\n"
                 "measured times differ before and after, also for kernels of mixed kinds that were not fitted. The\n"
                 "file is for -machine. docs/calibrate.md explains the kernels and the fit.\n",
        .notes = "",
        .status = "Exit status: 0 done; 1 there is no GPU, a kernel or its driver fails, or a file is wrong; 2 the\n"
                  "usage is wrong; 3 kernels that were not fitted are not predicted better; 6 a kernel cannot be\n"
                  "counted.\n",
    };
    return command_help(arena, &help, calibrate_options_table());
}

const char *explain_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "explain",
        .usage = "",
        .about = "Explains a table of 'ptxopt sweep': for each architecture a regression tree from counters, relative\n"
                 "to the original, to speedup; how well it describes the table, and kernels that it was not made\n"
                 "from; and the best speedups by kernel and factor. Trees are scikit-learn's and drawings\n"
                 "Matplotlib's: the Python that PTXOPT_PYTHON names (python3) must have them.\n",
        .notes = "",
        .status = "Exit status: 0 done; 1 a file is wrong, or something is not installed; 2 the usage is wrong.\n",
    };
    return command_help(arena, &help, explain_options_table());
}

const char *tune_options_help(Arena *arena)
{
    const CommandHelp help = {
        .name = "tune",
        .usage = "",
        .about = "Looks for the configuration that is predicted to be the fastest for each launch: what is merged,\n"
                 "how much of it, the stride, and the size of the block; then what is staged and joined, loops side\n"
                 "by side, and registers. Estimates decide what is counted and assembled. The results of the best\n"
                 "form are compared with the original's in the emulator. Prints the options that make it.\n"
                 "-list, -export and -import are about what programs with -tune have learned by measuring\n"
                 "(docs/tuning.md).\n",
        .notes = "",
        .status = "Exit status: 0 done, or interrupted; 1 a file is wrong, the original cannot be measured, or the\n"
                  "assembler is missing; 2 the usage is wrong.\n",
    };
    return command_help(arena, &help, tune_options_table());
}
