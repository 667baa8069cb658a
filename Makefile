PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types bench protos foreign foreign-more clean

demo: $(STAMP)
	$(BIN)/navi demo

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

BENCHES := coarse engine funnel overhead overload

# The yardsticks, one after another on a machine that does nothing else: about half an hour, bundles included.
bench: $(STAMP)
	$(BIN)/navi evaluate cost $(or $(BUNDLE),.demo/bundle)
	set -e; for name in $(BENCHES); do $(BIN)/navi bench $$name; done
	$(BIN)/navi bench table $(BENCHES:%=.bench/%.json)

protos: $(STAMP)
	$(BIN)/python -m navi.wire.generate

# Someone else's server and client, in an environment of their own (about half a minute and 500 MB): with it, the tests
# also measure that server by our load test, and ask our stub by that client.
foreign: .foreign/.installed

.foreign/.installed: tests/foreign/requirements.txt
	$(PYTHON) -m venv .foreign
	.foreign/bin/pip install --quiet --requirement tests/foreign/requirements.txt
	@touch $@

# TensorFlow's own messages (2 GB, a minute or two) and NVIDIA's perf_analyzer (Debian's apt-get is needed): with them,
# the tests also let those ask a server of ours.
foreign-more: .foreign/tensorflow/.installed .foreign/perf/perf_analyzer

.foreign/tensorflow/.installed: tests/foreign/requirements-tensorflow.txt
	$(PYTHON) -m venv .foreign/tensorflow
	.foreign/tensorflow/bin/pip install --quiet --requirement tests/foreign/requirements-tensorflow.txt
	@touch $@

.foreign/perf/perf_analyzer: tests/foreign/perf_analyzer.sh
	PYTHON=$(PYTHON) bash tests/foreign/perf_analyzer.sh .foreign/perf

# Rebuilt when what it is made from changes; Python sources are read in place.
$(STAMP): pyproject.toml constraints.txt $(wildcard kernels/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Navi needs Python 3.11 or newer, this is " + sys.version)'
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
		{ echo "Navi needs a C++ compiler (Debian: apt-get install g++)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[cpu,torch,loadtest,otel,dev]'
	@touch $@

clean:
	rm -rf $(VENV) .foreign build .demo .bench
