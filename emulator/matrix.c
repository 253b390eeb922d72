#include "emulator/simt.h"
bool decode_matrix(Decoder *d)
{
    return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
}
Step matrix_execute(Exec *x, const Op *op, uint32_t mask)
{
    (void)mask;
    return fault_at(x, op, 0, FAULT_UNSUPPORTED, "matrix");
}
