#!/usr/bin/env python3
"""Checks what `assay profile` says binds a layer by changing the layer.

    bench/second_method.py build/release/assay [--threads 1]

Each layer is measured three times, in turns: as it is, with twice the MACs at equal bytes, and with twice the bytes
at equal MACs. The time must follow the resource that is named. Exit code 1 if it does not. Needs Debian's python3-onnx.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROUNDS = 3


def saved(folder, name, node, shape, weights):
    seeded = numpy.random.default_rng(0)
    tensors = [numpy_helper.from_array(seeded.standard_normal(dims, dtype=numpy.float32), f"w{i}")
               for i, dims in enumerate(weights)]
    graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    path = pathlib.Path(folder) / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def linear(folder, name, batch, inputs, outputs):
    node = helper.make_node("MatMul", ["x", "w0"], ["y"], name="layer")
    return saved(folder, name, node, [batch, inputs], [(inputs, outputs)])


def conv(folder, name, channels, outputs, side, kernel, group=1):
    height, width = side
    pads = [(kernel[0] - 1) // 2, (kernel[1] - 1) // 2, kernel[0] // 2, kernel[1] // 2]
    node = helper.make_node("Conv", ["x", "w0"], ["y"], name="layer", pads=pads, group=group, kernel_shape=kernel)
    return saved(folder, name, node, [1, channels, height, width], [(outputs, channels // group, *kernel)])


def cases(folder):
    """Name, the layer as it is, with twice the MACs, with twice the bytes."""
    def name(case, variant):
        return f"{case}_{variant}".replace(" ", "_")
    for width in (4096, 8192):
        case = f"linear {width}"
        yield case, [linear(folder, name(case, "base"), 2, width, width),
                     linear(folder, name(case, "macs"), 4, width, width),
                     linear(folder, name(case, "bytes"), 1, width, 2 * width)]
    case = "product 512 rows"
    yield case, [linear(folder, name(case, "base"), 512, 1024, 1024),
                 linear(folder, name(case, "macs"), 256, 2048, 2048),
                 linear(folder, name(case, "bytes"), 2048, 512, 512)]
    for channels, side in ((256, 56), (512, 28)):
        case = f"conv 1x1 {channels}"
        yield case, [conv(folder, name(case, "base"), channels, channels, (side, side), [1, 1]),
                     conv(folder, name(case, "macs"), 2 * channels, 2 * channels, (side, side // 2), [1, 1]),
                     conv(folder, name(case, "bytes"), channels // 2, channels // 2, (2 * side, 2 * side), [1, 1])]
    case = "conv 5x5 128"
    yield case, [conv(folder, name(case, "base"), 128, 128, (56, 56), [5, 5]),
                 conv(folder, name(case, "macs"), 256, 256, (56, 28), [5, 5]),
                 conv(folder, name(case, "bytes"), 64, 64, (112, 112), [5, 5])]


def profiled(assay, path, threads):
    command = [assay, "profile", str(path), "--json", "-q", "--threads", str(threads), "--max-time", "1.5"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measured(assay, paths, threads):
    rounds = [[profiled(assay, path, threads) for path in paths] for _ in range(ROUNDS)]
    times = [statistics.median(profiles[i]["latency"]["min_ms"] for profiles in rounds) for i in range(len(paths))]
    layer = max(rounds[0][0]["layers"], key=lambda row: row["time_ms"] or 0)
    return layer, times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--threads", default="1")
    arguments = parser.parse_args()
    wrong = 0
    print(f"{'layer':20}{'ms':>9}  {'named':10}{'MACs ×2':>9}{'bytes ×2':>10}  follows")
    with tempfile.TemporaryDirectory() as folder:
        for case, paths in cases(folder):
            layer, (base, macs, amount) = measured(arguments.assay, paths, arguments.threads)
            follows = "compute" if macs > amount else "memory"
            agrees = follows == layer["bound"]
            wrong += not agrees
            print(f"{case:20}{base:>9.3f}  {layer['bound_level'] or layer['bound']:10}{macs / base:>8.2f}×"
                  f"{amount / base:>9.2f}×  {follows}{'' if agrees else '  DISAGREES'}", flush=True)
    print(f"{wrong} labels that the second method does not confirm")
    return 1 if wrong else 0


sys.exit(main())
