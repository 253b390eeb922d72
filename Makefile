# make            ./ptxopt
# make demo       the demonstration (tools/demo.sh)
# make test       everything that can be tested on this machine; ONLY=GLOB runs the jobs whose name matches
# make asan       the same under the address and undefined-behaviour sanitizers, built in build/asan
# make fuzz       the fuzzers of tests/fuzz; TIME=SECONDS in all, FUZZ="HARNESS...", JOBS=N at once (docs/fuzzing.md)
# make corpus     every kernel of corpus/ through ptxopt, the assembler and the emulator, against the accepted figures
# make corpus-report  the same, and build/corpus/report.html
# make gpu-run    what `tools/corpus-run --gpu` needs: the same launch files on a GPU
# make check-gpu  the emulator's instructions against the GPU at hand; ACCEPT=FILE keeps its answers
# make bench-NAME the measurement bench/NAME
# make install    PREFIX=/usr/local, DESTDIR=
# make format     clang-format over the lines that are too long
#
# On a Debian machine the first call installs what is missing (tools/deps.sh).

PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
FLEX ?= flex
BISON ?= bison

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

FOLDERS := support ir ir/table ir/body ir/ssa ir/text lexer parser analysis machine opt emit assembler \
    emulator emulator/semantics emulator/state emulator/execute emulator/decode cli

# Generated C is made once, in build/, and shared by both variants; objects and programs lie in $(OUT).
GEN := build
ifeq ($(VARIANT),asan)
OUT := build/asan
PROGRAM := $(OUT)/ptxopt
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifeq ($(VARIANT),fuzz)
# clang with libFuzzer if there is one, else the compiler at hand and tests/fuzz/driver.c.
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

WARNINGS := -Wall -Wextra -Werror
STANDARD := -std=gnu11
# Defined as empty, so that a file which defines it for itself says the same.
ALL_CPPFLAGS := -I. -I$(GEN) -D_GNU_SOURCE= $(CPPFLAGS)
# No fused multiply-adds that the source does not ask for: the emulator's results are the same on every host.
ALL_CFLAGS = $(STANDARD) $(WARNINGS) $(CFLAGS) -ffp-contract=off -fPIC $(SANITIZE)
ALL_LDFLAGS = $(CFLAGS) $(SANITIZE) $(LDFLAGS)
LIBRARIES := -ljansson -ldl -lm -lpthread

# Sources.

