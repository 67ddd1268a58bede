# `make demo` and `make test` set up everything they need in .venv and then run.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find core src experiments -type f -not -name '*.pyc')
CORE := $(shell find core -name '*.cpp' -o -name '*.hpp')
# One build of the core serves every target; what it was compiled with stays in .venv.
PIP := -m pip install --quiet --disable-pip-version-check
BUILD := --no-build-isolation --config-settings=build-dir=build/release --config-settings=cmake.define.DUALSTRUCT_WERROR=$(or $(WERROR),OFF)
# A file's tests stay together: some share a cluster or a browser. tests/conftest.py says in which order.
FILES := --dist loadfile --no-loadscope-reorder
TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.4' cmake ninja

.PHONY: demo test fuzz fuzz-sanitized kills soak mutants lint format docs gallery look terminal-picture sanitize tsan flips text-check export-check wasm wheel-test clean \
	experiments experiments-quick bench bench-chunking bench-confidence bench-crfsuite bench-defaults bench-distilling bench-distributed bench-export bench-features \
	bench-clusters bench-grobid bench-growth bench-label bench-large bench-opening bench-papers bench-parsing bench-partial bench-phases bench-pipeline bench-sizes bench-solvers bench-suspects bench-text bench-tuning

demo: .venv/installed
	$(BIN)/dualstruct demo

# One process more than there are cores: some tests wait, for a cluster or a browser.
test: .venv/installed-test
	$(BIN)/python tests/loopback.py $(BIN)/python -m pytest --numprocesses $$($(BIN)/python -c 'import os; print(os.cpu_count() + 1)') \
		$(FILES) tests --pyargs dualstruct

# Random cases for the tests of hypothesis, until the time is over: `make test` always tries the same.
FUZZ_SECONDS ?= 300
fuzz: .venv/installed-fuzz
	$(BIN)/python tests/loopback.py $(BIN)/python tests/fuzz.py --seconds $$(($(FUZZ_SECONDS) / 2))
	$(BIN)/python tests/loopback.py $(BIN)/python tests/hostile_inputs.py --seconds $$(($(FUZZ_SECONDS) / 2))

# Training and saving, killed at random instants.
KILLS ?= 1000
kills: .venv/installed-test
	$(BIN)/python tests/kills.py --kills $(KILLS)
	$(BIN)/python tests/label_kills.py --kills $(KILLS)

# The page and half an hour of clients, good and bad: it serves and does not grow.
SOAK_SECONDS ?= 1800
soak: .venv/installed-test
	$(BIN)/python tests/loopback.py $(BIN)/python tests/soak.py --seconds $(SOAK_SECONDS)

# Hostile inputs to a core under AddressSanitizer and UBSan.
fuzz-sanitized: build/address,undefined/installed
	$(SANITIZED) tests/hostile_inputs.py --seconds $(FUZZ_SECONDS)

# Small changes that some test ought to notice: the share that none does must be small. MUTANTS says
# how many of each file (or "all"), WHERE which files.
MUTANTS ?= 5
mutants: .venv/installed-test
	nice $(BIN)/python tests/loopback.py $(BIN)/python tests/mutants.py --number $(MUTANTS) $(WHERE)

lint: .venv/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CORE)
	$(BIN)/python tests/rooms.py
	$(BIN)/python tests/prose.py
	$(BIN)/python core/python/stubs.py --check
	$(BIN)/mypy src experiments
	$(BIN)/lint-imports

format: .venv/installed-lint
	$(BIN)/clang-format -i $(CORE)
	$(BIN)/python core/python/stubs.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, in build/site. It is made from the source: no compiler is needed (but npm, for KaTeX).
docs: .venv/docs
	$(BIN)/python docs/making/build.py

# The examples, their pictures and what they print, into docs/gallery.
gallery: .venv/installed-test
	$(BIN)/python examples/make_gallery.py

# The picture of a terminal in README.md, from a real run.
terminal-picture: .venv/installed-test
	$(BIN)/python docs/making/terminal.py

# Pictures of the site at two widths in two colour schemes, in build/looks, and a search in it from disk.
look: .venv/installed-test docs
	$(BIN)/python docs/making/look.py

# What starts processes of its own, or uses the core only as the other tests do.
NOT_SANITIZED := \
	cli/% \
	compat/test_crfsuite_pickles.py \
	core/test_threads.py \
	data/test_shards.py \
	data/test_writing.py \
	datasets/% \
	distributed/test_faults.py \
	distributed/test_lost_files.py \
	distributed/test_recipes.py \
	distributed/test_workers.py \
	drawing/% \
	estimators/test_scikit_learn.py \
	estimators/test_scikit_learn_checks.py \
	experiments/% \
	exporting/% \
	labelling/% \
	labels/% \
	metrics/% \
	mistakes/% \
	plugins/% \
	project/% \
	serving/% \
	suspecting/% \
	tasks/test_large_workers.py \
	texts/% \
	training/test_progress.py \
	training/test_training_report.py \
	tuning/% \
	workers/%

