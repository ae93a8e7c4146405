# The front door. Underneath: CMake presets (CMakePresets.json) and the scripts in tools/.
#   BUILD_TYPE=Debug  PREFIX=/usr/local  DESTDIR=  V=1  -jN  FUZZ_SECONDS=60  KILL_ROUNDS=300  CRASH_ROUNDS=20  REDIS_ROUNDS=1  MANKAI_BASE=commit  BENCH_STRICT=1
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

BUILD_TYPE ?= Release
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
KILL_ROUNDS ?= 300
CRASH_ROUNDS ?= 20
REDIS_ROUNDS ?= 1
CRASH_TESTS = store_crash_test store_start_crash_test store_failure_test shared_crash_test
# `make -jN` gives N; evaluated in recipes, where MAKEFLAGS holds the -j of the command line.
JOBS = $(or $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS))),$(shell nproc))
VERBOSE = $(if $(filter 1,$(V)),--verbose)
QUIETLY = $(if $(filter 1,$(V)),,>/dev/null)
BUILD = cmake --build --preset $(1) --parallel $(JOBS) $(VERBOSE)
NEED = @tools/install_dependencies.sh $(1)
SAY = @printf '== %s\n' "$(1)"
export V FUZZ_SECONDS

.PHONY: help
help: ## list what there is
	@echo "make TARGET [BUILD_TYPE=Release] [PREFIX=/usr/local] [DESTDIR=] [V=1] [-jN]"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: demo
demo: build ## build, then the tour (a minute): the four questions about 10 million events, compared with exact answers; the page is demo-out/index.html
	$(call SAY,demo: the tour)
	@build/bin/mankai demo

.PHONY: test
test: ## what CI runs: release tests, tests under ASan and UBSan, clang-tidy on changed files
	$(call SAY,test: release; ASan and UBSan; clang-tidy on changed files)
	$(call NEED,build test lint)
	@tools/test.py --jobs $(JOBS) release asan tidy

.PHONY: test-all
test-all: ## test, with whole block lists and a million URLs beside node, and clang, TSan, fuzzing, full lint, headers one by one, NEON under qemu, packages
	$(call SAY,test-all: everything that can be checked on this machine)
	$(call NEED,build test lint fuzz neon package)
	@MANKAI_LISTS_EVERY=1 MANKAI_URLS=1000000 tools/test.py --jobs $(JOBS) release
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} tools/test.py --jobs $(JOBS) asan lint clang tsan headers fuzz neon packages

.PHONY: test-crash
test-crash: ## stores whose processes are killed, KILL_ROUNDS of them for each kind; disks that lose, CRASH_ROUNDS times as many
	$(call SAY,test-crash: $(KILL_ROUNDS) processes killed for each kind of filter; $(CRASH_ROUNDS) rounds on simulated disks)
	$(call NEED,build test)
	@cmake --preset release -DMANKAI_BUILD_TESTS=ON $(QUIETLY)
	@cmake --build build --target store_kill_test shared_kill_test $(CRASH_TESTS) --parallel $(JOBS) $(VERBOSE)
	@MANKAI_KILL_ROUNDS=$(KILL_ROUNDS) build/tests/store_kill_test --gtest_brief=1
	@MANKAI_KILL_ROUNDS=$(KILL_ROUNDS) build/tests/shared_kill_test --gtest_brief=1
	@for test in $(CRASH_TESTS); do MANKAI_CRASH_ROUNDS=$(CRASH_ROUNDS) build/tests/$$test --gtest_brief=1 || exit 1; done

.PHONY: test-redis
test-redis: ## the Redis module in real servers on the loopback interface; the random parts REDIS_ROUNDS times as long
	$(call SAY,test-redis: the module in real servers)
	$(call NEED,build test)
	@cmake --preset release -DMANKAI_BUILD_TESTS=ON $(QUIETLY)
	@cmake --build build --target redis_suites --parallel $(JOBS) $(VERBOSE)
	@MANKAI_REDIS_ROUNDS=$(REDIS_ROUNDS) ctest --preset release --label-regex '^redis$$' $(VERBOSE)

.PHONY: test-packages
test-packages: ## the packages: built twice and compared, lintian, bill of materials, and as root a clean root to install, upgrade and purge them in
	$(call SAY,test-packages: packages)
	$(call NEED,build package)
	@tests/packages/run.sh $(JOBS)

.PHONY: mutants
mutants: ## plant each bug of tests/mutants/ in a copy of the tree: the crash tests must find it
	$(call SAY,mutants: each bug must be found)
	$(call NEED,build test)
	@tools/mutants.py --jobs $(JOBS)

.PHONY: build
build: ## the programs build/bin/mankai and build/bin/mankai-lab, the libraries in build/lib/
	$(call SAY,build: $(BUILD_TYPE) into build/)
	$(call NEED,build)
	@test -f build/CMakeCache.txt || cmake --preset release -DMANKAI_BUILD_TESTS=OFF $(QUIETLY)
	@cmake --preset release -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) $(QUIETLY)
	@$(call BUILD,release)

