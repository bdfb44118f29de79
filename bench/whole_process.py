#!/usr/bin/python3
"""Whole processes side by side: assay count against python's onnx load and shape inference.

    bench/whole_process.py ASSAY [ROUNDS]

Runs alternate, so that noise of the machine hits both; medians and their ratio are printed, with
the peak resident memory of each. Then graphs of 10,000 to 100,000 nodes, for growth.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = ("import onnx, sys; model = onnx.load(sys.argv[1]); "
          "onnx.shape_inference.infer_shapes(model)")


def run_once(command):
    """Seconds and peak resident MiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss / 1024


def alternate(commands, rounds):
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(run_once(command))
    return samples


def compare_with_python(assay, model, rounds):
    samples = alternate({
        "assay count": [assay, "count", model],
        "assay count --json": [assay, "count", "--json", model],
        "python onnx": ["/usr/bin/python3", "-c", PYTHON, model],
    }, rounds)
    python = statistics.median(seconds for seconds, _ in samples["python onnx"])
    print(f"\n{model and pathlib.Path(model).name}, {os.path.getsize(model) / 1e6:.0f} MB, "
          f"{rounds} alternating runs")
    print(f"{'':22}{'median ms':>12}{'min ms':>10}{'peak MiB':>10}{'faster':>9}")
    for name, runs in samples.items():
        median = statistics.median(seconds for seconds, _ in runs)
        print(f"{name:22}{median * 1e3:12.2f}{min(runs)[0] * 1e3:10.2f}"
              f"{max(peak for _, peak in runs):10.1f}{python / median:8.0f}x")


def write_chain(path, nodes):
    from onnx import TensorProto, helper, save
    names = ["x"] + [f"v{i}" for i in range(nodes)]
    chain = [helper.make_node(("Relu", "Sigmoid", "Add")[i % 3],
                              [names[i]] * (2 if i % 3 == 2 else 1), [names[i + 1]], name=f"n{i}")
             for i in range(nodes)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])
    y = helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [1, 64])
    graph = helper.make_graph(chain, "chain", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def growth(assay, folder, rounds):
    print(f"\n{'nodes':>10}{'table ms':>12}{'--json ms':>12}{'µs a node':>12}{'peak MiB':>10}")
    for nodes in (10_000, 20_000, 50_000, 100_000):
        path = str(folder / f"chain{nodes}.onnx")
        write_chain(path, nodes)
        samples = alternate({"table": [assay, "count", path],
                             "json": [assay, "count", "--json", path]}, rounds)
        table, json = (statistics.median(s for s, _ in samples[k]) for k in ("table", "json"))
        peak = max(p for runs in samples.values() for _, p in runs)
        print(f"{nodes:10,}{table * 1e3:12.1f}{json * 1e3:12.1f}{table * 1e6 / nodes:12.2f}{peak:10.1f}")


def main():
    assay = str(pathlib.Path(sys.argv[1]).resolve())
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = str(folder / "resnet50.onnx")
        subprocess.run([assay, "-q", "zoo", "export", "resnet50", "-o", model], check=True)
        compare_with_python(assay, model, rounds)
        growth(assay, folder, max(3, rounds // 3))


if __name__ == "__main__":
    main()
