#include "analysis/register_file.h"

enum {
    REGISTERS_MOST = 256,
    HELD_MOST = 64, /* values that are read late, at once; if there are more, the oldest become free */
    HELD_TIME = 10, /* instructions after which the operands of an access are free */
};

struct RegisterFile {
    uint8_t taken[REGISTERS_MOST];
    uint16_t *first; /* by value: its first register + 1; 0: none */
    uint8_t *width;  /* by value */
    int32_t limit, highest;
    uint32_t held[HELD_MOST], held_until[HELD_MOST]; /* the oldest first */
    uint32_t held_count, now;
};

RegisterFile *register_file_new(Arena *arena, size_t values, int32_t limit, int32_t taken)
{
    RegisterFile *file = ARENA_NEW(arena, RegisterFile);
    file->first = ARENA_ARRAY(arena, uint16_t, values + 1);
    file->width = ARENA_ARRAY(arena, uint8_t, values + 1);
    file->limit = limit < REGISTERS_MOST ? limit : REGISTERS_MOST;
    file->highest = taken < REGISTERS_MOST ? taken : REGISTERS_MOST;
    for (int32_t i = 0; i < file->highest; i++)
        file->taken[i] = 1;
    return file;
}

static bool are_free(const RegisterFile *file, int32_t from, int32_t width)
{
    for (int32_t i = from; i < from + width; i++)
        if (file->taken[i])
            return false;
    return true;
}

/* The first free place from 'from' on in steps, or 'end'. */
static int32_t place_find(const RegisterFile *file, int32_t from, int32_t step, int32_t width, int32_t end)
{
    while (from + width <= end && !are_free(file, from, width))
        from += step;
    return from + width <= end ? from : end;
}

static void value_free(RegisterFile *file, uint32_t value)
{
    for (uint32_t i = 0; i < file->width[value] && file->first[value]; i++)
        file->taken[file->first[value] - 1u + i] = 0;
    file->first[value] = 0;
}

static void held_free(RegisterFile *file, uint32_t until)
{
    uint32_t done = 0;
    while (done < file->held_count && file->held_until[done] <= until)
        value_free(file, file->held[done++]);
    file->held_count -= done;
    for (uint32_t i = 0; i < file->held_count && done; i++) {
        file->held[i] = file->held[i + done];
        file->held_until[i] = file->held_until[i + done];
    }
}

void register_file_take(RegisterFile *file, uint32_t value, uint8_t width, Bank bank)
{
    int32_t step = width > 2 ? 4 : width, found = file->limit;
    if (!width)
        return;
    if (width == 1 && bank != BANK_ANY)
        found = place_find(file, bank == BANK_ODD, 2, 1, file->limit);
    if (found >= file->limit)
        found = place_find(file, 0, step, width, file->limit);
    if (found >= file->limit) {
        held_free(file, UINT32_MAX);
        found = place_find(file, 0, step, width, REGISTERS_MOST);
    }
    if (found == REGISTERS_MOST)
        return;
    for (int32_t i = found; i < found + width; i++)
        file->taken[i] = 1;
    file->first[value] = (uint16_t)(found + 1);
    file->width[value] = width;
    file->highest = found + width > file->highest ? found + width : file->highest;
}

void register_file_give(RegisterFile *file, uint32_t value, bool late)
{
    if (!late) {
        value_free(file, value);
        return;
    }
    if (file->held_count == HELD_MOST)
        held_free(file, file->held_until[0]);
    file->held[file->held_count] = value;
    file->held_until[file->held_count++] = file->now + HELD_TIME;
}

void register_file_step(RegisterFile *file)
{
    held_free(file, ++file->now);
}

int32_t register_file_highest(const RegisterFile *file)
{
    return file->highest;
}
