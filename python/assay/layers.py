"""Layers, each a model of its own and part of a `Sequential`.

>>> from assay.layers import Linear, Relu, Sequential
>>> assay.count(Sequential([Linear(64, 32), Relu(), Linear(32, 10)]), input_shapes=(1, 64)).totals["parameters"]
2410
"""

from __future__ import annotations

from contextvars import ContextVar
from numbers import Integral
from typing import Any, Callable, Dict, List, Optional

from . import _core
from ._arguments import Count, Positive, checked, replace_method, shown
from ._arrays import Tensor
from ._core import Layer

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


_STATISTICS = ("running_mean", "running_var")


def _named(layer: Layer) -> Dict[str, Tensor]:
    stored = layer.model().tensors()
    return {name: Tensor(array) for name, array in stored.items() if not name.endswith(_STATISTICS)}


def _parameters(self: Layer) -> List[Tensor]:
    """What training would change."""
    return list(_named(self).values())


def _parameter(kind: str) -> property:
    def value(self: Layer) -> Optional[Tensor]:
        return next((tensor for name, tensor in _named(self).items() if name.endswith(kind)), None)

    return property(value, doc=f"The {kind}, or None.")


_called: "ContextVar[Optional[List[Layer]]]" = ContextVar("_called", default=None)


def layers_called_by(function: Callable[[Any], Any], x: Any) -> List[Layer]:
    """The layers that the function calls, in order; none if it cannot take the array."""
    called: List[Layer] = []
    before = _called.set(called)
    try:
        function(x)
    except Exception:
        called.clear()
    finally:
        _called.reset(before)
    return called


def _forward(self: Layer, x: Any) -> Tensor:
    """What the layer computes for an array."""
    from ._commands import compile

    called = _called.get()
    if called is not None:
        called.append(self)
    return Tensor(compile(self, x, optimize_for="memory")(x))


replace_method(Layer, "parameters", _parameters)
replace_method(Layer, "forward", _forward)
replace_method(Layer, "__call__", _forward)
setattr(Layer, "weight", _parameter("weight"))
setattr(Layer, "bias", _parameter("bias"))


def _side(size: Any, what: str) -> int:
    """One number for both sides of a square."""
    sides = list(size) if isinstance(size, (list, tuple)) else [size]
    if not sides or not all(isinstance(side, Integral) for side in sides) or any(side != sides[0] for side in sides):
        raise _core.UsageError(f"`{what}` {shown(size)}: only squares are layers of their own; export others as a model")
    return int(sides[0])


@checked
def Linear(in_features: Positive, out_features: Positive, bias: bool = True, name: str = "linear") -> Layer:
    """y = x·W + b over the last axis.

    >>> assay.Linear(128, 64).weight.shape
    (128, 64)
    """
    return _core.Linear(in_features, out_features, bias, name)


@checked
def Conv2d(
    in_channels: Positive,
    out_channels: Positive,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Positive = 1,
    bias: bool = True,
    name: str = "conv",
) -> Layer:
    """A convolution over images, channels first."""
    kernel, step = _side(kernel_size, "kernel_size"), _side(stride, "stride")
    border, spread = _side(padding, "padding"), _side(dilation, "dilation")
    return _core.Conv2d(in_channels, out_channels, kernel, step, border, spread, groups, bias, name)


@checked
def MaxPool2d(kernel_size: Positive, stride: Count = 0, padding: Count = 0, name: str = "pool") -> Layer:
    """The largest of each window; a stride of 0 is the window's size."""
    return _core.MaxPool2d(kernel_size, stride, padding, name)


@checked
def BatchNorm2d(num_features: Positive, name: str = "bn") -> Layer:
    """Normalises each channel by its running statistics."""
    return _core.BatchNorm2d(num_features, name)


@checked
def Relu(name: str = "relu") -> Layer:
    """max(x, 0)."""
    return _core.Relu(name)


@checked
def Sigmoid(name: str = "sigmoid") -> Layer:
    """1 / (1 + exp(-x))."""
    return _core.Sigmoid(name)


@checked
def Tanh(name: str = "tanh") -> Layer:
    """The hyperbolic tangent."""
    return _core.Tanh(name)


@checked
def Gelu(name: str = "gelu") -> Layer:
    """x/2 · (1 + erf(x/√2))."""
    return _core.Gelu(name)


@checked
def Softmax(axis: int = -1, name: str = "softmax") -> Layer:
    """Shares that sum to 1 along an axis."""
    return _core.Softmax(axis, name)


@checked
def Flatten(name: str = "flatten") -> Layer:
    """All axes but the first as one."""
    return _core.Flatten(name)


@checked
def GlobalAvgPool2d(name: str = "global_pool") -> Layer:
    """The mean of each channel."""
    return _core.GlobalAvgPool2d(name)


def Sequential(*layers: Any) -> Layer:
    """Layers one after the other, as a list or as arguments.

    >>> assay.Profiler().count_flops(assay.Sequential(assay.Linear(128, 64), assay.Linear(64, 10)), (1, 128))
    17664
    """
    is_list = len(layers) == 1 and isinstance(layers[0], (list, tuple))
    given = list(layers[0]) if is_list else list(layers)
    for layer in given:
        if not isinstance(layer, Layer):
            raise _core.UsageError(f"Sequential(): {layer!r} is not a layer")
    return _core.Sequential(given)


_ACTIVATIONS: Dict[str, Callable[[], Layer]] = {"ReLU": Relu, "Relu": Relu, "Sigmoid": Sigmoid, "Tanh": Tanh, "GELU": Gelu, "Softmax": Softmax}


def _size(array: Any) -> "tuple[int, ...]":
    return tuple(int(n) for n in getattr(array, "shape", ()))


def _one_number(value: Any) -> int:
    return int(value[0]) if isinstance(value, (tuple, list)) else int(value)


def _in_sequence(called: List[Layer], x: Any, kind: str) -> Layer:
    sequence = Sequential(called)
    try:
        _core.count_flops(sequence.model(), list(_size(x)))
    except _core.Error:
        raise _core.BadInputError(
            f"an object of type {kind} calls layers that do not follow one another; give a Sequential, a torch module or an ONNX file"
        ) from None
    return sequence


def layer_like(thing: Any, x: Any = None) -> Layer:
    """The layer that an object of another library describes by the usual attributes: `weight` and `bias` of a Linear
    (in × out), `in_channels`, `out_channels`, `kernel_size` of a Conv2d, `layers` of a Sequential. A model whose `forward`
    calls our layers for the array `x` is the sequence of these. Everything else is an op that works on each element.
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
    if kind not in _ACTIVATIONS and x is not None:
        forward = getattr(thing, "forward", thing)
        called = layers_called_by(forward, x) if callable(forward) else []
        if called:
            return _in_sequence(called, x, kind)
    return _ACTIVATIONS.get(kind, Relu)()
