#!/usr/bin/env python3
"""What quantisation does to the accuracy of small networks trained on Fashion-MNIST.

    bench/quantized_accuracy.py train build/release/assay FOLDER       trains; a python with torch
    bench/quantized_accuracy.py check build/release FOLDER [NAME...] [VARIANT...]   quantises and evaluates;
                                                                       a python with onnx, onnxruntime and numpy

`train` writes NAME.onnx: small_cnn with three seeds (by `assay train`), and a residual network, one of inverted
bottlenecks, a transformer, and one of separable convolutions trained at a high rate (by torch). The last one has channels
whose inputs hardly vary; folding their batch norms gives them weights hundreds of times larger than those of others. `check` calibrates with 512 training images, writes every variant as ONNX and
prints for each
  accuracy   on the 10,000 test images, in percent, and the difference from fp32 in points
  same       images to which assay and ONNX Runtime give the same class, in percent
and exits with 1 where onnx's checker refuses a file, or where the classes agree on less than 99.5 % of the images. bf16 is
not run by ONNX Runtime, whose provider for processors has no such kernels.
"""
import gzip
import pathlib
import subprocess
import sys
import tempfile

import numpy

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
VARIANTS = {"int8": ["minmax"], "int8 percentile": ["percentile"], "int8 mse": ["mse"], "int8 entropy": ["entropy"],
            "int8 per tensor": ["per-tensor"], "per tensor, equalised": ["per-tensor", "equalize"],
            "int8 without correction": ["no-bias"], "first and last float": ["mixed"],
            "observed in bf16": ["in-bf16"], "fp16": ["fp16"], "bf16": ["bf16"], "dynamic": ["dynamic"],
            "weights int8": ["int8w"], "weights int4": ["int4"]}

# onnx's inference of shapes knows no MatMulNBits, and no bf16 in convolutions before operator set 22.
UNKNOWN_TYPES = {"int8w", "int4", "bf16"}


def images(part):
    """As assay normalises them: from 0 to 1."""
    file = next(DATA.glob(f"{part}-images-idx3-ubyte*"))
    raw = gzip.open(file).read() if file.suffix == ".gz" else file.read_bytes()
    return numpy.frombuffer(raw, numpy.uint8, offset=16).reshape(-1, 1, 28, 28).astype(numpy.float32) / 255


def labels(part):
    file = next(DATA.glob(f"{part}-labels-idx1-ubyte*"))
    raw = gzip.open(file).read() if file.suffix == ".gz" else file.read_bytes()
    return numpy.frombuffer(raw, numpy.uint8, offset=8).astype(numpy.int64)


def networks():
    import torch
    from torch import nn

    def conv(inputs, outputs, size=3, stride=1, groups=1, act=nn.ReLU):
        layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
                  nn.BatchNorm2d(outputs)]
        return nn.Sequential(*layers, *([act()] if act else []))

    def separable(inputs, outputs, stride):
        return nn.Sequential(conv(inputs, inputs, 3, stride, inputs), conv(inputs, outputs, 1))

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.body = nn.Sequential(conv(inputs, outputs, stride=stride), conv(outputs, outputs, act=None))
            self.skip = nn.Identity() if inputs == outputs else conv(inputs, outputs, 1, stride, act=None)

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    class Inverted(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            wide = 4 * inputs
            self.body = nn.Sequential(conv(inputs, wide, 1, act=nn.ReLU6),
                                      conv(wide, wide, 3, stride, wide, act=nn.ReLU6), conv(wide, outputs, 1, act=None))
            self.adds = inputs == outputs and stride == 1

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    class Transformer(nn.Module):
        def __init__(self, width=64, heads=4, blocks=2):
            super().__init__()
            self.patches = nn.Conv2d(1, width, 4, 4)
            self.place = nn.Parameter(torch.randn(1, 49, width) * 0.02)
            self.heads = heads
            self.blocks = nn.ModuleList(nn.ModuleDict({
                "norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width),
                "down": nn.Linear(4 * width, width)}) for _ in range(blocks))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, 10)

        def attention(self, block, x):
            q, k, v = (part.reshape(-1, 49, self.heads, 16).transpose(1, 2) for part in block["qkv"](x).chunk(3, -1))
            shares = torch.softmax(q @ k.transpose(2, 3) * 0.25, -1)
            return block["out"]((shares @ v).transpose(1, 2).reshape(-1, 49, 64))

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2) + self.place
            for block in self.blocks:
                x = x + self.attention(block, block["norm1"](x))
                x = x + block["down"](nn.functional.gelu(block["up"](block["norm2"](x))))
            return self.head(self.norm(x).mean(1))

    def classifier(*layers, width):
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))

    return {
        "resnet_like": classifier(conv(1, 16), Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2), width=64),
        "mobilenet_like": classifier(conv(1, 16, stride=2, act=nn.ReLU6), Inverted(16, 16, 1), Inverted(16, 24, 2),
                                     Inverted(24, 24, 1), Inverted(24, 32, 1), conv(32, 96, 1, act=nn.ReLU6), width=96),
        "transformer_like": Transformer(),
        "separable_like": lambda: classifier(
            conv(1, 16), separable(16, 32, 2), separable(32, 32, 1), separable(32, 64, 2), separable(64, 64, 1),
            separable(64, 64, 1), width=64)}


