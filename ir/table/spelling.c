/* The modifiers of signatures, and the way they are written. */
#include "ir/table/internal.h"

bool signature_has(const Signature *signature, ModId mod)
{
    for (unsigned i = 0; i < signature->mod_count; i++)
        if (signature->mods[i].id == mod)
            return true;
    return false;
}

bool signature_is_aligned(const Signature *signature)
{
    /* "bar.sync" is aligned; "bar.warp.sync" names its threads. */
    return (opcode_has(signature->op, RULE_ALIGNED) && !signature_has(signature, MOD_WARP)) ||
           signature_has(signature, MOD_ALIGNED);
}

void signature_print(const Signature *signature, Buf *out)
{
    buf_name(out, signature->spelling);
}

void signature_print_documented(const Signature *signature, const Form *form, Buf *out)
{
    const ModId *documented = NULL;
    for (unsigned i = 0; i < signature->match_count && form; i++)
        if (signature->matches[i].form == form)
            documented = signature->matches[i].documented;
    if (!documented) {
        signature_print(signature, out);
        return;
    }
    buf_puts(out, signature->opcode);
    for (unsigned i = 0; i < signature->mod_count; i++)
        buf_puts(out, mod_name(documented[i]));
}
