#!/usr/bin/env python3
"""Instructions that a run takes on 64-bit ARM, counted under qemu: single convolutions and whole networks, one thread.

    scripts/build_arm64 run cmake --preset arm64 -DASSAY_BENCH=ON
    scripts/build_arm64 run cmake --build build/arm64 --target bench_run_model
    bench/arm64/instructions.py build/arm64/bench/bench_run_model [MODEL ...] [--cpu cortex-a76] [--root DIR]

Time under emulation means nothing; instructions say how much work a kernel leaves to the processor. A first process
chooses algorithms and stores them in a tuning file, which fixes them for the two that are counted: one runs the model
once, the other several times, and their difference is divided by the additional runs. Needs gcc and the dynamic
qemu-user package, which loads plugins; --root is the chroot with the libraries (/tmp/arm64-root). Prints a table.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RUNS = 4
# channels : outputs : size of the image : kernel : groups
MODELS = ["conv:64:64:28:1:1", "conv:64:64:14:3:1", "conv:64:64:28:3:64", "zoo:small_cnn_gap", "zoo:mobilenet_v2",
          "zoo:resnet18"]


def macs_of(model, assay):
    if model.startswith("conv:"):
        channels, outputs, size, kernel, groups = map(int, model[5:].split(":"))
        return size * size * kernel * kernel * channels // groups * outputs
    if not assay:
        return None
    found = subprocess.run([assay, "count", model, "--json"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r'"macs":(\d+)', found).group(1))


def build_plugin(folder):
    plugin = pathlib.Path(folder) / "count_instructions.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin, HERE / "count_instructions.c"], check=True)
    return plugin


class Emulator:
    def __init__(self, arguments, folder):
        self.words = [arguments.qemu, "-cpu", arguments.cpu, "-L", arguments.root]
        self.program = arguments.program
        self.plugin = build_plugin(folder)
        self.tuning = pathlib.Path(folder) / "tuning"

    def run(self, model, runs, counts=True):
        plugin = ["-plugin", str(self.plugin)] if counts else []
        words = [*self.words, *plugin, self.program, model, str(self.tuning), str(runs)]
        return subprocess.run(words, capture_output=True, text=True, check=True)

    def instructions(self, model):
        """Of one run, and the algorithms of its steps."""
        self.run(model, 1, counts=False)
        once, often = self.run(model, 1), self.run(model, 1 + RUNS)
        total = [int(re.search(r"instructions (\d+)", one.stderr).group(1)) for one in (once, often)]
        algorithms = sorted({line.split("\t")[1] for line in once.stdout.splitlines() if "\t" in line})
        return (total[1] - total[0]) / RUNS, algorithms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--cpu", default="cortex-a76")
    parser.add_argument("--root", default="/tmp/arm64-root")
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--assay", help="a program of this machine that counts MACs of networks")
    arguments = parser.parse_args()
    print(f"{'model':24} {'instructions':>14} {'per MAC':>8}  algorithms")
    with tempfile.TemporaryDirectory() as folder:
        emulator = Emulator(arguments, folder)
        for model in arguments.models:
            count, algorithms = emulator.instructions(model)
            macs = macs_of(model, arguments.assay)
            per_mac = f"{count / macs:8.3f}" if macs else f"{'-':>8}"
            print(f"{model:24} {count:14,.0f} {per_mac}  {', '.join(algorithms)}", flush=True)


if __name__ == "__main__":
    main()
