"""The Python package, as suite/python has installed it. Prints one line per check."""
import array
import ctypes
import dataclasses
import html.parser
import inspect
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import warnings
from importlib import metadata

import ptxopt

failed = 0


def check(name, good, shown=""):
    global failed
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f': {shown}'}")
    failed |= not good


def raises(name, kind, text, *arguments, **options):
    return fails(name, kind, text, lambda: ptxopt.optimize(*arguments, **options))


def fails(name, kind, text, function):
    try:
        function()
    except kind as error:
        check(name, text in str(error), error)
        return error
    check(name, False, "no error")


with open("corpus/vectoradd/vectoradd.sm_90.ptx", "rb") as file:
    ptx = file.read()
none = {"assembler": "none"}
result = ptxopt.optimize(ptx.decode(), coarsen=2, entry="vectoradd_exact", **none)
check("options of the assembler", result.assembler_options == ())
check("text", "__ptxopt_launch_vectoradd_exact" in result.text)
check("contract", result.contract_of("vectoradd_exact")["factor"] == [2, 1, 1] and not result.contract_of("other"))
check("report", result.report["kernels"][0]["coarsening"]["outcome"] == "done")
again = ptxopt.optimize(ptx + b"\0", coarsen=2, entry="vectoradd_exact", **none)
check("bytes, with NVRTC's NUL", again.text == result.text)
check("launch", result.launch("vectoradd_exact", 256) == (128, 1, 1))
check("launch of a kernel that was not selected", result.launch("vectoradd", (8, 8)) == (8, 8, 1))
for wrong, block, text in (("nope", 256, "no kernel 'nope', but 'vectoradd', 'vectoradd_exact'"),
                           ("vectoradd", 0, "from 1"), ("vectoradd", (1, 2, 3, 4), "one to three numbers")):
    fails(f"launch of {wrong} with {block}", ptxopt.LaunchError, text, lambda: result.launch(wrong, block))
    fails(f"launch_grid of {wrong} with {block}", ptxopt.LaunchError, text, lambda: result.launch_grid(wrong, 1, block))
fails("launch with a text", TypeError, "", lambda: result.launch("vectoradd", "256"))
entries = ptxopt.optimize("""
.version 8.0
.target sm_80
.address_size 64
// .entry no1(
/* .entry no2( */
.visible .entry yes$1() { .pragma ".entry no3("; ret; }
.entry
yes2()
{ ret; }
""", **none)
check("kernels", entries.kernels == ("yes$1", "yes2"), entries.kernels)
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
# Several forms: what a report says of them, with the contracts of a module that has them.
forms = [{"name": "k__ptxopt_form1", "words": "bx4 grid=shrink", "speedup": 2.0, "first": False, "factor": [1, 1, 1],
          "pays_from_threads_per_sm": 1024, "pays_by_parameter": {"parameter": 1, "points": [[8, 1024], [16, 2048]]}},
         {"name": "k__ptxopt_form2", "words": "x2", "speedup": 1.5, "first": False, "factor": [2, 1, 1],
          "least_block_threads": 64, "most_block_threads": 128, "pays_to_threads_per_sm": 1088}]
for parameters, wanted in ((None, False), ((0, 7), False), ((0, 8), True)):
    aligned = ptxopt.Form({"factor": [2, 1, 1], "pays_for_multiples": {"parameter": 1, "of": 4}}, "k", "x2", 1.5)
    check(f"a form for multiples: {parameters}", aligned.pays((4, 1, 1), (64, 1, 1), 2, parameters) == wanted)
several_report = dataclasses.replace(result.report, kernels=(dataclasses.replace(
    result.report.kernels[0], name="k", coarsening=ptxopt.Coarsening(
        {}, "several", forms=tuple(ptxopt.Form(raw, raw["name"], raw["words"], raw["speedup"]) for raw in forms))),))
several = dataclasses.replace(
    result, report=several_report, text=".entry k(", contract={"kernels": [
        {**made.contract_of("vectoradd_exact").raw, "kernel": raw["name"]} for raw, made in zip(forms, (grid, result))]})
