"""Launches cut down so far that the emulator can count them, on as much of a device as they fill."""
import json
import math
import os

SLICE = 2                    # SMs of corpus/two-sms.json
WARPS = 64                   # that an SM holds
BUSY_WARPS = 4 * SLICE * WARPS  # four times what the slice holds


def slice_options(root):
    """The options that make ptxopt predict for the slice."""
    return ["-machine", os.path.join(root, "corpus", "two-sms.json")]


def half_of(blocks):
    """About half of them, but no number that more powers of two divide: a form for the part must fit the whole."""
    half = math.ceil(blocks / 2)
    while blocks > 1 and half & -half > blocks & -blocks:
        half += 1
    return half


def cut_launch(path, folder):
    """The launch file with fewer blocks: the path of the new file. The longest axis is halved first: a strip along the
    border has neighbours on one side only, and shares less than the grid does."""
    with open(path, encoding="utf-8") as file:
        launch = json.load(file)
    grid, block = launch["grid"], launch["block"]
    warps = math.ceil(math.prod(block) / 32)
    wanted = max(1, math.ceil(BUSY_WARPS / warps))
    while True:
        axis = max(range(3), key=lambda k: grid[k])
        less = half_of(grid[axis])
        if less == grid[axis] or math.prod(grid) // grid[axis] * less < wanted:
            break
        grid[axis] = less
    for argument in launch["args"]:
        if "file" in argument:
            argument["file"] = os.path.abspath(os.path.join(os.path.dirname(path), argument["file"]))
    out = os.path.join(folder, os.path.basename(path))
    with open(out, "w", encoding="utf-8") as file:
        json.dump(launch, file)
    return out


def predicted_launch(path, folder, root, multiprocessors):
    """(launch file, options, scale): what to count in place of a launch on a device with this many SMs. A launch of
    fewer than four waves is counted whole, because it may leave SMs idle. A longer one is replaced by as many waves on
    two SMs; the scale is the whole launch's share of an SM over that of the part."""
    with open(path, encoding="utf-8") as file:
        launch = json.load(file)
    blocks, warps = math.prod(launch["grid"]), math.ceil(math.prod(launch["block"]) / 32)
    if blocks * warps < BUSY_WARPS // SLICE * multiprocessors:
        return path, [], 1.0
    part = cut_launch(path, folder)
    with open(part, encoding="utf-8") as file:
        part_blocks = math.prod(json.load(file)["grid"])
    return part, slice_options(root), blocks / part_blocks * SLICE / multiprocessors
