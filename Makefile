PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types bench protos clean

demo: $(STAMP)
	$(BIN)/navi demo

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/navi evaluate cost $(or $(BUNDLE),.demo/bundle)

protos: $(STAMP)
	$(BIN)/python -m navi.wire.generate

# Rebuilt when what it is made from changes; Python sources are read in place.
$(STAMP): pyproject.toml constraints.txt $(wildcard kernels/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Navi needs Python 3.11 or newer, this is " + sys.version)'
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
		{ echo "Navi needs a C++ compiler (Debian: apt-get install g++)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[cpu,torch,loadtest,otel,dev]'
	@touch $@

clean:
	rm -rf $(VENV) build .demo
