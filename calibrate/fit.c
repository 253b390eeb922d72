/* The fit: the parameters for which the squares of ln(predicted / measured) have the least sum, over the kernels that
 * are for it.
 *
 * Direct search by Hooke and Jeeves ("Direct search" solution of numerical and statistical problems, JACM 1961) over
 * the logarithms of the parameters: each is moved up and down by a step; what helped together is done once more; the
 * step is halved when nothing helps. A small penalty for moves leaves a parameter where it is if no kernel depends on
 * it. Nothing is random. */
#include <math.h>
#include <string.h>

#include "calibrate/internal.h"

const CalibrateParameter calibrate_parameters[] = {
#define PARAMETER(member, factor) {#member, offsetof(Device, member), factor},
#include "calibrate/parameters.def"
};

/* By logarithms: the first and the last step, and the weight of the penalty. With it, a parameter that half of one
 * kernel's time depends on ends within a hundredth of its move. */
static const double first_step = 0.4, last_step = 1e-4, penalty_weight = 1e-3, least_gain = 1e-12;
enum { MOST_ROUNDS = 5000 };

typedef struct Point {
    double at[PARAMETER_COUNT]; /* logarithms of factors */
    double value;
} Point;

/* Microseconds. */
static double kernel_predict(const Calibration *calibration, const CalibrateKernel *kernel, const Device *device)
{
    const SmUse use = {.registers = kernel->registers, .shared = kernel->shared};
    const Time time = time_predict(kernel->profile, calibration->sm, device, &use);
    if (!time.known)
        bug("microkernel %s does not fit on an SM of %s", kernel->micro->name, calibration->arch);
    return time.microseconds;
}

static Device device_at(const Calibration *calibration, const Point *point)
{
    Device device = calibration->start;
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        double *value = (double *)((char *)&device + calibrate_parameters[i].offset);
        *value *= exp(point->at[i]);
    }
    return device;
}

static void evaluate(const Calibration *calibration, Point *point)
{
    const Device device = device_at(calibration, point);
    point->value = 0;
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        point->value += penalty_weight * point->at[i] * point->at[i];
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        const CalibrateKernel *kernel = &calibration->kernels.data[i];
        if (kernel->micro->role != FIT || !(kernel->measured > 0))
            continue;
        const double miss = log(kernel_predict(calibration, kernel, &device) / kernel->measured);
        point->value += miss * miss;
    }
}

static double within(double value, unsigned parameter)
{
    const double most = log(calibrate_parameters[parameter].factor);
    return fmax(-most, fmin(most, value));
}

/* Moves each parameter by the step, where that helps. */
static bool explore(const Calibration *calibration, Point *best, double step)
{
    bool moved = false;
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            Point point = *best;
            point.at[i] = within(best->at[i] + sign * step, i);
            if (point.at[i] == best->at[i])
                continue;
            evaluate(calibration, &point);
            if (point.value < best->value - least_gain) {
                *best = point;
                moved = true;
                break;
            }
        }
    return moved;
}

/* Repeats what led from one point to the other, if that helps. */
static void repeat(const Calibration *calibration, const Point *from, Point *best)
{
    Point point = *best;
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        point.at[i] = within(2 * best->at[i] - from->at[i], i);
    evaluate(calibration, &point);
    if (point.value < best->value - least_gain)
        *best = point;
}

void device_fit(Calibration *calibration)
{
    Point best = {0};
    double step = first_step;
    evaluate(calibration, &best);
    for (unsigned round = 0; step > last_step && round < MOST_ROUNDS; round++) {
        const Point from = best;
        if (explore(calibration, &best, step))
            repeat(calibration, &from, &best);
        else
            step /= 2;
    }
    calibration->fitted = device_at(calibration, &best);
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        CalibrateKernel *kernel = &calibration->kernels.data[i];
        kernel->before = kernel_predict(calibration, kernel, &calibration->start);
        kernel->after = kernel_predict(calibration, kernel, &calibration->fitted);
    }
}

double parameter_effect(const Calibration *calibration, unsigned parameter, const CalibrateKernel **kernel)
{
    const double change = 0.01;
    Device more = calibration->fitted;
    *(double *)((char *)&more + calibrate_parameters[parameter].offset) *= exp(change);
    double most = 0;
    *kernel = NULL;
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        const CalibrateKernel *with = &calibration->kernels.data[i];
        if (with->micro->role != FIT || !(with->measured > 0))
            continue;
        const double effect = fabs(log(kernel_predict(calibration, with, &more) / with->after)) / change;
        if (effect > most) {
            most = effect;
            *kernel = with;
        }
    }
    return most;
}

double mean_error(const Calibration *calibration, MicroRole role, bool after)
{
    double sum = 0;
    unsigned count = 0;
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        const CalibrateKernel *kernel = &calibration->kernels.data[i];
        if (kernel->micro->role != role || !(kernel->measured > 0))
            continue;
        sum += fabs(log((after ? kernel->after : kernel->before) / kernel->measured));
        count++;
    }
    return count ? sum / count : 0;
}
