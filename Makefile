# Everything works on a fresh clone with Python >= 3.11 and the package registries.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check quick mutants bench docs fetch release clean

$(READY): pyproject.toml
	@echo "Installing Veil and what it needs into .venv: a minute or two, and about 1 GB."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@(while sleep 15 >/dev/null 2>&1; do echo "... still installing"; done) & beat=$$!; trap 'kill $$beat' EXIT; \
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev --group docs
	@touch $(READY)
	@echo "Installed."

demo: $(READY)  ## set everything up, then show the product
	@$(BIN)/python -m benchmarks.demo

# Tests that need the real vectors or models skip with a reason when they cannot be fetched.
fetch: $(READY)
	@echo "Fetching word vectors, encoders, WordNet and the embedded collection, once."
	-for name in glove-100d minilm wordllama wordnet icd10cm; do $(BIN)/veil fetch $$name; done

test: fetch check  ## set everything up, then run every check

check: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

# Fast tests of shared code, and the checks of every component of every domain. They start no server,
# cluster, browser or mutant.
QUICK := core data measures places text/mechanisms text/measures testing \
	test_architecture.py test_naming.py

quick: $(READY)  ## run the linters and the fast tests, in a minute on two cores
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow' $(addprefix tests/,$(QUICK))

mutants: $(READY)  ## run the mutants of the files that changed since origin/main
	$(BIN)/python -m tools.mutants

# Each section can be run alone: make bench-search, bench-text, bench-places, bench-dp, ...
BENCH_START := startup
BENCH_SEARCH := retrieval cascade scale measuring serving hostile timing linkage
BENCH_COVER := cover_table cover_search cover_sessions cover_web
BENCH_TEXT := speed selection redaction tasks
BENCH_PLACES := places
BENCH_DP := dp dp_mining
BENCH_TABLES := tables_anonymise tables_attacks tables_counts
BENCH_RATINGS := ratings_models ratings_attacks ratings_secure
BENCH_SENSITIVE := sensitive
SECTIONS := start search cover text places dp tables ratings sensitive

bench: $(addprefix bench-,$(SECTIONS))  ## print the figures, beside the peers in environments of their own

.PHONY: $(addprefix bench-,$(SECTIONS))
bench-start: BENCH = $(BENCH_START)
bench-search: BENCH = $(BENCH_SEARCH)
bench-cover: BENCH = $(BENCH_COVER)
bench-text: BENCH = $(BENCH_TEXT)
bench-places: BENCH = $(BENCH_PLACES)
bench-dp: BENCH = $(BENCH_DP)
bench-tables: BENCH = $(BENCH_TABLES)
bench-ratings: BENCH = $(BENCH_RATINGS)
bench-sensitive: BENCH = $(BENCH_SENSITIVE)
$(addprefix bench-,$(SECTIONS)): fetch
	@for name in $(BENCH); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

docs: $(READY)  ## write the generated pages, then build the site into ./site
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release: $(READY)  ## wheel and sdist, tried in clean environments alone and with each extra; a list of what they stand on
	$(BIN)/python -m tools.wheels

clean:
	rm -rf .venv site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
