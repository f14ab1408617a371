# Everything starts from here; `make` alone lists the commands.
# On the command line, PYTHON=… and MPI=wheel|system choose what to build on; .venv remembers, until `make clean`.
MADE_FOR := $(shell cat .venv/made-for 2>/dev/null)
PYTHON = $(or $(word 1,$(MADE_FOR)),python3)
MPI = $(or $(word 2,$(MADE_FOR)),wheel)
BIN := .venv/bin
RANKS = 16
SEED = 1
FAULTS = 200
RUNS = 20
CUTS = 10
MPIRUN = $(or $(wildcard $(BIN)/mpirun),mpirun)
# What Open MPI wants before it starts more ranks than cores, or anything as root; other MPIs do not look.
PERMITTED := OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
	PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
SOURCES := pyproject.toml setup.py tools/setup.sh yahtzee_cluster/game/dice.py \
	$(wildcard kernels/*.pyx kernels/*.pxd kernels/*.[ch] kernels/*.py)

.PHONY: help setup run play slurm browser quick test check lint types docs checked-kernels bench web-load balance simplicity wheels torture nfs format clean
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

setup: .venv/ready ## make .venv with everything in it (half a minute; nothing when nothing changed)
ifneq ($(MADE_FOR),$(PYTHON) $(MPI) $(CURDIR))
.PHONY: .venv/ready
endif
.venv/ready: $(SOURCES)
	@PYTHON="$(PYTHON)" MPI="$(MPI)" tools/setup.sh

run: setup ## run the main job on 16 ranks, RANKS=… on another number (half a minute, 1.5 GB in runs/)
	@$(PERMITTED) $(MPIRUN) -n $(RANKS) $(BIN)/python -m yahtzee_cluster.run --G 5 --target 800

slurm: ## unpack Debian's Slurm into .slurm, for the tests; needs no root
	@tools/slurm-here.sh

browser: ## unpack Debian's Chromium into .browser, for the tests of the page; needs no root
	@tools/browser-here.sh

play: setup ## play in the browser: sets everything up, and opens the page
	@$(BIN)/yahtzee-cluster web

quick: setup ## run the tests of the engine, the game, the kernels and the objectives that start no program (a minute)
	@$(BIN)/python -m pytest -n 2 -q -m "not witness and not whole and not program" \
		tests/engine tests/game tests/kernels tests/objectives tests/test_layout.py

test: setup ## run all tests, four at a time, because some wait for clocks (13 to 18 minutes, 3 GB of temporary files), with a real Slurm where there can be one
	@tools/slurm-here.sh || true
	@tools/browser-here.sh || true
	@$(BIN)/python -m pytest -n 4

check: ## run what CI runs: linters, types, checked kernels, tests (18 to 24 minutes)
	@.ci/run

lint: setup docs ## run the formatter, the linters and the build of the documentation; change nothing (ten seconds)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@PATH="$(BIN):$$PATH" cython-lint kernels
	@$(BIN)/shellcheck slurm/*.sh tools/*.sh .ci/run

docs: setup ## build the documentation as a site, build/site/index.html (seconds)
	@$(BIN)/sphinx-build --quiet --write-all --fail-on-warning --keep-going -c docs --doctree-dir build/doctrees . build/site

types: setup ## check the types with mypy (a minute)
	@$(BIN)/mypy

checked-kernels: checked-sanitize
checked-%: setup
	@tools/checked-kernels.sh $*

bench: setup ## measure kernels, jobs and duels and print JSON lines (a quarter of an hour, 5 GB of disk)
	@$(BIN)/python benchmarks/bench.py
	@$(BIN)/python benchmarks/endgames.py 1 2 3 4 5

web-load: setup ## measure the server of the page with 50 clients at once, and with 10,000 made-up requests (a quarter of an hour)
	@$(BIN)/python benchmarks/web_load.py

balance: setup ## compare orders and fixed sets by how busy they keep workers; draw it (half an hour)
	@$(PERMITTED) $(BIN)/python benchmarks/balance.py

simplicity: setup ## compute the published strategies, duel them, and draw how well one can play with how little (three minutes)
	@$(BIN)/python benchmarks/simplicity.py

wheels: setup ## build a manylinux wheel in dist/ for each Python from 3.11 on that is here, and try it in an empty environment
	@tools/wheels.sh

torture: setup ## disturb real runs at random moments, cut the power under others, SEED=… FAULTS=… RUNS=… CUTS=… (40 minutes, 1 GB of memory)
	@$(BIN)/python tests/support/campaign.py --seed $(SEED) --faults $(FAULTS) --runs $(RUNS)
	@$(BIN)/python tests/support/powercuts.py --seed $(SEED) --cuts $(CUTS)

nfs: setup ## disturb runs of three hosts on a real NFS, in a virtual machine, ONLY=… some of them (an hour where it is emulated)
	@! tools/vm-here.sh || $(BIN)/python tests/support/nfs.py --only "$(ONLY)"

format: setup ## put the Python sources into their standard form
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## remove everything that was built, .venv included
	rm -rf .venv .slurm .browser .vm build dist *.egg-info kernels/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
