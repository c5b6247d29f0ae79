# Two commands matter: `make demo` and `make test`. Both set up everything they need on a machine with Python 3.11+ and make.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
SEMGREP := $(VENV)-semgrep/bin/semgrep
SECONDS ?= 600
# Two processes suit a small machine; `make test JOBS=8` for a larger one.
JOBS    ?= 2

.PHONY: demo test quick lint types layers unit real fuzz bench traces corpus docs pin clean help

help:            ## what can be made
	@sed -n 's/^\([a-z]*\): .*## /\1\t/p' $(MAKEFILE_LIST)

$(READY): pyproject.toml requirements/dev.in constraints.txt
	@echo "setting up $(VENV) (once, a minute or two)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fiferail needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -r requirements/dev.in -e '.[testing,audit,connect,metrics]'
	@touch $@

demo: $(READY)   ## the story in seconds, on the embedded server
	@$(BIN)/fiferail demo

test: lint real unit  ## everything: lint, types, layers, unit, conformance, a fixed set of fuzzer seeds, real clients

quick: lint      ## the same without the real server
	@$(BIN)/pytest -q -n $(JOBS) --dist loadgroup --fiferail-no-real

lint: $(READY)   ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check src tests benchmarks scripts examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports

real: $(READY)   ## build kube-apiserver, etcd and kubectl once, into the user's cache
	@$(BIN)/python -m fiferail.apiserver.real build

unit: $(READY)
	@$(BIN)/pytest -q -n $(JOBS) --dist loadgroup

fuzz: $(READY) real  ## the differential fuzzer, the oracle on both servers, the hostile ones: make fuzz SECONDS=600
	@$(BIN)/python -m fiferail.testing.differential --seconds $(SECONDS)
	@$(BIN)/python -m tests.oracle --seconds $(SECONDS) --seed 100000
	@$(BIN)/python -m tests.oracle --seconds $(SECONDS) --seed 100000 --server real
	@$(BIN)/python tests/audit/source_fuzzer.py --seconds $(SECONDS)
	@$(BIN)/python -m fiferail.testing.differential.hostile --seconds $(SECONDS)

bench: $(READY) real $(SEMGREP)  ## every benchmark; writes docs/benchmarks.md and docs/benchmarks-audit.md
	@$(BIN)/python -m benchmarks
	@$(BIN)/python benchmarks/audit_vs_semgrep.py --semgrep $(SEMGREP) --write docs/benchmarks-audit.md

# What the auditor is compared with is no dependency: it has an environment of its own.
$(SEMGREP):
	@$(PYTHON) -m venv $(VENV)-semgrep
	@$(VENV)-semgrep/bin/python -m pip install -q --disable-pip-version-check semgrep

traces: $(READY) real  ## the checker on suites of Go operators: downloads, compiles and runs them once, half an hour (needs go)
	@$(BIN)/python -m benchmarks traces

corpus: $(READY)  ## the auditor against its labels in real operators (needs go)
	@$(BIN)/python tests/audit/corpus/corpus.py
	@$(BIN)/python tests/audit/corpus/corpus.py --held-out
	@$(BIN)/python tests/audit/corpus/python_corpus.py
	@$(BIN)/python tests/audit/corpus/python_corpus.py --held-out

docs: $(READY) real  ## regenerate the generated pages
	@$(BIN)/python scripts/generate_docs.py

pin: $(READY)    ## take the newest versions into constraints.txt
	@$(BIN)/python -m pip install -q -U -r requirements/dev.in -e '.[testing,audit,connect,metrics]'
	@{ echo "# Versions the tests run with, written by 'make pin'."; $(BIN)/python -m pip freeze --exclude-editable | grep -v ' @ ' | LC_ALL=C sort -f; } > constraints.txt

clean:           ## remove what make made here (not the cached real server)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist site
