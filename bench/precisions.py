#!/usr/bin/env python3
"""Compares the precisions of assay's CPU engine with its own fp32.

    bench/precisions.py build/release/assay [--models resnet50,vit_b16] [--threads 1 2] [--rounds 3] [--update docs/speed.md]

Precisions take turns, in fresh processes. The ratio is fp32's latency over the other's, the median over the rounds with
their range; above 1 is faster than fp32. --update writes the table between the marks in a file.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

MODELS = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "vit_b16", "gpt2_small", "gpt2_small:length=1",
          "encoder", "lstm", "small_cnn", "mlp"]
PRECISIONS = ["fp32", "bf16", "fp16"]
BEGIN, END = "<!-- precisions -->", "<!-- end of precisions -->"


def latency_ms(assay, model, precision, threads, seconds):
    words = [assay, "profile", f"zoo:{model}", "--threads", str(threads), "--max-time", str(seconds), "--no-ceilings",
             "--json"]
    if precision != "fp32":
        words += ["--precision", precision]
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{result.stderr}")
    return json.loads(result.stdout)["latency"]["median_ms"]


def measured(options, model, threads):
    rounds = []
    for _ in range(options.rounds):
        rounds.append({one: latency_ms(options.assay, model, one, threads, options.seconds) for one in PRECISIONS})
    return rounds


def cell(rounds, precision):
    times = statistics.median(one[precision] for one in rounds)
    if precision == "fp32":
        return f"{times:.3g}"
    ratios = sorted(one["fp32"] / one[precision] for one in rounds)
    return f"{times:.3g}, **{statistics.median(ratios):.2f}** ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def table(options):
    lines = ["| network | threads | fp32: ms | bf16: ms, ratio | fp16: ms, ratio |", "| --- | --- | --- | --- | --- |"]
    for model in options.models:
        for threads in options.threads:
            rounds = measured(options, model, threads)
            lines.append(f"| {model} | {threads} | " + " | ".join(cell(rounds, one) for one in PRECISIONS) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def update(path, text):
    page = path.read_text()
    if BEGIN not in page:
        sys.exit(f"{path} has no line {BEGIN}")
    path.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay")
    parser.add_argument("--models", type=lambda text: text.split(","), default=MODELS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--update", type=pathlib.Path)
    options = parser.parse_args()
    text = table(options)
    if options.update:
        update(options.update, text)


if __name__ == "__main__":
    main()
