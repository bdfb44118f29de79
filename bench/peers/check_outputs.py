#!/usr/bin/env python3
"""Do assay and ONNX Runtime compute the same? Both run each model on the same random inputs.

  bench/peers/check_outputs.py build/release/assay MODEL.onnx ... [--dim NAME=SIZE ...] [--engine reference]

Run it with a python that has onnxruntime and numpy. An open dimension is 1 unless --dim names it.
Prints the largest error of each model relative to its largest output, and exits with 1 if one is above
--tolerance (1e-4).
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


def random_inputs(session, sizes):
    generator = numpy.random.default_rng(0)
    inputs = {}
    for one in session.get_inputs():
        shape = [size if isinstance(size, int) else sizes.get(size, 1) for size in one.shape]
        kind = TYPES[one.type]
        if kind in (numpy.float32, numpy.float64):
            inputs[one.name] = generator.standard_normal(shape).astype(kind)
        elif shape == []:
            inputs[one.name] = numpy.array(16000, dtype=kind)  # a rate, a length
        else:
            inputs[one.name] = generator.integers(0, 2, shape).astype(kind)
    return inputs


def file_name(name):
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy"


def run_assay(arguments, model, inputs, folder):
    command = [arguments.assay, "run", str(model), "--engine", arguments.engine, "-o", str(folder / "out")]
    for i, (name, values) in enumerate(inputs.items()):
        numpy.save(folder / f"{i}.npy", values)
        command += ["--input", f"{name}={folder / f'{i}.npy'}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{model}: {result.stderr.strip()}")


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
    sizes = dict(word.split("=") for word in arguments.dim)
    inputs = random_inputs(session, {name: int(size) for name, size in sizes.items()})
    expected = session.run(None, inputs)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_assay(arguments, model, inputs, folder)
        outputs = [numpy.load(folder / "out" / file_name(one.name)) for one in session.get_outputs()]
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
