/* Pages: with PTXOPT_EMULATED_BOUNDS=pages, kernels may access what is beside device memory, as on a GPU, which maps
 * memory in pages of 2 MiB and notices an access out of bounds only where it has mapped none. These bytes are zero at
 * first, and keep what kernels store. Freed memory is in a page as long as other memory is in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"

#define PAGE_BYTES (UINT64_C(2) << 20)

typedef struct Page {
    uint64_t address;
    uint8_t *bytes; /* those of memories in it are not used */
} Page;

static bool is_allowed;
static Page *pages;
static size_t page_count;

bool pages_open(void)
{
    const char *text = getenv("PTXOPT_EMULATED_BOUNDS");
    is_allowed = text && strcmp(text, "pages") == 0;
    if (!text || !*text || is_allowed || strcmp(text, "allocations") == 0)
        return true;
    fprintf(stderr, "PTXOPT_EMULATED_BOUNDS: '%s' is not allocations or pages\n", text);
    return false;
}

uint64_t pages_first_offset(void)
{
    return is_allowed ? PAGE_BYTES / 2 : 0;
}

/* The bytes of the page, which is made if it is not there; NULL: out of memory. */
static uint8_t *page_bytes(uint64_t address)
{
    for (size_t i = 0; i < page_count; i++)
        if (pages[i].address == address)
            return pages[i].bytes;
    Page *more = realloc(pages, (page_count + 1) * sizeof *pages);
    if (!more)
        return NULL;
    pages = more;
    pages[page_count] = (Page){address, calloc(1, PAGE_BYTES)};
    return pages[page_count].bytes ? pages[page_count++].bytes : NULL;
}

static bool outside_find(uint64_t address, uint64_t size, EmulatorMemory *memory)
{
    uint64_t begin = address - address % PAGE_BYTES, end = begin + PAGE_BYTES;
    uint64_t free_begin = begin, free_end = end;
    if (!memory_gap(address, &free_begin, &free_end) || free_end - address < size)
        return false;
    uint8_t *bytes = page_bytes(begin);
    *memory = (EmulatorMemory){.name = "memory outside of allocations",
                               .address = free_begin,
                               .size = free_end - free_begin,
                               .bytes = bytes + (free_begin - begin)};
    return bytes;
}

bool (*pages_outside(void))(uint64_t address, uint64_t size, EmulatorMemory *memory)
{
    return is_allowed ? outside_find : NULL;
}
