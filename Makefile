# Needs Python >= 3.11, make and git. Everything else comes from the hashed locks, into .tools and .venv;
# simulator environments go to $PROCTOR_HOME (default ~/.local/share/proctor). Nothing is installed twice.

ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)
endif

UV := .tools/bin/uv
BIN := .venv/bin
ENVIRONMENTS := aloha metaworld tabletop
SIMULATORS := libero robosuite
LONG_SIMULATORS := $(SIMULATORS) libero-plus
INTEROP := evostudio openpi vla-eval xvla
DEMO_TASKS := press-button-at-dusk,close-painted-drawer,turn-wide-dial,flip-lever-in-clutter,place-can-at-dusk,sort-two-blocks
BENCHES := roundtrip overhead observe queue batching startup
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11
INSTALL := $(UV) pip install --quiet --python $(BIN)/python

.PHONY: demo test slow sims unit lint format bench environments graphics python lock clean
.DELETE_ON_ERROR:

demo: graphics  ## Examine the bundled policies on three benchmarks, from nothing.
	@$(MAKE) --no-print-directory environments
	@rm -rf runs/demo-aloha runs/demo-metaworld runs/demo-oracle runs/demo-baseline
	$(BIN)/proctor bench eval aloha-sim-v1 --run demo-aloha --episodes 10 --workers 2 --record first \
	  --policy examples/policies/aloha_expert.py:AlohaExpert --policy-arg look=images.top --policy-arg blur_mm=12
	$(BIN)/proctor bench eval metaworld-mt10-v1 --run demo-metaworld --episodes 2 --workers 2 --record first \
	  --policy examples/policies/metaworld_expert.py:MetaworldExpert --policy-python env:metaworld
	$(BIN)/proctor bench eval tabletop-heldout-v1 --run demo-oracle --episodes 1 --workers 2 \
	  --policy examples/policies/tabletop_oracle.py:TabletopOracle --policy-python env:tabletop
	$(BIN)/proctor bench eval tabletop-heldout-v1 --run demo-baseline --episodes 1 --workers 2 --tasks $(DEMO_TASKS) \
	  --policy examples/baseline/policy.py:TabletopBaseline --policy-python env:tabletop
	$(BIN)/proctor run compare demo-oracle demo-baseline

test: graphics  ## Everything that must pass before a change lands.
	@$(MAKE) --no-print-directory lint environments
	@$(BIN)/proctor env build $(SIMULATORS)
	$(BIN)/pytest -q -n 2 -m "not slow and not sims"

slow: graphics  ## The tests that take minutes: floods in real time.
	@$(MAKE) --no-print-directory .venv/dev.stamp environments
	$(BIN)/pytest -q -n 2 -m slow

sims: graphics  ## The tests that take minutes in a simulator: whole episodes beside upstream's, oracles, conformance.
	@$(MAKE) --no-print-directory .venv/dev.stamp environments
	@$(BIN)/proctor env build $(LONG_SIMULATORS)
	$(BIN)/pytest -q -n 2 -m sims

unit: .venv/dev.stamp  ## The tests that start no process and no simulator.
	$(BIN)/pytest -q -n 2 -m "not sim and not sims and not process and not slow"

lint: .venv/dev.stamp  ## Style, types, and who may import whom.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev.stamp  ## Apply the style.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: graphics  ## Measure; benches/README.md says what the numbers mean.
	@$(MAKE) --no-print-directory .venv/dev.stamp environments
	@for name in $(BENCHES); do $(BIN)/python benches/$$name.py --json || exit 1; done

environments: .venv/eval.stamp  ## Build the simulator environments.
	@$(BIN)/proctor env build $(ENVIRONMENTS)

# Before anything of size is downloaded: rendering must work, or the missing apt line is shown.
graphics: python
	@PYTHONPATH=src $(PYTHON) -m proctor.launch.graphics > /dev/null

python:
	@test -n "$(PYTHON)" || { echo "proctor needs Python 3.11 or newer; none was found (set PYTHON=...)" >&2; exit 2; }

$(UV): locks/uv.lock | python
	@mkdir -p .tools/bin
	@$(PYTHON) -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv .tools/pip \
	  || { echo "python needs pip: apt-get install python3-venv" >&2; exit 2; }
	@pip=$$(test -x .tools/pip/bin/python && echo .tools/pip/bin/python || echo $(PYTHON)); \
	  PIP_ROOT_USER_ACTION=ignore $$pip -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --upgrade --target .tools/uv -r locks/uv.lock
	@ln -sf ../uv/bin/uv $@
	@touch $@

$(BIN)/python: | $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv

.venv/eval.stamp: locks/eval.lock pyproject.toml | $(UV) $(BIN)/python
	@$(INSTALL) --require-hashes -r locks/eval.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: locks/dev.lock .venv/eval.stamp
	@$(INSTALL) --require-hashes -r locks/dev.lock
	@touch $@

lock: .venv/eval.stamp  ## Compile every lock anew; UPGRADE=--upgrade moves the versions.
	$(COMPILE) $(UPGRADE) locks/uv.in -o locks/uv.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --extra eval locks/build.in -c locks/uv.in -o locks/eval.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --extra eval --group dev locks/build.in -c locks/eval.lock -o locks/dev.lock
	@$(BIN)/python -c 'import sys; from proctor.launch.environments import lock; \
	  [print(lock(name, upgrade=bool("$(UPGRADE)"))) for name in sys.argv[1:]]' $(ENVIRONMENTS) $(SIMULATORS)
	@for name in $(INTEROP); do \
	  $(COMPILE) $(UPGRADE) tests/interop/locks/$$name.in -o tests/interop/locks/$$name.lock || exit 1; done

clean:  ## Remove what was installed here; runs and built environments stay.
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
