#!/usr/bin/env python3
"""How often `assay compare` decides wrongly between stored profiles of one model: each model is
profiled twice, in processes of its own, and the two files are compared. Any FASTER or SLOWER is
false.

    bench/stored_verdicts.py build/release/assay --rounds 20

Prints a table."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

MODELS = ["zoo:lenet5", "zoo:small_cnn", "zoo:mlp", "zoo:resnet18", "zoo:mobilenet_v2"]


def stored(arguments, model, path):
    words = [arguments.assay, "profile", model, "--threads", "1", "--json", "--quiet",
             "--max-time", str(arguments.max_time)]
    path.write_bytes(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    return path


def compared(assay, a, b):
    words = [assay, "compare", str(a), str(b), "--stored", "--json", "--quiet"]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--rounds", type=int, default=20, help="comparisons for each model")
    parser.add_argument("--max-time", type=float, default=2)
    arguments = parser.parse_args()
    false, total = 0, 0
    print(f"{'model':20} {'comparisons':>11} {'false':>5}  {'ratios':15}  verdicts")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            verdicts, ratios = collections.Counter(), []
            for _ in range(arguments.rounds):
                a, b = (stored(arguments, model, pathlib.Path(folder) / f"{side}.json") for side in "ab")
                result = compared(arguments.assay, a, b)
                verdicts[result["verdict"]] += 1
                ratios.append(result["ratio"])
            wrong = verdicts["FASTER"] + verdicts["SLOWER"]
            false, total = false + wrong, total + arguments.rounds
            spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
            print(f"{model:20} {arguments.rounds:11} {wrong:5}  {spread:15}  {dict(verdicts)}", flush=True)
    print(f"{false} false verdicts of {total}")
    return 1 if false > 0.02 * total else 0


if __name__ == "__main__":
    sys.exit(main())
