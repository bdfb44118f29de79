#!/usr/bin/env python3
"""Do assay and ONNX Runtime compute the same with 8-bit models? Both run each on the same inputs.

    bench/peers/check_quantized_outputs.py build/release/assay FOLDER [--models resnet18 …] [--engines cpu reference]

Run it with a python that has onnx, onnxruntime and numpy. FOLDER holds .onnx files; NAME.fp32.onnx are skipped. Prints
for each model and engine
  steps    the largest difference of the first output, in steps of the last scale before it
  own      the same between ONNX Runtime with and without its graph optimisations
  argmax   of the first output's last axis: equal; tie, where ONNX Runtime gives both elements one value; or how
           many differ
  error    the largest difference, relative to the largest element; the worst output
  cosine   of the angle between outputs as vectors; the worst output
and, for the cpu engine, the steps that fell back to reference kernels. Exits with 1 if assay fails, if a network of
convolutions is more than --steps (2) away, or if the cosine of another is below --cosine (0.999). A cosine says nothing
about a single number: one may have an error of --error (0.05).
"""
import argparse
import collections
import json
import pathlib
import sys

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from check_outputs import largest_error
from latency import dim_options
from model_runs import AssayFailed, assay_outputs, named_sizes, random_inputs, told_by
from quantized import chosen_models
from random_images import random_images

# A network with one of these is judged by the cosine: softmax, norms and recurrence amplify single steps.
SEQUENCE_OPS = {"MatMul", "QLinearMatMul", "MatMulInteger", "LSTM", "DynamicQuantizeLSTM"}
# These have the scale of their result as this operand.
SCALE_OPERANDS = {"DequantizeLinear": 1, "QuantizeLinear": 1}
# These keep the values, so the scale is found further up.
KEEPS_VALUES = {"Flatten", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Relu"}


def inputs_for(session, sizes):
    """Images for networks that take one, as the ranges of activations came from such."""
    inputs = random_inputs(session, sizes)
    for name, values in inputs.items():
        if values.shape == (1, 3, 224, 224):
            inputs[name] = random_images(1, seed=100)
    return inputs


def last_scale(graph):
    """Of the first output; None where it is computed in floating point, or with ranges known only when it runs."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    name = graph.output[0].name
    while name in producers:
        node = producers[name]
        if node.op_type in SCALE_OPERANDS:
            scale = constants.get(node.input[SCALE_OPERANDS[node.op_type]])
            return None if scale is None else float(numpy_helper.to_array(scale).max())
        if node.op_type not in KEEPS_VALUES:
            return None
        name = node.input[0]
    return None


def session_of(model, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def steps_between(actual, expected, scale):
    if scale is None:
        return None
    return float(numpy.abs(actual.astype(numpy.float64) - expected).max() / scale)


def cosine(actual, expected):
    a, b = (values.astype(numpy.float64).ravel() for values in (actual, expected))
    lengths = numpy.linalg.norm(a) * numpy.linalg.norm(b)
    return float(a @ b / lengths) if lengths else float(numpy.array_equal(a, b))


def argmax_text(actual, expected):
    ours, theirs = actual.argmax(-1), expected.argmax(-1)
    at_ours = numpy.take_along_axis(expected, ours[..., None], -1)
    at_theirs = numpy.take_along_axis(expected, theirs[..., None], -1)
    if (ours == theirs).all():
        return "equal"
    differ = int((at_ours != at_theirs).sum())
    return f"{differ} of {ours.size}" if differ else "tie"


class Expected:
    """What ONNX Runtime says about a model."""

    def __init__(self, path, dims):
        self.path = path
        model = onnx.load(str(path))
        self.scale = last_scale(model.graph)
        has_sequence_ops = bool(SEQUENCE_OPS & {node.op_type for node in model.graph.node})
        self.is_judged_by_steps = self.scale is not None and not has_sequence_ops
        levels = onnxruntime.GraphOptimizationLevel
        session = session_of(path, levels.ORT_ENABLE_ALL)
        self.names = [one.name for one in session.get_outputs()]
        self.inputs = inputs_for(session, named_sizes(dims))
        self.outputs = session.run(None, self.inputs)
        plain = session_of(path, levels.ORT_DISABLE_ALL).run(None, self.inputs)
        self.own_steps = steps_between(plain[0], self.outputs[0], self.scale)


class Differences:
    """Between the outputs of assay and those expected."""

    def __init__(self, outputs, expected):
        pairs = list(zip(outputs, expected.outputs))
        self.steps = steps_between(*pairs[0], expected.scale)
        self.argmax = argmax_text(*pairs[0])
        self.error = max(largest_error(*pair) for pair in pairs)
        self.cosine = min(cosine(*pair) for pair in pairs)


def passes(options, expected, found):
    if expected.is_judged_by_steps:
        return found.steps <= options.steps + 0.01
    has_single_number = any(output.size == 1 for output in expected.outputs)
    return found.cosine >= options.cosine and (not has_single_number or found.error <= options.error)


def figure(value):
    return "—" if value is None else f"{value:.2f}"


def check(options, expected, engine):
    """Prints a row; whether the bound holds."""
    label = f"{expected.path.stem:28} {engine:9}"
    try:
        outputs = assay_outputs(options.assay, engine, expected.path, expected.inputs, expected.names)
    except AssayFailed as failure:
        print(f"{label} {failure}", flush=True)
        return False
    if [output.shape for output in outputs] != [output.shape for output in expected.outputs]:
        print(f"{label} the shapes of outputs differ from ONNX Runtime's", flush=True)
        return False
    found = Differences(outputs, expected)
    holds = passes(options, expected, found)
    print(f"{label} {figure(found.steps):>7} {figure(expected.own_steps):>7} {found.argmax:>12} {found.error:9.2e}"
          f" {found.cosine:9.6f} {'' if holds else 'past its bound'}", flush=True)
    return holds


def print_fallbacks(options, path):
    """One line for each kind of step that fell back, with the reason."""
    try:
        told = told_by([options.assay, "profile", str(path), "--runs", "1", "--warmup", "0", "--no-ceilings", "--json",
                        *dim_options(options.dim)])
    except AssayFailed as failure:
        print(f"    profile: {failure}")
        return
    kinds = collections.Counter((step["op"], step["reason"]) for step in json.loads(told)["fell_back"])
    for (op, reason), count in kinds.most_common():
        print(f"    fell back: {count} × {op}: {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--engines", nargs="+", default=["cpu"], choices=["cpu", "reference"])
    parser.add_argument("--dim", nargs="*", default=[])
    parser.add_argument("--steps", type=float, default=2)
    parser.add_argument("--cosine", type=float, default=0.999)
    parser.add_argument("--error", type=float, default=0.05)
    options = parser.parse_args()
    print(f"{'model':28} {'engine':9} {'steps':>7} {'own':>7} {'argmax':>12} {'error':>9} {'cosine':>9}")
    all_hold = True
    for path in chosen_models(options.folder, options.models):
        expected = Expected(path, options.dim)
        for engine in options.engines:
            all_hold = check(options, expected, engine) and all_hold
        if "cpu" in options.engines:
            print_fallbacks(options, path)
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
