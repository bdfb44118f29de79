#!/usr/bin/env python3
"""Do assay and ONNX Runtime compute the same? Both run each model on the same random inputs.

  bench/peers/check_outputs.py build/release/assay MODEL.onnx ... [--dim NAME=SIZE ...] [--engine reference]

Run it with a python that has onnxruntime and numpy. An open dimension is 1 unless --dim names it.
Prints the largest error of each model relative to its largest output, and exits with 1 if one is above
--tolerance (1e-4).
"""
import argparse
import pathlib
import sys

import numpy
import onnxruntime

from model_runs import AssayFailed, assay_outputs, named_sizes, random_inputs


def largest_error(actual, expected):
    if actual.shape != expected.shape:
        return float("inf")
    if expected.size == 0:
        return 0.0
    actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    if not numpy.isfinite(expected).all():
        return float("nan")
    scale = max(numpy.abs(expected).max(), 1e-30)
    return float(numpy.abs(actual - expected).max() / scale)


def check(arguments, model):
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = random_inputs(session, named_sizes(arguments.dim))
    expected = session.run(None, inputs)
    try:
        outputs = assay_outputs(arguments.assay, arguments.engine, model, inputs,
                                [one.name for one in session.get_outputs()])
    except AssayFailed as failure:
        sys.exit(f"{model}: {failure}")
    return max(largest_error(a, b) for a, b in zip(outputs, expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--dim", nargs="*", default=[])
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()
    worst = 0.0
    for model in arguments.models:
        error = check(arguments, model)
        if numpy.isnan(error):
            print(f"{model.name:40} overflows in ONNX Runtime itself: nothing to compare", flush=True)
            continue
        worst = max(worst, error)
        print(f"{model.name:40} {error:9.2e}", flush=True)
    return 0 if worst <= arguments.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
