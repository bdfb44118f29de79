#!/usr/bin/env python3
"""Latency and peak memory of assay beside ONNX Runtime, from alternating fresh processes.

  bench/peers/latency.py build/release/assay [MODEL ...] [--threads 1 2] [--batch 1] [--rounds 5]

MODEL is an .onnx file or zoo:NAME; without any, the networks of the table in the docs. Run it with a
python that has onnxruntime and numpy. Every round starts one process of each engine, in turns
(A B B A), so that both meet the same machine. Prints medians over rounds, their ratio, and the peak
memory of each process over one of the same kind that loads no model.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ZOO = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "small_cnn_gap", "vit_b16",
       "gpt2_small:last_only=1", "encoder", "lstm"]


def random_inputs(session):
    import numpy
    types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64,
             "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}
    generator = numpy.random.default_rng(0)
    inputs = {}
    for one in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in one.shape]
        kind = types[one.type]
        values = generator.standard_normal(shape) if kind == numpy.float32 else generator.integers(0, 2, shape)
        inputs[one.name] = values.astype(kind)
    return inputs


def run_onnxruntime(path, threads, seconds):
    """The worker: one process, one session, as many runs as fit."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = random_inputs(session)
    for _ in range(5):
        session.run(None, inputs)
    samples = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples) < 5:
        start = time.perf_counter()
        session.run(None, inputs)
        samples.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"median_ms": statistics.median(samples)}))


def run_process(command):
    """Standard output, and the largest resident size in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {status}")
    return output, usage.ru_maxrss * 1024


def measure_assay(arguments, path, threads, goal="latency"):
    command = [arguments.assay, "profile", path, "--json", "--threads", str(threads), "--optimize-for", goal,
               "--min-time", str(arguments.seconds), "--max-time", str(arguments.seconds)]
    output, peak = run_process(command)
    return json.loads(output)["latency"]["median_ms"], peak


def measure_onnxruntime(arguments, path, threads):
    command = [sys.executable, __file__, "--worker", path, str(threads), str(arguments.seconds)]
    output, peak = run_process(command)
    return json.loads(output)["median_ms"], peak


def empty_processes(arguments):
    _, ours = run_process([arguments.assay, "--version"])
    _, theirs = run_process([sys.executable, "-c", "import onnxruntime, numpy"])
    return ours, theirs


def compare(arguments, path, threads):
    """Medians and peaks of both over the rounds."""
    ours, theirs = [], []
    for turn in range(arguments.rounds):
        pair = [lambda: ours.append(measure_assay(arguments, path, threads)),
                lambda: theirs.append(measure_onnxruntime(arguments, path, threads))]
        for measure in (pair if turn % 2 == 0 else reversed(pair)):
            measure()
    return ours, theirs


def export(arguments, model, folder):
    if not model.startswith("zoo:"):
        return model
    name = model[4:]
    if arguments.batch != 1:
        name += ("," if ":" in name else ":") + f"batch={arguments.batch}"
    path = os.path.join(folder, name.replace(":", "_").replace("=", "_").replace(",", "_") + ".onnx")
    subprocess.run([arguments.assay, "zoo", "export", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def needed_bytes(arguments, path):
    """Weights and live activations, as counted."""
    output, _ = run_process([arguments.assay, "count", path, "--json"])
    count = json.loads(output)
    totals = count["totals"]
    return totals["parameter_bytes"] + totals["peak_activation_bytes"]


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return run_onnxruntime(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("models", nargs="*", default=["zoo:" + name for name in ZOO])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    empty_ours, empty_theirs = empty_processes(arguments)
    print(f"{'model':28} {'thr':>3} {'assay ms':>9} {'ORT ms':>9} {'ratio':>6} {'range':>12}"
          f" {'assay MiB':>10} {'ORT MiB':>8} {'needed':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            path = export(arguments, model, folder)
            needed = needed_bytes(arguments, path)
            for threads in arguments.threads:
                ours, theirs = compare(arguments, path, threads)
                a = statistics.median(ms for ms, _ in ours)
                b = statistics.median(ms for ms, _ in theirs)
                ratios = [x[0] / y[0] for x, y in zip(ours, theirs)]
                mib = [(max(peak for _, peak in runs) - empty) / 2**20
                       for runs, empty in ((ours, empty_ours), (theirs, empty_theirs))]
                print(f"{model:28} {threads:3} {a:9.3f} {b:9.3f} {a / b:6.3f}"
                      f" {min(ratios):5.2f}–{max(ratios):5.2f} {mib[0]:10.1f} {mib[1]:8.1f} {needed / 2**20:7.1f}",
                      flush=True)


if __name__ == "__main__":
    main()