# ir/table/make_ops.c runs while building; it is no part of the program.
SOURCES := $(filter-out ir/table/make_ops.c,$(wildcard $(FOLDERS:%=%/*.c)))
GENERATED_SOURCES :=
GENERATED_HEADERS :=
ifneq ($(wildcard lexer/ptx.l),)
GENERATED_SOURCES += lexer/ptx_lexer.c
GENERATED_HEADERS += $(GEN)/lexer/ptx_lexer.h
endif
ifneq ($(wildcard parser/ptx.y),)
GENERATED_SOURCES += parser/ptx_parser.c
GENERATED_HEADERS += $(GEN)/parser/ptx_parser.h
endif
ifneq ($(wildcard ir/table/make_ops.c),)
GENERATED_HEADERS += $(GEN)/ir/table/ops_enum.h $(GEN)/ir/table/ops_tables.inc
endif

SOURCE_OBJECTS := $(SOURCES:%.c=$(OUT)/%.o)
GENERATED_OBJECTS := $(GENERATED_SOURCES:%.c=$(OUT)/%.o)
MAIN_OBJECT := $(OUT)/cli/main.o
LIBRARY_OBJECTS := $(filter-out $(MAIN_OBJECT),$(SOURCE_OBJECTS) $(GENERATED_OBJECTS))

UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(OUT)/tests/%)
# What instructions have to give, for the tests test_oracle_* and for check-gpu.
ORACLE_SOURCES := $(wildcard tests/oracle/*.c)
ORACLE_OBJECTS := $(ORACLE_SOURCES:%.c=$(OUT)/%.o)
ORACLE_TESTS := $(filter $(OUT)/tests/test_oracle_%,$(UNIT_TESTS))

.PHONY: all tests test asan demo corpus corpus-report install clean format FORCE
all: $(PROGRAM)
tests: $(UNIT_TESTS)

# What has to be there before anything is built.

$(GEN)/deps.stamp: tools/deps.sh
	@tools/deps.sh
	@mkdir -p $(@D) && touch $@

# Changes when the compiler, its flags or the list of sources do, so that none of the three leaves stale files.
$(OUT)/configuration: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)' $(SOURCES) $(GENERATED_SOURCES) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Generated sources.

# flex has no option that makes its warnings errors: anything it says is one.
$(GEN)/lexer/ptx_lexer.c $(GEN)/lexer/ptx_lexer.h &: lexer/ptx.l $(GEN)/deps.stamp
	@mkdir -p $(GEN)/lexer
	@rm -f $(GEN)/lexer/ptx_lexer.c
	$(FLEX) --header-file=$(GEN)/lexer/ptx_lexer.h -o $(GEN)/lexer/ptx_lexer.c lexer/ptx.l 2>$(GEN)/lexer/flex.log || \
	    { cat $(GEN)/lexer/flex.log >&2; exit 1; }
	@if [ -s $(GEN)/lexer/flex.log ]; then cat $(GEN)/lexer/flex.log >&2; rm -f $(GEN)/lexer/ptx_lexer.c; exit 1; fi

$(GEN)/parser/ptx_parser.c $(GEN)/parser/ptx_parser.h &: parser/ptx.y $(GEN)/deps.stamp
	@mkdir -p $(GEN)/parser
	$(BISON) -Wall -Werror --defines=$(GEN)/parser/ptx_parser.h -o $(GEN)/parser/ptx_parser.c parser/ptx.y

$(GEN)/ir/table/make_ops: ir/table/make_ops.c $(GEN)/deps.stamp
	@mkdir -p $(@D)
	$(CC) $(STANDARD) $(WARNINGS) $(ALL_CPPFLAGS) -O1 -MMD -MP -MT $@ -MF $@.d -o $@ $<

$(GEN)/ir/table/ops_tables.inc: $(GEN)/ir/table/make_ops
	$< >$@

$(GEN)/ir/table/ops_enum.h: $(GEN)/ir/table/make_ops
	$< --enum >$@

# Objects and programs.

# The generated headers come first on a fresh tree; afterwards the dependency files say who needs which.
$(SOURCE_OBJECTS): $(OUT)/%.o: %.c $(OUT)/configuration $(GEN)/deps.stamp | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(GENERATED_OBJECTS): $(OUT)/%.o: $(GEN)/%.c $(OUT)/configuration $(GEN)/deps.stamp | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/libptxopt.a: $(LIBRARY_OBJECTS) $(OUT)/configuration
	@rm -f $@
	$(AR) rcs $@ $(LIBRARY_OBJECTS)

$(PROGRAM): $(MAIN_OBJECT) $(OUT)/libptxopt.a
	$(CC) $(ALL_LDFLAGS) -o $@ $(MAIN_OBJECT) $(OUT)/libptxopt.a $(LIBRARIES)

$(ORACLE_OBJECTS): $(OUT)/%.o: %.c $(OUT)/configuration $(GEN)/deps.stamp | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/liboracle.a: $(ORACLE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(ORACLE_TESTS): $(OUT)/liboracle.a
$(ORACLE_TESTS): ORACLE_LIBRARIES := $(OUT)/liboracle.a -lmpfr -lgmp

$(UNIT_TESTS): $(OUT)/tests/%: tests/unit/%.c $(OUT)/libptxopt.a $(OUT)/configuration | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MT $@ -MF $@.d $(LDFLAGS) -o $@ $< \
	    $(ORACLE_LIBRARIES) $(OUT)/libptxopt.a -lcmocka $(LIBRARIES)

-include $(ORACLE_OBJECTS:.o=.d)
# Runs launch files on a GPU. jansson goes into the program where its archive is there, so that it runs on machines that
# have a driver and nothing else.
JANSSON_ARCHIVE := $(wildcard /usr/lib/*/libjansson.a /usr/lib/libjansson.a /usr/local/lib/libjansson.a)
GPU_RUN := $(OUT)/gpu-run
$(GPU_RUN): $(addprefix tools/gpu-,run.c driver.c images.c driver.h images.h) $(OUT)/libptxopt.a | $(GENERATED_HEADERS)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(OUT)/libptxopt.a \
	    $(firstword $(JANSSON_ARCHIVE) -ljansson) -ldl -lm -lpthread

# The plain C references of all kernels.
REFERENCES := $(OUT)/corpus-references.so
$(REFERENCES): $(wildcard corpus/*/*.ref.c) corpus/reference.h $(OUT)/configuration
	$(CC) -std=gnu11 -O2 -fPIC -shared -ffp-contract=off $(CPPFLAGS) -I. -o $@ $(filter %.ref.c,$^) -lm

-include $(SOURCE_OBJECTS:.o=.d) $(GENERATED_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) $(GEN)/ir/table/make_ops.d

# What one does with it.

# The emulator against the GPU at hand; ACCEPT=tests/gpu/NAME.answers keeps what the GPU answers.
$(OUT)/check-gpu: tests/gpu/check_gpu.c tools/gpu-driver.c tools/gpu-driver.h $(OUT)/liboracle.a $(OUT)/libptxopt.a
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter-out %.h,$^) -lmpfr -lgmp $(LIBRARIES)

.PHONY: check-gpu
check-gpu: $(OUT)/check-gpu
	$< $(if $(ACCEPT),-a $(ACCEPT))

test: $(OUT)/check-gpu
test: $(PROGRAM) gpu-run $(UNIT_TESTS)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) CC='$(CC)' ONLY='$(ONLY)' tests/run-tests $(UNIT_TESTS)

asan:
	@$(MAKE) VARIANT=asan test

demo: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/demo.sh

# The fuzzers: one program, which takes its name for the harness (tests/fuzz/harness.c).

ifeq ($(VARIANT),fuzz)
FUZZ_HARNESSES := $(addprefix $(OUT)/bin/,lexer parser text body passes meaning launch)
FUZZ_SOURCES := $(filter-out tests/fuzz/dictionary.c $(if $(filter libfuzzer,$(FUZZ_MODE)),tests/fuzz/driver.c), \
    $(wildcard tests/fuzz/*.c))
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(OUT)/%.o)

$(FUZZ_OBJECTS) $(OUT)/tests/fuzz/dictionary.o: $(OUT)/%.o: %.c $(OUT)/configuration | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/bin/fuzz: $(FUZZ_OBJECTS) $(OUT)/libptxopt.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(filter libfuzzer,$(FUZZ_MODE)),-fsanitize=fuzzer) -o $@ $(FUZZ_OBJECTS) \
	    $(OUT)/libptxopt.a $(LIBRARIES)

$(FUZZ_HARNESSES): $(OUT)/bin/fuzz
	@ln -sf fuzz $@

$(OUT)/dictionary.txt: $(OUT)/tests/fuzz/dictionary.o $(OUT)/tests/fuzz/words.o $(OUT)/libptxopt.a
	$(CC) $(ALL_LDFLAGS) -o $(OUT)/bin/dictionary $^ $(LIBRARIES)
	$(OUT)/bin/dictionary >$@

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_HARNESSES) $(OUT)/dictionary.txt
	@echo $(FUZZ_MODE) >$(OUT)/mode

-include $(FUZZ_OBJECTS:.o=.d)
endif

.PHONY: fuzz
fuzz:
	@TIME='$(TIME)' RUNS='$(RUNS)' JOBS='$(JOBS)' SEED='$(SEED)' INSTALL=1 tests/fuzz/run $(FUZZ)

.PHONY: gpu-run
gpu-run: $(PROGRAM) $(GPU_RUN) $(REFERENCES)

corpus: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/corpus-run

corpus-report: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) tools/corpus-run; status=$$?; BUILD=$(OUT) tools/corpus-report && \
	    exit $$status

BENCHMARKS := $(patsubst bench/%,bench-%,$(wildcard bench/*))
.PHONY: $(BENCHMARKS)
$(BENCHMARKS): bench-%: $(PROGRAM)
	@PTXOPT=$(abspath $(PROGRAM)) BUILD=$(OUT) bench/$*

install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/ptxopt
	if [ -f docs/ptxopt.1 ]; then install -D -m 644 docs/ptxopt.1 $(DESTDIR)$(PREFIX)/share/man/man1/ptxopt.1; fi

clean:
	rm -rf build ptxopt

format:
	tools/format-lines.sh $(wildcard $(FOLDERS:%=%/*.[ch]) tests/unit/*.[ch] \
	    tests/oracle/*.[ch] tests/gpu/*.c tests/machine/*.c tests/tools/*.[ch])
