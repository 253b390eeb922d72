## make              build ./ptxopt
## make deps         install what building and testing need (Debian packages, and NVIDIA's assembler)
## make check        the quick tests, to run before each commit (two minutes)
## make test         install what is missing and run every test; ONLY=GLOB selects jobs by name (ONLY='unit/*')
## make asan         the same under the address and undefined-behaviour sanitizers, built in build/asan
## make coverage     count the lines and branches that the tests come to, built in build/coverage; ONLY=GLOB as above
##                   (docs/mutants.md)
## make fuzz         run the fuzzers; TIME=SECONDS in all, FUZZ="HARNESS...", JOBS=N at once (docs/fuzzing.md)
## make attack       change random programs in random ways and compare what they compute; TIME=SECONDS, JOBS=N
##                   (docs/attack.md)
## make demo         install what is missing and run the demonstration (tools/demo.sh)
## make corpus       run every kernel of corpus/ through ptxopt, the assembler and the emulator, and compare the
##                   figures with the accepted ones (docs/corpus-run.md)
## make corpus-report  the same, and write build/corpus/report.html
## make gpu-run      build what `tools/corpus-run --gpu` needs to run launch files on a GPU
## make check-gpu    compare the emulator's instructions with a GPU; ACCEPT=FILE keeps the GPU's answers
## make bench-NAME   run the benchmark bench/NAME: acceptance, calibrate, choices, cost, emulator, frontend, gpu,
##                   pressure, prior, raise, sanitizer, split, time or tune
## make inputs       make the PTX and the occupancies of tests/ again (needs the CUDA toolkit and clang)
## make install      install the programs, the library, the manual pages and the documentation of formats under PREFIX
## make uninstall    remove them again
## make deb          build Debian packages in build/deb (needs debhelper)
## make wheel        build the Python package, build/wheel/ptxopt-*.whl (docs/library.md)
## make format       run clang-format over the lines that are too long
## make clean        remove everything that was built
##
## Variables: CC, CFLAGS, CPPFLAGS, LDFLAGS, FLEX, BISON as usual; PREFIX (/usr/local) and DESTDIR for installing;
## WERROR=1 makes warnings errors, as in .ci/run; V=1 shows every command.
## The goals that install what is missing build on all cores, unless -j says how many, and keep the commands in
## build/build.log.
## Plain `make` installs nothing: it names the packages that are missing and stops.

PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
FLEX ?= flex
BISON ?= bison
WERROR ?=
OBJCOPY ?= objcopy
NM ?= nm

MAKEFLAGS += --no-builtin-rules
# A line for each step, $(call step,WHAT), and its command only if V is set.
Q := $(if $(V),,@)
step = $(if $(V),,$(info $()  $(1) $@))
.SUFFIXES:
.DELETE_ON_ERROR:

# The fuzzers take what they run alone: compiling the rest with sanitizers would take longer than the short ones.
FOLDERS := support ir lexer parser analysis target opt emit emulator
ifneq ($(VARIANT),fuzz)
FOLDERS += store images assembler split sass cost options engine view stats machine gpu timing sweep calibrate library \
    cli wrappers
endif

# Generated C is made once, in build/, and shared by all variants; objects and programs are in $(OUT).
GEN := build
ifeq ($(VARIANT),asan)
OUT := build/asan
PROGRAM := $(OUT)/ptxopt
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifeq ($(VARIANT),coverage)
OUT := build/coverage
PROGRAM := $(OUT)/ptxopt
SANITIZE := --coverage -fprofile-update=prefer-atomic
CFLAGS := -O1 -g
else ifeq ($(VARIANT),fuzz)
# clang with libFuzzer if it is installed, else $(CC) and tests/fuzz/driver.c.
OUT := build/fuzz
PROGRAM := $(OUT)/ptxopt
FUZZ_CC ?= clang
FUZZ_MODE := $(shell mkdir -p build/fuzz; echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | \
    $(FUZZ_CC) -fsanitize=fuzzer,address -x c -o build/fuzz/probe - 2>/dev/null && echo libfuzzer || echo driver)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS := -O1 -g1
ifeq ($(FUZZ_MODE),libfuzzer)
override CC := $(FUZZ_CC)
SANITIZE += -fsanitize=fuzzer-no-link
endif
else
OUT := build
PROGRAM := ptxopt
SANITIZE :=
endif

WARNINGS := -Wall -Wextra $(if $(WERROR),-Werror)
STANDARD := -std=gnu11
# Defined as empty, to match the files that define it themselves.
ALL_CPPFLAGS := -I. -I$(GEN) -D_GNU_SOURCE= $(CPPFLAGS)
# Only fused multiply-adds that the source asks for: the emulator's results are the same on every host.
# Nothing that is built depends on the folder that it is built in.
ALL_CFLAGS = $(STANDARD) $(WARNINGS) $(CFLAGS) -ffile-prefix-map="$(CURDIR)"=. -ffp-contract=off -fPIC $(SANITIZE)
ALL_LDFLAGS = $(CFLAGS) $(SANITIZE) $(LDFLAGS)
LIBRARIES := -ljansson -liberty -lelf -ldl -lm -lpthread

