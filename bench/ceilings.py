#!/usr/bin/env python3
"""Holds the ceilings that `assay machine` measures against LIKWID's kernels and oneDNN's layers.

    bench/ceilings.py build/release/assay [--rounds 3]

Each round measures everything once, one program after the other; the best of all rounds counts on
either side. Needs likwid-bench. LIKWID's bandwidths leave out the read that a cached store makes
first, as STREAM's and assay's do.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DRAM = "1GB"
# What assay calls it, LIKWID's kernel for it by instruction set, and the bytes of one thread.
PEERS = [
    ("peak", "fp32", {"avx512f": "peakflops_sp_avx512_fma", "avx2": "peakflops_sp_avx_fma"}, "16kB"),
    ("L1", "read", {"avx512f": "load_avx512", "avx2": "load_avx"}, "24kB"),
    ("L2", "read", {"avx512f": "load_avx512", "avx2": "load_avx"}, "600kB"),
    ("DRAM", "read", {"avx512f": "load_avx512", "avx2": "load_avx"}, DRAM),
    ("DRAM", "write", {"avx512f": "store_avx512", "avx2": "store_avx"}, DRAM),
    ("DRAM", "write-nt", {"avx512f": "store_mem_avx512", "avx2": "store_mem_avx"}, DRAM),
    ("DRAM", "copy", {"avx512f": "copy_avx512", "avx2": "copy_avx"}, DRAM),
    ("DRAM", "copy-nt", {"avx512f": "copy_mem_avx512", "avx2": "copy_mem_avx"}, DRAM),
    ("DRAM", "triad", {"avx512f": "stream_avx512_fma", "avx2": "stream_avx_fma"}, DRAM),
    ("DRAM", "triad-nt", {"avx512f": "stream_mem_avx512", "avx2": "stream_mem_avx_fma"}, DRAM),
]
DENSE = ["zoo:vgg16", "zoo:resnet50"]


def kernel_for_this_machine(by_instruction_set):
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return next(test for flag, test in by_instruction_set.items() if flag in flags)


def likwid(test, size, threads, is_peak):
    total = re.sub(r"\d+", lambda number: str(int(number.group()) * (1 if size == DRAM else threads)), size)
    command = ["likwid-bench", "-t", test, "-w", f"N:{total}:{threads}", "-s", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"MFlops/s:\s+([\d.]+)" if is_peak else r"MByte/s:\s+([\d.]+)", done.stdout)
    return float(found.group(1)) / 1000 if found else 0


def ceilings(assay, folder):
    environment = {**os.environ, "XDG_CACHE_HOME": folder}
    done = subprocess.run([assay, "machine", "--refresh", "--json", "-q"], capture_output=True, text=True, check=True,
                          env=environment)
    return json.loads(done.stdout)


def rate_of(machine, kind, what, threads):
    if kind == "peak":
        rows = [row["gflops"] for row in machine["peaks"] if row["precision"] == what and row["threads"] == threads]
    else:
        rows = [row["gbps"] for row in machine["bandwidths"]
                if row["level"] == kind and row["access"] == what and row["threads"] == threads]
    return max(rows)


def fastest_layer(assay, folder, threads):
    """Executed GFLOP/s of the fastest layer that oneDNN runs for these models."""
    rates = []
    for model in DENSE:
        command = [assay, "profile", model, "--json", "-q", "--threads", str(threads), "--max-time", "3"]
        done = subprocess.run(command, capture_output=True, text=True, check=True,
                              env={**os.environ, "XDG_CACHE_HOME": folder})
        rates += [step["executed_flops"] / step["time_ms"] / 1e6 for step in json.loads(done.stdout)["steps"]
                  if step["executed_flops"] and step["time_ms"] > 0.1]
    return max(rates)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ours, theirs, dense = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            machine = ceilings(arguments.assay, folder)
            counts = sorted({1, len(machine["topology"]["usable"])})
            for threads in counts:
                for kind, what, tests, size in PEERS:
                    key = (kind, what, threads)
                    ours[key] = max(ours.get(key, 0), rate_of(machine, kind, what, threads))
                    rate = likwid(kernel_for_this_machine(tests), size, threads, kind == "peak")
                    theirs[key] = max(theirs.get(key, 0), rate)
                dense[threads] = max(dense.get(threads, 0), fastest_layer(arguments.assay, folder, threads))
    print(f"{'ceiling':16}{'threads':>8}{'assay':>10}{'peer':>10}{'assay/peer':>12}")
    for key, rate in ours.items():
        kind, what, threads = key
        print(f"{kind + ' ' + what:16}{threads:>8}{rate:>10.1f}{theirs[key]:>10.1f}{rate / theirs[key]:>12.3f}  LIKWID")
    for threads, rate in dense.items():
        peak = ours["peak", "fp32", threads]
        print(f"{'peak fp32':16}{threads:>8}{peak:>10.1f}{rate:>10.1f}{peak / rate:>12.3f}  oneDNN's fastest layer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
