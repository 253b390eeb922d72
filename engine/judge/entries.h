/* The judge's records of the texts that it has measured. */
#ifndef PTXOPT_ENGINE_JUDGE_ENTRIES_H
#define PTXOPT_ENGINE_JUDGE_ENTRIES_H

#include "engine/judge/judge.h"

typedef struct JudgeEntry {
    TextKey key;
    Figures figures;
    bool is_asked;    /* these figures were requested */
    void *cubin;      /* owned; NULL: not kept */
    size_t cubin_size;
    bool is_numbered; /* the cubin has numbered lines (ptx_numbered), from which the executions of its code are
                       * counted */
    struct JudgeEntry *next;  /* with the same hash */
    struct JudgeEntry *older; /* in judge->kept: all with a cubin */
} JudgeEntry;

/* The key includes the kernel's name, since one text can hold several kernels, and the assembler options that its form
 * is for. */
TextKey text_key_of(AssemblerJudge *judge, const char *text, size_t length, const char *kernel, const Tuning *tuning);
/* NULL: the text has not been measured. */
JudgeEntry *judge_entry_find(const AssemblerJudge *judge, const TextKey *key);
/* Adds an entry, in the judge's arena, for a text that has none. */
JudgeEntry *judge_entry_add(AssemblerJudge *judge, const TextKey *key, const Figures *figures);
/* Keeps the machine code, so that a prediction need not assemble the text again. Code with numbered lines replaces code
 * without. */
void judge_entry_keep_cubin(AssemblerJudge *judge, JudgeEntry *entry, const Assembly *assembly, bool is_numbered);

#endif
