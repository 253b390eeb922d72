"""The kernels of naive.cu at sizes that fill an H100, for bench/measure: launches of each kernel and of its expert's
form, and the forms that are measured."""
ELEMENTS = 2048 * 2048
ROWS = 262144
BYTES = 1 << 26


def data(name, kind, count, low=-1, high=1):
    return {"buffer": name, "type": kind, "count": count, "init": "uniform", "low": low, "high": high, "seed": 1}


def result(name, kind, count):
    return {"buffer": name, "type": kind, "count": count, "init": "zero"}


def scalars(*values):
    return [{"scalar": "f32" if isinstance(value, float) else "s32", "value": value} for value in values]


def factors(kind, to, low, high):
    """Two factors of 2048 x 2048 elements, and their product."""
    return [data("a", kind, ELEMENTS, low, high), data("b", kind, ELEMENTS, low, high), result("c", to, ELEMENTS),
            *scalars(2048, 2048, 2048)]


FLOATS = factors("f32", "f32", -1, 1)
ARRAYS = [data("in", "f32", ROWS * 256), result("out", "f32", ROWS * 256), *scalars(ROWS, 256)]
IMAGE = [data("image", "f32", 4112 * 4096), data("filter", "f32", 17), result("out", "f32", 4096 * 4096),
         *scalars(4096, 4096, 17)]
BY_ROWS = ["-memory vectors,async", "-memory stage,vectors", "-memory stage", "-memory vectors", "-memory async",
           *(f"-refine {count} -reassociate -memory vectors" for count in (4, 8, 16, 32)), "-refine 8 -reassociate",
           "-auto -reassociate -coarsen-grid shrink -search 240"]

