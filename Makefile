# Each target does all of its own set-up: nothing but python3 and make is needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.docs-ready
BENCH  := $(VENV)/.bench-ready

.PHONY: bench demo test lint format docs lock clean table1 figure1 figure3a figure3b figure4 cost \
        scale stability tailsitter torture mutants fuzz horizon belief

demo: $(READY)  ## fit a model to built-in data, forecast, and write a report
	$(BIN)/gpssm demo

# The report is tested in a browser where there is one: `apt-get install chromium`, as root. Where
# there is none these tests are skipped, and -rs says so.
# Neighbours in a file share compiled programs: each worker begins with one half of the tests.
test: $(READY)  ## run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal -rs

mutants: $(READY)  ## small changes of the source, and whether a test notices; ARGS="--seed 7"
	$(BIN)/python -m tools.mutants $(ARGS)

fuzz: $(READY)  ## 100 000 damaged files, read with a limit of memory; ARGS="--seed 7"
	$(BIN)/python -m tools.fuzz $(ARGS)

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)  ## speed and memory, side by side with GPyTorch and GPJax
	$(BIN)/python benchmarks/run.py

scale: $(READY)  ## one and two devices, one and two processes; ARGS="--quick" to see that it runs
	$(BIN)/python benchmarks/scale.py $(ARGS)

table1: $(READY)  ## the benchmark table; ARGS="--datasets furnace --methods cbf-ssm-50" for a part
	$(BIN)/python -m experiments.table1 $(ARGS)

figure1: $(READY)  ## forecasts of the Dubins car as paths; ARGS="--quick" for a first look
	$(BIN)/python -m experiments.car.figure1 $(ARGS)

figure3a: $(READY)  ## the car's test error against the length of the training sequences
	$(BIN)/python -m experiments.car.figure3a $(ARGS)

stability: $(READY)  ## which plants are mean-square stable, in the eyes of a fitted model
	$(BIN)/python -m experiments.stability $(ARGS)

figure4: $(READY)  ## forces of the drone; ARGS="--quick" for the short form
	$(BIN)/python -m experiments.drone --figure 4 --methods cbf-ssm --lengths 50 $(ARGS)

figure3b: $(READY)  ## the drone's test error against sequence length; ARGS="--quick"
	$(BIN)/python -m experiments.drone --figure 3b $(ARGS)

cost: $(READY)  ## time of a step and of a forecast by method; ARGS="--quick"
	$(BIN)/python -m experiments.cost $(ARGS)

tailsitter: $(READY)  ## measured flights; ARGS="--quick" for the short form
	$(BIN)/python -m experiments.tailsitter $(ARGS)

torture: $(READY)  ## kill a fit 100 times and go on; ARGS="--kills 10" for a short form
	$(BIN)/python -m tools.torture $(ARGS)

horizon: $(READY)  ## longer sequences and a linear model inside, on folds; ARGS="--datasets tank"
	$(BIN)/python -m experiments.horizon $(ARGS)

belief: $(READY)  ## beliefs in the models of make horizon, on the same folds; ARGS="--datasets tank"
	$(BIN)/python -m experiments.belief $(ARGS)

docs: $(DOCS)  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The same versions next year: constraints.txt pins everything that is installed.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

$(BENCH): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	touch $@

lock:  ## write constraints.txt anew from the newest versions
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --upgrade -e ".[dev,docs]"
	$(VENV)-lock/bin/python -m pip freeze --exclude-editable > constraints.txt
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
