#!/usr/bin/env python3
"""Profiles the zoo against this machine's ceilings and lists what each model reaches.

    bench/rooflines.py build/release/assay [--threads 1,2] [MODEL...]

Nothing can be above its ceiling: a layer above 103 % means that a ceiling was measured too low, or
that work or bytes are counted which never happened. Exit code 1 if there is one.
"""
import argparse
import json
import subprocess
import sys

ZOO = ["small_cnn", "small_cnn_gap", "lenet5", "mlp", "stream_mlp", "resnet18", "resnet50", "vgg16", "mobilenet_v2",
       "vit_b16", "gpt2_small", "encoder", "lstm"]
SURE_MS = 0.02  # a shorter time is not certain enough to be compared with a ceiling
ALLOWED = 103


def profiled(assay, model, threads):
    command = [assay, "profile", model, "--json", "-q", "--threads", str(threads), "--max-time", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def reached(profile):
    rows = [row for row in profile["layers"] if row["percent_of_ceiling"] and row["time_ms"] >= SURE_MS]
    return sorted(rows, key=lambda row: -row["percent_of_ceiling"])


def bounds(profile):
    shares = {}
    for row in profile["layers"]:
        if row["bound"]:
            key = row["bound_level"] or row["bound"]
            shares[key] = shares.get(key, 0) + row["share"]
    return ", ".join(f"{key} {100 * share:.0f} %" for key, share in sorted(shares.items(), key=lambda item: -item[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", default="1,2")
    arguments = parser.parse_args()
    models = arguments.models or ["zoo:" + name for name in ZOO]
    above = 0
    print(f"{'model':24}{'threads':>8}{'ms':>10}{'of ceiling':>12}{'highest layer':>15}  bound by (share of the time)")
    for model in models:
        for threads in arguments.threads.split(","):
            profile = profiled(arguments.assay, model, threads)
            rows = reached(profile)
            highest = rows[0]["percent_of_ceiling"] if rows else 0
            print(f"{model:24}{threads:>8}{profile['latency_ms']:>10.3f}{profile['percent_of_ceiling']:>11.0f}%"
                  f"{highest:>14.0f}%  {bounds(profile)}")
            for row in rows:
                if row["percent_of_ceiling"] > ALLOWED:
                    above += 1
                    print(f"    above: {row['name']} {row['op']} {row['percent_of_ceiling']:.1f} % of "
                          f"{row['bound_level'] or row['bound']}, {row['time_ms']:.4f} ms")
    print(f"{above} layers above {ALLOWED} %")
    return 1 if above else 0


sys.exit(main())
