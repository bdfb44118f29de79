#!/usr/bin/env python3
"""Latency of 8-bit models in assay beside ONNX Runtime's, and beside the same network in fp32.

    bench/peers/quantize_models.py FOLDER
    bench/quantized.py build/release/assay FOLDER [--threads 1,2] [--rounds 3] [--models resnet18 vit_b_16.qdq …]

Run it with a python that has onnxruntime and numpy, on a quiet machine. FOLDER holds NAME.KIND.onnx and, for
the comparison with fp32, NAME.fp32.onnx. Every round starts fresh processes: ONNX Runtime and assay on the
8-bit model, and assay on the fp32 model. They measure in turns as in bench/peers/latency.py. Prints medians over
rounds, and the median and range of the rounds' ratios assay / ONNX Runtime; a ratio below 1 means that assay
takes less time.
"""
import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import latency

INSTRUCTION_SETS = ["avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
                    "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "asimddp", "i8mm", "bf16", "sve", "sve2"]


def processor():
    """Its name, and the instruction sets that matter for these models."""
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    present = " ".join(one for one in INSTRUCTION_SETS if one in flags)
    return f"{facts.get('model name', 'unnamed processor')}: {present}"


def chosen_models(folder, names):
    """The 8-bit models of a folder; names are those of networks or of files without .onnx."""
    models = [path for path in sorted(folder.glob("*.onnx")) if not path.name.endswith(".fp32.onnx")]
    return [path for path in models if not names or path.stem in names or path.stem.split(".")[0] in names]


def fp32_model(path):
    partner = path.with_name(path.name.split(".")[0] + ".fp32.onnx")
    return partner if partner.exists() else None


def row(options, path, threads):
    partner = fp32_model(path)
    commands = [latency.assay_command(options, str(path), threads),
                latency.onnxruntime_command(options, str(path), threads)]
    if partner:
        commands.append(latency.assay_command(options, str(partner), threads))
    rounds = latency.measure_rounds(commands, options.rounds)
    ratios = [latency.ratio(results[0], results[1]) for results in rounds]
    ours, theirs = (statistics.median(results[side][0] for results in rounds) for side in (0, 1))
    text = (f"{path.stem:28} {theirs:9.3f} {ours:9.3f} {statistics.median(ratios):6.3f}"
            f" {min(ratios):5.2f}–{max(ratios):5.2f}")
    if partner:
        in_fp32 = statistics.median(results[2][0] for results in rounds)
        speed_up = statistics.median(latency.ratio(results[2], results[0]) for results in rounds)
        text += f" {in_fp32:9.3f} {speed_up:8.2f}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="that each process measures")
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--optimize-for", default="latency")
    parser.add_argument("--dim", nargs="*", default=[])
    options = parser.parse_args()
    models = chosen_models(options.folder, options.models)
    if not models:
        sys.exit(f"{options.folder}: no 8-bit model of these names; bench/peers/quantize_models.py writes them")
    print(processor())
    for threads in options.threads:
        print(f"\nthreads: {threads}\n{'model':28} {'ORT ms':>9} {'assay ms':>9} {'ratio':>6} {'range':>11}"
              f" {'fp32 ms':>9} {'speed-up':>8}")
        for path in models:
            try:
                print(row(options, path, threads), flush=True)
            except SystemExit as failure:
                print(f"{path.stem:28} {failure}", flush=True)


if __name__ == "__main__":
    main()
