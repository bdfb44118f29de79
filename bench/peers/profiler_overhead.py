#!/usr/bin/env python3
"""How much longer a run takes while a profiler times its operators: ONNX Runtime's and PyTorch's.

    peers/bin/python bench/peers/profiler_overhead.py ASSAY [--rounds N]

The network is small_cnn_gap, batch 1, one thread, for PyTorch the same layers. Runs with and without the profiler
take turns; the median of neighbouring ratios is printed. `build/release/bench/bench_observe` measures assay's own.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

os.environ["KINETO_LOG_LEVEL"] = "99"
import numpy  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402

RUNS = 300


def microseconds(run):
    start = time.perf_counter()
    for _ in range(RUNS):
        run()
    return (time.perf_counter() - start) / RUNS * 1e6


def session(model, folder, profiled):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_profiling = profiled
    options.profile_file_prefix = str(pathlib.Path(folder) / "profile")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnx_runtime_times(assay, folder, rounds):
    model = str(pathlib.Path(folder) / "model.onnx")
    subprocess.run([assay, "-q", "zoo", "export", "small_cnn_gap", "-o", model], check=True, capture_output=True)
    feed = {"input": numpy.zeros((1, 1, 28, 28), numpy.float32)}
    plain, profiled = session(model, folder, False), session(model, folder, True)
    for one in (plain, profiled):
        microseconds(lambda: one.run(None, feed))
    for _ in range(rounds):
        yield microseconds(lambda: plain.run(None, feed)), microseconds(lambda: profiled.run(None, feed))


def torch_times(rounds):
    torch.set_num_threads(1)
    layers = torch.nn
    model = layers.Sequential(
        layers.Conv2d(1, 16, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(16, 32, 3, padding=1),
        layers.ReLU(), layers.MaxPool2d(2), layers.AdaptiveAvgPool2d(1), layers.Flatten(), layers.Linear(32, 10)).eval()
    x = torch.zeros(1, 1, 28, 28)
    with torch.no_grad():
        microseconds(lambda: model(x))
        for _ in range(rounds):
            plain = microseconds(lambda: model(x))
            with torch.profiler.profile():
                profiled = microseconds(lambda: model(x))
            yield plain, profiled


def report(name, times):
    times = list(times)
    ratio = statistics.median(profiled / plain for plain, profiled in times)
    plain, profiled = (statistics.median(column) for column in zip(*times))
    print(f"| {name} | {plain:.1f} | {profiled:.1f} | {ratio:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    print("| profiler | off, µs | on, µs | on / off |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        report(f"ONNX Runtime {onnxruntime.__version__}", onnx_runtime_times(arguments.assay, folder, arguments.rounds))
    report(f"torch.profiler {torch.__version__}", torch_times(arguments.rounds))


if __name__ == "__main__":
    main()
