"""Layers, each a model of its own and part of a `Sequential`.

>>> from assay.layers import Linear, Relu, Sequential
>>> assay.count(Sequential([Linear(64, 32), Relu(), Linear(32, 10)]), input_shapes=(1, 64)).totals["parameters"]
2410
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable

from . import _core
from ._core import (
    BatchNorm2d,
    Conv2d,
    Flatten,
    Gelu,
    GlobalAvgPool2d,
    Layer,
    Linear,
    MaxPool2d,
    Relu,
    Sigmoid,
    Softmax,
    Tanh,
)

__all__ = [
    "BatchNorm2d",
    "Conv2d",
    "Flatten",
    "Gelu",
    "GlobalAvgPool2d",
    "Layer",
    "Linear",
    "MaxPool2d",
    "Relu",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
]


def Sequential(layers: Iterable[Layer], *more: Layer) -> Layer:
    """Layers one after the other, as a list or as arguments.

    >>> assay.Profiler().count_flops(assay.Sequential(assay.Linear(128, 64), assay.Linear(64, 10)), (1, 128))
    17664
    """
    given = [layers, *more] if isinstance(layers, Layer) else [*layers, *more]
    return _core.Sequential(given)


_ACTIVATIONS: Dict[str, Callable[[], Layer]] = {"ReLU": Relu, "Relu": Relu, "Sigmoid": Sigmoid, "Tanh": Tanh, "GELU": Gelu, "Softmax": Softmax}


def _size(array: Any) -> "tuple[int, ...]":
    return tuple(int(n) for n in getattr(array, "shape", ()))


def _one_number(value: Any) -> int:
    return int(value[0]) if isinstance(value, (tuple, list)) else int(value)


def layer_like(thing: Any) -> Layer:
    """The layer that an object of another library describes by the usual attributes: `weight` and `bias` of a Linear
    (in × out), `in_channels`, `out_channels`, `kernel_size` of a Conv2d, `layers` of a Sequential. Everything
    else is an op that works on each element.
    """
    kind = type(thing).__name__
    if isinstance(getattr(thing, "layers", None), (list, tuple)):
        return Sequential([layer_like(part) for part in thing.layers])
    has_bias = getattr(thing, "bias", None) is not None
    if kind == "Linear" and len(_size(getattr(thing, "weight", None))) == 2:
        inputs, outputs = _size(thing.weight)
        return Linear(inputs, outputs, bias=has_bias)
    if kind == "Conv2d" and hasattr(thing, "kernel_size"):
        return Conv2d(
            thing.in_channels,
            thing.out_channels,
            _one_number(thing.kernel_size),
            stride=_one_number(getattr(thing, "stride", 1)),
            padding=_one_number(getattr(thing, "padding", 0)),
            bias=has_bias,
        )
    return _ACTIVATIONS.get(kind, Relu)()