for name, wanted, size, block, parameters in (
        ("the first", ("k__ptxopt_form1", (4, 1, 1), (128, 1, 1), 0), 16, 128, None),
        ("the grid is no multiple", ("k__ptxopt_form2", (17, 1, 1), (64, 1, 1), 0), 17, 128, None),
        ("few threads", ("k__ptxopt_form2", (8, 1, 1), (64, 1, 1), 0), 8, 128, None),
        ("a parameter", ("k__ptxopt_form2", (16, 1, 1), (64, 1, 1), 0), 16, 128, (0, 12)),
        ("a parameter and more threads", ("k__ptxopt_form1", (8, 1, 1), (128, 1, 1), 0), 32, 128, (0, 12)),
        ("a small block", ("k", (17, 1, 1), (32, 1, 1), 0), 17, 32, None),
        ("too many threads", ("k", (35, 1, 1), (64, 1, 1), 0), 35, 64, None),
        ("blocks that would not fill warps", ("k", (17, 1, 1), (80, 1, 1), 0), 17, 80, None)):
    taken = several.launch_form("k", size, block, multiprocessors=2, parameters=parameters)
    check(f"several forms: {name}", taken == wanted, taken)
check("one form", grid.launch_form("vectoradd_exact", 12, 64, multiprocessors=2)[0] == "vectoradd_exact")
for launch in (lambda: grid.launch("vectoradd_exact", 64), lambda: grid.launch_grid("vectoradd_exact", 11, 64)):
    try:
        launch()
        check("a launch of a grid is refused", False)
    except ptxopt.LaunchError as error:
        check("a launch of a grid is refused", "grid" in str(error))
raises("unknown option", TypeError, "coarsne", ptx, coarsne=2)
raises("wrong value", ptxopt.OptionError, "expected a factor", ptx, coarsen="z")
raises("a value that is none", ptxopt.OptionError, "coarsen: True", ptx, coarsen=True)
check("a wrong option is a ValueError", issubclass(ptxopt.OptionError, ValueError))
for wrong in (5, None, ["x"], pathlib.Path("k.ptx")):
    raises(f"PTX that is {type(wrong).__name__}", TypeError, f"ptx is {type(wrong).__name__}, but", wrong)
error = raises("broken PTX", ptxopt.Error, "<ptx>:2:", ".version 8.0\n.target sm_9z\n", **none)
check("broken PTX: place", error and error.status == "input" and error.diagnostics[0].line == 2)
check("broken PTX: line, column and reason", error and (error.line, error.column) == (2, 9) and
      "sm_9z" in error.reason and "\n" not in error.reason, error and (error.line, error.column, error.reason))
again = pickle.loads(pickle.dumps(error))
check("an error can be pickled", str(again) == str(error) and again.line == 2)

# Options: each of the program's that is not for files is a keyword, and does what it does there.
program = subprocess.run([os.environ["PTXOPT"], "completion", "fish"], capture_output=True, text=True,
                         check=True).stdout
named = {line.split(" -o ")[-1].split(" -s ")[-1].split()[0] for line in program.splitlines()
         if "not __fish_seen" in line}
for_files = {"o", "cubin", "launch-out", "knobs-out", "report", "report-format", "d", "version", "help", "summary", "input-name",
             "split-assemble", "assemble-limit"}
parameters = inspect.signature(ptxopt.optimize).parameters
own = {"ptx", "name", "cubin", "warn"}
check("every option is a keyword", {name.replace("-", "_") for name in named - for_files} == set(parameters) - own,
      {name.replace("-", "_") for name in named - for_files} ^ (set(parameters) - own))
described = ptxopt.optimize.__doc__.replace(",", " ").split()
check("every option is described", all(name in described for name in parameters),
      [name for name in parameters if name not in described])
check("every option has a type", all(p.annotation is not p.empty for p in parameters.values()))
# Each reaches the library by the program's name for it.
module = sys.modules["ptxopt._optimize"]
run, given = module._run, {}


def record(_text, _name, _cubin, settings):
    given.update((name, words) for name, words in settings if words)
    return run(b".version 8.0\n.target sm_90\n.address_size 64\n", "k", False, [])


module._run = record
for option in sorted(set(parameters) - own):
    given.clear()
    flag = parameters[option].default is False
    ptxopt.optimize(ptx, **{option: True if flag else "auto"})
    check(f"option {option} is passed on", given == {option.replace("_", "-"): True if flag else ["auto"]}, given)
module._run = run
forms = (({"coarsen": {"vectoradd_exact": 2}}, {"coarsen": "vectoradd_exact:2"}),
         ({"coarsen": ["1", "vectoradd_exact:2"]}, {"coarsen": {"vectoradd*": 1, "vectoradd_exact": 2}}),
         ({"coarsen": ("x2", "y2"), "block": (16, 16)}, {"coarsen": "x2,y2", "block": [16, 16]}),
         ({"coarsen": 2, "block": {"vectoradd": (16, 16)}}, {"coarsen": 2, "block": "vectoradd:16,16"}),
         ({"coarsen": 2, "entry": ["vectoradd", "vectoradd_exact"]}, {"coarsen": 2, "entry": "vectoradd,vectoradd_exact"}),
         ({"coarsen": 2, "stride": 32, "canonical": True}, {"coarsen": 2, "stride": "32", "canonical": True}))