# Every .c file below FOLDERS belongs to the program, except the generators, which run during the build.
GENERATORS := $(wildcard ir/table/generator/*.c)
SOURCES := $(filter-out $(GENERATORS),$(sort $(shell find $(FOLDERS) -name '*.c')))
GENERATED_SOURCES := lexer/ptx_lexer.c parser/ptx_parser.c
GENERATED_HEADERS := $(addprefix $(GEN)/,lexer/ptx_lexer.h parser/ptx_parser.h) \
    $(addprefix $(GEN)/ir/table/,ops_enum.h ops_tables.inc ops_run.inc) $(addprefix $(GEN)/view/,page.inc report.inc)

SOURCE_OBJECTS := $(SOURCES:%.c=$(OUT)/%.o)
GENERATED_OBJECTS := $(GENERATED_SOURCES:%.c=$(OUT)/%.o)
MAIN_OBJECT := $(OUT)/cli/main.o
WRAPPERS := $(addprefix $(dir $(PROGRAM)),ptxopt-ptxas ptxopt-nvcc)
WRAPPER_MAINS := $(OUT)/wrappers/main_ptxas.o $(OUT)/wrappers/main_nvcc.o
LIBRARY_OBJECTS := $(filter-out $(MAIN_OBJECT) $(WRAPPER_MAINS),$(SOURCE_OBJECTS) $(GENERATED_OBJECTS))

.PHONY: all headers public help deps check test asan demo corpus corpus-report install \
    uninstall clean format inputs FORCE
all: $(PROGRAM) $(WRAPPERS) public
headers: $(GENERATED_HEADERS)

help:
	@sed -n 's/^## \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# Dependencies.

deps:
	@CC='$(CC)' tools/deps.sh

# $(GEN)/needs-build and $(GEN)/needs-test: everything that building, or testing, needs is installed.
$(GEN)/needs-%: tools/deps.sh
	$(eval MISSING := $(shell CC='$(CC)' tools/deps.sh --missing $*))
	$(if $(MISSING),$(error Debian packages are missing: $(MISSING) ('make deps' installs them)))
	@mkdir -p $(@D) && touch $@

# $(call replace,FILE): FILE.new becomes FILE if it says something else, so that nothing is made again for nothing.
replace = @if cmp -s $(1).new $(1); then rm $(1).new; else mv $(1).new $(1); fi

# Change with the compiler and its flags, on which every object depends, and with the list of sources, on which the
# archive does, so that none of them leaves stale files.
$(OUT)/configuration: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)' >$@.new
	$(call replace,$@)
$(OUT)/sources: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(SOURCES) $(GENERATED_SOURCES) >$@.new
	$(call replace,$@)

# Generated sources.

# flex has no option that makes its warnings errors.
$(GEN)/lexer/ptx_lexer.c $(GEN)/lexer/ptx_lexer.h &: lexer/ptx.l $(GEN)/needs-build
	@mkdir -p $(GEN)/lexer
	$(call step,FLEX)
	$(Q)$(FLEX) --header-file=$(GEN)/lexer/ptx_lexer.h -o $(GEN)/lexer/ptx_lexer.c lexer/ptx.l 2>$(GEN)/lexer/flex.log || \
	    { cat $(GEN)/lexer/flex.log >&2; exit 1; }
	@cat $(GEN)/lexer/flex.log >&2
	@test -z '$(WERROR)' -o ! -s $(GEN)/lexer/flex.log

$(GEN)/parser/ptx_parser.c $(GEN)/parser/ptx_parser.h &: parser/ptx.y $(GEN)/needs-build
	@mkdir -p $(GEN)/parser
	$(call step,BISON)
	$(Q)$(BISON) -Wall $(if $(WERROR),-Werror) --defines=$(GEN)/parser/ptx_parser.h -o $(GEN)/parser/ptx_parser.c \
	    parser/ptx.y

MAKE_OPS := $(GEN)/ir/table/make_ops
$(MAKE_OPS): $(GENERATORS) ir/table/generator/generator.h $(GEN)/needs-build
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(STANDARD) $(WARNINGS) $(ALL_CPPFLAGS) -O1 -o $@ $(filter %.c,$^)

$(GEN)/ir/table/ops_enum.h.made: OPS_PART := enums
$(GEN)/ir/table/ops_tables.inc.made: OPS_PART := tables
$(GEN)/ir/table/ops_run.inc.made: OPS_PART := run
# Each part is made again when the table changes, and replaced only if it differs: a note is in the tables alone.
OPS_PARTS := $(GEN)/ir/table/ops_enum.h $(GEN)/ir/table/ops_tables.inc $(GEN)/ir/table/ops_run.inc
$(OPS_PARTS:=.made): %.made: $(MAKE_OPS) ir/table/ops.def ir/table/notes.txt
	$(if $(Q),$(info $()  TABLE $*))
	$(Q)$(MAKE_OPS) $(OPS_PART) ir/table/ops.def ir/table/notes.txt >$*.new
	$(call replace,$*)
	@touch $@
$(OPS_PARTS): %: %.made ;

# Objects.

TEST_SOURCES := $(wildcard $(addprefix tests/,unit/*.c oracle/*.c tools/*.c generate/*.c gpu/*.c machine/*.c))
TEST_OBJECTS := $(TEST_SOURCES:%.c=$(OUT)/%.o)
EMULATED_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard emulated/*.c)))
TOOL_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(wildcard tools/*.c))

# The pages of "ptxopt view", line by line as strings.
$(addprefix $(GEN)/view/,page.inc report.inc): $(GEN)/view/%.inc: view/%.html
	@mkdir -p $(@D)
	$(call step,GEN)
	$(Q)sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n",/' $< >$@.new && mv $@.new $@

# On a fresh tree the generated headers are made first; afterwards the dependency files say who needs which. QUICKLY is
# for more flags that do not make the objects stale.
define compile
	@mkdir -p $(@D)
	$(call step,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(QUICKLY) -MMD -MP -c -o $@ $<
endef

$(SOURCE_OBJECTS) $(TOOL_OBJECTS) $(TEST_OBJECTS) $(EMULATED_OBJECTS): $(OUT)/%.o: %.c $(OUT)/configuration \
    $(GEN)/needs-build | $(GENERATED_HEADERS)
	$(compile)

$(GENERATED_OBJECTS): $(OUT)/%.o: $(GEN)/%.c $(OUT)/configuration $(GEN)/needs-build | $(GENERATED_HEADERS)
	$(compile)

$(TEST_OBJECTS): $(GEN)/needs-test

# Programs.

$(OUT)/libptxopt.a: $(LIBRARY_OBJECTS) $(OUT)/configuration $(OUT)/sources
	@rm -f $@
	$(call step,AR)
	$(Q)$(AR) rcs $@ $(LIBRARY_OBJECTS)

# The results that each instruction must have, written independently of the emulator, and kernels that execute each:
# for check-gpu and the tests test_oracle_* and test_evaluate.
$(OUT)/liboracle.a: $(filter $(OUT)/tests/oracle/%,$(TEST_OBJECTS))
	@rm -f $@
	$(call step,AR)
	$(Q)$(AR) rcs $@ $^

# Links the objects and then the archives among the prerequisites; LINK_FLAGS and LIBRARIES may be set by target.
define link
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) $(LINK_FLAGS) -o $@ $(filter %.o,$^) $(filter %/liboracle.a,$^) $(filter %/libptxopt.a,$^) \
	    $(LIBRARIES)
endef

$(PROGRAM): $(MAIN_OBJECT) $(OUT)/libptxopt.a
	$(link)

# The library for other programs: one object with only the functions of ptxopt.h visible, and with what Debian has as a
# static library alone; the shared library has them under version names.
VERSION := $(shell sed -n 's/^\#define PTXOPT_VERSION "\(.*\)"/\1/p' options/options.h)
SONAME := libptxopt.so.0
PUBLIC_OBJECTS := $(filter-out $(OUT)/cli/% $(OUT)/wrappers/%,$(LIBRARY_OBJECTS))
# Asked for when it is needed: there may be no compiler yet.
LIBIBERTY = $(shell $(CC) -print-file-name=libiberty.a)
PUBLIC_LIBRARIES := $(filter-out -liberty,$(LIBRARIES))

$(OUT)/public/ptxopt.o: $(PUBLIC_OBJECTS) $(OUT)/configuration $(OUT)/sources
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(LD) -r -o $@ $(PUBLIC_OBJECTS) $(LIBIBERTY)
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='ptxopt_*' $@

$(OUT)/public/libptxopt.a: $(OUT)/public/ptxopt.o
	@rm -f $@
	$(call step,AR)
	$(Q)$(AR) rcsD $@ $<

$(OUT)/public/$(SONAME): $(PUBLIC_OBJECTS) library/libptxopt.map $(OUT)/configuration
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script,library/libptxopt.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(PUBLIC_OBJECTS) $(LIBIBERTY) $(PUBLIC_LIBRARIES)

PUBLIC := $(OUT)/public/libptxopt.a $(OUT)/public/$(SONAME)

# The adapters of launches in running programs: ptxopt-nvcc links them into these.
RUNTIME_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(wildcard runtime/*.c))
$(RUNTIME_OBJECTS): $(OUT)/runtime/%.o: runtime/%.c $(OUT)/configuration $(GEN)/needs-build
	$(compile)

ADAPTER := $(OUT)/runtime/libptxopt-launch.a
# Both adapters share these.
SHARED_RUNTIME := $(addprefix $(OUT)/runtime/,compare.o contracts.o events.o halving.o learned.o shapes.o tune.o \
    tuned_forms.o) $(OUT)/store/store.o
$(ADAPTER): $(SHARED_RUNTIME) $(OUT)/runtime/link_adapter.o
	@rm -f $@
	$(call step,AR)
	$(Q)$(AR) rcsD $@ $^

# The same in host code that ptxopt-nvcc compiles.
EMBEDDED := $(OUT)/runtime/ptxopt-embedded.h
EMBEDDED_SOURCES := $(SHARED_RUNTIME:$(OUT)/%.o=%.c) runtime/link_adapter.c
$(EMBEDDED): runtime/embed.awk wrappers/wrapped.def $(EMBEDDED_SOURCES) $(wildcard runtime/*.h store/*.h abi/*) \
    $(OUT)/configuration $(GEN)/needs-build
	@mkdir -p $(@D)
	$(call step,EMBED)
	$(Q)$(CC) $(STANDARD) $(WARNINGS) $(ALL_CPPFLAGS) -DPTXOPT_EMBEDDED -Os -g0 -fPIC -fvisibility=hidden -fno-common \
	    -ffunction-sections -fdata-sections -S -o $(@D)/embedded.s $(SHARED_RUNTIME:$(OUT)/%.o=-include %.c) \
	    runtime/link_adapter.c
	$(Q)$(CC) -c -o $(@D)/embedded.o $(@D)/embedded.s
	$(Q)$(NM) -P --defined-only $(@D)/embedded.o | cut -d ' ' -f 1 >$(@D)/embedded.symbols
	$(Q)awk -v prefix=ptxopt_$(subst .,_,$(VERSION))_ -f $< $(word 2,$^) $(@D)/embedded.symbols $(@D)/embedded.s >$@

# The same for programs that cannot be built again: preloaded.
PRELOAD := $(OUT)/runtime/libptxopt-launch.so
$(PRELOAD): $(SHARED_RUNTIME) $(addprefix $(OUT)/runtime/,jit.o loads.o preload.o)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ -ldl -lpthread

public: $(PUBLIC) $(ADAPTER) $(EMBEDDED) $(PRELOAD)

# Take the place of ptxas and nvcc in builds.
$(WRAPPERS): $(dir $(PROGRAM))ptxopt-%: $(OUT)/wrappers/main_%.o $(OUT)/libptxopt.a
	$(link)

UNIT_TESTS := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(wildcard tests/unit/test_*.c))
ORACLE_TESTS := $(filter $(OUT)/tests/test_oracle_% $(OUT)/tests/test_evaluate,$(UNIT_TESTS))
$(UNIT_TESTS): LIBRARIES += -lcmocka
$(ORACLE_TESTS): LIBRARIES += -lmpfr -lgmp
$(ORACLE_TESTS): $(OUT)/liboracle.a
$(OUT)/tests/test_halving: $(OUT)/runtime/halving.o $(OUT)/runtime/compare.o
$(OUT)/tests/test_contracts $(OUT)/tests/test_tune: $(filter $(OUT)/runtime/%,$(SHARED_RUNTIME))
$(UNIT_TESTS): $(OUT)/tests/%: $(OUT)/tests/unit/%.o $(OUT)/libptxopt.a
	$(link)

# The helpers of the test suites.
TOOLS := $(addprefix $(OUT)/tests/,coarsen-check registers-check registers-probe registers-needed miscompile \
    roundtrip instruction-reference option-reference machine-code reuse-check jam-check row-check refine-check \
    stage-check count-check work-check pattern-check interior-check minima-check dead-check passed-check)
$(OUT)/tests/coarsen-check $(OUT)/tests/registers-check $(OUT)/tests/reuse-check $(OUT)/tests/work-check: \
    $(OUT)/tests/tools/random_kernel.o $(OUT)/tests/tools/random_walk.o
$(OUT)/tests/reuse-check $(OUT)/tests/work-check: $(OUT)/tests/tools/reuse_kernel.o $(OUT)/tests/tools/loop_kernel.o
$(OUT)/tests/reuse-check: $(OUT)/tests/tools/flat_kernel.o
$(OUT)/tests/jam-check $(OUT)/tests/work-check: $(OUT)/tests/tools/jam_kernel.o
$(OUT)/tests/jam-check: $(OUT)/tests/tools/front_kernel.o
$(OUT)/tests/work-check: $(OUT)/tests/tools/stage_kernel.o
$(OUT)/tests/row-check: $(OUT)/tests/tools/row_kernel.o
$(OUT)/tests/refine-check: $(OUT)/tests/tools/refine_kernel.o
$(OUT)/tests/stage-check: $(addprefix $(OUT)/tests/tools/,stage_kernel.o nest_kernel.o store_kernel.o)
$(OUT)/tests/count-check: $(addprefix $(OUT)/tests/tools/,count_kernel.o walk_kernel.o sum_kernel.o)
$(OUT)/tests/pattern-check: $(addprefix $(OUT)/tests/tools/,pattern_trace.o stage_kernel.o nest_kernel.o \
    row_kernel.o random_kernel.o random_walk.o)
$(TOOLS): $(OUT)/tests/%: $(OUT)/tests/tools/%.o $(OUT)/libptxopt.a
	$(link)

# The generator of random programs, and what attacks the program with them.
GENERATOR := $(addprefix $(OUT)/tests/generate/,values.o memory.o flow.o together.o idioms.o program.o)
.PHONY: ptxsmith attack
ptxsmith: $(OUT)/tests/ptxsmith
attack: $(OUT)/tests/attack
	BUILD=$(OUT) tests/generate/campaign -t $(or $(TIME),60) $(if $(JOBS),-j $(JOBS)) $(OUT)/attack
$(OUT)/tests/attack: $(OUT)/tests/generate/forms.o $(OUT)/tests/generate/on_gpu.o
$(OUT)/tests/attack: $(OUT)/tools/gpu-contract.o
$(OUT)/tests/ptxsmith $(OUT)/tests/attack: $(OUT)/tests/%: $(OUT)/tests/generate/%.o $(GENERATOR) $(OUT)/libptxopt.a
	$(link)

# The reference page of the instructions.
docs/instructions.md: $(OUT)/tests/instruction-reference
	$< >$@

# The program with faults planted in its allocations and system calls.
PLANTED := malloc calloc realloc mmap read pread write close open rename
$(OUT)/tests/ptxopt-faults: LINK_FLAGS := $(PLANTED:%=-Wl,--wrap=%)
$(OUT)/tests/ptxopt-faults: $(OUT)/tests/tools/faults.o $(MAIN_OBJECT) $(OUT)/libptxopt.a
	$(link)

# A CUDA driver whose GPU is the emulator. Its functions call each other, whatever is preloaded.
EMULATED := $(OUT)/emulated
$(EMULATED)/libcuda.so.1: LINK_FLAGS := -shared -Wl,-Bsymbolic,-soname,libcuda.so.1,--version-script,emulated/driver.map
$(EMULATED)/libcuda.so.1: emulated/driver.map
$(EMULATED)/libcuda.so.1: $(filter-out $(EMULATED)/runtime%,$(EMULATED_OBJECTS)) $(OUT)/libptxopt.a
	$(link)

# CUDA runtimes on it: shared for nvcc 11 to 13, and static.
EMULATED_RUNTIMES := $(addprefix $(EMULATED)/,libcudart.so.11.0 libcudart.so.12 libcudart.so.13)
RUNTIME_SOURCES := $(sort $(wildcard emulated/runtime*.c))
$(EMULATED_RUNTIMES): $(EMULATED)/libcudart.so.%: $(RUNTIME_SOURCES) $(wildcard emulated/*.h emulated/*.def abi/*) \
$(OUT)/configuration
	@mkdir -p $(@D)
	@echo 'libcudart.so.$* { global: *; };' >$@.map
	$(call step,LINK)
	$(Q)$(CC) $(ALL_CPPFLAGS) -DRUNTIME_VERSION=$(basename $*)000 $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared \
	    -Wl,-soname,$(@F) -Wl,--version-script,$@.map -o $@ $(RUNTIME_SOURCES) -ldl

# One object, since the adapter refers to some functions only weakly.
$(EMULATED)/static/libcudart_static.a: $(RUNTIME_SOURCES:%.c=$(OUT)/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	$(call step,AR)
	$(Q)$(CC) -r -nostdlib -o $(@D)/runtime.o $^
	$(Q)$(AR) rcsD $@ $(@D)/runtime.o

EMULATED_LIBRARIES := $(EMULATED)/libcuda.so.1 $(EMULATED_RUNTIMES) $(EMULATED)/static/libcudart_static.a

# Fakes of NVIDIA's libraries, some of them incomplete, for test_assembler_faults.
FAKES := $(addprefix $(OUT)/tests/fakes/,driver.so driver-without-error-name.so driver-without-link.so nvjitlink.so \
    nvjitlink-versioned.so nvjitlink-incomplete.so)
$(OUT)/tests/fakes/driver-without-error-name.so: FAKE_FLAGS := -DWITHOUT_ERROR_NAME
$(OUT)/tests/fakes/driver-without-link.so: FAKE_FLAGS := -DcuLinkCreate_v2=cuLinkCreate
$(OUT)/tests/fakes/nvjitlink-versioned.so: FAKE_FLAGS := -DVERSIONED
$(OUT)/tests/fakes/nvjitlink-incomplete.so: FAKE_FLAGS := -DINCOMPLETE
$(filter $(OUT)/tests/fakes/driver%,$(FAKES)): tests/assembler/fake_driver.c
$(filter $(OUT)/tests/fakes/nvjitlink%,$(FAKES)): tests/assembler/fake_nvjitlink.c
$(FAKES): $(OUT)/configuration
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(STANDARD) $(FAKE_FLAGS) -O1 -g -fPIC -shared -o $@ $(filter %.c,$^)

# Compares target/ with the CUDA toolkit's cuda_occupancy.h, where that is installed.
OCCUPANCY := $(dir $(firstword $(wildcard $(addsuffix /cuda_occupancy.h,$(CUDA_HOME)/include \
    /usr/local/cuda/include /usr/include))))
$(OUT)/tests/machine/compare_occupancy.o: CPPFLAGS += -isystem $(OCCUPANCY)
$(OUT)/tests/compare-occupancy: $(OUT)/tests/machine/compare_occupancy.o $(OUT)/libptxopt.a
	$(link)

# Compares the emulator's instructions with a GPU.
$(OUT)/check-gpu: LIBRARIES += -lmpfr -lgmp
$(OUT)/check-gpu: $(OUT)/tests/gpu/check_gpu.o $(OUT)/tests/gpu/departures.o \
    $(OUT)/liboracle.a $(OUT)/libptxopt.a
	$(link)

# Runs launch files on a GPU. Links jansson statically where possible, so that it runs on machines that have a driver
# and nothing else.
JANSSON := $(firstword $(wildcard /usr/lib/*/libjansson.a /usr/lib/libjansson.a /usr/local/lib/libjansson.a) -ljansson)
$(OUT)/gpu-run: LIBRARIES := $(JANSSON) -liberty -ldl -lm -lpthread
$(OUT)/gpu-run: $(TOOL_OBJECTS) $(OUT)/libptxopt.a
	$(link)

