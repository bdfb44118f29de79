#!/usr/bin/env python3
"""How often a gate of `assay compare` is right on this machine: --fail-if 'latency>2%' must not fail when a model is
compared with a copy of itself, and must fail when B has 35 equal layers for A's 33, which is 6 % more work.

    bench/gates.py build/release/assay --rounds 10
    bench/gates.py build/release/assay --rounds 10 --record gates.jsonl   adds to earlier rounds, and counts all
    bench/gates.py build/release/assay --check 60                         how much longer B really takes

Needs python3-onnx and python3-numpy. Prints a table."""
import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from verdicts import save_chain

LAYERS = (33, 35)  # 6.06 % more
GATE = "latency>2%"


def make_models(folder, kind):
    """A, its copy, and B."""
    a, copy, b = (str(pathlib.Path(folder) / f"{name}.onnx") for name in ("a", "copy", "b"))
    save_chain(a, LAYERS[0], kind)
    shutil.copy(a, copy)
    save_chain(b, LAYERS[1], kind)
    return a, copy, b


def compare(arguments, a, b, *words):
    words = [arguments.assay, "compare", a, b, "--threads", str(arguments.threads), "--json", "--quiet", *words]
    start = time.monotonic()
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        raise SystemExit(result.stderr)
    return json.loads(result.stdout), result.returncode, time.monotonic() - start


def one_round(arguments, models, number):
    a, copy, b = models
    for case, other in (("same", copy), ("slower", b)):
        document, code, seconds = compare(arguments, a, other, "--max-time", str(arguments.max_time), "--fail-if", GATE)
        [gate] = document["gates"]
        low, high = (100 * (document[end] - 1) for end in ("ci95_low", "ci95_high"))
        print(f"{number} {case:7}{gate['verdict']:10} {low:+6.2f} to {high:+6.2f} %, {document['pairs']} pairs, "
              f"{seconds:.1f} s", flush=True)
        assert (code == 1) == (gate["verdict"] == "FAILED")
        yield {"case": case, "verdict": gate["verdict"], "seconds": seconds, "pairs": document["pairs"],
               "ratio": document["ratio"], "low": document["ci95_low"], "high": document["ci95_high"],
               "kind": arguments.kind, "max_time": arguments.max_time, "threads": arguments.threads}


def recorded(path):
    return [json.loads(line) for line in open(path)] if path and os.path.exists(path) else []


def print_table(rounds):
    print(f"\n{'':34}{'rounds':>7}{'FAILED':>8}{'PASSED':>8}{'UNDECIDED':>11}{'pairs':>7}{'seconds':>15}")
    for case, title in (("same", "A and its copy"), ("slower", f"{LAYERS[0]} and {LAYERS[1]} layers")):
        own = [one for one in rounds if one["case"] == case]
        if not own:
            continue
        counts = collections.Counter(one["verdict"] for one in own)
        seconds = [one["seconds"] for one in own]
        taken = f"{statistics.median(seconds):.1f}, {max(seconds):.1f} max"
        print(f"{title + ', ' + own[0]['kind']:34}{len(own):7}{counts['FAILED']:8}{counts['PASSED']:8}"
              f"{counts['UNDECIDED']:11}{statistics.median(one['pairs'] for one in own):7.0f}{taken:>15}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-time", type=float, default=5)
    parser.add_argument("--kind", choices=["products", "convolutions"], default="products")
    parser.add_argument("--record", help="append every round to this file")
    parser.add_argument("--check", type=float, help="compare A with B once, for this many seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(folder, arguments.kind)
        if arguments.check:
            # A threshold that is never reached keeps it measuring.
            document, _, seconds = compare(arguments, models[0], models[2], "--max-time", str(arguments.check),
                                           "--threshold", "0.001", "--fail-if", "latency>6.06%")
            print(f"B takes {document['ratio']:.4f} of A's time ({document['ci95_low']:.4f} to "
                  f"{document['ci95_high']:.4f}), {document['pairs']} pairs, {seconds:.0f} s")
            return
        rounds = recorded(arguments.record)
        for number in range(arguments.rounds):
            for one in one_round(arguments, models, number + 1):
                rounds.append(one)
                if arguments.record:
                    with open(arguments.record, "a") as file:
                        file.write(json.dumps(one) + "\n")
        print_table(rounds)


if __name__ == "__main__":
    main()
