#!/usr/bin/env python3
"""Whether profiles can be believed on a busy machine: each model is profiled on one thread, quiet
and beside `stress-ng` on one processor. Checks by parsing the reports that parts sum to the
headline and that no figure contradicts another, and compares the medians.

    bench/busy_profiles.py build/release/assay --rounds 20

Needs stress-ng. Prints a table."""
import argparse
import collections
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
from report_figures import contradictions  # noqa: E402

MODELS = ["zoo:lenet5", "zoo:small_cnn", "zoo:mlp", "zoo:resnet18", "zoo:mobilenet_v2"]


@contextlib.contextmanager
def other_load():
    process = subprocess.Popen(["stress-ng", "--cpu", "1", "--quiet"])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def profiled(arguments, model):
    """The text report, its warnings, and the JSON of the same profile."""
    with tempfile.TemporaryDirectory() as folder:
        words = [arguments.assay, "profile", model, "--threads", "1", "--top", "0", "--max-time",
                 str(arguments.max_time), "--out", folder]
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True)
        document = json.loads((pathlib.Path(folder) / "profile.json").read_text())
    return run.stdout, run.stderr, document


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--rounds", type=int, default=20, help="busy profiles of each model")
    parser.add_argument("--max-time", type=float, default=2)
    arguments = parser.parse_args()
    failed = False
    print(f"{'model':20} {'quiet ms':>9} {'busy ms, lowest to highest':>26} {'beyond 10 %':>11} "
          f"{'NOISY':>5} {'contradictions':>14}")
    for model in arguments.models:
        quiet = statistics.median(profiled(arguments, model)[2]["latency_ms"] for _ in range(3))
        medians, noisy, reasons, found = [], 0, collections.Counter(), []
        with other_load():
            for _ in range(arguments.rounds):
                report, warnings, document = profiled(arguments, model)
                medians.append(document["latency_ms"])
                noisy += document["latency"]["verdict"] == "NOISY"
                reasons.update(warning["name"] for warning in document["latency"]["doubts"]
                               if warning["makes_noisy"])
                found += contradictions(report, warnings, document)
        beyond = sum(abs(median / quiet - 1) > 0.1 for median in medians)
        failed = failed or beyond > 0 or found != [] or noisy > arguments.rounds / 4
        span = f"{min(medians):.4f} to {max(medians):.4f}"
        print(f"{model:20} {quiet:9.4f} {span:>26} {beyond:11} {noisy:5} {len(found):14}", flush=True)
        if reasons:
            print("  NOISY for " + ", ".join(f"{name} ({count})" for name, count in reasons.items()))
        for one in sorted(set(found)):
            print(f"  {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
