# Everything works on a fresh clone with Python >= 3.11 and the package registries.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check bench docs fetch clean

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
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

bench: fetch  ## print the figures of the README, beside the peer installed in its own environment
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.retrieval
	$(BIN)/python -m benchmarks.cascade
	$(BIN)/python -m benchmarks.cover_table
	$(BIN)/python -m benchmarks.cover_search
	$(BIN)/python -m benchmarks.cover_sessions
	$(BIN)/python -m benchmarks.cover_web
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.measuring
	$(BIN)/python -m benchmarks.selection
	$(BIN)/python -m benchmarks.linkage
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.hostile
	$(BIN)/python -m benchmarks.timing
	$(BIN)/python -m benchmarks.places
	$(BIN)/python -m benchmarks.dp
	$(BIN)/python -m benchmarks.dp_mining
	$(BIN)/python -m benchmarks.tables_anonymise
	$(BIN)/python -m benchmarks.tables_attacks
	$(BIN)/python -m benchmarks.tables_counts
	$(BIN)/python -m benchmarks.speed

docs: $(READY)  ## write the generated pages, then build the site into ./site
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
