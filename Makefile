# Each command installs what it misses and says so; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help run test footprint deny clean

CARGO ?= cargo
CROSS_TARGET := x86_64-unknown-linux-musl

help: ## List the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

run: ## Build the agent, make a home if there is none, and talk to it
	@scripts/setup build
	$(CARGO) build --release --locked
	@[ -e "$${PEACRAB_HOME:-$$HOME/.peacrab}/config.json" ] || \
		$(CARGO) run --release --locked --quiet -- onboard --non-interactive
# With job control (set -m) Ctrl-C reaches the agent alone, and not make, which would call it an error.
	@echo; [ ! -t 0 ] || set -m; $(CARGO) run --release --locked --quiet -- agent || [ $$? = 130 ]

test: ## Check format, lints, tests and documentation
	@scripts/setup test
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps

footprint: ## Build the static binary and measure it: bytes, memory, instructions, writes
	@scripts/setup footprint
	binary=$$(cross/build $(CROSS_TARGET)) && scripts/footprint.py "$$binary"

deny: ## Check licences, advisories and duplicates of the dependencies (needs cargo-deny)
	@$(CARGO) deny --version >/dev/null 2>&1 || { \
		echo "cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 1; }
	$(CARGO) deny check

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf "$${PEACRAB_CROSS:-.cross}"
