/* support: what every other folder builds on: memory, strings, vectors, maps, diagnostics with source spans.
 *
 * Memory: everything lives in an Arena and dies with it. Only growing buffers (Buf) own heap memory.
 * Errors: a user's mistake is reported to a Diag; a broken invariant calls bug(), which does not return. */
#ifndef PTXOPT_SUPPORT_H
#define PTXOPT_SUPPORT_H

#include "support/bitset.h"
#include "support/buffer.h"
#include "support/clock.h"
#include "support/diag.h"
#include "support/intern.h"
#include "support/json_file.h"
#include "support/json_place.h"
#include "support/map.h"
#include "support/memory.h"
#include "support/min_cut.h"
#include "support/plural.h"
#include "support/random.h"
#include "support/source.h"

#endif
