/* Launching coarsened kernels by their launch contracts: for programs that load modules and launch kernels themselves.
 * C and C++, no library needed.
 *
 *     uint32_t words[PTXOPT_CONTRACT_WORDS];
 *     if (cuModuleGetGlobal(&address, &size, module, "__ptxopt_launch_mm") == CUDA_SUCCESS && size == sizeof words) {
 *         cuMemcpyDtoH(words, address, size);                   // or ptxopt_contract_from_cubin(...)
 *         if (!ptxopt_launch_adapt_grid(words, grid, block, &shared, message, sizeof message))
 *             ...                                               // message names the condition that is not met
 *     }
 *     cuLaunchKernel(mm, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, ...);
 *
 * A module without that variable has the original kernel, which is launched unchanged. docs/formats.md explains the
 * words; docs/launching.md the adapters that do all this for programs that cannot be changed. */
#ifndef PTXOPT_LAUNCH_H
#define PTXOPT_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PTXOPT_CONTRACT_WORDS = 16, PTXOPT_CONTRACT_MAGIC = 0x50584f50 };

/* The dynamic shared memory of each block is rounded up to a multiple of this before it is multiplied. */
enum { PTXOPT_CONTRACT_SHARED_UNIT = 128 };

static inline int ptxopt_contract_changes_grid(const uint32_t words[PTXOPT_CONTRACT_WORDS])
{
    return words[1] == 2 || words[1] == 3;
}

/* The divisor of the block along an axis, and what multiplies it before that. */
static inline uint32_t ptxopt_contract_threads(const uint32_t words[PTXOPT_CONTRACT_WORDS], int axis)
{
    return words[1] == 3 ? words[3 + axis] & 0xffff : words[3 + axis];
}

static inline uint32_t ptxopt_contract_grown(const uint32_t words[PTXOPT_CONTRACT_WORDS], int axis)
{
    return words[1] == 3 ? words[3 + axis] >> 16 : 1;
}

/* The same for the grid. */
static inline uint32_t ptxopt_contract_blocks(const uint32_t words[PTXOPT_CONTRACT_WORDS], int axis)
{
    return words[1] == 3 ? words[13 + axis] & 0xffff : words[1] == 2 ? words[13 + axis] : 1;
}

static inline uint32_t ptxopt_contract_spread(const uint32_t words[PTXOPT_CONTRACT_WORDS], int axis)
{
    return words[1] == 3 ? words[13 + axis] >> 16 : 1;
}

/* The most blocks that a grid has along an axis. */
static inline unsigned ptxopt_most_blocks(int axis)
{
    return axis ? 65535 : 0x7fffffff;
}

/* The numbers of which 'grown' times is a multiple of 'unit' are the multiples of this. */
static inline unsigned long long ptxopt_unit_before(unsigned long long unit, unsigned long long grown)
{
    unsigned long long a = unit, b = grown, rest;
    while (b) {
        rest = a % b;
        a = b;
        b = rest;
    }
    return unit / a;
}

/* The limits of a block: its threads, and those along z. */
enum { PTXOPT_MOST_THREADS = 1024, PTXOPT_MOST_ALONG_Z = 64 };

/* Turns the grid, the block and the bytes of dynamic shared memory of the original kernel's launch into those of the
 * coarsened one. 1 if done. 0 if the contract forbids that launch, or is of a format that is not known here: 'message'
 * then gives the reason, and nothing is changed. If shared memory has grown, the kernel may need
 * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. */
