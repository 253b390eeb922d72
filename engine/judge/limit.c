/* The time for a search: asked by searches between forms, and by the emulator while it counts one. */
#include <math.h>

#include "engine/judge/judge.h"
#include "engine/progress.h"

void assembler_judge_limit(AssemblerJudge *judge, double seconds)
{
    const double begin = seconds_now();
    judge->time = (SearchTime){.begin = begin, .end = begin + seconds, .part_begin = begin};
    judge->time.part_end = judge->time.stage_end = judge->time.end;
}

/* The end of what has to leave a share of the time. */
static double end_before(double begin, double end, double reserved)
{
    return reserved > 0 && !isinf(end) ? end - (end - begin) * reserved : end;
}

double assembler_judge_part(AssemblerJudge *judge, double reserved)
{
    SearchTime *time = &judge->time;
    time->part_begin = seconds_now();
    time->part_end = end_before(time->begin, time->end, reserved);
    if (reserved < 1 && time->part_end < time->part_begin && time->part_begin < time->end)
        time->part_end = time->part_begin + (time->end - time->part_begin) / 2;
    time->stage_end = time->part_end;
    time->is_over = false;
    return time->end > 0 ? fmax(0, time->part_end - time->part_begin) : HUGE_VAL;
}

void assembler_judge_stage(AssemblerJudge *judge, double reserved)
{
    SearchTime *time = &judge->time;
    time->stage_end = end_before(fmin(time->part_begin, time->part_end), time->part_end, reserved);
    time->is_over = false;
}

bool assembler_judge_is_over(AssemblerJudge *judge)
{
    SearchTime *time = &judge->time;
    const bool is_late = time->stage_end > 0 && seconds_now() >= time->stage_end;
    time->was_late |= is_late;
    time->is_over |= is_late || (judge->interrupted && *judge->interrupted);
    return time->is_over;
}

/* EmulatorPoll.is_over */
static bool count_is_over(void *context, double share)
{
    AssemblerJudge *judge = context;
    progress_counted(judge->progress, share);
    return assembler_judge_is_over(judge);
}

EmulatorPoll assembler_judge_poll(AssemblerJudge *judge)
{
    return (EmulatorPoll){.is_over = count_is_over, .context = judge};
}
