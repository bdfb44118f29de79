#!/usr/bin/env python3
"""Instructions that a run takes on 64-bit ARM, counted under qemu: single convolutions and whole networks, one thread.

    scripts/build_arm64 run cmake --preset arm64 -DASSAY_BENCH=ON
    scripts/build_arm64 run cmake --build build/arm64 --target bench_run_model bench_run_xnnpack
    bench/arm64/instructions.py build/arm64/bench/bench_run_model [MODEL ...] [--cpu cortex-a76] [--root DIR]

Time under emulation means nothing; instructions say how much work a kernel leaves to the processor. Algorithms are
fixed by a tuning file: the first of --prefer that is among a layer's candidates, whatever was faster under emulation.
Two processes are counted, one that runs the model once and one that runs it several times; their difference is divided
by the additional runs. conv:CHANNELS:SIZE:KERNEL:GROUPS is one convolution of a row of them, so that changes of layout
before the first and after the last do not count; half: is the same with float16 numbers, int8: with 8-bit ones. Beside
it, the convolution by XNNPACK, where bench_run_xnnpack was built. Needs gcc and the dynamic qemu-user package, which loads plugins;
--root is the chroot with the libraries (/tmp/arm64-root). Prints a table.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RUNS = 4
PREFERRED = ["depthwise", "fp16 panels:", "panels", "fp32 panels", "tiles"]
MODELS = ["conv:64:28:1:1", "conv:64:14:3:1", "conv:64:28:3:64", "half:64:28:1:1", "half:64:14:3:1", "int8:64:28:1:1",
          "int8:64:14:3:1", "int8:64:28:3:64", "zoo:small_cnn_gap", "zoo:mobilenet_v2", "zoo:resnet18"]


def is_convolution(model):
    return model.split(":")[0] in ("conv", "half", "int8")


def macs_of(model, assay):
    if is_convolution(model):
        channels, size, kernel, groups = map(int, model.split(":")[1:])
        return size * size * kernel * kernel * channels // groups * channels
    if not assay:
        return None
    found = subprocess.run([assay, "count", model, "--json"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r'"macs":(\d+)', found).group(1))


def build_plugin(folder):
    plugin = pathlib.Path(folder) / "count_instructions.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin, HERE / "count_instructions.c"], check=True)
    return plugin


def preferred(line, algorithms):
    """A line of a tuning file: machine, question (its candidates behind semicolons), answer (position and name)."""
    head, tab, _ = line.rpartition("\t")
    candidates = [one.split(" +")[0] for one in head.split("; ")[1:]]
    for algorithm in algorithms:
        for i, name in enumerate(candidates):
            if tab and name.startswith(algorithm):
                return f"{head}\t{i} {name}"
    return line


def instructions_between(once, often):
    total = [int(re.search(r"instructions (\d+)", one.stderr).group(1)) for one in (once, often)]
    return (total[1] - total[0]) / RUNS


class Emulator:
    def __init__(self, arguments, folder):
        self.words = [arguments.qemu, "-cpu", arguments.cpu, "-L", arguments.root]
        self.program = arguments.program
        self.xnnpack = pathlib.Path(arguments.program).with_name("bench_run_xnnpack")
        self.prefer = arguments.prefer
        self.plugin = build_plugin(folder)
        self.tuning = pathlib.Path(folder) / "tuning"

    def start(self, *words, counts=True):
        plugin = ["-plugin", str(self.plugin)] if counts else []
        return subprocess.run([*self.words, *plugin, *words], capture_output=True, text=True, check=True)

    def run(self, model, runs, counts=True):
        return self.start(self.program, model, str(self.tuning), str(runs), counts=counts)

    def fix_algorithms(self, model):
        """Other answers lead to other layouts, and so to new questions."""
        before = None
        while before != (text := self.tuning.read_text() if self.tuning.exists() else ""):
            self.run(model, 1, counts=False)
            if self.tuning.exists():  # it is not, where there was nothing to choose
                lines = self.tuning.read_text().splitlines()
                self.tuning.write_text("".join(preferred(line, self.prefer) + "\n" for line in lines))
            before = text

    def instructions_of_run(self, model):
        """And the algorithms of its steps."""
        self.fix_algorithms(model)
        once, often = self.run(model, 1), self.run(model, 1 + RUNS)
        algorithms = {line.split("\t")[1] for line in once.stdout.splitlines() if "\t" in line}
        return instructions_between(once, often), algorithms

    def instructions_of_xnnpack(self, model):
        if not is_convolution(model) or model.startswith("half:") or not self.xnnpack.exists():
            return None
        return instructions_between(*(self.start(str(self.xnnpack), model + ":1", str(n)) for n in (1, 1 + RUNS)))

    def instructions(self, model):
        if not is_convolution(model):
            return self.instructions_of_run(model)
        few, _ = self.instructions_of_run(model + ":2")
        more, algorithms = self.instructions_of_run(model + ":6")
        return (more - few) / 4, algorithms - {"reorder"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--cpu", default="cortex-a76")
    parser.add_argument("--root", default="/tmp/arm64-root")
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--prefer", nargs="+", default=PREFERRED, help="beginnings of names")
    parser.add_argument("--assay", help="a program of this machine that counts MACs of networks")
    arguments = parser.parse_intermixed_args()
    print(f"{'model':24} {'instructions':>14} {'per MAC':>8} {'XNNPACK':>8}  algorithms")
    with tempfile.TemporaryDirectory() as folder:
        emulator = Emulator(arguments, folder)
        for model in arguments.models:
            count, algorithms = emulator.instructions(model)
            macs = macs_of(model, arguments.assay)
            peer = emulator.instructions_of_xnnpack(model)
            print(f"{model:24} {count:14,.0f} {per(macs, count)} {per(macs, peer)}  {', '.join(sorted(algorithms))}",
                  flush=True)


def per(macs, count):
    return f"{count / macs:8.3f}" if macs and count else f"{'-':>8}"


if __name__ == "__main__":
    main()
