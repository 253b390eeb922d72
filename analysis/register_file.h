/* Registers as an assembler gives them out that is not short of any. */
#ifndef PTXOPT_ANALYSIS_REGISTER_FILE_H
#define PTXOPT_ANALYSIS_REGISTER_FILE_H

#include "support/support.h"

/* An instruction reads two operands at once only from different banks, the even and the odd registers. */
typedef enum Bank { BANK_ANY, BANK_EVEN, BANK_ODD } Bank;

/* A value gets the lowest registers that are free, aligned to its width; a single one of a bank gets one of that bank,
 * as long as there is one below the limit. Accesses read their operands late, so what they read last is free only some
 * instructions later, unless registers run out below the limit. */
typedef struct RegisterFile RegisterFile;

/* For values with the numbers from 0 to 'values' - 1; 'taken' registers are never free. In 'arena'. */
RegisterFile *register_file_new(Arena *arena, size_t values, int32_t limit, int32_t taken);

/* 'width': registers. O(registers). */
void register_file_take(RegisterFile *file, uint32_t value, uint8_t width, Bank bank);

/* 'late': an access was what read the value last. */
void register_file_give(RegisterFile *file, uint32_t value, bool late);

/* Goes on to the next instruction. */
void register_file_step(RegisterFile *file);

/* The most registers so far, up to the highest one that was given out. */
int32_t register_file_highest(const RegisterFile *file);

#endif
