"""Programs in folders, and their builds with another nvcc: shared by tools/programs-run and tools/programs-emulate."""
import os
import shutil
import subprocess


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


def build(program, folder, toolkit, options, seconds):
    """Builds the copy of a program that is in the folder, by make, or by nvcc with its options if it is one .cu file:
    (messages, error or None)."""
    own = os.path.join(toolkit, "bin", "nvcc")
    variables = [f"{name}={toolkit}" for name in ("CUDA_DIR", "CUDA_HOME", "CUDA_PATH")]
    command = [own, *options] if program[1] else ["make", "NVCC=" + own, *variables]
    environment = {**os.environ, "PATH": os.path.join(toolkit, "bin") + os.pathsep + os.environ["PATH"],
                   "PTXOPT_REAL_NVCC": os.path.realpath(real_nvcc())}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "", f"not built in {seconds} s"
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines() or [""]
    return done.stdout + done.stderr, errors[0] if done.returncode else None


def markdown(head, rows):
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"
