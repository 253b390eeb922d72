/* The texts of -help. */
#include "cli/commands.h"
#include "options/options.h"

static void print_assembler(Buf *out)
{
    buf_puts(out, "  -assembler KIND             ");
    assembler_choice_print(out, ", ", " or ");
    buf_puts(out, " (auto)\n");
}

static const char *take_text(Arena *arena, Buf *text)
{
    const char *taken = arena_strndup(arena, buf_text(text), text->length);
    buf_free(text);
    return taken;
}

const char *options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text,
             "Usage: ptxopt [options] FILE.ptx        '-' reads standard input\n"
             "       ptxopt run [options] FILE.ptx LAUNCH.json\n"
             "       ptxopt cost [options] FILE.ptx LAUNCH.json\n"
             "       ptxopt setup [-yes]                   fetches NVIDIA's assembler\n"
             "       ptxopt completion bash|zsh|fish [ptxopt-nvcc|ptxopt-ptxas]\n"
             "       ptxopt help [COMMAND|OPTION]\n"
             "\n"
             "Reads PTX, makes each thread do the work of several (thread coarsening), lowers the\n"
             "number of registers that a thread needs, as measured by NVIDIA's assembler, and writes PTX.\n"
             "PTX goes to standard output unless -o or -cubin is given; messages go to standard error.\n"
             "\n"
             "Output\n"
             "  -o FILE                     write the PTX here\n"
             "  -cubin FILE                 write the assembled result here\n"
             "  -launch-out FILE            write how coarsened kernels must be launched, as JSON\n"
             "  -knobs-out FILE             write the options of ptxas that -knobs found, for its --options-file\n"
             "  -report [FILE]              report what was done (standard error without FILE)\n"
             "  -report-format text|json    how the report is written (text)\n"
             "  -summary                    print a line for each kernel to standard error: what was done, what\n"
             "                              that gains, how to launch it now (on a terminal without being asked)\n"
             "\n"
             "Transformations\n"
             "  -coarsen SPEC               2 | x2 | x2,y2 | bx2 (blocks) | x2,bx2 (both) | KERNEL:x4 | auto |\n"
             "                              source (as comments in the kernels say); may be repeated\n"
             "  -coarsen-level thread|block what is merged: threads of a block, or blocks of the grid, which is\n"
             "                              then launched as before (thread; auto tries both)\n"
             "  -coarsen-grid keep|shrink   merged blocks: the grid stays, and the blocks left over exit, or the\n"
             "                              launch has fewer, and more dynamic shared memory (keep)\n"
             "  -coarsen-guards FORM        code under conditions that merged threads decide alone: sequential\n"
             "                              copies, a fast path beside them where they agree, predicated\n"
             "                              instructions, or auto (auto)\n"
             "  -coarsen-growth N           a kernel with fast paths has at most N times the code (4)\n"
             "  -stride block|unit|N        which threads are joined: tid and tid + ntid/factor (block),\n"
             "                              neighbours (unit), or threads N apart (block)\n"
             "  -uj LABEL:N|source|auto     put N iterations of the loop that begins at the label side by side\n"
             "                              (unroll and jam): of this loop, of those that comments name, or\n"
             "                              of those where that pays; may be repeated\n"
             "  -keep-original              add the original of a coarsened kernel, as NAME__ptxopt_original\n"
             "  -target-regs N|auto|fewest[:P]\n"
             "                              at most N registers per thread, or as few as let so many blocks run\n"
             "                              that the kernel is the fastest, or the fewest for at most P percent\n"
             "                              of its predicted time (0); KERNEL:N for one kernel; may be repeated\n"
             "  -spill                      let -target-regs N spill where N cannot be reached otherwise\n"
             "  -knobs                      let -target-regs try options of ptxas as well, which whoever assembles\n"
             "                              the PTX then must give; for modules with one kernel\n"
             "  -entry NAME[,NAME...]       change only these kernels\n"
             "                              (NAME and KERNEL: mangled, as in C++, or with * ? [...])\n"
             "  -block X[,Y[,Z]]            threads per block at launch, unless the PTX fixes them;\n"
             "                              KERNEL:X,Y,Z for one kernel; may be repeated\n"
             "  -dynamic-shared BYTES       dynamic shared memory of a block at launch, where -launch does not\n"
             "                              say it; KERNEL:BYTES for one kernel; may be repeated\n"
             "\n"
             "Control\n"
             "  -arch sm_XX                 architecture to assemble for (the PTX's own .target)\n");
    print_assembler(&text);
    buf_puts(&text,
             "  -Xptxas WORD                pass this word to ptxas, which then is the assembler; may be repeated\n"
             "  -input-name FILE            messages and reports name this file, which the input was compiled from,\n"
             "                              and its lines, if the input has them (-lineinfo)\n"
             "  -missing-ok                 ignore options for kernels that the module does not have\n"
             "  -O0 .. -O3                  how many forms to try (-O2)\n"
             "  -search SECONDS             how long to look for a form with fewer registers; the best\n"
             "                              until then is written, as after an interrupt\n"
             "  -p PASS,-PASS...            switch passes on and off\n"
             "  -d PASS,PASS...             print the code after these passes, or all, to standard error\n"
             "  -launch LAUNCH.json         count what this launch executes: -coarsen auto and the report then\n"
             "                              rest on it, not on estimates; may be repeated ('ptxopt run\n"
             "                              -template FILE.ptx KERNEL' prints such a file, to be filled in)\n"
             "  -machine FILE.json          figures of the device that times are predicted for\n"
             "  -verify LAUNCH.json         run input and output in the emulator and compare all memory;\n"
             "                              may be repeated\n"
             "  -canonical                  print unchanged code from its parsed form, too\n"
             "  -Werror                     warnings are errors\n"
             "  -q                          no warnings\n"
             "  -v                          print which assembler is used, and each call of it; the report lists\n"
             "                              every form that was tried\n"
             "  -version, -help\n"
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
    return take_text(arena, &text);
}

