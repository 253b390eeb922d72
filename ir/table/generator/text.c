/* Memory, messages, lists and growing text for make_ops. */
#include "ir/table/generator/generator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(Place place, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, place.line ? "%s:%d: error: " : "%s: error: ", place.file, place.line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void *must(void *memory)
{
    if (!memory)
        fail((Place){.file = "make_ops"}, "out of memory");
    return memory;
}

char *copy_n(const char *text, size_t length)
{
    char *result = must(malloc(length + 1));
    memcpy(result, text, length);
    result[length] = 0;
    return result;
}

char *copy(const char *text)
{
    return copy_n(text, strlen(text));
}

char *format_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *result = must(malloc((size_t)length + 1));
    va_start(arguments, format);
    vsnprintf(result, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return result;
}

size_t list_add(List *list, char *item)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->items = must(realloc(list->items, list->capacity * sizeof *list->items));
    }
    list->items[list->count] = item;
    return list->count++;
}

long list_find(const List *list, const char *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], item))
            return (long)i;
    return -1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void list_sort(List *list)
{
    qsort(list->items, list->count, sizeof *list->items, by_name);
}

long list_search(const List *list, const char *item)
{
    char **found = bsearch(&item, list->items, list->count, sizeof *list->items, by_name);
    return found ? found - list->items : -1;
}

List split(const char *text, char separator)
{
    List list = {0};
    while (*text) {
        const char *end = strchr(text, separator);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        list_add(&list, copy_n(text, length));
        text += length + (end != NULL);
    }
    return list;
}

void output_add(Output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t needed = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    va_end(arguments);
    while (output->length + needed > output->capacity) {
        output->capacity = output->capacity ? 2 * output->capacity : 4096;
        output->text = must(realloc(output->text, output->capacity));
    }
    va_start(arguments, format);
    vsnprintf(output->text + output->length, needed, format, arguments);
    va_end(arguments);
    output->length += needed - 1;
}
