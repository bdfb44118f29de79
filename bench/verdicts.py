#!/usr/bin/env python3
"""How often `assay compare` is right on this machine: a model against itself must be SAME, and
against one with 34 layers for its 33, which takes 3 % longer, SLOWER.

    bench/verdicts.py build/release/assay --rounds 10

Needs python3-onnx and python3-numpy. Prints a table."""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = 33  # one more is 3 % more


def save_chain(path, layers, kind):
    """`layers` layers, all alike."""
    random = np.random.default_rng(1)
    shape, weight = {
        "convolutions": ([1, 32, 32, 32], [32, 32, 3, 3]),
        "products": ([64, 256], [256, 256]),
    }[kind]
    nodes, weights = [], []
    for i in range(layers):
        data = random.standard_normal(weight).astype(np.float32) * 0.05
        weights.append(numpy_helper.from_array(data, f"w{i}"))
        if kind == "convolutions":
            nodes.append(helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        else:
            nodes.append(helper.make_node("MatMul", [f"t{i}", f"w{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"t{i + 1}"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("t0", f"t{layers}")]
    graph = helper.make_graph(nodes, kind, values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def verdict(assay, a, b, threads):
    words = [assay, "compare", a, b, "--threads", str(threads), "--json", "--quiet"]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", nargs="*", default=["zoo:small_cnn_gap", "zoo:encoder", "zoo:resnet18"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = [(f"{model} with itself", model, model, "SAME") for model in arguments.models]
        for kind in ("convolutions", "products"):
            paths = [str(pathlib.Path(folder) / f"{kind}{layers}.onnx") for layers in (LAYERS, LAYERS + 1)]
            for path, layers in zip(paths, (LAYERS, LAYERS + 1)):
                save_chain(path, layers, kind)
            cases.append((f"{LAYERS} and {LAYERS + 1} {kind}", *paths, "SLOWER"))
        said = collections.defaultdict(collections.Counter)
        seconds = collections.defaultdict(list)
        for number in range(arguments.rounds):
            for name, a, b, expected in cases:
                start = time.monotonic()
                result = verdict(arguments.assay, a, b, arguments.threads)
                seconds[name].append(time.monotonic() - start)
                said[name][result["verdict"]] += 1
                interval = f"{result['ratio']:.4f} ({result['ci95_low']:.4f} to {result['ci95_high']:.4f})"
                print(f"{number + 1} {name}: {result['verdict']} {interval}, {result['pairs']} pairs, "
                      f"{seconds[name][-1]:.0f} s", flush=True)
        print(f"\n{'':32}{'right':>7}{'seconds':>13}  verdicts")
        for name, _, _, expected in cases:
            counts = said[name]
            share = counts[expected] / sum(counts.values())
            taken = f"{statistics.median(seconds[name]):.0f}, {max(seconds[name]):.0f} max"
            print(f"{name:32}{share:7.0%}{taken:>13}  " + ", ".join(f"{v} {n}" for v, n in counts.most_common()))


if __name__ == "__main__":
    main()
