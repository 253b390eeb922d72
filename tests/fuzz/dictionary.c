/* Prints the words of the language as a dictionary for libFuzzer's own mutations. */
#include "fuzz.h"

int main(void)
{
    for (unsigned class = 0; class < WORD_CLASSES; class++) {
        size_t count;
        const char *const *words = words_of((WordClass)class, &count);
        for (size_t i = 0; i < count; i++) {
            putchar('"');
            for (const char *at = words[i]; *at; at++)
                if (*at == '"' || *at == '\\' || *at == '\n')
                    printf("\\x%02x", (unsigned char)*at);
                else
                    putchar(*at);
            puts("\"");
        }
    }
    return 0;
}
