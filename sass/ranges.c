/* Life ranges of registers, as nvdisasm draws them: a column of one character for each register, after a heading for
 * each section of code.
 *
 *     // |       GPR          |  PRED  |
 *     // |    0000000000111   |        |
 *     // |  # 0123456789012   |  # 01  |
 *     ...
 *     // |  5 ::  v^    x     |  1  :  |
 *
 * The numbers below '#' count the registers that are live. */
#include "sass/internal.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "// |";

/* The text of the table in a line, after the mark, up to its end; NULL if the line has none. */
static const char *table_text(const char *line, size_t *length)
{
    size_t whole = strcspn(line, "\n");
    const char *found = memmem(line, whole, mark, sizeof mark - 1);
    if (!found)
        return NULL;
    found += sizeof mark - 1;
    *length = (size_t)(line + whole - found);
    return found;
}

static SassFile file_of(const char *group, size_t length)
{
    static const char *const names[SASS_FILE_COUNT] = {"GPR", "PRED", "UGPR", "UPRED"};
    for (unsigned file = SASS_FILE_COUNT; file-- > 0;)
        if (memmem(group, length, names[file], strlen(names[file])))
            return (SassFile)file;
    return SASS_FILE_COUNT;
}

/* The digit of a row at a column; a row may be missing. */
static unsigned digit_at(const char *row, size_t length, size_t column)
{
    return row && column < length && row[column] >= '0' && row[column] <= '9' ? (unsigned)(row[column] - '0') : 0;
}

static void set_column(RangeHeading *heading, size_t column, SassFile file)
{
    unsigned number = 0;
    for (unsigned r = 0; r < RANGE_ROWS; r++)
        number = number * 10 + digit_at(heading->rows[r], heading->lengths[r], column);
    heading->columns[column] = (RangeColumn){true, file, (uint8_t)number};
    if (heading->counts[file] <= number)
        heading->counts[file] = number + 1;
}

/* Sets the columns by the last row of a heading; the one with the names is above those with digits. */
static void set_columns(RangeHeading *heading, const char *text, size_t length)
{
    SassFile file = SASS_FILE_COUNT;
    memset(heading->columns, 0, sizeof heading->columns);
    for (size_t begin = 0, end; begin < length && begin < RANGE_WIDTH; begin = end + 1) {
        end = begin + strcspn(text + begin, "|\n");
        for (unsigned r = 0; r < RANGE_ROWS && file == SASS_FILE_COUNT; r++)
            if (heading->rows[r] && begin < heading->lengths[r])
                file = file_of(heading->rows[r] + begin, end - begin);
        const char *sharp = memchr(text + begin, '#', end - begin);
        for (size_t c = sharp ? (size_t)(sharp - text) + 1 : end; c < end && c < RANGE_WIDTH; c++)
            if (text[c] >= '0' && text[c] <= '9' && file != SASS_FILE_COUNT)
                set_column(heading, c, file);
        file = SASS_FILE_COUNT;
    }
}

bool range_heading_take(RangeHeading *heading, const char *line)
{
    size_t length;
    const char *text = table_text(line, &length);
    if (!text)
        return false;
    memmove(heading->rows, heading->rows + 1, (RANGE_ROWS - 1) * sizeof *heading->rows);
    memmove(heading->lengths, heading->lengths + 1, (RANGE_ROWS - 1) * sizeof *heading->lengths);
    heading->rows[RANGE_ROWS - 1] = text;
    heading->lengths[RANGE_ROWS - 1] = length;
    if (!memchr(text, '#', length))
        return false;
    set_columns(heading, text, length);
    return true;
}

SassRanges *ranges_new(Arena *arena, const SassCode *code, const char *printed)
{
    RangeHeading *heading = ARENA_NEW(arena, RangeHeading);
    SassRanges *ranges = ARENA_NEW(arena, SassRanges);
    for (const char *line = printed; *line; line += strcspn(line, "\n"), line += *line == '\n')
        range_heading_take(heading, line);
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++) {
        ranges->counts[file] = heading->counts[file];
        ranges->states[file] = arena_alloc(arena, (size_t)code->count * heading->counts[file] + 1);
        memset(ranges->states[file], 0, (size_t)code->count * heading->counts[file] + 1);
        ranges->live[file] = ARENA_ARRAY(arena, uint16_t, code->count + 1);
    }
    return ranges;
}

/* The registers of a file up to the highest that the code uses. */
static uint32_t count_used(const SassRanges *ranges, uint32_t rows, unsigned file)
{
    uint32_t used = 0;
    for (size_t i = 0; i < (size_t)rows * ranges->counts[file]; i++) {
        const uint32_t reg = (uint32_t)(i % ranges->counts[file]);
        if (ranges->states[file][i] != REGISTER_FREE && reg >= used)
            used = reg + 1;
    }
    return used;
}

void ranges_trim(SassRanges *ranges, uint32_t rows)
{
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++) {
        const uint32_t used = count_used(ranges, rows, file), before = ranges->counts[file];
        for (uint32_t row = 0; row < rows; row++)
            memmove(ranges->states[file] + (size_t)row * used, ranges->states[file] + (size_t)row * before, used);
        ranges->counts[file] = used;
    }
}

static SassState state_of(char drawn)
{
    return drawn == ':'   ? REGISTER_OCCUPIED
           : drawn == 'v' ? REGISTER_READ
           : drawn == '^' ? REGISTER_WRITTEN
           : drawn == 'x' ? REGISTER_BOTH
                          : REGISTER_FREE;
}

void ranges_take(SassRanges *ranges, const RangeHeading *heading, uint32_t instruction, const char *line)
{
    size_t length;
    const char *text = table_text(line, &length);
    bool counted[SASS_FILE_COUNT] = {false};
    for (size_t c = 0, group = 0; text && c < length && c < RANGE_WIDTH; c++) {
        const RangeColumn *column = &heading->columns[c];
        if (text[c] == '|')
            group = c + 1;
        if (!column->is_register)
            continue;
        if (!counted[column->file])
            ranges->live[column->file][instruction] = (uint16_t)strtoul(text + group, NULL, 10);
        counted[column->file] = true;
        ranges->states[column->file][(size_t)instruction * ranges->counts[column->file] + column->number] =
            (uint8_t)state_of(text[c]);
    }
}
