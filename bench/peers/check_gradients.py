#!/usr/bin/python3
"""Holds assay's gradients against torch's autograd, on networks exported with their weights.

    bench/peers/check_gradients.py build/release/assay [MODEL …]

One step of plain descent at rate 1 on one batch moves every weight by its gradient. assay trains the
exported network for that one step; torch computes the same gradients in double precision. Prints, for each
network, the largest difference relative to the largest gradient of its tensor, the median of these over all
tensors, and the same of torch's own gradients in single precision. A number that falls on the other side of
a ReLU's corner or is another pixel's equal in a pool, by rounding, moves a whole gradient: deep networks
have such by the thousand, either program meets some of them, and another --seed others. Needs
/usr/bin/python3 with torch, torchvision and onnx.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import torch
import torch.nn as nn
import torchvision
from onnx import numpy_helper

warnings.filterwarnings("ignore")
BATCH = 8


def small_cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10))


def small_cnn_gap():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.GELU(), nn.Linear(256, 128), nn.Tanh(),
                         nn.LayerNorm(128), nn.Linear(128, 10))


class TokenMixer(nn.Module):
    """Rows of the image are tokens of a transformer."""

    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(28, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(64, 10)

    def forward(self, images):
        return self.head(self.layer(self.widen(images.flatten(1, 2))).mean(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(28, 48, batch_first=True)
        self.head = nn.Linear(48, 10)

    def forward(self, images):
        return self.head(self.lstm(images.flatten(1, 2))[0][:, -1])


NETWORKS = {
    "small_cnn": (small_cnn, (1, 28, 28)),
    "small_cnn_gap": (small_cnn_gap, (1, 28, 28)),
    "mlp": (mlp, (1, 28, 28)),
    "token_mixer": (TokenMixer, (1, 28, 28)),
    "lstm": (Recurrent, (1, 28, 28)),
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), (3, 64, 64)),
    "mobilenet_v2": (lambda: torchvision.models.mobilenet_v2(num_classes=10), (3, 64, 64)),
    "mobilenet_v3_small": (lambda: torchvision.models.mobilenet_v3_small(num_classes=10), (3, 64, 64)),
    "densenet121": (lambda: torchvision.models.densenet121(num_classes=10), (3, 64, 64)),
    "squeezenet1_1": (lambda: torchvision.models.squeezenet1_1(num_classes=10), (3, 64, 64)),
    "shufflenet_v2_x0_5": (lambda: torchvision.models.shufflenet_v2_x0_5(num_classes=10), (3, 64, 64)),
    "efficientnet_b0": (lambda: torchvision.models.efficientnet_b0(num_classes=10,
                                                                   stochastic_depth_prob=0.0), (3, 64, 64)),
}


def without_dropout(model):
    """Both programs would drop other elements."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return model


def gradients(model, samples, labels):
    model.zero_grad()
    nn.CrossEntropyLoss()(model(samples), labels).backward()
    return {name: parameter.grad.double().numpy().copy() for name, parameter in model.named_parameters()}


def stored(path):
    return {one.name: numpy_helper.to_array(one).astype(numpy.float64) for one in onnx.load(path).graph.initializer}


def assay_gradients(assay, model, samples, labels, folder, options_of_assay):
    exported = folder / "model.onnx"
    torch.onnx.export(model, samples, str(exported), training=torch.onnx.TrainingMode.TRAINING, opset_version=15,
                      do_constant_folding=False, input_names=["images"], output_names=["scores"],
                      dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}})
    # One more sample than the batch: a tenth of the data, at least one, is for validation.
    data = folder / "data.npz"
    numpy.savez(data, x=samples.numpy(), y=labels.numpy(), x_test=samples.numpy(), y_test=labels.numpy())
    trained = folder / "trained.onnx"
    trained.unlink(missing_ok=True)
    subprocess.run([assay, "train", str(exported), "--dataset", str(data), "--batch", str(BATCH), "--epochs", "1",
                    "--optimizer", "sgd", "--lr", "1", "--threads", "1", *options_of_assay, "-o", str(trained), "-q", "--json"],
                   check=True, capture_output=True)
    before, after = stored(exported), stored(trained)
    return {name: before[name] - after[name] for name in before if name in after}


def worst(found, expected):
    errors = {}
    # A bias before a batch norm has none: what is there is rounding, and is compared with the others.
    least = 1e-4 * max(numpy.abs(truth).max() for truth in expected.values())
    for name, truth in expected.items():
        if name in found:
            errors[name] = numpy.abs(found[name] - truth).max() / max(numpy.abs(truth).max(), least)
    name = max(errors, key=errors.get)
    return errors[name], statistics.median(errors.values()), name, len(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("models", nargs="*", default=list(NETWORKS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--optimize-for", default="latency", choices=["latency", "memory"])
    options = parser.parse_args()
    assay = str(pathlib.Path(options.assay).resolve())
    print(f"{'network':20} {'tensors':>7} {'assay':>9} {'median':>8} {'torch fp32':>11} {'median':>8}   worst tensor")
    for name in options.models:
        torch.manual_seed(options.seed)
        make, dims = NETWORKS[name]
        model = without_dropout(make().train())
        samples = torch.randn(BATCH, *dims)
        labels = torch.arange(BATCH) % 10
        with tempfile.TemporaryDirectory() as folder:
            own = assay_gradients(assay, model, samples, labels, pathlib.Path(folder),
                                  ["--optimize-for", options.optimize_for])
        single = gradients(model, samples, labels)
        truth = gradients(model.double(), samples.double(), labels)
        error, middle, tensor, count = worst(own, truth)
        peer, peers_middle, _, _ = worst(single, truth)
        print(f"{name:20} {count:7} {error:9.1e} {middle:8.1e} {peer:11.1e} {peers_middle:8.1e}   {tensor}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
