#!/usr/bin/env python3
"""Counts of the same networks by several tools, as a Markdown table.

    python3 -m venv peers
    peers/bin/pip install torch torchvision onnxscript onnx onnx-tool fvcore thop ptflops
    peers/bin/python bench/peers/counts.py ASSAY [--update PAGE]

Networks are PyTorch's, with random weights and batch 1. assay and onnx-tool read the ONNX file that PyTorch
exports, the others the module. Where a tool reports FLOPs of two per multiply-add, half of them are
shown. The share is the difference from assay. A number of parameters is shown where it is not the
module's own. --update replaces the lines of PAGE between `<!-- counts -->` and `<!-- end of counts -->`.
"""
import argparse
import contextlib
import importlib.metadata
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import tempfile
import warnings

os.environ["KINETO_LOG_LEVEL"] = "99"
import torch  # noqa: E402
import torchvision  # noqa: E402

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
PACKAGES = ["torch", "fvcore", "thop", "ptflops", "onnx-tool"]


class Recurrent(torch.nn.Module):
    """One LSTM over 64 steps, with a classifier of its last state."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(128, 256, batch_first=True)
        self.head = torch.nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Attention(torch.nn.Module):
    """Self-attention over 128 tokens of 256 numbers, with PyTorch's fused product."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(256, 3 * 256)
        self.output = torch.nn.Linear(256, 256)

    def forward(self, x):
        heads = [part.unflatten(-1, (4, 64)).transpose(1, 2) for part in self.project(x).chunk(3, dim=-1)]
        mixed = torch.nn.functional.scaled_dot_product_attention(*heads)
        return self.output(mixed.transpose(1, 2).flatten(2))


IMAGE = (1, 3, 224, 224)
NETWORKS = {
    "resnet50": (torchvision.models.resnet50, IMAGE),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, IMAGE),
    "vit_b_16": (torchvision.models.vit_b_16, IMAGE),
    "lstm": (Recurrent, (1, 64, 128)),
    "attention": (Attention, (1, 128, 256)),
}


def by_assay(program, model, shape, onnx_file):
    output = subprocess.run([program, "-q", "count", "--json", onnx_file], check=True, capture_output=True).stdout
    totals = json.loads(output)["totals"]
    return totals["parameters"], totals["macs"]


def by_torch(program, model, shape, onnx_file):
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    with counter:  # with gradients, so that PyTorch does not take a fused path that is not counted
        model(torch.zeros(shape))
    return sum(p.numel() for p in model.parameters()), counter.get_total_flops() // 2


def by_torch_profiler(program, model, shape, onnx_file):
    with torch.profiler.profile(with_flops=True) as profile:
        model(torch.zeros(shape))
    return None, sum(event.flops for event in profile.key_averages()) // 2


def by_fvcore(program, model, shape, onnx_file):
    import fvcore.nn
    counter = fvcore.nn.FlopCountAnalysis(model, torch.zeros(shape))
    counter.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    return fvcore.nn.parameter_count(model)[""], int(counter.total())


def by_thop(program, model, shape, onnx_file):
    import thop
    macs, parameters = thop.profile(model, (torch.zeros(shape),), verbose=False)
    return int(parameters), int(macs)


def by_ptflops(program, model, shape, onnx_file):
    import ptflops
    macs, parameters = ptflops.get_model_complexity_info(
        model, shape[1:], as_strings=False, print_per_layer_stat=False, verbose=False)
    return parameters, int(macs)


def optimized(onnx_file):
    return onnx_file.replace(".onnx", ".optimized.onnx")


def by_onnx_tool(program, model, shape, onnx_file):
    import onnx_tool
    network = onnx_tool.Model(optimized(onnx_file), {"verbose": False})  # it fails on the other one
    network.graph.shape_infer()
    network.graph.profile()
    macs = network.graph.macs
    return None, int(macs[0] if isinstance(macs, (list, tuple)) else macs)


TOOLS = {"assay": by_assay, "torch FlopCounterMode": by_torch, "torch.profiler": by_torch_profiler, "fvcore": by_fvcore,
         "thop": by_thop, "ptflops": by_ptflops, "onnx-tool": by_onnx_tool}


def fresh(make):
    """The same random weights every time. Exporters merge equal tensors, such as biases that are all 0."""
    torch.manual_seed(0)
    model = make().eval()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.uniform_(0.01, 0.1)
    return model


def export(make, shape, path):
    with contextlib.redirect_stdout(io.StringIO()):
        program = torch.onnx.export(fresh(make), (torch.zeros(shape),), opset_version=18, dynamo=True, optimize=False)
        program.save(path)  # as the module is: with its batch norms
        program.optimize()
        program.save(optimized(path))
    return path


def cell(count, program, make, shape, onnx_file, expected):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            parameters, macs = count(program, fresh(make), shape, onnx_file)
    except Exception as problem:  # a tool that fails is a result
        return f"fails: {type(problem).__name__}"
    difference = "" if macs == expected else f" ({100 * (macs / expected - 1):+.1f} %)"
    own = sum(parameter.numel() for parameter in fresh(make).parameters())
    remark = "" if parameters in (own, None) else f"; {parameters:,} parameters, not {own:,}"
    return f"{macs:,}{difference}{remark}"


def rows(program, folder):
    files = {name: export(*network, str(folder / f"{name}.onnx")) for name, network in NETWORKS.items()}
    expected = {name: by_assay(program, None, None, path)[1] for name, path in files.items()}
    yield "| MACs by | " + " | ".join(NETWORKS) + " |"
    yield "| --- " * (len(NETWORKS) + 1) + "|"
    for tool, count in TOOLS.items():
        cells = [cell(count, program, *network, files[name], expected[name]) for name, network in NETWORKS.items()]
        yield f"| {tool} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--update", type=pathlib.Path, metavar="PAGE")
    arguments = parser.parse_args()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join([f"{versions}.", "", *rows(arguments.assay, pathlib.Path(folder))])
    print(table)
    if arguments.update:
        text = arguments.update.read_text()
        pattern = re.compile(r"(<!-- counts -->\n).*?(<!-- end of counts -->)", re.DOTALL)
        arguments.update.write_text(pattern.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


if __name__ == "__main__":
    main()
