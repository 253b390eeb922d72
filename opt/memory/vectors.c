/* Neighbouring accesses of one thread as vectors, in code that is not coarsened (Yang and others, PLDI 2010, section
 * 3.1): no launch changes. opt/replicas/vectorize.c says which accesses are joined, and what is tested for it. */
#include "opt/common/preheader.h"
#include "opt/passes.h"
#include "opt/replicas/vectorize.h"

bool pass_vectors(PassContext *context)
{
    const bool added = loops_add_preheaders(context->body, context->analyses);
    const VectorWish wish = {.everywhere = true, .by_thread = context->tests_by_thread};
    return body_vectorize(context->body, context->analyses, &wish, context->arena, &context->vectors) || added;
}
