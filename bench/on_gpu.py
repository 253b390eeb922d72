"""Folders of kernels that build/gpu-run times on another machine, for bench/measure and bench/micro.

Each subfolder has launch.json, the input 0.ptx, other forms N.ptx, and forms.tsv, whose columns are file, launch, options.
"""
import csv
import json
import os
import shutil

from tables import ROOT

BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
FORMS_HEAD = ["file", "launch", "options"]

SCRIPT = """#!/bin/sh
# Times the forms of each folder here on this machine's GPU, $1 of them at once: see bench/measure.
cd "$(dirname "$0")" && here="$PWD" || exit 1
export here PTXOPT_LAUNCH_REPORT=1
ls -d */ | xargs -P "${1:-8}" -I% sh -c '
    cd "$here/%" && run() { "$here/gpu-run" --lock "$here/lock" "$@"; }
    run --repeat 15 --seconds 1 launch.json 0.ptx $(ls [0-9]*.ptx | grep -v "^0.ptx") >times.json 2>times.err
    if [ -e tuned.ptx ]; then
        export XDG_CACHE_HOME="$PWD" LD_PRELOAD="$here/libptxopt-launch.so"
        export LD_LIBRARY_PATH="$here:$LD_LIBRARY_PATH" # for libsqlite3.so.0, if this machine has none
        PTXOPT_TUNE=learn run --repeat 3 --seconds 0 --launches 150 launch.json tuned.ptx >learn.json 2>learn.err
        PTXOPT_TUNE=use run --repeat 21 --seconds 1 launch.json 0.ptx tuned.ptx >use.json 2>use.err
    fi'
"""


def prepare(folder, program):
    """Makes the folder, which must be empty if it exists, with what times the forms that will be in it."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise SystemExit(f"{program}: {folder} is not empty")
    for path in (os.path.join(BUILD, "gpu-run"), os.path.join(BUILD, "runtime", "libptxopt-launch.so")):
        if not os.path.exists(path):
            raise SystemExit(f"{program}: no {path}: run make all gpu-run")
        shutil.copy(path, folder)
    with open(os.path.join(folder, "run"), "w", encoding="utf-8") as file:
        file.write(SCRIPT)


def write_forms(folder, rows):
    """Writes forms.tsv."""
    with open(os.path.join(folder, "forms.tsv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([FORMS_HEAD, *rows])


def read_json(path):
    """None if gpu-run has not written one."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def read_times(folder):
    """{file: what gpu-run says of it}; None if the launch was not timed."""
    times = read_json(os.path.join(folder, "times.json"))
    if not times or not times["forms"][0]["cold_us"]:
        print(f"{os.path.basename(folder)}: not timed")
        return None
    return {os.path.basename(form["file"]): form for form in times["forms"]}


def medians(form):
    return [f"{form[state]['median']:.2f}" for state in ("cold_us", "warm_us")]