# Python with a core under AddressSanitizer and UBSan, which stands before the usual one.
SANITIZED := PYTHONPATH=$(CURDIR)/build/address,undefined/package \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 $(BIN)/python

# The core under AddressSanitizer and UBSan. Whether results are right is shown by `make test`: fewer random cases
# visit the same code.
sanitize: build/address,undefined/installed
	DUALSTRUCT_SHARE_OF_CASES=0.2 $(SANITIZED) -m pytest --numprocesses auto $(FILES) -k "not instruction and not little_memory" -p no:cacheprovider \
		$(filter-out $(addprefix tests/,$(NOT_SANITIZED)),$(wildcard tests/*/test_*.py))

# The core for browsers and Node, which comes with the package where clang can compile it (core/wasm/build.cmake).
wasm: .venv/installed
	@ls -l build/release/wasm/core.wasm

# 10,000 flipped bits in every kind of model file and checkpoint: all are refused.
FLIPS ?= 10000
flips: .venv/installed-test
	FLIPS=$(FLIPS) $(BIN)/python -m pytest tests/data/test_model_files.py -k flipped

# 100,000 random texts of all of Unicode through the tokenizer and every format, and back: half an hour.
TEXTS ?= 100000
text-check: .venv/installed-test
	$(BIN)/python tests/text_check.py --texts $(TEXTS)

# 100,000 random sentences of all scripts through exported models, beside the core.
SENTENCES ?= 100000
export-check: .venv/installed-test
	$(BIN)/python tests/export_check.py --sentences $(SENTENCES)

# What runs on several threads, under ThreadSanitizer: every loop of the core that does (`grep -rn for_each_ core`), and
# what several threads of Python may share. It sees the core alone: the interpreter is as it is.
THREADED := \
	clustering/test_brown.py \
	compat/test_compat_pycrfsuite.py \
	core/test_threads.py \
	estimators/test_tagger.py \
	features/test_pair_features.py \
	features/test_template_features.py \
	solvers/test_certificates.py \
	solvers/test_smooth.py \
	solvers/test_solvers.py \
	structures/test_chain.py \
	structures/test_custom.py \
	structures/test_factor_graph.py \
	tasks/test_large.py

tsan: build/thread/installed
	PYTHONPATH=$(CURDIR)/build/thread/package LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1 \
	$(BIN)/python -m pytest -p no:cacheprovider \
		-k "(claimed or dropped or thread) and not bounded and not fork and not program and not cannot_be_started" \
		$(addprefix tests/,$(THREADED))

# A wheel in a new environment, without a compiler in reach: WHEEL_TESTS says which tests.
WHEEL_TESTS ?= tests
wheel-test: .venv/tools
	rm -rf build/wheels build/wheel-test
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-deps $(BUILD) -w build/wheels .
	$(PYTHON) -m venv build/wheel-test
	build/wheel-test/bin/python $(PIP) --only-binary :all: "$$(ls build/wheels/*.whl)[test]"
	for tool in bash cat cp curl grep head sleep; do ln -s "$$(command -v $$tool)" build/wheel-test/bin/; done
	mkdir build/wheel-test/run && cp -r *.md CITATION.cff Makefile pyproject.toml \
		tests docs examples recipes benchmarks src build/wheel-test/run  # src is read, not imported
	cd build/wheel-test/run && env -u CC -u CXX PATH="$(CURDIR)/build/wheel-test/bin" \
		../bin/python -m pytest -p no:cacheprovider --numprocesses auto $(FILES) $(WHEEL_TESTS)

# Ours and the peers: several hours; a tool is stopped on a corpus after half an hour. Results are kept
# in benchmarks/peers/outputs.
bench: .venv/installed-bench
	$(BIN)/python benchmarks/peers/run.py --page docs/benchmarks.md

bench-chunking: .venv/installed-bench
	$(BIN)/python benchmarks/chunking.py

# Every loss, C and averaging that could be the default, taggers and parsers, on held-out training data: half an
# hour of a core. It can be interrupted and continued; DEFAULTS="--corpora twpos usaddress" is the cheap part.
bench-defaults: .venv/installed-bench
	$(BIN)/python benchmarks/defaults.py $(DEFAULTS)

bench-growth: .venv/installed-bench
	$(BIN)/python benchmarks/growth.py

bench-parsing: .venv/installed-bench
	$(BIN)/python benchmarks/parsing.py

# Ours and UDPipe from raw text to trees; UDPipe takes half a day, SHARE=0.1 a tenth of that.
bench-pipeline: .venv/installed-bench
	$(BIN)/python benchmarks/pipeline.py $(if $(SHARE),--share $(SHARE))
	$(BIN)/python benchmarks/pipeline.py --corpus danish $(if $(SHARE),--share $(SHARE))

# python-crfsuite and its look-alike: training, opening, tagging. Two minutes.
bench-crfsuite: .venv/installed-bench
	$(BIN)/python benchmarks/crfsuite.py

bench-confidence: .venv/installed-bench
	$(BIN)/python benchmarks/confidence.py

# Brown clusters of ten million tokens: two minutes of a core. Documents and stages: ten minutes; TEST=--test has
# the test data's scores instead, in a few minutes.
bench-clusters: .venv/installed-bench
	$(BIN)/python benchmarks/clusters.py
	$(BIN)/python benchmarks/documents.py $(TEST)

bench-label: .venv/installed-bench
	$(BIN)/python benchmarks/labelling.py --keep build/label.json --draw build/label.svg
	$(BIN)/python benchmarks/label_latency.py
	$(BIN)/python tests/annotators.py --annotators 20 --seconds 60

# Model files beside CRFsuite's, and a compressed one.
bench-sizes: .venv/installed-bench
	$(BIN)/python benchmarks/sizes.py

# What a program that opens a model takes, in CPU time and memory.
bench-opening: .venv/installed-bench
	$(BIN)/python benchmarks/opening.py

bench-suspects: .venv/installed-bench
	$(BIN)/python benchmarks/suspects.py

# Tokens a second of the core and of what it is exported to, on chunking: a minute.
bench-export: .venv/installed-bench
	$(BIN)/python benchmarks/exporting.py

bench-text: .venv/installed-bench
	$(BIN)/python benchmarks/text.py

# Held-out scores of presets and richer features; TEST=--test adds the test data's.
bench-features: .venv/installed-bench
	$(BIN)/python benchmarks/features.py $(TEST)

bench-grobid: .venv/installed-bench
	$(BIN)/python benchmarks/grobid.py

# The default, tuned and the best peer on the ten tasks of docs/benchmarks.md: forty minutes of two cores.
# It can be interrupted and continued; TUNING=--held-out touches no test data.
bench-tuning: .venv/installed-bench
	$(BIN)/python benchmarks/tuning.py $(TUNING)

# Another system's labels in a small tagger; most labels unknown: five minutes each.
bench-distilling: .venv/installed-bench
	$(BIN)/python benchmarks/distilling.py
bench-partial: .venv/installed-bench
	$(BIN)/python benchmarks/partial.py

# Training on a file larger than memory.
bench-large: .venv/installed-bench
	$(BIN)/python benchmarks/large.py --tokens 10000000 --passes 2 --limit 1.5
	$(BIN)/python benchmarks/large.py --workers 2 --tokens 2000000 10000000 --passes 10 --restart

# Solvers beside themselves as published, and what sums over second-order trees cost.
bench-papers: .venv/installed-bench
	$(BIN)/python benchmarks/published.py --sentences 1000 --seconds 6
	$(BIN)/python benchmarks/second_order.py

bench-distributed: .venv/installed-bench
	$(BIN)/python benchmarks/distributed.py

# Where a pass of DCD spends its time, into docs/solvers.md; and what several rounds on excerpts save.
bench-phases: .venv/installed-bench
	$(BIN)/python benchmarks/phases.py --page docs/solvers.md
	$(BIN)/python benchmarks/rounds.py

bench-solvers: .venv/installed-bench
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/smooth.py

# A small version of every paper's experiment, on the corpus that comes with dualstruct.
# `make --jobs 2 experiments-quick` runs two at a time.
experiments-quick: .venv/installed-experiments
	names="$$($(BIN)/dualstruct experiment | sed 's/ .*/-quick/')" && test "$$names" && $(MAKE) --no-print-directory $$names

%-quick: .venv/installed-experiments
	$(BIN)/dualstruct experiment $* --quick --out build/experiments

# Every paper's experiment on the whole corpora in the folder DATA, with five seeds, and the page written from the
# results: docs/experiments.md says how many CPU hours. `make --jobs 2 experiments` runs two at a time. After an
# interruption the same command resumes; OUT has the results.
DATA ?= $(or $(DUALSTRUCT_DATA),../shared/data)
OUT ?= results
SIZE_balamurugan-2011 := --seconds 60
experiments: .venv/installed-experiments
	names="$$($(BIN)/dualstruct experiment | sed 's/ .*/-full/')" && test "$$names" && $(MAKE) --no-print-directory $$names
	$(BIN)/dualstruct experiment --page docs/experiments.md --out '$(OUT)'

%-full: .venv/installed-experiments
	$(BIN)/dualstruct experiment $* --data '$(DATA)' --out '$(OUT)' $(SIZE_$*)

.venv/tools:
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) $(TOOLS)
	touch $@

.venv/docs: .venv/tools pyproject.toml
	$(BIN)/python $(PIP) 'pip>=25.1'
	$(BIN)/python $(PIP) --group docs
	touch $@

.venv/installed: .venv/tools $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(PIP) $(BUILD) .
	touch $@

.venv/installed-%: .venv/tools $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(PIP) $(BUILD) '.[$*]'
	touch $@

# The package once more, with a core under the sanitizers of its folder's name; all else is that of .venv.
build/%/installed: .venv/installed-test
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(PIP) --no-deps --no-build-isolation --upgrade --target build/$*/package \
		--config-settings=build-dir=build/$* --config-settings=cmake.define.DUALSTRUCT_WASM=OFF \
		--config-settings=cmake.define.DUALSTRUCT_SANITIZE=$* .
	touch $@

clean:
	rm -rf .venv build dist
