#!/usr/bin/env python3
"""Time and peak memory of quantising a model: assay beside ONNX Runtime's quantize_static, on the same images.

    bench/peers/calibration_time.py build/release/bench/bench_quantize MODEL.onnx [--images 64] [--size 224]
                                    [--method minmax|percentile|entropy]

Needs a python with onnx, onnxruntime and numpy. Each is a process of its own and reads and writes the same files. ONNX
Runtime's preprocessing (which folds batch norms) counts, as assay's does. Prints seconds and MiB of both, and ratios.
"""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy

from random_images import random_images

METHODS = {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}


def by_onnxruntime(model, folder, written, method):
    import onnxruntime.quantization as quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(quantization.CalibrationDataReader):
        def __init__(self):
            self.files = iter(sorted(pathlib.Path(folder).glob("*.npy")))
            import onnx
            self.name = onnx.load(model, load_external_data=False).graph.input[0].name

        def get_next(self):
            file = next(self.files, None)
            return None if file is None else {self.name: numpy.load(file)}

    prepared = written + ".prepared.onnx"
    quant_pre_process(model, prepared)
    quantization.quantize_static(prepared, written, Images(), per_channel=True,
                                 calibrate_method=getattr(quantization.CalibrationMethod, METHODS[method]),
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)


def write_images(folder, count, size):
    for i, image in enumerate(random_images(int(count), int(size))):
        numpy.save(f"{folder}/{i:04}.npy", image[None])


def measured(command):
    """Seconds and MiB of a process. A process that starts others counts its own memory as theirs: this one stays small."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = __import__("os").wait4(process.pid, 0)
    if status:
        sys.exit(process.stderr.read().decode())
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main():
    if sys.argv[1] == "by_onnxruntime":
        return by_onnxruntime(*sys.argv[2:])
    if sys.argv[1] == "write_images":
        return write_images(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_quantize")
    parser.add_argument("model")
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--method", default="minmax", choices=METHODS)
    parser.add_argument("--words", nargs="*", default=[], help="further words for bench_quantize")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "write_images", folder, str(options.images), str(options.size)],
                       check=True)
        ours = measured([options.bench_quantize, options.model, folder, f"{folder}/assay.onnx", options.method,
                         *options.words])
        theirs = measured([sys.executable, __file__, "by_onnxruntime", options.model, folder, f"{folder}/ort.onnx",
                           options.method])
    print(f"{pathlib.Path(options.model).stem} {options.method}: assay {ours[0]:.1f} s {ours[1]:.0f} MiB, ONNX Runtime"
          f" {theirs[0]:.1f} s {theirs[1]:.0f} MiB; ratios {ours[0] / theirs[0]:.2f} and {ours[1] / theirs[1]:.2f}")


if __name__ == "__main__":
    main()
