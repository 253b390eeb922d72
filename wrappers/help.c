/* --help of both wrappers: their own options, and then the help of the real program. */
#include <stdio.h>

#include "wrappers/wrappers.h"

bool asks_for_help(int argc, char **argv)
{
    static const char *const names[] = {"help", "h"};
    for (int i = 1; i < argc; i++)
        if (word_is_one_of(argv[i], names, COUNT_OF(names)))
            return true;
    return false;
}

static void put_help(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

void nvcc_help(void)
{
    put_help("Usage: ptxopt-nvcc [-Xptxopt OPTION[,OPTION...]] [options of nvcc] FILE...\n"
             "\n"
             "nvcc, with ptxopt between its compiler and ptxas. Without options for ptxopt: -target-regs auto -O1\n"
             "-fix-defects -q (fewer registers where more blocks then run at once; launches stay as they are).\n"
             "\n"
             "  -Xptxopt OPTION[,OPTION...] options of ptxopt (ptxopt -help): -Xptxopt -target-regs=32,-block=16,16\n"
             "  -Xptxas OPTION[,OPTION...]  the same for options of ptxopt that ptxas does not have, so that CMake\n"
             "                              can pass them in one word: -Xptxas=-coarsen=2. Objects adapt the\n"
             "                              launches of coarsened kernels themselves\n"
             "  -Xptxopt -launches-adapted  the program launches coarsened kernels by their contracts itself\n"
             "                              (needed with -ptx, -cubin and -fatbin)\n"
             "  -Xptxopt -strict            where ptxopt fails, or an option names a kernel that is not there, this\n"
             "                              is an error; without it the original is used, with a warning\n"
             "\n"
             "Environment: PTXOPT_REAL_NVCC names the real nvcc; PTXOPT_STRICT=1 is -strict; PTXOPT_STATS names a\n"
             "table to which each kernel's figures are added (ptxopt stats); when the program runs,\n"
             "PTXOPT_LAUNCH_REPORT=1 prints how often each coarsened kernel was launched, and PTXOPT_TUNE=learn, use\n"
             "or off says whether kernels with several forms (-Xptxas -tune) learn which is the fastest. Manual:\n"
             "man ptxopt-nvcc\n"
             "\n"
             "The options of nvcc:\n");
}

void ptxas_help(void)
{
    put_help("Usage: ptxopt-ptxas [options of ptxas] FILE...\n"
             "\n"
             "ptxopt, and then ptxas on what it made of the files, for tools that can be told which ptxas to call.\n"
             "Without options for ptxopt: -target-regs auto -O1 -fix-defects -q (fewer registers where more blocks\n"
             "then run at once; launches stay as they are).\n"
             "\n"
             "Environment:\n"
             "  PTXOPT_FLAGS                options of ptxopt (ptxopt -help), split as a shell does; if it is not\n"
             "                              set, those in ./ptxopt.json, or in ptxopt.json in the folder of the input\n"
             "                              -launches-adapted among them: the program launches coarsened kernels by\n"
             "                              their contracts; without it, -coarsen is an error\n"
             "                              -split-assemble, -assemble-limit: the real ptxas works on parts of a\n"
             "                              module at the same time, or with a limit of time for each kernel\n"
             "  PTXOPT_STRICT=1             where ptxopt fails, this is an error, instead of a warning\n"
             "  PTXOPT_STATS=FILE           add the figures of each kernel to this table (ptxopt stats)\n"
             "  PTXOPT_REAL_PTXAS           the real ptxas\n"
             "\n"
             "Manual: man ptxopt-ptxas\n"
             "\n"
             "The options of ptxas:\n");
}
