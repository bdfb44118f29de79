#!/usr/bin/python3
"""Trains the same networks in assay and in PyTorch on Fashion-MNIST, from the same first weights and on the
same batches.

    bench/training_accuracy.py build/release/assay [--epochs 2] [--seeds 3] [--models small_cnn …]

Adam at 0.001, batches of 64, all 60,000 images, in turns. Prints the accuracy on the 10,000 test images and
the samples trained on in a second (the peer's with channels_last images). Needs /usr/bin/python3 with torch
and numpy, and the package dataset-fashion-mnist.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import torch.nn as nn

BATCH = 64
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
MODELS = {
    "small_cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10)),
    "small_cnn_gap": lambda: nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
}


def idx(name, header):
    path = next(one for one in DATA.rglob(f"{name}*") if one.is_file())
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        return numpy.frombuffer(file.read()[header:], numpy.uint8)


def images_and_labels(part):
    images = idx(f"{part}-images", 16).reshape(-1, 1, 28, 28).astype(numpy.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(idx(f"{part}-labels", 8).astype(numpy.int64))


def orders(seed, epochs, count):
    """The rows of all epochs, one epoch after the other, without those that would not fill a batch."""
    torch.manual_seed(seed)
    return torch.cat([torch.randperm(count)[:count // BATCH * BATCH] for _ in range(epochs)])


def torch_training(model, rows_of_all, train, test):
    model = model.to(memory_format=torch.channels_last)
    images, labels = train[0].to(memory_format=torch.channels_last), train[1]
    descent, entropy = torch.optim.Adam(model.parameters(), lr=0.001), nn.CrossEntropyLoss()
    start = time.perf_counter()
    for rows in rows_of_all.split(BATCH):
        descent.zero_grad(set_to_none=True)
        entropy(model(images[rows]), labels[rows]).backward()
        descent.step()
    rate = len(rows_of_all) / (time.perf_counter() - start)
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(test[0].split(500), test[1].split(500)))
    return right / len(test[1]), rate


def assay_training(assay, model, rows_of_all, data, threads):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        torch.onnx.export(model, torch.zeros(1, 1, 28, 28), str(path), opset_version=13, input_names=["images"],
                          output_names=["scores"], dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}})
        stored = pathlib.Path(folder) / "data.npz"
        (images, labels), (test_images, test_labels) = [tuple(one.numpy() for one in part) for part in data]
        numpy.savez(stored, x=images[rows_of_all], y=labels[rows_of_all], x_test=test_images, y_test=test_labels)
        command = [assay, "train", str(path), "--dataset", str(stored), "--no-shuffle", "--batch", str(BATCH),
                   "--threads", str(threads), "--json", "-q"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told["accuracy"], statistics.median(one["samples_per_second"] for one in told["epochs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train, test = images_and_labels("train"), images_and_labels("t10k")
    print(f"{'model':14} {'seed':>4} {'assay':>8} {'torch':>8} {'assay/s':>9} {'torch/s':>9}")
    for name in options.models:
        results = []
        for seed in range(1, options.seeds + 1):
            torch.manual_seed(seed)
            model = MODELS[name]()
            rows = orders(seed, options.epochs, len(train[1]))
            own = assay_training(options.assay, model, rows, (train, test), options.threads)
            peer = torch_training(model, rows, train, test)
            results.append((own[0], peer[0]))
            print(f"{name:14} {seed:4} {own[0]:8.4f} {peer[0]:8.4f} {own[1]:9.0f} {peer[1]:9.0f}", flush=True)
        means = [statistics.mean(one) for one in zip(*results)]
        print(f"{name:14} mean {means[0]:8.4f} {means[1]:8.4f}   {100 * (means[0] - means[1]):+.2f} points", flush=True)


if __name__ == "__main__":
    sys.exit(main())
