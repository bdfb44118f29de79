#!/usr/bin/env python3
"""Latency of two builds of assay on the same models, in pairs of fresh processes that measure in turns.

  bench/versions.py OLD_ASSAY NEW_ASSAY [MODEL ...] [--threads 1 2] [--rounds 5] [--seconds 2]

MODEL is an .onnx file or zoo:NAME, by default the networks of the zoo named below; the new program exports them and
both read the same file. Processes take turns as bench/peers/latency.py says, and choose their algorithms anew in every
round. Prints medians over rounds, the median ratio new/old with the range of the rounds,
and a verdict: SLOWER or FASTER when the median ratio differs from 1 by more than --tolerance and at least
three quarters of the rounds agree on the direction; otherwise SAME. Exits with 1 when anything is SLOWER.
"""
import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
from latency import assay_command, export, measure_rounds, ratio  # noqa: E402

MODELS = ["resnet18", "resnet50", "mobilenet_v2", "small_cnn_gap", "encoder", "lstm", "mlp", "lenet5", "vit_b16",
          "gpt2_small"]


def verdict(ratios, tolerance):
    middle = statistics.median(ratios)
    slower = sum(one > 1 for one in ratios) / len(ratios)
    if middle > 1 + tolerance and slower >= 0.75:
        return "SLOWER"
    if middle < 1 - tolerance and slower <= 0.25:
        return "FASTER"
    return "SAME"


def compare(arguments, path, threads):
    """By round, the results of the new and of the old program."""
    commands = []
    for program in (arguments.new, arguments.old):
        arguments.assay = program
        commands.append(assay_command(arguments, path, threads))
    return measure_rounds(commands, arguments.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("models", nargs="*", default=["zoo:" + name for name in MODELS])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="that each process measures")
    parser.add_argument("--tolerance", type=float, default=0.02, help="relative difference taken for none")
    parser.add_argument("--optimize-for", default="latency")
    parser.add_argument("--dim", nargs="*", default=[])
    arguments = parser.parse_args()
    any_slower = False
    print(f"{'model':24} {'thr':>3} {'old ms':>9} {'new ms':>9} {'ratio':>6} {'range':>12}  verdict")
    with tempfile.TemporaryDirectory() as folder:
        arguments.assay = arguments.new
        for model in arguments.models:
            path = export(arguments, model, folder)
            for threads in arguments.threads:
                rounds = compare(arguments, path, threads)
                ratios = [ratio(new, old) for new, old in rounds]
                new_ms, old_ms = (statistics.median(results[side][0] for results in rounds) for side in (0, 1))
                said = verdict(ratios, arguments.tolerance)
                any_slower |= said == "SLOWER"
                print(f"{model:24} {threads:3} {old_ms:9.3f} {new_ms:9.3f} {statistics.median(ratios):6.3f}"
                      f" {min(ratios):5.2f}–{max(ratios):5.2f}  {said}", flush=True)
    return 1 if any_slower else 0


if __name__ == "__main__":
    sys.exit(main())
