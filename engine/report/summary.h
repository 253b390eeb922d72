/* The outcome for each kernel, in a line of its own: the changes, the gain, and the new launch. */
#ifndef PTXOPT_ENGINE_REPORT_SUMMARY_H
#define PTXOPT_ENGINE_REPORT_SUMMARY_H

#include "engine/report/report.h"

/* "saxpy: coarsened x2, registers 12 -> 22, predicted 1.10x; launch it with blocks of 128 threads instead of 256, the
 * grid unchanged": a line for each kernel with a request, appended to 'out'. With 'indent' blanks before each, names
 * are padded to the same width. */
void summary_print(const Report *report, unsigned indent, Buf *out);
/* The number of lines that summary_print appends. */
unsigned summary_count(const Report *report);

/* "blocks of 128 threads instead of 256, the grid unchanged", the words for a contract, which must change the
 * launch. */
void launch_words_print(const LaunchContract *contract, Buf *out);

/* "; launches of fewer than 4096 threads for each SM run the original"; nothing if none do. */
void pays_print(const FormPays *pays, Buf *out);
/* The forms of which launches take the first that pays. */
void preferred_print(const KernelReport *kernel, Buf *out);

/* "256", "16 x 16", "8 x 8 x 4"; "unknown" for 0. */
enum { BLOCK_TEXT = 40 };
const char *block_text(const unsigned block[3], char text[BLOCK_TEXT]);

#endif
