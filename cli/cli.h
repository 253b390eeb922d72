/* cli: the program `ptxopt`: its commands and their options; also for the programs that run it as a function. */
#ifndef PTXOPT_CLI_H
#define PTXOPT_CLI_H

/* Once, at the start of a program: holds closed standard files open, turns SIGPIPE into a write error, and lets running
 * out of memory end the program with a message. */
void program_prepare(void);

/* `ptxopt` with this command line. Returns its exit status. */
int program_run(int argc, char **argv);

#endif
