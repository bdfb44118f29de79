#!/usr/bin/env python3
"""What the Python package adds: the time to import it, and of a call to the native run.

    python3 bench/python_overhead.py        with the package installed, or in PYTHONPATH
"""
import statistics
import subprocess
import sys
import time

import assay

STARTS = 21
CALLS = 20_000
ROUNDS = 9


def start_ms(code):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - begin) * 1e3


def import_ms():
    """The median difference of processes that run in turns."""
    return statistics.median(start_ms("import assay") - start_ms("pass") for _ in range(STARTS))


def first_use_ms():
    return statistics.median(start_ms("import assay; assay.Error") - start_ms("pass") for _ in range(STARTS))


def microseconds_per_call(program, array):
    begin = time.perf_counter()
    for _ in range(CALLS):
        program(array)
    return (time.perf_counter() - begin) / CALLS * 1e6


def main():
    program = assay.compile("zoo:small_cnn_gap", threads=1)
    array = program.random_inputs()[0]
    program(array)
    pairs = [(microseconds_per_call(program, array), program.time(CALLS) * 1e6) for _ in range(ROUNDS)]
    call, native = (statistics.median(column) for column in zip(*pairs))
    added = statistics.median(a - b for a, b in pairs)
    print(f"import assay                       {import_ms():6.1f} ms")
    print(f"import assay, native part loaded   {first_use_ms():6.1f} ms")
    print(f"small_cnn_gap, 1 thread, native    {native:6.2f} µs")
    print(f"called from Python                 {call:6.2f} µs, {added:.2f} µs more")


if __name__ == "__main__":
    main()