for one, other in forms:
    made, wanted = (ptxopt.optimize(ptx, warn=False, **none, **options) for options in (one, other))
    check(f"options: {one}", made.text == wanted.text and made.text != ptx.decode(), made.text)
launch = pathlib.Path("corpus/vectoradd/vectoradd_exact.launch.json")
for files in (launch, [launch], str(launch)):
    verified = ptxopt.optimize(ptx, coarsen=2, entry="vectoradd_exact", verify=files, launch=files, **none)
    check(f"files: {type(files).__name__}", len(verified.report["verify"]) == 1)

# Results.
kernel = result.kernel("vectoradd_exact")
check("report of a kernel", kernel.coarsening.done and kernel.coarsening.factor == (2, 1, 1) and
      kernel.registers.outcome == "not asked" and kernel.before.registers is None and kernel.line == 56, kernel)
check("report: as it is in JSON", result.report.raw["kernels"][0] == kernel.raw and "kernels" in result.report)
fails("report of no kernel", KeyError, "nope", lambda: result.kernel("nope"))
contract = result.contracts["vectoradd_exact"]
check("contract of a kernel", contract.factor == (2, 1, 1) and contract.block_before is None and
      contract.launch(8, 256) == ((8, 1, 1), (128, 1, 1), 0) and contract.raw == result.contract["kernels"][0])
for shown in (result, result.report, contract, *result.diagnostics):
    check(f"repr of {type(shown).__name__} is short", len(repr(shown)) < 2000 and "ld.global" not in repr(shown),
          repr(shown))
check("repr of a result", repr(result) ==
      f"<ptxopt.Result of {len(result.text)} characters for sm_90; vectoradd_exact: coarsened 2x1x1>", repr(result))

# The package.
about = metadata.metadata("ptxopt")
check("version", ptxopt.__version__ == about["Version"] == ptxopt.version(), ptxopt.__version__)
check("license", about["License"] == "MIT" and
      any(str(file).endswith("licenses/LICENSE") for file in metadata.files("ptxopt")))
check("description", about["Summary"] and "import ptxopt" in (about["Description"] or about.get_payload()))
check("the extras", about.get_all("Provides-Extra") == ["cuda", "explain"] and
      any("nvidia-cuda-nvcc" in wanted for wanted in metadata.requires("ptxopt")))
check("typed", (pathlib.Path(ptxopt.__file__).parent / "py.typed").exists())
check("what is public is described", all(getattr(ptxopt, name).__doc__ for name in ptxopt.__all__))
raises("no such kernel", ptxopt.Error, "has no kernel 'x'", ptx, entry="x", **none)
refused = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { wgmma.fence.sync.aligned; ret; }\n"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept = ptxopt.optimize(refused, coarsen=2, **none)
    ptxopt.optimize(refused, coarsen=2, warn=False, **none)
