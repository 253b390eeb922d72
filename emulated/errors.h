/* The errors that the emulated driver and runtime report: CUresult and cudaError_t, which agree in these. */
#ifndef PTXOPT_EMULATED_ERRORS_H
#define PTXOPT_EMULATED_ERRORS_H

enum {
    DONE = 0,
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    INVALID_CONFIGURATION = 9, /* the runtime's */
    INVALID_SYMBOL = 13,       /* the runtime's */
    NO_FUNCTION = 98,          /* the runtime's */
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    NO_FILE = 301,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    TOO_MANY_RESOURCES = 701,
    TIMED_OUT = 702,
    PEERS_UNSUPPORTED = 217,
    NOT_REGISTERED = 713,
    ALREADY_REGISTERED = 712,
    ASSERTED = 710,
    MISALIGNED = 716,
    LAUNCH_FAILED = 719,
    TOO_LARGE = 720, /* a cooperative launch */
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALID = 901,
    CAPTURE_UNMATCHED = 903,
    GRAPH_UPDATE_FAILED = 910
};

#endif