static inline int ptxopt_launch_adapt_grid(const uint32_t words[PTXOPT_CONTRACT_WORDS], unsigned grid[3],
                                           unsigned block[3], size_t *shared, char *message, size_t message_size)
{
    static const char *const products[] = {"block.x", "block.x * block.y", "block.x * block.y * block.z"};
    const int is_grid = ptxopt_contract_changes_grid(words);
    const size_t unit = PTXOPT_CONTRACT_SHARED_UNIT;
    unsigned long long kept = 1, all = 1, factor = 1, times = 1, along_z = 1;
    int d;
    if (words[0] != PTXOPT_CONTRACT_MAGIC || (is_grid ? !words[2] : words[1] != 1 || words[2] != 0) || !words[9]) {
        snprintf(message, message_size, "its launch contract is of a format that is not known here");
        return 0;
    }
    for (d = 0; d < 3; d++) {
        const uint32_t grown = ptxopt_contract_grown(words, d), spread = ptxopt_contract_spread(words, d);
        const uint32_t blocks = ptxopt_contract_blocks(words, d);
        if (!ptxopt_contract_threads(words, d) || !grown || !spread || !blocks ||
            (blocks > 1 && (blocks % grown || spread > 1))) {
            snprintf(message, message_size, "its launch contract is of a format that is not known here");
            return 0;
        }
    }
    for (d = 0; d < 3; d++) {
        const uint32_t own = ptxopt_contract_threads(words, d), grown = ptxopt_contract_grown(words, d);
        const uint32_t blocks = ptxopt_contract_blocks(words, d), spread = ptxopt_contract_spread(words, d);
        const uint32_t fixed = words[10 + d];
        const unsigned long long of_block = ptxopt_unit_before((unsigned long long)own * words[9], grown);
        along_z = ((unsigned long long)block[d] * grown + own - 1) / own;
        kept *= along_z;
        all *= block[d];
        factor *= own;
        times *= grown;
        if (grid[d] % blocks) {
            snprintf(message, message_size, "grid.%c is %u, not a multiple of %u", "xyz"[d], grid[d],
                     (unsigned)blocks);
            return 0;
        }
        if (spread > 1 && grid[d] > ptxopt_most_blocks(d) / spread) {
            snprintf(message, message_size, "grid.%c is %u, more than %u", "xyz"[d], grid[d],
                     (unsigned)(ptxopt_most_blocks(d) / spread));
            return 0;
        }
        if (fixed && block[d] != fixed) {
            snprintf(message, message_size, "block.%c is %u; the contract is for %u only", "xyz"[d], block[d],
                     (unsigned)fixed);
            return 0;
        }
        if (own == 1 && spread == 1)
            continue;
        if (!block[d] || (!fixed && block[d] % of_block)) {
            snprintf(message, message_size, "block.%c is %u, not a multiple of %llu", "xyz"[d], block[d], of_block);
            return 0;
        }
        if (words[8] && kept % 32) {
            snprintf(message, message_size, "%s is %llu, not a multiple of %llu", products[d], all,
                     ptxopt_unit_before(32 * factor, times));
            return 0;
        }
    }
    if (times > 1 && kept > PTXOPT_MOST_THREADS) {
        snprintf(message, message_size, "%s is %llu, more than %llu", products[2], all,
                 PTXOPT_MOST_THREADS * factor / times);
        return 0;
    }
    if (times > 1 && along_z > PTXOPT_MOST_ALONG_Z) {
        snprintf(message, message_size, "block.z is %u, more than %llu", block[2],
                 (unsigned long long)PTXOPT_MOST_ALONG_Z * ptxopt_contract_threads(words, 2) /
                     ptxopt_contract_grown(words, 2));
        return 0;
    }
    for (d = 0; d < 3; d++) {
        const uint32_t own = ptxopt_contract_threads(words, d), grown = ptxopt_contract_grown(words, d);
        block[d] = (unsigned)(((unsigned long long)block[d] * grown + own - 1) / own);
        grid[d] = grid[d] / ptxopt_contract_blocks(words, d) * ptxopt_contract_spread(words, d);
    }
    if (is_grid && words[2] > 1)
        *shared = (*shared + unit - 1) / unit * unit * words[2];
    return 1;
}

/* The same for contracts that change only the block, as all do except those of -coarsen-grid shrink; others are
 * refused. */
static inline int ptxopt_launch_adapt(const uint32_t words[PTXOPT_CONTRACT_WORDS], unsigned block[3], char *message,
                                      size_t message_size)
{
    unsigned grid[3] = {1, 1, 1};
    size_t shared = 0;
    if (ptxopt_contract_changes_grid(words)) {
        snprintf(message, message_size, "its launch contract changes the grid, too: use ptxopt_launch_adapt_grid");
        return 0;
    }
    return ptxopt_launch_adapt_grid(words, grid, block, &shared, message, message_size);
}

/* If -keep-original leaves both forms of a kernel in the module, the words of __ptxopt_pays_KERNEL, if there is such a
 * variable, say from which grid on -coarsen auto predicts the coarsened one to be faster. */
enum { PTXOPT_PAYS_WORDS = 4, PTXOPT_PAYS_MAGIC = 0x59415058 };

/* The warps that a number of threads takes. */
static inline double ptxopt_warps(double threads)
{
    const double whole = (double)(uint64_t)(threads / 32);
    return whole * 32 < threads ? whole + 1 : whole;
}

/* True if the coarsened kernel's blocks fill their warps about as well as the original's, of which 'pays' says how many
 * threads along each axis become one: up to an eighth more lanes may be idle. */
static inline int ptxopt_fills_warps(const uint32_t pays[PTXOPT_PAYS_WORDS], const unsigned block[3])
{
    double before = 1, after = 1, replicas = 1;
    int i;
    for (i = 0; i < 3; i++) {
        const unsigned factor = pays[3] >> 8 * i & 0xff;
        before *= block[i];
        after *= factor > 1 ? (block[i] + factor - 1) / factor : block[i];
        replicas *= factor > 1 ? factor : 1;
    }
    return ptxopt_warps(after) * replicas * 8 <= ptxopt_warps(before) * 9;
}