const char *run_options_help(void)
{
    return "Usage: ptxopt run [options] FILE.ptx LAUNCH.json\n"
           "       ptxopt run -template [-o LAUNCH.json] FILE.ptx KERNEL\n"
           "\n"
           "Runs the kernel that the launch file names in the emulator, which needs no GPU, and prints\n"
           "the first elements and checksums of its buffers and its counters. A coarsened kernel is\n"
           "launched by the contract in its module, so the launch file is that of the original\n"
           "kernel. What the kernel prints goes to standard output.\n"
           "\n"
           "  -template                   print a launch file for the kernel, to be filled in\n"
           "  -dump BUFFER                print this buffer instead, one exact element per line; may be\n"
           "                              repeated. What the kernel prints then goes to standard error\n"
           "  -report-format text|json    how results are printed (text); with -dump, the elements are\n"
           "                              part of the JSON\n"
           "  -o FILE                     print to this file\n"
           "  -check all|none|LIST        what to check, which costs speed (all); LIST is some of\n"
           "                              races,unwritten,registers,division\n"
           "  -lines                      count for each line of the source, too\n"
           "  -no-sectors                 do not count sectors, lines and bank conflicts (faster)\n"
           "  -time                       print how long the emulation took\n"
           "  -jobs N                     use N cores (all of them, if the launch is large and races are\n"
           "                              checked); results are the same\n"
           "  -resident N                 run N blocks interleaved (1)\n"
           "  -max-steps N                give up after N warp instructions (2^36)\n"
           "  -q                          no warnings\n"
           "\n"
           "Exit status: 0 the kernel ran; 1 a file is wrong, or the launch does not fit the kernel; 2\n"
           "the usage is wrong; 5 the kernel did something forbidden, such as an access out of\n"
           "bounds; 6 it has an instruction that the emulator does not execute.\n";
}

const char *cost_options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text,
             "Usage: ptxopt cost [options] FILE.ptx LAUNCH.json\n"
             "\n"
             "Predicts how long the launch takes on a device, and what limits it. The emulator counts what\n"
             "the kernel executes, the assembler gives its registers, and the model of docs/time.md turns\n"
             "both into time. A coarsened kernel is launched by the contract in its module, so the launch\n"
             "file is that of the original kernel; figures are per original thread.\n"
             "\n"
             "  -before ORIGINAL.ptx        compare with this file, which has the kernel before a change\n"
             "  -arch sm_XX                 architecture (the PTX's own .target)\n"
             "  -machine FILE.json          change figures of the device (docs/formats.md)\n");
    print_assembler(&text);
    buf_puts(&text,
             "  -registers N                registers of a thread, instead of asking the assembler\n"
             "  -estimate                   do not run the launch: estimate trip counts, branches and\n"
             "                              coalescing from the code, as -coarsen auto does without -launch\n"
             "  -sass                       print the machine code with the executions of each instruction\n"
             "  -accesses                   print sectors, lines and bank conflicts of each access, with its\n"
             "                              lines in the PTX and in the CUDA source\n"
             "  -report-format text|json    how results are printed (text)\n"
             "  -o FILE                     print to this file\n"
             "  -q                          no warnings\n"
             "\n"
             "Exit status: 0 done; 1 a file is wrong; 2 the usage is wrong; 6 the emulator cannot run the\n"
             "kernel, or an SM cannot hold one of its blocks.\n");
    return take_text(arena, &text);
}
