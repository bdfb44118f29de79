# make demo and make test work on a fresh Debian machine: they install what is missing first.
.PHONY: demo build test test-all test-cluster asan tsan fuzz bench wheel deb arm64 docs format setup clean
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

# A Debian package of the program for this machine, in build/release.
deb: build
	@cpack --config build/release/CPackConfig.cmake -B build/release

# The same for 64-bit ARM, built in a chroot and tested under qemu; as root. build/arm64 has the package.
arm64:
	@scripts/build_arm64

# The documentation as a site, in build/site.
docs:
	@scripts/build_docs

format:
	@scripts/check_format --fix

setup:
	@scripts/setup

clean:
	@rm -rf build
