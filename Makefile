# make demo and make test work on a fresh Debian machine: they install what is missing first.
.PHONY: wheel demo build test test-all test-cluster asan tsan fuzz bench docs format setup clean
demo: build
	@build/release/assay profile zoo:resnet18
	@echo
	@build/release/assay sweep configs/demo.yaml -o build/demo --table

build: setup
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target assay_cli assay_described

test: setup
	@cmake --preset dev > /dev/null
	@cmake --build --preset dev
	@ctest --preset dev -j $(shell nproc) --progress --output-on-failure

# What takes longer than `make test` promises: sanitizers, the linker's view of all definitions, mutated models.
test-all: test asan tsan
	@scripts/check_odr
	@scripts/fuzz_execution --mutants 100000

# Sweeps on a real Slurm and over ssh, all on this machine; as root, a few minutes.
test-cluster: build
	@scripts/setup cluster
	@/usr/bin/python3 tests/cluster/slurm_test.py build/release/assay

asan tsan: setup
	@cmake --preset $@ > /dev/null
	@cmake --build --preset $@
	@ctest --preset $@ -j $(shell nproc) --progress --output-on-failure

fuzz:
	@scripts/setup fuzz
	@scripts/fuzz

bench:
	@scripts/setup peers
	@cmake --preset release > /dev/null
	@cmake --build --preset release
	@bench/run

# The Python package as a wheel and a source package, in build/wheel/dist.
wheel:
	@scripts/build_wheel

# The documentation as a site, in build/site.
docs:
	@scripts/build_docs

format:
	@scripts/check_format --fix

setup:
	@scripts/setup

clean:
	@rm -rf build
