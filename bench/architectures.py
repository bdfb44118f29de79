#!/usr/bin/python3
"""Runs models with two builds of assay on the same seeded inputs and compares every output.

    bench/architectures.py FIRST SECOND [MODEL...] [--optimize-for latency] [--rtol X] [--atol X] [--threads N]
                           [--timeout S] [--prefix FOLDER]

FIRST computes what SECOND has to agree with, within rtol · |expected| + atol, and within rtol of the largest number in an
output, for outputs that are all small. Without MODEL, every network of the zoo, the large ones shortened (SHORTER). A MODEL
may bring options of `assay run`: "vad.onnx --dim samples=512". SECOND may be of another architecture, if the system can start
it, for example with qemu:

    QEMU_CPU=cortex-a72 bench/architectures.py build/release/assay build/arm64/assay --prefix /tmp/arm64-root

Prints the largest absolute error, the same as a share of the largest number in that output, and the largest relative error of
a single number.

--prefix is the folder of the other architecture's libraries. Programs are optimised for memory: nothing is timed, so that
an emulator compiles them in seconds; with --optimize-for latency the fastest algorithms are compared. Exit code 1 if a
model differs or fails.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

# What an emulator computes in about a minute, with every kind of layer.
SHORTER = {
    "gpt2_small": "gpt2_small:length=16,layers=2",
    "gpt2_small_decode": "gpt2_small_decode:past=32,layers=2",
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--optimize-for", choices=["latency", "memory"], default="memory")
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600, help="seconds of one run")
    parser.add_argument("--prefix", help="folder of the libraries of SECOND, for qemu")
    return parser.parse_intermixed_args()


def networks_of_zoo(assay):
    listed = json.loads(subprocess.run([assay, "zoo", "--json"], check=True, capture_output=True, text=True).stdout)
    names = [network["name"] for network in listed["networks"]]
    return ["zoo:" + SHORTER.get(name, name) for name in names]


def run(words, timeout, environment=None):
    """What the program printed, or why there is nothing."""
    try:
        result = subprocess.run(words, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return None, f"did not end in {timeout:.0f} s"
    if result.returncode not in (0, 1) or not result.stdout.startswith("{"):
        return None, result.stderr.strip().splitlines()[-1] if result.stderr.strip() else f"exit {result.returncode}"
    return json.loads(result.stdout), None


def has_finite_numbers(result):
    return any(output.get("max") is not None for output in result["outputs"])


def compare(words, asked, environment):
    """The checks of every output, each with its largest number, or why there are none."""
    settings = ["--json", "--no-tuning", "--threads", str(asked.threads), "--optimize-for", asked.optimize_for]
    with tempfile.TemporaryDirectory() as folder:
        _, problem = run([asked.first, "run", *words, "-o", folder, *settings], asked.timeout)
        if problem:
            return None, f"first: {problem}"
        tolerances = ["--rtol", str(asked.rtol), "--atol", str(asked.atol)]
        result, problem = run([asked.second, "run", *words, "--check", folder, *tolerances, *settings], asked.timeout,
                              environment)
        if problem:
            return None, f"second: {problem}"
        if not has_finite_numbers(result):
            return None, "no finite outputs: nothing was compared"
        largest = {output["name"]: largest_number(output) for output in result["outputs"]}
        return [{**check, "largest": largest[check["output"]]} for check in result["check"]["outputs"]], None


def largest_number(output):
    return max(abs(output[end]) if output.get(end) is not None else 0 for end in ("min", "max"))


def share_of_largest(check):
    return (check["largest_absolute_error"] or 0) / check["largest"] if check["largest"] else 0


def row(model, checks, rtol, seconds):
    absolute = max(check["largest_absolute_error"] or 0 for check in checks)
    relative = max(check["largest_relative_error"] or 0 for check in checks)
    share = max(share_of_largest(check) for check in checks)
    agrees = share <= rtol and all(check["agrees"] for check in checks)
    print(f"{model:<44} {absolute:>10.2g} {share:>10.2g} {relative:>10.2g} {seconds:>7.1f}  "
          f"{'agrees' if agrees else 'DIFFERS'}", flush=True)
    return agrees


def main():
    asked = options()
    environment = {**os.environ, **({"QEMU_LD_PREFIX": asked.prefix} if asked.prefix else {})}
    models = asked.models or networks_of_zoo(asked.first)
    print(f"{'model':<44} {'absolute':>10} {'of largest':>10} {'relative':>10} {'seconds':>7}  largest errors")
    differing = 0
    for model in models:
        start = time.monotonic()
        words = shlex.split(model)
        checks, problem = compare(words, asked, environment)
        name = words[0] if words[0].startswith("zoo:") else pathlib.Path(words[0]).name
        if problem:
            print(f"{name:<44} {problem}", flush=True)
        agrees = not problem and row(name, checks, asked.rtol, time.monotonic() - start)
        differing += not agrees
    print(f"{len(models) - differing} of {len(models)} agree within {asked.rtol:g} · |expected| + {asked.atol:g}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
