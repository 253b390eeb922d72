/* Helpers over jansson that the JSON outputs share. */
#ifndef PTXOPT_ENGINE_REPORT_JSON_H
#define PTXOPT_ENGINE_REPORT_JSON_H

#include <jansson.h>

#include "emulator/emulator.h"
#include "engine/judge/form_cost.h"
#include "opt/opt.h"

/* A string, or null for NULL. Each byte above 127 of a text that is not UTF-8 becomes '?'. */
json_t *json_text(const char *text);
/* The text in the buffer, which is freed. */
json_t *json_words(Buf *words);
/* The sentence, or null for no refusal. */
json_t *json_refusal(const Refusal *refusal);
/* "done". */
const char *json_outcome_word(Outcome outcome);
/* A line, or null for 0. */
json_t *json_line(unsigned line);
/* [x, y, z]. */
json_t *json_triple(const unsigned values[3]);
/* [x, y, z], or null if values[0] is 0. */
json_t *json_block(const unsigned values[3]);
/* "block", "unit" or a number. */
json_t *json_stride(const Stride *stride);
/* The conditions of a launch contract, in words. */
json_t *json_conditions(const LaunchCondition *conditions, unsigned count);
/* The fault that stopped the emulator, with its place and reason, or null for NULL or FAULT_NONE. */
json_t *json_fault(const EmulatorFault *fault);
/* {"ran": 148, "blocks": 4096, "error": 0.001}, or null if nothing was counted. */
json_t *json_counted(const CountedPart *part);
/* Sets a member of an object. */
void json_set_number(json_t *object, const char *key, uint64_t number);
/* {"warp_instructions": ...}; docs/formats.md, "Counters". */
json_t *counters_json(const EmulatorCounters *counters);

/* Prints the value, with an indentation of two and a line end, and releases it. */
void json_print(json_t *value, Buf *out);

#endif
