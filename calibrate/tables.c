/* The output of a calibration: its table, and the machine file. */
#include <math.h>
#include <string.h>

#include "calibrate/internal.h"

/* Below this exponent, a kernel's time says next to nothing about a parameter. */
static const double least_effect = 0.1;

static void print_parameters(const Calibration *calibration, Buf *out)
{
    buf_printf(out, "%-18s %11s %11s %7s  %s\n", "parameter", "before", "fitted", "factor", "from");
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        const CalibrateKernel *kernel;
        const double effect = parameter_effect(calibration, i, &kernel);
        const double before = parameter_value(&calibration->start, i), after = parameter_value(&calibration->fitted, i);
        const double factor = after / before, most = calibrate_parameters[i].factor;
        buf_printf(out, "%-18s %11.5g %11.5g %7.3f  ", calibrate_parameters[i].name, before, after, factor);
        if (effect < least_effect)
            buf_puts(out, "no kernel depends on it");
        else
            buf_printf(out, "%s%s", kernel->micro->name,
                       fabs(log(factor)) > 0.99 * log(most) ? ", at the limit" : "");
        buf_puts(out, "\n");
    }
}

static double percent(double predicted, double measured)
{
    return 100 * (predicted / measured - 1);
}

static void print_kernels(const Calibration *calibration, MicroRole role, Buf *out)
{
    buf_printf(out, "\n%-18s %11s %11s %11s\n", role == FIT ? "kernels of the fit" : "other kernels", "measured us",
               "before", "after");
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        const CalibrateKernel *kernel = &calibration->kernels.data[i];
        if (kernel->micro->role == role && kernel->measured > 0)
            buf_printf(out, "%-18s %11.3f %+10.1f%% %+10.1f%%  %s\n", kernel->micro->name, kernel->measured,
                       percent(kernel->before, kernel->measured), percent(kernel->after, kernel->measured),
                       kernel->micro->about);
    }
    buf_printf(out, "%-18s %11s %10.1f%% %10.1f%%\n", "mean error", "", 100 * mean_error(calibration, role, false),
               100 * mean_error(calibration, role, true));
}

void calibration_print(const Calibration *calibration, Buf *out)
{
    buf_printf(out, "%s, times from %s\n\n", calibration->arch, calibration->place);
    print_parameters(calibration, out);
    print_kernels(calibration, FIT, out);
    print_kernels(calibration, HELD_OUT, out);
}

void machine_file_print(const Calibration *calibration, Buf *out)
{
    const Device *device = &calibration->fitted;
    json_t *root = json_object();
    json_object_set_new(root, "name", json_text(device->name));
    json_object_set_new(root, "multiprocessors", json_real(device->multiprocessors));
    json_object_set_new(root, "clock_mhz", json_real(device->clock_mhz));
    json_object_set_new(root, "schedulers", json_real(device->schedulers));
    json_object_set_new(root, "l1_size", json_real(device->l1_size));
    json_object_set_new(root, "l2_size", json_real(device->l2_size));
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        json_object_set_new(root, calibrate_parameters[i].name, json_real(parameter_value(device, i)));
    json_print(root, out);
}