def optimizer_of(name, model):
    """An optimizer and its greatest learning rate."""
    import torch
    if name == "separable_like":
        return torch.optim.SGD(model.parameters(), 1.0, 0.9, weight_decay=5e-4, nesterov=True), 1.0
    return torch.optim.AdamW(model.parameters(), 1e-3), 3e-3


def fit(model, epochs, optimizer, rate):
    import torch
    x, y = (torch.from_numpy(part("train")[:24_000]) for part in (images, labels))
    steps = epochs * (len(x) // 128)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(epochs):
        for batch in torch.randperm(len(x))[:len(x) // 128 * 128].split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def train(assay, folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(3):
        name = f"small_cnn_{seed}"
        if not names or name in names:
            subprocess.run([assay, "train", "zoo:small_cnn", "--dataset", "fashion-mnist", "--epochs", "3", "--seed",
                            str(seed), "-o", folder / f"{name}.onnx", "-q"], check=True)
    import torch
    torch.manual_seed(0)
    for name, model in networks().items():
        if not names or name in names:
            if name == "separable_like":
                torch.manual_seed(0)
                model = model()
            fit(model, 2, *optimizer_of(name, model))
            torch.onnx.export(model, torch.zeros(1, 1, 28, 28), str(folder / f"{name}.onnx"), opset_version=17,
                              input_names=["input"], output_names=["output"],
                              dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})
            print(name, flush=True)


def classes_by_onnxruntime(model, x):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    taken = session.get_inputs()[0]
    parts = len(x) if taken.shape[0] == 1 else 4
    return numpy.concatenate([session.run(None, {taken.name: part})[0].argmax(-1) for part in numpy.split(x, parts)])


def classes_by_assay(assay, model, name, x):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for part in numpy.split(x, 4):
            numpy.save(f"{folder}/x.npy", part)
            # One run each: nothing is worth timing.
            subprocess.run([assay, "run", str(model), "--input", f"{name}={folder}/x.npy", "-o", f"{folder}/out", "-q",
                            "--optimize-for", "memory"], check=True, capture_output=True)
            found.append(numpy.load(next(pathlib.Path(folder, "out").glob("*.npy"))).argmax(-1))
    return numpy.concatenate(found)


def check(build, folder, names):
    import onnx
    test, truth = images("t10k"), labels("t10k")
    holds = True
    with tempfile.TemporaryDirectory() as scratch:
        calibration = pathlib.Path(scratch, "calibration")
        calibration.mkdir()
        for i, part in enumerate(numpy.split(images("train")[:512], 8)):
            numpy.save(calibration / f"{i}.npy", part)
        for model in sorted(folder.glob("*.onnx")):
            if set(names) - set(VARIANTS) and model.stem not in names:
                continue
            base = 0
            chosen = {key: words for key, words in VARIANTS.items() if key in names} or VARIANTS
            for variant, words in {"fp32": None, **chosen}.items():
                written = model
                if words:
                    written = pathlib.Path(scratch, "variant.onnx")
                    bound = model
                    result = subprocess.run([build / "bench/bench_quantize", bound, calibration, written, *words],
                                            capture_output=True, text=True)
                    if result.returncode:
                        print(f"{model.stem:18} {variant:24} {result.stderr.strip()}", flush=True)
                        holds = False
                        continue
                loaded = onnx.load(str(written))
                text = ""
                try:
                    onnx.checker.check_model(loaded, full_check=variant == "fp32" or words[0] not in UNKNOWN_TYPES)
                except Exception as failure:
                    text, holds = f" checker: {str(failure)[:100]}", False
                ours = classes_by_assay(build / "assay", written, loaded.graph.input[0].name, test)
                accuracy = 100 * (ours == truth).mean()
                base = base or accuracy
                if variant == "bf16":
                    print(f"{model.stem:18} {variant:24} {accuracy:6.2f} {accuracy - base:+6.2f} {text}", flush=True)
                    continue
                try:
                    same = 100 * (ours == classes_by_onnxruntime(written, test)).mean()
                    text = f"{same:7.2f}" + text
                    holds = holds and same >= 99.5
                except Exception as failure:
                    text, holds = f" ONNX Runtime: {str(failure)[:150]}" + text, False
                print(f"{model.stem:18} {variant:24} {accuracy:6.2f} {accuracy - base:+6.2f} {text}", flush=True)
    return 0 if holds else 1


if __name__ == "__main__":
    action, where, folder, *names = sys.argv[1:]
    sys.exit((train if action == "train" else check)(pathlib.Path(where).resolve(), pathlib.Path(folder), names))
