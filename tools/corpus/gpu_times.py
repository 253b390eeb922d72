"""Times of a kernel's forms on this machine's GPU, by build/gpu-run (`make gpu-run`)."""
import json
import os
import subprocess
import sys


def warm_times(root, launch, files):
    """(the GPU's name, the median microseconds of each PTX file), of launches that follow launches of the same form.
    The first file is the original, which the others are compared with. Ends the program where that fails."""
    done = subprocess.run([os.path.join(root, "build", "gpu-run"), launch, *files], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {os.path.basename(launch)}: {done.stderr or done.stdout}")
    found = json.loads(done.stdout)
    return found["device"]["name"], [form["warm_us"]["median"] for form in found["forms"]]
