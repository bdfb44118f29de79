#!/usr/bin/env python3
"""Tokens per second of GPT-2 small with float and quantised weights, in turns.

    bench/decode.py build/release/bench/bench_decode [--threads 1 2] [--rounds 3] [--steps 64]

Each round runs every kind of weights once, so that a slow spell of the machine meets all of them. The table shows the
median over the rounds and its ratio to fp32.
"""
import argparse
import json
import statistics
import subprocess


def measured(program, weights, threads, steps, cache):
    words = [program, weights, str(threads), str(steps), "1" if cache else "0"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def table(arguments, threads):
    results = {kind: [] for kind in arguments.weights}
    for _ in range(arguments.rounds):
        for kind in arguments.weights:
            results[kind].append(measured(arguments.program, kind, threads, arguments.steps, True))
    base = statistics.median(r["tokens_per_second"] for r in results[arguments.weights[0]])
    for kind, runs in results.items():
        speeds = sorted(r["tokens_per_second"] for r in runs)
        middle = statistics.median(speeds)
        print(f"| {threads} | {kind} | {runs[0]['weight_mb']:.0f} | {middle:.1f} "
              f"({speeds[0]:.1f} to {speeds[-1]:.1f}) | {middle / base:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--weights", nargs="+", default=["fp32", "int8", "int4"])
    parser.add_argument("--without-cache", action="store_true", help="also fp32 without a cache")
    arguments = parser.parse_args()
    print("| threads | weights | MB | tokens/s (range) | ratio |\n| --- | --- | --- | --- | --- |")
    for threads in arguments.threads:
        table(arguments, threads)
        if arguments.without_cache:
            one = measured(arguments.program, "fp32", threads, arguments.steps, False)
            print(f"| {threads} | fp32, no cache | {one['weight_mb']:.0f} | {one['tokens_per_second']:.2f} | |")


if __name__ == "__main__":
    main()