/* True if a launch of the original kernel, on a device with 'multiprocessors' multiprocessors, is faster coarsened, or
 * if the format of the words is not known here. */
static inline int ptxopt_launch_pays(const uint32_t pays[PTXOPT_PAYS_WORDS], const unsigned grid[3],
                                     const unsigned block[3], unsigned multiprocessors)
{
    const double threads = (double)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
    return pays[0] != PTXOPT_PAYS_MAGIC || pays[1] != 1 ||
           (threads >= (double)pays[2] * multiprocessors && ptxopt_fills_warps(pays, block));
}

/* If a scalar parameter sets how often the loops of the kernel go round, the words of __ptxopt_trips_KERNEL, if there
 * is such a variable, say the same by the value of that parameter: linear between a few points, constant outside. */
enum { PTXOPT_TRIPS_WORDS = 16, PTXOPT_TRIPS_MAGIC = 0x50495254, PTXOPT_TRIPS_POINTS = 5 };
enum { PTXOPT_TRIPS_PARAMETERS = 8192 }; /* more than a kernel can have */

/* True if the words are of a format that is known here. */
static inline int ptxopt_trips_known(const uint32_t trips[PTXOPT_TRIPS_WORDS])
{
    return trips[0] == PTXOPT_TRIPS_MAGIC && trips[1] == 1 && trips[2] < PTXOPT_TRIPS_PARAMETERS && trips[3] >= 1 &&
           trips[3] <= PTXOPT_TRIPS_POINTS;
}

/* The threads for each multiprocessor from which on the coarsened form is faster, where the parameter, of 32 bits, has
 * this value. */
static inline double ptxopt_trips_threads(const uint32_t trips[PTXOPT_TRIPS_WORDS], int32_t value)
{
    const uint32_t *point = trips + 5, *last = point + 2 * (trips[3] - 1);
    const double at = value;
    if (at <= point[0])
        return point[1];
    for (; point != last; point += 2)
        if (at < point[2])
            return point[1] + ((double)point[3] - point[1]) * (at - point[0]) / ((double)point[2] - point[0]);
    return last[1];
}

/* The same as ptxopt_launch_pays(), with such words (NULL: there are none) and the launch's parameters, as
 * cuLaunchKernel takes them (NULL: not known). */
static inline int ptxopt_launch_pays_for(const uint32_t pays[PTXOPT_PAYS_WORDS],
                                         const uint32_t trips[PTXOPT_TRIPS_WORDS], const unsigned grid[3],
                                         const unsigned block[3], unsigned multiprocessors, void *const *parameters)
{
    const double threads = (double)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
    int32_t value;
    if (!trips || !parameters || !ptxopt_trips_known(trips))
        return ptxopt_launch_pays(pays, grid, block, multiprocessors);
    memcpy(&value, parameters[trips[2]], sizeof value);
    return threads >= ptxopt_trips_threads(trips, value) * multiprocessors && ptxopt_fills_warps(pays, block);
}

/* If -coarsen auto keeps several forms beside a kernel, __ptxopt_tune_KERNEL, a variable of some bytes in format 3, has
 * PTXOPT_FORM_WORDS words for each, which say in which launches of the original it pays. A launch takes the first form,
 * from 1, that pays and whose contract, __ptxopt_launch_KERNEL__ptxopt_formN, allows it; else the original. */
enum { PTXOPT_FORM_WORDS = 24, PTXOPT_FORMS_MAGIC = 0x4e545850, PTXOPT_FORMS_FORMAT = 3, PTXOPT_MOST_FORMS = 15 };

/* The number of forms of such a variable, which may contain anything; 0 if it is of another format, or not whole. */
static inline unsigned ptxopt_forms_count(const void *table, size_t size)
{
    enum { HEADER = 32, BYTES = 4 * PTXOPT_FORM_WORDS };
    const char *at = (const char *)table + HEADER, *end = (const char *)table + size, *zero;
    uint32_t header[3], i;
    if (size < HEADER)
        return 0;
    memcpy(header, table, sizeof header);
    if (header[0] != PTXOPT_FORMS_MAGIC || header[1] != PTXOPT_FORMS_FORMAT || header[2] > PTXOPT_MOST_FORMS)
        return 0;
    for (i = 0; i < header[2]; i++) {
        zero = (const char *)memchr(at, 0, (size_t)(end - at));
        if (!zero)
            return 0;
        at = zero + 1;
    }
    return (size_t)(end - at) == (size_t)header[2] * BYTES ? header[2] : 0;
}

