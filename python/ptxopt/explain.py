"""Explains a table of `ptxopt sweep`: python3 -m ptxopt.explain TABLE.tsv [-o FOLDER] [-measured]

For each architecture, a regression tree from relative counters to speedup, after Magni, Dubach and O'Boyle (SC'13,
section 7): samples are the five best configurations of each kernel for each factor; counters and times are relative to the
original with its best block; the tree is pruned by cost and complexity, and cross-validation says how far. Prints the
trees, their errors and the importance of each counter. With -o, also draws the trees and the paper's figures 8, 9 and 11 as
SVG, for which Matplotlib is needed. -leaves N prunes trees further, to at most N leaves (8). -measured explains times on a GPU, not predicted
ones.
"""
from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import os
import statistics
import sys
from collections import defaultdict
from typing import Any, Callable, Iterable, NamedTuple, Optional, Sequence

COUNTERS = ["registers", "code", "warps", "instructions", "fp32", "integer", "special", "control", "loads", "stores",
            "load_sectors", "store_sectors", "dram_sectors", "l1_misses", "shared", "bank_conflicts", "local", "branches",
            "divergent_branches", "barriers", "path"]
DRAWN = ["loads", "branches", "divergent_branches", "l1_misses", "load_sectors", "instructions", "warps", "code", "path"]
BARS = ["own block", "neighbours", "any stride"]
BEST = 5         # configurations for each kernel and factor
MOST_RATIO = 32.0 # of counters; that of one that the original does not have
LEAST_LEAF = 5   # samples
FOLDS = 10


class Row(NamedTuple):
    """A configuration that has a time."""
    kernel: str
    launch: str
    arch: str
    block: str
    level: str
    dimension: str
    factor: int
    stride: str
    basis: str
    speedup: float
    counters: dict[str, float]


class Tree(NamedTuple):
    """A pruned tree and what it is worth."""
    model: Any
    leaves: int              # by cross-validation, before it was pruned further
    samples: list[Row]
    correlation: float       # with the speedups that it was made from
    error: float             # mean, relative
    left_out: float          # correlation for kernels that it was not made from
    left_out_error: float


def fail(message: str) -> None:
    sys.exit(f"ptxopt explain: error: {message}")