# Kernel, grid, block, the expert's grid and block, arguments, the buffer to compare, forms; first the one of the table
# in docs/results/naive.md.
KERNELS = [
    ("product_nt", [128, 128, 1], [16, 16, 1], [32, 32, 1], [256, 1, 1], FLOATS, "c",
     ["-coarsen bx4,by4 -memory async", "-coarsen bx4,by4 -memory stage", "-coarsen bx4,by4 -memory prefetch",
      "-coarsen bx4,by4 -memory async3", "-coarsen bx4,by4", "-coarsen y4 -memory stage", "-coarsen y8,bx2 -memory stage",
      "-coarsen x2,y4,bx2,by2 -memory async", "-memory stage", "-coarsen gx2,bx4,by4 -coarsen-grid shrink -memory async",
      "-coarsen bx4,by4 -memory async -block-order groups:8", "-coarsen bx4,by4 -memory async -block-order groups:16"]),
    ("product_tn", [128, 128, 1], [16, 16, 1], [32, 32, 1], [256, 1, 1], FLOATS, "c",
     ["-coarsen bx4,by4 -memory stage", "-coarsen bx4,by4 -memory async", "-coarsen bx4,by4 -memory prefetch",
      "-coarsen bx4,by4", "-memory stage", "-coarsen y4 -memory stage",
      "-coarsen gx2,bx4,by4 -coarsen-grid shrink -memory stage",
      "-coarsen bx4,by4 -memory stage -block-order groups:8"]),
    ("product_batched", [8, 8, 128], [16, 16, 1], [2, 2, 128], [256, 1, 1],
     [data("a", "f32", 128 * 128 * 256), data("b", "f32", 128 * 128 * 256), result("c", "f32", 128 * 128 * 128),
      *scalars(128, 128, 256)], "c",
     ["-coarsen bx4,by4 -memory async", "-coarsen bx4,by4 -memory stage", "-coarsen bx4,by4 -memory prefetch",
      "-coarsen bx4,by4"]),
    ("product_int8", [128, 128, 1], [16, 16, 1], [32, 32, 1], [256, 1, 1], factors("s8", "s32", -9, 9), "c",
     ["-coarsen y4,bx4 -stride unit -memory vectors,async", "-coarsen y4,bx4 -stride unit -memory vectors,stage",
      "-coarsen y4,bx4 -stride unit -memory vectors", "-coarsen y4,bx4 -stride unit"]),
    ("distances", [256, 256, 1], [16, 16, 1], [64, 64, 1], [256, 1, 1],
     [data("p", "f32", 4096 * 64), data("q", "f32", 4096 * 64), result("d", "f32", 4096 * 4096), *scalars(4096, 4096, 64)], "d",
     ["-coarsen y8 -stride unit -memory async", "-coarsen y8 -stride unit -memory stage", "-coarsen y8 -stride unit",
      "-coarsen bx4,by4 -memory async", "-coarsen gx2,bx4,by4 -coarsen-grid shrink -memory stage"]),
    ("scores", [48, 48, 16], [16, 16, 1], [12, 12, 16], [256, 1, 1],
     [data("q", "f32", 16 * 768 * 64), data("k", "f32", 16 * 768 * 64), result("s", "f32", 16 * 768 * 768),
      *scalars(768, 64, 0.125)], "s",
     ["-coarsen x2,y4,bx2 -stride unit -memory async", "-coarsen x2,y4,bx2 -stride unit -memory stage",
      "-coarsen x2,y4,bx2 -stride unit"]),
    ("softmax_rows", [ROWS // 128, 1, 1], [128, 1, 1], [ROWS // 4, 1, 1], [128, 1, 1], ARRAYS, "out", BY_ROWS),
    ("norm_rows", [ROWS // 128, 1, 1], [128, 1, 1], [ROWS // 4, 1, 1], [128, 1, 1], ARRAYS, "out",
     [BY_ROWS[1], BY_ROWS[0], *BY_ROWS[2:]]),
    ("depthwise", [8, 8, 256], [16, 16, 1], [2, 8, 256], [16, 16, 1],
     [data("image", "f32", 256 * 134 * 134), data("filter", "f32", 256 * 49), result("out", "f32", 256 * 128 * 128),
      *scalars(128, 128, 7)], "out",
     ["-coarsen x8 -stride unit", "-coarsen x4 -stride unit", "-coarsen y4", "-coarsen x8 -stride unit -memory stage",
      "-memory stage"]),
    ("separable_columns", [256, 256, 1], [16, 16, 1], [128, 64, 1], [32, 8, 1], IMAGE, "out",
     ["-coarsen y8 -stride unit", "-coarsen y4 -stride unit", "-coarsen y8 -stride unit -memory stage", "-memory stage"]),
    ("separable_rows", [256, 256, 1], [16, 16, 1], [8, 1024, 1], [64, 4, 1], IMAGE, "out",
     ["-coarsen x2,by2 -stride unit", "-coarsen x4 -stride unit", "-coarsen x8 -stride unit", "-memory stage"]),
    ("stencil3d", [16, 64, 1], [32, 8, 1], [16, 64, 1], [32, 8, 1],
     [data("in", "f32", 512 * 512 * 128), result("out", "f32", 512 * 512 * 128), *scalars(512, 512, 128)], "out",
     ["-coarsen y2 -stride unit", "-coarsen y4 -stride unit", "-coarsen x2 -stride unit"]),
    ("permute", [30, 15, 100], [16, 16, 1], [15, 8, 100], [32, 8, 1],
     [data("in", "f32", 240 * 100 * 480), result("out", "f32", 240 * 100 * 480), *scalars(240, 100, 480)], "out",
     ["-coarsen x2,y4 -stride unit", "-coarsen x4 -stride unit", "-coarsen y4 -stride unit"]),
    ("histogram", [BYTES // 256, 1, 1], [256, 1, 1], [BYTES // 1024, 1, 1], [256, 1, 1],
     [data("in", "u8", BYTES, 0, 255), result("bins", "u32", 256), *scalars(BYTES)], "bins",
     ["-coarsen x4,bx4 -stride unit -memory counters", "-coarsen x4,bx8 -stride unit -memory counters",
      "-coarsen x4 -memory counters", "-memory counters"]),
]


def launch(kernel, grid, block, arguments, check):
    return {"kernel": kernel, "grid": grid, "block": block, "dynamic_shared": 0, "args": arguments, "check": [check],
            "tolerance": {"kind": "exact"}}


def launches():
    """(kernel, its launch, the expert's, forms) of each kernel."""
    for kernel, grid, block, expert_grid, expert_block, arguments, check, forms in KERNELS:
        yield kernel, launch(kernel, grid, block, arguments, check), launch(kernel, expert_grid, expert_block, arguments, check), forms