/* Copies the words of a form, by its number from 1 on. Returns 0 if the table has no form with that number. */
static inline int ptxopt_form_words(const void *table, size_t size, unsigned form, uint32_t words[PTXOPT_FORM_WORDS])
{
    enum { BYTES = 4 * PTXOPT_FORM_WORDS };
    const unsigned count = ptxopt_forms_count(table, size);
    if (form < 1 || form > count)
        return 0;
    memcpy(words, (const char *)table + size - (size_t)(count - form + 1) * BYTES, BYTES);
    return 1;
}

/* True if the launch's parameter is such a multiple, as the last word of a form has it. */
static inline int ptxopt_is_multiple(uint32_t word, void *const *parameters)
{
    const uint32_t parameter = word & 0xffff, multiple = word >> 16;
    uint32_t value;
    if (!multiple)
        return !word;
    if (!parameters || parameter >= PTXOPT_TRIPS_PARAMETERS)
        return 0;
    memcpy(&value, parameters[parameter], sizeof value);
    return value % multiple == 0;
}

/* True if a launch of the original kernel is faster in the form with these words: the same as those of
 * __ptxopt_pays_KERNEL, those of __ptxopt_trips_KERNEL or zeros, the least and the most threads of a block, and the
 * most threads of a launch for each multiprocessor (0: any number), and a parameter of 32 bits, with what it must be a
 * multiple of in the upper half of the word (0: it need not). False if they are of a format that is not known here. */
static inline int ptxopt_form_pays(const uint32_t words[PTXOPT_FORM_WORDS], const unsigned grid[3],
                                   const unsigned block[3], unsigned multiprocessors, void *const *parameters)
{
    const uint32_t *trips = words + PTXOPT_PAYS_WORDS, *limits = trips + PTXOPT_TRIPS_WORDS;
    const double threads = (double)block[0] * block[1] * block[2];
    const double all = threads * grid[0] * grid[1] * grid[2];
    if (words[0] != PTXOPT_PAYS_MAGIC || words[1] != 1 || (trips[0] && !ptxopt_trips_known(trips)) ||
        !ptxopt_is_multiple(limits[3], parameters))
        return 0;
    return threads >= limits[0] && (!limits[1] || threads <= limits[1]) &&
           (!limits[2] || all <= (double)limits[2] * multiprocessors) &&
           ptxopt_launch_pays_for(words, trips, grid, block, multiprocessors, parameters);
}

/* Reads a kernel's contract from a cubin in memory, which may contain anything. 1 if there is one. */
static inline int ptxopt_contract_from_cubin(const void *cubin, size_t size, const char *kernel,
                                             uint32_t words[PTXOPT_CONTRACT_WORDS])
{
    static const char prefix[] = "__ptxopt_launch_";
    enum { HEADER = 64, SECTION = 64, SYMBOL = 24, BYTES = 4 * PTXOPT_CONTRACT_WORDS, SYMBOLS = 2 };
    const unsigned char *bytes = (const unsigned char *)cubin;
    uint64_t sections, i, k;
    uint16_t count;
    if (size < HEADER || memcmp(bytes, "\177ELF\2\1", 6) != 0)
        return 0;
    memcpy(&sections, bytes + 40, 8);
    memcpy(&count, bytes + 60, 2);
    if (sections > size || (size - sections) / SECTION < count)
        return 0;
    for (i = 0; i < count; i++) {
        const unsigned char *table = bytes + sections + i * SECTION, *strings;
        uint32_t type, link;
        uint64_t at, length, names, names_length;
        memcpy(&type, table + 4, 4);
        memcpy(&link, table + 40, 4);
        memcpy(&at, table + 24, 8);
        memcpy(&length, table + 32, 8);
        if (type != SYMBOLS || link >= count || at > size || length > size - at)
            continue;
        strings = bytes + sections + link * (uint64_t)SECTION;
        memcpy(&names, strings + 24, 8);
        memcpy(&names_length, strings + 32, 8);
        if (names > size || names_length > size - names || !names_length || bytes[names + names_length - 1])
            continue;
        for (k = 0; k + SYMBOL <= length; k += SYMBOL) {
            const unsigned char *symbol = bytes + at + k, *home;
            const char *name;
            uint32_t name_at;
            uint16_t section;
            uint64_t value, start, room;
            memcpy(&name_at, symbol, 4);
            memcpy(&section, symbol + 6, 2);
            memcpy(&value, symbol + 8, 8);
            if (name_at >= names_length || section >= count)
                continue;
            name = (const char *)bytes + names + name_at;
            if (strncmp(name, prefix, sizeof prefix - 1) != 0 || strcmp(name + sizeof prefix - 1, kernel) != 0)
                continue;
            home = bytes + sections + section * (uint64_t)SECTION;
            memcpy(&start, home + 24, 8);
            memcpy(&room, home + 32, 8);
            if (start > size || room > size - start || value > room || room - value < BYTES)
                return 0;
            memcpy(words, bytes + start + value, BYTES);
            return words[0] == PTXOPT_CONTRACT_MAGIC;
        }
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