.PHONY: wheel
wheel: ## the package for Python as a wheel in build/wheels
	$(call SAY,wheel: into build/wheels)
	$(call NEED,build python)
	@test -f build/CMakeCache.txt || cmake --preset release -DMANKAI_BUILD_TESTS=OFF $(QUIETLY)
	@cmake --build build --target mankai_python --parallel $(JOBS) $(VERBOSE) $(QUIETLY)
	@python3 -B bindings/python/wheel_backend.py build/python/mankai/_core.abi3.so build/wheels

.PHONY: node
node: ## the package for Node.js in build/node, and packed in build/packages for npm install
	$(call SAY,node: into build/packages)
	$(call NEED,build)
	@test -f build/CMakeCache.txt || cmake --preset release -DMANKAI_BUILD_TESTS=OFF $(QUIETLY)
	@cmake build $(QUIETLY)
	@grep -q '^MANKAI_NODE_INCLUDE:PATH=/' build/CMakeCache.txt || { echo "node_api.h is missing: apt-get install libnode-dev" >&2; exit 1; }
	@cmake --build build --target mankai_node --parallel $(JOBS) $(VERBOSE) $(QUIETLY)
	@bindings/node/pack.sh build/node build/packages

.PHONY: bench
bench: ## peers on the same work, and a verdict on every target; BENCH_STRICT=1 fails when a peer is missing
	$(call SAY,bench: our kinds beside their peers)
	$(call NEED,build bench)
	@cmake --preset bench $(QUIETLY)
	@$(call BUILD,bench)
	@bench/run.sh build/bench

.PHONY: lab
lab: build ## what published sources claim, measured: the report in build/lab/index.html
	$(call SAY,lab: every claim of every source)
	$(call NEED,lab)
	@build/bin/mankai lab --out build/lab $(if $(wildcard ../shared/data),--data ../shared/data)

.PHONY: lab-mutants
lab-mutants: ## each counted claim of the full run must change its verdict under a broken filter or a wrong formula; hours
	$(call SAY,lab-mutants: every claim of every source must be able to fail)
	@cmake --preset release -DMANKAI_BUILD_TESTS=ON $(QUIETLY)
	@cmake --build build --target lab_frame_test --parallel $(JOBS) $(VERBOSE) $(QUIETLY)
	@build/tests/lab_frame_test --gtest_brief=1 --gtest_also_run_disabled_tests --gtest_filter='Sources.*can_fail'

.PHONY: lint
lint: ## clang-format, clang-tidy on everything, layers, citations, dead files, comments
	$(call SAY,lint: everything)
	$(call NEED,build test lint)
	@JOBS=$(JOBS) tools/lint.sh format tree tidy

.PHONY: lint-quick
lint-quick: ## lint without clang-tidy: seconds
	$(call SAY,lint-quick: format and the tree's rules)
	$(call NEED,lint)
	@tools/lint.sh format tree

.PHONY: format
format: ## rewrite the sources with clang-format
	$(call SAY,format: clang-format in place)
	$(call NEED,lint)
	@git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.h' | xargs -r clang-format-19 -i

.PHONY: asan
asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call SAY,asan: tests under ASan and UBSan)
	$(call NEED,build test)
	@tools/test.py --jobs $(JOBS) asan

.PHONY: tsan
tsan: ## tests under ThreadSanitizer
	$(call SAY,tsan: tests under TSan)
	$(call NEED,build test)
	@tools/test.py --jobs $(JOBS) tsan

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ_SECONDS, from the committed corpora
	$(call SAY,fuzz: every target for $(FUZZ_SECONDS) s)
	$(call NEED,build fuzz)
	@cmake --preset fuzz $(QUIETLY)
	@$(call BUILD,fuzz)
	@tools/fuzz.sh build/fuzz

.PHONY: docs
docs: build ## man pages and completions into build/share, and every link and citation checked
	$(call SAY,docs: checking links and citations)
	@tools/lint.py --only links
	@tools/lint.py --only citations
	@find build/share -type f 2>/dev/null || true

.PHONY: install
install: build ## into PREFIX (and below DESTDIR): command, libraries, headers, CMake package, pkg-config
	$(call SAY,install: into $(DESTDIR)$(PREFIX))
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)" $(QUIETLY)

.PHONY: package
package: ## Debian packages and their bill of materials, in build/packages (docs/install.md)
	$(call SAY,package: into build/packages)
	$(call NEED,build package)
	@tools/package.sh $(JOBS)

.PHONY: image
image: package ## OCI images of the packages, in build/images; as root
	$(call SAY,image: into build/images)
	@packaging/oci/build.sh || { code=$$?; [ $$code -eq 77 ] || exit $$code; }

.PHONY: clean
clean: ## remove build/ and build-deb/
	$(call SAY,clean: removing build/ and build-deb/)
	@rm -rf build build-deb
