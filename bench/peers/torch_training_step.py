#!/usr/bin/python3
"""Times one step of training in PyTorch: MODEL BATCH LOSS THREADS RUNS. Prints JSON."""
import json
import resource
import statistics
import sys
import time

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, tokens):
        batch, length, width = tokens.shape
        parts = [part(tokens).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                 for part in (self.query, self.key, self.value)]
        scores = (parts[0] @ parts[1].transpose(-2, -1)) * (width // self.heads) ** -0.5
        mixed = torch.softmax(scores, -1) @ parts[2]
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1 = nn.LayerNorm(width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm2 = nn.LayerNorm(width)

    def forward(self, tokens):
        tokens = self.norm1(tokens + self.attention(tokens))
        return self.norm2(tokens + self.think(tokens))


class Lstm(nn.LSTM):
    def forward(self, tokens):
        return super().forward(tokens)[0]


def network(name):
    if name == "small_cnn_gap":
        return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1),
                             nn.Flatten(), nn.Linear(32, 10)), (1, 28, 28)
    if name == "resnet18":
        import torchvision
        return torchvision.models.resnet18(), (3, 224, 224)
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)), (784,)
    if name == "encoder":
        return nn.Sequential(*[EncoderLayer(256, 4) for _ in range(4)]), (128, 256)
    if name == "lstm":
        return Lstm(128, 256, batch_first=True), (64, 128)
    raise SystemExit(f"no network '{name}'")


def main():
    name, batch, loss, threads, runs = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model, dims = network(name)
    samples = torch.randn(batch, *dims)
    if samples.dim() == 4:
        model = model.to(memory_format=torch.channels_last)
        samples = samples.to(memory_format=torch.channels_last)
    labels = torch.arange(batch) % 10
    entropy = nn.CrossEntropyLoss()
    descent = torch.optim.SGD(model.parameters(), lr=1e-3 if loss == "cross-entropy" else 1e-9)

    def step():
        descent.zero_grad(set_to_none=True)
        results = model(samples)
        (entropy(results, labels) if loss == "cross-entropy" else results.square().sum()).backward()
        descent.step()

    for _ in range(3):
        step()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        step()
        times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"median_ms": statistics.median(times), "imported_mb": begun / 1024}))


if __name__ == "__main__":
    main()