def library(module: str, package: str, purpose: str) -> Any:
    """A module that need not be installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        fail(f"{purpose} need {package}: install it with 'apt install python3-{module.split('.')[0]}' or "
             f"'{sys.executable} -m pip install {package}'")


def read_table(path: str, speedup: str) -> list[Row]:
    """The rows whose speedup over the best original, in the column of this name, is known."""
    rows = []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            for number, line in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 2):
                if line["status"] != "ok" or line[speedup] == "-":
                    continue
                rows.append(Row(line["kernel"], line["launch"], line["arch"], line["block"], line["level"],
                                line["dimension"], int(line["factor"]), line["stride"], line["basis"],
                                float(line[speedup]), {name: float(line[name]) for name in COUNTERS}))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except (KeyError, TypeError, ValueError, UnicodeDecodeError):
        fail(f"{path}: this is not a table of 'ptxopt sweep'")
    if not rows:
        fail(f"{path}: no configuration in it has a {'measured ' if speedup == 'speedup_measured' else ''}speedup")
    return relative(rows)


def by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(sorted(groups.items()))


def best(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: row.speedup)


def ratio(value: float, base: float) -> float:
    if base > 0:
        return min(value / base, MOST_RATIO)
    return 1.0 if value == 0 else MOST_RATIO


def relative(rows: Iterable[Row]) -> list[Row]:
    """The rows with counters relative to those of the best original whose time has the same basis."""
    result = []
    for group in by(rows, lambda row: (row.kernel, row.launch, row.arch, row.basis)).values():
        originals = [row for row in group if row.factor == 1]
        if not originals:
            continue
        base = best(originals).counters
        result += [row._replace(counters={name: ratio(row.counters[name], base[name]) for name in COUNTERS})
                   for row in group]
    return result


def samples_of(rows: Sequence[Row]) -> list[Row]:
    """The best configurations of each kernel for each factor; of the original, the best alone."""
    samples = []
    for of_kernel in by(rows, lambda row: (row.kernel, row.launch)).values():
        for factor, group in by(of_kernel, lambda row: row.factor).items():
            samples += sorted(group, key=lambda row: -row.speedup)[:1 if factor == 1 else BEST]
    return samples


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    scale = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return both / scale if scale > 0 else math.nan


def mean_error(predicted: Sequence[float], speedups: Sequence[float]) -> float:
    return statistics.fmean(abs(p - s) / s for p, s in zip(predicted, speedups))


def regression(alpha: float) -> Any:
    """A tree that is yet to be grown, and will be pruned with this strength."""
    return importlib.import_module("sklearn.tree").DecisionTreeRegressor(min_samples_leaf=LEAST_LEAF, random_state=1,
                                                                         ccp_alpha=alpha)


def cross_validate(alphas: Sequence[float], x: Any, y: Any) -> float:
    """The strength of pruning of the smallest tree whose error is within one standard error of the least."""
    selection = importlib.import_module("sklearn.model_selection")
    folds = selection.KFold(min(FOLDS, len(y)), shuffle=True, random_state=1)
    errors = []
    for alpha in alphas:
        scores = -selection.cross_val_score(regression(alpha), x, y, cv=folds, scoring="neg_mean_squared_error")
        errors.append((float(scores.mean()), float(scores.std()) / math.sqrt(len(scores))))
    least = min(errors)
    return max(alpha for alpha, error in zip(alphas, errors) if error[0] <= least[0] + least[1])


def leave_out(model: Any, x: Any, y: Any, kernels: Sequence[str]) -> list[float]:
    """The speedups of each kernel, as trees that are made from the others predict them."""
    selection = importlib.import_module("sklearn.model_selection")
    apart = selection.cross_val_predict(model, x, y, groups=kernels, cv=selection.LeaveOneGroupOut())
    return [float(value) for value in apart]


def grow(samples: list[Row], most_leaves: int) -> Tree:
    x = [[sample.counters[name] for name in COUNTERS] for sample in samples]
    y, kernels = [sample.speedup for sample in samples], [sample.kernel for sample in samples]
    path = regression(0.0).cost_complexity_pruning_path(x, y).ccp_alphas
    alphas = sorted({max(float(alpha), 0.0) for alpha in path})
    alpha = cross_validate(alphas, x, y)
    leaves = regression(alpha).fit(x, y).get_n_leaves()
    model = next(model for model in (regression(a).fit(x, y) for a in alphas if a >= alpha)
                 if model.get_n_leaves() <= most_leaves)
    said = [float(value) for value in model.predict(x)]
    apart = leave_out(model, x, y, kernels) if len(set(kernels)) > 1 else [math.nan] * len(y)
    return Tree(model, leaves, samples, correlation(said, y), mean_error(said, y), correlation(apart, y),
                mean_error(apart, y))


def print_tree(arch: str, tree: Tree) -> None:
    tree_module = importlib.import_module("sklearn.tree")
    kernels = {sample.kernel for sample in tree.samples}
    print(f"{arch}: {len(tree.samples)} samples of {len(kernels)} kernel{'s' * (len(kernels) != 1)}, "
          f"{tree.leaves} leaves by cross-validation, {tree.model.get_n_leaves()} shown")
    print(f"correlation {tree.correlation:.2f}, mean error {100 * tree.error:.0f}%; for kernels left out "
          f"{tree.left_out:.2f} and {100 * tree.left_out_error:.0f}%\n")
    print(tree_module.export_text(tree.model, feature_names=list(COUNTERS)).replace("value: [", "speedup: ["))
    order = sorted(zip(tree.model.feature_importances_, COUNTERS), reverse=True)
    print("importance: " + ", ".join(f"{name} {weight:.2f}" for weight, name in order if weight >= 0.005) + "\n")


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else math.nan


def own_block(launch: str) -> Optional[str]:
    """The block that the launch file gives, if it is still there."""
    try:
        with open(launch, encoding="utf-8") as file:
            block = json.load(file)["block"]
        return "x".join(str(size) for size in (block + [1, 1, 1])[:3])
    except (OSError, KeyError, TypeError, ValueError):
        return None


class Bars(NamedTuple):
    """The bars of figure 8: the original with its own block, the best form of neighbours, and the best of all."""
    kernel: str
    heights: tuple[float, float, float]


def bars_of(rows: Sequence[Row]) -> list[Bars]:
    bars = []
    for (kernel, launch), group in by(rows, lambda row: (row.kernel, row.launch)).items():
        block = own_block(launch)
        own = [row.speedup for row in group if row.factor == 1 and row.block == block]
        unit = [row.speedup for row in group if row.factor > 1 and row.stride == "unit"]
        rest = [row.speedup for row in group if row.factor > 1]
        bars.append(Bars(kernel, (max(own, default=math.nan), max(unit, default=math.nan), max(rest, default=math.nan))))
    return bars


def known(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def print_bar(name: str, heights: Iterable[float]) -> None:
    print(f"{name:20}" + "".join(f"{shown(height):>12}" for height in heights))


def print_bars(arch: str, bars: Sequence[Bars]) -> None:
    print(f"{arch}: the best speedups over the original with its best block")
    print(f"{'kernel':20}" + "".join(f"{title:>12}" for title in BARS))
    for bar in bars:
        print_bar(bar.kernel, bar.heights)
    columns = [known(bar.heights[i] for bar in bars) for i in range(len(BARS))]
    print_bar("geometric mean", [geometric_mean(column) for column in columns])
    print_bar("or the original", [math.nan] + [geometric_mean([max(height, 1.0) for height in column])
                                              for column in columns[1:]])
    print()


def curves_of(rows: Sequence[Row]) -> dict[str, dict[int, Row]]:
    """For each kernel, its best configuration by factor."""
    curves: dict[str, dict[int, Row]] = {}
    for kernel, group in by(rows, lambda row: row.kernel).items():
        curves[kernel] = {factor: best(same) for factor, same in by(group, lambda row: row.factor).items()}
    return curves


def print_curves(arch: str, curves: dict[str, dict[int, Row]]) -> None:
    factors = sorted({factor for curve in curves.values() for factor in curve})
    print(f"{arch}: the best speedup for each factor")
    print(f"{'kernel':20}" + "".join(f"{factor:8}" for factor in factors))
    for kernel, curve in curves.items():
        print(f"{kernel:20}" + "".join(f"{curve[f].speedup:8.2f}" if f in curve else f"{'-':>8}" for f in factors))
    print()


def save(figure: Any, folder: str, name: str) -> None:
    """Writes a figure whose bytes depend on its contents alone."""
    figure.savefig(os.path.join(folder, name), format="svg", metadata={"Date": None}, bbox_inches="tight")


def draw_tree(pyplot: Any, arch: str, tree: Tree, folder: str) -> None:
    tree_module = importlib.import_module("sklearn.tree")
    figure, axes = pyplot.subplots(figsize=(3 + 1.4 * tree.model.get_n_leaves(), 2 + 1.3 * tree.model.get_depth()))
    tree_module.plot_tree(tree.model, feature_names=list(COUNTERS), impurity=False, precision=2, rounded=True, ax=axes,
                          fontsize=8)
    axes.set_title(f"{arch}: speedup by relative counters (left: the condition holds)")
    save(figure, folder, f"tree-{arch}.svg")


def draw_bars(pyplot: Any, arch: str, bars: Sequence[Bars], folder: str) -> None:
    figure, axes = pyplot.subplots(figsize=(10, 3.2))
    for i, (title, color) in enumerate(zip(BARS, ("0.75", "0.45", "0.1"))):
        places = [x + 0.27 * i for x in range(len(bars))]
        axes.bar(places, [bar.heights[i] for bar in bars], 0.27, label=title, color=color)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([x + 0.27 for x in range(len(bars))], [bar.kernel for bar in bars], rotation=40, ha="right")
    axes.set_ylabel("speedup")
    axes.set_title(f"{arch}: best configurations (SC'13, figure 8)")
    axes.legend(fontsize=8)
    save(figure, folder, f"best-{arch}.svg")


def grid_of(pyplot: Any, count: int, columns: int) -> Any:
    lines = -(-count // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(2.2 * columns, 1.7 * lines), squeeze=False)
    for i, place in enumerate(axes.flat):
        place.set_visible(i < count)
    return figure, list(axes.flat)


def draw_factors(pyplot: Any, curves: dict[str, dict[str, dict[int, Row]]], folder: str) -> None:
    kernels = sorted({kernel for of_arch in curves.values() for kernel in of_arch})
    figure, places = grid_of(pyplot, len(kernels), 6)
    for kernel, place in zip(kernels, places):
        for arch, of_arch in curves.items():
            curve = of_arch.get(kernel, {})
            place.plot(list(curve), [row.speedup for row in curve.values()], marker=".", label=arch)
        place.axhline(1, color="0.6", linewidth=0.6)
        place.set_xscale("log", base=2)
        place.set_title(kernel, fontsize=8)
        place.tick_params(labelsize=7)
    places[0].legend(fontsize=7)
    figure.suptitle("the best speedup by factor (SC'13, figure 9)")
    figure.tight_layout()
    save(figure, folder, "factors.svg")


def draw_counters(pyplot: Any, arch: str, curves: dict[str, dict[int, Row]], folder: str) -> None:
    figure, places = grid_of(pyplot, len(DRAWN), 3)
    for counter, place in zip(DRAWN, places):
        for kernel, curve in curves.items():
            values = [max(row.counters[counter], 1 / MOST_RATIO) for row in curve.values()]
            place.plot(list(curve), values, linewidth=1)
            place.annotate(kernel, (max(curve), values[-1]), fontsize=4)
        place.set_xscale("log", base=2)
        place.set_yscale("log", base=2)
        place.set_title(counter, fontsize=8)
        place.tick_params(labelsize=7)
    figure.suptitle(f"{arch}: counters of the best form, relative to the original (SC'13, figure 11)")
    figure.tight_layout()
    save(figure, folder, f"counters-{arch}.svg")


def plotting() -> Any:
    matplotlib = library("matplotlib", "matplotlib", "figures")
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "ptxopt", "svg.fonttype": "none"})
    return importlib.import_module("matplotlib.pyplot")


def explain(rows: Sequence[Row], most_leaves: int, folder: Optional[str]) -> None:
    pyplot = plotting() if folder else None
    all_curves = {}
    for arch, of_arch in by(rows, lambda row: row.arch).items():
        tree, bars, curves = grow(samples_of(of_arch), most_leaves), bars_of(of_arch), curves_of(of_arch)
        all_curves[arch] = curves
        print_tree(arch, tree)
        print_bars(arch, bars)
        print_curves(arch, curves)
        if folder:
            draw_tree(pyplot, arch, tree, folder)
            draw_bars(pyplot, arch, bars, folder)
            draw_counters(pyplot, arch, curves, folder)
    if folder:
        draw_factors(pyplot, all_curves, folder)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="ptxopt explain", allow_abbrev=False, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", metavar="TABLE.tsv", help="a table of 'ptxopt sweep'")
    parser.add_argument("-leaves", type=int, metavar="N", default=8, help="prune to at most N leaves (8)")
    parser.add_argument("-measured", action="store_true", help="explain times on a GPU, not predicted ones")
    parser.add_argument("-o", dest="folder", metavar="FOLDER", help="also draw figures into this folder")
    options = parser.parse_args(arguments)
    rows = read_table(options.table, "speedup_measured" if options.measured else "speedup")
    library("sklearn.tree", "scikit-learn", "regression trees")
    if options.folder:
        os.makedirs(options.folder, exist_ok=True)
    explain(rows, options.leaves, options.folder)


if __name__ == "__main__":
    main()
