#!/usr/bin/env python3
"""Quantises built-in networks with assay and with ONNX Runtime, on the same inputs, to compare their speed.

    bench/peers/quantize_zoo.py build/release FOLDER [NAME...]
    bench/quantized.py build/release/assay FOLDER
    bench/peers/check_quantized_outputs.py build/release/assay FOLDER

Needs a python with onnx, onnxruntime and numpy. Writes NAME.fp32.onnx, NAME.assay.onnx and NAME.ort.onnx.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx

from calibration_time import by_onnxruntime
from random_images import random_images

NAMES = ["resnet18", "mobilenet_v2", "encoder", "vit_b16"]


def samples(model, count):
    """Images where the model takes them, else normal numbers or small integers."""
    shape = model.graph.input[0].type.tensor_type
    dims = [dim.dim_value or 1 for dim in shape.shape.dim]
    generator = numpy.random.default_rng(0)
    for i in range(count):
        if dims[1:] == [3, 224, 224]:
            yield random_images(1, seed=i)
        elif shape.elem_type == onnx.TensorProto.FLOAT:
            yield generator.standard_normal(dims).astype(numpy.float32)
        else:
            yield generator.integers(0, 100, dims)


def main():
    build, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or NAMES:
        original = str(folder / f"{name}.fp32.onnx")
        subprocess.run([build / "assay", "zoo", "export", name, "-o", original, "-q"], check=True)
        with tempfile.TemporaryDirectory() as data:
            for i, sample in enumerate(samples(onnx.load(original), 8)):
                numpy.save(f"{data}/{i}.npy", sample)
            subprocess.run([build / "bench/bench_quantize", original, data, folder / f"{name}.assay.onnx"], check=True)
            written = str(folder / f"{name}.ort.onnx")
            by_onnxruntime(original, data, written, "minmax")
            pathlib.Path(written + ".prepared.onnx").unlink()
        print(name, flush=True)


if __name__ == "__main__":
    main()
