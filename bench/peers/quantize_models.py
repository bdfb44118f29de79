#!/usr/bin/env python3
"""Exports networks to ONNX and quantises them to 8 bits with ONNX Runtime's quantiser.

    bench/peers/quantize_models.py FOLDER [NAME...]

Needs a python with torch, torchvision, onnx and onnxruntime. Writes NAME.fp32.onnx and, beside it,
  NAME.qdq.onnx, NAME.qop.onnx   image networks, as QuantizeLinear/DequantizeLinear pairs and as QLinear operators:
                                 uint8 activations, int8 weights with a scale per channel, ranges by minimum and
                                 maximum over eight images
  NAME.qdq_s8s8.onnx             of resnet18, with int8 activations
  NAME.dynamic.onnx              sequence networks, ranges of activations computed in each run
All have batch 1. Weights are random but always the same. Batch norms have the statistics of random images, so that
activations keep a range as in a trained network. Prints a line for each network whose files are complete.
"""
import pathlib
import sys
import tempfile
import warnings

import numpy
import onnxruntime.quantization as quantization
import torch
import torchvision
from onnxruntime.quantization.shape_inference import quant_pre_process

import torch_training_step
from random_images import random_images

IMAGE_NETWORKS = ["resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "efficientnet_b0", "vit_b_16"]
SEQUENCE_NETWORKS = ["encoder", "lstm"]
OPSET = 17
UINT8, INT8 = quantization.QuantType.QUInt8, quantization.QuantType.QInt8
QDQ, QOPERATOR = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator


class Images(quantization.CalibrationDataReader):
    """Hands out images one by one."""

    def __init__(self, count):
        self.remaining = iter(random_images(count))

    def get_next(self):
        image = next(self.remaining, None)
        return None if image is None else {"input": image[None]}


def batch_norms(model):
    return [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]


def settle_batch_norms(model):
    """Channels get different gains, and the statistics of what random images make of them."""
    for norm in batch_norms(model):
        torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
        torch.nn.init.normal_(norm.bias, 0, 0.2)
        norm.momentum = None  # averages over all passes
        norm.train()
    with torch.no_grad():
        for seed in range(1, 4):
            model(torch.from_numpy(random_images(8, seed=seed)))
    model.eval()


def fill_empty_weights(model):
    """A classifier that starts at zero would say nothing."""
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.detach().any():
            torch.nn.init.normal_(parameter, 0, 0.02)


def image_network(name):
    model = getattr(torchvision.models, name)(weights=None).eval()
    fill_empty_weights(model)
    if batch_norms(model):
        settle_batch_norms(model)
    return model, (3, 224, 224)


def export(name, path):
    torch.manual_seed(0)
    model, dims = image_network(name) if name in IMAGE_NETWORKS else torch_training_step.network(name)
    torch.onnx.export(model.eval(), torch.randn(1, *dims), str(path), opset_version=OPSET, input_names=["input"],
                      output_names=["output"])


def quantize_static(prepared, path, form, activations):
    quantization.quantize_static(prepared, path, Images(8), quant_format=form, per_channel=True,
                                 activation_type=activations, weight_type=INT8)


def write_network(name, folder):
    """Every file of one network; says which."""
    written = [f"{name}.fp32.onnx"]
    export(name, folder / written[0])
    prepared = folder / f"{name}.prepared.onnx"
    quant_pre_process(folder / written[0], prepared)
    if name in SEQUENCE_NETWORKS:
        written.append(f"{name}.dynamic.onnx")
        quantization.quantize_dynamic(prepared, folder / written[-1], weight_type=INT8)
    else:
        variants = [("qdq", QDQ, UINT8), ("qop", QOPERATOR, UINT8)]
        if name == "resnet18":
            variants.append(("qdq_s8s8", QDQ, INT8))
        for suffix, form, activations in variants:
            written.append(f"{name}.{suffix}.onnx")
            quantize_static(prepared, folder / written[-1], form, activations)
    return written


def main():
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or IMAGE_NETWORKS + SEQUENCE_NETWORKS:
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            written = write_network(name, pathlib.Path(unfinished))
            for file in written:
                (pathlib.Path(unfinished) / file).rename(folder / file)
        print(" ".join(written), flush=True)


if __name__ == "__main__":
    main()
