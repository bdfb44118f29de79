#!/usr/bin/env python3
"""Quantises networks of torchvision with assay and checks the files: models that nobody here wrote.

    bench/peers/quantize_torchvision.py build/release FOLDER [NAME...]

Needs a python with torch, torchvision, onnx, onnxruntime and numpy. Writes NAME.fp32.onnx (weights random but always the
same, batch norms with the statistics of random images) and NAME.assay.onnx, calibrated with eight images. Prints for each
  time     of quantising, and how many layers stay float
  snr      of ONNX Runtime's output over 8 other images: int8 against float, in decibels
  same     images to which assay and ONNX Runtime give the same class, of 8
  apart    the largest difference between their outputs, relative to the largest element
  own      the same between ONNX Runtime with and without its graph optimisations
and exits with 1 where onnx's checker, ONNX Runtime or assay refuses a file, or where outputs are more than 0.05 and twice
ONNX Runtime's own difference apart: weights are random, so a rounding step in an early layer grows from layer to layer.
"""
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import onnx
import onnxruntime
import torch
import torchvision

from quantize_models import batch_norms, fill_empty_weights, settle_batch_norms
from random_images import random_images

NAMES = ["densenet121", "shufflenet_v2_x1_0", "regnet_y_400mf", "efficientnet_b0", "convnext_tiny", "swin_t",
         "mobilenet_v3_large", "squeezenet1_1", "googlenet"]


def export(name, path):
    torch.manual_seed(0)
    options = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **options).eval()
    fill_empty_weights(model)
    if batch_norms(model):
        settle_batch_norms(model)
    torch.onnx.export(model.eval(), torch.zeros(1, 3, 224, 224), str(path), opset_version=17, input_names=["input"],
                      output_names=["output"])


def by_onnxruntime(path, images, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return numpy.concatenate([session.run(None, {"input": image[None]})[0] for image in images])


def by_assay(assay, path, images, scratch):
    found = []
    for image in images:
        numpy.save(scratch / "x.npy", image[None])
        subprocess.run([assay, "run", path, "--input", f"input={scratch}/x.npy", "-o", scratch / "out", "-q",
                        "--optimize-for", "memory"], check=True, capture_output=True)
        found.append(numpy.load(next((scratch / "out").glob("*.npy"))))
    return numpy.concatenate(found)


def check(build, folder, name, scratch):
    original, written = folder / f"{name}.fp32.onnx", folder / f"{name}.assay.onnx"
    if not original.exists():
        export(name, original)
    start = time.monotonic()
    told = subprocess.run([build / "bench/bench_quantize", original, scratch / "images", written], check=True,
                          capture_output=True, text=True)
    took = time.monotonic() - start
    onnx.checker.check_model(onnx.load(str(written)), full_check=True)
    images = random_images(8, seed=100)
    real, theirs = by_onnxruntime(original, images), by_onnxruntime(written, images)
    ours = by_assay(build / "assay", written, images, scratch)
    snr = 10 * numpy.log10((real ** 2).sum() / ((theirs - real) ** 2).sum())
    same = (ours.argmax(-1) == theirs.argmax(-1)).sum()
    apart = numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
    plain = by_onnxruntime(written, images, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    own = numpy.abs(plain - theirs).max() / numpy.abs(theirs).max()
    print(f"{name:20} {took:6.1f} s  {len(told.stderr.splitlines()):3} float  snr {snr:5.1f} dB  same {same} of 8  apart"
          f" {apart:.4f}  own {own:.4f}", flush=True)
    return apart <= max(0.05, 2 * own)


def main():
    warnings.filterwarnings("ignore")
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    holds = True
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "images").mkdir()
        for i, image in enumerate(random_images(8)):
            numpy.save(scratch / f"images/{i}.npy", image[None])
        for name in sys.argv[3:] or NAMES:
            try:
                holds = check(build, folder, name, scratch) and holds
            except Exception as failure:
                told = getattr(failure, "stderr", None) or failure
                print(f"{name:20} {str(told).strip()[:300]}", flush=True)
                holds = False
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
