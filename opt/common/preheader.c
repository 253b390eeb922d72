#include "opt/common/preheader.h"

#include "opt/common/versions.h"

void loop_add_preheader(Body *body, const LoopForest *loops, const Loop *loop)
{
    Block *header = loop->header, *preheader = body_add_block(body, NULL);
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *phi = &header->phis.data[p], start = {.dst = REG_NONE};
        size_t kept = 0;
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            if (loop_contains(loops, loop, arg.pred))
                phi->args.data[kept++] = arg;
            else
                VEC_PUSH(body->arena, start.args, arg);
        }
        bool is_one = start.args.count == 1;
        start.dst = is_one ? start.args.data[0].reg : body_clone_reg(body, phi->dst);
        phi->args.count = kept;
        VEC_PUSH(body->arena, phi->args, ((PhiArg){preheader, start.dst}));
        if (!is_one)
            VEC_PUSH(body->arena, preheader->phis, start);
    }
    for (unsigned p = 0; p < header->pred_count; p++)
        if (!loop_contains(loops, loop, header->preds[p]))
            block_retarget(header->preds[p], header, preheader);
    preheader->fall = header;
    body_update_preds(body);
}
