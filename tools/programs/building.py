"""Programs in folders, and their builds with another nvcc: shared by tools/programs-run and tools/programs-emulate."""
import os
import re
import shutil
import subprocess

CUDA11 = os.path.join(os.path.dirname(os.path.realpath(__file__)), "cuda11.h")
# For scripts in the place of nvcc: the header, if the program's sources need it.
CUDA11_OPTIONS = '${CUDA11:+-include "$CUDA11"} ${CUDA11_TEXTURES:+-DCUDA11_TEXTURES}'
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".c", ".cc", ".cpp")
OLD_NAMES = re.compile(r"\bcudaThread(?:Synchronize|Exit|[GS]etLimit|[GS]etCacheConfig)\b|\bcudaMem(?:PrefetchAsync|Advise)\b|"
                       r"\b__(?:all|any|ballot|shfl|shfl_up|shfl_down|shfl_xor)\s*\(|(?:\.|->)\s*(?:clockRate|deviceOverlap|"
                       r"kernelExecTimeoutEnabled|computeMode|memoryClockRate|singleToDoublePrecisionPerfRatio|"
                       r"maxTexture1DLinear|cooperativeMultiDeviceLaunch)\b")
OLD_TEXTURES = re.compile(r"\btexture\s*<")


def programs_in(folder):
    """[folder, .cu file or None for make] of each program, in order."""
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        if any(name in files for name in ("Makefile", "makefile", "GNUmakefile")):
            found.append((place, None))
            folders.clear()
        else:
            found += [(place, name) for name in sorted(files) if name.endswith(".cu")]
    return found


def real_nvcc():
    """The path of nvcc; None if there is none."""
    return os.environ.get("PTXOPT_REAL_NVCC") or shutil.which("nvcc") or next(
        (path for path in ("/usr/local/cuda/bin/nvcc",) if os.path.exists(path)), None)


def make_toolkit(folder, nvcc, script):
    """A folder that looks like the toolkit, with a shell script in the place of nvcc."""
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    os.makedirs(os.path.join(folder, "bin"))
    for base, into in ((toolkit, folder), (os.path.join(toolkit, "bin"), os.path.join(folder, "bin"))):
        for name in os.listdir(base):
            if name not in ("bin", "nvcc"):
                os.symlink(os.path.join(base, name), os.path.join(into, name))
    path = os.path.join(folder, "bin", "nvcc")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(path, 0o755)


def old_names(folder):
    """The variables that make CUDA11_OPTIONS give the header, if sources in the folder need it."""
    variables = {}
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(SOURCES):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    text = file.read()
                if OLD_TEXTURES.search(text):
                    variables = {"CUDA11": CUDA11, "CUDA11_TEXTURES": "1"}
                elif OLD_NAMES.search(text):
                    variables.setdefault("CUDA11", CUDA11)
    return variables


def build(program, folder, toolkit, options, seconds, command=None):
    """Builds the copy of a program that is in the folder, by make, or by nvcc with its options if it is one .cu file, or
    by a shell command with make's variables for the toolkit as its arguments: (messages, error or None)."""
    own = os.path.join(toolkit, "bin", "nvcc")
    variables = [f"{name}={toolkit}" for name in ("CUDA_DIR", "CUDA_HOME", "CUDA_PATH")]
    if command:
        words = ["sh", "-c", command, "sh", "NVCC=" + own, *variables]
    else:
        words = [own, *options] if program[1] else ["make", "NVCC=" + own, *variables]
    libraries = [os.path.join(toolkit, "lib64"), os.path.join(toolkit, "lib64", "stubs")]
    environment = {**os.environ, "PATH": os.path.join(toolkit, "bin") + os.pathsep + os.environ["PATH"],
                   "PTXOPT_REAL_NVCC": os.path.realpath(real_nvcc()), "LIBRARY_PATH": os.pathsep.join(libraries),
                   **old_names(folder)}
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "", f"not built in {seconds} s"
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines() or [""]
    return done.stdout + done.stderr, errors[0] if done.returncode else None


def markdown(head, rows):
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"
