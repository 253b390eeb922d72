/* The registers that an assembler assigns while it has enough of them. */
#ifndef PTXOPT_ANALYSIS_REGISTER_FILE_H
#define PTXOPT_ANALYSIS_REGISTER_FILE_H

#include "support/support.h"

/* An instruction reads two operands at once only from different banks, the even and the odd registers. */
typedef enum Bank { BANK_ANY, BANK_EVEN, BANK_ODD } Bank;

/* A value gets the lowest registers that are free, aligned to its width; a single register of a bank comes from that
 * bank, as long as one below the limit is free. Accesses read their operands late, so an operand that they read last is
 * free only some instructions later, unless registers run out below the limit. */
typedef struct RegisterFile RegisterFile;

/* A file for values numbered from 0 to 'values' - 1, in 'arena'; 'taken' registers are never free. */
RegisterFile *register_file_new(Arena *arena, size_t values, int32_t limit, int32_t taken);

/* 'width': registers. O(registers). */
void register_file_take(RegisterFile *file, uint32_t value, uint8_t width, Bank bank);

/* 'late': the last reader of the value was an access. */
void register_file_give(RegisterFile *file, uint32_t value, bool late);

/* Moves on to the next instruction. */
void register_file_step(RegisterFile *file);

/* The number of registers used so far, counted up to the highest one assigned. */
int32_t register_file_highest(const RegisterFile *file);

#endif
