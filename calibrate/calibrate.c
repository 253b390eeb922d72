/* A calibration: see calibrate.h. */
#include <string.h>

#include "calibrate/internal.h"
#include "gpu/gpu.h"

/* The devices that kernels can be made for: their data and grids grow with these. */
static const double most_multiprocessors = 4096, most_cache = 1 << 30;

static bool fail(const char *message)
{
    fprintf(stderr, "ptxopt: error: %s\n", message);
    return false;
}

/* The architecture that kernels are made for, whose limits are known: the GPU's, or the nearest one below. */
static bool choose_target(Calibration *calibration, unsigned number)
{
    size_t count;
    const Architecture *list = architecture_list(&count), *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].number <= number && architecture_limits(&list[i]))
            found = &list[i];
    if (!found)
        return fail(arena_printf(calibration->arena, "sm_%u is too old", number));
    calibration->sm = architecture_limits(found);
    calibration->arch = arena_printf(calibration->arena, "sm_%u", found->number);
    return true;
}

/* The figures to begin with: the architecture's, with the GPU's own where its driver gives them (NULL: there is none),
 * unless the machine file has others. */
static bool choose_start(Calibration *calibration, unsigned number, const GpuDriver *driver)
{
    const char *error;
    Device *device = &calibration->start;
    *device = *device_for(number);
    if (driver) {
        device_slice(device, driver->multiprocessors);
        device->clock_mhz = driver->clock_khz / 1000.0;
        device->l2_size = (double)driver->cache_bytes;
        device->name = calibration->place;
    }
    if (calibration->request->machine &&
        !device_read(calibration->arena, calibration->request->machine, device, &error))
        return fail(error);
    if (device->multiprocessors < 1 || device->multiprocessors > most_multiprocessors ||
        device->l2_size > most_cache)
        return fail(arena_printf(calibration->arena,
                                 "a device of %g multiprocessors and %g bytes of L2 is not one to calibrate: from 1 to "
                                 "%g, and at most %g", device->multiprocessors, device->l2_size, most_multiprocessors,
                                 most_cache));
    return true;
}

/* The architecture that the user has asked for, or the GPU's. */
static unsigned wanted_architecture(const CalibrateRequest *request, const GpuDriver *driver)
{
    Arch arch = {0};
    if (request->arch)
        arch_parse(request->arch, &arch);
    return request->arch ? arch.number : driver->architecture;
}

static bool prepare(Calibration *calibration, GpuDriver *driver)
{
    const CalibrateRequest *request = calibration->request;
    const bool uses_gpu = !request->times && !request->kernels;
    if (uses_gpu && !calibrate_gpu_open(calibration, driver))
        return false;
    const unsigned number = wanted_architecture(request, driver);
    if (!choose_target(calibration, number) ||
        !choose_start(calibration, uses_gpu ? driver->architecture : number, uses_gpu ? driver : NULL))
        return false;
    kernels_make(calibration);
    return true;
}

/* Prints the table, and writes the file if the other kernels are predicted better. */
static int finish(Calibration *calibration)
{
    const CalibrateRequest *request = calibration->request;
    const double before = mean_error(calibration, HELD_OUT, false), after = mean_error(calibration, HELD_OUT, true);
    const bool is_better = after < before;
    Buf table = {0}, file = {0};
    calibration_print(calibration, &table);
    machine_file_print(calibration, &file);
    Output outputs[2] = {{"-", table.data, table.length}};
    size_t count = 1;
    if (request->output && (is_better || request->forces))
        outputs[count++] = (Output){request->output, file.data, file.length};
    const char *error = outputs_write(calibration->arena, outputs, count);
    buf_free(&table);
    buf_free(&file);
    if (error)
        fail(error);
    if (!is_better)
        fprintf(stderr, "ptxopt: %s: the kernels that were not fitted are not predicted better%s\n",
                request->forces ? "warning" : "error",
                request->forces || !request->output ? "" : ", so nothing is written (-force writes it)");
    return error ? EXIT_INPUT : is_better || request->forces ? EXIT_DONE : EXIT_REFUSED;
}

int calibrate_run(Arena *arena, const CalibrateRequest *request)
{
    Calibration calibration = {.arena = arena, .request = request};
    GpuDriver driver = {0};
    const char *error = request->output ? output_check(arena, request->output) : NULL;
    if (error) {
        fail(error);
        return EXIT_INPUT;
    }
    if (!prepare(&calibration, &driver))
        return EXIT_INPUT;
    if (request->kernels) {
        error = kernels_write(&calibration, request->kernels);
        if (error)
            fail(error);
        return error ? EXIT_INPUT : EXIT_DONE;
    }
    if (request->times && !kernels_read_times(&calibration))
        return EXIT_INPUT;
    if (!kernels_count(&calibration))
        return EXIT_UNVERIFIED;
    if (!request->times && !kernels_measure(&calibration, &driver))
        return EXIT_INPUT;
    device_fit(&calibration);
    return finish(&calibration);
}
