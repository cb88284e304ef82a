# Each command installs the tools that it needs and says so. `make` alone lists the commands.
.DEFAULT_GOAL := help
.PHONY: help run test documents languages screens fakes mail croniter html5lib pdftotext mailboxes conformance units fuzz footprint minimal sizes soak boards boards-test deploy install-test boards-today reproducible
.PHONY: harness layout irc voice matrix mcp-servers web packages packages-test release deny clean day

CARGO ?= cargo
PEACRAB = $(CARGO) run --release --locked --quiet --
# Every model and the offline helper can answer it, by reading a file that `peacrab onboard` has made.
QUESTION := What is in AGENTS.md?
FUZZ_SECONDS ?= 20
SOAK_MINUTES ?= 30
# The folder for the screenshots of the web page that are in the documents.
PICTURES ?= docs/page
FUZZ_TARGETS ?= $(notdir $(wildcard tests/fuzz/corpus/*))
CROSS_TARGET := x86_64-unknown-linux-musl

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-13s %s\n' "$$name" "$$text"; done

run: ## Build the agent, set it up if it is not yet, and chat with it
	@scripts/setup build </dev/null
	$(CARGO) build --release --locked
	@[ -e "$${PEACRAB_HOME:-$$HOME/.peacrab}/config.json" ] || \
		$(PEACRAB) onboard --non-interactive </dev/null
# With job control (set -m), Ctrl-C reaches the agent alone, and not make, which would report an error.
# Without a terminal, the question is what comes in on standard input, or else a demonstration.
	@echo; if [ -t 0 ]; then set -m; $(PEACRAB) agent || [ $$? = 130 ]; exit; fi; \
	question=$$(cat); \
	if [ -n "$$(printf '%s' "$$question" | tr -d '[:space:]')" ]; then \
		printf '%s\n' "$$question" | $(PEACRAB) agent; \
	else \
		printf 'Standard input is empty, so here is a demonstration:\n\n> $(QUESTION)\n\n'; \
		$(PEACRAB) agent --message '$(QUESTION)' </dev/null; \
	fi

# A test fails on a machine that lacks something it needs. To skip such tests:
#   PEACRAB_TEST_WITHOUT=landlock,strace make test     (tests/harness/feature.rs has the names)
# The random inputs are the same in each run; `cargo test` tries new ones.
test: export PROPTEST_RNG_SEED ?= 1
test: ## Check formatting, lints, tests and documentation
	@scripts/setup test
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked --lib --bins --test confine --test floors --test fuzz
	$(CARGO) test --locked --doc
# The stories wait most of the time, for the program or for what it waits for.
	RUST_TEST_THREADS=4 $(CARGO) test --locked --test program
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps
	python3 scripts/documents --check
	python3 scripts/languages --check
	python3 scripts/screens --check "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

documents: ## Write the maps of the rooms from their documentation, and check the links of the documents
	python3 scripts/documents

languages: ## Bring the translations of the bot's texts up to date with the source (docs/languages.md)
	python3 scripts/languages

screens: ## Run the program and write what it shows into README.md and docs
	@scripts/setup test
	$(CARGO) build --locked
	python3 scripts/screens "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

fakes: ## Check the fakes of the tests with the vendors' own libraries
	@scripts/setup fakes
	$(CARGO) test --locked --test program --no-run
	"$${CARGO_TARGET_DIR:-target}/fakes/bin/python" tests/discord/check.py \
		$(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_discord::standalone::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-telegram/bin/python" tests/telegram/check.py \
		$(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_telegram::vendors::print --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-slack/bin/python" tests/slack/check.py \
		$(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_slack::standalone::serve --nocapture
	python3 tests/mail/check.py $(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_mail::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-matrix/bin/python" tests/matrix/check.py \
		$(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_matrix::standalone::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-feishu/bin/python" tests/feishu/check.py \
		$(CARGO) test --locked --quiet --test program -- \
		--ignored --exact fake_feishu::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-qq/bin/python" tests/qq/check.py \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact fake_qq::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-whatsapp/bin/python" tests/whatsapp/check.py \
		"$${CARGO_TARGET_DIR:-target}/fakes-bridge" \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact fake_whatsapp::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-whatsapp/bin/python" tests/mochat/check.py \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact fake_mochat::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-dingtalk/bin/python" tests/dingtalk/check.py \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact fake_dingtalk::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-openai/bin/python" tests/openai/check.py \
		"$${CARGO_TARGET_DIR:-target}/debug/peacrab" $(CARGO) test --locked --quiet --test program -- \
		--ignored --exact responses::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-openai/bin/python" tests/openai/server.py \
		"$${CARGO_TARGET_DIR:-target}/debug/peacrab" "$${CARGO_TARGET_DIR:-target}/fakes-openai-node/server.mjs"
	"$${CARGO_TARGET_DIR:-target}/fakes-openai/bin/python" tests/openai/ear.py \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact gateway::voice::serve --nocapture
	"$${CARGO_TARGET_DIR:-target}/fakes-irc/bin/python" tests/irc/check.py \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact fake_irc::serve --nocapture

mail: ## Have the program read and answer mails with real servers: dovecot and exim
	@scripts/setup mail
	$(CARGO) build --locked
	python3 tests/mail/real.py "$${CARGO_TARGET_DIR:-target}/mail" "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

voice: ## Have the program hear real speech and speak, without a cloud: espeak-ng speaks, PocketSphinx listens
	@scripts/setup voice
	$(CARGO) test --locked --test program --no-run
	"$${CARGO_TARGET_DIR:-target}/voice/bin/python" tests/voice/real.py $(CARGO) test --locked --quiet --test program -- \
		--ignored --exact gateway::voice::a_spoken_reminder_becomes_one gateway::spoken::a_spoken_answer_is_heard

irc: ## Have the program talk on IRC with real servers: ngircd, and InspIRCd with Atheme
	@scripts/setup irc
	$(CARGO) build --locked
	python3 tests/irc/real.py "$${CARGO_TARGET_DIR:-target}/irc" "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

matrix: ## Try the Matrix channel with a real Synapse
	@scripts/setup matrix
	$(CARGO) build --locked
	"$${CARGO_TARGET_DIR:-target}/matrix/bin/python" scripts/matrix/check.py \
		"$${CARGO_TARGET_DIR:-target}/debug/peacrab"

croniter: ## Compare the runs of 10,000 random cron lines with those of Python's croniter
	@scripts/setup croniter
	$(CARGO) build --locked --example cron
	"$${CARGO_TARGET_DIR:-target}/croniter/bin/python" scripts/croniter/compare.py \
		"$${CARGO_TARGET_DIR:-target}/debug/examples/cron"

html5lib: ## Compare the tokens of HTML with html5lib's tests of the standard
	@scripts/setup html5lib
	$(CARGO) build --locked --example html5lib
	python3 scripts/html5lib/compare.py "$${CARGO_TARGET_DIR:-target}"/html5lib/html5lib-*.tar.gz \
		"$${CARGO_TARGET_DIR:-target}/debug/examples/html5lib"

pdftotext: ## Compare the text of PDF documents with that of pdftotext
	@scripts/setup pdftotext
	$(CARGO) build --locked --example pdftotext
	python3 scripts/pdftotext/compare.py "$${CARGO_TARGET_DIR:-target}/debug/examples/pdftotext" \
		"$${CARGO_TARGET_DIR:-target}"/documents/*.tar.gz

mailboxes: ## Compare how senders and subjects of mails are read with Python's email package
	$(CARGO) build --locked --example mailboxes
	python3 scripts/mailboxes/compare.py "$${CARGO_TARGET_DIR:-target}/debug/examples/mailboxes"

conformance: ## Run the MCP conformance suites against the client (WORDS: only scenarios with one of them in the name)
	@scripts/setup conformance
	$(CARGO) build --locked --example conformance
	scripts/conformance/run.py "$${CARGO_TARGET_DIR:-target}/debug/examples/conformance" \
		"$${CARGO_TARGET_DIR:-target}/conformance" $(WORDS)

web: ## Use the web page in a real Chromium; looks for barriers, and writes the screenshots of the documents
	@scripts/setup web
	node --test tests/page/markdown.test.mjs
	$(CARGO) test --locked --test program --no-run
	node tests/page/browser.mjs "$${CARGO_TARGET_DIR:-target}/page" "$(PICTURES)" \
		$(CARGO) test --locked --quiet --test program -- --ignored --exact http::stage::serve --nocapture

day: ## Talk for 300 turns, and remember for two months, with a scripted model; print what came of it
	DAY_TURNS=300 $(CARGO) test --locked --test program -- day:: --nocapture
	$(CARGO) test --locked --test program -- memory_days:: --ignored --nocapture

harness: ## Run 36 recorded tasks with a scripted model; limits on requests, reviews and critics (OPTIONS=--peers: other programs too)
	$(CARGO) build --locked
	python3 scripts/harness $(OPTIONS) "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

units: ## Start the systemd units on several systemds, and check the command sandbox within them
	@scripts/setup units
	$(CARGO) build --locked
	scripts/systemd/check "$${CARGO_TARGET_DIR:-target}/debug/peacrab"
# With the hooks, a copy of the program can have another version.
	$(CARGO) build --locked --features test-hooks
	scripts/systemd/check-update "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

# `make fuzz FUZZ_TARGETS=mail FUZZ_SECONDS=600` runs one target for longer. What is found stays in tests/fuzz/found.
fuzz: ## Fuzz everything that parses outside input
	@scripts/setup fuzz
	cp Cargo.lock tests/fuzz/
	cd tests/fuzz && $(CARGO) build --release
	@cd tests/fuzz && for target in $(FUZZ_TARGETS); do \
		echo "$$target for $(FUZZ_SECONDS) s"; \
		mkdir -p found/$$target; \
		FUZZ_TARGET=$$target $(CARGO) run --release --quiet -- found/$$target corpus/$$target \
			-artifact_prefix=found/$$target- -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 \
			-rss_limit_mb=1024 -verbosity=0 -print_funcs=0 || exit 1; \
	done

mcp-servers: ## List and call the tools of real MCP servers from npm and PyPI (needs Node.js)
	$(CARGO) build --locked
	python3 scripts/mcp-servers "$${CARGO_TARGET_DIR:-target}/debug/peacrab"

# The test is built without the key of the binary, as all tests are.
footprint: ## Build the static binary and measure its size, memory, instructions and writes
	@scripts/setup footprint
	binary=$$(cross/build $(CROSS_TARGET)) && python3 scripts/footprint "$$binary" && \
		env -u PEACRAB_UPDATE_KEY python3 scripts/footprint/card.py "$$binary" $(CARGO) test --locked --test program -- \
		--ignored --exact channels::together::a_connected_channel_takes_little_memory --nocapture

minimal: ## Build the static binary with Telegram alone, test it without the other channels, print its size and run it
	@scripts/setup test
	$(CARGO) test --locked --no-default-features --features test-hooks --lib
	binary=$$(cross/build --minimal $(CROSS_TARGET)) && stat -c '%n: %s bytes' "$$binary" && \
		python3 scripts/harness "$$binary"

layout: ## Note which functions a board needs, in cross/layout/order, which the next build of the static binary reads
	@scripts/setup footprint
	binary=$$(cross/build $(CROSS_TARGET)) && python3 scripts/layout "$$binary" cross/layout/order

sizes: ## Show where the text of the program goes, by room (ROOM: within one)
	scripts/sizes $(ROOM)

soak: ## Load the static binary's gateway for SOAK_MINUTES; memory must not grow, no message get lost
	@scripts/setup footprint
	binary=$$(cross/build $(CROSS_TARGET)) && \
		python3 scripts/footprint --soak $(SOAK_MINUTES) "$$binary"

# To build only some: make boards ARCH="armv6 arm64"
boards: ## Build the static binary for every board, in dist/boards (cross/README.md)
	@scripts/setup cross
	@cross/boards $(ARCH)

reproducible: ## Build TARGET a second time in a new folder; the bytes must be the same
	@cross/reproducible $(TARGET)

packages: ## Make .deb packages, archives and a container image of dist/boards (scripts/packages/README.md)
	@scripts/setup packages
	python3 scripts/packages

packages-test: ## Check the packages; install, update and remove the .deb in a throwaway system (needs root)
	@scripts/setup packages
	python3 scripts/release/check.py
	python3 scripts/packages/check.py

release: ## Build, package and sign everything, from a clean tree, in dist/VERSION
	@scripts/setup packages
	scripts/release/make

# To test only some boards: make boards-test BOARDS="armhf riscv64"
boards-test: ## Test the program on the boards' kernels, emulated (scripts/boards/README.md)
	@scripts/setup boards
	python3 scripts/boards $(BOARDS)

boards-today: ## The same for one board, chosen by the date
	@scripts/setup boards
	python3 scripts/boards --today

# Another user or a program that is built already: make deploy HOST=pi@raspberrypi BINARY=FILE
deploy: ## Build the program for a board and put it there over ssh: make deploy HOST=pi@raspberrypi
	@scripts/deploy "$(HOST)" $(BINARY)

install-test: ## Test install.sh, the init scripts and make deploy in throwaway systems (needs root)
	@scripts/setup install-test
	shellcheck scripts/install.sh scripts/deploy scripts/init/*
	binary=$$(cross/build $(CROSS_TARGET)) && python3 tests/install "$$binary"

deny: ## Check the dependencies for licences, advisories and duplicates (needs cargo-deny)
	@$(CARGO) deny --version >/dev/null 2>&1 || { \
		echo "cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 1; }
	$(CARGO) deny check

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf dist "$${PEACRAB_CROSS:-.cross}" "$${PEACRAB_BOARDS:-.boards}" "$${PEACRAB_SYSTEMD:-.systemd}"
