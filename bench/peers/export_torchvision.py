#!/usr/bin/python3
"""Exports torchvision networks to ONNX and writes down what torch itself says they hold and do.

    bench/peers/export_torchvision.py FOLDER [NAME...]

Batch norm is kept (the default export folds it; NAME_folded.onnx is that, for resnet50). Beside each NAME.onnx stands NAME.json with the
parameters torch counts, and the MACs of its convolutions, linear layers and attention products,
counted by hooks while the network runs once.
"""
import json
import pathlib
import sys
import warnings

import torch
import torchvision

warnings.filterwarnings("ignore")

SIZES = {"inception_v3": 299}
STANDARD = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "vit_b_16", "densenet121",
            "efficientnet_b0", "mobilenet_v3_large", "shufflenet_v2_x1_0", "squeezenet1_1",
            "googlenet", "inception_v3", "convnext_tiny", "regnet_y_400mf", "mnasnet1_0",
            "resnext50_32x4d", "wide_resnet50_2", "alexnet", "swin_t"]


class MacCounter:
    """Adds up multiply-accumulates of the modules that have them."""

    def __init__(self, model):
        self.macs = 0
        for module in model.modules():
            if isinstance(module, torch.nn.modules.conv._ConvNd):
                module.register_forward_hook(self.conv)
            elif isinstance(module, torch.nn.MultiheadAttention):
                module.register_forward_hook(self.attention)
            elif isinstance(module, torchvision.models.swin_transformer.ShiftedWindowAttention):
                module.register_forward_hook(self.window_attention)
            elif isinstance(module, torch.nn.Linear):
                module.register_forward_hook(self.linear)

    def conv(self, module, inputs, output):
        per_output = module.weight[0].numel()
        self.macs += output.numel() * per_output

    def linear(self, module, inputs, output):
        self.macs += output.numel() * module.in_features

    def attention(self, module, inputs, output):
        batch, length, width = output[0].shape
        projections = batch * length * width * 3 * width
        products = 2 * batch * length * length * width
        self.macs += projections + products
        self.macs += batch * length * width * width  # its output projection runs without hooks

    def window_attention(self, module, inputs, output):
        # The feature maps of a 224-pixel image are multiples of the window: nothing is padded.
        batch, height, width, channels = output.shape
        window = module.window_size[0] * module.window_size[1]
        tokens = batch * height * width
        self.macs += tokens * channels * 4 * channels + 2 * tokens * window * channels


def export(name, folder):
    torch.manual_seed(0)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(weights=None, **options).eval()
    with torch.no_grad():  # the exporter merges equal tensors, such as all the ones of fresh norms
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.uniform_(0.01, 0.1)
    size = SIZES.get(name, 224)
    x = torch.zeros(1, 3, size, size)
    if hasattr(model, "aux_logits"):
        model.aux_logits = False
        for aux in ("aux1", "aux2", "AuxLogits"):
            if hasattr(model, aux):
                setattr(model, aux, None)
    torch.onnx.export(model, x, str(folder / f"{name}.onnx"), opset_version=17,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    if name == "resnet50":
        torch.onnx.export(model, x, str(folder / f"{name}_folded.onnx"), opset_version=17)
    counter = MacCounter(model)
    # The fused attention path of eval mode skips hooks of inner layers, so grad mode stays on.
    model(x.requires_grad_())
    facts = {"parameters": sum(p.numel() for p in model.parameters()), "macs": counter.macs}
    (folder / f"{name}.json").write_text(json.dumps(facts))
    print(f"{name}: {facts}", flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or STANDARD:
        export(name, folder)


if __name__ == "__main__":
    main()