# The kernels of the corpus in plain C.
REFERENCES := $(OUT)/corpus-references.so
$(REFERENCES): $(wildcard corpus/*/*.ref.c) corpus/reference.h $(OUT)/configuration
	$(call step,LINK)
	$(Q)$(CC) $(STANDARD) -O2 -fPIC -shared -ffp-contract=off $(CPPFLAGS) -I. -o $@ $(filter %.ref.c,$^) -lm

HELPERS := $(TOOLS) $(OUT)/tests/ptxsmith $(OUT)/tests/attack $(FAKES) $(OUT)/tests/ptxopt-faults \
    $(EMULATED_LIBRARIES) $(OUT)/check-gpu \
    $(if $(OCCUPANCY),$(OUT)/tests/compare-occupancy)

-include $(patsubst %.o,%.d,$(SOURCE_OBJECTS) $(GENERATED_OBJECTS) $(TOOL_OBJECTS) $(TEST_OBJECTS) \
    $(EMULATED_OBJECTS) $(RUNTIME_OBJECTS))

# Tests. The goals that must work on a fresh machine install what is missing first, and start make again for the rest.

# $(call build,GOALS): builds them quietly, on all cores.
build = +@MAKE='$(MAKE)' V='$(V)' LOG='$(OUT)/build.log' JOBS='$(filter -j% --jobserver%,$(MAKEFLAGS))' \
    tools/build.sh $(1)

.PHONY: tests gpu-run check-gpu run-tests run-demo
tests: $(PROGRAM) $(WRAPPERS) public $(UNIT_TESTS) $(HELPERS) gpu-run

run-tests: tests
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) CC='$(CC)' ONLY='$(ONLY)' tests/run-tests $(QUICK) $(UNIT_TESTS)

test check: deps
	$(call build,tests)
	@$(MAKE) --no-print-directory run-tests QUICK=$(if $(filter check,$@),--quick)

asan:
	@$(MAKE) --no-print-directory VARIANT=asan test

# Tests that fail do not matter here: lines were counted all the same.
.PHONY: coverage
coverage: deps
	$(call build,VARIANT=coverage tests)
	-@find build/coverage -name '*.gcda' -delete && $(MAKE) --no-print-directory VARIANT=coverage run-tests
	@tests/coverage build/coverage

demo: deps
	$(call build,$(PROGRAM))
	@$(MAKE) --no-print-directory run-demo

run-demo: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/demo.sh

gpu-run: $(PROGRAM) $(OUT)/gpu-run $(REFERENCES)

check-gpu: $(OUT)/check-gpu
	$< $(if $(ACCEPT),-a $(ACCEPT))

corpus: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/corpus-run

corpus-report: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/corpus-run; status=$$?; BUILD=$(OUT) tools/corpus-report && \
	    exit $$status

BENCHMARKS := $(patsubst bench/%,bench-%,$(shell find bench -maxdepth 1 -type f ! -name '*.c'))
.PHONY: $(BENCHMARKS)
$(BENCHMARKS): bench-%: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) bench/$*

bench-frontend: $(OUT)/bench/usage
$(OUT)/bench/usage: bench/usage.c
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $<

bench-calibrate: $(OUT)/bench/refit
$(OUT)/bench/refit: bench/refit.c $(OUT)/libptxopt.a
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -o $@ $^ $(LIBRARIES)

bench-tune: $(OUT)/bench/tune $(OUT)/bench/races
$(OUT)/bench/races: bench/races.c tests/unit/noise.h $(OUT)/runtime/halving.o $(OUT)/runtime/compare.o
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -o $@ $(filter-out %.h,$^) -lm

$(OUT)/bench/tune: bench/tune.c $(SHARED_RUNTIME)
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -o $@ $^ -ldl -lpthread

# Fuzzers: one program, which finds its harness by its own name (tests/fuzz/harness.c).

ifeq ($(VARIANT),fuzz)
FUZZ_HARNESSES := $(addprefix $(OUT)/bin/,lexer parser text body passes meaning launch)
FUZZ_SOURCES := $(filter-out tests/fuzz/dictionary.c $(if $(filter libfuzzer,$(FUZZ_MODE)),tests/fuzz/driver.c), \
    $(wildcard tests/fuzz/*.c))
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(OUT)/%.o)

$(FUZZ_OBJECTS) $(OUT)/tests/fuzz/dictionary.o: $(OUT)/%.o: %.c $(OUT)/configuration | $(GENERATED_HEADERS)
	$(compile)

$(OUT)/bin/fuzz: $(FUZZ_OBJECTS) $(OUT)/libptxopt.a
	@mkdir -p $(@D)
	$(call step,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(filter libfuzzer,$(FUZZ_MODE)),-fsanitize=fuzzer) -o $@ $(FUZZ_OBJECTS) \
	    $(OUT)/libptxopt.a $(LIBRARIES)

$(FUZZ_HARNESSES): $(OUT)/bin/fuzz
	@ln -sf fuzz $@

$(OUT)/dictionary.txt: $(OUT)/tests/fuzz/dictionary.o $(OUT)/tests/fuzz/words.o $(OUT)/libptxopt.a
	$(call step,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $(OUT)/bin/dictionary $^ $(LIBRARIES)
	$(Q)$(OUT)/bin/dictionary >$@

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_HARNESSES) $(OUT)/dictionary.txt
	@echo $(FUZZ_MODE) >$(OUT)/mode

-include $(FUZZ_OBJECTS:.o=.d)
endif

.PHONY: fuzz
fuzz:
	@tools/deps.sh --fuzz
	@TIME='$(TIME)' RUNS='$(RUNS)' JOBS='$(JOBS)' SEED='$(SEED)' tests/fuzz/run $(FUZZ)

# Maintenance.

inputs: $(OUT)/tests/compare-occupancy
	tests/ptx/build.sh
	tests/cases/coarsen/build.sh
	$< --golden >tests/machine/occupancy.tsv

DOCUMENTS := share/doc/ptxopt
INSTALLED_PROGRAMS := ptxopt ptxopt-ptxas ptxopt-nvcc
INSTALLED_DOCUMENTS := README.md LICENSE $(addprefix docs/,reading-a-report.md builds.md glossary.md formats.md \
    emulator.md library.md launching.md tuning.md) $(wildcard docs/*.schema.json)
INSTALLED_MANUALS := $(wildcard docs/*.1)
COMPLETED := ptxopt ptxopt-nvcc ptxopt-ptxas
COMPLETIONS := $(COMPLETED:%=share/bash-completion/completions/%) $(COMPLETED:%=share/zsh/site-functions/_%) \
    $(COMPLETED:%=share/fish/vendor_completions.d/%.fish)
TO := $(DESTDIR)$(PREFIX)

# Every file and link that `make install` makes, below PREFIX.
INSTALLED := $(INSTALLED_PROGRAMS:%=bin/%) bin/ptxopt-ptxas-blackwell $(INSTALLED_MANUALS:docs/%=share/man/man1/%) \
    $(COMPLETIONS) $(addprefix include/,ptxopt.h ptxopt-launch.h ptxopt-adapted.h) \
    $(addprefix lib/,ptxopt/cicc ptxopt/explain.py ptxopt/ptxopt-embedded.h \
    libptxopt-launch.a libptxopt-launch.so libptxopt.a \
    libptxopt.so.$(VERSION) $(SONAME) \
    $(addprefix ptxopt/,$(patsubst $(OUT)/%,%,$(EMULATED_LIBRARIES))) \
    libptxopt.so $(addprefix pkgconfig/,ptxopt.pc ptxopt-launch.pc) \
    cmake/ptxopt/ptxopt-config.cmake cmake/ptxopt/ptxopt-config-version.cmake)

# Options for the linker (wrappers/wrapped.def).
WRAPPED = $(shell sed -n 's/^WRAPPED(\(.*\))$$/-Wl,--wrap=\1/p' wrappers/wrapped.def)

# $(call fill,TEMPLATE,FILE)
fill = sed -e 's/@VERSION@/$(VERSION)/g' -e 's/@WRAPPED@/$(WRAPPED)/' -e 's/@SONAME@/$(SONAME)/g' \
    -e "s/@WRAPPED_LIST@/$$(echo '$(WRAPPED)' | tr ' ' ';')/" $(1) >$(2) && \
    chmod 644 $(2)

install: $(PROGRAM) $(WRAPPERS) $(PUBLIC) $(ADAPTER) $(EMBEDDED) $(PRELOAD) $(EMULATED_LIBRARIES)
	install -d $(sort $(dir $(COMPLETIONS:%=$(TO)/%)))
	install -d $(TO)/lib/ptxopt/emulated/static
	install -d $(TO)/bin $(TO)/include $(TO)/lib/pkgconfig $(TO)/lib/cmake/ptxopt $(TO)/share/man/man1 $(TO)/$(DOCUMENTS)
	install -s -m 755 $(PROGRAM) $(WRAPPERS) $(TO)/bin
	ln -sf ptxopt-ptxas $(TO)/bin/ptxopt-ptxas-blackwell
	install -m 755 wrappers/cicc $(TO)/lib/ptxopt
	install -m 644 $(EMBEDDED) python/ptxopt/explain.py $(TO)/lib/ptxopt
	install -s -m 644 $(filter-out %.a,$(EMULATED_LIBRARIES)) $(TO)/lib/ptxopt/emulated
	install -m 644 $(filter %.a,$(EMULATED_LIBRARIES)) $(TO)/lib/ptxopt/emulated/static
	strip --strip-debug -D $(TO)/lib/ptxopt/emulated/static/libcudart_static.a
	install -m 644 library/ptxopt.h runtime/ptxopt-launch.h runtime/ptxopt-adapted.h $(TO)/include
	install -m 644 $(ADAPTER) $(TO)/lib/libptxopt-launch.a
	strip --strip-debug -D $(TO)/lib/libptxopt-launch.a
	install -s -m 644 $(PRELOAD) $(TO)/lib
	install -m 644 $(OUT)/public/libptxopt.a $(TO)/lib/libptxopt.a
	strip --strip-debug -D $(TO)/lib/libptxopt.a
	install -s -m 644 $(OUT)/public/$(SONAME) $(TO)/lib/libptxopt.so.$(VERSION)
	ln -sf libptxopt.so.$(VERSION) $(TO)/lib/$(SONAME)
	ln -sf $(SONAME) $(TO)/lib/libptxopt.so
	$(call fill,library/ptxopt.pc.in,$(TO)/lib/pkgconfig/ptxopt.pc)
	$(call fill,runtime/ptxopt-launch.pc.in,$(TO)/lib/pkgconfig/ptxopt-launch.pc)
	$(call fill,library/ptxopt-config.cmake.in,$(TO)/lib/cmake/ptxopt/ptxopt-config.cmake)
	$(call fill,library/ptxopt-config-version.cmake.in,$(TO)/lib/cmake/ptxopt/ptxopt-config-version.cmake)
	for program in $(COMPLETED); do \
	    other=$${program#ptxopt}; other=$${other:+ptxopt$$other}; \
	    ./$(PROGRAM) completion bash $$other >$(TO)/share/bash-completion/completions/$$program && \
	    ./$(PROGRAM) completion zsh $$other >$(TO)/share/zsh/site-functions/_$$program && \
	    ./$(PROGRAM) completion fish $$other >$(TO)/share/fish/vendor_completions.d/$$program.fish || exit 1; \
	done
	chmod 644 $(COMPLETIONS:%=$(TO)/%)
	install -m 644 $(INSTALLED_MANUALS) $(TO)/share/man/man1
	install -m 644 $(INSTALLED_DOCUMENTS) $(TO)/$(DOCUMENTS)

uninstall:
	rm -f $(INSTALLED:%=$(TO)/%)
	rm -rf $(TO)/$(DOCUMENTS) $(TO)/lib/cmake/ptxopt $(TO)/lib/ptxopt

clean:
	rm -rf build ptxopt ptxopt-ptxas ptxopt-nvcc

format:
	tools/format-lines.sh $(shell find $(FOLDERS) tests tools -name '*.[ch]')

# Debian packages, in build/deb: from a copy of the tree, as git has it or would have it.
.PHONY: deb
deb:
	@rm -rf build/deb && mkdir -p build/deb/ptxopt-$(VERSION)
	@git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - 2>/dev/null | \
	    tar -x -C build/deb/ptxopt-$(VERSION)
	cd build/deb/ptxopt-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b $(DEB_OPTIONS)
	@rm -rf build/deb/ptxopt-$(VERSION)

# The Python package.
.PHONY: wheel
wheel: $(OUT)/public/$(SONAME)
	@cp $< $(OUT)/public/stripped.so && strip $(OUT)/public/stripped.so && mkdir -p $(OUT)/wheel/library && \
	    mv $(OUT)/public/stripped.so $(OUT)/wheel/library/$(SONAME)
	@python/make-wheel $(VERSION) $(OUT)/wheel/library/$(SONAME) $(OUT)/wheel

# For the test of the installation.
.PHONY: print-installed
print-installed:
	@echo $(INSTALLED)
