#!/bin/sh
# Regenerates the PTX beside every CUDA source of the corpus.   usage: build.sh [NAME...]
# The files in the repository came from nvcc 13.0.88.
cd "$(dirname "$0")" || exit 2
nvcc=${NVCC:-nvcc}
[ $# -gt 0 ] || set -- */
status=0
for name in "$@"; do
    name=${name%/}
    for target in sm_75 sm_90; do
        # From within the folder, so that no path finds its way into the output.
        (cd "$name" && $nvcc -ptx -arch=$target -o "$name.$target.ptx" "$name.cu") || status=1
    done
done
exit $status
