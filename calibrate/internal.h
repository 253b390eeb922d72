/* The interface between the files of calibrate/. */
#ifndef PTXOPT_CALIBRATE_INTERNAL_H
#define PTXOPT_CALIBRATE_INTERNAL_H

#include "calibrate/calibrate.h"
#include "cost/cost.h"
#include "emulator/emulator.h"
#include "engine/engine.h"
#include "target/target.h"

typedef enum MicroRole { FIT, HELD_OUT } MicroRole;

/* The size of a microkernel's data. L2's is that of the device to begin with, rounded down to a power of two. */
typedef enum MicroData {
    DATA_SMALL,     /* 64 KiB */
    DATA_MEGABYTES, /* 2 MiB */
    DATA_IN_L2,     /* a quarter of L2 */
    DATA_BEYOND_L2, /* four times L2 */
} MicroData;

/* Special numbers of blocks and rounds: see calibrate/kernels.def. */
enum { ONE_BLOCK = 0, A_WORD = -1, FOUR_WORDS = -2, ALL_DATA = -1 };

/* A row of calibrate/kernels.def. */
typedef struct Micro {
    const char *name;
    MicroRole role;
    const char *about;
    unsigned least, threads;
    int blocks, rounds;
    MicroData data;
    unsigned first, shared, copies;
    const char *setup, *body, *end;
} Micro;

/* A kernel, its launch, its work and its times. */
typedef struct CalibrateKernel {
    const Micro *micro;
    Launch launch;
    const Profile *profile;
    unsigned registers;
    uint64_t shared;             /* bytes of a block */
    double measured;             /* microseconds; 0: not known */
    double before, after;        /* predicted, in microseconds */
} CalibrateKernel;

typedef VEC(CalibrateKernel) CalibrateKernels;

/* A parameter of the model. */
typedef struct CalibrateParameter {
    const char *name;
    size_t offset; /* in Device */
    double factor; /* the most by which it may differ */
} CalibrateParameter;

extern const CalibrateParameter calibrate_parameters[];
enum {
#define PARAMETER(member, factor) PARAMETER_##member,
#include "calibrate/parameters.def"
    PARAMETER_COUNT
};

static inline double parameter_value(const Device *device, unsigned i)
{
    return *(const double *)((const char *)device + calibrate_parameters[i].offset);
}

/* The state of a calibration. */
typedef struct Calibration {
    Arena *arena;
    const CalibrateRequest *request;
    const SmLimits *sm;
    const char *arch;      /* "sm_90" */
    Device start, fitted;
    bool is_measured_here; /* on a GPU, whose driver gives 'start' its multiprocessors, clock and L2 */
    const char *place;     /* the GPU's name, or the file of the times */
    Source *source;        /* of all kernels */
    CalibrateKernels kernels;
} Calibration;

/* kernels.c: makes the PTX of all kernels that the architecture has, and their launches on the device 'start'. */
void kernels_make(Calibration *calibration);
/* Writes the PTX and a launch file for each kernel into a folder, which is made. NULL, or a message. */
const char *kernels_write(const Calibration *calibration, const char *folder);

/* count.c: counts the kernels' work; false after a message. */
bool kernels_count(Calibration *calibration);

/* gpu.c */
struct GpuDriver;
/* Opens the GPU and takes what its driver says about it. */
bool calibrate_gpu_open(Calibration *calibration, struct GpuDriver *driver);
/* Runs each kernel and takes the median of its times. Both: false after a message. */
bool kernels_measure(Calibration *calibration, const struct GpuDriver *driver);

/* times.c: reads the times of the kernels from the request's table; false after a message. */
bool kernels_read_times(Calibration *calibration);

/* fit.c: sets calibration->fitted and the kernels' predicted times. */
void device_fit(Calibration *calibration);
/* How much the kernels of the fit depend on a parameter: the exponent with which the time of the one that depends on it
 * the most, *kernel, changes with it. 0: none does; *kernel is then NULL. */
double parameter_effect(const Calibration *calibration, unsigned parameter, const CalibrateKernel **kernel);
/* The mean of |ln(predicted / measured)| over the kernels of a role, as a part: 0.1 is 10%. */
double mean_error(const Calibration *calibration, MicroRole role, bool after);

/* tables.c */
void calibration_print(const Calibration *calibration, Buf *out);
void machine_file_print(const Calibration *calibration, Buf *out);

#endif
