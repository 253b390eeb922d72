/* The words by which a form of a kernel is known to the store, to launch adapters and to people, as in
 * "x2,y4 stage depth=256". They say all that is chosen for the kernel, so that the form can be made again from them.
 * Settings of the whole run, such as -O, -target-regs or -block-order, are not among them. */
#ifndef PTXOPT_ENGINE_FORM_WORDS_H
#define PTXOPT_ENGINE_FORM_WORDS_H

#include "opt/opt.h"

/* Before the block, in the words of a form that is only for this one. */
#define FORM_BLOCK_WORD "block="
/* The word for a form that may add floating-point numbers in another order. */
#define FORM_REASSOCIATE_WORD "reassociate"

/* The words for what was requested, in the arena, separated by single spaces, without the block; "": the kernel as it
 * is. */
const char *form_words_text(Arena *arena, const KernelRequest *request);
/* Takes everything out of a request that words may say, except the block. */
void form_words_clear(KernelRequest *request);
/* Adds what the words say, with texts in the arena, to a request that was cleared. False if a word is not known, or the
 * kernel has no such loop: the request is then incomplete. */
bool form_words_follow(Arena *arena, const Function *kernel, const char *words, KernelRequest *request);
/* True if the words have this one, which may also be the beginning of one up to its '='. */
bool form_words_have(const char *words, const char *word);

#endif
