/* nvrtc SOURCE.cu [OPTION...]: compiles as a program does at run time, to standard output. Used by build.sh alone. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

static char *get(nvrtcProgram program, nvrtcResult (*size_of)(nvrtcProgram, size_t *),
                 nvrtcResult (*text_of)(nvrtcProgram, char *))
{
    size_t size = 0;
    size_of(program, &size);
    char *text = malloc(size + 1);
    text_of(program, text);
    return text;
}

int main(int argc, char **argv)
{
    static char source[1 << 20];
    nvrtcProgram program;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || !fread(source, 1, sizeof source - 1, file))
        return 2;
    fclose(file);
    nvrtcCreateProgram(&program, source, argv[1], 0, NULL, NULL);
    if (nvrtcCompileProgram(program, argc - 2, (const char *const *)argv + 2) != NVRTC_SUCCESS) {
        fputs(get(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog), stderr);
        return 1;
    }
    fputs(get(program, nvrtcGetPTXSize, nvrtcGetPTX), stdout);
    return 0;
}
