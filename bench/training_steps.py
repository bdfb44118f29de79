#!/usr/bin/env python3
"""Holds a step of training in assay against PyTorch's, in turns, one process after the other.

    bench/training_steps.py build/release/assay [--rounds 5] [--threads 1 2] [--models small_cnn_gap …]

The peer is torch with channels_last images and a malloc that keeps what it was given, on the same
network, loss and optimizer (plain SGD). Needs /usr/bin/python3 with torch, torchvision and OpenBLAS
(libopenblas0: torch multiplies matrices twenty times slower without it); run it on a quiet machine. Debian's
OpenBLAS does not know the newest processors and takes them for very old ones: it is told what this one has,
unless OPENBLAS_CORETYPE is set. Prints the medians of every round, their ratio, and the most memory of each process; of torch's also how much of it
came after `import torch`.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PEER = pathlib.Path(__file__).resolve().parent / "peers" / "torch_training_step.py"
# The zoo's name, the batch, the loss, the runs of one round.
MODELS = {
    "small_cnn_gap": ("small_cnn_gap", 128, "cross-entropy", 60),
    "resnet18": ("resnet18", 8, "cross-entropy", 6),
    "mlp": ("mlp", 128, "cross-entropy", 300),
    "encoder": ("encoder", 8, "sum-of-squares", 20),
    "lstm": ("lstm", 16, "sum-of-squares", 40),
}
KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": "1073741824",
    "MALLOC_TOP_PAD_": "268435456",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
}


def blas_core():
    """The newest core that OpenBLAS knows and this processor can be."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    core = "SkylakeX" if "avx512vl" in flags else "Haswell" if "avx2" in flags else ""
    return {"OPENBLAS_CORETYPE": core} if core and "OPENBLAS_CORETYPE" not in os.environ else {}


def told_by(command, environment):
    """The JSON that a command prints, and the most memory its process had, in MB."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, env={**os.environ, **environment})
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(command)} failed")
        out.seek(0)
        return json.load(out), usage.ru_maxrss / 1024


def assay_step(assay, model, threads, cache):
    name, batch, loss, runs = MODELS[model]
    command = [assay, "profile", f"zoo:{name}", "--train", "--batch", str(batch), "--loss", loss, "--threads",
               str(threads), "--runs", str(runs), "--warmup", "3", "--no-ceilings", "--json", "-q"]
    told, most = told_by(command, {"XDG_CACHE_HOME": cache})
    return told["latency"]["median_ms"], most, 0


def torch_step(model, threads):
    _, batch, loss, runs = MODELS[model]
    told, most = told_by(["/usr/bin/python3", str(PEER), model, str(batch), loss, str(threads), str(runs)],
                         {**KEEP_MEMORY, **blas_core(), "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)})
    return told["median_ms"], most, told["imported_mb"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    print(f"{'model':14} {'threads':>7} {'assay ms':>10} {'torch ms':>10} {'ratio':>6}   "
          f"{'ratios of the rounds':24} {'assay MB':>9} {'torch MB':>9} {'of it':>7}")
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as cache:
        for model in options.models:
            for threads in options.threads:
                assay_step(options.assay, model, threads, cache)  # chooses algorithms
                own, peers, taken, peers_taken, imported = [], [], [], [], 0
                for _ in range(options.rounds):
                    time, size, _ = assay_step(options.assay, model, threads, cache)
                    own.append(time)
                    taken.append(size)
                    time, size, imported = torch_step(model, threads)
                    peers.append(time)
                    peers_taken.append(size)
                ratios = [a / b for a, b in zip(own, peers)]
                print(f"{model:14} {threads:7} {statistics.median(own):10.3f} {statistics.median(peers):10.3f} "
                      f"{statistics.median(ratios):6.3f}   {' '.join(f'{r:.2f}' for r in sorted(ratios)):24} "
                      f"{max(taken):9.1f} {max(peers_taken):9.1f} {max(peers_taken) - imported:7.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