check("a refusal is a warning", len(caught) == 1 and "is not coarsened" in str(caught[0].message), caught)
check("a refused kernel is as it was", kept.text == refused)
check("repr of a refusal", "k: refused (" in repr(kept), repr(kept))
named = ptxopt.optimize(refused, coarsen={"k": 2}, warn=False, **none)
check("a refusal by name", named.refused and not kept.refused)
check("a refusal has a place", named.kernel("k").coarsening.line == 4, named.kernel("k").coarsening)
texts = []
threads = [threading.Thread(target=lambda: texts.append(ptxopt.optimize(ptx, coarsen=2, **none).text))
           for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("8 threads", len(texts) == 8 and len(set(texts)) == 1)

# The emulator.
scale = (".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 f, .param .u32 n) {\n"
         ".reg .b64 %o, %i, %d; .reg .b32 %t, %b, %s, %n; .reg .f32 %v, %f; .reg .pred %p;\n"
         "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; ld.param.f32 %f, [f]; ld.param.u32 %n, [n];\n"
         "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.s32 %t, %b, %s, %t;\n"
         "setp.ge.u32 %p, %t, %n;\n@%p ret;\n"
         "mul.wide.u32 %d, %t, 4; add.s64 %o, %o, %d; add.s64 %i, %i, %d;\n"
         "ld.global.f32 %v, [%i];\nmul.f32 %v, %v, %f;\nst.global.f32 [%o], %v;\nret;\n}\n")
source, target = array.array("f", range(100)), array.array("f", [0] * 100)
execution = ptxopt.run(scale, 2, 64, [target, source, 2.5, 100], memory=True, check=["races", "registers"])
check("a kernel runs on arrays", list(target) == [2.5 * x for x in source])
check("it is counted", execution.counters["warp_instructions"] > 0 and execution.counters["load_sectors"] > 0 and
      execution.output == "", execution)
ptxopt.run(scale, (2, 1), (64, 1, 1), [source, source, 2, ctypes.c_uint(100)], cores=2)
check("in place", list(source) == [2 * x for x in range(100)])
whole = bytearray(800)
ptxopt.run(scale, 1, 100, [memoryview(whole)[400:], whole, 1.0, 100])
check("views of one buffer", whole == bytes(800))
try:
    ptxopt.run(scale, 2, 64, [target, array.array("f", range(80)), 2.5, 100], name="k.ptx")
    check("a fault", False)
except ptxopt.Fault as fault:
    check("a fault", (fault.kind, fault.status, fault.line, fault.block, fault.thread, fault.kernel) ==
          ("out of bounds", "different", 11, (1, 0, 0), (16, 0, 0), "scale") and "k.ptx:11" in str(fault), fault)


def stops(name, exception, text, *arguments, **options):
    try:
        ptxopt.run(*arguments, **options)
        check(name, False)
    except exception as error:
        check(name, text in str(error), error)


stops("too few arguments", ptxopt.Error, "has 4 parameters, and there are 1", scale, 1, 1, [1])
stops("no such kernel to run", ptxopt.Error, "did you mean 'scale'?", scale, 1, 1, [], kernel="scales")
stops("a number that does not fit", TypeError, "argument 3 has 8 bytes", scale, 1, 1, [None, None, 1.0, bytes(8)])
stops("a read-only buffer", TypeError, "read-only", scale, 1, 1, [memoryview(bytes(4)), target, 1.0, 1])
stops("a null pointer", ptxopt.Fault, "out of bounds", scale, 1, 1, [None, source, 1.0, 1])
stops("a wrong grid", ValueError, "grid=0", scale, 0, 1, [])
stops("four extents", ValueError, "block=", scale, 1, (1, 1, 1, 1), [])
stops("a wrong check", ValueError, "'races'", scale, 1, 1, [], check="race")
stops("PTX that is wrong, to run", ptxopt.Error, "error:", "junk", 1, 1, [])
try:
    import numpy
except ImportError:
    print("skip NumPy: not installed")
else:
    x, y = numpy.arange(100, dtype=numpy.float32), numpy.zeros((10, 10), dtype=numpy.float32)
    ptxopt.run(scale, 2, 64, [y, x, numpy.float32(0.5), numpy.uint32(100)])
    check("NumPy's arrays and numbers", (y.ravel() == x / 2).all())
    stops("an array that is not contiguous", TypeError, "not contiguous", scale, 1, 1, [y[:, ::2], x, 1.0, 1])

fails("a picture with a wrong block", ptxopt.OptionError, "expected X", lambda: ptxopt.view(scale, block="y"))
fails("a picture of nothing", TypeError, "must be the text", lambda: ptxopt.view(7))
fails("a picture of no kernel", ptxopt.Error, "no kernel 'other'", lambda: ptxopt.view(scale, entry="other"))
fails("a picture of what is not PTX", ptxopt.Error, "begins with '.version", lambda: ptxopt.view("junk"))
bare = ptxopt.view(scale, block=128, **none)
check("a picture without an assembler is of the PTX", "PTX instructions" in bare.text and
      any("no assembler" in d.message for d in bare.diagnostics), bare.diagnostics)
one = ptxopt.view(scale, block=128, name="scale.ptx")
both = ptxopt.view(scale, ptxopt.optimize(scale, coarsen=2, block=128, warn=False), block=128)
if one.diagnostics:
    print(f"skip pictures: {one.diagnostics[0].message}")
else:
    check("a picture as text", re.match(r"scale for sm_90, \d+ instructions: ", str(one)) is not None, str(one)[:80])
    check("a picture as a page", one.page.startswith("<!DOCTYPE html>") and "scale.ptx" in one.page, one.page[:80])
    frame = html.parser.HTMLParser()
    shown = []
    frame.handle_starttag = lambda tag, values: shown.append((tag, dict(values)))
    frame.feed(one._repr_html_())
    check("a picture in a notebook", len(shown) == 1 and shown[0][0] == "iframe" and
          shown[0][1]["srcdoc"] == one.page and shown[0][1]["sandbox"] == "allow-scripts", shown[:1])
    check("a picture before and after", "before: " in both.text and " repeated" in both.text, both.text[:300])
sys.exit(failed)
