# Two commands from a fresh clone: `make demo` (the main job on the embedded default; `make demo QUICK=1`: a part of it,
# experiments/quick.yaml) and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# DVC does not put its own environment on PATH, and the stages call `conjoin`.
RUN := PATH="$(CURDIR)/$(BIN):$$PATH"
TESTS := $(RUN) python -m pytest --numprocesses 2 --dist loadfile

# Fails where the torch that was installed is the build for NVIDIA's GPUs.
ASKS_FOR_CUDA := import sys; from importlib.metadata import requires; \
	sys.exit(sys.platform == "linux" and any("nvidia" in each for each in requires("torch") or ()))

.PHONY: demo test test-long check setup lock clean

demo: setup
	$(RUN) conjoin repro $(if $(QUICK),quick,demo)
	@echo
	@$(RUN) conjoin report data/world --params params.yaml
	@echo "Read what was generated: $(BIN)/conjoin browse data/world/candidates/attested-bert/seed-0"

test: setup check
	$(TESTS) -m "not long"

# Kills, parsers that learn, whole treebanks, tutorials.
test-long: setup
	$(TESTS) -m long

check: setup
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy

setup: $(VENV)/.installed

# Editable as a folder on the path (compat): in the folder above a clone called conjoin, Python would otherwise take
# the clone for the package.
# A build of torch for the CPU that lies in pip's own folder of wheels (find-links) goes first: pip prefers the
# index's files where hashes are asked for, and the index has the build for GPUs, of three gigabytes.
# Built by the setuptools of requirements.lock: in isolation pip would fetch one that nobody pinned.
$(VENV)/.installed: requirements.lock requirements-cpu.lock requirements-cuda.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("conjoin needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --no-index --require-hashes --requirement requirements-cpu.lock 2>/dev/null || :
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(BIN)/python -c '$(ASKS_FOR_CUDA)' || \
		$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements-cuda.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-index --no-build-isolation --config-settings editable_mode=compat --editable .
	touch $@

# All lock files anew, with the versions that requirements.lock has; uv is needed for nothing else.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet uv
	.venv-lock/bin/python benchmarks/lock.py .venv-lock/bin/uv
	rm -rf .venv-lock

clean:
	rm -rf $(VENV)
