/* ptxopt: reads PTX and writes PTX with fewer threads, which do more each, and fewer registers. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    program_prepare();
    return program_run(argc, argv);
}
