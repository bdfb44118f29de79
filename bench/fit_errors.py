#!/usr/bin/env python3
"""Holds what `assay fit` predicts for this machine against what `assay profile` measures here.

    bench/fit_errors.py build/release/assay MODEL...

Give it models that the calibration has not seen. Prints the error of each, the median of them, and whether a bound
lies above a measured latency, which none may (exit code 1).
"""
import argparse
import json
import statistics
import subprocess
import sys


def answer(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    errors, above = [], 0
    print(f"{'model':40}{'measured ms':>12}{'estimated':>11}{'error':>8}{'bound':>10}")
    for model in arguments.models:
        [fit] = answer(arguments.assay, "fit", model, "--device", "this-machine", "--json", "-q")["devices"]
        latency = answer(arguments.assay, "profile", model, "--json", "-q", "--max-time", "3")["latency"]
        measured = latency["median_ms"]
        error = fit["estimate_ms"] / measured - 1
        errors.append(abs(error))
        above += fit["bound_ms"] > latency["min_ms"]
        print(f"{model[-39:]:40}{measured:>12.3f}{fit['estimate_ms']:>11.3f}{100 * error:>+7.1f}%"
              f"{fit['bound_ms']:>10.3f}", flush=True)
    print(f"median error {100 * statistics.median(errors):.1f} %, {above} bounds above a measured latency")
    return 1 if above else 0


sys.exit(main())
