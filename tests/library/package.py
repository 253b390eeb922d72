"""The Python package, as suite/python has installed it. Prints one line per check."""
import sys
import threading
import warnings

import ptxopt

failed = 0


def check(name, good, shown=""):
    global failed
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f': {shown}'}")
    failed |= not good


def raises(name, kind, text, *arguments, **options):
    try:
        ptxopt.optimize(*arguments, **options)
    except kind as error:
        check(name, text in str(error), error)
        return error
    check(name, False, "no error")


with open("corpus/vectoradd/vectoradd.sm_90.ptx", "rb") as file:
    ptx = file.read()
none = {"assembler": "none"}
result = ptxopt.optimize(ptx.decode(), coarsen=2, entry="vectoradd_exact", **none)
check(result.assembler_options == (), "options of the assembler")
check("text", "__ptxopt_launch_vectoradd_exact" in result.text)
check("contract", result.contract_of("vectoradd_exact")["factor"] == [2, 1, 1] and not result.contract_of("other"))
check("report", result.report["kernels"][0]["coarsening"]["outcome"] == "done")
again = ptxopt.optimize(ptx + b"\0", coarsen=2, entry="vectoradd_exact", **none)
check("bytes, with NVRTC's NUL", again.text == result.text)
check("launch", result.launch("vectoradd_exact", 256) == (128, 1, 1) and result.launch("other", (8, 8)) == (8, 8, 1))
fixed = ptxopt.optimize(ptx, coarsen={"vectoradd_exact": "x4"}, block=(256,), entry="vectoradd_exact", **none)
for made, block in ((result, 255), (fixed, 128)):
    try:
        made.launch("vectoradd_exact", block)
        check(f"launch of {block} is refused", False)
    except ptxopt.LaunchError as error:
        check(f"launch of {block} is refused", "vectoradd_exact" in str(error))
grid = ptxopt.optimize(ptx, coarsen="bx4", coarsen_grid="shrink", entry="vectoradd_exact", **none)
check("launch_grid", grid.launch_grid("vectoradd_exact", 12, (64, 2), 100) == ((3, 1, 1), (64, 2, 1), 100) and
      result.launch_grid("vectoradd_exact", 12, 256) == ((12, 1, 1), (128, 1, 1), 0))
dynamic = ptxopt.optimize("""
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 s[];
.visible .entry k() { .reg .b32 %r; mov.u32 %r, s; st.shared.u32 [%r], 1; ret; }
""", coarsen="x2,bx2", coarsen_grid="shrink", **none)
check("launch_grid: dynamic shared memory", dynamic.launch_grid("k", 6, 64, 130) == ((3, 1, 1), (32, 1, 1), 512))
for launch in (lambda: grid.launch("vectoradd_exact", 64), lambda: grid.launch_grid("vectoradd_exact", 11, 64)):
    try:
        launch()
        check("a launch of a grid is refused", False)
    except ptxopt.LaunchError as error:
        check("a launch of a grid is refused", "grid" in str(error))
raises("unknown option", ValueError, "did you mean '-coarsen'?", ptx, coarsne=2)
raises("wrong value", ValueError, "expected a factor", ptx, coarsen="z")
raises("options for files", ValueError, "for the program only", ptx, o="x")
error = raises("broken PTX", ptxopt.Error, "<ptx>:2:", ".version 8.0\n.target sm_9z\n", **none)
check("broken PTX: place", error and error.status == "input" and error.diagnostics[0].line == 2)
raises("no such kernel", ptxopt.Error, "has no kernel 'x'", ptx, entry="x", **none)
refused = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { wgmma.fence.sync.aligned; ret; }\n"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept = ptxopt.optimize(refused, coarsen=2, **none)
    ptxopt.optimize(refused, coarsen=2, warn=False, **none)
check("a refusal is a warning", len(caught) == 1 and "is not coarsened" in str(caught[0].message), caught)
check("a refused kernel is as it was", kept.text == refused)
texts = []
threads = [threading.Thread(target=lambda: texts.append(ptxopt.optimize(ptx, coarsen=2, **none).text))
           for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("8 threads", len(texts) == 8 and len(set(texts)) == 1)
sys.exit(failed)
