"""What a neural network costs on a machine: counted, measured, and made smaller.

>>> import assay
>>> assay.count("zoo:lenet5").totals["parameters"]
61706

Everything is loaded when it is first used, so that ``import assay`` takes a few milliseconds.
"""

from typing import Any

# Where each public name is defined.
_HOMES = {
    "Error": "_core",
    "UsageError": "_core",
    "BadInputError": "_core",
    "RunError": "_core",
    "CancelledError": "_core",
    "Dataset": "_data",
    "Program": "_programs",
    "Tensor": "_arrays",
    "Model": "_models",
    "SmallCNN": "_models",
    "load": "_models",
    "zoo": "_models",
    "engine_names": "_models",
    "Layer": "layers",
    "Linear": "layers",
    "Conv2d": "layers",
    "MaxPool2d": "layers",
    "BatchNorm2d": "layers",
    "Sequential": "layers",
    "Relu": "layers",
    "Sigmoid": "layers",
    "Tanh": "layers",
    "Gelu": "layers",
    "Softmax": "layers",
    "Flatten": "layers",
    "GlobalAvgPool2d": "layers",
    "Result": "_results",
    "show_progress": "_progress",
    "count": "_commands",
    "profile": "_commands",
    "compare": "_commands",
    "fit": "_commands",
    "stream": "_commands",
    "train": "_commands",
    "optimize": "_commands",
    "sweep": "_commands",
    "machine": "_commands",
    "devices": "_commands",
    "compile": "_commands",
    "simulate_deployment": "_commands",
    "structured_channel_prune": "_commands",
    "study": "studies",
    "analyze_model_scaling": "studies",
    "analyze_batch_size_effects": "studies",
    "benchmark_operation_efficiency": "studies",
    "analyze_profiling_overhead": "studies",
    "Profiler": "profiler",
    "profile_forward_pass": "profiler",
    "profile_backward_pass": "profiler",
}
_MODULES = ("hardware", "hardware_profile", "layers", "metrics", "profiler", "studies")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        value: Any = importlib.import_module("assay._core").version
    elif name in _HOMES:
        value = getattr(importlib.import_module("assay." + _HOMES[name]), name)
    elif name in _MODULES:
        return importlib.import_module("assay." + name)
    else:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted(__all__)
